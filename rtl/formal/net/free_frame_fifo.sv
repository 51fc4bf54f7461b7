// Any beats, at any time, in place of frame_fifo, for proofs of what reads from it and holds whatever
// they are. What goes in is lost, or kept, without a rule.
`default_nettype none

module frame_fifo #(
    parameter int unsigned W          = 64,
    parameter int unsigned Beats      = 256,
    parameter bit          CutThrough = 1'b0
) (
    input  wire logic           clk_i,
    input  wire logic           rst_i,
    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    input  wire logic           s_axis_tlast,
    input  wire logic           s_axis_tuser,
    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast,
    output      logic           m_axis_tuser,
    output      logic           ev_kept_o,
    output      logic           ev_bad_o,
    output      logic           ev_no_room_o,
    output      logic           ev_cut_o
);

  (* anyseq *) logic [W-1:0] data;
  (* anyseq *) logic valid, last, kept;

  assign m_axis_tdata  = data;
  assign m_axis_tkeep  = '1;
  assign m_axis_tvalid = valid;
  assign m_axis_tlast  = last;
  assign m_axis_tuser  = 1'b0;
  assign ev_kept_o     = kept;
  assign ev_bad_o      = 1'b0;
  assign ev_no_room_o  = 1'b0;
  assign ev_cut_o      = 1'b0;

endmodule

`default_nettype wire
