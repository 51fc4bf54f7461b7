  // Properties of window; included by it for formal runs.

  logic f_reset_q = 1;
  always_ff @(posedge clk_i) f_reset_q <= 1'b0;
  always_comb assume (rst_i == f_reset_q);

  // Callers: a packet departs where `has_new_o` says so, 3 cycles after the one before at the
  // earliest (tx_sched proves both); a commit comes only where there is room.
  logic f_departed_q = 0, f_departed_qq = 0;
  always_ff @(posedge clk_i) begin
    f_departed_q  <= depart_new_i && !rst_i;
    f_departed_qq <= f_departed_q;
  end
  always_comb begin
    if (depart_new_i) assume (has_new_o && !f_departed_q && !f_departed_qq && !flush_i);
    if (commit_i) assume (!full_o && !flush_i);
  end

  // Steps come in their order, of one REPORT that is not flushed in between, and it is taken 2 cycles
  // behind the last one (report_rx).
  logic [2:0] f_steps_q = 0;
  always_ff @(posedge clk_i) begin
    if (flush_i || rst_i || rep_valid_i) f_steps_q <= '0;
    else if (rep_step_i) f_steps_q <= f_steps_q + 1'b1;
  end
  always_comb begin
    if (rep_step_i) begin
      assume (!rep_valid_i && f_steps_q < 3'd5);
      assume ((f_steps_q == 3'd0) == (rep_check_i == send_pkg::CheckReleased));
      assume ((f_steps_q == 3'd1) == (rep_check_i == send_pkg::CheckLimit));
      assume ((f_steps_q == 3'd2) == (rep_check_i == send_pkg::CheckGrowth));
      assume ((f_steps_q == 3'd3) == (rep_check_i == send_pkg::CheckSettled));
      assume ((f_steps_q == 3'd4) == (rep_check_i == send_pkg::CheckHighest));
      if (f_steps_q == 3'd2) assume (rep_lo_i[SeqWidth-1:0] == promised_q);
    end
    if (rep_valid_i) assume (f_steps_q == 3'd5 && !step_q && !flush_i);
  end

  // What the halves of the steps say of the numbers that wait for the verdict.
  logic [2:0] f_done;  // whole steps
  seq_t f_released, f_promise, f_growth, f_step;
  assign f_done     = f_steps_q - 3'(step_q && f_steps_q != 0);
  assign f_released = released_q - oldest_q;
  assign f_promise  = promised_q - released_q;
  assign f_growth   = promised_q - limit_q;
  assign f_step = f_steps_q == 3'd1 ? f_released : f_steps_q == 3'd2 ? f_promise : f_growth;
  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      if (step_q && f_steps_q >= 3'd1 && f_steps_q <= 3'd3) begin
        assert (check_q == (f_steps_q == 3'd1 ? send_pkg::CheckReleased :
                            f_steps_q == 3'd2 ? send_pkg::CheckLimit : send_pkg::CheckGrowth));
        assert (is_negative_q == f_step[SeqWidth-1] && is_quarter_q == f_step[SeqWidth-2] &&
                low_q == f_step[Sw:0] && has_promise_q == f_step[PromiseBits] &&
                has_top_q == |f_step[SeqWidth-1:PromiseBits+1] &&
                has_middle == |f_step[PromiseBits-1:Sw+1]);
      end
      if (step_q && f_steps_q > 3'd3)
        assert (check_q != send_pkg::CheckReleased && check_q != send_pkg::CheckGrowth);
      if (f_done >= 3'd1) begin
        assert (is_past_q == f_released[SeqWidth-1]);
        assert (is_ancient_q == (f_released[SeqWidth-1] && !f_released[SeqWidth-2]));
        if (!bad_q) assert (is_past_q || f_released <= f_depth);
      end
      if (f_done >= 3'd2 && !bad_q) assert (f_promise <= (seq_t'(1) << PromiseBits));
      if (f_done >= 3'd3 && grows_q)
        assert (!is_ancient_q && f_growth != 0 && !f_growth[SeqWidth-1]);
      if (f_done >= 3'd3 && f_steps_q != 0)
        a_growth : assert (grows_q == (!is_ancient_q && f_growth != 0 && !f_growth[SeqWidth-1]));
    end
  end

  // The verdict of each step, from the numbers themselves (docs/protocol.md#4.6).
  seq_t f_from_oldest_q, f_from_released_q;
  logic [31:0] f_after_last_q;
  logic f_is_first_q = 0, f_fails;
  always_ff @(posedge clk_i) begin
    f_is_first_q      <= rep_check_i == send_pkg::CheckReleased;
    f_from_oldest_q   <= SeqWidth'(rep_check_i[2] ? rep_hi_i : rep_lo_i) - oldest_q;
    f_from_released_q <= rep_lo_i[SeqWidth-1:0] - released_q;
    f_after_last_q    <= rep_hi_i - last_departure_i;
  end
  always_comb begin
    unique case (check_q)
      send_pkg::CheckReleased:
      f_fails = f_from_oldest_q[SeqWidth-1] ? rep_is_newer_i : f_from_oldest_q > seq_t'(departed_q);
      send_pkg::CheckLimit: f_fails = bad_q || f_from_released_q > (seq_t'(1) << PromiseBits);
      send_pkg::CheckSettled:
      f_fails = bad_q || (rep_has_ranges_i && !f_after_last_q[31] &&
                          f_after_last_q[SeqWidth-1:0] != '0);
      send_pkg::CheckHighest:
      f_fails = bad_q || (!f_from_oldest_q[SeqWidth-1] && f_from_oldest_q > seq_t'(departed_q));
      default: f_fails = bad_q;
    endcase
  end
  logic f_stepped_q = 0, f_verdict_q;
  always_ff @(posedge clk_i) begin
    f_stepped_q <= step_q && !rst_i;
    f_verdict_q <= f_fails;
    if (!f_reset_q) begin
      if (f_stepped_q) a_verdict : assert (rep_ok_o == !f_verdict_q);
      // A range's first lies within 2 * Slots of `oldest`.
      if (f_is_first_q)
        a_near : assert (rep_is_near_o ==
                         (seq_t'(f_from_oldest_q + seq_t'(2 * Slots)) < seq_t'(4 * Slots)));
    end
  end

  seq_t f_held, f_credit, f_oldest_q, f_limit_q, f_depth;
  assign f_held   = next_q - oldest_q;
  assign f_depth  = sent_q - oldest_q;
  assign f_credit = limit_q - sent_q;
  logic f_flushed_q = 1, f_took_q = 0;
  always_ff @(posedge clk_i) begin
    f_took_q    <= take && !rst_i;
    f_oldest_q  <= oldest_q;
    f_limit_q   <= limit_q;
    f_flushed_q <= flush_i || rst_i;
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      // docs/protocol.md#1.7: oldest <= sent <= next <= oldest + Slots.
      assert (f_held <= seq_t'(Slots));
      assert (f_depth <= f_held);
      assert (seq_t'(departed_q) + seq_t'(f_departed_q) == f_depth || f_took_q);
      // docs/protocol.md#5.4: never beyond credit.
      assert (!f_credit[SeqWidth-1]);
      assert (f_credit <= (seq_t'(1) << PromiseBits) + seq_t'(Slots));
      if (depart_new_i) assert (sent_q != next_q && sent_q != limit_q);
      // Neither retreats (docs/protocol.md#5.2).
      if (!f_flushed_q) begin
        assert (!((oldest_q - f_oldest_q) >> (SeqWidth - 1)));
        assert (!((limit_q - f_limit_q) >> (SeqWidth - 1)));
      end
      // Full shows at once; what stands in it belongs to this state or the one before.
      assert (full_q || f_held != seq_t'(Slots));
      if (has_new_q && !f_departed_q) assert (sent_q != next_q && sent_q != limit_q);
    end
    cover (full_o && rep_valid_i && rep_ok_o && released_q == sent_q && sent_q != oldest_q);
  end
