// When the packets of each of several flows may leave: the lower of a configured pace and of what
// congestion control allows the flow (docs/protocol.md#8.4), with the registers and the events of the
// latter. A core with one stream has one flow; of several, each has a pace and a rate of its own.
//
// Modes: 0 no control, 1 a fixed rate (`rate_start`), 2 dcqcn. At the line's rate dcqcn limits
// nothing. Its machine runs in every mode, with the departures, but takes notifications only in mode
// 2. A flow starts with rst_i, and where its opening is accepted (opening_i rises); of several flows,
// openings come while `opening_busy_o` is low. What waits of before an opening is forgotten.
//
// Notifications and departures are pulses, never held back. Several of a flow within a visit of dcqcn,
// at most 24 cycles, count as one notification, and as one departure: bytes beyond 65,535 within one
// visit do not reach the byte counter. Of several flows, each hands on at most one of both in a round of
// pacer. Behind a jump of the clock a visit takes up to 255 * 11 cycles more. Latency: a cut reaches the
// pacer at most 48 cycles after its notification. Of several flows, a notification waits for the round,
// for that of another flow before it, and a round for its payment; `ok_o` and what waits as in pacer.
//
// rate_o, target_o and alpha_o are those of the flow select_i, of several flows as of its last visit by
// dcqcn, at most 40 cycles a flow ago. The events are those of all flows.
//
// cfg_i.pace_rate and cfg_i.pace_burst_ns, of each flow, may change at any time, the parameters while
// no stream is open. The flow of the stream before, or of the reset, then goes on with other
// parameters: R_C may be above the line or below the minimum until the next opening starts it again.
// One clock; two DSPs, one block RAM, of several flows two.
`default_nettype none

module rate_control #(
    parameter  int unsigned Flows     = 1,
    localparam int unsigned FlowWidth = Flows > 1 ? $clog2(Flows) : 1
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    input wire send_pkg::rate_cfg_t cfg_i,

    input  wire logic                 opening_i,
    input  wire logic [FlowWidth-1:0] opening_flow_i,
    output      logic                 opening_busy_o,
    input  wire logic                 ev_marked_i,
    input  wire logic [FlowWidth-1:0] marked_flow_i,
    input  wire logic [         31:0] rtt_i,  // in 16 ns, at the time of ev_marked_i and behind it

    input  wire logic                 charge_i,
    input  wire logic [FlowWidth-1:0] charge_flow_i,
    input  wire logic [         15:0] charge_bytes_i,
    input  wire logic [FlowWidth-1:0] look_flow_i,
    output      logic                 ok_o,
    input  wire logic                 wait_i,
    output      logic                 wake_valid_o,
    input  wire logic                 wake_ready_i,
    output      logic [FlowWidth-1:0] wake_flow_o,

    output logic                       ev_cut_o,
    input  wire logic  [FlowWidth-1:0] select_i,
    output logic       [         23:0] rate_o,
    output logic       [         23:0] target_o,
    output logic       [         16:0] alpha_o,
    output logic       [         31:0] event_count_o,
    input  wire logic  [          8:0] event_index_i,
    output logic       [         44:0] event_time_ns_o,
    output logic       [          2:0] event_cause_o,
    output logic       [         23:0] event_rate_o,
    output logic       [FlowWidth-1:0] event_flow_o
);

  localparam logic [1:0] ModeFixed = 2'd1;
  localparam logic [1:0] ModeDcqcn = 2'd2;
  localparam logic [2:0] CauseCut = 3'd3;  // dcqcn

  typedef logic [FlowWidth-1:0] flow_t;

  // ------------------------------------------------------------------ events that wait
  logic start_q, was_opening_q, start_ready, note_valid, note_ready, dep_valid, dep_ready;
  logic is_marked;
  logic live_q;  // each flow has a rate
  logic [15:0] dep_bytes, kept_bytes;
  logic [16:0] dep_sum;
  flow_t start_flow_q, note_flow, dep_flow, pace_flow;
  assign is_marked      = ev_marked_i && cfg_i.rate_mode == ModeDcqcn;
  assign dep_sum        = {1'b0, kept_bytes} + {1'b0, charge_bytes_i};
  assign opening_busy_o = start_q;

  always_ff @(posedge clk_i) begin
    was_opening_q <= opening_i;
    start_q       <= (start_q && !start_ready) || (opening_i && !was_opening_q);
    if (opening_i && !was_opening_q) start_flow_q <= opening_flow_i;
    if (rst_i) begin
      was_opening_q <= 1'b0;
      start_q       <= 1'b0;
    end
  end

  if (Flows > 1) begin : g_waiting
    // Of each flow a notification, and the bytes of departures. They go on one by one, in the order of
    // the pacer's flows, which has gone round before the last flow has a rate. While a flow is to start
    // none goes on, and its own are cleared.
    logic note_mem[Flows];
    logic [15:0] dep_mem[Flows];
    logic clears, note_moves, dep_moves, note_q, dep_q;
    logic [15:0] dep_bytes_q;
    flow_t at, note_at, dep_at, note_flow_q, dep_flow_q;
    assign clears     = start_q || !live_q;
    assign at         = start_q ? start_flow_q : pace_flow;
    assign note_at    = is_marked ? marked_flow_i : at;
    assign dep_at     = charge_i ? charge_flow_i : at;
    assign kept_bytes = dep_mem[dep_at];
    assign note_moves = !is_marked && !clears && note_mem[note_at] && (!note_q || note_ready);
    assign dep_moves  = !charge_i && !clears && |kept_bytes && (!dep_q || dep_ready);

    always_ff @(posedge clk_i) begin
      if (is_marked || note_moves || clears) note_mem[note_at] <= is_marked;
      if (charge_i || dep_moves || clears)
        dep_mem[dep_at] <= charge_i ? dep_sum[15:0] | {16{dep_sum[16]}} : '0;
      note_q <= (note_q && !note_ready) || note_moves;
      dep_q  <= (dep_q && !dep_ready) || dep_moves;
      if (note_moves) note_flow_q <= note_at;
      if (dep_moves) begin
        dep_flow_q  <= dep_at;
        dep_bytes_q <= kept_bytes;
      end
      if (rst_i) {note_q, dep_q} <= '0;
    end

    assign note_valid = note_q;
    assign note_flow  = note_flow_q;
    assign dep_valid  = dep_q;
    assign dep_flow   = dep_flow_q;
    assign dep_bytes  = dep_bytes_q;
  end else begin : g_waiting
    logic note_q;
    logic [15:0] dep_bytes_q;
    always_ff @(posedge clk_i) begin
      note_q <= (note_q && !note_ready && !start_ready) || is_marked;
      if (dep_ready || start_ready) dep_bytes_q <= charge_i ? charge_bytes_i : '0;
      else if (charge_i) dep_bytes_q <= dep_sum[15:0] | {16{dep_sum[16]}};
      if (rst_i) begin
        note_q      <= 1'b0;
        dep_bytes_q <= '0;
      end
    end

    assign kept_bytes = dep_bytes_q;
    assign note_valid = note_q;
    assign note_flow  = '0;
    assign dep_valid  = |dep_bytes_q;
    assign dep_flow   = '0;
    assign dep_bytes  = dep_bytes_q;
  end

  // ------------------------------------------------------------------ the machine
  logic ev, is_visited;
  logic [2:0] cause;
  logic [23:0] rate, target;
  logic [16:0] alpha;
  flow_t flow;

  dcqcn #(
      .Flows(Flows)
  ) u_dcqcn (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .gain_shift_i(cfg_i.gain_shift), .alpha_period_i(cfg_i.alpha_period_ns),
      .rise_period_i(cfg_i.rise_period_ns), .cut_interval_i(cfg_i.cut_interval_ns),
      .rise_bytes_i(cfg_i.rise_bytes), .recovery_stages_i(cfg_i.recovery_stages),
      .additive_i(cfg_i.rate_additive), .hyper_i(cfg_i.rate_hyper),
      .minimum_i(cfg_i.rate_minimum), .start_i(cfg_i.rate_start),
      .first_cut_i(cfg_i.rate_first_cut), .line_i(cfg_i.rate_line),
      .start_valid_i(start_q && (Flows == 1 || !(note_valid || dep_valid))),
      .start_ready_o(start_ready), .start_flow_i(start_flow_q),
      .note_valid_i(note_valid), .note_ready_o(note_ready), .note_flow_i(note_flow),
      // What exceeds 32 bits of nanoseconds counts as the most they hold.
      .note_rtt_ns_i({rtt_i[27:0], 4'd0} | {32{|rtt_i[31:28]}}),
      .dep_valid_i(dep_valid), .dep_ready_o(dep_ready), .dep_flow_i(dep_flow),
      .dep_bytes_i(dep_bytes),
      .flow_o(flow), .is_visited_o(is_visited), .rate_o(rate), .target_o(target), .alpha_o(alpha),
      .ev_o(ev), .cause_o(cause)
  );

  assign ev_cut_o = ev && cause == CauseCut;

  event_ring #(
      .Flows(Flows)
  ) u_events (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .ev_i(ev), .flow_i(flow), .cause_i(cause), .rate_i(rate),
      .count_o(event_count_o), .index_i(event_index_i), .time_ns_o(event_time_ns_o),
      .flow_o(event_flow_o), .cause_o(event_cause_o), .rate_o(event_rate_o)
  );

  // ------------------------------------------------------------------ the lower of two
  // Rate 0: nothing limits. The target is the line's too where the rate is.
  logic [23:0] allowed, limit_q, pace_q;
  always_ff @(posedge clk_i) begin
    live_q  <= live_q || (ev && 32'(flow) == (Flows > 1 ? Flows - 1 : 0));
    limit_q <= '0;
    if (cfg_i.rate_mode == ModeFixed) limit_q <= cfg_i.rate_start;
    if (cfg_i.rate_mode == ModeDcqcn && live_q && allowed != cfg_i.rate_line) limit_q <= allowed;
    pace_q <= cfg_i.pace_rate;
    if (~|cfg_i.pace_rate || (|limit_q && limit_q < cfg_i.pace_rate)) pace_q <= limit_q;
    if (rst_i) live_q <= 1'b0;
  end

  if (Flows > 1) begin : g_flows
    logic [23:0] rate_mem[Flows];
    assign allowed = rate_mem[pace_flow];
    always_ff @(posedge clk_i) begin
      if (ev) rate_mem[flow] <= rate;
      if (is_visited && flow == select_i) begin
        rate_o   <= rate;
        target_o <= target;
        alpha_o  <= alpha;
      end
    end
  end else begin : g_flow
    assign allowed  = rate;
    assign rate_o   = rate;
    assign target_o = target;
    assign alpha_o  = alpha;
  end

  pacer #(
      .Flows(Flows)
  ) u_pacer (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i), .flow_o(pace_flow), .rate_i(pace_q),
      .burst_ns_i(cfg_i.pace_burst_ns), .charge_i(charge_i), .charge_flow_i(charge_flow_i),
      .charge_bytes_i(charge_bytes_i), .look_flow_i(look_flow_i), .ok_o(ok_o), .wait_i(wait_i),
      .wake_valid_o(wake_valid_o), .wake_ready_i(wake_ready_i), .wake_flow_o(wake_flow_o)
  );

endmodule

`default_nettype wire
