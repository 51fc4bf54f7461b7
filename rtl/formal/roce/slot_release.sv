// A place in a queue is free again, and its request done, only when its packet is acknowledged: not
// when it was sent, nor by an answer to a PSN that is not in flight, nor by an answer for another
// queue pair. roce_qp as it stands; answers, posts, time and what is taken are free. Watches QP 0, whose
// requests have one packet each.
`default_nettype none

module slot_release #(
    parameter int unsigned Qps   = 1,
    parameter int unsigned Queue = 2
) (
    input wire logic              clk_i,
    input wire logic              rst_i,
    input wire logic       [63:0] time_ns_i,
    input wire roce_pkg::qp_t     cfg_i,
    input wire logic              answer_valid_i,
    input wire logic              answer_qp_i,
    input wire roce_pkg::answer_t answer_i,
    input wire logic              post_valid_i,
    input wire logic              post_qp_i,
    input wire logic              send_room_i
);

  logic cmd_ready, post_ready, send_valid, send_qp, completion_valid, completion_qp, visit_qp;
  logic [1:0] f_begun_q = 0;
  roce_pkg::choice_t send;
  roce_pkg::completion_t completion;

  roce_qp #(
      .Qps  (Qps),
      .Slots(4),
      .Queue(Queue)
  ) u_dut (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .time_ns_i         (time_ns_i),
      .cmd_valid_i       (f_begun_q != 2'(Qps)),
      .cmd_ready_o       (cmd_ready),
      .cmd_i             (roce_pkg::CommandBegin),
      .cmd_qp_i          (f_begun_q[0]),
      .cfg_i             (cfg_i),
      .refused_o         (),
      .answer_valid_i    (answer_valid_i),
      .answer_qp_i       (answer_qp_i),
      .answer_i          (answer_i),
      .post_valid_i      (post_valid_i),
      .post_ready_o      (post_ready),
      .post_full_o       (),
      .post_qp_i         (post_qp_i),
      .post_id_i         (16'd0),
      .post_len_bytes_i  (32'd0),
      .visit_qp_o        (visit_qp),
      .post_place_o      (),
      .send_room_i       (send_room_i),
      .may_send_i        (1'b1),
      .paced_o           (),
      .wake_valid_i      (1'b0),
      .wake_ready_o      (),
      .wake_qp_i         (1'b0),
      .send_look_o       (),
      .send_place_o      (),
      .send_valid_o      (send_valid),
      .send_qp_o         (send_qp),
      .send_o            (send),
      .completion_valid_o(completion_valid),
      .completion_qp_o   (completion_qp),
      .completion_o      (completion),
      .ev_failed_o       (),
      .ev_ack_o          (),
      .ev_marked_o       (),
      .ev_outside_o      (),
      .ev_sequence_nak_o (),
      .ev_rnr_nak_o      (),
      .ev_copy_o         (),
      .ev_timeout_o      (),
      .ev_repeat_o       (),
      .ev_dropped_o      ()
  );

  // Each QP begins once, with the same numbers; a request stands until it is taken.
  logic [1:0] f_age_q = 0;
  roce_pkg::qp_t f_cfg_q;
  logic f_stands_q = 0, f_post_qp_q;
  always_ff @(posedge clk_i) begin
    if (!(&f_age_q)) f_age_q <= f_age_q + 1'b1;
    f_cfg_q     <= cfg_i;
    f_stands_q  <= post_valid_i && !post_ready && f_age_q != 0;
    f_post_qp_q <= post_qp_i;
    if (cmd_ready && f_age_q != 0) f_begun_q <= f_begun_q + 2'd1;
  end
  always_comb begin
    assume (rst_i == (f_age_q == 0));
    if (f_age_q != 0) assume (cfg_i == f_cfg_q);
    assume (answer_i.kind <= roce_pkg::AnswerFatalNak);
    if (f_stands_q) assume (post_valid_i && post_qp_i == f_post_qp_q);
    if (post_valid_i || answer_valid_i) assume (f_begun_q == 2'(Qps));
  end

  // Of QP 0: requests taken, packets sent, packets acknowledged by an answer to something that was
  // sent, requests done, and those that failed; too few to wrap.
  logic f_is_post, f_is_send, f_is_answer, f_is_done;
  logic [23:0] f_posted_q = 0, f_sent_q = 0, f_acked_q = 0, f_done_q = 0, f_seq, f_covers, f_sends;
  assign f_is_post   = f_age_q != 0 && post_ready && (Qps == 1 || !visit_qp);
  assign f_is_send   = f_age_q != 0 && send_valid && (Qps == 1 || !send_qp);
  assign f_is_answer = f_age_q != 0 && answer_valid_i && (Qps == 1 || !answer_qp_i);
  assign f_is_done   = f_age_q != 0 && completion_valid && (Qps == 1 || !completion_qp);
  assign f_seq       = answer_i.psn - cfg_i.first_psn;
  assign f_covers    = f_seq + 24'(answer_i.kind == roce_pkg::AnswerAck);
  assign f_sends     = send.psn - cfg_i.first_psn;
  // Nothing is answered that leaves only until the answer is looked at.
  always_comb if (f_is_answer) assume (f_seq < f_sent_q || f_seq - f_sent_q >= 24'd8);
  always_ff @(posedge clk_i) begin
    if (f_is_post) f_posted_q <= f_posted_q + 24'd1;
    if (f_is_send && f_sends == f_sent_q) f_sent_q <= f_sent_q + 24'd1;
    if (f_is_answer && f_seq < f_sent_q && f_covers > f_acked_q) f_acked_q <= f_covers;
    if (f_is_done) f_done_q <= f_done_q + 24'd1;
  end

  always_ff @(posedge clk_i) begin
    if (f_age_q != 0) begin
      if (f_is_done && completion.status == roce_pkg::StatusDone)
        a_done : assert (f_done_q < f_acked_q);
      if (f_is_post) a_place : assert (f_posted_q - f_done_q < 24'(Queue));
      // What is sent was posted, and nothing in front of what is new is left out.
      if (f_is_send) a_sent : assert (f_sends < f_posted_q && f_sends <= f_sent_q);
    end
  end

  always_ff @(posedge clk_i) begin
    c_again : cover (f_is_post && f_posted_q == 24'(Queue));
    c_repeat : cover (f_is_send && f_sends < f_sent_q);
  end

endmodule

`default_nettype wire
