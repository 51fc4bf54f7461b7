// Sends DATA packets as Ethernet, IPv4 and UDP frames: header from the job, payload from the ring,
// CRC-32C as the trailer (docs/protocol.md#2). The payload begins at frame byte 64, the last beat
// holds the 4 bytes of the CRC.
//
// Three stages: the header's words pass CRC and sum while the job waits at the input; the header's
// CRC is moved over the payload and the UDP checksum, which covers the trailer, is closed; the
// frame leaves. A stage works on the next frame while the ones behind it are busy.
//
// Throughput: a beat a clock, frames back to back where a frame has at least 7 beats; else a frame
// in 7 clocks at 512 bits. Latency: job to first beat 13 cycles at 64 bits, 14 at 512, the ring
// answering at once. Back-pressure: `m_axis_tready`; reads of the ring are asked for only as far
// as the FIFO has room for their replies. tvalid has no gap inside a frame unless the ring keeps
// requests waiting.
//
// A job is taken when its second stage begins; until then it may be withdrawn. What was taken
// leaves whole. `self_i` and `peer_i` stand still from 16 cycles before a job on. Does not pad: a
// frame has at least 68 bytes. One clock.
`default_nettype none

module frame_tx #(
    parameter int unsigned W         = 64,
    parameter int unsigned RdLatency = 2,
    parameter int unsigned Aw        = 16
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire sw_pkg::peer_t         self_i,
    input  wire sw_pkg::peer_t         peer_i,
    input  wire logic                  job_valid_i,
    output      logic                  job_ready_o,
    input  wire sw_pkg::job_t          job_i,
    output      logic                  rd_valid_o,
    input  wire logic                  rd_ready_i,
    output      logic         [Aw-1:0] rd_addr_o,
    input  wire logic                  rd_valid_i,
    input  wire logic         [ W-1:0] rd_data_i,
    output      logic         [ W-1:0] m_axis_tdata,
    output      logic        [W/8-1:0] m_axis_tkeep,
    output      logic                  m_axis_tvalid,
    input  wire logic                  m_axis_tready,
    output      logic                  m_axis_tlast,
    output      logic                  busy_o,
    output      logic                  fetch_busy_o
);

  localparam int unsigned BeatBytes = W / 8;
  localparam int unsigned BeatShift = $clog2(BeatBytes);
  localparam int unsigned HeadBeats = 512 / W;
  localparam int unsigned HeadWidth = (HeadBeats > 1) ? $clog2(HeadBeats) : 1;
  localparam int unsigned CountWidth = 16 - BeatShift;

  // The product takes Steps cycles, the checksum 2 more; the beat that holds it may leave then.
  localparam int unsigned Bits = (W >= 256) ? 8 : 4;
  localparam int unsigned Steps = 32 / Bits;
  localparam int unsigned SumReady = Steps + 2;
  localparam int unsigned HeadStart = SumReady - (sw_pkg::OffUdpSum / BeatBytes);

  localparam int unsigned FifoDepth = 32;
  localparam int unsigned Fw = $clog2(FifoDepth);

  // Lengths from that of the payload, docs/protocol.md#2.4.
  localparam logic [15:0] UdpMore = 16'(8 + sw_pkg::HeaderBytes + sw_pkg::CrcBytes);
  localparam logic [15:0] IpMore = UdpMore + 16'd20;
  // Version and length of header, ECT(0); DF; TTL 64, UDP.
  localparam logic [15:0] IpWord0 = 16'h4502;
  localparam logic [15:0] IpWord3 = 16'h4000;
  localparam logic [15:0] IpWord4 = 16'h4011;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (RdLatency < 1 || RdLatency > 12) begin : g_latency
    $error("RdLatency must be 1 to 12: the FIFO covers no more");
  end
  if (Aw > 32) begin : g_address
    $error("addresses have at most 32 bits");
  end

  // What does not change within a stream: sums of IPv4's constant words and addresses, and of the
  // UDP pseudo header and ports. Worked out again and again, a word a cycle.
  localparam logic [15:0] IpConst = sw_pkg::add1c(
      sw_pkg::add1c(IpWord0, IpWord3), sw_pkg::add1c(IpWord4, IpMore)
  );
  localparam logic [15:0] UdpConst = sw_pkg::add1c(16'h0011 + 16'(2 * UdpMore), ~IpConst);

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

  function automatic logic [31:0] crc_start();
    crc_start = '1;
    for (int unsigned n = 0; n < 16; n++) begin
      crc_start = crc_start[31] ? {crc_start[30:0] ^ sw_pkg::Crc32cPoly[30:0], 1'b1} :
          {crc_start[30:0], 1'b0};
    end
  endfunction

  localparam logic [31:0] CrcStart = crc_start();

  logic [2:0] word_step_q;
  logic [31:0] word, word_q, crc_q, crc_next;
  logic [32:0] sum_q, sum_next;
  logic load, is_prepared;

  always_comb begin
    unique case (word_step_q)
      3'd0: word = {job_i.desc.len_bytes, sw_pkg::Version, sw_pkg::TypeData, job_i.desc.flags};
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
  assign is_prepared = job_valid_i && word_step_q == 3'(Words);

  always_ff @(posedge clk_i) begin
    if (!is_prepared) word_q <= word;
    if (word_step_q == 3'd0) begin
      crc_q <= CrcStart;
      // The UDP length stands twice in the sum.
      sum_q <= {1'b0, job_i.desc.len_bytes, job_i.sum};
    end else if (!is_prepared) begin
      crc_q <= crc_next;
      sum_q <= sum_next;
    end
    if (!is_prepared) word_step_q <= word_step_q + 1'b1;
    if (rst_i || !job_valid_i || load) word_step_q <= 3'd0;
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

  logic head_valid_q, head_done;
  head_t head_q;
  logic [3:0] close_step_q;
  logic [31:0] product, trailer;
  logic [32:0] udp_q;
  logic [16:0] ip_q;

  assign load = is_prepared && (!head_valid_q || head_done) && !fetch_busy_o;
  assign job_ready_o = load;

  crc_combine #(
      .Bits(Bits)
  ) u_crc_combine (
      .clk_i    (clk_i),
      .start_i  (load),
      .step_i   (close_step_q < 4'(Steps)),
      .a_i      (crc_next),
      .b_i      (head_q.shift),
      .product_o(product)
  );

  assign trailer = ~(product ^ head_q.crc);

  always_ff @(posedge clk_i) begin
    if (close_step_q != 4'(SumReady)) close_step_q <= close_step_q + 1'b1;
    unique case (close_step_q)
      4'd0: begin
        udp_q <= 33'(udp_q[31:16]) + 33'(udp_q[15:0]) + 33'(udp_q[32]);
        ip_q  <= 17'(head_q.len_bytes) + 17'(ip_fixed_q);
      end
      4'd1: begin
        udp_q <= 33'(udp_q[15:0]) + 33'(udp_fixed_q) + 33'(udp_q[16]);
        ip_q  <= 17'(ip_q[15:0]) + 17'(ip_q[16]);
      end
      4'(Steps):
      udp_q <= 33'(udp_q[15:0]) + 33'(trailer[31:16]) + 33'(trailer[15:0]) + 33'(udp_q[16]);
      4'(Steps + 1): udp_q <= 33'(udp_q[15:0]) + 33'(udp_q[17:16]);
      default: ;
    endcase
    if (load) begin
      close_step_q     <= 4'd0;
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
    head_valid_q <= load || (head_valid_q && !head_done);
    if (rst_i) head_valid_q <= 1'b0;
  end

  // Never zero (docs/protocol.md#2.1): a sum of all ones, whose complement would be zero, stays.
  logic [15:0] udp_sum, udp_field;
  assign udp_sum   = {udp_q[15:1], udp_q[0] | udp_q[16]};
  assign udp_field = (&udp_sum) ? 16'hFFFF : ~udp_sum;

  logic [511:0] frame_head, frame_head_le;
  assign frame_head = {
    peer_i.mac, self_i.mac, 16'h0800,
    IpWord0, head_q.len_bytes + IpMore, 16'h0000, IpWord3, IpWord4, ~ip_q[15:0],
    self_i.ip, peer_i.ip,
    self_i.port, peer_i.port, head_q.len_bytes + UdpMore, udp_field,
    sw_pkg::Version, sw_pkg::TypeData, head_q.flags, head_q.tag, head_q.index,
    head_q.seq, head_q.departure
  };
  for (genvar i = 0; i < 64; i++) begin : g_swap
    assign frame_head_le[8*i+:8] = frame_head[511-8*i-:8];
  end

  // The payload's way from the ring.
  logic [W-1:0] fifo[FifoDepth];
  logic [Fw-1:0] fifo_wr_q, fifo_rd_q;
  logic [Fw:0] room_q, level_q;
  logic [Aw-1:0] fetch_addr_q;
  logic [CountWidth-1:0] fetch_left_q;
  logic fetch_busy_q, ask, pop;

  assign rd_valid_o   = fetch_busy_q && |room_q;
  assign rd_addr_o    = fetch_addr_q;
  assign ask          = rd_valid_o && rd_ready_i;
  assign fetch_busy_o = fetch_busy_q;

  always_ff @(posedge clk_i) begin
    if (rd_valid_i) fifo[fifo_wr_q] <= rd_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (ask) begin
      fetch_addr_q <= fetch_addr_q + 1'b1;
      fetch_left_q <= fetch_left_q - 1'b1;
      if (fetch_left_q == CountWidth'(1)) fetch_busy_q <= 1'b0;
    end
    if (load) begin
      fetch_addr_q <= job_i.desc.addr[Aw-1:0];
      fetch_left_q <= job_i.desc.len_bytes[15:BeatShift];
      fetch_busy_q <= 1'b1;
    end
    if (rd_valid_i) fifo_wr_q <= fifo_wr_q + 1'b1;
    if (pop) fifo_rd_q <= fifo_rd_q + 1'b1;
    room_q  <= room_q + (Fw + 1)'(pop) - (Fw + 1)'(ask);
    level_q <= level_q + (Fw + 1)'(rd_valid_i) - (Fw + 1)'(pop);
    if (rst_i) begin
      fetch_busy_q <= 1'b0;
      fifo_wr_q    <= '0;
      fifo_rd_q    <= '0;
      room_q       <= (Fw + 1)'(FifoDepth);
      level_q      <= '0;
    end
  end

  // Third stage: the frame leaves.
  typedef enum logic [1:0] {
    PartHead,
    PartPayload,
    PartTrailer
  } part_e;

  part_e part_q;
  logic [HeadWidth-1:0] beat_q;
  logic [CountWidth-1:0] left_q;
  logic [31:0] trailer_q;
  logic [W-1:0] data_q;
  logic valid_q, last_q, is_free, has_payload, send_head;

  assign is_free     = !valid_q || m_axis_tready;
  assign has_payload = |level_q;
  assign send_head   = is_free && part_q == PartHead && head_valid_q && ((|beat_q) ||
      (close_step_q >= 4'(HeadStart) && has_payload));
  assign head_done   = send_head && beat_q == HeadWidth'(HeadBeats - 1);
  assign pop         = is_free && part_q == PartPayload && has_payload;

  always_ff @(posedge clk_i) begin
    if (is_free) begin
      unique case (part_q)
        PartPayload: data_q <= fifo[fifo_rd_q];
        PartTrailer: data_q <= W'(sw_pkg::be32(trailer_q));
        default: data_q <= frame_head_le[32'(beat_q)*W+:W];
      endcase
      valid_q <= send_head || pop || part_q == PartTrailer;
      last_q  <= part_q == PartTrailer;
    end
    if (send_head) beat_q <= head_done ? '0 : beat_q + 1'b1;
    if (head_done) begin
      part_q    <= PartPayload;
      trailer_q <= trailer;
      left_q    <= head_q.len_bytes[15:BeatShift];
    end
    if (pop) begin
      left_q <= left_q - 1'b1;
      if (left_q == CountWidth'(1)) part_q <= PartTrailer;
    end
    if (is_free && part_q == PartTrailer) part_q <= PartHead;
    if (rst_i) begin
      part_q  <= PartHead;
      beat_q  <= '0;
      valid_q <= 1'b0;
    end
  end

  assign m_axis_tdata  = data_q;
  assign m_axis_tkeep  = {{(BeatBytes - 4) {!last_q}}, 4'hF};
  assign m_axis_tvalid = valid_q;
  assign m_axis_tlast  = last_q;
  assign busy_o        = head_valid_q || part_q != PartHead || valid_q;

`ifdef FORMAL
  `include "frame_tx_props.svh"
`endif

endmodule

`default_nettype wire
