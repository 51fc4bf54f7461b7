// The memory of the packets that may be requested again: one write port, one read port.
//
// Throughput: one write and one read a clock. Latency: the reply comes RdLatency cycles after its
// request was taken, in order, with its tag. Back-pressure: rd_ready_o is always high here; a ring
// in other memory may hold requests back, never replies.
//
// The first register behind the memory belongs to the block RAM or UltraRAM, the others let a
// cascade of them be pipelined. A read in the cycle of a write to the same beat gives either value:
// a packet is read only after its commit. No clock crossing.
`default_nettype none

module ring #(
    parameter int unsigned W         = 64,
    parameter int unsigned Beats     = 1024,
    parameter int unsigned RdLatency = 2,
    parameter int unsigned TagW      = 4,
    parameter              Style     = "block",  // or "ultra"
    localparam int unsigned Aw       = $clog2(Beats)
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic          we_i,
    input wire logic [Aw-1:0] waddr_i,
    input wire logic [ W-1:0] wdata_i,

    input  wire logic            rd_valid_i,
    output logic                 rd_ready_o,
    input  wire logic [  Aw-1:0] rd_addr_i,
    input  wire logic [TagW-1:0] rd_tag_i,

    output logic            rd_valid_o,
    output logic [   W-1:0] rd_data_o,
    output logic [TagW-1:0] rd_tag_o
);

  generate
    if (RdLatency < 2) begin : g_bad_latency
      $error("RdLatency must be 2 at least");
    end
    if (Beats < 2) begin : g_bad_beats
      $error("Beats must be 2 at least");
    end
  endgenerate

  // A slot is written before its packet is committed and read after that.
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) logic [W-1:0] mem[Beats];

  logic [W-1:0] data_q[RdLatency];
  logic [TagW-1:0] tag_q[RdLatency];
  logic [RdLatency-1:0] valid_q;

  assign rd_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (rd_valid_i) data_q[0] <= mem[rd_addr_i];
    tag_q[0] <= rd_tag_i;
    for (int unsigned i = 1; i < RdLatency; i++) begin
      data_q[i] <= data_q[i-1];
      tag_q[i]  <= tag_q[i-1];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else valid_q <= {valid_q[RdLatency-2:0], rd_valid_i};
  end

  assign rd_valid_o = valid_q[RdLatency-1];
  assign rd_data_o  = data_q[RdLatency-1];
  assign rd_tag_o   = tag_q[RdLatency-1];

endmodule

`default_nettype wire
