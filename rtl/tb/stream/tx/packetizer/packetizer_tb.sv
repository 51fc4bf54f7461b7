// packetizer with the memories it writes, fed by the testbench or by test_source.
`default_nettype none

module packetizer_tb #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 8,
    parameter int unsigned SlotBytes = 192,
    parameter int unsigned RdLatency = 3,
    localparam int unsigned Sw       = $clog2(Slots),
    localparam int unsigned Beats    = Slots * SlotBytes / (W / 8),
    localparam int unsigned Aw       = $clog2(Beats)
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic flush_i,
    input wire logic run_i,
    input wire logic stop_i,
    input wire logic [15:0] payload_bytes_i,
    input wire logic [Sw:0] oldest_i,
    input wire logic [Sw:0] next_i,
    input wire logic hold_i,
    output logic [Sw-1:0] claimed_o,

    input  wire logic         use_source_i,
    input  wire logic         kind_i,
    input  wire logic         stall_ok_i,
    input  wire logic [  2:0] sample_log2_i,
    input  wire logic [ 31:0] rate_i,
    input  wire logic [ 31:0] slack_beats_i,
    input  wire logic [ 63:0] time_ns_i,

    input  wire logic         s_valid,
    output logic              s_ready,
    input  wire logic [W-1:0] s_data,
    input  wire logic [ 63:0] s_index,
    input  wire logic [  7:0] s_count,
    input  wire logic         s_start,
    input  wire logic         s_overflow,
    input  wire logic         s_last,
    input  wire logic         s_whole,

    output logic          ring_we_o,
    output logic [Aw-1:0] ring_waddr_o,
    output logic          commit_o,
    output logic [Sw-1:0] slot_o,
    output logic          busy_o,
    output logic [  63:0] index_o,
    output logic [  63:0] lost_o,
    output logic          ev_overflow_o,
    output logic [  31:0] ev_lost_count_o,

    input  wire logic          rd_valid_i,
    input  wire logic [Aw-1:0] rd_addr_i,
    input  wire logic [   7:0] rd_tag_i,
    output logic               rd_valid_o,
    output logic      [ W-1:0] rd_data_o,
    output logic      [   7:0] rd_tag_o,

    input  wire logic          [Sw-1:0] slot_addr_i,
    output logic               [  63:0] slot_index_o,
    output logic               [  15:0] slot_len_o,
    output logic               [   7:0] slot_flags_o,
    output logic               [  31:0] slot_crc_o,
    output logic               [  31:0] slot_shift_o,
    output logic               [  15:0] slot_sum_o,

    input  wire logic          dep_we_i,
    input  wire logic [Sw-1:0] dep_addr_i,
    input  wire logic [  31:0] dep_wdata_i,
    output logic      [  31:0] dep_rdata_o
);

  logic t_valid, t_start, t_overflow, t_last, t_whole, ready;
  logic [W-1:0] t_data;
  logic [63:0] t_index;
  logic [7:0] t_count;

  test_source #(
      .W(W)
  ) i_source (
      .clk_i,
      .rst_i,
      .enable_i  (use_source_i),
      .kind_i,
      .stall_ok_i,
      .sample_log2_i,
      .rate_i,
      .slack_beats_i,
      .time_ns_i,
      .s_valid   (t_valid),
      .s_ready   (use_source_i && ready),
      .s_data    (t_data),
      .s_index   (t_index),
      .s_count   (t_count),
      .s_start   (t_start),
      .s_overflow(t_overflow),
      .s_last    (t_last),
      .s_whole   (t_whole)
  );

  logic ring_we, ring_ready, slot_we;
  logic [Aw-1:0] ring_waddr;
  logic [W-1:0] ring_wdata;
  logic [Sw-1:0] slot_waddr;
  send_pkg::slot_t slot_wdata, slot_rdata;

  packetizer #(
      .W        (W),
      .Slots    (Slots),
      .SlotBytes(SlotBytes)
  ) i_packetizer (
      .clk_i,
      .rst_i,
      .flush_i,
      .run_i,
      .stop_i,
      .payload_bytes_i,
      .oldest_i,
      .next_i,
      .hold_i,
      .slot_o      (claimed_o),
      .s_valid     (use_source_i ? t_valid : s_valid),
      .s_ready     (ready),
      .s_data      (use_source_i ? t_data : s_data),
      .s_index     (use_source_i ? t_index : s_index),
      .s_count     (use_source_i ? t_count : s_count),
      .s_start     (use_source_i ? t_start : s_start),
      .s_overflow  (use_source_i ? t_overflow : s_overflow),
      .s_last      (use_source_i ? t_last : s_last),
      .s_whole     (use_source_i ? t_whole : s_whole),
      .ring_we_o   (ring_we),
      .ring_waddr_o(ring_waddr),
      .ring_wdata_o(ring_wdata),
      .slot_we_o   (slot_we),
      .slot_waddr_o(slot_waddr),
      .slot_wdata_o(slot_wdata),
      .commit_o,
      .busy_o,
      .index_o,
      .lost_o,
      .ev_overflow_o,
      .ev_lost_count_o
  );

  assign s_ready = !use_source_i && ready;
  assign ring_we_o = ring_we;
  assign ring_waddr_o = ring_waddr;
  assign slot_o = slot_waddr;

  ring #(
      .W        (W),
      .Beats    (Beats),
      .RdLatency(RdLatency),
      .TagW     (8),
      .Style    ("block")
  ) i_ring (
      .clk_i,
      .rst_i,
      .we_i      (ring_we),
      .waddr_i   (ring_waddr),
      .wdata_i   (ring_wdata),
      .rd_valid_i,
      .rd_ready_o(ring_ready),
      .rd_addr_i,
      .rd_tag_i,
      .rd_valid_o,
      .rd_data_o,
      .rd_tag_o
  );

  slot_table #(
      .Slots(Slots)
  ) i_slots (
      .clk_i,
      .rst_i,
      .we_i         (slot_we),
      .waddr_i      (slot_waddr),
      .wdata_i      (slot_wdata),
      .rd_addr_i    (slot_addr_i),
      .rd_data_o    (slot_rdata),
      .dep_we_i,
      .dep_waddr_i  (dep_addr_i),
      .dep_wdata_i,
      .dep_rd_addr_i(dep_addr_i),
      .dep_rd_data_o(dep_rdata_o)
  );

  assign slot_index_o = slot_rdata.index;
  assign slot_len_o = slot_rdata.len_bytes;
  assign slot_flags_o = slot_rdata.flags;
  assign slot_crc_o = slot_rdata.crc;
  assign slot_shift_o = slot_rdata.shift;
  assign slot_sum_o = slot_rdata.sum;

endmodule

`default_nettype wire
