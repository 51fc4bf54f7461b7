// Makes header and trailer of a frame with the interface of head_builder, at 512 bits: a header is
// a beat or two (docs/protocol.md#2).
//
// Three stages: the header's words pass CRC and sum while the job waits at the input; the header's
// CRC is moved over the payload and the UDP checksum, which covers the trailer, is closed; what is
// ready waits for its turn. A stage works on the next job while the one behind it is busy, and no
// stage looks at `done_i` but the last.
//
// Throughput: a header in 7 clocks. Latency: job to `ready_o` 14 cycles. These are of 22 header
// bytes; every 4 more take a cycle more. Without Trailer and UdpSum nothing waits for the CRC: a
// header in 3 clocks, `ready_o` 4 cycles after the job, whatever the length. Back-pressure:
// `done_i`, which takes header and trailer.
//
// A job is taken when its second stage begins (`start_o`); until then it may be withdrawn. `self_i`
// and `peer_i` stand still from 32 cycles before a job on; with PeerByJob `peer_i` and `ip_sum_i`
// stand with the job. One clock.
`default_nettype none

module head_wide #(
    parameter  int unsigned HeaderBytes = 22,
    parameter  bit          WholeWords  = 1'b1,
    parameter  bit          UdpSum      = 1'b1,
    parameter  bit          Trailer     = 1'b1,
    parameter  bit          PeerByJob   = 1'b0,
    parameter  logic [31:0] Poly        = crc_pkg::Crc32cPoly,
    localparam int unsigned HeadBytes   = 42 + HeaderBytes,
    localparam int unsigned Beats       = (HeadBytes + 63) / 64
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
    input  wire logic                          beat_i,
    output      logic                  [511:0] data_o,
    output      logic                   [15:0] len_bytes_o,
    input  wire logic                          done_i,
    output      logic                   [31:0] trailer_o
);

  // The product takes Steps cycles, the checksums 2 more.
  localparam int unsigned Bits = 8;
  localparam int unsigned Steps = Trailer ? 32 / Bits : 0;
  localparam int unsigned SumReady = Steps + 2;

  // Lengths from that of the payload, docs/protocol.md#2.4.
  localparam logic [15:0] UdpMore = 16'(8 + HeaderBytes + 4);
  localparam logic [15:0] IpMore = UdpMore + 16'd20;
  // Version and length of header, ECT(0), which tos_i exceeds; DF; TTL 64, UDP.
  localparam logic [15:0] IpWord0 = {8'h45, net_pkg::TosEct0};
  localparam logic [15:0] IpWord3 = 16'h4000;
  localparam logic [15:0] IpWord4 = 16'h4011;

  // What does not change within a stream: sums of IPv4's constant words and addresses, and of the
  // UDP pseudo header and ports. Worked out again and again, a word a cycle.
  localparam logic [15:0] IpConst = net_pkg::add1c(
      net_pkg::add1c(IpWord0, IpWord3), net_pkg::add1c(IpWord4, IpMore)
  );
  localparam logic [15:0] UdpConst = net_pkg::add1c(16'h0011 + 16'(2 * UdpMore), ~IpConst);

  logic [3:0] fixed_step_q;
  logic [16:0] fixed_q;
  logic [15:0] fixed_word, ip_fixed_q, udp_fixed_q;

  always_comb begin
    unique case (fixed_step_q)
      4'd0: fixed_word = IpConst;
      4'd1: fixed_word = self_i.ip[31:16];
      4'd2: fixed_word = self_i.ip[15:0];
      4'd3: fixed_word = peer_i.ip[31:16];
      4'd4: fixed_word = peer_i.ip[15:0];
      4'd6: fixed_word = self_i.port;
      4'd7: fixed_word = peer_i.port;
      4'd8: fixed_word = UdpConst;
      default: fixed_word = 16'd0;
    endcase
  end

  // A sum whose carry was added once more has its carry only where the rest is zero.
  logic [15:0] fixed_sum;
  assign fixed_sum = {fixed_q[15:1], fixed_q[0] | fixed_q[16]};

  always_ff @(posedge clk_i) begin
    fixed_step_q <= (fixed_step_q == 4'd10) ? 4'd0 : fixed_step_q + 1'b1;
    fixed_q <= 17'(fixed_word) + ((fixed_step_q == 4'd0) ? 17'd0 : {1'b0, fixed_q[15:0]}) +
        17'((fixed_step_q == 4'd0) ? 1'b0 : fixed_q[16]);
    if (fixed_step_q == 4'd6) ip_fixed_q <= fixed_sum;
    if (fixed_step_q == 4'd10) udp_fixed_q <= fixed_sum;
    if (rst_i) fixed_step_q <= 4'd0;
  end

  // First stage: the words of the packet's header, the UDP length before it and zeros behind it.
  // In the CRC two zero bytes stand for the length; they are undone by the register's start, those
  // behind the header at the end. Sum and CRC take a word each cycle.
  localparam int unsigned Words = (HeaderBytes + 2 + 3) / 4;
  localparam int unsigned StepWidth = $clog2(Words + 1);
  localparam int unsigned PadBytes = 4 * Words - 2 - HeaderBytes;
  typedef logic [StepWidth-1:0] step_t;

  localparam logic [31:0] CrcStart = crc_pkg::before_zeros('1, Poly, 2);

  // Where a packet's bytes are the odd ones of the sum's words, its words enter with bytes swapped.
  localparam bit IsOdd = HeaderBytes % 2 != 0;

  if (UdpSum && (!Trailer || PeerByJob)) begin : g_sum
    $error("the UDP checksum covers the trailer, and the addresses for longer than a job");
  end
  if (HeaderBytes < 4 || HeaderBytes > 86) begin : g_header
    $error("a header has at most two beats");
  end

  step_t word_step_q;
  logic is_prepared_q;  // word_step_q is Words
  logic [31:0] word, word_q, crc_q, crc_next, crc_done;
  logic [32:0] sum_q, sum_next;
  logic load, move;

  // Word n is number n from the right; the last one is there again for the steps behind it.
  logic [32*Words-1:0] words;
  logic [32*(1<<StepWidth)-1:0] words_by_step;

  assign words = {payload_i.len_bytes, header_i, {(8 * PadBytes) {1'b0}}};
  for (genvar n = 0; n < (1 << StepWidth); n++) begin : g_word
    localparam int unsigned Right = n < Words ? Words - 1 - n : 0;
    assign words_by_step[32*n+:32] = words[32*Right+:32];
  end
  assign word = words_by_step[32*word_step_q+:32];

  if (Trailer) begin : g_header_crc
    header_crc #(
        .Poly(Poly)
    ) u_header_crc (
        .crc_i (crc_q),
        .word_i({(word_step_q == step_t'(1)) ? 16'd0 : word_q[31:16], word_q[15:0]}),
        .crc_o (crc_next)
    );
    assign crc_done = crc_pkg::before_zeros(crc_next, Poly, PadBytes);
  end else begin : g_no_header_crc
    assign crc_next = '0;
    assign crc_done = '0;
  end

  assign sum_next = {1'b0, sum_q[31:0]} + {1'b0, word_q} + 33'(sum_q[32]);

  always_ff @(posedge clk_i) begin
    if (!is_prepared_q) word_q <= word;
    if (word_step_q == '0) begin
      crc_q <= CrcStart;
      // The UDP length stands twice in the sum.
      sum_q <= {
        1'b0, payload_i.len_bytes, IsOdd ? bits_pkg::be16(payload_i.sum) : payload_i.sum
      };
    end else if (!is_prepared_q) begin
      crc_q <= crc_next;
      sum_q <= sum_next;
    end
    if (!is_prepared_q) word_step_q <= word_step_q + 1'b1;
    if (word_step_q == step_t'(Words - 1)) is_prepared_q <= 1'b1;
    if (rst_i || !job_valid_i || load) begin
      word_step_q   <= '0;
      is_prepared_q <= 1'b0;
    end
  end

  // Second stage: CRC of the packet, UDP and IPv4 checksums.
  typedef struct packed {
    logic [79:0] peer;  // MAC, IP
    logic [15:0] ip_fixed;
    logic [15:0] len_bytes;
    logic [7:0] tos;
    logic [8*HeaderBytes-1:0] header;
    logic [31:0] crc;
    logic [31:0] shift;
  } head_t;

  logic head_valid_q, is_closed_q, out_valid_q;
  head_t head_q;
  logic [3:0] close_step_q;
  logic [31:0] crc_left_q, product, trailer, covered;
  logic [32:0] udp_q;
  logic [16:0] ip_q;
  logic [17:0] covered_q;  // with the trailer, in the step behind Steps; at each, to spare a choice
  logic [15:0] udp_sum;

  // Depends on registers only: the source of the job waits for it.
  assign move    = head_valid_q && is_closed_q && !out_valid_q;
  assign load    = job_valid_i && (is_prepared_q || !Trailer) && (!head_valid_q || move) && !hold_i;
  assign start_o = load;

  if (Trailer) begin : g_combine
    crc_combine #(
        .Bits(Bits),
        .Poly(Poly)
    ) u_crc_combine (
        .clk_i    (clk_i),
        .start_i  (load),
        .step_i   (close_step_q < 4'(Steps)),
        .a_i      (crc_left_q[Bits-1:0]),
        .b_i      (head_q.shift),
        .product_o(product)
    );
  end else begin : g_no_combine
    assign product = '0;
  end

  assign trailer = ~(product ^ head_q.crc);
  assign covered = IsOdd != (!WholeWords && head_q.len_bytes[0]) ?
      {bits_pkg::be16(trailer[31:16]), bits_pkg::be16(trailer[15:0])} : trailer;

  always_ff @(posedge clk_i) begin
    if (!is_closed_q) close_step_q <= close_step_q + 1'b1;
    if (close_step_q == 4'(SumReady - 1)) is_closed_q <= 1'b1;
    crc_left_q <= load ? crc_done : crc_left_q >> Bits;
    covered_q  <= 18'(udp_sum) + 18'(covered[31:16]) + 18'(covered[15:0]);
    unique case (close_step_q)
      4'd0: begin
        udp_q <= 33'(udp_q[31:16]) + 33'(udp_q[15:0]) + 33'(udp_q[32]);
        ip_q  <= 17'(ip_q[15:0]) + 17'(PeerByJob ? head_q.ip_fixed : ip_fixed_q);
      end
      4'd1: begin
        udp_q <= 33'(udp_q[15:0]) + 33'(udp_fixed_q) + 33'(udp_q[16]);
        ip_q  <= 17'(ip_q[15:0]) + 17'(ip_q[16]);
      end
      4'd2: udp_q <= 33'(udp_q[15:0]) + 33'(udp_q[16]);
      default: ;
    endcase
    if (Trailer && close_step_q == 4'(Steps + 1))
      udp_q <= 33'(covered_q[15:0]) + 33'(covered_q[17:16]);
    if (load) begin
      close_step_q     <= 4'd0;
      is_closed_q      <= 1'b0;
      udp_q            <= sum_next;
      ip_q             <= 17'(payload_i.len_bytes) + 17'(tos_i - net_pkg::TosEct0);
      head_q.peer      <= {peer_i.mac, peer_i.ip};
      head_q.ip_fixed  <= net_pkg::add1c(IpConst, ip_sum_i);
      head_q.len_bytes <= payload_i.len_bytes;
      head_q.tos       <= tos_i;
      head_q.header    <= header_i;
      head_q.crc       <= payload_i.crc;
      head_q.shift     <= payload_i.shift;
    end
    head_valid_q <= load || (head_valid_q && !move);
    if (rst_i) head_valid_q <= 1'b0;
  end

  // Never zero (docs/protocol.md#2.1): a sum of all ones, whose complement would be zero, stays.
  logic [15:0] udp_field;
  assign udp_sum   = {udp_q[15:1], udp_q[0] | udp_q[16]};
  // Zero stands for a datagram without a checksum.
  assign udp_field = !UdpSum ? 16'd0 : (&udp_sum) ? 16'hFFFF : ~udp_sum;

  // Third stage.
  typedef struct packed {
    logic [79:0] peer;
    logic [7:0] tos;
    logic [15:0] ip_bytes;
    logic [15:0] ip_sum;
    logic [15:0] udp_bytes;
    logic [15:0] udp_sum;
    logic [8*HeaderBytes-1:0] header;
    logic [31:0] trailer;
    logic [15:0] len_bytes;
  } out_t;

  out_t out_q;

  always_ff @(posedge clk_i) begin
    if (move) begin
      out_q.peer      <= head_q.peer;
      out_q.tos       <= head_q.tos;
      out_q.ip_bytes  <= head_q.len_bytes + IpMore;
      out_q.ip_sum    <= ~ip_q[15:0];
      out_q.udp_bytes <= head_q.len_bytes + UdpMore;
      out_q.udp_sum   <= udp_field;
      out_q.header    <= head_q.header;
      out_q.trailer   <= trailer;
      out_q.len_bytes <= head_q.len_bytes;
    end
    out_valid_q <= move || (out_valid_q && !done_i);
    if (rst_i) out_valid_q <= 1'b0;
  end

  logic [8*HeadBytes-1:0] frame_head;
  logic [512*Beats-1:0] beats;
  logic beat_q;  // the second one

  logic [79:0] peer;
  assign peer = PeerByJob ? out_q.peer : {peer_i.mac, peer_i.ip};

  assign frame_head = {
    peer[79:32], self_i.mac, 16'h0800,
    IpWord0[15:8], out_q.tos, out_q.ip_bytes, 16'h0000, IpWord3, IpWord4, out_q.ip_sum,
    self_i.ip, peer[31:0],
    self_i.port, peer_i.port, out_q.udp_bytes, out_q.udp_sum,
    out_q.header
  };
  for (genvar i = 0; i < 64 * Beats; i++) begin : g_swap
    if (i < HeadBytes) begin : g_byte
      assign beats[8*i+:8] = frame_head[8*(HeadBytes-1-i)+:8];
    end else begin : g_behind
      assign beats[8*i+:8] = 8'd0;
    end
  end

  always_ff @(posedge clk_i) beat_q <= beat_i;

  assign data_o = Beats == 2 && beat_q ? beats[512*Beats-1-:512] : beats[511:0];

  assign ready_o     = out_valid_q;
  assign busy_o      = head_valid_q || out_valid_q;
  assign len_bytes_o = out_q.len_bytes;
  assign trailer_o   = out_q.trailer;

endmodule

`default_nettype wire
