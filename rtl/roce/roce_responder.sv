// The receiving half of one reliable connection of RoCEv2: takes request packets in the order of
// their PSN, writes what they carry to memory, and answers (IB 9.7.4, 9.7.5, 9.9.3). SEND and RDMA
// WRITE, with and without immediate; W bits wide. The Rust responder, crates/samplewire-roce, does
// the same.
//
//   beats of eth_ip_check -> frame_fifo -> headers -> checks -> payload -> memory
//   request (roce_rx) ----> requests ----^              |  ^
//                                                       |  +- receive requests
//   response (to a requester's roce_head) <-------------+---> completions
//
// A frame is kept until roce_rx has judged it: no byte reaches the memory before the ICRC is
// checked. What is no request of the peer's is forgotten there.
//
//   packet                          does
//   expected, breaks no rule        is executed; answered with an ACK if it requests one
//   expected, no receive request    nothing; RNR NAK
//   expected, breaks a rule         ends the connection; NAK with the code of `fault_o`
//   behind a gap                    nothing; NAK "sequence error" for the first one
//   duplicate                       nothing; ACK, but for a request that is not supported
//
// At most one answer is due. It names the newest packet, and so acknowledges all before it; an ACK
// takes the place of a NAK whose packet came meanwhile. `response_o` may change until it is taken.
//
// A request with ECN's CE makes a CNP due (notification_point), whatever else becomes of it; but not
// behind a failure. A CNP leaves before an answer.
//
// A WRITE goes to the addresses that it names, which the region's bounds hold; a SEND to those of
// its receive request. One receive request at a time is taken from the caller. It completes with the
// last packet of a SEND, or of a WRITE with immediate; after a failure all are flushed. A beat of
// payload is whole but for a packet's last, and its address need not be a multiple of W / 8.
//
// Throughput: packets back to back on a 10 Gb/s line at 64 bits and 156.25 MHz, on a 100 Gb/s line at
// 512 bits and 322.27 MHz from a payload of 256 bytes on; a packet of B stored beats takes B + 4
// cycles at most. Latency, last beat of a frame at eth_ip_check to first beat of its payload: 17
// cycles, at 512 bits 16. Back-pressure: wr_ready_i, completion_ready_i; what finds no room meanwhile
// is dropped whole, and comes again after a NAK. Answers wait without holding anything back.
//
// `run_i` begins a connection with `cfg_i`, unless its MTU is no code (`refused_o`); both stand.
// While it is low, for at least 4 cycles, all is forgotten, receive requests too; a beat that is
// offered to the memory stays. `abort_i` fails the connection without an answer. `region_i` may
// change at any time and counts from the next packet on. A frame that is longer than what the store
// holds is dropped. A region and a receive request end at 2^64 at most. One clock.
`default_nettype none

module roce_responder #(
    parameter  int unsigned W      = 64,
    parameter  int unsigned Beats  = W == 512 ? 512 : 1024,  // of frames that wait
    parameter  int unsigned Frames = 32,  // that wait
    localparam int unsigned Nb     = W / 8,
    localparam int unsigned Fw     = $clog2(Frames)
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_i,
    input  wire logic            [63:0] time_ns_i,
    // connection
    input  wire logic                   run_i,
    input  wire roce_pkg::responder_t   cfg_i,
    input  wire roce_pkg::region_t      region_i,
    input  wire logic                   abort_i,
    output      logic                   refused_o,
    output      logic                   is_failed_o,
    // eth_ip_check's beats; roce_rx, a cycle behind a frame's last one
    input  wire logic                   valid_i,
    input  wire logic                   last_i,
    input  wire logic           [W-1:0] data_i,
    input  wire logic                   request_valid_i,
    input  wire roce_pkg::request_t     request_i,
    // receive requests
    input  wire logic                   receive_valid_i,
    output      logic                   receive_ready_o,
    input  wire roce_pkg::receive_t     receive_i,
    output      logic                   completion_valid_o,
    input  wire logic                   completion_ready_i,
    output      roce_pkg::received_t    completion_o,
    // memory
    output      logic                   wr_valid_o,
    input  wire logic                   wr_ready_i,
    output      logic            [63:0] wr_addr_o,   // of the first byte
    output      logic          [W-1:0]  wr_data_o,
    output      logic          [Nb-1:0] wr_keep_o,   // full but for the last beat
    output      logic                   wr_last_o,   // of the packet
    // answers
    output      logic                   response_valid_o,
    input  wire logic                   response_ready_i,
    output      roce_pkg::response_t    response_o,
    // counters: a request packet gives one of these; `fault_o` stands with its event
    output      logic                   ev_packet_o,       // executed
    output      logic                   ev_duplicate_o,
    output      logic                   ev_gap_o,
    output      logic                   ev_not_ready_o,
    output      logic                   ev_fault_o,
    output      logic                   ev_after_fault_o,
    output      logic                   ev_unexpected_o,   // a READ or the like before the expected
    output      logic                   ev_no_room_o,      // in the store
    // beside these
    output      logic                   ev_marked_o,       // a request had CE
    output      logic                   ev_cnp_o,          // a CNP is sent
    output      roce_pkg::fault_e       fault_o
);

  localparam int unsigned Lb = $clog2(Nb);
  // Where the payload begins in its frame: {has RETH, has ImmDt}.
  localparam int unsigned BodyByte = wire_pkg::OffHeader + roce_pkg::BthBytes;
  localparam int unsigned At00 = BodyByte;
  localparam int unsigned At01 = BodyByte + roce_pkg::ImmBytes;
  localparam int unsigned At10 = BodyByte + roce_pkg::RethBytes;
  localparam int unsigned At11 = BodyByte + roce_pkg::RethBytes + roce_pkg::ImmBytes;
  localparam int unsigned ExtBytes = roce_pkg::RethBytes + roce_pkg::ImmBytes;
  // Beats before that of the BTH are not stored.
  localparam int unsigned FirstBeat = wire_pkg::OffHeader / Nb;
  localparam logic [31:0] MessageBytesMax = 32'h8000_0000;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (Frames < 2 || Frames != 1 << Fw) begin : g_frames
    $error("Frames must be a power of two");
  end

  logic is_cfg_ok, flush_q;
  assign is_cfg_ok = cfg_i.mtu != 3'd0 && cfg_i.mtu < 3'd6;
  assign refused_o = run_i && !is_cfg_ok;
  always_ff @(posedge clk_i) flush_q <= rst_i || !run_i || !is_cfg_ok;

  // ------------------------------------------------------------------ store
  // A frame that began before the connection did is left out.
  logic s_valid_q, s_last_q, inside_q, is_ours_q, is_ours;
  logic [W-1:0] s_data_q;
  logic [2:0] skip_q;  // beats of the frame that were left out

  assign is_ours = (inside_q ? is_ours_q : 1'b1) && !flush_q;

  always_ff @(posedge clk_i) begin
    s_data_q  <= data_i;
    s_last_q  <= last_i;
    s_valid_q <= valid_i && is_ours && skip_q == 3'(FirstBeat);
    is_ours_q <= valid_i ? is_ours : is_ours_q && !flush_q;
    if (valid_i) begin
      inside_q <= !last_i;
      if (last_i) skip_q <= '0;
      else if (skip_q != 3'(FirstBeat)) skip_q <= skip_q + 1'b1;
    end
    if (rst_i) begin
      s_valid_q <= 1'b0;
      inside_q  <= 1'b0;
      skip_q    <= '0;
    end
  end

  logic f_valid, f_ready, f_last, kept, no_room, has_place;
  logic [W-1:0] f_data;

  frame_fifo #(
      .W    (W),
      .Beats(Beats)
  ) u_store (
      .clk_i        (clk_i),
      .rst_i        (flush_q),
      .s_axis_tdata (s_data_q),
      .s_axis_tkeep ({Nb{1'b1}}),
      .s_axis_tvalid(s_valid_q),
      .s_axis_tlast (s_last_q),
      .s_axis_tuser (!request_valid_i || !has_place),
      .m_axis_tdata (f_data),
      .m_axis_tkeep (),
      .m_axis_tvalid(f_valid),
      .m_axis_tready(f_ready),
      .m_axis_tlast (f_last),
      .m_axis_tuser (),
      .ev_kept_o    (kept),
      .ev_bad_o     (),
      .ev_no_room_o (no_room),
      .ev_cut_o     ()
  );

  // What roce_rx says of each frame in the store. Of bits: yosys has no arrays of structs.
  (* ram_style = "distributed" *)logic [44:0] request_mem[Frames];
  logic [Fw:0] put_q, got_q;
  logic take_request;
  roce_pkg::request_t request, request_q;

  assign has_place    = put_q != {~got_q[Fw], got_q[Fw-1:0]};
  assign ev_no_room_o = s_valid_q && s_last_q && request_valid_i && (no_room || !has_place);
  assign request      = request_mem[got_q[Fw-1:0]];

  always_ff @(posedge clk_i) begin
    if (kept) request_mem[put_q[Fw-1:0]] <= request_i;
    put_q <= flush_q ? '0 : put_q + (Fw + 1)'(kept);
    got_q <= flush_q ? '0 : got_q + (Fw + 1)'(take_request);
  end

  // ------------------------------------------------------------------ steps of a packet
  typedef enum logic [2:0] {
    StateHead,     // takes the beats of the headers
    StateSum,      // adds and subtracts what the checks compare
    StateCompare,
    StateJudge,
    StatePayload,
    StateDrain     // takes what follows of the frame
  } state_e;

  state_e state_q, state_d;
  logic [2:0] beat_q, head_end;
  logic ended_q;  // the frame's last beat was taken
  logic pop, has_reth, is_judged, executes, move, is_last_word, needs_next, has_payload;
  logic [W-1:0] prev_q;

  assign has_reth = request.is_write && request.is_first;
  always_comb begin
    unique case ({has_reth, request.has_immediate})
      2'b00: head_end = 3'((At00 - 1) / Nb - FirstBeat);
      2'b01: head_end = 3'((At01 - 1) / Nb - FirstBeat);
      2'b10: head_end = 3'((At10 - 1) / Nb - FirstBeat);
      2'b11: head_end = 3'((At11 - 1) / Nb - FirstBeat);
    endcase
  end

  logic is_busy, is_free;  // a packet that is executed is not wholly in memory; no beat waits
  assign is_free      = !wr_valid_o || wr_ready_i;
  assign take_request = state_q == StateHead && f_valid && beat_q == head_end;
  assign f_ready      = pop;

  always_comb begin
    state_d = state_q;
    pop     = 1'b0;
    unique case (state_q)
      StateHead: begin
        pop = 1'b1;
        if (take_request) state_d = StateSum;
      end
      // What the packet before changes stands when it is in memory.
      StateSum:     if (!is_busy && !wr_valid_o) state_d = StateCompare;
      StateCompare: state_d = StateJudge;
      StateJudge: begin
        if (is_judged) begin
          if (executes && has_payload) state_d = StatePayload;
          else state_d = ended_q ? StateHead : StateDrain;
        end
      end
      StatePayload: begin
        pop = needs_next && is_free;
        if (move && is_last_word)
          state_d = (needs_next ? f_last : ended_q) ? StateHead : StateDrain;
      end
      StateDrain: begin
        pop = 1'b1;
        if (f_valid && f_last) state_d = StateHead;
      end
      default: state_d = StateHead;
    endcase
  end

  // RETH and ImmDt as they come; byte 0 is the highest.
  logic [8*ExtBytes-1:0] ext_q;
  logic [63:0] reth_address;
  logic [31:0] reth_key, reth_bytes, immediate;
  assign {reth_address, reth_key, reth_bytes} = ext_q[8*ExtBytes-1-:128];
  assign immediate = request_q.is_write && request_q.is_first ? ext_q[31:0]
      : ext_q[8*ExtBytes-1-:32];

  always_ff @(posedge clk_i) begin
    state_q <= flush_q ? StateHead : state_d;
    beat_q  <= flush_q || state_q != StateHead || take_request ? '0 : beat_q + 3'(f_valid);
    if (take_request) request_q <= request;
    if (pop && f_valid) begin
      prev_q  <= f_data;
      ended_q <= f_last;
    end
    if (state_q == StateHead && f_valid) begin
      for (int i = 0; i < int'(ExtBytes); i++) begin
        if (beat_q == 3'((int'(BodyByte) + i) / int'(Nb) - int'(FirstBeat)))
          ext_q[8*(int'(ExtBytes)-1-i)+:8] <= f_data[8*((int'(BodyByte)+i)%int'(Nb))+:8];
      end
    end
  end

  // ------------------------------------------------------------------ state of the connection
  logic [23:0] expected_q, msn_q;
  logic has_nacked_q;   // the packet at `expected_q` got a NAK
  logic has_failed_q;
  logic in_message_q, in_write_q;  // a message's last packet has not come
  // Of the rest of it: where it goes, its bytes or those that fit, and what has come.
  logic [63:0] addr_q;
  logic [31:0] key_q, left_q, received_q;
  logic has_receive_q;
  roce_pkg::receive_t receive_q;

  assign is_failed_o     = has_failed_q;
  assign receive_ready_o = !has_receive_q && !flush_q;

  // ------------------------------------------------------------------ checks
  logic first, to_region;
  logic [63:0] address;
  logic [31:0] left;
  logic [12:0] mtu_bytes;
  assign first     = request_q.is_first;
  assign to_region = request_q.is_write;
  assign address   = !first ? addr_q : to_region ? reth_address : receive_q.address;
  assign left      = !first ? left_q : to_region ? reth_bytes : receive_q.len_bytes;
  assign mtu_bytes = 13'd128 << cfg_i.mtu;

  // Sums.
  logic [23:0] distance_q;
  logic [64:0] offset_q, room_q;  // in the region; behind the offset where all that is left fits
  logic [32:0] rest_q;            // of the message, or of the receive request
  logic [31:0] total_q;
  logic is_key_ok_q, is_len_ok_q, is_ready_q, is_none_left_q, is_huge_q;
  // Comparisons.
  logic is_expected_q, is_behind_q, is_in_bounds_q, is_all_q, is_total_ok_q;

  always_ff @(posedge clk_i) begin
    distance_q     <= request_q.psn - expected_q;
    offset_q       <= {1'b0, first ? reth_address : addr_q} - {1'b0, region_i.address};
    room_q         <= {1'b0, region_i.len_bytes} - 65'(left);
    rest_q         <= {1'b0, left} - 33'(request_q.len_bytes);
    total_q        <= (first ? 32'd0 : received_q) + 32'(request_q.len_bytes);
    is_key_ok_q    <= bits_pkg::same32(first ? reth_key : key_q, region_i.key);
    is_ready_q     <= has_receive_q;
    is_none_left_q <= left == 32'd0;
    is_huge_q      <= first && reth_bytes > MessageBytesMax;
    // IB 9.7.4.1.6: only the last packet may be shorter than the MTU, and only a lone one empty.
    is_len_ok_q    <= !request_q.is_last ? request_q.len_bytes == 14'(mtu_bytes) :
        request_q.len_bytes <= 14'(mtu_bytes) && (first || has_payload);

    is_expected_q  <= distance_q == 24'd0;
    is_behind_q    <= distance_q[23];
    is_in_bounds_q <= !offset_q[64] && !room_q[64] && offset_q[63:0] <= room_q[63:0];
    is_all_q       <= rest_q[31:0] == 32'd0;
    is_total_ok_q  <= total_q <= MessageBytesMax;
  end

  // The first rule that the packet breaks; not_ready only where none is found before.
  logic breaks, not_ready, needs_receive;
  assign has_payload   = request_q.len_bytes != 14'd0;
  assign needs_receive = to_region ? request_q.has_immediate : first;

  always_comb begin
    breaks    = 1'b1;
    not_ready = 1'b0;
    fault_o   = roce_pkg::FaultOrder;
    if (!request_q.is_supported) fault_o = roce_pkg::FaultUnsupported;
    else if (first == in_message_q || (!first && to_region != in_write_q))
      fault_o = roce_pkg::FaultOrder;
    else if (needs_receive && !is_ready_q) begin
      breaks    = 1'b0;
      not_ready = 1'b1;
    end else if (!is_len_ok_q) fault_o = roce_pkg::FaultLength;
    else if (!to_region) begin
      if (rest_q[32]) fault_o = roce_pkg::FaultTooLong;
      else if (!is_total_ok_q) fault_o = roce_pkg::FaultLength;
      else breaks = 1'b0;
    end else if (is_huge_q || rest_q[32] || is_all_q != request_q.is_last)
      fault_o = roce_pkg::FaultLength;
    // An empty WRITE names no memory, IB 9.7.4.1.5.
    else if (is_none_left_q) breaks = 1'b0;
    else if (!is_key_ok_q) fault_o = roce_pkg::FaultKey;
    else if (!region_i.may_write) fault_o = roce_pkg::FaultRights;
    else if (!is_in_bounds_q) fault_o = roce_pkg::FaultBounds;
    else breaks = 1'b0;
  end

  // A packet that completes a receive request waits until the completion before is taken.
  logic completes, is_current, taken;
  assign completes  = request_q.is_last && (!to_region || request_q.has_immediate);
  assign is_judged  = state_q == StateJudge && !flush_q
      && !(completes && completion_valid_o && !completion_ready_i);
  assign is_current = is_judged && !has_failed_q && is_expected_q;
  assign executes   = is_current && !breaks && !not_ready;

  assign ev_packet_o      = executes;
  assign ev_not_ready_o   = is_current && not_ready;
  assign ev_fault_o       = is_current && breaks;
  assign ev_gap_o         = is_judged && !has_failed_q && !is_expected_q && !is_behind_q;
  assign ev_duplicate_o   = is_judged && !has_failed_q && is_behind_q && request_q.is_supported;
  // None was executed before, so this is no duplicate: a READ waits for data, not for an ACK.
  assign ev_unexpected_o  = is_judged && !has_failed_q && is_behind_q && !request_q.is_supported;
  assign ev_after_fault_o = is_judged && has_failed_q;

  // ------------------------------------------------------------------ payload
  logic [1:0] form_q;  // {has RETH, has ImmDt}
  logic [13:0] payload_q;
  logic [W-1:0] word;
  logic [Lb:0] reach;  // bytes of the payload in the beat before

  always_comb begin
    unique case (form_q)
      2'b00: begin
        word  = W'({f_data, prev_q} >> (8 * (At00 % Nb)));
        reach = (Lb + 1)'(Nb - At00 % Nb);
      end
      2'b01: begin
        word  = W'({f_data, prev_q} >> (8 * (At01 % Nb)));
        reach = (Lb + 1)'(Nb - At01 % Nb);
      end
      2'b10: begin
        word  = W'({f_data, prev_q} >> (8 * (At10 % Nb)));
        reach = (Lb + 1)'(Nb - At10 % Nb);
      end
      2'b11: begin
        word  = W'({f_data, prev_q} >> (8 * (At11 % Nb)));
        reach = (Lb + 1)'(Nb - At11 % Nb);
      end
    endcase
  end

  assign needs_next   = payload_q > 14'(reach);
  assign is_last_word = payload_q <= 14'(Nb);
  assign move         = state_q == StatePayload && is_free && (f_valid || !needs_next) && !flush_q;

  // A packet is done when the memory has taken its last beat.
  logic writing_q, done, done_is_last_q, done_requests_ack_q, done_completes_q;
  assign is_busy = writing_q;
  assign done    = (executes && !has_payload)
      || (writing_q && wr_valid_o && wr_last_o && wr_ready_i);

  always_ff @(posedge clk_i) begin
    if (is_free) wr_valid_o <= move;
    if (is_free) begin
      wr_addr_o <= addr_q;
      wr_data_o <= word;
      wr_last_o <= is_last_word;
      for (int i = 0; i < int'(Nb); i++) wr_keep_o[i] <= payload_q > 14'(i);
    end
    if (move) begin
      addr_q    <= addr_q + 64'(Nb);
      payload_q <= payload_q - 14'(Nb);
    end
    if (executes) begin
      form_q              <= {to_region && first, request_q.has_immediate};
      payload_q           <= request_q.len_bytes;
      left_q              <= rest_q[31:0];
      received_q          <= total_q;
      done_is_last_q      <= request_q.is_last;
      done_requests_ack_q <= request_q.ack_request;
      done_completes_q    <= completes;
      if (first) begin
        addr_q <= address;
        key_q  <= reth_key;
      end
    end
    if (flush_q || done) writing_q <= 1'b0;
    else if (executes && has_payload) writing_q <= 1'b1;
    if (rst_i) wr_valid_o <= 1'b0;
  end

  // ------------------------------------------------------------------ completions
  logic flushes, is_completed;
  assign is_completed = done && (writing_q ? done_completes_q : completes);
  assign flushes      = has_failed_q && !writing_q && has_receive_q
      && (!completion_valid_o || completion_ready_i);

  always_ff @(posedge clk_i) begin
    if (receive_ready_o && receive_valid_i) begin
      receive_q     <= receive_i;
      has_receive_q <= 1'b1;
    end
    if (completion_ready_i) completion_valid_o <= 1'b0;
    if (executes && completes)
      completion_o <= {
        receive_q.id, to_region ? roce_pkg::ReceiveWrite : roce_pkg::ReceiveSend,
        request_q.has_immediate, immediate, total_q
      };
    if (flushes)
      completion_o <= {
        receive_q.id, in_message_q && !in_write_q ? roce_pkg::ReceiveFailed :
            roce_pkg::ReceiveFlushed, 65'd0
      };
    if (is_completed || flushes) begin
      completion_valid_o <= 1'b1;
      has_receive_q      <= 1'b0;
    end
    if (executes) begin
      in_message_q <= !request_q.is_last;
      in_write_q   <= to_region;
    end
    // A message of one packet uses the request too.
    if (ev_fault_o && fault_o == roce_pkg::FaultTooLong) begin
      in_message_q <= 1'b1;
      in_write_q   <= 1'b0;
    end
    if (flushes) in_message_q <= 1'b0;
    if (flush_q) begin
      completion_valid_o <= 1'b0;
      has_receive_q      <= 1'b0;
      in_message_q       <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ answers
  logic is_due_q, is_nak_q, is_owed, is_cnp;
  logic [7:0] syndrome_q;

  // What the store has no room for has met a switch on its way too.
  assign ev_marked_o = !has_failed_q && ((is_judged && request_q.is_marked)
      || (ev_no_room_o && request_i.is_marked));
  assign is_cnp      = is_owed && !has_failed_q;
  assign ev_cnp_o    = is_cnp && response_ready_i;

  notification_point u_notification (
      .clk_i        (clk_i),
      .rst_i        (flush_q),
      .time_ns_i    (time_ns_i),
      .interval_ns_i(cfg_i.cnp_interval_ns),
      .mark_i       (ev_marked_o),
      .owed_o       (is_owed),
      .sent_i       (ev_cnp_o)
  );

  assign response_valid_o = is_due_q || is_cnp;
  assign response_o       = is_cnp ? {1'b1, 56'd0} : {
    1'b0, is_nak_q ? expected_q : expected_q - 24'd1,
    is_nak_q ? syndrome_q : roce_pkg::SyndromeAck, msn_q
  };
  assign taken            = is_due_q && response_ready_i && !is_cnp;

  always_ff @(posedge clk_i) begin
    if (taken) is_due_q <= 1'b0;
    if (done) begin
      expected_q   <= expected_q + 24'd1;
      msn_q        <= msn_q + 24'(writing_q ? done_is_last_q : request_q.is_last);
      has_nacked_q <= 1'b0;
      // A NAK that is still due would be about a packet that has come.
      is_nak_q     <= 1'b0;
      if (writing_q ? done_requests_ack_q : request_q.ack_request) is_due_q <= 1'b1;
    end
    if (ev_duplicate_o && (!is_due_q || taken)) begin
      is_due_q <= 1'b1;
      is_nak_q <= 1'b0;
    end
    if (ev_not_ready_o || ev_fault_o || (ev_gap_o && !has_nacked_q)) begin
      is_due_q     <= 1'b1;
      is_nak_q     <= 1'b1;
      has_nacked_q <= 1'b1;
      syndrome_q   <= ev_not_ready_o ? roce_pkg::SyndromeRnrNak | 8'(cfg_i.rnr_timer) :
          roce_pkg::SyndromeNak | (ev_gap_o ? 8'd0 : fault_o < roce_pkg::FaultKey ? 8'd1 : 8'd2);
    end
    if (ev_fault_o || abort_i) has_failed_q <= 1'b1;
    if (flush_q) begin
      expected_q   <= cfg_i.first_psn;
      msn_q        <= '0;
      has_nacked_q <= 1'b0;
      has_failed_q <= 1'b0;
      is_due_q     <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "roce_responder_props.svh"
`endif

endmodule

`default_nettype wire
