// mac_fifo: the MAC and the core get whole frames, or marked ones, through any reset and any change of
// the loop-back. Words carry {source, last of the frame, the frame's number modulo 2, its own number}
// in their low bits: of the core here, of the MAC in free_frame_cdc. The core begins a frame again at
// its reset, and holds a beat that it has shown.

logic f_id, f_held;
logic [1:0] f_num;
initial begin
  f_id = 1'b0;
  f_num = '0;
  f_held = 1'b0;
end
function automatic logic [1:0] f_next(input logic [1:0] num);
  f_next = num == 2'd3 ? 2'd1 : num + 2'd1;
endfunction
always_comb begin
  assume (s_tx_tdata[4:0] == {1'b0, s_tx_tlast, f_id, f_num});
  // The core's beats name their tkeep.
  assume (s_tx_tdata[12:5] == s_tx_tkeep[7:0] && s_tx_tkeep[0]);
  assume ((s_tx_tkeep & (s_tx_tkeep + 1'b1)) == '0 && (s_tx_tlast || &s_tx_tkeep));
  if (f_held) assume (s_tx_tvalid && s_tx_tlast == f_held_last);
end
logic f_held_last;
always_ff @(posedge clk_i) begin
  f_held      <= s_tx_tvalid && !s_tx_tready && !rst_i;
  f_held_last <= s_tx_tlast;
  if (rst_i) begin
    f_num <= '0;
    f_id  <= !f_id;
  end else if (s_tx_tvalid && s_tx_tready) begin
    f_num <= s_tx_tlast ? 2'd0 : f_next(f_num);
    f_id  <= f_id ^ s_tx_tlast;
  end
end

// What the MAC has taken. Closing beats repeat the one before.
logic f_open, f_pad, f_repeats, f_follows;
logic [4:0] f_in;
logic [3:0] f_beats;
initial begin
  f_open = 1'b0;
  f_pad = 1'b0;
  f_beats = '0;
end
assign f_repeats = mac_tx_tdata[4:0] == f_in;
assign f_follows = {mac_tx_tdata[4], mac_tx_tdata[2:0]} == {f_in[4], f_in[2], f_next(f_in[1:0])};
always_ff @(posedge mac_tx_clk_i) begin
  if (mac_tx_rst_i) begin
    f_open  <= 1'b0;
    f_pad   <= 1'b0;
    f_beats <= '0;
  end else if (mac_tx_tvalid && mac_tx_tready) begin
    f_open  <= !mac_tx_tlast;
    f_pad   <= f_open && !f_follows && !mac_tx_tlast;
    f_beats <= mac_tx_tlast ? '0 : f_beats == '1 ? f_beats : f_beats + 1'b1;
    f_in    <= mac_tx_tdata[4:0];
  end
end

// What the core has taken, and what it was shown and did not take.
logic f_rx_open, f_rx_held;
logic [4:0] f_rx_in, f_rx_shown;
initial begin
  f_rx_open = 1'b0;
  f_rx_held = 1'b0;
end
always_ff @(posedge clk_i) begin
  if (rst_i) f_rx_open <= 1'b0;
  else if (m_rx_tvalid && m_rx_tready) f_rx_open <= !m_rx_tlast;
  if (m_rx_tvalid && m_rx_tready) f_rx_in <= m_rx_tdata[4:0];
  f_rx_held  <= m_rx_tvalid && !m_rx_tready && !rst_i;
  f_rx_shown <= m_rx_tdata[4:0];
end

// Behind its reset the switch is at 0 for a cycle: nothing begins in a loop-back.
logic f_rst_q;
initial f_rst_q = 1'b0;
always_ff @(posedge clk_i) f_rst_q <= rst_i;

always_comb begin
  if (f_rst_q && loopback_i != '0) a_switch : assert (!s_tx_tready && !m_rx_tvalid);
  if (f_open) a_no_gap : assert (mac_tx_tvalid);
  if (mac_tx_tvalid && !f_open) a_first : assert (mac_tx_tdata[1:0] == 2'd0 && !mac_tx_tuser);
  if (mac_tx_tvalid && f_open) a_one_frame : assert (f_repeats || (f_follows && !f_pad));
  if (mac_tx_tvalid && mac_tx_tlast && !mac_tx_tuser) begin
    a_whole : assert (mac_tx_tdata[3] && !f_pad && (!f_open || f_follows));
  end
  if (mac_tx_tvalid && !mac_tx_tlast) a_not_last : assert (!mac_tx_tdata[3] && !mac_tx_tuser);
  if (mac_tx_tvalid && !mac_tx_tdata[4]) a_keep : assert (mac_tx_tkeep == mac_tx_tdata[12:5]);
  if (m_rx_tvalid && !m_rx_tdata[4]) a_rx_keep : assert (m_rx_tkeep == m_rx_tdata[12:5]);
  if (mac_tx_tuser) a_bad : assert (f_repeats && f_beats >= 4'd7);
  if (m_rx_tvalid && !f_rx_open) a_rx_first : assert (m_rx_tdata[1:0] == 2'd0);
  if (m_rx_tvalid && f_rx_open) begin
    a_rx_one_frame : assert ({m_rx_tdata[4], m_rx_tdata[2:0]} ==
                             {f_rx_in[4], f_rx_in[2], f_next(f_rx_in[1:0])});
  end
  if (f_rx_held) a_rx_stays : assert (m_rx_tvalid && m_rx_tdata[4:0] == f_rx_shown);
  if (m_rx_tvalid) a_rx_last : assert (m_rx_tlast == m_rx_tdata[3]);
  c_cut : cover (mac_tx_tvalid && mac_tx_tready && mac_tx_tuser);
  c_far : cover (mac_tx_tvalid && mac_tx_tlast && mac_tx_tdata[4] && f_open);
  // A frame that the core held back came whole.
  c_held : cover (f_rx_held && f_rx_open && m_rx_tready && m_rx_tlast && m_rx_tdata[4]);
  c_near : cover (m_rx_tvalid && m_rx_tlast && !m_rx_tdata[4] && f_rx_open);
end
