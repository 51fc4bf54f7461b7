// crc_check as RoCE's ICRC wants it, or as our own packets do.
`default_nettype none

module crc_check_tb #(
    parameter int unsigned  N    = 64,
    parameter bit           Roce = 1'b1,
    parameter logic [127:0] Ones = 128'h4300_0340_8000  // bytes 15, 22, 24, 25, 40, 41, 46
) (
    input  wire logic                     clk_i,
    input  wire logic                     valid_i,
    input  wire logic [              3:0] beat_i,
    input  wire logic [            N-1:0] data_i,
    input  wire logic [             23:0] next_i,
    input  wire logic [$clog2(N/8)+1:0] left_i,
    output      logic                     ok_o
);

  crc_check #(
      .N        (N),
      .Poly     (Roce ? crc_pkg::EthernetPoly : crc_pkg::Crc32cPoly),
      .StartByte(Roce ? 14 : wire_pkg::OffHeader),
      .Init     (Roce ? crc_pkg::after_ones('1, crc_pkg::EthernetPoly, 8) : '1),
      .BigEndian(!Roce),
      .Ones     (Roce ? Ones : '0)
  ) i_dut (
      .clk_i  (clk_i),
      .valid_i(valid_i),
      .beat_i (beat_i),
      .data_i (data_i),
      .next_i (next_i),
      .left_i (left_i),
      .ok_o   (ok_o)
  );

endmodule

`default_nettype wire
