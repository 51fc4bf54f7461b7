// Spaces DATA to a rate of wire time.
//
// Keeps the debt of the packets that left, in bytes with 16 bits of fraction, and pays it with the
// time that passes: while there is a debt, elapsed time times rate is taken off it; without one,
// time is kept up to `burst_ns_i` and lost beyond (docs/protocol.md#4.7). Up to 63 ns are always
// kept: the cycles from the end of a debt to the next choice would lower the rate. Without a pace no
// more than these is kept, so that a rate that begins does not begin with a burst. A packet may
// leave when nothing is owed. What a payment leaves over is kept beside the burst, so the mean rate
// is exact, until an idle time fills the burst.
//
// One payment takes 4 cycles and pays for at most 4,095 ns, so the clock may run by up to 1,023 ns
// a cycle without the rate falling behind; a larger jump is paid for in the cycles that follow.
// A burst of 12 cycles' time keeps the rate whatever the cycles of choice and payment are.
// Throughput: a charge every cycle. Latency: `ok_o` falls in the cycle after a charge, and rises at
// most 8 cycles after the debt is paid. Rate 0: no pace.
// Does not pace MARK and CLOSE. One clock; one DSP.
`default_nettype none

module pacer (
    input  wire logic        clk_i,
    input  wire logic        rst_i,
    input  wire logic [63:0] time_ns_i,
    input  wire logic [23:0] rate_i,
    input  wire logic [19:0] burst_ns_i,
    input  wire logic        charge_i,
    input  wire logic [15:0] charge_bytes_i,
    output      logic        ok_o
);

  localparam int unsigned RateWidth = 24;
  localparam int unsigned StepWidth = 12;
  localparam int unsigned DebtWidth = RateWidth + StepWidth + 1;
  // Wraps after 4 ms, four of the longest burst: a jump of the clock by more pays for what is left
  // of it, which at worst delays one packet by what it still owed.
  localparam int unsigned TimeWidth = 22;

  localparam logic [19:0] Grace = 20'd63;

  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [DebtWidth-1:0] debt_t;

  typedef enum logic [1:0] {
    PhaseMeasure,  // how much time there is to pay with
    PhaseChoose,   // how much of it is taken
    PhaseMultiply,
    PhasePay
  } phase_e;

  phase_e phase_q;
  time_t paid_q;  // up to here time has been taken or lost
  time_t span_q;
  logic [StepWidth-1:0] step_q;
  logic [RateWidth+StepWidth-1:0] product_q;
  debt_t debt_q;  // negative: nothing is owed
  logic is_free, was_free_q, is_paying, is_idle, is_full, is_late;

  assign is_free   = ~|rate_i;
  assign is_idle   = debt_q[DebtWidth-1];
  assign is_paying = phase_q == PhasePay && !charge_i;  // one sum at a time

  logic [StepWidth-1:0] step;
  logic [19:0] kept;
  logic [TimeWidth:0] excess;  // of what is kept over the burst; negative: nothing
  // The clock alone fills the burst: what the last payment left over is lost.
  // A payment that was cut had more time than the debt took: what it left over counts as time kept.
  assign is_late = phase_q == PhaseMeasure && is_idle && &step_q;
  assign is_full = phase_q == PhaseChoose && is_idle && !excess[TimeWidth];
  assign step    = |span_q[TimeWidth-1:StepWidth] ? '1 : span_q[StepWidth-1:0];
  assign kept    = was_free_q ? '0 : burst_ns_i;
  assign excess  = {1'b0, span_q} - (TimeWidth + 1)'(kept | Grace);

  debt_t change;  // less one where it is taken off
  assign change = charge_i ? debt_t'({charge_bytes_i, 16'd0}) : ~debt_t'(product_q);

  always_ff @(posedge clk_i) begin
    unique case (phase_q)
      PhaseMeasure: begin
        span_q  <= time_ns_i[TimeWidth-1:0] - paid_q;
        phase_q <= PhaseChoose;
      end
      PhaseChoose: begin
        step_q <= is_idle ? '0 : step;
        if (is_full) paid_q <= paid_q + excess[TimeWidth-1:0];
        phase_q <= PhaseMultiply;
      end
      PhaseMultiply: begin
        product_q <= step_q * rate_i;
        paid_q    <= paid_q + time_t'(step_q);
        phase_q   <= PhasePay;
      end
      default: if (is_paying) phase_q <= PhaseMeasure;
    endcase
    if (charge_i || is_paying) debt_q <= debt_q + change + debt_t'(is_paying);
    if ((is_full || is_late) && !charge_i) debt_q <= '1;
    was_free_q <= is_free;
    if (rst_i || is_free) debt_q <= '1;
    if (rst_i) begin
      phase_q <= PhaseMeasure;
      paid_q  <= time_ns_i[TimeWidth-1:0];
    end
  end

  assign ok_o = is_idle;

endmodule

`default_nettype wire
