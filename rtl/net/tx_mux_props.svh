  // Properties of tx_mux; included by it for formal runs: every frame leaves whole, as it came, and
  // control frames and DATA each in their order. For W = 64, where both are as wide as the wire.

  logic f_reset_q = 1, f_young_q = 0;  // in reset; in the cycle behind it
  always_ff @(posedge clk_i) begin
    f_reset_q <= 1'b0;
    f_young_q <= f_reset_q;
  end
  always_comb assume (rst_i == f_reset_q);

  // Sources hold a beat until it is taken. A control frame is held back only from before its first
  // beat on (tx_sched), and a DATA frame is chosen before its first beat; one is built at most while
  // another leaves.
  logic f_stood_0_q = 0, f_stood_1_q = 0, f_held_q = 0;
  logic [72:0] f_beat_0_q, f_beat_1_q, f_beat_0, f_beat_1, f_out, f_out_q;
  logic f_busy_q = 0, f_out_stood_q = 0;
  assign f_beat_0 = {s0_axis_tlast, s0_axis_tkeep, s0_axis_tdata};
  assign f_beat_1 = {s1_axis_tlast, 8'(s1_axis_tkeep), 64'(s1_axis_tdata)};
  assign f_out    = {m_axis_tlast, 8'(m_axis_tkeep), 64'(m_axis_tdata)};
  logic [2:0] f_owed_q = 0;  // DATA frames that were chosen and have not begun to leave the source
  logic f_in_0_q = 0, f_in_1_q = 0;  // inside a frame of the source
  logic f_take_0, f_take_1, f_leaves;
  assign f_take_0 = s0_axis_tvalid && s0_axis_tready;
  assign f_take_1 = s1_axis_tvalid && s1_axis_tready;
  assign f_leaves = m_axis_tvalid && m_axis_tready;
  always_ff @(posedge clk_i) begin
    f_stood_0_q   <= s0_axis_tvalid && !s0_axis_tready && !rst_i;
    f_stood_1_q   <= s1_axis_tvalid && !s1_axis_tready && !rst_i;
    f_out_stood_q <= m_axis_tvalid && !m_axis_tready && !rst_i;
    f_beat_0_q    <= f_beat_0;
    f_beat_1_q    <= f_beat_1;
    f_out_q       <= f_out;
    f_held_q      <= s0_hold_i && !rst_i;
    f_busy_q      <= s0_busy_o && !rst_i;
    if (f_take_0) f_in_0_q <= !s0_axis_tlast;
    if (f_take_1) f_in_1_q <= !s1_axis_tlast;
    f_owed_q <= f_owed_q + 3'(s1_chosen_i) - 3'(f_take_1 && s1_axis_tlast);
    if (rst_i) begin
      f_in_0_q <= 1'b0;
      f_in_1_q <= 1'b0;
      f_owed_q <= '0;
    end
  end
  always_comb begin
    if (f_reset_q) assume (!s0_axis_tvalid && !s1_axis_tvalid && !s0_hold_i && !s1_chosen_i);
    if (f_stood_0_q) assume (s0_axis_tvalid && f_beat_0 == f_beat_0_q);
    if (f_stood_1_q) assume (s1_axis_tvalid && f_beat_1 == f_beat_1_q);
    if (s0_hold_i && !f_held_q) assume (!f_busy_q && !s0_axis_tvalid && !f_in_0_q);
    if (s1_axis_tvalid) assume (f_owed_q != '0);
    assume (f_owed_q < 3'd4 || !s1_chosen_i);
  end

  // What leaves is what is taken in the same cycle; whose frame is under way; and the DATA that was
  // chosen before the hold ended and has not left.
  logic f_open_q = 0, f_of_data_q = 0;
  logic [2:0] f_before_q = 0;
  logic f_both_q = 0;
  always_ff @(posedge clk_i) begin
    if (f_leaves) begin
      f_open_q    <= !m_axis_tlast;
      f_of_data_q <= f_take_1;
    end
    // The frame that was held back leaves behind all DATA that was chosen until the hold's end.
    if (s0_hold_i) f_before_q <= f_owed_q + 3'(s1_chosen_i) - 3'(f_take_1 && s1_axis_tlast);
    else if (f_take_1 && s1_axis_tlast && f_before_q != '0) f_before_q <= f_before_q - 1'b1;
    if (f_leaves && m_axis_tlast && f_take_0 && f_open_q) f_both_q <= 1'b1;
    if (rst_i) begin
      f_open_q   <= 1'b0;
      f_before_q <= '0;
      f_both_q   <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      a_one : assert (!(f_take_0 && f_take_1) && f_leaves == (f_take_0 || f_take_1));
      if (f_take_0) a_control : assert (f_out == f_beat_0);
      if (f_take_1) a_data : assert (f_out == f_beat_1);
      // A frame that is begun goes on to its end.
      if (f_leaves && f_open_q) a_whole : assert (f_take_1 == f_of_data_q);
      if (f_leaves && !f_open_q) a_begins : assert (f_take_0 ? !f_in_0_q : !f_in_1_q);
      if (f_out_stood_q) a_stands : assert (m_axis_tvalid && f_out == f_out_q);
      // What is held back waits, and what was chosen before it goes first.
      if (f_take_0 && !f_in_0_q) a_order : assert (!s0_hold_i && f_before_q == '0);
      // What the induction needs to know.
      a_under_way : assert (!f_open_q || (begun_q && data_q == f_of_data_q));
      if (begun_q && !f_open_q) a_waits : assert (data_q ? f_stood_1_q : f_stood_0_q);
      if (f_young_q) a_young : assert (!begun_q && !f_open_q && !data_q && !f_held_q);
      if (!data_q && !f_young_q) a_control_may : assert (!s0_hold_i && f_before_q == '0);
      a_inside : assert (f_in_0_q == (f_open_q && !f_of_data_q) &&
                         f_in_1_q == (f_open_q && f_of_data_q));
      a_chosen : assert (chosen_q == f_owed_q && f_before_q == ahead_q);
      c_both : cover (f_both_q && f_take_1 && m_axis_tlast && f_of_data_q && f_open_q);
      c_held : cover (f_before_q == 3'd2 && s0_axis_tvalid && !s0_hold_i);
    end
  end
