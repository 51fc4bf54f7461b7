  // Properties of nack_walker; included by it for formal runs.

  logic [7:0] f_age_q = 0;
  logic f_reset_q = 1;
  always_ff @(posedge clk_i) begin
    if (!(&f_age_q)) f_age_q <= f_age_q + 1'b1;
    f_reset_q <= 1'b0;
  end
  always_comb assume (rst_i == f_reset_q);

  // The window as `window` keeps it: oldest <= sent <= oldest + Slots, neither retreats but by a
  // flush, which empties it.
  logic [SeqWidth-1:0] f_oldest_q, f_sent_q, f_held;
  logic f_flush_q = 0;
  assign f_held = sent_i - oldest_i;
  always_ff @(posedge clk_i) begin
    f_oldest_q <= oldest_i;
    f_sent_q   <= sent_i;
    f_flush_q  <= flush_i;
  end
  always_comb begin
    assume (f_held <= SeqWidth'(Slots));
    if (f_flush_q) assume (oldest_i == sent_i);
    if (f_flush_q && flush_i) assume (oldest_i == f_oldest_q);
    if (!f_reset_q && !f_flush_q) begin
      assume (oldest_i - f_oldest_q <= SeqWidth'(Slots));
      assume (sent_i - f_sent_q <= SeqWidth'(1));
      // A REPORT is checked 2 cycles before it is taken: it releases nothing that just departed.
      assume (f_sent_q - oldest_i <= SeqWidth'(Slots));
      // A slot that is released is filled before it departs: several cycles, of which one counts.
      assume (sent_i - f_oldest_q <= SeqWidth'(Slots));
    end
    // tx_sched takes no offer, and report_rx gives no range, in a flush.
    if (flush_i) assume (!cand_ready_i && !rng_valid_i);
  end

  // A range is stable from the cycle before rng_valid_i on, and near where it says so.
  logic [SeqWidth-1:0] f_first;  // all bits of it, as they follow from the window
  logic [Lw-1:0] f_away;
  assign f_away  = rng_first_i - oldest_i[Lw-1:0];
  assign f_first = oldest_i + {{(SeqWidth - Lw) {f_away[Lw-1]}}, f_away};
  logic [Lw-1:0] f_first_was_q;
  logic [31:0] f_count_was_q, f_settled_was_q;
  logic f_to_next_was_q;
  always_ff @(posedge clk_i) begin
    f_first_was_q   <= rng_first_i;
    f_count_was_q   <= rng_count_i;
    f_settled_was_q <= rng_settled_i;
    f_to_next_was_q <= rng_to_next_i;
  end
  always_comb begin
    if (rng_valid_i) begin
      assume (rng_first_i == f_first_was_q && rng_count_i == f_count_was_q);
      assume (rng_settled_i == f_settled_was_q && rng_to_next_i == f_to_next_was_q);
    end
  end

  // Departures: the slot of a seq that departs is written in the next cycle, with a stamp behind the
  // last one. All that are compared lie within 2^30 units (17 s), as docs/protocol.md#1.4 wants;
  // where they begin is free, so that they wrap. Bits 26 to 3 are zero: the proof takes minutes
  // with them, and the comparison is one subtraction.
  (* anyconst *) logic [31:0] f_begin;
  (* anyseq *) logic [31:0] f_stamp;
  (* anyconst *) logic [Sw-1:0] f_slot;  // chosen once for all
  logic [31:0] f_last_q, f_dep_q, f_dep;  // of all slots; of this one; of this one with what leaves
  logic f_writes_q = 0, f_writes, f_new;
  logic [Sw-1:0] f_at_q, f_at;  // slot that is written
  logic f_read_old_q;           // its departure was read in a cycle without a write to it
  assign f_new    = !f_reset_q && !f_flush_q && sent_i != f_sent_q;
  assign f_writes = f_new || f_writes_q;
  assign f_at     = f_new ? f_sent_q[Sw-1:0] : f_at_q;
  assign f_dep    = f_writes && f_at == f_slot ? f_stamp : f_dep_q;
  initial assume (f_begin - f_dep_q <= 32'h2000_0000 && !(|f_dep_q[26:3]) && f_last_q == f_begin);
  always_ff @(posedge clk_i) begin
    f_writes_q   <= cand_valid_o && cand_ready_i;
    f_at_q       <= seq_q[Sw-1:0];
    f_read_old_q <= dep_rd_addr_o == f_slot && !(f_writes && f_at == f_slot);
    f_dep_q      <= f_dep;
    if (f_writes) f_last_q <= f_stamp;
  end
  always_comb begin
    assume (!(|f_begin[26:3]) && !(|f_stamp[26:3]) && !(|rng_settled_i[26:3]));
    // A departure takes 3 cycles, so a new one and a repeat do not meet.
    assume (!(f_new && f_writes_q));
    if (f_writes)
      assume (f_stamp - f_begin > f_last_q - f_begin && f_stamp - f_begin <= 32'h2000_0000);
    // What is read in the cycle of a write is free.
    if (f_read_old_q) assume (dep_rd_data_i == f_dep_q);
    // window refuses a REPORT with ranges whose `settled` is after the last departure.
    if (rng_valid_i)
      assume (f_last_q - rng_settled_i <= 32'h3000_0000 &&
              f_begin - rng_settled_i + 32'h2000_0000 <= 32'h4000_0000);
  end

  // The ranges that wait, as they came; the one that is walked.
  logic [SeqWidth-1:0] f_firsts[Depth], f_walk_first_q;
  logic [31:0] f_counts[Depth], f_walk_count_q;
  logic [31:0] f_settleds[Depth], f_walk_settled_q;
  logic f_to_nexts[Depth], f_walk_to_next_q;
  logic [Dw-1:0] f_in_q = 0, f_out_q = 0;
  always_ff @(posedge clk_i) begin
    if (push) begin
      f_firsts[f_in_q]   <= f_first;
      f_counts[f_in_q]   <= rng_count_i;
      f_settleds[f_in_q] <= rng_settled_i;
      f_to_nexts[f_in_q] <= rng_to_next_i;
      f_in_q <= f_in_q + 1'b1;
    end
    if (take) begin
      f_walk_first_q   <= f_firsts[f_out_q];
      f_walk_count_q   <= f_counts[f_out_q];
      f_walk_settled_q <= f_settleds[f_out_q];
      f_walk_to_next_q <= f_to_nexts[f_out_q];
      f_out_q <= f_out_q + 1'b1;
    end
    if (flush_i || rst_i) begin
      f_in_q  <= '0;
      f_out_q <= '0;
    end
  end

  // Low bits of a seq chosen once for all: within the range that is being walked, it is passed only
  // by being offered and taken, judged, or released.
  (* anyconst *) logic [Lw-1:0] f_seq;
  logic f_in_range;  // still to come of the range that is walked
  logic [Lw-1:0] f_offset;
  assign f_offset   = f_seq - seq_q;
  assign f_in_range = f_offset < left_q;
  logic [Lw-1:0] f_before, f_ahead;  // of `oldest`; of `sent` as it was in the cycle before
  assign f_before = seq_q - oldest_i[Lw-1:0];
  assign f_ahead  = seq_q - f_sent_q[Lw-1:0];
  logic f_walks;
  assign f_walks = state_q != StateTake;
  logic f_was_in_q, f_next_q, f_skipped_q, f_taken_q, f_here_q, f_behind_q;
  always_ff @(posedge clk_i) begin
    f_was_in_q  <= f_in_range && f_walks && !flush_i;
    f_next_q    <= is_next;
    f_taken_q   <= cand_valid_o && cand_ready_i;
    f_skipped_q <= is_skip && ev_skipped_o;
    f_here_q    <= seq_q == f_seq;
    f_behind_q  <= left_q == '0 || (!f_before[Lw-1] && !f_ahead[Lw-1]);
  end

  logic f_written_q = 0;  // the slot departed since the reset
  always_ff @(posedge clk_i) if (f_writes && f_at == f_slot && !f_reset_q) f_written_q <= 1'b1;

  logic [Dw:0] f_level;
  assign f_level = wr_q - rd_q;
  logic [SeqWidth-1:0] f_place;  // of the offer in its range
  assign f_place = cand_seq_o - f_walk_first_q;
  logic f_is_slot;  // the seq that is looked at is in the slot chosen
  assign f_is_slot = seq_q[Sw-1:0] == f_slot;

  always_ff @(posedge clk_i) begin
    if (!rst_i && !f_reset_q) begin
      // Bounds of the FIFO; nothing is both refused and taken.
      assert (f_level <= (Dw + 1)'(Depth));
      assert (!(ev_refused_o && push));
      a_takes : assert (rng_ready_o);  // what finds no room is refused, and holds nothing back
      assert (ev_refused_o == (rng_valid_i && rng_is_near_i && f_level == (Dw + 1)'(Depth)));
      // What is offered has departed, and was held in this cycle or the one before.
      if (cand_valid_o && !flush_i && !f_flush_q)
        assert (cand_seq_o - f_oldest_q < f_sent_q - f_oldest_q);
      // docs/protocol.md#4.1: what is taken was listed, and its slot departed before the `settled`
      // of the REPORT that listed it. A range to next has no such rule.
      if (cand_valid_o && cand_ready_i && !f_walk_to_next_q) begin
        a_listed : assert (f_place < SeqWidth'(f_walk_count_q) ||
                           |f_walk_count_q[31:SeqWidth]);
        if (f_is_slot) a_settled : assert ((f_dep - f_walk_settled_q) >> 31 == 32'd1);
      end
      // And what is passed over is released, or has departed since.
      if (is_skip && state_q == StateLook) a_released : assert (is_before);
      if (is_skip && state_q == StateJudge && f_is_slot && !f_walk_to_next_q)
        a_departed : assert ((f_dep - f_walk_settled_q) >> 31 == 32'd0);
      if (is_skip && state_q == StateJudge) a_to_next : assert (!f_walk_to_next_q);
      // The walk goes on by a step only where the seq was taken, or skipped and counted.
      if (f_next_q) assert (f_taken_q || f_skipped_q);
      // No seq of a range is passed in silence: it is still to come, was stepped over with the
      // above, or lies at `sent` or behind.
      if (f_age_q > 2 && f_was_in_q && !(f_in_range && f_walks))
        assert ((f_here_q && f_next_q) || (state_q == StateTake && f_behind_q));
    end
    c_done : cover (f_age_q > 8 && state_q == StateTake && left_q == 0 && f_here_q && f_taken_q);
    c_repeat : cover (!f_reset_q && cand_valid_o && cand_ready_i && f_is_slot &&
                      !f_walk_to_next_q && dep_rd_data_i != f_begin && f_written_q);
    c_passed : cover (!f_reset_q && is_skip && state_q == StateJudge && f_is_slot && f_written_q);
  end
