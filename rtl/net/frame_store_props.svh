// What frame_store holds to, whatever comes: nothing is shown that was not kept, nothing that is
// kept or uncommitted is overwritten, and the pointers stay in order.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// eth_ip_check passes no frame of fewer than 60 bytes: what a reader skips is there.
always_comb if (valid_i && last_i && ok_i) assume (idx_q >= Iw'(Skip));

// Two bits of each beat are free; of the fields that a frame names only the MAC address lies in so
// few beats.
always_comb assume (data_i[63:49] == '0 && data_i[47:1] == '0 && count_i == '0);

// One beat of one frame, chosen once for all, is followed from the input to the output.
(* anyconst *) logic [1:0] f_frame;
(* anyconst *) logic [Iw-1:0] f_beat;
logic [1:0] f_in_q = 0, f_out_q = 0;  // frames kept, and taken, up to 3
logic [Iw-1:0] f_len_q, f_index_q = 0;
logic [Iw-1:0] f_at;  // of the beat at the output
logic [7:0] f_byte_q;
logic [2:0] f_class_q;
logic f_is_kept_q = 0;
logic f_mac_hi_q, f_mac_lo_q;  // the free bits of its source address
assign f_at = f_index_q + (c_meta_o.cls == net_pkg::ClassReport ? Iw'(Skip) : '0);
always_ff @(posedge clk_i) begin
  if (write && f_in_q == f_frame && idx_q == f_beat) f_byte_q <= data_i[7:0];
  if (write && f_in_q == f_frame && idx_q == Iw'(6 / Nb)) f_mac_hi_q <= data_i[48];
  if (write && f_in_q == f_frame && idx_q == Iw'(8 / Nb)) f_mac_lo_q <= data_i[0];
  if (keep) begin
    if (f_in_q != '1) f_in_q <= f_in_q + 1'b1;
    if (f_in_q == f_frame && f_frame != '1) begin
      f_is_kept_q <= 1'b1;
      f_len_q     <= idx_q + Iw'(fits);
      f_class_q   <= {other_version_i, cls_i};
    end
  end
  if (c_valid_o && c_ready_i) begin
    f_index_q <= c_last_o ? '0 : f_index_q + 1'b1;
    if (c_last_o && f_out_q != '1) f_out_q <= f_out_q + 1'b1;
  end
  if (rst_i) begin
    f_in_q      <= '0;
    f_out_q     <= '0;
    f_index_q   <= '0;
    f_is_kept_q <= 1'b0;
  end
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i && c_valid_o && f_out_q == f_frame && f_frame != '1) begin
    p_of_a_frame : assert (f_is_kept_q);
    p_class : assert ({c_meta_o.other_version, c_meta_o.cls} == f_class_q);
    p_mac_hi : assert (c_meta_o.peer.mac[47:32] == {7'd0, f_mac_hi_q, 8'd0});
    if (f_len_q > Iw'(8 / Nb))
      p_mac_lo : assert (c_meta_o.peer.mac[31:0] == {7'd0, f_mac_lo_q, 24'd0});
    p_last : assert (c_last_o == (f_at + 1'b1 == f_len_q));
    if (f_at == f_beat) p_content : assert (c_data_o[7:0] == f_byte_q);
  end
end

logic [Aw:0] f_used, f_kept, f_torn;
assign f_used = wr_q - rd_q;
assign f_kept = kept_q - rd_q;
assign f_torn = wr_q - kept_q;

// A frame is kept where all that is stored of it found room, and where it is not the stream's
// REPORT less than half is in use, as it was a cycle before.
logic f_lost_q = 1'b0;  // a beat of this frame found no room
logic f_loses, f_half_q, f_room_q, f_keeps;
assign f_loses = valid_i && idx_q < Iw'(Keep) &&
    (f_used == (Aw + 1)'(Words) || frames_used == (Fw + 1)'(Frames));
assign f_keeps = valid_i && last_i && ok_i && !f_lost_q && !f_loses &&
    (cls_i == net_pkg::ClassReport || !f_half_q);
always_ff @(posedge clk_i) begin
  f_lost_q <= !rst_i && (valid_i && last_i ? 1'b0 : f_lost_q || f_loses);
  f_half_q <= !rst_i && (f_used >= (Aw + 1)'(Words / 2) || frames_used >= (Fw + 1)'(Frames / 2));
  f_room_q <= 32'(f_used) + 3 * Keep <= Words && 32'(frames_used) + 4 <= Frames;
end

// What is shown stands until it is taken.
logic f_stood_q = 1'b0;
logic [64:0] f_beat_was_q;
net_pkg::rx_meta_t f_meta_was_q;
always_ff @(posedge clk_i) begin
  f_stood_q    <= c_valid_o && !c_ready_i && !rst_i;
  f_beat_was_q <= {c_last_o, c_data_o};
  f_meta_was_q <= c_meta_o;
end

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
    p_kept : assert (ev_kept_o == f_keeps);
    p_no_room_counted : assert (ev_no_room_o == (valid_i && last_i && ok_i && !f_keeps));
    p_room_shown : assert (room_o == f_room_q);
    if (f_stood_q)
      p_stands : assert (c_valid_o && {c_last_o, c_data_o} == f_beat_was_q &&
                         c_meta_o == f_meta_was_q);
    if (f_failed_q) p_forgotten : assert (kept_q == f_kept_was_q);
    c_full : cover (f_used == (Aw + 1)'(Words));
    c_second : cover (frames_read_q == 2 && c_valid_o && c_last_o);
    c_report : cover (c_valid_o && c_last_o && f_out_q == f_frame && f_is_kept_q &&
                      c_meta_o.cls == net_pkg::ClassReport);
  end
end
