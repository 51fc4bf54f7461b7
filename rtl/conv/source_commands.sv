// The commands of a converter's gate and index: holds what is armed, on the converter's clock, and
// reports to the core what is.
//
// Gate and sync are independent; of each the last command counts:
// - gate_open_i arms the gate with index_i and count_i. It stays armed until the adapter opens it
//   (opens_i), another gate_open_i replaces it, or gate_close_i cancels it.
// - gate_close_i cancels an armed gate and closes an open one (close_o, one cycle). With
//   gate_open_i in the same cycle it comes first.
// - sync_set_i and sync_latch_i arm the index for the next edge (edge_i); each replaces what was
//   armed, sync_set_i before sync_latch_i. sync_cancel_i disarms, before both.
// index_i and count_i are taken with the command. A command never waits for one of the other kind.
//
// gate_armed_o and sync_armed_o rise in the cycle after the command and fall when the converter's
// side has opened, used or cancelled what was armed; sync_armed_o falls 4 cycles later, when the
// index that the edge gave has crossed.
//
// Latency of a command: 2 cycles of clk_i and 3 to 4 of adc_clk_i, and longer behind one of its own
// kind that still crosses; commands that wait there are joined to one. Back-pressure: none. While
// adc_clk_i stands, the last commands wait and read as armed.
//
// rst_i forgets what has not begun to cross; it leaves the converter's side as it is. adc_rst_i
// disarms. Clock crossings: word_cdc (commands), sync_bits (what is armed).
`default_nettype none

module source_commands (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic        gate_open_i,
    input wire logic        gate_close_i,
    input wire logic        sync_set_i,
    input wire logic        sync_latch_i,
    input wire logic        sync_cancel_i,
    input wire logic [63:0] index_i,
    input wire logic [63:0] count_i,

    output logic gate_armed_o,
    output logic sync_armed_o,

    input wire logic adc_clk_i,
    input wire logic adc_rst_i,

    output logic           gate_o,   // armed
    output logic    [63:0] gate_index_o,
    output logic    [63:0] gate_count_o,
    output logic           close_o,  // gate_o is not to be opened in this cycle
    input wire logic       opens_i,

    output logic           set_o,    // armed
    output logic           latch_o,
    output logic    [63:0] sync_index_o,
    input wire logic       edge_i
);

  // Until sync_index of an edge has come through async_fifo.
  localparam int unsigned LatchCycles = 4;

  // ------------------------------------------------------------------ gate, core's side
  logic open_wait_q, close_wait_q;  // what is to cross next: a close, then an open
  logic [63:0] index_wait_q, count_wait_q;
  logic gate_ready, open_sent_q;
  logic gate_comes, comes_open, comes_close;
  logic [63:0] comes_index, comes_count;

  always_ff @(posedge clk_i) begin
    if (gate_ready) begin
      open_wait_q  <= 1'b0;
      close_wait_q <= 1'b0;
      open_sent_q  <= open_wait_q;
    end
    if (gate_close_i) begin
      open_wait_q  <= 1'b0;
      close_wait_q <= 1'b1;
    end
    if (gate_open_i) begin
      open_wait_q  <= 1'b1;
      index_wait_q <= index_i;
      count_wait_q <= count_i;
    end
    if (rst_i) begin
      open_wait_q  <= 1'b0;
      close_wait_q <= 1'b0;
    end
  end

  word_cdc #(
      .Width(130)
  ) i_gate (
      .from_clk_i  (clk_i),
      .from_valid_i(open_wait_q || close_wait_q),
      .from_ready_o(gate_ready),
      .from_data_i ({close_wait_q, open_wait_q, index_wait_q, count_wait_q}),
      .to_clk_i    (adc_clk_i),
      .to_valid_o  (gate_comes),
      .to_data_o   ({comes_close, comes_open, comes_index, comes_count})
  );

  // ------------------------------------------------------------------ sync, core's side
  logic sync_wait_q, set_wait_q, latch_wait_q;
  logic [63:0] set_index_q;
  logic sync_ready, sync_sent_q;
  logic sync_comes, comes_set, comes_latch;
  logic [63:0] comes_set_index;

  always_ff @(posedge clk_i) begin
    if (sync_ready) begin
      sync_wait_q <= 1'b0;
      sync_sent_q <= sync_wait_q && (set_wait_q || latch_wait_q);
    end
    if (sync_set_i || sync_latch_i || sync_cancel_i) begin
      sync_wait_q  <= 1'b1;
      set_wait_q   <= sync_set_i;
      latch_wait_q <= sync_latch_i && !sync_set_i;
      set_index_q  <= index_i;
    end
    if (rst_i) sync_wait_q <= 1'b0;
  end

  word_cdc #(
      .Width(66)
  ) i_sync (
      .from_clk_i  (clk_i),
      .from_valid_i(sync_wait_q),
      .from_ready_o(sync_ready),
      .from_data_i ({set_wait_q, latch_wait_q, set_index_q}),
      .to_clk_i    (adc_clk_i),
      .to_valid_o  (sync_comes),
      .to_data_o   ({comes_set, comes_latch, comes_set_index})
  );

  // ------------------------------------------------------------------ converter's side
  logic gate_q, set_q, latch_q, sync_armed_q;

  // A close acts before what opens in its cycle, an open behind it.
  assign close_o = gate_comes && comes_close;

  always_ff @(posedge adc_clk_i) begin
    if (opens_i) gate_q <= 1'b0;
    if (gate_comes) gate_q <= comes_open;
    if (gate_comes && comes_open) begin
      gate_index_o <= comes_index;
      gate_count_o <= comes_count;
    end
    if (edge_i) begin
      set_q        <= 1'b0;
      latch_q      <= 1'b0;
      sync_armed_q <= 1'b0;
    end
    if (sync_comes) begin
      set_q        <= comes_set;
      latch_q      <= comes_latch;
      sync_armed_q <= comes_set || comes_latch;
      sync_index_o <= comes_set_index;
    end
    if (adc_rst_i) begin
      gate_q       <= 1'b0;
      set_q        <= 1'b0;
      latch_q      <= 1'b0;
      sync_armed_q <= 1'b0;
    end
  end

  assign gate_o  = gate_q;
  assign set_o   = set_q;
  assign latch_o = latch_q;

  // ------------------------------------------------------------------ what is armed
  logic gate_seen, sync_seen;
  logic [LatchCycles-1:0] sync_late_q;

  sync_bits #(
      .Width(2)
  ) i_armed (
      .clk_i(clk_i),
      .d_i  ({gate_q, sync_armed_q}),
      .q_o  ({gate_seen, sync_seen})
  );

  logic sync_now;
  assign sync_now = (sync_wait_q && (set_wait_q || latch_wait_q)) || (!sync_ready && sync_sent_q) ||
      sync_seen;

  always_ff @(posedge clk_i) begin
    if (rst_i) sync_late_q <= '0;
    else sync_late_q <= {sync_late_q[LatchCycles-2:0], sync_now};
  end

  assign gate_armed_o = open_wait_q || (!gate_ready && open_sent_q) || gate_seen;
  assign sync_armed_o = sync_now || sync_late_q != '0;

endmodule

`default_nettype wire
