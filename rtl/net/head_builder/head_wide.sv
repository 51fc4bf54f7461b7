// Makes the header and the trailer of a DATA frame, at 512 bits: the header is one beat
// (docs/protocol.md#2).
//
// Three stages: the header's words pass CRC and sum while the job waits at the input; the header's
// CRC is moved over the payload and the UDP checksum, which covers the trailer, is closed; what is
// ready waits for its turn. A stage works on the next job while the one behind it is busy, and no
// stage looks at `done_i` but the last.
//
// Throughput: a header in 7 clocks. Latency: job to `ready_o` 14 cycles. Back-pressure: `done_i`,
// which takes header and trailer.
//
// A job is taken when its second stage begins (`start_o`); until then it may be withdrawn. `self_i`
// and `peer_i` stand still from 32 cycles before a job on. One clock.
`default_nettype none

module head_wide (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire net_pkg::peer_t        self_i,
    input  wire net_pkg::peer_t        peer_i,
    input  wire logic                  job_valid_i,
    input  wire send_pkg::job_t        job_i,
    input  wire logic                  fetch_busy_i,  // no job is taken meanwhile
    output      logic                  start_o,       // the job is taken: its payload is wanted
    output      logic                  busy_o,
    output      logic                  ready_o,
    output      logic          [511:0] data_o,        // first byte in the lowest bits
    output      logic          [ 15:0] len_bytes_o,   // of its payload
    input  wire logic                  done_i,
    output      logic          [ 31:0] trailer_o
);

  // The product takes Steps cycles, the checksum 2 more.
  localparam int unsigned Bits = 8;
  localparam int unsigned Steps = 32 / Bits;
  localparam int unsigned SumReady = Steps + 2;

  // Lengths from that of the payload, docs/protocol.md#2.4.
  localparam logic [15:0] UdpMore = 16'(8 + wire_pkg::HeaderBytes + wire_pkg::CrcBytes);
  localparam logic [15:0] IpMore = UdpMore + 16'd20;
  // Version and length of header, ECT(0); DF; TTL 64, UDP.
  localparam logic [15:0] IpWord0 = 16'h4502;
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

  // First stage: the words of the header. The first holds 2 bytes of it; two zero bytes before them
  // are undone by the register's start. Sum and CRC take a word each cycle.
  localparam int unsigned Words = 6;

  localparam logic [31:0] CrcStart = crc_pkg::before_zeros('1, crc_pkg::Crc32cPoly, 2);

  logic [2:0] word_step_q;
  logic is_prepared_q;  // word_step_q is Words
  logic [31:0] word, word_q, crc_q, crc_next;
  logic [32:0] sum_q, sum_next;
  logic load, move;

  always_comb begin
    unique case (word_step_q)
      3'd0: word = {job_i.desc.len_bytes, wire_pkg::Version, wire_pkg::TypeData, job_i.desc.flags};
      3'd1: word = job_i.desc.tag;
      3'd2: word = job_i.index[63:32];
      3'd3: word = job_i.index[31:0];
      3'd4: word = job_i.seq;
      default: word = job_i.departure;
    endcase
  end

  header_crc u_header_crc (
      .crc_i (crc_q),
      .word_i({(word_step_q == 3'd1) ? 16'd0 : word_q[31:16], word_q[15:0]}),
      .crc_o (crc_next)
  );

  assign sum_next = {1'b0, sum_q[31:0]} + {1'b0, word_q} + 33'(sum_q[32]);

  always_ff @(posedge clk_i) begin
    if (!is_prepared_q) word_q <= word;
    if (word_step_q == 3'd0) begin
      crc_q <= CrcStart;
      // The UDP length stands twice in the sum.
      sum_q <= {1'b0, job_i.desc.len_bytes, job_i.sum};
    end else if (!is_prepared_q) begin
      crc_q <= crc_next;
      sum_q <= sum_next;
    end
    if (!is_prepared_q) word_step_q <= word_step_q + 1'b1;
    if (word_step_q == 3'(Words - 1)) is_prepared_q <= 1'b1;
    if (rst_i || !job_valid_i || load) begin
      word_step_q   <= 3'd0;
      is_prepared_q <= 1'b0;
    end
  end

  // Second stage: CRC of the packet, UDP and IPv4 checksums.
  typedef struct packed {
    logic [15:0] len_bytes;
    logic [7:0]  flags;
    logic [31:0] tag;
    logic [63:0] index;
    logic [31:0] seq;
    logic [31:0] departure;
    logic [31:0] crc;
    logic [31:0] shift;
  } head_t;

  logic head_valid_q, is_closed_q, out_valid_q;
  head_t head_q;
  logic [3:0] close_step_q;
  logic [31:0] crc_left_q, product, trailer;
  logic [32:0] udp_q;
  logic [16:0] ip_q;
  logic [17:0] covered_q;  // with the trailer, in the step behind Steps; at each, to spare a choice
  logic [15:0] udp_sum;

  // Depends on registers only: the source of the job waits for it.
  assign move    = head_valid_q && is_closed_q && !out_valid_q;
  assign load    = job_valid_i && is_prepared_q && (!head_valid_q || move) && !fetch_busy_i;
  assign start_o = load;

  crc_combine #(
      .Bits(Bits)
  ) u_crc_combine (
      .clk_i    (clk_i),
      .start_i  (load),
      .step_i   (close_step_q < 4'(Steps)),
      .a_i      (crc_left_q[Bits-1:0]),
      .b_i      (head_q.shift),
      .product_o(product)
  );

  assign trailer = ~(product ^ head_q.crc);

  always_ff @(posedge clk_i) begin
    if (!is_closed_q) close_step_q <= close_step_q + 1'b1;
    if (close_step_q == 4'(SumReady - 1)) is_closed_q <= 1'b1;
    crc_left_q <= load ? crc_next : crc_left_q >> Bits;
    covered_q  <= 18'(udp_sum) + 18'(trailer[31:16]) + 18'(trailer[15:0]);
    unique case (close_step_q)
      4'd0: begin
        udp_q <= 33'(udp_q[31:16]) + 33'(udp_q[15:0]) + 33'(udp_q[32]);
        ip_q  <= 17'(head_q.len_bytes) + 17'(ip_fixed_q);
      end
      4'd1: begin
        udp_q <= 33'(udp_q[15:0]) + 33'(udp_fixed_q) + 33'(udp_q[16]);
        ip_q  <= 17'(ip_q[15:0]) + 17'(ip_q[16]);
      end
      4'd2: udp_q <= 33'(udp_q[15:0]) + 33'(udp_q[16]);
      4'(Steps + 1): udp_q <= 33'(covered_q[15:0]) + 33'(covered_q[17:16]);
      default: ;
    endcase
    if (load) begin
      close_step_q     <= 4'd0;
      is_closed_q      <= 1'b0;
      udp_q            <= sum_next;
      head_q.len_bytes <= job_i.desc.len_bytes;
      head_q.flags     <= job_i.desc.flags;
      head_q.tag       <= job_i.desc.tag;
      head_q.index     <= job_i.index;
      head_q.seq       <= job_i.seq;
      head_q.departure <= job_i.departure;
      head_q.crc       <= job_i.crc;
      head_q.shift     <= job_i.shift;
    end
    head_valid_q <= load || (head_valid_q && !move);
    if (rst_i) head_valid_q <= 1'b0;
  end

  // Never zero (docs/protocol.md#2.1): a sum of all ones, whose complement would be zero, stays.
  logic [15:0] udp_field;
  assign udp_sum   = {udp_q[15:1], udp_q[0] | udp_q[16]};
  assign udp_field = (&udp_sum) ? 16'hFFFF : ~udp_sum;

  // Third stage.
  typedef struct packed {
    logic [15:0] ip_bytes;
    logic [15:0] ip_sum;
    logic [15:0] udp_bytes;
    logic [15:0] udp_sum;
    logic [7:0]  flags;
    logic [31:0] tag;
    logic [63:0] index;
    logic [31:0] seq;
    logic [31:0] departure;
    logic [31:0] trailer;
    logic [15:0] len_bytes;
  } out_t;

  out_t out_q;

  always_ff @(posedge clk_i) begin
    if (move) begin
      out_q.ip_bytes  <= head_q.len_bytes + IpMore;
      out_q.ip_sum    <= ~ip_q[15:0];
      out_q.udp_bytes <= head_q.len_bytes + UdpMore;
      out_q.udp_sum   <= udp_field;
      out_q.flags     <= head_q.flags;
      out_q.tag       <= head_q.tag;
      out_q.index     <= head_q.index;
      out_q.seq       <= head_q.seq;
      out_q.departure <= head_q.departure;
      out_q.trailer   <= trailer;
      out_q.len_bytes <= head_q.len_bytes;
    end
    out_valid_q <= move || (out_valid_q && !done_i);
    if (rst_i) out_valid_q <= 1'b0;
  end

  logic [511:0] frame_head;
  assign frame_head = {
    peer_i.mac, self_i.mac, 16'h0800,
    IpWord0, out_q.ip_bytes, 16'h0000, IpWord3, IpWord4, out_q.ip_sum,
    self_i.ip, peer_i.ip,
    self_i.port, peer_i.port, out_q.udp_bytes, out_q.udp_sum,
    wire_pkg::Version, wire_pkg::TypeData, out_q.flags, out_q.tag, out_q.index,
    out_q.seq, out_q.departure
  };
  for (genvar i = 0; i < 64; i++) begin : g_swap
    assign data_o[8*i+:8] = frame_head[511-8*i-:8];
  end

  assign ready_o     = out_valid_q;
  assign busy_o      = head_valid_q || out_valid_q;
  assign len_bytes_o = out_q.len_bytes;
  assign trailer_o   = out_q.trailer;

endmodule

`default_nettype wire
