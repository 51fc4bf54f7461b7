// nic_core and nic_mac on one clock: a NIC with its MAC side, whose queues a test fills.
`default_nettype none

module nic_mac_tb #(
    parameter int unsigned MacW = 64
) (
    input wire logic                    clk_i,
    input wire logic                    rst_i,
    input wire logic              [1:0] route_i,
    input wire logic              [1:0] loopback_i,
    input wire nic_pkg::generator_cfg_t cfg_i,
    input wire nic_pkg::config_t        config_i,

    input  wire logic                       op_valid_i,
    output      logic                       op_ready_o,
    input  wire logic [nic_pkg::OpBits-1:0] op_i,
    output      logic                       result_valid_o,
    output      logic [               31:0] result_o,

    output      logic [  MacW-1:0] m_mac_tdata,
    output      logic [MacW/8-1:0] m_mac_tkeep,
    output      logic              m_mac_tvalid,
    input  wire logic              m_mac_tready,
    output      logic              m_mac_tlast,
    output      logic              m_mac_tuser,
    input  wire logic [  MacW-1:0] s_mac_tdata,
    input  wire logic [MacW/8-1:0] s_mac_tkeep,
    input  wire logic              s_mac_tvalid,
    input  wire logic              s_mac_tlast,
    input  wire logic              s_mac_tuser,

    output nic_pkg::events_t           events_o,
    output nic_pkg::generator_status_t generator_o,
    output nic_pkg::checker_status_t   checker_o,
    output logic                       ev_rx_bad_o,
    output logic                       ev_rx_no_room_o,
    output logic                       ev_tx_cut_o
);

  logic [31:0] counter_q;
  always_ff @(posedge clk_i) counter_q <= rst_i ? '0 : counter_q + 1'b1;

  logic [63:0] to_data, from_data;
  logic [7:0] to_keep, from_keep;
  logic to_valid, to_ready, to_last, to_user, from_valid, from_ready, from_last, from_user;

  nic_core i_core (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .config_i        (config_i),
      .counter_i       (counter_q),
      .events_o        (events_o),
      .op_valid_i      (op_valid_i),
      .op_ready_o      (op_ready_o),
      .op_i            (op_i),
      .port_i          ('0),
      .result_valid_o  (result_valid_o),
      .result_o        (result_o),
      .port_held_o     (),
      .level_queue_i   ('0),
      .level_o         (),
      .receive_waits_o (),
      .owns_o          (),
      .request_valid_i (1'b0),
      .request_ready_o (),
      .request_i       ('0),
      .response_valid_o(),
      .response_ready_i(1'b1),
      .response_o      (),
      .dram_request_valid_o (),
      .dram_request_ready_i (1'b0),
      .dram_request_o       (),
      .dram_response_valid_i(1'b0),
      .dram_response_ready_o(),
      .dram_response_i      ('0),
      .s_axis_tdata    (to_data),
      .s_axis_tkeep    (to_keep),
      .s_axis_tvalid   (to_valid),
      .s_axis_tready   (to_ready),
      .s_axis_tlast    (to_last),
      .s_axis_tuser    (to_user),
      .m_axis_tdata    (from_data),
      .m_axis_tkeep    (from_keep),
      .m_axis_tvalid   (from_valid),
      .m_axis_tready   (from_ready),
      .m_axis_tlast    (from_last),
      .m_axis_tuser    (from_user)
  );

  nic_mac #(
      .MacW(MacW)
  ) i_mac (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .route_i        (route_i),
      .loopback_i     (loopback_i),
      .cfg_i          (cfg_i),
      .counter_i      (counter_q),
      .s_axis_tdata   (from_data),
      .s_axis_tkeep   (from_keep),
      .s_axis_tvalid  (from_valid),
      .s_axis_tready  (from_ready),
      .s_axis_tlast   (from_last),
      .s_axis_tuser   (from_user),
      .m_axis_tdata   (to_data),
      .m_axis_tkeep   (to_keep),
      .m_axis_tvalid  (to_valid),
      .m_axis_tready  (to_ready),
      .m_axis_tlast   (to_last),
      .m_axis_tuser   (to_user),
      .mac_tx_clk_i   (clk_i),
      .mac_tx_rst_i   (rst_i),
      .mac_tx_tdata   (m_mac_tdata),
      .mac_tx_tkeep   (m_mac_tkeep),
      .mac_tx_tvalid  (m_mac_tvalid),
      .mac_tx_tready  (m_mac_tready),
      .mac_tx_tlast   (m_mac_tlast),
      .mac_tx_tuser   (m_mac_tuser),
      .mac_rx_clk_i   (clk_i),
      .mac_rx_rst_i   (rst_i),
      .mac_rx_tdata   (s_mac_tdata),
      .mac_rx_tkeep   (s_mac_tkeep),
      .mac_rx_tvalid  (s_mac_tvalid),
      .mac_rx_tlast   (s_mac_tlast),
      .mac_rx_tuser   (s_mac_tuser),
      .generator_o    (generator_o),
      .checker_o      (checker_o),
      .ev_rx_bad_o    (ev_rx_bad_o),
      .ev_rx_no_room_o(ev_rx_no_room_o),
      .ev_tx_cut_o    (ev_tx_cut_o)
  );

endmodule

`default_nettype wire
