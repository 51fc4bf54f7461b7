// nic_bus_cdc: behind a reset of the processor's side each response answers a request from behind it,
// and no such response is lost. Clocks are free; so are resets of the processor's side, and those of
// the NIC's side come with one of them. A request is 0 before a reset that is chosen freely and 1
// behind it, and the NIC answers what it has taken, in order, with the same.

(* gclk *) logic f_step;
(* anyseq *) logic f_choose;
localparam int unsigned FWaiting = 3;

initial begin
  open_q  = '0;
  stale_q = '0;
end

// ---------------------------------------------------------------- the processor

logic f_new_q = 1'b0;  // the reset has come
logic f_again_q = 1'b0;  // and another one
logic f_reset;
assign f_reset = s_clk_i && s_rst_i;
// In the first step of a reset or later.
always_ff @(posedge f_step) begin
  f_new_q   <= f_new_q || (f_reset && f_choose);
  f_again_q <= f_again_q || (f_new_q && f_reset && !f_in_reset_q);
end
// The reset that was chosen lasts until a tick without it.
logic f_in_reset_q = 1'b0;
always_ff @(posedge f_step) if (s_clk_i) f_in_reset_q <= s_rst_i;

logic f_asked_q = 1'b0;
logic f_request_q;
always_ff @(posedge s_clk_i) begin
  f_asked_q   <= s_request_valid_i && !s_request_ready_o && !s_rst_i;
  f_request_q <= s_request_i[0];
end
always_comb begin
  if (s_request_valid_i) assume (s_request_i[0] == f_new_q);
  if (f_asked_q && !s_rst_i) assume (s_request_valid_i && s_request_i[0] == f_request_q);
  if (s_rst_i) assume (!s_request_valid_i);
end

// ---------------------------------------------------------------- the NIC

// A reset of the NIC's side is within one of the processor's. Either stands until a tick.
logic f_s_rst_q = 1'b0, f_m_rst_q = 1'b0;
always_ff @(posedge f_step) begin
  f_s_rst_q <= s_rst_i && !s_clk_i;
  f_m_rst_q <= m_rst_i && !m_clk_i;
end
always_comb begin
  if (m_rst_i) assume (s_rst_i);
  if (f_s_rst_q) assume (s_rst_i);
  if (f_m_rst_q) assume (m_rst_i);
end

logic [FWaiting-1:0] f_waiting_q;  // of its requests, the first one lowest
logic [1:0] f_count_q = 2'd0;
logic [1:0] f_left;
logic f_answers_q = 1'b0;
assign f_left = f_count_q - 2'(answer);
always_ff @(posedge m_clk_i) begin
  f_answers_q <= m_response_valid_i && !m_response_ready_o && !m_rst_i;
  if (answer) f_waiting_q <= f_waiting_q >> 1;
  if (take) f_waiting_q[f_left] <= m_request_o[0];
  f_count_q <= m_rst_i ? 2'd0 : f_left + 2'(take);
end
always_comb begin
  if (f_count_q == 2'd0) assume (!m_response_valid_i);
  if (f_answers_q) assume (m_response_valid_i);
  if (f_count_q == 2'(FWaiting)) assume (!m_request_ready_i);
  if (m_response_valid_i) assume (m_response_i[0] == f_waiting_q[0]);
end

// ---------------------------------------------------------------- both FIFOs

// Both see a reset of the processor's side at the same edge. The NIC's side of the one stops after one
// crossing, and that of the other runs again after three.
logic f_stood_q = 1'b1;
always_ff @(posedge f_step) f_stood_q <= f_responses_stop;
always_comb if (f_requests_waits && f_stood_q) assume (f_responses_stop);

// ---------------------------------------------------------------- what holds

always_comb begin
  a_open : assert (open_q == Cw'(f_count_q));
  a_stale : assert (stale_q <= open_q);
  // What comes behind the reset answers what was asked behind it.
  if (f_new_q && s_response_valid_o && !s_rst_i) a_of_now : assert (s_response_o[0]);
  // Nothing from behind the last reset is thrown away, with its request or without.
  if (m_clk_i && answer && is_stale && !m_rst_i && !f_again_q)
    a_kept : assert (!m_response_i[0]);
end

// Requests from before the reset are answered behind it, then one from behind it.
logic f_dropped_q = 1'b0;
always_ff @(posedge m_clk_i) begin
  f_dropped_q <= f_dropped_q || (answer && is_stale && !is_stopped && f_new_q);
end
always_comb begin
  c_behind : cover (f_dropped_q && s_response_valid_o && s_response_o[0] && !f_again_q);
  c_reset : cover (m_rst_i && m_clk_i && f_count_q != 2'd0);
end
