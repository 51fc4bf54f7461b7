// nic_receive: no write leaves the buffers that the engine has; a buffer is pushed when its writes
// have answered; no more writes are under way than may be; each frame has one event, and no buffer
// is lost.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// Buffers of one size, at multiples of it.
(* anyconst *) logic [2:0] f_bits;
always_comb begin
  assume (buffer_bits_i == f_bits);
  if (op_q && !op_push_q && result_valid_i)
    assume (result_i == nic_pkg::ResultEmpty || (result_i & ((32'd8 << Smallest << f_bits) - 32'd1)) == '0);
  if (result_valid_i) assume (op_q);
  if (response_valid_i) assume (in_flight_q > (Tw + 1)'(write_q));
end

// A buffer, chosen freely: whether the engine has it. While a push of it is under
// way, that is open.
(* anyconst *) pointer_t f_buffer;
logic f_owned_q, f_pushes, f_pops, f_in_current, f_in_next, f_in_last;
assign f_pushes = op_q && op_push_q && last_q == f_buffer;
assign f_pops   = pops && result_i[31:3] == f_buffer;
always_comb if (f_pops) assume (!f_owned_q);
always_ff @(posedge clk_i) begin
  if (rst_i) f_owned_q <= 1'b0;
  else f_owned_q <= (f_owned_q && !(granted && op_o.push && last_q == f_buffer)) || f_pops ||
      (f_pushes && result_valid_i && !pushed);
end
assign f_in_current = current_valid_q && current_q == f_buffer;
assign f_in_next    = next_valid_q && next_q == f_buffer;
assign f_in_last    = last_valid_q && last_q == f_buffer && !f_pushes;

// Writes under way, as first_q: which are to that buffer. The oldest of those of the current frame
// lies behind the control word of the last one.
logic [InFlight-1:0] f_is_q, f_behind;
logic f_control;  // that is under way
logic [2:0] f_frames_q, f_buffers_q;  // modulo 8: frames without an event, buffers here
always_ff @(posedge clk_i) begin
  if (loads) f_is_q <= {f_is_q[InFlight-2:0], current_q == f_buffer};
  if (rst_i) begin
    f_frames_q  <= '0;
    f_buffers_q <= '0;
  end else begin
    f_frames_q <= f_frames_q + 3'(ends) - 3'(ev_received_o) - 3'(ev_bad_o) - 3'(ev_too_long_o) -
        3'(ev_filtered_o) - 3'(ev_full_o) - 3'(ev_failed_o) - 3'(ev_disabled_o);
    f_buffers_q <= f_buffers_q + 3'(pops) - 3'(pushed);
  end
end
always_comb begin
  f_control = 1'b0;
  for (int i = 0; i < int'(InFlight); i++) begin
    f_behind[i] = !f_control;  // the control word is not among those younger than it
    if (control_q[i] && (Tw + 1)'(i) < in_flight_q) f_control = 1'b1;
    if (control_q[i]) f_behind[i] = 1'b0;
  end
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    // A write goes to a buffer that the engine has, and not beyond it.
    if (request_valid_o && write_pointer_q == f_buffer) p_owned : assert (f_owned_q);
    if (request_valid_o)
      p_inside : assert (32'(write_index_q) < 32'd1 << Smallest << f_bits &&
                         request_o.address[35:32] == address_i &&
                         request_o.address[2:0] == '0);
    // What is pushed has no writes under way.
    if (granted && op_o.push)
      for (int i = 0; i < int'(InFlight); i++)
      if ((Tw + 1)'(i) < in_flight_q && last_q == f_buffer) assert (!f_is_q[i]);
    p_no_overrun : assert (in_flight_q <= (Tw + 1)'(InFlight));
    if (loads) p_room : assert (in_flight_q < (Tw + 1)'(InFlight));
    p_frames : assert (f_frames_q == 3'(close_q) + 3'(last_valid_q && !last_spare_q));
    p_buffers : assert (f_buffers_q == 3'(current_valid_q) + 3'(next_valid_q) +
                                      3'(last_valid_q));
    // Each in one place.
    p_once : assert (2'(f_in_current) + 2'(f_in_next) + 2'(f_in_last) == 2'(f_owned_q));
    // For induction.
    p_last : assert ((!last_done_q || last_valid_q) && (!last_spare_q || last_done_q));
    p_pushing : assert (!op_q || !op_push_q || (last_done_q && !last_spare_q));
    p_popping : assert (!op_q || op_push_q || (!next_valid_q && !last_spare_q));
    p_control : assert (f_control == (last_valid_q && !last_done_q));
    p_count : assert (in_flight_q >= (Tw + 1)'(write_q));
    for (int i = 0; i < int'(InFlight); i++) begin
      if ((Tw + 1)'(i) < in_flight_q && f_behind[i])
        assert (current_valid_q && f_is_q[i] == (current_q == f_buffer));
      if ((Tw + 1)'(i) < in_flight_q && !f_behind[i])
        assert (f_is_q[i] == (last_q == f_buffer) &&
                                  (i == 0 || f_behind[i-1] || !control_q[i]));
    end
    if (write_q) p_write : assert (in_flight_q != '0 &&
                                   f_is_q[0] == (write_pointer_q == f_buffer));
    if (f_pushes) p_not_owned : assert (!f_owned_q);
    if (inside_q && !skip_q) p_index : assert (32'(index_q) <= 32'd1 << Smallest << f_bits && index_q != '0);
    if (inside_q && !skip_q || close_q) p_has_buffer : assert (current_valid_q);
    p_between : assert (!close_q || !inside_q);
    c_received : cover (ev_received_o && f_frames_q == 3'd2);
    c_spare : cover (last_spare_q && closes);
    c_full_flight : cover (in_flight_q == (Tw + 1)'(InFlight));
  end
end
