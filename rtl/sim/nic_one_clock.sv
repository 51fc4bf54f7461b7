// nic_board on one clock, with the ports that nic_bench drives: s_axis and m_axis are
// the MAC's. Its receive side is never held back.
`default_nettype none

module nic_one_clock #(
    parameter int unsigned Ports  = 2,
    parameter int unsigned Memory = nic_pkg::MemoryLocal,
    parameter bit          Rings  = 1'b0
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

    output      logic                                dram_request_valid_o,
    input  wire logic                                dram_request_ready_i,
    output      logic [ nic_pkg::AcbRequestBits-1:0] dram_request_o,
    input  wire logic                                dram_response_valid_i,
    output      logic                                dram_response_ready_o,
    input  wire logic [nic_pkg::AcbResponseBits-1:0] dram_response_i,

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

  assign s_axis_tready = 1'b1;

  nic_board #(
      .Ports (Ports),
      .Memory(Memory),
      .Rings (Rings),
      .Axil  (1'b0)
  ) u_board (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .cpu_clk_i         (1'b0),
      .cpu_rst_i         (1'b0),
      .afb_valid_i       (afb_valid_i),
      .afb_ready_o       (afb_ready_o),
      .afb_i             (afb_i),
      .afb_valid_o       (afb_valid_o),
      .afb_ready_i       (afb_ready_i),
      .afb_o             (afb_o),
      .acb_valid_i       ('0),
      .acb_ready_o       (),
      .acb_i             ('0),
      .acb_valid_o       (),
      .acb_ready_i       (acb_ready_i),
      .acb_o             (),
      .s_axil_cpu_awaddr ('0),
      .s_axil_cpu_awprot ('0),
      .s_axil_cpu_awvalid('0),
      .s_axil_cpu_awready(),
      .s_axil_cpu_wdata  ('0),
      .s_axil_cpu_wstrb  ('0),
      .s_axil_cpu_wvalid ('0),
      .s_axil_cpu_wready (),
      .s_axil_cpu_bresp  (),
      .s_axil_cpu_bvalid (),
      .s_axil_cpu_bready ('0),
      .s_axil_cpu_araddr ('0),
      .s_axil_cpu_arprot ('0),
      .s_axil_cpu_arvalid('0),
      .s_axil_cpu_arready(),
      .s_axil_cpu_rdata  (),
      .s_axil_cpu_rresp  (),
      .s_axil_cpu_rvalid (),
      .s_axil_cpu_rready ('0),
      .irq_o             (irq_o),
      .dram_request_valid_o (dram_request_valid_o),
      .dram_request_ready_i (dram_request_ready_i),
      .dram_request_o       (dram_request_o),
      .dram_response_valid_i(dram_response_valid_i),
      .dram_response_ready_o(dram_response_ready_o),
      .dram_response_i      (dram_response_i),
      .enable_mac_o      (),
      .mac_tx_clk_i      (clk_i),
      .mac_tx_rst_i      (rst_i),
      .m_axis_tx_tdata   (m_axis_tdata),
      .m_axis_tx_tkeep   (m_axis_tkeep),
      .m_axis_tx_tvalid  (m_axis_tvalid),
      .m_axis_tx_tready  (m_axis_tready),
      .m_axis_tx_tlast   (m_axis_tlast),
      .m_axis_tx_tuser   (m_axis_tuser),
      .mac_rx_clk_i      (clk_i),
      .mac_rx_rst_i      (rst_i),
      .s_axis_rx_tdata   (s_axis_tdata),
      .s_axis_rx_tkeep   (s_axis_tkeep),
      .s_axis_rx_tvalid  (s_axis_tvalid),
      .s_axis_rx_tlast   (s_axis_tlast),
      .s_axis_rx_tuser   (s_axis_tuser)
  );

endmodule

`default_nettype wire
