// The sender's window: what is held, what has departed, what the receiver has promised to take.
//
// Holds oldest <= sent <= next <= oldest + Slots (docs/protocol.md#1.7) and the credit. Checks a
// REPORT against them (docs/protocol.md#4.6) and takes its `released` and `limit`, which never
// retreat. `sent` never passes `limit` (docs/protocol.md#5.4), so that credit is there exactly
// when the two differ.
//
// A REPORT is checked step by step with one subtractor: each cycle of `rep_step_i` compares one
// number, in the order of check_e, and `rep_valid_i` then takes the REPORT if no check failed. A
// range's `first` is compared as `released` is, which says whether it lies near the window.
//
// Throughput: a step of a REPORT, a commit and a departure in every cycle, together. Latency: a
// step counts 2 cycles after it: `rep_valid_i` may come there; `rep_is_near_o` is right one before.
// `rep_ok_o` is right with `rep_valid_i`. The numbers change in the next cycle, `has_new_o` one
// after them: after a departure the next check is 2 cycles later at the earliest. `full_o` rises
// with `next_o` and falls one cycle after `oldest_o` has moved: within that cycle a repeat that was
// chosen by the old `oldest_o` has claimed its slot (tx_sched's `hold_o`). Back-pressure: `full_o`;
// a commit while it is high is a fault of the caller. Does not keep the numbers of REPORTs: their
// parser decides which is newer. One clock.
`default_nettype none

module window #(
    parameter int unsigned         Slots    = 1024,
    parameter int unsigned         SeqWidth = 32,
    parameter logic [SeqWidth-1:0] FirstSeq = '0
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire logic                flush_i,
    input  wire logic                commit_i,
    input  wire logic                depart_new_i,
    input  wire logic                rep_step_i,
    input  wire send_pkg::check_e    rep_check_i,
    input  wire logic [        31:0] rep_hi_i,          // released, settled; a range's first
    input  wire logic [        31:0] rep_lo_i,          // limit, highest
    input  wire logic                rep_is_newer_i,    // stable from the first step on
    input  wire logic                rep_has_ranges_i,  // the same
    input  wire logic [        31:0] last_departure_i,
    input  wire logic                rep_valid_i,
    output      logic                rep_ok_o,
    output      logic                rep_is_near_o,     // within 2 * Slots of `oldest`
    output      logic [SeqWidth-1:0] oldest_o,
    output      logic [SeqWidth-1:0] sent_o,
    output      logic [SeqWidth-1:0] next_o,
    output      logic [SeqWidth-1:0] limit_o,
    output      logic                full_o,
    output      logic                has_new_o,
    output      logic                is_released_o,
    output      logic                is_sent_o,
    output      logic                credit_came_o
);

  localparam int unsigned Sw = $clog2(Slots);
  // Largest promise, docs/protocol.md#4.6; a sixteenth of the numbers where these are fewer.
  localparam int unsigned PromiseBits = SeqWidth > 28 ? 24 : SeqWidth - 4;

  if (Slots != (1 << Sw) || Slots < 2) begin : g_slots
    $error("Slots must be a power of two");
  end
  if (Sw + 1 >= PromiseBits) begin : g_width
    $error("SeqWidth is too small for Slots");
  end

  typedef logic [SeqWidth-1:0] seq_t;

  seq_t oldest_q, sent_q, next_q, limit_q;
  logic full_q, has_new_q, credit_came_q;

  // Of held packets only the low bits differ: the distances are at most Slots. A cycle late: no
  // REPORT can name a packet that departs in the cycle of its check, and no check follows a release
  // at once.
  logic [Sw:0] departed_q;

  // The first half of a step: how far the number lies behind what it is compared with. The
  // subtraction is written as a sum that takes the number inverted, and inverted itself: the choice
  // of the number then fits into the adder's own LUTs.
  seq_t released_q, promised_q;
  logic [31:0] number, against, distance;
  always_comb begin
    unique case (rep_check_i[1:0])
      2'd0:    against = 32'(oldest_q);
      2'd1:    against = 32'(released_q);
      2'd2:    against = 32'(limit_q);
      default: against = last_departure_i;
    endcase
    number = rep_check_i[2] ? rep_hi_i : rep_lo_i;
    distance = ~(against + ~number);
  end

  // What the second half needs to know of the distance.
  logic step_q, is_negative_q, is_late_q, is_quarter_q, has_top_q, has_promise_q;
  // Of the bits above the lowest, and of those up to the largest promise, four at a time.
  localparam int unsigned Fours = (SeqWidth - Sw + 2) / 4;
  localparam int unsigned Middles = (PromiseBits - Sw + 2) / 4;
  logic [4*Fours-1:0] high;
  logic [4*Middles-1:0] middle;
  logic [Fours-1:0] ones_q;
  logic [Middles-1:0] middle_q;
  logic [Sw:0] low_q;
  assign middle = (4 * Middles)'(distance[PromiseBits-1:Sw+1]);
  assign high = (4 * Fours)'($signed(distance[SeqWidth-1:Sw+1]));
  send_pkg::check_e check_q;
  always_ff @(posedge clk_i) begin
    step_q        <= rep_step_i && !rst_i;
    check_q       <= rep_check_i;
    is_late_q     <= distance[31];  // of departures, which have 32 bits
    is_negative_q <= distance[SeqWidth-1];
    is_quarter_q  <= distance[SeqWidth-2];
    has_top_q     <= |distance[SeqWidth-1:PromiseBits+1];
    has_promise_q <= distance[PromiseBits];
    for (int i = 0; i < int'(Middles); i++) middle_q[i] <= |middle[4*i+:4];
    for (int i = 0; i < int'(Fours); i++) ones_q[i] <= &high[4*i+:4];
    low_q         <= distance[Sw:0];
    if (rep_step_i && rep_check_i == send_pkg::CheckReleased) released_q <= rep_hi_i[SeqWidth-1:0];
    if (rep_step_i && rep_check_i == send_pkg::CheckLimit) promised_q <= rep_lo_i[SeqWidth-1:0];
  end

  // The second half.
  logic has_middle, has_more, is_beyond, fails;
  logic bad_q, is_past_q, is_ancient_q, grows_q;
  assign has_middle = |middle_q;
  assign has_more  = has_top_q || has_promise_q || has_middle;  // Slots * 2 or more, or negative
  assign is_beyond = !is_negative_q && (has_more || low_q > departed_q);
  always_comb begin
    unique case (check_q)
      send_pkg::CheckReleased: fails = is_beyond || (rep_is_newer_i && is_negative_q);
      send_pkg::CheckLimit:
      fails = bad_q || has_top_q || (has_promise_q && (has_middle || |low_q));
      send_pkg::CheckSettled:
      fails = bad_q || (rep_has_ranges_i && !is_late_q && (has_more || |low_q));
      send_pkg::CheckHighest: fails = bad_q || is_beyond;
      default: fails = bad_q;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (step_q) begin
      bad_q <= fails;
      if (check_q == send_pkg::CheckReleased) begin
        is_past_q    <= is_negative_q;
        // From so far back that its limit would compare as a later one.
        is_ancient_q <= is_negative_q && !is_quarter_q;
      end
      if (check_q == send_pkg::CheckGrowth)
        grows_q <= !is_negative_q && (has_more || |low_q) && !is_ancient_q;
    end
  end

  assign rep_ok_o      = !bad_q;
  assign rep_is_near_o = !has_more || &ones_q;

  logic take, grow, no_credit;
  assign take = rep_valid_i && rep_ok_o;
  assign grow = take && grows_q;
  assign no_credit = bits_pkg::same32(32'(sent_q), 32'(limit_q));

  seq_t next_d;
  logic is_sent;
  assign next_d  = next_q + seq_t'(commit_i);
  assign is_sent = sent_q[Sw:0] == next_q[Sw:0];

  always_ff @(posedge clk_i) begin
    sent_q <= sent_q + seq_t'(depart_new_i);
    next_q <= next_d;
    departed_q <= sent_q[Sw:0] - oldest_q[Sw:0];
    if (take && !is_past_q) oldest_q <= released_q;
    if (grow) limit_q <= promised_q;
    full_q <= (next_d[Sw:0] ^ oldest_q[Sw:0]) == {1'b1, {Sw{1'b0}}};
    has_new_q <= !is_sent && !no_credit;
    credit_came_q <= grow && no_credit;
    if (flush_i || rst_i) begin
      oldest_q      <= FirstSeq;
      sent_q        <= FirstSeq;
      next_q        <= FirstSeq;
      departed_q    <= '0;
      limit_q       <= FirstSeq;
      full_q        <= 1'b0;
      has_new_q     <= 1'b0;
      credit_came_q <= 1'b0;
    end
  end

  assign oldest_o      = oldest_q;
  assign sent_o        = sent_q;
  assign next_o        = next_q;
  assign limit_o       = limit_q;
  assign full_o        = full_q;
  assign has_new_o     = has_new_q;
  assign is_sent_o     = is_sent;
  assign is_released_o = oldest_q[Sw:0] == next_q[Sw:0];
  assign credit_came_o = credit_came_q;

`ifdef FORMAL
  `include "window_props.svh"
`endif

endmodule

`default_nettype wire
