// Words of Iw bits to beats of W bits, with index and count of the samples: the core clock's half
// of rfdc_adapter.
//
// Throughput: a word or a beat a clock, whichever is wider, or one of each where they are alike.
// Latency: a beat is offered the cycle after the word that fills it. Back-pressure: valid and ready
// on both sides.
//
// A sample is SampleBits; words hold whole samples and are full, but for the last of a burst. A word
// with start or overflow begins at the low bytes of a beat: what lies before it leaves as a last
// beat. A last word's samples leave with s_last, in a beat that is filled in part where they end in
// its midst; a last word without samples leaves as a beat without samples. What lies beyond the
// samples of a word must be zero. No clock crossing.
`default_nettype none

module sample_gearbox #(
    parameter int unsigned W          = 64,
    parameter int unsigned Iw         = 256,
    parameter int unsigned SampleBits = 32,
    localparam int unsigned Per       = Iw / SampleBits,  // samples of a word
    localparam int unsigned Cw        = $clog2(Per + 1)
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic          word_valid_i,
    output logic               word_ready_o,
    input  wire logic [Iw-1:0] word_data_i,
    input  wire logic [  63:0] word_index_i,
    input  wire logic [Cw-1:0] word_count_i,
    input  wire logic          word_start_i,
    input  wire logic          word_overflow_i,
    input  wire logic          word_last_i,

    output logic         s_valid,
    input  wire logic    s_ready,
    output logic [W-1:0] s_data,
    output logic [ 63:0] s_index,
    output logic [  7:0] s_count,
    output logic         s_start,
    output logic         s_overflow,
    output logic         s_last,
    output logic         s_whole
);

  function automatic int unsigned gcd(input int unsigned a, input int unsigned b);
    int unsigned x, y, t;
    x = a;
    y = b;
    while (y != 0) begin
      t = x % y;
      x = y;
      y = t;
    end
    gcd = x;
  endfunction

  // The fill is counted in units that words and beats are both made of.
  localparam int unsigned Unit = gcd(W, Iw);
  localparam int unsigned WordUnits = Iw / Unit;
  localparam int unsigned BeatUnits = W / Unit;
  localparam int unsigned FillUnits = BeatUnits - 1 + WordUnits;  // less than a beat, and a word
  localparam int unsigned Fw = $clog2(FillUnits + 1);
  localparam int unsigned BufBits = FillUnits * Unit;
  localparam int unsigned Tw = $clog2(FillUnits * Unit / SampleBits + Per + 2);

  // Beats until a beat begins with a sample again.
  localparam int unsigned Round = SampleBits / gcd(W, SampleBits);
  localparam int unsigned Rw = Round > 1 ? $clog2(Round) : 1;

  generate
    if (Iw % SampleBits != 0) begin : g_bad_word
      $error("a word must hold whole samples");
    end
    if (W / SampleBits > 255 || Per > 255) begin : g_bad_count
      $error("a beat and a word hold at most 255 samples");
    end
  endgenerate

  logic [BufBits-1:0] data_q, data_d, shifted;
  logic [Fw-1:0] fill_q, fill_left, fill_d;
  logic [Tw-1:0] held_q, held_left;  // samples that begin in the buffer and have not left
  logic [Rw-1:0] round_q;
  logic [63:0] index_q;
  logic start_q, overflow_q, last_q, empty_q;

  // Samples that begin in a full beat, by its place in the round.
  logic [7:0] full_count;
  logic ends_whole;
  always_comb begin
    full_count = '0;
    ends_whole = 1'b0;
    for (int unsigned r = 0; r < Round; r++) begin
      if (32'(round_q) == r) begin
        full_count = 8'((((r + 1) * W + SampleBits - 1) / SampleBits) -
                        ((r * W + SampleBits - 1) / SampleBits));
        ends_whole = ((r + 1) * W) % SampleBits == 0;
      end
    end
  end

  logic is_short, is_full, beat_go, flush, flush_q, shown_q, word_go, word_breaks;

  assign is_short = held_q < Tw'(full_count);
  assign is_full = fill_q >= Fw'(BeatUnits);

  // A word that breaks waits until the buffer has left.
  assign word_breaks = word_valid_i && (word_start_i || word_overflow_i);
  // A beat stays as it was shown, also where a stop of the FIFO takes the word back that broke it.
  assign flush = last_q || (shown_q ? flush_q : word_breaks && fill_q != '0);

  assign s_valid = fill_q != '0 && (is_full || flush);
  assign s_data = data_q[W-1:0];
  assign s_index = index_q;
  assign s_count = is_short ? 8'(held_q) : full_count;
  assign s_start = start_q;
  assign s_overflow = overflow_q;
  assign s_whole = ends_whole && !is_short && !empty_q;
  assign s_last = flush && (is_short || empty_q || (ends_whole && held_left == '0));

  assign beat_go = s_valid && s_ready;
  assign held_left = held_q - Tw'(s_count);

  always_comb begin
    shifted   = data_q;
    fill_left = fill_q;
    if (beat_go) begin
      shifted   = BufBits'(data_q >> W);
      fill_left = (s_last || !is_full) ? '0 : fill_q - Fw'(BeatUnits);
    end
  end

  assign word_ready_o = !last_q && !(shown_q && flush_q) &&
      (word_breaks ? fill_q == '0 : fill_left < Fw'(BeatUnits));
  assign word_go = word_valid_i && word_ready_o;

  always_comb begin
    data_d = (beat_go && s_last) ? '0 : shifted;
    fill_d = fill_left;
    if (word_go) begin
      fill_d = fill_left + Fw'(WordUnits);
      if (fill_left == '0) data_d = '0;  // a reset leaves bytes behind
      for (int unsigned u = 0; u < BeatUnits; u++) begin
        if (32'(fill_left) == u) begin
          for (int unsigned b = 0; b < Iw; b++) data_d[u*Unit+b] = word_data_i[b];
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) fill_q <= '0;
    else fill_q <= fill_d;
    if (beat_go || word_go) data_q <= data_d;
  end

  always_ff @(posedge clk_i) begin
    shown_q <= s_valid && !s_ready && !rst_i;
    flush_q <= flush;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) last_q <= 1'b0;
    else if (word_go) last_q <= word_last_i;
    else if (beat_go && s_last) last_q <= 1'b0;
    if (rst_i) round_q <= '0;
    else if (beat_go) round_q <= (s_last || 32'(round_q) == Round - 1) ? '0 : round_q + 1'b1;
    if (rst_i) held_q <= '0;
    else
      held_q <= (beat_go ? (s_last ? '0 : held_left) : held_q) +
          (word_go ? Tw'(word_count_i) : '0);
  end

  // The first beat behind a word that found nothing before it takes its index and its flags.
  always_ff @(posedge clk_i) begin
    if (word_go && (fill_left == '0)) begin
      index_q    <= word_index_i;
      start_q    <= word_start_i;
      overflow_q <= word_overflow_i;
      empty_q    <= word_count_i == '0;
    end else if (beat_go) begin
      index_q    <= index_q + 64'(s_count);
      start_q    <= 1'b0;
      overflow_q <= 1'b0;
    end
  end

endmodule

`default_nettype wire
