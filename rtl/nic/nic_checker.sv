// Verifies the frames of nic_generator that come back: lost, duplicated, late and altered ones,
// round trips, rates (layout and counters: nic_pkg).
//
// Takes a beat every clock for ever. Every byte counts: addresses (the other way round with swap),
// EtherType, length, number, time stamp, contents, and zeros up to 60 bytes behind a short frame.
// What is altered has no number to rely on, so that its own number counts as lost too. A number
// behind the newest is late, or duplicated if it is among the last 32 that came; one that is older
// than these counts as late, and stays in lost. Counters are up to date 4 cycles behind a frame's
// last beat.
//
// A rising enable clears status_o and expects number 0; a frame counts if enable is high at its
// first beat. cfg_i stands while enable is high. One clock; counter_i is the generator's.
`default_nettype none

module nic_checker (
    input wire logic                    clk_i,
    input wire logic                    rst_i,
    input wire nic_pkg::generator_cfg_t cfg_i,
    input wire logic             [31:0] counter_i,

    input wire logic [63:0] s_axis_tdata,
    input wire logic [ 7:0] s_axis_tkeep,
    input wire logic        s_axis_tvalid,
    input wire logic        s_axis_tlast,
    input wire logic        s_axis_tuser,   // with tlast: bad

    output nic_pkg::checker_status_t status_o
);

  localparam int unsigned FrameBytesMin = 60;
  localparam int unsigned Window = 32;

  logic enable_q, clears;
  always_ff @(posedge clk_i) enable_q <= cfg_i.enable && !rst_i;
  assign clears = cfg_i.enable && !enable_q;

  // ------------------------------------------------------------------ the beats
  // A beat is looked at from registers: what is in front of the checker has long paths of its own.
  logic valid_q, last_q, user_q, begins_q;  // a frame that begins here counts
  logic [63:0] data_q;
  logic [7:0] keep_q;
  always_ff @(posedge clk_i) begin
    valid_q  <= s_axis_tvalid && !rst_i;
    data_q   <= s_axis_tdata;
    keep_q   <= s_axis_tkeep;
    last_q   <= s_axis_tlast;
    user_q   <= s_axis_tuser;
    begins_q <= enable_q && cfg_i.enable;
  end

  logic inside_q, live_q, is_live, is_first;
  logic [1:0] beat_q, beat;  // stays at 3
  logic [15:0] begun_q, begun;  // bytes in the beats before
  logic [13:0] length_q;
  logic [14:0] left_q;  // of the frame's length at the beginning of the beat; negative: padding
  logic [31:0] number_q, stamp_q;
  logic [63:0] pattern_q;
  logic [7:0] differs_q;  // bytes of the beat before
  logic wrong_q, wrong, foreign_q;  // wrong: up to the beat before

  assign is_first = !inside_q;
  assign is_live  = is_first ? begins_q : live_q;
  assign beat     = is_first ? 2'd0 : beat_q;
  assign begun    = is_first ? 16'd0 : begun_q;
  assign wrong    = !is_first && (wrong_q || |differs_q);

  logic [47:0] to, from;
  assign to   = cfg_i.swap ? cfg_i.from : cfg_i.to;
  assign from = cfg_i.swap ? cfg_i.to : cfg_i.from;

  // Bytes of the pattern in this beat, and what all its bytes are to be.
  logic [3:0] real_bytes, count;
  logic [63:0] expected;
  logic [7:0] differs;
  always_comb begin
    real_bytes = left_q[14] ? 4'd0 : (|left_q[13:3]) ? 4'd8 : {1'b0, left_q[2:0]};
    count = '0;
    for (int i = 0; i < 8; i++) begin
      if (keep_q[i]) count = 4'(i + 1);
      expected[8*i+:8] = 4'(i) < real_bytes ? pattern_q[8*i+:8] : 8'h00;
    end
    if (beat == 2'd0) expected = {from[15:0], to};
    if (beat == 2'd1) expected[47:0] = {bits_pkg::be16(cfg_i.ether_type), from[47:16]};
    for (int i = 0; i < 8; i++) begin
      differs[i] = keep_q[i] && data_q[8*i+:8] != expected[8*i+:8];
    end
    // Length, number and counter.
    if (beat == 2'd1) differs[7:6] = '0;
    if (beat == 2'd2) differs = '0;
  end

  logic [15:0] length;
  assign length = bits_pkg::be16(data_q[63:48]);

  always_ff @(posedge clk_i) begin
    if (rst_i) inside_q <= 1'b0;
    else if (valid_q) inside_q <= !last_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid_q) begin
      live_q    <= is_live;
      beat_q    <= beat == 2'd3 ? 2'd3 : beat + 2'd1;
      begun_q   <= begun + 16'd8;
      left_q    <= left_q - (left_q[14] ? 15'd0 : 15'd8);
      differs_q <= differs;
      wrong_q   <= wrong;
      unique case (beat)
        2'd0: foreign_q <= 1'b0;
        2'd1: begin
          length_q <= length[13:0];
          // Behind the three beats of the head; a length that cannot be is seen at the end.
          left_q   <= 15'(length[13:0]) - 15'd16;
          wrong_q  <= wrong || |length[15:14] || length < 16'(nic_pkg::GeneratorBytesMin);
        end
        2'd2: begin
          foreign_q <= |differs_q[5:4];
          number_q  <= data_q[31:0];
          stamp_q   <= data_q[63:32];
          pattern_q <= data_q ^ nic_pkg::PatternMask;
        end
        default: pattern_q <= nic_pkg::pattern_next(pattern_q);
      endcase
    end
  end

  // ------------------------------------------------------------------ the frame, a cycle later
  logic v1_q, bad1_q, foreign1_q;
  logic [15:0] total1_q;
  logic [13:0] length1_q;
  logic [31:0] number1_q, trip1_q;
  logic [47:0] clock1_q, clock_q;
  logic begun_any_q;
  always_ff @(posedge clk_i) begin
    v1_q <= valid_q && last_q && is_live && !clears && !rst_i;
    if (valid_q) begin
      bad1_q     <= user_q || wrong;
      foreign1_q <= beat != 2'd3 || foreign_q;
      total1_q   <= begun + 16'(count);
      length1_q  <= length_q;
      number1_q  <= number_q;
      trip1_q    <= counter_i + ~stamp_q;  // the counter was one less in the beat's own cycle
      clock1_q   <= begun_any_q ? clock_q : 48'd1;
    end
    // Cycles since the first beat, that one counted.
    if (clears || rst_i) begun_any_q <= 1'b0;
    else if (valid_q && is_live) begun_any_q <= 1'b1;
    clock_q <= begun_any_q ? clock_q + 1'b1 : 48'd2;
  end

  // Its length, and where its number lies.
  logic v2_q, bad2_q, foreign2_q, fits;
  logic [31:0] number2_q, trip2_q, ahead2_q, back2_q, next_q;
  logic [15:0] total2_q;
  logic [47:0] clock2_q;
  assign fits = total1_q == 16'(length1_q) ||
      (length1_q < 14'(FrameBytesMin) && total1_q == 16'(FrameBytesMin));
  always_ff @(posedge clk_i) begin
    v2_q       <= v1_q && !clears && !rst_i;
    bad2_q     <= bad1_q || |differs_q || !fits;
    foreign2_q <= foreign1_q;
    number2_q  <= number1_q;
    trip2_q    <= trip1_q;
    total2_q   <= total1_q;
    clock2_q   <= clock1_q;
    ahead2_q   <= number1_q - next_q;
    back2_q    <= next_q - number1_q - 32'd1;
  end

  // ------------------------------------------------------------------ the counters
  logic [Window-1:0] seen_q;  // bit i: number next_q - 1 - i has come
  logic is_right, is_ahead, is_near, was_seen;
  assign is_right = v2_q && !foreign2_q && !bad2_q;
  assign is_ahead = !ahead2_q[31];
  assign is_near  = back2_q < 32'(Window);
  assign was_seen = is_near && seen_q[back2_q[4:0]];

  nic_pkg::checker_status_t status_q;
  always_ff @(posedge clk_i) begin
    if (rst_i || clears) begin
      status_q          <= '0;
      status_q.trip_min <= '1;
      next_q            <= '0;
      seen_q            <= '0;
    end else if (v2_q) begin
      status_q.bytes  <= status_q.bytes + 48'(total2_q);
      status_q.cycles <= clock2_q;
      if (foreign2_q) status_q.foreign <= status_q.foreign + 1'b1;
      else if (bad2_q) status_q.altered <= status_q.altered + 1'b1;
      if (is_right && is_ahead) begin
        status_q.frames   <= status_q.frames + 1'b1;
        status_q.lost     <= status_q.lost + ahead2_q;
        status_q.trip_sum <= status_q.trip_sum + 64'(trip2_q);
        if (trip2_q < status_q.trip_min) status_q.trip_min <= trip2_q;
        if (trip2_q > status_q.trip_max) status_q.trip_max <= trip2_q;
        next_q <= number2_q + 1'b1;
        seen_q <= ahead2_q < 32'(Window) ? {seen_q[Window-2:0], 1'b0} << ahead2_q[4:0]
            : '0;
        seen_q[0] <= 1'b1;
      end else if (is_right && was_seen) begin
        status_q.duplicated <= status_q.duplicated + 1'b1;
      end else if (is_right) begin
        status_q.late <= status_q.late + 1'b1;
        if (is_near) begin
          status_q.lost        <= status_q.lost - 1'b1;
          seen_q[back2_q[4:0]] <= 1'b1;
        end
      end
    end
  end
  assign status_o = status_q;

endmodule

`default_nettype wire
