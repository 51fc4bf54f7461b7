// Stands for counters in csr's proof: a snapshot takes any time and gives any value.
`default_nettype none

module counters #(
    parameter  int unsigned Events = 40,
    localparam int unsigned Bits   = Events + 4 < 64 ? 6 : 7
) (
    input wire clk_i,

    input wire [Events-1:0] event_i,
    input wire [      31:0] add_i,

    input wire [63:0] time_ns_i,
    input wire [63:0] sync_index_i,
    input wire [63:0] sync_time_i,

    input  wire             snapshot_i,
    output logic            busy_o,
    input  wire  [Bits-1:0] rd_addr_i,
    output logic [    63:0] rd_data_o
);

  (* anyseq *) logic f_busy;
  (* anyseq *) logic [63:0] f_value;

  always_ff @(posedge clk_i) begin
    busy_o    <= f_busy;
    rd_data_o <= f_value;
  end

endmodule

`default_nettype wire
