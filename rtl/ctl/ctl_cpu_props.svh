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

  always_ff @(posedge clk_i) begin
    if (!f_first_q) begin
      // A beat stays as it is until it is taken, and no cycle inside a frame is without one.
      if (f_stays_q) assert (m_axis_tvalid && f_beat_q == {m_axis_tlast, m_axis_tkeep, m_axis_tdata});
      if (f_inside_q) assert (m_axis_tvalid);
      // Nothing is done, and so nothing written, while a frame leaves; then the program goes on.
      if (m_axis_tvalid) assert (sending_q);
      if (sending_q) assert (phase_q == Operand && !write);
      if (f_over_q) assert (!sending_q && !m_axis_tvalid);
      cover (f_over_q && f_held_q);
    end
  end
