// Takes a CRC register over the next 4 bytes on the wire.
//
// Combinational: every bit is a constant sum of those of the register and the word. The word's
// first byte on the wire is its highest. No clock.
`default_nettype none

module header_crc #(
    parameter logic [31:0] Poly = crc_pkg::Crc32cPoly
) (
    input  wire logic [31:0] crc_i,
    input  wire logic [31:0] word_i,
    output      logic [31:0] crc_o
);

  // Row i: which bits of register and word, the first bit on the wire in bit 0, enter bit i.
  function automatic logic [1023:0] rows();
    logic [31:0] c;
    rows = '0;
    for (int unsigned k = 0; k < 32; k++) begin
      c = crc_pkg::after_zeros(32'd1 << k, Poly, 4);
      for (int unsigned i = 0; i < 32; i++) rows[32*i+k] = c[i];
    end
  endfunction

  localparam logic [1023:0] Rows = rows();

  logic [31:0] x;
  assign x = crc_i ^ bits_pkg::be32(word_i);

  for (genvar i = 0; i < 32; i++) begin : g_bit
    assign crc_o[i] = ^(x & Rows[32*i+:32]);
  end

endmodule

`default_nettype wire
