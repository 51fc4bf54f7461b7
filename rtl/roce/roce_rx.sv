// Chooses what queue pairs need of received RoCEv2 packets from their peers: ACK, NAK and CNP for a
// requester, and with Full the requests for a responder. Stands beside eth_ip_check and form_bth, W bits
// wide as they are.
//
// One record for each packet that counts; every other datagram that eth_ip_check passed to RoCE's
// port gives exactly one event, that of the first check which fails: form_bth's (length, version,
// ICRC), P_Key, sender's address and queue pair, opcode (responses, other services, without Full
// requests), length, syndrome. A request is long enough for the headers of its opcode, and a
// multiple of 4 bytes with its padding (IB 9.2); one that is not supported has a record too, it gets
// a NAK. A received credit is ignored; so are MigReq, BECN and the MSN.
//
// Queue pair n has the number `local_qp_i` + n. Its peer's address is what `peer_ip_i` was when
// `peer_set_i` was high with `peer_qp_i` n.
//
// Throughput: a packet in the least time that eth_ip_check needs for one, 8 cycles at 64 bits, one
// at 512. Latency: one cycle from form_bth's verdict to `answer_valid_o` or `request_valid_o`. No
// back-pressure. Does not compare PSNs. One clock.
`default_nettype none

module roce_rx #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,
    parameter  bit          Full    = 1'b0,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic              clk_i,
    input  wire logic              rst_i,
    input  wire logic       [23:0] local_qp_i,   // of the first QP
    input  wire logic              peer_set_i,
    input  wire logic [QpWidth-1:0] peer_qp_i,
    input  wire logic       [31:0] peer_ip_i,
    // eth_ip_check: the beats, and a datagram to RoCE's port that passed, with form_bth's verdict
    input  wire logic              f_valid_i,
    input  wire logic       [ 3:0] f_beat_i,
    input  wire logic    [  W-1:0] f_data_i,
    input  wire logic              f_done_i,
    input  wire logic              judged_i,
    // form_bth
    input  wire logic              passed_i,
    input  wire logic              bad_length_i,
    input  wire logic              bad_version_i,
    input  wire logic              bad_icrc_i,
    input  wire logic       [ 7:0] opcode_i,
    input  wire logic       [ 1:0] padding_i,
    input  wire logic       [15:0] pkey_i,
    input  wire logic       [23:0] qp_i,
    input  wire logic              ack_request_i,
    input  wire logic       [23:0] psn_i,
    input  wire logic       [15:0] len_bytes_i,
    input  wire logic       [31:0] behind_i,

    output      logic              answer_valid_o,
    output      logic [QpWidth-1:0] answer_qp_o,  // of a request too
    output      roce_pkg::answer_t answer_o,

    output      logic               request_valid_o,
    output      roce_pkg::request_t request_o,

    output      logic              ev_length_o,
    output      logic              ev_version_o,
    output      logic              ev_icrc_o,
    output      logic              ev_pkey_o,
    output      logic              ev_stranger_o,  // another sender or queue pair
    output      logic              ev_opcode_o,
    output      logic              ev_syndrome_o   // reserved
);

  // The sender's address, frame bytes 26 to 29, and ECN, in byte 15, on their way beside the verdict
  // of form_bth. It is that of the queue pair's peer.
  localparam int unsigned Nb = W / 8;
  localparam int unsigned Wait = W == 64 ? 4 : 5;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end

  logic is_marked_q, is_peer;
  logic [31:0] sender_q;
  logic [31:0] sender_late_q[Wait];
  logic [Wait-1:0] is_marked_late_q;
  always_ff @(posedge clk_i) begin
    if (f_valid_i && f_beat_i == 4'(26 / Nb)) sender_q <= f_data_i[8*(26%Nb)+:32];
    if (f_valid_i && f_beat_i == 4'(15 / Nb)) is_marked_q <= &f_data_i[8*(15%Nb)+:2];
    sender_late_q[0] <= f_done_i ? sender_q : sender_late_q[0];
    for (int unsigned i = 1; i < Wait; i++) sender_late_q[i] <= sender_late_q[i-1];
    is_marked_late_q <= {
      is_marked_late_q[Wait-2:0], f_done_i ? is_marked_q : is_marked_late_q[0]
    };
  end

  logic [31:0] peer_ip_mem[Qps];
  logic [23:0] index;
  logic [QpWidth-1:0] qp, peer_qp;
  assign peer_qp = Qps > 1 ? peer_qp_i : '0;
  assign index   = qp_i - local_qp_i;
  assign qp      = Qps > 1 ? index[QpWidth-1:0] : '0;
  assign is_peer = index < 24'(Qps) && bits_pkg::be32(sender_late_q[Wait-1]) == peer_ip_mem[qp];
  always_ff @(posedge clk_i) begin
    if (peer_set_i) peer_ip_mem[peer_qp] <= peer_ip_i;
    answer_qp_o <= qp;
  end

  // AETH, IB 9.7.5: a kind in the syndrome's bits 6 and 5, under a reserved one.
  logic [7:0] syndrome;
  logic is_ack, is_cnp, is_length_ok, is_reserved;
  roce_pkg::answer_t answer;
  assign syndrome     = behind_i[31:24];
  assign is_ack       = opcode_i == roce_pkg::OpAcknowledge;
  assign is_cnp       = opcode_i == roce_pkg::OpCnp;
  assign is_length_ok = len_bytes_i == (is_ack ? 16'd4 : 16'd16) && padding_i == 2'd0;

  always_comb begin
    is_reserved = 1'b0;
    answer = {roce_pkg::AnswerAck, syndrome[4:0], psn_i, is_marked_late_q[Wait-1]};
    unique case (syndrome[7:5])
      3'd0: answer.kind = roce_pkg::AnswerAck;
      3'd1: answer.kind = roce_pkg::AnswerRnrNak;
      3'd3: begin
        answer.kind = syndrome[4:0] == 5'd0 ? roce_pkg::AnswerSequenceNak
            : roce_pkg::AnswerFatalNak;
        is_reserved = syndrome[4:0] > 5'd3;
      end
      default: is_reserved = 1'b1;
    endcase
    if (is_cnp) begin
      answer.kind = roce_pkg::AnswerCnp;
      is_reserved = 1'b0;
    end
  end

  // Requests, IB 9.2: up to 1Fh, but for responses. Of a WRITE the place in its message is that of
  // the SEND 6 below.
  logic is_request, is_write, has_reth;
  logic [2:0] place;
  logic [4:0] head_bytes;
  logic [15:0] payload_bytes;
  roce_pkg::request_t request;

  assign is_request = Full && opcode_i[7:5] == 3'd0 && (opcode_i < roce_pkg::OpReadResponse
      || opcode_i > roce_pkg::OpAtomicAcknowledge);
  assign is_write   = opcode_i >= roce_pkg::OpOfWrite;  // if it is supported
  assign place      = opcode_i[2:0] - (is_write ? 3'(roce_pkg::OpOfWrite) : 3'd0);

  always_comb begin
    request              = '0;
    request.ack_request  = ack_request_i;
    request.is_marked    = is_marked_late_q[Wait-1];
    request.psn          = psn_i;
    request.is_supported = opcode_i < roce_pkg::OpReadRequest;
    if (request.is_supported) begin
      request.is_write      = is_write;
      request.is_first      = place == 3'(roce_pkg::OpFirst) || place[2];
      request.is_last       = place >= 3'(roce_pkg::OpLast);
      request.has_immediate = place >= 3'(roce_pkg::OpLast) && place[0];
    end
    has_reth          = request.is_write && request.is_first;
    head_bytes        = {has_reth, 1'b0, request.has_immediate, 2'd0};
    payload_bytes     = len_bytes_i - 16'(head_bytes);
    request.len_bytes = payload_bytes[13:0];
  end

  logic is_short, is_odd;
  assign is_short = len_bytes_i < 16'(head_bytes);
  assign is_odd   = len_bytes_i[1:0] + padding_i != 2'd0;

  always_ff @(posedge clk_i) begin
    request_valid_o <= judged_i && !rst_i && passed_i && pkey_i == roce_pkg::PKey
        && is_peer && is_request && !is_short && !is_odd;
    request_o <= Full ? request : '0;
  end

  always_ff @(posedge clk_i) begin
    {answer_valid_o, ev_length_o, ev_version_o, ev_icrc_o, ev_pkey_o, ev_stranger_o, ev_opcode_o,
        ev_syndrome_o} <= '0;
    answer_o <= answer;
    if (judged_i && !rst_i) begin
      if (!passed_i) begin
        ev_length_o  <= bad_length_i;
        ev_version_o <= bad_version_i;
        ev_icrc_o    <= bad_icrc_i;
      end else if (pkey_i != roce_pkg::PKey) ev_pkey_o <= 1'b1;
      else if (!is_peer) ev_stranger_o <= 1'b1;
      else if (is_request) ev_length_o <= is_short || is_odd;
      else if (!is_ack && !is_cnp) ev_opcode_o <= 1'b1;
      else if (!is_length_ok) ev_length_o <= 1'b1;
      else if (is_reserved) ev_syndrome_o <= 1'b1;
      else answer_valid_o <= 1'b1;
    end
  end

endmodule

`default_nettype wire
