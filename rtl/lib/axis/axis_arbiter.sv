// Joins several AXI-Streams to one of whole frames.
//
// By turns (Priority 0): of the ports that wait, the next above the one just served, round and
// round; a port that waits sees at most Ports - 1 frames of others begin before its own. With
// Priority the lowest port that has waited for a cycle goes first, and higher ones may wait for ever.
//
// Throughput: a beat a cycle; no idle cycle between frames of ports that wait, with Priority one
// before a frame of a higher port. Latency: none while the port is selected, which the port served
// last stays; else 1 cycle. Back-pressure: passed on, s_axis_tready follows m_axis_tready in the same
// cycle. A gap that a source leaves inside a frame goes through. Does not look at contents. One
// clock.
//
// The selected port is a register, since each bit of the output looks at it. It changes behind a
// frame, or where the port that may begin does not.
`default_nettype none

module axis_arbiter #(
    parameter int unsigned W        = 64,
    parameter int unsigned Ports    = 3,
    parameter bit          Priority = 1'b0
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Port 0 in the lowest bits.
    input  wire logic [  Ports*W-1:0] s_axis_tdata,
    input  wire logic [Ports*W/8-1:0] s_axis_tkeep,
    input  wire logic [    Ports-1:0] s_axis_tvalid,
    output      logic [    Ports-1:0] s_axis_tready,
    input  wire logic [    Ports-1:0] s_axis_tlast,
    input  wire logic [    Ports-1:0] s_axis_tuser,

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast,
    output      logic           m_axis_tuser
);

  localparam int unsigned Pw = $clog2(Ports);

  if (W == 0 || W % 8 != 0) begin : g_bad_width
    $error("W must be whole bytes");
  end
  if (Ports < 2) begin : g_bad_ports
    $error("there must be two ports at least");
  end

  logic [Pw-1:0] port_q, next;
  logic begun_q, is_valid, is_last, ends, is_idle;

  assign is_valid = s_axis_tvalid[port_q];
  assign is_last  = s_axis_tlast[port_q];
  assign ends     = is_valid && is_last && m_axis_tready;
  assign is_idle  = !begun_q && !is_valid;

  // The lowest port that waits; by turns the lowest above the one served before it.
  always_comb begin
    next = port_q;
    for (int i = int'(Ports) - 1; i >= 0; i--) begin
      if (s_axis_tvalid[i] && (!Priority || is_idle || Pw'(i) < port_q)) next = Pw'(i);
    end
    for (int i = int'(Ports) - 1; i >= 0; i--) begin
      if (s_axis_tvalid[i] && Pw'(i) > port_q && !Priority) next = Pw'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      begun_q <= 1'b0;
      port_q  <= '0;
    end else begin
      if (is_valid) begun_q <= !ends;
      if (ends || is_idle) port_q <= next;
    end
  end

  always_comb begin
    s_axis_tready = '0;
    s_axis_tready[port_q] = m_axis_tready;
  end

  assign m_axis_tdata  = s_axis_tdata[W*port_q+:W];
  assign m_axis_tkeep  = s_axis_tkeep[W/8*port_q+:W/8];
  assign m_axis_tvalid = is_valid;
  assign m_axis_tlast  = is_last;
  assign m_axis_tuser  = s_axis_tuser[port_q];

`ifdef FORMAL
  `include "axis_arbiter_props.svh"
`endif

endmodule

`default_nettype wire
