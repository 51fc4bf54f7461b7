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
    if (!f_reset_q) begin
      assume (oldest_i - f_oldest_q <= SeqWidth'(Slots));
      assume (sent_i - f_sent_q <= SeqWidth'(1));
      assume (!flush_i);
    end
  end

  // Low bits of a seq chosen once for all: within the range that is being walked, it is passed only
  // by being offered and taken, judged, or released.
  (* anyconst *) logic [Lw-1:0] f_seq;
  logic f_in_range;  // still to come of the range that is walked
  logic [Lw-1:0] f_offset;
  assign f_offset   = f_seq - seq_q;
  assign f_in_range = f_offset < left_q;
  logic f_walks;
  assign f_walks = state_q != StateTake;
  logic f_was_in_q, f_next_q, f_skipped_q, f_taken_q, f_at_q, f_behind_q;
  always_ff @(posedge clk_i) begin
    f_was_in_q  <= f_in_range && f_walks;
    f_next_q    <= is_next;
    f_taken_q   <= cand_valid_o && cand_ready_i;
    f_skipped_q <= is_skip && ev_skipped_o;
    f_at_q      <= seq_q == f_seq;
    f_behind_q  <= is_end;
  end

  logic [Dw:0] f_level;
  assign f_level = wr_q - rd_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i && !f_reset_q) begin
      // Bounds of the FIFO; nothing is both refused and taken.
      assert (f_level <= (Dw + 1)'(Depth));
      assert (!(ev_refused_o && push));
      assert (ev_refused_o == (rng_valid_i && rng_is_near_i && f_level == (Dw + 1)'(Depth)));
      // What is offered has departed, and was held in this cycle or the one before.
      if (cand_valid_o) assert (cand_seq_o - f_oldest_q < f_sent_q - f_oldest_q);
      // The walk goes on by a step only where the seq was taken, or skipped and counted.
      if (f_next_q) assert (f_taken_q || f_skipped_q);
      // No seq of a range is passed in silence: it is still to come, was stepped over with the
      // above, or lies at `sent` or behind.
      if (f_age_q > 2 && f_was_in_q && !(f_in_range && f_walks))
        assert ((f_at_q && f_next_q) || (state_q == StateTake && f_behind_q));
    end
    cover (f_age_q > 8 && state_q == StateTake && left_q == 0 && f_at_q && f_taken_q);
  end
