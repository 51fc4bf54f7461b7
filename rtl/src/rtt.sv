// Smoothed round-trip time from the echoes of REPORTs (docs/protocol.md#4.9).
//
// Throughput: one sample in 6 cycles; a REPORT is longer than that. Latency: 7 cycles.
// Back-pressure: none. `echo_i` and `hold_i` are held from `taken_i` to the next one. Does not:
// keep the echo of a packet that never left apart; its hold is all ones and exceeds any span. One
// clock.
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
    Elapsed,  // less the echo
    Held,     // less the hold
    Bound,    // drop or cap
    Move,     // the difference to the estimate
    Settle
  } state_e;

  state_e state_q, state_d;

  logic [Bits-1:0] smoothed_q;
  logic            is_measured_q;
  logic [32:0]     span_q, span_d;
  logic [31:0]     operand;
  logic [32:0]     difference;
  logic [Bits-1:0] used, step;

  assign used = smoothed_q < Least ? Least : smoothed_q;

  always_comb begin
    unique case (state_q)
      Elapsed: operand = echo_i;
      Held:    operand = hold_i;
      Bound:   operand = {rtt_o[30:0], 1'b0};
      default: operand = {2'b00, smoothed_q};
    endcase
  end

  assign difference = span_q - {1'b0, operand};
  // Falls by half of the difference, rises by an eighth: floors as a division would.
  assign step = span_q[32] ? span_q[Bits:1] : {2'b00, span_q[Bits:3]};

  always_comb begin
    state_d = state_q;
    span_d  = difference;
    unique case (state_q)
      Idle: begin
        span_d = {1'b0, now_i};
        if (taken_i) state_d = Elapsed;
      end
      Elapsed: begin
        // A span modulo 2^32; the upper half of it is the future.
        span_d  = {1'b0, difference[31:0]};
        state_d = difference[31] ? Idle : Held;
      end
      Held:  state_d = difference[32] ? Idle : Bound;
      Bound: begin
        span_d  = !is_measured_q || difference[32] ? span_q : {1'b0, operand};
        state_d = span_q[31:0] > Most ? Idle : Move;
      end
      Move:    state_d = Settle;
      default: state_d = Idle;
    endcase
    if (rst_i || flush_i) state_d = Idle;
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    span_q  <= span_d;
    if (rst_i || flush_i) begin
      smoothed_q    <= Initial;
      is_measured_q <= 1'b0;
    end else if (state_q == Move && !is_measured_q) begin
      smoothed_q <= span_q[Bits-1:0];
    end else if (state_q == Settle) begin
      is_measured_q <= 1'b1;
      if (is_measured_q) smoothed_q <= smoothed_q + step;
    end
    rtt_o <= {2'b00, used};
  end

endmodule

`default_nettype wire
