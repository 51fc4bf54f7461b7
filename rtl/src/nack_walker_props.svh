  // Properties of nack_walker; included by it for formal runs.

  logic [7:0] f_age_q = 0;
  logic f_reset_q = 1;
  always_ff @(posedge clk_i) begin
    if (!(&f_age_q)) f_age_q <= f_age_q + 1'b1;
    f_reset_q <= 1'b0;
  end
  always_comb assume (rst_i == f_reset_q);

  // The window as `window` keeps it: oldest <= sent <= oldest + Slots, neither retreats.
  logic [SeqWidth-1:0] f_oldest_q, f_sent_q, f_held;
  assign f_held = sent_i - oldest_i;
  always_ff @(posedge clk_i) begin
    f_oldest_q <= oldest_i;
    f_sent_q   <= sent_i;
  end
  always_comb begin
    assume (f_held <= SeqWidth'(Slots));
    // Within the depth of the proof no number comes to lie half of the numbers away.
    if (rng_valid_i) assume (rng_first_i - oldest_i + SeqWidth'(16) <= SeqWidth'(32));
    if (!f_reset_q) begin
      assume (oldest_i - f_oldest_q <= SeqWidth'(Slots));
      assume (sent_i - f_sent_q <= SeqWidth'(1));
      assume (!flush_i);
    end
  end

  // A seq chosen once for all: within the window and within the range that is being walked, it is
  // passed only by being offered and taken, judged, or released.
  (* anyconst *) logic [SeqWidth-1:0] f_seq;
  logic f_in_range;  // still to come of the range that is walked
  logic [SeqWidth-1:0] f_offset;
  assign f_offset   = f_seq - seq_q;
  assign f_in_range = f_offset < SeqWidth'(left_q);
  logic f_walks;
  assign f_walks = state_q != StateIdle && state_q != StateCut;
  logic f_was_in_q, f_taken_q, f_skipped_q, f_at_q;
  always_ff @(posedge clk_i) begin
    f_was_in_q  <= f_in_range && f_walks;
    f_taken_q   <= cand_valid_o && cand_ready_i && seq_q == f_seq;
    f_skipped_q <= ev_skipped_o;
    f_at_q      <= state_q == StateStep && seq_q == f_seq;
  end

  logic [Dw:0] f_level;
  assign f_level = wr_q - rd_q;

  // Whether the seq at hand was taken or judged not due since it was reached.
  logic f_settled_q;
  always_ff @(posedge clk_i) begin
    if (state_q == StateLook) f_settled_q <= 1'b0;
    if ((cand_valid_o && cand_ready_i) || (state_q == StateJudge && ev_skipped_o))
      f_settled_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i && !f_reset_q) begin
      // Bounds of the FIFO; nothing is both refused and taken.
      assert (f_level <= (Dw + 1)'(Depth));
      assert (!(ev_refused_o && push));
      assert (ev_refused_o == (rng_valid_i && f_level == (Dw + 1)'(Depth)));
      // What is offered has departed, and was held in this cycle or the one before.
      if (cand_valid_o) assert (seq_q - f_oldest_q < f_sent_q - f_oldest_q);
      // The walk goes on by a step only after the seq was taken or skipped and counted.
      if (state_q == StateStep) assert (f_settled_q);
      // No seq of a range is passed in silence: it is still to come, was stepped over with the
      // above, or is released and counted.
      if (f_age_q > 2 && f_was_in_q && !f_in_range)
        assert (f_at_q || f_skipped_q);
      // A range in the walk is never empty.
      if (f_walks) assert (|left_q);
    end
    cover (f_age_q > 8 && state_q == StateIdle && f_at_q && f_settled_q);
  end
