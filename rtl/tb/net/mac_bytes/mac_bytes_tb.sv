// mac_fifo with mac_bytes at its MAC side, on one clock: what the tests of a 1G link drive.
`default_nettype none

module mac_bytes_tb #(
    parameter int unsigned RxDepth = 2048
) (
    input wire logic       clk_i,
    input wire logic       rst_i,
    input wire logic       mac_rst_i,
    input wire logic [1:0] loopback_i,

    input  wire logic [63:0] s_core_tdata,
    input  wire logic [ 7:0] s_core_tkeep,
    input  wire logic        s_core_tvalid,
    output      logic        s_core_tready,
    input  wire logic        s_core_tlast,
    output      logic [63:0] m_core_tdata,
    output      logic [ 7:0] m_core_tkeep,
    output      logic        m_core_tvalid,
    input  wire logic        m_core_tready,
    output      logic        m_core_tlast,
    output      logic        m_core_tuser,

    output      logic [7:0] m_mac_tdata,
    output      logic [0:0] m_mac_tkeep,
    output      logic       m_mac_tvalid,
    input  wire logic       m_mac_tready,
    output      logic       m_mac_tlast,
    output      logic       m_mac_tuser,
    input  wire logic [7:0] s_mac_tdata,
    input  wire logic [0:0] s_mac_tkeep,
    input  wire logic       s_mac_tvalid,
    input  wire logic       s_mac_tlast,
    input  wire logic       s_mac_tuser,

    output logic ev_rx_bad_o,
    output logic ev_rx_no_room_o,
    output logic ev_tx_cut_o
);

  logic [63:0] t_data, r_data;
  logic [7:0] t_keep, r_keep;
  logic t_valid, t_ready, t_last, t_user, r_valid, r_last, r_user;

  assign m_mac_tkeep = 1'b1;

  mac_fifo #(
      .W            (64),
      .RxReady      (1'b1),
      .FrameBytesMax(RxDepth < 2048 ? 8 * RxDepth : 9216),
      .RxDepth      (RxDepth)
  ) i_fifo (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .loopback_i     (loopback_i),
      .s_tx_tdata     (s_core_tdata),
      .s_tx_tkeep     (s_core_tkeep),
      .s_tx_tvalid    (s_core_tvalid),
      .s_tx_tready    (s_core_tready),
      .s_tx_tlast     (s_core_tlast),
      .s_tx_tuser     (1'b0),
      .m_rx_tdata     (m_core_tdata),
      .m_rx_tkeep     (m_core_tkeep),
      .m_rx_tvalid    (m_core_tvalid),
      .m_rx_tready    (m_core_tready),
      .m_rx_tlast     (m_core_tlast),
      .m_rx_tuser     (m_core_tuser),
      .mac_tx_clk_i   (clk_i),
      .mac_tx_rst_i   (mac_rst_i),
      .mac_tx_tdata   (t_data),
      .mac_tx_tkeep   (t_keep),
      .mac_tx_tvalid  (t_valid),
      .mac_tx_tready  (t_ready),
      .mac_tx_tlast   (t_last),
      .mac_tx_tuser   (t_user),
      .mac_rx_clk_i   (clk_i),
      .mac_rx_rst_i   (mac_rst_i),
      .mac_rx_tdata   (r_data),
      .mac_rx_tkeep   (r_keep),
      .mac_rx_tvalid  (r_valid),
      .mac_rx_tlast   (r_last),
      .mac_rx_tuser   (r_user),
      .ev_rx_bad_o    (ev_rx_bad_o),
      .ev_rx_no_room_o(ev_rx_no_room_o),
      .ev_tx_cut_o    (ev_tx_cut_o)
  );

  mac_bytes i_bytes (
      .tx_clk_i     (clk_i),
      .tx_rst_i     (mac_rst_i),
      .s_tx_tdata   (t_data),
      .s_tx_tkeep   (t_keep),
      .s_tx_tvalid  (t_valid),
      .s_tx_tready  (t_ready),
      .s_tx_tlast   (t_last),
      .s_tx_tuser   (t_user),
      .mac_tx_tdata (m_mac_tdata),
      .mac_tx_tvalid(m_mac_tvalid),
      .mac_tx_tready(m_mac_tready),
      .mac_tx_tlast (m_mac_tlast),
      .mac_tx_tuser (m_mac_tuser),
      .rx_clk_i     (clk_i),
      .rx_rst_i     (mac_rst_i),
      .mac_rx_tdata (s_mac_tdata),
      .mac_rx_tvalid(s_mac_tvalid),
      .mac_rx_tlast (s_mac_tlast),
      .mac_rx_tuser (s_mac_tuser),
      .m_rx_tdata   (r_data),
      .m_rx_tkeep   (r_keep),
      .m_rx_tvalid  (r_valid),
      .m_rx_tlast   (r_last),
      .m_rx_tuser   (r_user)
  );

endmodule

`default_nettype wire
