// The sending half of one reliable connection of RoCEv2: takes work requests, cuts messages to the
// path MTU, sends their packets as frames, and completes the requests, once and in order (IB 9.7,
// 9.9). SEND and RDMA WRITE, with and without immediate; W bits wide.
//
//   post -> queue -> segmenter -> slots -> roce_qp chooses -> job -> roce_head -> frame
//                                  (window)     ^ pacer        +-> read_ahead <- memory
//   completion <- oldest unacknowledged <- roce_qp <- answer (roce_rx)
//
// A message's payload is read from memory each time that a packet leaves; it stays there until its
// completion. A slot describes one packet from its commit to its acknowledgement, and a place in
// the queue is free with the completion. The last packet of a message and every `ack_every`-th
// packet request an ACK.
//
// Throughput: frames back to back at a path MTU of 256 and above; messages of one short packet in
// 15 cycles each at 64 bits. Latency, at every MTU: request accepted to first beat 18 cycles, at
// 512 bits 21, with a memory that answers in 2; last beat of an ACK at eth_ip_check to completion
// 17, at 512 bits 18; of a NAK to the first repeated beat, wire idle, 37, at 512 bits 41.
// Back-pressure: post_ready_o, m_axis_tready; completions have none, and never more are to come
// than posts were accepted. tvalid has no gap inside a frame unless the memory has one.
//
// `post_reject_o` is high beside a request that is not taken whatever the room: not whole beats,
// longer than 2^31 bytes, or beyond the memory. `run_i` begins a connection with `cfg_i`, unless a
// number of it is out of its range (`refused_o`); both stand. While it is low, for at least 4
// cycles, what was posted is forgotten; a frame under way leaves whole. After a failure, or
// `abort_i`, what is posted is flushed. `self_i` and `peer_i` stand still from 32 cycles before
// `run_i` on. `rate_i` and `burst_ns_i` are those of `pacer`. With Full the answers of a responder
// leave through it too: each in front of the packets that are not begun, and not paced. One clock.
`default_nettype none

module roce_requester #(
    parameter  int unsigned W     = 64,
    parameter  int unsigned Slots = W == 512 ? 1024 : 128,  // packets in flight
    parameter  int unsigned Queue = 16,  // work requests
    parameter  int unsigned Aw    = 16,  // of the memory, in beats
    parameter  bit          Full  = 1'b0,  // a roce_responder's answers too
    localparam int unsigned Sw    = $clog2(Slots),
    localparam int unsigned Qw    = $clog2(Queue)
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_i,
    input  wire logic                 [63:0] time_ns_i,
    input  wire net_pkg::peer_t              self_i,
    input  wire net_pkg::peer_t              peer_i,
    // connection
    input  wire logic                        run_i,
    input  wire roce_pkg::qp_t               cfg_i,
    output      logic                        refused_o,
    output      logic                        is_running_o,
    input  wire logic                        abort_i,
    input  wire logic                 [23:0] rate_i,
    input  wire logic                 [19:0] burst_ns_i,
    // work requests
    input  wire logic                        post_valid_i,
    output      logic                        post_ready_o,
    output      logic                        post_reject_o,
    input  wire roce_pkg::work_request_t     post_i,
    output      logic                        completion_valid_o,
    output      roce_pkg::completion_t       completion_o,
    // roce_rx
    input  wire logic                        answer_valid_i,
    input  wire roce_pkg::answer_t           answer_i,
    // roce_responder
    input  wire logic                        response_valid_i,
    output      logic                        response_ready_o,
    input  wire roce_pkg::response_t         response_i,
    // memory
    output      logic                        rd_valid_o,
    input  wire logic                        rd_ready_i,
    output      logic               [Aw-1:0] rd_addr_o,
    input  wire logic                        rd_valid_i,
    input  wire logic              [  W-1:0] rd_data_i,
    // frames
    output      logic              [  W-1:0] m_axis_tdata,
    output      logic              [W/8-1:0] m_axis_tkeep,
    output      logic                        m_axis_tvalid,
    input  wire logic                        m_axis_tready,
    output      logic                        m_axis_tlast,
    // wire time of a packet, with ev_packet_o
    output      logic                 [15:0] charge_bytes_o,
    // counters
    output      logic                        ev_packet_o,
    output      logic                        ev_repeat_o,
    output      logic                        ev_ack_o,
    output      logic                        ev_marked_o,
    output      logic                        ev_outside_o,
    output      logic                        ev_sequence_nak_o,
    output      logic                        ev_rnr_nak_o,
    output      logic                        ev_copy_o,
    output      logic                        ev_timeout_o,
    output      logic                        ev_dropped_o,
    output      logic                        ev_cnp_o
);

  localparam int unsigned Shift = $clog2(W / 8);
  localparam int unsigned LenWidth = 13 - Shift;  // of a packet's payload in beats
  localparam int unsigned BeatsWidth = 32 - Shift;  // of a message
  // Ethernet, IPv4, UDP, BTH and ICRC; preamble, frame check sequence and gap.
  localparam logic [15:0] WireBytes = 16'd58 + 16'd24;

  if (Slots != (1 << Sw) || Queue != (1 << Qw) || Queue < 2) begin : g_sizes
    $error("Slots and Queue must be powers of two");
  end
  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (Aw + Shift > 40) begin : g_address
    $error("an address in bytes has at most 40 bits");
  end

  typedef logic [Qw-1:0] place_t;

  // Numbers out of their range begin no connection.
  logic is_cfg_ok_q, run_q;
  always_ff @(posedge clk_i) begin
    is_cfg_ok_q <= cfg_i.mtu != 3'd0 && cfg_i.mtu < 3'd6 && cfg_i.window != 16'd0
        && cfg_i.window <= 16'(Slots) && cfg_i.ack_every != 16'd0
        && cfg_i.ack_every <= cfg_i.window;
    run_q <= run_i && is_cfg_ok_q && !rst_i;
  end
  assign refused_o = run_i && !is_cfg_ok_q;

  // The queue: posted from `done` to `post`, cut into packets up to `seg`.
  logic [Qw:0] post_q, seg_q, done_q;
  logic accept, is_cut, completes, fails_request;
  logic [40:0] end_bytes;

  assign end_bytes     = {1'b0, post_i.addr} + 41'(post_i.len_bytes);
  assign post_reject_o = (|post_i.len_bytes[Shift-1:0]) || (|post_i.addr[Shift-1:0])
      || post_i.len_bytes > 32'h8000_0000 || end_bytes > (41'd1 << (Aw + Shift));
  assign post_ready_o  = run_q && !post_reject_o && post_q != {~done_q[Qw], done_q[Qw-1:0]};
  assign accept        = post_valid_i && post_ready_o;

  // What the segmenter needs of a request, what its packets' headers do, and its name.
  typedef struct packed {
    logic [Aw-1:0]         addr;   // in beats
    logic [BeatsWidth-1:0] beats;
  } range_t;

  typedef struct packed {
    logic        is_write;
    logic        is_solicited;
    logic        has_immediate;
    logic [31:0] immediate;
    logic [63:0] remote_address;
    logic [31:0] rkey;
    logic [31:0] len_bytes;
  } message_t;

  logic [Aw+BeatsWidth-1:0] range_mem[Queue];
  logic [162:0] message_mem[Queue];
  logic [15:0] id_mem[Queue];
  logic [23:0] end_mem[Queue];  // the seq behind its last packet

  always_ff @(posedge clk_i) begin
    if (accept) begin
      range_mem[post_q[Qw-1:0]] <= {post_i.addr[Shift+:Aw], post_i.len_bytes[31:Shift]};
      message_mem[post_q[Qw-1:0]] <= {
        post_i.is_write, post_i.is_solicited, post_i.has_immediate, post_i.immediate,
        post_i.remote_address, post_i.rkey, post_i.len_bytes
      };
      id_mem[post_q[Qw-1:0]] <= post_i.id;
    end
  end

  // The segmenter: a packet a cycle while there are slots.
  typedef struct packed {
    place_t              place;
    logic [Aw-1:0]       addr;
    logic [LenWidth-1:0] beats;
    logic                is_first;
    logic                is_last;
    logic                ack_request;
  } slot_t;

  localparam int unsigned SlotBits = Qw + Aw + LenWidth + 3;
  logic [SlotBits-1:0] slot_mem[Slots];

  logic is_cutting_q, is_first_q, is_last, commit, full, is_interval;
  range_t range, range_q;
  logic [LenWidth-1:0] mtu_beats, beats;
  logic [15:0] since_q;  // packets since the one that requested an ACK by its number
  logic [23:0] next, oldest;

  assign range       = range_mem[seg_q[Qw-1:0]];
  assign mtu_beats   = LenWidth'(128 >> Shift) << cfg_i.mtu;
  assign is_last     = range_q.beats <= BeatsWidth'(mtu_beats);
  assign beats       = is_last ? range_q.beats[LenWidth-1:0] : mtu_beats;
  assign is_interval = since_q == cfg_i.ack_every - 16'd1;
  assign commit      = is_cutting_q && !full && is_running_o && run_q;
  assign is_cut      = commit && is_last;

  always_ff @(posedge clk_i) begin
    if (commit)
      slot_mem[next[Sw-1:0]] <= {
        seg_q[Qw-1:0], range_q.addr, beats, is_first_q, is_last, is_last || is_interval
      };
    if (is_cut) end_mem[seg_q[Qw-1:0]] <= next + 24'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!is_cutting_q) begin
      range_q      <= range;
      is_first_q   <= 1'b1;
      is_cutting_q <= seg_q != post_q && is_running_o;
    end else if (commit) begin
      range_q.addr  <= range_q.addr + Aw'(mtu_beats);
      range_q.beats <= range_q.beats - BeatsWidth'(mtu_beats);
      is_first_q    <= 1'b0;
      since_q       <= is_interval ? 16'd0 : since_q + 16'd1;
      if (is_last) is_cutting_q <= 1'b0;
    end
    if (accept) post_q <= post_q + 1'b1;
    // One that fails before it is cut is passed over.
    if (is_cut || (fails_request && seg_q == done_q)) seg_q <= seg_q + 1'b1;
    if (completes) done_q <= done_q + 1'b1;
    if (!run_q) begin
      is_cutting_q <= 1'b0;
      since_q      <= '0;
      post_q       <= '0;
      seg_q        <= '0;
      done_q       <= '0;
    end
    if (fails_request) is_cutting_q <= 1'b0;
  end

  // Numbers, timers, answers.
  logic send_valid, send_ready, take, fail, is_cnp;
  logic [23:0] send_seq;
  roce_pkg::status_e fail_status;

  assign is_cnp   = answer_i.kind == roce_pkg::AnswerCnp;
  assign ev_cnp_o = answer_valid_i && is_cnp && run_q;

  roce_qp #(
      .Slots(Slots)
  ) u_qp (
      .clk_i            (clk_i),
      .rst_i            (rst_i),
      .run_i            (run_q),
      .time_ns_i        (time_ns_i),
      .cfg_i            (cfg_i),
      .answer_valid_i   (answer_valid_i && !is_cnp),
      .answer_i         (answer_i),
      .abort_i          (abort_i),
      .commit_i         (commit),
      .full_o           (full),
      .next_o           (next),
      .oldest_o         (oldest),
      .send_valid_o     (send_valid),
      .send_seq_o       (send_seq),
      .send_ready_i     (send_ready),
      .is_running_o     (is_running_o),
      .fail_o           (fail),
      .fail_status_o    (fail_status),
      .ev_ack_o         (ev_ack_o),
      .ev_marked_o      (ev_marked_o),
      .ev_outside_o     (ev_outside_o),
      .ev_sequence_nak_o(ev_sequence_nak_o),
      .ev_rnr_nak_o     (ev_rnr_nak_o),
      .ev_copy_o        (ev_copy_o),
      .ev_timeout_o     (ev_timeout_o),
      .ev_repeat_o      (ev_repeat_o),
      .ev_dropped_o     (ev_dropped_o)
  );

  // A packet is looked up when the job before it is taken: what its slot and its request hold does
  // not change in so short a time, also when it is acknowledged meanwhile.
  logic found_q, job_valid_q, charge_q, job_ready, pace_ok;
  logic [23:0] psn_q;
  slot_t slot_q;
  message_t message;
  roce_pkg::packet_t job, job_q;
  logic [Aw-1:0] job_addr_q;

  // An answer takes the place of a job that could be chosen.
  logic respond;
  assign respond          = Full && response_valid_i && !found_q && !job_valid_q && !rst_i;
  assign response_ready_o = respond;

  assign send_ready = !found_q && !job_valid_q && pace_ok && !respond;
  assign take       = send_valid && send_ready;
  assign message    = message_mem[slot_q.place];

  always_comb begin
    job.has_reth      = message.is_write && slot_q.is_first;
    job.has_immediate = message.has_immediate && slot_q.is_last;
    unique case ({slot_q.is_first, slot_q.is_last})
      2'b10:   job.opcode = roce_pkg::OpFirst;
      2'b00:   job.opcode = roce_pkg::OpMiddle;
      2'b01:   job.opcode = roce_pkg::OpLast;
      default: job.opcode = roce_pkg::OpOnly;
    endcase
    job.opcode = (job.opcode | 8'(job.has_immediate))
        + (message.is_write ? roce_pkg::OpOfWrite : 8'd0);
    // IB 9.2: with the last packet of a SEND, or of a WRITE with immediate.
    job.is_solicited   = message.is_solicited && slot_q.is_last
        && (!message.is_write || message.has_immediate);
    job.ack_request    = slot_q.ack_request;
    job.destination    = cfg_i.remote_qp;
    job.psn            = psn_q;
    job.remote_address = message.remote_address;
    job.rkey           = message.rkey;
    job.message_bytes  = message.len_bytes;
    job.immediate      = message.immediate;
    job.len_bytes      = 16'({slot_q.beats, Shift'(0)});
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      slot_q <= slot_mem[send_seq[Sw-1:0]];
      psn_q  <= send_seq + cfg_i.first_psn;
    end
    found_q  <= take && run_q && !rst_i;
    charge_q <= found_q && !rst_i;
    if (found_q) begin
      job_q       <= job;
      job_addr_q  <= slot_q.addr;
      job_valid_q <= 1'b1;
    end
    // Its AETH stands where a request has ImmDt, a CNP's reserved bytes where one has RETH.
    if (respond) begin
      job_q.opcode         <= response_i.is_cnp ? roce_pkg::OpCnp : roce_pkg::OpAcknowledge;
      job_q.has_reth       <= response_i.is_cnp;
      job_q.has_immediate  <= !response_i.is_cnp;
      job_q.remote_address <= '0;
      job_q.rkey           <= '0;
      job_q.message_bytes  <= '0;
      job_q.is_solicited  <= 1'b0;
      job_q.ack_request   <= 1'b0;
      job_q.destination   <= cfg_i.remote_qp;
      job_q.psn           <= response_i.psn;
      job_q.immediate     <= {response_i.syndrome, response_i.msn};
      job_q.len_bytes     <= '0;
      job_valid_q         <= 1'b1;
    end
    if (job_ready || rst_i) job_valid_q <= 1'b0;
  end

  assign ev_packet_o    = charge_q;
  assign charge_bytes_o = job_q.len_bytes + WireBytes + {11'd0, job_q.has_reth, 1'b0,
      job_q.has_immediate, 2'd0};

  // Charged while the job stands, which holds the next choice back until `ok_o` has fallen.
  pacer u_pacer (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .time_ns_i     (time_ns_i),
      .rate_i        (rate_i),
      .burst_ns_i    (burst_ns_i),
      .charge_i      (charge_q),
      .charge_bytes_i(charge_bytes_o),
      .ok_o          (pace_ok)
  );

  // The frame.
  logic start, reads, p_valid, p_ready;
  logic [W-1:0] p_data;

  read_ahead #(
      .Width     (W),
      .Aw        (Aw),
      .CountWidth(LenWidth)
  ) u_payload (
      .clk_i     (clk_i),
      .rst_i     (rst_i),
      .start_i   (start),
      .addr_i    (job_addr_q),
      .count_i   (job_q.len_bytes[Shift+:LenWidth]),
      .busy_o    (reads),
      .rd_valid_o(rd_valid_o),
      .rd_ready_i(rd_ready_i),
      .rd_addr_o (rd_addr_o),
      .rd_valid_i(rd_valid_i),
      .rd_data_i (rd_data_i),
      .m_valid_o (p_valid),
      .m_ready_i (p_ready),
      .m_data_o  (p_data)
  );

  roce_head #(
      .W(W)
  ) u_head (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .self_i       (self_i),
      .peer_i       (peer_i),
      .job_valid_i  (job_valid_q),
      .job_ready_o  (job_ready),
      .job_i        (job_q),
      .hold_i       (reads),
      .start_o      (start),
      .busy_o       (),
      .s_valid_i    (p_valid),
      .s_ready_o    (p_ready),
      .s_data_i     (p_data),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast)
  );

  // Completions: the oldest request is read, then judged.
  logic is_read_q, has_end_q, has_request_q, has_failed_q, is_acked;
  logic [15:0] id_q;
  logic [23:0] end_q, behind;
  roce_pkg::status_e status_q;

  assign behind        = oldest - end_q;
  assign is_acked      = has_end_q && !behind[23];
  assign fails_request = is_read_q && has_request_q && has_failed_q && !is_acked;
  assign completes     = is_read_q && has_request_q && (is_acked || has_failed_q);

  always_ff @(posedge clk_i) begin
    id_q          <= id_mem[done_q[Qw-1:0]];
    end_q         <= end_mem[done_q[Qw-1:0]];
    has_end_q     <= seg_q != done_q;
    has_request_q <= post_q != done_q;
    is_read_q     <= !completes;
    if (fail) begin
      has_failed_q <= 1'b1;
      status_q     <= fail_status;
    end else if (fails_request) begin
      status_q <= roce_pkg::StatusFlushed;
    end
    if (!run_q) begin
      is_read_q    <= 1'b0;
      has_failed_q <= 1'b0;
    end
    completion_valid_o <= completes && run_q;
    completion_o       <= {id_q, is_acked ? roce_pkg::StatusDone : status_q};
  end

endmodule

`default_nettype wire
