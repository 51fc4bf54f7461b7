// Between the core's clock and the MAC's two: frames to send, frames received, and loop-backs.
//
// Sending: the MAC sees no gap of tvalid inside a frame. With TxStoreForward a frame is offered
// once it is whole, which costs its length in latency. Without, it is offered when two beats of it
// are here; one whose next beat is late is ended early. That is for a core whose clock is the MAC's
// or faster, and which leaves no gaps inside frames (frame_tx, session and tx_mux leave none). With
// TxSlack the core's clock may be slower by a beat in a frame (0.08 % at 64 bits and 9,216 bytes, 0.6 %
// at 512), as two oscillators of one rate may be; if it is slower still, set TxStoreForward.
// Latency without: 1 edge of clk_i and 5 to 6 of mac_tx_clk_i, a cycle more for the second beat, and
// with TxSlack one more.
//
// A frame that is ended early, or with s_tx_tuser, ends with tlast and tuser, is 60 bytes long at
// least, and is counted with ev_tx_cut_o. mac_tx_tuser is high in no other beat. One that ends with
// s_tx_tuser and has not begun to leave is dropped whole.
//
// With TxStoreForward a frame longer than the send FIFO is dropped whole and counted with
// ev_tx_cut_o; without, its length has no bound.
//
// Receiving: a beat every clock for ever; frames that end with tuser, or find no room, are dropped
// whole and counted. Frames are shown whole. With RxReady a beat stays until m_rx_tready takes it;
// without, m_rx_tready is not looked at. Latency from their last beat: 1 edge of mac_rx_clk_i and 3
// to 4 of clk_i.
//
// Shortest frame: 8 bytes in, 14 out. FrameBytesMax is the longest frame that must pass, not one
// that is enforced.
//
// loopback_i: 0 none; 1 near: frames sent come back as received ones, the MAC sends and gives
// nothing; 2 far: frames received leave again, what the core sends is swallowed, or waits with FarWaits.
// A change waits for the end of frames that are under way.
//
// Resets, each of one cycle of its clock or more, in any order; a stop then lasts until the other
// clock has followed, and what is in the FIFO is lost:
// - rst_i: the frame that is leaving is ended early, or leaves whole with TxStoreForward.
// - mac_tx_rst_i: mac_tx_tvalid falls. The rest of the frame that the core is sending is taken and
//   dropped; the core then waits until both sides have left the stop.
// - mac_rx_rst_i: the frame that is being shown is shown whole; while m_rx_tready holds it back, the
//   stop lasts. Others that come before the stop ends are dropped, and ev_rx_no_room_o counts them.
// A frame that goes on, or begins again, at its own side's reset: frame_gate. In a loop-back what
// the core sends must begin again at rst_i.
//
// Clock crossings: cut_through_cdc or frame_cdc, and event_cdc.
`default_nettype none

module mac_fifo #(
    parameter int unsigned W              = 64,
    parameter bit          TxStoreForward = 1'b0,
    parameter bit          TxSlack        = 1'b0,
    parameter bit          RxReady        = 1'b0,
    parameter bit          FarWaits       = 1'b0,
    parameter int unsigned FrameBytesMax  = 9216,
    // Beats, powers of two, of 4 to 64 KiB. FrameBytesMax must fit what is stored whole.
    parameter int unsigned TxDepth        = W == 64 && TxStoreForward ? 2048 : 512,
    parameter int unsigned RxDepth        = W == 64 ? 2048 : 512
) (
    input wire logic       clk_i,
    input wire logic       rst_i,
    input wire logic [1:0] loopback_i,

    input  wire logic [  W-1:0] s_tx_tdata,
    input  wire logic [W/8-1:0] s_tx_tkeep,
    input  wire logic           s_tx_tvalid,
    output      logic           s_tx_tready,
    input  wire logic           s_tx_tlast,
    input  wire logic           s_tx_tuser,  // with tlast: not to be sent

    output      logic [  W-1:0] m_rx_tdata,
    output      logic [W/8-1:0] m_rx_tkeep,
    output      logic           m_rx_tvalid,
    input  wire logic           m_rx_tready,
    output      logic           m_rx_tlast,
    output      logic           m_rx_tuser,

    input  wire logic           mac_tx_clk_i,
    input  wire logic           mac_tx_rst_i,
    output      logic [  W-1:0] mac_tx_tdata,
    output      logic [W/8-1:0] mac_tx_tkeep,
    output      logic           mac_tx_tvalid,
    input  wire logic           mac_tx_tready,
    output      logic           mac_tx_tlast,
    output      logic           mac_tx_tuser,

    input wire logic           mac_rx_clk_i,
    input wire logic           mac_rx_rst_i,
    input wire logic [  W-1:0] mac_rx_tdata,
    input wire logic [W/8-1:0] mac_rx_tkeep,
    input wire logic           mac_rx_tvalid,
    input wire logic           mac_rx_tlast,
    input wire logic           mac_rx_tuser,

    output logic ev_rx_bad_o,     // of clk_i
    output logic ev_rx_no_room_o,
    output logic ev_tx_cut_o
);

  localparam int unsigned Kw = $clog2(W / 8);
  localparam int unsigned Dw = W + Kw;  // data, and the number of its last byte
  localparam int unsigned FrameBytesMin = 60;

  if (W != 64 && W != 512) begin : g_bad_width
    $error("W must be 64 or 512");
  end
  if (RxDepth * W / 8 < FrameBytesMax || TxStoreForward && TxDepth * W / 8 < FrameBytesMax)
  begin : g_bad_depth
    $error("a frame of FrameBytesMax must fit");
  end
  // A proof is of short FIFOs.
`ifndef FORMAL
  if (RxDepth * W / 8 < 4096 || RxDepth * W / 8 > 65536 || TxDepth * W / 8 < 4096 ||
      TxDepth * W / 8 > 65536) begin : g_bad_size
    $error("a FIFO has 4 to 64 KiB");
  end
`endif

  // tkeep is contiguous: as the number of the last byte it fits beside the data in block RAM. Its
  // bit k is set where the last byte lies in the upper half of 2^(k + 1) bytes.
  function automatic logic [Kw-1:0] top(input logic [W/8-1:0] keep);
    logic [W/16-1:0] upper;
    for (int k = 0; k < int'(Kw); k++) begin
      upper = '0;
      for (int i = 0; i < int'(W / 8) >> (k + 1); i++) begin
        upper[i] = keep[((2*i+1)<<k)%int'(W/8)]
            && !(((2 * i + 2) << k) < int'(W / 8) && keep[((2*i+2)<<k)%int'(W/8)]);
      end
      top[k] = |upper;
    end
  endfunction

  function automatic logic [W/8-1:0] keep_to(input logic [Kw-1:0] last);
    for (int i = 0; i < int'(W / 8); i++) keep_to[i] = Kw'(i) <= last;
  endfunction

  // Received frames, in the core's clock.
  logic rx_valid, rx_ready, rx_last, rx_bad, rx_no_room, rx_room;
  logic [Dw-1:0] rx_word;
  frame_cdc #(
      .Width(Dw),
      .Depth(RxDepth),
      .Lossy(1'b1)
  ) i_rx (
      .wr_clk_i    (mac_rx_clk_i),
      .wr_rst_i    (mac_rx_rst_i),
      .wr_valid_i  (mac_rx_tvalid),
      .wr_ready_o  (rx_room),
      .wr_data_i   ({top(mac_rx_tkeep), mac_rx_tdata}),
      .wr_last_i   (mac_rx_tlast),
      .wr_bad_i    (mac_rx_tuser),
      .ev_bad_o    (rx_bad),
      .ev_no_room_o(rx_no_room),
      .rd_clk_i    (clk_i),
      .rd_rst_i    (rst_i),
      .rd_valid_o  (rx_valid),
      .rd_ready_i  (rx_ready),
      .rd_data_o   (rx_word),
      .rd_last_o   (rx_last)
  );

  event_cdc i_ev_bad (
      .from_clk_i(mac_rx_clk_i),
      .ev_i      (rx_bad),
      .to_clk_i  (clk_i),
      .ev_o      (ev_rx_bad_o)
  );

  event_cdc i_ev_no_room (
      .from_clk_i(mac_rx_clk_i),
      .ev_i      (rx_no_room),
      .to_clk_i  (clk_i),
      .ev_o      (ev_rx_no_room_o)
  );

  // The switch. While it is to move no frame begins; it moves once none is under way.
  logic [1:0] mode_q;
  logic tx_open_q, rx_open_q, near, far, tx_go, rx_go, rx_taken;
  assign near  = mode_q == 2'd1;
  assign far   = mode_q == 2'd2;
  assign tx_go = (tx_open_q || mode_q == loopback_i) && !(FarWaits && far);
  assign rx_go = rx_open_q || mode_q == loopback_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      mode_q    <= '0;
      tx_open_q <= 1'b0;
      rx_open_q <= 1'b0;
    end else begin
      // A beat that was shown counts as begun: it may not be taken back.
      if (s_tx_tvalid && tx_go) tx_open_q <= !(s_tx_tready && s_tx_tlast);
      if (rx_valid && rx_go) rx_open_q <= !(rx_ready && rx_last);
      if (!tx_open_q && !rx_open_q) mode_q <= loopback_i;
    end
  end

  logic q_valid, q_ready, q_last, q_bad;
  logic [Dw-1:0] q_word;
  assign q_valid     = far ? rx_valid && rx_go : s_tx_tvalid && tx_go && !near;
  assign q_word      = far ? rx_word : {top(s_tx_tkeep), s_tx_tdata};
  assign q_last      = far ? rx_last : s_tx_tlast;
  assign rx_taken    = !RxReady || m_rx_tready;
  assign q_bad       = !far && s_tx_tuser;
  assign s_tx_tready = tx_go && (near ? rx_taken : far || q_ready);
  assign rx_ready    = rx_go && (far ? q_ready : rx_taken);

  assign m_rx_tdata  = near ? s_tx_tdata : rx_word[W-1:0];
  assign m_rx_tkeep  = near ? s_tx_tkeep : keep_to(rx_word[Dw-1:W]);
  assign m_rx_tvalid = near ? s_tx_tvalid && tx_go : rx_valid && rx_go && !far;
  assign m_rx_tlast  = near ? s_tx_tlast : rx_last;
  assign m_rx_tuser  = near && s_tx_tuser;

  // Frames to send, in the MAC's clock.
  logic [Dw-1:0] t_word;
  if (TxStoreForward) begin : g_whole
    logic tx_bad, tx_no_room;
    assign ev_tx_cut_o = tx_bad || tx_no_room;
    frame_cdc #(
        .Width(Dw),
        .Depth(TxDepth),
        .Lossy(1'b0)
    ) i_tx (
        .wr_clk_i    (clk_i),
        .wr_rst_i    (rst_i),
        .wr_valid_i  (q_valid),
        .wr_ready_o  (q_ready),
        .wr_data_i   (q_word),
        .wr_last_i   (q_last),
        .wr_bad_i    (q_bad),
        .ev_bad_o    (tx_bad),
        .ev_no_room_o(tx_no_room),
        .rd_clk_i    (mac_tx_clk_i),
        .rd_rst_i    (mac_tx_rst_i),
        .rd_valid_o  (mac_tx_tvalid),
        .rd_ready_i  (mac_tx_tready),
        .rd_data_o   (t_word),
        .rd_last_o   (mac_tx_tlast)
    );
    assign mac_tx_tuser = 1'b0;
  end else begin : g_through
    logic tx_cut;
    cut_through_cdc #(
        .Width   (Dw),
        .Depth   (TxDepth),
        .MinBeats((FrameBytesMin + W / 8 - 1) / (W / 8)),
        .Slack   (TxSlack)
    ) i_tx (
        .wr_clk_i  (clk_i),
        .wr_rst_i  (rst_i),
        .wr_valid_i(q_valid),
        .wr_ready_o(q_ready),
        .wr_data_i (q_word),
        .wr_last_i (q_last),
        .wr_bad_i  (q_bad),
        .rd_clk_i  (mac_tx_clk_i),
        .rd_rst_i  (mac_tx_rst_i),
        .rd_valid_o(mac_tx_tvalid),
        .rd_ready_i(mac_tx_tready),
        .rd_data_o (t_word),
        .rd_last_o (mac_tx_tlast),
        .rd_bad_o  (mac_tx_tuser),
        .ev_cut_o  (tx_cut)
    );

    event_cdc i_ev_cut (
        .from_clk_i(mac_tx_clk_i),
        .ev_i      (tx_cut),
        .to_clk_i  (clk_i),
        .ev_o      (ev_tx_cut_o)
    );
  end

  // The data of a closing beat are those of a beat in mid-frame: its tkeep is all ones.
  assign mac_tx_tdata = t_word[W-1:0];
  assign mac_tx_tkeep = keep_to(t_word[Dw-1:W]);

`ifdef FORMAL
  `include "mac_fifo_props.svh"
`endif

endmodule

`default_nettype wire
