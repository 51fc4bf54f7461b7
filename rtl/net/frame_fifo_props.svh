// frame_fifo: what comes out is what came in, frame by frame; nothing is overwritten before it is
// read; a frame that departed ends, with tuser where it is not whole.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);
always_ff @(posedge clk_i) if (f_past_q) assume (!rst_i);

// Each beat carries its frame's number and its own in the frame; keep is full but at its end.
logic [W/2-1:0] f_frame_q, f_beat_q;
always_ff @(posedge clk_i) begin
  if (rst_i) begin
    f_frame_q <= '0;
    f_beat_q  <= '0;
  end else if (s_axis_tvalid) begin
    f_beat_q <= s_axis_tlast ? '0 : f_beat_q + 1'b1;
    if (s_axis_tlast) f_frame_q <= f_frame_q + 1'b1;
  end
end
always_comb begin
  assume (s_axis_tdata == {f_frame_q, f_beat_q} && s_axis_tkeep[0]);
  assume ((s_axis_tkeep & (s_axis_tkeep + 1'b1)) == '0 && (s_axis_tlast || &s_axis_tkeep));
end

// A beat of the frame that comes found no room. One place is for the end of what departed.
logic f_lost_q, f_loses;
assign f_loses = s_axis_tvalid && (CutThrough ? used + 1'b1 >= (Aw + 1)'(Beats) && !(departed &&
    s_axis_tlast) : used == (Aw + 1)'(Beats));
always_ff @(posedge clk_i) begin
  if (rst_i) f_lost_q <= 1'b0;
  else if (s_axis_tvalid) f_lost_q <= !s_axis_tlast && (f_lost_q || f_loses);
end

// A frame, chosen freely: what became of it.
(* anyconst *) logic [W/2-1:0] f_frame;
logic [W/2-1:0] f_length_q;  // its beats, once its last came
logic f_came_q, f_kept_q, f_cut_q, f_gone_q;
logic [W/8-1:0] f_keep_q;  // of its last
logic f_ends;
assign f_ends = s_axis_tvalid && s_axis_tlast && f_frame_q == f_frame;
always_ff @(posedge clk_i) begin
  if (rst_i) {f_came_q, f_kept_q, f_cut_q, f_gone_q} <= 4'd0;
  else if (f_ends) begin
    f_came_q   <= 1'b1;
    f_kept_q   <= ev_kept_o;
    f_cut_q    <= ev_cut_o;
    f_gone_q   <= ev_bad_o || ev_no_room_o;
    f_length_q <= f_beat_q + 1'b1;
    f_keep_q   <= s_axis_tkeep;
  end
end

// The output: which beat must come next.
logic [W/2-1:0] f_out_q;  // in its frame
logic f_taken, f_is_its;
assign f_taken  = m_axis_tvalid && m_axis_tready;
assign f_is_its = m_axis_tdata[W-1:W/2] == f_frame;
logic [W/2-1:0] f_open_q;  // the frame under way at the output
logic f_seen_q;            // that frame was shown
always_ff @(posedge clk_i) begin
  f_seen_q <= !rst_i && (f_seen_q || (m_axis_tvalid && f_is_its));
  if (rst_i) f_out_q <= '0;
  else if (f_taken) begin
    f_out_q  <= m_axis_tlast ? '0 : f_out_q + 1'b1;
    f_open_q <= m_axis_tdata[W-1:W/2];
  end
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    p_no_overflow : assert (used <= (Aw + 1)'(Beats));
    if (write) p_room : assert (used < (Aw + 1)'(Beats));
    p_one_event : assert (32'(ev_kept_o) + 32'(ev_bad_o) + 32'(ev_no_room_o) + 32'(ev_cut_o)
                          == 32'(s_axis_tvalid && s_axis_tlast));
    // Which event, where none of the frame has departed.
    if (ev_kept_o || ev_bad_o) p_verdict : assert (s_axis_tuser == ev_bad_o);
    if (ev_kept_o || ev_bad_o) p_had_room : assert (!f_lost_q && !f_loses);
    if (ev_no_room_o) p_had_none : assert (f_lost_q || f_loses);
    if (f_ends && (ev_bad_o || ev_no_room_o))
      p_departed_ends : assert (!f_seen_q && !(m_axis_tvalid && f_is_its));
    // What was cut had departed.
    if (f_came_q && f_cut_q) p_cut : assert (f_seen_q || (m_axis_tvalid && f_is_its));
    if (m_axis_tvalid) begin
      p_in_order : assert (m_axis_tdata[W/2-1:0] == f_out_q);
      if (f_out_q != '0) p_not_mixed : assert (m_axis_tdata[W-1:W/2] == f_open_q);
      if (f_is_its && f_came_q) p_dropped_whole : assert (!f_gone_q);
      if (f_is_its && m_axis_tlast && f_came_q && f_kept_q)
        p_whole : assert (!m_axis_tuser && f_out_q + 1'b1 == f_length_q &&
                          m_axis_tkeep == f_keep_q);
      if (!m_axis_tlast) p_full : assert (&m_axis_tkeep);
      if (f_is_its && m_axis_tlast && f_came_q && f_cut_q) p_marked : assert (m_axis_tuser);
      if (m_axis_tlast && m_axis_tuser) p_mark_is_a_cut : assert (CutThrough);
      if (!CutThrough && f_is_its) p_stored_first : assert (f_came_q);
    end
    c_full : cover (used == (Aw + 1)'(Beats));
    c_second : cover (f_taken && m_axis_tlast && m_axis_tdata[W-1:W/2] == (W/2)'(1));
    c_dropped : cover (ev_no_room_o && f_frame_q != '0);
    c_marked : cover (!CutThrough || f_taken && m_axis_tlast && m_axis_tuser);
  end
end
