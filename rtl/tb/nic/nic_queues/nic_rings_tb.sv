// nic_queues with Rings ahead of a DRAM; fail_i makes the request of this cycle fail.
`default_nettype none

module nic_rings_tb #(
    parameter  int unsigned Requesters = 3,
    parameter  int unsigned Ports      = 2,
    parameter  int unsigned Latency    = 10,
    localparam int unsigned PortBits   = Ports > 1 ? $clog2(Ports) : 1
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic [28:0] base_i,
    input wire logic [ 2:0] bits_i,
    input wire logic [ 7:0] count_i,
    input wire logic [23:0] lock_cycles_i,

    input  wire logic [               Requesters-1:0] op_valid_i,
    input  wire logic [Requesters*nic_pkg::OpBits-1:0] op_i,
    input  wire logic [                 PortBits-1:0] port_i,
    output      logic [               Requesters-1:0] op_ready_o,
    output      logic [               Requesters-1:0] result_valid_o,
    output      logic [                         31:0] result_o,
    output      logic                                 port_held_o,

    output      logic                          free_waits_o,
    output      logic            [nic_pkg::Servers-1:0] receive_waits_o,
    output      logic            [nic_pkg::Servers-1:0] receive_full_o,
    output      logic            [nic_pkg::Servers-1:0] transmit_waits_o,
    output      logic            [nic_pkg::Servers-1:0] transmit_full_o,
    input  wire nic_pkg::queue_t               level_queue_i,
    output      logic            [        6:0] level_o,
    output      logic                          owns_o,

    input  wire logic fail_i,
    output      logic request_taken_o,

    output logic ev_bad_o,
    output logic ev_full_o,
    output logic ev_locked_o,
    output logic ev_revoked_o,
    output logic ev_failed_o
);

  localparam int unsigned Page = 37;

  nic_pkg::acb_request_t request, dram_request;
  nic_pkg::acb_response_t response;
  logic request_valid, request_ready, response_valid;

  nic_queues #(
      .Requesters(Requesters),
      .Ports     (Ports),
      .Rings     (1'b1),
      .RingsPage (Page)
  ) u_queues (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .base_i          (base_i),
      .bits_i          (bits_i),
      .count_i         (count_i),
      .lock_cycles_i   (lock_cycles_i),
      .op_valid_i      (op_valid_i),
      .op_i            (op_i),
      .port_i          (port_i),
      .op_ready_o      (op_ready_o),
      .result_valid_o  (result_valid_o),
      .result_o        (result_o),
      .port_held_o     (port_held_o),
      .free_waits_o    (free_waits_o),
      .receive_waits_o (receive_waits_o),
      .receive_full_o  (receive_full_o),
      .transmit_waits_o(transmit_waits_o),
      .transmit_full_o (transmit_full_o),
      .level_queue_i   (level_queue_i),
      .level_o         (level_o),
      .owns_o          (owns_o),
      .request_valid_o (request_valid),
      .request_ready_i (request_ready),
      .request_o       (request),
      .response_valid_i(response_valid),
      .response_i      (response),
      .ev_bad_o        (ev_bad_o),
      .ev_full_o       (ev_full_o),
      .ev_locked_o     (ev_locked_o),
      .ev_revoked_o    (ev_revoked_o),
      .ev_failed_o     (ev_failed_o)
  );

  // An address outside answers err and changes nothing.
  always_comb begin
    dram_request = request;
    if (fail_i) dram_request.address[35] = !request.address[35];
  end

  assign request_taken_o = request_valid && request_ready;

  nic_dram #(
      .AddressBits(14),
      .Page       (Page),
      .Latency    (Latency)
  ) u_dram (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .request_i       (dram_request),
      .response_valid_o(response_valid),
      .response_ready_i(1'b1),
      .response_o      (response)
  );

endmodule

`default_nettype wire
