  // Properties of roce_writer; included by it for formal runs. One connection after the other, each
  // with the same numbers: messages of any length, regions of up to three slots.

  logic [2:0] f_reset_q = 3'b111;  // a reset, and the cycles until it has acted
  always_ff @(posedge clk_i) f_reset_q <= {f_reset_q[1:0], 1'b0};
  always_comb assume (rst_i == f_reset_q[0]);

  (* anyconst *) logic [Aw:0] f_beats;
  (* anyconst *) logic [1:0] f_slots;
  (* anyconst *) logic [63:0] f_region;
  always_comb begin
    assume (f_beats != '0 && f_beats <= (Aw + 1)'(1 << Aw) && f_slots != '0);
    assume (message_bytes_i == 32'({f_beats, 3'd0}));
    assume (region_slots_i == 32'(f_slots) && region_i == f_region);
  end

  // What the requester holds: posts that were accepted and are not completed. It completes no
  // others, and after a failure none is done.
  logic [Aw:0] f_open_q;
  logic f_accept, f_is_done;
  assign f_accept  = post_valid_o && post_ready_i;
  assign f_is_done = completion_i.status == roce_pkg::StatusDone;
  always_comb begin
    if (f_open_q == '0) assume (!completion_valid_i);
    if (has_failed_o) assume (!completion_valid_i || !f_is_done);
    if (flush_q) assume (!completion_valid_i && !post_ready_i);
  end

  // The beat behind those that are acknowledged, and how many messages; the number of posts, and
  // their slot.
  logic [Aw-1:0] f_oldest_q;
  logic [31:0] f_number_q, f_done_q;
  logic [1:0] f_slot_q;
  always_ff @(posedge clk_i) begin
    f_open_q <= f_open_q + (Aw + 1)'(f_accept) - (Aw + 1)'(completion_valid_i);
    if (completion_valid_i && f_is_done) begin
      f_oldest_q <= f_oldest_q + f_beats[Aw-1:0];
      f_done_q   <= f_done_q + 32'd1;
    end
    if (f_accept) begin
      f_number_q <= f_number_q + 32'd1;
      f_slot_q   <= f_slot_q + 2'd1 == f_slots ? 2'd0 : f_slot_q + 2'd1;
    end
    if (flush_q) begin
      f_open_q   <= '0;
      f_oldest_q <= '0;
      f_number_q <= '0;
      f_done_q   <= '0;
      f_slot_q   <= '0;
    end
  end

  // Beats of the messages that are complete and not acknowledged.
  logic [Aw:0] f_complete;
  logic [2*Aw+1:0] f_held;
  assign f_complete = f_open_q + (Aw + 1)'(post_valid_o);
  assign f_held     = f_complete * f_beats + (2 * Aw + 2)'(taken_q);

  logic [63:0] f_offset, f_bytes;
  assign f_bytes  = 64'({f_beats, 3'd0});
  assign f_offset = (f_slot_q[0] ? f_bytes : 64'd0) + (f_slot_q[1] ? f_bytes + f_bytes : 64'd0);

  always_comb begin
    if (f_reset_q == '0) begin
      // No beat is written before it is acknowledged.
      assert (!(we_o && used_q[Aw]));
      assert (waddr_o == f_oldest_q + used_q[Aw-1:0] || has_failed_o);
      assert (!(we_o && (has_failed_o || flush_q)));
      assert (we_o == (s_axis_tvalid && s_axis_tready));
      // A post names the beats of its message, its slot and its number.
      if (post_valid_o) begin
        assert (post_o.addr == 40'({start_q, 3'd0}));
        assert (post_o.immediate == f_number_q && post_o.len_bytes == message_bytes_i);
        assert (post_o.remote_address == f_region + f_offset);
      end
      assert (start_q == waddr_q - taken_q[Aw-1:0] - (post_valid_o ? f_beats[Aw-1:0] : '0));
      assert (completed_o == f_done_q);
      // What induction needs.
      assert (used_q <= (Aw + 1)'(1 << Aw) && (!used_q[Aw] || is_full_q));
      assert (taken_q < f_beats);
      assert (f_slot_q < f_slots && slot_q == 32'(f_slot_q));
      assert (address_q == f_region + f_offset && posted_o == f_number_q);
      if (!has_failed_o) assert ((2 * Aw + 2)'(used_q) == f_held);
      assert (f_open_q <= (Aw + 1)'(1 << Aw) && f_complete <= (Aw + 1)'(1 << Aw));
    end
    cover (f_reset_q == '0 && is_full_q && f_complete == (Aw + 1)'(2) && posted_o == 32'd3);
    cover (f_reset_q == '0 && has_failed_o && completed_o == 32'd1);
  end
