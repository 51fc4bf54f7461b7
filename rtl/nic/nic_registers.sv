// The registers of the NIC, as rtl/regs/nic.toml names them, for several ports (nic_afb, nic_axil).
//
// A port's request stands until it is ready; one of each port is under way at most. Its response
// comes 3 cycles after its first cycle, also of a queue register, where nothing else is requested:
// later by what nic_queues states where engines use the queues, and by 3 cycles for each other
// port, which take turns; and by the cycles in which op_held_i is 1 (queues as rings in memory). A
// read of a counter waits for a snapshot under way. response_valid_o is a pulse: a port takes its
// response in that cycle, and may show its next request in it. A register that was written has its
// value from that cycle on.
//
// lock_i beside a request excludes the other ports until a request of the same port without it, or
// for lock_cycles. Accesses to parts of words, reserved registers, and refused values answer err,
// count as refused and change nothing. rst_i clears `control` and what is under way; other
// registers keep their values. Before the first reset nothing is written or counted. Events are
// counted a cycle late. No clock crossing.
`default_nettype none

module nic_registers #(
    parameter  int unsigned Ports    = 2,
    parameter  int unsigned Buffers  = 128,  // at most
    localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Of nic_pkg::register_request_t; port 0 in the lowest bits.
    input  wire logic [                          Ports-1:0] request_valid_i,
    output      logic [                          Ports-1:0] request_ready_o,
    input  wire logic [Ports*nic_pkg::RegisterRequestBits-1:0] request_i,
    input  wire logic [                          Ports-1:0] lock_i,
    output      logic [                          Ports-1:0] response_valid_o,
    output      nic_pkg::register_response_t                response_o,

    // Requester 2 of nic_queues.
    output      logic                                    op_valid_o,
    input  wire logic                                    op_ready_i,
    output      nic_pkg::op_t                            op_o,
    output      logic            [         PortBits-1:0] port_o,
    input  wire logic                                    op_held_i,  // its result is not the next
    input  wire logic            [                 31:0] result_i,
    output      nic_pkg::queue_t                         level_queue_o,
    input  wire logic            [$clog2(nic_pkg::Depth):0] level_i,
    input  wire logic            [ nic_pkg::Servers-1:0] receive_waits_i,
    input  wire logic                                    owns_i,  // the NIC owns a buffer

    output nic_regs_pkg::cfg_t                         cfg_o,
    output nic_pkg::config_t                           config_o,   // of it, what nic_core needs
    output nic_pkg::generator_cfg_t                    generator_cfg_o,
    output logic               [                 31:0] counter_o,
    output logic               [ nic_pkg::Servers-1:0] irq_o,

    output      logic        debug_start_o,  // `debug` was written
    input  wire logic [31:0] debug_i,

    input wire nic_pkg::generator_status_t generator_i,
    input wire nic_pkg::checker_status_t   checker_i,

    output      logic                 ev_refused_o,
    input  wire nic_regs_pkg::event_t event_i
);

  if (Ports < 1 || Ports > 8) begin : g_bad_ports
    $error("nic_registers: 1 to 8 ports");
  end
  if (Buffers > 16384) begin : g_bad_buffers
    $error("nic_registers: `buffers` has 15 bits, for 2^14 buffers");
  end

  localparam int unsigned RequestBits = nic_pkg::RegisterRequestBits;
  localparam int unsigned Values = 4;  // of counters, before the first event

  nic_regs_pkg::cfg_t cfg_q;

  // ------------------------------------------------------------------ turns

  logic is_free;  // a request may be taken
  logic bus_locked_q;
  logic [PortBits-1:0] bus_holder_q, last_q, port, port_q;
  logic [24:0] bus_left_q;  // cycles of the bus lock; below zero it is over
  logic [Ports-1:0] may, grant;

  always_comb begin
    for (int unsigned n = 0; n < Ports; n++) begin
      may[n] = request_valid_i[n] && is_free && (!bus_locked_q || bus_holder_q == PortBits'(n));
    end
  end

  always_comb begin
    port = '0;
    for (int n = int'(Ports) - 1; n >= 0; n--) if (may[n]) port = PortBits'(n);
    for (int n = int'(Ports) - 1; n >= 0; n--) begin
      if (may[n] && PortBits'(n) > last_q) port = PortBits'(n);
    end
    for (int unsigned n = 0; n < Ports; n++) grant[n] = may[n] && port == PortBits'(n);
  end

  assign request_ready_o = grant;

  nic_pkg::register_request_t request, request_q;

  always_comb begin
    request = '0;
    for (int unsigned n = 0; n < Ports; n++) begin
      request = request | (grant[n] ? request_i[n*RequestBits+:RequestBits] : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    bus_left_q <= (bus_locked_q ? bus_left_q : {1'b0, cfg_q.lock_cycles}) - 25'd1;
    if (grant != '0) begin
      last_q       <= port;
      bus_locked_q <= |(grant & lock_i);
      bus_holder_q <= port;
    end
    if (bus_locked_q && bus_left_q[24]) bus_locked_q <= 1'b0;
    if (rst_i) begin
      last_q       <= '0;
      bus_locked_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ first cycle of an access

  // 8 to 23, 24 and 26.
  function automatic logic is_queue(input logic [7:0] id);
    is_queue = id[7:5] == '0 && id[4:3] != '0 && !id[0] && !(&id[4:2]);
  endfunction

  // What it is the register of, or of whose status: a part of the ID.
  function automatic nic_pkg::queue_t queue_of(input logic [7:0] id);
    nic_pkg::queue_t queue;
    queue.server = &id[4:3] ? '0 : id[2:1];
    unique case (id[4:3])
      2'd1: queue.kind = nic_pkg::Receive;
      2'd2: queue.kind = nic_pkg::Transmit;
      default: queue.kind = id[1] ? nic_pkg::Lock : nic_pkg::Free;
    endcase
    queue_of = queue;
  endfunction

  function automatic logic is_window(input logic [7:0] id);
    is_window = id[7:6] == nic_regs_pkg::WindowHigh || id[7:6] == nic_regs_pkg::WindowHigh + 2'd1;
  endfunction

  // Of the window only what counts something.
  function automatic logic is_entry(input logic [7:0] id);
    is_entry = is_window(id) &&
        {id[6] ^ nic_regs_pkg::WindowHigh[0], id[5:1]} < 6'(nic_regs_pkg::NumEvents + Values);
  endfunction

  // Not readable, or not writable.
  function automatic logic is_refused(input nic_pkg::register_request_t r);
    if (r.read) is_refused = !nic_regs_pkg::Readable[r.index] && !is_entry(r.index);
    else is_refused = !nic_regs_pkg::Writable[r.index];
    if (r.mask != 4'hf) is_refused = 1'b1;
  endfunction

  // A write of a value that means nothing, or of what stands while the buffers are in use.
  function automatic logic is_wrong(input nic_pkg::register_request_t r, input logic is_used);
    unique case (r.index)
      nic_regs_pkg::IdServers:
      is_wrong = r.data[31:3] != '0 || r.data[2:0] == '0 || r.data[2:0] > 3'd4;
      nic_regs_pkg::IdBuffers: is_wrong = r.data > Buffers;
      nic_regs_pkg::IdMode, nic_regs_pkg::IdRoute:
      is_wrong = r.data[31:2] != '0 || &r.data[1:0];
      default: is_wrong = 1'b0;
    endcase
    if (nic_regs_pkg::Steady[r.index] && is_used) is_wrong = 1'b1;
    if (r.read) is_wrong = 1'b0;
  endfunction

  logic first_q, second_q;  // cycles of the access
  nic_pkg::queue_t target_q;
  logic queue_q, window_q, bad_q, window_2_q, queue_2_q, bad_2_q, wrong, step;
  logic snapshot_busy, snapshot_q;
  logic write_q;  // in the second cycle, and the request stands

  assign is_free = !first_q && !second_q && !rst_i;
  assign step    = first_q && (op_valid_o ? op_ready_i : !window_q || !snapshot_busy);
  assign wrong   = is_wrong(request_q, cfg_q.enable || owns_i);

  always_ff @(posedge clk_i) begin
    if (grant != '0) begin
      request_q <= request;
      port_q    <= port;
      queue_q   <= is_queue(request.index);
      target_q  <= queue_of(request.index);
      window_q  <= is_window(request.index);
      bad_q     <= is_refused(request);
    end
  end

  always_ff @(posedge clk_i) begin
    first_q  <= grant != '0 || (first_q && !step);
    second_q <= step || op_held_i;
    if (rst_i) begin
      first_q  <= 1'b0;
      second_q <= 1'b0;
    end
  end

  // Until the first reset other registers may have any value: nothing is written or counted.
  // always_ff allows no other process, not even `initial`.
  logic was_reset_q;

  initial was_reset_q = 1'b0;

  always @(posedge clk_i) if (rst_i) was_reset_q <= 1'b1;

  initial write_q = 1'b0;

  always @(posedge clk_i) begin
    write_q <= first_q && !request_q.read && !bad_q && !wrong && !queue_q;
    if (rst_i || !was_reset_q) write_q <= 1'b0;
  end

  assign op_valid_o    = first_q && queue_q && !bad_q;
  assign op_o.push     = !request_q.read;
  assign op_o.target   = target_q;
  assign op_o.pointer  = request_q.data;
  assign port_o        = port_q;
  assign level_queue_o = target_q;

  // ------------------------------------------------------------------ what is written

  // Values from power-up on: always_ff allows no other process, not even `initial`.
  initial cfg_q = nic_regs_pkg::CfgReset;

  always @(posedge clk_i) begin
    if (write_q) cfg_q <= nic_regs_pkg::cfg_write(cfg_q, request_q.index, request_q.data);
    if (rst_i) begin
      cfg_q.enable     <= 1'b0;
      cfg_q.enable_mac <= 1'b0;
      cfg_q.enable_irq <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    snapshot_q    <= !rst_i && write_q && request_q.data[0] &&
        request_q.index == nic_regs_pkg::IdCommand;
    debug_start_o <= !rst_i && write_q && request_q.index == nic_regs_pkg::IdDebug1;
  end

  assign cfg_o                 = cfg_q;
  assign config_o.enable       = cfg_q.enable;
  assign config_o.loopback     = cfg_q.mode == 2'd1;
  assign config_o.servers      = cfg_q.servers;
  assign config_o.choice       = cfg_q.choice;
  assign config_o.filter       = cfg_q.filter;
  assign config_o.mac          = cfg_q.mac;
  assign config_o.ethertype    = cfg_q.ethertype;
  assign config_o.udp_port     = cfg_q.udp_port;
  assign config_o.address_high = cfg_q.address_high;
  assign config_o.base         = cfg_q.base;
  assign config_o.buffer_bits  = cfg_q.buffer_bits;
  assign config_o.buffers      = cfg_q.buffers;
  assign config_o.lock_cycles  = cfg_q.lock_cycles;

  assign generator_cfg_o.enable     = cfg_q.generate_on;
  assign generator_cfg_o.swap       = cfg_q.swap;
  assign generator_cfg_o.bytes_min  = cfg_q.bytes_min;
  assign generator_cfg_o.bytes_max  = cfg_q.bytes_max;
  assign generator_cfg_o.bytes_step = cfg_q.bytes_step;
  assign generator_cfg_o.gap_cycles = cfg_q.gap_cycles;
  assign generator_cfg_o.frames     = cfg_q.frames;
  assign generator_cfg_o.to         = cfg_q.to;
  assign generator_cfg_o.from       = cfg_q.from;
  assign generator_cfg_o.ether_type = cfg_q.generated_type;

  always_ff @(posedge clk_i) irq_o <= receive_waits_i & {nic_pkg::Servers{cfg_q.enable_irq}};

  // What is read back. Bits 6 and 4 of the IDs of kept registers follow from bit 7.
  (* ram_style = "distributed" *) logic [31:0] kept_mem[64];
  logic [5:0] kept;

  assign kept = {request_q.index[7], request_q.index[5], request_q.index[3:0]};

  initial begin
    for (int unsigned n = 0; n < 64; n++) begin
      kept_mem[n] = nic_regs_pkg::word_reset({
        1'(n >> 5), 1'(n >> 5), 1'(n >> 4), 1'(n >> 5), 4'(n)});
    end
  end

  always @(posedge clk_i) if (write_q) kept_mem[kept] <= request_q.data;

  // ------------------------------------------------------------------ what counts

  logic [31:0] counter_q, sent_q, received_q;
  nic_regs_pkg::event_t events_q;

  initial events_q = '0;

  always @(posedge clk_i) events_q <= rst_i || !was_reset_q ? '0 : event_i;

  always_ff @(posedge clk_i) begin
    counter_q  <= rst_i ? '0 : counter_q + 32'd1;
    sent_q     <= rst_i ? '0 : sent_q + 32'(events_q.sent);
    received_q <= rst_i ? '0 : received_q + 32'(events_q.received);
  end

  assign counter_o = counter_q;

  logic [63:0] snapshot;

  counters #(
      .Events(nic_regs_pkg::NumEvents)
  ) u_counters (
      .clk_i       (clk_i),
      .event_i     (events_q),
      .add_i       (32'd0),
      .time_ns_i   ({32'd0, counter_q}),
      .sync_index_i(64'd0),
      .sync_time_i (64'd0),
      .snapshot_i  (snapshot_q),
      .busy_o      (snapshot_busy),
      .rd_addr_i   ({request_q.index[6] ^ nic_regs_pkg::WindowHigh[0], request_q.index[5:1]}),
      .rd_data_o   (snapshot)
  );

  // Of generator and checker, two IDs each from GeneratorIds on: the low half, and the high half as
  // of the last read of a low one.
  localparam logic [7:0] GeneratorIds = nic_regs_pkg::IdGeneratedFrames;

  logic is_status, status_2_q;
  logic [63:0] status;
  logic [31:0] status_q, status_high_q;

  assign is_status = request_q.index[7:5] == GeneratorIds[7:5] && !(&request_q.index[4:2]);

  always_comb begin
    unique case (request_q.index[4:1])
      4'd0: status = 64'(generator_i.frames);
      4'd1: status = 64'(generator_i.bytes);
      4'd2: status = 64'(generator_i.cycles);
      4'd3: status = 64'(checker_i.frames);
      4'd4: status = 64'(checker_i.bytes);
      4'd5: status = 64'(checker_i.cycles);
      4'd6: status = 64'(checker_i.lost);
      4'd7: status = 64'(checker_i.duplicated);
      4'd8: status = 64'(checker_i.late);
      4'd9: status = 64'(checker_i.altered);
      4'd10: status = 64'(checker_i.foreign);
      4'd11: status = 64'(checker_i.trip_min);
      4'd12: status = 64'(checker_i.trip_max);
      default: status = checker_i.trip_sum;
    endcase
  end

  always_ff @(posedge clk_i) begin
    status_2_q <= is_status && request_q.read && !bad_q;
    status_q   <= request_q.index[0] ? status_high_q : status[31:0];
    // An access to it takes one first cycle.
    if (first_q && is_status && request_q.read && !bad_q && !request_q.index[0])
      status_high_q <= status[63:32];
  end

  // ------------------------------------------------------------------ what is read

  logic [Ports*3-1:0] push_result_q;
  logic [31:0] data, data_q, word_q;
  logic [PortBits-1:0] port_2_q;
  logic high_q, push_q, push_2_q, err_q, is_result_q;

  always_comb begin
    unique case (request_q.index)
      nic_regs_pkg::IdControl:
      data = {29'd0, cfg_q.enable_irq, cfg_q.enable_mac, cfg_q.enable};
      nic_regs_pkg::IdDebug2: data = debug_i;
      nic_regs_pkg::IdDepth: data = 32'(nic_pkg::Depth);
      nic_regs_pkg::IdPushResult: data = 32'(push_result_q[port_q*3+:3]);
      nic_regs_pkg::IdPacketsTransmitted: data = sent_q;
      nic_regs_pkg::IdPacketsReceived: data = received_q;
      nic_regs_pkg::IdStatus: data = {31'd0, cfg_q.enable};
      nic_regs_pkg::IdCounter: data = counter_q;
      default: data = nic_regs_pkg::Kept[request_q.index] ? kept_mem[kept] : 32'(level_i);
    endcase
    if (!request_q.read || bad_q || window_q) data = '0;
  end

  always_ff @(posedge clk_i) begin
    data_q     <= data;
    window_2_q <= window_q && !bad_q;
    queue_2_q  <= queue_q && !bad_q;
    bad_2_q    <= bad_q || wrong;
    high_q     <= request_q.index[0];
    push_q     <= queue_q && !bad_q && !request_q.read && target_q.kind != nic_pkg::Lock;
    // A result comes in the cycle of the response.
    word_q      <= window_2_q ? (high_q ? snapshot[63:32] : snapshot[31:0])
        : status_2_q ? status_q : data_q;
    is_result_q <= queue_2_q;
    err_q       <= bad_2_q;
    push_2_q    <= second_q && !op_held_i && push_q;
    port_2_q    <= port_q;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < Ports; n++) begin
      response_valid_o[n] <= second_q && !op_held_i && !rst_i && port_q == PortBits'(n);
    end
    ev_refused_o <= second_q && bad_2_q && !rst_i;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < Ports; n++) begin
      if (push_2_q && port_2_q == PortBits'(n)) push_result_q[n*3+:3] <= result_i[2:0];
    end
    if (rst_i) push_result_q <= '0;
  end

  assign response_o.err  = err_q;
  assign response_o.data = is_result_q ? result_i : word_q;

endmodule

`default_nettype wire
