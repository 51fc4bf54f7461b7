// Written by rtl/syn/crc_step.py; not edited by hand.
//
// One step of the CRC-32C register over 64 bits, bit 0 first on the wire; the register before is
// added to bits 31:0. Combinational: XORs with shared terms, which technology mappers do not find;
// a third of the LUTs of 32 separate sums.
`default_nettype none

module crc_step64 (
    input  wire logic [63:0] data_i,
    output      logic [31:0] crc_o
);

  wire n0 = data_i[37] ^ data_i[27] ^ data_i[46] ^ data_i[33] ^ data_i[21] ^ data_i[38];
  wire n1 = data_i[59] ^ data_i[34] ^ data_i[22] ^ data_i[11] ^ data_i[47] ^ data_i[29];
  wire n2 = data_i[61] ^ data_i[1] ^ data_i[60] ^ data_i[58] ^ data_i[13] ^ data_i[2];
  wire n3 = data_i[32] ^ data_i[43] ^ data_i[55] ^ data_i[12] ^ data_i[24] ^ data_i[30];
  wire n4 = data_i[57] ^ data_i[7] ^ data_i[18] ^ data_i[49] ^ data_i[40] ^ data_i[38];
  wire n5 = data_i[42] ^ data_i[18] ^ data_i[63] ^ data_i[45] ^ data_i[26] ^ data_i[36];
  wire n6 = data_i[14] ^ data_i[46] ^ data_i[3] ^ data_i[50] ^ data_i[55] ^ data_i[31];
  wire n7 = data_i[16] ^ data_i[58] ^ data_i[28] ^ data_i[10] ^ data_i[5] ^ data_i[13];
  wire n8 = data_i[31] ^ data_i[60] ^ data_i[38] ^ data_i[44] ^ data_i[47] ^ data_i[25];
  wire n9 = data_i[13] ^ data_i[14] ^ data_i[33] ^ data_i[54] ^ data_i[53];
  wire n10 = data_i[15] ^ data_i[57] ^ data_i[62] ^ data_i[34];
  wire n11 = data_i[48] ^ data_i[39] ^ data_i[6] ^ data_i[56] ^ data_i[42] ^ data_i[17];
  wire n12 = data_i[44] ^ data_i[19] ^ data_i[25] ^ data_i[16] ^ data_i[8];
  wire n13 = data_i[22] ^ data_i[41] ^ data_i[51] ^ data_i[35] ^ data_i[54];
  wire n14 = data_i[55] ^ data_i[52] ^ data_i[36] ^ data_i[45] ^ data_i[31] ^ data_i[26];
  wire n15 = data_i[24] ^ data_i[62] ^ data_i[0] ^ data_i[4] ^ data_i[63] ^ data_i[51];
  wire n16 = data_i[62] ^ data_i[12] ^ data_i[41] ^ data_i[0] ^ data_i[20] ^ data_i[23];
  wire n17 = data_i[0] ^ data_i[50] ^ data_i[28] ^ data_i[52] ^ data_i[16] ^ data_i[5];
  wire n18 = data_i[39] ^ data_i[48] ^ data_i[4] ^ data_i[11] ^ data_i[61];
  wire n19 = data_i[27] ^ data_i[15] ^ data_i[40] ^ data_i[21] ^ data_i[33];
  wire n20 = data_i[40] ^ data_i[53] ^ data_i[51] ^ data_i[54] ^ data_i[29] ^ data_i[32];
  wire n21 = data_i[35] ^ n11 ^ data_i[18] ^ data_i[37] ^ data_i[1];
  wire n22 = n0 ^ data_i[2] ^ data_i[17] ^ data_i[52] ^ data_i[0];
  wire n23 = data_i[1] ^ data_i[12] ^ data_i[10] ^ data_i[55] ^ data_i[59];
  wire n24 = data_i[37] ^ data_i[54] ^ data_i[0] ^ data_i[26] ^ data_i[58] ^ data_i[11];
  wire n25 = data_i[43] ^ data_i[42] ^ data_i[3] ^ data_i[21] ^ data_i[14] ^ data_i[18];
  wire n26 = data_i[15] ^ n16 ^ data_i[29] ^ data_i[50] ^ data_i[59] ^ n2;
  wire n27 = data_i[22] ^ data_i[9] ^ data_i[50] ^ data_i[52] ^ data_i[35] ^ data_i[23];
  wire n28 = data_i[11] ^ data_i[6] ^ data_i[39] ^ data_i[53] ^ n8 ^ data_i[45];
  wire n29 = data_i[32] ^ n23 ^ data_i[56] ^ data_i[4] ^ data_i[35] ^ n5;
  wire n30 = data_i[53] ^ data_i[61] ^ data_i[58] ^ data_i[44] ^ data_i[38] ^ data_i[14];
  wire n31 = n4 ^ data_i[48] ^ data_i[35] ^ data_i[39] ^ data_i[36] ^ data_i[30];
  wire n32 = n4 ^ data_i[1] ^ data_i[48] ^ data_i[25] ^ data_i[43] ^ n1;
  wire n33 = data_i[52] ^ data_i[37] ^ data_i[46] ^ data_i[7] ^ data_i[49] ^ data_i[11];
  wire n34 = data_i[10] ^ n0 ^ data_i[44] ^ n10 ^ data_i[3] ^ data_i[28];
  wire n35 = data_i[16] ^ data_i[18] ^ data_i[25] ^ data_i[47] ^ data_i[63] ^ data_i[56];
  wire n36 = data_i[20] ^ data_i[39] ^ n6 ^ data_i[36] ^ data_i[32] ^ data_i[41];
  wire n37 = data_i[15] ^ data_i[8] ^ data_i[10] ^ data_i[61] ^ data_i[23];
  wire n38 = n9 ^ data_i[27] ^ data_i[8] ^ data_i[56] ^ data_i[3] ^ data_i[41];
  wire n39 = data_i[42] ^ data_i[23] ^ data_i[31] ^ data_i[12] ^ data_i[32];
  wire n40 = data_i[34] ^ data_i[23] ^ data_i[44] ^ n3 ^ data_i[29];
  wire n41 = data_i[60] ^ data_i[32] ^ data_i[20] ^ data_i[15] ^ data_i[14];
  wire n42 = data_i[50] ^ data_i[55] ^ data_i[42] ^ data_i[63] ^ data_i[48];
  wire n43 = n3 ^ data_i[45] ^ data_i[6] ^ data_i[26] ^ data_i[38];
  wire n44 = data_i[53] ^ data_i[11] ^ data_i[17] ^ data_i[57];
  wire n45 = data_i[59] ^ data_i[62] ^ data_i[22] ^ data_i[63] ^ n12;
  wire n46 = n7 ^ data_i[56] ^ data_i[36] ^ data_i[18];

  assign crc_o[0] = (data_i[19] ^ data_i[39] ^ data_i[41] ^ data_i[43] ^ data_i[48] ^ data_i[55])
      ^ data_i[57] ^ data_i[60] ^ n1 ^ n22 ^ n46;
  assign crc_o[1] = (data_i[0] ^ data_i[3] ^ data_i[12] ^ data_i[19] ^ data_i[20] ^ data_i[23])
      ^ (data_i[28] ^ data_i[30] ^ data_i[40] ^ data_i[49] ^ data_i[57])
      ^ data_i[60] ^ n1 ^ n30 ^ n21;
  assign crc_o[2] = (data_i[4] ^ data_i[19] ^ data_i[21] ^ data_i[24] ^ data_i[31])
      ^ data_i[43] ^ data_i[45] ^ data_i[54] ^ n26 ^ n31;
  assign crc_o[3] = (data_i[5] ^ data_i[21] ^ data_i[24] ^ data_i[30] ^ data_i[37] ^ data_i[40])
      ^ (data_i[42] ^ data_i[49])
      ^ data_i[51] ^ n2 ^ n36 ^ n45;
  assign crc_o[4] = (data_i[6] ^ data_i[9] ^ data_i[19] ^ data_i[20] ^ data_i[23] ^ data_i[25])
      ^ (data_i[27] ^ data_i[29] ^ data_i[32] ^ data_i[40] ^ data_i[51] ^ n5)
      ^ n6 ^ n7 ^ n10 ^ n18;
  assign crc_o[5] = (data_i[2] ^ data_i[6] ^ data_i[12] ^ data_i[13] ^ data_i[22] ^ data_i[26])
      ^ data_i[34] ^ data_i[55] ^ n15 ^ n41 ^ n31;
  assign crc_o[6] = (data_i[2] ^ data_i[17] ^ data_i[28] ^ data_i[35])
      ^ data_i[60] ^ data_i[63] ^ n6 ^ n37 ^ n32;
  assign crc_o[7] = (data_i[4] ^ data_i[5] ^ data_i[8] ^ data_i[13] ^ data_i[17] ^ data_i[26])
      ^ (data_i[49] ^ data_i[51] ^ data_i[59])
      ^ data_i[61] ^ n3 ^ n27 ^ n34;
  assign crc_o[8] = (data_i[14] ^ data_i[27] ^ data_i[29] ^ data_i[33])
      ^ data_i[34] ^ n15 ^ n27 ^ n28 ^ n46;
  assign crc_o[9] = (data_i[7] ^ data_i[14] ^ data_i[23] ^ data_i[53])
      ^ n2 ^ n13 ^ n19 ^ n35 ^ n43;
  assign crc_o[10] = (data_i[5] ^ data_i[7] ^ data_i[24] ^ data_i[29])
      ^ data_i[62] ^ n8 ^ n24 ^ n25 ^ n37;
  assign crc_o[11] = (data_i[0] ^ data_i[1] ^ data_i[9])
      ^ data_i[15] ^ data_i[27] ^ n18 ^ n43 ^ n45;
  assign crc_o[12] = (data_i[9] ^ data_i[19] ^ data_i[21] ^ data_i[37] ^ data_i[44])
      ^ data_i[58] ^ data_i[63] ^ n14 ^ n16 ^ n32;
  assign crc_o[13] = (data_i[1] ^ data_i[8] ^ data_i[20] ^ data_i[33] ^ data_i[35] ^ data_i[47])
      ^ data_i[49] ^ n5 ^ n17 ^ n44 ^ n40;
  assign crc_o[14] = (data_i[9] ^ data_i[24] ^ data_i[30])
      ^ data_i[57] ^ n13 ^ n17 ^ n23 ^ n28;
  assign crc_o[15] = (data_i[7] ^ data_i[10] ^ data_i[11] ^ data_i[12] ^ data_i[23] ^ data_i[25])
      ^ data_i[46] ^ n2 ^ n11 ^ n14 ^ n20;
  assign crc_o[16] = (data_i[2] ^ data_i[18] ^ data_i[26] ^ data_i[40] ^ data_i[47] ^ data_i[57])
      ^ (data_i[59] ^ data_i[61])
      ^ data_i[62] ^ n3 ^ n33 ^ n38;
  assign crc_o[17] = (data_i[4] ^ data_i[9] ^ data_i[12] ^ data_i[19] ^ data_i[28])
      ^ data_i[58] ^ n8 ^ n10 ^ n42 ^ n38;
  assign crc_o[18] = (data_i[4] ^ data_i[9] ^ data_i[11] ^ data_i[19] ^ data_i[47] ^ data_i[49])
      ^ data_i[61] ^ n5 ^ n13 ^ n41 ^ n22;
  assign crc_o[19] = data_i[3] ^ data_i[42] ^ data_i[56] ^ n44 ^ n26;
  assign crc_o[20] = (data_i[12] ^ data_i[16] ^ data_i[30] ^ data_i[54])
      ^ data_i[57] ^ data_i[59] ^ n2 ^ n15 ^ n25;
  assign crc_o[21] = (data_i[0] ^ data_i[1] ^ data_i[14] ^ data_i[29] ^ data_i[31])
      ^ data_i[36] ^ data_i[41] ^ n18 ^ n35 ^ n34;
  assign crc_o[22] = (data_i[13] ^ data_i[30] ^ data_i[41] ^ data_i[43] ^ data_i[46] ^ data_i[49])
      ^ data_i[52] ^ data_i[60] ^ data_i[62] ^ n19 ^ n29;
  assign crc_o[23] = (data_i[10] ^ data_i[17] ^ data_i[18] ^ data_i[21] ^ data_i[29] ^ data_i[31])
      ^ data_i[39] ^ data_i[52] ^ data_i[59] ^ n30 ^ n42;
  assign crc_o[24] = (data_i[30] ^ data_i[36] ^ data_i[41] ^ data_i[45] ^ data_i[47] ^ data_i[48])
      ^ (data_i[49] ^ data_i[55])
      ^ n7 ^ n10 ^ n20 ^ n22;
  assign crc_o[25] = (data_i[16] ^ data_i[28] ^ data_i[30] ^ data_i[33] ^ data_i[38] ^ data_i[41])
      ^ (data_i[49] ^ data_i[52] ^ data_i[53] ^ data_i[54] ^ data_i[58])
      ^ data_i[63] ^ n1 ^ n6 ^ n21;
  assign crc_o[26] = (data_i[4] ^ data_i[30] ^ data_i[50] ^ data_i[53])
      ^ n7 ^ n13 ^ n19 ^ n33 ^ n39;
  assign crc_o[27] = (data_i[6] ^ data_i[8] ^ data_i[17] ^ data_i[24] ^ data_i[36] ^ data_i[38])
      ^ (data_i[41] ^ data_i[43] ^ data_i[51] ^ data_i[55])
      ^ n1 ^ n9 ^ n17 ^ n39;
  assign crc_o[28] = (data_i[7] ^ data_i[9] ^ data_i[15] ^ data_i[25] ^ data_i[51])
      ^ data_i[52] ^ data_i[60] ^ n9 ^ n21 ^ n40;
  assign crc_o[29] = (data_i[2] ^ data_i[10] ^ data_i[15] ^ data_i[24] ^ data_i[30] ^ data_i[34])
      ^ (data_i[35] ^ data_i[43] ^ data_i[56] ^ data_i[61])
      ^ n4 ^ n9 ^ n12 ^ n14;
  assign crc_o[30] = (data_i[9] ^ data_i[17] ^ data_i[27] ^ data_i[35] ^ data_i[45] ^ data_i[53])
      ^ data_i[56] ^ n10 ^ n12 ^ n24 ^ n36;
  assign crc_o[31] = (data_i[9] ^ data_i[15] ^ data_i[16] ^ data_i[17] ^ data_i[20] ^ data_i[28])
      ^ (data_i[40] ^ data_i[47] ^ data_i[51] ^ data_i[54])
      ^ data_i[57] ^ data_i[58] ^ n0 ^ n29;

endmodule

`default_nettype wire
