// The numbers of the queue pairs (QPs) of a requester: which packet of which QP leaves next, when to
// send again, when to give up, and which work requests are complete (IB 9.7, 9.9).
//
// The state of a QP lies in memories. A visit loads it, does one thing, and stores it; QPs are
// independent of each other but for the time that a visit takes.
//
//   visit     when                                 does
//   command   the caller wants it                  begins, ends or aborts a QP
//   answer    of the peer                          as below
//   check     packets are acknowledged, or failed  completes the oldest request, if it is complete
//   post      of the caller                        adds a request to the queue of its QP
//   send      a QP may have a packet, by turns     chooses it, unless the window is full or a
//                                                  receiver is not ready
//   scan      each QP, one in 16 cycles            looks at the timer
//
// The first in this list goes first, but never one kind twice while another one waits.
//
//   answer              does
//   ACK                 releases up to its PSN; progress restores both counts of retries
//   NAK sequence error  releases what is before it and goes back, once until there is progress, a
//                       timeout or an RNR NAK; a second one is a copy
//   RNR NAK             releases what is before it, goes back, and waits for its timer
//   other NAK           releases what is before it, and fails
//   none                after 4.096 us * 2^timeout without progress it goes back
//
// An answer counts only for a PSN from the oldest unacknowledged to the last sent one (IB 9.7.6).
// To go back is to send from the oldest unacknowledged packet on (go-back-N): the packets of a
// request follow from its first PSN and its length, nothing is kept of a single one. The last packet
// of a request and every `ack_every`-th since one that did, or since the way back, request an ACK.
//
// Throughput: a visit in 3 cycles, of one QP in 4. Latency: 4 cycles from the event to the end of its
// visit where no other one is under way; an expiry 16 cycles a QP. Back-pressure: a request waits for
// `post_ready_o`, a packet is chosen only while `send_room_i` is high. An answer never waits for
// another QP; of one QP an ACK that waits gives way to the answer behind it, which covers it, and an
// answer behind a NAK that waits is dropped and signalled (`ev_dropped_o`).
//
// A command stands until `cmd_ready_o`; what is refused (`refused_o`), for a number out of its range,
// leaves the QP ended. CommandBegin forgets what the QP was before. A request stands with its QP until
// `post_ready_o`; beside `post_full_o` it may be withdrawn. After a failure (`ev_failed_o`) requests
// are taken and flushed. After a reset nothing is visited for 4 cycles a QP. Times are kept modulo
// 2^47 ns, 16 times the longest timeout. One clock.
`default_nettype none

module roce_qp #(
    parameter  int unsigned Qps     = 1,    // to 16
    parameter  int unsigned Slots   = 128,  // the largest window
    parameter  int unsigned Queue   = 16,   // work requests of each
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1,
    localparam int unsigned Qw      = $clog2(Queue)
) (
    input  wire logic                             clk_i,
    input  wire logic                             rst_i,
    input  wire logic                      [63:0] time_ns_i,
    // commands
    input  wire logic                             cmd_valid_i,
    output      logic                             cmd_ready_o,
    input  wire roce_pkg::command_e               cmd_i,
    input  wire logic               [QpWidth-1:0] cmd_qp_i,
    input  wire roce_pkg::qp_t                    cfg_i,          // of CommandBegin
    output      logic                             refused_o,      // beside cmd_ready_o
    // ACK and NAK
    input  wire logic                             answer_valid_i,
    input  wire logic               [QpWidth-1:0] answer_qp_i,
    input  wire roce_pkg::answer_t                answer_i,
    // work requests; the caller keeps what else is in them at the QP and place of the visit
    input  wire logic                             post_valid_i,
    output      logic                             post_ready_o,
    output      logic                             post_full_o,
    input  wire logic               [QpWidth-1:0] post_qp_i,
    input  wire logic                      [15:0] post_id_i,
    input  wire logic                      [31:0] post_len_bytes_i,
    output      logic               [QpWidth-1:0] visit_qp_o,
    output      logic                    [Qw-1:0] post_place_o,   // with post_ready_o
    // packets
    input  wire logic                             send_room_i,
    input  wire logic                             may_send_i,     // the QP visit_qp_o, by its pace
    output      logic                             paced_o,        // that QP waits for its pace
    input  wire logic                             wake_valid_i,   // a QP may send again
    output      logic                             wake_ready_o,
    input  wire logic               [QpWidth-1:0] wake_qp_i,
    output      logic                             send_look_o,    // a cycle before send_valid_o
    output      logic                    [Qw-1:0] send_place_o,   // with send_look_o
    output      logic                             send_valid_o,   // a pulse; send_o stays
    output      logic               [QpWidth-1:0] send_qp_o,
    output      roce_pkg::choice_t                send_o,
    // completions
    output      logic                             completion_valid_o,
    output      logic               [QpWidth-1:0] completion_qp_o,
    output      roce_pkg::completion_t            completion_o,
    // events of the QP visit_qp_o
    output      logic                             ev_failed_o,
    output      logic                             ev_ack_o,
    output      logic                             ev_marked_o,     // beside ev_ack_o: with CE
    output      logic                             ev_outside_o,    // of a PSN that is not in flight
    output      logic                             ev_sequence_nak_o,
    output      logic                             ev_rnr_nak_o,
    output      logic                             ev_copy_o,       // a NAK that was followed before
    output      logic                             ev_timeout_o,
    output      logic                             ev_repeat_o,
    output      logic                             ev_dropped_o     // of the QP answer_qp_i
);

  localparam int unsigned TimeWidth = 47;
  localparam int unsigned Nw = $clog2(Slots) + 1;  // of a number of packets in flight
  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [QpWidth-1:0] index_t;
  typedef logic [23:0] psn_t;
  typedef logic [Nw-1:0] count_t;

  if (Qps < 1 || Qps > 16) begin : g_qps
    $error("Qps must be 1 to 16");
  end
  if (Slots != (1 << (Nw - 1)) || Queue != (1 << Qw) || Queue < 2) begin : g_sizes
    $error("Slots and Queue must be powers of two");
  end

  // Of one QP no port needs a number.
  index_t cmd_qp, answer_qp, post_qp, wake_qp;
  assign cmd_qp    = Qps > 1 ? cmd_qp_i : '0;
  assign answer_qp = Qps > 1 ? answer_qp_i : '0;
  assign post_qp   = Qps > 1 ? post_qp_i : '0;
  assign wake_qp   = Qps > 1 ? wake_qp_i : '0;

  // ---------------------------------------------------------------- which visit is next
  localparam int unsigned Command = 0;
  localparam int unsigned Answer = 1;
  localparam int unsigned Check = 2;
  localparam int unsigned Post = 3;
  localparam int unsigned Send = 4;
  localparam int unsigned Scan = 5;
  typedef logic [5:0] kinds_t;

  kinds_t wants, wanted, others, kind, kind_q;  // kind_q is of the visit under way or the last one
  logic load_q, compare_q, decide_q, visits;
  index_t qp, qp_q, answer_index, check_index, send_index;
  logic push_check, push_send, takes_answer, is_answered, has_sender;
  logic is_setup_q;  // after a reset each QP is scanned once, which sets it up
  logic [3:0] cycle_q;
  logic is_scan_due_q, is_last_scan, is_wake, was_wake_q;
  index_t scan_qp_q;

  // What the visit under way takes still stands.
  assign wanted[Command] = cmd_valid_i && !(decide_q && kind_q[Command]);
  assign wanted[Post]    = post_valid_i && !post_full_o
      && !(decide_q && (kind_q[Post] || kind_q[Command]));
  assign wanted[Send]    = has_sender && send_room_i && !(decide_q && kind_q[Send]);
  assign wanted[Scan]    = is_scan_due_q || wake_valid_i;
  assign wants           = is_setup_q ? kinds_t'(1 << Scan) : wanted;
  assign others          = wants & ~kind_q;
  assign kind            = |others ? others & -others : wants;
  assign visits          = !load_q && !compare_q && |wants;
  assign is_last_scan    = 32'(scan_qp_q) == Qps - 1;
  // A QP that wakes and the next one of the scan take turns.
  assign is_wake         = wake_valid_i && !is_setup_q && !(is_scan_due_q && was_wake_q);
  assign wake_ready_o    = visits && kind[Scan] && is_wake;

  turn_queue #(
      .Entries(Qps)
  ) u_answers (
      .clk_i       (clk_i),
      .rst_i       (rst_i),
      .push_i      (takes_answer && !is_answered),
      .push_index_i(answer_qp),
      .pop_i       (visits && kind[Answer]),
      .valid_o     (wanted[Answer]),
      .index_o     (answer_index)
  );

  turn_queue #(
      .Entries(Qps)
  ) u_checks (
      .clk_i       (clk_i),
      .rst_i       (rst_i),
      .push_i      (push_check),
      .push_index_i(qp_q),
      .pop_i       (visits && kind[Check]),
      .valid_o     (wanted[Check]),
      .index_o     (check_index)
  );

  turn_queue #(
      .Entries(Qps)
  ) u_senders (
      .clk_i       (clk_i),
      .rst_i       (rst_i),
      .push_i      (push_send),
      .push_index_i(qp_q),
      .pop_i       (visits && kind[Send]),
      .valid_o     (has_sender),
      .index_o     (send_index)
  );

  always_comb begin
    qp = kind[Command] ? cmd_qp : '0;
    if (kind[Answer]) qp |= answer_index;
    if (kind[Check]) qp |= check_index;
    if (kind[Post]) qp |= post_qp;
    if (kind[Send]) qp |= send_index;
    if (kind[Scan]) qp |= is_wake ? wake_qp : scan_qp_q;
  end

  always_ff @(posedge clk_i) begin
    if (visits) begin
      kind_q <= kind;
      qp_q   <= qp;
    end
    load_q    <= visits;
    compare_q <= load_q;
    decide_q  <= compare_q;
    cycle_q   <= cycle_q + 1'b1;
    if (&cycle_q) is_scan_due_q <= 1'b1;
    if (visits && kind[Scan]) was_wake_q <= is_wake;
    if (visits && kind[Scan] && !is_wake) begin
      is_scan_due_q <= 1'b0;
      is_setup_q    <= is_setup_q && !is_last_scan;
      scan_qp_q     <= is_last_scan ? '0 : scan_qp_q + 1'b1;
    end
    if (rst_i) begin
      {load_q, compare_q, decide_q, is_scan_due_q} <= '0;
      is_setup_q <= 1'b1;
      kind_q     <= '0;
      cycle_q    <= '0;
      scan_qp_q  <= '0;
    end
  end

  // ---------------------------------------------------------------- what is kept of a QP
  // PSNs: the oldest unacknowledged, the next one to send, the first that was never sent, and that
  // of the first packet of the next request.
  localparam Style = Qps > 1 ? "block" : "registers";
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) psn_t acked_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) psn_t next_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) psn_t sent_mem[Qps];
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) psn_t tail_mem[Qps];
  psn_t acked_q, next_q, sent_q, tail_q, acked_d, next_d, sent_d, tail_d;
  logic sets_acked, sets_next, sets_sent, sets_tail;

  count_t since_mem[Qps];  // packets since the last that requested an ACK
  count_t since_q, since_d;

  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) time_t deadline_mem[Qps];
  time_t deadline_q;
  logic starts_timer;

  typedef enum logic [1:0] {
    TimerOff,
    TimerAnswer,
    TimerReceiver  // which is not ready
  } timer_e;

  typedef struct packed {
    logic              is_running;
    logic              has_check;    // stands in the queue of checks
    logic              has_send;     // and in that of senders
    logic              is_paced;     // has a packet, and waits for its pace
    logic              went_back;    // after a NAK "sequence error"
    timer_e            timer;
    logic [2:0]        retries;
    logic [2:0]        rnr_retries;
    roce_pkg::status_e status;       // of the next request that fails
  } state_t;
  localparam int unsigned StateBits = 16;

  logic [StateBits-1:0] state_mem[Qps];  // of bits: yosys has no arrays of structs
  state_t state_q, state_d;

  // Places in the queue: where the next request comes, that of the next packet, the oldest request.
  // After a way back the next packet is of the oldest request.
  typedef logic [Qw:0] place_t;
  typedef struct packed {
    place_t post;
    place_t send;
    place_t done;
    logic   is_back;
  } places_t;
  localparam int unsigned PlacesBits = 3 * Qw + 4;

  logic [PlacesBits-1:0] places_mem[Qps];
  places_t places, places_q, places_d;
  place_t place, place_q;
  logic sets_places;

  // Of a request: its first PSN, the one behind its last, its name.
  typedef struct packed {
    psn_t        first;
    psn_t        behind;
    logic [15:0] id;
  } request_t;
  localparam int unsigned RequestBits = 64;
  localparam int unsigned Rw = Qps > 1 ? QpWidth + Qw : Qw;

  (* no_rw_check, rw_addr_collision = "no" *) logic [RequestBits-1:0] request_mem[1<<Rw];
  request_t request_q;

  typedef struct packed {
    logic [2:0]  mtu;
    count_t      window;
    count_t      ack_every;
    logic [4:0]  timeout;
    logic [2:0]  retries;
    logic [2:0]  rnr_retries;
  } cfg_t;
  localparam int unsigned CfgBits = 14 + 2 * Nw;

  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) logic [CfgBits-1:0] cfg_mem[Qps];
  cfg_t cfg_q;
  logic begins, changes;

  // Whether a request of the QP finds a place.
  logic room_mem[Qps];
  logic has_room, sets_room;
  assign post_full_o = !room_mem[post_qp] || is_setup_q;

  // An answer that waits, one a QP: where `came` and `seen` differ. Its round is that of the QP when it
  // came: each begin and end of a QP begins the next round.
  localparam int unsigned AnswerBits = 33;
  localparam int unsigned RoundBits = 5;  // the commands while an answer waits are not so many
  logic [RoundBits+AnswerBits-1:0] answer_mem[Qps];
  logic [RoundBits-1:0] round_mem[Qps];
  logic [RoundBits-1:0] round, round_q, answer_round_q;
  logic came_mem[Qps], seen_mem[Qps], is_nak_mem[Qps];
  roce_pkg::answer_t answer_q;
  index_t seen_at;
  logic came, has_place;

  assign came         = came_mem[answer_qp];
  assign is_answered  = came != seen_mem[answer_qp];
  assign has_place    = !is_answered || !is_nak_mem[answer_qp];
  assign takes_answer = answer_valid_i && has_place && !is_setup_q;
  assign ev_dropped_o = answer_valid_i && !has_place && !is_setup_q;
  assign round        = round_mem[answer_qp];
  assign seen_at      = is_setup_q ? scan_qp_q : answer_index;

  always_ff @(posedge clk_i) begin
    if (takes_answer) begin
      answer_mem[answer_qp] <= {round, answer_i};
      is_nak_mem[answer_qp] <= answer_i.kind != roce_pkg::AnswerAck;
    end
    if (takes_answer && !is_answered) came_mem[answer_qp] <= !came;
    // An answer that comes in this cycle is what the visit loads.
    if (visits && (kind[Answer] || is_setup_q)) seen_mem[seen_at] <= came_mem[seen_at];
    if (changes) round_mem[qp_q] <= round_q + 1'b1;
    if (sets_room) room_mem[qp_q] <= has_room;
  end

  // Load.
  assign places = places_mem[qp_q];
  assign place  = kind_q[Check] || places.is_back ? places.done : places.send;

  always_ff @(posedge clk_i) begin
    if (load_q) begin
      acked_q           <= acked_mem[qp_q];
      next_q            <= next_mem[qp_q];
      sent_q            <= sent_mem[qp_q];
      tail_q            <= tail_mem[qp_q];
      since_q           <= since_mem[qp_q];
      deadline_q        <= deadline_mem[qp_q];
      state_q           <= state_mem[qp_q];
      places_q          <= places;
      place_q           <= place;
      request_q         <= request_mem[Rw'({qp_q, place[Qw-1:0]})];
      cfg_q             <= cfg_mem[qp_q];
      round_q           <= round_mem[qp_q];
      {answer_round_q, answer_q} <= answer_mem[qp_q];
    end
  end

  // ---------------------------------------------------------------- compare
  logic is_ack, is_cfg_ok_q, is_new_q, has_request_q, is_first_q, is_last_q, is_acked_q, is_late_q;
  logic is_inside_q, is_oldest_q, is_newest_q, is_next_q, is_ahead_q;
  psn_t past_acked, past_sent, past_next, covers_q, offset_q, more, more_q;
  count_t ahead_q;
  time_t span, until_q, over;
  psn_t past_end;
  logic [29:0] rnr_span;
  logic [31:0] last_byte;

  // Table of IB 9.7.5.2.8, in ns: codes 2 k and 2 k + 1 are 10 us * 2^k and 15 us * 2^k, but 1 is
  // 10 us, and 0 stands behind the last.
  always_comb begin
    rnr_span = answer_q.code[0] && answer_q.code != 5'd1 ? 30'd15_000 : 30'd10_000;
    rnr_span = rnr_span << (answer_q.code == 5'd0 ? 5'd16 : {1'b0, answer_q.code[4:1]});
  end

  assign is_ack   = answer_q.kind == roce_pkg::AnswerAck;
  assign span     = kind_q[Answer] && answer_q.kind == roce_pkg::AnswerRnrNak ? time_t'(rnr_span)
      : time_t'(1) << (6'd12 + 6'(cfg_q.timeout));
  assign over     = time_ns_i[TimeWidth-1:0] - deadline_q;
  assign past_end = acked_q - request_q.behind;
  // Of an answer. At most Slots packets are in flight, so each sign shows on which side its PSN lies.
  assign past_acked = answer_q.psn - acked_q;
  assign past_sent  = answer_q.psn - sent_q;
  assign past_next  = answer_q.psn - next_q;
  // Packets of a request, but one.
  assign last_byte = post_len_bytes_i - 32'd1;
  assign more      = ~|post_len_bytes_i ? '0 : 24'(last_byte[31:8] >> (cfg_q.mtu - 3'd1));

  always_ff @(posedge clk_i) begin
    is_inside_q   <= !past_acked[23] && past_sent[23] && answer_round_q == round_q;
    is_oldest_q   <= answer_q.psn == acked_q;
    is_newest_q   <= &past_sent[Nw-1:0];
    is_next_q     <= answer_q.psn == next_q;
    is_ahead_q    <= !past_next[23];  // what is sent next, or comes behind it
    covers_q      <= kind_q[Answer] ? answer_q.psn + 24'(is_ack) : acked_q;
    ahead_q       <= next_q[Nw-1:0] - acked_q[Nw-1:0];
    is_new_q      <= next_q == sent_q;
    has_request_q <= place_q != places_q.post;
    offset_q      <= next_q - request_q.first;
    is_first_q    <= next_q == request_q.first;
    is_last_q     <= request_q.behind - next_q == 24'd1;
    is_acked_q    <= !past_end[23];
    is_late_q     <= !over[TimeWidth-1];
    until_q       <= time_ns_i[TimeWidth-1:0] + span;
    more_q        <= more;
    is_cfg_ok_q   <= cfg_i.mtu != 3'd0 && cfg_i.mtu < 3'd6 && cfg_i.window != 16'd0
        && cfg_i.window <= 16'(Slots) && cfg_i.ack_every != 16'd0
        && cfg_i.ack_every <= cfg_i.window;
  end

  // ---------------------------------------------------------------- decide
  // An answer.
  logic judges, accepted, progress, skips, is_copy, waits;
  assign waits     = state_q.timer == TimerReceiver;
  assign judges    = decide_q && kind_q[Answer] && state_q.is_running;
  assign accepted  = judges && is_inside_q;
  assign progress  = accepted && (is_ack || !is_oldest_q);
  // What is to be sent next, or lies behind it, is acknowledged.
  assign skips     = accepted && is_ahead_q && (is_ack || !is_next_q);

  // The timer.
  logic expires, times_out;
  assign expires   = decide_q && kind_q[Scan] && state_q.is_running && is_late_q
      && state_q.timer != TimerOff;
  assign times_out = expires && !waits;

  // What an answer, the timer or the caller leads to.
  logic spends, spends_rnr, fails, goes_back;
  logic [2:0] retries, rnr_retries;
  roce_pkg::status_e failure;
  assign retries     = progress ? cfg_q.retries : state_q.retries;
  assign rnr_retries = progress ? cfg_q.rnr_retries : state_q.rnr_retries;

  always_comb begin
    is_copy    = 1'b0;
    spends     = times_out;
    spends_rnr = 1'b0;
    fails      = 1'b0;
    failure    = roce_pkg::StatusRetriesExceeded;
    if (accepted) begin
      unique case (answer_q.kind)
        // The packet is to be sent next in any case, or has been sent again.
        roce_pkg::AnswerSequenceNak: begin
          is_copy = (!progress && (state_q.went_back || waits)) || is_ahead_q;
          spends  = !is_copy;
        end
        roce_pkg::AnswerRnrNak: begin
          is_copy    = !progress && (waits || is_ahead_q);
          spends_rnr = !is_copy;
        end
        roce_pkg::AnswerFatalNak: begin
          fails = 1'b1;
          unique case (answer_q.code[1:0])
            2'd1: failure = roce_pkg::StatusInvalidRequest;
            2'd2: failure = roce_pkg::StatusRemoteAccess;
            default: failure = roce_pkg::StatusRemoteOperation;
          endcase
        end
        default: ;
      endcase
    end
    if (spends && retries == 3'd0) fails = 1'b1;
    if (spends_rnr && rnr_retries == 3'd0) begin
      fails   = 1'b1;
      failure = roce_pkg::StatusRnrRetriesExceeded;
    end
    if (decide_q && kind_q[Command] && cmd_i == roce_pkg::CommandAbort && state_q.is_running) begin
      fails   = 1'b1;
      failure = roce_pkg::StatusFlushed;
    end
    goes_back = (spends || spends_rnr) && !fails;
  end

  // A packet.
  logic could_send, sends, requests_ack;
  assign could_send   = decide_q && kind_q[Send] && state_q.is_running && !waits && has_request_q
      && ahead_q < cfg_q.window && !state_q.has_check;
  assign sends        = could_send && may_send_i;
  assign paced_o      = could_send && !may_send_i;
  assign requests_ack = is_last_q || since_q == cfg_q.ack_every - 1'b1;

  // A request.
  logic posts, completes;
  place_t behind_post;
  assign posts       = decide_q && kind_q[Post];
  assign behind_post = places_q.post + 1'b1;
  assign completes   = decide_q && kind_q[Check] && has_request_q
      && (is_acked_q || !state_q.is_running);

  assign begins      = decide_q && kind_q[Command] && cmd_i == roce_pkg::CommandBegin;
  assign cmd_ready_o = decide_q && kind_q[Command];
  assign refused_o   = begins && !is_cfg_ok_q;
  assign changes     = cmd_ready_o && cmd_i != roce_pkg::CommandAbort;

  // Which queues the QP stands in: those that it did before, but for that of this visit, and joins.
  // Completions come before packets.
  logic has_check, has_send, wants_check, wants_send, sets_up_q;
  assign has_check   = state_q.has_check && !kind_q[Check];
  assign has_send    = state_q.has_send && !kind_q[Send];
  assign wants_check = progress || fails || completes || (posts && !state_q.is_running);
  assign wants_send  = !wants_check && (accepted || sends || posts || expires
      || (decide_q && kind_q[Check]) || (decide_q && kind_q[Scan] && state_q.is_paced));
  assign push_check  = wants_check && !has_check && !sets_up_q;
  assign push_send   = wants_send && !has_send && !sets_up_q;
  always_ff @(posedge clk_i) if (visits) sets_up_q <= is_setup_q;

  // ---------------------------------------------------------------- store
  assign sets_acked = accepted || begins;
  assign acked_d    = begins ? cfg_i.first_psn : covers_q;
  assign sets_next  = skips || goes_back || sends || begins;
  assign sets_sent  = (sends && is_new_q) || begins;
  assign sent_d     = begins ? cfg_i.first_psn : next_q + 24'd1;
  assign next_d     = sends ? next_q + 24'd1 : acked_d;
  assign sets_tail  = posts || begins;
  assign tail_d     = begins ? cfg_i.first_psn : tail_q + more_q + 24'd1;
  assign since_d    = sends && !requests_ack ? since_q + 1'b1 : '0;

  always_comb begin
    state_d      = state_q;
    starts_timer = 1'b0;
    if (progress) begin
      state_d.went_back   = 1'b0;
      state_d.retries     = cfg_q.retries;
      state_d.rnr_retries = cfg_q.rnr_retries;
      state_d.timer       = TimerOff;
      starts_timer        = !(is_ack && is_newest_q);
    end
    if (sends && state_q.timer == TimerOff) starts_timer = 1'b1;
    if (starts_timer && |cfg_q.timeout) state_d.timer = TimerAnswer;
    if (expires) state_d.timer = TimerOff;
    if (spends) begin
      state_d.retries   = retries - 3'd1;
      state_d.went_back = !times_out;
      state_d.timer     = TimerOff;
    end
    if (spends_rnr) begin
      // 7: no limit.
      state_d.rnr_retries = rnr_retries - 3'(cfg_q.rnr_retries != 3'd7);
      state_d.went_back   = 1'b0;
      state_d.timer       = TimerReceiver;
      starts_timer        = 1'b1;
    end
    if (fails) begin
      state_d.status     = failure;
      state_d.is_running = 1'b0;
    end
    if (completes && !is_acked_q) state_d.status = roce_pkg::StatusFlushed;
    if (begins) begin
      state_d.went_back   = 1'b0;
      state_d.timer       = TimerOff;
      state_d.retries     = cfg_i.retries;
      state_d.rnr_retries = cfg_i.rnr_retries;
    end
    if (changes) state_d.is_running = begins && is_cfg_ok_q;
    if (kind_q[Send] || kind_q[Scan]) state_d.is_paced = paced_o;
    state_d.has_check = has_check || wants_check;
    state_d.has_send  = has_send || wants_send;
    if (sets_up_q) {state_d.is_running, state_d.has_check, state_d.has_send} = '0;
  end

  always_comb begin
    places_d    = places_q;
    sets_places = skips || goes_back || sends || posts || completes || cmd_ready_o;
    if (skips || goes_back) places_d.is_back = 1'b1;
    if (sends) begin
      places_d.is_back = 1'b0;
      places_d.send    = place_q + place_t'(is_last_q);
    end
    if (posts) places_d.post = behind_post;
    if (completes) places_d.done = places_q.done + 1'b1;
    if (changes) places_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (sets_acked) acked_mem[qp_q] <= acked_d;
    if (sets_next) next_mem[qp_q] <= next_d;
    if (sets_sent) sent_mem[qp_q] <= sent_d;
    if (sets_tail) tail_mem[qp_q] <= tail_d;
    if (sets_next) since_mem[qp_q] <= since_d;
    if (starts_timer) deadline_mem[qp_q] <= until_q;
    if (decide_q) state_mem[qp_q] <= state_d;
    if (sets_places) places_mem[qp_q] <= places_d;
    if (posts) request_mem[Rw'({qp_q, post_place_o})] <= {tail_q, tail_d, post_id_i};
    if (begins) cfg_mem[qp_q] <= {
      cfg_i.mtu, cfg_i.window[Nw-1:0], cfg_i.ack_every[Nw-1:0], cfg_i.timeout, cfg_i.retries,
      cfg_i.rnr_retries
    };
  end

  assign sets_room = changes || completes || posts || (sets_up_q && decide_q);
  assign has_room  = changes ? begins && is_cfg_ok_q : !sets_up_q
      && (completes || behind_post != {~places_q.done[Qw], places_q.done[Qw-1:0]});

  // ---------------------------------------------------------------- what leaves
  assign visit_qp_o   = qp_q;
  assign post_ready_o = posts;
  assign post_place_o = places_q.post[Qw-1:0];
  assign send_look_o  = decide_q && kind_q[Send];
  assign send_place_o = place_q[Qw-1:0];

  always_ff @(posedge clk_i) begin
    send_valid_o       <= sends && !rst_i;
    if (sends) begin
      send_qp_o <= qp_q;
      send_o    <= {cfg_q.mtu, next_q, offset_q, is_first_q, is_last_q, requests_ack};
    end
    completion_valid_o <= completes && !rst_i;
    completion_qp_o    <= qp_q;
    completion_o       <= {
      request_q.id, is_acked_q ? roce_pkg::StatusDone : state_q.status
    };
  end

  assign ev_failed_o       = fails;
  assign ev_ack_o          = accepted && is_ack;
  assign ev_marked_o       = accepted && is_ack && answer_q.is_marked;
  assign ev_outside_o      = judges && !is_inside_q;
  assign ev_sequence_nak_o = spends && !times_out;
  assign ev_rnr_nak_o      = spends_rnr;
  assign ev_copy_o         = is_copy;
  assign ev_timeout_o      = times_out;
  assign ev_repeat_o       = sends && !is_new_q;

endmodule

`default_nettype wire
