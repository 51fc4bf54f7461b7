// Judges received frames, N bits a cycle, up to UDP: Ethernet, ARP, IPv4, UDP, ICMP echo requests
// (docs/protocol.md#2.1). What the datagram says is for a form of its protocol to judge beside it
// (form_stream, form_bth): f_ and p_ show it the beats, and both verdicts come at once.
//
// A beat every clock for ever. Each beat comes out 5 cycles after it came in, above 64 bits 6, and
// with a frame's last beat its verdict: passed_o, or one event, that of the first check in the
// order of the list below that it fails. With Addressed low the frame's addresses have been looked
// at before; MAC errors, runts and oversize too. Bytes behind the IP packet are padding and not
// looked at. Does not store. One clock.
//
// At 512 bits all fields lie in the first beat, and a frame may have no other. So each register of
// a frame is read in the cycle after it was set: the next frame may set it in that cycle.
`default_nettype none

module eth_ip_check #(
    parameter int unsigned        N         = 64,
    parameter bit                 Addressed = 1'b1,
    parameter int unsigned        Ports     = 1,
    parameter logic [Ports-1:0]   NoSum     = '0  // datagrams to a port may have no checksum
) (
    input  wire logic                       clk_i,
    input  wire logic                       rst_i,
    input  wire net_pkg::peer_t             self_i,
    input  wire logic        [16*Ports-1:0] ports_i,  // UDP's, the first in the lowest bits

    input  wire logic                       valid_i,
    input  wire logic                       last_i,
    input  wire logic                       bad_i,    // with last_i
    input  wire logic      [$clog2(N/8):0]  count_i,  // bytes in the beat, from 1
    input  wire logic               [N-1:0] data_i,

    output logic                    valid_o,
    output logic                    last_o,
    output logic [  $clog2(N/8):0]  count_o,
    output logic [           N-1:0] data_o,

    // With last_o.
    output logic                    passed_o,
    output logic                    stray_o,    // whole, for none of ours, or a fragment
    output logic                    is_arp_o,
    output logic                    is_icmp_o,  // if not ARP
    output logic        [Ports-1:0] port_o,     // which, if neither

    // For the form of the datagram: each beat of the frame with its number, which stays at 15; the
    // length of the IP packet, from the cycle behind the beat that has it to f_done_o; f_done_o a
    // cycle behind the last beat.
    output logic                    f_valid_o,
    output logic             [ 3:0] f_beat_o,
    output logic            [N-1:0] f_data_o,
    output logic             [15:0] f_length_o,
    output logic                    f_next_o,   // a cycle behind f_valid_o, or later
    output logic                    f_done_o,
    output logic                    f_is_udp_o, // with f_done_o
    // A cycle later or more the bytes of the IP packet alone, zeros around them, as crc_check wants
    // them.
    output logic                    p_valid_o,
    output logic             [ 3:0] p_beat_o,
    output logic            [N-1:0] p_data_o,
    output logic             [23:0] p_next_o,
    output logic   [$clog2(N/8)+1:0] p_left_o,

    output logic ev_bad_o,
    output logic ev_oversize_o,
    output logic ev_runt_o,
    output logic ev_not_ours_o,
    output logic ev_fragment_o,
    output logic ev_ip_sum_o,
    output logic ev_length_o,
    output logic ev_udp_sum_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned Lb = $clog2(Nb);
  localparam int unsigned BytesMax = 9216;
  localparam int unsigned BytesMin = 60;
  localparam int unsigned IdxW = $clog2(BytesMax / Nb + 1);
  // Cycles that sums and CRC take longer above 64 bits.
  localparam int unsigned Late = N == 64 ? 0 : 1;

  // Beats in which the fields lie, and the 16-bit lane of a byte offset.
  localparam int unsigned BTotal = 16 / Nb;
  localparam int unsigned BDest = 32 / Nb;
  localparam int unsigned BHeader = wire_pkg::OffHeader / Nb;
  localparam int unsigned BRunt = BytesMin / Nb;
  localparam bit Wide = BHeader == 0;

  if (N != 64 && N != 128 && N != 512) begin : g_bad_1
    $error("N must be 64, 128 or 512");
  end

  // Checks, in their order.
  typedef enum logic [3:0] {
    WhyBad      = 4'd0,
    WhyOversize = 4'd1,
    WhyRunt     = 4'd2,
    WhyNotOurs  = 4'd3,
    WhyFragment = 4'd4,
    WhyIpSum    = 4'd5,
    WhyNoPort   = 4'd6,   // counted as not ours
    WhyLength   = 4'd7,
    WhyUdpSum   = 4'd8,
    WhyNone     = 4'd9
  } why_e;

  // A verdict waits for the sums: done_q[0] is the cycle after a last beat was in stage 0.
  localparam int unsigned Wait = 3 + Late;
  logic [Wait:0] done_q;

  // Stage 0: the beat, its number in the frame.
  logic v0_q, last0_q, bad0_q;
  logic [Lb:0] n0_q;
  logic [N-1:0] d0_q;
  logic [IdxW-1:0] idx0_q;
  logic [3:0] beat0_q;  // the same, but stays at 15: the fields lie before

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      v0_q    <= 1'b0;
      idx0_q  <= '0;
      beat0_q <= '0;
    end else begin
      v0_q <= valid_i;
      if (v0_q) begin
        if (last0_q) idx0_q <= '0;
        else if (idx0_q != IdxW'(BytesMax / Nb)) idx0_q <= idx0_q + 1'b1;
        if (last0_q) beat0_q <= '0;
        else if (beat0_q != 4'd15) beat0_q <= beat0_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      d0_q    <= data_i;
      n0_q    <= count_i;
      bad0_q  <= bad_i;
      last0_q <= last_i;
    end
  end

  // The beat's byte at a byte of the frame, and the word there as a number.
  `define SW_BYTE(Offset) d0_q[8*((Offset)%Nb)+:8]
  `define SW_WORD(Offset) {bits_pkg::be16(d0_q[8*((Offset)%Nb)+:16])}

  // What the fields say. Each is set at its beat, well before the frame's last in every frame that
  // is no runt.
  logic us_q, broadcast_q, arp_q, ip_q, v45_q, arp_form_q, fragment_q, udp_q, icmp_q;
  logic dst_hi_q, dst_lo_q, echo_q, udp_len_q, arp_dst_hi_q, arp_dst_lo_q;
  logic sum_given_q, fits_q;
  logic runt_q, oversize_q, bad_q;
  logic [Ports-1:0] port_q;
  logic [15:0] total_q;
  logic whole_q;        // stage 0's beat is all of the packet, as far as it is known
  logic [16:0] left_q;  // bytes from the beginning of stage 0's beat to the end of the IP packet

  if (Wide) begin : g_left_of_first
    // The first beat needs it too: the length is read as the beat comes.
    logic is_first;
    logic [15:0] total;
    logic [17:0] left_d;  // negative: none
    assign is_first = v0_q ? last0_q : beat0_q == '0;
    assign total    = bits_pkg::be16(data_i[8*16+:16]);
    assign left_d   = (is_first ? 18'(total) : 18'(left_q)) + (is_first ? 18'd14 : -18'(Nb));
    always_ff @(posedge clk_i) begin
      if (valid_i) begin
        left_q  <= left_d[17] ? '0 : left_d[16:0];
        whole_q <= is_first ? total >= 16'(Nb - 14) : |left_q[16:Lb+1];
      end
    end
  end else begin : g_left
    logic [16:0] left_d;  // negative: none
    assign left_d = (beat0_q == 4'(BTotal) ? 17'(`SW_WORD(16)) : left_q)
        - (beat0_q == 4'(BTotal) ? 17'(Nb * (BTotal + 1) - 14) : 17'(Nb));
    always_ff @(posedge clk_i) begin
      if (v0_q) left_q <= left_d[16] ? '0 : {1'b0, left_d[15:0]};
      if (rst_i) whole_q <= 1'b1;
      else if (v0_q)
        whole_q <= last0_q || beat0_q < 4'(BTotal) || (!left_d[16] && |left_d[15:Lb]);
    end
  end

  logic [15:0] total_d;  // where total_q comes too late
  assign total_d = Wide ? `SW_WORD(16) : total_q;

  always_ff @(posedge clk_i) begin
    if (v0_q) begin
      if (beat0_q == 4'(0)) begin
        us_q <= {d0_q[7:0], d0_q[15:8], d0_q[23:16], d0_q[31:24], d0_q[39:32], d0_q[47:40]}
            == self_i.mac || !Addressed;
        broadcast_q <= &d0_q[47:0] || !Addressed;
      end
      if (beat0_q == 4'(12 / Nb)) begin
        arp_q <= `SW_WORD(12) == 16'h0806;
        ip_q <= `SW_WORD(12) == 16'h0800;
        v45_q <= `SW_BYTE(14) == 8'h45;
        arp_form_q <= `SW_WORD(14) == 16'h0001;
      end
      if (beat0_q == 4'(BTotal)) begin
        total_q <= `SW_WORD(16);
        // What is an address length and an operation in ARP.
        arp_form_q <= (Wide ? `SW_WORD(14) == 16'h0001 : arp_form_q)
            && `SW_WORD(16) == 16'h0800 && `SW_WORD(18) == 16'h0604 && `SW_WORD(20) == 16'h0001;
        fragment_q <= |(`SW_WORD(20) & 16'h3FFF);
        udp_q <= `SW_BYTE(23) == 8'd17;
        icmp_q <= `SW_BYTE(23) == 8'd1;
      end
      if (beat0_q == 4'(30 / Nb)) dst_hi_q <= `SW_WORD(30) == self_i.ip[31:16] || !Addressed;
      if (beat0_q == 4'(BDest)) begin
        dst_lo_q <= `SW_WORD(32) == self_i.ip[15:0] || !Addressed;
        echo_q <= `SW_WORD(34) == 16'h0800;
        for (int i = 0; i < int'(Ports); i++)
        port_q[i] <= `SW_WORD(36) == ports_i[16*i+:16] || (!Addressed && Ports == 1);
        udp_len_q <= `SW_WORD(38) + 16'd20 == total_d;
        arp_dst_hi_q <= `SW_WORD(38) == self_i.ip[31:16] || !Addressed;
      end
      if (beat0_q == 4'(BHeader)) begin
        arp_dst_lo_q <= `SW_WORD(40) == self_i.ip[15:0] || !Addressed;
        sum_given_q <= |`SW_WORD(40);
      end
      bad_q <= bad0_q;
      fits_q <= (Wide || beat0_q > 4'(BTotal)) && left_q <= 17'(n0_q);
      runt_q <= beat0_q <= 4'(BRunt)
          && !(beat0_q == 4'(BRunt) && n0_q >= (Lb + 1)'(BytesMin % Nb));
      oversize_q <= Addressed && idx0_q == IdxW'(BytesMax / Nb);
    end
  end

  // Stage 1: the bytes of the IP packet alone. A beat stays until the next is there, whose first
  // bytes the CRC may need.
  logic v1_q, last1_q, go1;
  logic [3:0] idx1_q;
  logic [Lb+1:0] left1_q;
  logic [N-1:0] d1_q;
  logic [23:0] clean;  // the first bytes of stage 0's beat, as they will be in d1_q

  // What is computed in functions here is so where a register takes it, and costs the simulator
  // nothing between frames.
  function automatic logic [7:0] clean_byte(
      input int unsigned i, input logic [7:0] data, input logic [3:0] beat, input logic whole,
      input logic [Lb-1:0] left);
    logic counts;
    counts = whole || left > Lb'(i);
    if (beat == 4'(12 / Nb) && i < 14 % Nb) counts = 1'b0;
    if (Nb < 14 && beat == 4'(0)) counts = 1'b0;
    clean_byte = counts ? data : 8'h00;
  endfunction

  // A continuous assignment follows a function's arguments only, not the signals that it reads.
  assign clean = {
    clean_byte(2, d0_q[23:16], beat0_q, whole_q, left_q[Lb-1:0]),
    clean_byte(1, d0_q[15:8], beat0_q, whole_q, left_q[Lb-1:0]),
    clean_byte(0, d0_q[7:0], beat0_q, whole_q, left_q[Lb-1:0])
  };

  assign go1 = v1_q && (v0_q || last1_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) v1_q <= 1'b0;
    else v1_q <= v0_q || (v1_q && !go1);
  end

  always_ff @(posedge clk_i) begin
    if (v0_q) begin
      for (int unsigned i = 0; i < Nb; i++)
        d1_q[8*i+:8] <= clean_byte(i, d0_q[8*i+:8], beat0_q, whole_q, left_q[Lb-1:0]);
      last1_q <= last0_q;
      idx1_q <= beat0_q;
      left1_q <= (!Wide && beat0_q <= 4'(BTotal)) || |left_q[16:Lb+2] ? '1 : left_q[Lb+1:0];
    end
  end

  assign f_valid_o  = v0_q;
  assign f_beat_o   = beat0_q;
  assign f_data_o   = d0_q;
  assign f_length_o = total_q;
  assign f_next_o   = v1_q;
  assign f_done_o   = done_q[0];
  assign f_is_udp_o = udp_q && !arp_q;
  assign p_valid_o  = go1;
  assign p_beat_o   = idx1_q;
  assign p_data_o   = d1_q;
  assign p_next_o   = clean;
  assign p_left_o   = left1_q;

  // Stages 2 and 3: whether the sums of the IP header and of the datagram are right.
  logic header_ok, datagram_ok;
  if (Wide) begin : g_sums_wide
    ip_sums_wide i_sums (
        .clk_i        (clk_i),
        .valid_i      (go1),
        .first_i      (idx1_q == 4'd0),  // yosys 0.70 stops at an unsized literal in a port
        .data_i       (d1_q),
        .is_udp_i     (udp_q),
        .length_i     (total_q),
        .header_ok_o  (header_ok),
        .datagram_ok_o(datagram_ok)
    );
  end else begin : g_sums
    ip_sums #(
        .N(N)
    ) i_sums (
        .clk_i        (clk_i),
        .valid_i      (go1),
        .beat_i       (idx1_q),
        .data_i       (d1_q),
        .next_i       (last1_q ? 16'd0 : clean[15:0]),
        .is_udp_i     (udp_q),
        .length_i     (total_q),
        .header_ok_o  (header_ok),
        .datagram_ok_o(datagram_ok)
    );
  end

  // The verdict. In the cycle after a last beat was in stage 0 the fields say all they can; the
  // sums come in `Wait` cycles more.
  localparam logic [7:0] Heads = 8'd28;  // of IP and UDP; the packet is the rest of total_q

  // Constants below 256 need no carry chain over 16 bits each.
  logic is_long;
  assign is_long = |total_d[15:8];
  function automatic logic reaches(input logic [7:0] length, input logic [7:0] least);
    reaches = 1'b1;
    for (int i = 0; i < 8; i++)
    reaches = least[i] ? length[i] && reaches : length[i] || reaches;
  endfunction

  // Below 512 bits the results of the lengths are known before the last beat.
  logic has_ip_q, has_heads_q, has_echo_q;
  always_ff @(posedge clk_i) begin
    if (Wide ? v0_q && beat0_q == '0 : v1_q) begin
      has_ip_q <= is_long || reaches(total_d[7:0], 8'd20);
      has_heads_q <= is_long || reaches(total_d[7:0], Heads);
      has_echo_q <= !(is_long || reaches(total_d[7:0], 8'(21 + net_pkg::IcmpMax)));
    end
  end
  typedef struct packed {
    why_e why;
    logic is_arp;
    logic is_icmp;
    logic is_ip;
    logic has_sum;
    logic [Ports-1:0] port;
  } verdict_t;

  function automatic verdict_t judged();
    why_e why;
    logic is_ip, may_lack_sum;
    why = WhyNone;
    may_lack_sum = |(port_q & NoSum);
    // A header that ends before itself has no sum.
    is_ip = !arp_q && has_ip_q;
    if (bad_q) why = WhyBad;
    else if (oversize_q) why = WhyOversize;
    else if (runt_q) why = WhyRunt;
    else if (arp_q) begin
      if (!((us_q || broadcast_q) && arp_form_q && arp_dst_hi_q && arp_dst_lo_q))
        why = WhyNotOurs;
    end else if (!(us_q && ip_q && v45_q && dst_hi_q && dst_lo_q)) why = WhyNotOurs;
    else if (fragment_q) why = WhyFragment;
    else if (!(udp_q && |port_q || icmp_q && echo_q && has_echo_q)) why = WhyNoPort;
    else if (!fits_q || !has_heads_q) why = WhyLength;
    else if (!icmp_q) begin
      if (!udp_len_q) why = WhyLength;
      else if (!sum_given_q && !may_lack_sum) why = WhyUdpSum;
    end
    judged = {
      why, arp_q, icmp_q, is_ip, is_ip && !(udp_q && !sum_given_q && may_lack_sum), port_q
    };
  endfunction

  localparam int unsigned VerdictBits = 8 + Ports;
  // Of bits: yosys has no arrays of structs.
  logic [VerdictBits-1:0] verdict_q[Wait];

  always_ff @(posedge clk_i) begin
    done_q <= rst_i ? '0 : {done_q[Wait-1:0], v0_q && last0_q};
    if (done_q[0]) verdict_q[0] <= judged();
    for (int i = 1; i < int'(Wait); i++) verdict_q[i] <= verdict_q[i-1];
  end

  verdict_t verdict;  // without the sums
  assign verdict = verdict_q[Wait-1];

  why_e why, why_q;
  always_comb begin
    why = verdict.why;
    if (verdict.is_ip && why > WhyIpSum && !header_ok) why = WhyIpSum;
    else if (verdict.has_sum && why > WhyUdpSum && !datagram_ok) why = WhyUdpSum;
  end

  logic judged_q;
  always_ff @(posedge clk_i) begin
    why_q <= why;
    is_arp_o <= verdict.is_arp;
    is_icmp_o <= verdict.is_icmp;
    port_o <= verdict.port;
    judged_q <= done_q[Wait] && !rst_i;
  end

  assign passed_o      = why_q == WhyNone;
  logic not_ours;
  assign not_ours      = why_q == WhyNotOurs || why_q == WhyNoPort;
  assign stray_o       = not_ours || why_q == WhyFragment;
  assign ev_bad_o      = judged_q && why_q == WhyBad;
  assign ev_oversize_o = judged_q && why_q == WhyOversize;
  assign ev_runt_o     = judged_q && why_q == WhyRunt;
  assign ev_not_ours_o = judged_q && not_ours;
  assign ev_fragment_o = judged_q && why_q == WhyFragment;
  assign ev_ip_sum_o   = judged_q && why_q == WhyIpSum;
  assign ev_length_o   = judged_q && why_q == WhyLength;
  assign ev_udp_sum_o  = judged_q && why_q == WhyUdpSum;

  // The beats wait for their verdict.
  localparam int unsigned Delay = 5 + Late;
  logic [N-1:0] data_q[Delay];
  logic [Lb:0] count_q[Delay];
  logic valid_q[Delay], final_q[Delay];
  always_ff @(posedge clk_i) begin
    data_q[0]  <= d0_q;
    count_q[0] <= n0_q;
    final_q[0] <= last0_q;
    valid_q[0] <= v0_q && !rst_i;
    for (int i = 1; i < int'(Delay); i++) begin
      data_q[i]  <= data_q[i-1];
      count_q[i] <= count_q[i-1];
      final_q[i] <= final_q[i-1];
      valid_q[i] <= valid_q[i-1] && !rst_i;
    end
  end

  assign valid_o = valid_q[Delay-1];
  assign last_o  = final_q[Delay-1];
  assign count_o = count_q[Delay-1];
  assign data_o  = data_q[Delay-1];

  `undef SW_BYTE
  `undef SW_WORD

endmodule

`default_nettype wire
