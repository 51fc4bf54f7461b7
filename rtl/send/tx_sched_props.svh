  // Properties of tx_sched; included by it for formal runs.

  logic f_reset_q = 1;
  logic [1:0] f_since_q = 2'd3;  // cycles since a stamp was given, up to 3
  logic f_stamped_q = 0, f_flush_q = 1;
  logic [31:0] f_last_q;
  logic [63:0] f_time_q, f_stamp_time_q;
  logic f_job_q = 0, f_taken_q = 0;
  logic [31:0] f_seq_q;
  always_ff @(posedge clk_i) begin
    f_reset_q <= 1'b0;
    f_flush_q <= flush_i || rst_i;
    f_time_q  <= time_ns_i;
    if (choose || leave) f_since_q <= 2'd0;
    else if (!(&f_since_q)) f_since_q <= f_since_q + 1'b1;
    f_stamped_q <= choose || leave;
    if (choose || leave) f_last_q <= last_q;
    f_job_q   <= job_valid_o;
    f_taken_q <= job_valid_o && job_ready_i;
    f_seq_q   <= seq_q;
  end
  always_comb begin
    assume (rst_i == f_reset_q);
    // The clock never falls; here it runs less than a quarter of the wrap of departures.
    assume (time_ns_i[63:AgeLow] == '0);
    if (!f_reset_q) assume (time_ns_i >= f_time_q);
    // A stream has one window, and its number is known before the stream flows.
    assume (window_i == 32'd16 && Slots >= 16);
  end

  logic f_before_q = 0;  // a stamp was given before
  always_ff @(posedge clk_i) if ((choose || leave) && !rst_i) f_before_q <= 1'b1;
  logic f_left_q = 0;
  logic [31:0] f_ctl_q;
  always_ff @(posedge clk_i) begin
    f_left_q <= leave && !rst_i;
    f_ctl_q  <= ctl_stamp_q;
  end
  logic f_second_q = 0;
  always_ff @(posedge clk_i) f_second_q <= (choose || leave) && f_before_q;

  always_ff @(posedge clk_i) begin
    if (!f_reset_q) begin
      // Departs only with credit, and in a state that sends.
      if (depart_new_o) assert (has_new_i && !depart_repeat_o);
      if (choose) assert (is_flowing && pacer_ok_i && !flush_i);
      if (depart_repeat_o) assert (cand_valid_i && cand_ready_o && |level_q);
      // Logic that counts departures has 3 cycles between them.
      if (choose || leave) assert (f_since_q >= 2'd2);
      // The budget, docs/protocol.md#4.7.
      assert (level_q <= LevelMin);
      // The stamp of a control packet is between those of DATA before it and behind it.
      if (ctl_q && f_before_q) assert (((last_q - ctl_stamp_q) >> 31) & 1'b1);
      if (f_left_q) assert (((f_ctl_q - last_q) >> 31) & 1'b1);
      // docs/protocol.md#2.6.
      if (f_second_q) assert (((f_last_q - last_q) >> 31) & 1'b1);
      // A job stands still until it is taken or flushed.
      if (f_job_q && !f_taken_q && !f_flush_q) assert (job_valid_o && seq_q == f_seq_q);
    end
    cover (depart_repeat_o && f_before_q);
    cover (leave && choose && f_before_q);
  end
