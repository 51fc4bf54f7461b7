  // Properties of frame_tx; included by it for formal runs.

  logic f_reset_q = 1;
  logic [Fw:0] f_flight_q = 0;  // asked for and not come
  logic [Aw-1:0] f_first_q;
  logic [CountWidth-1:0] f_beats_q;
  logic f_loaded_q = 0;
  always_ff @(posedge clk_i) begin
    f_reset_q  <= 1'b0;
    f_flight_q <= f_flight_q + (Fw + 1)'(ask) - (Fw + 1)'(rd_valid_i);
    if (rst_i) f_flight_q <= '0;
    if (start && !rst_i) begin
      f_loaded_q <= 1'b1;
      f_first_q  <= job_i.desc.addr[BeatShift+:Aw];
      f_beats_q  <= job_i.desc.len_bytes[15:BeatShift];
    end
  end

  // A job stands until it is taken; at 512 bits it may be withdrawn before.
  logic f_stands_q = 0, f_begun_q = 0;
  send_pkg::job_t f_job_q;
  always_ff @(posedge clk_i) begin
    f_stands_q <= job_valid_i && !job_ready_o && !rst_i;
    f_begun_q  <= (f_begun_q || start) && !job_ready_o && !rst_i;
    f_job_q    <= job_i;
  end
  always_comb begin
    assume (rst_i == f_reset_q);
    // The ring answers what was requested; a payload has 2 beats at least.
    if (rd_valid_i) assume (f_flight_q != '0);
    assume (job_i.desc.len_bytes[15:BeatShift] >= CountWidth'(2));
    // Longer ones repeat what those of 5 beats do, and their frames end behind any bound.
    assume (job_i.desc.len_bytes[15:BeatShift] <= CountWidth'(5));
    // The first and the last bit are free: a memory of 512 bits takes minutes here.
    assume (rd_data_i[W-2:1] == '0);
    assume (job_i.desc.len_bytes[BeatShift-1:0] == '0);
    if (f_stands_q && (job_valid_i || f_begun_q)) assume (job_i == f_job_q);
    if (f_begun_q) assume (job_valid_i);
  end

  logic [Aw-1:0] f_offset;
  assign f_offset = rd_addr_o - f_first_q;

  // The frames that were begun and have not left, and the beats of the one that leaves.
  logic [CountWidth-1:0] f_lens[4];
  logic [1:0] f_in_q = 0, f_out_q = 0;
  logic [CountWidth:0] f_beat_q = 0, f_len;
  logic f_leaves, f_second_q = 0;
  assign f_leaves = m_axis_tvalid && m_axis_tready;
  assign f_len    = (CountWidth + 1)'(f_lens[f_out_q]);
  always_ff @(posedge clk_i) begin
    if (start) begin
      f_lens[f_in_q] <= job_i.desc.len_bytes[15:BeatShift];
      f_in_q <= f_in_q + 1'b1;
    end
    if (f_leaves) begin
      f_beat_q <= m_axis_tlast ? '0 : f_beat_q + 1'b1;
      if (m_axis_tlast) begin
        f_out_q    <= f_out_q + 1'b1;
        f_second_q <= 1'b1;
      end
    end
    if (rst_i) begin
      f_in_q     <= '0;
      f_out_q    <= '0;
      f_beat_q   <= '0;
      f_second_q <= 1'b0;
    end
  end

  // Of what the ring gives one beat, chosen once for all, leaves in its place.
  (* anyconst *) logic [3:0] f_pick;
  logic [3:0] f_came_q = 0, f_gone_q = 0;
  logic [1:0] f_bits_q;
  logic f_known_q = 0, f_is_payload;
  assign f_is_payload = f_beat_q >= (CountWidth + 1)'(HeadBeats) && !m_axis_tlast;
  always_ff @(posedge clk_i) begin
    if (rd_valid_i && f_came_q != '1) f_came_q <= f_came_q + 1'b1;
    if (rd_valid_i && f_came_q == f_pick) begin
      f_known_q <= 1'b1;
      f_bits_q  <= {rd_data_i[W-1], rd_data_i[0]};
    end
    if (f_leaves && f_is_payload && f_gone_q != '1) f_gone_q <= f_gone_q + 1'b1;
    if (rst_i) begin
      f_came_q  <= '0;
      f_gone_q  <= '0;
      f_known_q <= 1'b0;
    end
  end

  // Beats of the job taken last that the ring was not asked for. At 512 bits none is read before it
  // is taken.
  logic [CountWidth-1:0] f_unread_q = 0;
  always_ff @(posedge clk_i) begin
    if (start) f_unread_q <= job_i.desc.len_bytes[15:BeatShift];
    else if (rd_valid_o && rd_ready_i) f_unread_q <= f_unread_q - 1'b1;
    if (rst_i) f_unread_q <= '0;
  end

  logic f_stood_q = 0, f_last_q;
  always_ff @(posedge clk_i) begin
    f_stood_q <= m_axis_tvalid && !m_axis_tready && !rst_i;
    f_last_q  <= m_axis_tlast;
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      // Every reply has a place.
      assert (room_q + level_q + f_flight_q == (Fw + 1)'(FifoDepth));
      assert (level_q <= (Fw + 1)'(FifoDepth) && f_flight_q <= (Fw + 1)'(FifoDepth));
      assert (Fw'(fifo_wr_q - fifo_rd_q) == level_q[Fw-1:0]);
      // Reads stay inside the packet.
      if (fetch_busy_q) begin
        assert (f_loaded_q && fetch_left_q != '0 && fetch_left_q <= f_beats_q);
        assert (f_offset == Aw'(f_beats_q - fetch_left_q));
      end
      // A frame is its header, its payload and its trailer, and only a job makes one.
      if (m_axis_tvalid) begin
        a_of_a_job : assert (f_in_q != f_out_q);
        a_length : assert (m_axis_tlast == (f_beat_q == (CountWidth + 1)'(HeadBeats) + f_len));
        a_busy : assert (busy_o);
        a_keep : assert (m_axis_tkeep == (m_axis_tlast ? (W / 8)'(4'hF) : '1));
        if (f_is_payload && f_gone_q == f_pick && f_pick != '1)
          a_data : assert (f_known_q && m_axis_tdata == {f_bits_q[1], {(W - 2) {1'b0}}, f_bits_q[0]});
      end
      if (W == 512) a_fetch_busy : assert (fetch_busy_o == (f_unread_q != '0));
      if (f_stood_q) a_stands : assert (m_axis_tvalid && m_axis_tlast == f_last_q);
      c_frame : cover (f_leaves && m_axis_tlast && f_in_q != f_out_q);
      c_second : cover (f_leaves && !m_axis_tlast && f_second_q);
    end
  end
