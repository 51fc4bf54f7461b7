// The sender: samples in, Ethernet frames out, feedback in. One stream, one clock.
//
// Throughput: a beat of samples a clock; frames back to back but for the idle cycles that frame_tx
// states. Latency: last sample of a packet to the first beat of its header, ring empty and pacer
// free: the packetizer's, the scheduler's and frame_tx's, together at most 32 cycles (measured by
// the bench, `make rtl`). Back-pressure: none towards a converter; what finds no slot is lost,
// counted and named by its index. The MAC's side takes frames as it likes and never sees a gap
// inside one; received frames are taken in every cycle.
//
// DATA leaves at the rate that congestion control and the configured pace allow (rate_control).
// Does not: cross clocks (rfdc_adapter, mac_fifo), hold the ring in DRAM, receive DATA.
`default_nettype none

module samplewire_sender #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 256,
    parameter int unsigned SlotBytes = 8192,
    parameter int unsigned RdLatency = 2,
    parameter              RingStyle = "block",
    parameter int unsigned NackDepth = 128,
    parameter int unsigned Channels  = 1,
    parameter bit          Nic       = 1'b0  // received frames of others are shown
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    // Samples.
    input  wire logic         s_valid,
    output logic              s_ready,
    input  wire logic [W-1:0] s_data,
    input  wire logic [ 63:0] s_index,
    input  wire logic [  7:0] s_count,
    input  wire logic         s_start,
    input  wire logic         s_overflow,
    input  wire logic         s_last,
    input  wire logic         s_whole,
    output logic              ring_tight_o,  // a source that can wait had better

    // Frames to the MAC.
    output logic [  W-1:0] m_axis_tdata,
    output logic [W/8-1:0] m_axis_tkeep,
    output logic           m_axis_tvalid,
    input  wire logic      m_axis_tready,
    output logic           m_axis_tlast,

    // Frames from the MAC: no ready; tuser with the last beat = bad.
    input wire logic [  W-1:0] s_axis_tdata,
    input wire logic [W/8-1:0] s_axis_tkeep,
    input wire logic           s_axis_tvalid,
    input wire logic           s_axis_tlast,
    input wire logic           s_axis_tuser,

    // With Nic: received frames for none of the sender's parts. As they come, without ready; tuser with
    // the last beat = one of ours, or a bad one.
    output logic [  W-1:0] m_axis_other_tdata,
    output logic [W/8-1:0] m_axis_other_tkeep,
    output logic           m_axis_other_tvalid,
    output logic           m_axis_other_tlast,
    output logic           m_axis_other_tuser,

    // Registers.
    input  wire logic [10:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output logic             s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output logic             s_axil_wready,
    output logic      [ 1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [10:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready,

    // What the registers say to, and hear from, source and MAC FIFO.
    output sw_regs_pkg::cfg_t cfg_o,
    output sw_regs_pkg::cmd_t cmd_o,
    input  wire logic         gate_armed_i,
    input  wire logic         sync_armed_i,
    input  wire logic [ 7:0]  sync_count_i,
    input  wire logic [63:0]  sync_index_i,
    input  wire logic [63:0]  sync_time_i,
    input  wire logic         mac_rx_bad_i,
    input  wire logic         mac_tx_dropped_i,
    input  wire logic         mac_rx_dropped_i
);

  localparam int unsigned Beats     = Slots * SlotBytes / (W / 8);
  localparam int unsigned SlotBeats = SlotBytes / (W / 8);
  localparam int unsigned Aw        = $clog2(Beats);
  localparam int unsigned Sw        = $clog2(Slots);

  if (W != 64 && W != 512) begin : g_width
    $error("samplewire_sender: W is 64 or 512");
  end
  if (Slots < 16 || Slots != 1 << Sw || SlotBytes != 1 << $clog2(SlotBytes)) begin : g_slots
    $error("samplewire_sender: Slots (16 or more) and SlotBytes are powers of two");
  end

  sw_regs_pkg::cfg_t    cfg;
  sw_regs_pkg::cmd_t    cmd;
  sw_regs_pkg::status_t status;
  sw_regs_pkg::event_t  events;
  net_pkg::peer_t       self, peer;

  assign cfg_o     = cfg;
  assign cmd_o     = cmd;
  assign self.mac  = cfg.mac;
  assign self.ip   = cfg.ip;
  assign self.port = cfg.port;

  // ------------------------------------------------------------------ the stream's state
  wire_pkg::state_e state;
  logic           opening, flush, run, stop, busy;
  logic [31:0]    stream_tag, peer_tag, peer_window;
  logic           stream_tag_valid;
  logic [31:0]    oldest, sent, next, limit, rtt;
  logic           has_new, is_released, is_sent, credit_came, commit;
  logic           depart_new, depart_repeat, hold;
  logic [63:0]    final_index, lost;

  // ------------------------------------------------------------------ samples to slots
  logic           ring_we, slot_we;
  logic [Aw-1:0]  ring_waddr;
  logic [W-1:0]   ring_wdata;
  logic [Sw-1:0]  slot_waddr;
  send_pkg::slot_t slot_wdata;
  logic [31:0]    lost_count;
  logic [Sw-1:0]  claimed;  // the slot that the next packet will fill

  packetizer #(.W(W), .Slots(Slots), .SlotBytes(SlotBytes)) u_packetizer (
      .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush), .run_i(run), .stop_i(stop),
      .payload_bytes_i(cfg.payload_bytes), .oldest_i(oldest[Sw:0]), .next_i(next[Sw:0]),
      .hold_i(hold), .slot_o(claimed),
      .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data), .s_index(s_index),
      .s_count(s_count), .s_start(s_start), .s_overflow(s_overflow), .s_last(s_last),
      .s_whole(s_whole),
      .ring_we_o(ring_we), .ring_waddr_o(ring_waddr), .ring_wdata_o(ring_wdata),
      .slot_we_o(slot_we), .slot_waddr_o(slot_waddr), .slot_wdata_o(slot_wdata),
      .commit_o(commit), .busy_o(busy), .index_o(final_index), .lost_o(lost),
      .ev_overflow_o(events.overflows), .ev_lost_count_o(lost_count)
  );

  logic          rd_valid, rd_ready, rd_reply;
  logic [Aw-1:0] rd_addr;
  logic [W-1:0]  rd_data;
  logic          rd_tag_unused;

  ring #(.W(W), .Beats(Beats), .RdLatency(RdLatency), .TagW(1), .Style(RingStyle)) u_ring (
      .clk_i(clk_i), .rst_i(rst_i),
      .we_i(ring_we), .waddr_i(ring_waddr), .wdata_i(ring_wdata),
      .rd_valid_i(rd_valid), .rd_ready_o(rd_ready), .rd_addr_i(rd_addr), .rd_tag_i(1'b0),
      .rd_valid_o(rd_reply), .rd_data_o(rd_data), .rd_tag_o(rd_tag_unused)
  );

  logic [Sw-1:0] slot_addr, dep_waddr, dep_raddr;
  send_pkg::slot_t slot_data;
  logic          dep_we;
  logic [31:0]   dep_wdata, dep_rdata;

  slot_table #(.Slots(Slots)) u_slots (
      .clk_i(clk_i), .rst_i(rst_i),
      .we_i(slot_we), .waddr_i(slot_waddr), .wdata_i(slot_wdata),
      .rd_addr_i(slot_addr), .rd_data_o(slot_data),
      .dep_we_i(dep_we), .dep_waddr_i(dep_waddr), .dep_wdata_i(dep_wdata),
      .dep_rd_addr_i(dep_raddr), .dep_rd_data_o(dep_rdata)
  );

  // ------------------------------------------------------------------ window and repairs
  logic           rep_step, rep_is_newer, rep_has_ranges, rep_valid, rep_ok, rng_is_near;
  send_pkg::check_e rep_check;
  logic [31:0]    rep_hi, rep_lo, last_departure;

  window #(.Slots(Slots), .SeqWidth(32)) u_window (
      .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush),
      .commit_i(commit), .depart_new_i(depart_new),
      .rep_step_i(rep_step), .rep_check_i(rep_check), .rep_hi_i(rep_hi), .rep_lo_i(rep_lo),
      .rep_is_newer_i(rep_is_newer), .rep_has_ranges_i(rep_has_ranges),
      .last_departure_i(last_departure), .rep_valid_i(rep_valid), .rep_ok_o(rep_ok),
      .rep_is_near_o(rng_is_near),
      .oldest_o(oldest), .sent_o(sent), .next_o(next), .limit_o(limit), .full_o(),
      .has_new_o(has_new), .is_released_o(is_released), .is_sent_o(is_sent),
      .credit_came_o(credit_came)
  );

  // As long as a packet may be under way between the packetizer and the window. A full ring is
  // Slots packets, one bit more than a slot's number.
  logic [Sw:0] ring_fill;
  assign ring_fill    = next[Sw:0] - oldest[Sw:0];
  assign ring_tight_o = ring_fill >= (Sw + 1)'(Slots - 8);

  logic        rng_valid, rng_ready;
  logic [31:0] rng_first, rng_count, rng_settled;
  logic        cand_valid, cand_ready;
  logic [31:0] cand_seq;

  nack_walker #(.SeqWidth(32), .Depth(NackDepth), .Slots(Slots)) u_walker (
      .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush),
      .rng_valid_i(rng_valid), .rng_ready_o(rng_ready), .rng_first_i(rng_first[Sw+1:0]),
      .rng_is_near_i(rng_is_near),
      .rng_count_i(rng_count), .rng_to_next_i(1'b0), .rng_settled_i(rng_settled),
      .oldest_i(oldest), .sent_i(sent), .dep_rd_addr_o(dep_raddr), .dep_rd_data_i(dep_rdata),
      .cand_valid_o(cand_valid), .cand_seq_o(cand_seq), .cand_ready_i(cand_ready),
      .ev_refused_o(events.requests_refused), .ev_skipped_o(events.requests_skipped)
  );

  // ------------------------------------------------------------------ departure
  logic         charge, pacer_ok, ctl_want, ctl_grant, ctl_done, ctl_busy, ctl_shown, ctl_hold;
  logic         job_valid, job_ready, tx_busy, fetch_busy, is_held;
  logic [15:0]  charge_bytes;
  logic [31:0]  ctl_departure;
  send_pkg::job_t job;

  logic        marked;
  logic [44:0] event_time;

  send_pkg::rate_cfg_t rate_cfg;
  assign rate_cfg = {
    cfg.rate_mode, cfg.gain_shift, cfg.recovery_stages, cfg.alpha_period_ns, cfg.rise_period_ns,
    cfg.cut_interval_ns, cfg.rise_bytes, cfg.rate_additive, cfg.rate_hyper, cfg.rate_minimum,
    cfg.rate_start, cfg.rate_first_cut, cfg.rate_line, cfg.pace_rate, cfg.pace_burst_ns
  };

  rate_control u_rate (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i), .cfg_i(rate_cfg),
      .opening_i(opening), .opening_flow_i(1'b0), .opening_busy_o(),
      .ev_marked_i(marked), .marked_flow_i(1'b0), .rtt_i(rtt),
      .charge_i(charge), .charge_flow_i(1'b0), .charge_bytes_i(charge_bytes),
      .look_flow_i(1'b0), .ok_o(pacer_ok), .wait_i(1'b0), .wake_valid_o(), .wake_ready_i(1'b0),
      .wake_flow_o(), .ev_cut_o(events.cuts), .select_i(1'b0), .rate_o(status.rate),
      .target_o(status.rate_target), .alpha_o(status.alpha), .event_count_o(status.event_count),
      .event_index_i(cfg.event_index), .event_time_ns_o(event_time),
      .event_cause_o(status.event_cause), .event_rate_o(status.event_rate), .event_flow_o()
  );

  assign {status.event_time_hi, status.event_time_lo} = event_time;

  tx_sched #(.Slots(Slots), .SlotBytes(SlotBytes)) u_sched (
      .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush), .time_ns_i(time_ns_i),
      .state_i(is_held ? wire_pkg::StateIdle : state),
      .stream_tag_i(peer_tag), .window_i(peer_window), .rtt_i(rtt),
      .has_new_i(has_new), .sent_i(sent), .next_i(32'(claimed)),
      .depart_new_o(depart_new), .depart_repeat_o(depart_repeat), .hold_o(hold),
      .cand_valid_i(cand_valid), .cand_seq_i(cand_seq), .cand_ready_o(cand_ready),
      .slot_addr_o(slot_addr), .slot_data_i(slot_data),
      .dep_we_o(dep_we), .dep_waddr_o(dep_waddr), .dep_wdata_o(dep_wdata),
      .pacer_ok_i(pacer_ok), .charge_o(charge), .charge_bytes_o(charge_bytes),
      .ctl_want_i(ctl_want), .ctl_grant_o(ctl_grant), .ctl_departure_o(ctl_departure),
      .ctl_done_i(ctl_done), .ctl_busy_i(ctl_busy), .ctl_shown_i(ctl_shown),
      .ctl_hold_o(ctl_hold),
      .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job),
      .fetch_busy_i(fetch_busy), .last_departure_o(last_departure),
      .ev_budget_o(events.budget_stalls)
  );

  logic [W-1:0]   d_tdata;
  logic [W/8-1:0] d_tkeep;
  logic           d_tvalid, d_tready, d_tlast;

  frame_tx #(.W(W), .RdLatency(RdLatency), .Aw(Aw)) u_frame_tx (
      .clk_i(clk_i), .rst_i(rst_i), .self_i(self), .peer_i(peer),
      .job_valid_i(job_valid), .job_ready_o(job_ready), .job_i(job),
      .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_addr_o(rd_addr),
      .rd_valid_i(rd_reply), .rd_data_i(rd_data),
      .m_axis_tdata(d_tdata), .m_axis_tkeep(d_tkeep), .m_axis_tvalid(d_tvalid),
      .m_axis_tready(d_tready), .m_axis_tlast(d_tlast),
      .busy_o(tx_busy), .fetch_busy_o(fetch_busy)
  );

  // ------------------------------------------------------------------ what is received
  logic             c_valid, c_ready, c_last, report_ready;
  logic [63:0]      c_data;
  net_pkg::rx_meta_t c_meta;
  logic             bad_rx, form_rx, no_room_rx, form_session, no_room_session;

  logic [W-1:0]     u_tdata;
  logic [W/8-1:0]   u_tkeep;
  logic             u_tvalid, u_tlast, u_tuser;
  assign m_axis_other_tdata  = Nic ? u_tdata : '0;
  assign m_axis_other_tkeep  = Nic ? u_tkeep : '0;
  assign m_axis_other_tvalid = Nic && u_tvalid;
  assign m_axis_other_tlast  = Nic && u_tlast;
  assign m_axis_other_tuser  = Nic && u_tuser;

  frame_rx #(.W(W)) u_frame_rx (
      .clk_i(clk_i), .rst_i(rst_i), .self_i(self), .stream_tag_i(stream_tag),
      .stream_tag_valid_i(stream_tag_valid),
      .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tlast(s_axis_tlast), .s_axis_tuser(s_axis_tuser),
      .c_valid_o(c_valid), .c_ready_i(c_ready), .c_data_o(c_data), .c_last_o(c_last),
      .c_meta_o(c_meta),
      .u_axis_tdata(u_tdata), .u_axis_tkeep(u_tkeep), .u_axis_tvalid(u_tvalid),
      .u_axis_tlast(u_tlast), .u_axis_tuser(u_tuser),
      .ev_frames_o(events.frames_received), .ev_bad_o(bad_rx),
      .ev_runt_o(events.frames_runt), .ev_oversize_o(events.frames_oversize),
      .ev_not_ours_o(events.frames_foreign), .ev_fragment_o(events.fragments),
      .ev_ip_sum_o(events.ip_checksum), .ev_udp_sum_o(events.udp_checksum),
      .ev_length_o(events.lengths), .ev_crc_o(events.corrupted), .ev_form_o(form_rx),
      .ev_no_room_o(no_room_rx)
  );

  logic is_report;
  assign is_report = c_meta.cls == net_pkg::ClassReport;
  assign c_ready   = report_ready || !is_report;

  logic        taken, alive;
  logic [31:0] number, report_time;

  report_rx u_report_rx (
      .clk_i(clk_i), .rst_i(rst_i), .flush_i(flush), .time_ns_i(time_ns_i),
      .stream_tag_i(stream_tag), .stream_tag_valid_i(stream_tag_valid),
      .c_valid_i(c_valid && is_report), .c_ready_o(report_ready), .c_data_i(c_data),
      .c_last_i(c_last), .c_meta_i(c_meta),
      .rep_step_o(rep_step), .rep_check_o(rep_check), .rep_hi_o(rep_hi), .rep_lo_o(rep_lo),
      .rep_is_newer_o(rep_is_newer), .rep_has_ranges_o(rep_has_ranges),
      .rep_valid_o(rep_valid), .rep_ok_i(rep_ok),
      .rng_valid_o(rng_valid), .rng_ready_i(rng_ready), .rng_first_o(rng_first),
      .rng_count_o(rng_count), .rng_to_next_o(), .rng_settled_o(rng_settled),
      .taken_o(taken), .alive_o(alive), .reported_o(), .number_o(number),
      .report_time_o(report_time),
      .ev_refused_o(events.reports_refused), .ev_marked_o(marked)
  );

  // ------------------------------------------------------------------ the session
  logic [4:0]  key_addr;
  logic [31:0] key_data;
  logic [63:0] k_tdata, tpl_data;
  logic [7:0]  k_tkeep;
  logic        k_tvalid, k_tready, k_tlast;
  logic [5:0]  tpl_addr;
  logic [21:0] session_events;

  session u_session (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .enable_i(cfg.enable), .key_addr_o(key_addr), .key_data_i(key_data),
      .tpl_addr_o(tpl_addr), .tpl_data_i(tpl_data),
      .c_valid_i(c_valid && c_ready), .c_data_i(c_data), .c_last_i(c_last),
      .c_is_report_i(is_report),
      .state_o(state), .opening_o(opening), .stream_tag_o(stream_tag),
      .stream_tag_valid_o(stream_tag_valid),
      .peer_tag_o(peer_tag), .peer_o(peer), .window_o(peer_window), .rtt_o(rtt),
      .flush_o(flush), .run_o(run), .stop_o(stop),
      .close_i(cmd.close), .close_reason_i(2'd0),
      .busy_i(busy), .index_i(final_index), .lost_i(lost), .oldest_i(oldest), .sent_i(sent),
      .next_i(next), .is_released_i(is_released), .is_sent_i(is_sent),
      .credit_came_i(credit_came),
      .depart_new_i(depart_new), .depart_repeat_i(depart_repeat), .hold_o(is_held),
      .tx_busy_i(tx_busy || job_valid),
      .taken_i(taken), .alive_i(alive), .report_time_i(report_time),
      .ctl_want_o(ctl_want), .ctl_grant_i(ctl_grant), .ctl_departure_i(ctl_departure),
      .ctl_done_o(ctl_done),
      .m_axis_tvalid(k_tvalid), .m_axis_tready(k_tready), .m_axis_tdata(k_tdata),
      .m_axis_tkeep(k_tkeep), .m_axis_tlast(k_tlast),
      .event_o(session_events), .ev_dropped_o(no_room_session)
  );

  assign events.opens              = session_events[ctl_sender_pkg::EventOpens];
  assign events.challenged         = session_events[ctl_sender_pkg::EventChallenged];
  assign events.accepted           = session_events[ctl_sender_pkg::EventAccepted];
  assign events.refused            = session_events[ctl_sender_pkg::EventRefused];
  assign events.takeovers          = session_events[ctl_sender_pkg::EventTakeover];
  assign events.unknown            = session_events[ctl_sender_pkg::EventUnknown] ||
                                     session_events[ctl_sender_pkg::EventUnanswered];
  assign events.marks              = session_events[ctl_sender_pkg::EventMark];
  assign events.control_frames     = session_events[ctl_sender_pkg::EventControl];
  assign events.ended_finished     = session_events[ctl_sender_pkg::EventFinished];
  assign events.ended_by_peer      = session_events[ctl_sender_pkg::EventClosed];
  assign events.ended_silent       = session_events[ctl_sender_pkg::EventSilent];
  assign events.ended_half_open    = session_events[ctl_sender_pkg::EventHalfOpen];
  assign events.ended_broken       = session_events[ctl_sender_pkg::EventBreaker];
  assign events.arp_replies        = session_events[ctl_sender_pkg::EventArp];
  assign events.icmp_replies       = session_events[ctl_sender_pkg::EventIcmp];
  assign events.replies_suppressed = session_events[ctl_sender_pkg::EventSuppressed];
  assign form_session              = session_events[ctl_sender_pkg::EventMalformed];

  // ------------------------------------------------------------------ one wire
  tx_mux #(.W(W)) u_tx_mux (
      .clk_i(clk_i), .rst_i(rst_i),
      .s0_hold_i(ctl_hold), .s0_busy_o(ctl_busy), .s0_shown_o(ctl_shown),
      .s1_chosen_i(job_valid && job_ready),
      .s0_axis_tdata(k_tdata), .s0_axis_tkeep(k_tkeep), .s0_axis_tvalid(k_tvalid),
      .s0_axis_tready(k_tready), .s0_axis_tlast(k_tlast),
      .s1_axis_tdata(d_tdata), .s1_axis_tkeep(d_tkeep), .s1_axis_tvalid(d_tvalid),
      .s1_axis_tready(d_tready), .s1_axis_tlast(d_tlast),
      .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast)
  );

  // ------------------------------------------------------------------ registers and counters
  logic write_refused;
  assign events.packets         = depart_new;
  assign events.retransmissions = depart_repeat;
  assign events.reports         = taken;
  assign events.congestion      = marked;

  // Two events of one name may come in one cycle: the second is counted in the next that has none.
  // The session's are many cycles apart, so one is owed at most.
  logic [2:0] first, second, owed_q;
  assign first  = {bad_rx, form_rx, no_room_rx};
  assign second = {mac_rx_bad_i, form_session, no_room_session};
  assign {events.frames_bad, events.malformed, events.no_room} = first | second | owed_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) owed_q <= '0;
    else owed_q <= (first & second) | (owed_q & (first | second));
  end
  assign events.mac_tx_dropped  = mac_tx_dropped_i;
  assign events.mac_rx_dropped  = mac_rx_dropped_i;
  assign events.writes_refused  = write_refused;

  logic [15:0] ring_fill_q;
  always_ff @(posedge clk_i) ring_fill_q <= 16'(ring_fill);

  assign status.state            = state;
  assign status.stream_tag_valid = stream_tag_valid;
  assign status.gate_armed       = gate_armed_i;
  assign status.sync_armed       = sync_armed_i;
  assign status.sync_count       = sync_count_i;
  assign status.stream_tag       = stream_tag;
  assign status.peer_ip          = peer.ip;
  assign status.peer_port        = peer.port;
  assign status.ring_fill        = ring_fill_q;
  assign status.oldest           = oldest;
  assign status.sent             = sent;
  assign status.next             = next;
  assign status.limit            = limit;
  assign status.rtt              = rtt;
  assign status.report_number    = number;

  logic        wr_valid, wr_whole, wr_done, wr_error, rd_ask, rd_done, rd_error;
  logic [10:0] wr_addr, reg_addr;
  logic [31:0] wr_data, reg_data;

  axil_decode #(.Blocks(1), .BlockBits(11), .AddrBits(11)) u_axil_decode (
      .clk_i(clk_i), .rst_i(rst_i),
      .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr), .s_axil_arprot(s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
      .wr_valid_o(wr_valid), .wr_addr_o(wr_addr), .wr_data_o(wr_data), .wr_whole_o(wr_whole),
      .wr_done_i(wr_done), .wr_error_i(wr_error), .rd_valid_o(rd_ask), .rd_addr_o(reg_addr),
      .rd_done_i(rd_done), .rd_error_i(rd_error), .rd_data_i(reg_data)
  );

  csr #(
      .W(W), .Slots(Slots), .SlotBytes(SlotBytes), .NackDepth(NackDepth), .Channels(Channels)
  ) u_csr (
      .clk_i(clk_i), .rst_i(rst_i),
      .wr_valid_i(wr_valid), .wr_addr_i(wr_addr), .wr_data_i(wr_data), .wr_whole_i(wr_whole),
      .wr_done_o(wr_done), .wr_error_o(wr_error), .rd_valid_i(rd_ask), .rd_addr_i(reg_addr),
      .rd_done_o(rd_done), .rd_error_o(rd_error), .rd_data_o(reg_data),
      .key_addr_i(key_addr), .key_data_o(key_data), .cfg_o(cfg), .cmd_o(cmd),
      .ev_refused_o(write_refused), .status_i(status), .event_i(events),
      .samples_lost_i(lost_count), .time_ns_i(time_ns_i),
      .sync_index_i(sync_index_i), .sync_time_i(sync_time_i),
      .tpl_addr_i(tpl_addr), .tpl_data_o(tpl_data)
  );

endmodule

`default_nettype wire
