// roce_requester with a memory, and what it receives through roce_rx.
`default_nettype none

module roce_requester_tb #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,
    parameter  int unsigned Slots   = W == 512 ? 1024 : 128,
    parameter  int unsigned Queue   = 16,
    parameter  int unsigned Aw      = W == 512 ? 11 : 14,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_i,
    input  wire logic                 [63:0] time_ns_i,
    input  wire net_pkg::peer_t              self_i,
    input  wire logic                 [23:0] local_qp_i,  // of the first QP
    input  wire logic                        cmd_valid_i,
    output      logic                        cmd_ready_o,
    input  wire roce_pkg::command_e          cmd_i,
    input  wire logic          [QpWidth-1:0] cmd_qp_i,
    input  wire roce_pkg::qp_t               cfg_i,
    input  wire net_pkg::peer_t              peer_i,
    output      logic                        refused_o,
    input  wire send_pkg::rate_cfg_t         rate_cfg_i,
    input  wire logic          [QpWidth-1:0] rate_qp_i,
    output      send_pkg::rate_status_t      rate_o,
    input  wire logic                        post_valid_i,
    output      logic                        post_ready_o,
    output      logic                        post_reject_o,
    output      logic                        post_full_o,
    input  wire logic          [QpWidth-1:0] post_qp_i,
    input  wire roce_pkg::work_request_t     post_i,
    output      logic                        completion_valid_o,
    output      logic          [QpWidth-1:0] completion_qp_o,
    output      roce_pkg::completion_t       completion_o,
    // received frames
    input  wire logic                        valid_i,
    input  wire logic                        last_i,
    input  wire logic        [$clog2(W/8):0] count_i,
    input  wire logic              [  W-1:0] data_i,
    output      logic                 [ 6:0] rx_events_o,
    // memory
    input  wire logic                        we_i,
    input  wire logic               [Aw-1:0] waddr_i,
    input  wire logic              [  W-1:0] wdata_i,
    input  wire logic                        mem_ready_i,
    // frames
    output      logic              [  W-1:0] m_axis_tdata,
    output      logic              [W/8-1:0] m_axis_tkeep,
    output      logic                        m_axis_tvalid,
    input  wire logic                        m_axis_tready,
    output      logic                        m_axis_tlast,
    output      logic          [QpWidth-1:0] ev_qp_o,
    output      logic                 [10:0] events_o  // in the order of the ports, from bit 0 on
);

  logic answer_valid, rd_valid, reply_valid;
  roce_pkg::answer_t answer;
  logic [QpWidth-1:0] answer_qp;
  logic [Aw-1:0] rd_addr;
  logic [W-1:0] reply;

  roce_rx_tb #(
      .W  (W),
      .Qps(Qps)
  ) u_rx (
      .clk_i, .rst_i, .self_i, .local_qp_i,
      .peer_set_i    (cmd_ready_o && cmd_i == roce_pkg::CommandBegin),
      .peer_qp_i     (cmd_qp_i),
      .peer_ip_i     (peer_i.ip),
      .answer_qp_o   (answer_qp),
      .valid_i, .last_i, .count_i, .data_i,
      .checked_o     (),
      .valid_o       (),
      .last_o        (),
      .data_o        (),
      .request_valid_o(),
      .request_o     (),
      .answer_valid_o(answer_valid),
      .answer_o      (answer),
      .events_o      (rx_events_o)
  );

  ring #(
      .W    (W),
      .Beats(1 << Aw)
  ) u_memory (
      .clk_i, .rst_i, .we_i, .waddr_i, .wdata_i,
      .rd_valid_i(rd_valid && mem_ready_i),
      .rd_ready_o(),
      .rd_addr_i (rd_addr),
      .rd_tag_i  (4'd0),
      .rd_valid_o(reply_valid),
      .rd_data_o (reply),
      .rd_tag_o  ()
  );

  roce_requester #(
      .W    (W),
      .Qps  (Qps),
      .Slots(Slots),
      .Queue(Queue),
      .Aw   (Aw)
  ) u_dut (
      .clk_i, .rst_i, .time_ns_i, .self_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .cmd_qp_i, .cfg_i,
      .peer_i, .refused_o, .rate_cfg_i,
      .acks_cut_i       (1'b0),
      .post_valid_i, .post_ready_o, .post_reject_o, .post_full_o, .post_qp_i, .post_i,
      .completion_valid_o, .completion_qp_o, .completion_o,
      .answer_valid_i   (answer_valid),
      .answer_qp_i      (answer_qp),
      .answer_i         (answer),
      .response_valid_i (1'b0),
      .response_ready_o (),
      .response_qp_i    ('0),
      .response_i       ('0),
      .rd_valid_o       (rd_valid),
      .rd_ready_i       (mem_ready_i),
      .rd_addr_o        (rd_addr),
      .rd_valid_i       (reply_valid),
      .rd_data_i        (reply),
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast,
      .charge_qp_o      (),
      .charge_bytes_o   (),
      .ev_qp_o,
      .ev_failed_o      (),
      .ev_packet_o      (events_o[0]),
      .ev_repeat_o      (events_o[1]),
      .ev_ack_o         (events_o[2]),
      .ev_marked_o      (),
      .ev_outside_o     (events_o[3]),
      .ev_sequence_nak_o(events_o[4]),
      .ev_rnr_nak_o     (events_o[5]),
      .ev_copy_o        (events_o[6]),
      .ev_timeout_o     (events_o[7]),
      .ev_dropped_o     (events_o[8]),
      .ev_cnp_o         (events_o[9]),
      .ev_cut_o         (events_o[10]),
      .rate_qp_i,
      .event_index_i    (9'd0),
      .rate_o,
      .event_qp_o       ()
  );

endmodule

`default_nettype wire
