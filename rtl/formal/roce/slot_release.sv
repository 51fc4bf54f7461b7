// A slot is written again only when the packet that it held is acknowledged: not when it was sent,
// nor by an answer to a PSN that is not in flight. roce_qp as it stands, with its window and
// walker; answers, time and what is taken are free.
`default_nettype none

module slot_release #(
    parameter int unsigned Slots = 4
) (
    input wire logic              clk_i,
    input wire logic              rst_i,
    input wire logic       [63:0] time_ns_i,
    input wire roce_pkg::qp_t     cfg_i,
    input wire logic              answer_valid_i,
    input wire roce_pkg::answer_t answer_i,
    input wire logic              commit_i,
    input wire logic              send_ready_i
);

  logic full, send_valid;
  logic [23:0] next, oldest, send_seq;

  roce_qp #(
      .Slots(Slots)
  ) u_dut (
      .clk_i            (clk_i),
      .rst_i            (rst_i),
      .run_i            (1'b1),
      .time_ns_i        (time_ns_i),
      .cfg_i            (cfg_i),
      .answer_valid_i   (answer_valid_i),
      .answer_i         (answer_i),
      .abort_i          (1'b0),
      .commit_i         (commit_i),
      .full_o           (full),
      .next_o           (next),
      .oldest_o         (oldest),
      .send_valid_o     (send_valid),
      .send_seq_o       (send_seq),
      .send_ready_i     (send_ready_i),
      .is_running_o     (),
      .fail_o           (),
      .fail_status_o    (),
      .ev_ack_o         (),
      .ev_marked_o      (),
      .ev_outside_o     (),
      .ev_sequence_nak_o(),
      .ev_rnr_nak_o     (),
      .ev_copy_o        (),
      .ev_timeout_o     (),
      .ev_repeat_o      (),
      .ev_dropped_o     ()
  );

  logic [2:0] f_age_q = 0;
  roce_pkg::qp_t f_cfg_q;
  always_ff @(posedge clk_i) begin
    if (!(&f_age_q)) f_age_q <= f_age_q + 1'b1;
    f_cfg_q <= cfg_i;
  end
  always_comb begin
    assume (rst_i == (f_age_q == 0));
    if (f_age_q != 0) assume (cfg_i == f_cfg_q);
    assume (answer_i.kind <= roce_pkg::AnswerFatalNak);
    // roce_requester commits where there is room, not while a connection begins.
    if (commit_i) assume (!full && f_age_q > 3'd2);
  end

  // What was committed, sent, and acknowledged by an answer to something that was sent; from 0 on,
  // and too few to wrap.
  logic [23:0] f_next_q = 0, f_sent_q = 0, f_acked_q = 0, f_seq, f_covers;
  assign f_seq    = answer_i.psn - cfg_i.first_psn;
  assign f_covers = f_seq + 24'(answer_i.kind == roce_pkg::AnswerAck);
  // Nothing is answered that leaves only until the answer is looked at.
  always_comb
    if (answer_valid_i) assume (f_seq < f_sent_q || f_seq - f_sent_q >= 24'd8);
  always_ff @(posedge clk_i) begin
    if (f_age_q > 3'd2) begin
      if (commit_i) f_next_q <= f_next_q + 24'd1;
      if (send_valid && send_ready_i && send_seq == f_sent_q) f_sent_q <= f_sent_q + 24'd1;
      if (answer_valid_i && f_seq < f_sent_q && f_covers > f_acked_q) f_acked_q <= f_covers;
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_age_q > 3'd2) begin
      a_oldest : assert (oldest <= f_acked_q);
      if (commit_i) a_slot : assert (f_next_q - f_acked_q < 24'(Slots));
      // What is sent was committed, and nothing in front of what is new is left out.
      if (send_valid) a_sent : assert (send_seq < f_next_q && send_seq <= f_sent_q);
    end
  end

  always_ff @(posedge clk_i) begin
    c_again : cover (commit_i && f_next_q == 24'(Slots));
    c_repeat : cover (send_valid && send_seq < f_sent_q);
  end

endmodule

`default_nettype wire
