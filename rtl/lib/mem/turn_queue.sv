// A queue of indices below Entries, for what takes turns. It has room for each of them once; who
// pushes one sees to it that it does not stand there.
//
// Throughput: a push and a pop each cycle. Latency: push to `valid_o` one cycle. `pop_i` only while
// `valid_o` is high. One clock.
`default_nettype none

module turn_queue #(
    parameter  int unsigned Entries = 16,
    localparam int unsigned Width   = Entries > 1 ? $clog2(Entries) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             rst_i,
    input  wire logic             push_i,
    input  wire logic [Width-1:0] push_index_i,
    input  wire logic             pop_i,
    output      logic             valid_o,
    output      logic [Width-1:0] index_o
);

  if (Entries > 1) begin : g_several
    logic [Width-1:0] index_mem[1<<Width];
    logic [Width:0] wr_q, rd_q;
    assign valid_o = wr_q != rd_q;
    assign index_o = index_mem[rd_q[Width-1:0]];

    always_ff @(posedge clk_i) begin
      if (push_i) index_mem[wr_q[Width-1:0]] <= push_index_i;
      wr_q <= rst_i ? '0 : wr_q + (Width + 1)'(push_i);
      rd_q <= rst_i ? '0 : rd_q + (Width + 1)'(pop_i);
    end
  end else begin : g_one
    logic valid_q;
    assign valid_o = valid_q;
    assign index_o = '0;
    always_ff @(posedge clk_i) valid_q <= (push_i || (valid_q && !pop_i)) && !rst_i;
  end

endmodule

`default_nettype wire
