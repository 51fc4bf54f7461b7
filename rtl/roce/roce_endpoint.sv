// One end of reliable connections of RoCEv2, one a queue pair (QP), both halves: roce_requester sends
// messages, and roce_responder takes those of the peers; W bits wide. roce_rx with Full stands beside it.
//
//   roce_rx -> answers --> roce_requester <-- posts, memory of what is sent
//      |                     ^  |
//      |          responses  |  +--> frames
//      +-> requests -> roce_responder --> memory of what is received
//
// Answers to the peer, and CNPs, leave through the requester's frames, in front of packets that are not
// begun and at any rate.
// The halves of a QP fail together (IB 10.3, ERROR): what is posted to either is flushed then, and a NAK
// that is due still leaves. All else is as in the two modules, and in roce_run: throughput, latencies,
// back-pressure, and what stands while `run_i` is high.
//
// `cfg_i`, `peer_i`, `region_i` and what else is of the peer's requests are those of the QP that begins; the
// caller changes them, and lets a QP begin, only while `busy_o` is low. `may_write_i` counts at any time.
// One clock.
`default_nettype none

module roce_endpoint #(
    parameter int unsigned W      = 64,
    parameter int unsigned Qps    = 1,   // to 16
    parameter int unsigned Slots  = W == 512 ? 1024 : 128,  // packets in flight
    parameter int unsigned Queue  = 16,  // work requests
    parameter int unsigned Aw     = 16,  // of the memory of what is sent, in beats
    parameter int unsigned Beats  = W == 512 ? 512 : 1024,  // of received frames that wait
    parameter int unsigned Frames = 32,  // that wait
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_i,
    input  wire logic                 [63:0] time_ns_i,
    input  wire net_pkg::peer_t              self_i,
    input  wire net_pkg::peer_t              peer_i,
    // connection
    input  wire logic          [    Qps-1:0] run_i,
    input  wire roce_pkg::qp_t               cfg_i,
    input  wire logic                 [23:0] peer_psn_i,   // of the peer's first request
    input  wire logic                 [ 4:0] rnr_timer_i,  // code of our RNR NAKs
    input  wire logic                 [19:0] cnp_interval_ns_i,
    input  wire roce_pkg::region_t           region_i,
    input  wire logic          [    Qps-1:0] may_write_i,
    output      logic          [    Qps-1:0] refused_o,
    output      logic          [    Qps-1:0] begun_o,
    output      logic          [    Qps-1:0] is_running_o,
    output      logic                        busy_o,
    output      logic                        begins_o,     // begin_qp_o, with what stands now
    output      logic          [QpWidth-1:0] begin_qp_o,
    input  wire logic          [    Qps-1:0] abort_i,
    input  wire send_pkg::rate_cfg_t         rate_cfg_i,
    input  wire logic                        acks_cut_i,
    // work requests
    input  wire logic                        post_valid_i,
    output      logic                        post_ready_o,
    output      logic                        post_reject_o,
    output      logic                        post_full_o,
    input  wire logic          [QpWidth-1:0] post_qp_i,
    input  wire roce_pkg::work_request_t     post_i,
    output      logic                        completion_valid_o,
    output      logic          [QpWidth-1:0] completion_qp_o,
    output      roce_pkg::completion_t       completion_o,
    // receive requests
    input  wire logic                        receive_valid_i,
    output      logic                        receive_ready_o,
    input  wire logic          [QpWidth-1:0] receive_qp_i,
    input  wire roce_pkg::receive_t          receive_i,
    output      logic                        received_valid_o,
    input  wire logic                        received_ready_i,
    output      logic          [QpWidth-1:0] received_qp_o,
    output      roce_pkg::received_t         received_o,
    // eth_ip_check's beats; roce_rx
    input  wire logic                        valid_i,
    input  wire logic                        last_i,
    input  wire logic              [  W-1:0] data_i,
    input  wire logic                        request_valid_i,
    input  wire roce_pkg::request_t          request_i,
    input  wire logic                        answer_valid_i,
    input  wire logic          [QpWidth-1:0] answer_qp_i,  // of a request too
    input  wire roce_pkg::answer_t           answer_i,
    // memory of what is sent
    output      logic                        rd_valid_o,
    input  wire logic                        rd_ready_i,
    output      logic               [Aw-1:0] rd_addr_o,
    input  wire logic                        rd_valid_i,
    input  wire logic              [  W-1:0] rd_data_i,
    // and of what is received
    output      logic                        wr_valid_o,
    input  wire logic                        wr_ready_i,
    output      logic                 [63:0] wr_addr_o,
    output      logic              [  W-1:0] wr_data_o,
    output      logic              [W/8-1:0] wr_keep_o,
    output      logic                        wr_last_o,
    // frames
    output      logic              [  W-1:0] m_axis_tdata,
    output      logic              [W/8-1:0] m_axis_tkeep,
    output      logic                        m_axis_tvalid,
    input  wire logic                        m_axis_tready,
    output      logic                        m_axis_tlast,
    // counters of the requester
    output      logic                        ev_packet_o,
    output      logic                        ev_repeat_o,
    output      logic                        ev_ack_o,
    output      logic                        ev_marked_o,
    output      logic                        ev_outside_o,
    output      logic                        ev_sequence_nak_o,
    output      logic                        ev_rnr_nak_o,
    output      logic                        ev_copy_o,
    output      logic                        ev_timeout_o,
    output      logic                        ev_dropped_o,
    output      logic                        ev_cnp_o,     // for a QP that runs
    output      logic                        ev_cut_o,
    input  wire logic          [QpWidth-1:0] rate_qp_i,
    input  wire logic                 [ 8:0] event_index_i,
    output      send_pkg::rate_status_t      rate_o,
    output      logic          [QpWidth-1:0] event_qp_o,
    // and of the responder; of the QP fault_qp_o where the port of roce_responder is of ev_qp_o
    output      logic          [QpWidth-1:0] fault_qp_o,
    output      logic                        ev_received_o,
    output      logic                        ev_duplicate_o,
    output      logic                        ev_gap_o,
    output      logic                        ev_not_ready_o,
    output      logic                        ev_fault_o,
    output      logic                        ev_after_fault_o,
    output      logic                        ev_unexpected_o,
    output      logic                        ev_no_room_o,
    output      logic                        ev_request_marked_o,
    output      logic                        ev_cnp_sent_o,
    output      roce_pkg::fault_e            fault_o
);

  logic response_valid, response_ready;
  logic [QpWidth-1:0] response_qp;
  roce_pkg::response_t response;

  logic cmd_valid, cmd_ready, cmd_refused, failed, any_cnp;
  roce_pkg::command_e cmd;
  logic [QpWidth-1:0] cmd_qp, ev_qp;
  logic [Qps-1:0] is_sending, has_failed;

  assign is_running_o = is_sending & ~has_failed;
  assign begins_o     = cmd_ready && cmd == roce_pkg::CommandBegin;
  assign begin_qp_o   = cmd_qp;

  roce_run #(
      .Qps(Qps)
  ) u_run (
      .clk_i       (clk_i),
      .rst_i       (rst_i),
      .run_i       (run_i),
      .abort_i     (abort_i | has_failed),
      .refused_o   (refused_o),
      .begun_o     (begun_o),
      .is_running_o(is_sending),
      .busy_o      (busy_o),
      .cmd_valid_o (cmd_valid),
      .cmd_ready_i (cmd_ready),
      .cmd_o       (cmd),
      .cmd_qp_o    (cmd_qp),
      .refused_i   (cmd_refused),
      .failed_i    (failed),
      .visit_qp_i  (ev_qp)
  );

  roce_responder #(
      .W     (W),
      .Qps   (Qps),
      .Beats (Beats),
      .Frames(Frames)
  ) u_responder (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .time_ns_i         (time_ns_i),
      .run_i             (begun_o),
      .begin_i           (begins_o),
      .begin_qp_i        (cmd_qp),
      .cfg_i             ({peer_psn_i, cfg_i.mtu, rnr_timer_i, cnp_interval_ns_i}),
      .region_i          (region_i),
      .may_write_i       (may_write_i),
      .abort_i           (abort_i | ~is_sending),
      .is_failed_o       (has_failed),
      .valid_i           (valid_i),
      .last_i            (last_i),
      .data_i            (data_i),
      .request_valid_i   (request_valid_i),
      .request_qp_i      (answer_qp_i),
      .request_i         (request_i),
      .receive_valid_i   (receive_valid_i),
      .receive_ready_o   (receive_ready_o),
      .receive_qp_i      (receive_qp_i),
      .receive_i         (receive_i),
      .completion_valid_o(received_valid_o),
      .completion_ready_i(received_ready_i),
      .completion_qp_o   (received_qp_o),
      .completion_o      (received_o),
      .wr_valid_o        (wr_valid_o),
      .wr_ready_i        (wr_ready_i),
      .wr_addr_o         (wr_addr_o),
      .wr_data_o         (wr_data_o),
      .wr_keep_o         (wr_keep_o),
      .wr_last_o         (wr_last_o),
      .response_valid_o  (response_valid),
      .response_ready_i  (response_ready),
      .response_qp_o     (response_qp),
      .response_o        (response),
      .ev_qp_o           (fault_qp_o),
      .ev_packet_o       (ev_received_o),
      .ev_duplicate_o    (ev_duplicate_o),
      .ev_gap_o          (ev_gap_o),
      .ev_not_ready_o    (ev_not_ready_o),
      .ev_fault_o        (ev_fault_o),
      .ev_after_fault_o  (ev_after_fault_o),
      .ev_unexpected_o   (ev_unexpected_o),
      .ev_no_room_o      (ev_no_room_o),
      .ev_marked_o       (ev_request_marked_o),
      .ev_cnp_o          (ev_cnp_sent_o),
      .fault_o           (fault_o)
  );

  roce_requester #(
      .W    (W),
      .Qps  (Qps),
      .Slots(Slots),
      .Queue(Queue),
      .Aw   (Aw),
      .Full (1'b1)
  ) u_requester (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .time_ns_i         (time_ns_i),
      .self_i            (self_i),
      .cmd_valid_i       (cmd_valid),
      .cmd_ready_o       (cmd_ready),
      .cmd_i             (cmd),
      .cmd_qp_i          (cmd_qp),
      .cfg_i             (cfg_i),
      .peer_i            (peer_i),
      .refused_o         (cmd_refused),
      .rate_cfg_i        (rate_cfg_i),
      .acks_cut_i        (acks_cut_i),
      .post_valid_i      (post_valid_i),
      .post_ready_o      (post_ready_o),
      .post_reject_o     (post_reject_o),
      .post_full_o       (post_full_o),
      .post_qp_i         (post_qp_i),
      .post_i            (post_i),
      .completion_valid_o(completion_valid_o),
      .completion_qp_o   (completion_qp_o),
      .completion_o      (completion_o),
      .answer_valid_i    (answer_valid_i),
      .answer_qp_i       (answer_qp_i),
      .answer_i          (answer_i),
      .response_valid_i  (response_valid),
      .response_ready_o  (response_ready),
      .response_qp_i     (response_qp),
      .response_i        (response),
      .rd_valid_o        (rd_valid_o),
      .rd_ready_i        (rd_ready_i),
      .rd_addr_o         (rd_addr_o),
      .rd_valid_i        (rd_valid_i),
      .rd_data_i         (rd_data_i),
      .m_axis_tdata      (m_axis_tdata),
      .m_axis_tkeep      (m_axis_tkeep),
      .m_axis_tvalid     (m_axis_tvalid),
      .m_axis_tready     (m_axis_tready),
      .m_axis_tlast      (m_axis_tlast),
      .charge_qp_o       (),
      .charge_bytes_o    (),
      .ev_qp_o           (ev_qp),
      .ev_failed_o       (failed),
      .ev_packet_o       (ev_packet_o),
      .ev_repeat_o       (ev_repeat_o),
      .ev_ack_o          (ev_ack_o),
      .ev_marked_o       (ev_marked_o),
      .ev_outside_o      (ev_outside_o),
      .ev_sequence_nak_o (ev_sequence_nak_o),
      .ev_rnr_nak_o      (ev_rnr_nak_o),
      .ev_copy_o         (ev_copy_o),
      .ev_timeout_o      (ev_timeout_o),
      .ev_dropped_o      (ev_dropped_o),
      .ev_cnp_o          (any_cnp),
      .ev_cut_o          (ev_cut_o),
      .rate_qp_i         (rate_qp_i),
      .event_index_i     (event_index_i),
      .rate_o            (rate_o),
      .event_qp_o        (event_qp_o)
  );

  assign ev_cnp_o = any_cnp && is_sending[Qps > 1 ? answer_qp_i : '0];

endmodule

`default_nettype wire
