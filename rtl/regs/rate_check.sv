// Whether a write to a parameter of congestion control (rtl/regs/congestion.toml, from `rate_control`
// on) is outside the ranges of samplewire_proto::rate::DcqcnParams::check, or contradicts the others.
//
// Periods of alpha and timer are 256 ns or more here: dcqcn keeps none below 20 cycles. The registers
// have the same offsets in every core. Combinational.
`default_nettype none

module rate_check (
    input  wire logic [ 5:0] word_i,        // of the control half
    input  wire logic [31:0] data_i,
    // what the registers hold
    input  wire logic [23:0] minimum_i,
    input  wire logic [23:0] start_i,
    input  wire logic [23:0] first_cut_i,
    input  wire logic [23:0] line_i,
    output      logic        is_refused_o
);

  logic [23:0] rate;
  assign rate = data_i[23:0];

  always_comb begin
    unique case (word_i)
      // Mode, gain, stages.
      sw_regs_pkg::OffRateControl[7:2]:
      is_refused_o = &data_i[1:0] || ~|data_i[6:2] || data_i[6:2] > 5'd16 || ~|data_i[11:7];
      sw_regs_pkg::OffAlphaPeriod[7:2], sw_regs_pkg::OffRisePeriod[7:2]:
      is_refused_o = ~|data_i[19:8];
      sw_regs_pkg::OffRiseBytes[7:2]: is_refused_o = ~|data_i[25:16];
      sw_regs_pkg::OffRateMinimum[7:2]:
      is_refused_o = ~|rate || rate > start_i || rate > first_cut_i;
      sw_regs_pkg::OffRateStart[7:2], sw_regs_pkg::OffRateFirstCut[7:2]:
      is_refused_o = rate < minimum_i || rate > line_i;
      sw_regs_pkg::OffRateLine[7:2]: is_refused_o = rate < start_i || rate < first_cut_i;
      default: is_refused_o = 1'b0;
    endcase
  end

endmodule

`default_nettype wire
