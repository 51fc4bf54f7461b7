// Resets of the two sides of a clock crossing: when one side is reset, both stop, both clear their
// pointers, and each starts again only when it has seen that the other's are clear.
//
// A reset of any length counts, down to one cycle of its own clock. x_stop_o is high from the first
// cycle of it: the side's pointer must stand. While x_clear_o is high the pointer is set to 0. The
// other side follows 3 to 4 of its edges later. Where the other side is reset, x_busy_i delays this
// side's stop until it has ended what it has begun; x_asked_o is high meanwhile. Its own reset does
// not wait. Both run again 5 crossings after the last of them has left reset: at most 20 edges
// of the slower clock.
//
// No reset and no pointer is seen by the other side in part: pointers change many bits at once only
// between both stops. No back-pressure but x_busy_i. Clock crossings: two states in Gray code, in
// sync_bits. Both clocks must run for either side to leave a stop.
`default_nettype none

module reset_ctrl (
    input  wire logic a_clk_i,
    input  wire logic a_rst_i,
    input  wire logic a_busy_i,
    output logic      a_asked_o,
    output logic      a_stop_o,
    output logic      a_clear_o,

    input  wire logic b_clk_i,
    input  wire logic b_rst_i,
    input  wire logic b_busy_i,
    output logic      b_asked_o,
    output logic      b_stop_o,
    output logic      b_clear_o
`ifdef FORMAL
    ,
    output logic       f_a_run_o,
    output logic       f_b_run_o,
    output logic       f_a_clear_o,
    output logic       f_b_clear_o,
    output logic [2:0] f_a_same_o,
    output logic [2:0] f_a_next_o,
    output logic [2:0] f_b_same_o,
    output logic [2:0] f_b_next_o
`endif
);

  logic [1:0] a_state, b_state, a_seen, b_seen;
`ifdef FORMAL
  logic f_a_due, f_b_due;
`endif

  sync_bits #(
      .Width(2)
  ) i_sync_to_b (
      .clk_i(b_clk_i),
      .d_i  (a_state),
      .q_o  (a_seen)
  );

  sync_bits #(
      .Width(2)
  ) i_sync_to_a (
      .clk_i(a_clk_i),
      .d_i  (b_state),
      .q_o  (b_seen)
  );

  reset_side i_a (
      .clk_i  (a_clk_i),
      .rst_i  (a_rst_i),
      .busy_i (a_busy_i),
      .other_i(b_seen),
      .state_o(a_state),
      .asked_o(a_asked_o),
      .stop_o (a_stop_o),
      .clear_o(a_clear_o)
`ifdef FORMAL
      ,
      .f_due_o(f_a_due)
`endif
  );

  reset_side i_b (
      .clk_i  (b_clk_i),
      .rst_i  (b_rst_i),
      .busy_i (b_busy_i),
      .other_i(a_seen),
      .state_o(b_state),
      .asked_o(b_asked_o),
      .stop_o (b_stop_o),
      .clear_o(b_clear_o)
`ifdef FORMAL
      ,
      .f_due_o(f_b_due)
`endif
  );

`ifdef FORMAL
  `include "reset_ctrl_props.svh"
`endif

endmodule

`default_nettype wire
