// Two-flop synchroniser of level bits, each for itself.
//
// A level that lasts longer than a cycle of clk_i comes through, 2 or 3 edges later. Bits that
// change together may come in different cycles: buses cross only in Gray code or through
// async_fifo. The source must be a register. No back-pressure. No reset: the flops begin at 0 when
// the device is configured. The clock crossing is the purpose: constrain d_i as asynchronous
// (max_delay or false_path).
`default_nettype none

module sync_bits #(
    parameter int unsigned Width = 1
) (
    input  wire logic             clk_i,
    input  wire logic [Width-1:0] d_i,
    output logic      [Width-1:0] q_o
);

  // verilator lint_off PROCASSINIT
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] meta_q = '0;
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] stable_q = '0;
  // verilator lint_on PROCASSINIT

  always_ff @(posedge clk_i) begin
    meta_q   <= d_i;
    stable_q <= meta_q;
  end

  assign q_o = stable_q;

endmodule

`default_nettype wire
