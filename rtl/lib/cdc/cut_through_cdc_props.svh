// cut_through_cdc: frames leave whole or end with rd_bad_o, no two are joined and no fragment is a
// frame, whatever the clocks and resets do. Each word carries the place that it has in its stream:
// whether it is the last of its frame, its frame's number modulo 2, its own number (0 is the first only).
// The stream goes on through its own resets; one that begins again is left to the testbench.

logic f_id;
logic [1:0] f_num;
initial begin
  f_id = '0;
  f_num = '0;
end
function automatic logic [1:0] f_next(input logic [1:0] num);
  f_next = num == 2'd3 ? 2'd1 : num + 2'd1;
endfunction
always_comb assume (wr_data_i == {wr_last_i, f_id, f_num});
always_ff @(posedge wr_clk_i) begin
  if (wr_valid_i && wr_ready_o) begin
    f_num <= wr_last_i ? 2'd0 : f_next(f_num);
    f_id  <= f_id ^ wr_last_i;
  end
end

// What the reader has taken of a frame, and what was offered to it and not taken.
logic f_open, f_shown, f_shown_last, f_shown_bad, f_cut;
logic f_in_id;
logic [1:0] f_in_num, f_beats, f_whole;
initial begin
  f_open = 1'b0;
  f_shown = 1'b0;
  f_beats = '0;
  f_whole = '0;
  f_cut = 1'b0;
end
always_ff @(posedge rd_clk_i) begin
  f_shown      <= rd_valid_o && !rd_ready_i && !rd_rst_i;
  f_shown_last <= rd_last_o;
  f_shown_bad  <= rd_bad_o;
  if (rd_rst_i) begin
    f_open  <= 1'b0;
    f_beats <= '0;
  end else if (sent) begin
    f_open  <= !rd_last_o;
    f_beats <= rd_last_o ? '0 : f_beats == '1 ? f_beats : f_beats + 1'b1;
    if (!closing) {f_in_id, f_in_num} <= rd_data_o[2:0];
    f_cut   <= f_cut || rd_bad_o;
    f_whole <= f_cut && rd_last_o && !rd_bad_o && f_beats != '0 ? f_whole + 1'b1 : f_whole;
  end
end

// The newest word taken ended a bad frame; what is in hand never does.
logic f_ended_bad, f_held_bad;
initial begin
  f_ended_bad = 1'b0;
  f_held_bad = 1'b0;
end
always_ff @(posedge rd_clk_i) begin
  if (fifo_take && next_valid) f_ended_bad <= fifo_bad && !skip_q;
  if (fifo_take) f_held_bad <= next_valid && !skip_q && fifo_bad;
end

always_comb begin
  if (held_q) a_not_bad : assert (!f_held_bad);
  if (f_open) a_no_gap : assert (rd_valid_o);
  if (f_shown) a_stays : assert (rd_valid_o && rd_last_o == f_shown_last && rd_bad_o == f_shown_bad);
  if (rd_valid_o && !f_open) a_first : assert (rd_data_o[1:0] == 2'd0 && !rd_bad_o && !closing);
  if (rd_valid_o && f_open && !closing) begin
    a_one_frame : assert (rd_data_o[2:0] == {f_in_id, f_next(f_in_num)});
  end
  if (rd_valid_o && !rd_bad_o) a_last : assert (rd_last_o == (rd_data_o[3] && !closing));
  if (rd_bad_o) a_bad : assert (rd_valid_o && rd_last_o && 32'(f_beats) + 1 >= MinBeats);
  c_cut : cover (rd_bad_o && sent && cut_q);
  c_bad : cover (rd_bad_o && sent && f_ended_bad);
  c_late : cover (rd_bad_o && sent && skip_q);
  c_whole : cover (f_whole == 2'd1);
end
