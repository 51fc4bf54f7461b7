// What is kept of each packet in the ring beside its payload, and when it last departed.
//
// Two memories, since the packetizer writes the one and tx_sched the other. Throughput: one write
// and one read a clock on each. Latency: read data one cycle after the address. No back-pressure.
// What is read in the cycle of a write to the same slot is not to be used. Nothing is cleared: an entry
// means something only from the commit of its packet to its release. No clock crossing.
`default_nettype none

module slot_table #(
    parameter int unsigned Slots = 64,
    localparam int unsigned Sw   = $clog2(Slots)
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic                   we_i,
    input wire logic          [Sw-1:0] waddr_i,
    input wire send_pkg::slot_t        wdata_i,

    input  wire logic          [Sw-1:0] rd_addr_i,
    output send_pkg::slot_t             rd_data_o,

    input wire logic          dep_we_i,
    input wire logic [Sw-1:0] dep_waddr_i,
    input wire logic [  31:0] dep_wdata_i,

    input  wire logic [Sw-1:0] dep_rd_addr_i,
    output logic      [  31:0] dep_rd_data_o
);

  generate
    if (Slots < 2 || Slots != (1 << Sw)) begin : g_bad_slots
      $error("Slots must be a power of two, 2 at least");
    end
  endgenerate

  send_pkg::slot_t slot_q;
  // A slot is written at the commit of its packet and read after that.
  (* no_rw_check, rw_addr_collision = "no" *) logic [$bits(slot_q)-1:0] slot_mem[Slots];

  always_ff @(posedge clk_i) begin
    if (we_i) slot_mem[waddr_i] <= wdata_i;
    slot_q <= slot_mem[rd_addr_i];
  end

  assign rd_data_o = slot_q;

  // nack_walker reads the departure of a seq before `sent`, which is written by then. Only a range
  // beyond `sent`, which no receiver requests, may read it in the cycle of its write: then the
  // packet may be repeated unnecessarily.
  (* no_rw_check, rw_addr_collision = "no" *) logic [31:0] dep_mem[Slots];
  logic [31:0] dep_q;

  always_ff @(posedge clk_i) begin
    if (dep_we_i) dep_mem[dep_waddr_i] <= dep_wdata_i;
    dep_q <= dep_mem[dep_rd_addr_i];
  end

  assign dep_rd_data_o = dep_q;

endmodule

`default_nettype wire
