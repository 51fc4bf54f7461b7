// async_fifo: nothing is lost, doubled or reordered between two stops, and no word comes out that was
// written before the last one, whatever the clocks and resets do. The assertions are an invariant:
// they hold for ever by induction.

// Pointers begin at 0 here, as the first stop leaves them.
initial begin
  wr_bin_q = '0;
  wr_gray_q = '0;
  rd_bin_q = '0;
  rd_gray_q = '0;
  rd_valid_q = 1'b0;
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
  f_to_rd_meta <= wr_gray_q;
  f_to_rd      <= f_to_rd_meta;
end

function automatic logic [Aw:0] f_bin(input logic [Aw:0] gray);
  f_bin = gray;
  for (int s = 1; s <= int'(Aw); s = s * 2) f_bin = f_bin ^ (f_bin >> s);
endfunction

// Words in the storage, by what each stage says of the reader to the writer, and the other way.
logic [Aw:0] f_used, f_used_meta, f_used_seen, f_there_meta, f_there_seen;
assign f_used       = wr_bin_q - rd_bin_q;
assign f_used_meta  = wr_bin_q - f_bin(f_to_wr_meta);
assign f_used_seen  = wr_bin_q - f_bin(rd_gray_seen);
assign f_there_meta = f_bin(f_to_rd_meta) - rd_bin_q;
assign f_there_seen = f_bin(wr_gray_seen) - rd_bin_q;

// What is at one place, chosen freely, by the pointers that have a bit more than an address.
(* anyconst *) logic [Aw:0] f_place;
logic [Width-1:0] f_word;
logic [Aw:0] f_ahead;  // of the reader
assign f_ahead = f_place - rd_bin_q;
always_ff @(posedge wr_clk_i) begin
  if (wr_take && wr_bin_q == f_place) f_word <= wr_data_i;
end

// Where both are in one round of stops (reset_ctrl) the pointers can be compared.
logic f_same;
assign f_same = f_wr_same[2];

// A word that the reader's side sees is shown, ready or not, once, until it is taken or a stop.
logic f_shown, f_stood;
logic [Width-1:0] f_data_was;
initial begin
  f_shown = 1'b0;
  f_stood = 1'b0;
end
always_ff @(posedge rd_clk_i) begin
  f_stood    <= rd_valid_q && !rd_ready_i && !rd_stop;
  f_shown    <= !rd_stop && ((rd_valid_q && !rd_ready_i) || f_there_seen != '0);
  f_data_was <= rd_data_q;
end

always_comb begin
  a_synced : assert (f_to_wr == rd_gray_seen && f_to_rd == wr_gray_seen);
  a_gray : assert (f_bin(wr_gray_q) == wr_bin_q && f_bin(rd_gray_q) == rd_bin_q);
  if (f_same) a_no_overflow : assert (f_used <= (Aw + 1)'(Depth));
  if (f_rd_same[0]) a_room : assert (f_used_seen <= (Aw + 1)'(Depth));
  if (f_rd_same[1]) a_room_meta : assert (f_used_meta <= (Aw + 1)'(Depth));
  if (&f_rd_same[1:0]) a_reader : assert (f_used_meta <= f_used_seen);
  if (&f_rd_same[2:1]) a_reader_first : assert (f_used <= f_used_meta);
  if (&f_wr_same[1:0]) a_writer : assert (f_there_seen <= f_there_meta);
  if (&f_wr_same[2:1]) a_writer_first : assert (f_there_meta <= f_used);
  // Who has cleared first waits at 0, and each stage shows it.
  a_clear : assert (!(f_wr_clear && wr_bin_q != '0) && !(f_rd_clear && rd_bin_q != '0));
  a_wr_clear : assert (!(f_wr_next[2] && wr_bin_q != '0) && !(f_wr_next[1] && f_to_rd_meta != '0) &&
                       !(f_wr_next[0] && wr_gray_seen != '0));
  a_rd_clear : assert (!(f_rd_next[2] && rd_bin_q != '0) && !(f_rd_next[1] && f_to_wr_meta != '0) &&
                       !(f_rd_next[0] && rd_gray_seen != '0));
  a_shown : assert (rd_valid_q == f_shown);
  if (f_stood) a_stands : assert (rd_data_q == f_data_was);
  if (rd_valid_q) a_stop : assert (f_rd_run);
  if (wr_take) a_take : assert (f_same && f_rd_same[0]);
  if (rd_take) a_no_underflow : assert (f_same && f_used != '0);
  if (f_same && f_ahead < f_used) a_stored : assert (mem[f_place[Aw-1:0]] == f_word);
  if (rd_valid_q && rd_bin_q == f_place + 1'b1) a_word : assert (f_same && rd_data_q == f_word);
end

// A stop after which words pass again.
logic f_wr_once, f_rd_once;
initial begin
  f_wr_once = 1'b0;
  f_rd_once = 1'b0;
end
always_ff @(posedge wr_clk_i) f_wr_once <= f_wr_once || (wr_clear && wr_bin_q == (Aw + 1)'(2));
always_ff @(posedge rd_clk_i) f_rd_once <= f_rd_once || (rd_clear && rd_bin_q == (Aw + 1)'(2));
always_comb begin
  c_full : cover (!wr_stop && !wr_ready_o && f_used == (Aw + 1)'(Depth) && rd_valid_q);
  c_passes : cover (rd_valid_q && rd_bin_q == (Aw + 1)'(3) && f_place == (Aw + 1)'(2));
  c_after_wr : cover (f_wr_once && rd_valid_q && rd_bin_q == (Aw + 1)'(1));
  c_after_rd : cover (f_rd_once && rd_valid_q && rd_bin_q == (Aw + 1)'(1));
end
