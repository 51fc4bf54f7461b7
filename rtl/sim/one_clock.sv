// samplewire_board on one clock, which ticks at each change of tick_i: one evaluation of the model
// is one cycle. With Nic samplewire_nic_board, with two processors' ports. With Cores above 0
// samplewire_soc_board: the processor beside the cores is at the second of these ports.
//
// Four separate clocks cost the simulator four checks for an edge, and it computes the logic
// between two of them for each. The testbenches of `mac_fifo` and `rfdc_adapter`, and the proofs,
// test the crossings with separate clocks. Resets and the time are taken a cycle late, so that only
// the ports' logic depends on inputs.
`default_nettype none

module one_clock #(
    parameter  int unsigned W     = 64,
    parameter  int unsigned Slots = 1024,
    parameter  bit          Nic   = 1'b0,
    parameter  int unsigned Cores = 0,
    parameter  int unsigned Memory = nic_pkg::MemoryLocal,  // of the NIC with cores
    parameter  bit          Rings = 1'b0,
    parameter  int unsigned NicFifo = 16384,  // bytes of frames that wait for the NIC
    localparam int unsigned Ports = 2,
    localparam int unsigned CorePorts = Cores == 0 ? 1 : Cores
) (
    input wire logic        tick_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,  // of the next cycle

    input wire logic adc_rst_i,
    input wire logic mac_tx_rst_i,
    input wire logic mac_rx_rst_i,

    output logic [  W-1:0] m_axis_tx_tdata,
    output logic [W/8-1:0] m_axis_tx_tkeep,
    output logic           m_axis_tx_tvalid,
    input  wire logic      m_axis_tx_tready,
    output logic           m_axis_tx_tlast,
    output logic           m_axis_tx_tuser,

    input wire logic [  W-1:0] s_axis_rx_tdata,
    input wire logic [W/8-1:0] s_axis_rx_tkeep,
    input wire logic           s_axis_rx_tvalid,
    input wire logic           s_axis_rx_tlast,
    input wire logic           s_axis_rx_tuser,

    input  wire logic [10:0] s_axil_awaddr,
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
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready,

    output logic samples_taken_o,

    // Of a board with Nic: nic's ports.
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
    output logic      [                   nic_pkg::Servers-1:0] irq_o,

    // Of a board with cores: nic_soc's ports, and memory outside.
    output      logic [                         7:0] cores_o,  // how many
    input  wire logic                                run_i,
    input  wire logic                                load_i,
    input  wire logic [                        14:0] load_word_i,
    input  wire logic [                        31:0] load_data_i,
    output      logic [               CorePorts-1:0] asleep_o,
    output      logic [               CorePorts-1:0] exit_valid_o,
    output      logic [            CorePorts*32-1:0] exit_code_o,
    output      logic [               CorePorts-1:0] console_valid_o,
    output      logic [             CorePorts*8-1:0] console_o,
    input  wire logic [               CorePorts-1:0] console_valid_i,
    output      logic [               CorePorts-1:0] console_ready_o,
    input  wire logic [             CorePorts*8-1:0] console_i,
    output      logic                                dram_request_valid_o,
    input  wire logic                                dram_request_ready_i,
    output      logic [ nic_pkg::AcbRequestBits-1:0] dram_request_o,
    input  wire logic                                dram_response_valid_i,
    output      logic                                dram_response_ready_o,
    input  wire logic [nic_pkg::AcbResponseBits-1:0] dram_response_i
);

  // High from a change until the registers have taken it.
  logic clk, tick_q;
  assign clk = tick_i ^ tick_q;

  logic rst_q, adc_rst_q, mac_tx_rst_q, mac_rx_rst_q;
  logic [63:0] time_q;

  always_ff @(posedge clk) begin
    tick_q       <= tick_i;
    rst_q        <= rst_i;
    adc_rst_q    <= adc_rst_i;
    mac_tx_rst_q <= mac_tx_rst_i;
    mac_rx_rst_q <= mac_rx_rst_i;
    time_q       <= time_ns_i;
  end

  assign cores_o = 8'(Cores);

  // No converter, so that its clock may stand: the source is the board's own.
  if (Cores != 0) begin : g_soc
    samplewire_soc_board #(
        .W     (W),
        .Slots (Slots),
        .Memory(Memory),
        // 64 buffers of 2 KiB are 128 KiB, and the rings are behind them.
        .AddressBits(Memory == nic_pkg::MemoryLocal ? (Rings ? 18 : 17) : 26),
        .Buffers(Memory == nic_pkg::MemoryLocal ? 128 : 16384),
        .Rings (Rings),
        .NicFifo(NicFifo),
        .Cores (Cores)
    ) u_board (
        .*,
        .clk_i(clk), .rst_i(rst_q), .time_ns_i(time_q), .sync_i(1'b0),
        .adc_clk_i(1'b0), .adc_rst_i(adc_rst_q), .s_axis_adc_tvalid(1'b0), .s_axis_adc_tready(),
        .s_axis_adc_tdata('0),
        .mac_tx_clk_i(clk), .mac_tx_rst_i(mac_tx_rst_q),
        .mac_rx_clk_i(clk), .mac_rx_rst_i(mac_rx_rst_q),
        .s_axil_awprot(3'd0), .s_axil_arprot(3'd0),
        .afb_valid_i(afb_valid_i[1]), .afb_ready_o(afb_ready_o[1]),
        .afb_i(afb_i[nic_pkg::AfbRequestBits+:nic_pkg::AfbRequestBits]),
        .afb_valid_o(afb_valid_o[1]), .afb_ready_i(afb_ready_i[1]),
        .afb_o(afb_o[nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits]),
        .acb_valid_i(1'b0), .acb_ready_o(), .acb_i('0), .acb_valid_o(), .acb_ready_i(1'b1),
        .acb_o(), .console_ready_i('1), .leds_o()
    );
    assign afb_ready_o[0] = 1'b0;
    assign afb_valid_o[0] = 1'b0;
    assign afb_o[nic_pkg::RegisterResponseBits-1:0] = '0;
    assign acb_ready_o = '0;
    assign acb_valid_o = '0;
    assign acb_o       = '0;
    assign irq_o       = '0;
  end else if (Nic) begin : g_nic
    samplewire_nic_board #(
        .W    (W),
        .Slots(Slots),
        .Ports(Ports),
        .Axil (1'b0)
    ) u_board (
        .*,
        .clk_i(clk), .rst_i(rst_q), .time_ns_i(time_q), .sync_i(1'b0),
        .adc_clk_i(1'b0), .adc_rst_i(adc_rst_q), .s_axis_adc_tvalid(1'b0), .s_axis_adc_tready(),
        .s_axis_adc_tdata('0),
        .mac_tx_clk_i(clk), .mac_tx_rst_i(mac_tx_rst_q),
        .mac_rx_clk_i(clk), .mac_rx_rst_i(mac_rx_rst_q),
        .s_axil_awprot(3'd0), .s_axil_arprot(3'd0),
        .cpu_clk_i(1'b0), .cpu_rst_i(1'b0),
        .s_axil_cpu_awaddr('0), .s_axil_cpu_awprot('0), .s_axil_cpu_awvalid(1'b0),
        .s_axil_cpu_awready(), .s_axil_cpu_wdata('0), .s_axil_cpu_wstrb('0),
        .s_axil_cpu_wvalid(1'b0), .s_axil_cpu_wready(), .s_axil_cpu_bresp(),
        .s_axil_cpu_bvalid(), .s_axil_cpu_bready(1'b0), .s_axil_cpu_araddr('0),
        .s_axil_cpu_arprot('0), .s_axil_cpu_arvalid(1'b0), .s_axil_cpu_arready(),
        .s_axil_cpu_rdata(), .s_axil_cpu_rresp(), .s_axil_cpu_rvalid(), .s_axil_cpu_rready(1'b0)
    );
  end else begin : g_no_nic
    samplewire_board #(
        .W    (W),
        .Slots(Slots)
    ) u_board (
        .*,
        .clk_i(clk), .rst_i(rst_q), .time_ns_i(time_q), .sync_i(1'b0),
        .adc_clk_i(1'b0), .adc_rst_i(adc_rst_q), .s_axis_adc_tvalid(1'b0), .s_axis_adc_tready(),
        .s_axis_adc_tdata('0),
        .mac_tx_clk_i(clk), .mac_tx_rst_i(mac_tx_rst_q),
        .mac_rx_clk_i(clk), .mac_rx_rst_i(mac_rx_rst_q),
        .s_axil_awprot(3'd0), .s_axil_arprot(3'd0),
        .m_axis_nic_tdata(), .m_axis_nic_tkeep(), .m_axis_nic_tvalid(), .m_axis_nic_tready(1'b0),
        .m_axis_nic_tlast(), .m_axis_nic_tuser(),
        .s_axis_nic_tdata('0), .s_axis_nic_tkeep('0), .s_axis_nic_tvalid(1'b0),
        .s_axis_nic_tready(), .s_axis_nic_tlast(1'b0), .s_axis_nic_tuser(1'b0),
        .nic_share_i('0), .nic_event_o()
    );
    assign afb_ready_o           = '0;
    assign afb_valid_o           = '0;
    assign afb_o                 = '0;
    assign acb_ready_o           = '0;
    assign acb_valid_o           = '0;
    assign acb_o                 = '0;
    assign irq_o                 = '0;
    assign dram_request_valid_o  = '0;
    assign dram_request_o        = '0;
    assign dram_response_ready_o = '0;
  end

  if (Cores == 0) begin : g_no_cores
    assign asleep_o              = '1;
    assign exit_valid_o          = '0;
    assign exit_code_o           = '0;
    assign console_valid_o       = '0;
    assign console_o             = '0;
    assign console_ready_o       = '0;
  end

endmodule

`default_nettype wire
