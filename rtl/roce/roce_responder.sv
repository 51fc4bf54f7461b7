// The receiving half of reliable connections of RoCEv2, one a queue pair (QP): takes request packets in
// the order of their PSN, writes what they carry to memory, and answers (IB 9.7.4, 9.7.5, 9.9.3). SEND
// and RDMA WRITE, with and without immediate; W bits wide. The Rust responder, crates/samplewire-roce,
// does the same.
//
//   beats of eth_ip_check -> frame_fifo -> headers -> checks -> payload -> memory
//   request (roce_rx) ----> requests ----^              |  ^
//                                                       |  +- receive requests
//   response (to a requester's roce_head) <-------------+---> completions
//
// A frame is kept until roce_rx has judged it: no byte reaches the memory before the ICRC is
// checked. What is no request of a peer's is forgotten there. Packets of all QPs wait in one queue. The
// state of a QP lies in memories: a packet loads that of its QP, and stores it with its verdict.
//
//   packet                          does
//   expected, breaks no rule        is executed; answered with an ACK if it requests one
//   expected, no receive request    nothing; RNR NAK
//   expected, breaks a rule         ends the connection; NAK with the code of `fault_o`
//   behind a gap                    nothing; NAK "sequence error" for the first one
//   duplicate                       nothing; ACK, but for a request that is not supported
//
// Of each QP at most one answer is due. It names the newest packet, and so acknowledges all before it; an
// ACK takes the place of a NAK whose packet came meanwhile. QPs that have an answer due take turns;
// `response_qp_o` stands until it is taken, `response_o` may change until then.
//
// A request with ECN's CE makes a CNP due (notification_point), whatever else becomes of it; but not
// behind a failure. A CNP leaves before an answer.
//
// A WRITE goes to the addresses that it names, which the region's bounds hold; a SEND to those of
// its receive request. One receive request at a time is taken for each QP. It completes with the
// last packet of a SEND, or of a WRITE with immediate; after a failure all are flushed. The next one can
// be taken while that packet goes to memory, and is there for the packet behind it. A beat of
// payload is whole but for a packet's last, and its address need not be a multiple of W / 8.
//
// Throughput: packets back to back on a 10 Gb/s line at 64 bits and 156.25 MHz, on a 100 Gb/s line at
// 512 bits and 322.27 MHz from a payload of 256 bytes on; a packet of B stored beats takes B + 4
// cycles at most, whatever its QP. The verdict on a marked packet waits while marked frames find no room.
// Latency, last beat of a frame at eth_ip_check to first beat of its payload: 17 cycles, at 512 bits 16;
// an answer and a flush up to Qps - 1 cycles more. Back-pressure: wr_ready_i, completion_ready_i; what
// finds no room meanwhile is dropped whole, and comes again after a NAK. Both hold back all QPs. Answers
// wait without holding anything back.
//
// A QP runs while its `run_i` is high, with `cfg_i` and `region_i` as `begin_i` found them, at the latest
// in the first cycle of `run_i`; the MTU is 1 to 5. While `run_i` is low, for at least 4 cycles, all of
// the QP is forgotten, receive requests too; a beat that is offered to the memory stays. Its frames that
// wait are dropped, and with them those that came since it began again, if a second QP ends meanwhile.
// `abort_i` fails a connection without an answer. `may_write_i` may change at any time and counts from
// the next packet on. A frame that is longer than what the store holds is dropped. A region and a receive
// request end at 2^64 at most. One clock.
`default_nettype none

module roce_responder #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,   // to 16
    parameter  int unsigned Beats   = W == 512 ? 512 : 1024,  // of frames that wait
    parameter  int unsigned Frames  = 32,  // that wait
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1,
    localparam int unsigned Nb      = W / 8,
    localparam int unsigned Fw      = $clog2(Frames)
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_i,
    input  wire logic            [63:0] time_ns_i,
    // connections
    input  wire logic       [  Qps-1:0] run_i,
    input  wire logic                   begin_i,
    input  wire logic     [QpWidth-1:0] begin_qp_i,
    input  wire roce_pkg::responder_t   cfg_i,
    input  wire roce_pkg::region_t      region_i,
    input  wire logic       [  Qps-1:0] may_write_i,
    input  wire logic       [  Qps-1:0] abort_i,
    output      logic       [  Qps-1:0] is_failed_o,
    // eth_ip_check's beats; roce_rx, a cycle behind a frame's last one
    input  wire logic                   valid_i,
    input  wire logic                   last_i,
    input  wire logic           [W-1:0] data_i,
    input  wire logic                   request_valid_i,
    input  wire logic     [QpWidth-1:0] request_qp_i,
    input  wire roce_pkg::request_t     request_i,
    // receive requests
    input  wire logic                   receive_valid_i,
    output      logic                   receive_ready_o,  // of the QP receive_qp_i
    input  wire logic     [QpWidth-1:0] receive_qp_i,
    input  wire roce_pkg::receive_t     receive_i,
    output      logic                   completion_valid_o,
    input  wire logic                   completion_ready_i,
    output      logic     [QpWidth-1:0] completion_qp_o,
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
    output      logic     [QpWidth-1:0] response_qp_o,
    output      roce_pkg::response_t    response_o,
    // counters: a request packet of the QP ev_qp_o gives one of these; `fault_o` stands with its event
    output      logic     [QpWidth-1:0] ev_qp_o,
    output      logic                   ev_packet_o,       // executed
    output      logic                   ev_duplicate_o,
    output      logic                   ev_gap_o,
    output      logic                   ev_not_ready_o,
    output      logic                   ev_fault_o,
    output      logic                   ev_after_fault_o,
    output      logic                   ev_unexpected_o,   // a READ or the like before the expected
    output      logic                   ev_no_room_o,      // in the store; of the QP request_qp_i
    // beside these
    output      logic                   ev_marked_o,       // a request had CE; up to a cycle late
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
  localparam Style = Qps > 1 ? "block" : "registers";
  typedef logic [QpWidth-1:0] index_t;
  typedef logic [Qps-1:0] qps_t;

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (Qps < 1 || Qps > 16) begin : g_qps
    $error("Qps must be 1 to 16");
  end
  if (Frames < 2 || Frames != 1 << Fw) begin : g_frames
    $error("Frames must be a power of two");
  end

  // Of one QP no port needs a number.
  index_t begin_qp, request_qp, receive_qp;
  assign begin_qp   = Qps > 1 ? begin_qp_i : '0;
  assign request_qp = Qps > 1 ? request_qp_i : '0;
  assign receive_qp = Qps > 1 ? receive_qp_i : '0;

  qps_t is_running_q;
  always_ff @(posedge clk_i) is_running_q <= rst_i ? '0 : run_i;

  // ------------------------------------------------------------------ store
  logic s_valid_q, s_last_q;
  logic [W-1:0] s_data_q;
  logic [2:0] skip_q;  // beats of the frame that were left out

  always_ff @(posedge clk_i) begin
    s_data_q  <= data_i;
    s_last_q  <= last_i;
    s_valid_q <= valid_i && skip_q == 3'(FirstBeat) && !rst_i;
    if (valid_i) begin
      if (last_i) skip_q <= '0;
      else if (skip_q != 3'(FirstBeat)) skip_q <= skip_q + 1'b1;
    end
    if (rst_i) skip_q <= '0;
  end

  logic f_valid, f_ready, f_last, kept, no_room, has_place, is_wanted;
  logic [W-1:0] f_data;
  assign is_wanted = request_valid_i && is_running_q[request_qp];

  frame_fifo #(
      .W    (W),
      .Beats(Beats)
  ) u_store (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (s_data_q),
      .s_axis_tkeep ({Nb{1'b1}}),
      .s_axis_tvalid(s_valid_q),
      .s_axis_tlast (s_last_q),
      .s_axis_tuser (!is_wanted || !has_place),
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
  localparam int unsigned RequestBits = 45;
  (* ram_style = "distributed" *)logic [QpWidth+RequestBits-1:0] request_mem[Frames];
  logic [Fw:0] put_q, got_q;
  logic take_request;
  roce_pkg::request_t request, request_q;
  index_t stored_at, request_at;

  assign has_place            = put_q != {~got_q[Fw], got_q[Fw-1:0]};
  assign ev_no_room_o         = s_valid_q && s_last_q && is_wanted && (no_room || !has_place);
  assign {stored_at, request} = request_mem[got_q[Fw-1:0]];
  assign request_at           = Qps > 1 ? stored_at : '0;

  // Frames before the place `old_q` are old ones of the QPs `ended_q`.
  logic [Fw:0] old_q;
  qps_t ended_q, stops;
  logic is_old;
  assign stops  = is_running_q & ~run_i;
  assign is_old = got_q != old_q && ended_q[request_at];

  always_ff @(posedge clk_i) begin
    if (kept) request_mem[put_q[Fw-1:0]] <= {request_qp, request_i};
    put_q <= rst_i ? '0 : put_q + (Fw + 1)'(kept);
    got_q <= rst_i ? '0 : got_q + (Fw + 1)'(take_request);
    if (got_q == old_q) ended_q <= '0;
    if (|stops) begin
      ended_q <= (got_q == old_q ? '0 : ended_q) | stops;
      old_q   <= put_q + (Fw + 1)'(kept);
    end
    if (rst_i) ended_q <= '0;
    if (rst_i) old_q <= '0;
  end

  // ------------------------------------------------------------------ steps of a packet
  typedef enum logic [2:0] {
    StateHead,     // takes the beats of the headers
    StateSum,      // adds and subtracts what the checks compare
    StateCompare,
    StateJudge,
    StatePayload,
    StateDrain,    // takes what follows of the frame
    StateFlush     // a receive request of a QP that has failed
  } state_e;

  state_e state_q, state_d;
  logic [2:0] beat_q, head_end;
  logic ended_frame_q;  // the frame's last beat was taken
  logic pop, has_reth, is_judged, executes, move, is_last_word, needs_next, has_payload;
  logic [W-1:0] prev_q;
  // The QP of the visit; whether it ended since the packet came.
  index_t qp_q, qp_d;
  logic is_dead_q;

  assign has_reth = request.is_write && request.is_first;
  always_comb begin
    unique case ({has_reth, request.has_immediate})
      2'b00: head_end = 3'((At00 - 1) / Nb - FirstBeat);
      2'b01: head_end = 3'((At01 - 1) / Nb - FirstBeat);
      2'b10: head_end = 3'((At10 - 1) / Nb - FirstBeat);
      2'b11: head_end = 3'((At11 - 1) / Nb - FirstBeat);
    endcase
  end

  // A packet that was executed is not wholly in memory, of the QP write_qp_q; its QP's state, loaded for
  // the packet, stands until it is. No beat waits.
  logic writing_q, done, is_loaded_q, loads, is_free, starts_flush, flush_due_q;
  index_t write_qp_q, flush_qp_q;
  assign is_free      = !wr_valid_o || wr_ready_i;
  assign take_request = state_q == StateHead && f_valid && beat_q == head_end && !flush_due_q;
  assign f_ready      = pop;
  assign starts_flush = state_q == StateHead && flush_due_q && !writing_q
      && (!completion_valid_o || completion_ready_i);
  assign loads        = (take_request || (state_q == StateSum && !is_loaded_q))
      && (!writing_q || done);
  assign qp_d         = Qps == 1 ? '0 : take_request ? request_at
      : starts_flush ? flush_qp_q : qp_q;

  always_comb begin
    state_d = state_q;
    pop     = 1'b0;
    unique case (state_q)
      StateHead: begin
        pop = !flush_due_q;
        if (take_request) state_d = StateSum;
        if (starts_flush) state_d = StateFlush;
      end
      // What the packet before changes stands when it is in memory.
      StateSum:     if (is_loaded_q && !wr_valid_o) state_d = StateCompare;
      StateCompare: state_d = StateJudge;
      StateJudge: begin
        if (executes && has_payload) state_d = StatePayload;
        else if (is_judged || is_dead_q) state_d = ended_frame_q ? StateHead : StateDrain;
      end
      StatePayload: begin
        pop = needs_next && is_free && !is_dead_q;
        if (is_dead_q) state_d = ended_frame_q ? StateHead : StateDrain;
        else if (move && is_last_word)
          state_d = (needs_next ? f_last : ended_frame_q) ? StateHead : StateDrain;
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
    state_q     <= state_d;
    qp_q        <= qp_d;
    is_loaded_q <= loads || (is_loaded_q && !take_request);
    is_dead_q   <= (take_request ? is_old : is_dead_q) || !run_i[qp_d];
    if (state_q == StateHead && pop && f_valid) beat_q <= take_request ? '0 : beat_q + 1'b1;
    if (take_request) request_q <= request;
    if (pop && f_valid) begin
      prev_q        <= f_data;
      ended_frame_q <= f_last;
    end
    if (state_q == StateHead && f_valid) begin
      for (int i = 0; i < int'(ExtBytes); i++) begin
        if (beat_q == 3'((int'(BodyByte) + i) / int'(Nb) - int'(FirstBeat)))
          ext_q[8*(int'(ExtBytes)-1-i)+:8] <= f_data[8*((int'(BodyByte)+i)%int'(Nb))+:8];
      end
    end
    if (rst_i) begin
      state_q     <= StateHead;
      beat_q      <= '0;
      is_loaded_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ what is kept of a QP
  typedef struct packed {
    roce_pkg::responder_t cfg;
    roce_pkg::region_t    region;
  } connection_t;
  localparam int unsigned ConnectionBits = 52 + 160;

  typedef struct packed {
    logic [23:0] expected;
    logic [23:0] msn;
    logic        has_nacked;  // the packet `expected` got a NAK
  } order_t;
  localparam int unsigned OrderBits = 49;

  // Of a message whose last packet has not come: the rest of its bytes, or those that fit, and what has
  // come. Where it goes on is `addr_mem`.
  typedef struct packed {
    logic        is_open;
    logic        is_write;
    logic [31:0] left;
    logic [31:0] received;
  } message_t;
  localparam int unsigned MessageBits = 66;
  localparam int unsigned ReceiveBits = 112;

  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *)
  logic [ConnectionBits-1:0] connection_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *)
  logic [OrderBits-1:0] order_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *)
  logic [MessageBits-1:0] message_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) logic [63:0] addr_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *)
  logic [ReceiveBits-1:0] receive_mem[Qps];
  connection_t connection, connection_q;
  order_t order_q, order_d;
  message_t message_q;
  logic [63:0] addr_q, addr_kept_q, addr_kept;
  roce_pkg::receive_t receive, receive_q;

  // Nothing is stored of a QP since it began; it has failed; it has a receive request.
  qps_t fresh_q, has_failed_q, has_receive_q;
  logic is_fresh_q, is_failed_q, is_here_q;
  // Of the packet; sums, which are worked out below.
  logic first, to_region, flushes, is_too_long;
  logic room_marks_q;  // a frame without room was marked
  logic [32:0] rest_q;  // of the message, or of the receive request
  logic [31:0] total_q;

  assign is_failed_o     = has_failed_q;
  assign receive_ready_o = !has_receive_q[receive_qp] && is_running_q[receive_qp];
  // Of one QP what stands needs no copy.
  assign connection      = Qps > 1 ? connection_q : connection_mem[0];
  assign receive         = Qps > 1 ? receive_q : receive_mem[0];
  assign addr_kept       = Qps > 1 ? addr_kept_q : addr_q;

  always_ff @(posedge clk_i) begin
    if (begin_i) connection_mem[begin_qp] <= {cfg_i, region_i};
    if (is_judged) order_mem[qp_q] <= order_d;
    if (executes || (is_judged && is_fresh_q) || is_too_long || flushes)
      message_mem[qp_q] <= {
        executes ? !request_q.is_last : is_too_long, to_region, rest_q[31:0], total_q
      };
    if (done) addr_mem[write_qp_q] <= addr_q;
    if (receive_ready_o && receive_valid_i) receive_mem[receive_qp] <= receive_i;
    if (loads || starts_flush) begin
      connection_q <= connection_mem[qp_d];
      order_q      <= order_mem[qp_d];
      message_q    <= message_mem[qp_d];
      is_fresh_q   <= fresh_q[qp_d];
    end
    addr_kept_q <= addr_mem[qp_q];
    receive_q   <= receive_mem[qp_d];
    is_here_q   <= has_receive_q[qp_d];
    is_failed_q <= has_failed_q[qp_q];
  end

  logic [23:0] expected, msn;
  logic has_nacked, is_open;
  assign expected   = is_fresh_q ? connection.cfg.first_psn : order_q.expected;
  assign msn        = is_fresh_q ? '0 : order_q.msn;
  assign has_nacked = !is_fresh_q && order_q.has_nacked;
  assign is_open    = !is_fresh_q && message_q.is_open;

  // ------------------------------------------------------------------ checks
  logic [63:0] address;
  logic [31:0] left;
  logic [12:0] mtu_bytes;
  assign first     = request_q.is_first;
  assign to_region = request_q.is_write;
  assign address   = !first ? addr_kept : to_region ? reth_address : receive.address;
  assign left      = !first ? message_q.left : to_region ? reth_bytes : receive.len_bytes;
  assign mtu_bytes = 13'd128 << connection.cfg.mtu;

  // Sums. The first packet of a WRITE has its key, and its bounds are those of all of it.
  logic [23:0] distance_q;
  logic [64:0] offset_q, room_q;  // in the region; behind the offset where the message fits
  logic is_key_ok_q, is_right_q, is_len_ok_q, is_ready_q, is_none_left_q, is_huge_q;
  // Comparisons.
  logic is_expected_q, is_behind_q, is_in_bounds_q, is_all_q, is_total_ok_q;

  always_ff @(posedge clk_i) begin
    distance_q     <= request_q.psn - expected;
    offset_q       <= {1'b0, reth_address} - {1'b0, connection.region.address};
    room_q         <= {1'b0, connection.region.len_bytes} - 65'(reth_bytes);
    rest_q         <= {1'b0, left} - 33'(request_q.len_bytes);
    total_q        <= (first ? 32'd0 : message_q.received) + 32'(request_q.len_bytes);
    is_key_ok_q    <= !first || bits_pkg::same32(reth_key, connection.region.key);
    is_right_q     <= may_write_i[qp_q];
    is_ready_q     <= is_here_q;
    is_none_left_q <= first && reth_bytes == 32'd0;
    is_huge_q      <= first && reth_bytes > MessageBytesMax;
    // IB 9.7.4.1.6: only the last packet may be shorter than the MTU, and only a lone one empty.
    is_len_ok_q    <= !request_q.is_last ? request_q.len_bytes == 14'(mtu_bytes) :
        request_q.len_bytes <= 14'(mtu_bytes) && (first || has_payload);

    is_expected_q  <= distance_q == 24'd0;
    is_behind_q    <= distance_q[23];
    is_in_bounds_q <= !first || (!offset_q[64] && !room_q[64] && offset_q[63:0] <= room_q[63:0]);
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
    else if (first == is_open || (!first && to_region != message_q.is_write))
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
    else if (!is_right_q) fault_o = roce_pkg::FaultRights;
    else if (!is_in_bounds_q) fault_o = roce_pkg::FaultBounds;
    else breaks = 1'b0;
  end

  // A packet that completes a receive request waits until the completion before is taken.
  logic completes, is_current, taken;
  assign completes  = request_q.is_last && (!to_region || request_q.has_immediate);
  assign is_judged  = state_q == StateJudge && !is_dead_q
      && !(completes && completion_valid_o && !completion_ready_i)
      && !(request_q.is_marked && room_marks_q);
  assign is_current = is_judged && !is_failed_q && is_expected_q;
  assign executes   = is_current && !breaks && !not_ready;

  assign ev_qp_o          = qp_q;
  assign ev_packet_o      = executes;
  assign ev_not_ready_o   = is_current && not_ready;
  assign ev_fault_o       = is_current && breaks;
  assign ev_gap_o         = is_judged && !is_failed_q && !is_expected_q && !is_behind_q;
  assign ev_duplicate_o   = is_judged && !is_failed_q && is_behind_q && request_q.is_supported;
  // None was executed before, so this is no duplicate: a READ waits for data, not for an ACK.
  assign ev_unexpected_o  = is_judged && !is_failed_q && is_behind_q && !request_q.is_supported;
  assign ev_after_fault_o = is_judged && is_failed_q;

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
  assign move         = state_q == StatePayload && is_free && (f_valid || !needs_next)
      && !is_dead_q;

  // A packet is done when the memory has taken its last beat.
  logic has_none_q, is_last_q, requests_ack_q, completes_q;
  assign done = writing_q && (has_none_q || (wr_valid_o && wr_last_o && wr_ready_i));

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
      write_qp_q     <= qp_q;
      form_q         <= {to_region && first, request_q.has_immediate};
      payload_q      <= request_q.len_bytes;
      has_none_q     <= !has_payload;
      is_last_q      <= request_q.is_last;
      requests_ack_q <= request_q.ack_request;
      completes_q    <= completes;
      addr_q         <= address;
    end
    writing_q <= executes || (writing_q && !done && is_running_q[write_qp_q]);
    if (rst_i) begin
      wr_valid_o <= 1'b0;
      writing_q  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ completions
  // The QP of a visit or of a packet that is done, which never come in one cycle, and that of a receive
  // request.
  qps_t here, posted;
  index_t here_qp, scan_q;
  logic is_completed, uses_receive;
  assign here_qp      = writing_q ? write_qp_q : qp_q;
  assign here         = !(is_judged || done || flushes) ? '0 : Qps > 1 ? qps_t'(1) << here_qp : '1;
  assign posted       = !(receive_ready_o && receive_valid_i) ? '0
      : Qps > 1 ? qps_t'(1) << receive_qp : '1;
  assign is_completed = done && completes_q;
  // The receive request is of a SEND under way; what is longer than the request uses it too.
  assign is_too_long  = ev_fault_o && fault_o == roce_pkg::FaultTooLong;
  assign uses_receive = is_open && !message_q.is_write;
  // What stood a cycle ago: while a QP flushes, nothing else takes its receive request.
  assign flushes      = state_q == StateFlush && has_failed_q[qp_q] && is_here_q;

  always_ff @(posedge clk_i) begin
    if (completion_ready_i || !is_running_q[completion_qp_o]) completion_valid_o <= 1'b0;
    if (is_completed || flushes) completion_valid_o <= 1'b1;
    if (executes && completes) begin
      completion_qp_o <= qp_q;
      completion_o    <= {
        receive.id, to_region ? roce_pkg::ReceiveWrite : roce_pkg::ReceiveSend,
        request_q.has_immediate, immediate, total_q
      };
    end
    if (flushes) begin
      completion_qp_o <= qp_q;
      completion_o    <= {
        receive.id,
        uses_receive ? roce_pkg::ReceiveFailed : roce_pkg::ReceiveFlushed, 65'd0
      };
    end
    // From the verdict on: a packet that waits finds the next receive request.
    has_receive_q <= ((has_receive_q & ~((executes && completes) || flushes ? here : '0)) | posted)
        & is_running_q;
    flush_due_q <= flush_due_q ? state_q != StateFlush
        : has_failed_q[scan_q] && has_receive_q[scan_q];
    if (!flush_due_q) begin
      flush_qp_q <= scan_q;
      scan_q     <= 32'(scan_q) == Qps - 1 ? '0 : scan_q + 1'b1;
    end
    if (rst_i) begin
      completion_valid_o <= 1'b0;
      flush_due_q        <= 1'b0;
      scan_q             <= '0;
    end
  end

  // ------------------------------------------------------------------ answers
  // One QP at a time offers its answer, until it is taken.
  index_t offer_q;
  qps_t offered, due_q;
  index_t room_qp_q;
  logic is_owed, is_cnp, nacks, answers, adds_last, is_marked;
  roce_pkg::response_t answer;
  localparam int unsigned AnswerBits = 56;
  logic [AnswerBits-1:0] answer_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) logic [19:0] interval_mem[Qps];
  logic [19:0] interval_q, interval_ns;
  index_t offer_next;
  assign offer_next = 32'(offer_q) == Qps - 1 ? '0 : offer_q + 1'b1;
  assign offered = !taken ? '0 : Qps > 1 ? qps_t'(1) << offer_q : '1;

  // What the store has no room for has met a switch on its way too. The verdict on a marked packet waits
  // for it.
  assign is_marked   = is_judged && request_q.is_marked && !is_failed_q;
  assign ev_marked_o = is_marked || room_marks_q;
  assign interval_ns = Qps > 1 ? interval_q : interval_mem[0];
  assign is_cnp      = is_owed && !has_failed_q[offer_q];
  assign ev_cnp_o    = is_cnp && response_ready_i;

  notification_point #(
      .Qps(Qps)
  ) u_notification (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .forget_i     (~is_running_q),
      .time_ns_i    (time_ns_i),
      .mark_i       (ev_marked_o),
      .mark_qp_i    (room_marks_q ? room_qp_q : qp_q),
      .qp_i         (offer_q),
      .interval_ns_i(interval_ns),
      .owed_o       (is_owed),
      .sent_i       (ev_cnp_o)
  );

  assign response_qp_o    = offer_q;
  assign response_valid_o = due_q[offer_q] || is_cnp;
  assign response_o       = is_cnp ? {1'b1, 56'd0} : {1'b0, answer_mem[offer_q]};
  assign taken            = due_q[offer_q] && response_ready_i && !is_cnp;

  // An answer is written when a packet is done, or with the verdict on one that is not executed. A NAK
  // that is still due when its packet is done would be about one that has come.
  assign nacks     = ev_not_ready_o || ev_fault_o || (ev_gap_o && !has_nacked);
  assign answers   = done || nacks
      || (ev_duplicate_o && !(due_q[qp_q] && !(taken && offer_q == qp_q)));
  assign adds_last = writing_q ? is_last_q : executes && request_q.is_last;
  always_comb begin
    order_d.expected   = expected + 24'(executes);
    order_d.msn        = msn + 24'(adds_last);
    order_d.has_nacked = !executes && (nacks || has_nacked);
    answer.is_cnp      = 1'b0;
    answer.psn         = expected - 24'(ev_duplicate_o);
    answer.msn         = order_d.msn;
    answer.syndrome    = roce_pkg::SyndromeAck;
    if (ev_not_ready_o)
      answer.syndrome = roce_pkg::SyndromeRnrNak | 8'(connection.cfg.rnr_timer);
    else if (nacks)
      answer.syndrome = roce_pkg::SyndromeNak
          | (ev_gap_o ? 8'd0 : fault_o < roce_pkg::FaultKey ? 8'd1 : 8'd2);
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) interval_mem[begin_qp] <= cfg_i.cnp_interval_ns;
    if (answers) answer_mem[here_qp] <= {answer.psn, answer.syndrome, answer.msn};
    due_q <= ((due_q & ~offered) | (answers && (!done || requests_ack_q) ? here : '0))
        & is_running_q;
    for (int q = 0; q < int'(Qps); q++) begin
      if (here[q]) fresh_q[q] <= flushes && is_fresh_q;
      if (!is_running_q[q]) fresh_q[q] <= 1'b1;
    end
    has_failed_q <= (has_failed_q | abort_i | (ev_fault_o ? here : '0)) & is_running_q;
    room_marks_q <= ev_no_room_o && request_i.is_marked && !has_failed_q[request_qp];
    room_qp_q    <= request_qp;
    // A QP that begins is not marked before the turns have gone on.
    if (!response_valid_o) begin
      offer_q    <= offer_next;
      interval_q <= interval_mem[offer_next];
    end
    if (rst_i) begin
      offer_q      <= '0;
      room_marks_q <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "roce_responder_props.svh"
`endif

endmodule

`default_nettype wire
