// Judges what a UDP datagram says as a RoCEv2 packet, beside eth_ip_check, which shows the beats:
// the base transport header (BTH) and the ICRC behind the payload.
//
// A packet passes if it has room for BTH, padding and ICRC, its transport version is 0 and its ICRC
// is right. The first check that fails sets its bit: length, version, ICRC. The fields of the BTH
// stand with the verdict. eth_ip_check's NoSum lets datagrams pass whose UDP checksum is 0, as RoCE
// sends them.
//
// A beat every clock for ever. The verdict stands with eth_ip_check's, 5 cycles after a frame's
// last beat came in, above 64 bits 6. Does not look at queue pairs or sequence numbers, nor at
// extended headers. Without UDP its verdict is of no use. One clock.
`default_nettype none

module form_bth #(
    parameter int unsigned N = 64
) (
    input  wire logic                   clk_i,

    // From eth_ip_check.
    input  wire logic                   f_valid_i,
    input  wire logic            [ 3:0] f_beat_i,
    input  wire logic           [N-1:0] f_data_i,
    input  wire logic            [15:0] f_length_i,
    input  wire logic                   f_done_i,
    input  wire logic                   p_valid_i,
    input  wire logic            [ 3:0] p_beat_i,
    input  wire logic           [N-1:0] p_data_i,
    input  wire logic            [23:0] p_next_i,
    input  wire logic [$clog2(N/8)+1:0] p_left_i,

    output      logic                   passed_o,
    output      logic                   bad_length_o,
    output      logic                   bad_version_o,
    output      logic                   bad_icrc_o,
    output      logic            [ 7:0] opcode_o,
    output      logic                   solicited_o,
    output      logic            [ 1:0] padding_o,       // bytes behind the payload
    output      logic            [15:0] pkey_o,
    output      logic                   fecn_o,
    output      logic                   becn_o,
    output      logic            [23:0] qp_o,            // destination
    output      logic                   ack_request_o,
    output      logic            [23:0] psn_o,
    output      logic            [15:0] len_bytes_o,     // behind the BTH, without padding and ICRC
    output      logic            [31:0] behind_o         // the first 4 bytes there: AETH, ImmDt
);

  localparam int unsigned Nb = N / 8;
  // Cycles from f_done_i to the verdict, as in eth_ip_check.
  localparam int unsigned Wait = N == 64 ? 3 : 4;
  localparam logic [15:0] Heads = 16'd28;  // of IP and UDP
  localparam logic [15:0] Least = Heads + 16'd12 + 16'd4;

  if (N != 64 && N != 128 && N != 512) begin : g_bad_1
    $error("N must be 64, 128 or 512");
  end

  logic icrc_ok, icrc_ok_q;
  crc_check #(
      .N        (N),
      .Poly     (crc_pkg::EthernetPoly),
      .StartByte(14),
      .Init     (crc_pkg::after_ones('1, crc_pkg::EthernetPoly, 8)),
      .BigEndian(1'b0),
      .Ones     (crc_pkg::IcrcOnes)
  ) i_crc (
      .clk_i  (clk_i),
      .valid_i(p_valid_i),
      .beat_i (p_beat_i),
      .data_i (p_data_i),
      .next_i (p_next_i),
      .left_i (p_left_i),
      .ok_o   (icrc_ok)
  );

  // The bytes of the BTH and the 4 behind it, as they come; byte 0 is the highest.
  logic [127:0] head_q;
  logic [95:0] bth_q;
  assign bth_q = head_q[127:32];
  always_ff @(posedge clk_i) begin
    if (f_valid_i) begin
      for (int i = 0; i < 16; i++) begin
        if (f_beat_i == 4'((wire_pkg::OffHeader + i) / Nb))
          head_q[127-8*i-:8] <= f_data_i[8*((wire_pkg::OffHeader+i)%Nb)+:8];
      end
    end
  end

  typedef struct packed {
    logic        bad_length;
    logic        bad_version;
    logic [95:0] bth;
    logic [15:0] len_bytes;
    logic [31:0] behind;
  } verdict_t;

  logic [15:0] over;  // bytes above the least
  verdict_t judged;
  always_comb begin
    over               = f_length_i - Least;
    judged.bad_length  = f_length_i < Least || over < 16'(bth_q[85:84]);
    judged.bad_version = |bth_q[83:80];
    judged.bth         = bth_q;
    judged.len_bytes   = over - 16'(bth_q[85:84]);
    judged.behind      = head_q[31:0];
  end

  // Of bits: yosys has no arrays of structs.
  logic [145:0] verdict_q[Wait];
  verdict_t verdict, out_q;
  logic out_icrc_ok_q;
  assign verdict = verdict_q[Wait-1];

  always_ff @(posedge clk_i) begin
    if (f_done_i) verdict_q[0] <= judged;
    for (int i = 1; i < int'(Wait); i++) verdict_q[i] <= verdict_q[i-1];
    icrc_ok_q     <= icrc_ok;
    out_q         <= verdict;
    out_icrc_ok_q <= icrc_ok_q;
  end

  assign bad_length_o  = out_q.bad_length;
  assign bad_version_o = !out_q.bad_length && out_q.bad_version;
  assign bad_icrc_o    = !out_q.bad_length && !out_q.bad_version && !out_icrc_ok_q;
  assign passed_o      = !out_q.bad_length && !out_q.bad_version && out_icrc_ok_q;
  assign opcode_o      = out_q.bth[95:88];
  assign solicited_o   = out_q.bth[87];
  assign padding_o     = out_q.bth[85:84];
  assign pkey_o        = out_q.bth[79:64];
  assign fecn_o        = out_q.bth[63];
  assign becn_o        = out_q.bth[62];
  assign qp_o          = out_q.bth[55:32];
  assign ack_request_o = out_q.bth[31];
  assign psn_o         = out_q.bth[23:0];
  assign len_bytes_o   = out_q.len_bytes;
  assign behind_o      = out_q.behind;

endmodule

`default_nettype wire
