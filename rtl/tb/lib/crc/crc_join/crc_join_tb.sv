// A packet's CRC joined from its header's (header_crc), moved over the payload (crc_combine), and its
// payload's (crc_beats): a word of the header and a beat of the payload a cycle, then 8 steps.
`default_nettype none

module crc_join_tb #(
    parameter int unsigned W        = 64,
    parameter bit          Ethernet = 1'b1
) (
    input wire logic clk_i,

    input  wire logic         word_valid_i,
    input  wire logic         word_first_i,
    input  wire logic [ 31:0] word_i,
    input  wire logic         beat_valid_i,
    input  wire logic         beat_first_i,
    input  wire logic [W-1:0] beat_i,
    input  wire logic         start_i,
    input  wire logic         step_i,
    output      logic [ 31:0] crc_o
);

  localparam logic [31:0] Poly = Ethernet ? crc_pkg::EthernetPoly : crc_pkg::Crc32cPoly;
  localparam int unsigned Bits = 4;

  logic [31:0] head_q, head_d, payload, shift, left_q, product;

  header_crc #(
      .Poly(Poly)
  ) i_header (
      .crc_i (word_first_i ? '1 : head_q),
      .word_i(word_i),
      .crc_o (head_d)
  );

  crc_beats #(
      .W       (W),
      .BytesMax(4096),
      .Poly    (Poly)
  ) i_beats (
      .clk_i  (clk_i),
      .valid_i(beat_valid_i),
      .first_i(beat_first_i),
      .data_i (beat_i),
      .crc_o  (payload),
      .shift_o(shift),
      .sum_o  ()
  );

  crc_combine #(
      .Bits(Bits),
      .Poly(Poly)
  ) i_combine (
      .clk_i    (clk_i),
      .start_i  (start_i),
      .step_i   (step_i),
      .a_i      (left_q[Bits-1:0]),
      .b_i      (shift),
      .product_o(product)
  );

  always_ff @(posedge clk_i) begin
    if (word_valid_i) head_q <= head_d;
    if (start_i) left_q <= head_q;
    else if (step_i) left_q <= left_q >> Bits;
  end

  assign crc_o = ~(product ^ payload);

endmodule

`default_nettype wire
