// Stands for nic_rings in nic_queues' proof: an operation takes any time, fails or not, and gives any
// values; the sweep behind a reset takes any time.
`default_nettype none

module nic_rings #(
    parameter  int unsigned Servers   = 4,
    parameter  int unsigned Depth     = 64,
    parameter  int unsigned Page      = 0,
    localparam int unsigned CountBits = $clog2(Depth) + 1,
    localparam int unsigned QueueBits = 2 + (Servers > 1 ? $clog2(Servers) : 1)
) (
    input wire clk_i,
    input wire rst_i,

    output logic                 sweeps_o,
    input  wire                  op_valid_i,
    input  wire                  push_i,
    input  wire  [QueueBits-1:0] queue_i,
    input  wire  [         28:0] pointer_i,
    output logic                 done_o,
    output logic                 failed_o,
    output logic [CountBits-1:0] level_o,
    output logic [         28:0] popped_o,

    output logic                   request_valid_o,
    input  wire                    request_ready_i,
    output nic_pkg::acb_request_t  request_o,
    input  wire                    response_valid_i,
    input  wire nic_pkg::acb_response_t response_i
);

  (* anyseq *) logic f_sweeps, f_done, f_failed;
  (* anyseq *) logic [CountBits-1:0] f_level;
  (* anyseq *) logic [28:0] f_popped;

  always_ff @(posedge clk_i) sweeps_o <= rst_i || (sweeps_o && f_sweeps);

  assign done_o          = op_valid_i && f_done;
  assign failed_o        = f_failed;
  assign level_o         = f_level;
  assign popped_o        = f_popped;
  assign request_valid_o = 1'b0;
  assign request_o       = '0;

endmodule

`default_nettype wire
