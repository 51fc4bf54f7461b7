// Takes frames every clock for ever and gives them with back-pressure; what finds no room is lost
// whole or marked.
//
// A frame is dropped whole where it finds no room or where tuser on its last beat says that it is
// bad. Store and forward (CutThrough 0): a frame is shown once it is whole; longer ones than the
// storage are dropped. With CutThrough its first beat is shown at once. Then a frame that has begun
// to leave ends with tlast and tuser: where the room ends, at that place, and what follows of it is
// dropped; where it is bad, at its own end. A frame of which nothing has left is dropped whole.
//
// Throughput: a beat a cycle on both sides. Latency: 2 cycles from a beat in, or from the last one,
// to it at the output. Back-pressure on the output only. One place of the storage is kept for the
// end of a frame that has departed. Exactly one event a frame, with its last beat in. One clock.
`default_nettype none

module frame_fifo #(
    parameter int unsigned W          = 64,
    parameter int unsigned Beats      = 256,  // a power of two
    parameter bit          CutThrough = 1'b0
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic [  W-1:0] s_axis_tdata,
    input wire logic [W/8-1:0] s_axis_tkeep,
    input wire logic           s_axis_tvalid,
    input wire logic           s_axis_tlast,
    input wire logic           s_axis_tuser,   // with tlast: bad

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast,
    output      logic           m_axis_tuser,   // with tlast: cut short or bad

    output logic ev_kept_o,
    output logic ev_bad_o,      // dropped whole for its verdict
    output logic ev_no_room_o,  // dropped whole for want of room
    output logic ev_cut_o       // departed, and ended with tuser
);

  localparam int unsigned Aw = $clog2(Beats);
  localparam int unsigned Kw = $clog2(W / 8);

  if (W < 16 || W != 8 << Kw) begin : g_bad_width
    $error("W must be a power of two, from 16 on");
  end
  if (Beats < 4 || Beats != 1 << Aw) begin : g_bad_beats
    $error("Beats must be a power of two, from 4 on");
  end

  // Pointers have one bit more than an address. A frame begins at start_q.
  logic [Aw:0] wr_q, start_q, rd_q, used, shown;
  logic inside_q;    // a frame has come in part
  logic lost_q;      // what follows of it is dropped
  logic cut_q;       // and it has been ended
  logic departed_q;  // a beat of it was fetched
  logic first, has_room, departed, fetch, write, is_end, is_marked, undo;

  assign used     = wr_q - rd_q;
  assign first    = !inside_q;
  // The last place is for the end of a frame that has departed.
  assign has_room = used < (Aw + 1)'(CutThrough ? Beats - 1 : Beats) || (departed && s_axis_tlast);
  assign departed = CutThrough && !first &&
      (departed_q || (fetch && rd_q == start_q && wr_q != start_q));

  logic is_lost, is_bad, cuts, drops;
  assign is_lost = lost_q && !first;
  assign is_bad  = s_axis_tlast && s_axis_tuser;
  // Room ends here: the frame is ended in the place that is kept, or forgotten.
  assign cuts    = s_axis_tvalid && !is_lost && !has_room && departed;
  assign drops   = s_axis_tvalid && !is_lost && !has_room && !departed;
  assign write   = s_axis_tvalid && !is_lost && (has_room || cuts);
  assign is_end  = s_axis_tlast || cuts;
  assign is_marked = cuts || (is_bad && departed);
  assign undo    = drops || (write && is_bad && !departed);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q       <= '0;
      start_q    <= '0;
      inside_q   <= 1'b0;
      lost_q     <= 1'b0;
      cut_q      <= 1'b0;
      departed_q <= 1'b0;
    end else begin
      departed_q <= departed && !(s_axis_tvalid && s_axis_tlast);
      if (s_axis_tvalid) begin
        inside_q <= !s_axis_tlast;
        lost_q   <= is_lost || cuts || drops;
        cut_q    <= cuts || (cut_q && !first);
        if (undo) wr_q <= start_q;
        else if (write) wr_q <= wr_q + 1'b1;
        if (write && is_end && !undo) start_q <= wr_q + 1'b1;
      end
    end
  end

  // Storage: data, bytes of the last beat modulo W/8, tlast, tuser.
  logic [Kw-1:0] count;
  logic [W/16-1:0] falls;
  always_comb begin
    for (int b = 0; b < int'(Kw); b++) begin
      falls = '0;
      for (int n = 0; n < int'(W / 16) >> b; n++)
      falls[n] = s_axis_tkeep[((2*n+1)<<b)-1] && !s_axis_tkeep[((2*n+2)<<b)-1];
      count[b] = |falls;
    end
  end

  (* ram_style = "block", no_rw_check *)logic [W+Kw+1:0] mem[Beats];
  always_ff @(posedge clk_i) begin
    if (write) mem[wr_q[Aw-1:0]] <= {is_marked, is_end, count, s_axis_tdata};
  end

  // What was written in this cycle is read from the next one on.
  logic valid_q;
  logic [W+Kw+1:0] out_q;
  assign shown = CutThrough ? wr_q : start_q;
  assign fetch = rd_q != shown && (!valid_q || m_axis_tready);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      rd_q    <= '0;
      valid_q <= 1'b0;
    end else begin
      if (fetch) rd_q <= rd_q + 1'b1;
      valid_q <= fetch || (valid_q && !m_axis_tready);
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetch) out_q <= mem[rd_q[Aw-1:0]];
  end

  assign m_axis_tdata  = out_q[W-1:0];
  assign m_axis_tlast  = out_q[W+Kw];
  assign m_axis_tuser  = out_q[W+Kw+1];
  assign m_axis_tvalid = valid_q;
  always_comb begin
    for (int i = 0; i < int'(W / 8); i++)
    m_axis_tkeep[i] = !m_axis_tlast || out_q[W+:Kw] == '0 || Kw'(i) < out_q[W+:Kw];
  end

  // At a frame's last beat.
  logic ends, was_cut;
  assign ends         = s_axis_tvalid && s_axis_tlast;
  assign was_cut      = cuts || (is_lost && cut_q);
  assign ev_cut_o     = ends && (was_cut || (write && is_bad && departed));
  assign ev_no_room_o = ends && !was_cut && (is_lost || drops);
  assign ev_bad_o     = ends && write && !cuts && is_bad && !departed;
  assign ev_kept_o    = ends && write && !cuts && !is_bad;

`ifdef FORMAL
  `include "frame_fifo_props.svh"
`endif

endmodule

`default_nettype wire
