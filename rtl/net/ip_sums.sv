// The sums of the IP header and of the UDP datagram or ICMP message behind it, for eth_ip_check at
// 64 and 128 bits.
//
// A beat every clock for ever. header_ok_o and datagram_ok_o stand 3 cycles after a frame's last
// beat came in, at 128 bits 4; header_ok_o until the next frame's header is through, datagram_ok_o
// for one cycle. Frames of fewer than 60 bytes give arbitrary results. One clock.
`default_nettype none

module ip_sums #(
    parameter int unsigned N = 64
) (
    input  wire logic         clk_i,
    input  wire logic         valid_i,
    input  wire logic [  3:0] beat_i,         // in its frame; stays at 15
    input  wire logic [N-1:0] data_i,         // zero outside the IP packet
    input  wire logic [ 15:0] next_i,         // the first bytes of the frame's next beat, or zero
    input  wire logic         is_udp_i,       // from the beat on that follows the one with it
    input  wire logic [ 15:0] length_i,       // of the IP packet, as is_udp_i
    output      logic         header_ok_o,
    output      logic         datagram_ok_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned Words = Nb / 2;

  if (N != 64 && N != 128) begin : g_bad_1
    $error("N must be 64 or 128");
  end

  // The sum of the beat's words, each beat from its second word to the first of the next one: so
  // the IP header ends with a beat. Apart that of the addresses, which the pseudo header counts
  // again.
  localparam int unsigned Sw = 16 + $clog2(Words);
  localparam int unsigned BAddress = (26 - 2) / Nb;
  localparam int unsigned AddressLane = 26 % Nb / 2;  // the first of four
  logic v2_q;
  logic [3:0] idx2_q;
  logic [N+15:0] summed;
  logic [Sw-1:0] addresses_q;
  logic [19:0] sum_q;
  logic [15:0] extra;  // not yet in sum_q

  assign summed = {next_i, data_i};
  function automatic logic [Sw-1:0] sum_of(input logic of_addresses);
    sum_of = '0;
    for (int i = 1; i <= int'(Words); i++) begin
      if (of_addresses == (i >= int'(AddressLane) && i < int'(AddressLane) + 4))
        sum_of = sum_of + Sw'({summed[16*i+:8], summed[16*i+8+:8]});
    end
  endfunction

  // For UDP the sum begins again with the pseudo header: the addresses, 17, and the length of UDP,
  // that of IP less 20: -3 with the first beat behind the header, the rest with the next.
  function automatic logic [15:0] extra_of(input logic [3:0] beat, input logic is_udp,
                                           input logic [15:0] total);
    extra_of = '0;
    if (is_udp && beat == 4'(BAddress + 1)) extra_of = 16'hFFFC;
    if (is_udp && beat == 4'(BAddress + 2)) extra_of = total;
  endfunction

  if (N == 64) begin : g_sum
    assign extra = extra_of(idx2_q, is_udp_i, length_i);
    always_ff @(posedge clk_i) begin
      v2_q <= valid_i;
      if (valid_i) begin
        idx2_q <= beat_i;
        sum_q  <= 20'(sum_of(1'b1) + sum_of(1'b0));
        if (beat_i == 4'(BAddress)) addresses_q <= sum_of(1'b1);
      end
    end
  end else begin : g_late_sum
    assign extra = '0;
    logic vs_q;
    logic [3:0] idxs_q;
    logic [Sw-1:0] some_q, others_q;
    always_ff @(posedge clk_i) begin
      vs_q     <= valid_i;
      idxs_q   <= beat_i;
      some_q   <= sum_of(1'b1);
      others_q <= sum_of(1'b0);
      v2_q     <= vs_q;
      if (vs_q) begin
        idx2_q <= idxs_q;
        sum_q  <= 20'(some_q + others_q) + 20'(extra_of(idxs_q, is_udp_i, length_i));
        if (idxs_q == 4'(BAddress)) addresses_q <= some_q;
      end
    end
  end

  // The sum from the IP header on. A right header adds nothing to it, so an ICMP message needs no
  // more.
  logic [19:0] acc_q, base;
  logic [16:0] folded;
  logic is_whole_q, head1_q, head2_q;  // the sum of the header is in acc_q, in is_whole_q
  assign folded = 17'(acc_q[15:0]) + 17'(acc_q[19:16]);
  always_comb begin
    base = 20'(folded);
    if (idx2_q == 4'd0) base = '0;
    if (is_udp_i && idx2_q == 4'(BAddress + 1)) base = 20'(addresses_q);
  end

  always_ff @(posedge clk_i) begin
    if (v2_q) acc_q <= base + sum_q + 20'(extra);
    is_whole_q <= folded == 17'h0FFFF;
    head1_q <= v2_q && idx2_q == 4'(BAddress);
    head2_q <= head1_q;
    if (head2_q) header_ok_o <= is_whole_q;
  end

  assign datagram_ok_o = is_whole_q;

endmodule

`default_nettype wire
