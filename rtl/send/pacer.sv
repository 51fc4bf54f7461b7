// Spaces the packets of one flow or several, each to a rate of wire time of its own.
//
// Keeps the debt of the packets that left, in bytes with 16 bits of fraction, and pays it with the
// time that passes: while there is a debt, elapsed time times rate is taken off it; without one,
// time is kept up to `burst_ns_i` and lost beyond (docs/protocol.md#4.7). Up to 63 ns, 4,095 ns of
// several flows, are always kept: the cycles from the end of a debt to the next choice would lower
// the rate. Without a pace no more than these is kept, so that a rate that begins does not begin with
// a burst. A packet may leave when nothing is owed. What a payment leaves over is kept beside the
// burst, so the mean rate is exact, until an idle time fills the burst.
//
// One payment takes 4 cycles and pays for at most 4,095 ns, so the clock may run by up to 1,023 ns
// a cycle, divided by Flows, without the rate falling behind; a larger jump is paid for in the cycles
// that follow. A burst of 12 cycles' time keeps the rate of one flow whatever the cycles of choice and
// payment are. Rate 0: no pace.
//
// Of several flows the state lies in distributed RAM. Payments go round the flows; a charge delays
// the payment under way by a cycle. `rate_i` is that of `flow_o`, from two cycles after a change of
// `flow_o` on. A flow that found `ok_o` low waits from `wait_i` on. When its debt is paid the payment
// offers it at `wake_flow_o`; the next flow that waits is not paid before that one is taken. So if
// each is taken within N cycles, a flow wakes at most Flows * (N + 4) cycles, and one for each charge
// meanwhile, after its debt is paid. `burst_ns_i` and the 4,095 ns cover that where a round of
// payments is shorter.
//
// Throughput: a charge every cycle, of several flows every second. Latency: `ok_o` falls in the cycle
// after a charge, and rises at most 8 cycles after the debt is paid, of several flows a round later.
// Does not pace MARK and CLOSE. After a reset several flows are set up in 4 cycles each, without a
// charge. One clock; one DSP.
`default_nettype none

module pacer #(
    parameter  int unsigned Flows     = 1,
    localparam int unsigned FlowWidth = Flows > 1 ? $clog2(Flows) : 1
) (
    input  wire logic                 clk_i,
    input  wire logic                 rst_i,
    input  wire logic [         63:0] time_ns_i,
    output      logic [FlowWidth-1:0] flow_o,
    input  wire logic [         23:0] rate_i,
    input  wire logic [         19:0] burst_ns_i,
    input  wire logic                 charge_i,
    input  wire logic [FlowWidth-1:0] charge_flow_i,
    input  wire logic [         15:0] charge_bytes_i,
    // whether the flow may send
    input  wire logic [FlowWidth-1:0] look_flow_i,
    output      logic                 ok_o,
    // of several flows: the flow look_flow_i waits; one that waited may send
    input  wire logic                 wait_i,
    output      logic                 wake_valid_o,
    input  wire logic                 wake_ready_i,
    output      logic [FlowWidth-1:0] wake_flow_o
);

  localparam int unsigned RateWidth = 24;
  localparam int unsigned StepWidth = 12;
  localparam int unsigned DebtWidth = RateWidth + StepWidth + 1;
  // Wraps after 4 ms, four of the longest burst: a jump of the clock by more pays for what is left
  // of it, which at worst delays one packet by what it still owed.
  localparam int unsigned TimeWidth = 22;

  localparam logic [19:0] Grace = Flows > 1 ? 20'd4095 : 20'd63;
  localparam Style = Flows > 1 ? "distributed" : "registers";

  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [DebtWidth-1:0] debt_t;
  typedef logic [FlowWidth-1:0] flow_t;

  typedef enum logic [1:0] {
    PhaseMeasure,  // how much time there is to pay with
    PhaseChoose,   // how much of it is taken
    PhaseMultiply,
    PhasePay
  } phase_e;

  // Of each flow; of one, registers.
  typedef struct packed {
    logic  is_waiting;
    logic  was_free;
    debt_t debt;  // negative: nothing is owed
  } owed_t;
  typedef struct packed {
    logic  was_cut;  // the last payment, by the most that one takes
    time_t paid;     // up to here time has been taken or lost
  } spent_t;
  (* ram_style = Style *) logic [DebtWidth+1:0] owed_mem[Flows];
  (* ram_style = Style *) logic [TimeWidth:0] spent_mem[Flows];

  phase_e phase_q;
  flow_t flow_q, at;
  owed_t owed, owed_d;
  spent_t spent, spent_d;
  time_t span_q;
  logic [StepWidth-1:0] step_q;
  logic [RateWidth+StepWidth-1:0] product_q;
  logic is_setup, is_free, is_cleared, is_stalled, is_paying, is_idle, is_full, is_late, is_choice;
  logic waits_for_wake, wakes;

  // Charges and flows that begin to wait take turns with a payment.
  assign is_stalled = Flows > 1 && (charge_i || wait_i);
  assign at         = !is_stalled ? flow_q : charge_i ? charge_flow_i : look_flow_i;
  assign owed       = owed_mem[at];
  assign spent      = spent_mem[flow_q];
  assign is_free    = ~|rate_i;
  assign is_idle    = owed.debt[DebtWidth-1];
  assign is_choice  = phase_q == PhaseChoose && !is_stalled;
  assign is_paying  = phase_q == PhasePay && !charge_i && !is_stalled && !waits_for_wake;

  logic [StepWidth-1:0] step;
  logic [19:0] kept;
  logic [TimeWidth:0] excess;  // of what is kept over the burst; negative: nothing
  // The clock alone fills the burst: what the last payment left over is lost.
  // A payment that was cut had more time than the debt took: what it left over counts as time kept.
  assign is_late = phase_q == PhaseMeasure && !is_stalled && is_idle && spent.was_cut;
  assign is_full = is_choice && is_idle && !excess[TimeWidth];
  assign step    = |span_q[TimeWidth-1:StepWidth] ? '1 : span_q[StepWidth-1:0];
  assign kept    = owed.was_free ? '0 : burst_ns_i;
  assign excess  = {1'b0, span_q} - (TimeWidth + 1)'(kept | Grace);

  debt_t change, sum, debt;  // less one where it is taken off
  always_comb begin
    change = ~debt_t'(product_q);
    if (charge_i) change = debt_t'({charge_bytes_i, 16'd0});
    else if (is_stalled) change = '0;
  end
  assign sum = owed.debt + change + debt_t'(is_paying);

  // Of one flow the rate at hand counts at once; of several, from the flow's payment on.
  if (Flows > 1) begin : g_free
    assign is_cleared = is_setup || (charge_i ? owed.was_free : is_paying && is_free);
  end else begin : g_free
    assign is_cleared = rst_i || is_free;
  end

  assign debt = is_cleared || ((is_full || is_late) && !charge_i) ? '1 : sum;

  logic sets_owed;
  assign sets_owed = charge_i || is_stalled || is_paying || is_full || is_late || is_cleared;
  always_comb begin
    owed_d.debt       = debt;
    owed_d.was_free   = is_paying ? is_free : owed.was_free;
    owed_d.is_waiting = Flows > 1 && !is_setup && ((wait_i && !charge_i)
        || (owed.is_waiting && !wakes));
    spent_d.was_cut   = phase_q == PhaseMultiply ? &step_q : spent.was_cut;
    spent_d.paid      = spent.paid + (is_choice ? excess[TimeWidth-1:0] : time_t'(step_q));
    if (is_setup) spent_d.paid = time_ns_i[TimeWidth-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (!is_stalled) begin
      unique case (phase_q)
        PhaseMeasure: begin
          span_q  <= time_ns_i[TimeWidth-1:0] - spent.paid;
          phase_q <= PhaseChoose;
        end
        PhaseChoose: begin
          step_q  <= is_idle ? '0 : step;
          phase_q <= PhaseMultiply;
        end
        PhaseMultiply: begin
          product_q <= step_q * rate_i;
          phase_q   <= PhasePay;
        end
        default: if (is_paying) phase_q <= PhaseMeasure;
      endcase
    end
    if (rst_i) phase_q <= PhaseMeasure;
    if (is_setup || is_full || (phase_q == PhaseMultiply && !is_stalled))
      spent_mem[flow_q] <= spent_d;
    if (sets_owed) owed_mem[at] <= owed_d;
  end

  if (Flows > 1) begin : g_flows
    logic is_idle_mem[Flows];
    logic setup_q, is_last;
    assign is_setup       = setup_q;
    assign is_last        = flow_q == FlowWidth'(Flows - 1);
    assign waits_for_wake = owed.is_waiting && wake_valid_o && !setup_q;
    assign wakes          = is_paying && owed.is_waiting && debt[DebtWidth-1];
    assign ok_o           = is_idle_mem[look_flow_i];

    always_ff @(posedge clk_i) begin
      if (sets_owed) is_idle_mem[at] <= debt[DebtWidth-1];
      if (is_paying) flow_q <= is_last ? '0 : flow_q + 1'b1;
      if (is_paying && is_last) setup_q <= 1'b0;
      if (wakes && !setup_q) wake_flow_o <= flow_q;
      wake_valid_o <= (wake_valid_o && !wake_ready_i) || (wakes && !setup_q);
      if (rst_i) begin
        setup_q      <= 1'b1;
        flow_q       <= '0;
        wake_valid_o <= 1'b0;
      end
    end
  end else begin : g_flow
    assign flow_q         = '0;
    assign is_setup       = rst_i;
    assign waits_for_wake = 1'b0;
    assign wakes          = 1'b0;
    assign wake_valid_o   = 1'b0;
    assign wake_flow_o    = '0;
    assign ok_o           = is_idle;
  end

  assign flow_o = flow_q;

endmodule

`default_nettype wire
