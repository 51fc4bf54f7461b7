// head_builder and frame_join, as a core puts them together; with Icrc, crc_append behind them
// writes that of RoCEv2.
`default_nettype none

module head_builder_tb #(
    parameter int unsigned W           = 64,
    parameter int unsigned HeaderBytes = 22,
    parameter bit          UdpSum      = 1'b1,
    parameter bit          Trailer     = 1'b1,
    parameter bit          Icrc        = 1'b0
) (
    input  wire logic                     clk_i,
    input  wire logic                     rst_i,
    input  wire net_pkg::peer_t           self_i,
    input  wire net_pkg::peer_t           peer_i,
    input  wire logic                     job_valid_i,
    output logic                          job_ready_o,
    input  wire logic [8*HeaderBytes-1:0] header_i,
    input  wire net_pkg::payload_t        payload_i,
    output logic                          start_o,
    output logic                          busy_o,
    input  wire logic [            W-1:0] s_axis_tdata,
    input  wire logic [          W/8-1:0] s_axis_tkeep,
    input  wire logic                     s_axis_tvalid,
    output logic                          s_axis_tready,
    input  wire logic                     s_axis_tlast,
    output logic      [            W-1:0] m_axis_tdata,
    output logic      [          W/8-1:0] m_axis_tkeep,
    output logic                          m_axis_tvalid,
    input  wire logic                     m_axis_tready,
    output logic                          m_axis_tlast
);

  localparam int unsigned HeadBytes = 42 + HeaderBytes;
  localparam int unsigned Beats = (HeadBytes + W / 8 - 1) / (W / 8);
  localparam int unsigned BeatWidth = Beats > 1 ? $clog2(Beats) : 1;

  logic ready, done;
  logic [BeatWidth-1:0] beat;
  logic [W-1:0] data;
  logic [15:0] len_bytes;
  logic [31:0] trailer;
  logic [W-1:0] j_tdata;
  logic [W/8-1:0] j_tkeep;
  logic j_tvalid, j_tready, j_tlast;

  head_builder #(
      .W          (W),
      .HeaderBytes(HeaderBytes),
      .WholeWords (1'b0),
      .UdpSum     (UdpSum)
  ) u_head_builder (
      .clk_i, .rst_i, .self_i, .peer_i, .job_valid_i, .job_ready_o, .header_i, .payload_i,
      .tos_i      (net_pkg::TosEct0),
      .ip_sum_i   (16'd0),
      .hold_i     (1'b0),
      .start_o, .held_o(), .busy_o,
      .ready_o    (ready),
      .beat_i     (beat),
      .data_o     (data),
      .len_bytes_o(len_bytes),
      .trailer_o  (trailer),
      .done_i     (done)
  );

  frame_join #(
      .W        (W),
      .HeadBytes(HeadBytes),
      .Trailer  (Trailer)
  ) u_frame_join (
      .clk_i, .rst_i,
      .head_ready_i    (ready),
      .head_beat_o     (beat),
      .head_data_i     (data),
      .head_len_bytes_i(len_bytes),
      .head_trailer_i  (trailer),
      .head_done_o     (done),
      .s_valid_i       (s_axis_tvalid),
      .s_ready_o       (s_axis_tready),
      .s_data_i        (s_axis_tdata),
      .m_axis_tdata    (j_tdata),
      .m_axis_tkeep    (j_tkeep),
      .m_axis_tvalid   (j_tvalid),
      .m_axis_tready   (j_tready),
      .m_axis_tlast    (j_tlast)
  );

  if (Icrc) begin : g_icrc
    crc_append #(
        .W   (W),
        .Init(crc_pkg::after_ones(32'hFFFF_FFFF, crc_pkg::EthernetPoly, 8)),
        .Ones(128'h4300_0340_8000)  // bytes 15, 22, 24, 25, 40, 41, 46
    ) u_crc_append (
        .clk_i, .rst_i,
        .s_axis_tdata (j_tdata),
        .s_axis_tkeep (j_tkeep),
        .s_axis_tvalid(j_tvalid),
        .s_axis_tready(j_tready),
        .s_axis_tlast (j_tlast),
        .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast
    );
  end else begin : g_join
    assign m_axis_tdata  = j_tdata;
    assign m_axis_tkeep  = j_tkeep;
    assign m_axis_tvalid = j_tvalid;
    assign m_axis_tlast  = j_tlast;
    assign j_tready      = m_axis_tready;
  end

endmodule

`default_nettype wire
