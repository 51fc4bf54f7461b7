// frame_rx and report_rx: what a REPORT goes through; tx_mux, with crc_insert before it.
`default_nettype none

module control_tb #(
    parameter int unsigned W = 64
) (
    input wire logic          clk_i,
    input wire logic          rst_i,
    input wire logic          flush_i,
    input wire logic [63:0]   time_ns_i,
    input wire net_pkg::peer_t self_i,
    input wire logic [31:0]   stream_tag_i,
    input wire logic          stream_tag_valid_i,

    input wire logic [  W-1:0] s_axis_tdata,
    input wire logic [W/8-1:0] s_axis_tkeep,
    input wire logic           s_axis_tvalid,
    input wire logic           s_axis_tlast,
    input wire logic           s_axis_tuser,

    output      logic         rep_valid_o,
    output      logic         rep_is_newer_o,
    output      logic         rep_has_ranges_o,
    output      logic [127:0] rep_numbers_o,
    input  wire logic         rep_ok_i,
    output      logic         rng_valid_o,
    input  wire logic         rng_ready_i,
    output      logic [ 95:0] rng_o,
    output      logic         taken_o,
    output      logic         alive_o,
    output      logic         reported_o,
    output      logic [ 63:0] newest_o,
    output      logic         ev_refused_o,
    output      logic         ev_marked_o,

    // Control frames of the test, CRC to be written; DATA of the test; what leaves.
    input  wire logic [   63:0] ctl_axis_tdata,
    input  wire logic [    7:0] ctl_axis_tkeep,
    input  wire logic           ctl_axis_tvalid,
    output      logic           ctl_axis_tready,
    input  wire logic           ctl_hold_i,
    output      logic           ctl_shown_o,
    input  wire logic           data_chosen_i,
    input  wire logic           ctl_axis_tlast,
    input  wire logic [  W-1:0] data_axis_tdata,
    input  wire logic [W/8-1:0] data_axis_tkeep,
    input  wire logic           data_axis_tvalid,
    output      logic           data_axis_tready,
    input  wire logic           data_axis_tlast,
    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast
);

  logic c_valid, c_ready, c_last, report_ready, is_report;
  logic [63:0] c_data;
  net_pkg::rx_meta_t c_meta;
  assign is_report = c_meta.cls == net_pkg::ClassReport;
  assign c_ready   = is_report ? report_ready : 1'b1;

  logic [W-1:0] u_data;
  logic [W/8-1:0] u_keep;
  logic u_valid, u_last, u_user;
  logic [11:0] ev;
  frame_rx #(
      .W(W)
  ) i_rx (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .self_i            (self_i),
      .stream_tag_i      (stream_tag_i),
      .stream_tag_valid_i(stream_tag_valid_i),
      .s_axis_tdata      (s_axis_tdata),
      .s_axis_tkeep      (s_axis_tkeep),
      .s_axis_tvalid     (s_axis_tvalid),
      .s_axis_tlast      (s_axis_tlast),
      .s_axis_tuser      (s_axis_tuser),
      .c_valid_o         (c_valid),
      .c_ready_i         (c_ready),
      .c_data_o          (c_data),
      .c_last_o          (c_last),
      .c_meta_o          (c_meta),
      .u_axis_tdata      (u_data),
      .u_axis_tkeep      (u_keep),
      .u_axis_tvalid     (u_valid),
      .u_axis_tlast      (u_last),
      .u_axis_tuser      (u_user),
      .ev_frames_o       (ev[0]),
      .ev_bad_o          (ev[1]),
      .ev_runt_o         (ev[2]),
      .ev_oversize_o     (ev[3]),
      .ev_not_ours_o     (ev[4]),
      .ev_fragment_o     (ev[5]),
      .ev_ip_sum_o       (ev[6]),
      .ev_udp_sum_o      (ev[7]),
      .ev_length_o       (ev[8]),
      .ev_crc_o          (ev[9]),
      .ev_form_o         (ev[10]),
      .ev_no_room_o      (ev[11])
  );

  // The numbers as `window` sees them, one with each step.
  logic to_next, rep_step;
  send_pkg::check_e rep_check;
  logic [31:0] rep_hi, rep_lo;
  always_ff @(posedge clk_i) begin
    if (rep_step) begin
      unique case (rep_check)
        send_pkg::CheckReleased: rep_numbers_o[127:96] <= rep_hi;
        send_pkg::CheckLimit:    rep_numbers_o[95:64] <= rep_lo;
        send_pkg::CheckGrowth:
        rep_numbers_o[95:64] <= rep_lo == rep_numbers_o[95:64] ? rep_lo : '0;
        send_pkg::CheckSettled:  rep_numbers_o[63:32] <= rep_hi;
        default:               rep_numbers_o[31:0] <= rep_lo;
      endcase
    end
  end

  report_rx i_report (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .flush_i           (flush_i),
      .time_ns_i         (time_ns_i),
      .stream_tag_i      (stream_tag_i),
      .stream_tag_valid_i(stream_tag_valid_i),
      .c_valid_i         (c_valid && is_report),
      .c_ready_o         (report_ready),
      .c_data_i          (c_data),
      .c_last_i          (c_last),
      .c_meta_i          (c_meta),
      .rep_step_o        (rep_step),
      .rep_check_o       (rep_check),
      .rep_hi_o          (rep_hi),
      .rep_lo_o          (rep_lo),
      .rep_valid_o       (rep_valid_o),
      .rep_is_newer_o    (rep_is_newer_o),
      .rep_has_ranges_o  (rep_has_ranges_o),
      .rep_ok_i          (rep_ok_i),
      .rng_valid_o       (rng_valid_o),
      .rng_ready_i       (rng_ready_i),
      .rng_first_o       (rng_o[95:64]),
      .rng_count_o       (rng_o[63:32]),
      .rng_to_next_o     (to_next),
      .rng_settled_o     (rng_o[31:0]),
      .taken_o           (taken_o),
      .alive_o           (alive_o),
      .reported_o        (reported_o),
      .number_o          (newest_o[63:32]),
      .report_time_o     (newest_o[31:0]),
      .ev_refused_o      (ev_refused_o),
      .ev_marked_o       (ev_marked_o)
  );

  logic [63:0] k_data;
  logic [7:0] k_keep;
  logic k_valid, k_ready, k_last;

  crc_insert i_crc (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata (ctl_axis_tdata),
      .s_axis_tkeep (ctl_axis_tkeep),
      .s_axis_tvalid(ctl_axis_tvalid),
      .s_axis_tready(ctl_axis_tready),
      .s_axis_tlast (ctl_axis_tlast),
      .m_axis_tdata (k_data),
      .m_axis_tkeep (k_keep),
      .m_axis_tvalid(k_valid),
      .m_axis_tready(k_ready),
      .m_axis_tlast (k_last)
  );

  tx_mux #(
      .W(W)
  ) i_mux (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .s0_hold_i     (ctl_hold_i),
      .s0_busy_o     (),
      .s0_shown_o    (ctl_shown_o),
      .s1_chosen_i   (data_chosen_i),
      .s0_axis_tdata (k_data),
      .s0_axis_tkeep (k_keep),
      .s0_axis_tvalid(k_valid),
      .s0_axis_tready(k_ready),
      .s0_axis_tlast (k_last),
      .s1_axis_tdata (data_axis_tdata),
      .s1_axis_tkeep (data_axis_tkeep),
      .s1_axis_tvalid(data_axis_tvalid),
      .s1_axis_tready(data_axis_tready),
      .s1_axis_tlast (data_axis_tlast),
      .m_axis_tdata  (m_axis_tdata),
      .m_axis_tkeep  (m_axis_tkeep),
      .m_axis_tvalid (m_axis_tvalid),
      .m_axis_tready (m_axis_tready),
      .m_axis_tlast  (m_axis_tlast)
  );

endmodule

`default_nettype wire
