// A keyed function of 128 bits of input to 64 bits: cookies (docs/protocol.md#3.2) and tags (#1.6).
//
// CBC-MAC of SPECK-64/128 (Beaulieu et al. 2013; 27 rounds) over exactly two blocks. CBC-MAC of a
// block cipher is a pseudo-random function for messages of one fixed length, and every message here
// has two blocks; its bound is the birthday of 64 bits, 2^32 values under one key, of which an
// epoch of 8 s at 10 Gb/s could draw 2^24. It is not linear, so known cookies say nothing of
// others. A cookie of 128 bits is two values whose second blocks differ in a field of their own.
//
// Throughput: one value in 56 cycles. Latency: start_i to done_o 55 cycles; value_o then holds
// until the next start. block_i is taken with start_i, and the second one with second_o.
// Back-pressure: none; a start while busy is not allowed. Does not: keep the key, choose the
// blocks, compare. One clock.
`default_nettype none

module cookie (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [127:0] secret_i,
  input  logic         start_i,
  output logic         second_o,
  input  logic [63:0]  block_i,
  output logic         done_o,
  output logic [63:0]  value_o
);

  localparam logic [4:0] RoundLast = 5'd26;

  logic [31:0] x_q, y_q, k_q, l0_q, l1_q, l2_q;
  logic [4:0]  round_q;
  logic        busy_q, is_second_q, done_q;

  logic [31:0] x_round, y_round, l_round, k_round;
  logic        is_load, is_round_last;

  assign is_round_last = busy_q && round_q == RoundLast;
  assign second_o      = is_round_last && !is_second_q;
  assign is_load       = start_i || second_o;

  assign x_round = ({x_q[7:0], x_q[31:8]} + y_q) ^ k_q;
  assign y_round = {y_q[28:0], y_q[31:29]} ^ x_round;
  assign l_round = ({l0_q[7:0], l0_q[31:8]} + k_q) ^ {27'd0, round_q};
  assign k_round = {k_q[28:0], k_q[31:29]} ^ l_round;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      {x_q, y_q} <= block_i;
    end else if (second_o) begin
      {x_q, y_q} <= {x_round, y_round} ^ block_i;
    end else if (busy_q) begin
      {x_q, y_q} <= {x_round, y_round};
    end
    if (is_load || busy_q) begin
      {l2_q, l1_q, l0_q, k_q} <= is_load ? secret_i : {l_round, l2_q, l1_q, k_round};
      round_q <= is_load ? 5'd0 : round_q + 5'd1;
    end
    if (is_load) is_second_q <= !start_i;
    done_q <= is_round_last && is_second_q && !start_i;
    if (rst_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (is_round_last && is_second_q) busy_q <= 1'b0;
    if (rst_i) done_q <= 1'b0;
  end

  assign done_o  = done_q;
  assign value_o = {x_q, y_q};

endmodule

`default_nettype wire
