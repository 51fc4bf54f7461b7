// Between mac_fifo and a MAC of one byte a clock (1G): GMII's bytes as an AXI-Stream of 8 bits.
//
// Both sides of a direction have the MAC's clock. Sending: a byte every clock in which mac_tx_tready
// is high, and no gap of tvalid inside a frame where s_tx leaves none; tuser goes with tlast.
// Receiving: a byte every clock for ever, no ready on either side; mac_rx_tuser with tlast is bad.
// Latency: 1 cycle to a beat's first byte; 1 cycle from a beat's last byte to the beat. Together with
// mac_fifo a frame that it loops back far leaves 2 * L + 16 cycles behind its first byte, with equal
// clocks.
//
// tx_rst_i: the frame that is leaving ends without a mark, as mac_fifo's does. rx_rst_i in mid-frame:
// the rest of the frame is dropped, and a beat with tlast and tuser stands for it, so that what is
// behind sees the end of each frame. A frame that begins again at the reset: frame_gate; a frame that
// ends in the reset itself may take the next one with it. Not for 10 or 100 Mb/s with gaps of 8 cycles
// or more inside a frame. No clock crossings.
`default_nettype none

module mac_bytes (
    input  wire logic        tx_clk_i,
    input  wire logic        tx_rst_i,
    input  wire logic [63:0] s_tx_tdata,
    input  wire logic [ 7:0] s_tx_tkeep,
    input  wire logic        s_tx_tvalid,
    output      logic        s_tx_tready,
    input  wire logic        s_tx_tlast,
    input  wire logic        s_tx_tuser,
    output      logic [ 7:0] mac_tx_tdata,
    output      logic        mac_tx_tvalid,
    input  wire logic        mac_tx_tready,
    output      logic        mac_tx_tlast,
    output      logic        mac_tx_tuser,

    input  wire logic        rx_clk_i,
    input  wire logic        rx_rst_i,
    input  wire logic [ 7:0] mac_rx_tdata,
    input  wire logic        mac_rx_tvalid,
    input  wire logic        mac_rx_tlast,
    input  wire logic        mac_rx_tuser,
    output      logic [63:0] m_rx_tdata,
    output      logic [ 7:0] m_rx_tkeep,
    output      logic        m_rx_tvalid,
    output      logic        m_rx_tlast,
    output      logic        m_rx_tuser
);

  axis_width #(
      .SlaveW (64),
      .MasterW(8)
  ) i_tx (
      .clk_i        (tx_clk_i),
      .rst_i        (tx_rst_i),
      .s_axis_tdata (s_tx_tdata),
      .s_axis_tkeep (s_tx_tkeep),
      .s_axis_tvalid(s_tx_tvalid),
      .s_axis_tready(s_tx_tready),
      .s_axis_tlast (s_tx_tlast),
      .s_axis_tuser (s_tx_tuser),
      .m_axis_tdata (mac_tx_tdata),
      .m_axis_tkeep (),
      .m_axis_tvalid(mac_tx_tvalid),
      .m_axis_tready(mac_tx_tready),
      .m_axis_tlast (mac_tx_tlast),
      .m_axis_tuser (mac_tx_tuser)
  );

  logic drop;
  frame_gate i_gate (
      .clk_i  (rx_clk_i),
      .rst_i  (rx_rst_i),
      .stop_i (rx_rst_i),
      .tear_i (1'b0),
      .valid_i(mac_rx_tvalid),
      .take_i (mac_rx_tvalid),
      .last_i (mac_rx_tlast),
      .drop_o (drop)
  );

  axis_width #(
      .SlaveW (8),
      .MasterW(64)
  ) i_rx (
      .clk_i        (rx_clk_i),
      .rst_i        (rx_rst_i),
      .s_axis_tdata (mac_rx_tdata),
      .s_axis_tkeep (1'b1),
      .s_axis_tvalid(mac_rx_tvalid && (!drop || mac_rx_tlast)),
      .s_axis_tready(),
      .s_axis_tlast (mac_rx_tlast),
      .s_axis_tuser (mac_rx_tuser || drop),
      .m_axis_tdata (m_rx_tdata),
      .m_axis_tkeep (m_rx_tkeep),
      .m_axis_tvalid(m_rx_tvalid),
      .m_axis_tready(1'b1),
      .m_axis_tlast (m_rx_tlast),
      .m_axis_tuser (m_rx_tuser)
  );

endmodule

`default_nettype wire
