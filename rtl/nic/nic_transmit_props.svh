// nic_transmit: reads stay in buffers that the engine has; a buffer is freed once, when its reads
// have answered; no more reads are under way than may be, and each finds room in the FIFO.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

(* anyconst *) logic [2:0] f_bits;
always_comb begin
  assume (buffer_bits_i == f_bits);
  if (op_q && !op_push_q && result_valid_i)
    assume (result_i == nic_pkg::ResultEmpty || (result_i & ((32'd8 << Smallest << f_bits) - 32'd1)) == '0);
  if (result_valid_i) assume (op_q);
  if (response_valid_i) assume (in_flight_q != '0);
end

// A buffer, chosen freely: whether the engine has it. While a push of it is under
// way, that is open.
(* anyconst *) pointer_t f_buffer;
logic f_owned_q, f_pushes, f_pops, f_in_next;
logic [3:0] f_in_freeing;
assign f_pushes = op_q && op_push_q && freeing[free_rd_q] == f_buffer;
assign f_pops   = pops && result_i[31:3] == f_buffer;
always_comb if (f_pops) assume (!f_owned_q);
always_ff @(posedge clk_i) begin
  if (rst_i) f_owned_q <= 1'b0;
  else f_owned_q <= (f_owned_q && !(granted && op_o.push && freeing[free_rd_q] == f_buffer)) ||
      f_pops || (f_pushes && result_valid_i && !freed);
end
assign f_in_next = next_q != Empty && pointer_q == f_buffer;
always_comb begin
  for (int k = 0; k < 4; k++)
  f_in_freeing[k] = 3'(k) < held_q && freeing[free_rd_q+2'(k)] == f_buffer && !(k == 0 && f_pushes);
end

// Reads under way, as tags_q; `f_place` is that of an entry's buffer among those to free.
logic [InFlight-1:0] f_control, f_last, f_open, f_is_q;
logic [2:0] f_place[InFlight];
logic [2:0] f_lasts, f_controls;
logic [Dw+1:0] f_data;  // reads under way that are not control words
logic f_pending;  // a beat in the FIFO that does not count yet
assign f_pending = StoreForward && arrives;
logic [2:0] f_buffers_q;
always_ff @(posedge clk_i) begin
  if (request_taken) f_is_q <= {f_is_q[InFlight-2:0],
                                (is_control ? pointer_q : read_pointer_q) == f_buffer};
  if (rst_i) f_buffers_q <= '0;
  else f_buffers_q <= f_buffers_q + 3'(pops) - 3'(freed);
end
always_comb begin
  f_lasts    = '0;
  f_controls = '0;
  f_data     = '0;
  for (int i = int'(InFlight) - 1; i >= 0; i--) begin
    f_open[i]    = (Tw + 1)'(i) < in_flight_q;
    f_control[i] = f_open[i] && tags_q[TagBits*i+4];
    f_last[i]    = f_open[i] && !tags_q[TagBits*i+4] && tags_q[TagBits*i+3];
    f_place[i]   = done_q + f_lasts;
    f_lasts      = f_lasts + 3'(f_last[i]);
    f_controls   = f_controls + 3'(f_control[i]);
    f_data       = f_data + (Dw + 2)'(f_open[i] && !f_control[i]);
  end
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    if (request_valid_o && is_control && pointer_q == f_buffer) p_owned : assert (f_owned_q);
    if (request_valid_o && !is_control && read_pointer_q == f_buffer)
      p_owned_data : assert (f_owned_q);
    if (request_valid_o && !is_control)
      p_inside : assert (index_q != '0 && 32'(index_q) < 32'd1 << Smallest << f_bits &&
                         request_o.address[2:0] == '0);
    if (granted && op_o.push)
      for (int i = 0; i < int'(InFlight); i++)
      if (f_open[i] && freeing[free_rd_q] == f_buffer) assert (!f_is_q[i]);
    p_no_overrun : assert (in_flight_q <= (Tw + 1)'(InFlight));
    if (request_valid_o) p_room : assert (in_flight_q < (Tw + 1)'(InFlight));
    if (comes) p_fifo : assert (level_q + (Dw + 1)'(f_pending) < (Dw + 1)'(Depth));
    p_buffers : assert (f_buffers_q == 3'(next_q != Empty) + held_q);
    p_once : assert (3'(f_in_next) + 3'(f_in_freeing[0]) + 3'(f_in_freeing[1]) +
                     3'(f_in_freeing[2]) + 3'(f_in_freeing[3]) == 3'(f_owned_q));
    // For induction.
    p_level : assert ((Dw + 2)'(room_q) + (Dw + 2)'(level_q) + (Dw + 2)'(f_pending) + f_data ==
                      (Dw + 2)'(Depth));
    p_held : assert (held_q <= 3'd4 && 4'(held_q) == 4'(done_q) + 4'(f_lasts) + 4'(reads_q));
    p_pointers : assert (free_wr_q == free_rd_q + held_q[1:0]);
    p_oldest : assert (oldest_q == Tw'(in_flight_q - 1'b1));
    p_controls : assert (f_controls == 3'(next_q == Reading));
    p_pushing : assert (!op_q || !op_push_q || done_q != '0);
    p_popping : assert (!op_q || op_push_q || next_q == Empty);
    if (f_pushes) p_not_owned : assert (!f_owned_q);
    if (reads_q) p_reads : assert (index_q != '0 && index_q <= last_q &&
                                   32'(last_q) < 32'd1 << Smallest << f_bits &&
                                   read_pointer_q == freeing[free_wr_q-1'b1]);
    if (next_q != Empty) p_aligned : assert (
      (pointer_q & 29'((32'd1 << Smallest << f_bits) - 32'd1)) == '0);
    for (int i = 0; i < int'(InFlight); i++) begin
      if (f_control[i]) assert (f_is_q[i] == (pointer_q == f_buffer));
      if (f_open[i] && !f_control[i])
        assert (f_place[i] < held_q &&
                f_is_q[i] == (freeing[free_rd_q+f_place[i][1:0]] == f_buffer));
    end
    c_sent : cover (ev_sent_o);
    c_freed : cover (freed && f_pushes && held_q > 3'd1);
    c_forgets : cover (ev_length_o);
  end
end
