// For yosys: registers of several clocks as registers of one step. A clock that is high in a step
// ticks in it, so that any set of clocks ticks in any step.
(* techmap_celltype = "$dff" *)
module _ticks_dff (
    CLK,
    D,
    Q
);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  input CLK;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;

  // A falling edge would need steps of its own.
  wire _TECHMAP_FAIL_ = !CLK_POLARITY;

  \$ff #(
      .WIDTH(WIDTH)
  ) _TECHMAP_REPLACE_ (
      .D(CLK ? D : Q),
      .Q(Q)
  );
endmodule
