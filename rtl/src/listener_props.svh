  // Properties of listener; included by it for formal runs.

  logic f_first_q = 1;
  logic f_flush_q = 0, f_quiet_q = 0, f_open_q = 0, f_live_q = 0;
  logic [3:0] f_flushed_q = 0;  // cycles of the flush so far
  logic [31:0] f_tag_q;
  logic f_begun_q = 0;          // a flush has ended
  always_ff @(posedge clk_i) begin
    f_first_q   <= 1'b0;
    f_flush_q   <= flush_o && !rst_i;
    f_quiet_q   <= build_idle_i && !tx_busy_i;
    f_open_q    <= open_o && !rst_i;
    f_tag_q     <= stream_tag_q;
    f_flushed_q <= flush_o && !rst_i ? f_flushed_q + 4'd1 : 4'd0;
    if (open_o && !rst_i) f_begun_q <= 1'b1;
  end
  always_comb begin
    // Begins as after a reset, or with a tag about to be drawn: more than can be, and nearer to what
    // is to be seen.
    assume (!rst_i);
    if (f_first_q) begin
      assume (step_q == Idle || step_q == Tag);
      assume (!flush_o && !open_o && keep_q == '0 && tokens_q <= TokensMax);
    end
    // `stream_state` knows a stream only from its opening on.
    if (!f_begun_q) assume (state_i == sw_pkg::StateIdle);
    // What is read is an OPEN's tag, and its role or zero; the cookie is there at once: the steps
    // do not depend on more.
    assume ((rx_data_i & ~64'h0100_0000) == 64'h1_0000_0000 && mac_value_i == 32'h1_0000);
    assume (boot_i == '0 && payload_bytes_i == 16'd8 && tpl_words_i == '0 && mac_done_i);
    assume (rx_bytes_i == 16'd128 || rx_bytes_i == 16'd42);
  end

  always_ff @(posedge clk_i) begin
    if (!f_first_q) begin
      assert (step_q <= Release);
      assert (flush_o == (step_q == Keep));
      // The tag of the stream, and so the stream, changes in no cycle but those of a flush.
      if (f_begun_q && !f_flush_q) assert (stream_tag_q == f_tag_q);
      // A flush begins when nothing of the old stream is on its way, lasts long enough for every
      // module, keeps MARKs back, and ends with an opening.
      if (flush_o && !f_flush_q) assert (f_quiet_q);
      if (flush_o) assert (mark_hold_o);
      if (f_flush_q && !flush_o) assert (f_flushed_q >= 4'd4 && f_open_q);
      assert (open_o == (step_q == Keep && keep_q == 3'd7));
      if (flush_o) assert (f_flushed_q == {1'b0, keep_q});
      if (f_begun_q || (flush_o && keep_q != '0)) assert (stream_tag_q != '0);
      // A stream is never accepted without one.
      if (ans_valid_o && ans_type_q == sw_pkg::TypeAccept && !is_described_q) assert (f_begun_q);
      if (step_q == Body || step_q == Seq) assert (ans_type_q == sw_pkg::TypeCloseAck);
      if (take_token) assert (tokens_q != '0);
      assert (tokens_q <= TokensMax);
      cover (f_flush_q && !flush_o);
      cover (ans_valid_o && ans_type_q == sw_pkg::TypeCloseAck);
    end
  end
