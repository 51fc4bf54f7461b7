// Writes the words of one control packet into a small memory and has `ctl_tx` send it: answers of
// `listener`, and MARK and CLOSE when `mark_timer` owes one (docs/protocol.md#2.11 to #2.18).
//
// Every packet asks `tx_sched` for its departure, so that all stamps strictly rise
// (docs/protocol.md#2.6). Those of the sender, MARK, CLOSE and CLOSE_ACK(done), keep their place:
// no DATA is chosen until they have left. The listener's give the place back at once.
//
// The words that need neither the place nor its departure are written first, and ctl_tx begins with
// them: so the wire is idle for as little as can be. A packet that keeps its place asks for it
// before it reads what DATA changes, which then stands still; answers ask when all else is written.
// Behind the grant come word 7, and of a MARK words 8 and 9, which tell of the newest REPORT; they
// are there before ctl_tx has taken word 7.
//
// Throughput: one packet at a time. Latency: request to the place asked for 12 cycles for a MARK,
// the grant to ctl_final_o 1; a CHALLENGE 1,160 more for its cookie. Back-pressure: answers wait
// for `ans_done_o`, and have the right of way; a MARK whose reason goes before its place comes is
// not sent. Does not: decide. One clock.
`default_nettype none

module ctl_build (
  input  logic           clk_i,
  input  logic           rst_i,

  // Answers; held from valid to done.
  input  logic           ans_valid_i,
  output logic           ans_done_o,
  input  sw_pkg::type_e  ans_type_i,
  input  logic           ans_is_unknown_i,    // CLOSE_ACK: unknown tag
  input  logic [3:0]     ans_version_i,
  input  logic [15:0]    ans_bytes_i,         // ACCEPT
  input  logic           ans_is_opening_i,    // ACCEPT: not only described
  input  logic [3:0]     ans_reason_i,        // REFUSE
  input  logic           ans_is_retry_i,      // REFUSE: try again after a second
  output logic [3:0]     rx_addr_o,           // of session_rx, while ans_valid_i
  input  logic [63:0]    rx_data_i,

  // MARK, CLOSE.
  input  logic           mark_valid_i,
  input  logic           mark_is_close_i,
  input  logic           mark_hold_i,         // begin none
  output logic           mark_left_o,
  output logic           idle_o,
  input  logic [1:0]     close_reason_i,

  // Cookie of a CHALLENGE: two values, each in two words of 32 bits, the low one first.
  output logic           mac_start_o,
  output logic           mac_half_o,          // the second value
  output logic           is_mac_o,            // one is computed
  input  logic           mac_low_i,
  input  logic           mac_done_i,
  input  logic [31:0]    mac_value_i,

  // The stream.
  input  logic [31:0]    stream_tag_i,
  input  logic [31:0]    peer_tag_i,
  input  logic [31:0]    now_i,
  input  logic [63:0]    index_i,
  input  logic [63:0]    lost_i,
  input  logic [31:0]    oldest_i,
  input  logic [31:0]    sent_i,
  input  logic [31:0]    next_i,
  input  logic           has_report_i,
  input  logic [31:0]    report_number_i,
  input  logic [31:0]    report_departure_i,
  input  logic [31:0]    report_time_i,

  output logic           ctl_want_o,
  input  logic           ctl_grant_i,
  input  logic [31:0]    ctl_departure_i,
  output logic           ctl_done_o,

  output logic           ctl_valid_o,
  output logic           ctl_final_o,
  input  logic           ctl_ready_i,
  output logic [15:0]    ctl_bytes_o,
  output logic           ctl_template_o,
  input  logic [3:0]     word_addr_i,
  output logic [63:0]    word_data_o
);

  localparam logic [15:0] Versions    = 16'h0002;
  localparam logic [31:0] BusyRetryMs = 32'd1000;

  typedef enum logic [2:0] {
    Idle,
    Word,
    Mac,   // a value of the cookie is computed
    Wait,  // ctl_tx sends
    Skip   // the place is given back unused
  } state_e;

  // What a half of a word is of. The low two bits choose in group 0 or 1; 8 and 12 stand alone. So
  // the choice is two levels of LUTs, three LUTs a bit.
  typedef enum logic [3:0] {
    HiRx = 4'd0, HiConstant = 4'd1, HiSent = 4'd2, HiOldest = 4'd3,
    HiIndex = 4'd4, HiLost = 4'd5, HiValue = 4'd6, HiNext = 4'd7,
    HiReport = 4'd8, HiTag = 4'd12
  } hi_e;
  typedef enum logic [3:0] {
    LoRxHi = 4'd0, LoRx = 4'd1, LoDeparture = 4'd2, LoNumber = 4'd3,
    LoIndex = 4'd4, LoLost = 4'd5, LoValue = 4'd6, LoHold = 4'd7,
    LoPeerTag = 4'd8, LoConstant = 4'd12
  } lo_e;

  state_e state_q, state_d;

  logic [31:0]   hi_words_q[16], lo_words_q[16];
  logic [31:0]   hi, lo, hi_constant_q, hi_constant_d, hold_q;
  logic [3:0]    addr_q, addr_d;
  logic [1:0]    phase_q;
  logic          is_ready, write, is_retry_q, is_retry_d, is_ones_q, is_ones_d;
  hi_e           hi_q, hi_d;
  lo_e           lo_q, lo_d;
  sw_pkg::type_e type_q, type_d;
  logic          is_cookie, is_answer, is_placed, is_unknown, is_mark, is_last, is_reason;
  logic          want_q, is_grant, is_granted_q, is_left_q, is_begun_q;

  assign is_answer  = type_q != sw_pkg::TypeMark && type_q != sw_pkg::TypeClose;
  assign is_unknown = type_q == sw_pkg::TypeCloseAck && ans_is_unknown_i;
  assign is_placed  = !is_answer || (type_q == sw_pkg::TypeCloseAck && !ans_is_unknown_i);
  assign is_mark    = type_q == sw_pkg::TypeMark;
  assign idle_o     = state_q == Idle;

  assign is_grant   = want_q && ctl_grant_i;
  // What the place was asked for is still to be sent.
  assign is_reason  = is_answer
                      || (mark_valid_i && mark_is_close_i == (type_q == sw_pkg::TypeClose));
  assign is_last    = addr_q == (is_mark ? 4'd9 : 4'd7);

  always_comb begin
    state_d = state_q;
    addr_d  = addr_q;
    type_d  = type_q;
    write   = 1'b0;
    unique case (state_q)
      Idle: begin
        if (ans_valid_i) begin
          type_d  = ans_type_i;
          state_d = Word;
        end else if (mark_valid_i && !mark_hold_i) begin
          type_d  = mark_is_close_i ? sw_pkg::TypeClose : sw_pkg::TypeMark;
          state_d = Word;
        end
        addr_d = 4'd0;
      end
      Word, Mac: begin
        write = state_q == Mac ? mac_low_i || mac_done_i : is_ready && !is_cookie;
        if (addr_q == 4'd7 && !is_grant && !is_left_q) write = 1'b0;
        if (mac_start_o) state_d = Mac;
        if (write && !mac_low_i) begin
          state_d = is_last ? Wait : Word;
          unique case (addr_q)
            4'd1:    addr_d = 4'd5;
            4'd5:    addr_d = type_q == sw_pkg::TypeAccept && ans_is_opening_i ? 4'd12 : 4'd6;
            4'd13:   addr_d = 4'd6;
            4'd6:    addr_d = is_mark ? 4'd10 : 4'd8;
            4'd9:    addr_d = type_q == sw_pkg::TypeChallenge ? 4'd10 : 4'd7;
            4'd10:   addr_d = is_mark ? 4'd11 : 4'd7;
            4'd11:   addr_d = 4'd7;
            4'd7:    addr_d = 4'd8;
            default: addr_d = addr_q + 4'd1;
          endcase
        end
        if (is_grant && !is_reason) state_d = Skip;
      end
      Wait:    if (ctl_ready_i) state_d = Idle;
      default: state_d = Idle;
    endcase
    if (rst_i) state_d = Idle;
  end

  // The address was chosen 1, what it reads 2 cycles ago; the sources are as old.
  assign is_ready    = phase_q == 2'd3;
  assign is_cookie   = type_q == sw_pkg::TypeChallenge && (addr_q == 4'd9 || addr_q == 4'd10);
  assign mac_start_o = state_q == Word && is_ready && is_cookie;
  assign mac_half_o  = addr_q[1];
  assign is_mac_o    = state_q == Mac;

  logic [3:0] rx_addr_d;
  // Words 12 and 13 keep words 0 and 1 of the stream's peer for its MARKs.
  always_comb begin
    unique case (addr_q)
      4'd0, 4'd12: rx_addr_d = 4'd0;
      4'd5:        rx_addr_d = 4'd8;
      4'd8:        rx_addr_d = type_q == sw_pkg::TypeCloseAck ? 4'd5 : 4'd9;
      default:     rx_addr_d = 4'd1;
    endcase
  end

  // The sources of the word at the address.
  always_comb begin
    hi_d          = HiRx;
    lo_d          = LoRx;
    hi_constant_d = '0;
    is_retry_d    = 1'b0;
    is_ones_d     = 1'b0;
    unique case (addr_q)
      4'd5: begin
        hi_d          = HiConstant;
        hi_constant_d = {16'd0, is_answer ? ans_version_i : sw_pkg::Version, type_q, 8'd0};
        lo_d          = is_placed ? LoPeerTag : is_unknown ? LoConstant : LoRxHi;
      end
      4'd6: begin
        hi_d = is_placed || type_q == sw_pkg::TypeAccept ? HiIndex : HiConstant;
        lo_d = is_placed || type_q == sw_pkg::TypeAccept ? LoIndex : LoConstant;
      end
      4'd7: begin
        hi_d = is_placed ? (is_answer ? HiNext : HiSent) : HiConstant;
        lo_d = LoDeparture;
      end
      4'd8: begin
        if (type_q == sw_pkg::TypeMark) hi_d = HiOldest;
        if (type_q == sw_pkg::TypeClose || type_q == sw_pkg::TypeCloseAck) hi_d = HiConstant;
        hi_constant_d[17:16] = is_answer ? {1'b0, is_unknown} : close_reason_i;
        if (!is_answer) lo_d = has_report_i ? LoNumber : LoConstant;
      end
      4'd9, 4'd10: begin
        unique case (type_q)
          sw_pkg::TypeMark: begin
            hi_d = addr_q[1] ? HiLost : has_report_i ? HiReport : HiConstant;
            lo_d = addr_q[1] ? LoLost : has_report_i ? LoHold : LoConstant;
            is_ones_d = 1'b1;
          end
          sw_pkg::TypeRefuse: begin
            hi_d          = HiConstant;
            hi_constant_d = {12'd0, ans_reason_i, Versions};
            lo_d          = LoConstant;
            is_retry_d    = ans_is_retry_i;
          end
          sw_pkg::TypeAccept:    hi_d = ans_is_opening_i ? HiTag : HiConstant;
          sw_pkg::TypeChallenge: begin
            hi_d = HiValue;
            lo_d = LoValue;
          end
          default: begin
            hi_d = is_unknown ? HiConstant : HiLost;
            lo_d = is_unknown ? LoConstant : LoLost;
          end
        endcase
      end
      4'd11: begin
        // The time of the index is unknown.
        hi_d = HiConstant;
        lo_d = LoConstant;
      end
      default: hi_d = HiRx;
    endcase
  end

  logic [31:0] hi_near, hi_far, lo_near, lo_far;
  always_comb begin
    unique case (hi_q[1:0])
      2'd0: {hi_near, hi_far} = {rx_data_i[63:32], index_i[63:32]};
      2'd1: {hi_near, hi_far} = {hi_constant_q, lost_i[63:32]};
      2'd2: {hi_near, hi_far} = {sent_i, mac_value_i};
      2'd3: {hi_near, hi_far} = {oldest_i, next_i};
    endcase
    unique case (lo_q[1:0])
      2'd0: {lo_near, lo_far} = {rx_data_i[63:32], index_i[31:0]};
      2'd1: {lo_near, lo_far} = {rx_data_i[31:0], lost_i[31:0]};
      2'd2: {lo_near, lo_far} = {ctl_departure_i, mac_value_i};
      2'd3: {lo_near, lo_far} = {report_number_i, hold_q};
    endcase
    unique case (hi_q[3:2])
      2'd0: hi = hi_near;
      2'd1: hi = hi_far;
      2'd2: hi = report_departure_i;
      2'd3: hi = stream_tag_i;
    endcase
    unique case (lo_q[3:2])
      2'd0: lo = lo_near;
      2'd1: lo = lo_far;
      2'd2: lo = peer_tag_i;
      2'd3: lo = is_ones_q ? 32'hFFFF_FFFF : is_retry_q ? BusyRetryMs : 32'd0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (write) hi_words_q[addr_q] <= hi;
    if (write && !(state_q == Mac && mac_done_i)) lo_words_q[addr_q] <= lo;
    hold_q        <= now_i - report_time_i;
    hi_q          <= hi_d;
    lo_q          <= lo_d;
    hi_constant_q <= hi_constant_d;
    is_retry_q    <= is_retry_d;
    is_ones_q     <= is_ones_d;
    addr_q       <= addr_d;
    rx_addr_o    <= rx_addr_d;
    if (state_q != Word || write) phase_q <= 2'd0;
    else if (!is_ready) phase_q <= phase_q + 2'd1;
    type_q       <= type_d;
    state_q      <= state_d;
    // An answer's departure is written in the cycle in which it comes.
    if (state_q != Word || is_grant || is_left_q) want_q <= 1'b0;
    else if (is_placed ? addr_q == 4'd6 : addr_q == 4'd7 && is_ready) want_q <= 1'b1;
    is_granted_q <= is_grant && !rst_i;
    if (state_q != Word) is_left_q <= 1'b0;
    else if (is_grant) is_left_q <= 1'b1;
    // ctl_tx may begin when words 0, 1, 5 and 6 are there.
    if (state_q == Idle || state_q == Skip) is_begun_q <= 1'b0;
    else if (addr_q == 4'd8 || addr_q == 4'd10) is_begun_q <= 1'b1;
    if (rst_i) want_q <= 1'b0;
  end

  logic [3:0] word_addr;
  assign word_addr   = is_answer ? word_addr_i : {word_addr_i[3] || word_addr_i < 4'd2,
                       word_addr_i[2] || word_addr_i < 4'd2, word_addr_i[1:0]};
  assign word_data_o = {hi_words_q[word_addr], lo_words_q[word_addr]};

  assign ctl_want_o  = want_q;
  assign ctl_done_o  = is_placed && state_q != Skip ? state_q == Wait && ctl_ready_i : is_granted_q;
  assign mark_left_o = is_grant && !is_answer && is_reason;
  assign ans_done_o  = state_q == Wait && ctl_ready_i && is_answer;

  assign ctl_valid_o    = is_begun_q && state_q != Idle && state_q != Skip;
  assign ctl_final_o    = state_q == Wait || (is_mark && addr_q[3:1] == 3'b100);
  assign ctl_template_o = type_q == sw_pkg::TypeAccept;
  always_comb begin
    unique case (type_q)
      sw_pkg::TypeAccept:    ctl_bytes_o = ans_bytes_i;
      sw_pkg::TypeMark:      ctl_bytes_o = 16'd58;
      sw_pkg::TypeChallenge: ctl_bytes_o = 16'd50;
      default:               ctl_bytes_o = 16'd42;
    endcase
  end

endmodule

`default_nettype wire
