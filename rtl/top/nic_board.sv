// A whole NIC from a MAC to its processors: nic and nic_mac.
//
// Register `mode` chooses the loop-backs, `route` the places of generator and checker. Throughput,
// latencies, back-pressure: nic, nic_mac. Clocks: clk_i, mac_tx_clk_i, mac_rx_clk_i, crossed in
// nic_mac, and with CpuClock cpu_clk_i, crossed in nic. Resets: docs/nic.md#resets.
`default_nettype none

module nic_board #(
    parameter int unsigned Ports       = 1,     // of processors by AFB and ACB
    parameter bit          Axil        = 1'b1,  // a port to the registers by AXI4-Lite
    parameter bit          Tests       = 1'b0,
    parameter int unsigned Memory      = nic_pkg::MemoryLocal,
    parameter int unsigned AddressBits = 17,
    parameter bit          Rings       = 1'b0,
    parameter int unsigned Buffers     = 128,
    parameter bit          BigEndian   = 1'b0,
    parameter bit          CpuClock    = 1'b0,
    parameter int unsigned MacW        = 64,    // or 8
    parameter bit          TxSlack     = 1'b0   // for a core clock slower than the MAC's
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Processors: nic's ports. With CpuClock they are on cpu_clk_i.
    input  wire logic                                           cpu_clk_i,
    input  wire logic                                           cpu_rst_i,
    input  wire logic [                              Ports-1:0] afb_valid_i,
    output logic      [                              Ports-1:0] afb_ready_o,
    input  wire logic [      Ports*nic_pkg::AfbRequestBits-1:0] afb_i,
    output logic      [                              Ports-1:0] afb_valid_o,
    input  wire logic [                              Ports-1:0] afb_ready_i,
    output logic      [Ports*nic_pkg::RegisterResponseBits-1:0] afb_o,
    input  wire logic [                              Ports-1:0] acb_valid_i,
    output logic      [                              Ports-1:0] acb_ready_o,
    input  wire logic [      Ports*nic_pkg::AcbRequestBits-1:0] acb_i,
    output logic      [                              Ports-1:0] acb_valid_o,
    input  wire logic [                              Ports-1:0] acb_ready_i,
    output logic      [     Ports*nic_pkg::AcbResponseBits-1:0] acb_o,
    input  wire logic [                                    9:0] s_axil_cpu_awaddr,
    input  wire logic [                                    2:0] s_axil_cpu_awprot,
    input  wire logic                                           s_axil_cpu_awvalid,
    output logic                                                s_axil_cpu_awready,
    input  wire logic [                                   31:0] s_axil_cpu_wdata,
    input  wire logic [                                    3:0] s_axil_cpu_wstrb,
    input  wire logic                                           s_axil_cpu_wvalid,
    output logic                                                s_axil_cpu_wready,
    output logic      [                                    1:0] s_axil_cpu_bresp,
    output logic                                                s_axil_cpu_bvalid,
    input  wire logic                                           s_axil_cpu_bready,
    input  wire logic [                                    9:0] s_axil_cpu_araddr,
    input  wire logic [                                    2:0] s_axil_cpu_arprot,
    input  wire logic                                           s_axil_cpu_arvalid,
    output logic                                                s_axil_cpu_arready,
    output logic      [                                   31:0] s_axil_cpu_rdata,
    output logic      [                                    1:0] s_axil_cpu_rresp,
    output logic                                                s_axil_cpu_rvalid,
    input  wire logic                                           s_axil_cpu_rready,
    output logic      [                   nic_pkg::Servers-1:0] irq_o,

    // The memory outside, for a Memory other than nic_pkg::MemoryLocal.
    output logic                                                dram_request_valid_o,
    input  wire logic                                           dram_request_ready_i,
    output logic      [            nic_pkg::AcbRequestBits-1:0] dram_request_o,
    input  wire logic                                           dram_response_valid_i,
    output logic                                                dram_response_ready_o,
    input  wire logic [           nic_pkg::AcbResponseBits-1:0] dram_response_i,

    output logic                   enable_mac_o,
    input  wire logic              mac_tx_clk_i,
    input  wire logic              mac_tx_rst_i,
    output logic      [  MacW-1:0] m_axis_tx_tdata,
    output logic      [MacW/8-1:0] m_axis_tx_tkeep,
    output logic                   m_axis_tx_tvalid,
    input  wire logic              m_axis_tx_tready,
    output logic                   m_axis_tx_tlast,
    output logic                   m_axis_tx_tuser,
    input  wire logic              mac_rx_clk_i,
    input  wire logic              mac_rx_rst_i,
    input  wire logic [  MacW-1:0] s_axis_rx_tdata,
    input  wire logic [MacW/8-1:0] s_axis_rx_tkeep,
    input  wire logic              s_axis_rx_tvalid,
    input  wire logic              s_axis_rx_tlast,
    input  wire logic              s_axis_rx_tuser
);

  logic [63:0] rx_tdata, tx_tdata;
  logic [7:0] rx_tkeep, tx_tkeep;
  logic rx_tvalid, rx_tready, rx_tlast, rx_tuser, tx_tvalid, tx_tready, tx_tlast, tx_tuser;
  logic loopback, bad, no_room, cut;
  logic [1:0] route;
  logic [31:0] counter;
  nic_pkg::generator_cfg_t generator_cfg;
  nic_pkg::generator_status_t generator;
  nic_pkg::checker_status_t checked;

  nic #(
      .Ports(Ports),
      .Axil(Axil),
      .Tests(Tests),
      .Memory(Memory),
      .AddressBits(AddressBits),
      .Rings(Rings),
      .Buffers(Buffers),
      .BigEndian(BigEndian),
      .CpuClock(CpuClock)
  ) u_nic (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .cpu_clk_i(cpu_clk_i),
      .cpu_rst_i(cpu_rst_i),
      .afb_valid_i(afb_valid_i),
      .afb_ready_o(afb_ready_o),
      .afb_i(afb_i),
      .afb_valid_o(afb_valid_o),
      .afb_ready_i(afb_ready_i),
      .afb_o(afb_o),
      .acb_valid_i(acb_valid_i),
      .acb_ready_o(acb_ready_o),
      .acb_i(acb_i),
      .acb_valid_o(acb_valid_o),
      .acb_ready_i(acb_ready_i),
      .acb_o(acb_o),
      .s_axil_awaddr(s_axil_cpu_awaddr),
      .s_axil_awprot(s_axil_cpu_awprot),
      .s_axil_awvalid(s_axil_cpu_awvalid),
      .s_axil_awready(s_axil_cpu_awready),
      .s_axil_wdata(s_axil_cpu_wdata),
      .s_axil_wstrb(s_axil_cpu_wstrb),
      .s_axil_wvalid(s_axil_cpu_wvalid),
      .s_axil_wready(s_axil_cpu_wready),
      .s_axil_bresp(s_axil_cpu_bresp),
      .s_axil_bvalid(s_axil_cpu_bvalid),
      .s_axil_bready(s_axil_cpu_bready),
      .s_axil_araddr(s_axil_cpu_araddr),
      .s_axil_arprot(s_axil_cpu_arprot),
      .s_axil_arvalid(s_axil_cpu_arvalid),
      .s_axil_arready(s_axil_cpu_arready),
      .s_axil_rdata(s_axil_cpu_rdata),
      .s_axil_rresp(s_axil_cpu_rresp),
      .s_axil_rvalid(s_axil_cpu_rvalid),
      .s_axil_rready(s_axil_cpu_rready),
      .irq_o(irq_o),
      .dram_request_valid_o(dram_request_valid_o),
      .dram_request_ready_i(dram_request_ready_i),
      .dram_request_o(dram_request_o),
      .dram_response_valid_i(dram_response_valid_i),
      .dram_response_ready_o(dram_response_ready_o),
      .dram_response_i(dram_response_i),
      .enable_mac_o(enable_mac_o),
      .loopback_mac_o(loopback),
      .route_o(route),
      .share_o(),
      .generator_cfg_o(generator_cfg),
      .counter_o(counter),
      .generator_i(generator),
      .checker_i(checked),
      .attach_event_i('0),
      .ev_mac_rx_bad_i(bad),
      .ev_mac_rx_dropped_i(no_room),
      .ev_mac_tx_dropped_i(cut),
      .s_axis_tdata(rx_tdata),
      .s_axis_tkeep(rx_tkeep),
      .s_axis_tvalid(rx_tvalid),
      .s_axis_tready(rx_tready),
      .s_axis_tlast(rx_tlast),
      .s_axis_tuser(rx_tuser),
      .m_axis_tdata(tx_tdata),
      .m_axis_tkeep(tx_tkeep),
      .m_axis_tvalid(tx_tvalid),
      .m_axis_tready(tx_tready),
      .m_axis_tlast(tx_tlast),
      .m_axis_tuser(tx_tuser)
  );

  nic_mac #(
      .MacW(MacW),
      .TxSlack(TxSlack)
  ) u_mac (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .route_i(route),
      .loopback_i({loopback, 1'b0}),
      .cfg_i(generator_cfg),
      .counter_i(counter),
      .s_axis_tdata(tx_tdata),
      .s_axis_tkeep(tx_tkeep),
      .s_axis_tvalid(tx_tvalid),
      .s_axis_tready(tx_tready),
      .s_axis_tlast(tx_tlast),
      .s_axis_tuser(tx_tuser),
      .m_axis_tdata(rx_tdata),
      .m_axis_tkeep(rx_tkeep),
      .m_axis_tvalid(rx_tvalid),
      .m_axis_tready(rx_tready),
      .m_axis_tlast(rx_tlast),
      .m_axis_tuser(rx_tuser),
      .mac_tx_clk_i(mac_tx_clk_i),
      .mac_tx_rst_i(mac_tx_rst_i),
      .mac_tx_tdata(m_axis_tx_tdata),
      .mac_tx_tkeep(m_axis_tx_tkeep),
      .mac_tx_tvalid(m_axis_tx_tvalid),
      .mac_tx_tready(m_axis_tx_tready),
      .mac_tx_tlast(m_axis_tx_tlast),
      .mac_tx_tuser(m_axis_tx_tuser),
      .mac_rx_clk_i(mac_rx_clk_i),
      .mac_rx_rst_i(mac_rx_rst_i),
      .mac_rx_tdata(s_axis_rx_tdata),
      .mac_rx_tkeep(s_axis_rx_tkeep),
      .mac_rx_tvalid(s_axis_rx_tvalid),
      .mac_rx_tlast(s_axis_rx_tlast),
      .mac_rx_tuser(s_axis_rx_tuser),
      .generator_o(generator),
      .checker_o(checked),
      .ev_rx_bad_o(bad),
      .ev_rx_no_room_o(no_room),
      .ev_tx_cut_o(cut)
  );

endmodule

`default_nettype wire
