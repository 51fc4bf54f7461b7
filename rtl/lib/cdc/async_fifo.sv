// FIFO between two clocks: Gray pointers through two-flop synchronisers, storage written on one
// side and read into a register on the other.
//
// Throughput: one word a clock on each side; it fills at the rate that is faster. Latency: a word
// written to an empty FIFO is at rd_data_o after 1 edge of wr_clk_i and 3 to 4 of rd_clk_i; a word
// taken makes room after 1 edge of rd_clk_i and 2 to 3 of wr_clk_i. Holds Depth words, and one more
// in the output register.
//
// Back-pressure: valid and ready as in AXI-Stream on both sides. Nothing is ever dropped or
// overwritten: a writer that cannot wait must check wr_ready_o and count its losses.
//
// Reset: either reset, of one cycle of its clock or more, stops both sides and empties the FIFO
// (reset_ctrl). wr_stop_o and rd_stop_o are high while their side stands: nothing is taken in, and
// rd_valid_o falls, also for a word that was offered. What comes out after rd_stop_o was written
// after wr_stop_o.
//
// Clock crossings: the two Gray pointers in sync_bits, and reset_ctrl; constrain the pointers with a
// max_delay of one period of the faster clock (bus skew). Storage is read only at addresses that
// were written at least two edges of rd_clk_i before.
`default_nettype none

module async_fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 16,       // words, a power of two
    parameter              Style = "auto"    // ram_style of the storage
) (
    input  wire logic             wr_clk_i,
    input  wire logic             wr_rst_i,
    output logic                  wr_stop_o,
    input  wire logic             wr_valid_i,
    output logic                  wr_ready_o,
    input  wire logic [Width-1:0] wr_data_i,

    input  wire logic             rd_clk_i,
    input  wire logic             rd_rst_i,
    output logic                  rd_stop_o,
    output logic                  rd_valid_o,
    input  wire logic             rd_ready_i,
    output logic      [Width-1:0] rd_data_o
);

  localparam int unsigned Aw = $clog2(Depth);

  generate
    if (Depth < 4 || Depth != (1 << Aw)) begin : g_bad_depth
      $error("Depth must be a power of two, 4 at least");
    end
  endgenerate

  (* ram_style = Style *) logic [Width-1:0] mem[Depth];

  // One bit more than an address: equal is empty, equal but for the two highest Gray bits is full.
  logic [Aw:0] wr_bin_q, wr_gray_q, wr_bin_d;
  logic [Aw:0] rd_bin_q, rd_gray_q, rd_bin_d;
  logic [Aw:0] wr_gray_seen, rd_gray_seen;
  logic wr_stop, wr_clear, rd_stop, rd_clear;

  sync_bits #(
      .Width(Aw + 1)
  ) i_sync_to_wr (
      .clk_i(wr_clk_i),
      .d_i  (rd_gray_q),
      .q_o  (rd_gray_seen)
  );

  sync_bits #(
      .Width(Aw + 1)
  ) i_sync_to_rd (
      .clk_i(rd_clk_i),
      .d_i  (wr_gray_q),
      .q_o  (wr_gray_seen)
  );

`ifdef FORMAL
  logic f_wr_run, f_rd_run, f_wr_clear, f_rd_clear;
  logic [2:0] f_wr_same, f_wr_next, f_rd_same, f_rd_next;
`endif

  reset_ctrl i_reset (
      .a_clk_i  (wr_clk_i),
      .a_rst_i  (wr_rst_i),
      .a_busy_i (1'b0),
      .a_asked_o(),
      .a_stop_o (wr_stop),
      .a_clear_o(wr_clear),
      .b_clk_i  (rd_clk_i),
      .b_rst_i  (rd_rst_i),
      .b_busy_i (1'b0),
      .b_asked_o(),
      .b_stop_o (rd_stop),
      .b_clear_o(rd_clear)
`ifdef FORMAL
      ,
      .f_a_run_o (f_wr_run),
      .f_b_run_o (f_rd_run),
      .f_a_clear_o(f_wr_clear),
      .f_b_clear_o(f_rd_clear),
      .f_a_same_o(f_wr_same),
      .f_a_next_o(f_wr_next),
      .f_b_same_o(f_rd_same),
      .f_b_next_o(f_rd_next)
`endif
  );

  logic wr_take, rd_take;

  assign wr_stop_o  = wr_stop;
  assign wr_ready_o = !wr_stop && wr_gray_q != {~rd_gray_seen[Aw:Aw-1], rd_gray_seen[Aw-2:0]};
  assign wr_take    = wr_valid_i && wr_ready_o;
  assign wr_bin_d   = wr_bin_q + 1'b1;

  always_ff @(posedge wr_clk_i) begin
    if (wr_clear) begin
      wr_bin_q  <= '0;
      wr_gray_q <= '0;
    end else if (wr_take) begin
      wr_bin_q  <= wr_bin_d;
      wr_gray_q <= wr_bin_d ^ (wr_bin_d >> 1);
    end
  end

  always_ff @(posedge wr_clk_i) begin
    if (wr_take) mem[wr_bin_q[Aw-1:0]] <= wr_data_i;
  end

  logic             rd_valid_q;
  logic [Width-1:0] rd_data_q;

  assign rd_stop_o = rd_stop;
  assign rd_take   = !rd_stop && rd_gray_q != wr_gray_seen && (!rd_valid_q || rd_ready_i);
  assign rd_bin_d  = rd_bin_q + 1'b1;

  always_ff @(posedge rd_clk_i) begin
    if (rd_clear) begin
      rd_bin_q  <= '0;
      rd_gray_q <= '0;
    end else if (rd_take) begin
      rd_bin_q  <= rd_bin_d;
      rd_gray_q <= rd_bin_d ^ (rd_bin_d >> 1);
    end
    if (rd_stop) rd_valid_q <= 1'b0;
    else if (rd_take) rd_valid_q <= 1'b1;
    else if (rd_ready_i) rd_valid_q <= 1'b0;
  end

  always_ff @(posedge rd_clk_i) begin
    if (rd_take) rd_data_q <= mem[rd_bin_q[Aw-1:0]];
  end

  assign rd_valid_o = rd_valid_q;
  assign rd_data_o  = rd_data_q;

`ifdef FORMAL
  `include "async_fifo_props.svh"
`endif

endmodule

`default_nettype wire
