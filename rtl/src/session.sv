// Opening, closing, restart and death of the one stream, and its MARKs: the responder that sends
// (docs/protocol.md#3, #4.8, #4.10, #7). Structure only, besides the millisecond.
//
//   session_rx -> listener <-> cookie
//                  |  | ^
//                  |  | +-- stream_state <- breaker
//                  |  +---> ctl_build --> ctl_tx
//   mark_timer ----+-------^
//
// Throughput: a packet at a time; one that comes while another is judged or answered is dropped
// and counted. Latency: see listener. Back-pressure: c_ready_o is always high. Does not: take
// REPORTs (`report_rx`). One clock.
`default_nettype none

module session (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic [63:0]      time_ns_i,

  // Configuration; held while enabled.
  input  logic             enable_i,
  output logic [4:0]       key_addr_o,          // registers of secret and boot id, by word
  input  logic [31:0]      key_data_i,          // in the same cycle
  input  logic [15:0]      payload_bytes_i,
  input  logic [15:0]      dead_ms_i,
  input  logic [15:0]      idle_ms_i,
  input  logic [6:0]       tpl_words_i,

  // Control stream; class session is taken.
  input  logic             c_valid_i,
  output logic             c_ready_o,
  input  logic [63:0]      c_data_i,
  input  logic             c_last_i,
  input  sw_pkg::rx_meta_t c_meta_i,

  // The stream.
  output sw_pkg::state_e   state_o,
  output logic [31:0]      stream_tag_o,        // what comes carries it
  output logic             stream_tag_valid_o,
  output logic [31:0]      peer_tag_o,          // what leaves carries it
  output sw_pkg::peer_t    peer_o,
  output logic [31:0]      window_o,            // of the opener
  output logic             flush_o,
  output logic [31:0]      first_seq_o,
  output logic             run_o,
  output logic             stop_o,
  input  logic             close_i,             // pulse
  input  logic [1:0]       close_reason_i,      // docs/protocol.md#2.17; held

  // packetizer, window, tx_sched
  input  logic             busy_i,              // a packet is begun
  input  logic [63:0]      index_i,             // of the next sample to depart
  input  logic [63:0]      lost_i,
  input  logic [31:0]      oldest_i,
  input  logic [31:0]      sent_i,
  input  logic [31:0]      next_i,
  input  logic             is_released_i,
  input  logic             is_sent_i,
  input  logic             credit_came_i,
  output logic [31:0]      close_seq_o,
  input  logic             close_ok_i,
  input  logic             depart_new_i,
  input  logic             depart_repeat_i,
  output logic             hold_o,              // choose no DATA
  input  logic             tx_busy_i,           // DATA that was chosen has not left

  // report_rx, rtt
  input  logic             taken_i,
  input  logic             alive_i,
  input  logic [31:0]      number_i,
  input  logic [31:0]      echo_i,
  input  logic [31:0]      hold_i,
  input  logic [31:0]      report_departure_i,
  input  logic [31:0]      report_time_i,
  input  logic [31:0]      rtt_i,

  // tx_sched
  output logic             ctl_want_o,
  input  logic             ctl_grant_i,
  input  logic [31:0]      ctl_departure_i,
  output logic             ctl_done_o,

  // ctl_tx
  output logic             ctl_valid_o,
  output logic             ctl_final_o,
  input  logic             ctl_ready_i,
  output logic [15:0]      ctl_bytes_o,
  output logic             ctl_template_o,
  input  logic [3:0]       word_addr_i,
  output logic [63:0]      word_data_o,

  output logic             ev_opens_o,
  output logic             ev_challenged_o,
  output logic             ev_accepted_o,
  output logic             ev_repeated_o,
  output logic             ev_refused_o,
  output logic             ev_late_o,
  output logic             ev_takeover_o,
  output logic             ev_unknown_o,
  output logic             ev_unanswered_o,
  output logic             ev_malformed_o,
  output logic             ev_unexpected_o,
  output logic             ev_close_refused_o,
  output logic             ev_dropped_o,
  output logic             ev_mark_o,
  output logic             ev_finished_o,
  output logic             ev_closed_o,
  output logic             ev_restarted_o,
  output logic             ev_silent_o,
  output logic             ev_half_open_o,
  output logic             ev_breaker_o
);

  // A millisecond in units of 64 ns. A time that jumps is followed by a tick in
  // two cycles, since the difference is a cycle old.
  localparam logic [29:0] MsUnits = 30'd15_625;

  logic [29:0] ms_q, units_q;
  logic        tick_q;


  always_ff @(posedge clk_i) begin
    units_q <= rst_i ? '0 : time_ns_i[35:6] - ms_q;
    if (rst_i) begin
      ms_q   <= time_ns_i[35:6];
      tick_q <= 1'b0;
    end else begin
      tick_q <= !tick_q && units_q >= MsUnits;
      if (!tick_q && units_q >= MsUnits) ms_q <= ms_q + MsUnits;
    end
  end

  logic           rx_held, rx_release, rx_is_tag_zero, rx_is_tag_ours, rx_is_peer_ours;
  logic [3:0]     rx_version, rx_ptype, rx_addr;
  logic [15:0]    rx_bytes;
  logic [63:0]    rx_data;

  logic           mac_start, mac_is_key, mac_valid, mac_low, mac_done;
  logic [1:0]     mac_part, mac_half;
  logic [15:0]    mac_block;
  logic [31:0]    mac_value;

  logic           ans_valid, ans_done, ans_is_unknown, ans_is_retry, ans_mac_start, ans_mac_half;
  logic           ans_is_mac;
  logic           ans_is_opening;
  logic [15:0]    ans_bytes;
  logic [3:0]     ans_reason, ans_addr;
  sw_pkg::type_e  ans_type;
  logic           mark_due, mark_left, mark_hold, build_idle;

  logic           open, peer_closed, done, unknown, trip, has_report;
  logic           is_live, is_all_sent, is_close_due, is_closing_q, busy_q, is_waiting_q;

  assign is_live = state_o == sw_pkg::StateOpening || state_o == sw_pkg::StateFlowing
                   || state_o == sw_pkg::StateClosing;
  assign stream_tag_valid_o = is_live && !flush_o;
  assign first_seq_o        = 32'd0;
  assign run_o              = state_o == sw_pkg::StateFlowing || stop_o;
  assign stop_o             = state_o == sw_pkg::StateClosing;
  assign c_ready_o          = 1'b1;
  assign hold_o             = mark_hold;

  // A packet that is begun is still to be sent; its commit shows a cycle after the call to stop.
  assign is_all_sent  = is_sent_i && !busy_i && !busy_q && is_closing_q;
  assign is_close_due = state_o == sw_pkg::StateClosing && is_all_sent;
  assign ev_mark_o    = mark_left && !is_close_due;

  always_ff @(posedge clk_i) begin
    busy_q       <= busy_i;
    is_waiting_q <= !is_released_i || state_o != sw_pkg::StateFlowing;
    is_closing_q <= state_o == sw_pkg::StateClosing;
  end

  session_rx u_rx (
    .clk_i(clk_i), .rst_i(rst_i), .enable_i(enable_i),
    .c_valid_i(c_valid_i), .c_data_i(c_data_i), .c_last_i(c_last_i), .c_meta_i(c_meta_i),
    .peer_i(peer_o), .stream_tag_i(stream_tag_o),
    .held_o(rx_held), .release_i(rx_release), .version_o(rx_version), .ptype_o(rx_ptype),
    .bytes_o(rx_bytes), .is_tag_zero_o(rx_is_tag_zero), .is_tag_ours_o(rx_is_tag_ours),
    .is_peer_ours_o(rx_is_peer_ours), .addr_i(rx_addr), .data_o(rx_data),
    .ev_dropped_o(ev_dropped_o)
  );

  cookie u_cookie (
    .clk_i(clk_i), .rst_i(rst_i), .start_i(mac_start), .is_key_o(mac_is_key), .key_i(key_data_i),
    .part_o(mac_part), .half_o(mac_half), .half_i(mac_block), .valid_o(mac_valid),
    .value_o(mac_value), .low_o(mac_low), .done_o(mac_done)
  );

  assign key_addr_o = mac_is_key ? sw_regs_pkg::OffSecret0[6:2] + 5'(mac_half)
                                 : sw_regs_pkg::OffBootLo[6:2] + 5'(mac_half[1]);

  listener u_listener (
    .clk_i(clk_i), .rst_i(rst_i), .tick_i(tick_q),
    .payload_bytes_i(payload_bytes_i), .tpl_words_i(tpl_words_i),
    .rx_held_i(rx_held), .rx_release_o(rx_release), .rx_version_i(rx_version),
    .rx_ptype_i(rx_ptype), .rx_bytes_i(rx_bytes), .rx_is_tag_zero_i(rx_is_tag_zero),
    .rx_is_tag_ours_i(rx_is_tag_ours), .rx_is_peer_ours_i(rx_is_peer_ours),
    .rx_addr_o(rx_addr), .rx_data_i(rx_data),
    .mac_start_o(mac_start), .mac_part_i(mac_part), .mac_half_i(mac_half), .boot_i(key_data_i),
    .mac_block_o(mac_block), .mac_valid_i(mac_valid), .mac_done_i(mac_done),
    .mac_value_i(mac_value),
    .ans_valid_o(ans_valid), .ans_done_i(ans_done), .ans_type_o(ans_type),
    .ans_is_unknown_o(ans_is_unknown),  .ans_bytes_o(ans_bytes),
    .ans_reason_o(ans_reason), .ans_is_retry_o(ans_is_retry),
    .ans_is_opening_o(ans_is_opening), .ans_addr_i(ans_addr),
    .ans_mac_start_i(ans_mac_start), .ans_mac_half_i(ans_mac_half), .ans_is_mac_i(ans_is_mac),
    .mark_hold_o(mark_hold), .build_idle_i(build_idle), .tx_busy_i(tx_busy_i),
    .state_i(state_o), .peer_o(peer_o), .peer_tag_o(peer_tag_o), .stream_tag_o(stream_tag_o),
    .window_o(window_o), .flush_o(flush_o), .open_o(open), .close_seq_o(close_seq_o),
    .close_ok_i(close_ok_i), .next_i(next_i), .peer_closed_o(peer_closed), .done_o(done),
    .unknown_o(unknown),
    .ev_opens_o(ev_opens_o), .ev_challenged_o(ev_challenged_o), .ev_accepted_o(ev_accepted_o),
    .ev_repeated_o(ev_repeated_o), .ev_refused_o(ev_refused_o), .ev_late_o(ev_late_o),
    .ev_takeover_o(ev_takeover_o), .ev_unknown_o(ev_unknown_o),
    .ev_unanswered_o(ev_unanswered_o), .ev_malformed_o(ev_malformed_o),
    .ev_unexpected_o(ev_unexpected_o), .ev_close_refused_o(ev_close_refused_o)
  );

  stream_state u_state (
    .clk_i(clk_i), .rst_i(rst_i), .tick_i(tick_q), .dead_ms_i(dead_ms_i), .rtt_i(rtt_i),
    .open_i(open), .close_i(close_i && !flush_o), .peer_closed_i(peer_closed), .done_i(done),
    .unknown_i(unknown), .trip_i(trip), .alive_i(alive_i && !flush_o),
    .taken_i(taken_i && !flush_o), .echo_i(echo_i), .hold_i(hold_i), .is_sent_i(is_all_sent),
    .is_released_i(is_released_i), .close_left_i(mark_left && is_close_due),
    .departure_i(ctl_departure_i), .state_o(state_o), .has_report_o(has_report),
    .ev_finished_o(ev_finished_o), .ev_closed_o(ev_closed_o), .ev_restarted_o(ev_restarted_o),
    .ev_silent_o(ev_silent_o), .ev_half_open_o(ev_half_open_o), .ev_breaker_o(ev_breaker_o)
  );

  breaker u_breaker (
    .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush_o), .tick_i(tick_q), .new_i(depart_new_i),
    .repeat_i(depart_repeat_i), .trip_o(trip)
  );

  mark_timer u_marks (
    .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush_o), .tick_i(tick_q), .now_i(time_ns_i[35:4]),
    .rtt_i(rtt_i), .idle_ms_i(idle_ms_i), .is_active_i(is_live),
    .is_waiting_i(is_waiting_q),
    .data_left_i(depart_new_i || depart_repeat_i),
    .restart_i(credit_came_i || (state_o == sw_pkg::StateClosing && !is_closing_q)),
    .left_i(mark_left), .due_o(mark_due)
  );

  ctl_build u_build (
    .clk_i(clk_i), .rst_i(rst_i),
    .ans_valid_i(ans_valid), .ans_done_o(ans_done), .ans_type_i(ans_type),
    .ans_is_unknown_i(ans_is_unknown), .ans_version_i(rx_version),
    .ans_bytes_i(ans_bytes), .ans_is_opening_i(ans_is_opening),
    .ans_reason_i(ans_reason), .ans_is_retry_i(ans_is_retry),
    .rx_addr_o(ans_addr), .rx_data_i(rx_data),
    .mark_valid_i(mark_due && is_live), .mark_is_close_i(is_close_due), .mark_hold_i(mark_hold),
    .mark_left_o(mark_left), .idle_o(build_idle), .close_reason_i(close_reason_i),
    .mac_start_o(ans_mac_start), .mac_half_o(ans_mac_half), .is_mac_o(ans_is_mac),
    .mac_low_i(mac_low), .mac_done_i(mac_done), .mac_value_i(mac_value),
    .stream_tag_i(stream_tag_o), .peer_tag_i(peer_tag_o), .now_i(time_ns_i[35:4]),
    .index_i(index_i),
    .lost_i(lost_i), .oldest_i(oldest_i), .sent_i(sent_i), .next_i(next_i),
    .has_report_i(has_report), .report_number_i(number_i),
    .report_departure_i(report_departure_i), .report_time_i(report_time_i),
    .ctl_want_o(ctl_want_o), .ctl_grant_i(ctl_grant_i), .ctl_departure_i(ctl_departure_i),
    .ctl_done_o(ctl_done_o), .ctl_valid_o(ctl_valid_o), .ctl_final_o(ctl_final_o),
    .ctl_ready_i(ctl_ready_i), .ctl_bytes_o(ctl_bytes_o), .ctl_template_o(ctl_template_o),
    .word_addr_i(word_addr_i), .word_data_o(word_data_o)
  );

endmodule

`default_nettype wire
