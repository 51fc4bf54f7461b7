// The NIC's MAC side: mac_fifo, a MAC of 64 bits or of one byte a clock, generator and checker.
//
// route_i: 0 the NIC and the MAC; 1 the generator and the checker in the MAC's place, which shows
// what the NIC alone does; 2 both in the NIC's place, which shows the MAC side, with loopback_i 1
// near, or the other end of the wire. The one that is left out waits. A change waits for the end of
// the frames that have begun. loopback_i: mac_fifo's; 2 is the MAC loop-back, in which the NIC's
// frames wait. cfg_i.enable rises once the route stands: a frame of the route before would be
// checked too.
//
// Throughput: a beat a cycle. Latency: mac_fifo's, mac_bytes'; routes add none. Back-pressure: the
// NIC's ready holds received frames back; what finds no room is dropped whole and counted. Clock
// crossings: mac_fifo.
`default_nettype none

module nic_mac #(
    parameter int unsigned MacW          = 64,    // or 8
    parameter bit          TxSlack       = 1'b0,  // for a core clock slower than the MAC's
    parameter int unsigned FrameBytesMax = 9216,
    parameter int unsigned TxDepth       = 2048,  // of 64 bits
    parameter int unsigned RxDepth       = 2048
) (
    input wire logic                    clk_i,
    input wire logic                    rst_i,
    input wire logic              [1:0] route_i,
    input wire logic              [1:0] loopback_i,
    input wire nic_pkg::generator_cfg_t cfg_i,
    input wire logic             [31:0] counter_i,

    // Frames from the NIC, and to it.
    input  wire logic [63:0] s_axis_tdata,
    input  wire logic [ 7:0] s_axis_tkeep,
    input  wire logic        s_axis_tvalid,
    output      logic        s_axis_tready,
    input  wire logic        s_axis_tlast,
    input  wire logic        s_axis_tuser,   // with tlast: not to be sent
    output      logic [63:0] m_axis_tdata,
    output      logic [ 7:0] m_axis_tkeep,
    output      logic        m_axis_tvalid,
    input  wire logic        m_axis_tready,
    output      logic        m_axis_tlast,
    output      logic        m_axis_tuser,

    input  wire logic              mac_tx_clk_i,
    input  wire logic              mac_tx_rst_i,
    output      logic [  MacW-1:0] mac_tx_tdata,
    output      logic [MacW/8-1:0] mac_tx_tkeep,
    output      logic              mac_tx_tvalid,
    input  wire logic              mac_tx_tready,
    output      logic              mac_tx_tlast,
    output      logic              mac_tx_tuser,
    input  wire logic              mac_rx_clk_i,
    input  wire logic              mac_rx_rst_i,
    input  wire logic [  MacW-1:0] mac_rx_tdata,
    input  wire logic [MacW/8-1:0] mac_rx_tkeep,
    input  wire logic              mac_rx_tvalid,
    input  wire logic              mac_rx_tlast,
    input  wire logic              mac_rx_tuser,

    output nic_pkg::generator_status_t generator_o,
    output nic_pkg::checker_status_t   checker_o,
    output logic                       ev_rx_bad_o,
    output logic                       ev_rx_no_room_o,
    output logic                       ev_tx_cut_o
);

  if (MacW != 64 && MacW != 8) begin : g_bad_width
    $error("MacW must be 64 or 8");
  end

  // ------------------------------------------------------------------ the route
  // While it is to move no frame begins; it moves once none is under way.
  logic [1:0] route_q;
  logic is_normal, is_mac_place, is_nic_place, moves;
  logic g_open_q, n_open_q, r_open_q, g_go, n_go, r_go;
  logic [63:0] g_data, r_data, t_data;
  logic [7:0] g_keep, r_keep, t_keep;
  logic g_valid, g_ready, g_last, r_valid, r_ready, r_last, r_user;
  logic t_valid, t_ready, t_last, t_user;
  logic n_valid, g_shown, r_shown;

  assign is_mac_place = route_q == 2'd1;
  assign is_nic_place = route_q == 2'd2;
  assign is_normal    = !is_mac_place && !is_nic_place;
  assign moves        = route_q != route_i;
  assign g_go         = (g_open_q || !moves) && !is_normal;
  assign n_go         = (n_open_q || !moves) && !is_nic_place;
  assign r_go         = (r_open_q || !moves) && !is_mac_place;
  assign g_shown      = g_valid && g_go;        // the generator's
  assign n_valid      = s_axis_tvalid && n_go;  // the NIC's
  assign r_shown      = r_valid && r_go;        // received ones

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      route_q  <= '0;
      g_open_q <= 1'b0;
      n_open_q <= 1'b0;
      r_open_q <= 1'b0;
    end else begin
      // A beat that was shown counts as begun.
      if (g_shown) g_open_q <= !(g_ready && g_last);
      if (n_valid) n_open_q <= !(s_axis_tready && s_axis_tlast);
      if (r_shown) r_open_q <= !(r_ready && r_last);
      if (!g_open_q && !n_open_q && !r_open_q) route_q <= route_i;
    end
  end

  assign g_ready       = g_go && (is_mac_place ? m_axis_tready : t_ready);
  assign s_axis_tready = n_go && (is_mac_place || t_ready);
  assign r_ready       = r_go && (is_nic_place || m_axis_tready);

  assign m_axis_tdata  = is_mac_place ? g_data : r_data;
  assign m_axis_tkeep  = is_mac_place ? g_keep : r_keep;
  assign m_axis_tlast  = is_mac_place ? g_last : r_last;
  assign m_axis_tuser  = !is_mac_place && r_user;
  assign m_axis_tvalid = is_mac_place ? g_shown : r_shown && !is_nic_place;

  assign t_data  = is_nic_place ? g_data : s_axis_tdata;
  assign t_keep  = is_nic_place ? g_keep : s_axis_tkeep;
  assign t_last  = is_nic_place ? g_last : s_axis_tlast;
  assign t_user  = !is_nic_place && s_axis_tuser;
  assign t_valid = is_nic_place ? g_shown : n_valid && !is_mac_place;

  // ------------------------------------------------------------------ generator and checker
  nic_generator i_generator (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .cfg_i        (cfg_i),
      .counter_i    (counter_i),
      .m_axis_tdata (g_data),
      .m_axis_tkeep (g_keep),
      .m_axis_tvalid(g_valid),
      .m_axis_tready(g_ready),
      .m_axis_tlast (g_last),
      .status_o     (generator_o)
  );

  nic_checker i_checker (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .cfg_i        (cfg_i),
      .counter_i    (counter_i),
      .s_axis_tdata (is_nic_place ? r_data : s_axis_tdata),
      .s_axis_tkeep (is_nic_place ? r_keep : s_axis_tkeep),
      .s_axis_tvalid(is_nic_place ? r_shown : n_valid && is_mac_place),
      .s_axis_tlast (is_nic_place ? r_last : s_axis_tlast),
      .s_axis_tuser (is_nic_place ? r_user : s_axis_tuser),
      .status_o     (checker_o)
  );

  // ------------------------------------------------------------------ the MAC
  logic [63:0] w_tx_data, w_rx_data;
  logic [7:0] w_tx_keep, w_rx_keep;
  logic w_tx_valid, w_tx_ready, w_tx_last, w_tx_user, w_rx_valid, w_rx_last, w_rx_user;

  mac_fifo #(
      .W            (64),
      .TxSlack      (TxSlack),
      .RxReady      (1'b1),
      .FarWaits     (1'b1),
      .FrameBytesMax(FrameBytesMax),
      .TxDepth      (TxDepth),
      .RxDepth      (RxDepth)
  ) i_fifo (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .loopback_i     (loopback_i),
      .s_tx_tdata     (t_data),
      .s_tx_tkeep     (t_keep),
      .s_tx_tvalid    (t_valid),
      .s_tx_tready    (t_ready),
      .s_tx_tlast     (t_last),
      .s_tx_tuser     (t_user),
      .m_rx_tdata     (r_data),
      .m_rx_tkeep     (r_keep),
      .m_rx_tvalid    (r_valid),
      .m_rx_tready    (r_ready),
      .m_rx_tlast     (r_last),
      .m_rx_tuser     (r_user),
      .mac_tx_clk_i   (mac_tx_clk_i),
      .mac_tx_rst_i   (mac_tx_rst_i),
      .mac_tx_tdata   (w_tx_data),
      .mac_tx_tkeep   (w_tx_keep),
      .mac_tx_tvalid  (w_tx_valid),
      .mac_tx_tready  (w_tx_ready),
      .mac_tx_tlast   (w_tx_last),
      .mac_tx_tuser   (w_tx_user),
      .mac_rx_clk_i   (mac_rx_clk_i),
      .mac_rx_rst_i   (mac_rx_rst_i),
      .mac_rx_tdata   (w_rx_data),
      .mac_rx_tkeep   (w_rx_keep),
      .mac_rx_tvalid  (w_rx_valid),
      .mac_rx_tlast   (w_rx_last),
      .mac_rx_tuser   (w_rx_user),
      .ev_rx_bad_o    (ev_rx_bad_o),
      .ev_rx_no_room_o(ev_rx_no_room_o),
      .ev_tx_cut_o    (ev_tx_cut_o)
  );

  if (MacW == 8) begin : g_bytes
    assign mac_tx_tkeep = 1'b1;
    mac_bytes i_bytes (
        .tx_clk_i     (mac_tx_clk_i),
        .tx_rst_i     (mac_tx_rst_i),
        .s_tx_tdata   (w_tx_data),
        .s_tx_tkeep   (w_tx_keep),
        .s_tx_tvalid  (w_tx_valid),
        .s_tx_tready  (w_tx_ready),
        .s_tx_tlast   (w_tx_last),
        .s_tx_tuser   (w_tx_user),
        .mac_tx_tdata (mac_tx_tdata),
        .mac_tx_tvalid(mac_tx_tvalid),
        .mac_tx_tready(mac_tx_tready),
        .mac_tx_tlast (mac_tx_tlast),
        .mac_tx_tuser (mac_tx_tuser),
        .rx_clk_i     (mac_rx_clk_i),
        .rx_rst_i     (mac_rx_rst_i),
        .mac_rx_tdata (mac_rx_tdata),
        .mac_rx_tvalid(mac_rx_tvalid),
        .mac_rx_tlast (mac_rx_tlast),
        .mac_rx_tuser (mac_rx_tuser),
        .m_rx_tdata   (w_rx_data),
        .m_rx_tkeep   (w_rx_keep),
        .m_rx_tvalid  (w_rx_valid),
        .m_rx_tlast   (w_rx_last),
        .m_rx_tuser   (w_rx_user)
    );
  end else begin : g_same
    assign mac_tx_tdata  = w_tx_data;
    assign mac_tx_tkeep  = w_tx_keep;
    assign mac_tx_tvalid = w_tx_valid;
    assign mac_tx_tlast  = w_tx_last;
    assign mac_tx_tuser  = w_tx_user;
    assign w_tx_ready    = mac_tx_tready;
    assign w_rx_data     = mac_rx_tdata;
    assign w_rx_keep     = mac_rx_tkeep;
    assign w_rx_valid    = mac_rx_tvalid;
    assign w_rx_last     = mac_rx_tlast;
    assign w_rx_user     = mac_rx_tuser;
  end

endmodule

`default_nettype wire
