// Writes the CRC into control frames as they pass, 64 bits a cycle.
//
// The packet begins at frame byte StartByte, and its CRC is the first half of the frame's last
// beat, whatever came there: every control frame of ours is 4 bytes longer than whole beats
// (docs/protocol.md#2.4). BigEndian: the CRC in network byte order (docs/protocol.md#2.5). Ones
// names bytes of the frame (bit i: byte i, below 120) that count as FFh, as the ICRC of RoCE wants
// it. The register begins at Init, moved back over the zeros that stand before the packet in its
// beat.
//
// A beat a cycle, latency 1 cycle, back-pressure passed on. Does not change UDP's checksum;
// crc_append is for frames of any length. One clock.
`default_nettype none

module crc_insert #(
    parameter logic [31:0]  Poly      = crc_pkg::Crc32cPoly,
    parameter int unsigned  StartByte = wire_pkg::OffHeader,
    parameter logic [31:0]  Init      = '1,  // of the register, at the packet's first byte
    parameter bit           BigEndian = 1'b1,
    parameter logic [127:0] Ones      = '0
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    output      logic        s_axis_tready,
    input  wire logic        s_axis_tlast,

    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast
);

  localparam int unsigned StartBeat = StartByte / 8;
  localparam int unsigned StartLane = StartByte % 8;

  if (StartBeat > 14) begin : g_bad_start
    $error("the packet must begin before the sixteenth beat");
  end
  if (|Ones[127:120]) begin : g_bad_ones
    $error("beats are distinct only below the sixteenth");
  end

  // Row i: the bits of the beat that bit i of the register sums after 64 bits.
  function automatic logic [2047:0] rows();
    logic [31:0] c;
    c = 32'd1;
    for (int j = 63; j >= 0; j--) begin
      c = {1'b0, c[31:1]} ^ (c[0] ? Poly : 32'd0);
      for (int i = 0; i < 32; i++) rows[64*i+j] = c[i];
    end
  endfunction

  localparam logic [2047:0] Rows = rows();
  localparam logic [31:0] First = crc_pkg::before_zeros(Init, Poly, StartLane);

  logic [3:0] beat_q;  // stays at 15
  logic [31:0] crc_q, crc_d, sealed;
  logic [63:0] fed;
  logic valid_q, take;

  always_comb begin
    fed = s_axis_tdata;
    for (int f = 0; f < 120; f++) if (Ones[f] && beat_q == 4'(f / 8)) fed[8*(f%8)+:8] = 8'hFF;
    for (int i = 0; i < int'(StartLane); i++) if (beat_q == 4'(StartBeat)) fed[8*i+:8] = 8'h00;
    fed[31:0] = fed[31:0] ^ (beat_q == 4'(StartBeat) ? First : crc_q);
    for (int i = 0; i < 32; i++) crc_d[i] = ^(fed & Rows[64*i+:64]);
  end

  assign sealed = BigEndian ? bits_pkg::be32(~crc_q) : ~crc_q;
  assign s_axis_tready = !valid_q || m_axis_tready;
  assign take = s_axis_tvalid && s_axis_tready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      beat_q  <= '0;
    end else begin
      if (take) begin
        valid_q <= 1'b1;
        if (s_axis_tlast) beat_q <= '0;
        else if (beat_q != 4'd15) beat_q <= beat_q + 1'b1;
      end else if (m_axis_tready) begin
        valid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      m_axis_tdata <= s_axis_tlast ? {s_axis_tdata[63:32], sealed} : s_axis_tdata;
      m_axis_tkeep <= s_axis_tkeep;
      m_axis_tlast <= s_axis_tlast;
      crc_q <= crc_d;
    end
  end

  assign m_axis_tvalid = valid_q;

endmodule

`default_nettype wire
