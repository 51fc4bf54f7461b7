// csr: each access that axil_decode shows is done once, at its time; what is refused changes nothing;
// the payload is always one that a slot holds whole, and it and the source stand while a stream is
// open.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);
initial begin
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
    a_was_reset : assert (was_reset_q);
    a_fits_slot : assert (32'(cfg_q.payload_bytes) <= SlotBytes &&
                          32'(cfg_q.payload_bytes) >= 2 * BeatBytes);
    a_whole : assert (32'(cfg_q.payload_bytes) % BeatBytes == 0 &&
                      32'(cfg_q.payload_bytes) % SampleBytes == 0);
    a_memory : assert (control_mem[sw_regs_pkg::OffPayload[7:2]] == 32'(cfg_q.payload_bytes));
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

// What dcqcn takes (dcqcn_props.svh), and keeps to.
function automatic logic f_holds(input sw_regs_pkg::cfg_t cfg);
  f_holds = cfg.rate_mode != 2'd3 && cfg.gain_shift >= 5'd1 && cfg.gain_shift <= 5'd16 &&
      cfg.recovery_stages != '0 && cfg.alpha_period_ns >= 20'd256 &&
      cfg.rise_period_ns >= 20'd256 &&
      cfg.rise_bytes >= 26'h10000 && cfg.rate_minimum != '0 &&
      cfg.rate_minimum <= cfg.rate_start && cfg.rate_start <= cfg.rate_line &&
      cfg.rate_minimum <= cfg.rate_first_cut && cfg.rate_first_cut <= cfg.rate_line;
endfunction

// What an accepted write does, and nothing else: the word of its window, the configuration, one pulse
// of its commands. The tables of sw_regs_pkg are generated; what they say is the tests' business.
logic f_open, f_good, f_in_control, f_in_template, f_refuses, f_refuses_q, f_accepts;
assign f_open = !(status_i.state == wire_pkg::StateIdle || status_i.state == wire_pkg::StateEnded);
assign f_good = wr_data_i <= SlotBytes && wr_data_i >= 2 * BeatBytes &&
    wr_data_i % BeatBytes == 0 && wr_data_i % SampleBytes == 0;
assign f_in_control = wr_whole_i && wr_addr_i >= 11'h080 && wr_addr_i < 11'h180 &&
    sw_regs_pkg::ControlWritable[wr_addr_i[7:2]];
assign f_in_template = wr_whole_i && wr_addr_i >= 11'h400 && wr_addr_i < 11'h600;
assign f_refuses = wr_addr_i[8] ? f_open || !f_holds(written) :
    wr_addr_i[7:2] == sw_regs_pkg::OffPayload[7:2] ? f_open || !f_good :
    f_open && wr_addr_i[7:2] == sw_regs_pkg::OffControl[7:2] &&
    written.source != cfg_q.source;
assign f_accepts = f_in_template || (f_in_control && !f_refuses_q);
sw_regs_pkg::cfg_t f_expected_q;
sw_regs_pkg::cmd_t f_commands_q = '0;
always_ff @(posedge clk_i) begin
  f_refuses_q  <= f_refuses;
  f_commands_q <= '0;
  f_expected_q <= cfg_q;
  if (wr_done_o && !rst_i && f_in_control && !f_refuses_q) begin
    f_expected_q <= sw_regs_pkg::cfg_write(cfg_q, wr_addr_i[7:2], wr_data_i);
    if (wr_addr_i[7:2] == sw_regs_pkg::OffCommand[7:2])
      f_commands_q <= sw_regs_pkg::commands(wr_data_i);
  end
  if (rst_i) begin
    f_expected_q.enable   <= 1'b0;
    f_expected_q.loopback <= '0;
    f_expected_q.source   <= '0;
  end
end

always_comb begin
  if (f_past_q) begin
    a_rates : assert (f_holds(cfg_q));
    if (!rst_i && !f_rst_q && f_long_q)
      a_rates_stand : assert ({cfg_q.rate_mode, cfg_q.rate_start, cfg_q.rate_line} ==
                              {f_cfg_q.rate_mode, f_cfg_q.rate_start, f_cfg_q.rate_line});
  end
end

// One word of the control window and one of the template, chosen once for all.
(* anyconst *) logic [5:0] f_word;
(* anyconst *) logic [6:0] f_tpl;
logic f_word_known_q = 1'b0, f_tpl_known_q = 1'b0, f_tpl_read_q = 1'b0;
logic [31:0] f_word_q, f_tpl_q, f_tpl_was_q;
always_ff @(posedge clk_i) begin
  if (wr_done_o && !rst_i && f_in_control && !f_refuses_q && wr_addr_i[7:2] == f_word) begin
    f_word_known_q <= 1'b1;
    f_word_q       <= wr_data_i;
  end
  if (wr_done_o && !rst_i && f_in_template && wr_addr_i[8:2] == f_tpl) begin
    f_tpl_known_q <= 1'b1;
    f_tpl_q       <= wr_data_i;
  end
  f_tpl_read_q <= f_tpl_known_q && tpl_addr_i == f_tpl[6:1];
  f_tpl_was_q  <= f_tpl_q;
end

// Reads: the answer of the address.
logic f_readable, f_snapshot_q;
logic [31:0] f_answer_q;
logic f_readable_q, f_read_q = 1'b0;
assign f_readable = rd_addr_i < 11'h080 ? sw_regs_pkg::StatusReadable[rd_addr_i[6:2]] :
    rd_addr_i >= 11'h080 && rd_addr_i < 11'h180 ?
    sw_regs_pkg::ControlReadable[rd_addr_i[7:2]] : rd_addr_i >= 11'h200 && rd_addr_i < 11'h400;
always_ff @(posedge clk_i) begin
  f_readable_q <= f_readable;
  f_answer_q <= !f_readable ? 32'd0 :
      rd_addr_i < 11'h080 ? sw_regs_pkg::status_word(
          rd_addr_i[6:2], status_i, 16'(W), 16'(SlotBytes), Slots, 16'(NackDepth), 8'(Channels)) :
      rd_addr_i[7:2] == sw_regs_pkg::OffControl[7:2] ? sw_regs_pkg::control_word(cfg_q) :
      control_mem[rd_addr_i[7:2]];
  f_read_q <= rd_done_o && rd_addr_i >= 11'h200 && rd_addr_i < 11'h400 && !rst_i;
  f_snapshot_q <= rd_addr_i[2];
end
logic [63:0] f_snapshot_was_q;
always_ff @(posedge clk_i) f_snapshot_was_q <= snapshot;

// Events are counted a cycle late.
logic f_stepped_q = 1'b0;  // a cycle is behind
sw_regs_pkg::event_t f_events_q;
logic [31:0] f_samples_lost_q;
always_ff @(posedge clk_i) begin
  f_stepped_q      <= 1'b1;
  f_events_q       <= event_i;
  f_samples_lost_q <= samples_lost_i;
end

always_comb begin
  if (f_past_q && !rst_i && !f_rst_q) begin
    if (wr_done_o) a_accepted : assert (wr_error_o == !f_accepts);
    a_counted : assert (ev_refused_o == (wr_done_o && f_in_control && f_refuses_q));
    if (rd_done_o) a_read_error : assert (rd_error_o == !f_readable_q);
    if (rd_done_o && !is_counters(rd_addr_i)) a_read : assert (rd_data_o == f_answer_q);
    if (f_read_q)
      a_snapshot : assert (rd_data_o == (f_snapshot_q ? f_snapshot_was_q[63:32] :
                                         f_snapshot_was_q[31:0]));
  end
  if (f_past_q) begin
    if (!f_rst_q) a_commands : assert (cmd_q == f_commands_q);
    a_configured : assert (cfg_q == f_expected_q || !f_stepped_q);
    if (f_word_known_q) a_word : assert (control_mem[f_word] == f_word_q);
    if (f_tpl_known_q)
      a_template : assert ((f_tpl[0] ? template_hi_mem[f_tpl[6:1]] :
                            template_lo_mem[f_tpl[6:1]]) == f_tpl_q);
    if (f_tpl_read_q)
      a_template_read : assert ((f_tpl[0] ? tpl_data_o[63:32] : tpl_data_o[31:0]) == f_tpl_was_q);
    a_key : assert (key_data_o == control_mem[{1'b1, key_addr_i}]);
    if (f_rst_q && f_stepped_q) a_reset : assert (events_q == '0 && samples_lost_q == '0);
    if (!f_rst_q && f_stepped_q)
      a_events : assert (events_q == f_events_q && samples_lost_q == f_samples_lost_q);
  end
end
