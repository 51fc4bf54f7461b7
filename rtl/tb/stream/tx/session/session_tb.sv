// session as the sender joins it, with stand-ins for what surrounds it: a clock that the test
// steers, tx_sched's grants, csr's registers and template.
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
  input  logic [63:0]  tai_index_i,
  input  logic [63:0]  tai_time_i,
  input  logic [63:0]  tai_period_i,
  input  logic [15:0]  tai_number_i,

  input  logic         c_valid_i,
  input  logic [63:0]  c_data_i,
  input  logic         c_last_i,
  input  logic         c_is_report_i,

  output logic [2:0]   state_o,
  output logic         opening_o,
  output logic [31:0]  stream_tag_o,
  output logic         stream_tag_valid_o,
  output logic [31:0]  peer_tag_o,
  output logic [95:0]  peer_o,
  output logic [31:0]  window_o,
  output logic         flush_o,
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
  output logic [31:0]  rtt_o,
  input  logic [3:0]   grant_wait_i,

  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic [63:0]  m_axis_tdata,
  output logic [7:0]   m_axis_tkeep,
  output logic         m_axis_tlast,

  output logic [22:0][15:0] events_o   // how often each came, modulo 2^16
);

  logic [63:0] time_q;
  logic [31:0] report_time_q;
  always_ff @(posedge clk_i) begin
    if (rst_i && time_q == '0) time_q <= 64'd1_000_000_000;
    else time_q <= time_q + 64'(step_ns_i) + jump_ns_i;
    if (taken_i) report_time_q <= time_q[35:4];
  end
  assign time_ns_o = time_q;

  logic        ctl_want, ctl_grant_q;
  logic [31:0] last_q;
  logic [3:0]  wait_q;
  always_ff @(posedge clk_i) begin
    wait_q      <= ctl_want && !ctl_grant_q ? wait_q + 4'd1 : 4'd0;
    ctl_grant_q <= 1'b0;
    if (ctl_want && !ctl_grant_q && wait_q >= grant_wait_i) begin
      ctl_grant_q <= 1'b1;
      last_q      <= wire_pkg::before32(last_q, time_q[35:4]) ? time_q[35:4] : last_q + 32'd1;
    end
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
      sw_regs_pkg::OffMacLo[6:2]:   key_data = self_i[79:48];
      sw_regs_pkg::OffMacHi[6:2]:   key_data = {16'd0, self_i[95:80]};
      sw_regs_pkg::OffIp[6:2]:      key_data = self_i[47:16];
      sw_regs_pkg::OffPort[6:2]:    key_data = {16'd0, self_i[15:0]};
      sw_regs_pkg::OffPayload[6:2]: key_data = {16'd0, payload_bytes_i};
      sw_regs_pkg::OffSilence[6:2]: key_data = {idle_ms_i, dead_ms_i};
      sw_regs_pkg::OffTemplateWords[6:2]: key_data = {25'd0, tpl_words_i};
      sw_regs_pkg::OffBootLo[6:2]:  key_data = boot_id_i[31:0];
      sw_regs_pkg::OffBootHi[6:2]:  key_data = boot_id_i[63:32];
      sw_regs_pkg::OffSecret0[6:2]: key_data = secret_i[31:0];
      sw_regs_pkg::OffSecret1[6:2]: key_data = secret_i[63:32];
      sw_regs_pkg::OffSecret2[6:2]: key_data = secret_i[95:64];
      sw_regs_pkg::OffSecret3[6:2]: key_data = secret_i[127:96];
      sw_regs_pkg::OffTaiIndexLo[6:2]:  key_data = tai_index_i[31:0];
      sw_regs_pkg::OffTaiIndexHi[6:2]:  key_data = tai_index_i[63:32];
      sw_regs_pkg::OffTaiTimeLo[6:2]:   key_data = tai_time_i[31:0];
      sw_regs_pkg::OffTaiTimeHi[6:2]:   key_data = tai_time_i[63:32];
      sw_regs_pkg::OffTaiPeriodLo[6:2]: key_data = tai_period_i[31:0];
      sw_regs_pkg::OffTaiPeriodHi[6:2]: key_data = tai_period_i[63:32];
      sw_regs_pkg::OffTaiNumber[6:2]:   key_data = {16'd0, tai_number_i};
      default:                      key_data = 32'hDEAD_BEEF;
    endcase
  end

  logic [21:0] session_events;
  logic [22:0] event_bits;
  logic        dropped;
  wire_pkg::state_e state;
  net_pkg::peer_t peer;

  assign state_o    = state;
  assign peer_o     = peer;
  assign event_bits = {dropped, session_events};

  session u_session (
    .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_q), .enable_i(enable_i), .key_addr_o(key_addr),
    .key_data_i(key_data), .tpl_addr_o(tpl_addr), .tpl_data_i(tpl_data_q),
    .c_valid_i(c_valid_i), .c_data_i(c_data_i), .c_last_i(c_last_i),
    .c_is_report_i(c_is_report_i),
    .state_o(state), .opening_o(opening_o), .stream_tag_o(stream_tag_o),
    .stream_tag_valid_o(stream_tag_valid_o),
    .peer_tag_o(peer_tag_o), .peer_o(peer), .window_o(window_o), .rtt_o(rtt_o),
    .flush_o(flush_o), .run_o(run_o), .stop_o(stop_o), .close_i(close_i),
    .close_reason_i(close_reason_i),
    .busy_i(busy_i), .index_i(index_i), .lost_i(lost_i), .oldest_i(oldest_i), .sent_i(sent_i),
    .next_i(next_i), .is_released_i(oldest_i == next_i), .is_sent_i(sent_i == next_i),
    .credit_came_i(credit_came_i), .depart_new_i(depart_new_i),
    .depart_repeat_i(depart_repeat_i), .hold_o(hold_o), .tx_busy_i(tx_busy_i),
    .taken_i(taken_i), .alive_i(alive_i), .report_time_i(report_time_q),
    .ctl_want_o(ctl_want), .ctl_grant_i(ctl_grant_q), .ctl_departure_i(last_q),
    .ctl_done_o(),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tdata(m_axis_tdata),
    .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast),
    .event_o(session_events), .ev_dropped_o(dropped)
  );

  for (genvar i = 0; i < 23; i++) begin : g_events
    always_ff @(posedge clk_i) events_o[i] <= rst_i ? 16'd0 : events_o[i] + 16'(event_bits[i]);
  end

endmodule

`default_nettype wire
