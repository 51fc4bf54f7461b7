// Walks the ranges that REPORTs ask for and offers each seq that is to depart again.
//
// A range waits in a FIFO; at its turn it is cut to [oldest, sent) (docs/protocol.md#4.6) and its
// seqs are looked at in order. A seq is offered when its last departure lies before the range's
// `settled` (docs/protocol.md#4.1); a range to next (go-back-N) offers all up to `sent` as it
// stands at that moment. Nothing is offered that is released, also when the release comes while
// the offer waits. A range loses at most its seqs; a count above 2 * Slots is taken as that, which
// differs only for a range that begins far before `oldest`.
//
// Throughput: a range takes 3 cycles and 3 for each of its seqs that is looked at; what of it is
// released costs one in all. A release shows at the offer one cycle late (window's `full_o` allows
// for it). Latency: range to offer 5 cycles. Back-pressure: none towards ranges,
// one without room is dropped and told (`ev_refused_o`; the receiver lists it again); an offer
// waits for `cand_ready_i`, and may be withdrawn. Whoever takes an offer writes the slot's last
// departure in the next cycle: the walker reads again 2 cycles later at the earliest.
// Does not know the budget. One clock.
`default_nettype none

module nack_walker #(
    parameter int unsigned SeqWidth = 32,
    parameter int unsigned Depth    = 128,
    parameter int unsigned Slots    = 1024
) (
    input  wire logic                     clk_i,
    input  wire logic                     rst_i,
    input  wire logic                     flush_i,
    input  wire logic                     rng_valid_i,
    output      logic                     rng_ready_o,
    input  wire logic [     SeqWidth-1:0] rng_first_i,
    input  wire logic [             31:0] rng_count_i,
    input  wire logic                     rng_to_next_i,
    input  wire logic [             31:0] rng_settled_i,
    input  wire logic [     SeqWidth-1:0] oldest_i,
    input  wire logic [     SeqWidth-1:0] sent_i,
    output      logic [$clog2(Slots)-1:0] dep_rd_addr_o,
    input  wire logic [             31:0] dep_rd_data_i,
    output      logic                     cand_valid_o,
    output      logic [     SeqWidth-1:0] cand_seq_o,
    input  wire logic                     cand_ready_i,
    output      logic                     ev_refused_o,
    output      logic                     ev_skipped_o
);

  localparam int unsigned Sw = $clog2(Slots);
  localparam int unsigned Dw = $clog2(Depth);
  localparam int unsigned Cw = Sw + 2;

  if (Slots != (1 << Sw) || Depth != (1 << Dw) || Depth < 2) begin : g_sizes
    $error("Slots and Depth must be powers of two");
  end
  if (Cw >= SeqWidth || Cw > 32) begin : g_width
    $error("SeqWidth is too small for Slots");
  end

  typedef struct packed {
    logic [SeqWidth-1:0] first;
    logic [Cw-1:0]       count;
    logic                to_next;
    logic [31:0]         settled;
  } range_t;

  typedef enum logic [2:0] {
    StateIdle,    // takes the next range
    StateCut,     // cuts it to `sent`
    StateLook,    // reads the departure of `seq`
    StateJudge,   // the departure has come
    StateOffer,   // waits to be taken
    StateStep     // goes on to the next seq
  } walk_e;

  localparam int unsigned Bits = SeqWidth + Cw + 1 + 32;

  (* ram_style = "distributed" *) logic [Bits-1:0] mem[Depth];
  range_t in, head;
  logic [Dw:0] wr_q, rd_q;
  logic is_empty, is_full, push;

  walk_e state_q, state_d;
  logic [SeqWidth-1:0] seq_q, seq_d;
  logic [Cw-1:0] left_q, left_d;
  logic [31:0] settled_q;
  logic to_next_q;

  // The FIFO.
  assign is_empty = wr_q == rd_q;
  assign is_full  = wr_q == {~rd_q[Dw], rd_q[Dw-1:0]};
  assign push     = rng_valid_i && !is_full;

  always_comb begin
    in.first   = rng_first_i;
    in.count   = (|rng_count_i[31:Cw-1]) ? {1'b1, {(Cw - 1) {1'b0}}} : rng_count_i[Cw-1:0];
    in.to_next = rng_to_next_i;
    in.settled = rng_settled_i;
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[Dw-1:0]] <= in;
  end
  assign head = mem[rd_q[Dw-1:0]];

  // One subtractor serves both cuts: `seq` lies `ahead` + 1 before the bound where that is not
  // negative, and `rest` is what of the range lies at the bound and behind it.
  logic [SeqWidth-1:0] bound, ahead;
  logic is_before, is_short, is_due;
  logic released_q;
  logic [Cw:0] rest;
  logic [Cw-1:0] distance;
  assign bound     = (state_q == StateCut) ? sent_i : oldest_i;
  assign ahead     = bound + ~seq_q;
  assign is_before = !ahead[SeqWidth-1];
  assign rest      = {1'b0, left_q} + {1'b1, ~ahead[Cw-1:0]};
  assign is_short  = (|ahead[SeqWidth-1:Cw]) || rest[Cw];
  assign distance  = ahead[Cw-1:0] + 1'b1;

  // docs/protocol.md#4.1.
  logic [31:0] since;
  assign since  = dep_rd_data_i - settled_q;
  assign is_due = to_next_q || since[31];

  logic is_skip;
  always_comb begin
    state_d = state_q;
    seq_d   = seq_q;
    left_d  = left_q;
    is_skip = 1'b0;
    unique case (state_q)
      StateIdle: begin
        seq_d  = head.first;
        left_d = head.count;
        if (!is_empty) state_d = StateCut;
      end
      StateCut: begin
        // The range ends at `sent`: what departs later has not been missed.
        if (to_next_q || !is_short) left_d = distance;
        if (to_next_q && |ahead[SeqWidth-1:Cw-1]) left_d = {1'b1, {(Cw - 1) {1'b0}}};
        state_d = (is_before && |left_d) ? StateLook : StateIdle;
        is_skip = state_d == StateIdle;
      end
      StateLook: begin
        state_d = StateJudge;
        if (is_before) begin
          // What is released is not looked at.
          seq_d   = oldest_i;
          left_d  = rest[Cw-1:0];
          state_d = (is_short || ~|rest) ? StateIdle : StateLook;
          is_skip = 1'b1;
        end
      end
      StateJudge: begin
        state_d = is_due ? StateOffer : StateStep;
        is_skip = !is_due;
      end
      StateOffer: begin
        if (released_q) state_d = StateLook;
        else if (cand_ready_i) state_d = StateStep;
      end
      StateStep: begin
        seq_d   = seq_q + 1'b1;
        left_d  = left_q - 1'b1;
        state_d = (left_q == Cw'(1)) ? StateIdle : StateLook;
      end
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    seq_q      <= seq_d;
    left_q     <= left_d;
    released_q <= is_before;
    if (state_q == StateIdle) begin
      settled_q <= head.settled;
      to_next_q <= head.to_next;
    end
    state_q <= state_d;
    if (push) wr_q <= wr_q + 1'b1;
    if (state_q == StateIdle && !is_empty) rd_q <= rd_q + 1'b1;
    if (rst_i || flush_i) begin
      state_q <= StateIdle;
      wr_q    <= '0;
      rd_q    <= '0;
    end
  end

  assign rng_ready_o   = 1'b1;
  assign dep_rd_addr_o = seq_q[Sw-1:0];
  assign cand_valid_o  = state_q == StateOffer && !released_q;
  assign cand_seq_o    = seq_q;
  assign ev_refused_o  = rng_valid_i && is_full;
  assign ev_skipped_o  = is_skip;

`ifdef FORMAL
  `include "nack_walker_props.svh"
`endif

endmodule

`default_nettype wire
