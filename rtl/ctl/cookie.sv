// A keyed function of 128 bits of input to 64 bits: cookies (docs/protocol.md#3.2) and tags (#1.6).
//
// CBC-MAC of SPECK-64/128 (Beaulieu et al. 2013; 27 rounds) over exactly two blocks. CBC-MAC of a
// block cipher is a pseudo-random function for messages of one fixed length, and every message here
// has two blocks; its bound is the birthday of 64 bits, 2^32 values under one key, of which an
// epoch of 8 s at 10 Gb/s could draw 2^24. It is not linear, so known cookies say nothing of
// others. A cookie of 128 bits is two values whose second blocks differ in a field of their own.
//
// Four bits a cycle, low ones first. A round is, for x and y under k as for l and k under the
// round's number: x = (x ror 8) + y ^ k, y = (y rol 3) ^ x. A turn to the right by 8 is two places
// of four bits: what is written goes to the place of what was read, and the words begin two places
// further after each round. Of y the upper three bits of the place before are kept. A place is read
// in one cycle and worked on in the next, while the one behind it is read.
//
// Throughput: one value in 578 cycles. Latency: start_i to busy_o low 562 cycles. Key and blocks are
// written before, 16 bits at a time, low ones first: 8 words of the key, 4 of each block. The value
// comes in value_o, 16 bits at a time, low ones first, 4 cycles after each next_i. Back-pressure:
// none; a start while busy is not allowed. Does not: choose the blocks, compare. One clock.
`default_nettype none

module cookie (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         start_i,

  output logic         busy_o,

  input  logic         we_i,
  input  logic [3:0]   waddr_i,      // key, first block, second block
  input  logic [15:0]  wdata_i,

  input  logic         next_i,
  output logic [15:0]  value_o
);

  localparam logic [4:0] RoundLast = 5'd26;

  typedef enum logic [1:0] {
    Key,
    Block,
    Round,
    Value
  } state_e;

  state_e state_q;

  logic       turning_q, is_second_q, is_end;
  logic [4:0] place_q;    // of four bits; in a round the low three count
  logic [4:0] round_q;
  logic [1:0] turn_q;     // of x: pairs of places that its word begins late
  logic [1:0] l_word_q;   // round modulo 3
  logic [1:0] l_turn_q;

  (* ram_style = "distributed" *) logic [3:0] x_mem[8];
  (* ram_style = "distributed" *) logic [3:0] y_mem[8];
  (* ram_style = "distributed" *) logic [3:0] k_mem[8];
  (* ram_style = "distributed" *) logic [3:0] l_mem[32];

  // Sums of few bits are written out: a carry chain would take a level of its own.
  function automatic logic [4:0] next_of(input logic [4:0] n);
    for (int i = 0; i < 5; i++) next_of[i] = n[i] ^ ((n | 5'h1F << i) == 5'h1F);
  endfunction

  function automatic logic [1:0] sum_of_two(
    input logic [1:0] a, input logic [1:0] b, input logic carry
  );
    sum_of_two[0] = a[0] ^ b[0] ^ carry;
    sum_of_two[1] = a[1] ^ b[1] ^ ((a[0] && b[0]) || (carry && (a[0] || b[0])));
  endfunction

  logic [2:0] place, x_place, l_place, y_past_q, k_past_q;
  logic [3:0] x, y, k, l, x_round, y_round, l_round, k_round, number;
  logic [4:0] x_sum, l_sum;
  logic       x_carry_q, l_carry_q, is_round, is_first;

  assign is_round = state_q == Round;
  assign is_first = place_q[2:0] == 3'd0;
  // In `Block` the lower half of eight cycles lets half_i come.
  assign place    = state_q == Block ? {place_q[3], place_q[1:0]} : place_q[2:0];
  assign x_place  = {sum_of_two(place[2:1], turn_q, is_round), place[0]};
  assign l_place  = {sum_of_two(place[2:1], l_turn_q, is_round), place[0]};

  assign x = x_mem[x_place];
  assign y = y_mem[place];
  assign k = k_mem[place];
  assign l = l_mem[{l_word_q, l_place}];

  // A word of the key or of a block.
  (* ram_style = "distributed" *) logic [15:0] words_mem[16];
  logic [15:0] given;
  logic [2:0]  which;
  assign which = state_q == Key ? place_q[4:2] : {is_second_q, place_q[4:3]};
  assign given = words_mem[{state_q != Key, which}];

  always_ff @(posedge clk_i) begin
    if (we_i) words_mem[waddr_i] <= wdata_i;
  end

  // What was read, and where what becomes of it goes.
  logic [3:0] x_q, y_q, k_q, l_q, given_q, number_q;
  logic [2:0] at_q, x_at_q;
  logic [4:0] l_at_q;
  logic       in_round_q, begins_q, ends_q, adds_q, write_x_q, write_y_q, write_k_q, write_l_q;

  assign number = place[2:1] != 2'd0 ? 4'd0 : place[0] ? {3'd0, round_q[4]} : round_q[3:0];

  always_ff @(posedge clk_i) begin
    {x_q, y_q, k_q, l_q} <= {x, y, k, l};
    given_q    <= given[4*place_q[1:0]+:4];
    number_q   <= number;
    at_q       <= place;
    x_at_q     <= x_place;
    l_at_q     <= {l_word_q, l_place};
    in_round_q <= is_round;
    begins_q   <= is_first;
    ends_q     <= &place_q[2:0];
    adds_q     <= is_second_q;
    write_y_q  <= is_round || (state_q == Block && !place_q[4] && place_q[2]);
    write_x_q  <= is_round || (state_q == Block && place_q[4] && place_q[2]);
    write_k_q  <= is_round || (state_q == Key && place_q[4:3] == 2'd0);
    // Before the first round l_word_q names the last word written: words 1 to 3 of the key are l.
    write_l_q  <= is_round || state_q == Key;
  end

  assign x_sum   = {1'b0, x_q} + {1'b0, y_q} + 5'(x_carry_q && !begins_q);
  assign l_sum   = {1'b0, l_q} + {1'b0, k_q} + 5'(l_carry_q && !begins_q);
  assign x_round = x_sum[3:0] ^ k_q;
  assign y_round = {y_q[0], y_past_q} ^ x_round;
  assign l_round = l_sum[3:0] ^ number_q;
  assign k_round = {k_q[0], k_past_q} ^ l_round;

  logic [3:0] x_d, y_d, k_d, l_d;
  assign y_d = in_round_q ? y_round : given_q ^ (adds_q ? y_q : 4'd0);
  assign x_d = in_round_q ? x_round : given_q ^ (adds_q ? x_q : 4'd0);
  assign k_d = in_round_q ? k_round : given_q;
  assign l_d = in_round_q ? l_round : given_q;

  always_ff @(posedge clk_i) begin
    if (write_x_q) x_mem[x_at_q] <= x_d;
    if (write_y_q) y_mem[at_q] <= y_d;
    if (write_k_q) k_mem[at_q] <= k_d;
    if (write_l_q) l_mem[l_at_q] <= l_d;
    // The last place of a word is the one before its first in the round to come.
    if (write_y_q) y_past_q <= (in_round_q && !ends_q) ? y_q[3:1] : y_d[3:1];
    if (write_k_q) k_past_q <= (in_round_q && !ends_q) ? k_q[3:1] : k_d[3:1];
    x_carry_q <= x_sum[4];
    l_carry_q <= l_sum[4];
  end

  // The end of a state.
  always_comb begin
    unique case (state_q)
      Key, Block: is_end = &place_q;
      Round:      is_end = &place_q[2:0] && round_q == RoundLast;
      Value:      is_end = turning_q && &place_q[3:0];
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q != Value || turning_q) place_q <= next_of(place_q);
    if (state_q == Key) begin
      // The first word goes to k, and is written over in l.
      if (&place_q[2:0]) l_word_q <= place_q[4:3] == 2'd0 || is_end ? 2'd0 : l_word_q + 2'd1;
      round_q  <= '0;
      l_turn_q <= '0;
    end else if (is_round && &place_q[2:0]) begin
      round_q  <= round_q + 5'd1;
      turn_q   <= turn_q + 2'd1;
      l_word_q <= l_word_q == 2'd2 ? 2'd0 : l_word_q + 2'd1;
      if (l_word_q == 2'd2) l_turn_q <= l_turn_q + 2'd1;
    end
    if (is_end) begin
      unique case (state_q)
        Key:     state_q <= Block;
        Block:   state_q <= Round;
        Round:   state_q <= is_second_q ? Value : Key;
        default: ;
      endcase
      place_q <= '0;
      if (is_round) is_second_q <= 1'b1;
    end
    // Four places are a word of the value.
    if (next_i) turning_q <= 1'b1;
    else if (&place_q[1:0]) turning_q <= 1'b0;
    if (turning_q) value_o <= {place_q[3] ? x : y, value_o[15:4]};
    if (start_i) begin
      state_q     <= Key;
      place_q     <= '0;
      is_second_q <= 1'b0;
      turning_q   <= 1'b0;
      l_word_q    <= '0;
      l_turn_q    <= '0;
      round_q     <= '0;
    end
    if (rst_i) begin
      state_q <= Value;
      turn_q  <= '0;
    end
  end

  assign busy_o = state_q != Value;

endmodule

`default_nettype wire
