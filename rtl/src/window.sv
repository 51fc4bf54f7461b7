// The sender's window: what is held, what has departed, what the receiver has promised to take.
//
// Holds oldest <= sent <= next <= oldest + Slots (docs/protocol.md#1.7) and the credit. Checks a
// REPORT against them (docs/protocol.md#4.6) and takes its `released` and `limit`, which never
// retreat. `sent` never passes `limit` (docs/protocol.md#5.4), so that credit is there exactly
// when the two differ.
//
// Throughput: a REPORT, a commit and a departure in every cycle, together. Latency: `rep_ok_o` and
// `close_ok_o` in the cycle of the question; the numbers in the next; `has_new_o` one after them,
// so that whoever departs a packet looks again 2 cycles later at the earliest. `full_o` rises with
// `next_o` and falls one cycle after `oldest_o` has moved: within that cycle a repeat that was
// chosen by the old `oldest_o` has claimed its slot (tx_sched's `hold_o`).
// Back-pressure: `full_o`; a commit while it is high is a fault of the caller.
// Does not keep the numbers of REPORTs: whoever parses them says which is newer.
// One clock.
`default_nettype none

module window #(
    parameter int unsigned Slots    = 1024,
    parameter int unsigned SeqWidth = 32
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire logic                flush_i,
    input  wire logic [SeqWidth-1:0] first_seq_i,
    input  wire logic                commit_i,
    input  wire logic                depart_new_i,
    input  wire logic                rep_valid_i,
    input  wire logic                rep_is_newer_i,
    input  wire logic                rep_has_ranges_i,
    input  wire logic [SeqWidth-1:0] rep_released_i,
    input  wire logic [SeqWidth-1:0] rep_highest_i,
    input  wire logic [SeqWidth-1:0] rep_limit_i,
    input  wire logic [        31:0] rep_settled_i,
    input  wire logic [        31:0] last_departure_i,
    output      logic                rep_ok_o,
    input  wire logic [SeqWidth-1:0] close_seq_i,
    output      logic                close_ok_o,
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
  if (Sw + 1 > PromiseBits) begin : g_width
    $error("SeqWidth is too small for Slots");
  end

  typedef logic [SeqWidth-1:0] seq_t;

  seq_t oldest_q, sent_q, next_q, limit_q;
  logic full_q, has_new_q, credit_came_q;

  // Of held packets only the low bits differ: the distances are at most Slots.
  logic [Sw:0] departed;
  assign departed = sent_q[Sw:0] - oldest_q[Sw:0];

  // Distances from `oldest`; negative is before it.
  seq_t released, highest, close, promise, growth;
  logic [31:0] unsettled;
  logic is_past, is_future, is_unseen, is_promise;
  assign released  = rep_released_i - oldest_q;
  assign highest   = rep_highest_i - oldest_q;
  assign close     = close_seq_i - oldest_q;
  assign promise   = rep_limit_i - rep_released_i;
  assign growth    = limit_q - rep_limit_i;
  assign unsettled = last_departure_i - rep_settled_i;

  assign is_past = released[SeqWidth-1];
  assign is_future = !is_past && (|released[SeqWidth-1:Sw+1] || released[Sw:0] > departed);
  assign is_unseen =
      !highest[SeqWidth-1] && (|highest[SeqWidth-1:Sw+1] || highest[Sw:0] > departed);
  assign is_promise = ~|promise[SeqWidth-1:PromiseBits] ||
      (promise == (seq_t'(1) << PromiseBits));

  assign rep_ok_o = !is_future && !is_unseen && is_promise &&
      !(rep_has_ranges_i && unsettled[31]) && !(rep_is_newer_i && is_past);
  assign close_ok_o = ~|close[SeqWidth-1:Sw+1] && close[Sw:0] <= departed;

  logic take, grow, no_credit;
  assign take = rep_valid_i && rep_ok_o;
  // A REPORT from so far back that its limit would compare as a later one says nothing.
  assign grow = take && growth[SeqWidth-1] && (!is_past || released[SeqWidth-2]);
  assign no_credit = sent_q == limit_q;

  seq_t next_d;
  logic is_sent;
  assign next_d  = next_q + seq_t'(commit_i);
  assign is_sent = sent_q[Sw:0] == next_q[Sw:0];

  always_ff @(posedge clk_i) begin
    sent_q <= sent_q + seq_t'(depart_new_i);
    next_q <= next_d;
    if (take && !is_past) oldest_q <= rep_released_i;
    if (grow) limit_q <= rep_limit_i;
    full_q <= (next_d[Sw:0] ^ oldest_q[Sw:0]) == {1'b1, {Sw{1'b0}}};
    has_new_q <= !is_sent && !no_credit;
    credit_came_q <= grow && no_credit;
    if (flush_i || rst_i) begin
      oldest_q      <= first_seq_i;
      sent_q        <= first_seq_i;
      next_q        <= first_seq_i;
      limit_q       <= first_seq_i;
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
