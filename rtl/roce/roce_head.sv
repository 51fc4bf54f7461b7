// Makes the frame of one packet of a SEND or RDMA WRITE: Ethernet, IPv4 and UDP with BTH, RETH and
// ImmDt, payload, ICRC (IB 9.2, 9.3, 7.8.1; A17.3); of an acknowledgement, whose AETH takes the place of
// ImmDt; of a CNP (A17.9.3), whose 16 reserved bytes are a RETH of zeros. W bits wide.
//
// head_builder makes the first 54 bytes, up to the end of the BTH. What else is in front of the
// payload is put before it here, and frame_join puts all of it at byte 54, so that the payload
// begins at byte 54, 58, 70 or 74. At 64 bits RETH is two words of its own and ImmDt shifts the
// payload by 4 bytes; at 512 RETH shifts it by 16 too. crc_append writes the ICRC. MigReq is 1, the
// P_Key FFFFh, the UDP checksum 0. Padding is not needed: a payload is of whole beats.
//
// Throughput: a beat a clock; frames back to back where the next job stands in time and a frame has
// at least 12 beats at 64 bits, 3 at 512, else a frame in so many clocks. Latency: job to first
// beat 10 cycles, at 512 bits 15, with the payload's first beat there. Back-pressure:
// m_axis_tready. tvalid has no gap inside a frame unless the payload has one behind its first beat.
//
// A job stands from `job_valid_i` to `job_ready_o`. `hold_i`: none is begun meanwhile. `start_o`:
// it is begun, its payload is wanted; at 512 bits the next one may then be shown. `self_i` stands still
// from 32 cycles before a job on, its port is the source port. With the job stand its receiver,
// `peer_i`, whose port is not looked at, and `ip_sum_i`, the ones' complement sum of both IPv4
// addresses. Does not pad: a frame has at least 58 bytes. One clock.
`default_nettype none

module roce_head #(
    parameter int unsigned W = 64
) (
    input  wire logic              clk_i,
    input  wire logic              rst_i,
    input  wire net_pkg::peer_t    self_i,
    input  wire net_pkg::peer_t    peer_i,
    input  wire logic       [15:0] ip_sum_i,
    input  wire logic              job_valid_i,
    output      logic              job_ready_o,
    input  wire roce_pkg::packet_t job_i,
    input  wire logic              hold_i,
    output      logic              start_o,
    output      logic              busy_o,
    // payload
    input  wire logic              s_valid_i,
    output      logic              s_ready_o,
    input  wire logic    [  W-1:0] s_data_i,
    // frame
    output      logic    [  W-1:0] m_axis_tdata,
    output      logic    [W/8-1:0] m_axis_tkeep,
    output      logic              m_axis_tvalid,
    input  wire logic              m_axis_tready,
    output      logic              m_axis_tlast
);

  localparam int unsigned Nb = W / 8;
  localparam int unsigned Shift = $clog2(Nb);
  localparam int unsigned HeadBytes = 42 + roce_pkg::BthBytes;
  localparam int unsigned HeadBeats = (HeadBytes + Nb - 1) / Nb;
  localparam int unsigned BeatWidth = HeadBeats > 1 ? $clog2(HeadBeats) : 1;
  localparam bit Wide = Nb > roce_pkg::RethBytes;  // RETH fits into one word with ImmDt
  localparam int unsigned WordsWidth = 16 - Shift;
  // What stands before the payload in the word in which it begins.
  localparam int unsigned FrontBytes = (Wide ? roce_pkg::RethBytes : 0) + roce_pkg::ImmBytes;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end

  // BTH, IB 9.2: version and padding are 0. A CNP has BECN, and not MigReq.
  logic is_cnp;
  logic [8*roce_pkg::BthBytes-1:0] bth;
  assign is_cnp = job_i.opcode[7];
  assign bth = {
    job_i.opcode, job_i.is_solicited, !is_cnp, 6'd0, roce_pkg::PKey,
    1'b0, is_cnp, 6'd0, job_i.destination, job_i.ack_request, 7'd0, job_i.psn
  };

  // All that is behind the BTH.
  logic [15:0] len_bytes;
  assign len_bytes = {job_i.len_bytes[15:Shift], Shift'(0)} + {11'd0, job_i.has_reth, 1'b0,
      job_i.has_immediate, 2'd0};

  net_pkg::peer_t peer;
  assign peer = {peer_i.mac, peer_i.ip, roce_pkg::UdpPort};

  logic head_ready, head_done, head_busy;
  logic [BeatWidth-1:0] head_beat;
  logic [W-1:0] head_data;
  logic [15:0] head_len_bytes;

  head_builder #(
      .W          (W),
      .HeaderBytes(roce_pkg::BthBytes),
      .WholeWords (1'b0),
      .UdpSum     (1'b0),
      .Trailer    (1'b0),
      .PeerByJob  (1'b1)
  ) u_head (
      .clk_i      (clk_i),
      .rst_i      (rst_i),
      .self_i     (self_i),
      .peer_i     (peer),
      .ip_sum_i   (ip_sum_i),
      .job_valid_i(job_valid_i),
      .tos_i      (is_cnp ? roce_pkg::TosCnp : net_pkg::TosEct0),
      .job_ready_o(job_ready_o),
      .header_i   (bth),
      .payload_i  ({len_bytes, 80'd0}),
      .hold_i     (hold_i),
      .start_o    (start_o),
      .held_o     (),
      .busy_o     (head_busy),
      .ready_o    (head_ready),
      .beat_i     (head_beat),
      .data_o     (head_data),
      .len_bytes_o(head_len_bytes),
      .trailer_o  (),
      .done_i     (head_done)
  );

  // What the words behind the BTH need of a job.
  typedef struct packed {
    logic                    has_reth;
    logic                    has_immediate;
    logic [31:0]             immediate;
    logic [63:0]             remote_address;
    logic [31:0]             rkey;
    logic [31:0]             message_bytes;
    logic [WordsWidth-1:0]   beats;  // of payload
  } front_t;

  front_t at_start, front;
  assign at_start = {
    job_i.has_reth, job_i.has_immediate, job_i.immediate, job_i.remote_address, job_i.rkey,
    job_i.message_bytes, job_i.len_bytes[15:Shift]
  };

  // At 512 bits the header of the job before may still wait, and one more be under way.
  if (W == 512) begin : g_fronts
    logic [161+WordsWidth:0] fronts[2];  // of bits: yosys has no arrays of structs
    logic wr_q, rd_q;
    assign front = fronts[rd_q];
    always_ff @(posedge clk_i) begin
      if (start_o) fronts[wr_q] <= at_start;
      wr_q <= (wr_q ^ start_o) && !rst_i;
      rd_q <= (rd_q ^ head_done) && !rst_i;
    end
  end else begin : g_front
    assign front = at_start;
  end

  // What follows the BTH, in words. The first one stands, made from the job, from the header's
  // first beat to its last, with which it is taken; the others are made from what is kept then.
  logic [WordsWidth:0] left_q, words;  // words behind the first; of the frame
  logic [WordsWidth-1:0] payload_left_q, payload_words;
  logic is_first, has_reth_q, is_shifted_q, is_reth, wants_payload, takes_payload;
  logic has_reth, is_shifted;  // of the frame: before the payload, in its word
  logic [8*FrontBytes-1:0] carry, carry_q, over;
  logic [63:0] reth_low, reth_low_q;
  logic [W-1:0] word;
  logic word_valid, word_ready;

  assign is_first      = left_q == '0;
  assign payload_words = is_first ? front.beats : payload_left_q;
  assign words         = (WordsWidth + 1)'(front.beats) + (Wide ?
      (WordsWidth + 1)'(front.has_reth || front.has_immediate) :
      (WordsWidth + 1)'({front.has_reth, front.has_immediate}));
  assign has_reth      = is_first ? front.has_reth : has_reth_q;
  assign is_shifted    = is_first ? front.has_immediate : is_shifted_q;
  assign is_reth       = !Wide && has_reth;
  assign wants_payload = |payload_words;
  // A frame begins with its payload's first beat there, also where RETH comes before it.
  assign word_valid    = s_valid_i || !wants_payload || (is_reth && !is_first);
  assign takes_payload = wants_payload && !is_reth;
  assign s_ready_o     = word_ready && takes_payload;
  assign reth_low      = {bits_pkg::be32(front.message_bytes), bits_pkg::be32(front.rkey)};

  // What stands before the word's payload, or is left over of the one before, and what this one
  // leaves over; the first byte in the lowest bits.
  if (Wide) begin : g_wide
    logic [127:0] reth;
    logic [31:0] immediate;
    assign reth      = {reth_low, bits_pkg::be64(front.remote_address)};
    assign immediate = bits_pkg::be32(front.immediate);
    assign carry     = !is_first ? carry_q : {immediate, front.has_reth ? reth :
        {96'd0, immediate}};
    always_comb begin
      unique case ({has_reth, is_shifted})
        2'b00: word = s_data_i;
        2'b01: word = {s_data_i[W-33:0], carry[31:0]};
        2'b10: word = {s_data_i[W-129:0], carry[127:0]};
        2'b11: word = {s_data_i[W-161:0], carry};
      endcase
      over = s_data_i[W-1-:160];
      if (!has_reth) over[31:0] = s_data_i[W-1-:32];
      else if (!is_shifted) over[127:0] = s_data_i[W-1-:128];
    end
  end else begin : g_narrow
    assign carry = is_first ? bits_pkg::be32(front.immediate) : carry_q;
    assign over  = s_data_i[63:32];
    always_comb begin
      word = is_shifted ? {s_data_i[31:0], carry} : s_data_i;
      if (is_reth) word = is_first ? bits_pkg::be64(front.remote_address) : reth_low_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (head_done) begin
      left_q         <= words - (WordsWidth + 1)'(|words);
      has_reth_q     <= front.has_reth;
      is_shifted_q   <= front.has_immediate;
      reth_low_q     <= reth_low;
      payload_left_q <= payload_words - WordsWidth'(takes_payload);
      carry_q        <= takes_payload ? over : carry;
    end else if (word_ready) begin
      left_q     <= left_q - 1'b1;
      has_reth_q <= has_reth_q && Wide;
      if (takes_payload) begin
        payload_left_q <= payload_left_q - 1'b1;
        carry_q        <= over;
      end
    end
    if (rst_i) left_q <= '0;
  end

  logic [W-1:0] j_tdata;
  logic [Nb-1:0] j_tkeep;
  logic j_tvalid, j_tready, j_tlast;

  frame_join #(
      .W        (W),
      .HeadBytes(HeadBytes),
      .Trailer  (1'b0)
  ) u_join (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .head_ready_i    (head_ready),
      .head_beat_o     (head_beat),
      .head_data_i     (head_data),
      .head_len_bytes_i(head_len_bytes),
      .head_trailer_i  (32'd0),
      .head_done_o     (head_done),
      .s_valid_i       (word_valid),
      .s_ready_o       (word_ready),
      .s_data_i        (word),
      .m_axis_tdata    (j_tdata),
      .m_axis_tkeep    (j_tkeep),
      .m_axis_tvalid   (j_tvalid),
      .m_axis_tready   (j_tready),
      .m_axis_tlast    (j_tlast)
  );

  crc_append #(
      .W   (W),
      .Init(crc_pkg::after_ones(32'hFFFF_FFFF, crc_pkg::EthernetPoly, 8)),
      .Ones(crc_pkg::IcrcOnes)
  ) u_icrc (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (j_tdata),
      .s_axis_tkeep (j_tkeep),
      .s_axis_tvalid(j_tvalid),
      .s_axis_tready(j_tready),
      .s_axis_tlast (j_tlast),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast)
  );

  assign busy_o = head_busy || !is_first || j_tvalid || m_axis_tvalid;

endmodule

`default_nettype wire
