// crc_append as RoCE's ICRC wants it, or as our own packets do.
`default_nettype none

module crc_append_tb #(
    parameter int unsigned  W    = 64,
    parameter bit           Roce = 1'b1,
    parameter logic [127:0] Ones = 128'h4300_0340_8000  // bytes 15, 22, 24, 25, 40, 41, 46
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    output      logic           s_axis_tready,
    input  wire logic           s_axis_tlast,

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast
);

  crc_append #(
      .W        (W),
      .Poly     (Roce ? crc_pkg::EthernetPoly : crc_pkg::Crc32cPoly),
      .StartByte(Roce ? 14 : wire_pkg::OffHeader),
      .Init     (Roce ? crc_pkg::after_ones('1, crc_pkg::EthernetPoly, 8) : '1),
      .BigEndian(!Roce),
      .Ones     (Roce ? Ones : '0)
  ) i_dut (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (s_axis_tdata),
      .s_axis_tkeep (s_axis_tkeep),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tlast (s_axis_tlast),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast)
  );

endmodule

`default_nettype wire
