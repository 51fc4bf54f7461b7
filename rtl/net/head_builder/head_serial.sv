// Makes the header and the trailer of a DATA frame, at 64 bits: a word, and 16 bits of a sum, a
// cycle (docs/protocol.md#2).
//
// The header is eight words, chosen by one multiplexer that works on the job where it stands: first
// for CRC and sums, which read it by steps, then for the frame, a word a beat. The adder is shared
// too: while there is no job it sums the addresses and ports of the stream again and again.
//
// Throughput: a header in 23 clocks. Latency: `start_o` comes with the job where nothing is under
// way, and `ready_o` 14 cycles after it; the header's beats may then be read, one a cycle or slower.
// No other back-pressure. What a step does is known in the cycle before.
//
// A job stands from `job_valid_i` to `done_i`, the cycle behind that which takes its last header beat
// and the trailer.
// `self_i` and `peer_i` stand still from 32 cycles before a job on. One clock.
`default_nettype none

module head_serial (
    input  wire logic                 clk_i,
    input  wire logic                 rst_i,
    input  wire net_pkg::peer_t       self_i,
    input  wire net_pkg::peer_t       peer_i,
    input  wire logic                 job_valid_i,
    input  wire send_pkg::job_t       job_i,
    input  wire logic                 fetch_busy_i,  // no job is begun meanwhile
    output      logic                 start_o,       // the job is begun: its payload is wanted
    output      logic                 busy_o,
    output      logic                 ready_o,
    input  wire logic          [ 2:0] beat_i,        // of the next cycle
    output      logic          [63:0] data_o,        // the beat, first byte in the lowest bits
    input  wire logic                 done_i,
    output      logic          [31:0] trailer_o
);

  // Steps. Those below FirstStep are gone through in circles, without a job.
  localparam int unsigned StepWidth = 6;
  typedef logic [StepWidth-1:0] step_t;
  localparam step_t IpFixedStep  = 6'd6;   // the sum is that of the addresses
  localparam step_t UdpFixedStep = 6'd10;  // and that of the ports
  localparam step_t FirstStep    = 6'd16;
  localparam step_t CrcDoneStep  = 6'd22;  // the last word enters the CRC
  localparam step_t CombineStep  = 6'd30;  // and the last bits of the CRC the trailer
  localparam step_t ReadyStep    = 6'd29;  // the UDP checksum is there five beats later
  localparam step_t LastStep     = 6'd34;

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
  // one does. The halves of the words of steps 16 to 21 are what the CRC takes.
  typedef struct packed {
    source_e    source;
    logic [2:0] word;
    logic [1:0] slice;
  } plan_t;

  function automatic plan_t plan_of(input step_t step);
    unique case (step)
      6'd0:    plan_of = {FromIpConst, 3'd3, 2'd1};
      6'd1:    plan_of = {FromSlice, 3'd3, 2'd2};
      6'd2:    plan_of = {FromSlice, 3'd3, 2'd3};
      6'd3:    plan_of = {FromSlice, 3'd4, 2'd0};
      6'd4:    plan_of = {FromSlice, 3'd4, 2'd0};
      6'd5:    plan_of = {FromNowhere, 3'd4, 2'd1};
      6'd6:    plan_of = {FromSlice, 3'd4, 2'd2};
      6'd7:    plan_of = {FromSlice, 3'd4, 2'd0};
      6'd8:    plan_of = {FromUdpConst, 3'd4, 2'd0};
      6'd16:   plan_of = {FromUdpFixed, 3'd5, 2'd1};
      6'd17:   plan_of = {FromSlice, 3'd5, 2'd2};
      6'd18:   plan_of = {FromSlice, 3'd6, 2'd0};
      6'd19:   plan_of = {FromSlice, 3'd6, 2'd2};
      6'd20:   plan_of = {FromSlice, 3'd7, 2'd0};
      6'd21:   plan_of = {FromSlice, 3'd7, 2'd2};
      6'd22:   plan_of = {FromSlice, 3'd5, 2'd3};
      6'd23:   plan_of = {FromSlice, 3'd6, 2'd1};
      6'd24:   plan_of = {FromSlice, 3'd6, 2'd3};
      6'd25:   plan_of = {FromSlice, 3'd7, 2'd1};
      6'd26:   plan_of = {FromSlice, 3'd7, 2'd3};
      6'd27:   plan_of = {FromSlice, 3'd4, 2'd3};  // the UDP length, which stands twice in the sum
      6'd28:   plan_of = {FromSlice, 3'd4, 2'd3};
      6'd29:   plan_of = {FromSlice, 3'd4, 2'd0};
      6'd30:   plan_of = {FromPayload, 3'd4, 2'd0};
      6'd31:   plan_of = {FromTrailerHigh, 3'd4, 2'd0};
      6'd32:   plan_of = {FromTrailerLow, 3'd4, 2'd0};
      default: plan_of = {FromNowhere, 3'd4, 2'd0};
    endcase
  endfunction

  step_t step_q, step_d;
  logic working_q, ready_q, ready_d;  // step_q is FirstStep or above; it is ReadyStep or above
  plan_t plan_q, plan_d;
  logic [2:0] index_q;  // of the word

  assign start_o = job_valid_i && !working_q && !fetch_busy_i;
  assign plan_d  = plan_of(step_d);
  assign ready_d = (ready_q || step_q == ReadyStep - 1'b1) && !rst_i && !done_i;
  assign ready_o = ready_q;
  assign busy_o  = working_q;

  always_comb begin
    step_d = step_q;
    if (step_q == UdpFixedStep) step_d = '0;
    else if (step_q != LastStep) step_d = step_q + 1'b1;
    if (start_o) step_d = FirstStep;
    if (rst_i || done_i) step_d = '0;
  end

  always_ff @(posedge clk_i) begin
    step_q    <= step_d;
    plan_q    <= plan_d;
    index_q   <= ready_d ? beat_i : plan_d.word;
    working_q <= (working_q || start_o) && !rst_i && !done_i;
    ready_q   <= ready_d;
  end

  // The header's words. Lengths from that of the payload, which is of whole words.
  // Version and length of header, ECT(0); DF; TTL 64, UDP.
  localparam logic [15:0] IpWord0 = 16'h4502;
  localparam logic [15:0] IpWord3 = 16'h4000;
  localparam logic [15:0] IpWord4 = 16'h4011;
  localparam logic [15:0] UdpMore = 16'(8 + wire_pkg::HeaderBytes + wire_pkg::CrcBytes);
  localparam logic [15:0] IpMore  = UdpMore + 16'd20;

  logic [15:0] ip_q, udp_field;
  logic [15:0] length;
  logic [63:0] word;

  assign length = {job_i.desc.len_bytes[15:3] + (index_q[2] ? UdpMore[15:3] : IpMore[15:3]),
      index_q[2] ? UdpMore[2:0] : IpMore[2:0]};

  always_comb begin
    unique case (index_q)
      3'd0: word = {peer_i.mac, self_i.mac[47:32]};
      3'd1: word = {self_i.mac[31:0], 16'h0800, IpWord0};
      3'd2: word = {length, 16'h0000, IpWord3, IpWord4};
      3'd3: word = {~ip_q, self_i.ip, peer_i.ip[31:16]};
      3'd4: word = {peer_i.ip[15:0], self_i.port, peer_i.port, length};
      3'd5: word = {
        udp_field, wire_pkg::Version, wire_pkg::TypeData, job_i.desc.flags, job_i.desc.tag
      };
      3'd6: word = job_i.index;
      default: word = {job_i.seq, job_i.departure};
    endcase
  end

  assign data_o = bits_pkg::be64(word);

  // CRC, from the flags on. The first word begins with 2 bytes that are not of the packet; zeros
  // in their place are undone by the register's start.
  localparam logic [31:0] CrcStart = crc_pkg::before_zeros('1, crc_pkg::Crc32cPoly, 2);
  localparam int unsigned Bits = 4;

  logic [31:0] half_q, crc_q, crc_next, product;
  // What the job says of the payload, a cycle late: it is wanted in the last steps.
  logic [31:0] payload_crc_q, shift_q;
  logic [15:0] payload_sum_q;

  always_ff @(posedge clk_i) begin
    payload_crc_q <= job_i.crc;
    payload_sum_q <= job_i.sum;
    shift_q       <= job_i.shift;
  end

  header_crc u_header_crc (
      .crc_i (crc_q),
      .word_i(half_q),
      .crc_o (crc_next)
  );

  // The header's CRC is moved over the payload while it is shifted out of its register.
  crc_combine #(
      .Bits(Bits)
  ) u_crc_combine (
      .clk_i    (clk_i),
      .start_i  (step_q == CrcDoneStep),
      .step_i   (step_q > CrcDoneStep && step_q <= CombineStep),
      .a_i      (crc_q[Bits-1:0]),
      .b_i      (shift_q),
      .product_o(product)
  );

  assign trailer_o = ~(product ^ payload_crc_q);

  always_ff @(posedge clk_i) begin
    half_q <= step_q[0] ? word[31:0] : word[63:32];
    if (step_q == FirstStep) half_q[31:16] <= 16'd0;
    if (step_q <= FirstStep) crc_q <= CrcStart;
    else crc_q <= (step_q > CrcDoneStep) ? crc_q >> Bits : crc_next;
  end

  // Sums. The carry of an addition enters the next one. UDP's covers IPv4's addresses too, but not
  // the rest of its header.
  localparam logic [15:0] IpConst = net_pkg::add1c(
      net_pkg::add1c(IpWord0, IpWord3), net_pkg::add1c(IpWord4, IpMore)
  );
  localparam logic [15:0] UdpConst = net_pkg::add1c(16'h0011, ~IpConst);

  logic [15:0] slice, slice_q, number, sum, ip_fixed_q, udp_fixed_q;
  logic [16:0] sum_q;
  logic is_first;

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
      FromTrailerHigh: number = trailer_o[31:16];
      FromTrailerLow:  number = trailer_o[15:0];
      default:         number = 16'd0;
    endcase
  end

  // A sum whose carry was added once more has its carry only where the rest is zero.
  assign sum = {sum_q[15:1], sum_q[0] | sum_q[16]};

  always_ff @(posedge clk_i) begin
    slice_q <= slice;
    sum_q   <= {1'b0, number} + {1'b0, is_first ? 16'd0 : sum_q[15:0]} +
        17'(sum_q[16] && !is_first);
    if (step_q == IpFixedStep) ip_fixed_q <= sum;
    if (step_q == UdpFixedStep) udp_fixed_q <= sum;
    ip_q <= net_pkg::add1c(ip_fixed_q, job_i.desc.len_bytes);
  end

  // Never zero (docs/protocol.md#2.1): a sum of all ones, whose complement would be zero, stays.
  assign udp_field = (&sum) ? 16'hFFFF : ~sum;

endmodule

`default_nettype wire
