// packetizer, tx_sched and frame_tx, wired through `hold_o` as in samplewire_sender, beside a window
// that releases as it likes and a walker that offers what was held in this cycle or the one before.
// What frame_tx reads of a slot is what the slot held when the job was chosen.
//
// Free: the samples, the credit, the offers, the pacer, the ring's readiness and its replies, the
// wire. Assumed: no flush after the first cycles, for the session drains frame_tx before one; the
// clock stands and no control packet leaves, for both only delay what is chosen; packets fill their
// slots. The ring may be full from the start, which saves the cycles that fill it.
`default_nettype none

module hold_path #(
    parameter int unsigned W     = 512,
    parameter int unsigned Slots = 2
) (
    input wire logic clk_i
);

  localparam int unsigned Sw = $clog2(Slots);
  localparam int unsigned SlotBeats = 2;
  localparam int unsigned SlotBytes = SlotBeats * W / 8;
  localparam int unsigned Aw = $clog2(Slots * SlotBeats);

  (* anyseq *) logic run, s_valid, s_start, s_overflow, s_last, s_whole;
  (* anyseq *) logic [W-1:0] s_data;
  (* anyseq *) logic [63:0] s_index;
  (* anyseq *) logic [7:0] s_count;
  (* anyseq *) logic credit, releases, pacer_ok, cand_valid;
  (* anyseq *) logic [2:0] cand_seq;
  (* anyseq *) logic rd_ready, rd_reply, m_axis_tready;

  logic [3:0] age_q = 0;
  logic rst, flush;
  always_ff @(posedge clk_i) if (age_q != '1) age_q <= age_q + 1'b1;
  assign rst   = age_q == 4'd0;
  assign flush = age_q < 4'd3;

  // The window: oldest <= sent <= next <= oldest + Slots.
  (* anyconst *) logic [2:0] oldest_start, held_start, sent_start;
  logic [5:0] flight_q = 0;  // reads that the ring has not answered
  logic [2:0] oldest_q, sent_q, next_q, oldest_was_q, sent_was_q;
  logic commit, depart_new, depart_repeat, hold, is_due_q;
  always_comb begin
    assume (held_start <= 3'(Slots) && sent_start <= held_start);
    if (cand_valid)
      assume (cand_seq - oldest_was_q < sent_was_q - oldest_was_q && !flush);
    if (rd_reply) assume (flight_q != '0);
  end
  always_ff @(posedge clk_i) begin
    oldest_was_q <= oldest_q;
    sent_was_q   <= sent_q;
    if (flush) begin
      oldest_q <= oldest_start;
      sent_q   <= oldest_start + sent_start;
      next_q   <= oldest_start + held_start;
    end else begin
      if (commit) next_q <= next_q + 1'b1;
      if (depart_new) sent_q <= sent_q + 1'b1;
      // window refuses to release what has just departed.
      if (releases && oldest_q != sent_was_q && oldest_q != sent_q) oldest_q <= oldest_q + 1'b1;
    end
    is_due_q <= credit && sent_q != next_q && !depart_new && !flush;
  end

  logic ring_we, job_valid, job_ready, fetch_busy, rd_valid;
  logic [Aw-1:0] ring_waddr, rd_addr;
  logic [Sw-1:0] claimed;
  send_pkg::job_t job;
  send_pkg::slot_t slot;
  always_comb begin
    slot = '0;
    slot.len_bytes = 16'(SlotBytes);
  end

  packetizer #(.W(W), .Slots(Slots), .SlotBytes(SlotBytes)) u_packetizer (
      .clk_i(clk_i), .rst_i(rst), .flush_i(flush), .run_i(run), .stop_i(1'b0),
      .payload_bytes_i(16'(SlotBytes)), .oldest_i(oldest_q[Sw:0]), .next_i(next_q[Sw:0]),
      .hold_i(hold), .slot_o(claimed),
      .s_valid(s_valid), .s_ready(), .s_data(s_data), .s_index(s_index), .s_count(s_count),
      .s_start(s_start), .s_overflow(s_overflow), .s_last(s_last), .s_whole(s_whole),
      .ring_we_o(ring_we), .ring_waddr_o(ring_waddr), .ring_wdata_o(),
      .slot_we_o(), .slot_waddr_o(), .slot_wdata_o(),
      .commit_o(commit), .busy_o(), .index_o(), .lost_o(), .ev_overflow_o(), .ev_lost_count_o()
  );

  tx_sched #(.Slots(Slots), .SlotBeats(SlotBeats)) u_sched (
      .clk_i(clk_i), .rst_i(rst), .flush_i(flush), .time_ns_i(64'd0),
      .state_i(wire_pkg::StateFlowing), .stream_tag_i(32'd0), .window_i(32'd0), .rtt_i(32'd0),
      .has_new_i(is_due_q), .sent_i(32'(sent_q)), .next_i(32'(claimed)),
      .depart_new_o(depart_new), .depart_repeat_o(depart_repeat), .hold_o(hold),
      .cand_valid_i(cand_valid), .cand_seq_i(32'(cand_seq)), .cand_ready_o(),
      .slot_addr_o(), .slot_data_i(slot), .dep_we_o(), .dep_waddr_o(), .dep_wdata_o(),
      .pacer_ok_i(pacer_ok), .charge_o(), .charge_bytes_o(),
      .ctl_want_i(1'b0), .ctl_grant_o(), .ctl_departure_o(), .ctl_done_i(1'b0),
      .ctl_busy_i(1'b0), .ctl_shown_i(1'b0), .ctl_hold_o(),
      .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job),
      .fetch_busy_i(fetch_busy), .last_departure_o(), .ev_budget_o()
  );

  frame_tx #(.W(W), .RdLatency(2), .Aw(Aw)) u_frame_tx (
      .clk_i(clk_i), .rst_i(rst), .self_i('0), .peer_i('0),
      .job_valid_i(job_valid), .job_ready_o(job_ready), .job_i(job),
      .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr),
      .rd_valid_i(rd_reply), .rd_data_i('0),
      .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tvalid(), .m_axis_tready(m_axis_tready),
      .m_axis_tlast(), .busy_o(), .fetch_busy_o(fetch_busy)
  );

  // One slot, chosen once for all.
  (* anyconst *) logic [Sw-1:0] chosen_slot;
  logic is_chosen, is_written, is_read, is_dirty_q, was_released_q;
  logic is_late_q = 0;  // a job was read after its release
  logic [2:0] seq;
  assign seq        = depart_new ? sent_q : cand_seq;
  assign is_chosen  = (depart_new || depart_repeat) && seq[Sw-1:0] == chosen_slot;
  assign is_written = ring_we && Sw'(32'(ring_waddr) / SlotBeats) == chosen_slot;
  assign is_read    = rd_valid && rd_ready && Sw'(32'(rd_addr) / SlotBeats) == chosen_slot;
  always_ff @(posedge clk_i) begin
    if (is_read && was_released_q) is_late_q <= 1'b1;
    flight_q   <= flight_q + 6'(rd_valid && rd_ready) - 6'(rd_reply);
    is_dirty_q <= !is_chosen && (is_dirty_q || is_written);
    // The job's seq is released before it was read.
    if (is_chosen) was_released_q <= depart_repeat && seq != oldest_q && seq == oldest_was_q;
    if (rst) begin
      flight_q       <= '0;
      is_dirty_q     <= 1'b0;
      was_released_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst) begin
      if (is_read) a_unchanged : assert (!is_dirty_q && !is_written);
      c_read : cover (is_read && was_released_q && hold);
      c_written : cover (is_written && was_released_q && is_late_q);
    end
  end

endmodule

`default_nettype wire
