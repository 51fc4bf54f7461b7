// The sums of the IP header and of the UDP datagram or ICMP message behind it, for eth_ip_check at
// 512 bits, where the header lies in a frame's first beat.
//
// A beat every clock for ever, also frames of one beat. header_ok_o and datagram_ok_o stand 4
// cycles after a frame's last beat came in; header_ok_o until the next frame's, datagram_ok_o for
// one cycle. One clock.
//
// Words are added in groups, then groups, then beats: no stage adds more than five numbers. A
// beat's carries are folded once, behind its frame's last beat.
`default_nettype none

module ip_sums_wide (
    input  wire logic         clk_i,
    input  wire logic         valid_i,
    input  wire logic         first_i,        // of a frame
    input  wire logic [511:0] data_i,         // zero outside the IP packet
    input  wire logic         is_udp_i,       // with each beat, as is length_i
    input  wire logic [ 15:0] length_i,       // of the IP packet
    output      logic         header_ok_o,
    output      logic         datagram_ok_o
);

  localparam int unsigned BytesMax = 9216;
  localparam int unsigned Words = 32;
  localparam int unsigned Groups = 8;
  localparam int unsigned Gw = 19;
  localparam int unsigned Hw = 21;
  localparam int unsigned Aw = 16 + $clog2(BytesMax / 2);

  // Group g has the words from 4g + 1 to 4g + 4, the first word 0 too. So the addresses (26 to 33),
  // which the pseudo header counts again, are one, and the groups behind it are the datagram's.
  localparam int unsigned GAddress = 26 / 8;
  logic [Groups*Gw-1:0] group_d, group_q;
  always_comb begin
    group_d = '0;
    for (int g = 0; g < int'(Groups); g++) begin
      for (int i = (g == 0 ? 0 : 4 * g + 1); i < 4 * g + 5; i++) begin
        if (i < int'(Words)) begin
          group_d[g*int'(Gw)+:Gw] = group_d[g*int'(Gw)+:Gw]
              + Gw'({data_i[16*(i%int'(Words))+:8], data_i[16*(i%int'(Words))+8+:8]});
        end
      end
    end
  end

  // UDP's length and protocol in the pseudo header: that of IP less 20, and 17. A UDP datagram's
  // sum begins with it in place of the header; to that of an ICMP message a right header adds
  // nothing.
  logic v1_q, v2_q, first1_q, first2_q, pseudo1_q, pseudo2_q;
  logic [15:0] extra1_q, extra2_q;
  logic [Hw-1:0] before_q, behind_q;
  logic [Gw-1:0] addresses_q;
  always_ff @(posedge clk_i) begin
    v1_q      <= valid_i;
    first1_q  <= first_i;
    pseudo1_q <= first_i && is_udp_i;
    extra1_q  <= length_i - 16'd3;
    group_q   <= group_d;
    v2_q      <= v1_q;
    first2_q  <= first1_q;
    pseudo2_q <= pseudo1_q;
    extra2_q  <= extra1_q;
    before_q  <= Hw'(group_q[0*Gw+:Gw]) + Hw'(group_q[1*Gw+:Gw]) + Hw'(group_q[2*Gw+:Gw]);
    addresses_q <= group_q[GAddress*Gw+:Gw];
    behind_q <= Hw'(group_q[4*Gw+:Gw]) + Hw'(group_q[5*Gw+:Gw]) + Hw'(group_q[6*Gw+:Gw])
        + Hw'(group_q[7*Gw+:Gw]);
  end

  // The folded sum is no larger than 1_1FFEh, so that what is a multiple of FFFFh is FFFFh.
  logic [Aw-1:0] acc_q;
  logic [Hw-1:0] header_q;
  logic head_q;
  always_ff @(posedge clk_i) begin
    if (v2_q) begin
      acc_q <= (first2_q ? '0 : acc_q) + (pseudo2_q ? Aw'(extra2_q) : Aw'(before_q))
          + Aw'(addresses_q) + Aw'(behind_q);
    end
    head_q   <= v2_q && first2_q;
    header_q <= before_q + Hw'(addresses_q);
    if (head_q) header_ok_o <= 17'(header_q[15:0]) + 17'(header_q[Hw-1:16]) == 17'h0FFFF;
    datagram_ok_o <= 17'(acc_q[15:0]) + 17'(acc_q[Aw-1:16]) == 17'h0FFFF;
  end

endmodule

`default_nettype wire
