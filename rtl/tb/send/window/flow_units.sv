// window, nack_walker and pacer side by side, not wired to each other: one build for their tests.
`default_nettype none
/* verilator lint_off PINCONNECTEMPTY */

module flow_units #(
    parameter int unsigned Slots = 16,
    parameter int unsigned Depth = 4,
    parameter logic [31:0] FirstSeq = '0,
    localparam int unsigned Sw = $clog2(Slots)
) (
    input  wire logic                     clk_i,
    input  wire logic                     rst_i,
    input  wire logic                     flush_i,
    // window
    input  wire logic                     commit_i,
    input  wire logic                     depart_new_i,
    input  wire logic                     rep_step_i,
    input  wire logic [              2:0] rep_check_i,
    input  wire logic [             31:0] rep_hi_i,
    input  wire logic [             31:0] rep_lo_i,
    input  wire logic                     rep_is_newer_i,
    input  wire logic                     rep_has_ranges_i,
    input  wire logic                     rep_valid_i,
    input  wire logic [             31:0] last_departure_i,
    output      logic                     rep_ok_o,
    output      logic                     rep_is_near_o,
    output      logic [             31:0] oldest_o,
    output      logic [             31:0] sent_o,
    output      logic [             31:0] next_o,
    output      logic [             31:0] limit_o,
    output      logic                     full_o,
    output      logic                     has_new_o,
    output      logic                     is_released_o,
    output      logic                     is_sent_o,
    output      logic                     credit_came_o,
    // nack_walker
    input  wire logic                     rng_valid_i,
    input  wire logic [             31:0] rng_first_i,
    input  wire logic [             31:0] rng_count_i,
    input  wire logic                     rng_to_next_i,
    input  wire logic [             31:0] rng_settled_i,
    input  wire logic [             31:0] walk_oldest_i,
    input  wire logic [             31:0] walk_sent_i,
    output      logic [$clog2(Slots)-1:0] dep_rd_addr_o,
    input  wire logic [             31:0] dep_rd_data_i,
    output      logic                     cand_valid_o,
    output      logic [             31:0] cand_seq_o,
    input  wire logic                     cand_ready_i,
    output      logic                     ev_refused_o,
    output      logic                     ev_skipped_o,
    // pacer
    input  wire logic [             63:0] time_ns_i,
    input  wire logic [             23:0] rate_i,
    input  wire logic [             19:0] burst_ns_i,
    input  wire logic                     charge_i,
    input  wire logic [             15:0] charge_bytes_i,
    output      logic                     ok_o
);

  window #(
      .Slots(Slots),
      .FirstSeq(FirstSeq)
  ) u_window (
      .clk_i, .rst_i, .flush_i, .commit_i, .depart_new_i, .rep_step_i,
      .rep_check_i(send_pkg::check_e'(rep_check_i)),
      .rep_hi_i, .rep_lo_i, .rep_is_newer_i, .rep_has_ranges_i, .last_departure_i, .rep_valid_i,
      .rep_ok_o, .rep_is_near_o, .oldest_o, .sent_o, .next_o,
      .limit_o, .full_o, .has_new_o, .is_released_o, .is_sent_o, .credit_came_o
  );

  // What window says of a range in the sender.
  logic [31:0] away;
  assign away = rng_first_i - walk_oldest_i;

  nack_walker #(
      .Slots(Slots),
      .Depth(Depth)
  ) u_nack_walker (
      .clk_i, .rst_i, .flush_i, .rng_valid_i,
      .rng_ready_o(),
      .rng_first_i(rng_first_i[Sw+1:0]),
      .rng_is_near_i(&away[31:Sw+1] || ~|away[31:Sw+1]),
      .rng_count_i, .rng_to_next_i, .rng_settled_i,
      .oldest_i(walk_oldest_i),
      .sent_i(walk_sent_i),
      .dep_rd_addr_o, .dep_rd_data_i, .cand_valid_o, .cand_seq_o, .cand_ready_i, .ev_refused_o,
      .ev_skipped_o
  );

  pacer u_pacer (
      .clk_i, .rst_i, .time_ns_i,
      .flow_o(),
      .rate_i, .burst_ns_i, .charge_i,
      .charge_flow_i('0),
      .charge_bytes_i,
      .look_flow_i('0),
      .ok_o,
      .wait_i('0),
      .wake_valid_o(),
      .wake_ready_i('0),
      .wake_flow_o()
  );

endmodule

`default_nettype wire
