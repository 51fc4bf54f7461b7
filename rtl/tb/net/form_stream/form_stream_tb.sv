// form_stream behind eth_ip_check, which takes two ports: ours, and one without checksums.
`default_nettype none

module form_stream_tb #(
    parameter int unsigned N = 64
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire net_pkg::peer_t      self_i,
    input  wire logic         [15:0] other_port_i,
    input  wire logic         [31:0] stream_tag_i,
    input  wire logic                valid_i,
    input  wire logic                last_i,
    input  wire logic                bad_i,
    input  wire logic [$clog2(N/8):0] count_i,
    input  wire logic        [N-1:0] data_i,
    // From the highest bit: eth_ip_check's events in its order; the form's verdict: form, length,
    // CRC, other version, report, passed; eth_ip_check's: passed, stray, ARP, ICMP, port; last,
    // valid.
    output      logic         [21:0] seen_o,
    output      logic [$clog2(N/8):0] count_o,
    output      logic        [N-1:0] data_o
);

  logic fv, fnext, fdone, fudp, cv;
  logic [3:0] fbeat, cbeat;
  logic [N-1:0] fdata, cdata;
  logic [15:0] fbytes;
  logic [23:0] cnext;
  logic [$clog2(N/8)+1:0] cleft;

  eth_ip_check #(
      .N    (N),
      .Ports(2),
      .NoSum(2'b10)
  ) i_check (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .self_i       (self_i),
      .ports_i      ({other_port_i, self_i.port}),
      .valid_i      (valid_i),
      .last_i       (last_i),
      .bad_i        (bad_i),
      .count_i      (count_i),
      .data_i       (data_i),
      .valid_o      (seen_o[0]),
      .last_o       (seen_o[1]),
      .count_o      (count_o),
      .data_o       (data_o),
      .passed_o     (seen_o[7]),
      .stray_o      (seen_o[6]),
      .is_arp_o     (seen_o[5]),
      .is_icmp_o    (seen_o[4]),
      .port_o       (seen_o[3:2]),
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
      .ev_bad_o     (seen_o[21]),
      .ev_oversize_o(seen_o[20]),
      .ev_runt_o    (seen_o[19]),
      .ev_not_ours_o(seen_o[18]),
      .ev_fragment_o(seen_o[17]),
      .ev_ip_sum_o  (seen_o[16]),
      .ev_length_o  (seen_o[15]),
      .ev_udp_sum_o (seen_o[14])
  );

  form_stream #(
      .N(N)
  ) i_dut (
      .clk_i             (clk_i),
      .stream_tag_i      (stream_tag_i),
      .stream_tag_valid_i(1'b1),
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
      .passed_o          (seen_o[8]),
      .other_version_o   (seen_o[10]),
      .is_report_o       (seen_o[9]),
      .bad_form_o        (seen_o[13]),
      .bad_length_o      (seen_o[12]),
      .bad_crc_o         (seen_o[11])
  );

endmodule

`default_nettype wire
