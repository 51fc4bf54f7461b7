// The life of the stream (docs/protocol.md#7.11, #3.14, #7.7).
//
//   Idle --open--> Opening --first REPORT--> Flowing --close--> Closing --CLOSE_ACK--> Ended
//   Opening --close--> Closing; any but Idle --receiver's CLOSE, unknown tag, silence, breaker-->
//   Ended; one that never had a REPORT --silence--> Idle: its number is free and its tag unknown.
//   Ended --open--> Opening; it answers every CLOSE of its tag until then.
//
// Throughput: an event a cycle. Latency: 1 cycle. Back-pressure: none. Does not: judge packets
// (`listener`), count credit (`window`). One clock.
`default_nettype none

module stream_state (
  input  logic           clk_i,
  input  logic           rst_i,
  input  logic           tick_i,         // a millisecond has passed
  input  logic [15:0]    dead_ms_i,
  input  logic [31:0]    rtt_i,          // 16 ns

  input  logic           open_i,         // a stream begins, in the last cycle of the flush
  input  logic           close_i,        // ours
  input  logic           peer_closed_i,  // a CLOSE that is taken
  input  logic           done_i,         // CLOSE_ACK(done) with seq = next
  input  logic           unknown_i,      // CLOSE_ACK(unknown tag), believed
  input  logic           trip_i,         // circuit breaker
  input  logic           alive_i,        // a valid REPORT
  input  logic           taken_i,        // it is newer: echo and hold are its own
  input  logic [31:0]    echo_i,
  input  logic [31:0]    hold_i,
  input  logic           is_sent_i,      // nothing is left to depart for the first time
  input  logic           is_released_i,
  input  logic           close_left_i,   // a CLOSE departed
  input  logic [31:0]    departure_i,    // its stamp

  output sw_pkg::state_e state_o,
  output logic           has_report_o,
  output logic           ev_finished_o,
  output logic           ev_closed_o,    // by the peer
  output logic           ev_restarted_o,
  output logic           ev_silent_o,
  output logic           ev_half_open_o,
  output logic           ev_breaker_o
);

  localparam logic [15:0] HalfOpenMs = 16'd3000;
  localparam logic [15:0] PatienceMs = 16'd1000;

  sw_pkg::state_e state_q, state_d;

  logic [15:0] silent_q, round_trips_q;
  logic [31:0] close_departure_q;
  logic        has_report_q, is_close_left_q, is_shown_q;
  logic        is_only_ack_missing, is_only_ack_missing_q, is_silent_q, is_live, is_finished;
  logic        is_over;

  assign is_live = state_q == sw_pkg::StateOpening || state_q == sw_pkg::StateFlowing
                   || state_q == sw_pkg::StateClosing;
  assign is_only_ack_missing = state_q == sw_pkg::StateClosing && is_sent_i && is_released_i
                               && is_shown_q;

  // At most `dead_ms_i`, and less before the first REPORT or when only the CLOSE_ACK is missing.
  // The tick after a REPORT may come at once: the dead are silent for more than their ms. 16 RTT
  // in ms, rounded up to the unit of 2^20 ns: at most 5 % long.
  always_comb begin
    is_over = silent_q > dead_ms_i;
    if (is_only_ack_missing_q) begin
      if (silent_q > PatienceMs && silent_q > round_trips_q) is_over = 1'b1;
    end else if (!has_report_q && silent_q > HalfOpenMs) is_over = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    round_trips_q         <= |rtt_i[31:28] ? '1 : rtt_i[27:12] + 16'd1;
    is_only_ack_missing_q <= is_only_ack_missing;
    is_silent_q           <= is_over && !open_i && !alive_i && !rst_i;
  end

  always_comb begin
    state_d     = state_q;
    is_finished = 1'b0;
    unique case (state_q)
      sw_pkg::StateOpening:
        if (close_i) state_d = sw_pkg::StateClosing;
        else if (alive_i) state_d = sw_pkg::StateFlowing;
      sw_pkg::StateFlowing:
        if (close_i) state_d = sw_pkg::StateClosing;
      sw_pkg::StateClosing:
        is_finished = (done_i && is_sent_i)
                      || ((unknown_i || is_silent_q) && is_only_ack_missing_q);
      default: state_d = state_q;
    endcase
    if (is_live) begin
      if (is_silent_q) state_d = has_report_q ? sw_pkg::StateEnded : sw_pkg::StateIdle;
      if (is_finished || peer_closed_i || unknown_i || trip_i) state_d = sw_pkg::StateEnded;
    end
    if (open_i) state_d = sw_pkg::StateOpening;
    if (rst_i) state_d = sw_pkg::StateIdle;
  end

  always_ff @(posedge clk_i) begin
    state_q    <= state_d;
    if (open_i || alive_i || rst_i) silent_q <= '0;
    else if (tick_i && !(&silent_q)) silent_q <= silent_q + 16'd1;
    if (close_left_i && !is_close_left_q) close_departure_q <= departure_i;
    if (open_i || rst_i) begin
      has_report_q    <= 1'b0;
      is_close_left_q <= 1'b0;
      is_shown_q      <= 1'b0;
    end else begin
      if (alive_i && is_live) has_report_q <= 1'b1;
      if (close_left_i) is_close_left_q <= 1'b1;
      if (taken_i && is_close_left_q && !(&hold_i)
          && !sw_pkg::before32(echo_i, close_departure_q)) is_shown_q <= 1'b1;
    end
    ev_finished_o  <= is_live && !rst_i && !open_i && is_finished;
    ev_closed_o    <= is_live && !rst_i && !open_i && !is_finished && peer_closed_i;
    ev_restarted_o <= is_live && !rst_i && !open_i && !is_finished && !peer_closed_i
                      && unknown_i;
    ev_breaker_o   <= is_live && !rst_i && !open_i && !is_finished && !peer_closed_i
                      && !unknown_i && trip_i;
    ev_silent_o    <= is_live && !rst_i && !open_i && !is_finished && has_report_q && is_silent_q
                      && state_d == sw_pkg::StateEnded && !peer_closed_i && !unknown_i && !trip_i;
    ev_half_open_o <= is_live && !rst_i && !open_i && state_d == sw_pkg::StateIdle;
  end

  assign state_o      = state_q;
  assign has_report_o = has_report_q;

`ifdef FORMAL
  `include "stream_state_props.svh"
`endif

endmodule

`default_nettype wire
