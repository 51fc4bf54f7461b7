// The last 512 events of a rate: when, why, and the rate from then on. Ignored notifications, and
// cuts at the minimum, are events that leave the rate as it is.
//
// An event comes with ev_i, at most one a cycle; event n stands in entry n mod 512, and count_o is
// the number of events since rst_i; it wraps. The entry at index_i is shown two cycles after index_i
// changes. It holds what was written last: a reader takes the count once more behind what it read,
// and discards an event n for which that is above n + 512, modulo 2^32. Entries that have not been
// written since the device was configured are zero.
//
// Time: 45 bits, 9.7 hours. One block RAM, of several flows two. No back-pressure, no clock crossing.
`default_nettype none

module event_ring #(
    parameter  int unsigned Flows     = 1,
    localparam int unsigned FlowWidth = Flows > 1 ? $clog2(Flows) : 1
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,

    input wire logic                 ev_i,
    input wire logic [FlowWidth-1:0] flow_i,
    input wire logic [          2:0] cause_i,
    input wire logic [         23:0] rate_i,

    output      logic [         31:0] count_o,
    input  wire logic [          8:0] index_i,
    output      logic [FlowWidth-1:0] flow_o,
    output      logic [         44:0] time_ns_o,
    output      logic [          2:0] cause_o,
    output      logic [         23:0] rate_o
);

  localparam int unsigned Entries = 512;
  localparam int unsigned OneBits = 72;  // as a block RAM has
  localparam int unsigned EntryBits = Flows > 1 ? OneBits + FlowWidth : OneBits;

  // A read in the cycle of a write to its entry is not used: the reader discards it.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
  logic [EntryBits-1:0] event_mem[Entries];

  logic [EntryBits-1:0] entry_q;

  initial begin
    for (int unsigned n = 0; n < Entries; n++) event_mem[n] = '0;
  end

  always @(posedge clk_i) begin
    if (ev_i) event_mem[count_o[8:0]] <= EntryBits'({flow_i, time_ns_i[44:0], cause_i, rate_i});
    entry_q <= event_mem[index_i];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) count_o <= '0;
    else if (ev_i) count_o <= count_o + 1'b1;
  end

  assign flow_o = FlowWidth'(entry_q >> OneBits);  // of one flow 0
  assign {time_ns_o, cause_o, rate_o} = entry_q[OneBits-1:0];

endmodule

`default_nettype wire
