// One flow of dcqcn whose clock stands still but for jumps to now_i. These go in steps, each made
// when nothing is due: at_rest_o is high when the last has been made and nothing is due there.
`default_nettype none

module dcqcn_history #(
    parameter int unsigned StepNs = 10_000
) (
    input  wire logic        clk_i,
    input  wire logic        rst_i,
    input  wire logic [63:0] now_i,
    output      logic        at_rest_o,

    input wire logic [ 4:0] gain_shift_i,
    input wire logic [19:0] alpha_period_i,
    input wire logic [19:0] rise_period_i,
    input wire logic [19:0] cut_interval_i,
    input wire logic [25:0] rise_bytes_i,
    input wire logic [ 4:0] recovery_stages_i,
    input wire logic [23:0] additive_i,
    input wire logic [23:0] hyper_i,
    input wire logic [23:0] minimum_i,
    input wire logic [23:0] start_i,
    input wire logic [23:0] first_cut_i,
    input wire logic [23:0] line_i,

    input  wire logic        note_valid_i,
    input  wire logic [31:0] note_rtt_ns_i,
    input  wire logic        dep_valid_i,
    input  wire logic [15:0] dep_bytes_i,
    output      logic        taken_o,       // the event, up to the next one

    output logic [23:0] rate_o,
    output logic [23:0] target_o,
    output logic [16:0] alpha_o,
    output logic [ 4:0] timer_count_o,
    output logic [ 4:0] byte_count_o,
    output logic [25:0] bytes_left_o,
    output logic        is_cut_o           // the last notification was a cut
);

  logic [63:0] time_q;
  logic [3:0] checks_q;  // cycles since the last that found something due
  logic note_ready, dep_ready, ev, is_busy;
  logic [2:0] cause;

  dcqcn u_dcqcn (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_q),
      .gain_shift_i(gain_shift_i), .alpha_period_i(alpha_period_i),
      .rise_period_i(rise_period_i), .cut_interval_i(cut_interval_i),
      .rise_bytes_i(rise_bytes_i), .recovery_stages_i(recovery_stages_i),
      .additive_i(additive_i), .hyper_i(hyper_i), .minimum_i(minimum_i), .start_i(start_i),
      .first_cut_i(first_cut_i), .line_i(line_i),
      .start_valid_i(1'b0), .start_ready_o(), .start_flow_i(1'b0),
      .note_valid_i(note_valid_i && !taken_o), .note_ready_o(note_ready), .note_flow_i(1'b0),
      .note_rtt_ns_i(note_rtt_ns_i),
      .dep_valid_i(dep_valid_i && !taken_o), .dep_ready_o(dep_ready), .dep_flow_i(1'b0),
      .dep_bytes_i(dep_bytes_i),
      .flow_o(), .is_visited_o(), .rate_o(rate_o), .target_o(target_o), .alpha_o(alpha_o),
      .ev_o(ev), .cause_o(cause)
  );

  assign timer_count_o = u_dcqcn.timer_count_q;
  assign byte_count_o  = u_dcqcn.byte_count_q;
  assign bytes_left_o  = rise_bytes_i - u_dcqcn.sent_q[25:0];

  // Not within a visit without an event in which nothing has been due.
  assign is_busy = u_dcqcn.phase_q > u_dcqcn.PhaseCheckCut;

  always_ff @(posedge clk_i) begin
    checks_q <= is_busy ? '0 : checks_q == '1 ? checks_q : checks_q + 1'b1;
    if (checks_q == '1 && time_q != now_i) begin
      time_q   <= now_i - time_q > 64'(StepNs) ? time_q + 64'(StepNs) : now_i;
      checks_q <= '0;
    end
    if (note_ready || dep_ready) taken_o <= 1'b1;
    if (!note_valid_i && !dep_valid_i) taken_o <= 1'b0;
    if (ev && cause >= 3'd3) is_cut_o <= cause == 3'd3;
    if (rst_i) begin
      time_q   <= now_i;
      checks_q <= '0;
      taken_o  <= 1'b0;
      is_cut_o <= 1'b0;
    end
  end

  assign at_rest_o = checks_q == '1 && time_q == now_i && !rst_i && taken_o == (note_valid_i || dep_valid_i);

endmodule

`default_nettype wire
