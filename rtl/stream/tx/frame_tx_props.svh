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
      f_first_q  <= job_i.desc.addr[Aw-1:0];
      f_beats_q  <= job_i.desc.len_bytes[15:BeatShift];
    end
  end
  always_comb begin
    assume (rst_i == f_reset_q);
    // The ring answers what was requested; a payload has 2 beats at least.
    if (rd_valid_i) assume (f_flight_q != '0);
    assume (job_i.desc.len_bytes[15:BeatShift] >= CountWidth'(2));
  end

  logic [Aw-1:0] f_offset;
  assign f_offset = rd_addr_o - f_first_q;

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
    end
    cover (m_axis_tvalid && m_axis_tlast);
  end
