// Stands for ctl_rom: any program at all.
`default_nettype none

module ctl_rom #(
    parameter Program = "sender"
) (
    input  wire logic        clk_i,
    input  wire logic [10:0] addr_i,
    output logic      [35:0] data_o
);

  (* anyseq *) logic [35:0] word;
  always_ff @(posedge clk_i) data_o <= word;

endmodule

`default_nettype wire
