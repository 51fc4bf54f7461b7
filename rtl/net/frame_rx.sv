// Receives frames: rejects what is not ours or not right, and gives what is to report_rx and session
// as 64-bit frames with what is known of each in c_meta_o.
//
// Accepts a beat every clock for ever: s_axis has no ready. At W = 512 rx_filter keeps what bears
// our addresses and narrows it to 128 bits, at W = 64 nothing is in between; eth_ip_check and
// form_stream judge, and frame_store keeps the first 384 bytes of what passed until it is read. A frame that finds no room
// is dropped whole and counted; the stream's REPORTs find twice the room of all else.
//
// Every frame raises exactly one event. Last beat of a REPORT in to its byte 56 out: 10 cycles at
// W = 64; at W = 512 14 cycles and one for each 16 bytes of the frame.
//
// u_axis: the frames for none of ours, and all fragments, as they came; tuser on tlast marks the
// others. Not counted twice, not kept, without ready.
`default_nettype none

module frame_rx #(
    parameter int unsigned W = 64
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire net_pkg::peer_t      self_i,
    input  wire logic         [31:0] stream_tag_i,
    input  wire logic                stream_tag_valid_i,

    input wire logic [  W-1:0] s_axis_tdata,
    input wire logic [W/8-1:0] s_axis_tkeep,
    input wire logic           s_axis_tvalid,
    input wire logic           s_axis_tlast,
    input wire logic           s_axis_tuser,

    output      logic                    c_valid_o,
    input  wire logic                    c_ready_i,
    output      logic             [63:0] c_data_o,
    output      logic                    c_last_o,
    output      net_pkg::rx_meta_t       c_meta_o,

    output logic [  W-1:0] u_axis_tdata,
    output logic [W/8-1:0] u_axis_tkeep,
    output logic           u_axis_tvalid,
    output logic           u_axis_tlast,
    output logic           u_axis_tuser,

    output logic ev_frames_o,
    output logic ev_bad_o,
    output logic ev_runt_o,
    output logic ev_oversize_o,
    output logic ev_not_ours_o,
    output logic ev_fragment_o,
    output logic ev_ip_sum_o,
    output logic ev_udp_sum_o,
    output logic ev_length_o,
    output logic ev_crc_o,
    output logic ev_form_o,
    output logic ev_no_room_o
);

  if (W != 64 && W != 512) begin : g_bad_1
    $error("W must be 64 or 512");
  end

  localparam int unsigned N = W == 64 ? 64 : 128;
  localparam int unsigned Lb = $clog2(N / 8);

  logic v, last, bad;
  logic [Lb:0] count;
  logic [N-1:0] data;
  logic pv, plast, pstray, ppassed, parp, picmp;
  logic fpassed, fother, freport, fform, flength, fcrc, p_length;
  logic [Lb:0] pcount;
  logic [N-1:0] pdata;
  logic room;
  logic p_bad, p_oversize, p_runt, p_not_ours, s_no_room;

  if (W == 64) begin : g_narrow
    logic [3:0] ones;
    always_comb begin
      ones = 4'd8;
      for (int i = 7; i > 0; i--) if (!s_axis_tkeep[i]) ones = 4'(i);
    end
    assign v             = s_axis_tvalid;
    assign last          = s_axis_tlast;
    assign bad           = s_axis_tuser;
    assign count         = ones;
    assign data          = s_axis_tdata;
    assign u_axis_tdata  = pdata;
    assign u_axis_tkeep  = 8'(9'd1 << pcount) - 8'd1;
    assign u_axis_tvalid = pv;
    assign u_axis_tlast  = plast;
    assign u_axis_tuser  = !pstray;
    assign ev_bad_o      = p_bad;
    assign ev_oversize_o = p_oversize;
    assign ev_runt_o     = p_runt;
    assign ev_not_ours_o = p_not_ours;
    assign ev_no_room_o  = s_no_room;
  end else begin : g_wide
    logic f_no_room;
    rx_filter i_filter (
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
        .u_axis_tdata      (u_axis_tdata),
        .u_axis_tkeep      (u_axis_tkeep),
        .u_axis_tvalid     (u_axis_tvalid),
        .u_axis_tlast      (u_axis_tlast),
        .u_axis_tuser      (u_axis_tuser),
        .go_i              (room),
        .valid_o           (v),
        .last_o            (last),
        .count_o           (count),
        .data_o            (data),
        .ev_bad_o          (ev_bad_o),
        .ev_oversize_o     (ev_oversize_o),
        .ev_runt_o         (ev_runt_o),
        .ev_not_ours_o     (ev_not_ours_o),
        .ev_no_room_o      (f_no_room)
    );
    assign bad = 1'b0;
    // What passed the filter fails for these causes no more, and waits there for room.
    assign ev_no_room_o = f_no_room;
  end

  logic fv, fnext, fdone, fudp, cv;
  logic [3:0] fbeat, cbeat;
  logic [N-1:0] fdata, cdata;
  logic [15:0] fbytes;
  logic [23:0] cnext;
  logic [Lb+1:0] cleft;

  eth_ip_check #(
      .N        (N),
      .Addressed(W == 64)
  ) i_check (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .self_i       (self_i),
      .ports_i      (self_i.port),
      .valid_i      (v),
      .last_i       (last),
      .bad_i        (bad),
      .count_i      (count),
      .data_i       (data),
      .valid_o      (pv),
      .last_o       (plast),
      .count_o      (pcount),
      .data_o       (pdata),
      .passed_o     (ppassed),
      .stray_o      (pstray),
      .is_arp_o     (parp),
      .is_icmp_o    (picmp),
      .port_o       (),
      .f_valid_o    (fv),
      .f_beat_o     (fbeat),
      .f_data_o     (fdata),
      .f_length_o   (fbytes),
      .f_next_o     (fnext),
      .f_done_o     (fdone),
      .f_is_udp_o   (fudp),
      .p_valid_o    (cv),
      .p_beat_o     (cbeat),
      .p_data_o     (cdata),
      .p_next_o     (cnext),
      .p_left_o     (cleft),
      .ev_bad_o     (p_bad),
      .ev_oversize_o(p_oversize),
      .ev_runt_o    (p_runt),
      .ev_not_ours_o(p_not_ours),
      .ev_fragment_o(ev_fragment_o),
      .ev_ip_sum_o  (ev_ip_sum_o),
      .ev_length_o  (p_length),
      .ev_udp_sum_o (ev_udp_sum_o)
  );

  form_stream #(
      .N(N)
  ) i_form (
      .clk_i             (clk_i),
      .stream_tag_i      (stream_tag_i),
      .stream_tag_valid_i(stream_tag_valid_i),
      .f_valid_i         (fv),
      .f_beat_i          (fbeat),
      .f_data_i          (fdata),
      .f_length_i        (fbytes),
      .f_next_i          (fnext),
      .f_done_i          (fdone),
      .f_is_udp_i        (fudp),
      .p_valid_i         (cv),
      .p_beat_i          (cbeat),
      .p_data_i          (cdata),
      .p_next_i          (cnext),
      .p_left_i          (cleft),
      .passed_o          (fpassed),
      .other_version_o   (fother),
      .is_report_o       (freport),
      .bad_form_o        (fform),
      .bad_length_o      (flength),
      .bad_crc_o         (fcrc)
  );

  // The form's verdict counts where the frame passed the check before it.
  logic reaches_form;
  net_pkg::class_e pcls;
  assign reaches_form = pv && plast && ppassed;
  assign ev_form_o    = reaches_form && fform;
  assign ev_length_o  = p_length || (reaches_form && flength);
  assign ev_crc_o     = reaches_form && fcrc;

  always_comb begin
    pcls = net_pkg::ClassSession;
    if (freport) pcls = net_pkg::ClassReport;
    if (picmp) pcls = net_pkg::ClassIcmp;
    if (parp) pcls = net_pkg::ClassArp;
  end

  frame_store #(
      .N         (N),
      .Words     (N == 64 ? 512 : 256),
      // At 512 bits the reserve is kept before the filter's FIFO; here frames take their turn.
      .Reserve   (W == 64)
  ) i_store (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .valid_i        (pv),
      .last_i         (plast),
      .count_i        (pcount),
      .data_i         (pdata),
      .ok_i           (ppassed && fpassed),
      .other_version_i(fother),
      .cls_i          (pcls),
      .room_o         (room),
      .ev_kept_o      (ev_frames_o),
      .ev_no_room_o   (s_no_room),
      .c_valid_o      (c_valid_o),
      .c_ready_i      (c_ready_i),
      .c_data_o       (c_data_o),
      .c_last_o       (c_last_o),
      .c_meta_o       (c_meta_o)
  );

endmodule

`default_nettype wire
