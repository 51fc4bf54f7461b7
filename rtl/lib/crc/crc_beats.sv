// CRC, x^(8 len) and ones' complement sum of a payload of whole beats, begun at zero.
//
// With them the CRC and the UDP checksum of a packet are joined from those of its header at each
// departure (docs/protocol.md#2.5), so that a repeat reads no payload before it leaves.
//
// Throughput: one beat a clock. Latency: the values of a payload stand at the outputs 2 cycles
// after its last beat was given, and change with the next beat. No back-pressure. Partial beats are
// not for it: the payload's granularity is the beat. No clock crossing.
//
// The CRC register is linear in its old value and the beat. At 64 bits both go through one matrix
// in one cycle; wider beats are multiplied in a stage of their own, and only the 32 by 32 matrix
// of the old value remains in the loop. The powers of x are looked up by the count of beats.
`default_nettype none

module crc_beats #(
    parameter int unsigned W        = 64,
    parameter int unsigned BytesMax = 16384,  // of a payload
    parameter logic [31:0] Poly     = crc_pkg::Crc32cPoly
) (
    input wire logic clk_i,

    input wire logic         valid_i,
    input wire logic         first_i,  // the payload begins with this beat
    input wire logic [W-1:0] data_i,

    output logic [31:0] crc_o,    // register, begun at 0, not inverted
    output logic [31:0] shift_o,  // x^(8 len) mod P, in the register's bit order
    output logic [15:0] sum_o
);

  localparam int unsigned Bw = $clog2(BytesMax / (W / 8));
  localparam int unsigned Beats = 1 << Bw;

  generate
    if (W < 64 || W % 64 != 0) begin : g_bad_width
      $error("W must be a multiple of 64");
    end
    if (Bw < 1) begin : g_bad_beats
      $error("BytesMax must be two beats at least");
    end
  endgenerate

  // Row i of the matrix that takes a beat, first bit on the wire in bit 0, to bit i of the
  // register: data bit k enters at bit 0 and is then stepped W - k times.
  function automatic logic [32*W-1:0] beat_rows();
    logic [31:0] c;
    c = 32'd1;
    for (int k = W - 1; k >= 0; k--) begin
      c = (c >> 1) ^ (c[0] ? Poly : 32'd0);
      for (int i = 0; i < 32; i++) beat_rows[i*W+k] = c[i];
    end
  endfunction

  // Each 32-bit lane times x.
  function automatic logic [32*Beats-1:0] times_x(input logic [32*Beats-1:0] v);
    logic [32*Beats-1:0] out;
    out = v & {Beats{32'd1}};
    times_x = ((v >> 1) & {Beats{32'h7FFF_FFFF}})
        ^ (((out << 32) - out) & {Beats{Poly}});
  endfunction

  // Lane n: x^(W (n + 1)), which a payload of n + 1 beats multiplies by. The lanes that there are
  // give as many more, times the last of them.
  function automatic logic [32*Beats-1:0] powers();
    logic [32*Beats-1:0] product;
    logic [31:0] last;
    powers = (32 * Beats)'(32'h8000_0000);
    for (int k = 0; k < int'(W); k++) powers = times_x(powers);
    for (int have = 1; have < int'(Beats); have = 2 * have) begin
      last = powers[32*(have-1)+:32];
      product = '0;
      for (int k = 0; k < 32; k++) product = times_x(product) ^ (last[k] ? powers : '0);
      powers = powers | (product << (32 * have));
    end
  endfunction

  localparam logic [32*Beats-1:0] Powers = powers();

  logic valid_q, first_q;

  always_ff @(posedge clk_i) begin
    valid_q <= valid_i;
    first_q <= first_i;
  end

  logic [31:0] crc_q;

  localparam logic [32*W-1:0] Rows = beat_rows();

  generate
    if (W == 64) begin : g_one_stage
      logic [31:0] step_q;
      logic [63:0] mixed;
      assign mixed = data_i ^ {32'd0, first_i ? 32'd0 : step_q};
      logic [31:0] step_d;
      if (Poly == crc_pkg::Crc32cPoly) begin : g_step64
        crc_step64 i_step (
            .data_i(mixed),
            .crc_o (step_d)
        );
      end else begin : g_rows
        for (genvar i = 0; i < 32; i++) begin : g_bit
          assign step_d[i] = ^(mixed & Rows[i*W+:W]);
        end
      end
      always_ff @(posedge clk_i) begin
        if (valid_i) step_q <= step_d;
        crc_q <= step_q;
      end
    end else begin : g_two_stages
      // The register's bit j goes the way of data bit j.
      function automatic logic [31:0] times_power(input logic [31:0] v);
        for (int i = 0; i < 32; i++) times_power[i] = ^(v & Rows[i*W+:32]);
      endfunction

      logic [31:0] part_q;
      always_ff @(posedge clk_i) begin
        if (valid_i) begin
          for (int i = 0; i < 32; i++) part_q[i] <= ^(data_i & Rows[i*W+:W]);
        end
        if (valid_q) crc_q <= part_q ^ (first_q ? 32'd0 : times_power(crc_q));
      end
    end
  endgenerate

  (* rom_style = "block" *)logic [31:0] power_mem[Beats];
  logic [31:0] shift_q;
  logic [Bw-1:0] beat_q;

  initial for (int n = 0; n < int'(Beats); n++) power_mem[n] = Powers[32*n+:32];

  always_ff @(posedge clk_i) begin
    if (valid_i) beat_q <= first_i ? '0 : beat_q + 1'b1;
    shift_q <= power_mem[beat_q];
  end

  // Little-endian words are added: the sum of swapped words is the swapped sum (RFC 1071). Groups
  // of words are added in the first stage, the groups to the rest in the second.
  localparam int unsigned Groups = W == 64 ? 1 : 4;
  localparam int unsigned Fours = W / 64 / Groups;
  localparam int unsigned Gw = 18 + $clog2(Fours);
  localparam int unsigned Cw = 16 + $clog2(BytesMax / 2);

  // Of the two pairs the carries are added apart: no more than two numbers meet in an adder.
  function automatic logic [17:0] sum_of_four(input logic [63:0] words);
    logic [16:0] low, high, pairs;
    low = 17'(words[15:0]) + 17'(words[31:16]);
    high = 17'(words[47:32]) + 17'(words[63:48]);
    pairs = 17'(low[15:0]) + 17'(high[15:0]);
    sum_of_four = {2'(low[16]) + 2'(high[16]) + 2'(pairs[16]), pairs[15:0]};
  endfunction

  logic [Groups*Gw-1:0] group_d, group_q;
  logic [Cw-1:0] total_d, total_q;

  always_comb begin
    for (int g = 0; g < Groups; g++) begin
      group_d[g*Gw+:Gw] = '0;
      for (int f = 0; f < Fours; f++) begin
        group_d[g*Gw+:Gw] = group_d[g*Gw+:Gw] + Gw'(sum_of_four(data_i[64*(g*Fours+f)+:64]));
      end
    end
    total_d = first_q ? '0 : total_q;
    for (int g = 0; g < Groups; g++) total_d = Cw'(group_q[g*Gw+:Gw]) + total_d;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) group_q <= group_d;
    if (valid_q) total_q <= total_d;
  end

  // Two folds: the first leaves at most one carry more.
  logic [16:0] folded;
  logic [15:0] sum;
  assign folded = {1'b0, total_q[15:0]} + 17'(total_q[Cw-1:16]);
  assign sum = folded[15:0] + {15'd0, folded[16]};

  assign crc_o = crc_q;
  assign shift_o = shift_q;
  assign sum_o = {sum[7:0], sum[15:8]};

endmodule

`default_nettype wire
