  // Properties of tx_mux; included by it for formal runs: every frame leaves whole, as it came, and
  // control frames and DATA each in their order.

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
  logic [72:0] f_beat_0_q, f_beat_0;
  logic [W/8+W:0] f_beat_1_q, f_beat_1, f_out, f_out_q;
  logic f_busy_q = 0, f_out_stood_q = 0;
  assign f_beat_0 = {s0_axis_tlast, s0_axis_tkeep, s0_axis_tdata};
  assign f_beat_1 = {s1_axis_tlast, s1_axis_tkeep, s1_axis_tdata};
  assign f_out    = {m_axis_tlast, m_axis_tkeep, m_axis_tdata};
  logic [2:0] f_owed_q = 0;  // DATA frames that were chosen and have not begun to leave the source
  logic f_in_0_q = 0, f_in_1_q = 0;  // inside a frame of the source
  logic f_take_0, f_take_1, f_leaves, f_ctl_leaves;
  assign f_take_0     = s0_axis_tvalid && s0_axis_tready;
  assign f_take_1     = s1_axis_tvalid && s1_axis_tready;
  assign f_leaves     = m_axis_tvalid && m_axis_tready;
  assign f_ctl_leaves = f_leaves && !f_take_1;
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
    if (s0_hold_i && !f_held_q)
      assume (!f_busy_q && !s0_busy_o && !s0_axis_tvalid && !f_in_0_q);
    if (s1_axis_tvalid) assume (f_owed_q != '0);
    assume (f_owed_q < 3'd4 || !s1_chosen_i);
  end

  // Whose frame is under way; and the DATA that was chosen before the hold ended and has not left.
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
    if (f_ctl_leaves && m_axis_tlast && f_open_q) f_both_q <= 1'b1;
    if (rst_i) begin
      f_open_q   <= 1'b0;
      f_before_q <= '0;
      f_both_q   <= 1'b0;
    end
  end

  // A frame of the other source waits while this one's leaves, and has its turn behind it.
  logic f_turn_q = 0;  // DATA waited through the last beat of a control frame
  always_ff @(posedge clk_i) begin
    if (rst_i || f_take_1) f_turn_q <= 1'b0;
    else if (f_ctl_leaves && m_axis_tlast) f_turn_q <= s1_axis_tvalid;
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      if (f_take_1) a_data : assert (f_leaves && f_out == f_beat_1);
      // A frame that is begun goes on to its end.
      if (f_leaves && f_open_q) a_whole : assert (f_take_1 == f_of_data_q);
      if (f_leaves && !f_open_q && f_take_1) a_begins : assert (!f_in_1_q);
      if (f_out_stood_q) a_stands : assert (m_axis_tvalid && f_out == f_out_q);
      if (f_turn_q) a_turn : assert (data_q && f_stood_1_q && (!f_leaves || f_take_1));
      // What is held back waits, and what was chosen before it goes first.
      if (f_ctl_leaves && !f_open_q) a_order : assert (!s0_hold_i && f_before_q == '0);
      // What the induction needs to know.
      a_under_way : assert (!f_open_q || (begun_q && data_q == f_of_data_q));
      if (f_young_q) a_young : assert (!begun_q && !f_open_q && !data_q && !f_held_q);
      if (!data_q && !f_young_q) a_control_may : assert (!s0_hold_i && f_before_q == '0);
      a_inside : assert (f_in_1_q == (f_open_q && f_of_data_q));
      a_chosen : assert (chosen_q == f_owed_q && f_before_q == ahead_q);
      c_both : cover (f_both_q && f_take_1 && m_axis_tlast && f_of_data_q && f_open_q);
      c_held : cover (f_before_q == 3'd2 && s0_axis_tvalid && !s0_hold_i);
    end
  end

  if (W == 64) begin : g_f_direct
    always_ff @(posedge clk_i) begin
      if (!f_reset_q) begin
        a_one : assert (f_ctl_leaves == f_take_0 && s0_busy_o == s0_axis_tvalid);
        if (f_take_0) a_control : assert (f_out == f_beat_0);
        if (f_take_0 && !f_open_q) a_control_begins : assert (!f_in_0_q);
        a_shown : assert (s0_shown_o == s0_axis_tvalid);
        if (begun_q && !f_open_q) a_waits : assert (data_q ? f_stood_1_q : f_stood_0_q);
        a_control_inside : assert (f_in_0_q == (f_open_q && !f_of_data_q));
      end
    end
  end else begin : g_f_gather
    // Any one beat of the control frames must leave in the row and lane that the count of beats
    // gives it, and what ends a frame ends its row.
    (* anyconst *) logic [5:0] f_pick;
    logic [5:0] f_count_q = 0;  // beats that were taken
    logic [3:0] f_row_q = 0, f_whole_q = 0, f_out_row_q = 0;  // rows filled, of whole frames, sent
    logic [2:0] f_lane_q = 0;
    logic f_seen_q = 0;
    logic f_came_q = 0, f_past_rows_q = 0;  // a beat stood there, a row waited, a cycle ago
    logic [72:0] f_beat_q;
    logic [3:0] f_beat_row_q;
    logic [2:0] f_beat_lane_q;
    logic [4:0] f_rows_of_frame_q = 0;
    logic f_waits;
    logic [1:0] f_wait_q = 0;  // cycles since the last change of what waits
    logic [1:0] f_empty_q = 0;  // cycles without anything of control
    assign f_waits = f_whole_q != f_out_row_q;
    always_ff @(posedge clk_i) begin
      f_came_q      <= s0_axis_tvalid;
      f_past_rows_q <= f_row_q != f_out_row_q;
      if (f_take_0) begin
        f_count_q <= f_count_q + 1'b1;
        f_lane_q  <= s0_axis_tlast ? '0 : f_lane_q + 1'b1;
        if (s0_axis_tlast || f_lane_q == '1) begin
          f_row_q           <= f_row_q + 1'b1;
          f_rows_of_frame_q <= s0_axis_tlast ? '0 : f_rows_of_frame_q + 1'b1;
        end
        if (s0_axis_tlast) f_whole_q <= f_row_q + 1'b1;
        if (f_count_q == f_pick && !f_seen_q) begin
          f_seen_q      <= 1'b1;
          f_beat_q      <= f_beat_0;
          f_beat_row_q  <= f_row_q;
          f_beat_lane_q <= f_lane_q;
        end
      end
      if (f_ctl_leaves && !rst_i) f_out_row_q <= f_out_row_q + 1'b1;
      if (!f_waits || f_ctl_leaves) f_wait_q <= '0;
      else if (f_wait_q != '1) f_wait_q <= f_wait_q + 1'b1;
      if (s0_axis_tvalid || f_row_q != f_out_row_q || f_lane_q != '0) f_empty_q <= '0;
      else if (f_empty_q != '1) f_empty_q <= f_empty_q + 1'b1;
    end
    // Keep is contiguous, and whole but at a frame's end. All bits of a lane's data go one way.
    always_comb begin
      assume (s0_axis_tdata[63:2] == '0 && (s1_axis_tdata & ~{8{64'd3}}) == '0);
      if (s0_axis_tvalid) begin
        assume (s0_axis_tkeep[0] && (s0_axis_tkeep & (s0_axis_tkeep + 8'd1)) == '0);
        assume (s0_axis_tlast || (&s0_axis_tkeep));
        // A frame has fewer rows than the memory.
        if (f_lane_q == '1) assume (s0_axis_tlast || f_rows_of_frame_q + 5'd2 < 5'(Rows));
      end
    end
    logic f_is_picked;
    assign f_is_picked = f_ctl_leaves && f_seen_q && f_out_row_q == f_beat_row_q;
    logic [72:0] f_lane;
    logic [7:0] f_behind;  // lanes behind the picked one that are kept
    assign f_lane = {f_beat_q[72] && m_axis_tlast, m_axis_tkeep[8*f_beat_lane_q+:8],
                     m_axis_tdata[64*f_beat_lane_q+:64]};
    always_comb
      for (int i = 0; i < 8; i++) f_behind[i] = 3'(i) > f_beat_lane_q && (|m_axis_tkeep[8*i+:8]);
    always_ff @(posedge clk_i) begin
      if (!f_reset_q) begin
        if (f_ctl_leaves) a_came : assert (f_waits);
        if (f_is_picked) a_control : assert (f_lane == f_beat_q);
        if (f_is_picked && f_beat_q[72]) a_end : assert (f_behind == '0);
        if (f_is_picked && !f_beat_q[72] && (&f_beat_lane_q)) a_goes_on : assert (!m_axis_tlast);
        // A control frame leaves without gaps, and is shown 3 cycles behind its last beat.
        if (f_open_q && !f_of_data_q) a_no_gap : assert (m_axis_tvalid);
        if (f_wait_q == 2'd2) a_shown : assert (s0_shown_o);
        if (s0_shown_o) a_shown_whole : assert (f_waits);
        if (!f_young_q) a_busy : assert (s0_busy_o == (f_came_q || f_past_rows_q));
        if (f_empty_q == 2'd2) a_ready : assert (s0_axis_tready);
        c_rows : cover (f_is_picked && f_beat_row_q == 4'd1 && f_beat_lane_q == 3'd1 &&
                        f_beat_q[72] && f_open_q);
      end
    end
  end
