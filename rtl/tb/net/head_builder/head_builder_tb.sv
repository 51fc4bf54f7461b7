// head_builder and frame_join, as a core puts them together.
`default_nettype none

module head_builder_tb #(
    parameter int unsigned W           = 64,
    parameter int unsigned HeaderBytes = 22,
    parameter bit          UdpSum      = 1'b1,
    parameter bit          Trailer     = 1'b1
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

  head_builder #(
      .W          (W),
      .HeaderBytes(HeaderBytes),
      .WholeWords (1'b0),
      .UdpSum     (UdpSum)
  ) u_head_builder (
      .clk_i, .rst_i, .self_i, .peer_i, .job_valid_i, .job_ready_o, .header_i, .payload_i,
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
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast
  );

endmodule

`default_nettype wire
