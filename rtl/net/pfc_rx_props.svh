  // Properties of pfc_rx; included by it for formal runs, at 64 bits.

  logic f_reset_q = 1;
  logic f_was_reset_q = 0;
  always_ff @(posedge clk_i) begin
    f_reset_q     <= 1'b0;
    f_was_reset_q <= f_reset_q;
  end
  always_comb assume (rst_i == f_reset_q);

  // One class. Time passes by a quantum a cycle at most, which is whole nanoseconds here, from
  // anywhere and for ever.
  localparam logic [2:0] QuantumNs = 3'(Quantum >> FractionBits);
  (* anyconst *) logic [2:0] f_class;
  logic [17:0] f_before_q, f_step;  // as much of the time as the module takes
  always_ff @(posedge clk_i) f_before_q <= time_ns_i[17:0];
  assign f_step = time_ns_i[17:0] - f_before_q;
  always_comb begin
    if (!f_reset_q) assume (f_step <= 18'(QuantumNs));
    assume (class_i == f_class);
  end

  // The frame, byte by byte of the standard's layout: whether all that has come fits, its time.
  function automatic logic [7:0] f_wanted(input logic [6:0] at);
    case (at)
      7'd0: f_wanted = 8'h01;
      7'd1: f_wanted = 8'h80;
      7'd2: f_wanted = 8'hC2;
      7'd5: f_wanted = 8'h01;
      7'd12: f_wanted = 8'h88;
      7'd13: f_wanted = 8'h08;
      7'd14: f_wanted = 8'h01;
      7'd15: f_wanted = 8'h01;
      default: f_wanted = 8'h00;
    endcase
  endfunction

  logic [3:0] f_beat_q = '0;  // up to 8: the ninth beat or a later one
  logic f_fits_q, f_fits, f_is_ours;
  logic [15:0] f_time_q, f_time;
  logic [6:0] f_at;
  logic [7:0] f_byte;
  always_comb begin
    f_fits = f_beat_q == '0 || f_fits_q;
    f_time = f_time_q;
    for (int n = 0; n < 8; n++) begin
      f_at   = {f_beat_q, 3'(n)};
      f_byte = s_axis_tdata[8*n+:8];
      if ((f_at < 7'd6 || (f_at >= 7'd12 && f_at < 7'd16)) && f_byte != f_wanted(f_at)) f_fits = 1'b0;
      if (f_at == 7'd17 && !f_byte[f_class]) f_fits = 1'b0;
      if (f_at == 7'd18 + 7'({f_class, 1'b0})) f_time[15:8] = f_byte;
      if (f_at == 7'd19 + 7'({f_class, 1'b0})) f_time[7:0] = f_byte;
    end
  end
  assign f_is_ours = s_axis_tvalid && s_axis_tlast && !s_axis_tuser && f_fits && !rst_i &&
      (f_beat_q == 4'd8 || (f_beat_q == 4'd7 && s_axis_tkeep[3]));
  always_ff @(posedge clk_i) begin
    if (s_axis_tvalid) begin
      f_fits_q <= f_fits;
      f_time_q <= f_time;
      f_beat_q <= s_axis_tlast ? '0 : f_beat_q == 4'd8 ? f_beat_q : f_beat_q + 4'd1;
    end
    if (rst_i) f_beat_q <= '0;
  end

  // What a frame asks for, one and two cycles behind it.
  logic f_ours_q = 0, f_ours_2_q = 0, f_paused_q = 0;
  logic [15:0] f_asked_q, f_asked_2_q;
  always_ff @(posedge clk_i) begin
    f_ours_q    <= f_is_ours;
    f_ours_2_q  <= f_ours_q;
    f_asked_q   <= f_time;
    f_asked_2_q <= f_asked_q;
    f_paused_q  <= is_paused;
  end

  // How much of the last pause is left, as of the cycle before.
  logic f_has_q = 0;
  logic [19:0] f_left_q;
  always_ff @(posedge clk_i) begin
    f_left_q <= f_left_q > 20'(f_step) ? f_left_q - 20'(f_step) : '0;
    if (f_ours_q) begin
      f_has_q  <= 1'b1;
      f_left_q <= 20'(f_asked_q) * 20'(QuantumNs);
    end
  end
  // Until the next quantum is over.
  logic [15:0] f_due;
  assign f_due = due_q[FractionBits+:NsWidth] - f_before_q[15:0];

  // How long the pause has lasted without a break, and stop_o been high; 255 is as long or longer.
  localparam logic [7:0] StormNs = 8'd2 << StormLog2;
  logic [7:0] f_lasted_q = '0, f_stopped_q = '0;
  logic [17:0] f_began_q;
  logic [8:0] f_lasted, f_stopped;
  assign f_lasted  = {1'b0, f_lasted_q} + 9'(f_step);
  assign f_stopped = {1'b0, f_stopped_q} + 9'(f_step);
  always_ff @(posedge clk_i) begin
    f_lasted_q  <= is_paused ? f_lasted[7:0] | {8{f_lasted[8]}} : '0;
    f_stopped_q <= stop_o ? f_stopped[7:0] | {8{f_stopped[8]}} : '0;
    if (!is_paused) f_began_q <= time_ns_i[17:0];
    if (rst_i) begin
      f_lasted_q  <= '0;
      f_stopped_q <= '0;
    end
  end

  logic [15:0] f_time_seen;  // of the class, as the module has it
  assign f_time_seen = {time_q[7:0], time_q[15:8]};

  always_ff @(posedge clk_i) begin
    if (f_was_reset_q) assert (!stop_o && !ev_storm_o);
    if (!f_reset_q) begin
      // A frame is taken for what it says, and nothing else is.
      assert (is_good_q == f_ours_q);
      assert (ev_pause_o == (f_ours_q && f_asked_q != '0));
      if (f_ours_2_q) assert (quanta_q == f_asked_2_q);
      assert (g_beats.beat_q == f_beat_q && f_beat_q <= 4'd8);
      if (f_beat_q == 4'd1) assert (is_ours_q == f_fits_q);
      if (f_beat_q == 4'd2) assert (is_pfc_q == f_fits_q);
      if (f_beat_q >= 4'd3) assert ((is_pfc_q && is_enabled_q) == f_fits_q);
      if (f_beat_q > 4'd2 + 4'(g_beats.place[3:2])) assert (f_time_seen == f_time_q);
      if (f_ours_q) assert (f_time_seen == f_asked_q && f_beat_q <= 4'd1);
      // It lasts as long as it says, to the cycle.
      if (f_has_q) assert (is_paused == |f_left_q);
      else assert (!is_paused);
      if (is_paused) begin
        assert (due_q[FractionBits-1:0] == '0 && f_due >= 16'd1 && f_due <= 16'(QuantumNs));
        assert (f_left_q == 20'(quanta_q - 1'b1) * 20'(QuantumNs) + 20'(f_due));
      end
      // Where there is no pause, nothing stops for longer than a cycle.
      if (!is_paused && !f_paused_q) assert (!stop_o);
      if (storm_q) assert (!stop_o && f_paused_q);
      // A pause stops for the least time of a storm, and for no longer than the most.
      if (f_paused_q && !f_was_reset_q && f_lasted_q <= StormNs / 2) assert (stop_o);
      if (stop_o) assert (f_stopped_q < StormNs && f_stopped_q <= f_lasted_q);
      if (is_paused) assert (since_q == f_began_q[StormLog2+:2]);
      if (is_paused && !storm_q)
        assert (f_lasted_q < StormNs && 18'(f_lasted_q) == f_before_q - f_began_q);
      if (storm_q) assert (f_lasted_q > StormNs / 2);
    end
    cover (stop_o && quanta_q == 16'd1);
    cover (ev_storm_o);
    cover (f_ours_2_q && f_asked_2_q == '0 && f_paused_q);
  end
