// A board that needs no processor of its own: samplewire_nic_board and nic_soc's cores, one clock.
//
// Core 0 reads and writes the sender's registers. A processor beside the cores may do so too (s_axil),
// and has a port to the NIC (AFB, ACB); without one these ports are idle. The program comes in
// ProgramFile, or by load_i while run_i is low. Throughput, latencies, back-pressure:
// samplewire_nic_board, nic_soc, axil_share. Resets: docs/nic.md#resets.
`default_nettype none

module samplewire_soc_board #(
    parameter int unsigned W           = 64,
    parameter int unsigned Slots       = 256,
    parameter int unsigned SlotBytes   = 8192,
    parameter int unsigned RdLatency   = 2,
    parameter              RingStyle   = "ultra",
    parameter int unsigned NackDepth   = 128,
    parameter int unsigned Channels    = 1,
    parameter int unsigned AdcSamples  = W / 32,
    parameter bit          AdcMerged   = 1,
    parameter int unsigned Memory      = nic_pkg::MemoryLocal,
    parameter int unsigned AddressBits = 17,
    parameter bit          Rings       = 1'b0,
    parameter int unsigned Buffers     = 128,
    parameter int unsigned NicFifo     = 16384,
    parameter int unsigned Cores       = 1,
    parameter int unsigned ProgramBytes = 131072,
    parameter              ProgramFile = "",
    localparam int unsigned Aw         = $clog2(ProgramBytes) - 2
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,
    input wire logic        sync_i,

    input  wire logic                                             adc_clk_i,
    input  wire logic                                             adc_rst_i,
    input  wire logic [(AdcMerged ? Channels : 2 * Channels)-1:0] s_axis_adc_tvalid,
    output logic      [(AdcMerged ? Channels : 2 * Channels)-1:0] s_axis_adc_tready,
    input  wire logic [               Channels*AdcSamples*32-1:0] s_axis_adc_tdata,

    input  wire logic           mac_tx_clk_i,
    input  wire logic           mac_tx_rst_i,
    output logic      [  W-1:0] m_axis_tx_tdata,
    output logic      [W/8-1:0] m_axis_tx_tkeep,
    output logic                m_axis_tx_tvalid,
    input  wire logic           m_axis_tx_tready,
    output logic                m_axis_tx_tlast,
    output logic                m_axis_tx_tuser,

    input wire logic           mac_rx_clk_i,
    input wire logic           mac_rx_rst_i,
    input wire logic [  W-1:0] s_axis_rx_tdata,
    input wire logic [W/8-1:0] s_axis_rx_tkeep,
    input wire logic           s_axis_rx_tvalid,
    input wire logic           s_axis_rx_tlast,
    input wire logic           s_axis_rx_tuser,

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

    output logic samples_taken_o,

    // The processor beside the cores: nic's ports.
    input  wire logic                                     afb_valid_i,
    output logic                                          afb_ready_o,
    input  wire logic [      nic_pkg::AfbRequestBits-1:0] afb_i,
    output logic                                          afb_valid_o,
    input  wire logic                                     afb_ready_i,
    output logic      [nic_pkg::RegisterResponseBits-1:0] afb_o,
    input  wire logic                                     acb_valid_i,
    output logic                                          acb_ready_o,
    input  wire logic [      nic_pkg::AcbRequestBits-1:0] acb_i,
    output logic                                          acb_valid_o,
    input  wire logic                                     acb_ready_i,
    output logic      [     nic_pkg::AcbResponseBits-1:0] acb_o,

    // The cores' programs, consoles and ends: nic_soc's ports.
    input  wire logic               run_i,
    input  wire logic               load_i,
    input  wire logic [     Aw-1:0] load_word_i,
    input  wire logic [       31:0] load_data_i,
    output logic      [  Cores-1:0] asleep_o,
    output logic      [  Cores-1:0] exit_valid_o,
    output logic      [Cores*32-1:0] exit_code_o,
    output logic      [Cores*8-1:0] leds_o,
    output logic      [  Cores-1:0] console_valid_o,
    input  wire logic [  Cores-1:0] console_ready_i,
    output logic      [Cores*8-1:0] console_o,
    input  wire logic [  Cores-1:0] console_valid_i,
    output logic      [  Cores-1:0] console_ready_o,
    input  wire logic [Cores*8-1:0] console_i,

    // The memory outside, for a Memory other than nic_pkg::MemoryLocal.
    output logic                                      dram_request_valid_o,
    input  wire logic                                 dram_request_ready_i,
    output logic      [  nic_pkg::AcbRequestBits-1:0] dram_request_o,
    input  wire logic                                 dram_response_valid_i,
    output logic                                      dram_response_ready_o,
    input  wire logic [ nic_pkg::AcbResponseBits-1:0] dram_response_i
);

  localparam int unsigned AddrBits = 11;  // of the sender's registers
  localparam int unsigned AfbBits = nic_pkg::AfbRequestBits;
  localparam int unsigned RegisterBits = nic_pkg::RegisterResponseBits;
  localparam int unsigned AcbBits = nic_pkg::AcbRequestBits;
  localparam int unsigned AnswerBits = nic_pkg::AcbResponseBits;

  // Of the cores.
  logic [Cores-1:0] afb_request_valid, afb_request_ready, afb_response_valid, afb_response_ready;
  logic [Cores-1:0] acb_request_valid, acb_request_ready, acb_response_valid, acb_response_ready;
  logic [Cores*AfbBits-1:0] afb_request;
  logic [Cores*RegisterBits-1:0] afb_response;
  logic [Cores*AcbBits-1:0] acb_request;
  logic [Cores*AnswerBits-1:0] acb_response;
  logic [nic_pkg::Servers-1:0] irq;

  // The soft core's way to the sender's registers, and all ways together.
  logic [27:0] core_awaddr, core_araddr;
  logic [31:0] core_wdata, r_wdata, axil_rdata, r_rdata;
  logic [3:0] core_wstrb, r_wstrb;
  logic [2:0] core_awprot, core_arprot, r_awprot, r_arprot;
  logic [1:0] axil_bresp, axil_rresp, r_bresp, r_rresp;
  logic [AddrBits-1:0] r_awaddr, r_araddr;
  logic core_awvalid, core_awready, core_wvalid, core_wready, core_bvalid, core_bready;
  logic core_arvalid, core_arready, core_rvalid, core_rready;
  logic r_awvalid, r_awready, r_wvalid, r_wready, r_bvalid, r_bready;
  logic r_arvalid, r_arready, r_rvalid, r_rready;

  nic_soc #(
      .Cores(Cores),
      .MemoryBytes(ProgramBytes),
      .ProgramFile(ProgramFile)
  ) u_soc (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .run_i(run_i),
      .time_ns_i(time_ns_i),
      .load_i(load_i),
      .load_word_i(load_word_i),
      .load_data_i(load_data_i),
      .irq_i(irq),
      .afb_valid_o(afb_request_valid),
      .afb_ready_i(afb_request_ready),
      .afb_o(afb_request),
      .afb_valid_i(afb_response_valid),
      .afb_ready_o(afb_response_ready),
      .afb_i(afb_response),
      .acb_valid_o(acb_request_valid),
      .acb_ready_i(acb_request_ready),
      .acb_o(acb_request),
      .acb_valid_i(acb_response_valid),
      .acb_ready_o(acb_response_ready),
      .acb_i(acb_response),
      .m_axil_awaddr(core_awaddr),
      .m_axil_awprot(core_awprot),
      .m_axil_awvalid(core_awvalid),
      .m_axil_awready(core_awready),
      .m_axil_wdata(core_wdata),
      .m_axil_wstrb(core_wstrb),
      .m_axil_wvalid(core_wvalid),
      .m_axil_wready(core_wready),
      .m_axil_bresp(axil_bresp),
      .m_axil_bvalid(core_bvalid),
      .m_axil_bready(core_bready),
      .m_axil_araddr(core_araddr),
      .m_axil_arprot(core_arprot),
      .m_axil_arvalid(core_arvalid),
      .m_axil_arready(core_arready),
      .m_axil_rdata(axil_rdata),
      .m_axil_rresp(axil_rresp),
      .m_axil_rvalid(core_rvalid),
      .m_axil_rready(core_rready),
      .asleep_o(asleep_o),
      .exit_valid_o(exit_valid_o),
      .exit_code_o(exit_code_o),
      .leds_o(leds_o),
      .console_valid_o(console_valid_o),
      .console_ready_i(console_ready_i),
      .console_o(console_o),
      .console_valid_i(console_valid_i),
      .console_ready_o(console_ready_o),
      .console_i(console_i)
  );

  assign s_axil_bresp = axil_bresp;
  assign s_axil_rdata = axil_rdata;
  assign s_axil_rresp = axil_rresp;

  axil_share #(
      .Masters(2),
      .AddrBits(AddrBits)
  ) u_share (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .s_axil_awaddr({s_axil_awaddr, core_awaddr[AddrBits-1:0]}),
      .s_axil_awprot({s_axil_awprot, core_awprot}),
      .s_axil_awvalid({s_axil_awvalid, core_awvalid}),
      .s_axil_awready({s_axil_awready, core_awready}),
      .s_axil_wdata({s_axil_wdata, core_wdata}),
      .s_axil_wstrb({s_axil_wstrb, core_wstrb}),
      .s_axil_wvalid({s_axil_wvalid, core_wvalid}),
      .s_axil_wready({s_axil_wready, core_wready}),
      .s_axil_bresp(axil_bresp),
      .s_axil_bvalid({s_axil_bvalid, core_bvalid}),
      .s_axil_bready({s_axil_bready, core_bready}),
      .s_axil_araddr({s_axil_araddr, core_araddr[AddrBits-1:0]}),
      .s_axil_arprot({s_axil_arprot, core_arprot}),
      .s_axil_arvalid({s_axil_arvalid, core_arvalid}),
      .s_axil_arready({s_axil_arready, core_arready}),
      .s_axil_rdata(axil_rdata),
      .s_axil_rresp(axil_rresp),
      .s_axil_rvalid({s_axil_rvalid, core_rvalid}),
      .s_axil_rready({s_axil_rready, core_rready}),
      .m_axil_awaddr(r_awaddr),
      .m_axil_awprot(r_awprot),
      .m_axil_awvalid(r_awvalid),
      .m_axil_awready(r_awready),
      .m_axil_wdata(r_wdata),
      .m_axil_wstrb(r_wstrb),
      .m_axil_wvalid(r_wvalid),
      .m_axil_wready(r_wready),
      .m_axil_bresp(r_bresp),
      .m_axil_bvalid(r_bvalid),
      .m_axil_bready(r_bready),
      .m_axil_araddr(r_araddr),
      .m_axil_arprot(r_arprot),
      .m_axil_arvalid(r_arvalid),
      .m_axil_arready(r_arready),
      .m_axil_rdata(r_rdata),
      .m_axil_rresp(r_rresp),
      .m_axil_rvalid(r_rvalid),
      .m_axil_rready(r_rready)
  );

  // yosys must know the width of what is joined to a port of a module that it has not read yet.
  logic [9:0] no_address;
  logic [2:0] no_prot;
  logic [31:0] no_data;
  logic [3:0] no_strobe;
  assign no_address = '0;
  assign no_prot    = '0;
  assign no_data    = '0;
  assign no_strobe  = '0;

  samplewire_nic_board #(
      .W(W),
      .Slots(Slots),
      .SlotBytes(SlotBytes),
      .RdLatency(RdLatency),
      .RingStyle(RingStyle),
      .NackDepth(NackDepth),
      .Channels(Channels),
      .AdcSamples(AdcSamples),
      .AdcMerged(AdcMerged),
      .Ports(Cores + 1),
      .Axil(1'b0),
      .Memory(Memory),
      .AddressBits(AddressBits),
      .Rings(Rings),
      .Buffers(Buffers),
      .NicFifo(NicFifo)
  ) u_board (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .time_ns_i(time_ns_i),
      .sync_i(sync_i),
      .adc_clk_i(adc_clk_i),
      .adc_rst_i(adc_rst_i),
      .s_axis_adc_tvalid(s_axis_adc_tvalid),
      .s_axis_adc_tready(s_axis_adc_tready),
      .s_axis_adc_tdata(s_axis_adc_tdata),
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
      .s_axil_awaddr(r_awaddr),
      .s_axil_awprot(r_awprot),
      .s_axil_awvalid(r_awvalid),
      .s_axil_awready(r_awready),
      .s_axil_wdata(r_wdata),
      .s_axil_wstrb(r_wstrb),
      .s_axil_wvalid(r_wvalid),
      .s_axil_wready(r_wready),
      .s_axil_bresp(r_bresp),
      .s_axil_bvalid(r_bvalid),
      .s_axil_bready(r_bready),
      .s_axil_araddr(r_araddr),
      .s_axil_arprot(r_arprot),
      .s_axil_arvalid(r_arvalid),
      .s_axil_arready(r_arready),
      .s_axil_rdata(r_rdata),
      .s_axil_rresp(r_rresp),
      .s_axil_rvalid(r_rvalid),
      .s_axil_rready(r_rready),
      .samples_taken_o(samples_taken_o),
      .cpu_clk_i(1'b0),
      .cpu_rst_i(1'b0),
      .afb_valid_i({afb_valid_i, afb_request_valid}),
      .afb_ready_o({afb_ready_o, afb_request_ready}),
      .afb_i({afb_i, afb_request}),
      .afb_valid_o({afb_valid_o, afb_response_valid}),
      .afb_ready_i({afb_ready_i, afb_response_ready}),
      .afb_o({afb_o, afb_response}),
      .acb_valid_i({acb_valid_i, acb_request_valid}),
      .acb_ready_o({acb_ready_o, acb_request_ready}),
      .acb_i({acb_i, acb_request}),
      .acb_valid_o({acb_valid_o, acb_response_valid}),
      .acb_ready_i({acb_ready_i, acb_response_ready}),
      .acb_o({acb_o, acb_response}),
      .s_axil_cpu_awaddr(no_address),
      .s_axil_cpu_awprot(no_prot),
      .s_axil_cpu_awvalid(1'b0),
      .s_axil_cpu_awready(),
      .s_axil_cpu_wdata(no_data),
      .s_axil_cpu_wstrb(no_strobe),
      .s_axil_cpu_wvalid(1'b0),
      .s_axil_cpu_wready(),
      .s_axil_cpu_bresp(),
      .s_axil_cpu_bvalid(),
      .s_axil_cpu_bready(1'b0),
      .s_axil_cpu_araddr(no_address),
      .s_axil_cpu_arprot(no_prot),
      .s_axil_cpu_arvalid(1'b0),
      .s_axil_cpu_arready(),
      .s_axil_cpu_rdata(),
      .s_axil_cpu_rresp(),
      .s_axil_cpu_rvalid(),
      .s_axil_cpu_rready(1'b0),
      .irq_o(irq),
      .dram_request_valid_o(dram_request_valid_o),
      .dram_request_ready_i(dram_request_ready_i),
      .dram_request_o(dram_request_o),
      .dram_response_valid_i(dram_response_valid_i),
      .dram_response_ready_o(dram_response_ready_o),
      .dram_response_i(dram_response_i)
  );

endmodule

`default_nettype wire
