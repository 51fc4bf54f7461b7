// What frame_store holds to, whatever comes: nothing is shown that was not kept, nothing that is
// kept or uncommitted is overwritten, and the pointers stay in order.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// eth_ip_check passes no frame of fewer than 60 bytes: what a reader skips is there.
always_comb if (valid_i && last_i && ok_i) assume (idx_q >= Iw'(Skip));

// Nothing below looks at what the frames hold.
always_comb assume (data_i == '0 && count_i == '0 && !other_version_i);

logic [Aw:0] f_used, f_kept, f_torn;
assign f_used = wr_q - rd_q;
assign f_kept = kept_q - rd_q;
assign f_torn = wr_q - kept_q;

logic f_failed_q = 1'b0;  // a frame has just failed its checks
logic [Aw:0] f_kept_was_q;
always_ff @(posedge clk_i) begin
  f_failed_q   <= valid_i && last_i && !ok_i && !rst_i;
  f_kept_was_q <= kept_q;
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    p_no_overflow : assert (f_used <= (Aw + 1)'(Words));
    p_in_order : assert (f_kept <= f_used);
    p_frames : assert (frames_used <= (Fw + 1)'(Frames));
    // Reading never enters what is not committed.
    if (fetch) p_shown_was_kept : assert (f_kept != 0 && rd_addr - rd_q < f_kept);
    if (write) p_room : assert (f_used < (Aw + 1)'(Words));
    if (frames_used == 0) p_nothing_shown : assert (!valid_q && f_kept == 0);
    if (idx_q == 0) p_rolled_back : assert (f_torn == 0);
    if (f_failed_q) p_forgotten : assert (kept_q == f_kept_was_q);
    c_full : cover (f_used == (Aw + 1)'(Words));
    c_second : cover (frames_read_q == 2 && c_valid_o && c_last_o);
  end
end
