// Multiplies two polynomials modulo that of the CRC: moves a CRC over a payload
// (docs/protocol.md#2.5). Bit 31 is the coefficient of x^0.
//
// The first factor comes `Bits` bits a step, its bit 0 first; `b_i` must stand still meanwhile. The
// product is there 32 / Bits steps after `start_i`, which clears it, and stands until the next
// start. No back-pressure. One clock.
`default_nettype none

module crc_combine #(
    parameter int unsigned Bits = 4,  // of the first factor a clock
    parameter logic [31:0] Poly = crc_pkg::Crc32cPoly
) (
    input  wire logic            clk_i,
    input  wire logic            start_i,
    input  wire logic            step_i,
    input  wire logic [Bits-1:0] a_i,
    input  wire logic [    31:0] b_i,
    output      logic [    31:0] product_o
);

  if (Bits == 0 || 32 % Bits != 0) begin : g_bits
    $error("Bits must divide 32");
  end

  // Row i of the multiplication by x^n: which bits enter bit i.
  function automatic logic [1023:0] rows(input int unsigned n);
    logic [31:0] c;
    rows = '0;
    for (int unsigned k = 0; k < 32; k++) begin
      c = 32'd1 << k;
      for (int unsigned s = 0; s < n; s++) c = (c >> 1) ^ (c[0] ? Poly : 32'd0);
      for (int unsigned i = 0; i < 32; i++) rows[32*i+k] = c[i];
    end
  endfunction

  logic [31:0] product_q;

  // Horner's rule from the highest power, which is bit 0 of the first factor.
  localparam logic [1023:0] Move = rows(Bits);
  logic [31:0] moved;
  for (genvar i = 0; i < 32; i++) begin : g_move
    assign moved[i] = ^(product_q & Move[32*i+:32]);
  end

  logic [32*Bits-1:0] terms;
  for (genvar j = 0; j < Bits; j++) begin : g_term
    localparam logic [1023:0] Term = rows(Bits - 1 - j);
    for (genvar i = 0; i < 32; i++) begin : g_bit
      assign terms[32*j+i] = a_i[j] && ^(b_i & Term[32*i+:32]);
    end
  end

  logic [31:0] sum;
  always_comb begin
    sum = moved;
    for (int unsigned j = 0; j < Bits; j++) sum = sum ^ terms[32*j+:32];
  end

  always_ff @(posedge clk_i) begin
    if (start_i) product_q <= '0;
    else if (step_i) product_q <= sum;
  end

  assign product_o = product_q;

endmodule

`default_nettype wire
