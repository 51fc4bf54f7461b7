// The NIC: registers, queues, engines and packet memory, between processors and a stream of frames.
// Memory (nic_pkg) chooses where that is: in the NIC, or at the ACB port dram_* (nic_core). With
// Rings the queues are there too.
//
// Each processor port is an AFB port to the registers and an ACB port to the memory; with Axil an
// AXI4-Lite port to the registers stands beside them. With Tests there are the test modules of
// queues and memory behind the registers debug_1 and debug_2.
//
// rst_i empties the queues and clears `control`; memory and other registers keep their contents. A
// memory at dram_* is reset with it: what it answers later would be for others.
// Throughput, latencies, back-pressure: nic_registers, nic_afb, nic_core and its parts.
//
// Clocks: clk_i; with CpuClock the processors' ports and irq_o are on cpu_clk_i, through
// nic_bus_cdc (its resets: docs/nic.md#resets) and sync_bits. Without, cpu_clk_i and cpu_rst_i have no
// effect.
`default_nettype none

module nic #(
    parameter int unsigned Ports       = 1,  // of processors
    parameter bit          Axil        = 1'b0,
    parameter bit          Tests       = 1'b0,
    parameter int unsigned Memory      = nic_pkg::MemoryLocal,
    parameter int unsigned AddressBits = 17,  // of packet memory, in bytes; local: 128 or 256 KiB
    parameter bit          Rings       = 1'b0,  // queues in packet memory, not in the NIC
    parameter int unsigned Buffers     = 128,  // at most, a power of two up to 16,384
    parameter bit          BigEndian   = 1'b0,  // a dword's first byte in memory is the highest
    parameter bit          CpuClock    = 1'b0  // processors have a clock of their own
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic cpu_clk_i,
    input wire logic cpu_rst_i,

    // Of nic_pkg's afb_request_t, register_response_t, acb_request_t and acb_response_t; port 0 in
    // the lowest bits.
    input  wire logic [                              Ports-1:0] afb_valid_i,
    output      logic [                              Ports-1:0] afb_ready_o,
    input  wire logic [       Ports*nic_pkg::AfbRequestBits-1:0] afb_i,
    output      logic [                              Ports-1:0] afb_valid_o,
    input  wire logic [                              Ports-1:0] afb_ready_i,
    output      logic [ Ports*nic_pkg::RegisterResponseBits-1:0] afb_o,
    input  wire logic [                              Ports-1:0] acb_valid_i,
    output      logic [                              Ports-1:0] acb_ready_o,
    input  wire logic [       Ports*nic_pkg::AcbRequestBits-1:0] acb_i,
    output      logic [                              Ports-1:0] acb_valid_o,
    input  wire logic [                              Ports-1:0] acb_ready_i,
    output      logic [      Ports*nic_pkg::AcbResponseBits-1:0] acb_o,

    input  wire logic [ 9:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output      logic        s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output      logic        s_axil_wready,
    output      logic [ 1:0] s_axil_bresp,
    output      logic        s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [ 9:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output      logic        s_axil_arready,
    output      logic [31:0] s_axil_rdata,
    output      logic [ 1:0] s_axil_rresp,
    output      logic        s_axil_rvalid,
    input  wire logic        s_axil_rready,

    output logic [nic_pkg::Servers-1:0] irq_o,

    // The memory outside: nic_core's.
    output      logic                   dram_request_valid_o,
    input  wire logic                   dram_request_ready_i,
    output      nic_pkg::acb_request_t  dram_request_o,
    input  wire logic                   dram_response_valid_i,
    output      logic                   dram_response_ready_o,
    input  wire nic_pkg::acb_response_t dram_response_i,

    // The MAC side.
    output      logic enable_mac_o,
    output      logic loopback_mac_o,
    output      logic                       [ 1:0] route_o,
    output      logic                       [ 7:0] share_o,
    output      nic_pkg::generator_cfg_t           generator_cfg_o,
    output      logic                       [31:0] counter_o,
    input  wire nic_pkg::generator_status_t        generator_i,
    input  wire nic_pkg::checker_status_t          checker_i,
    input  wire nic_pkg::attach_event_t            attach_event_i,
    input  wire logic ev_mac_rx_bad_i,
    input  wire logic ev_mac_rx_dropped_i,
    input  wire logic ev_mac_tx_dropped_i,

    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    output      logic        s_axis_tready,
    input  wire logic        s_axis_tlast,
    input  wire logic        s_axis_tuser,   // with tlast: bad

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,
    output      logic        m_axis_tuser    // with tlast: cut short
);

  localparam int unsigned RegisterPorts = Ports + (Axil ? 1 : 0);
  localparam int unsigned PortBits = RegisterPorts > 1 ? $clog2(RegisterPorts) : 1;
  localparam int unsigned Masters = Ports + (Tests ? 1 : 0);
  localparam int unsigned Operators = Tests ? 2 : 1;
  localparam int unsigned RequestBits = nic_pkg::RegisterRequestBits;

  // ------------------------------------------------------------------ registers

  // p_: at the ports, on their clock. A port has one request under way, and takes its response at once.
  logic port_clk, port_rst;
  logic [RegisterPorts-1:0] p_valid, p_ready, p_answers, p_lock;
  logic [RegisterPorts*RequestBits-1:0] p_request;
  logic [RegisterPorts*nic_pkg::RegisterResponseBits-1:0] p_response;
  logic [RegisterPorts-1:0] request_valid, request_ready, response_valid, lock;
  logic [RegisterPorts*RequestBits-1:0] request;
  nic_pkg::register_response_t response;
  logic [Ports-1:0] cpu_valid, cpu_ready, cpu_answers, cpu_takes;  // ACB, on clk_i
  logic [Ports*nic_pkg::AcbRequestBits-1:0] cpu_request;
  logic [Ports*nic_pkg::AcbResponseBits-1:0] cpu_response;
  logic [nic_pkg::Servers-1:0] irq;

  if (CpuClock) begin : g_clock
    assign port_clk = cpu_clk_i;
    assign port_rst = cpu_rst_i;

    sync_bits #(
        .Width(nic_pkg::Servers)
    ) u_irq (
        .clk_i(cpu_clk_i),
        .d_i  (irq),
        .q_o  (irq_o)
    );

    for (genvar n = 0; n < RegisterPorts; n++) begin : g_registers
      nic_bus_cdc #(
          .RequestBits (RequestBits + 1),
          .ResponseBits(nic_pkg::RegisterResponseBits)
      ) u_cdc (
          .s_clk_i           (cpu_clk_i),
          .s_rst_i           (cpu_rst_i),
          .s_request_valid_i (p_valid[n]),
          .s_request_ready_o (p_ready[n]),
          .s_request_i       ({p_lock[n], p_request[n*RequestBits+:RequestBits]}),
          .s_response_valid_o(p_answers[n]),
          .s_response_ready_i(1'b1),
          .s_response_o      (
              p_response[n*nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits]),
          .m_clk_i           (clk_i),
          .m_rst_i           (rst_i),
          .m_request_valid_o (request_valid[n]),
          .m_request_ready_i (request_ready[n]),
          .m_request_o       ({lock[n], request[n*RequestBits+:RequestBits]}),
          .m_response_valid_i(response_valid[n]),
          .m_response_ready_o(),
          .m_response_i      (response)
      );
    end

    for (genvar n = 0; n < Ports; n++) begin : g_memory
      nic_bus_cdc #(
          .RequestBits (nic_pkg::AcbRequestBits),
          .ResponseBits(nic_pkg::AcbResponseBits)
      ) u_cdc (
          .s_clk_i           (cpu_clk_i),
          .s_rst_i           (cpu_rst_i),
          .s_request_valid_i (acb_valid_i[n]),
          .s_request_ready_o (acb_ready_o[n]),
          .s_request_i       (acb_i[n*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits]),
          .s_response_valid_o(acb_valid_o[n]),
          .s_response_ready_i(acb_ready_i[n]),
          .s_response_o      (acb_o[n*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits]),
          .m_clk_i           (clk_i),
          .m_rst_i           (rst_i),
          .m_request_valid_o (cpu_valid[n]),
          .m_request_ready_i (cpu_ready[n]),
          .m_request_o       (cpu_request[n*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits]),
          .m_response_valid_i(cpu_answers[n]),
          .m_response_ready_o(cpu_takes[n]),
          .m_response_i      (cpu_response[n*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits])
      );
    end
  end else begin : g_no_clock
    assign port_clk      = clk_i;
    assign port_rst      = rst_i;
    assign irq_o         = irq;
    assign request_valid = p_valid;
    assign p_ready       = request_ready;
    assign lock          = p_lock;
    assign request       = p_request;
    assign p_answers     = response_valid;
    assign p_response    = {RegisterPorts{response}};
    assign cpu_valid     = acb_valid_i;
    assign acb_ready_o   = cpu_ready;
    assign cpu_request   = acb_i;
    assign acb_valid_o   = cpu_answers;
    assign cpu_takes     = acb_ready_i;
    assign acb_o         = cpu_response;
  end

  for (genvar n = 0; n < Ports; n++) begin : g_afb
    nic_afb u_afb (
        .clk_i           (port_clk),
        .rst_i           (port_rst),
        .afb_valid_i     (afb_valid_i[n]),
        .afb_ready_o     (afb_ready_o[n]),
        .afb_i           (afb_i[n*nic_pkg::AfbRequestBits+:nic_pkg::AfbRequestBits]),
        .afb_valid_o     (afb_valid_o[n]),
        .afb_ready_i     (afb_ready_i[n]),
        .afb_o           (afb_o[n*nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits]),
        .request_valid_o (p_valid[n]),
        .request_ready_i (p_ready[n]),
        .request_o       (p_request[n*RequestBits+:RequestBits]),
        .lock_o          (p_lock[n]),
        .response_valid_i(p_answers[n]),
        .response_i      (
            p_response[n*nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits])
    );
  end

  if (Axil) begin : g_axil
    nic_axil u_axil (
        .clk_i           (port_clk),
        .rst_i           (port_rst),
        .s_axil_awaddr   (s_axil_awaddr),
        .s_axil_awprot   (s_axil_awprot),
        .s_axil_awvalid  (s_axil_awvalid),
        .s_axil_awready  (s_axil_awready),
        .s_axil_wdata    (s_axil_wdata),
        .s_axil_wstrb    (s_axil_wstrb),
        .s_axil_wvalid   (s_axil_wvalid),
        .s_axil_wready   (s_axil_wready),
        .s_axil_bresp    (s_axil_bresp),
        .s_axil_bvalid   (s_axil_bvalid),
        .s_axil_bready   (s_axil_bready),
        .s_axil_araddr   (s_axil_araddr),
        .s_axil_arprot   (s_axil_arprot),
        .s_axil_arvalid  (s_axil_arvalid),
        .s_axil_arready  (s_axil_arready),
        .s_axil_rdata    (s_axil_rdata),
        .s_axil_rresp    (s_axil_rresp),
        .s_axil_rvalid   (s_axil_rvalid),
        .s_axil_rready   (s_axil_rready),
        .request_valid_o (p_valid[Ports]),
        .request_ready_i (p_ready[Ports]),
        .request_o       (p_request[Ports*RequestBits+:RequestBits]),
        .lock_o          (p_lock[Ports]),
        .response_valid_i(p_answers[Ports]),
        .response_i      (
            p_response[Ports*nic_pkg::RegisterResponseBits+:nic_pkg::RegisterResponseBits])
    );
  end else begin : g_no_axil
    assign s_axil_awready = 1'b0;
    assign s_axil_wready  = 1'b0;
    assign s_axil_bresp   = 2'b00;
    assign s_axil_bvalid  = 1'b0;
    assign s_axil_arready = 1'b0;
    assign s_axil_rdata   = '0;
    assign s_axil_rresp   = 2'b00;
    assign s_axil_rvalid  = 1'b0;
  end

  nic_pkg::op_t port_op;
  nic_pkg::queue_t level_queue;
  nic_pkg::config_t core_config;
  nic_pkg::events_t events;
  nic_regs_pkg::cfg_t cfg;
  nic_regs_pkg::event_t counted;
  logic [Operators-1:0] op_valid, op_ready, result_valid;
  logic [Operators*nic_pkg::OpBits-1:0] op;
  logic [PortBits-1:0] port;
  logic [nic_pkg::Servers-1:0] receive_waits;
  logic owns;
  logic [$clog2(nic_pkg::Depth):0] level;
  logic [31:0] result, counter, debug;
  logic debug_start, refused, registers_op_valid, port_held;

  assign counted.received       = events.received;
  assign counted.bad            = events.bad;
  assign counted.too_long       = events.too_long;
  assign counted.filtered       = events.filtered;
  assign counted.queue_full     = events.queue_full;
  assign counted.write_failed   = events.write_failed;
  assign counted.disabled       = events.disabled;
  assign counted.sent           = events.sent;
  assign counted.bad_length     = events.bad_length;
  assign counted.read_failed    = events.read_failed;
  assign counted.bad_push       = events.bad_push;
  assign counted.full_push      = events.full_push;
  assign counted.locked_op      = events.locked_op;
  assign counted.revoked        = events.revoked;
  assign counted.write_back_failed = events.write_back_failed;
  assign counted.failed_op      = events.failed_op;
  assign counted.refused        = refused;
  assign counted.mac_rx_dropped = ev_mac_rx_dropped_i;
  assign counted.mac_tx_dropped = ev_mac_tx_dropped_i;
  assign counted.mac_rx_bad     = ev_mac_rx_bad_i;
  assign counted.attach_rx         = attach_event_i.rx_kept;
  assign counted.attach_rx_no_room = attach_event_i.rx_no_room;
  assign counted.attach_rx_cut     = attach_event_i.rx_cut;
  assign counted.attach_tx         = attach_event_i.tx_kept;
  assign counted.attach_tx_dropped = attach_event_i.tx_dropped;

  nic_registers #(
      .Ports  (RegisterPorts),
      .Buffers(Buffers)
  ) u_registers (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .request_i       (request),
      .lock_i          (lock),
      .response_valid_o(response_valid),
      .response_o      (response),
      .op_valid_o      (registers_op_valid),
      .op_ready_i      (op_ready[0]),
      .op_o            (port_op),
      .port_o          (port),
      .op_held_i       (port_held),
      .result_i        (result),
      .level_queue_o   (level_queue),
      .level_i         (level),
      .receive_waits_i (receive_waits),
      .owns_i          (owns),
      .cfg_o           (cfg),
      .config_o        (core_config),
      .generator_cfg_o (generator_cfg_o),
      .counter_o       (counter),
      .irq_o           (irq),
      .debug_start_o   (debug_start),
      .debug_i         (debug),
      .generator_i     (generator_i),
      .checker_i       (checker_i),
      .ev_refused_o    (refused),
      .event_i         (counted)
  );

  assign enable_mac_o   = cfg.enable_mac;
  assign loopback_mac_o = cfg.mode == 2'd2;
  assign route_o        = cfg.route;
  assign share_o        = cfg.share;
  assign counter_o      = counter;

  // ------------------------------------------------------------------ the core

  logic [Masters-1:0] acb_valid, acb_ready, acb_answers;
  logic [Masters*nic_pkg::AcbRequestBits-1:0] acb_request;
  logic [Masters*nic_pkg::AcbResponseBits-1:0] acb_response;

  assign cpu_ready    = acb_ready[Ports-1:0];
  assign cpu_answers  = acb_answers[Ports-1:0];
  assign cpu_response = acb_response[Ports*nic_pkg::AcbResponseBits-1:0];

  nic_core #(
      .Ports        (Ports),
      .RegisterPorts(RegisterPorts),
      .Tests        (Tests),
      .Memory       (Memory),
      .AddressBits  (AddressBits),
      .Rings        (Rings),
      .Buffers      (Buffers),
      .BigEndian    (BigEndian)
  ) u_core (
      .clk_i                (clk_i),
      .rst_i                (rst_i),
      .config_i             (core_config),
      .counter_i            (counter),
      .events_o             (events),
      .op_valid_i           (op_valid),
      .op_ready_o           (op_ready),
      .op_i                 (op),
      .port_i               (port),
      .result_valid_o       (result_valid),
      .result_o             (result),
      .port_held_o          (port_held),
      .level_queue_i        (level_queue),
      .level_o              (level),
      .receive_waits_o      (receive_waits),
      .owns_o               (owns),
      .request_valid_i      (acb_valid),
      .request_ready_o      (acb_ready),
      .request_i            (acb_request),
      .response_valid_o     (acb_answers),
      .response_ready_i     (Masters'({1'b1, cpu_takes})),
      .response_o           (acb_response),
      .dram_request_valid_o (dram_request_valid_o),
      .dram_request_ready_i (dram_request_ready_i),
      .dram_request_o       (dram_request_o),
      .dram_response_valid_i(dram_response_valid_i),
      .dram_response_ready_o(dram_response_ready_o),
      .dram_response_i      (dram_response_i),
      .s_axis_tdata         (s_axis_tdata),
      .s_axis_tkeep         (s_axis_tkeep),
      .s_axis_tvalid        (s_axis_tvalid),
      .s_axis_tready        (s_axis_tready),
      .s_axis_tlast         (s_axis_tlast),
      .s_axis_tuser         (s_axis_tuser),
      .m_axis_tdata         (m_axis_tdata),
      .m_axis_tkeep         (m_axis_tkeep),
      .m_axis_tvalid        (m_axis_tvalid),
      .m_axis_tready        (m_axis_tready),
      .m_axis_tlast         (m_axis_tlast),
      .m_axis_tuser         (m_axis_tuser)
  );

  // ------------------------------------------------------------------ test modules

  if (Tests) begin : g_tests
    nic_pkg::op_t test_op;
    nic_pkg::acb_request_t test_request;
    nic_pkg::acb_response_t test_response;
    logic [31:0] queue_debug, memory_debug;
    logic test_op_valid, test_request_valid, is_memory;

    assign is_memory     = cfg.debug == 2'd3;
    assign test_response = acb_response[Ports*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits];
    assign op_valid      = {test_op_valid, registers_op_valid};
    assign op            = {test_op, port_op};
    assign acb_valid     = {test_request_valid, cpu_valid};
    assign acb_request   = {test_request, cpu_request};
    assign debug         = is_memory ? memory_debug : queue_debug;

    nic_queue_test u_queue_test (
        .clk_i         (clk_i),
        .rst_i         (rst_i),
        .start_i       (debug_start && !is_memory),
        .test_i        (cfg.debug),
        .debug_o       (queue_debug),
        .op_valid_o    (test_op_valid),
        .op_ready_i    (op_ready[1]),
        .op_o          (test_op),
        .result_valid_i(result_valid[1]),
        .result_i      (result)
    );

    nic_memory_test #(
        .AddressBits(AddressBits)
    ) u_memory_test (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .start_i         (debug_start && is_memory),
        .debug_o         (memory_debug),
        .request_valid_o (test_request_valid),
        .request_ready_i (acb_ready[Ports]),
        .request_o       (test_request),
        .response_valid_i(acb_answers[Ports]),
        .response_i      (test_response)
    );
  end else begin : g_no_tests
    assign op_valid    = registers_op_valid;
    assign op          = port_op;
    assign acb_valid   = cpu_valid;
    assign acb_request = cpu_request;
    assign debug       = '0;
  end

endmodule

`default_nettype wire
