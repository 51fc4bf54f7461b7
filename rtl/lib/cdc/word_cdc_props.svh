// word_cdc: each word that was taken in arrives once and whole, whatever the two clocks do. The
// assertions are an invariant: they hold for ever by induction.

// The clocks are free; in each step one of them ticks, so that no step is wasted.
always_comb assume (from_clk_i || to_clk_i);

// The synchronisers' flops: yosys merges these with those.
logic f_to_meta, f_to_seen, f_from_meta, f_from_seen;
initial begin
  f_to_meta   = 1'b0;
  f_to_seen   = 1'b0;
  f_from_meta = 1'b0;
  f_from_seen = 1'b0;
end
always_ff @(posedge to_clk_i) begin
  f_to_meta <= sent_q;
  f_to_seen <= f_to_meta;
end
always_ff @(posedge from_clk_i) begin
  f_from_meta <= answer_q;
  f_from_seen <= f_from_meta;
end

// Words taken in and given out, modulo 4, and the newest.
logic [1:0] f_in_q = 2'd0, f_out_q = 2'd0;
logic [Width-1:0] f_word;
always_ff @(posedge from_clk_i) begin
  if (from_valid_i && from_ready_o) begin
    f_in_q <= f_in_q + 2'd1;
    f_word <= from_data_i;
  end
end
always_ff @(posedge to_clk_i) if (to_valid_o) f_out_q <= f_out_q + 2'd1;

// The bit on its way round: it differs from the stage before at one place at most.
logic [6:0] f_ring, f_changes;
assign f_ring = {sent_q, f_to_meta, sent_seen, taken_q, answer_q, f_from_meta, answer_seen};
assign f_changes = {1'b0, f_ring[6:1] ^ f_ring[5:0]};

// What the far side has known for a cycle at least.
logic f_settled_q = 1'b0;
always_ff @(posedge to_clk_i) f_settled_q <= taken_q;

always_comb begin
  a_settled : assert (answer_q == f_settled_q);
  a_synced : assert (f_to_seen == sent_seen && f_from_seen == answer_seen);
  a_one_change : assert ((f_changes & (f_changes - 7'd1)) == 7'd0);
  a_counts : assert (f_in_q[0] == sent_q && f_out_q[0] == taken_q);
  a_one_under_way : assert (f_in_q - f_out_q == {1'b0, sent_q != taken_q});
  // Never two for one, never one for two.
  if (to_valid_o) a_once : assert (f_in_q - f_out_q == 2'd1);
  if (from_ready_o) a_arrived : assert (f_in_q == f_out_q && answer_q == taken_q);
  if (f_in_q != f_out_q) a_whole : assert (to_data_o == f_word);
  c_third : cover (f_out_q == 2'd3 && from_ready_o && from_valid_i);
end
