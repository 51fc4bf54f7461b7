// event_cdc: no event comes out that did not go in, and none is lost, while less than 2^Bits wait. The
// assertions are an invariant: they hold for ever by induction. The clocks are free.

logic [Bits-1:0] f_meta, f_twin, f_due, f_due_meta, f_due_seen, f_told;
initial begin
  f_meta = '0;
  f_twin = '0;
  f_told = '0;
end
always_ff @(posedge to_clk_i) begin
  f_meta <= gray_q;
  f_twin <= f_meta;
  f_told <= f_told + Bits'(ev_q);
end

function automatic logic [Bits-1:0] f_bin(input logic [Bits-1:0] gray);
  f_bin = gray;
  for (int s = 1; s < int'(Bits); s = s * 2) f_bin = f_bin ^ (f_bin >> s);
endfunction

// Events that have not come out, by what each stage has.
assign f_due      = sent_q - told_q;
assign f_due_meta = f_bin(f_meta) - told_q;
assign f_due_seen = f_bin(seen) - told_q;

always_comb begin
  assume (!(ev_i && f_due == '1));
  a_synced : assert (f_twin == seen);
  a_gray : assert (f_bin(gray_q) == sent_q);
  a_order : assert (f_due_seen <= f_due_meta && f_due_meta <= f_due);
  a_told : assert (f_told + Bits'(ev_q) == told_q);
  if (is_behind) a_true : assert (f_due != '0);
end

// In its own proof: others are not as long.
if (Bits == 3) begin : g_covers
  always_comb begin
    c_all : cover (f_told == '1 && f_due == '0);
    c_many : cover (f_due_seen == Bits'(3) && f_told != '0);
  end
end
