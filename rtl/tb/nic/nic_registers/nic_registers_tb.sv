// Queues and registers with ports of processors, the test module, and engines that the test drives.
// Ports 0 and 1 are AFB, port 2 is AXI4-Lite.
`default_nettype none

module nic_registers_tb #(
    parameter bit          Rings   = 1'b0,  // queues in a DRAM, alone there
    parameter int unsigned Latency = 10
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // engines
    input  wire logic [                  1:0] op_valid_i,
    input  wire logic [2*nic_pkg::OpBits-1:0] op_i,
    output      logic [                  1:0] op_ready_o,
    output      logic [                  1:0] result_valid_o,
    output      logic [                 31:0] result_o,

    // AFB, port 0 in the lowest bits
    input  wire logic [  1:0] afb_valid_i,
    output      logic [  1:0] afb_ready_o,
    input  wire logic [147:0] afb_i,
    output      logic [  1:0] afb_valid_o,
    input  wire logic [  1:0] afb_ready_i,
    output      logic [ 65:0] afb_o,

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

    input  wire logic [ 9:0] engine_event_i,  // counters 0 to 9
    output      logic [ 3:0] irq_o,
    output      logic [31:0] counter_o,
    output nic_pkg::config_t config_o,

    output     nic_pkg::generator_cfg_t    generator_cfg_o,
    input wire nic_pkg::generator_status_t generator_i,
    input wire nic_pkg::checker_status_t   checker_i
);

  localparam int unsigned Ports = 3;

  logic [Ports-1:0] request_valid, request_ready, response_valid, lock;
  logic [Ports*nic_pkg::RegisterRequestBits-1:0] request;
  nic_pkg::register_response_t response;

  for (genvar n = 0; n < 2; n++) begin : g_afb
    nic_afb u_afb (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .afb_valid_i     (afb_valid_i[n]),
        .afb_ready_o     (afb_ready_o[n]),
        .afb_i           (afb_i[74*n+:74]),
        .afb_valid_o     (afb_valid_o[n]),
        .afb_ready_i     (afb_ready_i[n]),
        .afb_o           (afb_o[33*n+:33]),
        .request_valid_o (request_valid[n]),
        .request_ready_i (request_ready[n]),
        .request_o       (request[45*n+:45]),
        .lock_o          (lock[n]),
        .response_valid_i(response_valid[n]),
        .response_i      (response)
    );
  end

  nic_axil u_axil (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
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
      .request_valid_o (request_valid[2]),
      .request_ready_i (request_ready[2]),
      .request_o       (request[90+:45]),
      .lock_o          (lock[2]),
      .response_valid_i(response_valid[2]),
      .response_i      (response)
  );

  nic_pkg::op_t port_op, test_op;
  nic_pkg::queue_t level_queue;
  nic_regs_pkg::cfg_t cfg;
  nic_regs_pkg::event_t event_all;
  logic [3:0] op_valid, op_ready, result_valid, receive_waits;
  logic owns;
  logic [6:0] level;
  logic [1:0] port;
  logic [31:0] debug;
  logic port_held, acb_valid, acb_ready, acb_answers;
  nic_pkg::acb_request_t acb_request;
  nic_pkg::acb_response_t acb_response;
  logic debug_start, ev_failed, ev_refused, ev_bad, ev_full, ev_locked, ev_revoked;

  always_comb begin
    event_all           = '0;
    event_all[9:0]      = engine_event_i;
    event_all.refused   = ev_refused;
    event_all.bad_push  = ev_bad;
    event_all.full_push = ev_full;
    event_all.locked_op = ev_locked;
    event_all.revoked   = ev_revoked;
    event_all.failed_op = ev_failed;
  end

  nic_registers #(
      .Ports(Ports)
  ) u_registers (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .request_i       (request),
      .lock_i          (lock),
      .response_valid_o(response_valid),
      .response_o      (response),
      .op_valid_o      (op_valid[2]),
      .op_ready_i      (op_ready[2]),
      .op_o            (port_op),
      .port_o          (port),
      .op_held_i       (port_held),
      .result_i        (result_o),
      .level_queue_o   (level_queue),
      .level_i         (level),
      .receive_waits_i (receive_waits),
      .owns_i          (owns),
      .cfg_o           (cfg),
      .config_o        (config_o),
      .generator_cfg_o (generator_cfg_o),
      .counter_o       (counter_o),
      .irq_o           (irq_o),
      .debug_start_o   (debug_start),
      .debug_i         (debug),
      .generator_i     (generator_i),
      .checker_i       (checker_i),
      .ev_refused_o    (ev_refused),
      .event_i         (event_all)
  );

  nic_queue_test u_test (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .start_i       (debug_start),
      .test_i        (cfg.debug),
      .debug_o       (debug),
      .op_valid_o    (op_valid[3]),
      .op_ready_i    (op_ready[3]),
      .op_o          (test_op),
      .result_valid_i(result_valid[3]),
      .result_i      (result_o)
  );

  assign op_valid[1:0]  = op_valid_i;
  assign op_ready_o     = op_ready[1:0];
  assign result_valid_o = result_valid[1:0];

  nic_queues #(
      .Requesters(4),
      .Ports     (Ports),
      .Rings     (Rings)
  ) u_queues (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .base_i          (config_o.base[31:3]),
      .bits_i          (config_o.buffer_bits),
      .count_i         (config_o.buffers[7:0]),
      .lock_cycles_i   (config_o.lock_cycles),
      .op_valid_i      (op_valid),
      .op_i            ({test_op, port_op, op_i}),
      .port_i          (port),
      .op_ready_o      (op_ready),
      .result_valid_o  (result_valid),
      .result_o        (result_o),
      .port_held_o     (port_held),
      .free_waits_o    (),
      .receive_waits_o (receive_waits),
      .owns_o          (owns),
      .receive_full_o  (),
      .transmit_waits_o(),
      .transmit_full_o (),
      .level_queue_i   (level_queue),
      .level_o         (level),
      .request_valid_o (acb_valid),
      .request_ready_i (acb_ready),
      .request_o       (acb_request),
      .response_valid_i(acb_answers),
      .response_i      (acb_response),
      .ev_bad_o        (ev_bad),
      .ev_full_o       (ev_full),
      .ev_locked_o     (ev_locked),
      .ev_revoked_o    (ev_revoked),
      .ev_failed_o     (ev_failed)
  );

  nic_dram #(
      .AddressBits(14),
      .Latency    (Latency)
  ) u_dram (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (acb_valid),
      .request_ready_o (acb_ready),
      .request_i       (acb_request),
      .response_valid_o(acb_answers),
      .response_ready_i(1'b1),
      .response_o      (acb_response)
  );

endmodule

`default_nettype wire
