// frame_cdc: no word is shown that was not kept, none is overwritten before it is read, and each
// comes out as it went in, whatever the two clocks do.

// It begins as after a reset (sync_bits too) and none comes. The clocks are free; in each step one of
// them ticks, so that no step is wasted.
initial begin
  wr_q = '0;
  kept_q = '0;
  frames_q = '0;
  frames_gray_q = '0;
  rd_bin_q = '0;
  torn_q = 1'b0;
  rd_q = '0;
  rd_gray_q = '0;
  taken_q = '0;
  valid_q = 1'b0;
end
always_comb assume (!wr_rst_i && !rd_rst_i && (wr_clk_i || rd_clk_i));

// What is at one place, chosen freely, by the pointers that have a bit more than an address.
(* anyconst *) logic [Aw:0] f_place;
logic [Width:0] f_word;
logic f_is_out;
initial f_is_out = 1'b0;

always_ff @(posedge wr_clk_i) begin
  if (write && wr_q == f_place) f_word <= {wr_last_i, wr_data_i};
end

always_ff @(posedge rd_clk_i) begin
  if (fetch) f_is_out <= rd_q == f_place;
end

// A frame's words in the ring, and those kept of them.
logic [Aw:0] f_used, f_kept;
assign f_used = wr_q - rd_q;
assign f_kept = kept_q - rd_q;

always_comb begin
  a_no_overflow : assert (f_used <= (Aw + 1)'(Depth));
  a_kept_is_written : assert (f_kept <= f_used);
  if (fetch) a_kept_only : assert (f_kept != '0);
  if (valid_q && f_is_out && rd_q == f_place + 1'b1) a_word : assert (out_q == f_word);
  a_one_bit_frames : assert (((frames_q >> 1) ^ frames_q) == frames_gray_q);
  a_one_bit_read : assert (((rd_q >> 1) ^ rd_q) == rd_gray_q);
  c_full : cover (full && f_kept == (Aw + 1)'(Depth - 1));
  c_passes : cover (valid_q && f_is_out && taken_q == (Aw + 1)'(2) && f_place == (Aw + 1)'(3));
end
