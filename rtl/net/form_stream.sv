// Judges what a UDP datagram says as a Samplewire packet, beside eth_ip_check, which shows the beats:
// version, type, flags, length and CRC (docs/protocol.md#2.3 to 2.8).
//
// A beat every clock for ever. The verdict stands with eth_ip_check's, 5 cycles after a frame's last
// beat came in, at 128 bits 6: one of its bits at most. Without UDP it passes. Does not look at the
// fields of a body but a REPORT's n. One clock.
`default_nettype none

module form_stream #(
    parameter int unsigned N = 64
) (
    input  wire logic                     clk_i,
    input  wire logic              [31:0] stream_tag_i,
    input  wire logic                     stream_tag_valid_i,

    // From eth_ip_check.
    input  wire logic                     f_valid_i,
    input  wire logic              [ 3:0] f_beat_i,
    input  wire logic             [N-1:0] f_data_i,
    input  wire logic              [15:0] f_length_i,
    input  wire logic                     f_next_i,
    input  wire logic                     f_done_i,
    input  wire logic                     f_is_udp_i,
    input  wire logic                     p_valid_i,
    input  wire logic              [ 3:0] p_beat_i,
    input  wire logic             [N-1:0] p_data_i,
    input  wire logic              [23:0] p_next_i,
    input  wire logic [$clog2(N/8)+1:0] p_left_i,

    output      logic                     passed_o,
    output      logic                     other_version_o,  // an OPEN of another: passed, no CRC
    output      logic                     is_report_o,      // with the stream's tag
    output      logic                     bad_form_o,
    output      logic                     bad_length_o,
    output      logic                     bad_crc_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned BHeader = wire_pkg::OffHeader / Nb;
  localparam int unsigned BCount = 102 / Nb;
  // Cycles from f_done_i to the verdict, as in eth_ip_check.
  localparam int unsigned Wait = N == 128 ? 4 : 3;

  if (N != 64 && N != 128) begin : g_bad_1
    $error("N must be 64 or 128");
  end

  `define SW_WORD(Offset) {bits_pkg::be16(f_data_i[8*((Offset)%Nb)+:16])}

  logic version_q, reserved_q, tag_q, n_right_q;
  logic [3:0] ptype_q;
  logic [16:0] ranges_q;  // 8 bytes each: what a REPORT of this length has

  always_ff @(posedge clk_i) begin
    if (f_valid_i) begin
      if (f_beat_i == 4'(BHeader)) begin
        version_q <= f_data_i[8*(42%Nb)+4+:4] == wire_pkg::Version;
        ptype_q <= f_data_i[8*(42%Nb)+:4];
        reserved_q <= f_data_i[8*(43%Nb)+6];
        tag_q <= stream_tag_valid_i && {`SW_WORD(44), `SW_WORD(46)} == stream_tag_i;
      end
      if (f_beat_i == 4'(BCount)) n_right_q <= {2'd0, ranges_q} == {`SW_WORD(102), 3'd0};
    end
  end

  `undef SW_WORD

  logic crc_ok, crc_ok_q;
  crc_check #(
      .N(N)
  ) i_crc (
      .clk_i  (clk_i),
      .valid_i(p_valid_i),
      .beat_i (p_beat_i),
      .data_i (p_data_i),
      .next_i (p_next_i),
      .left_i (p_left_i),
      .ok_o   (crc_ok)
  );

  localparam logic [7:0] Heads = 8'd28;  // of IP and UDP; the packet is the rest of f_length_i

  // Constants below 256 need no carry chain over 16 bits.
  logic is_long;
  assign is_long = |f_length_i[15:8];

  // Lengths of types, docs/protocol.md#2.4: at least, or exactly.
  function automatic logic is_body_right();
    logic [7:0] least, over;
    logic exact, short;
    exact = 1'b1;
    case (ptype_q)
      wire_pkg::TypeData:      {exact, least} = {1'b0, Heads + 8'd34};
      wire_pkg::TypeMark:      least = Heads + 8'd58;
      wire_pkg::TypeReport:    {exact, least} = {1'b0, Heads + 8'd66};
      wire_pkg::TypeOpen:      {exact, least} = {1'b0, Heads + 8'd128};
      wire_pkg::TypeChallenge: least = Heads + 8'd50;
      wire_pkg::TypeAccept:    {exact, least} = {1'b0, Heads + 8'd98};
      default:               least = Heads + 8'd42;
    endcase
    {short, over} = {1'b0, f_length_i[7:0]} - {1'b0, least};
    is_body_right = exact ? !is_long && over == '0 : is_long || !short;
  endfunction

  // The results of the lengths are known before the last beat; a cycle later each is one bit.
  logic has_packet_q, body_right_q, body_fits;
  always_ff @(posedge clk_i) begin
    if (f_next_i) begin
      has_packet_q <= is_long || f_length_i[7:0] >= Heads + 8'd26;
      body_right_q <= is_body_right();
      ranges_q <= 17'(f_length_i) - 17'(Heads + 8'd66);
    end
  end
  assign body_fits = body_right_q && (ptype_q != wire_pkg::TypeReport || n_right_q);

  typedef struct packed {
    logic bad_form;
    logic bad_length;
    logic needs_crc;
    logic is_other;
    logic is_report;
  } verdict_t;

  // Too short for a header comes before a wrong CRC, which cannot be looked for then; a wrong CRC
  // before a body's wrong length.
  function automatic verdict_t judged();
    logic bad_form, bad_length, needs_crc, is_other;
    {bad_form, bad_length, needs_crc, is_other} = '0;
    if (f_is_udp_i) begin
      if (!has_packet_q) bad_length = 1'b1;
      else if (!version_q) begin
        // An OPEN of another version is answered in that version: docs/protocol.md#2.8.
        is_other = 1'b1;
        bad_form = ptype_q != wire_pkg::TypeOpen || !body_fits;
      end else begin
        needs_crc = 1'b1;
        bad_form = ptype_q > wire_pkg::TypeCloseAck || reserved_q;
        bad_length = !bad_form && !body_fits;
      end
    end
    judged = {bad_form, bad_length, needs_crc, is_other, ptype_q == wire_pkg::TypeReport && tag_q};
  endfunction

  logic [4:0] verdict_q[Wait];
  verdict_t verdict;
  logic is_crc_bad;

  always_ff @(posedge clk_i) begin
    if (f_done_i) verdict_q[0] <= judged();
    for (int i = 1; i < int'(Wait); i++) verdict_q[i] <= verdict_q[i-1];
    crc_ok_q <= crc_ok;
  end

  assign verdict    = verdict_q[Wait-1];
  assign is_crc_bad = verdict.needs_crc && !verdict.bad_form && !crc_ok_q;

  always_ff @(posedge clk_i) begin
    passed_o        <= !verdict.bad_form && !verdict.bad_length && !is_crc_bad;
    bad_form_o      <= verdict.bad_form;
    bad_length_o    <= verdict.bad_length && !is_crc_bad;
    bad_crc_o       <= is_crc_bad;
    other_version_o <= verdict.is_other;
    is_report_o     <= verdict.is_report;
  end

endmodule

`default_nettype wire
