// What RF data converters give, as samples for the packetizer: C channels of S samples a clock,
// 16-bit words of which the converter uses the upper bits, no tlast, no tkeep, tready ignored.
//
// Throughput: a word of all channels every clock of the converter, as long as the core takes it.
// Latency: 3 cycles of adc_clk_i, then async_fifo, then sample_gearbox. Back-pressure: none towards
// the converter. When the FIFO is full a word of all channels is lost; the next one that gets in
// carries s_overflow, and the index is right, since it is counted before the FIFO.
//
// Streams: with Merged, one of {Q, I} a channel, 32 bits a sample; without, two of 16 bits a sample,
// I of channel c at place 2 c and Q at 2 c + 1. A word counts when all streams are valid: they are
// in lock step, and a cycle in which only some are is no sample. Samples leave interleaved channel
// by channel, I first, little-endian (docs/protocol.md#2.10). With Packed the upper 12 bits of I
// and Q make 3 bytes, I in the low bits: "sc12", number 8, which hosts do not unpack yet.
//
// Commands (source_commands): the last of gate_open and gate_close counts, and the last of sync_set,
// sync_latch and sync_cancel.
// - gate_open arms the gate: it passes samples from cmd_index_i, rounded up to a multiple of S, or at
//   once where that is past, for cmd_count_i samples (0: without end; packed: rounded up to a
//   multiple of S). The first beat carries s_start, the last one s_last. It opens at a word that
//   finds room, so what is missing before the first sample is no loss. While a gate is open it waits
//   for its end.
// - gate_close: the next word is the last one of an open gate; an armed one is cancelled.
// - sync_set: at the next rise of sync_i the index becomes cmd_index_i, rounded down to a multiple
//   of S. An open gate goes on, with s_start; what was lost just before it is not counted.
// - sync_latch: the index is left as it is. Both report the index from the edge on at latch_*_o.
// sync_i may be asynchronous. The index that is set or reported is that of the second word after the
// one beside which it rises, or of the third; always of the second when it is synchronous to the
// clock (SYSREF) and words come in every cycle.
//
// With Packed a word must fill whole beats (C * S a multiple of W / 8), so that a burst ends with
// one. A burst whose last word was lost ends with a beat without samples that names the loss.
//
// Clock crossings: async_fifo (samples, latched indexes), source_commands and sync_bits (sync_i).
`default_nettype none

module rfdc_adapter #(
    parameter int unsigned W         = 64,
    parameter int unsigned C         = 1,
    parameter int unsigned S         = 8,    // samples of a channel a clock, a power of two
    parameter bit          Merged    = 1,
    parameter bit          Packed    = 0,
    parameter int unsigned FifoDepth = 64
) (
    input wire logic adc_clk_i,
    input wire logic adc_rst_i,

    input  wire logic [(Merged ? C : 2 * C)-1:0] s_axis_tvalid,
    output logic      [(Merged ? C : 2 * C)-1:0] s_axis_tready,
    input  wire logic [            C*S*32-1:0] s_axis_tdata,
    input  wire logic                          sync_i,

    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic        gate_open_i,  // commands, one cycle each
    input  wire logic        gate_close_i,
    input  wire logic        sync_set_i,
    input  wire logic        sync_latch_i,
    input  wire logic        sync_cancel_i,
    input  wire logic [63:0] cmd_index_i,
    input  wire logic [63:0] cmd_count_i,
    output logic             gate_armed_o,
    output logic             sync_armed_o,

    output logic        latch_valid_o,  // one cycle
    output logic [63:0] latch_index_o,

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

  localparam int unsigned One = Packed ? 24 : 32;  // bits of a sample of one channel
  localparam int unsigned SampleBits = C * One;
  localparam int unsigned Iw = S * SampleBits;
  localparam int unsigned Cw = $clog2(S + 1);
  localparam int unsigned Sw = $clog2(S);

  generate
    if (S < 2 || S != (1 << Sw)) begin : g_bad_samples
      $error("S must be a power of two, 2 at least");
    end
    if (C < 1 || (!Packed && C != 1 << $clog2(C))) begin : g_bad_channels
      $error("C must be a power of two where samples are not packed");
    end
    if (Packed && Iw % W != 0) begin : g_bad_packed
      $error("packed words must fill whole beats: C * S a multiple of W / 8");
    end
  endgenerate

  // Commands.

  logic gate_armed, set_armed, latch_armed, close, opens, sync_rise;
  logic [63:0] gate_index, gate_count, set_index;

  source_commands i_commands (
      .clk_i,
      .rst_i,
      .gate_open_i,
      .gate_close_i,
      .sync_set_i,
      .sync_latch_i,
      .sync_cancel_i,
      .index_i     (cmd_index_i),
      .count_i     (cmd_count_i),
      .gate_armed_o,
      .sync_armed_o,
      .adc_clk_i,
      .adc_rst_i,
      .gate_o      (gate_armed),
      .gate_index_o(gate_index),
      .gate_count_o(gate_count),
      .close_o     (close),
      .opens_i     (opens),
      .set_o       (set_armed),
      .latch_o     (latch_armed),
      .sync_index_o(set_index),
      .edge_i      (sync_rise)
  );

  // Stage 1: the converter's word and its index. Stage 0 of sync_i is its synchroniser.

  logic sync_level, sync_q;

  sync_bits #(
      .Width(1)
  ) i_sync (
      .clk_i(adc_clk_i),
      .d_i  (sync_i),
      .q_o  (sync_level)
  );

  assign sync_rise = sync_level && !sync_q;

  logic valid_q, jump_q;
  logic [63:0] index_q;  // of the word in stage 1; without one, of the next
  logic [C*S*32-1:0] word_q;

  logic set_now;
  logic [63:0] next_index;  // of the word after stage 1
  assign set_now = set_armed && sync_rise;
  assign next_index = set_now ? {set_index[63:Sw], {Sw{1'b0}}} :
      valid_q ? index_q + 64'(S) : index_q;

  assign s_axis_tready = '1;

  always_ff @(posedge adc_clk_i) begin
    sync_q <= sync_level;
    valid_q <= &s_axis_tvalid && !adc_rst_i;
    word_q <= s_axis_tdata;
    if (adc_rst_i) index_q <= '0;
    else index_q <= next_index;
    if (adc_rst_i) jump_q <= 1'b0;
    else if (set_now) jump_q <= 1'b1;
    else if (valid_q) jump_q <= 1'b0;
  end

  // Samples side by side, sample by sample.
  logic [Iw-1:0] woven;
  always_comb begin
    for (int unsigned s = 0; s < S; s++) begin
      for (int unsigned c = 0; c < C; c++) begin
        logic [15:0] i, q;
        i = Merged ? word_q[(c*S+s)*32+:16] : word_q[(2*c*S+s)*16+:16];
        q = Merged ? word_q[(c*S+s)*32+16+:16] : word_q[((2*c+1)*S+s)*16+:16];
        woven[(s*C+c)*One+:One] = Packed ? One'({q[15:4], i[15:4]}) : One'({q, i});
      end
    end
  end

  // The gate: stage 2 holds what is to be written.

  logic put_q, room, fifo_ready;
  logic open_q, endless_q, closing_q;
  logic lost_q, start_q, empty_q;  // what the next word written says; a word without samples is due
  logic [63:0] left_q;             // samples from the next word to the end of the burst
  logic [63:0] end_q;              // index of that word without samples
  logic in_gate, endless, is_end, keep, put_empty;
  logic [63:0] wanted, left;
  logic [Cw-1:0] count;

  assign room = !put_q || fifo_ready;
  assign opens = gate_armed && !close && !open_q && !empty_q && valid_q && room &&
      index_q >= gate_index;
  assign in_gate = valid_q && (open_q || opens);

  assign wanted = Packed ? (gate_count + 64'(S - 1)) & ~64'(S - 1) : gate_count;
  assign left = open_q ? left_q : wanted;
  assign endless = open_q ? endless_q : gate_count == '0;
  assign is_end = closing_q || (!endless && left <= 64'(S));
  assign count = (!endless && left < 64'(S)) ? Cw'(left) : Cw'(S);
  assign keep = in_gate && room;
  assign put_empty = empty_q && !in_gate && room;

  always_ff @(posedge adc_clk_i) begin
    if (adc_rst_i) begin
      open_q <= 1'b0;
      closing_q <= 1'b0;
      empty_q <= 1'b0;
      lost_q <= 1'b0;
      start_q <= 1'b0;
    end else begin
      if (in_gate) open_q <= !is_end;
      closing_q <= (closing_q || close) && open_q &&
          !(in_gate && is_end);
      if (in_gate && is_end && !room) empty_q <= 1'b1;
      else if (put_empty) empty_q <= 1'b0;
      if (in_gate) lost_q <= !room;
      else if (put_empty) lost_q <= 1'b0;
      if (in_gate) start_q <= !room && (start_q || jump_q || opens);
      else if (put_empty) start_q <= 1'b0;
    end
    if (in_gate) begin
      endless_q <= endless;
      left_q <= left - 64'(S);
      end_q <= index_q + 64'(count);
    end
  end

  localparam int unsigned Fw = Iw + 64 + Cw + 3;

  logic [Iw-1:0] data_q;
  logic [63:0] put_index_q;
  logic [Cw-1:0] count_q;
  logic [2:0] flags_q;  // start, overflow, last

  always_ff @(posedge adc_clk_i) begin
    if (adc_rst_i) put_q <= 1'b0;
    else if (room) put_q <= keep || put_empty;
    if (room) begin
      for (int unsigned s = 0; s < S; s++) begin
        if (put_empty || Cw'(s) >= count) data_q[s*SampleBits+:SampleBits] <= '0;
        else data_q[s*SampleBits+:SampleBits] <= woven[s*SampleBits+:SampleBits];
      end
      put_index_q <= put_empty ? end_q : index_q;
      count_q <= put_empty ? '0 : count;
      flags_q <= put_empty ? 3'b011 : {start_q || jump_q || opens, lost_q, is_end};
    end
  end

  logic word_valid, word_ready;
  logic [Fw-1:0] word;

  async_fifo #(
      .Width(Fw),
      .Depth(FifoDepth)
  ) i_samples (
      .wr_clk_i  (adc_clk_i),
      .wr_rst_i  (adc_rst_i),
      .wr_stop_o (),
      .wr_valid_i(put_q),
      .wr_ready_o(fifo_ready),
      .wr_data_i ({flags_q, count_q, put_index_q, data_q}),
      .rd_clk_i  (clk_i),
      .rd_rst_i  (rst_i),
      .rd_stop_o (),
      .rd_valid_o(word_valid),
      .rd_ready_i(word_ready),
      .rd_data_o (word)
  );

  // A latch that finds no room because four others wait is not taken.
  logic latch_ready;

  async_fifo #(
      .Width(64),
      .Depth(4),
      .Style("distributed")
  ) i_latched (
      .wr_clk_i  (adc_clk_i),
      .wr_rst_i  (adc_rst_i),
      .wr_stop_o (),
      .wr_valid_i((set_armed || latch_armed) && sync_rise),
      .wr_ready_o(latch_ready),
      .wr_data_i (next_index),
      .rd_clk_i  (clk_i),
      .rd_rst_i  (rst_i),
      .rd_stop_o (),
      .rd_valid_o(latch_valid_o),
      .rd_ready_i(1'b1),
      .rd_data_o (latch_index_o)
  );

  sample_gearbox #(
      .W         (W),
      .Iw        (Iw),
      .SampleBits(SampleBits)
  ) i_gearbox (
      .clk_i,
      .rst_i,
      .word_valid_i   (word_valid),
      .word_ready_o   (word_ready),
      .word_data_i    (word[Iw-1:0]),
      .word_index_i   (word[Iw+:64]),
      .word_count_i   (word[Iw+64+:Cw]),
      .word_start_i   (word[Fw-1]),
      .word_overflow_i(word[Fw-2]),
      .word_last_i    (word[Fw-3]),
      .s_valid,
      .s_ready,
      .s_data,
      .s_index,
      .s_count,
      .s_start,
      .s_overflow,
      .s_last,
      .s_whole
  );

endmodule

`default_nettype wire
