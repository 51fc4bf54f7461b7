// FIFO of whole frames between two clocks: a frame is offered once all of it is in.
//
// What crosses is a count of frames and the read pointer, each in Gray code, each moving by one; a
// pointer that jumped by a frame would not be safe in Gray code. With Lossy a beat that finds no
// room dooms its frame, which is dropped whole; so is a frame with wr_bad_i on its last beat.
// Without, wr_ready_o holds the writer back; a frame longer than Depth words is dropped whole once
// it has filled them all: 2 cycles later its next beat is taken.
//
// A beat a clock on each side, none idle between frames or inside one. Latency from the last beat
// in to the first out: 1 edge of wr_clk_i and 3 to 4 of rd_clk_i.
//
// Reset: either reset, of one cycle of its clock or more, stops both sides and empties the FIFO
// (reset_ctrl). The reader's own reset cuts the frame that is leaving; at one of the writer's that
// frame leaves whole before the reader stops. The writer drops frames as frame_gate
// says; ev_no_room_o counts those that end outside its own reset.
//
// Clock crossings: the two Gray counts in sync_bits, and reset_ctrl.
`default_nettype none

module frame_cdc #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,  // words, a power of two
    parameter bit          Lossy = 1'b1
) (
    input  wire logic             wr_clk_i,
    input  wire logic             wr_rst_i,
    input  wire logic             wr_valid_i,
    output      logic             wr_ready_o,
    input  wire logic [Width-1:0] wr_data_i,
    input  wire logic             wr_last_i,
    input  wire logic             wr_bad_i,       // with wr_last_i
    output      logic             ev_bad_o,       // of wr_clk_i, as is the next
    output      logic             ev_no_room_o,

    input  wire logic             rd_clk_i,
    input  wire logic             rd_rst_i,
    output      logic             rd_valid_o,
    input  wire logic             rd_ready_i,
    output      logic [Width-1:0] rd_data_o,
    output      logic             rd_last_o
);

  localparam int unsigned Aw = $clog2(Depth);

  if (Depth < 8 || Depth != 1 << Aw) begin : g_bad_depth
    $error("Depth must be a power of two, 8 at least");
  end

  (* ram_style = "block" *)logic [Width:0] mem[Depth];

  logic [Aw:0] wr_q, kept_q, frames_q, frames_gray_q, frames_d;
  logic [Aw:0] rd_q, rd_gray_q, rd_d;
  logic [Aw:0] frames_seen, rd_gray_seen;
  logic wr_stop, wr_clear, rd_asked, rd_stop, rd_clear, valid_q;

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
      .d_i  (frames_gray_q),
      .q_o  (frames_seen)
  );

  // The reader has beats of one frame only once it is asked: it stops behind the last of them.
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
      .b_busy_i (valid_q),
      .b_asked_o(rd_asked),
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

  // Writing. The read pointer as a number costs a row of exclusive ors; it is registered.
  logic [Aw:0] rd_bin_d, rd_bin_q;
  always_comb begin
    rd_bin_d = rd_gray_seen;
    for (int s = 1; s <= int'(Aw); s = s * 2) rd_bin_d = rd_bin_d ^ (rd_bin_d >> s);
  end

  logic full, filled, take, write, drop, ends, keep;
  assign full = (wr_q - rd_bin_q) == (Aw + 1)'(Depth);
  // A frame that is longer than the FIFO waits for room that only its own end could make.
  assign filled = (wr_q - kept_q) == (Aw + 1)'(Depth);
  assign wr_ready_o = drop ? !wr_rst_i : !wr_stop && !full;
  assign take = wr_valid_i && (Lossy || wr_ready_o);
  assign write = wr_valid_i && !drop && !wr_stop && !full;
  assign ends = take && wr_last_i;
  assign keep = ends && write && !wr_bad_i;
  assign frames_d = frames_q + 1'b1;
  assign ev_bad_o = ends && wr_bad_i && !wr_rst_i;
  assign ev_no_room_o = ends && !wr_bad_i && !keep && !wr_rst_i;

`ifdef FORMAL
  logic f_open, f_doubt;
`endif

  frame_gate i_gate (
      .clk_i  (wr_clk_i),
      .rst_i  (wr_rst_i),
      .stop_i (wr_stop),
      .tear_i (wr_valid_i && (Lossy ? full : filled)),
      .valid_i(wr_valid_i),
      .take_i (take),
      .last_i (wr_last_i),
      .drop_o (drop)
`ifdef FORMAL
      ,
      .f_open_o(f_open),
      .f_doubt_o(f_doubt)
`endif
  );

  always_ff @(posedge wr_clk_i) begin
    if (wr_clear) begin
      wr_q          <= '0;
      kept_q        <= '0;
      frames_q      <= '0;
      frames_gray_q <= '0;
      rd_bin_q      <= '0;
    end else begin
      rd_bin_q <= rd_bin_d;
      if (keep) begin
        wr_q          <= wr_q + 1'b1;
        kept_q        <= wr_q + 1'b1;
        frames_q      <= frames_d;
        frames_gray_q <= frames_d ^ (frames_d >> 1);
      end else if (ends) begin
        wr_q <= kept_q;
      end else if (write) begin
        wr_q <= wr_q + 1'b1;
      end
    end
  end

  always_ff @(posedge wr_clk_i) begin
    if (write) mem[wr_q[Aw-1:0]] <= {wr_last_i, wr_data_i};
  end

  // Reading.
  logic fetch;
  logic [Width:0] out_q;
  logic [Aw:0] taken_q, taken_d, ahead;  // frames
  assign rd_d    = rd_q + 1'b1;
  assign taken_d = taken_q + (Aw + 1)'(valid_q && out_q[Width]);
  assign ahead   = taken_d ^ (taken_d >> 1);
  assign fetch   = !rd_stop && !(rd_asked && (!valid_q || out_q[Width])) &&
      ahead != frames_seen && (!valid_q || rd_ready_i);

  always_ff @(posedge rd_clk_i) begin
    if (rd_clear) begin
      rd_q      <= '0;
      rd_gray_q <= '0;
      taken_q   <= '0;
    end else begin
      if (fetch) begin
        rd_q      <= rd_d;
        rd_gray_q <= rd_d ^ (rd_d >> 1);
      end
      if (valid_q && rd_ready_i) taken_q <= taken_d;
    end
    if (rd_stop) valid_q <= 1'b0;
    else if (fetch) valid_q <= 1'b1;
    else if (rd_ready_i) valid_q <= 1'b0;
  end

  always_ff @(posedge rd_clk_i) begin
    if (fetch) out_q <= mem[rd_q[Aw-1:0]];
  end

  assign rd_valid_o = valid_q;
  assign rd_data_o  = out_q[Width-1:0];
  assign rd_last_o  = out_q[Width];

`ifdef FORMAL
  `include "frame_cdc_props.svh"
`endif

endmodule

`default_nettype wire
