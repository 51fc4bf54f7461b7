// frame_cdc: no word is shown that was not kept, none is overwritten before it is read, and each
// comes out as it went in, whatever the two clocks do. The assertions are an invariant: they hold
// for ever by induction.

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
  f_to_rd_meta <= {wr_rst_i, frames_gray_q};
  f_to_rd      <= f_to_rd_meta;
end

function automatic logic [Aw:0] f_bin(input logic [Aw:0] gray);
  f_bin = gray;
  for (int s = 1; s <= int'(Aw); s = s * 2) f_bin = f_bin ^ (f_bin >> s);
endfunction

// Words written and not yet read, by what each stage of the synchroniser says of the reader.
logic [Aw:0] f_used, f_used_meta, f_used_seen, f_used_reg, f_kept;
assign f_used      = wr_q - rd_q;
assign f_used_meta = wr_q - f_bin(f_to_wr_meta[Aw:0]);
assign f_used_seen = wr_q - f_bin(rd_gray_seen);
assign f_used_reg  = wr_q - rd_bin_q;
assign f_kept      = kept_q - rd_q;

// Frames whose last word has not been fetched, in the same way.
logic [Aw:0] f_frames, f_frames_meta, f_frames_seen;
assign f_frames      = frames_q - taken_d;
assign f_frames_meta = f_bin(f_to_rd_meta[Aw:0]) - taken_d;
assign f_frames_seen = f_bin(frames_seen) - taken_d;

// Last words among those kept, and among those written since.
logic [Aw:0] f_ends, f_ends_torn, f_at;
always_comb begin
  f_ends = '0;
  f_ends_torn = '0;
  f_at = '0;
  for (int i = 0; i < int'(Depth); i++) begin
    f_at = {1'b0, Aw'(i) - rd_q[Aw-1:0]};
    if (f_at < f_kept) f_ends = f_ends + (Aw + 1)'(mem[i][Width]);
    else if (f_at < f_used) f_ends_torn = f_ends_torn + (Aw + 1)'(mem[i][Width]);
  end
end

// What is at one place, chosen freely, by the pointers that have a bit more than an address.
(* anyconst *) logic [Aw:0] f_place;
logic [Width:0] f_word;
logic [Aw:0] f_ahead;  // of the reader
assign f_ahead = f_place - rd_q;
always_ff @(posedge wr_clk_i) begin
  if (write && wr_q == f_place) f_word <= {wr_last_i, wr_data_i};
end

always_comb begin
  a_synced : assert (f_to_wr == {rd_rst_seen, rd_gray_seen} && f_to_rd == {wr_rst_seen, frames_seen});
  a_resets : assert (!f_to_wr_meta[Aw+1] && !f_to_rd_meta[Aw+1] && !wr_rst_seen && !rd_rst_seen);
  a_gray : assert (f_bin(frames_gray_q) == frames_q && f_bin(rd_gray_q) == rd_q);
  a_no_overflow : assert (f_used_reg <= (Aw + 1)'(Depth));
  a_reader : assert (f_used <= f_used_meta && f_used_meta <= f_used_seen &&
                     f_used_seen <= f_used_reg);
  a_kept_is_written : assert (f_kept <= f_used);
  a_frames : assert (f_ends == f_frames && f_ends_torn == '0);
  a_writer : assert (f_frames_seen <= f_frames_meta && f_frames_meta <= f_frames);
  if (fetch) a_kept_only : assert (f_kept != '0);
  if (f_ahead < f_used) a_stored : assert (mem[f_place[Aw-1:0]] == f_word);
  if (valid_q && rd_q == f_place + 1'b1) a_word : assert (out_q == f_word);
  c_second : cover (valid_q && taken_q == (Aw + 1)'(1) && rd_q == (Aw + 1)'(3));
  c_dropped : cover (torn_q && ends);
end
