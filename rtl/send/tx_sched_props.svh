  // Properties of tx_sched; included by it for formal runs.

  logic f_reset_q = 1;
  logic [1:0] f_since_q = 2'd3;  // cycles since a stamp was given, up to 3
  logic f_flush_q = 1, f_job_q = 0, f_taken_q = 0;
  logic [31:0] f_seq_q;
  always_ff @(posedge clk_i) begin
    f_reset_q <= 1'b0;
    f_flush_q <= flush_i || rst_i;
    if (choose || leave) f_since_q <= 2'd0;
    else if (!(&f_since_q)) f_since_q <= f_since_q + 1'b1;
    f_job_q   <= job_valid_o;
    f_taken_q <= job_valid_o && job_ready_i;
    f_seq_q   <= seq_q;
  end

  // The clock never falls, and rises by less than 62 epochs (17 minutes) in two cycles: what the
  // epochs tell apart. It begins anywhere below 2^46 ns, and so passes every wrap of departures. Bits 33 to
  // 13 are all ones or all zero, so that a carry goes through them; any others cost minutes.
  logic [63:0] f_time_q, f_time_qq;
  logic [59:0] f_now_q;  // in units of departures, of the cycle before
  assign f_now_q = f_time_q[63:4];
  always_ff @(posedge clk_i) begin
    f_time_q  <= time_ns_i;
    f_time_qq <= f_reset_q ? time_ns_i : f_time_q;
  end
  (* anyconst *) logic [31:0] f_window;
  always_comb begin
    assume (rst_i == f_reset_q);
    assume (!(|time_ns_i[63:46]) && (&time_ns_i[33:13] || !(|time_ns_i[33:13])));
    if (!f_reset_q)
      assume (time_ns_i >= f_time_q && time_ns_i - f_time_qq < (64'd62 << AgeLow));
    // A stream has one window, and its number is known before the stream flows.
    assume (window_i == f_window);
  end
  logic [31:0] f_quarter;
  logic [LevelWidth-1:0] f_capacity;
  assign f_quarter  = f_window >> 2;
  assign f_capacity = f_quarter > 32'((1 << LevelWidth) - 1) ? '1 :
      f_quarter > 32'(LevelMin) ? f_quarter[LevelWidth-1:0] : LevelMin;

  // Stamps as docs/protocol.md#2.6 gives them, without a wrap: the later of the clock, as it was in
  // the cycle before, and the last stamp plus one. Behind a control packet they are odd.
  logic [59:0] f_last_q, f_ctl_q, f_left_q;
  logic f_any_q = 0, f_left_now_q = 0, f_risen;
  assign f_risen = !f_any_q || f_now_q > f_last_q;
  always_ff @(posedge clk_i) begin
    if (choose || leave) begin
      f_last_q <= f_risen ? {f_now_q[59:1], f_now_q[0] || leave} : f_last_q + 1'b1;
      f_any_q  <= !rst_i;
    end
    if (grant) f_ctl_q <= {(f_risen ? f_now_q[59:1] : f_last_q[59:1]) + 59'(CtlLead[31:1]), 1'b0};
    f_left_now_q <= leave && !rst_i;
    f_left_q     <= f_ctl_q;
  end

  // The budget, docs/protocol.md#4.7: a flush fills it, and an RTT after it was last full or filled;
  // each repeat takes one.
  logic [LevelWidth-1:0] f_level_q;
  logic [SpanWidth-1:0] f_filled_q;
  logic f_full_q, f_over_q, f_fills;
  assign f_fills = (f_over_q || flush_i) && !depart_repeat_o;
  initial assume (f_filled_q == filled_q && f_over_q == is_over_q && f_full_q == is_full_q);
  always_ff @(posedge clk_i) begin
    f_level_q <= depart_repeat_o ? f_level_q - 1'b1 : f_fills ? capacity_q : f_level_q;
    f_full_q  <= f_level_q == capacity_q && !rst_i;
    f_over_q  <= span - f_filled_q > rtt_i[4+:SpanWidth] && !f_fills;
    if (f_full_q || f_fills) f_filled_q <= span;
    if (rst_i) f_level_q <= '0;
  end

  // What was chosen last, and the slot of the job that was taken last.
  logic f_chosen_q = 0, f_repeat_q, f_read_q = 0;
  logic [31:0] f_chosen_seq_q;
  logic [Sw-1:0] f_chosen_slot, f_read_slot_q;
  assign f_chosen_slot = f_chosen_seq_q[Sw-1:0];
  always_ff @(posedge clk_i) begin
    f_chosen_q <= choose && !rst_i;
    if (choose) begin
      f_repeat_q     <= depart_repeat_o;
      f_chosen_seq_q <= depart_repeat_o ? cand_seq_i : sent_i;
    end
    if (job_valid_o && job_ready_i) begin
      f_read_q      <= !rst_i;
      f_read_slot_q <= f_chosen_slot;
    end
  end

  logic f_second_q = 0;  // of two stamps
  always_ff @(posedge clk_i) f_second_q <= (choose || leave) && f_any_q;

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      // Departs only with credit, and in a state that sends.
      if (depart_new_o) assert (has_new_i && !depart_repeat_o);
      if (ctl_grant_o) assert (ctl_want_i && !ctl_busy_i && !ctl_q);
      if (choose) assert (is_flowing && pacer_ok_i && !flush_i);
      if (depart_repeat_o) assert (cand_valid_i && cand_ready_o && |level_q);
      // Logic that counts departures has 3 cycles between them.
      if (choose || leave) assert (f_since_q >= 2'd2);
      // The budget, docs/protocol.md#4.7.
      assert (level_q <= f_capacity);
      a_level : assert (level_q == f_level_q);
      // A departure is written and charged once, behind its choice; the job names the same packet.
      a_departs : assert (dep_we_o == f_chosen_q && charge_o == f_chosen_q);
      if (f_chosen_q)
        a_writes : assert (dep_waddr_o == f_chosen_slot && dep_wdata_o == f_last_q[31:0] &&
                           charge_bytes_o == slot_data_i.len_bytes + FrameBytes);
      if (job_valid_o)
        a_job : assert (job_o.seq == f_chosen_seq_q && job_o.departure == f_last_q[31:0] &&
                        job_o.desc.addr == 40'(f_chosen_slot) * 40'(SlotBytes) &&
                        job_o.desc.flags == (slot_data_i.flags |
                                             (f_repeat_q ? wire_pkg::FlagRetransmission : '0)));
      if (job_valid_o && !job_ready_i) a_slot : assert (slot_addr_o == f_chosen_slot);
      if (choose)
        a_next_slot : assert (slot_addr_o == (depart_repeat_o ? Sw'(cand_seq_i) : Sw'(sent_i)));
      if (f_flush_q) a_withdrawn : assert (!job_valid_o);
      // Nothing may be written to a slot that is still to be read.
      if (job_valid_o && f_chosen_slot == next_i[Sw-1:0]) a_holds_job : assert (hold_o);
      if (f_read_q)
        a_hold : assert (hold_o == ((job_valid_o && f_chosen_slot == next_i[Sw-1:0]) ||
                                    (fetch_busy_i && f_read_slot_q == next_i[Sw-1:0])));
      // The stamps are those of the rule.
      if (f_any_q) a_stamp : assert (last_q == f_last_q[31:0]);
      if (ctl_q) a_place : assert (ctl_stamp_q == f_ctl_q[31:0]);
      // That of a control packet is behind those of DATA before it, before those of DATA behind it,
      // and not ahead of the clock when it leaves.
      if (ctl_q && f_any_q) a_before : assert (f_last_q < f_ctl_q);
      if (f_left_now_q) a_behind : assert (f_last_q > f_left_q);
      if (leave) a_not_early : assert (f_now_q >= f_ctl_q);
      // A packet that is built leaves once the clock is there: no DATA is chosen before it.
      if (ctl_q && choose && f_now_q >= f_ctl_q) a_in_time : assert (leave);
      // A job stands still until it is taken or flushed.
      if (f_job_q && !f_taken_q && !f_flush_q) assert (job_valid_o && seq_q == f_seq_q);
    end
    c_repeat : cover (!f_reset_q && depart_repeat_o && f_any_q);
    c_leaves : cover (!f_reset_q && leave && choose && f_any_q);
    // A stamp after a silence in which departures wrapped, and one ahead of the clock.
    c_silence : cover (f_second_q && f_since_q == 0 && f_last_q[59:32] != '0 && last_epoch_q == '0);
    c_ahead : cover (f_second_q && !f_reset_q && f_last_q > f_now_q + 60'd1);
  end
