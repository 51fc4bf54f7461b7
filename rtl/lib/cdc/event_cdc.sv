// Carries pulses to another clock, where they come out as pulses, as many as went in.
//
// A Gray-coded count crosses and is followed by one a cycle. Right while the two counts are less
// than 2^Bits apart: for ever where to_clk_i is the faster, and for any flood of 2^Bits events that
// comes faster than to_clk_i runs. Latency 3 to 4 edges of to_clk_i.
//
// No reset: the counts begin equal when the device is configured and stay in step, so a reset of
// either side's logic adds no event and loses none. What comes out while the receiving logic is in
// reset is its own to ignore. The crossing is the purpose.
`default_nettype none

module event_cdc #(
    parameter int unsigned Bits = 8
) (
    input  wire logic from_clk_i,
    input  wire logic ev_i,
    input  wire logic to_clk_i,
    output logic      ev_o
);

  // verilator lint_off PROCASSINIT
  logic [Bits-1:0] sent_q = '0;
  logic [Bits-1:0] gray_q = '0;
  logic [Bits-1:0] told_q = '0;
  logic ev_q = 1'b0;
  // verilator lint_on PROCASSINIT
  logic [Bits-1:0] sent_d, seen;
  logic is_behind;

  assign sent_d = sent_q + 1'b1;

  always_ff @(posedge from_clk_i) begin
    if (ev_i) begin
      sent_q <= sent_d;
      gray_q <= sent_d ^ (sent_d >> 1);
    end
  end

  sync_bits #(
      .Width(Bits)
  ) i_sync (
      .clk_i(to_clk_i),
      .d_i  (gray_q),
      .q_o  (seen)
  );

  assign is_behind = seen != (told_q ^ (told_q >> 1));

  always_ff @(posedge to_clk_i) begin
    ev_q <= is_behind;
    if (is_behind) told_q <= told_q + 1'b1;
  end

  assign ev_o = ev_q;

`ifdef FORMAL
  `include "event_cdc_props.svh"
`endif

endmodule

`default_nettype wire
