// Program memory of a core: one port fetches, the other reads and writes for loads and stores.
//
// Throughput: a word a cycle at each port. Latency: a read's word stands in the next cycle. No
// back-pressure, no reset. A fetch in the cycle of a write to its word gives either value: the core
// fetches what it wrote behind a FENCE.I, whose flush takes longer. One clock.
`default_nettype none

module nic_soc_memory #(
    parameter  int unsigned Bytes       = 131072,
    parameter               ProgramFile = "",  // words in hexadecimal, for $readmemh
    localparam int unsigned Aw          = $clog2(Bytes) - 2
) (
    input  wire logic          clk_i,
    input  wire logic [Aw-1:0] fetch_word_i,
    output      logic [  31:0] fetch_data_o,
    input  wire logic [Aw-1:0] word_i,
    input  wire logic [   3:0] write_i,       // bytes
    input  wire logic [  31:0] data_i,
    output      logic [  31:0] data_o
);

  (* no_rw_check, rw_addr_collision = "no" *) logic [31:0] mem[2**Aw];

  if (ProgramFile != "") begin : g_program
    initial $readmemh(ProgramFile, mem);
  end

  always_ff @(posedge clk_i) fetch_data_o <= mem[fetch_word_i];

  always @(posedge clk_i) begin
    data_o <= mem[word_i];
    for (int unsigned n = 0; n < 4; n++) begin
      if (write_i[n]) mem[word_i][8*n+:8] <= data_i[8*n+:8];
    end
  end

endmodule

`default_nettype wire
