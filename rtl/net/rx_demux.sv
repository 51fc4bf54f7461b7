// Leads received frames to the cores that they are for, by UDP port; all others to the default
// output.
//
// A frame of a whole UDP datagram for us whose port is one of ports_i goes to the lowest such output.
// Everything else goes to the default output, fragments too: only a frame's first fragment has
// ports. What a frame is stands beside its first beat. tuser on tlast goes with the frame.
//
// The named outputs share data and have a ready each: one that waits holds back all that comes
// behind it, so that a core that may not do so needs a frame_fifo of its own. The default output
// never does: it is a frame_fifo, DefaultBeats deep, which loses what finds no room and drops what
// tuser says is bad, or, with DefaultCutThrough, ends it with tuser.
//
// Throughput: a beat a cycle. Latency: 1 cycle; to the default output 3 from a beat, or from the
// last one. Does not check frames. One clock.
`default_nettype none

module rx_demux #(
    parameter int unsigned W                 = 64,
    parameter int unsigned Ports             = 2,
    parameter int unsigned DefaultBeats      = 256,
    parameter bit          DefaultCutThrough = 1'b0
) (
    input wire logic                clk_i,
    input wire logic                rst_i,
    input wire logic [Ports*16-1:0] ports_i,  // of output 0 in the lowest bits

    input  wire logic [  W-1:0] s_axis_tdata,
    input  wire logic [W/8-1:0] s_axis_tkeep,
    input  wire logic           s_axis_tvalid,
    output      logic           s_axis_tready,
    input  wire logic           s_axis_tlast,
    input  wire logic           s_axis_tuser,
    // With a frame's first beat.
    input  wire logic           is_ours_i,      // by its addresses
    input  wire logic           is_udp_i,
    input  wire logic           is_fragment_i,
    input  wire logic [   15:0] port_i,         // destination

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic [Ports-1:0] m_axis_tvalid,
    input  wire logic [Ports-1:0] m_axis_tready,
    output      logic           m_axis_tlast,
    output      logic           m_axis_tuser,

    output      logic [  W-1:0] d_axis_tdata,
    output      logic [W/8-1:0] d_axis_tkeep,
    output      logic           d_axis_tvalid,
    input  wire logic           d_axis_tready,
    output      logic           d_axis_tlast,
    output      logic           d_axis_tuser,

    output logic ev_kept_o,     // of the default output
    output logic ev_bad_o,
    output logic ev_no_room_o,
    output logic ev_cut_o
);

  if (Ports < 1) begin : g_bad_ports
    $error("there must be an output beside the default one");
  end

  // The output of the frame whose beat is in the register; bit Ports is the default one.
  logic [Ports:0] choice, chosen_q;
  logic first_q, valid_q, last_q, user_q, take, moves;
  logic [W-1:0] data_q;
  logic [W/8-1:0] keep_q;

  always_comb begin
    choice = '0;
    choice[Ports] = 1'b1;
    for (int i = int'(Ports) - 1; i >= 0; i--) begin
      if (is_ours_i && is_udp_i && !is_fragment_i && port_i == ports_i[16*i+:16]) begin
        choice = '0;
        choice[i] = 1'b1;
      end
    end
  end

  assign moves         = !valid_q || |(chosen_q & {1'b1, m_axis_tready});
  assign s_axis_tready = moves;
  assign take          = s_axis_tvalid && moves;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      first_q <= 1'b1;
      valid_q <= 1'b0;
    end else begin
      if (moves) valid_q <= s_axis_tvalid;
      if (take) first_q <= s_axis_tlast;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      data_q <= s_axis_tdata;
      keep_q <= s_axis_tkeep;
      last_q <= s_axis_tlast;
      user_q <= s_axis_tuser;
      if (first_q) chosen_q <= choice;
    end
  end

  assign m_axis_tdata  = data_q;
  assign m_axis_tkeep  = keep_q;
  assign m_axis_tlast  = last_q;
  assign m_axis_tuser  = user_q;
  assign m_axis_tvalid = chosen_q[Ports-1:0] & {Ports{valid_q}};

  frame_fifo #(
      .W         (W),
      .Beats     (DefaultBeats),
      .CutThrough(DefaultCutThrough)
  ) i_default (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (data_q),
      .s_axis_tkeep (keep_q),
      .s_axis_tvalid(valid_q && chosen_q[Ports]),
      .s_axis_tlast (last_q),
      .s_axis_tuser (user_q),
      .m_axis_tdata (d_axis_tdata),
      .m_axis_tkeep (d_axis_tkeep),
      .m_axis_tvalid(d_axis_tvalid),
      .m_axis_tready(d_axis_tready),
      .m_axis_tlast (d_axis_tlast),
      .m_axis_tuser (d_axis_tuser),
      .ev_kept_o    (ev_kept_o),
      .ev_bad_o     (ev_bad_o),
      .ev_no_room_o (ev_no_room_o),
      .ev_cut_o     (ev_cut_o)
  );

endmodule

`default_nettype wire
