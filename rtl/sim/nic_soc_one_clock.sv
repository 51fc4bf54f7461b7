// nic_board with soft cores (nic_soc), on one clock, as nic_soc_bench drives it; with CpuClock the
// cores and afb_* are on cpu_clk_i. Its receive side is never held back. The processor's port behind
// those of the cores is the bench's own: a port to registers, in the low half of afb_*.
`default_nettype none

module nic_soc_one_clock #(
    parameter int unsigned Cores  = 1,
    parameter int unsigned MacW   = 8,
    parameter int unsigned Memory = nic_pkg::MemoryLocal,
    parameter bit          Rings  = 1'b0,
    parameter bit          CpuClock = 1'b0
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic cpu_clk_i,
    input wire logic run_i,

    output logic has_cpu_clock_o,

    input wire logic [63:0] time_ns_i,

    input wire logic        load_i,
    input wire logic [14:0] load_word_i,
    input wire logic [31:0] load_data_i,

    output      logic [   Cores-1:0] asleep_o,
    output      logic [   Cores-1:0] exit_valid_o,
    output      logic [Cores*32-1:0] exit_code_o,
    output      logic [ Cores*8-1:0] leds_o,
    output      logic [   Cores-1:0] console_valid_o,
    output      logic [ Cores*8-1:0] console_o,
    input  wire logic [   Cores-1:0] console_valid_i,
    output      logic [   Cores-1:0] console_ready_o,
    input  wire logic [ Cores*8-1:0] console_i,
    output      logic                enable_mac_o,

    input  wire logic [  1:0] afb_valid_i,
    output      logic [  1:0] afb_ready_o,
    input  wire logic [147:0] afb_i,
    output      logic [  1:0] afb_valid_o,
    input  wire logic [  1:0] afb_ready_i,
    output      logic [ 65:0] afb_o,

    output      logic [27:0] m_axil_awaddr,
    output      logic        m_axil_awvalid,
    input  wire logic        m_axil_awready,
    output      logic [31:0] m_axil_wdata,
    output      logic        m_axil_wvalid,
    input  wire logic        m_axil_wready,
    input  wire logic        m_axil_bvalid,
    output      logic [27:0] m_axil_araddr,
    output      logic        m_axil_arvalid,
    input  wire logic        m_axil_arready,
    input  wire logic [31:0] m_axil_rdata,
    input  wire logic        m_axil_rvalid,

    output      logic                                dram_request_valid_o,
    input  wire logic                                dram_request_ready_i,
    output      logic [ nic_pkg::AcbRequestBits-1:0] dram_request_o,
    input  wire logic                                dram_response_valid_i,
    output      logic                                dram_response_ready_o,
    input  wire logic [nic_pkg::AcbResponseBits-1:0] dram_response_i,

    input  wire logic [  MacW-1:0] s_axis_tdata,
    input  wire logic [MacW/8-1:0] s_axis_tkeep,
    input  wire logic              s_axis_tvalid,
    input  wire logic              s_axis_tlast,
    input  wire logic              s_axis_tuser,

    output      logic [  MacW-1:0] m_axis_tdata,
    output      logic [MacW/8-1:0] m_axis_tkeep,
    output      logic              m_axis_tvalid,
    input  wire logic              m_axis_tready,
    output      logic              m_axis_tlast,
    output      logic              m_axis_tuser
);

  localparam int unsigned Ports = Cores + 1;
  localparam int unsigned AfbBits = nic_pkg::AfbRequestBits;
  localparam int unsigned RegBits = nic_pkg::RegisterResponseBits;

  logic [nic_pkg::Servers-1:0] irq;
  logic [Ports-1:0] afb_valid, afb_ready, afb_answers, afb_takes;
  logic [Ports*AfbBits-1:0] afb_request;
  logic [Ports*RegBits-1:0] afb_response;
  logic [Cores-1:0] acb_valid, acb_takes;
  logic [Ports-1:0] acb_ready, acb_answers;
  logic [Cores*nic_pkg::AcbRequestBits-1:0] acb_request;
  logic [Ports*nic_pkg::AcbResponseBits-1:0] acb_response;

  logic soc_clk, soc_rst;

  assign has_cpu_clock_o = CpuClock;
  assign soc_clk         = CpuClock ? cpu_clk_i : clk_i;

  // As a board's reset bridge gives it: cycles of the cores' clock, none of them while rst_i rises.
  if (CpuClock) begin : g_reset
    sync_bits u_rst (
        .clk_i(cpu_clk_i),
        .d_i  (rst_i),
        .q_o  (soc_rst)
    );
  end else begin : g_same
    assign soc_rst = rst_i;
  end

  assign afb_valid[Cores]                    = afb_valid_i[0];
  assign afb_request[Cores*AfbBits+:AfbBits] = afb_i[AfbBits-1:0];
  assign afb_takes[Cores]                    = afb_ready_i[0];
  assign afb_ready_o                         = {1'b0, afb_ready[Cores]};
  assign afb_valid_o                         = {1'b0, afb_answers[Cores]};
  assign afb_o                               = {33'd0, afb_response[Cores*RegBits+:RegBits]};

  nic_soc #(
      .Cores(Cores)
  ) u_soc (
      .clk_i          (soc_clk),
      .rst_i          (soc_rst),
      .run_i          (run_i),
      .time_ns_i      (time_ns_i),
      .load_i         (load_i),
      .load_word_i    (load_word_i),
      .load_data_i    (load_data_i),
      .irq_i          (irq),
      .afb_valid_o    (afb_valid[Cores-1:0]),
      .afb_ready_i    (afb_ready[Cores-1:0]),
      .afb_o          (afb_request[Cores*AfbBits-1:0]),
      .afb_valid_i    (afb_answers[Cores-1:0]),
      .afb_ready_o    (afb_takes[Cores-1:0]),
      .afb_i          (afb_response[Cores*RegBits-1:0]),
      .acb_valid_o    (acb_valid),
      .acb_ready_i    (acb_ready[Cores-1:0]),
      .acb_o          (acb_request),
      .acb_valid_i    (acb_answers[Cores-1:0]),
      .acb_ready_o    (acb_takes),
      .acb_i          (acb_response[Cores*nic_pkg::AcbResponseBits-1:0]),
      .m_axil_awaddr  (m_axil_awaddr),
      .m_axil_awprot  (),
      .m_axil_awvalid (m_axil_awvalid),
      .m_axil_awready (m_axil_awready),
      .m_axil_wdata   (m_axil_wdata),
      .m_axil_wstrb   (),
      .m_axil_wvalid  (m_axil_wvalid),
      .m_axil_wready  (m_axil_wready),
      .m_axil_bresp   (2'b00),
      .m_axil_bvalid  (m_axil_bvalid),
      .m_axil_bready  (),
      .m_axil_araddr  (m_axil_araddr),
      .m_axil_arprot  (),
      .m_axil_arvalid (m_axil_arvalid),
      .m_axil_arready (m_axil_arready),
      .m_axil_rdata   (m_axil_rdata),
      .m_axil_rresp   (2'b00),
      .m_axil_rvalid  (m_axil_rvalid),
      .m_axil_rready  (),
      .asleep_o       (asleep_o),
      .exit_valid_o   (exit_valid_o),
      .exit_code_o    (exit_code_o),
      .leds_o         (leds_o),
      .console_valid_o(console_valid_o),
      .console_ready_i('1),
      .console_o      (console_o),
      .console_valid_i(console_valid_i),
      .console_ready_o(console_ready_o),
      .console_i      (console_i)
  );

  nic_board #(
      .Ports (Ports),
      .Memory(Memory),
      .Rings (Rings),
      // 64 buffers of 2 KiB are 128 KiB, and the rings are behind them.
      .AddressBits(Memory == nic_pkg::MemoryLocal ? (Rings ? 18 : 17) : 26),
      .Buffers(Memory == nic_pkg::MemoryLocal ? 128 : 16384),
      .Axil  (1'b0),
      .MacW  (MacW),
      .CpuClock(CpuClock)
  ) u_board (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .cpu_clk_i         (soc_clk),
      .cpu_rst_i         (soc_rst),
      .afb_valid_i       (afb_valid),
      .afb_ready_o       (afb_ready),
      .afb_i             (afb_request),
      .afb_valid_o       (afb_answers),
      .afb_ready_i       (afb_takes),
      .afb_o             (afb_response),
      .acb_valid_i       ({1'b0, acb_valid}),
      .acb_ready_o       (acb_ready),
      .acb_i             ({110'd0, acb_request}),
      .acb_valid_o       (acb_answers),
      .acb_ready_i       ({1'b1, acb_takes}),
      .acb_o             (acb_response),
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
      .irq_o             (irq),
      .dram_request_valid_o (dram_request_valid_o),
      .dram_request_ready_i (dram_request_ready_i),
      .dram_request_o       (dram_request_o),
      .dram_response_valid_i(dram_response_valid_i),
      .dram_response_ready_o(dram_response_ready_o),
      .dram_response_i      (dram_response_i),
      .enable_mac_o      (enable_mac_o),
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
