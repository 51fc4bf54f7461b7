// Makes header and trailer of a frame with the interface of head_builder, at 64 bits: a word, and
// 16 bits of a sum, a cycle (docs/protocol.md#2).
//
// The header's words are chosen by one multiplexer that works on the job where it stands: first for
// CRC and sums, which read it by steps, then for the frame, a word a beat. The adder is shared too:
// while there is no job it sums the addresses and ports of the stream again and again.
//
// Throughput: a header in 23 clocks. Latency: `start_o` comes with the job where nothing is under
// way, and `ready_o` 14 cycles after it; the header's beats may then be read, one a cycle or slower.
// These are of 22 header bytes; every 4 more take 2 cycles more. Without Trailer and UdpSum nothing
// waits for the CRC: `ready_o` comes 2 cycles after `start_o`, whatever the length. No other
// back-pressure. What a step does is known in the cycle before.
//
// A job stands from `job_valid_i` to `done_i`, the cycle behind that which takes its last header beat
// and the trailer.
// `self_i` and `peer_i` stand still from 32 cycles before a job on; with PeerByJob `peer_i` and
// `ip_sum_i` stand with the job. One clock.
`default_nettype none

module head_serial #(
    parameter  int unsigned HeaderBytes = 22,
    parameter  bit          WholeWords  = 1'b1,
    parameter  bit          UdpSum      = 1'b1,
    parameter  bit          Trailer     = 1'b1,
    parameter  bit          PeerByJob   = 1'b0,
    parameter  logic [31:0] Poly        = crc_pkg::Crc32cPoly,
    localparam int unsigned Words       = (42 + HeaderBytes + 7) / 8,
    localparam int unsigned BeatWidth   = $clog2(Words)
) (
    input  wire logic                          clk_i,
    input  wire logic                          rst_i,
    input  wire net_pkg::peer_t                self_i,
    input  wire net_pkg::peer_t                peer_i,
    input  wire logic                   [15:0] ip_sum_i,
    input  wire logic                          job_valid_i,
    input  wire logic                    [7:0] tos_i,
    input  wire logic      [8*HeaderBytes-1:0] header_i,
    input  wire net_pkg::payload_t             payload_i,
    input  wire logic                          hold_i,
    output      logic                          start_o,
    output      logic                          busy_o,
    output      logic                          ready_o,
    input  wire logic          [BeatWidth-1:0] beat_i,
    output      logic                   [63:0] data_o,
    input  wire logic                          done_i,
    output      logic                   [31:0] trailer_o
);

  // CRC and sum take the header in halves of words, from frame byte 40 on: the UDP checksum, which
  // is in neither, then the packet's header, and zeros up to the end of the last half.
  localparam int unsigned Halves = (HeaderBytes + 2 + 3) / 4;
  localparam int unsigned PadBytes = 4 * Halves - 2 - HeaderBytes;

  if (UdpSum && (!Trailer || PeerByJob)) begin : g_sum
    $error("the UDP checksum covers the trailer, and the addresses for longer than a job");
  end
  if (HeaderBytes < 4 || HeaderBytes > 44) begin : g_header
    $error("a packet's header has 4 to 44 bytes: there are steps for no more");
  end

  // Steps. Those below FirstStep are gone through in circles, without a job.
  localparam int unsigned StepWidth = 6;
  typedef logic [StepWidth-1:0] step_t;
  localparam step_t IpFixedStep  = 6'd6;   // the sum is that of the addresses
  localparam step_t UdpFixedStep = 6'd10;  // and that of the ports
  localparam step_t FirstStep    = 6'd16;
  localparam step_t CrcDoneStep  = FirstStep + step_t'(Halves);  // the last half enters the CRC
  localparam step_t CombineStep  = CrcDoneStep + 6'd8;  // and the last bits of the CRC the trailer
  localparam step_t LengthStep   = FirstStep + step_t'(2 * Halves - 1);
  localparam step_t PayloadStep  = LengthStep + 6'd3;
  localparam step_t TrailerStep  = (PayloadStep > CombineStep ? PayloadStep : CombineStep) + 6'd1;
  localparam step_t LastStep     = Trailer ? TrailerStep + 6'd3 : FirstStep + 6'd1;
  // The UDP checksum is there five beats later.
  localparam step_t ReadyStep    = Trailer ? LastStep - 6'd5 : LastStep;

  typedef enum logic [2:0] {
    FromSlice,  // what was chosen in the step before
    FromIpConst,
    FromUdpConst,
    FromUdpFixed,
    FromPayload,
    FromTrailerHigh,
    FromTrailerLow,
    FromNowhere  // the last carry
  } source_e;

  // What a step adds, and which word of the header and which 16 bits of it, from the left, the next
  // one does. The halves of the words of the first steps of a job are what the CRC takes.
  typedef struct packed {
    source_e    source;
    logic [3:0] word;
    logic [1:0] slice;
  } plan_t;

  // The plan of step n at bits 9 n and up.
  function automatic logic [575:0] all_plans();
    all_plans = {64{FromNowhere, 4'd4, 2'd0}};
    all_plans[9*0+:9] = {FromIpConst, 4'd3, 2'd1};
    all_plans[9*1+:9] = {FromSlice, 4'd3, 2'd2};
    all_plans[9*2+:9] = {FromSlice, 4'd3, 2'd3};
    all_plans[9*3+:9] = {FromSlice, 4'd4, 2'd0};
    all_plans[9*4+:9] = {FromSlice, 4'd4, 2'd0};
    all_plans[9*5+:9] = {FromNowhere, 4'd4, 2'd1};
    all_plans[9*6+:9] = {FromSlice, 4'd4, 2'd2};
    all_plans[9*7+:9] = {FromSlice, 4'd4, 2'd0};
    all_plans[9*8+:9] = {FromUdpConst, 4'd4, 2'd0};
    for (int unsigned k = 0; k < 2 * Halves + 2; k++)
      all_plans[9*(16+k)+:9] = {k == 0 ? FromUdpFixed : FromSlice, 4'd4, 2'd0};
    // Of each half one slice in its own step, the other one behind the last half.
    for (int unsigned k = 0; k < Halves; k++) begin
      all_plans[9*(16+k)+:6] = {4'(5 + k / 2), k == 0 ? 2'd1 : {k[0], 1'b0}};
      if (k != 0) all_plans[9*(15+Halves+k)+:6] = {4'(5 + k / 2), k[0], 1'b1};
    end
    // The UDP length, which stands twice in the sum.
    all_plans[9*LengthStep+:6]       = {4'd4, 2'd3};
    all_plans[9*(LengthStep+1)+:6]   = {4'd4, 2'd3};
    all_plans[9*PayloadStep+6+:3]    = FromPayload;
    all_plans[9*TrailerStep+6+:3]    = FromTrailerHigh;
    all_plans[9*TrailerStep+15+:3]   = FromTrailerLow;
  endfunction

  localparam logic [575:0] Plans = all_plans();

  // The plan of the step after step n, where no job begins or ends. Each of its bits is a table of
  // step_q alone, one LUT: through step_d it takes two more levels.
  function automatic logic [575:0] all_next_plans(logic [575:0] plans);
    all_next_plans = {plans[8:0], plans[575:9]};
    all_next_plans[9*UdpFixedStep+:9] = plans[8:0];
    all_next_plans[9*LastStep+:9] = plans[9*LastStep+:9];
  endfunction

  localparam logic [575:0] NextPlans = all_next_plans(Plans);

  step_t step_q, step_d;
  logic working_q, ready_q, ready_d;  // step_q is FirstStep or above; it is ReadyStep or above
  plan_t plan_q, plan_d;
  logic [3:0] index_q;  // of the word

  assign start_o = job_valid_i && !working_q && !hold_i;
  assign ready_d = (ready_q || step_q == ReadyStep - 1'b1) && !rst_i && !done_i;
  assign ready_o = ready_q;
  assign busy_o  = working_q;

  always_comb begin
    step_d = step_q;
    if (step_q == UdpFixedStep) step_d = '0;
    else if (step_q != LastStep) step_d = step_q + 1'b1;
    plan_d = NextPlans[9*step_q+:9];
    if (start_o) begin
      step_d = FirstStep;
      plan_d = Plans[9*FirstStep+:9];
    end
    if (rst_i || done_i) begin
      step_d = '0;
      plan_d = Plans[8:0];
    end
  end

  always_ff @(posedge clk_i) begin
    step_q    <= step_d;
    plan_q    <= plan_d;
    index_q   <= ready_d ? 4'(beat_i) : plan_d.word;
    working_q <= (working_q || start_o) && !rst_i && !done_i;
    ready_q   <= ready_d;
  end

  // The header's words. Lengths from that of the payload.
  // Version and length of header, ECT(0), which tos_i exceeds; DF; TTL 64, UDP.
  localparam logic [15:0] IpWord0 = {8'h45, net_pkg::TosEct0};
  localparam logic [15:0] IpWord3 = 16'h4000;
  localparam logic [15:0] IpWord4 = 16'h4011;
  localparam logic [15:0] UdpMore = 16'(8 + HeaderBytes + 4);
  localparam logic [15:0] IpMore  = UdpMore + 16'd20;

  // Where a packet's bytes are the odd ones of the sum's words, its words enter with bytes swapped.
  localparam bit IsOdd = HeaderBytes % 2 != 0;

  logic [15:0] ip_q, udp_field;
  logic [15:0] len_bytes, length;
  logic [63:0] word;
  logic [703:0] rest;  // the words from the sixth on

  assign len_bytes = payload_i.len_bytes;
  if (WholeWords) begin : g_whole
    assign length = {len_bytes[15:3] + (index_q[2] ? UdpMore[15:3] : IpMore[15:3]),
        index_q[2] ? UdpMore[2:0] : IpMore[2:0]};
  end else begin : g_any
    assign length = len_bytes + (index_q[2] ? UdpMore : IpMore);
  end

  assign rest = {udp_field, header_i, {(8 * (86 - HeaderBytes)) {1'b0}}};

  always_comb begin
    unique case (index_q)
      4'd0: word = {peer_i.mac, self_i.mac[47:32]};
      4'd1: word = {self_i.mac[31:0], 16'h0800, IpWord0[15:8], tos_i};
      4'd2: word = {length, 16'h0000, IpWord3, IpWord4};
      4'd3: word = {~ip_q, self_i.ip, peer_i.ip[31:16]};
      4'd4: word = {peer_i.ip[15:0], self_i.port, peer_i.port, length};
      4'd5: word = rest[640+:64];
      4'd6: word = rest[576+:64];
      4'd7: word = rest[512+:64];
      4'd8: word = rest[448+:64];
      4'd9: word = rest[384+:64];
      default: word = rest[320+:64];
    endcase
  end

  assign data_o = bits_pkg::be64(word);

  // CRC, of the packet. The first half begins with 2 bytes that are not of the packet; zeros in
  // their place are undone by the register's start, those behind its end at the end.
  localparam logic [31:0] CrcStart = crc_pkg::before_zeros('1, Poly, 2);
  localparam int unsigned Bits = 4;

  logic [31:0] half_q, crc_q, crc_next, crc_done, product;
  // What the job says of the payload, a cycle late: it is wanted in the last steps.
  logic [31:0] payload_crc_q, shift_q;
  logic [15:0] payload_sum_q;

  always_ff @(posedge clk_i) begin
    payload_crc_q <= payload_i.crc;
    payload_sum_q <= IsOdd ? bits_pkg::be16(payload_i.sum) : payload_i.sum;
    shift_q       <= payload_i.shift;
  end

  if (Trailer) begin : g_crc
    header_crc #(
        .Poly(Poly)
    ) u_header_crc (
        .crc_i (crc_q),
        .word_i(half_q),
        .crc_o (crc_next)
    );

    assign crc_done = crc_pkg::before_zeros(crc_next, Poly, PadBytes);

    // The header's CRC is moved over the payload while it is shifted out of its register.
    crc_combine #(
        .Bits(Bits),
        .Poly(Poly)
    ) u_crc_combine (
        .clk_i    (clk_i),
        .start_i  (step_q == CrcDoneStep),
        .step_i   (step_q > CrcDoneStep && step_q <= CombineStep),
        .a_i      (crc_q[Bits-1:0]),
        .b_i      (shift_q),
        .product_o(product)
    );
  end else begin : g_no_crc
    assign crc_next = '0;
    assign crc_done = '0;
    assign product  = '0;
  end

  assign trailer_o = ~(product ^ payload_crc_q);

  always_ff @(posedge clk_i) begin
    half_q <= step_q[0] ? word[31:0] : word[63:32];
    if (step_q == FirstStep) half_q[31:16] <= 16'd0;
    if (step_q <= FirstStep) crc_q <= CrcStart;
    else if (step_q > CrcDoneStep) crc_q <= crc_q >> Bits;
    else crc_q <= (step_q == CrcDoneStep) ? crc_done : crc_next;
  end

  // Sums. The carry of an addition enters the next one. UDP's covers IPv4's addresses too, but not
  // the rest of its header.
  localparam logic [15:0] IpConst = net_pkg::add1c(
      net_pkg::add1c(IpWord0, IpWord3), net_pkg::add1c(IpWord4, IpMore)
  );
  localparam logic [15:0] UdpConst = net_pkg::add1c(16'h0011, ~IpConst);

  logic [15:0] slice, slice_q, number, sum, ip_fixed_q, ip_more_q, udp_fixed_q;
  logic [16:0] sum_q;
  logic is_first, swaps;

  assign swaps = IsOdd != (!WholeWords && len_bytes[0]);

  assign is_first = step_q == '0 || step_q == FirstStep;

  always_comb begin
    unique case (plan_q.slice)
      2'd0: slice = word[63:48];
      2'd1: slice = word[47:32];
      2'd2: slice = word[31:16];
      2'd3: slice = word[15:0];
    endcase
    unique case (plan_q.source)
      FromSlice:       number = slice_q;
      FromIpConst:     number = IpConst;
      FromUdpConst:    number = UdpConst;
      FromUdpFixed:    number = udp_fixed_q;
      FromPayload:     number = payload_sum_q;
      FromTrailerHigh: number = swaps ? bits_pkg::be16(trailer_o[31:16]) : trailer_o[31:16];
      FromTrailerLow:  number = swaps ? bits_pkg::be16(trailer_o[15:0]) : trailer_o[15:0];
      default:         number = 16'd0;
    endcase
  end

  // A sum whose carry was added once more has its carry only where the rest is zero.
  assign sum = {sum_q[15:1], sum_q[0] | sum_q[16]};

  always_ff @(posedge clk_i) begin
    slice_q <= slice;
    sum_q   <= {1'b0, number} + {1'b0, is_first ? 16'd0 : sum_q[15:0]} +
        17'(sum_q[16] && !is_first);
    if (PeerByJob) ip_fixed_q <= net_pkg::add1c(IpConst, ip_sum_i);
    else if (step_q == IpFixedStep) ip_fixed_q <= sum;
    if (step_q == UdpFixedStep) udp_fixed_q <= sum;
    ip_more_q <= len_bytes + 16'(tos_i - net_pkg::TosEct0);
    ip_q      <= net_pkg::add1c(ip_fixed_q, ip_more_q);
  end

  // Never zero (docs/protocol.md#2.1): a sum of all ones, whose complement would be zero, stays.
  // Zero stands for a datagram without a checksum.
  assign udp_field = !UdpSum ? 16'd0 : (&sum) ? 16'hFFFF : ~sum;

endmodule

`default_nettype wire
