// The NIC with its MAC side on one clock, with the ports that nic_bench drives: s_axis and m_axis are
// the MAC's. Its receive side is never held back.
`default_nettype none

module nic_one_clock #(
    parameter int unsigned Ports = 2
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [                              Ports-1:0] afb_valid_i,
    output      logic [                              Ports-1:0] afb_ready_o,
    input  wire logic [       Ports*nic_pkg::AfbRequestBits-1:0] afb_i,
    output      logic [                              Ports-1:0] afb_valid_o,
    input  wire logic [                              Ports-1:0] afb_ready_i,
    output      logic [ Ports*nic_pkg::RegisterResponseBits-1:0] afb_o,
    input  wire logic [                              Ports-1:0] acb_ready_i,

    output logic [nic_pkg::Servers-1:0] irq_o,

    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    output      logic        s_axis_tready,
    input  wire logic        s_axis_tlast,
    input  wire logic        s_axis_tuser,

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,
    output      logic        m_axis_tuser
);

  logic [63:0] rx_data, tx_data;
  logic [7:0] rx_keep, tx_keep;
  logic rx_valid, rx_ready, rx_last, rx_user, tx_valid, tx_ready, tx_last, tx_user;
  logic loopback, no_room, cut;

  assign s_axis_tready = 1'b1;

  nic #(
      .Ports(Ports)
  ) u_nic (
      .clk_i              (clk_i),
      .rst_i              (rst_i),
      .afb_valid_i        (afb_valid_i),
      .afb_ready_o        (afb_ready_o),
      .afb_i              (afb_i),
      .afb_valid_o        (afb_valid_o),
      .afb_ready_i        (afb_ready_i),
      .afb_o              (afb_o),
      .acb_valid_i        ('0),
      .acb_ready_o        (),
      .acb_i              ('0),
      .acb_valid_o        (),
      .acb_ready_i        (acb_ready_i),
      .acb_o              (),
      .s_axil_awaddr      ('0),
      .s_axil_awprot      ('0),
      .s_axil_awvalid     (1'b0),
      .s_axil_awready     (),
      .s_axil_wdata       ('0),
      .s_axil_wstrb       ('0),
      .s_axil_wvalid      (1'b0),
      .s_axil_wready      (),
      .s_axil_bresp       (),
      .s_axil_bvalid      (),
      .s_axil_bready      (1'b0),
      .s_axil_araddr      ('0),
      .s_axil_arprot      ('0),
      .s_axil_arvalid     (1'b0),
      .s_axil_arready     (),
      .s_axil_rdata       (),
      .s_axil_rresp       (),
      .s_axil_rvalid      (),
      .s_axil_rready      (1'b0),
      .irq_o              (irq_o),
      .enable_mac_o       (),
      .loopback_mac_o     (loopback),
      .ev_mac_rx_dropped_i(no_room),
      .ev_mac_tx_dropped_i(cut),
      .s_axis_tdata       (rx_data),
      .s_axis_tkeep       (rx_keep),
      .s_axis_tvalid      (rx_valid),
      .s_axis_tready      (rx_ready),
      .s_axis_tlast       (rx_last),
      .s_axis_tuser       (rx_user),
      .m_axis_tdata       (tx_data),
      .m_axis_tkeep       (tx_keep),
      .m_axis_tvalid      (tx_valid),
      .m_axis_tready      (tx_ready),
      .m_axis_tlast       (tx_last),
      .m_axis_tuser       (tx_user)
  );

  nic_mac u_mac (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .route_i        (2'd0),
      .loopback_i     ({loopback, 1'b0}),
      .cfg_i          ('0),
      .counter_i      ('0),
      .s_axis_tdata   (tx_data),
      .s_axis_tkeep   (tx_keep),
      .s_axis_tvalid  (tx_valid),
      .s_axis_tready  (tx_ready),
      .s_axis_tlast   (tx_last),
      .s_axis_tuser   (tx_user),
      .m_axis_tdata   (rx_data),
      .m_axis_tkeep   (rx_keep),
      .m_axis_tvalid  (rx_valid),
      .m_axis_tready  (rx_ready),
      .m_axis_tlast   (rx_last),
      .m_axis_tuser   (rx_user),
      .mac_tx_clk_i   (clk_i),
      .mac_tx_rst_i   (rst_i),
      .mac_tx_tdata   (m_axis_tdata),
      .mac_tx_tkeep   (m_axis_tkeep),
      .mac_tx_tvalid  (m_axis_tvalid),
      .mac_tx_tready  (m_axis_tready),
      .mac_tx_tlast   (m_axis_tlast),
      .mac_tx_tuser   (m_axis_tuser),
      .mac_rx_clk_i   (clk_i),
      .mac_rx_rst_i   (rst_i),
      .mac_rx_tdata   (s_axis_tdata),
      .mac_rx_tkeep   (s_axis_tkeep),
      .mac_rx_tvalid  (s_axis_tvalid),
      .mac_rx_tlast   (s_axis_tlast),
      .mac_rx_tuser   (s_axis_tuser),
      .generator_o    (),
      .checker_o      (),
      .ev_rx_bad_o    (),
      .ev_rx_no_room_o(no_room),
      .ev_tx_cut_o    (cut)
  );

endmodule

`default_nettype wire
