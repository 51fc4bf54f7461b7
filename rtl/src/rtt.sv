// Smoothed round-trip time from the echoes of REPORTs (docs/protocol.md#4.9).
//
// Throughput: one sample in 10 cycles, and one that comes earlier is not measured. Latency: 10
// cycles. Back-pressure: none. `echo_i` and `hold_i` are held for 2 cycles behind `taken_i`. Does
// not: keep the echo of a packet that never left apart; its hold is all ones and exceeds any span.
// One clock.
//
// All spans are in units of 16 ns.
`default_nettype none

module rtt (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        flush_i,
  input  logic [31:0] now_i,
  input  logic        taken_i,
  input  logic [31:0] echo_i,
  input  logic [31:0] hold_i,
  output logic [31:0] rtt_o
);

  localparam int unsigned Bits = 30;  // 10 s
  localparam logic [Bits-1:0] Initial = 30'd62_500;       // 1 ms
  localparam logic [Bits-1:0] Least   = 30'd625;          // 10 us
  localparam logic [31:0]     Most    = 32'd625_000_000;  // 10 s

  typedef enum logic [2:0] {
    Idle,
    Elapsed,  // now less the echo
    Held,     // less the hold
    Bound,    // more than twice the estimate?
    Cap,      // then that
    Move,     // the difference to the estimate
    Shift,    // its part
    Settle    // to the estimate
  } state_e;

  (* fsm_encoding = "none" *) state_e state_q;
  state_e state_d;

  logic [Bits-1:0] smoothed_q;
  logic [1:0]      shifts_q;       // still to be done
  logic            is_measured_q;
  logic [32:0]     span_q;

  // One adder: the span, and one of four operands less (or, at the end, more).
  logic [31:0] operand;
  logic [32:0] sum;
  logic        is_less, below;

  always_comb begin
    unique case (state_q)
      Elapsed:    operand = echo_i;
      Held:       operand = hold_i;
      Bound, Cap: operand = {rtt_o[30:0], 1'b0};
      default:    operand = {2'b00, smoothed_q};
    endcase
  end

  assign is_less = state_q != Settle;
  // A subtraction is the addition of the complement and one, which comes from below.
  assign {sum, below} = {span_q, 1'b1} + {{1'b0, operand} ^ {33{is_less}}, is_less};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:    if (taken_i) state_d = Elapsed;
      // A span modulo 2^32; the upper half of it is the future.
      Elapsed: state_d = sum[31] ? Idle : Held;
      Held:    state_d = sum[32] ? Idle : Bound;
      Bound: begin
        state_d = is_measured_q && !sum[32] ? Cap : Move;
        if (span_q[31:0] > Most) state_d = Idle;
      end
      Cap:     state_d = Move;
      // The first sample is the estimate: it moves by the whole difference.
      Move:    state_d = is_measured_q ? Shift : Settle;
      Shift:   if (shifts_q == 2'd0) state_d = Settle;
      default: state_d = Idle;
    endcase
    if (rst_i || flush_i) state_d = Idle;
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    // Falls by half of the difference, rises by an eighth: floors as a division would.
    if (state_q == Shift) shifts_q <= shifts_q - 2'd1;
    else shifts_q <= sum[32] ? 2'd0 : 2'd2;
    unique case (state_q)
      Idle:    span_q <= {1'b0, now_i};
      Bound:   span_q <= span_q;
      Cap:     span_q <= {1'b0, operand};
      Shift:   span_q <= {span_q[32], span_q[32:1]};
      default: span_q <= sum;
    endcase
    // What wraps is known by bit 31 of the first span, which ends there.
    if (state_q == Elapsed) span_q[32] <= 1'b0;
    if (state_q == Settle) begin
      smoothed_q    <= sum[Bits-1:0];
      is_measured_q <= 1'b1;
    end
    if (rst_i || flush_i) begin
      smoothed_q    <= Initial;
      is_measured_q <= 1'b0;
    end
    rtt_o <= smoothed_q < Least ? {2'b00, Least} : {2'b00, smoothed_q};
  end

endmodule

`default_nettype wire
