// Attaches the NIC to a board beside the stream: it takes the frames that are for none of the
// stream's parts, and sends between the stream's frames.
//
//   received  ----------------> frame_fifo ----> m_axis_nic -> NIC
//   stream's frames ------------------------+
//                                           v
//   NIC -> s_axis_nic -> frame_fifo -> frame_share -> MAC
//
// Received: every beat is taken; tuser on tlast says that a frame is not for the NIC, or bad. At W
// = 64 a frame is shown as it comes (cut-through) and its verdict comes with its last beat; one
// that has not begun to leave is dropped whole, one that has ends with tuser. At W = 512 a frame
// waits for its verdict and is narrowed to 64 bits. What finds no room is dropped whole, or ended
// with tuser.
//
// Sent: a frame waits until it is whole, so that the NIC's memory never holds back the wire; one
// that ends with tuser, or has more beats of 64 bits than FrameBytesMax, is dropped whole. Two
// frames fit; the next begins once at most one is in the FIFO. Its turn: frame_share.
//
// Latency: received 2 cycles from a beat (W = 64), 3 from the last one (W = 512); sent 3 cycles
// from the last beat, one more at W = 512. Costs the stream's frames what frame_share says. One
// clock.
`default_nettype none

module nic_attach #(
    parameter int unsigned W             = 64,
    parameter int unsigned FrameBytesMax = 9216,
    parameter int unsigned RxBeats       = W == 64 ? 2048 : 256  // of W bits, a power of two
) (
    input wire logic       clk_i,
    input wire logic       rst_i,
    input wire logic [7:0] share_i,  // of the wire, in 1 / 256: frame_share

    input wire logic [  W-1:0] s_axis_rx_tdata,
    input wire logic [W/8-1:0] s_axis_rx_tkeep,
    input wire logic           s_axis_rx_tvalid,
    input wire logic           s_axis_rx_tlast,
    input wire logic           s_axis_rx_tuser,

    output      logic [63:0] m_axis_nic_tdata,
    output      logic [ 7:0] m_axis_nic_tkeep,
    output      logic        m_axis_nic_tvalid,
    input  wire logic        m_axis_nic_tready,
    output      logic        m_axis_nic_tlast,
    output      logic        m_axis_nic_tuser,

    input  wire logic [63:0] s_axis_nic_tdata,
    input  wire logic [ 7:0] s_axis_nic_tkeep,
    input  wire logic        s_axis_nic_tvalid,
    output      logic        s_axis_nic_tready,
    input  wire logic        s_axis_nic_tlast,
    input  wire logic        s_axis_nic_tuser,

    // The stream's frames, and all.
    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    output      logic           s_axis_tready,
    input  wire logic           s_axis_tlast,
    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast,

    output nic_pkg::attach_event_t event_o
);

  localparam int unsigned BeatsMax = (FrameBytesMax + 7) / 8;  // of 64 bits
  localparam int unsigned Bw = $clog2(BeatsMax + 1);
  localparam int unsigned TxBeats = 1 << $clog2(2 * ((FrameBytesMax + W / 8 - 1) / (W / 8)));

  if (W != 64 && W != 512) begin : g_bad_width
    $error("W must be 64 or 512");
  end
  if (RxBeats * W / 8 < FrameBytesMax) begin : g_bad_depth
    $error("a frame of FrameBytesMax must fit");
  end

  // ------------------------------------------------------------------ received
  logic [W-1:0] r_data;
  logic [W/8-1:0] r_keep;
  logic r_valid, r_ready, r_last, r_user;

  frame_fifo #(
      .W         (W),
      .Beats     (RxBeats),
      .CutThrough(W == 64)
  ) i_rx (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (s_axis_rx_tdata),
      .s_axis_tkeep (s_axis_rx_tkeep),
      .s_axis_tvalid(s_axis_rx_tvalid),
      .s_axis_tlast (s_axis_rx_tlast),
      .s_axis_tuser (s_axis_rx_tuser),
      .m_axis_tdata (r_data),
      .m_axis_tkeep (r_keep),
      .m_axis_tvalid(r_valid),
      .m_axis_tready(r_ready),
      .m_axis_tlast (r_last),
      .m_axis_tuser (r_user),
      .ev_kept_o    (event_o.rx_kept),
      .ev_bad_o     (),
      .ev_no_room_o (event_o.rx_no_room),
      .ev_cut_o     (event_o.rx_cut)
  );

  // ------------------------------------------------------------------ sent
  // A frame begins where it is sure to fit.
  logic s_ready, inside_q, take, ends, is_bad, t_dropped, f_valid, f_ready, f_last;
  logic [1:0] frames_q;  // taken to the end and not gone
  logic [Bw-1:0] beats_q;  // of the frame, up to BeatsMax
  assign s_ready           = inside_q || frames_q < 2'd2;
  assign s_axis_nic_tready = s_ready;
  assign take              = s_axis_nic_tvalid && s_ready;
  assign ends              = take && s_axis_nic_tlast;
  assign is_bad            = s_axis_nic_tuser || beats_q == Bw'(BeatsMax);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q <= 1'b0;
      frames_q <= '0;
      beats_q  <= '0;
    end else begin
      if (take) inside_q <= !s_axis_nic_tlast;
      if (ends) beats_q <= '0;
      else if (take && beats_q != Bw'(BeatsMax)) beats_q <= beats_q + 1'b1;
      frames_q <= frames_q + 2'(ends) - 2'(t_dropped) - 2'(f_valid && f_ready && f_last);
    end
  end

  logic [W-1:0] t_data, f_data;
  logic [W/8-1:0] t_keep, f_keep;
  logic t_valid, t_last, t_user, t_bad, t_no_room;

  if (W == 64) begin : g_same
    assign t_data           = s_axis_nic_tdata;
    assign t_keep           = s_axis_nic_tkeep;
    assign t_valid          = take;
    assign t_last           = s_axis_nic_tlast;
    assign t_user           = is_bad;
    assign m_axis_nic_tdata = r_data;
    assign m_axis_nic_tkeep = r_keep;
    assign m_axis_nic_tlast = r_last;
    assign m_axis_nic_tuser = r_user;
    assign m_axis_nic_tvalid = r_valid;
    assign r_ready           = m_axis_nic_tready;
  end else begin : g_width
    axis_width #(
        .SlaveW (64),
        .MasterW(W)
    ) i_widen (
        .clk_i        (clk_i),
        .rst_i        (rst_i),
        .s_axis_tdata (s_axis_nic_tdata),
        .s_axis_tkeep (s_axis_nic_tkeep),
        .s_axis_tvalid(take),
        .s_axis_tready(),
        .s_axis_tlast (s_axis_nic_tlast),
        .s_axis_tuser (is_bad),
        .m_axis_tdata (t_data),
        .m_axis_tkeep (t_keep),
        .m_axis_tvalid(t_valid),
        .m_axis_tready(1'b1),
        .m_axis_tlast (t_last),
        .m_axis_tuser (t_user)
    );

    axis_width #(
        .SlaveW (W),
        .MasterW(64)
    ) i_narrow (
        .clk_i        (clk_i),
        .rst_i        (rst_i),
        .s_axis_tdata (r_data),
        .s_axis_tkeep (r_keep),
        .s_axis_tvalid(r_valid),
        .s_axis_tready(r_ready),
        .s_axis_tlast (r_last),
        .s_axis_tuser (r_user),
        .m_axis_tdata (m_axis_nic_tdata),
        .m_axis_tkeep (m_axis_nic_tkeep),
        .m_axis_tvalid(m_axis_nic_tvalid),
        .m_axis_tready(m_axis_nic_tready),
        .m_axis_tlast (m_axis_nic_tlast),
        .m_axis_tuser (m_axis_nic_tuser)
    );
  end

  frame_fifo #(
      .W    (W),
      .Beats(TxBeats)
  ) i_tx (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (t_data),
      .s_axis_tkeep (t_keep),
      .s_axis_tvalid(t_valid),
      .s_axis_tlast (t_last),
      .s_axis_tuser (t_user),
      .m_axis_tdata (f_data),
      .m_axis_tkeep (f_keep),
      .m_axis_tvalid(f_valid),
      .m_axis_tready(f_ready),
      .m_axis_tlast (f_last),
      .m_axis_tuser (),
      .ev_kept_o    (event_o.tx_kept),
      .ev_bad_o     (t_bad),
      .ev_no_room_o (t_no_room),
      .ev_cut_o     ()
  );
  assign t_dropped          = t_bad || t_no_room;
  assign event_o.tx_dropped = t_dropped;

  frame_share #(
      .W(W)
  ) i_share (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .share_i       (share_i),
      .s0_axis_tdata (s_axis_tdata),
      .s0_axis_tkeep (s_axis_tkeep),
      .s0_axis_tvalid(s_axis_tvalid),
      .s0_axis_tready(s_axis_tready),
      .s0_axis_tlast (s_axis_tlast),
      .s1_axis_tdata (f_data),
      .s1_axis_tkeep (f_keep),
      .s1_axis_tvalid(f_valid),
      .s1_axis_tready(f_ready),
      .s1_axis_tlast (f_last),
      .m_axis_tdata  (m_axis_tdata),
      .m_axis_tkeep  (m_axis_tkeep),
      .m_axis_tvalid (m_axis_tvalid),
      .m_axis_tready (m_axis_tready),
      .m_axis_tlast  (m_axis_tlast)
  );

endmodule

`default_nettype wire
