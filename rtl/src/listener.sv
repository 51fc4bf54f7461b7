// Judges each packet that session_rx holds: the listener's table (docs/protocol.md#3.16), the
// sender's CLOSE and CLOSE_ACK (#7.11), unknown tags (#7.6). Stream 0 is the only one.
//
// An OPEN to receive is refused for these reasons, in this order: no such stream, trailer, busy,
// role, delivery, start index (only 0, "now", is served), window 0, packet size. ACCEPT has the
// length of a full DATA packet, which is the largest that this sender sends, or what its fields
// need (#3.5); one that only describes may be as short as its fields.
//
// Throughput: one packet at a time. Latency: an OPEN is answered after 55 cycles, 580 for each half
// of a cookie that is compared (3 at most), 620 for a new stream. A cookie is compared by halves,
// and only a right first half leads to the second: what its duration tells takes 2^63 tries to use.
// Back-pressure: none towards the packets; the answer waits for ctl_build. `flush_o` is high for 8
// cycles before the ACCEPT of a new stream is begun, while no control packet is on its way. Does
// not: read TLVs. One clock.
`default_nettype none

module listener (
  input  logic           clk_i,
  input  logic           rst_i,
  input  logic           tick_i,           // a millisecond has passed
  input  logic [15:0]    payload_bytes_i,
  input  logic [6:0]     tpl_words_i,

  // session_rx
  input  logic           rx_held_i,
  output logic           rx_release_o,
  input  logic [3:0]     rx_version_i,
  input  logic [3:0]     rx_ptype_i,
  input  logic [15:0]    rx_bytes_i,
  input  logic           rx_is_tag_zero_i,
  input  logic           rx_is_tag_ours_i,
  input  logic           rx_is_peer_ours_i,
  output logic [3:0]     rx_addr_o,
  input  logic [63:0]    rx_data_i,

  // cookie
  output logic           mac_start_o,
  input  logic [1:0]     mac_part_i,       // first block, second block, value
  input  logic [1:0]     mac_half_i,       // 16 bits of it
  input  logic [31:0]    boot_i,           // boot id: the word with these 16 bits
  output logic [15:0]    mac_block_o,
  input  logic           mac_valid_i,      // another half of the value
  input  logic           mac_done_i,
  input  logic [31:0]    mac_value_i,      // the half above the one before

  // ctl_build
  output logic           ans_valid_o,
  input  logic           ans_done_i,
  output sw_pkg::type_e  ans_type_o,
  output logic           ans_is_unknown_o,
  output logic [15:0]    ans_bytes_o,
  output logic           ans_is_opening_o,
  output logic [3:0]     ans_reason_o,
  output logic           ans_is_retry_o,
  input  logic [3:0]     ans_addr_i,
  input  logic           ans_mac_start_i,
  input  logic           ans_mac_half_i,
  input  logic           ans_is_mac_i,     // a value is computed for it
  output logic           mark_hold_o,
  input  logic           build_idle_i,
  input  logic           tx_busy_i,        // DATA that was chosen has not left

  // The stream.
  input  sw_pkg::state_e state_i,
  output sw_pkg::peer_t  peer_o,
  output logic [31:0]    peer_tag_o,
  output logic [31:0]    stream_tag_o,
  output logic [31:0]    window_o,
  output logic           flush_o,
  output logic           open_o,
  output logic [31:0]    close_seq_o,      // to `window`
  input  logic           close_ok_i,       // in the same cycle
  input  logic [31:0]    next_i,
  output logic           peer_closed_o,
  output logic           done_o,           // CLOSE_ACK(done)
  output logic           unknown_o,        // CLOSE_ACK(unknown tag), believed

  output logic           ev_opens_o,
  output logic           ev_challenged_o,
  output logic           ev_accepted_o,
  output logic           ev_repeated_o,
  output logic           ev_refused_o,
  output logic           ev_late_o,
  output logic           ev_takeover_o,
  output logic           ev_unknown_o,
  output logic           ev_unanswered_o,
  output logic           ev_malformed_o,   // a length, a role, or a field that must be zero
  output logic           ev_unexpected_o,  // a type, tag, peer or seq that has no place here
  output logic           ev_close_refused_o
);

  localparam logic [15:0] OpenBytesMin = 16'd128;
  localparam logic [15:0] CloseBytes   = 16'd42;
  localparam logic [12:0] EpochMs      = 13'd8000;
  localparam logic [14:0] LateMs       = 15'd16000;
  localparam logic [6:0]  TokensMax    = 7'd64;

  // Reasons, docs/protocol.md#3.11.
  localparam logic [3:0] ReasonBusy       = 4'd1;
  localparam logic [3:0] ReasonStream     = 4'd2;
  localparam logic [3:0] ReasonRole       = 4'd3;
  localparam logic [3:0] ReasonPacketSize = 4'd4;
  localparam logic [3:0] ReasonVersion    = 4'd5;
  localparam logic [3:0] ReasonWindow     = 4'd6;
  localparam logic [3:0] ReasonDelivery   = 4'd8;
  localparam logic [3:0] ReasonTrailer    = 4'd9;
  localparam logic [3:0] ReasonStartIndex = 4'd10;

  // What the second block of the keyed function is for; cookies take 0 and 1, by half.
  localparam logic [1:0] DomainTag = 2'd2;

  localparam logic [1:0] RoleDescribe = 2'd0;
  localparam logic [1:0] RoleReceive  = 2'd1;
  localparam logic [1:0] RoleSend     = 2'd2;

  typedef enum logic [4:0] {
    Idle,
    // OPEN, by what is read.
    Wish,     // word 8: tag, role, delivery, stream
    Zero,     // word 14
    Terms,    // word 13: window, largest packet, trailer
    Start,    // word 6: the start index
    Cookie,   // a half of the cookie is begun, and compared with word 11 or 12
    Compare,
    // Walked by 16 bits, first to compare with the stream's, then to keep them.
    Nonce,    // word 9
    Owner,    // word 10
    Order,    // word 7: its departure; then it is judged
    Tag,      // a tag is begun
    Draw,
    Drain,    // a MARK on its way belongs to the old stream
    Keep,     // flush; the words of the stream are kept
    Answer,
    // CLOSE, CLOSE_ACK
    Body,     // word 8
    Seq,      // word 7
    Release
  } step_e;

  step_e step_q, step_d;

  // Cycles in a step, up to 2: the word that it reads stands there after one, what is known of the
  // word after two, and then it acts.
  logic [1:0]  phase_q;
  logic        is_ready;
  logic        is_held_q, is_mac_done_q;

  // Of what is read, 16 bits: those that `cookie` asks for, or in a walk one after the other.
  logic [2:0]  walk_q;
  logic [1:0]  half_at_q;
  logic [15:0] half, kept, other;
  logic [16:0] less;
  logic        is_walk, is_in_q, is_walked_q, is_keeping_q, is_borrow_q, differs;
  logic        is_hi_zero_q, is_mid_zero_q, is_lo_zero_q, is_hi_one_q, is_mac_same_q;
  logic        is_before_q, is_peer_tag_q, is_next_q, is_close_ok_q;
  logic        is_close_bytes_q, is_short_q, is_open_form_q;
  logic [12:0] data_words_q, packet_words_q;
  logic [15:0] cookie_epoch_q;

  // Of the OPEN.
  logic [1:0]  role_q;
  logic        is_other_stream_q, is_other_delivery_q, is_other_trailer_q, is_started_q;
  logic        is_window_zero_q, does_fit_q, is_half_q, is_last_epoch_q;
  logic        is_same_nonce_q, is_same_owner_q;
  // Of a CLOSE or CLOSE_ACK.
  logic        is_reason_unknown_q;
  logic        is_unknown_q;
  // Of the answer.
  sw_pkg::type_e ans_type_q, ans_type_d;
  logic [3:0]  reason_q, reason_d;
  logic        is_described_q, is_described_d;

  // Of the stream.
  sw_pkg::peer_t peer_q;
  logic [31:0] peer_tag_q, stream_tag_q, window_q;
  (* ram_style = "distributed" *) logic [15:0] kept_mem[16];  // nonce, owner, departure
  logic [1:0]  kept_at;
  logic [15:0] openings_q;
  logic [2:0]  keep_q;

  // Timers.
  logic [12:0] epoch_ms_q;
  logic [15:0] epoch_q;
  logic [14:0] late_ms_q;
  logic        is_recent_q;
  logic [6:0]  tokens_q;
  logic        does_take_q;

  logic        is_live, is_repeat, is_late, is_known;
  logic        take_token, is_new;
  logic [12:0] accept_words;

  assign is_live = state_i == sw_pkg::StateOpening || state_i == sw_pkg::StateFlowing
                   || state_i == sw_pkg::StateClosing;

  assign is_ready = phase_q == 2'd2;
  assign accept_words = does_fit_q && payload_bytes_i[15:3] > 13'(tpl_words_i) ?
                        payload_bytes_i[15:3] : 13'(tpl_words_i);

  assign is_repeat    = is_live && rx_is_peer_ours_i && is_same_nonce_q;
  // Of a stream that has ended a copy of its OPEN, of one that is open an earlier one
  // (docs/protocol.md#3.9, #3.10). No other stream is remembered.
  assign is_late      = rx_is_peer_ours_i && is_recent_q
                        && (is_live ? is_before_q : is_same_nonce_q);
  // An ended stream answers CLOSE; to all else its tag is unknown (docs/protocol.md#7.6).
  assign is_known = rx_is_tag_ours_i
                    && (is_live || (state_i == sw_pkg::StateEnded
                                    && rx_ptype_i == sw_pkg::TypeClose));

  always_comb begin
    step_d             = step_q;
    ans_type_d         = ans_type_q;
    reason_d           = reason_q;
    is_described_d     = is_described_q;
    mac_start_o        = 1'b0;
    take_token         = 1'b0;
    is_new             = 1'b0;
    peer_closed_o      = 1'b0;
    done_o             = 1'b0;
    unknown_o          = 1'b0;
    ev_opens_o         = 1'b0;
    ev_repeated_o      = 1'b0;
    ev_late_o          = 1'b0;
    ev_unanswered_o    = 1'b0;
    ev_malformed_o     = 1'b0;
    ev_unexpected_o    = 1'b0;
    ev_close_refused_o = 1'b0;
    unique case (step_q)
      Idle: begin
        is_described_d = 1'b0;
        if (is_held_q) begin
          unique case (rx_ptype_i)
            sw_pkg::TypeOpen: begin
              ev_opens_o = 1'b1;
              ans_type_d = sw_pkg::TypeRefuse;
              reason_d   = ReasonVersion;
              if (!is_open_form_q) begin
                ev_malformed_o = 1'b1;
                step_d         = Release;
              end else if (rx_version_i != sw_pkg::Version) begin
                step_d = Answer;
              end else begin
                step_d = Wish;
              end
            end
            sw_pkg::TypeData, sw_pkg::TypeMark, sw_pkg::TypeReport, sw_pkg::TypeAccept,
            sw_pkg::TypeClose, sw_pkg::TypeCloseAck: begin
              ans_type_d = sw_pkg::TypeCloseAck;
              step_d     = Release;
              if (rx_ptype_i == sw_pkg::TypeCloseAck
                  || (rx_ptype_i == sw_pkg::TypeClose && is_known)) begin
                if (is_close_bytes_q) step_d = Body;
                else ev_malformed_o = 1'b1;
              end else if (rx_is_tag_zero_i || is_known || is_short_q) begin
                ev_unexpected_o = 1'b1;
              end else if (tokens_q == '0) begin
                ev_unanswered_o = 1'b1;
              end else begin
                take_token = 1'b1;
                step_d     = Answer;
              end
            end
            default: begin
              ev_unexpected_o = 1'b1;
              step_d          = Release;
            end
          endcase
        end
      end
      Wish: if (is_ready) begin
        step_d = Zero;
        if (&rx_data_i[25:24] || |rx_data_i[31:26]) begin
          ev_malformed_o = 1'b1;
          step_d         = Release;
        end else if (!rx_is_tag_zero_i || is_hi_zero_q) begin
          ev_unexpected_o = 1'b1;
          step_d          = Release;
        end
      end
      Zero: if (is_ready) begin
        step_d = Terms;
        if (!is_lo_zero_q) begin
          ev_malformed_o = 1'b1;
          step_d         = Release;
        end
      end
      Terms: if (is_ready) step_d = Start;
      Start: if (is_ready) step_d = Cookie;
      Cookie: if (is_ready) begin
        mac_start_o = 1'b1;
        step_d      = Compare;
      end
      Compare: begin
        if (is_mac_done_q) begin
          if (!is_mac_same_q) begin
            ans_type_d = sw_pkg::TypeChallenge;
            step_d     = is_last_epoch_q ? Answer : Cookie;
          end else begin
            step_d = is_half_q ? Nonce : Cookie;
          end
        end
      end
      Nonce: if (is_walked_q) step_d = Owner;
      Owner: if (is_walked_q) step_d = Order;
      Order: if (is_walked_q && is_keeping_q) begin
        step_d = Tag;
      end else if (is_walked_q) begin
        ans_type_d = sw_pkg::TypeRefuse;
        step_d     = Answer;
        if (is_other_stream_q) reason_d = ReasonStream;
        else if (is_other_trailer_q) reason_d = ReasonTrailer;
        else if (role_q == RoleDescribe) begin
          ans_type_d     = sw_pkg::TypeAccept;
          is_described_d = 1'b1;
        end else if (is_repeat) begin
          ans_type_d    = sw_pkg::TypeAccept;
          ev_repeated_o = 1'b1;
        end else if (is_live && !is_same_owner_q) reason_d = ReasonBusy;
        else if (is_late) begin
          ev_late_o = 1'b1;
          step_d    = Release;
        end else if (role_q == RoleSend) reason_d = ReasonRole;
        else if (is_other_delivery_q) reason_d = ReasonDelivery;
        else if (is_started_q) reason_d = ReasonStartIndex;
        else if (is_window_zero_q) reason_d = ReasonWindow;
        else if (!does_fit_q) reason_d = ReasonPacketSize;
        else begin
          ans_type_d = sw_pkg::TypeAccept;
          step_d     = Nonce;
        end
      end
      Tag: begin
        mac_start_o = 1'b1;
        step_d      = Draw;
      end
      Draw:  if (mac_done_i) step_d = Drain;
      // Nothing of the old stream leaves with the new one's addresses.
      Drain: if (build_idle_i && !tx_busy_i) step_d = Keep;
      Keep: begin
        if (&keep_q) begin
          is_new = 1'b1;
          step_d = Answer;
        end
      end
      Answer: begin
        mac_start_o = ans_mac_start_i;
        if (ans_done_i) step_d = Idle;
      end
      Body: if (is_ready) begin
        step_d = Seq;
        if (!is_mid_zero_q) begin
          ev_malformed_o = 1'b1;
          step_d         = Release;
        end else if (!rx_is_peer_ours_i) begin
          ev_unexpected_o = 1'b1;
          step_d          = Release;
        end else if (rx_ptype_i == sw_pkg::TypeCloseAck && rx_is_tag_zero_i) begin
          step_d = Release;
          if (is_live && is_hi_one_q && is_peer_tag_q)
            unknown_o = 1'b1;
          else ev_unexpected_o = 1'b1;
        end
      end
      Seq: if (is_ready) begin
        step_d = Release;
        if (rx_ptype_i == sw_pkg::TypeClose) begin
          if (!is_live) begin
            step_d = Answer;
          end else if (is_close_ok_q) begin
            peer_closed_o = 1'b1;
            step_d        = Answer;
          end else begin
            ev_close_refused_o = 1'b1;
          end
        end else if (rx_is_tag_ours_i && !is_reason_unknown_q && is_next_q
                     && state_i == sw_pkg::StateClosing) begin
          done_o = 1'b1;
        end else begin
          ev_unexpected_o = 1'b1;
        end
      end
      default: step_d = Idle;
    endcase
    if (rst_i) step_d = Idle;
  end

  // What is read of session_rx, and the blocks of the keyed function.
  logic [3:0] mac_addr;
  assign mac_addr = mac_part_i[0] ? 4'd9 : 4'd1;

  always_comb begin
    unique case (step_q)
      Zero:    rx_addr_o = 4'd14;
      Terms:   rx_addr_o = 4'd13;
      Start:   rx_addr_o = 4'd6;
      Compare: rx_addr_o = !mac_part_i[1] ? mac_addr : is_half_q ? 4'd12 : 4'd11;
      Owner:   rx_addr_o = 4'd10;
      Order, Seq: rx_addr_o = 4'd7;
      Keep: begin
        unique case (keep_q)
          3'd0:    rx_addr_o = 4'd0;
          3'd1:    rx_addr_o = 4'd1;
          3'd3:    rx_addr_o = 4'd8;
          default: rx_addr_o = 4'd13;
        endcase
      end
      Answer:  rx_addr_o = ans_is_mac_i ? mac_addr : ans_addr_i;
      Draw:    rx_addr_o = mac_addr;
      Nonce:   rx_addr_o = 4'd9;
      default: rx_addr_o = 4'd8;
    endcase
  end

  logic [1:0]  domain;
  always_comb begin
    domain = {1'b0, step_q == Answer ? ans_mac_half_i : is_half_q};
    if (step_q == Draw) domain = DomainTag;
    unique case (half_at_q)
      2'd0: half = rx_data_i[15:0];
      2'd1: half = rx_data_i[31:16];
      2'd2: half = rx_data_i[47:32];
      2'd3: half = rx_data_i[63:48];
    endcase
    // First: epoch, address and port of the peer; or boot id and number of the opening. Second:
    // nonce without its lowest byte, and what the value is for.
    mac_block_o = half;
    if (mac_part_i[0]) begin
      if (half_at_q == 2'd0) mac_block_o[7:0] = {6'd0, domain};
    end else if (step_q == Draw) begin
      mac_block_o = (half_at_q[0] ? boot_i[31:16] : boot_i[15:0])
                    ^ (&half_at_q ? openings_q : 16'd0);
    end else if (half_at_q == 2'd2) begin
      mac_block_o = cookie_epoch_q;
    end
  end

  assign is_walk = step_q == Nonce || step_q == Owner || step_q == Order;
  assign kept_at = step_q == Order ? 2'd2 : step_q == Owner ? 2'd1 : 2'd0;
  assign kept    = kept_mem[{kept_at, half_at_q}];
  assign other   = is_walk ? kept : mac_value_i[31:16];
  assign differs = half != other;
  assign less    = {1'b0, half} - {1'b0, kept} - 17'(is_borrow_q && half_at_q[0]);

  always_ff @(posedge clk_i) begin
    step_q         <= step_d;
    if (step_d != step_q) phase_q <= 2'd0;
    else if (!phase_q[1]) phase_q <= phase_q + 2'd1;
    is_held_q        <= rx_held_i && step_q == Idle && step_d == Idle;
    is_mac_done_q    <= mac_done_i;
    half_at_q        <= is_walk ? walk_q[1:0] : mac_half_i;

    is_hi_zero_q     <= rx_data_i[63:32] == '0;
    is_mid_zero_q    <= rx_data_i[47:32] == '0;
    is_lo_zero_q     <= rx_data_i[31:0] == '0;
    is_hi_one_q      <= rx_data_i[63:48] == 16'd1;
    if (mac_start_o) is_mac_same_q <= 1'b1;
    else if (mac_valid_i && differs) is_mac_same_q <= 1'b0;
    is_peer_tag_q    <= sw_pkg::same32(rx_data_i[31:0], peer_tag_q);
    is_next_q        <= sw_pkg::same32(rx_data_i[63:32], next_i);
    is_close_ok_q    <= close_ok_i;
    is_close_bytes_q <= rx_bytes_i == CloseBytes;
    is_short_q       <= rx_bytes_i < CloseBytes;
    is_open_form_q   <= rx_bytes_i >= OpenBytesMin;
    // In words of 8 bytes: a full DATA packet has 26 bytes, 3 words and 2, more than its payload,
    // and its IPv4 packet 28 more than that.
    data_words_q     <= payload_bytes_i[15:3] + 13'd3;
    packet_words_q   <= payload_bytes_i[15:3] + 13'd7;
    cookie_epoch_q   <= is_last_epoch_q && step_q == Compare ? epoch_q - 16'd1 : epoch_q;
    ans_type_q     <= ans_type_d;
    reason_q       <= reason_d;
    is_described_q <= is_described_d;
    flush_o        <= step_d == Keep;
    ans_bytes_o    <= {accept_words + 13'd3, 3'd2};
    open_o         <= !rst_i && step_q == Keep && keep_q == 3'd6;

    if (step_q == Idle) is_unknown_q <= !is_known;
    if (step_q == Wish) begin
      role_q              <= rx_data_i[25:24];
      is_other_delivery_q <= rx_data_i[23:16] > 8'd2;
      is_other_stream_q   <= rx_data_i[15:0] != '0;
    end
    // 54 bytes more than the payload, compared in words: both sides are 2 higher.
    does_take_q <= {1'b0, rx_data_i[31:16]} + 17'd2 >= {1'b0, packet_words_q, 3'd0};
    if (step_q == Terms) begin
      is_window_zero_q   <= is_hi_zero_q;
      does_fit_q         <= rx_bytes_i >= {data_words_q, 3'd2} && does_take_q;
      is_other_trailer_q <= rx_data_i[7:0] != '0;
    end
    if (step_q == Start) is_started_q <= !is_hi_zero_q || !is_lo_zero_q;
    // The second four cycles of a walk have the word's halves, a cycle late.
    walk_q      <= is_walk && step_d == step_q && !is_walked_q ? walk_q + 3'd1 : 3'd0;
    is_in_q     <= is_walk && walk_q[2];
    is_walked_q <= is_walk && &walk_q;
    if (step_q == Cookie) begin
      is_same_nonce_q <= 1'b1;
      is_same_owner_q <= 1'b1;
    end
    if (is_in_q && differs && step_q == Nonce) is_same_nonce_q <= 1'b0;
    if (is_in_q && differs && step_q == Owner) is_same_owner_q <= 1'b0;
    is_borrow_q <= less[16];
    if (is_in_q && half_at_q == 2'd1) is_before_q <= less[15];
    if (step_q == Idle) is_keeping_q <= 1'b0;
    else if (step_q == Order && step_d == Nonce) is_keeping_q <= 1'b1;
    if (is_in_q && is_keeping_q) kept_mem[{kept_at, half_at_q}] <= half;
    if (step_q == Body) is_reason_unknown_q <= !is_hi_zero_q;

    if (step_q == Idle) begin
      is_half_q       <= 1'b0;
      is_last_epoch_q <= 1'b0;
    end else if (step_q == Compare && is_mac_done_q) begin
      is_half_q <= is_mac_same_q;
      if (!is_mac_same_q) is_last_epoch_q <= 1'b1;
    end

    if (rst_i) openings_q <= '0;
    else if (step_q == Draw && mac_done_i) openings_q <= openings_q + 16'd1;
    keep_q <= step_q == Keep ? keep_q + 3'd1 : 3'd0;
    if (step_q == Keep) begin
      unique case (keep_q)
        3'd0: begin
          // The low bits count openings, so that the last 16 tags of a run differ. Never 0.
          stream_tag_q <= {mac_value_i[31:5], mac_value_i[4] || mac_value_i[31:5] == '0,
                           openings_q[3:0]};
        end
        3'd1: peer_q.mac <= rx_data_i[63:16];
        3'd2: begin
          peer_q.ip   <= {rx_data_i[15:0], rx_data_i[63:48]};
          peer_q.port <= rx_data_i[31:16];
        end
        3'd4: peer_tag_q <= rx_data_i[63:32];
        3'd7: window_q <= rx_data_i[63:32];
        default: ;
      endcase
    end

    // An epoch does not end between the halves of a cookie.
    if (rst_i) begin
      epoch_ms_q <= '0;
      epoch_q    <= '0;
    end else if (epoch_ms_q >= EpochMs && step_q == Idle) begin
      epoch_ms_q <= {12'd0, tick_i};
      epoch_q    <= epoch_q + 16'd1;
    end else if (tick_i && !(&epoch_ms_q)) begin
      epoch_ms_q <= epoch_ms_q + 13'd1;
    end
    if (rst_i) begin
      is_recent_q <= 1'b0;
    end else if (open_o) begin
      late_ms_q   <= '0;
      is_recent_q <= 1'b1;
    end else if (tick_i) begin
      late_ms_q <= late_ms_q + 15'd1;
      if (late_ms_q == LateMs) is_recent_q <= 1'b0;
    end
    if (rst_i) tokens_q <= TokensMax;
    else if (take_token && !tick_i) tokens_q <= tokens_q - 7'd1;
    else if (tick_i && !take_token && tokens_q != TokensMax) tokens_q <= tokens_q + 7'd1;
  end

  assign rx_release_o     = step_q == Release || (step_q == Answer && ans_done_i);
  assign mark_hold_o      = step_q == Drain || step_q == Keep;
  assign ans_valid_o      = step_q == Answer;
  assign ans_type_o       = ans_type_q;
  assign ans_is_unknown_o = is_unknown_q;
  assign ans_is_opening_o = !is_described_q;
  assign ans_reason_o     = reason_q;
  assign ans_is_retry_o   = reason_q == ReasonBusy;

  assign peer_o       = peer_q;
  assign peer_tag_o   = peer_tag_q;
  assign stream_tag_o = stream_tag_q;
  assign window_o     = window_q;
  assign close_seq_o  = rx_data_i[63:32];

  assign ev_challenged_o = step_q == Answer && ans_done_i && ans_type_q == sw_pkg::TypeChallenge;
  assign ev_refused_o    = step_q == Answer && ans_done_i && ans_type_q == sw_pkg::TypeRefuse;
  assign ev_unknown_o    = take_token;
  assign ev_accepted_o   = is_new || (step_q == Order && is_walked_q && is_described_d);
  assign ev_takeover_o   = step_q == Drain && step_d == Keep && is_live;

`ifdef FORMAL
  `include "listener_props.svh"
`endif

endmodule

`default_nettype wire
