// Walks the ranges that REPORTs request and offers each seq that is to depart again.
//
// A range waits in a FIFO; at its turn its seqs are looked at in order: those before `oldest` are
// passed over, and it ends at `sent`, which cuts it as docs/protocol.md#4.6 says. A seq is offered
// when its last departure lies before the range's `settled` (docs/protocol.md#4.1); a range to next
// (go-back-N) offers all up to `sent` as it stands at that moment. Nothing is offered that is
// released, also when the release comes while the offer waits.
//
// Only the low bits of a seq are kept, which distinguish the seqs around the window. So a range
// comes with `rng_is_near_i`: its first lies within 2 * Slots of `oldest`, before or behind. Other
// ranges are dropped, and a count above 2 * Slots is cut to that. Both differ from the rule only
// for a range that begins far before `oldest`, which no accepted REPORT needs. A range that waits
// until its numbers wrap requests nothing: what is in the slots then departed after the range's
// `settled`.
//
// Throughput: a range takes 1 cycle, 2 for each of its seqs that is looked at, 3 for one that is
// taken, one for one that is released, and one where `sent` ends it. A release shows at the offer
// one cycle late (window's `full_o` allows for it). Latency: range to offer 5 cycles.
// Back-pressure: none towards ranges: a range without room is dropped and signalled
// (`ev_refused_o`), and the receiver lists it again. An offer waits for `cand_ready_i`, and may be
// withdrawn. A range is stable from the cycle before `rng_valid_i` on: it is taken as it was there.
// The module that takes an offer writes the slot's last departure in the next cycle. Does not know
// the budget. One clock.
`default_nettype none

module nack_walker #(
    parameter  int unsigned SeqWidth = 32,
    parameter  int unsigned Depth    = 128,
    parameter  int unsigned Slots    = 1024,
    localparam int unsigned Sw       = $clog2(Slots)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire logic                flush_i,
    input  wire logic                rng_valid_i,
    output      logic                rng_ready_o,
    input  wire logic [      Sw+1:0] rng_first_i,    // its low bits
    input  wire logic                rng_is_near_i,
    input  wire logic [        31:0] rng_count_i,
    input  wire logic                rng_to_next_i,
    input  wire logic [        31:0] rng_settled_i,
    input  wire logic [SeqWidth-1:0] oldest_i,
    input  wire logic [SeqWidth-1:0] sent_i,
    output      logic [      Sw-1:0] dep_rd_addr_o,
    input  wire logic [        31:0] dep_rd_data_i,
    output      logic                cand_valid_o,
    output      logic [SeqWidth-1:0] cand_seq_o,
    input  wire logic                cand_ready_i,
    output      logic                ev_refused_o,
    output      logic                ev_skipped_o
);

  localparam int unsigned Dw = $clog2(Depth);
  localparam int unsigned Lw = Sw + 2;  // the low bits of a seq that are kept

  if (Slots != (1 << Sw) || Depth != (1 << Dw) || Depth < 2) begin : g_sizes
    $error("Slots and Depth must be powers of two");
  end
  if (Lw >= SeqWidth || Lw > 31) begin : g_width
    $error("SeqWidth is too small for Slots");
  end

  localparam int unsigned Bits = 2 * Lw + 33;  // of range_t

  typedef struct packed {
    logic [Lw-1:0] first;
    logic [Lw-1:0] count;  // at most 2 * Slots
    logic          to_next;
    logic [31:0]   settled;
  } range_t;

  typedef enum logic [1:0] {
    StateTake,    // the next range, once there is one
    StateLook,    // reads the departure of `seq`
    StateJudge,   // the departure has come
    StateOffer    // waits to be taken
  } walk_e;

  // The FIFO. Its output shows the next range, a cycle late; is_shown_q is low behind a write to an
  // empty one.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [Bits-1:0] mem[Depth];
  range_t in_q, range_q;
  logic [Dw:0] wr_q, rd_q;
  logic is_full, is_shown_q, push, take;

  walk_e state_q, state_d;
  logic [Lw-1:0] seq_q, left_q;
  logic is_last_q;  // left_q is one
  logic to_next_q;
  logic [31:0] settled_q;
  logic [SeqWidth-1:Lw] high_q;  // of the seq that was looked at

  assign is_full  = wr_q == {~rd_q[Dw], rd_q[Dw-1:0]};
  assign push     = rng_valid_i && rng_is_near_i && !is_full;
  assign take     = state_q == StateTake && is_shown_q;

  always_ff @(posedge clk_i) begin
    in_q.first   <= rng_first_i;
    in_q.count   <= (|rng_count_i[31:Lw-1]) ? {1'b1, {(Lw - 1) {1'b0}}} : rng_count_i[Lw-1:0];
    in_q.to_next <= rng_to_next_i;
    in_q.settled <= rng_settled_i;
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[Dw-1:0]] <= in_q;
    range_q    <= mem[rd_q[Dw-1:0]];
    is_shown_q <= wr_q != rd_q && !take && !rst_i && !flush_i;
  end

  // Where the seq lies: from `oldest` on, and whether its low bits wrapped on the way there.
  logic is_wrapped, is_before, is_end;
  logic [Lw-1:0] offset;
  logic [Lw-1:0] ahead;  // of `sent`; negative: before it
  // A cycle late: a slot that departs is written in the cycle in which `sent_i` has passed it, and
  // what is read in that cycle is not to be used.
  logic [Lw-1:0] sent_q;
  assign {is_wrapped, offset} = {1'b0, seq_q} - {1'b0, oldest_i[Lw-1:0]};
  assign ahead     = seq_q - sent_q;
  assign is_before = offset[Lw-1];
  assign is_end    = (!is_before && !ahead[Lw-1]) || left_q == '0;

  // docs/protocol.md#4.1.
  logic [31:0] since;
  logic is_due;
  assign since  = dep_rd_data_i - settled_q;
  assign is_due = to_next_q || since[31];

  logic is_skip, is_next, released_q;
  always_comb begin
    state_d = state_q;
    is_skip = 1'b0;
    is_next = 1'b0;
    unique case (state_q)
      StateTake: if (is_shown_q) state_d = StateLook;
      StateLook: begin
        is_skip = is_before && !is_end;
        is_next = is_skip;
        if (is_end) state_d = StateTake;
        else if (!is_before) state_d = StateJudge;
      end
      StateJudge: begin
        state_d = is_due ? StateOffer : is_last_q ? StateTake : StateLook;
        is_skip = !is_due;
        is_next = !is_due;
      end
      StateOffer: begin
        // One that was released goes back to be passed over.
        is_next = !released_q && cand_ready_i;
        if (released_q || cand_ready_i) state_d = is_next && is_last_q ? StateTake : StateLook;
      end
      default: state_d = StateTake;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StateTake) begin
      seq_q     <= range_q.first;
      left_q    <= range_q.to_next ? sent_i[Lw-1:0] - range_q.first : range_q.count;
      to_next_q <= range_q.to_next;
      settled_q <= range_q.settled;
    end else if (is_next) begin
      seq_q  <= seq_q + 1'b1;
      left_q <= left_q - 1'b1;
    end
    // What lies in [oldest, sent) has the upper bits of the one or of the other.
    if (state_q == StateLook)
      high_q <= is_wrapped ? sent_i[SeqWidth-1:Lw] : oldest_i[SeqWidth-1:Lw];
    sent_q     <= sent_i[Lw-1:0];
    is_last_q  <= left_q == Lw'(1);
    released_q <= is_before;
    state_q    <= state_d;
    if (push) wr_q <= wr_q + 1'b1;
    if (take) rd_q <= rd_q + 1'b1;
    if (rst_i || flush_i) begin
      state_q <= StateTake;
      wr_q    <= '0;
      rd_q    <= '0;
    end
  end

  assign rng_ready_o   = 1'b1;
  assign dep_rd_addr_o = seq_q[Sw-1:0];
  assign cand_valid_o  = state_q == StateOffer && !released_q;
  assign cand_seq_o    = {high_q, seq_q};
  assign ev_refused_o  = rng_valid_i && rng_is_near_i && is_full;
  assign ev_skipped_o  = is_skip || (rng_valid_i && !rng_is_near_i);

`ifdef FORMAL
  `include "nack_walker_props.svh"
`endif

endmodule

`default_nettype wire
