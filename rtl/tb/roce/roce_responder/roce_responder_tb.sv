// roce_responder behind roce_rx, form_bth and eth_ip_check. A queue pair begins, and its peer's address is
// taken, in the first cycle of its run_i.
`default_nettype none

module roce_responder_tb #(
    parameter  int unsigned W       = 64,
    parameter  int unsigned Qps     = 1,
    parameter  int unsigned Beats   = W == 512 ? 512 : 1024,
    parameter  int unsigned Frames  = 32,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_i,
    input  wire logic            [63:0] time_ns_i,
    input  wire net_pkg::peer_t         self_i,
    input  wire logic            [31:0] peer_ip_i,
    input  wire logic            [23:0] local_qp_i,
    input  wire logic         [Qps-1:0] run_i,       // one rises in a cycle
    input  wire roce_pkg::responder_t   cfg_i,
    input  wire roce_pkg::region_t      region_i,
    input  wire logic         [Qps-1:0] may_write_i,
    input  wire logic         [Qps-1:0] abort_i,
    output      logic         [Qps-1:0] is_failed_o,
    // received frames
    input  wire logic                   valid_i,
    input  wire logic                   last_i,
    input  wire logic   [$clog2(W/8):0] count_i,
    input  wire logic           [W-1:0] data_i,
    // receive requests
    input  wire logic                   receive_valid_i,
    output      logic                   receive_ready_o,
    input  wire logic     [QpWidth-1:0] receive_qp_i,
    input  wire roce_pkg::receive_t     receive_i,
    output      logic                   completion_valid_o,
    input  wire logic                   completion_ready_i,
    output      logic     [QpWidth-1:0] completion_qp_o,
    output      roce_pkg::received_t    completion_o,
    // memory
    output      logic                   wr_valid_o,
    input  wire logic                   wr_ready_i,
    output      logic            [63:0] wr_addr_o,
    output      logic           [W-1:0] wr_data_o,
    output      logic         [W/8-1:0] wr_keep_o,
    output      logic                   wr_last_o,
    // answers
    output      logic                   response_valid_o,
    input  wire logic                   response_ready_i,
    output      logic     [QpWidth-1:0] response_qp_o,
    output      roce_pkg::response_t    response_o,
    // counters, in the order of the modules' ports, from bit 0 on
    output      logic             [6:0] rx_events_o,
    output      logic             [9:0] events_o,
    output      logic     [QpWidth-1:0] ev_qp_o,
    output      roce_pkg::fault_e       fault_o
);

  logic valid, last, request_valid;
  logic [W-1:0] data;
  logic [QpWidth-1:0] request_qp, begin_qp;
  logic [Qps-1:0] run_q, begins;
  roce_pkg::request_t request;

  assign begins = run_i & ~run_q;
  always_ff @(posedge clk_i) run_q <= run_i;
  always_comb begin
    begin_qp = '0;
    for (int unsigned q = 0; q < Qps; q++) if (begins[q]) begin_qp = QpWidth'(q);
  end

  roce_rx_tb #(
      .W   (W),
      .Qps (Qps),
      .Full(1'b1)
  ) u_rx (
      .clk_i, .rst_i, .self_i, .peer_ip_i, .local_qp_i, .valid_i, .last_i, .count_i, .data_i,
      .peer_set_i     (|begins),
      .peer_qp_i      (begin_qp),
      .answer_qp_o    (request_qp),
      .checked_o      (),
      .valid_o        (valid),
      .last_o         (last),
      .data_o         (data),
      .answer_valid_o (),
      .answer_o       (),
      .request_valid_o(request_valid),
      .request_o      (request),
      .events_o       (rx_events_o)
  );

  roce_responder #(
      .W     (W),
      .Qps   (Qps),
      .Beats (Beats),
      .Frames(Frames)
  ) u_dut (
      .clk_i, .rst_i, .time_ns_i, .run_i,
      .begin_i         (|begins),
      .begin_qp_i      (begin_qp),
      .cfg_i, .region_i, .may_write_i, .abort_i, .is_failed_o,
      .valid_i         (valid),
      .last_i          (last),
      .data_i          (data),
      .request_valid_i (request_valid),
      .request_qp_i    (request_qp),
      .request_i       (request),
      .receive_valid_i, .receive_ready_o, .receive_qp_i, .receive_i,
      .completion_valid_o, .completion_ready_i, .completion_qp_o, .completion_o,
      .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_data_o, .wr_keep_o, .wr_last_o,
      .response_valid_o, .response_ready_i, .response_qp_o, .response_o,
      .ev_qp_o,
      .ev_packet_o     (events_o[0]),
      .ev_duplicate_o  (events_o[1]),
      .ev_gap_o        (events_o[2]),
      .ev_not_ready_o  (events_o[3]),
      .ev_fault_o      (events_o[4]),
      .ev_after_fault_o(events_o[5]),
      .ev_unexpected_o (events_o[6]),
      .ev_no_room_o    (events_o[7]),
      .ev_marked_o     (events_o[8]),
      .ev_cnp_o        (events_o[9]),
      .fault_o
  );

endmodule

`default_nettype wire
