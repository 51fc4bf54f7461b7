// form_bth behind eth_ip_check, which takes RoCE's port.
`default_nettype none

module form_bth_tb #(
    parameter int unsigned N = 64
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire net_pkg::peer_t      self_i,
    input  wire logic                valid_i,
    input  wire logic                last_i,
    input  wire logic [$clog2(N/8):0] count_i,
    input  wire logic        [N-1:0] data_i,
    output      logic                judged_o,   // a frame's last beat comes out
    output      logic                checked_o,  // eth_ip_check passed it
    output      logic                passed_o,
    output      logic                bad_length_o,
    output      logic                bad_version_o,
    output      logic                bad_icrc_o,
    output      logic         [77:0] fields_o,   // opcode to psn, in the order of form_bth's ports
    output      logic         [15:0] len_bytes_o,
    output      logic         [31:0] behind_o
);

  logic v, last, fv, fdone, cv, spare;
  logic [3:0] fbeat, cbeat;
  logic [N-1:0] fdata, cdata;
  logic [15:0] fbytes;
  logic [23:0] cnext;
  logic [$clog2(N/8)+1:0] cleft;

  eth_ip_check #(
      .N    (N),
      .NoSum(1'b1)
  ) i_check (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .self_i       (self_i),
      .ports_i      (16'd4791),
      .valid_i      (valid_i),
      .last_i       (last_i),
      .bad_i        (1'b0),
      .count_i      (count_i),
      .data_i       (data_i),
      .valid_o      (v),
      .last_o       (last),
      .count_o      (),
      .data_o       (),
      .passed_o     (checked_o),
      .stray_o      (),
      .is_arp_o     (),
      .is_icmp_o    (),
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

  form_bth #(
      .N(N)
  ) i_dut (
      .clk_i        (clk_i),
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
      .passed_o     (passed_o),
      .bad_length_o (bad_length_o),
      .bad_version_o(bad_version_o),
      .bad_icrc_o   (bad_icrc_o),
      .opcode_o     (fields_o[77:70]),
      .solicited_o  (fields_o[69]),
      .padding_o    (fields_o[68:67]),
      .pkey_o       (fields_o[66:51]),
      .fecn_o       (fields_o[50]),
      .becn_o       (fields_o[49]),
      .qp_o         (fields_o[48:25]),
      .ack_request_o(fields_o[24]),
      .psn_o        (fields_o[23:0]),
      .len_bytes_o  (len_bytes_o),
      .behind_o     (behind_o)
  );

  assign judged_o = v && last;

endmodule

`default_nettype wire
