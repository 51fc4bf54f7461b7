// session, rtt and ctl_tx as the sender joins them, with stand-ins for what surrounds them: a
// clock that the test steers, tx_sched's grants, window's verdict on a CLOSE, csr's template.
`default_nettype none

module session_tb (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [31:0]  step_ns_i,      // of time a cycle
  input  logic [63:0]  jump_ns_i,      // besides
  output logic [63:0]  time_ns_o,

  input  logic         enable_i,
  input  logic [127:0] secret_i,
  input  logic [63:0]  boot_id_i,
  input  logic [15:0]  payload_bytes_i,
  input  logic [15:0]  dead_ms_i,
  input  logic [15:0]  idle_ms_i,
  input  logic [6:0]   tpl_words_i,
  input  logic         tpl_we_i,
  input  logic [5:0]   tpl_waddr_i,
  input  logic [63:0]  tpl_wdata_i,
  input  logic [95:0]  self_i,

  input  logic         c_valid_i,
  output logic         c_ready_o,
  input  logic [63:0]  c_data_i,
  input  logic         c_last_i,
  input  logic [1:0]   c_cls_i,
  input  logic [95:0]  c_peer_i,
  input  logic [15:0]  c_bytes_i,
  input  logic [3:0]   c_ptype_i,
  input  logic [31:0]  c_tag_i,
  input  logic         c_other_version_i,

  output logic [2:0]   state_o,
  output logic [31:0]  stream_tag_o,
  output logic         stream_tag_valid_o,
  output logic [31:0]  peer_tag_o,
  output logic [95:0]  peer_o,
  output logic [31:0]  window_o,
  output logic         flush_o,
  output logic [31:0]  first_seq_o,
  output logic         run_o,
  output logic         stop_o,
  input  logic         close_i,
  input  logic [1:0]   close_reason_i,

  input  logic         busy_i,
  input  logic [63:0]  index_i,
  input  logic [63:0]  lost_i,
  input  logic [31:0]  oldest_i,
  input  logic [31:0]  sent_i,
  input  logic [31:0]  next_i,
  input  logic         credit_came_i,
  input  logic         depart_new_i,
  input  logic         depart_repeat_i,
  output logic         hold_o,
  input  logic         tx_busy_i,
  input  logic         taken_i,
  input  logic         alive_i,
  input  logic [31:0]  number_i,
  input  logic [31:0]  echo_i,
  input  logic [31:0]  hold_i,
  input  logic [31:0]  report_departure_i,
  output logic [31:0]  rtt_o,
  input  logic [3:0]   grant_wait_i,

  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic [63:0]  m_axis_tdata,
  output logic [7:0]   m_axis_tkeep,
  output logic         m_axis_tlast,

  output logic [19:0][15:0] events_o   // how often each came, modulo 2^16
);

  logic [63:0] time_q;
  logic [31:0] report_time_q;
  always_ff @(posedge clk_i) begin
    if (rst_i && time_q == '0) time_q <= 64'd1_000_000_000;
    else time_q <= time_q + 64'(step_ns_i) + jump_ns_i;
    if (taken_i) report_time_q <= time_q[35:4];
  end
  assign time_ns_o = time_q;

  sw_pkg::rx_meta_t meta;
  always_comb begin
    meta               = '0;
    meta.cls           = sw_pkg::class_e'(c_cls_i);
    meta.peer          = c_peer_i;
    meta.udp_bytes     = c_bytes_i;
    meta.ptype         = c_ptype_i;
    meta.tag           = c_tag_i;
    meta.other_version = c_other_version_i;
  end

  logic        ctl_want, ctl_grant_q, ctl_done;
  logic [31:0] last_q;
  logic [3:0]  wait_q;
  always_ff @(posedge clk_i) begin
    wait_q <= ctl_want && !ctl_grant_q ? wait_q + 4'd1 : 4'd0;
    if (ctl_want && !ctl_grant_q && wait_q >= grant_wait_i) begin
      ctl_grant_q <= 1'b1;
      last_q      <= sw_pkg::before32(last_q, time_q[35:4]) ? time_q[35:4] : last_q + 32'd1;
    end
    if (ctl_done || rst_i) ctl_grant_q <= 1'b0;
    if (rst_i) last_q <= time_q[35:4];
  end

  logic [63:0] tpl_q[64];
  logic [63:0] tpl_data_q;
  logic [5:0]  tpl_addr;
  always_ff @(posedge clk_i) begin
    if (tpl_we_i) tpl_q[tpl_waddr_i] <= tpl_wdata_i;
    tpl_data_q <= tpl_q[tpl_addr];
  end

  logic [4:0]  key_addr;
  logic [31:0] key_data;
  always_comb begin
    unique case (key_addr)
      sw_regs_pkg::OffBootLo[6:2]:  key_data = boot_id_i[31:0];
      sw_regs_pkg::OffBootHi[6:2]:  key_data = boot_id_i[63:32];
      sw_regs_pkg::OffSecret0[6:2]: key_data = secret_i[31:0];
      sw_regs_pkg::OffSecret1[6:2]: key_data = secret_i[63:32];
      sw_regs_pkg::OffSecret2[6:2]: key_data = secret_i[95:64];
      sw_regs_pkg::OffSecret3[6:2]: key_data = secret_i[127:96];
      default:                      key_data = 32'hDEAD_BEEF;
    endcase
  end

  logic        ctl_valid, ctl_final, ctl_ready, ctl_template;
  logic [15:0] ctl_bytes;
  logic [3:0]  word_addr;
  logic [63:0] word_data;
  logic [31:0] close_seq;
  logic [19:0] event_bits;
  sw_pkg::state_e state;
  sw_pkg::peer_t  peer;

  assign state_o = state;
  assign peer_o  = peer;

  session u_session (
    .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_q), .enable_i(enable_i), .key_addr_o(key_addr),
    .key_data_i(key_data), .payload_bytes_i(payload_bytes_i), .dead_ms_i(dead_ms_i),
    .idle_ms_i(idle_ms_i), .tpl_words_i(tpl_words_i),
    .c_valid_i(c_valid_i), .c_ready_o(c_ready_o), .c_data_i(c_data_i), .c_last_i(c_last_i),
    .c_meta_i(meta),
    .state_o(state), .stream_tag_o(stream_tag_o), .stream_tag_valid_o(stream_tag_valid_o),
    .peer_tag_o(peer_tag_o), .peer_o(peer), .window_o(window_o), .flush_o(flush_o),
    .first_seq_o(first_seq_o), .run_o(run_o), .stop_o(stop_o), .close_i(close_i),
    .close_reason_i(close_reason_i),
    .busy_i(busy_i), .index_i(index_i), .lost_i(lost_i), .oldest_i(oldest_i), .sent_i(sent_i),
    .next_i(next_i), .is_released_i(oldest_i == next_i), .is_sent_i(sent_i == next_i),
    .credit_came_i(credit_came_i), .close_seq_o(close_seq),
    .close_ok_i(close_seq - oldest_i <= sent_i - oldest_i), .depart_new_i(depart_new_i),
    .depart_repeat_i(depart_repeat_i), .hold_o(hold_o), .tx_busy_i(tx_busy_i),
    .taken_i(taken_i), .alive_i(alive_i), .number_i(number_i), .echo_i(echo_i),
    .hold_i(hold_i), .report_departure_i(report_departure_i), .report_time_i(report_time_q),
    .rtt_i(rtt_o),
    .ctl_want_o(ctl_want), .ctl_grant_i(ctl_grant_q), .ctl_departure_i(last_q),
    .ctl_done_o(ctl_done),
    .ctl_valid_o(ctl_valid), .ctl_final_o(ctl_final), .ctl_ready_i(ctl_ready),
    .ctl_bytes_o(ctl_bytes),
    .ctl_template_o(ctl_template), .word_addr_i(word_addr), .word_data_o(word_data),
    .ev_opens_o(event_bits[0]), .ev_challenged_o(event_bits[1]), .ev_accepted_o(event_bits[2]),
    .ev_repeated_o(event_bits[3]), .ev_refused_o(event_bits[4]), .ev_late_o(event_bits[5]),
    .ev_takeover_o(event_bits[6]), .ev_unknown_o(event_bits[7]),
    .ev_unanswered_o(event_bits[8]), .ev_malformed_o(event_bits[9]),
    .ev_unexpected_o(event_bits[10]), .ev_close_refused_o(event_bits[11]),
    .ev_dropped_o(event_bits[12]), .ev_mark_o(event_bits[13]), .ev_finished_o(event_bits[14]),
    .ev_closed_o(event_bits[15]), .ev_restarted_o(event_bits[16]),
    .ev_silent_o(event_bits[17]), .ev_half_open_o(event_bits[18]),
    .ev_breaker_o(event_bits[19])
  );

  for (genvar i = 0; i < 20; i++) begin : g_events
    always_ff @(posedge clk_i) events_o[i] <= rst_i ? 16'd0 : events_o[i] + 16'(event_bits[i]);
  end

  rtt u_rtt (
    .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush_o), .now_i(time_q[35:4]), .taken_i(taken_i),
    .echo_i(echo_i), .hold_i(hold_i), .rtt_o(rtt_o)
  );

  ctl_tx u_ctl_tx (
    .clk_i(clk_i), .rst_i(rst_i), .self_i(self_i), .ctl_valid_i(ctl_valid),
    .ctl_final_i(ctl_final), .ctl_ready_o(ctl_ready), .ctl_bytes_i(ctl_bytes),
    .ctl_template_i(ctl_template),
    .word_addr_o(word_addr), .word_data_i(word_data), .tpl_addr_o(tpl_addr),
    .tpl_data_i(tpl_data_q), .tpl_words_i(tpl_words_i), .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep),
    .m_axis_tlast(m_axis_tlast)
  );

endmodule

`default_nettype wire
