// async_fifo: nothing is lost, doubled or reordered, whatever the two clocks do; two words, chosen
// freely, one behind the other, are followed from their write to their read.

// It begins as after a reset (sync_bits too) and none comes. The clocks are free; in each step one of
// them ticks, so that no step is wasted.
initial begin
  wr_bin_q = '0;
  wr_gray_q = '0;
  rd_bin_q = '0;
  rd_gray_q = '0;
  rd_valid_q = 1'b0;
end
always_comb assume (!wr_rst_i && !rd_rst_i && (wr_clk_i || rd_clk_i));

// Writes and reads are counted; word number f_mark and the next carry f_first and f_second.
(* anyconst *) logic [Aw+1:0] f_mark;
(* anyconst *) logic [Width-1:0] f_first, f_second;
logic [Aw+1:0] f_written, f_taken;
initial f_written = '0;
initial f_taken = '0;

always_ff @(posedge wr_clk_i) begin
  if (wr_valid_i && wr_ready_o) f_written <= f_written + 1'b1;
end

always_ff @(posedge rd_clk_i) begin
  if (rd_valid_o && rd_ready_i) f_taken <= f_taken + 1'b1;
end

logic [Aw+1:0] f_next;
assign f_next = f_mark + 1'b1;

always_comb begin
  if (f_written == f_mark) assume (wr_data_i == f_first);
  if (f_written == f_next) assume (wr_data_i == f_second);
end

logic [Aw+1:0] f_held;
assign f_held = f_written - f_taken;

always_comb begin
  a_no_overflow : assert (f_held <= (Aw + 2)'(Depth + 1));
  a_no_underflow : assert (!(rd_valid_o && f_held == '0));
  if (rd_valid_o && f_taken == f_mark) a_first : assert (rd_data_o == f_first);
  if (rd_valid_o && f_taken == f_next) a_second : assert (rd_data_o == f_second);
  c_full : cover (!wr_ready_o && f_held == (Aw + 2)'(Depth + 1));
  c_both_pass : cover (f_taken == (Aw + 2)'(3) && f_mark == (Aw + 2)'(1) && f_held == '0);
end
