// ACB's lock: a master that takes it excludes the other processors until its next request without,
// or for LockCycles.
//
// While lock_o is high, the arbiter around it takes requests of owner_o alone among processors. It
// lets at most one processor take the lock in a cycle: nic_memory and nic_l2 by turns, nic_share
// since it takes one request a cycle. Ports below Engines neither take the lock nor are held back.
// A cycle with waits_i, in which the owner waits for the memory, does not count.
//
// Latency: lock_o follows the request that takes or ends the lock in the next cycle. One clock.
`default_nettype none

module nic_lock #(
    parameter  int unsigned Ports      = 3,
    parameter  int unsigned Engines    = 2,
    parameter  int unsigned LockCycles = 64,
    localparam int unsigned Pw         = Ports > 1 ? $clog2(Ports) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             rst_i,
    input  wire logic [Ports-1:0] taken_i,  // requests
    input  wire logic [Ports-1:0] locks_i,  // .. with `lock`
    input  wire logic             waits_i,
    output      logic             lock_o,
    output      logic [   Pw-1:0] owner_o
);

  localparam int unsigned Lw = $clog2(LockCycles + 1);

  logic [Lw-1:0] left_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      lock_o <= 1'b0;
    end else begin
      if (!waits_i) begin
        left_q <= left_q - 1'b1;
        if (left_q == '0) lock_o <= 1'b0;
      end
      for (int p = int'(Engines); p < int'(Ports); p++) begin
        if (taken_i[p] && !(lock_o && locks_i[p])) begin
          lock_o  <= locks_i[p];
          owner_o <= Pw'(p);
          left_q  <= Lw'(LockCycles - 1);
        end
      end
    end
  end

`ifdef FORMAL
  `include "nic_lock_props.svh"
`endif

endmodule

`default_nettype wire
