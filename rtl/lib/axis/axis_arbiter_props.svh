// axis_arbiter: frames are never mixed, nothing is lost or doubled, and a port that waits is served.
// The assertions are an invariant: they hold for ever by induction.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// Each beat carries its port's number; sources keep to the rules of AXI-Stream.
always_comb begin
  for (int i = 0; i < int'(Ports); i++) assume (s_axis_tdata[W*i+:W] == W'(i));
end

logic [Ports-1:0] f_waited_q, f_last_q;
logic f_rst_q;
always_ff @(posedge clk_i) begin
  f_rst_q    <= rst_i;
  f_waited_q <= rst_i ? '0 : s_axis_tvalid & ~s_axis_tready;
  f_last_q   <= s_axis_tlast;
end
always_comb begin
  for (int i = 0; i < int'(Ports); i++)
  if (f_past_q && f_waited_q[i]) assume (s_axis_tvalid[i] && s_axis_tlast[i] == f_last_q[i]);
end

logic f_taken;
assign f_taken = m_axis_tvalid && m_axis_tready;

// A frame has left in part: whose.
logic f_inside_q;
logic [W-1:0] f_owner_q, f_data_q;
logic f_held_q, f_held_last_q;  // an offer that was not taken
always_ff @(posedge clk_i) begin
  if (f_taken) f_owner_q <= m_axis_tdata;
  f_inside_q    <= !rst_i && (f_taken ? !m_axis_tlast : f_inside_q);
  f_held_q      <= !rst_i && m_axis_tvalid && !m_axis_tready;
  f_held_last_q <= m_axis_tlast;
  f_data_q      <= m_axis_tdata;
end

// A port, chosen freely, and the frames of others that began since it waits.
(* anyconst *) logic [Pw-1:0] f_port;
always_comb assume (f_port < Pw'(Ports));
logic [Pw:0] f_begun_q, f_begun;
logic f_begins, f_is_waiting;
assign f_begins = m_axis_tvalid && !begun_q;
assign f_is_waiting = s_axis_tvalid[f_port] && !(begun_q && port_q == f_port);
assign f_begun = f_begun_q + (Pw + 1)'(f_begins && port_q != f_port);
always_ff @(posedge clk_i) f_begun_q <= rst_i || !f_is_waiting || f_begins && port_q == f_port ? '0
    : f_begun;

logic [Pw:0] f_distance;  // turns from the selected port to that one
assign f_distance = f_port >= port_q ? (Pw + 1)'(f_port - port_q)
    : (Pw + 1)'(f_port) + (Pw + 1)'(Ports) - (Pw + 1)'(port_q);

logic f_idle_q;
always_ff @(posedge clk_i) f_idle_q <= !m_axis_tvalid && !begun_q;

logic [Ports-1:0] f_asked_q;  // waited in the cycle before
always_ff @(posedge clk_i) f_asked_q <= rst_i ? '0 : s_axis_tvalid;

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i && !f_rst_q) begin
    p_port : assert (port_q < Pw'(Ports));
    p_one : assert ($countones(s_axis_tvalid & s_axis_tready) == 32'(f_taken));
    p_begun : assert (begun_q == (f_inside_q || f_held_q));
    if (begun_q) p_owner_selected : assert (f_held_q ? W'(port_q) == f_data_q
                                            : W'(port_q) == f_owner_q);
    if (f_inside_q && m_axis_tvalid) p_never_mixed : assert (m_axis_tdata == f_owner_q);
    if (f_held_q) p_offer_stays : assert (m_axis_tvalid && m_axis_tdata == f_data_q &&
                                          m_axis_tlast == f_held_last_q);
    // No cycle is wasted while a port waits, with priority but one behind a frame.
    if (!begun_q && |f_waited_q && !m_axis_tvalid) p_works : assert (Priority && !f_idle_q);
    if (!Priority && f_is_waiting) begin
      if (begun_q) p_turns : assert (f_begun_q + f_distance <= (Pw + 1)'(Ports));
      else p_turns_idle : assert (f_begun_q + f_distance < (Pw + 1)'(Ports));
      p_served : assert (f_begun <= (Pw + 1)'(Ports - 1));
    end
    if (Priority && f_begins) p_lowest_first : assert (!(|(f_asked_q & ~('1 << port_q))));
    c_turn : cover (f_begins && f_begun_q == (Pw + 1)'(Priority ? 1 : Ports - 1)
                    && port_q == f_port);
    c_long : cover (f_inside_q && m_axis_tlast && f_taken && port_q == Pw'(Ports - 1));
  end
end
