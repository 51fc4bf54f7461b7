// reset_ctrl: both sides have their pointers at 0 together before one that was reset runs again. The
// assertions are an invariant: they hold for ever by induction. Clocks and resets are free.

// The synchronisers' first flops: yosys merges these with those.
logic [1:0] f_a_meta, f_a_twin, f_b_meta, f_b_twin;
initial begin
  f_a_meta = '0;
  f_a_twin = '0;
  f_b_meta = '0;
  f_b_twin = '0;
end
always_ff @(posedge b_clk_i) begin
  f_a_meta <= a_state;
  f_a_twin <= f_a_meta;
end
always_ff @(posedge a_clk_i) begin
  f_b_meta <= b_state;
  f_b_twin <= f_b_meta;
end

// States as steps round the ring: Run 0, Stop 1, Clear 2, Start 3.
function automatic logic [1:0] f_at(input logic [1:0] state);
  f_at = {state[1], state[1] ^ state[0]};
endfunction

// A side's step, and how far the step that it sees of the other is ahead of its own: 4 where that
// cannot be.
function automatic logic signed [4:0] f_ahead(input logic [1:0] own, input logic [1:0] seen);
  case ({
    f_at(own), f_at(seen)
  })
    {2'd0, 2'd3}: f_ahead = -5'sd1;
    {2'd0, 2'd0}: f_ahead = 5'sd0;
    {2'd0, 2'd1}: f_ahead = 5'sd1;
    {2'd1, 2'd3}: f_ahead = -5'sd2;
    {2'd1, 2'd0}: f_ahead = -5'sd1;
    {2'd1, 2'd1}: f_ahead = 5'sd0;
    {2'd1, 2'd2}: f_ahead = 5'sd1;
    {2'd2, 2'd1}: f_ahead = -5'sd1;
    {2'd2, 2'd2}: f_ahead = 5'sd0;
    {2'd2, 2'd3}: f_ahead = 5'sd1;
    {2'd3, 2'd2}: f_ahead = -5'sd1;
    {2'd3, 2'd3}: f_ahead = 5'sd0;
    {2'd3, 2'd0}: f_ahead = 5'sd1;
    {2'd3, 2'd1}: f_ahead = 5'sd2;
    default: f_ahead = 5'sd4;
  endcase
endfunction

// Steps from an older state of a side to a newer one.
function automatic logic signed [4:0] f_steps(input logic [1:0] older, input logic [1:0] newer);
  f_steps = $signed({3'b0, f_at(newer) - f_at(older)});
endfunction

// Where the other side is by each stage of the synchroniser, as steps from one's own Run.
logic signed [4:0] f_a_of, f_b_of, f_a1, f_a2, f_a3, f_b1, f_b2, f_b3;
assign f_a_of = $signed({3'b0, f_at(a_state)});
assign f_b_of = $signed({3'b0, f_at(b_state)});
assign f_a3   = f_b_of + f_ahead(b_state, a_seen);
assign f_a2   = f_a3 + f_steps(a_seen, f_a_meta);
assign f_a1   = f_a2 + f_steps(f_a_meta, a_state);
assign f_b3   = f_a_of + f_ahead(a_state, b_seen);
assign f_b2   = f_b3 + f_steps(b_seen, f_b_meta);
assign f_b1   = f_b2 + f_steps(f_b_meta, b_state);

// A round ends where the pointer becomes 0: rounds from that of one's own Run.
function automatic logic signed [4:0] f_round(input logic signed [4:0] steps);
  f_round = (steps + 5'sd2) >>> 2;
endfunction

// For the FIFOs' proofs: whether a side may move and is not to stop, or is in Clear; and of each side by the other's stages (itself, first flop, second flop):
// whether it is in the other's round, or in the one behind it.
assign f_a_run_o   = !a_state[0] && !f_a_due;
assign f_b_run_o   = !b_state[0] && !f_b_due;
assign f_a_clear_o = a_state == 2'b11;
assign f_b_clear_o = b_state == 2'b11;
assign f_a_same_o = {f_round(f_a1) == f_round(f_b_of), f_round(f_a2) == f_round(f_b_of),
                     f_round(f_a3) == f_round(f_b_of)};
assign f_a_next_o = {f_round(f_a1) > f_round(f_b_of), f_round(f_a2) > f_round(f_b_of),
                     f_round(f_a3) > f_round(f_b_of)};
assign f_b_same_o = {f_round(f_b1) == f_round(f_a_of), f_round(f_b2) == f_round(f_a_of),
                     f_round(f_b3) == f_round(f_a_of)};
assign f_b_next_o = {f_round(f_b1) > f_round(f_a_of), f_round(f_b2) > f_round(f_a_of),
                     f_round(f_b3) > f_round(f_a_of)};

// A side was reset, and both have not been in Clear at once since. One in Clear needs no more.
(* gclk *) logic f_step;
logic f_both, f_a_waits, f_b_waits;
initial begin
  f_a_waits = 1'b1;
  f_b_waits = 1'b1;
end
assign f_both = a_state == 2'b11 && b_state == 2'b11;
always_ff @(posedge f_step) begin
  f_a_waits <= !f_both && (f_a_waits || (a_clk_i && a_rst_i && a_state != 2'b11));
  f_b_waits <= !f_both && (f_b_waits || (b_clk_i && b_rst_i && b_state != 2'b11));
end

always_comb begin
  a_synced : assert (f_a_twin == a_seen && f_b_twin == b_seen);
  a_can_be : assert (f_ahead(a_state, b_seen) != 5'sd4 && f_ahead(b_state, a_seen) != 5'sd4);
  a_lag : assert (f_a1 - f_a3 <= 5'sd3 && f_b1 - f_b3 <= 5'sd3);
  a_agree : assert (f_a1 - f_b_of == f_a_of - f_b1);
  if (f_a_waits) begin
    a_waits : assert (a_state[0] || f_a_due);
    a_first : assert (a_state != 2'b11 || b_state != 2'b10);
  end
  if (a_state[0] || f_a_due) a_stands : assert (a_stop_o);
  if (f_b_waits) begin
    b_waits : assert (b_state[0] || f_b_due);
    b_first : assert (b_state != 2'b11 || a_state != 2'b10);
  end
  if (b_state[0] || f_b_due) b_stands : assert (b_stop_o);
  if (a_rst_i) a_stops : assert (a_stop_o);
  if (b_rst_i) b_stops : assert (b_stop_o);
  // A side that runs stops for the other one alone, and where it is busy at its end only. Pointers
  // become 0 in a stop of both.
  if (!a_rst_i && !a_state[0] && !f_a_due) begin
    a_asked : assert (a_asked_o == (a_state == 2'b00 && b_seen[0]));
    a_finishes : assert (a_stop_o == (a_asked_o && !a_busy_i));
  end
  if (!b_rst_i && !b_state[0] && !f_b_due) begin
    b_asked : assert (b_asked_o == (b_state == 2'b00 && a_seen[0]));
    b_finishes : assert (b_stop_o == (b_asked_o && !b_busy_i));
  end
  a_clears : assert (a_clear_o == (a_state == 2'b11 || (a_state == 2'b01 && b_seen[0])));
  b_clears : assert (b_clear_o == (b_state == 2'b11 || (b_state == 2'b01 && a_seen[0])));
end

// A second round, after one that a short reset of each side began.
logic f_a_once, f_b_once;
initial begin
  f_a_once = 1'b0;
  f_b_once = 1'b0;
end
always_ff @(posedge a_clk_i) f_a_once <= f_a_once || (a_rst_i && a_state == 2'b00);
always_ff @(posedge b_clk_i) f_b_once <= f_b_once || (b_rst_i && b_state == 2'b00);
always_comb begin
  c_reset_a : cover (f_a_once && !f_b_once && !a_stop_o && !b_stop_o);
  c_reset_both : cover (f_a_once && f_b_once && !a_stop_o && !b_stop_o);
end
