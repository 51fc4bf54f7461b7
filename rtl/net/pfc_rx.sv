// Whether the peer has paused one priority: priority-based flow control, IEEE 802.1Qbb.
//
// Takes frames to 01-80-C2-00-00-01 with EtherType 0x8808 and opcode 0x0101, of 60 bytes or more and
// not bad, that enable class_i. Its time is in quanta of 512 bit times of the line, counted from the
// frame's last beat; a later frame replaces the time, and time 0 ends the pause. All other frames,
// also the plain PAUSE, are ignored.
//
// stop_o is for the choice of the next frame: what is leaving leaves whole. It follows a frame's last
// beat within 3 cycles, and falls at most 2 cycles and a nanosecond behind the last quantum.
//
// Storms: a pause without a break ends after 2^(StormLog2 + 1) ns at most, 2^StormLog2 at least (134
// and 67 ms by default), whatever frames come: ev_storm_o. The priority then runs until that pause
// ends, by its time or by a frame with time 0, and obeys the next one.
//
// A quantum is no shorter than a cycle. Behind a jump of the clock a pause may end early, or up to
// 2^15 ns late. Input without ready. One clock. No core uses it yet: MACs that handle PFC themselves
// need none.
`default_nettype none

module pfc_rx #(
    parameter int unsigned W         = 64,
    parameter int unsigned LineGbps  = W == 512 ? 100 : 10,
    parameter int unsigned StormLog2 = 26
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,
    input wire logic [ 2:0] class_i,

    input wire logic [  W-1:0] s_axis_tdata,
    input wire logic [W/8-1:0] s_axis_tkeep,
    input wire logic           s_axis_tvalid,
    input wire logic           s_axis_tlast,
    input wire logic           s_axis_tuser,  // with the last beat: bad

    output logic stop_o,
    output logic ev_pause_o,  // a frame of the class with a time above 0
    output logic ev_storm_o
);

  if (W != 64 && W != 512) begin : g_bad_width
    $error("pfc_rx: W is 64 or 512");
  end
  if (LineGbps < 1 || LineGbps > 400 || StormLog2 > 61) begin : g_bad_parameters
    $error("pfc_rx: a line of 1 to 400 Gb/s, a storm of at most 2^61 ns");
  end

  localparam logic [47:0] Destination = 48'h01_00_00_C2_80_01;  // first byte lowest
  localparam logic [31:0] TypeOpcode = 32'h01_01_08_88;
  localparam int unsigned NsWidth = 16;
  localparam int unsigned FractionBits = 8;
  // In 2^-8 ns, rounded up.
  localparam int unsigned Quantum = (512 * (1 << FractionBits) + LineGbps - 1) / LineGbps;

  typedef logic [NsWidth+FractionBits-1:0] due_t;

  // ------------------------------------------------------------------ the frame
  // Destination, type and opcode, enable bit and time: what a beat shows is known a cycle later.
  logic is_ours_q, is_pfc_q, is_enabled_q, is_good_q;
  logic [15:0] time_q;  // of the class, first byte lowest

  if (W == 64) begin : g_beats
    logic [3:0] beat_q, place;
    logic [7:0] enables;
    assign enables = s_axis_tdata[15:8];
    assign place = {1'b0, class_i} + 4'd1;  // of the time, from byte 16 on, in two bytes
    always_ff @(posedge clk_i) begin
      is_good_q <= 1'b0;
      if (s_axis_tvalid) begin
        if (beat_q == 4'd0) is_ours_q <= s_axis_tdata[47:0] == Destination;
        if (beat_q == 4'd1) is_pfc_q <= is_ours_q && s_axis_tdata[63:32] == TypeOpcode;
        if (beat_q == 4'd2) is_enabled_q <= enables[class_i];
        if (beat_q == 4'd2 + 4'(place[3:2])) time_q <= s_axis_tdata[16*place[1:0]+:16];
        is_good_q <= s_axis_tlast && !s_axis_tuser && is_pfc_q && is_enabled_q &&
                     (beat_q[3] || (&beat_q[2:0] && s_axis_tkeep[3]));
        if (!beat_q[3]) beat_q <= beat_q + 1'b1;
        if (s_axis_tlast) beat_q <= '0;
      end
      if (rst_i) begin
        beat_q    <= '0;
        is_good_q <= 1'b0;
      end
    end
  end else begin : g_beat
    logic inside_q, is_type_q, is_whole_q;
    logic [7:0] enables;
    assign enables  = s_axis_tdata[143:136];
    assign is_pfc_q = is_ours_q && is_type_q;
    always_ff @(posedge clk_i) begin
      if (s_axis_tvalid) begin
        inside_q <= !s_axis_tlast;
        if (!inside_q) begin
          is_ours_q    <= s_axis_tdata[47:0] == Destination && s_axis_tkeep[59];
          is_type_q    <= s_axis_tdata[127:96] == TypeOpcode;
          is_enabled_q <= enables[class_i];
          time_q       <= s_axis_tdata[144+16*class_i+:16];
        end
      end
      is_whole_q <= s_axis_tvalid && s_axis_tlast && !s_axis_tuser;
      if (rst_i) begin
        inside_q   <= 1'b0;
        is_whole_q <= 1'b0;
      end
    end
    assign is_good_q = is_whole_q && is_pfc_q && is_enabled_q;
  end

  assign ev_pause_o = is_good_q && |time_q;

  // ------------------------------------------------------------------ the pause
  logic [15:0] quanta_q;  // that are left
  due_t due_q;            // when the next one is over
  logic is_paused, is_over;
  logic [NsWidth-1:0] late;
  assign is_paused = |quanta_q;
  assign late      = time_ns_i[NsWidth-1:0] - due_q[FractionBits+:NsWidth];
  assign is_over   = is_paused && !late[NsWidth-1];

  always_ff @(posedge clk_i) begin
    if (is_good_q || is_over) begin
      due_q <= (is_good_q ? {time_ns_i[NsWidth-1:0], {FractionBits{1'b0}}} : due_q) +
               due_t'(Quantum);
    end
    if (is_good_q) quanta_q <= {time_q[7:0], time_q[15:8]};
    else if (is_over) quanta_q <= quanta_q - 1'b1;
    if (rst_i) quanta_q <= '0;
  end

  // ------------------------------------------------------------------ storms
  // Two bits of the time tell how long ago it began.
  logic storm_q, is_long;
  logic [1:0] since_q, age;
  assign age     = time_ns_i[StormLog2+:2] - since_q;
  assign is_long = is_paused && age[1] && !storm_q;

  always_ff @(posedge clk_i) begin
    if (!is_paused) since_q <= time_ns_i[StormLog2+:2];
    storm_q    <= is_paused && (storm_q || is_long);
    ev_storm_o <= is_long;
    stop_o     <= is_paused && !storm_q && !is_long;
    if (rst_i) begin
      storm_q    <= 1'b0;
      ev_storm_o <= 1'b0;
      stop_o     <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "pfc_rx_props.svh"
`endif

endmodule

`default_nettype wire
