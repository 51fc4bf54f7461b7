// csr: each access that axil_decode shows is done once, at its time; what is refused changes nothing;
// the payload is always one that a slot holds whole, and it and the source stand while a stream is
// open.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);
initial begin
  write_q   = 1'b0;
  answers_q = 1'b0;
  cmd_q     = '0;
end

// The decoder: an access stands until it is done or a reset ends it.
logic f_wr_q = 1'b0, f_rd_q = 1'b0, f_rst_q = 1'b1;
logic f_wr_done_q, f_rd_done_q, f_error_q, f_ready_q, f_rd_seen_q, f_open_q, f_long_q;
logic [44:0] f_write_q;
logic [10:0] f_rd_addr_q;
logic [31:0] f_data_q;
sw_regs_pkg::cfg_t f_cfg_q;
always_ff @(posedge clk_i) begin
  f_wr_q      <= wr_valid_i && !wr_done_o && !rst_i;
  f_rd_q      <= rd_valid_i && !rd_done_o && !rst_i;
  f_write_q   <= {wr_whole_i, wr_addr_i, wr_data_i, 1'b0};
  f_rd_addr_q <= rd_addr_i;
  f_rst_q     <= rst_i;
  f_wr_done_q <= wr_done_o;
  f_rd_done_q <= rd_done_o;
  f_error_q   <= wr_done_o && wr_error_o;
  f_ready_q   <= rd_valid_i && !snapshot_busy && !cmd_q.snapshot;
  f_rd_seen_q <= rd_valid_i;
  f_data_q    <= rd_data_o;
  f_cfg_q     <= cfg_q;
  f_open_q    <= stream_open;
  f_long_q    <= f_open_q && stream_open;
end
always_comb begin
  if (f_wr_q && !rst_i) assume (wr_valid_i && f_write_q == {wr_whole_i, wr_addr_i, wr_data_i, 1'b0});
  if (f_rd_q && !rst_i) assume (rd_valid_i && f_rd_addr_q == rd_addr_i);
end

always_comb begin
  if (f_past_q && !rst_i && !f_rst_q) begin
    // Once, in the second cycle.
    a_write_done : assert (wr_done_o == f_wr_q);
    a_read_done : assert (rd_done_o == (f_rd_q && f_ready_q));
    a_refused : assert (!ev_refused_o || (wr_done_o && wr_error_o));
    // The answer of a read stands until the next one.
    if (!f_rd_seen_q) a_answer_stands : assert (rd_data_o == f_data_q);
    if (f_error_q) a_no_effect : assert (cfg_q == f_cfg_q && cmd_q == '0);
    if (!f_wr_done_q) a_no_command : assert (cmd_q == '0);
    if (f_long_q) begin
      a_stands : assert (cfg_q.payload_bytes == f_cfg_q.payload_bytes &&
                         cfg_q.source == f_cfg_q.source);
    end
  end
  if (f_past_q) begin
    a_fits_slot : assert (32'(cfg_q.payload_bytes) <= SlotBytes &&
                          32'(cfg_q.payload_bytes) >= 2 * BeatBytes);
    a_whole : assert (32'(cfg_q.payload_bytes) % BeatBytes == 0 &&
                      32'(cfg_q.payload_bytes) % SampleBytes == 0);
    a_memory : assert (control_mem[sw_regs_pkg::OffPayload[6:2]] == 32'(cfg_q.payload_bytes));
  end
end

// The judgement of a write is of the cycle before, in which the write stood.
always_comb begin
  if (f_past_q && write_q && !rst_i && !f_rst_q) begin
    a_judged : assert (f_wr_q && to_control_q == (wr_whole_i && is_control(wr_addr_i) &&
                       sw_regs_pkg::ControlWritable[write_word]));
  end
end

logic [2:0] f_steps_q = 3'd0;
always_ff @(posedge clk_i) begin
  if (rst_i) f_steps_q <= 3'd0;
  else begin
    if (ev_refused_o) f_steps_q[0] <= 1'b1;
    if (f_steps_q[0] && cfg_q.payload_bytes != f_cfg_q.payload_bytes) f_steps_q[1] <= 1'b1;
    if (f_steps_q[1] && rd_done_o && snapshot_busy) f_steps_q[2] <= 1'b1;
  end
end
always_comb begin
  c_steps : cover (f_past_q && f_steps_q == 3'b111 && f_long_q);
  c_command : cover (f_past_q && cmd_q.snapshot && rd_valid_i);
end
