// async_fifo: nothing is lost, doubled or reordered, whatever the two clocks do. The assertions are
// an invariant: they hold for ever by induction.

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

// The synchronisers' first flops: yosys merges these with those.
logic [Aw+1:0] f_to_wr_meta, f_to_wr, f_to_rd_meta, f_to_rd;
initial begin
  f_to_wr_meta = '0;
  f_to_wr = '0;
  f_to_rd_meta = '0;
  f_to_rd = '0;
end
always_ff @(posedge wr_clk_i) begin
  f_to_wr_meta <= {rd_rst_i, rd_gray_q};
  f_to_wr      <= f_to_wr_meta;
end
always_ff @(posedge rd_clk_i) begin
  f_to_rd_meta <= {wr_rst_i, wr_gray_q};
  f_to_rd      <= f_to_rd_meta;
end

function automatic logic [Aw:0] f_bin(input logic [Aw:0] gray);
  f_bin = gray;
  for (int s = 1; s <= int'(Aw); s = s * 2) f_bin = f_bin ^ (f_bin >> s);
endfunction

// Words in the storage, by what each stage says of the reader to the writer, and the other way.
logic [Aw:0] f_used, f_used_meta, f_used_seen, f_there_meta, f_there_seen;
assign f_used       = wr_bin_q - rd_bin_q;
assign f_used_meta  = wr_bin_q - f_bin(f_to_wr_meta[Aw:0]);
assign f_used_seen  = wr_bin_q - f_bin(rd_gray_seen);
assign f_there_meta = f_bin(f_to_rd_meta[Aw:0]) - rd_bin_q;
assign f_there_seen = f_bin(wr_gray_seen) - rd_bin_q;

// What is at one place, chosen freely, by the pointers that have a bit more than an address.
(* anyconst *) logic [Aw:0] f_place;
logic [Width-1:0] f_word;
logic [Aw:0] f_ahead;  // of the reader
assign f_ahead = f_place - rd_bin_q;
always_ff @(posedge wr_clk_i) begin
  if (wr_take && wr_bin_q == f_place) f_word <= wr_data_i;
end

always_comb begin
  a_synced : assert (f_to_wr == {rd_rst_seen, rd_gray_seen} && f_to_rd == {wr_rst_seen, wr_gray_seen});
  a_resets : assert (!f_to_wr_meta[Aw+1] && !f_to_rd_meta[Aw+1] && !wr_rst_seen && !rd_rst_seen);
  a_gray : assert (f_bin(wr_gray_q) == wr_bin_q && f_bin(rd_gray_q) == rd_bin_q);
  a_no_overflow : assert (f_used_seen <= (Aw + 1)'(Depth));
  a_reader : assert (f_used <= f_used_meta && f_used_meta <= f_used_seen);
  a_writer : assert (f_there_seen <= f_there_meta && f_there_meta <= f_used);
  if (rd_take) a_no_underflow : assert (f_used != '0);
  if (f_ahead < f_used) a_stored : assert (mem[f_place[Aw-1:0]] == f_word);
  if (rd_valid_q && rd_bin_q == f_place + 1'b1) a_word : assert (rd_data_q == f_word);
  c_full : cover (!wr_ready_o && f_used == (Aw + 1)'(Depth) && rd_valid_q);
  c_passes : cover (rd_valid_q && rd_bin_q == (Aw + 1)'(3) && f_place == (Aw + 1)'(2));
end
