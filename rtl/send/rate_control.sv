// When DATA may leave: the lower of a configured pace and of what congestion control allows
// (docs/protocol.md#8.4), with the registers and the events of the latter.
//
// Modes: 0 no control, 1 a fixed rate (`rate_start`), 2 dcqcn. At the line's rate dcqcn limits
// nothing. Its machine runs in every mode, with the departures, but takes notifications only in mode
// 2. A flow starts with rst_i, and where an opening is accepted (opening_i rises).
//
// Notifications and departures are pulses, never held back. Several within a visit of dcqcn, at most
// 24 cycles, count as one notification, and as one departure: bytes beyond 65,535 within one visit do
// not reach the byte counter. Behind a jump of the clock a visit takes up to 255 * 11 cycles more.
// Latency: a cut reaches the pacer at most 48 cycles after its notification; `ok_o` as in pacer. A
// core that has a pacer of its own takes `pace_o`, the rate of the pacer here, and leaves `ok_o` open.
//
// cfg_i.pace_rate and cfg_i.pace_burst_ns may change at any time, the parameters while no stream is
// open. The flow of the stream before, or of the reset, then goes on with other parameters: R_C may
// be above the line or below the minimum until the next opening starts it again.
// One clock; two DSPs, one block RAM.
`default_nettype none

module rate_control (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    input wire sw_regs_pkg::cfg_t cfg_i,

    input wire logic        opening_i,
    input wire logic        ev_marked_i,
    input wire logic [31:0] rtt_i,  // in 16 ns, at the time of ev_marked_i and behind it

    input  wire logic        charge_i,
    input  wire logic [15:0] charge_bytes_i,
    output      logic        ok_o,
    output      logic [23:0] pace_o,          // 0: none

    output logic        ev_cut_o,
    output logic [23:0] rate_o,
    output logic [23:0] target_o,
    output logic [16:0] alpha_o,
    output logic [31:0] event_count_o,
    output logic [44:0] event_time_ns_o,
    output logic [ 2:0] event_cause_o,
    output logic [23:0] event_rate_o
);

  localparam logic [1:0] ModeFixed = 2'd1;
  localparam logic [1:0] ModeDcqcn = 2'd2;
  localparam logic [2:0] CauseCut = 3'd3;  // dcqcn

  // ------------------------------------------------------------------ events that wait
  logic start_q, note_q, was_opening_q;
  logic start_ready, note_ready, dep_ready;
  logic [15:0] dep_bytes_q;
  logic [16:0] dep_sum;
  assign dep_sum = {1'b0, dep_bytes_q} + {1'b0, charge_bytes_i};

  always_ff @(posedge clk_i) begin
    was_opening_q <= opening_i;
    start_q       <= (start_q && !start_ready) || (opening_i && !was_opening_q);
    note_q        <= (note_q && !note_ready) || (ev_marked_i && cfg_i.rate_mode == ModeDcqcn);
    if (dep_ready) dep_bytes_q <= charge_i ? charge_bytes_i : '0;
    else if (charge_i) dep_bytes_q <= dep_sum[15:0] | {16{dep_sum[16]}};
    if (rst_i) begin
      was_opening_q <= 1'b0;
      start_q       <= 1'b0;
      note_q        <= 1'b0;
      dep_bytes_q   <= '0;
    end
  end

  // ------------------------------------------------------------------ the machine
  logic ev;
  logic [2:0] cause;

  dcqcn u_dcqcn (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .gain_shift_i(cfg_i.gain_shift), .alpha_period_i(cfg_i.alpha_period_ns),
      .rise_period_i(cfg_i.rise_period_ns), .cut_interval_i(cfg_i.cut_interval_ns),
      .rise_bytes_i(cfg_i.rise_bytes), .recovery_stages_i(cfg_i.recovery_stages),
      .additive_i(cfg_i.rate_additive), .hyper_i(cfg_i.rate_hyper),
      .minimum_i(cfg_i.rate_minimum), .start_i(cfg_i.rate_start),
      .first_cut_i(cfg_i.rate_first_cut), .line_i(cfg_i.rate_line),
      .start_valid_i(start_q), .start_ready_o(start_ready), .start_flow_i(1'b0),
      .note_valid_i(note_q), .note_ready_o(note_ready), .note_flow_i(1'b0),
      // What exceeds 32 bits of nanoseconds counts as the most they hold.
      .note_rtt_ns_i({rtt_i[27:0], 4'd0} | {32{|rtt_i[31:28]}}),
      .dep_valid_i(|dep_bytes_q), .dep_ready_o(dep_ready), .dep_flow_i(1'b0),
      .dep_bytes_i(dep_bytes_q),
      .flow_o(), .rate_o(rate_o), .target_o(target_o), .alpha_o(alpha_o), .ev_o(ev),
      .cause_o(cause)
  );

  assign ev_cut_o = ev && cause == CauseCut;

  event_ring u_events (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .ev_i(ev), .cause_i(cause), .rate_i(rate_o),
      .count_o(event_count_o), .index_i(cfg_i.event_index), .time_ns_o(event_time_ns_o),
      .cause_o(event_cause_o), .rate_o(event_rate_o)
  );

  // ------------------------------------------------------------------ the lower of two
  // Rate 0: nothing limits. The target is the line's too where the rate is.
  logic live_q;  // the machine has a rate
  logic [23:0] limit_q, pace_q;
  always_ff @(posedge clk_i) begin
    live_q  <= live_q || ev;
    limit_q <= '0;
    if (cfg_i.rate_mode == ModeFixed) limit_q <= cfg_i.rate_start;
    if (cfg_i.rate_mode == ModeDcqcn && live_q && rate_o != cfg_i.rate_line) limit_q <= rate_o;
    pace_q <= cfg_i.pace_rate;
    if (~|cfg_i.pace_rate || (|limit_q && limit_q < cfg_i.pace_rate)) pace_q <= limit_q;
    if (rst_i) live_q <= 1'b0;
  end

  assign pace_o = pace_q;

  pacer u_pacer (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i), .rate_i(pace_q),
      .burst_ns_i(cfg_i.pace_burst_ns), .charge_i(charge_i), .charge_bytes_i(charge_bytes_i),
      .ok_o(ok_o)
  );

endmodule

`default_nettype wire
