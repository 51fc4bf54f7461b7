// `crc_step64` for the bench and the virtual board: by tables, a sixth of the processor time of the
// whole. The sums of rtl/lib/crc/crc_step64.sv are what the testbenches simulate and synthesis takes.
`default_nettype none

module crc_step64 (
    input  wire logic [63:0] data_i,
    output      logic [31:0] crc_o
);

  // Row b: what a byte leaves behind that is the b-th on the wire.
  logic [31:0] rows[8][256];

  function automatic logic [31:0] stepped(input logic [31:0] register, input int bits);
    stepped = register;
    for (int i = 0; i < bits; i++)
      stepped = {1'b0, stepped[31:1]} ^ (stepped[0] ? crc_pkg::Crc32cPoly : 32'd0);
  endfunction

  initial begin
    for (int b = 0; b < 8; b++)
      for (int v = 0; v < 256; v++) rows[b][v] = stepped(32'(v), 64 - 8 * b);
  end

  assign crc_o = rows[0][data_i[7:0]] ^ rows[1][data_i[15:8]] ^ rows[2][data_i[23:16]]
               ^ rows[3][data_i[31:24]] ^ rows[4][data_i[39:32]] ^ rows[5][data_i[47:40]]
               ^ rows[6][data_i[55:48]] ^ rows[7][data_i[63:56]];

endmodule

`default_nettype wire
