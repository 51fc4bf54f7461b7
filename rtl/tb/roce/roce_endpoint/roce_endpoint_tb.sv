// roce_endpoint with a memory of what it sends, and what it receives through roce_rx.
`default_nettype none

module roce_endpoint_tb #(
    parameter int unsigned W     = 64,
    parameter int unsigned Slots = W == 512 ? 1024 : 128,
    parameter int unsigned Queue = 16,
    parameter int unsigned Aw    = W == 512 ? 8 : 11
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_i,
    input  wire logic                 [63:0] time_ns_i,
    input  wire net_pkg::peer_t              self_i,
    input  wire net_pkg::peer_t              peer_i,
    input  wire logic                        run_i,
    input  wire roce_pkg::qp_t               cfg_i,
    input  wire logic                 [23:0] peer_psn_i,
    input  wire logic                 [19:0] cnp_interval_ns_i,
    input  wire logic                 [23:0] rate_i,
    input  wire roce_pkg::region_t           region_i,
    input  wire logic                        may_write_i,
    output      logic                        refused_o,
    output      logic                        is_running_o,
    input  wire logic                        abort_i,
    input  wire logic                        post_valid_i,
    output      logic                        post_ready_o,
    input  wire roce_pkg::work_request_t     post_i,
    output      logic                        completion_valid_o,
    output      roce_pkg::completion_t       completion_o,
    input  wire logic                        receive_valid_i,
    output      logic                        receive_ready_o,
    input  wire roce_pkg::receive_t          receive_i,
    output      logic                        received_valid_o,
    input  wire logic                        received_ready_i,
    output      roce_pkg::received_t         received_o,
    // received frames
    input  wire logic                        valid_i,
    input  wire logic                        last_i,
    input  wire logic        [$clog2(W/8):0] count_i,
    input  wire logic              [  W-1:0] data_i,
    // memories
    input  wire logic                        we_i,
    input  wire logic               [Aw-1:0] waddr_i,
    input  wire logic              [  W-1:0] wdata_i,
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
    output      logic                        m_axis_tlast
);

  logic valid, last, request_valid, answer_valid, rd_valid, rd_ready, reply_valid;
  logic [W-1:0] data, reply;
  logic [Aw-1:0] rd_addr;
  roce_pkg::request_t request;
  roce_pkg::answer_t answer;

  roce_rx_tb #(
      .W   (W),
      .Full(1'b1)
  ) u_rx (
      .clk_i, .rst_i, .self_i,
      .peer_set_i     (1'b1),
      .peer_qp_i      (1'b0),
      .peer_ip_i      (peer_i.ip),
      .answer_qp_o    (),
      .local_qp_i     (cfg_i.local_qp),
      .valid_i, .last_i, .count_i, .data_i,
      .checked_o      (),
      .valid_o        (valid),
      .last_o         (last),
      .data_o         (data),
      .answer_valid_o (answer_valid),
      .answer_o       (answer),
      .request_valid_o(request_valid),
      .request_o      (request),
      .events_o       ()
  );

  ring #(
      .W    (W),
      .Beats(1 << Aw)
  ) u_memory (
      .clk_i, .rst_i, .we_i, .waddr_i, .wdata_i,
      .rd_valid_i(rd_valid),
      .rd_ready_o(rd_ready),
      .rd_addr_i (rd_addr),
      .rd_tag_i  (4'd0),
      .rd_valid_o(reply_valid),
      .rd_data_o (reply),
      .rd_tag_o  ()
  );

  roce_endpoint #(
      .W    (W),
      .Slots(Slots),
      .Queue(Queue),
      .Aw   (Aw)
  ) u_dut (
      .clk_i, .rst_i, .time_ns_i, .self_i, .peer_i, .run_i, .cfg_i, .peer_psn_i,
      .rnr_timer_i      (5'd9),
      .cnp_interval_ns_i, .region_i, .may_write_i, .refused_o, .is_running_o, .abort_i,
      .begun_o          (),
      .busy_o           (),
      .begins_o         (),
      .begin_qp_o       (),
      .rate_cfg_i       (send_pkg::rate_cfg_t'({rate_i, 20'd100})),
      .acks_cut_i       (1'b0),
      .post_valid_i, .post_ready_o,
      .post_reject_o    (),
      .post_full_o      (),
      .post_qp_i        (1'b0),
      .post_i, .completion_valid_o,
      .completion_qp_o  (),
      .completion_o, .receive_valid_i, .receive_ready_o,
      .receive_qp_i     (1'b0),
      .receive_i, .received_valid_o, .received_ready_i,
      .received_qp_o    (),
      .received_o,
      .valid_i          (valid),
      .last_i           (last),
      .data_i           (data),
      .request_valid_i  (request_valid),
      .request_i        (request),
      .answer_valid_i   (answer_valid),
      .answer_qp_i      (1'b0),
      .answer_i         (answer),
      .rd_valid_o       (rd_valid),
      .rd_ready_i       (rd_ready),
      .rd_addr_o        (rd_addr),
      .rd_valid_i       (reply_valid),
      .rd_data_i        (reply),
      .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_data_o, .wr_keep_o, .wr_last_o,
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast,
      .ev_packet_o      (),
      .ev_repeat_o      (),
      .ev_ack_o         (),
      .ev_marked_o      (),
      .ev_outside_o     (),
      .ev_sequence_nak_o(),
      .ev_rnr_nak_o     (),
      .ev_copy_o        (),
      .ev_timeout_o     (),
      .ev_dropped_o     (),
      .ev_cnp_o         (),
      .ev_cut_o         (),
      .rate_qp_i        (1'b0),
      .event_index_i    (9'd0),
      .rate_o           (),
      .event_qp_o       (),
      .fault_qp_o       (),
      .ev_received_o    (),
      .ev_duplicate_o   (),
      .ev_gap_o         (),
      .ev_not_ready_o   (),
      .ev_fault_o       (),
      .ev_after_fault_o (),
      .ev_unexpected_o  (),
      .ev_no_room_o     (),
      .ev_request_marked_o(),
      .ev_cnp_sent_o    (),
      .fault_o          ()
  );

endmodule

`default_nettype wire
