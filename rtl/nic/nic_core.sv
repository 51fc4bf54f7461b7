// The NIC without its registers: queues, engines and packet memory, or the way to one.
//
// The queues of the processor ports are reached by operations (port_i: which one), the memory by
// ACB, a port each. A test module in the NIC has requester 3 of the queues and the last ACB port.
//
// Memory: nic_pkg::MemoryLocal is nic_memory. MemoryOutside and MemoryL2 access a memory at the port
// dram_*, whose addresses are those of the buffers; it answers in order and is reset with rst_i.
// Frames then leave by store and forward, since the memory may pause. The port is idle for a local
// memory.
//
// Rings: the queues too lie in this memory, in the last 16 KiB of AddressBits, as in NIC_1.1 of T:
// buffers stand elsewhere, and processors do not write there.
//
// Throughput, latencies, back-pressure: nic_queues, nic_receive, nic_transmit, nic_memory, nic_share,
// nic_l2. One clock.
`default_nettype none

module nic_core #(
    parameter  int unsigned Ports       = 1,  // of processors, to memory
    parameter  int unsigned RegisterPorts = Ports,  // that operations come from
    parameter  bit          Tests       = 1'b0,  // with ports of test modules
    parameter  int unsigned Memory      = nic_pkg::MemoryLocal,
    parameter  int unsigned AddressBits = 17,  // of packet memory, in bytes
    parameter  bit          Rings       = 1'b0,
    parameter  int unsigned Buffers     = 128,  // at most, a power of two
    parameter  bit          BigEndian   = 1'b0,  // a dword's first byte in memory is the highest
    localparam int unsigned PortBits    = RegisterPorts > 1 ? $clog2(RegisterPorts) : 1,
    localparam int unsigned Masters     = Ports + (Tests ? 1 : 0),
    localparam int unsigned Operators   = Tests ? 2 : 1
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire nic_pkg::config_t config_i,
    input  wire logic             [31:0] counter_i,
    output      nic_pkg::events_t events_o,

    // Operations of processor ports, then of a test module.
    input  wire logic            [               Operators-1:0] op_valid_i,
    output      logic            [               Operators-1:0] op_ready_o,
    input  wire logic            [Operators*nic_pkg::OpBits-1:0] op_i,
    input  wire logic            [                PortBits-1:0] port_i,
    output      logic            [               Operators-1:0] result_valid_o,
    output      logic            [                        31:0] result_o,
    output      logic                                           port_held_o,  // nic_queues
    input  wire nic_pkg::queue_t                                level_queue_i,
    output      logic            [    $clog2(nic_pkg::Depth):0] level_o,
    output      logic            [        nic_pkg::Servers-1:0] receive_waits_o,
    output      logic                                           owns_o,

    // Of acb_request_t and acb_response_t: processor ports, then a test module.
    input  wire logic [                           Masters-1:0] request_valid_i,
    output      logic [                           Masters-1:0] request_ready_o,
    input  wire logic [ Masters*nic_pkg::AcbRequestBits-1:0] request_i,
    output      logic [                           Masters-1:0] response_valid_o,
    input  wire logic [                           Masters-1:0] response_ready_i,
    output      logic [Masters*nic_pkg::AcbResponseBits-1:0] response_o,

    // The memory outside.
    output      logic                   dram_request_valid_o,
    input  wire logic                   dram_request_ready_i,
    output      nic_pkg::acb_request_t  dram_request_o,
    input  wire logic                   dram_response_valid_i,
    output      logic                   dram_response_ready_o,
    input  wire nic_pkg::acb_response_t dram_response_i,

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

  localparam int unsigned Engines = Rings ? 3 : 2;
  localparam int unsigned RingsBits = 14;  // of their bytes
  localparam int unsigned CountBits = $clog2(Buffers) + 1;
  localparam int unsigned MemoryPorts = Engines + Masters;
  localparam int unsigned Requesters = 2 + Operators;
  // Dwords of the largest buffer.
  localparam int unsigned FrameBeats = 2048;

  if (Rings && AddressBits <= RingsBits) begin : g_bad_rings
    $error("nic_core: the rings take the last 16 KiB, buffers need more");
  end

  nic_pkg::events_t events;
  nic_pkg::op_t receive_op, transmit_op;
  logic [Requesters-1:0] op_ready, result_valid;
  logic receive_op_valid, transmit_op_valid, free_waits;
  nic_pkg::acb_request_t rings_request;
  nic_pkg::acb_response_t rings_response;
  logic rings_request_valid, rings_request_ready, rings_response_valid;
  logic [nic_pkg::Servers-1:0] receive_full, transmit_waits, transmit_full;
  // Buffers stand at multiples of their size: an engine joins their address and the place in them.
  logic [28:0] base_q;
  always_ff @(posedge clk_i) begin
    base_q <= config_i.base[31:3] & (29'h1fff_fff0 << config_i.buffer_bits);
  end

  nic_queues #(
      .Requesters(Requesters),
      .Ports     (RegisterPorts),
      .Buffers   (Buffers),
      .Rings     (Rings),
      .RingsPage ((1 << (AddressBits - RingsBits)) - 1)
  ) u_queues (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .base_i          (base_q),
      .bits_i          (config_i.buffer_bits),
      .count_i         (config_i.buffers[CountBits-1:0]),
      .lock_cycles_i   (config_i.lock_cycles),
      .op_valid_i      ({op_valid_i, transmit_op_valid, receive_op_valid}),
      .op_i            ({op_i, transmit_op, receive_op}),
      .port_i          (port_i),
      .op_ready_o      (op_ready),
      .result_valid_o  (result_valid),
      .result_o        (result_o),
      .port_held_o     (port_held_o),
      .free_waits_o    (free_waits),
      .receive_waits_o (receive_waits_o),
      .owns_o          (owns_o),
      .receive_full_o  (receive_full),
      .transmit_waits_o(transmit_waits),
      .transmit_full_o (transmit_full),
      .level_queue_i   (level_queue_i),
      .level_o         (level_o),
      .request_valid_o (rings_request_valid),
      .request_ready_i (rings_request_ready),
      .request_o       (rings_request),
      .response_valid_i(rings_response_valid),
      .response_i      (rings_response),
      .ev_bad_o        (events.bad_push),
      .ev_full_o       (events.full_push),
      .ev_locked_o     (events.locked_op),
      .ev_revoked_o    (events.revoked),
      .ev_failed_o     (events.failed_op)
  );

  assign op_ready_o     = op_ready[Requesters-1:2];
  assign result_valid_o = result_valid[Requesters-1:2];

  nic_pkg::acb_request_t receive_request, transmit_request;
  nic_pkg::acb_response_t receive_response, transmit_response;
  logic receive_request_valid, transmit_request_valid;
  logic receive_response_valid, transmit_response_valid;
  logic receive_request_ready, transmit_request_ready;

  nic_receive #(
      .BigEndian(BigEndian)
  ) u_receive (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .enable_i        (config_i.enable),
      .loopback_i      (config_i.loopback),
      .servers_i       (config_i.servers),
      .choice_i        (config_i.choice),
      .filter_i        (config_i.filter),
      .mac_i           (config_i.mac),
      .ethertype_i     (config_i.ethertype),
      .port_i          (config_i.udp_port),
      .address_i       (config_i.address_high),
      .buffer_bits_i   (config_i.buffer_bits),
      .counter_i       (counter_i),
      .s_axis_tdata    (s_axis_tdata),
      .s_axis_tkeep    (s_axis_tkeep),
      .s_axis_tvalid   (s_axis_tvalid),
      .s_axis_tready   (s_axis_tready),
      .s_axis_tlast    (s_axis_tlast),
      .s_axis_tuser    (s_axis_tuser),
      .op_valid_o      (receive_op_valid),
      .op_ready_i      (op_ready[0]),
      .op_o            (receive_op),
      .result_valid_i  (result_valid[0]),
      .result_i        (result_o),
      .free_waits_i    (free_waits),
      .receive_full_i  (receive_full),
      .transmit_full_i (transmit_full),
      .request_valid_o (receive_request_valid),
      .request_ready_i (receive_request_ready),
      .request_o       (receive_request),
      .response_valid_i(receive_response_valid),
      .response_i      (receive_response),
      .ev_received_o   (events.received),
      .ev_bad_o        (events.bad),
      .ev_too_long_o   (events.too_long),
      .ev_filtered_o   (events.filtered),
      .ev_full_o       (events.queue_full),
      .ev_failed_o     (events.write_failed),
      .ev_disabled_o   (events.disabled)
  );

  nic_transmit #(
      .BigEndian   (BigEndian),
      .StoreForward(Memory != nic_pkg::MemoryLocal),
      .Depth       (Memory != nic_pkg::MemoryLocal ? FrameBeats : 32)
  ) u_transmit (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .enable_i        (config_i.enable),
      .address_i       (config_i.address_high),
      .buffer_bits_i   (config_i.buffer_bits),
      .waiting_i       (transmit_waits),
      .op_valid_o      (transmit_op_valid),
      .op_ready_i      (op_ready[1]),
      .op_o            (transmit_op),
      .result_valid_i  (result_valid[1]),
      .result_i        (result_o),
      .request_valid_o (transmit_request_valid),
      .request_ready_i (transmit_request_ready),
      .request_o       (transmit_request),
      .response_valid_i(transmit_response_valid),
      .response_i      (transmit_response),
      .m_axis_tdata    (m_axis_tdata),
      .m_axis_tkeep    (m_axis_tkeep),
      .m_axis_tvalid   (m_axis_tvalid),
      .m_axis_tready   (m_axis_tready),
      .m_axis_tlast    (m_axis_tlast),
      .m_axis_tuser    (m_axis_tuser),
      .ev_sent_o       (events.sent),
      .ev_length_o     (events.bad_length),
      .ev_failed_o     (events.read_failed)
  );

  // ------------------------------------------------------------------ memory

  // Of all ports: engines, rings, processors, a test module.
  logic [MemoryPorts-1:0] request_valid, request_ready, response_valid, response_ready;
  logic [MemoryPorts*nic_pkg::AcbRequestBits-1:0] request;
  logic [MemoryPorts*nic_pkg::AcbResponseBits-1:0] response;

  if (Rings) begin : g_rings
    assign request_valid = {
      request_valid_i, rings_request_valid, transmit_request_valid, receive_request_valid
    };
    assign request = {request_i, rings_request, transmit_request, receive_request};
    assign {request_ready_o, rings_request_ready, transmit_request_ready, receive_request_ready} =
        request_ready;
    assign {response_valid_o, rings_response_valid, transmit_response_valid,
            receive_response_valid} = response_valid;
    assign {response_o, rings_response, transmit_response, receive_response} = response;
  end else begin : g_no_rings
    assign request_valid = {request_valid_i, transmit_request_valid, receive_request_valid};
    assign request       = {request_i, transmit_request, receive_request};
    assign {request_ready_o, transmit_request_ready, receive_request_ready} = request_ready;
    assign {response_valid_o, transmit_response_valid, receive_response_valid} = response_valid;
    assign {response_o, transmit_response, receive_response} = response;
    assign rings_request_ready  = 1'b0;
    assign rings_response_valid = 1'b0;
    assign rings_response       = '0;
  end

  assign response_ready = {response_ready_i, {Engines{1'b1}}};

  if (Memory == nic_pkg::MemoryLocal) begin : g_local
    nic_memory #(
        .Ports      (MemoryPorts),
        .Engines    (Engines),
        .AddressBits(AddressBits)
    ) u_memory (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .request_valid_i (request_valid),
        .request_ready_o (request_ready),
        .request_i       (request),
        .response_valid_o(response_valid),
        .response_ready_i(response_ready),
        .response_o      (response)
    );

    assign dram_request_valid_o  = 1'b0;
    assign dram_request_o        = '0;
    assign dram_response_ready_o = 1'b0;
    assign events.write_back_failed = 1'b0;
  end else if (Memory == nic_pkg::MemoryOutside) begin : g_outside
    nic_share #(
        .Ports  (MemoryPorts),
        .Engines(Engines)
    ) u_share (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .request_valid_i (request_valid),
        .request_ready_o (request_ready),
        .request_i       (request),
        .response_valid_o(response_valid),
        .response_ready_i(response_ready),
        .response_o      (response),
        .m_valid_o       (dram_request_valid_o),
        .m_ready_i       (dram_request_ready_i),
        .m_request_o     (dram_request_o),
        .m_valid_i       (dram_response_valid_i),
        .m_ready_o       (dram_response_ready_o),
        .m_response_i    (dram_response_i)
    );

    assign events.write_back_failed = 1'b0;
  end else if (Memory == nic_pkg::MemoryL2) begin : g_l2
    nic_l2 #(
        .Ports      (MemoryPorts),
        .Engines    (Engines),
        .AddressBits(AddressBits)
    ) u_l2 (
        .clk_i                (clk_i),
        .rst_i                (rst_i),
        .request_valid_i      (request_valid),
        .request_ready_o      (request_ready),
        .request_i            (request),
        .response_valid_o     (response_valid),
        .response_ready_i     (response_ready),
        .response_o           (response),
        .flush_i              (1'b0),
        .flush_done_o         (),
        .dram_request_valid_o (dram_request_valid_o),
        .dram_request_ready_i (dram_request_ready_i),
        .dram_request_o       (dram_request_o),
        .dram_response_valid_i(dram_response_valid_i),
        .dram_response_ready_o(dram_response_ready_o),
        .dram_response_i      (dram_response_i),
        .ev_fetch_o           (),
        .ev_take_o            (),
        .ev_write_back_o      (),
        .ev_write_failed_o    (events.write_back_failed)
    );
  end else begin : g_bad_memory
    $error("Memory must be one of nic_pkg's three");
  end

  assign events_o = events;

endmodule

`default_nettype wire
