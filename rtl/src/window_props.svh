  // Properties of window; included by it for formal runs.

  logic f_reset_q = 1;
  always_ff @(posedge clk_i) f_reset_q <= 1'b0;
  always_comb assume (rst_i == f_reset_q);

  // Callers: a packet departs where `has_new_o` says so, 3 cycles after the one before at the
  // earliest (tx_sched proves both); a commit comes only where there is room.
  logic f_departed_q = 0, f_departed_qq = 0;
  always_ff @(posedge clk_i) begin
    f_departed_q  <= depart_new_i;
    f_departed_qq <= f_departed_q;
  end
  always_comb begin
    if (depart_new_i) assume (has_new_o && !f_departed_q && !f_departed_qq && !flush_i);
    if (commit_i) assume (!full_o && !flush_i);
  end

  seq_t f_held, f_credit, f_oldest_q, f_limit_q, f_depth;
  assign f_held   = next_q - oldest_q;
  assign f_depth  = sent_q - oldest_q;
  assign f_credit = limit_q - sent_q;
  logic f_flushed_q = 1;
  always_ff @(posedge clk_i) begin
    f_oldest_q  <= oldest_q;
    f_limit_q   <= limit_q;
    f_flushed_q <= flush_i || rst_i;
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      // docs/protocol.md#1.7: oldest <= sent <= next <= oldest + Slots.
      assert (f_held <= seq_t'(Slots));
      assert (f_depth <= f_held);
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
    cover (full_o && rep_valid_i && rep_ok_o && rep_released_i == next_q);
  end
