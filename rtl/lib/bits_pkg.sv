// Byte order and comparison of plain numbers, for any module.
//
// In every stream tdata[7:0] is the byte that is first on the wire. Numbers are in network byte
// order on the wire and plain unsigned numbers everywhere else: `be16`, `be32` and `be64` swap at
// the border.
`default_nettype none

package bits_pkg;

  function automatic logic [15:0] be16(input logic [15:0] v);
    be16 = {v[7:0], v[15:8]};
  endfunction

  function automatic logic [31:0] be32(input logic [31:0] v);
    be32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction

  function automatic logic [63:0] be64(input logic [63:0] v);
    be64 = {be32(v[31:0]), be32(v[63:32])};
  endfunction

  // Equality with a LUT for three bits and a carry chain to gather them.
  function automatic logic same64(input logic [63:0] a, input logic [63:0] b);
    logic [65:0] differs;
    logic [22:0] parts;
    differs = {2'd0, a ^ b};
    parts   = '0;
    for (int i = 0; i < 22; i++) parts[i] = |differs[3*i+:3];
    parts  = 23'h3F_FFFF + parts;
    same64 = !parts[22];
  endfunction

  function automatic logic same32(input logic [31:0] a, input logic [31:0] b);
    logic [32:0] differs;
    logic [11:0] parts;
    differs = {1'b0, a ^ b};
    parts   = '0;
    for (int i = 0; i < 11; i++) parts[i] = |differs[3*i+:3];
    parts  = 12'h7FF + parts;
    same32 = !parts[11];
  endfunction

endpackage

`default_nettype wire
