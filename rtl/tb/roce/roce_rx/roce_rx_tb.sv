// roce_rx beside form_bth and eth_ip_check, which takes RoCE's port.
`default_nettype none

module roce_rx_tb #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,
    parameter  bit          Full    = 1'b0,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic              clk_i,
    input  wire logic              rst_i,
    input  wire net_pkg::peer_t    self_i,
    input  wire logic              peer_set_i,
    input  wire logic [QpWidth-1:0] peer_qp_i,
    input  wire logic       [31:0] peer_ip_i,
    input  wire logic       [23:0] local_qp_i,
    input  wire logic              valid_i,
    input  wire logic              last_i,
    input  wire logic [$clog2(W/8):0] count_i,
    input  wire logic    [  W-1:0] data_i,
    output      logic              checked_o,  // eth_ip_check passed a datagram to the port
    output      logic              valid_o,    // its beats
    output      logic              last_o,
    output      logic    [  W-1:0] data_o,
    output      logic              answer_valid_o,
    output      logic [QpWidth-1:0] answer_qp_o,
    output      roce_pkg::answer_t answer_o,
    output      logic              request_valid_o,
    output      roce_pkg::request_t request_o,
    output      logic       [ 6:0] events_o    // in the order of roce_rx's ports, from bit 0 on
);

  logic passed, is_arp, is_icmp, spare, fv, fdone, cv;
  logic [3:0] fbeat, cbeat;
  logic [W-1:0] fdata, cdata;
  logic [15:0] fbytes;
  logic [23:0] cnext;
  logic [$clog2(W/8)+1:0] cleft;

  eth_ip_check #(
      .N    (W),
      .NoSum(1'b1)
  ) i_check (
      .clk_i, .rst_i, .self_i,
      .ports_i      (roce_pkg::UdpPort),
      .valid_i, .last_i,
      .bad_i        (1'b0),
      .count_i, .data_i,
      .valid_o, .last_o,
      .count_o      (),
      .data_o,
      .passed_o     (passed),
      .stray_o      (),
      .is_arp_o     (is_arp),
      .is_icmp_o    (is_icmp),
      .port_o       (spare),
      .f_valid_o    (fv),
      .f_beat_o     (fbeat),
      .f_data_o     (fdata),
      .f_length_o   (fbytes),
      .f_next_o     (),
      .f_done_o     (fdone),
      .f_is_udp_o   (),
      .p_valid_o    (cv),
      .p_beat_o     (cbeat),
      .p_data_o     (cdata),
      .p_next_o     (cnext),
      .p_left_o     (cleft),
      .ev_bad_o     (),
      .ev_oversize_o(),
      .ev_runt_o    (),
      .ev_not_ours_o(),
      .ev_fragment_o(),
      .ev_ip_sum_o  (),
      .ev_length_o  (),
      .ev_udp_sum_o ()
  );

  logic b_passed, b_length, b_version, b_icrc, ack_request;
  logic [7:0] opcode;
  logic [1:0] padding;
  logic [15:0] pkey, len_bytes;
  logic [23:0] qp, psn;
  logic [31:0] behind;

  form_bth #(
      .N(W)
  ) i_form (
      .clk_i,
      .f_valid_i    (fv),
      .f_beat_i     (fbeat),
      .f_data_i     (fdata),
      .f_length_i   (fbytes),
      .f_done_i     (fdone),
      .p_valid_i    (cv),
      .p_beat_i     (cbeat),
      .p_data_i     (cdata),
      .p_next_i     (cnext),
      .p_left_i     (cleft),
      .passed_o     (b_passed),
      .bad_length_o (b_length),
      .bad_version_o(b_version),
      .bad_icrc_o   (b_icrc),
      .opcode_o     (opcode),
      .solicited_o  (),
      .padding_o    (padding),
      .pkey_o       (pkey),
      .fecn_o       (),
      .becn_o       (),
      .qp_o         (qp),
      .ack_request_o(ack_request),
      .psn_o        (psn),
      .len_bytes_o  (len_bytes),
      .behind_o     (behind)
  );

  assign checked_o = valid_o && last_o && passed && !is_arp && !is_icmp;

  roce_rx #(
      .W   (W),
      .Qps (Qps),
      .Full(Full)
  ) i_dut (
      .clk_i, .rst_i, .local_qp_i, .peer_set_i, .peer_qp_i, .peer_ip_i,
      .f_valid_i    (fv),
      .f_beat_i     (fbeat),
      .f_data_i     (fdata),
      .f_done_i     (fdone),
      .judged_i     (checked_o),
      .passed_i     (b_passed),
      .bad_length_i (b_length),
      .bad_version_i(b_version),
      .bad_icrc_i   (b_icrc),
      .opcode_i     (opcode),
      .padding_i    (padding),
      .pkey_i       (pkey),
      .qp_i         (qp),
      .ack_request_i(ack_request),
      .psn_i        (psn),
      .len_bytes_i  (len_bytes),
      .behind_i     (behind),
      .answer_valid_o, .answer_qp_o, .answer_o, .request_valid_o, .request_o,
      .ev_length_o   (events_o[0]),
      .ev_version_o  (events_o[1]),
      .ev_icrc_o     (events_o[2]),
      .ev_pkey_o     (events_o[3]),
      .ev_stranger_o (events_o[4]),
      .ev_opcode_o   (events_o[5]),
      .ev_syndrome_o (events_o[6])
  );

endmodule

`default_nettype wire
