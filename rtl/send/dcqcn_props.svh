  // Properties of dcqcn; included by it for formal runs, of one flow with short numbers.

  logic f_reset_q = 1;
  always_ff @(posedge clk_i) f_reset_q <= 1'b0;
  always_comb assume (rst_i == f_reset_q);

  // Parameters as DcqcnParams::check wants them, and always the same.
  logic [4:0] f_gain_shift_q;
  logic [SpanWidth-1:0] f_alpha_period_q, f_rise_period_q, f_cut_interval_q;
  logic [BytesWidth-1:0] f_rise_bytes_q;
  rate_t f_minimum_q, f_start_q, f_first_cut_q, f_line_q;
  always_ff @(posedge clk_i) begin
    f_gain_shift_q   <= gain_shift_i;
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
  always_ff @(posedge clk_i) f_live_q <= !rst_i && (f_live_q || phase_q == PhaseStarted);

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
    if (phase_q == PhaseCut) begin
      f_since_q    <= '0;
      f_interval_q <= f_interval;
      f_has_cut_q  <= 1'b1;
    end
    if (phase_q == PhaseStart || rst_i) f_has_cut_q <= 1'b0;
  end

  // From PhaseSpan on the visit is one that cuts.
  logic f_is_cutting, f_is_checking;
  assign f_is_cutting = phase_q == PhaseReduce || phase_q == PhaseCompareFirst ||
      phase_q == PhaseLimitFirst || phase_q == PhaseCompareMinimum ||
      phase_q == PhaseLimitMinimum || phase_q == PhaseCut;
  assign f_is_checking = phase_q == PhaseCheckAlpha || phase_q == PhaseCheckTimer ||
      phase_q == PhaseCheckCut;

  logic [ProductWidth-1:0] f_decay, f_cut;
  assign f_decay = alpha_q * gain;
  assign f_cut   = alpha_q * rate_q;
  alpha_t f_one;
  assign f_one = {1'b1, {AlphaBits{1'b0}}};

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      assert (phase_q <= PhaseStarted);
      if (!f_live_q) begin
        assert (phase_q == PhasePick || phase_q == PhaseStart || phase_q == PhaseStarted);
        assert (phase_q != PhasePick || starting_q);
      end
      if (phase_q == PhaseStarted) assert (next_q == start_i);
      assert (phase_q != PhaseLoad && round_q == '0);
      if (phase_q != PhasePick) assert (flow_q == '0);
      // An event is taken only where there is one.
      if (kind_q == KindNotification && phase_q != PhasePick && phase_q < PhaseReduce)
        assert (note_valid_i || phase_q == PhaseStart || phase_q == PhaseStarted);
      if (note_ready_o) assert (note_valid_i && kind_q == KindNotification);
    end
    if (f_live_q) begin
      // The rates, in every cycle.
      assert (minimum_i <= rate_o && rate_o <= target_o && target_o <= line_i);
      assert (alpha_q <= f_one);

      // A rise.
      if (phase_q == PhaseCompareLine || phase_q == PhaseLimitLine) assert (next_q >= target_q);
      if (phase_q == PhaseLimitLine) assert (is_negative_q == (next_q <= line_i));
      if (phase_q == PhaseRise) assert (next_q >= target_q && next_q <= line_i);

      // Alpha.
      if (phase_q == PhaseCheckTimer || phase_q == PhaseCheckCut || phase_q == PhaseExpireAlpha ||
          phase_q == PhaseCompareFirst)
        assert (product_q == f_decay);
      if (phase_q == PhaseCheckCut || phase_q == PhaseExpireAlpha)
        assert (rest_q == |f_decay[AlphaBits-1:0]);
      if (phase_q == PhaseLimitFirst) assert (alpha_q <= f_one - gain);

      // A cut.
      if (phase_q == PhaseReduce) assert (product_q == f_cut);
      if (f_is_cutting && phase_q != PhaseReduce) begin
        assert (target_q == rate_q && next_q <= rate_q);
        if (phase_q == PhaseLimitFirst) assert (is_negative_q == (next_q <= first_cut_i));
        if (phase_q == PhaseLimitMinimum) assert (is_negative_q == (next_q <= minimum_i));
        if (phase_q == PhaseCut) assert (next_q >= minimum_i);
      end

      // The byte counter: one packet ends at most one period.
      if (phase_q == PhaseCompareBytes || phase_q == PhaseTakeBytes)
        assert (sent_q < sum_t'(rise_bytes_i) + sum_t'(1 << SizeWidth));
      else assert (sent_q < sum_t'(rise_bytes_i));
      if (phase_q == PhaseTakeBytes) assert (is_negative_q == (sent_q < sum_t'(rise_bytes_i)));

      // No second cut within max(D, RTT) of the last.
      if (f_is_cutting && f_has_cut_q) assert (f_since_q >= f_interval_q);
      if (f_has_cut_q) assert (f_since_q <= (TimeWidth + 2)'(1 << TimeWidth));
      if (!blocked_q && f_has_cut_q) assert (f_since_q >= f_interval_q);
      if (f_is_cutting) assert (!blocked_q);
      if (blocked_q) begin
        assert (f_has_cut_q);
        if (!f_is_checking && phase_q != PhaseStart)
          assert (f_since_q < f_interval_q || (f_interval_q == '0 && phase_q == PhasePick));
        assert (f_since_q < f_interval_q + (1 << (RttWidth - 1)));
        assert (cut_from_q == time_t'(now_q + f_interval_q - f_since_q[TimeWidth-1:0]));
      end
      if (phase_q == PhaseReduce)
        assert (cut_from_q == time_t'(f_rtt_q) - time_t'(cut_interval_i));
      if (phase_q == PhaseCompareFirst)
        assert (has_span_q ? cut_from_q == now_q + time_t'(f_interval) && f_rtt_q < cut_interval_i
                           : cut_from_q == time_t'(f_rtt_q) && f_rtt_q >= cut_interval_i);
      if (f_is_cutting && phase_q != PhaseReduce && phase_q != PhaseCompareFirst)
        assert (cut_from_q == now_q + time_t'(f_interval));
    end
    cover (phase_q == PhaseCut && f_has_cut_q && f_interval_q > cut_interval_i && rate_q > minimum_i);
    cover (phase_q == PhaseSpan && blocked_q);
    cover (phase_q == PhaseRise && next_q == line_i && rate_q < line_i && by_bytes_q);
    cover (phase_q == PhaseExpireAlpha && alpha_q != f_one && !rest_q);
  end
