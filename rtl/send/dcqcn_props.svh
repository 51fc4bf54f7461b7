  // Properties of dcqcn; included by it for formal runs, of one flow with short numbers.

  logic f_reset_q = 1;
  always_ff @(posedge clk_i) f_reset_q <= 1'b0;
  always_comb assume (rst_i == f_reset_q);

  // Parameters as DcqcnParams::check wants them, and always the same.
  logic [4:0] f_gain_shift_q, f_stages_q;
  logic [SpanWidth-1:0] f_alpha_period_q, f_rise_period_q, f_cut_interval_q;
  logic [BytesWidth-1:0] f_rise_bytes_q;
  rate_t f_minimum_q, f_start_q, f_first_cut_q, f_line_q;
  always_ff @(posedge clk_i) begin
    f_gain_shift_q   <= gain_shift_i;
    f_stages_q       <= recovery_stages_i;
    f_alpha_period_q <= alpha_period_i;
    f_rise_period_q  <= rise_period_i;
    f_cut_interval_q <= cut_interval_i;
    f_rise_bytes_q   <= rise_bytes_i;
    f_minimum_q      <= minimum_i;
    f_start_q        <= start_i;
    f_first_cut_q    <= first_cut_i;
    f_line_q         <= line_i;
  end
  always_comb begin
    assume (gain_shift_i >= 5'd1 && gain_shift_i <= 5'(AlphaBits));
    assume (|alpha_period_i && |rise_period_i && |minimum_i);
    assume (rise_bytes_i >= BytesWidth'(1 << SizeWidth));
    assume (minimum_i <= start_i && start_i <= line_i);
    assume (minimum_i <= first_cut_i && first_cut_i <= line_i);
    if (!f_reset_q) begin
      assume (gain_shift_i == f_gain_shift_q && rise_bytes_i == f_rise_bytes_q);
      assume (alpha_period_i == f_alpha_period_q && rise_period_i == f_rise_period_q);
      assume (cut_interval_i == f_cut_interval_q && minimum_i == f_minimum_q);
      assume (recovery_stages_i == f_stages_q);
      assume (start_i == f_start_q && first_cut_i == f_first_cut_q && line_i == f_line_q);
    end
  end

  // Events wait.
  logic f_start_q_valid = 0, f_note_q_valid = 0, f_dep_q_valid = 0;
  always_ff @(posedge clk_i) begin
    f_start_q_valid <= start_valid_i && !start_ready_o;
    f_note_q_valid  <= note_valid_i && !note_ready_o;
    f_dep_q_valid   <= dep_valid_i && !dep_ready_o;
  end
  always_comb begin
    assume (start_flow_i == '0 && note_flow_i == '0 && dep_flow_i == '0);
    if (f_start_q_valid) assume (start_valid_i);
    if (f_note_q_valid) assume (note_valid_i);
    if (f_dep_q_valid) assume (dep_valid_i);
  end

  logic f_live_q = 0;  // the flow has started
  always_ff @(posedge clk_i) f_live_q <= !rst_i && (f_live_q || phase_q == PhaseSettle);

  // Time does not run backwards, and passes by less than half of a round trip from visit to visit.
  time_t f_passed;
  assign f_passed = time_ns_i[TimeWidth-1:0] - now_q;
  always_comb begin
    if (phase_q == PhasePick && f_live_q) assume (f_passed < time_t'(1 << (RttWidth - 1)));
  end

  // Since the last cut, up to the visit: at most twice what a round trip can be.
  logic f_has_cut_q = 0;
  logic [TimeWidth+1:0] f_since_q;
  logic [RttWidth-1:0] f_interval_q, f_rtt_q;
  logic [RttWidth-1:0] f_interval;
  logic [TimeWidth+1:0] f_since;
  assign f_interval = f_rtt_q > RttWidth'(cut_interval_i) ? f_rtt_q : RttWidth'(cut_interval_i);
  assign f_since    = f_since_q + f_passed;
  always_ff @(posedge clk_i) begin
    if (phase_q == PhasePick && f_live_q)
      f_since_q <= f_since > (TimeWidth + 2)'(1 << TimeWidth) ? 1 << TimeWidth : f_since;
    if (phase_q == PhaseSpan) f_rtt_q <= note_rtt_ns_i;
    if (phase_q == PhaseSettle && kind_q != KindStart) begin
      f_since_q    <= '0;
      f_interval_q <= f_interval;
      f_has_cut_q  <= 1'b1;
    end
    if ((phase_q == PhaseSettle && kind_q == KindStart) || rst_i) f_has_cut_q <= 1'b0;
  end

  // From PhaseSpan on the visit is one that cuts; the last phases are those of a start too.
  logic f_is_cutting, f_is_starting, f_is_last, f_is_checking;
  assign f_is_last = phase_q == PhaseCompareMinimum || phase_q == PhaseLimitMinimum ||
      phase_q == PhaseSettle;
  assign f_is_starting = phase_q == PhaseStart || phase_q == PhaseStarted ||
      (f_is_last && kind_q == KindStart);
  assign f_is_cutting = phase_q == PhaseReduce || phase_q == PhaseCompareFirst ||
      phase_q == PhaseLimitFirst || (f_is_last && kind_q != KindStart);
  assign f_is_checking = phase_q == PhaseCheckAlpha || phase_q == PhaseCheckTimer ||
      phase_q == PhaseCheckCut;

  // The operands of a phase: first, source of the second, less, one more, the parameter; of times:
  // first, second, check.
  logic f_adds, f_adds_times, f_is_hyper, f_is_additive;
  logic [5:0] f_sum;
  logic [4:0] f_times;
  sum_t f_parameter;
  rate_t f_additive_q, f_hyper_q;
  always_ff @(posedge clk_i) {f_additive_q, f_hyper_q} <= {additive_i, hyper_i};
  assign f_is_hyper    = timer_count_q > recovery_stages_i && byte_count_q > recovery_stages_i;
  assign f_is_additive = timer_count_q >= recovery_stages_i || byte_count_q >= recovery_stages_i;
  always_comb begin
    f_adds       = 1'b1;
    f_adds_times = 1'b1;
    f_sum        = 6'b00_10_00;
    f_times      = 5'b00_00_0;
    f_parameter  = sum_t'(line_i);
    unique case (phase_q)
      PhaseCount, PhaseCompareBytes: {f_sum, f_parameter} = {6'b11_10_11, sum_t'(rise_bytes_i)};
      PhaseAdd: begin
        f_sum       = 6'b01_10_00;
        f_parameter = f_is_hyper ? sum_t'(f_hyper_q) : f_is_additive ? sum_t'(f_additive_q) : '0;
      end
      PhaseCompareLine:    f_sum = 6'b00_10_10;
      PhaseLimitLine, PhaseTarget: ;
      PhaseRise:           f_sum = 6'b10_00_01;
      PhaseBytes:          f_sum = 6'b11_01_00;
      PhaseSpan:           f_sum = 6'b10_01_00;
      PhaseReduce:         f_sum = 6'b10_11_11;
      PhaseCompareFirst:   {f_sum, f_parameter} = {6'b00_10_10, sum_t'(first_cut_i)};
      PhaseLimitFirst:     f_parameter = sum_t'(first_cut_i);
      PhaseStart:          f_parameter = sum_t'(start_i);
      PhaseCompareMinimum: {f_sum, f_parameter} = {6'b00_10_10, sum_t'(minimum_i)};
      PhaseLimitMinimum:   f_parameter = sum_t'(minimum_i);
      PhaseSettle:         f_sum = 6'b00_00_00;
      default:             f_adds = 1'b0;
    endcase
    unique case (phase_q)
      PhaseCheckAlpha:     f_times = 5'b00_00_1;
      PhaseCheckTimer:     f_times = 5'b01_00_1;
      PhaseCheckCut:       f_times = 5'b10_00_1;
      PhaseExpireAlpha:    f_times = 5'b00_01_0;
      PhaseCount:          {f_adds_times, f_times} = {!by_bytes_q, 5'b01_10_0};
      PhaseSpan:           f_times = 5'b11_11_0;
      PhaseReduce, PhaseStarted: ;
      PhaseCompareFirst:   f_times = 5'b10_11_0;
      PhaseLimitFirst:     f_times = 5'b10_00_0;
      PhaseCompareMinimum: f_times = 5'b00_01_0;
      PhaseLimitMinimum:   f_times = 5'b01_00_0;
      PhaseSettle:         f_times = 5'b01_10_0;
      default:             f_adds_times = 1'b0;
    endcase
  end

  logic [ProductWidth-1:0] f_decay, f_cut;
  assign f_decay = alpha_q * left;
  assign f_cut   = alpha_q * rate_q;
  alpha_t f_one;
  assign f_one = {1'b1, {AlphaBits{1'b0}}};

  // By how much what is due is late.
  due_t f_alpha_late, f_timer_late, f_alpha_due;
  assign f_alpha_due  = due_t'(now_q) + due_t'(alpha_period_i);
  assign f_alpha_late = due_t'(now_q) - alpha_due_q;
  assign f_timer_late = due_t'(now_q) - rise_due_q;

  // What the visit has just done to the rate.
  logic f_was_rise_q = 0, f_was_settle_q = 0;
  rate_t f_rate_q;
  always_ff @(posedge clk_i) begin
    f_was_rise_q   <= phase_q == PhaseRise && !rst_i;
    f_was_settle_q <= phase_q == PhaseSettle && !rst_i;
    f_rate_q       <= rate_q;
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      assert (phase_q <= PhaseSettle);
      assert (left == f_one - gain);
      if (!f_live_q) begin
        assert (phase_q == PhasePick || f_is_starting);
        assert (phase_q != PhasePick || starting_q);
      end
      if (phase_q == PhaseStart) assert (kind_q == KindStart);
      else if (f_is_starting) assert (kind_q == KindStart && alpha_q == f_one);
      else if (phase_q != PhasePick) assert (kind_q != KindStart);
      if (f_is_cutting) assert (kind_q == KindNotification);
      if (phase_q == PhaseStarted || (phase_q == PhaseCompareMinimum && kind_q == KindStart))
        assert (next_q == start_i);
      if (phase_q == PhaseSettle && kind_q == KindStart) assert (next_q == start_i);
      assert (phase_q != PhaseLoad && round_q == '0);
      if (phase_q != PhasePick) assert (flow_q == '0);
      // An event is taken only where there is one.
      if (kind_q == KindNotification && phase_q != PhasePick && phase_q < PhaseReduce)
        assert (note_valid_i);
      if (note_ready_o) assert (note_valid_i && kind_q == KindNotification);
    end
    if (f_live_q) begin
      // The rates, in every cycle.
      assert (minimum_i <= rate_o && rate_o <= target_o && target_o <= line_i);
      assert (alpha_q <= f_one);

      // A rise.
      if (phase_q == PhaseCompareLine) assert (next_q >= target_q);
      if (phase_q == PhaseLimitLine)
        assert (is_negative_q ? next_q >= target_q && next_q <= line_i : next_q > line_i);
      if (phase_q == PhaseTarget) assert (next_q >= target_q && next_q <= line_i);
      if (phase_q == PhaseRise) assert (next_q == target_q);

      if (f_adds) assert ({x_pick_q, y_from_q, is_minus_q, is_plus_q} == f_sum);
      if (f_adds && y_from_q == FromParameter) assert (parameter_q == f_parameter);
      if (f_adds_times) assert ({time_x_pick_q, time_y_pick_q, is_check_q} == f_times);
      if (f_was_rise_q) assert (ev_o == (rate_q != f_rate_q));
      if (f_was_settle_q) assert (ev_o);

      // What is due, and from when on the two periods run again.
      if (phase_q == PhaseCheckTimer) assert (is_alpha_due_q == !f_alpha_late[DueWidth-1]);
      if (phase_q == PhaseCheckCut) assert (is_timer_due_q == !f_timer_late[DueWidth-1]);
      if (phase_q == PhaseReduce || phase_q == PhaseStarted) assert (alpha_due_q == '0);
      if (phase_q == PhaseCompareMinimum) assert (alpha_due_q == due_t'(now_q));
      if (phase_q == PhaseLimitMinimum) assert (alpha_due_q == f_alpha_due);
      if ((f_is_cutting || f_is_starting) && phase_q != PhaseStart && phase_q != PhaseSettle)
        assert (rise_due_q == '0);

      // Alpha.
      if (phase_q == PhaseCheckTimer || phase_q == PhaseCheckCut || phase_q == PhaseExpireAlpha ||
          phase_q == PhaseCompareFirst || phase_q == PhaseLimitFirst)
        assert (product_q == f_decay);
      if (phase_q == PhaseLimitFirst) assert (rest_q == |f_decay[AlphaBits-1:0]);

      // A cut.
      if (phase_q == PhaseReduce) assert (product_q == f_cut);
      if (f_is_cutting && phase_q != PhaseReduce) begin
        assert (target_q == rate_q && next_q <= rate_q);
        if (phase_q == PhaseLimitFirst)
          assert (is_negative_q == (next_q <= first_cut_i));
        if (phase_q == PhaseLimitMinimum)
          assert (is_negative_q == (next_q <= minimum_i));
        if (phase_q == PhaseSettle) assert (next_q >= minimum_i);
      end

      // The byte counter: one packet ends at most one period.
      if (phase_q == PhaseCompareBytes || (phase_q == PhaseCount && by_bytes_q))
        assert (sent_q < sum_t'(rise_bytes_i) + sum_t'(1 << SizeWidth));
      else assert (sent_q < sum_t'(rise_bytes_i));

      if (phase_q == PhaseCount && by_bytes_q)
        assert (is_negative_q == (sent_q < sum_t'(rise_bytes_i)));

      // No second cut within max(D, RTT) of the last.
      if (f_is_cutting && f_has_cut_q) assert (f_since_q >= f_interval_q);
      if (f_has_cut_q) assert (f_since_q <= (TimeWidth + 2)'(1 << TimeWidth));
      if (!blocked_q && f_has_cut_q) assert (f_since_q >= f_interval_q);
      if (f_is_cutting) assert (!blocked_q);
      if (blocked_q) begin
        assert (f_has_cut_q);
        if (!f_is_checking && !f_is_starting)
          assert (f_since_q < f_interval_q || (f_interval_q == '0 && phase_q == PhasePick));
        if (!f_is_starting) assert (f_since_q < f_interval_q + (1 << (RttWidth - 1)));
        assert (cut_from_q == time_t'(now_q + f_interval_q - f_since_q[TimeWidth-1:0]));
      end
      if (phase_q == PhaseReduce)
        assert (cut_from_q == time_t'(f_rtt_q) - time_t'(cut_interval_i));
      if (phase_q == PhaseCompareFirst)
        assert (cut_from_q == time_t'(f_interval) - time_t'(cut_interval_i));
      if (phase_q == PhaseLimitFirst) assert (cut_from_q == time_t'(f_interval));
      if (f_is_cutting && f_is_last) assert (cut_from_q == now_q + time_t'(f_interval));
    end
    cover (phase_q == PhaseSettle && kind_q != KindStart && f_has_cut_q &&
           f_interval_q > cut_interval_i && rate_q > minimum_i);
    cover (phase_q == PhaseSpan && blocked_q);
    cover (phase_q == PhaseRise && next_q == line_i && rate_q < line_i && by_bytes_q);
    cover (phase_q == PhaseExpireAlpha && alpha_q != f_one && ~|product_q[AlphaBits-1:0]);
  end
