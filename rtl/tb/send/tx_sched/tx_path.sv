// The way out of the sender: window, nack_walker, pacer, tx_sched, slot_table, ring and frame_tx,
// wired as in the sender. The bench writes packets, says REPORTs and takes frames.
`default_nettype none
/* verilator lint_off PINCONNECTEMPTY */

module tx_path #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 64,
    parameter int unsigned SlotBeats = 256,
    parameter logic [31:0] FirstSeq  = '0,
    localparam int unsigned Sw       = $clog2(Slots),
    localparam int unsigned Aw       = $clog2(Slots * SlotBeats)
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire logic                  flush_i,
    input  wire logic           [63:0] time_ns_i,
    input  wire wire_pkg::state_e      state_i,
    input  wire logic           [31:0] stream_tag_i,
    input  wire logic           [31:0] window_i,
    input  wire logic           [31:0] rtt_i,
    input  wire logic           [23:0] rate_i,
    input  wire logic           [19:0] burst_ns_i,
    input  wire net_pkg::peer_t        self_i,
    input  wire net_pkg::peer_t        peer_i,
    input  wire logic                  ring_we_i,
    input  wire logic         [Aw-1:0] ring_waddr_i,
    input  wire logic         [ W-1:0] ring_wdata_i,
    input  wire logic                  slot_we_i,
    input  wire logic         [Sw-1:0] slot_waddr_i,
    input  wire send_pkg::slot_t       slot_wdata_i,
    input  wire logic                  commit_i,
    output      logic                  full_o,
    input  wire logic                  rep_step_i,
    input  wire logic            [2:0] rep_check_i,
    input  wire logic           [31:0] rep_hi_i,
    input  wire logic           [31:0] rep_lo_i,
    input  wire logic                  rep_is_newer_i,
    input  wire logic                  rep_has_ranges_i,
    input  wire logic                  rep_valid_i,
    output      logic                  rep_ok_o,
    input  wire logic                  rng_valid_i,
    input  wire logic           [31:0] rng_first_i,
    input  wire logic           [31:0] rng_count_i,
    input  wire logic                  rng_to_next_i,
    input  wire logic           [31:0] rng_settled_i,
    input  wire logic                  ctl_want_i,
    output      logic                  ctl_grant_o,
    output      logic           [31:0] ctl_departure_o,
    input  wire logic                  ctl_done_i,
    input  wire logic                  ctl_shown_i,
    output      logic                  ctl_hold_o,
    output      logic           [31:0] oldest_o,
    output      logic           [31:0] sent_o,
    output      logic           [31:0] next_o,
    output      logic           [31:0] limit_o,
    output      logic           [31:0] last_departure_o,
    output      logic                  depart_new_o,
    output      logic                  depart_repeat_o,
    output      logic                  ev_refused_o,
    output      logic                  ev_skipped_o,
    output      logic                  ev_budget_o,
    output      logic                  busy_o,
    output      logic        [  W-1:0] m_axis_tdata,
    output      logic        [W/8-1:0] m_axis_tkeep,
    output      logic                  m_axis_tvalid,
    input  wire logic                  m_axis_tready,
    output      logic                  m_axis_tlast
);

  localparam int unsigned RdLatency = 3;

  logic full, hold, has_new;
  logic cand_valid, cand_ready;
  logic [31:0] cand_seq;
  logic [Sw-1:0] slot_addr, dep_waddr, dep_raddr;
  send_pkg::slot_t slot_data;
  logic dep_we;
  logic [31:0] dep_wdata, dep_rdata;
  logic pacer_ok, charge;
  logic [15:0] charge_bytes;
  logic job_valid, job_ready, tx_busy, fetch_busy;
  send_pkg::job_t job;
  logic rd_valid, rd_ready, rsp_valid;
  logic [Aw-1:0] rd_addr;
  logic [W-1:0] rsp_data;

  assign full_o = full || hold;
  assign busy_o = tx_busy || job_valid;

  window #(
      .Slots(Slots),
      .FirstSeq(FirstSeq)
  ) u_window (
      .clk_i, .rst_i, .flush_i, .commit_i,
      .depart_new_i(depart_new_o),
      .rep_step_i,
      .rep_check_i(send_pkg::check_e'(rep_check_i)),
      .rep_hi_i, .rep_lo_i, .rep_is_newer_i, .rep_has_ranges_i,
      .last_departure_i(last_departure_o),
      .rep_valid_i, .rep_ok_o,
      .rep_is_near_o(),
      .oldest_o, .sent_o, .next_o, .limit_o,
      .full_o(full),
      .has_new_o(has_new),
      .is_released_o(),
      .is_sent_o(),
      .credit_came_o()
  );

  // What window says of a range in the sender.
  logic [31:0] away;
  assign away = rng_first_i - oldest_o;

  nack_walker #(
      .Depth(64),
      .Slots(Slots)
  ) u_nack_walker (
      .clk_i, .rst_i, .flush_i, .rng_valid_i,
      .rng_ready_o(),
      .rng_first_i(rng_first_i[Sw+1:0]),
      .rng_is_near_i(&away[31:Sw+1] || ~|away[31:Sw+1]),
      .rng_count_i, .rng_to_next_i, .rng_settled_i,
      .oldest_i(oldest_o),
      .sent_i(sent_o),
      .dep_rd_addr_o(dep_raddr),
      .dep_rd_data_i(dep_rdata),
      .cand_valid_o(cand_valid),
      .cand_seq_o(cand_seq),
      .cand_ready_i(cand_ready),
      .ev_refused_o, .ev_skipped_o
  );

  pacer u_pacer (
      .clk_i, .rst_i, .time_ns_i,
      .flow_o(),
      .rate_i, .burst_ns_i,
      .charge_i(charge),
      .charge_flow_i('0),
      .charge_bytes_i(charge_bytes),
      .look_flow_i('0),
      .ok_o(pacer_ok),
      .wait_i('0),
      .wake_valid_o(),
      .wake_ready_i('0),
      .wake_flow_o()
  );

  tx_sched #(
      .Slots(Slots),
      .SlotBytes(SlotBeats * W / 8)
  ) u_tx_sched (
      .clk_i, .rst_i, .flush_i, .time_ns_i, .state_i, .stream_tag_i, .window_i, .rtt_i,
      .has_new_i(has_new),
      .sent_i(sent_o),
      .next_i(next_o),
      .depart_new_o, .depart_repeat_o,
      .hold_o(hold),
      .cand_valid_i(cand_valid),
      .cand_seq_i(cand_seq),
      .cand_ready_o(cand_ready),
      .slot_addr_o(slot_addr),
      .slot_data_i(slot_data),
      .dep_we_o(dep_we),
      .dep_waddr_o(dep_waddr),
      .dep_wdata_o(dep_wdata),
      .pacer_ok_i(pacer_ok),
      .charge_o(charge),
      .charge_bytes_o(charge_bytes),
      .ctl_want_i, .ctl_grant_o, .ctl_departure_o, .ctl_done_i,
      .ctl_busy_i(1'b0),
      .ctl_shown_i, .ctl_hold_o,
      .job_valid_o(job_valid),
      .job_ready_i(job_ready),
      .job_o(job),
      .fetch_busy_i(fetch_busy),
      .last_departure_o, .ev_budget_o
  );

  slot_table #(
      .Slots(Slots)
  ) u_slot_table (
      .clk_i, .rst_i,
      .we_i(slot_we_i),
      .waddr_i(slot_waddr_i),
      .wdata_i(slot_wdata_i),
      .rd_addr_i(slot_addr),
      .rd_data_o(slot_data),
      .dep_we_i(dep_we),
      .dep_waddr_i(dep_waddr),
      .dep_wdata_i(dep_wdata),
      .dep_rd_addr_i(dep_raddr),
      .dep_rd_data_o(dep_rdata)
  );

  ring #(
      .W(W),
      .Beats(Slots * SlotBeats),
      .RdLatency(RdLatency)
  ) u_ring (
      .clk_i, .rst_i,
      .we_i(ring_we_i),
      .waddr_i(ring_waddr_i),
      .wdata_i(ring_wdata_i),
      .rd_valid_i(rd_valid),
      .rd_ready_o(rd_ready),
      .rd_addr_i(rd_addr),
      .rd_tag_i('0),
      .rd_valid_o(rsp_valid),
      .rd_data_o(rsp_data),
      .rd_tag_o()
  );

  frame_tx #(
      .W(W),
      .RdLatency(RdLatency),
      .Aw(Aw)
  ) u_frame_tx (
      .clk_i, .rst_i, .self_i, .peer_i,
      .job_valid_i(job_valid),
      .job_ready_o(job_ready),
      .job_i(job),
      .rd_valid_o(rd_valid),
      .rd_ready_i(rd_ready),
      .rd_addr_o(rd_addr),
      .rd_valid_i(rsp_valid),
      .rd_data_i(rsp_data),
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast,
      .busy_o(tx_busy),
      .fetch_busy_o(fetch_busy)
  );

endmodule

`default_nettype wire
