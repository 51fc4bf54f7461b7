// FIFO of frames between two clocks that offers a frame before all of it is in, and ends a frame
// whose rest does not come.
//
// A frame is offered once two beats of it are here, or its only one. Inside a frame rd_valid_o has
// no gap. When the next beat is late, the last one has wr_bad_i, or the writer is reset, closing beats
// follow until MinBeats have left, one at least: the last has rd_last_o and rd_bad_o, their data are
// those of the beat before. A bad frame of one beat is dropped. The rest of a late frame is dropped,
// and the next frame leaves whole.
//
// So the writer must give a frame without gaps, and its clock may not be slower, or frames are lost:
// the second beat may have come just in time. With Slack a frame is offered a cycle later, which is
// enough for a clock that is slower by a beat in a frame.
//
// A beat a clock on each side; with Slack a cycle is idle between frames that wait. Latency 1 edge of
// wr_clk_i and 5 to 6 of rd_clk_i, and a cycle more for the second beat, and with Slack one more.
// wr_ready_o holds the writer back.
//
// Reset: either reset, of one cycle of its clock or more, stops both sides and empties the FIFO
// (reset_ctrl). The writer drops frames as frame_gate says. The reader's own reset ends a frame
// without a mark: who reads is in reset too. Clock crossings: async_fifo.
`default_nettype none

module cut_through_cdc #(
    parameter int unsigned Width    = 64,
    parameter int unsigned Depth    = 512,  // words, a power of two
    parameter int unsigned MinBeats = 8,    // of a frame that is ended early
    parameter bit          Slack    = 1'b0
) (
    input  wire logic             wr_clk_i,
    input  wire logic             wr_rst_i,
    input  wire logic             wr_valid_i,
    output logic                  wr_ready_o,
    input  wire logic [Width-1:0] wr_data_i,
    input  wire logic             wr_last_i,
    input  wire logic             wr_bad_i,    // with wr_last_i

    input  wire logic             rd_clk_i,
    input  wire logic             rd_rst_i,
    output logic                  rd_valid_o,
    input  wire logic             rd_ready_i,
    output logic      [Width-1:0] rd_data_o,
    output logic                  rd_last_o,
    output logic                  rd_bad_o,
    output logic                  ev_cut_o    // of rd_clk_i
);

  localparam int unsigned Bw = $clog2(MinBeats + 1);

  if (MinBeats < 1) begin : g_bad_beats
    $error("the beat that ends a frame is one of MinBeats");
  end

  logic wr_stop, wr_drop, fifo_ready;
  logic rd_stop, fifo_valid, fifo_take, fifo_last, fifo_bad;
  logic [Width-1:0] fifo_data;

  frame_gate i_gate (
      .clk_i  (wr_clk_i),
      .rst_i  (wr_rst_i),
      .stop_i (wr_stop),
      .tear_i (1'b0),
      .valid_i(wr_valid_i),
      .take_i (wr_valid_i && wr_ready_o),
      .last_i (wr_last_i),
      .drop_o (wr_drop)
  );

  assign wr_ready_o = wr_drop ? !wr_rst_i : fifo_ready;

  async_fifo #(
      .Width(Width + 2),
      .Depth(Depth),
      .Style("block")
  ) i_fifo (
      .wr_clk_i  (wr_clk_i),
      .wr_rst_i  (wr_rst_i),
      .wr_stop_o (wr_stop),
      .wr_valid_i(wr_valid_i && !wr_drop),
      .wr_ready_o(fifo_ready),
      .wr_data_i ({wr_bad_i && wr_last_i, wr_last_i, wr_data_i}),
      .rd_clk_i  (rd_clk_i),
      .rd_rst_i  (rd_rst_i),
      .rd_stop_o (rd_stop),
      .rd_valid_o(fifo_valid),
      .rd_ready_i(fifo_take),
      .rd_data_o ({fifo_bad, fifo_last, fifo_data})
  );

  // A beat in hand, and one behind it before a frame begins: the slack of the two clocks.
  logic held_q, last_q;
  logic near_q;   // the one behind it was there in the cycle before; for Slack
  logic begun_q;  // a beat of the frame was shown, its last one was not taken
  logic cut_q;    // the writer's side stopped since: what the FIFO has is of later frames
  logic skip_q;   // the FIFO has the rest of a frame that was late
  logic [Width-1:0] data_q;
  logic [Bw-1:0] beats_q;
  logic closing, has_min, next_valid, sent, late, lone_bad;

  assign next_valid = fifo_valid && !rd_stop;
  assign closing    = begun_q && !held_q;
  assign has_min    = 32'(beats_q) + 1 >= MinBeats;
  assign rd_valid_o = closing ||
      (held_q && (begun_q || last_q || (next_valid && (near_q || !Slack))));
  assign rd_data_o  = data_q;
  assign rd_last_o  = closing ? has_min : last_q;
  assign rd_bad_o   = closing && has_min;
  assign sent       = rd_valid_o && rd_ready_i;
  assign lone_bad   = fifo_take && next_valid && fifo_bad && !skip_q &&
      (sent ? rd_last_o : !begun_q);
  assign ev_cut_o   = (sent && rd_bad_o) || lone_bad;
  assign late       = sent && held_q && !last_q && !next_valid;
  assign fifo_take  = !closing && !cut_q && (skip_q || !held_q || sent);

  always_ff @(posedge rd_clk_i) begin
    if (rd_rst_i) begin
      held_q  <= 1'b0;
      near_q  <= 1'b0;
      begun_q <= 1'b0;
      cut_q   <= 1'b0;
      skip_q  <= 1'b0;
      beats_q <= '0;
    end else begin
      near_q <= held_q && !sent && next_valid;
      // The closing beats end what is bad.
      if (fifo_take) held_q <= next_valid && !skip_q && !fifo_bad;
      else if (sent || (rd_stop && !rd_valid_o)) held_q <= 1'b0;
      // Once shown it stays shown.
      if (rd_valid_o) begun_q <= !(sent && rd_last_o);
      cut_q <= (rd_stop || cut_q) && rd_valid_o && !(sent && rd_last_o);
      if (rd_stop || cut_q) skip_q <= 1'b0;
      else if (late) skip_q <= 1'b1;
      else if (fifo_take && next_valid && fifo_last) skip_q <= 1'b0;
      if (sent) beats_q <= rd_last_o ? '0 : has_min ? beats_q : beats_q + 1'b1;
    end
  end

  always_ff @(posedge rd_clk_i) begin
    if (fifo_take && next_valid && !skip_q && !fifo_bad) {last_q, data_q} <= {fifo_last, fifo_data};
  end

`ifdef FORMAL
  initial begin
    held_q  = 1'b0;
    near_q  = 1'b0;
    begun_q = 1'b0;
    cut_q   = 1'b0;
    skip_q  = 1'b0;
    beats_q = '0;
  end
  // The words of its own proof, not those of a proof around it.
  if (Width == 4) begin : g_props
    `include "cut_through_cdc_props.svh"
  end
`endif

endmodule

`default_nettype wire
