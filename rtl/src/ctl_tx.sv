// Builds the frame of one control packet: two passes over one generator of 64-bit words.
//
// The first pass takes two bytes a cycle through the CRC-32C of the UDP payload and the ones'
// complement sums of IPv4 and UDP, the second sends. The first may begin while the words from 7 on
// are not yet written: it waits before them until `ctl_final_i`. Words 5 and on of a frame (from
// the UDP checksum) are read from the packet's words; those of an ACCEPT behind its tag from the
// template, zeros after that (docs/protocol.md#3.5), which are never stored.
//
//   frame word  content                                      from
//   0           destination, first 2 bytes of source         word 0 [63:16]
//   1           source, type, version, DSCP and ECN          constants, self_i
//   2           length, id, flags, TTL, protocol             constants, ctl_bytes_i
//   3           header checksum, source, destination [31:16] word 1 [15:0]
//   4           destination [15:0], ports, UDP length        word 1 [63:48], [31:16]
//   5           UDP checksum, version, type, flags, tag      word 5 [47:0]
//   6, 7        index; seq, departure                        words 6, 7
//   8 ..        body                                         words 8 to 11 or template
//   last        CRC, 4 bytes
//
// A packet has 2 mod 8 bytes, so the CRC fills the first half of the last beat.
// Throughput: no gap inside a frame but by back-pressure. Latency: valid to the first beat 4 cycles
// a frame word and 6; of a MARK, final to the first beat 28 cycles.
// `ctl_*` is held from valid to ready; ready comes with the last beat. Without `ctl_final_i` valid
// may fall, and what was begun is forgotten. ECN is Not-ECT. One clock.
`default_nettype none

module ctl_tx (
  input  logic          clk_i,
  input  logic          rst_i,
  input  sw_pkg::peer_t self_i,

  input  logic          ctl_valid_i,
  output logic          ctl_ready_o,
  input  logic [15:0]   ctl_bytes_i,     // UDP payload, CRC included; 2 mod 8
  input  logic          ctl_final_i,     // words 7 and on are written too
  input  logic          ctl_template_i,  // ACCEPT
  output logic [3:0]    word_addr_o,
  input  logic [63:0]   word_data_i,     // in the same cycle

  output logic [5:0]    tpl_addr_o,
  input  logic [63:0]   tpl_data_i,      // one cycle later
  input  logic [6:0]    tpl_words_i,

  output logic          m_axis_tvalid,
  input  logic          m_axis_tready,
  output logic [63:0]   m_axis_tdata,
  output logic [7:0]    m_axis_tkeep,
  output logic          m_axis_tlast
);

  localparam int unsigned WordBits = 11;

  // What the sums have besides the words: the rest of the IPv4 header; and in the place of the UDP
  // checksum, what makes of the header's sum that of the pseudo-header: the protocol less all that
  // the header has besides.
  localparam logic [15:0] IpRest    = 16'h4500;
  localparam logic [15:0] UdpPseudo = 16'h3AEB;  // 0x0011 - (0x4500 + 0x4000 + 0x4011 + 20)

  typedef enum logic [2:0] {
    Idle,
    Settle,  // the last slice before the CRC
    Load,
    Sum,
    Send
  } state_e;

  state_e state_q, state_d;

  logic [WordBits-1:0] word_q, word_d, word_next, words_q, before_last_q, tpl_end_q, length_q;
  logic [1:0]          slice_q;  // of 16 bits
  logic [63:0]         data_q, word;
  logic                valid_q, is_last_q, load, may_load;
  logic [15:0]         slice, taken_q, sum_q, ip_sum_q;
  logic [16:0]         sum;
  logic [31:0]         crc_q;
  logic                carry_q, is_crc_covered_q, is_taken_q, is_covered_q, is_ip_end_q;
  logic                is_ip_q, is_udp_q;  // the word after IPv4's addresses; of UDP's checksum
  logic                is_pause, is_paused_q;

  // The generator. Where each 16 bits of the word come from: of the first two, `beside` has
  // what stands beside the packet's words.
  typedef enum logic [2:0] {
    Head0, Head1, Head2, Head3, Head4, Head5, Body, Crc
  } kind_e;
  typedef enum logic [1:0] {
    NearMac, NearIp, NearUdp, NearCrc
  } near_e;
  typedef enum logic [1:0] {
    FromNear, FromWord, FromTpl, FromLength
  } from_e;
  typedef struct packed {
    kind_e kind;
    near_e beside;
    from_e from_3;   // [63:48]
    from_e from_2;   // [47:32]
    from_e from_1;   // [31:16]; beside: the address
    from_e from_0;   // [15:0]; beside: the MAC
    logic  is_zero;  // behind the template
  } sel_t;

  localparam sel_t Sel0    = {Head0, NearMac, FromWord, FromWord, FromWord, FromNear, 1'b0};
  localparam sel_t Sel1    = {Head1, NearMac, FromNear, FromNear, FromLength, FromLength, 1'b0};
  localparam sel_t Sel2    = {Head2, NearMac, FromLength, FromLength, FromLength, FromLength, 1'b0};
  localparam sel_t Sel3    = {Head3, NearIp, FromNear, FromNear, FromNear, FromWord, 1'b0};
  localparam sel_t Sel4    = {Head4, NearUdp, FromWord, FromNear, FromWord, FromLength, 1'b0};
  localparam sel_t Sel5    = {Head5, NearUdp, FromNear, FromWord, FromWord, FromWord, 1'b0};
  localparam sel_t SelWord = {Body, NearMac, FromWord, FromWord, FromWord, FromWord, 1'b0};
  localparam sel_t SelCrc  = {Crc, NearCrc, FromNear, FromNear, FromLength, FromLength, 1'b0};
  // An ACCEPT's tag over its template.
  localparam sel_t SelTag  = {Body, NearMac, FromWord, FromWord, FromTpl, FromTpl, 1'b0};
  localparam sel_t SelTpl  = {Body, NearMac, FromTpl, FromTpl, FromTpl, FromTpl, 1'b0};
  localparam sel_t SelZero = {Body, NearMac, FromTpl, FromTpl, FromTpl, FromTpl, 1'b1};

  sel_t sel_q, sel_next;

  assign word_next = word_q + WordBits'(1);
  always_comb begin
    sel_next = SelWord;
    if (ctl_template_i && word_q[WordBits-1:3] != '0) begin
      sel_next = word_q < tpl_end_q ? SelTpl : SelZero;
      if (word_q == WordBits'(8)) sel_next = SelTag;
    end
    if (word_q < WordBits'(5)) begin
      unique case (word_q[2:0])
        3'd0:    sel_next = Sel1;
        3'd1:    sel_next = Sel2;
        3'd2:    sel_next = Sel3;
        3'd3:    sel_next = Sel4;
        default: sel_next = Sel5;
      endcase
    end
    if (word_q == before_last_q) sel_next = SelCrc;
  end

  assign tpl_addr_o  = {word_d[5:3] - 3'd1, word_d[2:0]};
  assign word_addr_o = sel_q.kind == Head3 || sel_q.kind == Head4 ? 4'd1 : word_q[3:0];

  logic [31:0] beside, constant;
  always_comb begin
    unique case (sel_q.beside)
      NearMac: beside = self_i.mac[31:0];
      NearIp:  beside = {~ip_sum_q, self_i.ip[31:16]};
      NearUdp: beside = {~sum_q, self_i.port};
      NearCrc: beside = ~crc_q;
    endcase
    unique case (sel_q.kind)
      Head1:   constant = 32'h0800_4500;
      Head2:   constant = 32'h4000_4011;
      Head4:   constant = {16'd0, 2'd0, length_q, 3'd2};
      default: constant = 32'd0;
    endcase
    unique case (sel_q.from_3)
      FromNear: word[63:48] = beside[31:16];
      FromWord: word[63:48] = word_data_i[63:48];
      FromTpl:  word[63:48] = tpl_data_i[63:48];
      default:  word[63:48] = {2'd0, length_q, 3'd6};
    endcase
    unique case (sel_q.from_2)
      FromNear: word[47:32] = beside[15:0];
      FromWord: word[47:32] = word_data_i[47:32];
      FromTpl:  word[47:32] = tpl_data_i[47:32];
      default:  word[47:32] = 16'd0;
    endcase
    unique case (sel_q.from_1)
      FromNear: word[31:16] = self_i.ip[15:0];
      FromWord: word[31:16] = word_data_i[31:16];
      FromTpl:  word[31:16] = tpl_data_i[31:16];
      default:  word[31:16] = constant[31:16];
    endcase
    unique case (sel_q.from_0)
      FromNear: word[15:0] = self_i.mac[47:32];
      FromWord: word[15:0] = word_data_i[15:0];
      FromTpl:  word[15:0] = tpl_data_i[15:0];
      default:  word[15:0] = constant[15:0];
    endcase
  end

  always_comb begin
    unique case (slice_q)
      2'd0: slice = data_q[63:48];
      2'd1: slice = data_q[47:32];
      2'd2: slice = data_q[31:16];
      2'd3: slice = data_q[15:0];
    endcase
  end

  // A carry is added with the next slice. IPv4's sum has its own in a cycle without one, and the
  // CRC's word ends with zeros.
  assign sum      = {1'b0, sum_q} + {1'b0, taken_q} + 17'(carry_q);
  assign is_pause = is_ip_q && slice_q == 2'd1 && !is_paused_q;

  // CRC-32C over two bytes, low bits first. `CrcMasks` has, for each bit of the next register,
  // those of the present one that it is the parity of, the low 16 of them with the data added.
  function automatic logic [31:0] crc_step(input logic [31:0] crc);
    logic [31:0] c;
    c = crc;
    for (int i = 0; i < 16; i++) c = {1'b0, c[31:1]} ^ (c[0] ? sw_pkg::Crc32cPoly : 32'd0);
    crc_step = c;
  endfunction

  function automatic logic [32*32-1:0] crc_masks();
    logic [31:0] column;
    for (int k = 0; k < 32; k++) begin
      column = crc_step(32'd1 << k);
      for (int i = 0; i < 32; i++) crc_masks[32*i+k] = column[i];
    end
  endfunction

  localparam logic [32*32-1:0] CrcMasks = crc_masks();

  logic [31:0] crc_in, crc_d;
  assign crc_in = crc_q ^ {16'd0, taken_q[7:0], taken_q[15:8]};
  always_comb begin
    for (int i = 0; i < 32; i++) crc_d[i] = ^(crc_in & CrcMasks[32*i+:32]);
  end

  assign may_load = ctl_final_i || word_q < WordBits'(7);

  always_comb begin
    state_d = state_q;
    word_d  = word_q;
    load    = 1'b0;
    unique case (state_q)
      Idle: begin
        word_d = WordBits'(2);
        if (ctl_valid_i) state_d = Load;
      end
      Settle: state_d = Load;
      Load: begin
        load = may_load;
        if (may_load) state_d = Sum;
        if (!ctl_valid_i) state_d = Idle;
      end
      Sum: begin
        if (&slice_q) begin
          if (is_last_q) begin
            word_d  = '0;
            state_d = Send;
          end else if (sel_q.kind == Crc) begin
            state_d = Settle;
          end else if (may_load) begin
            load = 1'b1;
          end else begin
            state_d = Load;
          end
        end
        if (!ctl_valid_i) state_d = Idle;
      end
      Send: begin
        load = (!valid_q || m_axis_tready) && !(valid_q && is_last_q);
        if (ctl_ready_o) state_d = Idle;
      end
      default: state_d = Idle;
    endcase
    if (load) word_d = word_next;
  end

  always_ff @(posedge clk_i) begin
    word_q <= word_d;
    if (load) sel_q <= sel_next;
    else if (state_q == Idle) sel_q <= Sel2;
    else if (state_q == Sum && state_d == Send) sel_q <= Sel0;
    if (load) begin
      data_q           <= sel_q.is_zero ? 64'd0 : word;
      is_last_q        <= sel_q.kind == Crc;
      is_crc_covered_q <= sel_q.kind == Body;
      is_ip_q          <= sel_q.kind == Head4;
      is_udp_q         <= sel_q.kind == Head5;
    end
    if (state_q == Idle) begin
      sum_q    <= IpRest;
      carry_q  <= 1'b0;
      ip_sum_q <= '1;  // its place adds nothing in the first pass
      crc_q    <= '1;
      slice_q  <= '0;
    end
    // A slice is taken one cycle after it was chosen.
    taken_q      <= is_pause ? 16'd0 : is_udp_q && slice_q == 2'd0 ? UdpPseudo : slice;
    is_taken_q   <= state_q == Sum && !rst_i;
    is_covered_q <= state_q == Sum && is_crc_covered_q;
    is_ip_end_q  <= state_q == Sum && is_pause;
    is_paused_q  <= is_pause && state_q == Sum;
    if (state_q == Sum) begin
      if (!is_pause) slice_q <= slice_q + 2'd1;
      // The UDP payload begins behind the first slice of word 5.
      if (is_udp_q && slice_q == 2'd0) is_crc_covered_q <= 1'b1;
    end
    if (is_taken_q) {carry_q, sum_q} <= sum;
    // Complemented on its way out; 0 is sent as all ones.
    if (state_q == Send && sel_q.kind == Head2 && &sum_q) sum_q <= '0;
    if (is_covered_q) crc_q <= crc_d;
    if (is_ip_end_q) ip_sum_q <= sum[15:0];
    // The word of IPv4's length is 2 behind that of UDP's.
    length_q      <= words_q + (word_d[2] ? WordBits'(1) : WordBits'(3));
    words_q       <= ctl_bytes_i[WordBits+2:3];
    before_last_q <= words_q + WordBits'(4);
    tpl_end_q     <= WordBits'(tpl_words_i) + WordBits'(7);
    if (rst_i) begin
      state_q <= Idle;
      valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_q != Send || ctl_ready_o) valid_q <= 1'b0;
      else if (load) valid_q <= 1'b1;
    end
  end

  assign m_axis_tvalid = valid_q;
  assign m_axis_tdata  = sw_pkg::be64(data_q);
  assign m_axis_tlast  = is_last_q;
  assign m_axis_tkeep  = is_last_q ? 8'h0F : 8'hFF;
  assign ctl_ready_o   = valid_q && is_last_q && m_axis_tready;

endmodule

`default_nettype wire
