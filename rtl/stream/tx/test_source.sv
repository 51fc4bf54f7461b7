// Samples whose bytes follow from their index alone, at a chosen rate: for tests and for bringing a
// board up. A checker needs the index and nothing else.
//
// Byte b of the stream, b = index * sample bytes, is b modulo 256 (kind_i 0), or the 8 bytes from b
// are the little-endian number b / 8 (kind_i 1).
//
// Throughput: one beat a clock. Latency: a beat is offered 4 cycles after time_ns_i made it due.
// Back-pressure: as a converter, it cannot be stopped. A beat that is offered stays; when more than
// slack_beats_i have come due behind it by the time it is taken, the index jumps to the newest of
// them with s_overflow. With stall_ok_i it waits instead, and nothing is lost. Rate 0 is as fast as
// taken.
//
// rate_i is in samples a nanosecond with 24 bits of fraction, and counts while enable_i is high;
// time that passes in one cycle counts up to 2^32 - 1 ns. rst_i sets the index to 0. A sample is a
// power of two of bytes. No clock crossing.
`default_nettype none

module test_source #(
    parameter int unsigned W = 64
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic        enable_i,
    input wire logic        kind_i,
    input wire logic        stall_ok_i,
    input wire logic [ 2:0] sample_log2_i,  // of the bytes of one index, all channels
    input wire logic [31:0] rate_i,
    input wire logic [31:0] slack_beats_i,
    input wire logic [63:0] time_ns_i,

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

  localparam int unsigned Shift = $clog2(W / 8);

  generate
    if (W < 64 || W > 1024 || W != 8 << Shift) begin : g_bad_width
      $error("W must be a power of two, from 64 to 1024");
    end
  endgenerate

  // What is due, in samples with 24 bits of fraction, then in whole beats.

  // Samples in beats and back, in 64 bits: wider numbers are slow to simulate.
  function automatic logic [63:0] beats_of(input logic [63:0] samples);
    if (32'(sample_log2_i) > Shift) beats_of = samples << (32'(sample_log2_i) - Shift);
    else beats_of = samples >> (Shift - 32'(sample_log2_i));
  endfunction

  function automatic logic [63:0] samples_of(input logic [63:0] beats, input logic [31:0] log2);
    if (log2 > Shift) samples_of = beats >> (log2 - Shift);
    else samples_of = beats << (Shift - log2);
  endfunction

  logic [63:0] time_q, passed, product_q, due_beats_q;
  logic [31:0] passed_q;
  logic [87:0] due_q;

  assign passed = time_ns_i - time_q;

  always_ff @(posedge clk_i) begin
    time_q <= time_ns_i;
    passed_q <= passed[63:32] != '0 ? '1 : passed[31:0];
    product_q <= passed_q * rate_i;
    if (rst_i) due_q <= '0;
    else if (enable_i) due_q <= due_q + 88'(product_q);
    due_beats_q <= beats_of(due_q[87:24]);
  end

  // Samples of more than a beat are offered whole: a jump goes to the first beat of one.

  logic [63:0] tail_mask;  // low bits of a beat's number within its sample
  always_comb begin
    tail_mask = '0;
    for (int i = 0; i < 4; i++) tail_mask[i] = 32'(sample_log2_i) > Shift + i;
  end

  logic valid_q, overflow_q;
  logic [63:0] beat_q, next_q, ahead;
  logic is_due, is_late;

  assign ahead = due_beats_q - next_q;
  assign is_due = rate_i == '0 || (ahead != '0 && !ahead[63]);
  assign is_late = rate_i != '0 && !stall_ok_i && !ahead[63] && ahead > 64'(slack_beats_i) &&
      ahead > (tail_mask | 64'd1) && (next_q & tail_mask) == '0;

  logic [63:0] newest, chosen;
  assign newest = (due_beats_q - 64'd1) & ~tail_mask;
  assign chosen = is_late ? newest : next_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      next_q  <= '0;
    end else if (!valid_q || s_ready) begin
      valid_q <= enable_i && is_due;
      if (enable_i && is_due) begin
        beat_q <= chosen;
        overflow_q <= is_late && newest != next_q;
        next_q <= chosen + 64'd1;
      end
    end
  end

  assign s_valid = valid_q;
  assign s_overflow = overflow_q;
  assign s_start = 1'b0;
  assign s_last = 1'b0;

  // The index is that of the first sample that begins in the beat, or behind it.
  logic is_head;
  assign is_head = (beat_q & tail_mask) == '0;
  assign s_whole = (~beat_q & tail_mask) == '0;
  assign s_index = samples_of(beat_q, 32'(sample_log2_i)) + {63'd0, !is_head};
  assign s_count = tail_mask == '0 ? 8'(32'd1 << Shift >> sample_log2_i) : {7'd0, is_head};

  // A beat begins at a multiple of its bytes, so no number in it needs an addition.
  always_comb begin
    for (int i = 0; i < W / 64; i++) s_data[i*64+:64] = 64'(beat_q << (Shift - 3)) | 64'(i);
    if (!kind_i) for (int i = 0; i < W / 8; i++) s_data[i*8+:8] = 8'(beat_q << Shift) | 8'(i);
  end

endmodule

`default_nettype wire
