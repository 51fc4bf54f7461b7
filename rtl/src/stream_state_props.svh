  // Properties of stream_state; included by it for formal runs.

  logic f_reset_q = 1;
  logic f_open_q = 0, f_close_q = 0, f_alive_q = 0;
  logic [15:0] f_dead_q;
  sw_pkg::state_e f_state_q;
  always_ff @(posedge clk_i) begin
    f_reset_q <= 1'b0;
    f_open_q  <= open_i;
    f_close_q <= close_i;
    f_alive_q <= alive_i;
    f_state_q <= rst_i ? sw_pkg::StateIdle : state_q;
    f_dead_q  <= dead_ms_i;
  end
  always_comb begin
    assume (rst_i == f_reset_q);
    if (!f_reset_q) assume (dead_ms_i == f_dead_q);
    assume (dead_ms_i < 16'd16000);
    if (taken_i) assume (alive_i);
    if (close_left_i) assume (state_q == sw_pkg::StateClosing);
  end

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      assert (state_q <= sw_pkg::StateEnded);
      // Time ends every state but Idle and Ended, unless REPORTs come: dead_ms and three ticks after
      // the last one at the latest.
      if (is_live) assert (silent_q <= dead_ms_i + 16'd3);
      if (state_q == sw_pkg::StateOpening) assert (!has_report_q && !is_close_left_q);
      if (state_q == sw_pkg::StateFlowing) assert (has_report_q);
      if (is_shown_q) assert (is_close_left_q);
      if (is_live && is_shown_q) assert (has_report_q);
      if (state_q == sw_pkg::StateClosing && is_only_ack_missing_q) assert (has_report_q);
      // The arrows of docs/protocol.md#7.11, and no others.
      if (state_q == sw_pkg::StateOpening && f_state_q != sw_pkg::StateOpening) assert (f_open_q);
      if (state_q == sw_pkg::StateFlowing && f_state_q != sw_pkg::StateFlowing)
        assert (f_alive_q && f_state_q == sw_pkg::StateOpening);
      if (state_q == sw_pkg::StateClosing && f_state_q != sw_pkg::StateClosing)
        assert (f_close_q && (f_state_q == sw_pkg::StateOpening
                              || f_state_q == sw_pkg::StateFlowing));
      if (state_q == sw_pkg::StateEnded && f_state_q != sw_pkg::StateEnded)
        assert (f_state_q != sw_pkg::StateIdle);
      // Says how each stream ended, and of each only one thing.
      assert ($countones({ev_finished_o, ev_closed_o, ev_restarted_o, ev_silent_o, ev_half_open_o,
                          ev_breaker_o})
              == 32'((state_q == sw_pkg::StateEnded && f_state_q != sw_pkg::StateEnded)
                     || (state_q == sw_pkg::StateIdle && f_state_q != sw_pkg::StateIdle)));
      cover (ev_finished_o && is_shown_q);
      cover (ev_silent_o && f_state_q == sw_pkg::StateClosing);
    end
  end
