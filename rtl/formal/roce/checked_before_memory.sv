// No byte of a frame reaches the memory before its ICRC is checked, nor if it is wrong: roce_rx,
// roce_responder and its frame_fifo as they stand. Frames of any length and content, any verdict of
// form_bth on them (`passed_i`: length, version and ICRC). All addresses are in the region, so that the
// rules of the region keep nothing back; WRITEs and SENDs.
//
// Bit 7 of each byte of a frame is 1 if the verdict behind its last beat will be bad: what is written has
// none. Headers have that bit too, so that of an address 8 bits are the same.
`default_nettype none

module checked_before_memory #(
    parameter int unsigned Beats = 8
) (
    input wire logic                 clk_i,
    input wire logic                 rst_i,
    // eth_ip_check, form_bth
    input wire logic                 valid_i,
    input wire logic                 last_i,
    input wire logic [ 63:0]         data_i,
    input wire logic                 is_bad_i,
    input wire logic                 judged_i,
    input wire logic [  7:0]         opcode_i,
    input wire logic [  1:0]         padding_i,
    input wire logic [ 23:0]         psn_i,
    input wire logic [ 15:0]         len_bytes_i,
    input wire logic                 is_peer_i,
    // memory
    input wire logic                 wr_ready_i
);

  logic [1:0] f_reset_q = 2'b11;
  logic f_inside_q = 1'b0, f_bad_q;
  logic f_is_bad;
  assign f_is_bad = f_inside_q ? f_bad_q : is_bad_i;

  always_ff @(posedge clk_i) begin
    f_reset_q <= {f_reset_q[0], 1'b0};
    if (valid_i) begin
      f_inside_q <= !last_i;
      f_bad_q    <= f_is_bad;
    end
  end

  always_comb begin
    assume (rst_i == f_reset_q[0]);
    if (rst_i) assume (!valid_i);
    // Judged with its last beat.
    assume (!judged_i || (valid_i && last_i));
    if (valid_i) for (int i = 0; i < 8; i++) assume (data_i[8*i+7] == f_is_bad);
  end

  logic request_valid, wr_valid, wr_last;
  logic [63:0] wr_data;
  logic [7:0] wr_keep;
  roce_pkg::request_t request;

  roce_rx #(
      .Full(1'b1)
  ) u_rx (
      .clk_i          (clk_i),
      .rst_i          (rst_i),
      .peer_ip_i      (32'd0),
      .local_qp_i     (24'd0),
      .f_valid_i      (1'b1),
      .f_beat_i       (4'd3),
      .f_data_i       ({8'd0, {7'd0, !is_peer_i}, 48'd0}),
      .f_done_i       (1'b1),
      .judged_i       (judged_i),
      .passed_i       (!f_is_bad),
      .bad_length_i   (1'b0),
      .bad_version_i  (1'b0),
      .bad_icrc_i     (f_is_bad),
      .opcode_i       (opcode_i),
      .padding_i      (padding_i),
      .pkey_i         (roce_pkg::PKey),
      .qp_i           (24'd0),
      .ack_request_i  (1'b1),
      .psn_i          (psn_i),
      .len_bytes_i    (len_bytes_i),
      .behind_i       (32'd0),
      .answer_valid_o (),
      .answer_o       (),
      .request_valid_o(request_valid),
      .request_o      (request),
      .ev_length_o    (),
      .ev_version_o   (),
      .ev_icrc_o      (),
      .ev_pkey_o      (),
      .ev_stranger_o  (),
      .ev_opcode_o    (),
      .ev_syndrome_o  ()
  );

  roce_responder #(
      .Beats (Beats),
      .Frames(2)
  ) u_dut (
      .clk_i             (clk_i),
      .rst_i             (rst_i),
      .time_ns_i         (64'd0),
      .run_i             (!rst_i),
      .begin_i           (rst_i),
      .begin_qp_i        (1'b0),
      .cfg_i             ({24'd0, 3'd1, 5'd0, 20'd0}),
      .region_i          ({32'd0, 64'd0, {64{1'b1}}}),
      .may_write_i       (1'b1),
      .abort_i           (1'b0),
      .is_failed_o       (),
      .valid_i           (valid_i),
      .last_i            (last_i),
      .data_i            (data_i),
      .request_valid_i   (request_valid),
      .request_qp_i      (1'b0),
      .request_i         (request),
      .receive_valid_i   (1'b1),
      .receive_ready_o   (),
      .receive_qp_i      (1'b0),
      .receive_i         ({16'd0, 64'd0, 32'd4096}),
      .completion_valid_o(),
      .completion_ready_i(1'b1),
      .completion_qp_o   (),
      .completion_o      (),
      .wr_valid_o        (wr_valid),
      .wr_ready_i        (wr_ready_i),
      .wr_addr_o         (),
      .wr_data_o         (wr_data),
      .wr_keep_o         (wr_keep),
      .wr_last_o         (wr_last),
      .response_valid_o  (),
      .response_ready_i  (1'b1),
      .response_qp_o     (),
      .response_o        (),
      .ev_qp_o           (),
      .ev_packet_o       (),
      .ev_duplicate_o    (),
      .ev_gap_o          (),
      .ev_not_ready_o    (),
      .ev_fault_o        (),
      .ev_after_fault_o  (),
      .ev_unexpected_o   (),
      .ev_no_room_o      (),
      .ev_marked_o       (),
      .ev_cnp_o          (),
      .fault_o           ()
  );

  logic [7:0] f_marks;
  logic f_had_bad_q = 1'b0;
  always_comb for (int i = 0; i < 8; i++) f_marks[i] = wr_data[8*i+7];
  always_ff @(posedge clk_i)
    f_had_bad_q <= f_had_bad_q || (valid_i && last_i && judged_i && f_is_bad);

  always_comb begin
    if (f_reset_q == '0 && wr_valid) a_checked : assert ((wr_keep & f_marks) == '0);
    c_written : cover (f_reset_q == '0 && wr_valid && wr_last && wr_keep[7]);
    c_behind_a_bad_one : cover (f_reset_q == '0 && wr_valid && f_had_bad_q);
  end

endmodule

`default_nettype wire
