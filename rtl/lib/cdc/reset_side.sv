// One side of reset_ctrl: four states, of which one bit changes at a time.
//
//   Run   {0,0}  pointers move; to Stop at this side's reset, or when the other side stops
//   Stop  {0,1}  pointers stand; to Clear when the other side is in Stop or Clear
//   Clear {1,1}  pointers are 0; to Start when the other side is in Clear or Start, not in reset
//   Start {1,0}  pointers move; to Run when the other side is not in Clear
//
// No state is skipped and no reset clears the state, so the other side sees each stop, however
// short the reset was. From any pair of states, as after a fault, both sides come back to Run.
// state_o is a register, to be synchronised to the other clock. No back-pressure.
`default_nettype none

module reset_side (
    input  wire logic       clk_i,
    input  wire logic       rst_i,
    input  wire logic       busy_i,
    input  wire logic [1:0] other_i,
    output logic      [1:0] state_o,
    output logic            asked_o,
    output logic            stop_o,
    output logic            clear_o
`ifdef FORMAL
    ,
    output logic            f_due_o
`endif
);

  localparam logic [1:0] Run = 2'b00;
  localparam logic [1:0] Stop = 2'b01;
  localparam logic [1:0] Clear = 2'b11;
  localparam logic [1:0] Start = 2'b10;

  // Configuration stops both sides, so that pointers need no initial value.
  // verilator lint_off PROCASSINIT
  logic [1:0] state_q = Stop;
  logic due_q = 1'b0;  // a reset that the state has not taken up
  // verilator lint_on PROCASSINIT
  logic [1:0] state_d;

  assign asked_o = state_q == Run && other_i[0];
  assign stop_o  = rst_i || due_q || state_q[0] || (asked_o && !busy_i);
  assign clear_o = state_q == Clear || (state_q == Stop && other_i[0]);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Run:     if (stop_o) state_d = Stop;
      Stop:    if (other_i[0]) state_d = Clear;
      Clear:   if (other_i[1] && !rst_i) state_d = Start;
      default: if (other_i != Clear) state_d = Run;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    due_q   <= !state_q[0] && (rst_i || due_q);
  end

  assign state_o = state_q;

`ifdef FORMAL
  assign f_due_o = due_q;
`endif

endmodule

`default_nettype wire
