// Polynomials of CRCs, and constant arithmetic on their registers, for the modules of this folder and
// those that use them.
//
// Registers are reflected: bit 31 is the coefficient of x^0, and the first bit on the wire enters at
// bit 0.
`default_nettype none

package crc_pkg;

  // CRC-32C (Castagnoli), docs/protocol.md#2.5.
  localparam logic [31:0] Crc32cPoly = 32'h82F6_3B78;

  // CRC-32 of Ethernet, which RoCE's ICRC uses.
  localparam logic [31:0] EthernetPoly = 32'hEDB8_8320;

  // Bytes of a frame that count as ones in RoCE's ICRC (IB 7.8.1, A17.3.3): type of service, time
  // to live, both checksums and BTH's byte with FECN and BECN.
  localparam logic [127:0] IcrcOnes = (128'd1 << 15) | (128'd1 << 22) | (128'd3 << 24)
      | (128'd3 << 40) | (128'd1 << 46);

  // The register after `bytes` zero bytes.
  function automatic logic [31:0] after_zeros(input logic [31:0] crc, input logic [31:0] poly,
                                              input int unsigned bytes);
    after_zeros = crc;
    for (int unsigned n = 0; n < 8 * bytes; n++)
    after_zeros = {1'b0, after_zeros[31:1]} ^ (after_zeros[0] ? poly : 32'd0);
  endfunction

  // The register that becomes `crc` after `bytes` zero bytes. A packet that begins within a beat
  // starts with it: the lanes before the packet are zeros.
  function automatic logic [31:0] before_zeros(input logic [31:0] crc, input logic [31:0] poly,
                                               input int unsigned bytes);
    before_zeros = crc;
    for (int unsigned n = 0; n < 8 * bytes; n++)
    before_zeros = before_zeros[31] ? {before_zeros[30:0] ^ poly[30:0], 1'b1}
        : {before_zeros[30:0], 1'b0};
  endfunction

  // The register after `bytes` bytes of ones: RoCE's ICRC begins with 8 of them, before the IP
  // header.
  function automatic logic [31:0] after_ones(input logic [31:0] crc, input logic [31:0] poly,
                                             input int unsigned bytes);
    after_ones = crc;
    for (int unsigned n = 0; n < 8 * bytes; n++)
    after_ones = {1'b0, after_ones[31:1]} ^ (after_ones[0] ? 32'd0 : poly);
  endfunction

endpackage

`default_nettype wire
