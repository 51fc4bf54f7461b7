// Takes one control packet of class session into a small memory, for `listener` to read by word.
//
//   word 0       the peer's MAC [63:16]
//   word 1       the peer's IPv4 [15:0] in [63:48] and [31:16] in [15:0], its port in [31:16]
//   word 5       tag in [31:0]
//   word 6, 7    index; seq, departure
//   word 8 ..14  body, first byte on the wire in the highest bits
//
// Words 5 and on are beats of the frame. Throughput: a beat a cycle, always ready. A packet that
// comes while another is held is dropped and counted: its maker repeats it (docs/protocol.md#3.16:
// one answer at a time), and REPORTs behind it are never held back. Latency: held_o 1 cycle after
// the last beat. Does not: check anything of a body. One clock.
`default_nettype none

module session_rx (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               enable_i,

  input  logic               c_valid_i,
  input  logic [63:0]        c_data_i,
  input  logic               c_last_i,
  input  sw_pkg::rx_meta_t   c_meta_i,

  input  sw_pkg::peer_t      peer_i,        // of the stream
  input  logic [31:0]        stream_tag_i,

  output logic               held_o,
  input  logic               release_i,
  output logic [3:0]         version_o,
  output logic [3:0]         ptype_o,
  output logic [15:0]        bytes_o,
  output logic               is_tag_zero_o,
  output logic               is_tag_ours_o,
  output logic               is_peer_ours_o,

  input  logic [3:0]         addr_i,
  output logic [63:0]        data_o,        // one cycle later

  output logic               ev_dropped_o
);

  logic [63:0] words_q[16];
  logic [3:0]  beat_q;
  logic        is_taking_q, is_inside_q, is_taken;
  logic [63:0] word;

  // The first beat decides for the frame.
  assign is_taken = c_valid_i && c_meta_i.cls == sw_pkg::ClassSession
                    && (is_inside_q ? is_taking_q : enable_i && !held_o);

  always_comb begin
    unique case (beat_q)
      4'd0:    word = {c_meta_i.peer.mac, 16'd0};
      4'd1:    word = {c_meta_i.peer.ip[15:0], 16'd0, c_meta_i.peer.port,
                       c_meta_i.peer.ip[31:16]};
      default: word = sw_pkg::be64(c_data_i);
    endcase
  end

  always_ff @(posedge clk_i) begin
    data_o <= words_q[addr_i];
    if (is_taken) words_q[beat_q] <= word;
    if (is_taken && beat_q == 4'd5) version_o <= word[47:44];
    if (is_taken && c_last_i) begin
      ptype_o        <= c_meta_i.ptype;
      bytes_o        <= c_meta_i.udp_bytes;
      is_tag_zero_o  <= c_meta_i.tag == '0;
      is_tag_ours_o  <= sw_pkg::same32(c_meta_i.tag, stream_tag_i);
      is_peer_ours_o <= sw_pkg::same32(c_meta_i.peer.ip, peer_i.ip)
                        && c_meta_i.peer.port == peer_i.port;
    end
    if (c_valid_i) begin
      is_inside_q <= !c_last_i;
      if (!is_inside_q) is_taking_q <= is_taken;
      // Beats from 15 on share the last word, which nobody reads.
      if (c_last_i) beat_q <= '0;
      else if (!(&beat_q)) beat_q <= beat_q + 4'd1;
    end
    ev_dropped_o <= c_valid_i && !is_inside_q && c_meta_i.cls == sw_pkg::ClassSession && held_o
                    && enable_i && !rst_i;
    if (release_i) held_o <= 1'b0;
    if (is_taken && c_last_i) held_o <= 1'b1;
    if (rst_i) begin
      held_o      <= 1'b0;
      beat_q      <= '0;
      is_inside_q <= 1'b0;
    end
  end

endmodule

`default_nettype wire
