// Builds the frame of one control packet: two passes over one generator of 64-bit words.
//
// The first pass takes 16 bits a cycle through the CRC-32C of the UDP payload and the ones'
// complement sums of IPv4 and UDP, the second sends. Words 5 and on of a frame (from the UDP
// checksum) are read from the packet's words; those of an ACCEPT behind its tag from the template,
// zeros after that (docs/protocol.md#3.5), which are never stored.
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
// a frame word and 5; a MARK takes 50 cycles to its first beat and 63 to its last.
// `ctl_*` is held from valid to ready; ready comes with the last beat. ECN is Not-ECT. One clock.
`default_nettype none

module ctl_tx (
  input  logic          clk_i,
  input  logic          rst_i,
  input  sw_pkg::peer_t self_i,

  input  logic          ctl_valid_i,
  output logic          ctl_ready_o,
  input  logic [15:0]   ctl_bytes_i,     // UDP payload, CRC included; 2 mod 8
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

  // What the first pass puts in the places of the checksums: the rest of the IPv4 header, and what
  // makes of its sum that of the pseudo-header: the protocol less all that the header has besides.
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

  logic [WordBits-1:0] word_q, word_d, words;
  logic [WordBits-1:0] words_q, before_last_q, tpl_end_q;
  logic                carry_q, is_ip_fold_q;
  logic [1:0]          slice_q;
  logic [63:0]         data_q, word;
  logic                valid_q, is_last_q, load;
  logic [15:0]         slice, taken_q, sum_q, ip_sum_q;
  logic [16:0]         sum;
  logic [31:0]         crc_q;
  logic                is_word_last, is_crc_covered_q, is_taken_q, is_covered_q, is_ip_end_q;

  assign words        = words_q;
  assign is_word_last = sel_q == SelCrc;

  // The generator. `sel_q` says what word `word_q` is: 0 to 5 are the words of the headers. Bit 3:
  // the low half is the template's; bit 4: the high half; bit 5: zeros.
  typedef enum logic [5:0] {
    Sel0    = 6'd0,
    Sel1    = 6'd1,
    Sel2    = 6'd2,
    Sel3    = 6'd3,
    Sel4    = 6'd4,
    Sel5    = 6'd5,
    SelWord = 6'd6,
    SelCrc  = 6'd7,
    SelTag  = 6'b001_110,  // an ACCEPT's tag over its template
    SelTpl  = 6'b011_110,
    SelZero = 6'b100_110
  } sel_e;

  sel_e                sel_q, sel_next;
  logic [WordBits-1:0] word_next;
  logic [15:0]         ip_place, udp_place;
  logic [63:0]         head, tail;

  assign word_next = word_q + WordBits'(1);
  always_comb begin
    sel_next = SelWord;
    if (ctl_template_i && word_q[WordBits-1:3] != '0) begin
      sel_next = word_q < tpl_end_q ? SelTpl : SelZero;
      if (word_q == WordBits'(8)) sel_next = SelTag;
    end
    if (word_q < WordBits'(5)) sel_next = sel_e'({3'd0, word_q[2:0] + 3'd1});
    if (word_q == before_last_q) sel_next = SelCrc;
  end

  assign tpl_addr_o  = {word_d[5:3] - 3'd1, word_d[2:0]};
  assign word_addr_o = sel_q == Sel3 || sel_q == Sel4 ? 4'd1 : word_q[3:0];
  assign ip_place    = state_q == Send ? ip_sum_q : IpRest;
  assign udp_place   = state_q == Send ? sum_q : UdpPseudo;

  always_comb begin
    unique case (sel_q[1:0])
      2'd0: head = {word_data_i[63:16], self_i.mac[47:32]};
      2'd1: head = {self_i.mac[31:0], 32'h0800_4500};
      2'd2: head = {{2'd0, words + WordBits'(3), 3'd6}, 48'h0000_4000_4011};
      2'd3: head = {ip_place, self_i.ip, word_data_i[15:0]};
    endcase
    unique case (sel_q[1:0])
      2'd0: tail = {word_data_i[63:48], self_i.port, word_data_i[31:16],
                    {2'd0, words + WordBits'(1), 3'd2}};
      2'd1: tail = {udp_place, word_data_i[47:0]};
      2'd2: tail = word_data_i;
      2'd3: tail = {~crc_q, 32'd0};
    endcase
    word[63:32] = sel_q[4] ? tpl_data_i[63:32] : sel_q[2] ? tail[63:32] : head[63:32];
    word[31:0]  = sel_q[3] ? tpl_data_i[31:0] : sel_q[2] ? tail[31:0] : head[31:0];
  end

  always_comb begin
    unique case (slice_q)
      2'd0: slice = data_q[63:48];
      2'd1: slice = data_q[47:32];
      2'd2: slice = data_q[31:16];
      2'd3: slice = data_q[15:0];
    endcase
  end

  // Carries are added with the next slice. The two that follow the CRC are zero, and one fold is
  // enough: a sum of all ones has left no carry.
  assign sum = {1'b0, sum_q} + {1'b0, taken_q} + 17'(carry_q);

  // CRC-32C over two bytes, the first one in the high half, low bits first. `CrcMasks` has, for
  // each bit of the next register, those of the present one that it is the parity of, the low 16
  // of them with the data added.
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
        load    = 1'b1;
        state_d = Sum;
      end
      Sum: begin
        if (slice_q == 2'd3) begin
          if (is_last_q) begin
            word_d  = '0;
            state_d = Send;
          end else if (is_word_last) begin
            state_d = Settle;
          end else begin
            load = 1'b1;
          end
        end
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
      data_q    <= sel_q[5] ? 64'd0 : word;
      is_last_q <= is_word_last;
      is_crc_covered_q <= word_q[WordBits-1:1] > 10'd2 && !is_word_last;
    end
    if (state_q == Idle) begin
      sum_q   <= '0;
      carry_q <= 1'b0;
      crc_q   <= '1;
      slice_q <= '0;
    end
    // A slice is taken one cycle after it was chosen.
    taken_q      <= slice;
    is_taken_q   <= state_q == Sum && !rst_i;
    is_covered_q <= state_q == Sum && is_crc_covered_q;
    is_ip_end_q  <= state_q == Sum && sel_q == Sel5 && slice_q == 2'd0;
    if (state_q == Sum) begin
      slice_q <= slice_q + 2'd1;
      // The UDP payload begins behind the first slice of word 5.
      if (word_q == WordBits'(6) && slice_q == 2'd0) is_crc_covered_q <= 1'b1;
    end
    if (is_taken_q) {carry_q, sum_q} <= sum;
    // Complemented for its place before that is read; 0 is sent as all ones.
    if (state_q == Send && load && sel_q == Sel2) sum_q <= &sum_q ? sum_q : ~sum_q;
    if (is_covered_q) crc_q <= crc_d;
    is_ip_fold_q <= is_ip_end_q;
    if (is_ip_end_q) ip_sum_q <= sum[15:0];
    if (is_ip_fold_q) ip_sum_q <= ~(ip_sum_q + 16'(carry_q));
    words_q       <= ctl_bytes_i[WordBits+2:3];
    before_last_q <= words + WordBits'(4);
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
