// `samplewire_board` with W = 64, Nic = 0, Channels = 1, AdcMerged = 0, for Vivado.
// Written by rtl/vendor/xilinx/wrappers/generate.py from the ports of the RTL.
`default_nettype none

module samplewire_board_64 #(
    parameter integer Slots = 256,
    parameter integer SlotBytes = 8192,
    parameter integer RdLatency = 7,
    parameter RingStyle = "ultra",
    parameter integer NackDepth = 128,
    parameter integer AdcSamples = 2,
    parameter integer NicFifo = 16384
) (
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME clk_i, ASSOCIATED_BUSIF s_axil, ASSOCIATED_RESET rst_i" *)
    input  wire clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire rst_i,
    input  wire [63:0] time_ns_i,
    input  wire sync_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 adc_clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME adc_clk_i, ASSOCIATED_BUSIF s_axis_adc_0:s_axis_adc_1, ASSOCIATED_RESET adc_rst_i" *)
    input  wire adc_clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 adc_rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME adc_rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire adc_rst_i,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_0 TVALID" *)
    input  wire s_axis_adc_0_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_1 TVALID" *)
    input  wire s_axis_adc_1_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_0 TREADY" *)
    output wire s_axis_adc_0_tready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_1 TREADY" *)
    output wire s_axis_adc_1_tready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_0 TDATA" *)
    input  wire [AdcSamples*32/2-1:0] s_axis_adc_0_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_adc_1 TDATA" *)
    input  wire [AdcSamples*32/2-1:0] s_axis_adc_1_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 mac_tx_clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME mac_tx_clk_i, ASSOCIATED_BUSIF m_axis_tx, ASSOCIATED_RESET mac_tx_rst_i" *)
    input  wire mac_tx_clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 mac_tx_rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME mac_tx_rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire mac_tx_rst_i,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TDATA" *)
    output wire [63:0] m_axis_tx_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TKEEP" *)
    output wire [7:0] m_axis_tx_tkeep,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TVALID" *)
    output wire m_axis_tx_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TREADY" *)
    input  wire m_axis_tx_tready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TLAST" *)
    output wire m_axis_tx_tlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis_tx TUSER" *)
    output wire m_axis_tx_tuser,
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 mac_rx_clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME mac_rx_clk_i, ASSOCIATED_BUSIF s_axis_rx, ASSOCIATED_RESET mac_rx_rst_i" *)
    input  wire mac_rx_clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 mac_rx_rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME mac_rx_rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire mac_rx_rst_i,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_rx TDATA" *)
    input  wire [63:0] s_axis_rx_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_rx TKEEP" *)
    input  wire [7:0] s_axis_rx_tkeep,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_rx TVALID" *)
    input  wire s_axis_rx_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_rx TLAST" *)
    input  wire s_axis_rx_tlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis_rx TUSER" *)
    input  wire s_axis_rx_tuser,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWADDR" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME s_axil, PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH 11" *)
    input  wire [10:0] s_axil_awaddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWPROT" *)
    input  wire [2:0] s_axil_awprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWVALID" *)
    input  wire s_axil_awvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil AWREADY" *)
    output wire s_axil_awready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WDATA" *)
    input  wire [31:0] s_axil_wdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WSTRB" *)
    input  wire [3:0] s_axil_wstrb,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WVALID" *)
    input  wire s_axil_wvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil WREADY" *)
    output wire s_axil_wready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BRESP" *)
    output wire [1:0] s_axil_bresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BVALID" *)
    output wire s_axil_bvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil BREADY" *)
    input  wire s_axil_bready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARADDR" *)
    input  wire [10:0] s_axil_araddr,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARPROT" *)
    input  wire [2:0] s_axil_arprot,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARVALID" *)
    input  wire s_axil_arvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil ARREADY" *)
    output wire s_axil_arready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RDATA" *)
    output wire [31:0] s_axil_rdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RRESP" *)
    output wire [1:0] s_axil_rresp,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RVALID" *)
    output wire s_axil_rvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:aximm:1.0 s_axil RREADY" *)
    input  wire s_axil_rready,
    output wire samples_taken_o
);

  wire [63:0] m_axis_nic_tdata;
  wire [7:0] m_axis_nic_tkeep;
  wire m_axis_nic_tvalid;
  wire m_axis_nic_tlast;
  wire m_axis_nic_tuser;
  wire s_axis_nic_tready;
  wire [4:0] nic_event_o;
  samplewire_board #(
      .W(64),
      .Nic(0),
      .Channels(1),
      .AdcMerged(0),
      .Slots(Slots),
      .SlotBytes(SlotBytes),
      .RdLatency(RdLatency),
      .RingStyle(RingStyle),
      .NackDepth(NackDepth),
      .AdcSamples(AdcSamples),
      .NicFifo(NicFifo)
  ) inst (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .time_ns_i(time_ns_i),
      .sync_i(sync_i),
      .adc_clk_i(adc_clk_i),
      .adc_rst_i(adc_rst_i),
      .s_axis_adc_tvalid({s_axis_adc_1_tvalid, s_axis_adc_0_tvalid}),
      .s_axis_adc_tready({s_axis_adc_1_tready, s_axis_adc_0_tready}),
      .s_axis_adc_tdata({s_axis_adc_1_tdata, s_axis_adc_0_tdata}),
      .mac_tx_clk_i(mac_tx_clk_i),
      .mac_tx_rst_i(mac_tx_rst_i),
      .m_axis_tx_tdata(m_axis_tx_tdata),
      .m_axis_tx_tkeep(m_axis_tx_tkeep),
      .m_axis_tx_tvalid(m_axis_tx_tvalid),
      .m_axis_tx_tready(m_axis_tx_tready),
      .m_axis_tx_tlast(m_axis_tx_tlast),
      .m_axis_tx_tuser(m_axis_tx_tuser),
      .mac_rx_clk_i(mac_rx_clk_i),
      .mac_rx_rst_i(mac_rx_rst_i),
      .s_axis_rx_tdata(s_axis_rx_tdata),
      .s_axis_rx_tkeep(s_axis_rx_tkeep),
      .s_axis_rx_tvalid(s_axis_rx_tvalid),
      .s_axis_rx_tlast(s_axis_rx_tlast),
      .s_axis_rx_tuser(s_axis_rx_tuser),
      .m_axis_nic_tdata(m_axis_nic_tdata),
      .m_axis_nic_tkeep(m_axis_nic_tkeep),
      .m_axis_nic_tvalid(m_axis_nic_tvalid),
      .m_axis_nic_tready(1'd0),
      .m_axis_nic_tlast(m_axis_nic_tlast),
      .m_axis_nic_tuser(m_axis_nic_tuser),
      .s_axis_nic_tdata(64'd0),
      .s_axis_nic_tkeep(8'd0),
      .s_axis_nic_tvalid(1'd0),
      .s_axis_nic_tready(s_axis_nic_tready),
      .s_axis_nic_tlast(1'd0),
      .s_axis_nic_tuser(1'd0),
      .nic_share_i(8'd0),
      .nic_event_o(nic_event_o),
      .s_axil_awaddr(s_axil_awaddr),
      .s_axil_awprot(s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid),
      .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata),
      .s_axil_wstrb(s_axil_wstrb),
      .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready),
      .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid),
      .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr),
      .s_axil_arprot(s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid),
      .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata),
      .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid),
      .s_axil_rready(s_axil_rready),
      .samples_taken_o(samples_taken_o)
  );

endmodule

`default_nettype wire
