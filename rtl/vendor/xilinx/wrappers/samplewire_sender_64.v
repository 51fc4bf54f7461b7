// `samplewire_sender` with W = 64, Nic = 0, for Vivado.
// Written by rtl/vendor/xilinx/wrappers/generate.py from the ports of the RTL.
`default_nettype none

module samplewire_sender_64 #(
    parameter integer Slots = 256,
    parameter integer SlotBytes = 8192,
    parameter integer RdLatency = 7,
    parameter RingStyle = "ultra",
    parameter integer NackDepth = 128,
    parameter integer Channels = 1
) (
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME clk_i, ASSOCIATED_BUSIF m_axis:s_axis:s_axil, ASSOCIATED_RESET rst_i" *)
    input  wire clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire rst_i,
    input  wire [63:0] time_ns_i,
    input  wire s_valid,
    output wire s_ready,
    input  wire [63:0] s_data,
    input  wire [63:0] s_index,
    input  wire [7:0] s_count,
    input  wire s_start,
    input  wire s_overflow,
    input  wire s_last,
    input  wire s_whole,
    output wire ring_tight_o,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis TDATA" *)
    output wire [63:0] m_axis_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis TKEEP" *)
    output wire [7:0] m_axis_tkeep,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis TVALID" *)
    output wire m_axis_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis TREADY" *)
    input  wire m_axis_tready,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 m_axis TLAST" *)
    output wire m_axis_tlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis TDATA" *)
    input  wire [63:0] s_axis_tdata,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis TKEEP" *)
    input  wire [7:0] s_axis_tkeep,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis TVALID" *)
    input  wire s_axis_tvalid,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis TLAST" *)
    input  wire s_axis_tlast,
    (* X_INTERFACE_INFO = "xilinx.com:interface:axis:1.0 s_axis TUSER" *)
    input  wire s_axis_tuser,
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
    output wire [23:0] cfg_rate_line_o,
    output wire [23:0] cfg_rate_first_cut_o,
    output wire [23:0] cfg_rate_start_o,
    output wire [23:0] cfg_rate_minimum_o,
    output wire [23:0] cfg_rate_hyper_o,
    output wire [23:0] cfg_rate_additive_o,
    output wire [25:0] cfg_rise_bytes_o,
    output wire [19:0] cfg_cut_interval_ns_o,
    output wire [19:0] cfg_rise_period_ns_o,
    output wire [19:0] cfg_alpha_period_ns_o,
    output wire [4:0] cfg_recovery_stages_o,
    output wire [4:0] cfg_gain_shift_o,
    output wire [1:0] cfg_rate_mode_o,
    output wire [8:0] cfg_event_index_o,
    output wire [23:0] cfg_source_rate_o,
    output wire [63:0] cfg_source_count_o,
    output wire [63:0] cfg_source_index_o,
    output wire [6:0] cfg_template_words_o,
    output wire [15:0] cfg_idle_ms_o,
    output wire [15:0] cfg_dead_ms_o,
    output wire [19:0] cfg_pace_burst_ns_o,
    output wire [23:0] cfg_pace_rate_o,
    output wire [15:0] cfg_payload_bytes_o,
    output wire [15:0] cfg_port_o,
    output wire [31:0] cfg_ip_o,
    output wire [47:0] cfg_mac_o,
    output wire [1:0] cfg_source_o,
    output wire [1:0] cfg_loopback_o,
    output wire cfg_enable_o,
    output wire cmd_sync_cancel_o,
    output wire cmd_sync_latch_o,
    output wire cmd_sync_set_o,
    output wire cmd_gate_close_o,
    output wire cmd_gate_open_o,
    output wire cmd_close_o,
    output wire cmd_snapshot_o,
    input  wire gate_armed_i,
    input  wire sync_armed_i,
    input  wire [7:0] sync_count_i,
    input  wire [63:0] sync_index_i,
    input  wire [63:0] sync_time_i,
    input  wire mac_rx_bad_i,
    input  wire mac_tx_dropped_i,
    input  wire mac_rx_dropped_i
);

  wire [63:0] m_axis_other_tdata;
  wire [7:0] m_axis_other_tkeep;
  wire m_axis_other_tvalid;
  wire m_axis_other_tlast;
  wire m_axis_other_tuser;
  samplewire_sender #(
      .W(64),
      .Nic(0),
      .Slots(Slots),
      .SlotBytes(SlotBytes),
      .RdLatency(RdLatency),
      .RingStyle(RingStyle),
      .NackDepth(NackDepth),
      .Channels(Channels)
  ) inst (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .time_ns_i(time_ns_i),
      .s_valid(s_valid),
      .s_ready(s_ready),
      .s_data(s_data),
      .s_index(s_index),
      .s_count(s_count),
      .s_start(s_start),
      .s_overflow(s_overflow),
      .s_last(s_last),
      .s_whole(s_whole),
      .ring_tight_o(ring_tight_o),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tkeep(m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast(m_axis_tlast),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tkeep(s_axis_tkeep),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tlast(s_axis_tlast),
      .s_axis_tuser(s_axis_tuser),
      .m_axis_other_tdata(m_axis_other_tdata),
      .m_axis_other_tkeep(m_axis_other_tkeep),
      .m_axis_other_tvalid(m_axis_other_tvalid),
      .m_axis_other_tlast(m_axis_other_tlast),
      .m_axis_other_tuser(m_axis_other_tuser),
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
      .cfg_o({
          cfg_enable_o,
          cfg_loopback_o,
          cfg_source_o,
          cfg_mac_o,
          cfg_ip_o,
          cfg_port_o,
          cfg_payload_bytes_o,
          cfg_pace_rate_o,
          cfg_pace_burst_ns_o,
          cfg_dead_ms_o,
          cfg_idle_ms_o,
          cfg_template_words_o,
          cfg_source_index_o,
          cfg_source_count_o,
          cfg_source_rate_o,
          cfg_event_index_o,
          cfg_rate_mode_o,
          cfg_gain_shift_o,
          cfg_recovery_stages_o,
          cfg_alpha_period_ns_o,
          cfg_rise_period_ns_o,
          cfg_cut_interval_ns_o,
          cfg_rise_bytes_o,
          cfg_rate_additive_o,
          cfg_rate_hyper_o,
          cfg_rate_minimum_o,
          cfg_rate_start_o,
          cfg_rate_first_cut_o,
          cfg_rate_line_o}),
      .cmd_o({
          cmd_snapshot_o,
          cmd_close_o,
          cmd_gate_open_o,
          cmd_gate_close_o,
          cmd_sync_set_o,
          cmd_sync_latch_o,
          cmd_sync_cancel_o}),
      .gate_armed_i(gate_armed_i),
      .sync_armed_i(sync_armed_i),
      .sync_count_i(sync_count_i),
      .sync_index_i(sync_index_i),
      .sync_time_i(sync_time_i),
      .mac_rx_bad_i(mac_rx_bad_i),
      .mac_tx_dropped_i(mac_tx_dropped_i),
      .mac_rx_dropped_i(mac_rx_dropped_i)
  );

endmodule

`default_nettype wire
