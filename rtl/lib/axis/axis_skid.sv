// Register slice of an AXI-Stream: no combinational path between its two sides, neither of data nor
// of ready.
//
// Throughput: a beat a cycle. Latency: 1 cycle. Back-pressure: s_axis_tready is a register; a beat
// that comes while it falls is kept beside the one at the output. Does not look at frames. One clock.
`default_nettype none

module axis_skid #(
    parameter int unsigned W = 64
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    output      logic           s_axis_tready,
    input  wire logic           s_axis_tlast,
    input  wire logic           s_axis_tuser,

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast,
    output      logic           m_axis_tuser
);

  if (W == 0 || W % 8 != 0) begin : g_bad_width
    $error("W must be whole bytes");
  end

  localparam int unsigned Bits = W + W / 8 + 2;

  logic [Bits-1:0] beat, kept_q, out_q;
  logic ready_q, valid_q, is_kept_q, is_kept_d, take, moves;

  assign beat      = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  assign take      = s_axis_tvalid && ready_q;
  assign moves     = !valid_q || m_axis_tready;
  assign is_kept_d = !moves && (is_kept_q || take);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_q   <= 1'b0;
      valid_q   <= 1'b0;
      is_kept_q <= 1'b0;
    end else begin
      ready_q   <= !is_kept_d;
      is_kept_q <= is_kept_d;
      if (moves) valid_q <= is_kept_q || take;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) kept_q <= beat;
    if (moves) out_q <= is_kept_q ? kept_q : beat;
  end

  assign s_axis_tready = ready_q;
  assign m_axis_tvalid = valid_q;
  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_q;

endmodule

`default_nettype wire
