  // Properties of pfc_rx; included by it for formal runs, at 64 bits.

  logic f_reset_q = 1;
  logic f_was_reset_q = 0;
  always_ff @(posedge clk_i) begin
    f_reset_q     <= 1'b0;
    f_was_reset_q <= f_reset_q;
  end
  always_comb assume (rst_i == f_reset_q);

  // One class. Time begins at 0, or a little before what the module keeps of it wraps; it passes by a
  // quantum a cycle at most, which is whole nanoseconds here.
  localparam logic [2:0] QuantumNs = 3'(Quantum >> FractionBits);
  (* anyconst *) logic [2:0] f_class;
  (* anyconst *) logic f_wraps;
  (* anyseq *) logic [2:0] f_step;
  logic [7:0] f_now_q = '0, f_before_q = '0;
  always_ff @(posedge clk_i) begin
    f_now_q    <= f_now_q + 8'(f_step);
    f_before_q <= f_now_q;
  end
  always_comb begin
    assume (f_step <= QuantumNs);
    assume (class_i == f_class);
    assume (time_ns_i == 64'(f_now_q) + (f_wraps ? 64'hFFF0 : 64'd0));
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

  // When the last pause is over.
  logic f_has_q = 0;
  logic [19:0] f_end_q;
  always_ff @(posedge clk_i) begin
    if (f_ours_q) begin
      f_has_q <= 1'b1;
      f_end_q <= 20'(f_now_q) + 20'(f_asked_q) * 20'(QuantumNs);
    end
  end

  // How long stop_o has been high.
  logic [7:0] f_stopped_q = '0;
  always_ff @(posedge clk_i) begin
    f_stopped_q <= stop_o ? f_stopped_q + (f_now_q - f_before_q) : '0;
    if (rst_i) f_stopped_q <= '0;
  end

  always_ff @(posedge clk_i) begin
    if (f_was_reset_q) assert (!stop_o && !ev_storm_o);
    if (!f_reset_q) begin
      // A frame is taken for what it says, and nothing else is.
      assert (is_good_q == f_ours_q);
      assert (ev_pause_o == (f_ours_q && f_asked_q != '0));
      if (f_ours_2_q) assert (quanta_q == f_asked_2_q);
      assert (g_beats.beat_q == f_beat_q);
      // It lasts as long as it says, to the cycle.
      if (f_has_q) assert (is_paused == (20'(f_before_q) < f_end_q));
      // Where there is no pause, nothing stops for longer than a cycle.
      if (!is_paused && !f_paused_q) assert (!stop_o);
      if (storm_q) assert (!stop_o && f_paused_q);
      // Whatever comes, the stop ends.
      if (stop_o) assert (f_stopped_q <= (8'd2 << StormLog2) + 2 * 8'(QuantumNs));
    end
    cover (stop_o && quanta_q == 16'd1);
    cover (ev_storm_o);
    cover (f_ours_2_q && f_asked_2_q == '0 && f_paused_q);
  end
