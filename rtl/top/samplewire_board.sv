// A whole board but for its converter, its MAC and its software: source, sender, MAC FIFO.
//
// With Nic a NIC of ordinary frames has a place beside the stream (nic_attach): m_axis_nic has the
// received frames that are for none of the sender's parts, s_axis_nic takes frames to send. Without,
// these ports stand still.
//
// The registers choose between the converter and the test source. A test source without a rate
// waits for the ring; with one it runs as a converter does. The gate is the converter's.
//
// Clocks: adc_clk_i, clk_i, mac_tx_clk_i, mac_rx_clk_i, crossed in rfdc_adapter and mac_fifo.
`default_nettype none

module samplewire_board #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 256,
    parameter int unsigned SlotBytes = 8192,
    parameter int unsigned RdLatency = 2,
    parameter              RingStyle = "ultra",
    parameter int unsigned NackDepth = 128,
    parameter int unsigned Channels  = 1,
    parameter int unsigned AdcSamples = W / 32,  // of a channel a clock
    parameter bit AdcMerged = 1,  // one stream a channel; 0: I at place 2 c, Q at 2 c + 1
    parameter bit Nic       = 0,
    parameter int unsigned NicFifo = 16384  // bytes that wait for it, a power of two
) (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,
    input wire logic        sync_i,

    input  wire logic                                             adc_clk_i,
    input  wire logic                                             adc_rst_i,
    input  wire logic [(AdcMerged ? Channels : 2 * Channels)-1:0] s_axis_adc_tvalid,
    output logic      [(AdcMerged ? Channels : 2 * Channels)-1:0] s_axis_adc_tready,
    input  wire logic [               Channels*AdcSamples*32-1:0] s_axis_adc_tdata,

    input  wire logic      mac_tx_clk_i,
    input  wire logic      mac_tx_rst_i,
    output logic [  W-1:0] m_axis_tx_tdata,
    output logic [W/8-1:0] m_axis_tx_tkeep,
    output logic           m_axis_tx_tvalid,
    input  wire logic      m_axis_tx_tready,
    output logic           m_axis_tx_tlast,
    output logic           m_axis_tx_tuser,

    input wire logic           mac_rx_clk_i,
    input wire logic           mac_rx_rst_i,
    input wire logic [  W-1:0] s_axis_rx_tdata,
    input wire logic [W/8-1:0] s_axis_rx_tkeep,
    input wire logic           s_axis_rx_tvalid,
    input wire logic           s_axis_rx_tlast,
    input wire logic           s_axis_rx_tuser,

    // tuser with tlast: m_axis_nic, not for the NIC or cut short; s_axis_nic, not to be sent.
    output logic [63:0]            m_axis_nic_tdata,
    output logic [ 7:0]            m_axis_nic_tkeep,
    output logic                   m_axis_nic_tvalid,
    input  wire logic              m_axis_nic_tready,
    output logic                   m_axis_nic_tlast,
    output logic                   m_axis_nic_tuser,
    input  wire logic [63:0]       s_axis_nic_tdata,
    input  wire logic [ 7:0]       s_axis_nic_tkeep,
    input  wire logic              s_axis_nic_tvalid,
    output logic                   s_axis_nic_tready,
    input  wire logic              s_axis_nic_tlast,
    input  wire logic              s_axis_nic_tuser,
    input  wire logic [ 7:0]       nic_share_i,  // of the wire, in 1 / 256: frame_share
    output nic_pkg::attach_event_t nic_event_o,

    input  wire logic [10:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output logic             s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output logic             s_axil_wready,
    output logic      [ 1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [10:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready,

    output logic samples_taken_o  // the sender took a beat of samples in this cycle
);

  localparam logic [1:0] SourceConverter = 2'd1;
  localparam logic [1:0] SourceWords     = 2'd3;
  // One index of all channels, sc16.
  localparam int unsigned SampleLog2 = $clog2(4 * Channels);

  sw_regs_pkg::cfg_t cfg;
  sw_regs_pkg::cmd_t cmd;

  // ------------------------------------------------------------------ sources
  logic         s_valid, s_ready, s_start, s_overflow, s_last, s_whole, ring_tight;
  logic [W-1:0] s_data;
  logic [63:0]  s_index;
  logic [7:0]   s_count;

  logic         t_valid, t_start, t_overflow, t_last, t_whole;
  logic [W-1:0] t_data;
  logic [63:0]  t_index;
  logic [7:0]   t_count;

  logic         a_valid, a_start, a_overflow, a_last, a_whole;
  logic [W-1:0] a_data;
  logic [63:0]  a_index;
  logic [7:0]   a_count;

  logic is_adc, is_test, waits;
  assign is_adc  = cfg.source == SourceConverter;
  assign is_test = cfg.source[1];
  assign waits   = cfg.source_rate == '0;

  // The registers count bytes in 2^-16 a ns, the source samples in 2^-24.
  logic [31:0] rate;
  assign rate = {cfg.source_rate, 8'd0} >> SampleLog2;

  test_source #(.W(W)) u_test_source (
      .clk_i(clk_i), .rst_i(rst_i), .enable_i(is_test), .kind_i(cfg.source == SourceWords),
      .stall_ok_i(waits), .sample_log2_i(3'(SampleLog2)), .rate_i(rate),
      .slack_beats_i(32'd16), .time_ns_i(time_ns_i),
      .s_valid(t_valid), .s_ready(is_test && s_ready && !(waits && ring_tight)),
      .s_data(t_data), .s_index(t_index), .s_count(t_count), .s_start(t_start),
      .s_overflow(t_overflow), .s_last(t_last), .s_whole(t_whole)
  );

  logic        latch_valid, gate_armed, sync_armed;
  logic [63:0] latch_index;

  rfdc_adapter #(.W(W), .C(Channels), .S(AdcSamples), .Merged(AdcMerged)) u_rfdc_adapter (
      .adc_clk_i(adc_clk_i), .adc_rst_i(adc_rst_i),
      .s_axis_tvalid(s_axis_adc_tvalid), .s_axis_tready(s_axis_adc_tready),
      .s_axis_tdata(s_axis_adc_tdata), .sync_i(sync_i),
      .clk_i(clk_i), .rst_i(rst_i),
      .gate_open_i(cmd.gate_open), .gate_close_i(cmd.gate_close), .sync_set_i(cmd.sync_set),
      .sync_latch_i(cmd.sync_latch), .sync_cancel_i(cmd.sync_cancel),
      .cmd_index_i(cfg.source_index), .cmd_count_i(cfg.source_count),
      .gate_armed_o(gate_armed), .sync_armed_o(sync_armed),
      .latch_valid_o(latch_valid), .latch_index_o(latch_index),
      .s_valid(a_valid), .s_ready(!is_adc || s_ready), .s_data(a_data), .s_index(a_index),
      .s_count(a_count), .s_start(a_start), .s_overflow(a_overflow), .s_last(a_last),
      .s_whole(a_whole)
  );

  logic [63:0] sync_index_q, sync_time_q;
  logic [7:0]  sync_count_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) sync_count_q <= 8'd0;
    else if (latch_valid) sync_count_q <= sync_count_q + 8'd1;
    if (latch_valid) begin
      sync_index_q <= latch_index;
      sync_time_q  <= time_ns_i;
    end
  end

  assign s_valid    = is_adc ? a_valid : is_test && t_valid && !(waits && ring_tight);
  assign s_data     = is_adc ? a_data : t_data;
  assign s_index    = is_adc ? a_index : t_index;
  assign s_count    = is_adc ? a_count : t_count;
  assign s_start    = is_adc ? a_start : t_start;
  assign s_overflow = is_adc ? a_overflow : t_overflow;
  assign s_last     = is_adc ? a_last : t_last;
  assign s_whole    = is_adc ? a_whole : t_whole;
  assign samples_taken_o = s_valid && s_ready;

  // ------------------------------------------------------------------ sender and MAC FIFO
  logic [W-1:0]   x_tdata, r_tdata, o_tdata, t_tdata;
  logic [W/8-1:0] x_tkeep, r_tkeep, o_tkeep, t_tkeep;
  logic           x_tvalid, x_tready, x_tlast, r_tvalid, r_tlast, r_tuser;
  logic           o_tvalid, o_tlast, o_tuser, t_tvalid, t_tready, t_tlast;
  logic           rx_bad, rx_no_room, tx_cut;

  samplewire_sender #(
      .W(W), .Slots(Slots), .SlotBytes(SlotBytes), .RdLatency(RdLatency), .RingStyle(RingStyle),
      .NackDepth(NackDepth), .Channels(Channels), .Nic(Nic)
  ) u_sender (
      .clk_i(clk_i), .rst_i(rst_i), .time_ns_i(time_ns_i),
      .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data), .s_index(s_index),
      .s_count(s_count), .s_start(s_start), .s_overflow(s_overflow), .s_last(s_last),
      .s_whole(s_whole), .ring_tight_o(ring_tight),
      .m_axis_tdata(x_tdata), .m_axis_tkeep(x_tkeep), .m_axis_tvalid(x_tvalid),
      .m_axis_tready(x_tready), .m_axis_tlast(x_tlast),
      .s_axis_tdata(r_tdata), .s_axis_tkeep(r_tkeep), .s_axis_tvalid(r_tvalid),
      .s_axis_tlast(r_tlast), .s_axis_tuser(r_tuser),
      .m_axis_other_tdata(o_tdata), .m_axis_other_tkeep(o_tkeep), .m_axis_other_tvalid(o_tvalid),
      .m_axis_other_tlast(o_tlast), .m_axis_other_tuser(o_tuser),
      .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr), .s_axil_arprot(s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
      .cfg_o(cfg), .cmd_o(cmd),
      .gate_armed_i(gate_armed), .sync_armed_i(sync_armed),
      .sync_count_i(sync_count_q),
      .sync_index_i(sync_index_q), .sync_time_i(sync_time_q),
      .mac_rx_bad_i(rx_bad), .mac_tx_dropped_i(tx_cut), .mac_rx_dropped_i(rx_no_room)
  );

  if (Nic) begin : g_nic
    // With a small FIFO the longest frame is that of the NIC's usual buffers.
    nic_attach #(
        .W(W), .FrameBytesMax(NicFifo < 16384 ? 2048 : 9216), .RxBeats(NicFifo * 8 / W)
    ) u_nic_attach (
        .clk_i(clk_i), .rst_i(rst_i), .share_i(nic_share_i),
        .s_axis_rx_tdata(o_tdata), .s_axis_rx_tkeep(o_tkeep), .s_axis_rx_tvalid(o_tvalid),
        .s_axis_rx_tlast(o_tlast), .s_axis_rx_tuser(o_tuser),
        .m_axis_nic_tdata(m_axis_nic_tdata), .m_axis_nic_tkeep(m_axis_nic_tkeep),
        .m_axis_nic_tvalid(m_axis_nic_tvalid), .m_axis_nic_tready(m_axis_nic_tready),
        .m_axis_nic_tlast(m_axis_nic_tlast), .m_axis_nic_tuser(m_axis_nic_tuser),
        .s_axis_nic_tdata(s_axis_nic_tdata), .s_axis_nic_tkeep(s_axis_nic_tkeep),
        .s_axis_nic_tvalid(s_axis_nic_tvalid), .s_axis_nic_tready(s_axis_nic_tready),
        .s_axis_nic_tlast(s_axis_nic_tlast), .s_axis_nic_tuser(s_axis_nic_tuser),
        .s_axis_tdata(x_tdata), .s_axis_tkeep(x_tkeep), .s_axis_tvalid(x_tvalid),
        .s_axis_tready(x_tready), .s_axis_tlast(x_tlast),
        .m_axis_tdata(t_tdata), .m_axis_tkeep(t_tkeep), .m_axis_tvalid(t_tvalid),
        .m_axis_tready(t_tready), .m_axis_tlast(t_tlast), .event_o(nic_event_o)
    );
  end else begin : g_no_nic
    assign {m_axis_nic_tdata, m_axis_nic_tkeep} = '0;
    assign {m_axis_nic_tvalid, m_axis_nic_tlast, m_axis_nic_tuser, s_axis_nic_tready} = '0;
    assign nic_event_o = '0;
    assign t_tdata     = x_tdata;
    assign t_tkeep     = x_tkeep;
    assign t_tvalid    = x_tvalid;
    assign t_tlast     = x_tlast;
    assign x_tready    = t_tready;
  end

  mac_fifo #(.W(W)) u_mac_fifo (
      .clk_i(clk_i), .rst_i(rst_i), .loopback_i(cfg.loopback),
      .s_tx_tdata(t_tdata), .s_tx_tkeep(t_tkeep), .s_tx_tvalid(t_tvalid),
      .s_tx_tready(t_tready), .s_tx_tlast(t_tlast), .s_tx_tuser(1'b0),
      .m_rx_tdata(r_tdata), .m_rx_tkeep(r_tkeep), .m_rx_tvalid(r_tvalid), .m_rx_tready(1'b1),
      .m_rx_tlast(r_tlast), .m_rx_tuser(r_tuser),
      .mac_tx_clk_i(mac_tx_clk_i), .mac_tx_rst_i(mac_tx_rst_i),
      .mac_tx_tdata(m_axis_tx_tdata), .mac_tx_tkeep(m_axis_tx_tkeep),
      .mac_tx_tvalid(m_axis_tx_tvalid), .mac_tx_tready(m_axis_tx_tready),
      .mac_tx_tlast(m_axis_tx_tlast), .mac_tx_tuser(m_axis_tx_tuser),
      .mac_rx_clk_i(mac_rx_clk_i), .mac_rx_rst_i(mac_rx_rst_i),
      .mac_rx_tdata(s_axis_rx_tdata), .mac_rx_tkeep(s_axis_rx_tkeep),
      .mac_rx_tvalid(s_axis_rx_tvalid), .mac_rx_tlast(s_axis_rx_tlast),
      .mac_rx_tuser(s_axis_rx_tuser), .ev_rx_bad_o(rx_bad), .ev_rx_no_room_o(rx_no_room),
      .ev_tx_cut_o(tx_cut)
  );

endmodule

`default_nettype wire
