// nic_share: each response goes to the port that made the request, in order and unchanged; never more
// than InFlight requests are without a response; a processor's FIFO never overflows; a port that
// waits and may go sees at most one request of each other; the lock excludes and ends.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// The memory answers what it has taken, once. It is reset with this.
logic [Tw+1:0] f_memory_q;
always_ff @(posedge clk_i) begin
  if (rst_i) f_memory_q <= '0;
  else f_memory_q <= f_memory_q + (Tw + 2)'(m_valid_o && m_ready_i) - (Tw + 2)'(m_valid_i);
end
always_comb assume (!m_valid_i || f_memory_q != '0);

// A request that waits stays as it is.
logic [Ports-1:0] f_waits_q;
logic [Ports*nic_pkg::AcbRequestBits-1:0] f_requests_q;
always_ff @(posedge clk_i) begin
  f_waits_q    <= rst_i ? '0 : request_valid_i & ~request_ready_o;
  f_requests_q <= request_i;
end
always_comb begin
  for (int p = 0; p < int'(Ports); p++)
  if (f_waits_q[p])
    assume (request_valid_i[p] && request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits] ==
            f_requests_q[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits]);
end

// Requests without a response, of each port; the oldest is 0.
logic [InFlight-1:0][Pw-1:0] f_route;
logic [Ports-1:0][Tw:0] f_open;
always_comb begin
  for (int p = 0; p < int'(Ports); p++) f_open[p] = '0;
  for (int i = 0; i < int'(InFlight); i++) begin
    f_route[i] = route_mem[rd_q+Tw'(i)];
    for (int p = 0; p < int'(Ports); p++)
    if ((Tw + 1)'(i) < in_flight_q && f_route[i] == Pw'(p)) f_open[p] = f_open[p] + 1'b1;
  end
end

// One request, chosen freely: while it is under way f_ahead_q others are before it, then its response
// may wait in the port's FIFO behind f_before_q others.
(* anyseq *) logic f_choose;
logic f_under_way_q, f_answered_q, f_answers;
logic [Pw-1:0] f_port_q;
logic [Tw:0] f_ahead_q, f_before_q;
nic_pkg::acb_request_t f_request_q;
nic_pkg::acb_response_t f_response_q;
logic f_starts, f_is_engine;
assign f_starts    = f_choose && is_granted && !f_under_way_q && !f_answered_q;
assign f_answers   = f_under_way_q && m_valid_i && f_ahead_q == '0;
assign f_is_engine = 32'(f_port_q) < Engines;

// Of the port that has been chosen, as the FIFO has them.
logic [Ports-1:0][Tw:0] f_level, f_room;
logic [Ports-1:0][Tw-1:0] f_first, f_next;
logic [Ports-1:0] f_gives;
logic [Ports-1:0][nic_pkg::AcbResponseBits-1:0] f_held;
for (genvar p = 0; p < int'(Ports); p++) begin : g_f
  assign f_gives[p] = response_valid_o[p] && response_ready_i[p];
  if (p < int'(Engines)) begin : g_engine
    assign f_level[p] = '0;
    assign f_room[p]  = (Tw + 1)'(InFlight) - f_open[p];
    assign f_first[p] = '0;
    assign f_next[p]  = '0;
    assign f_held[p]  = '0;
  end else begin : g_processor
    assign f_level[p] = g_port[p].g_processor.level_q;
    assign f_room[p]  = g_port[p].g_processor.room_q;
    assign f_first[p] = g_port[p].g_processor.held_rd_q;
    assign f_next[p]  = g_port[p].g_processor.held_wr_q;
    assign f_held[p]  = g_port[p].g_processor.held_mem[f_first[p]+f_before_q[Tw-1:0]];
  end
end

always_ff @(posedge clk_i) begin
  if (rst_i) begin
    f_under_way_q <= 1'b0;
    f_answered_q  <= 1'b0;
  end else begin
    if (f_starts) begin
      f_under_way_q <= 1'b1;
      f_port_q      <= port;
      f_request_q   <= request;
      f_ahead_q     <= in_flight_q - (Tw + 1)'(m_valid_i);
    end
    if (f_under_way_q && m_valid_i) f_ahead_q <= f_ahead_q - 1'b1;
    if (f_answers) begin
      f_under_way_q <= 1'b0;
      f_answered_q  <= !f_is_engine;
      f_response_q  <= m_response_i;
      f_before_q    <= f_level[f_port_q] - (Tw + 1)'(f_gives[f_port_q]);
    end
    if (f_answered_q && f_gives[f_port_q]) begin
      f_before_q <= f_before_q - 1'b1;
      if (f_before_q == '0) f_answered_q <= 1'b0;
    end
  end
end

// Turns: a port, chosen freely, and which others went while it waited. f_distance: places behind it.
(* anyconst *) logic [Pw-1:0] f_waiting;
logic [Ports-1:0] f_went_q;
always_comb assume (32'(f_waiting) < Ports);
function automatic logic [31:0] f_distance(input logic [Pw-1:0] p, input logic [Pw-1:0] of);
  f_distance = p > of ? 32'(p) - 32'(of) - 1 : 32'(p) + Ports - 32'(of) - 1;
endfunction
always_ff @(posedge clk_i) begin
  if (rst_i || !may[f_waiting] || grant[f_waiting]) f_went_q <= '0;
  else f_went_q <= f_went_q | grant;
end

// The owner of the lock waited for the memory, and made no request.
logic f_owner_waited_q;
logic [Pw-1:0] f_owner_q;
always_ff @(posedge clk_i) begin
  f_owner_waited_q <= !rst_i && lock && f_open[owner] != '0 && !(m_valid_i && f_route[0] == owner)
      && !grant[owner];
  f_owner_q <= owner;
end

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    p_in_flight : assert (in_flight_q <= (Tw + 1)'(InFlight));
    if (is_granted) p_room : assert (in_flight_q < (Tw + 1)'(InFlight));
    // A request and its response pass unchanged.
    if (f_starts) p_request : assert (
      grant == Ports'(1) << port && request == (request_i[port*nic_pkg::AcbRequestBits+:
          nic_pkg::AcbRequestBits] & ~(nic_pkg::AcbRequestBits'(1) << LockBit)));
    if (f_under_way_q && 32'(f_ahead_q) + 1 == 32'(in_flight_q) && m_valid_o)
      p_unchanged : assert (m_request_o == f_request_q);
    if (f_answers && f_is_engine)
      p_engine : assert (response_valid_o[f_port_q] && m_response_i ==
          response_o[f_port_q*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits]);
    if (f_answered_q && f_gives[f_port_q] && f_before_q == '0)
      p_processor : assert (f_response_q ==
          response_o[f_port_q*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits]);
    // Of engines only one has a response in a cycle, and only the memory's.
    for (int p = 0; p < int'(Engines); p++)
    if (response_valid_o[p]) assert (m_valid_i && f_route[0] == Pw'(p));
    // Those ahead of the port that waits have had their turn.
    if (may[f_waiting] && !grant[f_waiting]) p_turns : assert ((f_went_q & grant) == '0);
    for (int p = 0; p < int'(Ports); p++) begin
      if (p >= int'(Engines) && lock && grant[p]) assert (owner == Pw'(p));
      if (m_valid_i && f_route[0] == Pw'(p) && p >= int'(Engines))
        assert (f_level[p] < (Tw + 1)'(InFlight));
    end
    if (f_owner_waited_q) p_lock_waits : assert (lock && owner == f_owner_q);
    // For induction.
    p_memory : assert (32'(in_flight_q) == 32'(f_memory_q) + 32'(m_valid_o));
    p_routes : assert (wr_q == rd_q + in_flight_q[Tw-1:0]);
    for (int i = 0; i < int'(InFlight); i++)
    if ((Tw + 1)'(i) < in_flight_q) assert (32'(f_route[i]) < Ports);
    p_last : assert (32'(last_q) < Ports);
    for (int p = int'(Engines); p < int'(Ports); p++)
    assert (32'(f_level[p]) + 32'(f_room[p]) + 32'(f_open[p]) == InFlight &&
            f_next[p] == f_first[p] + f_level[p][Tw-1:0]);
    if (f_under_way_q) p_under_way : assert (
      32'(f_port_q) < Ports && f_ahead_q < in_flight_q && f_route[f_ahead_q[Tw-1:0]] == f_port_q && !f_answered_q);
    if (f_answered_q) p_answered : assert (
      32'(f_port_q) < Ports && f_before_q < f_level[f_port_q] && f_held[f_port_q] == f_response_q && !f_is_engine);
    for (int p = 0; p < int'(Ports); p++)
    if (f_went_q[p])
      assert (Pw'(p) != f_waiting && last_q != f_waiting &&
              f_distance(Pw'(p), f_waiting) <= f_distance(last_q, f_waiting));
    c_engine : cover (f_answers && f_is_engine && in_flight_q == (Tw + 1)'(InFlight));
    c_processor : cover (f_answered_q && f_before_q == '0 && f_gives[f_port_q]);
    c_full : cover (in_flight_q == (Tw + 1)'(InFlight) && lock);
    c_waits : cover (f_went_q != '0 && grant[f_waiting]);
  end
end
