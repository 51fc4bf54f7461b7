// Soft cores for the NIC: 1, 2 or 4, core n for server n, each with its program memory and ports to
// the NIC's registers (AFB) and packet memory (ACB). Core 0 has an AXI4-Lite master too, to the
// sender's registers; there the accesses of the others answer an error.
//
// The memory map, registers and cycles: nic_soc_core. All cores have the same program, which
// branches by its core's number; it is in the bitstream (ProgramFile), or load_i writes it, a word a
// cycle, while run_i is low. irq_i: the NIC's interrupt for each server. time_ns_i:
// nanoseconds, never falls; programs wake by it.
//
// The core itself is the module VexRiscv of VexRiscv_Lite.v (Python package
// pythondata-cpu-vexriscv). One clock; nic has CpuClock for another one than its own.
`default_nettype none

module nic_soc #(
    parameter  int unsigned Cores       = 1,
    parameter  int unsigned MemoryBytes = 131072,  // of each core
    parameter               ProgramFile = "",
    localparam int unsigned Aw          = $clog2(MemoryBytes) - 2
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic run_i,

    input wire logic [63:0] time_ns_i,

    input wire logic          load_i,
    input wire logic [Aw-1:0] load_word_i,
    input wire logic [  31:0] load_data_i,

    // The NIC, as its ports: core 0 in the lowest bits.
    input  wire logic [           nic_pkg::Servers-1:0]          irq_i,
    output      logic [                              Cores-1:0] afb_valid_o,
    input  wire logic [                              Cores-1:0] afb_ready_i,
    output      logic [       Cores*nic_pkg::AfbRequestBits-1:0] afb_o,
    input  wire logic [                              Cores-1:0] afb_valid_i,
    output      logic [                              Cores-1:0] afb_ready_o,
    input  wire logic [ Cores*nic_pkg::RegisterResponseBits-1:0] afb_i,
    output      logic [                              Cores-1:0] acb_valid_o,
    input  wire logic [                              Cores-1:0] acb_ready_i,
    output      logic [       Cores*nic_pkg::AcbRequestBits-1:0] acb_o,
    input  wire logic [                              Cores-1:0] acb_valid_i,
    output      logic [                              Cores-1:0] acb_ready_o,
    input  wire logic [      Cores*nic_pkg::AcbResponseBits-1:0] acb_i,

    // The sender's registers.
    output      logic [27:0] m_axil_awaddr,
    output      logic [ 2:0] m_axil_awprot,
    output      logic        m_axil_awvalid,
    input  wire logic        m_axil_awready,
    output      logic [31:0] m_axil_wdata,
    output      logic [ 3:0] m_axil_wstrb,
    output      logic        m_axil_wvalid,
    input  wire logic        m_axil_wready,
    input  wire logic [ 1:0] m_axil_bresp,
    input  wire logic        m_axil_bvalid,
    output      logic        m_axil_bready,
    output      logic [27:0] m_axil_araddr,
    output      logic [ 2:0] m_axil_arprot,
    output      logic        m_axil_arvalid,
    input  wire logic        m_axil_arready,
    input  wire logic [31:0] m_axil_rdata,
    input  wire logic [ 1:0] m_axil_rresp,
    input  wire logic        m_axil_rvalid,
    output      logic        m_axil_rready,

    output      logic [  Cores-1:0] asleep_o,
    output      logic [  Cores-1:0] exit_valid_o,  // a pulse
    output      logic [Cores*32-1:0] exit_code_o,
    output      logic [Cores*8-1:0] leds_o,
    output      logic [  Cores-1:0] console_valid_o,
    input  wire logic [  Cores-1:0] console_ready_i,
    output      logic [Cores*8-1:0] console_o,
    input  wire logic [  Cores-1:0] console_valid_i,
    output      logic [  Cores-1:0] console_ready_o,
    input  wire logic [Cores*8-1:0] console_i
);

  if (Cores != 1 && Cores != 2 && Cores != 4) begin : g_bad_cores
    $error("nic_soc: Cores is 1, 2 or 4");
  end

  logic [63:0] cycles_q;

  always_ff @(posedge clk_i) cycles_q <= rst_i ? '0 : cycles_q + 64'd1;

  // Each core's AXI4-Lite; those of the others than core 0 end at once, with an error.
  logic [Cores*28-1:0] awaddr, araddr;
  logic [Cores*3-1:0] awprot, arprot;
  logic [Cores*32-1:0] wdata;
  logic [Cores*4-1:0] wstrb;
  logic [Cores-1:0] awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid;
  logic [Cores-1:0] rready;

  assign m_axil_awaddr  = awaddr[27:0];
  assign m_axil_awprot  = awprot[2:0];
  assign m_axil_awvalid = awvalid[0];
  assign awready[0]     = m_axil_awready;
  assign m_axil_wdata   = wdata[31:0];
  assign m_axil_wstrb   = wstrb[3:0];
  assign m_axil_wvalid  = wvalid[0];
  assign wready[0]      = m_axil_wready;
  assign bvalid[0]      = m_axil_bvalid;
  assign m_axil_bready  = bready[0];
  assign m_axil_araddr  = araddr[27:0];
  assign m_axil_arprot  = arprot[2:0];
  assign m_axil_arvalid = arvalid[0];
  assign arready[0]     = m_axil_arready;
  assign rvalid[0]      = m_axil_rvalid;
  assign m_axil_rready  = rready[0];

  for (genvar n = 0; n < Cores; n++) begin : g_core
    localparam int unsigned N = n;

    if (N != 0) begin : g_no_sender
      logic b_q, r_q;

      assign awready[n] = 1'b1;
      assign wready[n]  = 1'b1;
      assign arready[n] = 1'b1;
      assign bvalid[n]  = b_q;
      assign rvalid[n]  = r_q;

      always_ff @(posedge clk_i) begin
        b_q <= wvalid[n] && !rst_i;
        r_q <= arvalid[n] && !rst_i;
      end
    end

    nic_soc_core #(
        .Core       (N),
        .Cores      (Cores),
        .MemoryBytes(MemoryBytes),
        .ProgramFile(ProgramFile)
    ) u_core (
        .clk_i          (clk_i),
        .rst_i          (rst_i),
        .run_i          (run_i),
        .load_i         (load_i),
        .load_word_i    (load_word_i),
        .load_data_i    (load_data_i),
        .irq_i          (irq_i[n]),
        .cycles_i       (cycles_q),
        .time_ns_i      (time_ns_i),
        .asleep_o       (asleep_o[n]),
        .exit_valid_o   (exit_valid_o[n]),
        .exit_code_o    (exit_code_o[n*32+:32]),
        .leds_o         (leds_o[n*8+:8]),
        .console_valid_o(console_valid_o[n]),
        .console_ready_i(console_ready_i[n]),
        .console_o      (console_o[n*8+:8]),
        .console_valid_i(console_valid_i[n]),
        .console_ready_o(console_ready_o[n]),
        .console_i      (console_i[n*8+:8]),
        .afb_valid_o    (afb_valid_o[n]),
        .afb_ready_i    (afb_ready_i[n]),
        .afb_o          (afb_o[n*nic_pkg::AfbRequestBits+:nic_pkg::AfbRequestBits]),
        .afb_valid_i    (afb_valid_i[n]),
        .afb_ready_o    (afb_ready_o[n]),
        .afb_i          (afb_i[n*nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits]),
        .acb_valid_o    (acb_valid_o[n]),
        .acb_ready_i    (acb_ready_i[n]),
        .acb_o          (acb_o[n*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits]),
        .acb_valid_i    (acb_valid_i[n]),
        .acb_ready_o    (acb_ready_o[n]),
        .acb_i          (acb_i[n*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits]),
        .m_axil_awaddr  (awaddr[n*28+:28]),
        .m_axil_awprot  (awprot[n*3+:3]),
        .m_axil_awvalid (awvalid[n]),
        .m_axil_awready (awready[n]),
        .m_axil_wdata   (wdata[n*32+:32]),
        .m_axil_wstrb   (wstrb[n*4+:4]),
        .m_axil_wvalid  (wvalid[n]),
        .m_axil_wready  (wready[n]),
        .m_axil_bresp   (N == 0 ? m_axil_bresp : 2'b11),
        .m_axil_bvalid  (bvalid[n]),
        .m_axil_bready  (bready[n]),
        .m_axil_araddr  (araddr[n*28+:28]),
        .m_axil_arprot  (arprot[n*3+:3]),
        .m_axil_arvalid (arvalid[n]),
        .m_axil_arready (arready[n]),
        .m_axil_rdata   (N == 0 ? m_axil_rdata : 32'd0),
        .m_axil_rresp   (N == 0 ? m_axil_rresp : 2'b11),
        .m_axil_rvalid  (rvalid[n]),
        .m_axil_rready  (rready[n])
    );
  end

endmodule

`default_nettype wire
