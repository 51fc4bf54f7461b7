// Carries one word at a time to another clock: its bits stand still while one bit of its own, which
// changes with each word, crosses to the other side and back.
//
// Throughput: a word in 3 to 4 edges of each clock. Latency: 1 edge of from_clk_i and 2 to 3 of
// to_clk_i. Back-pressure: valid and ready on the near side; ready is low until the far side has
// taken the word before. The far side takes it in the one cycle in which to_valid_o is high.
//
// There is no reset: a word that was taken in arrives, once, whatever is reset meanwhile. The far
// side decides what a word that comes in its reset is worth. When ready rises, what the word changed
// in registers of the far side in its cycle was there for one cycle of to_clk_i.
//
// Clock crossings: the two bits in sync_bits; data_q is read at least two edges of to_clk_i after it
// was written: constrain it with a max_delay of one period of to_clk_i.
`default_nettype none

module word_cdc #(
    parameter int unsigned Width = 64
) (
    input  wire logic             from_clk_i,
    input  wire logic             from_valid_i,
    output logic                  from_ready_o,
    input  wire logic [Width-1:0] from_data_i,

    input  wire logic             to_clk_i,
    output logic                  to_valid_o,
    output logic      [Width-1:0] to_data_o
);

  logic [Width-1:0] data_q;
  logic sent_seen, answer_seen;
  // Values from power-up on: no reset may change them.
  // verilator lint_off PROCASSINIT
  logic sent_q = 1'b0;
  logic taken_q = 1'b0;
  logic answer_q = 1'b0;
  // verilator lint_on PROCASSINIT

  sync_bits i_sync_to (
      .clk_i(to_clk_i),
      .d_i  (sent_q),
      .q_o  (sent_seen)
  );

  sync_bits i_sync_from (
      .clk_i(from_clk_i),
      .d_i  (answer_q),
      .q_o  (answer_seen)
  );

  assign from_ready_o = sent_q == answer_seen;

  always_ff @(posedge from_clk_i) begin
    if (from_valid_i && from_ready_o) begin
      data_q <= from_data_i;
      sent_q <= !sent_q;
    end
  end

  assign to_valid_o = sent_seen != taken_q;
  assign to_data_o  = data_q;

  // The answer follows a cycle later: a level that crosses beside it is never behind it.
  always_ff @(posedge to_clk_i) begin
    taken_q  <= sent_seen;
    answer_q <= taken_q;
  end

`ifdef FORMAL
  `include "word_cdc_props.svh"
`endif

endmodule

`default_nettype wire
