// The requester's state of one queue pair: which packets are unacknowledged, which one leaves next,
// when to send again, and when to give up (IB 9.7, 9.9).
//
// Packets have seqs; the PSN is the seq plus the connection's first PSN. `window` keeps oldest,
// sent and next, and accepts an answer only for a PSN from the oldest unacknowledged to the last
// sent one (IB 9.7.6): each answer is to it what a REPORT is to a stream, with a limit far ahead.
// `nack_walker` offers what is to be sent again, from the oldest on (go-back-N). What is new waits
// meanwhile.
//
//   answer              does
//   ACK                 releases up to its PSN; progress restores both counts of retries
//   NAK sequence error  releases what is before it and goes back, once until there is progress, a
//                       timeout or an RNR NAK; a second one is a copy
//   RNR NAK             releases what is before it, goes back, and waits for its timer
//   other NAK           releases what is before it, and fails
//   none                after 4.096 us * 2^timeout without progress it goes back
//
// Throughput: an answer in 8 cycles, a packet in 4, one that is repeated too; an answer holds the
// choice of a packet back for 2. Latency: answer to release 9 cycles; NAK to the offer of the first
// repeated packet 16. Back-pressure: an ACK that waits gives way to the answer behind it, which
// covers it; an answer behind a NAK that waits is dropped and signalled (`ev_dropped_o`): none is
// at 64 bits. An offer waits for `send_ready_i`, and may be withdrawn. `send_ready_i` may depend on
// `send_valid_o`. `commit_i` only while `full_o` is low.
//
// `run_i` begins a connection with `cfg_i`, which stands from then on; while it is low, for at
// least 4 cycles, all is as after a reset. After `fail_o` nothing is offered and no answer taken.
// Times are kept modulo 2^47 ns, 16 times the longest timeout. One clock.
`default_nettype none

module roce_qp #(
    parameter  int unsigned Slots = 64,
    localparam int unsigned Sw    = $clog2(Slots)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_i,
    input  wire logic              run_i,
    input  wire logic       [63:0] time_ns_i,
    input  wire roce_pkg::qp_t     cfg_i,
    input  wire logic              answer_valid_i,  // ACK or NAK
    input  wire roce_pkg::answer_t answer_i,
    input  wire logic              abort_i,         // fails, as flushed
    // slots
    input  wire logic              commit_i,
    output      logic              full_o,
    output      logic       [23:0] next_o,
    output      logic       [23:0] oldest_o,
    // packets
    output      logic              send_valid_o,
    output      logic       [23:0] send_seq_o,
    input  wire logic              send_ready_i,
    // state
    output      logic              is_running_o,
    output      logic              fail_o,
    output      roce_pkg::status_e fail_status_o,
    output      logic              ev_ack_o,
    output      logic              ev_marked_o,     // beside ev_ack_o: with CE
    output      logic              ev_outside_o,    // of a PSN that is not in flight
    output      logic              ev_sequence_nak_o,
    output      logic              ev_rnr_nak_o,
    output      logic              ev_copy_o,       // a NAK that was followed before
    output      logic              ev_timeout_o,
    output      logic              ev_repeat_o,
    output      logic              ev_dropped_o
);

  localparam int unsigned TimeWidth = 47;
  localparam int unsigned Lw = Sw + 2;  // low bits of a seq, which distinguish those in flight
  typedef logic [TimeWidth-1:0] time_t;

  logic flush_q, error_q, granted_q;
  always_ff @(posedge clk_i) flush_q <= rst_i || !run_i;
  assign is_running_o = granted_q && !error_q;

  // An answer waits, then is compared step by step. Step 0 takes the next one; the first of a
  // connection is none, it gives the limit.
  localparam logic [2:0] JudgeStep = 3'd7;
  logic waiting_q, is_grant_q, progress_q;
  roce_pkg::answer_t answer_q, judged_q;
  logic [23:0] seq_q, released_q, after_q;
  logic [2:0] step_q;
  logic judge, accepted, is_ack, has_progress, begins, has_place;

  assign begins    = step_q == 3'd0 && granted_q && waiting_q;
  assign has_place = !waiting_q || begins || answer_q.kind == roce_pkg::AnswerAck;

  always_ff @(posedge clk_i) begin
    if (answer_valid_i && has_place) begin
      answer_q <= answer_i;
      seq_q    <= answer_i.psn - cfg_i.first_psn;
    end
    waiting_q <= answer_valid_i || (waiting_q && !begins);
    if (step_q != 3'd0) step_q <= step_q + 1'b1;
    else if (!granted_q || waiting_q) step_q <= 3'd1;
    if (step_q == 3'd0) begin
      is_grant_q <= !granted_q;
      judged_q   <= answer_q;
      released_q <= !granted_q ? '0 : seq_q + 24'(answer_q.kind == roce_pkg::AnswerAck);
      after_q    <= !granted_q ? '0 : seq_q + 24'd1;
    end
    progress_q <= released_q != oldest_o;
    if (step_q == JudgeStep) granted_q <= 1'b1;
    if (flush_q) begin
      waiting_q <= 1'b0;
      step_q    <= 3'd0;
      granted_q <= 1'b0;
    end
  end

  send_pkg::check_e check;
  always_comb begin
    unique case (step_q)
      3'd1: check = send_pkg::CheckReleased;
      3'd2: check = send_pkg::CheckLimit;
      3'd3: check = send_pkg::CheckGrowth;
      3'd4: check = send_pkg::CheckSettled;  // of ranges alone
      default: check = send_pkg::CheckHighest;
    endcase
  end

  // More ahead than there are slots.
  logic [23:0] promise;
  assign promise = {released_q[23:16] + 8'd1, released_q[15:0]};

  logic window_ok, has_new, depart_new, take;
  logic [23:0] sent;
  assign is_ack       = judged_q.kind == roce_pkg::AnswerAck;
  assign judge        = step_q == JudgeStep && !is_grant_q && !error_q;
  assign accepted     = judge && window_ok && (!is_ack || progress_q);
  assign has_progress = accepted && progress_q;

  window #(
      .Slots   (Slots),
      .SeqWidth(24)
  ) u_window (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .flush_i         (flush_q),
      .commit_i        (commit_i),
      .depart_new_i    (depart_new),
      .rep_step_i      (step_q >= 3'd1 && step_q <= 3'd5),
      .rep_check_i     (check),
      .rep_hi_i        ({8'd0, released_q}),
      .rep_lo_i        ({8'd0, step_q == 3'd5 ? after_q : promise}),
      .rep_is_newer_i  (1'b1),
      .rep_has_ranges_i(1'b0),
      .last_departure_i(32'd0),
      .rep_valid_i     (step_q == JudgeStep && !error_q),
      .rep_ok_o        (window_ok),
      .rep_is_near_o   (),
      .oldest_o        (oldest_o),
      .sent_o          (sent),
      .next_o          (next_o),
      .limit_o         (),
      .full_o          (full_o),
      .has_new_o       (has_new),
      .is_released_o   (),
      .is_sent_o       (),
      .credit_came_o   ()
  );

  // What an answer or the timer leads to.
  logic waits, is_due, went_back_q, at_oldest, is_copy;
  logic [2:0] retries_q, rnr_retries_q;
  logic spends, spends_rnr, go_back, times_out;
  logic fails;
  roce_pkg::status_e status;
  logic repeats_q;               // what was sent is sent again
  logic [Lw-1:0] resume_q, gone;  // the next one of these

  // A NAK of a packet that is to be sent next in any case, because the requester has gone back.
  assign gone      = released_q[Lw-1:0] - resume_q;
  assign at_oldest = repeats_q && !gone[Lw-1];
  assign times_out = is_due && !waits && !judge && is_running_o;

  always_comb begin
    is_copy    = 1'b0;
    spends     = 1'b0;
    spends_rnr = 1'b0;
    fails      = 1'b0;
    status     = roce_pkg::StatusRetriesExceeded;
    if (accepted) begin
      unique case (judged_q.kind)
        roce_pkg::AnswerSequenceNak: begin
          is_copy = (!progress_q && (went_back_q || waits)) || at_oldest;
          spends  = !is_copy;
        end
        roce_pkg::AnswerRnrNak: begin
          is_copy    = !progress_q && (waits || at_oldest);
          spends_rnr = !is_copy;
        end
        roce_pkg::AnswerFatalNak: begin
          fails = 1'b1;
          unique case (judged_q.code[1:0])
            2'd1: status = roce_pkg::StatusInvalidRequest;
            2'd2: status = roce_pkg::StatusRemoteAccess;
            default: status = roce_pkg::StatusRemoteOperation;
          endcase
        end
        default: ;
      endcase
    end
    if (times_out) spends = 1'b1;
    // Counts that progress restores in this cycle are not used up, unless they are 0 from the
    // start.
    if (spends && (progress_q && !times_out ? cfg_i.retries : retries_q) == 3'd0) fails = 1'b1;
    if (spends_rnr && (progress_q ? cfg_i.rnr_retries : rnr_retries_q) == 3'd0) begin
      fails  = 1'b1;
      status = roce_pkg::StatusRnrRetriesExceeded;
    end
    if (abort_i && is_running_o) begin
      fails  = 1'b1;
      status = roce_pkg::StatusFlushed;
    end
    go_back = (spends || spends_rnr) && !fails;
  end

  always_ff @(posedge clk_i) begin
    if (has_progress) begin
      retries_q     <= cfg_i.retries;
      rnr_retries_q <= cfg_i.rnr_retries;
      went_back_q   <= 1'b0;
    end
    if (spends)
      retries_q <= (progress_q && !times_out ? cfg_i.retries : retries_q) - 3'd1;
    // 7: no limit.
    if (spends_rnr && cfg_i.rnr_retries != 3'd7)
      rnr_retries_q <= (progress_q ? cfg_i.rnr_retries : rnr_retries_q) - 3'd1;
    if (spends || spends_rnr) went_back_q <= spends && !times_out;
    if (fails) error_q <= 1'b1;
    fail_o        <= fails && !flush_q;
    fail_status_o <= status;
    if (flush_q) begin
      error_q       <= 1'b0;
      went_back_q   <= 1'b0;
      retries_q     <= cfg_i.retries;
      rnr_retries_q <= cfg_i.rnr_retries;
    end
  end

  // The way back: the walk under way ends, and one from the oldest packet begins.
  logic [2:0] going_q;  // cycles since the decision
  logic [Lw-1:0] from_q;
  logic cand_valid, take_repeat;
  logic [23:0] cand_seq;

  always_ff @(posedge clk_i) begin
    going_q <= flush_q ? 3'd0 : {going_q[1:0], go_back};
    if (going_q[0]) from_q <= oldest_o[Lw-1:0];
  end

  nack_walker #(
      .SeqWidth(24),
      .Depth   (2),
      .Slots   (Slots)
  ) u_walker (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .flush_i      (flush_q || going_q[0]),
      .rng_valid_i  (going_q[2]),
      .rng_ready_o  (),
      .rng_first_i  (from_q),
      .rng_is_near_i(1'b1),
      .rng_count_i  (32'd0),
      .rng_to_next_i(1'b1),
      .rng_settled_i(32'd0),
      .oldest_i     (oldest_o),
      .sent_i       (sent),
      .dep_rd_addr_o(),
      .dep_rd_data_i(32'd0),
      .cand_valid_o (cand_valid),
      .cand_seq_o   (cand_seq),
      .cand_ready_i (take_repeat),
      .ev_refused_o (),
      .ev_skipped_o ()
  );

  // What leaves. Nothing new before all is repeated that the way back names.
  // window has its numbers 2 cycles after a departure, and so late the walker withdraws what an
  // answer released.
  logic [1:0] rest_q;
  logic has_room_q, is_ready;
  logic [Sw:0] in_flight;
  logic is_idle;
  assign in_flight    = sent[Sw:0] - oldest_o[Sw:0];
  assign is_idle      = in_flight == '0;
  assign is_ready     = is_running_o && !waits && !(|going_q) && !(|rest_q);
  assign send_valid_o = is_ready &&
      (repeats_q ? cand_valid && !is_idle : has_new && has_room_q);
  assign send_seq_o   = repeats_q ? cand_seq : sent;
  assign take         = send_valid_o && send_ready_i;
  assign take_repeat  = take && repeats_q;
  assign depart_new   = take && !repeats_q;

  always_ff @(posedge clk_i) begin
    rest_q     <= {rest_q[0], take || judge};
    has_room_q <= 16'(in_flight) < cfg_i.window;
    if (take_repeat) resume_q <= cand_seq[Lw-1:0] + 1'b1;
    if (is_idle || (take_repeat && cand_seq + 24'd1 == sent)) repeats_q <= 1'b0;
    if (go_back) begin
      repeats_q <= 1'b1;
      resume_q  <= times_out ? oldest_o[Lw-1:0] : released_q[Lw-1:0];
    end
    if (flush_q) begin
      rest_q    <= '0;
      repeats_q <= 1'b0;
    end
  end

  // One timer: for an answer, or for the receiver to be ready.
  typedef enum logic [1:0] {
    TimerOff,
    TimerSum,     // the deadline is worked out
    TimerSettle,  // and compared for the first time
    TimerRun
  } timer_e;

  timer_e timer_q;
  logic is_rnr_q, starts, is_late_q;
  time_t span_q, deadline_q, over;
  logic [29:0] rnr_span;

  // Table of IB 9.7.5.2.8, in ns: codes 2 k and 2 k + 1 are 10 us * 2^k and 15 us * 2^k, but 1 is
  // 10 us, and 0 stands behind the last.
  always_comb begin
    rnr_span = judged_q.code[0] && judged_q.code != 5'd1 ? 30'd15_000 : 30'd10_000;
    rnr_span = rnr_span << (judged_q.code == 5'd0 ? 5'd16 : {1'b0, judged_q.code[4:1]});
  end

  assign over   = time_ns_i[TimeWidth-1:0] - deadline_q;
  assign waits  = timer_q != TimerOff && is_rnr_q;
  assign is_due = timer_q == TimerRun && is_late_q;
  // For an answer: with a packet that leaves while the timer is off, and with progress.
  assign starts = cfg_i.timeout != 5'd0 && (has_progress ? depart_new || released_q != sent
      : take && timer_q == TimerOff);

  always_ff @(posedge clk_i) begin
    is_late_q <= !over[TimeWidth-1];
    unique case (timer_q)
      TimerSum: begin
        deadline_q <= time_ns_i[TimeWidth-1:0] + span_q;
        timer_q    <= TimerSettle;
      end
      TimerSettle: timer_q <= TimerRun;
      TimerRun: if (is_late_q) timer_q <= TimerOff;
      default: ;
    endcase
    // A decision of this cycle that needs the timer later than now.
    if (is_due && judge) timer_q <= TimerRun;
    if (has_progress) timer_q <= TimerOff;
    if (starts) begin
      timer_q  <= TimerSum;
      is_rnr_q <= 1'b0;
      span_q   <= time_t'(1) << (6'd12 + 6'(cfg_i.timeout));
    end
    if (go_back) timer_q <= TimerOff;
    if (spends_rnr) begin
      timer_q  <= TimerSum;
      is_rnr_q <= 1'b1;
      span_q   <= time_t'(rnr_span);
    end
    if (flush_q || error_q) timer_q <= TimerOff;
  end

  assign ev_ack_o          = accepted && is_ack;
  assign ev_marked_o       = accepted && is_ack && judged_q.is_marked;
  assign ev_outside_o      = judge && !accepted;
  assign ev_sequence_nak_o = spends && !times_out;
  assign ev_rnr_nak_o      = spends_rnr;
  assign ev_copy_o         = is_copy;
  assign ev_timeout_o      = times_out;
  assign ev_repeat_o       = take_repeat;
  assign ev_dropped_o      = answer_valid_i && !has_place;

endmodule

`default_nettype wire
