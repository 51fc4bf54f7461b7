// Judges received frames, N bits a cycle: Ethernet, ARP, IPv4, UDP, ICMP echo requests, and the
// header, the CRC and the length of Samplewire packets (docs/protocol.md#2.2 to 2.8).
//
// A beat every clock for ever. Each beat comes out 5 cycles after it came in, at 128 bits 6, and with
// a frame's last beat its verdict. A frame of ours has ok_o; each other raises one event, that of the first
// check in the order of the list below that it fails. With Addressed low the frame's addresses have
// been looked at before; MAC errors, runts and oversize too. Bytes behind the IP packet are padding
// and not looked at. Does not store, does not look at the fields of a body but a REPORT's n.
`default_nettype none

module rx_parse #(
    parameter int unsigned N         = 64,
    parameter bit          Addressed = 1'b1
) (
    input  wire logic                       clk_i,
    input  wire logic                       rst_i,
    input  wire sw_pkg::peer_t              self_i,
    input  wire logic                [31:0] stream_tag_i,
    input  wire logic                       stream_tag_valid_i,

    input  wire logic                       valid_i,
    input  wire logic                       last_i,
    input  wire logic                       bad_i,    // with last_i
    input  wire logic      [$clog2(N/8):0]  count_i,  // bytes in the beat, from 1
    input  wire logic               [N-1:0] data_i,

    output logic                    valid_o,
    output logic                    last_o,
    output logic [  $clog2(N/8):0]  count_o,
    output logic [           N-1:0] data_o,
    output logic                    ok_o,             // with last_o
    output logic                    other_version_o,  // with last_o
    output sw_pkg::class_e          cls_o,            // with last_o
    output logic                    stray_o,          // with last_o: whole, for none of ours

    output logic ev_bad_o,
    output logic ev_oversize_o,
    output logic ev_runt_o,
    output logic ev_not_ours_o,
    output logic ev_fragment_o,
    output logic ev_ip_sum_o,
    output logic ev_length_o,
    output logic ev_udp_sum_o,
    output logic ev_form_o,
    output logic ev_crc_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned Lb = $clog2(Nb);
  localparam int unsigned Words = Nb / 2;
  localparam int unsigned BytesMax = 9216;
  localparam int unsigned BytesMin = 60;
  localparam int unsigned IdxW = $clog2(BytesMax / Nb + 1);
  localparam int unsigned IcmpMax = 128;
  // Cycles that sums and CRC take longer at 128 bits.
  localparam int unsigned Late = N == 128 ? 1 : 0;

  // Beats in which the fields lie, and the 16-bit lane of a byte offset.
  localparam int unsigned BTotal = 16 / Nb;
  localparam int unsigned BSource = 26 / Nb;
  localparam int unsigned BDest = 32 / Nb;
  localparam int unsigned BHeader = sw_pkg::OffHeader / Nb;
  localparam int unsigned BCount = 102 / Nb;

  if (N != 64 && N != 128) begin : g_bad_1
    $error("N must be 64 or 128");
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
    WhyForm     = 4'd9,
    WhyCrc      = 4'd10,
    WhyBody     = 4'd11,  // counted as length
    WhyNone     = 4'd12
  } why_e;

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
  `define SW_WORD(Offset) {sw_pkg::be16(d0_q[8*((Offset)%Nb)+:16])}

  // What the fields say. Each is set at its beat, well before the frame's last in every frame that
  // is no runt.
  logic us_q, broadcast_q, arp_q, ip_q, v45_q, arp_form_q, fragment_q, udp_q, icmp_q;
  logic dst_hi_q, dst_lo_q, echo_q, port_q, udp_len_q, arp_dst_hi_q, arp_dst_lo_q;
  logic sum_given_q, version_q, reserved_q, tag_q, n_right_q, fits_q;
  logic runt_q, oversize_q, bad_q;
  logic [3:0] ptype_q;
  logic [15:0] total_q;
  logic has_beat_q;     // left_q is a beat or more
  logic [16:0] ranges_q;  // 8 bytes each: what a REPORT of total_q's length has, a cycle behind it
  logic [15:0] left_q;  // bytes from the beginning of stage 0's beat to the end of the IP packet

  logic [16:0] left_d;  // negative: none
  assign left_d = (beat0_q == 4'(BTotal) ? 17'(`SW_WORD(16)) : 17'(left_q))
      - (beat0_q == 4'(BTotal) ? 17'(Nb * (BTotal + 1) - 14) : 17'(Nb));

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
        arp_form_q <= arp_form_q && `SW_WORD(16) == 16'h0800 && `SW_WORD(18) == 16'h0604
            && `SW_WORD(20) == 16'h0001;
        fragment_q <= |(`SW_WORD(20) & 16'h3FFF);
        udp_q <= `SW_BYTE(23) == 8'd17;
        icmp_q <= `SW_BYTE(23) == 8'd1;
      end
      if (beat0_q == 4'(30 / Nb)) dst_hi_q <= `SW_WORD(30) == self_i.ip[31:16] || !Addressed;
      if (beat0_q == 4'(BDest)) begin
        dst_lo_q <= `SW_WORD(32) == self_i.ip[15:0] || !Addressed;
        echo_q <= `SW_WORD(34) == 16'h0800;
        port_q <= `SW_WORD(36) == self_i.port || !Addressed;
        udp_len_q <= `SW_WORD(38) + 16'd20 == total_q;
        arp_dst_hi_q <= `SW_WORD(38) == self_i.ip[31:16] || !Addressed;
      end
      if (beat0_q == 4'(BHeader)) begin
        arp_dst_lo_q <= `SW_WORD(40) == self_i.ip[15:0] || !Addressed;
        sum_given_q <= |`SW_WORD(40);
        version_q <= d0_q[8*(42%Nb)+4+:4] == sw_pkg::Version;
        ptype_q <= d0_q[8*(42%Nb)+:4];
        reserved_q <= d0_q[8*(43%Nb)+6];
        tag_q <= stream_tag_valid_i && {`SW_WORD(44), `SW_WORD(46)} == stream_tag_i;
      end
      if (beat0_q == 4'(BCount)) begin
        n_right_q <= {2'd0, ranges_q} == {`SW_WORD(102), 3'd0};
      end
      left_q     <= left_d[16] ? '0 : left_d[15:0];
      has_beat_q <= !left_d[16] && |left_d[15:Lb];

      bad_q <= bad0_q;
      fits_q <= beat0_q > 4'(BTotal) && left_q <= 16'(n0_q);
      runt_q <= beat0_q < 4'(BytesMin / Nb)
          || (beat0_q == 4'(BytesMin / Nb) && n0_q < (Lb + 1)'(BytesMin % Nb));
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

  logic whole_beat;  // all of the beat, as far as it is known
  assign whole_beat = beat0_q <= 4'(BTotal) || has_beat_q;

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
    clean_byte(2, d0_q[23:16], beat0_q, whole_beat, left_q[Lb-1:0]),
    clean_byte(1, d0_q[15:8], beat0_q, whole_beat, left_q[Lb-1:0]),
    clean_byte(0, d0_q[7:0], beat0_q, whole_beat, left_q[Lb-1:0])
  };

  assign go1 = v1_q && (v0_q || last1_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) v1_q <= 1'b0;
    else v1_q <= v0_q || (v1_q && !go1);
  end

  always_ff @(posedge clk_i) begin
    if (v0_q) begin
      for (int unsigned i = 0; i < Nb; i++)
        d1_q[8*i+:8] <= clean_byte(i, d0_q[8*i+:8], beat0_q, whole_beat, left_q[Lb-1:0]);
      last1_q <= last0_q;
      idx1_q <= beat0_q;
      left1_q <= beat0_q <= 4'(BTotal) || |left_q[15:Lb+2] ? '1 : left_q[Lb+1:0];
    end
  end

  logic crc_ok;
  crc_check #(
      .N(N)
  ) i_crc (
      .clk_i  (clk_i),
      .valid_i(go1),
      .beat_i (idx1_q),
      .data_i (d1_q),
      .next_i (clean),
      .left_i (left1_q),
      .ok_o   (crc_ok)
  );

  // Stage 2: the sum of the beat's words, each beat from its second word to the first of the next
  // one: so the IP header ends with a beat. Apart that of the addresses, which the pseudo header
  // counts again.
  localparam int unsigned Sw = 16 + $clog2(Words);
  localparam int unsigned BAddress = (26 - 2) / Nb;
  localparam int unsigned AddressLane = 26 % Nb / 2;  // the first of four
  logic v2_q;
  logic [3:0] idx2_q;
  logic [N+15:0] summed;
  logic [Sw-1:0] addresses_q;
  logic [19:0] sum_q;
  logic [15:0] extra;  // not yet in sum_q

  assign summed = {last1_q ? 16'd0 : clean[15:0], d1_q};
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

  if (Late == 0) begin : g_sum
    assign extra = extra_of(idx2_q, udp_q, total_q);
    always_ff @(posedge clk_i) begin
      v2_q <= go1;
      if (go1) begin
        idx2_q <= idx1_q;
        sum_q  <= 20'(sum_of(1'b1) + sum_of(1'b0));
        if (idx1_q == 4'(BAddress)) addresses_q <= sum_of(1'b1);
      end
    end
  end else begin : g_late_sum
    assign extra = '0;
    logic vs_q;
    logic [3:0] idxs_q;
    logic [Sw-1:0] some_q, others_q;
    always_ff @(posedge clk_i) begin
      vs_q     <= go1;
      idxs_q   <= idx1_q;
      some_q   <= sum_of(1'b1);
      others_q <= sum_of(1'b0);
      v2_q     <= vs_q;
      if (vs_q) begin
        idx2_q <= idxs_q;
        sum_q  <= 20'(some_q + others_q) + 20'(extra_of(idxs_q, udp_q, total_q));
        if (idxs_q == 4'(BAddress)) addresses_q <= some_q;
      end
    end
  end

  // Stage 3: the sum from the IP header on. A right header adds nothing to it, so an ICMP message
  // needs no more.
  logic [19:0] acc_q, base;
  logic [16:0] folded;
  logic is_whole_q, head1_q, head2_q;  // the sum of the header is in acc_q, in is_whole_q
  assign folded = 17'(acc_q[15:0]) + 17'(acc_q[19:16]);
  always_comb begin
    base = 20'(folded);
    if (idx2_q == 4'd0) base = '0;
    if (udp_q && idx2_q == 4'(BAddress + 1)) base = 20'(addresses_q);
  end

  always_ff @(posedge clk_i) begin
    if (v2_q) acc_q <= base + sum_q + 20'(extra);
    is_whole_q <= folded == 17'h0FFFF;
    head1_q <= v2_q && idx2_q == 4'(BAddress);
    head2_q <= head1_q;
  end

  // The verdict. In the cycle after a last beat was in stage 0 the fields say all they can; the
  // sums and the CRC come in `Wait` cycles more.
  logic body_fits;
  localparam logic [7:0] Heads = 8'd28;  // of IP and UDP; the packet is the rest of total_q

  // Constants below 256 need no carry chain over 16 bits each.
  logic is_long;
  assign is_long = |total_q[15:8];
  function automatic logic reaches(input logic [7:0] length, input logic [7:0] least);
    reaches = 1'b1;
    for (int i = 0; i < 8; i++)
    reaches = least[i] ? length[i] && reaches : length[i] || reaches;
  endfunction

  // Lengths of types, docs/protocol.md#2.4: at least, or exactly.
  function automatic logic is_body_right();
    logic [7:0] least, over;
    logic exact, short;
    exact = 1'b1;
    case (ptype_q)
      sw_pkg::TypeData:      {exact, least} = {1'b0, Heads + 8'd34};
      sw_pkg::TypeMark:      least = Heads + 8'd58;
      sw_pkg::TypeReport:    {exact, least} = {1'b0, Heads + 8'd66};
      sw_pkg::TypeOpen:      {exact, least} = {1'b0, Heads + 8'd128};
      sw_pkg::TypeChallenge: least = Heads + 8'd50;
      sw_pkg::TypeAccept:    {exact, least} = {1'b0, Heads + 8'd98};
      default:               least = Heads + 8'd42;
    endcase
    {short, over} = {1'b0, total_q[7:0]} - {1'b0, least};
    is_body_right = exact ? !is_long && over == '0 : is_long || !short;
  endfunction

  // The results of the lengths are known before the last beat; a cycle later each is one bit.
  logic has_ip_q, has_heads_q, has_echo_q, has_packet_q, body_right_q;
  always_ff @(posedge clk_i) begin
    if (v1_q) begin
      has_ip_q <= is_long || reaches(total_q[7:0], 8'd20);
      has_heads_q <= is_long || reaches(total_q[7:0], Heads);
      has_echo_q <= !(is_long || reaches(total_q[7:0], 8'(21 + IcmpMax)));
      has_packet_q <= is_long || reaches(total_q[7:0], Heads + 8'd26);
      body_right_q <= is_body_right();
      ranges_q <= 17'(total_q) - 17'(Heads + 8'd66);
    end
  end
  assign body_fits = body_right_q && (ptype_q != sw_pkg::TypeReport || n_right_q);

  typedef struct packed {
    why_e why;
    sw_pkg::class_e cls;
    logic is_ip;
    logic needs_crc;
    logic other;
  } verdict_t;

  function automatic verdict_t judged();
    why_e why;
    sw_pkg::class_e cls;
    logic is_ip, needs_crc, other;
    why = WhyNone;
    is_ip = !arp_q;
    needs_crc = udp_q && !arp_q;
    other = 1'b0;
    cls = sw_pkg::ClassSession;
    if (arp_q) cls = sw_pkg::ClassArp;
    else if (icmp_q) cls = sw_pkg::ClassIcmp;
    else if (ptype_q == sw_pkg::TypeReport && tag_q) cls = sw_pkg::ClassReport;
    if (bad_q) why = WhyBad;
    else if (oversize_q) why = WhyOversize;
    else if (runt_q) why = WhyRunt;
    else if (arp_q) begin
      if (!((us_q || broadcast_q) && arp_form_q && arp_dst_hi_q && arp_dst_lo_q))
        why = WhyNotOurs;
    end else if (!(us_q && ip_q && v45_q && dst_hi_q && dst_lo_q)) why = WhyNotOurs;
    else if (fragment_q) why = WhyFragment;
    else if (!(udp_q && port_q || icmp_q && echo_q)) why = WhyNoPort;
    else if (!fits_q || !has_heads_q) why = WhyLength;
    else if (icmp_q) begin
      if (!has_echo_q) why = WhyLength;
    end else if (!udp_len_q) why = WhyLength;
    else if (!sum_given_q) why = WhyUdpSum;
    else if (!has_packet_q) why = WhyBody;
    else if (!version_q) begin
      // An OPEN of another version is answered in that version: docs/protocol.md#2.8.
      needs_crc = 1'b0;
      other = 1'b1;
      if (ptype_q != sw_pkg::TypeOpen || !body_fits) why = WhyForm;
    end else if (ptype_q > sw_pkg::TypeCloseAck || reserved_q) why = WhyForm;
    else if (!body_fits) why = WhyBody;
    // Too short for a header comes before a wrong CRC, which cannot be looked for then.
    if (!has_packet_q) needs_crc = 1'b0;
    // A header that ends before itself has no sum.
    if (!has_ip_q) is_ip = 1'b0;
    judged = {why, cls, is_ip, needs_crc, other};
  endfunction

  localparam int unsigned VerdictBits = 9;
  localparam int unsigned Wait = 3 + Late;
  // Of bits: yosys has no arrays of structs.
  logic [VerdictBits-1:0] verdict_q[Wait];
  logic [Wait:0] done_q;
  logic ip_sum_ok_q, crc_ok_q;

  always_ff @(posedge clk_i) begin
    done_q <= rst_i ? '0 : {done_q[Wait-1:0], v0_q && last0_q};
    if (done_q[0]) verdict_q[0] <= judged();
    for (int i = 1; i < int'(Wait); i++) verdict_q[i] <= verdict_q[i-1];
    if (head2_q) ip_sum_ok_q <= is_whole_q;
    crc_ok_q <= crc_ok;
  end

  verdict_t verdict;  // with the sums and the CRC
  assign verdict = verdict_q[Wait-1];

  why_e why, why_q;
  always_comb begin
    why = verdict.why;
    if (verdict.is_ip && why > WhyIpSum && !ip_sum_ok_q) why = WhyIpSum;
    else if (verdict.is_ip && why > WhyUdpSum && !is_whole_q) why = WhyUdpSum;
    else if (verdict.needs_crc && why > WhyCrc && !crc_ok_q) why = WhyCrc;
  end

  logic judged_q;
  always_ff @(posedge clk_i) begin
    why_q <= why;
    cls_o <= verdict.cls;
    other_version_o <= verdict.other;
    judged_q <= done_q[Wait] && !rst_i;
  end

  assign ok_o          = why_q == WhyNone;
  assign stray_o       = why_q == WhyNotOurs || why_q == WhyNoPort;
  assign ev_bad_o      = judged_q && why_q == WhyBad;
  assign ev_oversize_o = judged_q && why_q == WhyOversize;
  assign ev_runt_o     = judged_q && why_q == WhyRunt;
  assign ev_not_ours_o = judged_q && stray_o;
  assign ev_fragment_o = judged_q && why_q == WhyFragment;
  assign ev_ip_sum_o   = judged_q && why_q == WhyIpSum;
  assign ev_length_o   = judged_q && (why_q == WhyLength || why_q == WhyBody);
  assign ev_udp_sum_o  = judged_q && why_q == WhyUdpSum;
  assign ev_form_o     = judged_q && why_q == WhyForm;
  assign ev_crc_o      = judged_q && why_q == WhyCrc;

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
