// frame_cdc: no word is shown that was not kept, none is overwritten before it is read, each comes out
// as it went in, frames leave whole and without a gap, and none that was written before a stop comes
// out after it, whatever the clocks and resets do. The assertions are an invariant: they hold for
// ever by induction.

// Pointers begin at 0 here, as the first stop leaves them.
initial begin
  wr_q = '0;
  kept_q = '0;
  frames_q = '0;
  frames_gray_q = '0;
  rd_bin_q = '0;
  rd_q = '0;
  rd_gray_q = '0;
  taken_q = '0;
  valid_q = 1'b0;
end

// The synchronisers' first flops: yosys merges these with those.
logic [Aw:0] f_to_wr_meta, f_to_wr, f_to_rd_meta, f_to_rd;
initial begin
  f_to_wr_meta = '0;
  f_to_wr = '0;
  f_to_rd_meta = '0;
  f_to_rd = '0;
end
always_ff @(posedge wr_clk_i) begin
  f_to_wr_meta <= rd_gray_q;
  f_to_wr      <= f_to_wr_meta;
end
always_ff @(posedge rd_clk_i) begin
  f_to_rd_meta <= frames_gray_q;
  f_to_rd      <= f_to_rd_meta;
end

function automatic logic [Aw:0] f_bin(input logic [Aw:0] gray);
  f_bin = gray;
  for (int s = 1; s <= int'(Aw); s = s * 2) f_bin = f_bin ^ (f_bin >> s);
endfunction

localparam logic [Aw:0] FDepth = (Aw + 1)'(Depth);

// Words written and not yet read, by what each stage of the synchroniser says of the reader.
logic [Aw:0] f_used, f_used_meta, f_used_seen, f_used_reg, f_kept;
assign f_used      = wr_q - rd_q;
assign f_used_meta = wr_q - f_bin(f_to_wr_meta);
assign f_used_seen = wr_q - f_bin(rd_gray_seen);
assign f_used_reg  = wr_q - rd_bin_q;
assign f_kept      = kept_q - rd_q;
// Words of the frame that is being written.
logic [Aw:0] f_new;
assign f_new = wr_q - kept_q;

// Frames whose last word has not been fetched, in the same way.
logic [Aw:0] f_frames, f_frames_meta, f_frames_seen;
assign f_frames      = frames_q - taken_d;
assign f_frames_meta = f_bin(f_to_rd_meta) - taken_d;
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

// A frame of the reader's: a beat was taken, its last one was not.
logic f_mid;
initial f_mid = 1'b0;
always_ff @(posedge rd_clk_i) begin
  if (rd_rst_i) f_mid <= 1'b0;
  else if (valid_q && rd_ready_i) f_mid <= !out_q[Width];
end

// A beat of a frame that fills the FIFO alone waited in the cycle before.
logic f_filled_q;
initial f_filled_q = 1'b0;
always_ff @(posedge wr_clk_i) f_filled_q <= !Lossy && wr_valid_i && f_new == FDepth && !wr_rst_i;

// Where both are in one round of stops (reset_ctrl) the pointers can be compared.
logic f_same, f_wr_ok, f_rd_ok;
assign f_same  = f_wr_same[2];
assign f_wr_ok = f_wr_run || f_wr_clear;
assign f_rd_ok = f_rd_run || f_rd_clear;

always_comb begin
  a_synced : assert (f_to_wr == rd_gray_seen && f_to_rd == frames_seen);
  a_gray : assert (f_bin(frames_gray_q) == frames_q && f_bin(rd_gray_q) == rd_q);
  if (f_rd_same[2]) a_used : assert (f_used <= FDepth && f_new <= f_used);
  if (f_rd_same[1]) a_used_meta : assert (f_used_meta <= FDepth && f_new <= f_used_meta);
  if (f_rd_same[0]) a_used_seen : assert (f_used_seen <= FDepth && f_new <= f_used_seen);
  if (f_wr_ok) a_used_reg : assert (f_used_reg <= FDepth && f_new <= f_used_reg);
  if (&f_rd_same[2:1]) a_reader : assert (f_used <= f_used_meta);
  if (&f_rd_same[1:0]) a_reader_seen : assert (f_used_meta <= f_used_seen);
  if (f_wr_ok && f_rd_same[0]) a_reader_reg : assert (f_used_seen <= f_used_reg);
  if (f_wr_ok && !f_rd_same[0]) a_reader_old : assert (f_wr_clear);
  if (f_same && f_rd_ok) a_frames : assert (f_ends == f_frames && f_ends_torn == '0);
  if (f_rd_ok && &f_wr_same[2:1]) a_writer : assert (f_frames_meta <= f_frames);
  if (f_rd_ok && &f_wr_same[1:0]) a_writer_seen : assert (f_frames_seen <= f_frames_meta);
  if (f_wr_clear) a_empty : assert (!(f_rd_same[2] && f_used != '0) && !(f_rd_same[1] && f_used_meta != '0) &&
                                    !(f_rd_same[0] && f_used_seen != '0));
  // Who has cleared first waits at 0, and each stage shows it.
  if (f_wr_clear || f_wr_next[2])
    a_wr_clear : assert ({wr_q, kept_q, frames_q} == '0 && (!f_wr_clear || rd_bin_q == '0));
  if (f_rd_clear || f_rd_next[2]) a_rd_clear : assert ({rd_q, taken_q} == '0 && !valid_q);
  a_wr_stages : assert (!(f_wr_next[1] && f_to_rd_meta != '0) && !(f_wr_next[0] && frames_seen != '0));
  a_rd_stages : assert (!(f_rd_next[1] && f_to_wr_meta != '0) && !(f_rd_next[0] && rd_gray_seen != '0));
  if (valid_q) a_stop : assert (f_rd_run);
  if (write) a_write : assert (f_same && f_rd_same[0] && f_wr_run);
  if (fetch) a_kept_only : assert (f_same && f_kept != '0);
  if (f_same && f_ahead < f_used) a_stored : assert (mem[f_place[Aw-1:0]] == f_word);
  if (valid_q && rd_q == f_place + 1'b1) a_word : assert (f_same && out_q == f_word);
  if (valid_q && !out_q[Width]) a_seen : assert (f_frames_seen != '0 && f_wr_same[0]);
  if (f_mid) a_no_gap : assert (valid_q);
  if (f_doubt) a_doubt : assert (drop && f_open);
  // A frame is written from its first beat on; f_open: one is under way in the stream.
  if (f_open && !drop) a_open : assert (f_new != '0 && f_wr_run);
  if (write && f_new == '0) a_whole : assert (!f_open);
  if (f_new != '0 && f_wr_run) a_begun : assert (f_open && !f_doubt);
  // A frame that ends outside its writer's reset is kept, or counted once.
  if (take && wr_last_i && !wr_rst_i)
    a_counted : assert (ev_bad_o == wr_bad_i && ev_no_room_o == (!wr_bad_i && !write));
  else a_no_event : assert (!ev_bad_o && !ev_no_room_o);
  // It waits no longer: the frame is dropped.
  if (f_filled_q && f_open) a_too_long : assert (drop && wr_ready_o == !wr_rst_i);
  c_second : cover (valid_q && taken_q == (Aw + 1)'(1) && rd_q == (Aw + 1)'(3));
  c_dropped : cover (drop && ends);
  // The writer was reset; the frame that is leaving goes on.
  c_asked : cover (rd_asked && f_mid && !out_q[Width]);
end

// A stop after which a frame passes again.
logic f_wr_once, f_rd_once;
initial begin
  f_wr_once = 1'b0;
  f_rd_once = 1'b0;
end
always_ff @(posedge wr_clk_i) f_wr_once <= f_wr_once || (wr_clear && wr_q == (Aw + 1)'(2));
always_ff @(posedge rd_clk_i) f_rd_once <= f_rd_once || (rd_clear && rd_q == (Aw + 1)'(2));
always_comb begin
  c_after_wr : cover (f_wr_once && valid_q && rd_q == (Aw + 1)'(1));
  c_after_rd : cover (f_rd_once && valid_q && rd_q == (Aw + 1)'(1));
end
