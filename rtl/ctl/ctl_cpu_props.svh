  // Properties of ctl_cpu; included by it for formal runs. They hold with any program.

  logic f_first_q = 1;
  logic f_stays_q = 0, f_inside_q = 0, f_over_q = 0, f_held_q = 0;
  logic [72:0] f_beat_q;
  always_ff @(posedge clk_i) begin
    f_first_q  <= 1'b0;
    f_stays_q  <= valid_q && !m_axis_tready && !rst_i;
    f_inside_q <= valid_q && m_axis_tready && !last_q && !rst_i;
    f_over_q   <= valid_q && m_axis_tready && last_q && !rst_i;
    f_held_q   <= (f_held_q || (read && is_held && !is_last)) && sending_q && !rst_i;
    f_beat_q   <= {m_axis_tlast, m_axis_tkeep, m_axis_tdata};
  end
  always_comb assume (rst_i == f_first_q);

  // What the program asked for: beats behind the one that is shown, and bytes of the last.
  logic [CountBits-1:0] f_left_q;
  logic [2:0] f_bytes_q;
  logic [63:0] f_word_q;  // at P
  logic f_read_q = 0;
  logic [AddrBits-3:0] f_word_at_q;  // P behind a read
  logic [7:0] f_keep;
  assign f_keep = f_bytes_q == '0 ? 8'hFF : (8'd1 << f_bytes_q) - 8'd1;
  always_ff @(posedge clk_i) begin
    if (out_we_o && out_o == OutSend) begin
      f_left_q  <= ~count_q;
      f_bytes_q <= out_data_o[2:0];
    end else if (valid_q && m_axis_tready) f_left_q <= f_left_q - 1'b1;
    f_read_q <= sending_q && !last_q && (!valid_q || m_axis_tready) && !rst_i;
    f_word_at_q <= p_q[AddrBits-1:2] + (AddrBits - 2)'(!is_held);
    if (sending_q && (!valid_q || m_axis_tready)) f_word_q <= work_mem[p_q[AddrBits-1:2]];
  end

  always_ff @(posedge clk_i) begin
    if (!f_first_q) begin
      // A beat stays as it is until it is taken, and no cycle inside a frame is without one.
      if (f_stays_q) assert (m_axis_tvalid && f_beat_q == {m_axis_tlast, m_axis_tkeep, m_axis_tdata});
      if (f_inside_q) assert (m_axis_tvalid);
      // Nothing is done, and so nothing written, while a frame leaves; then the program goes on.
      if (m_axis_tvalid) assert (sending_q);
      if (sending_q) assert (phase_q == Operand && !write);
      if (f_over_q) assert (!sending_q && !m_axis_tvalid);
      if (m_axis_tvalid) begin
        a_last : assert (m_axis_tlast == (f_left_q == '0));
        a_keep : assert (m_axis_tkeep == (m_axis_tlast ? f_keep : 8'hFF));
        a_data : assert (m_axis_tdata == bits_pkg::be64(f_word_q));
        a_count : assert (f_left_q == -count_q);
      end
      if (f_read_q) a_step : assert (p_q[AddrBits-1:2] == f_word_at_q);
      if (sending_q) a_sends : assert (f_bytes_q == bytes_q && (valid_q || f_left_q == ~count_q));
      cover (f_over_q && f_held_q);
    end
  end
