// Cuts the samples of a burst into packets in the ring, and says what each packet is.
//
// Throughput: one beat a clock, also from a full packet to the next. The end of a burst costs one
// cycle for its count, two where the last samples do not fit beside it (docs/protocol.md#6.5).
// Latency: a beat is written to the ring 1 cycle after it was taken; slot_we_o and commit_o come 3
// cycles after the last beat of the packet was. Nothing of a packet changes after its commit.
//
// Back-pressure: s_ready is low for the cycles above and once stop_i is served. A full ring does
// not hold samples back: whole beats are thrown away and counted until a slot is free, and the next
// packet carries OVERFLOW (docs/protocol.md#6.6). The index is that of the source throughout.
//
// How a packet begins and ends:
// - It begins only where a sample does: behind a beat with s_whole or s_last.
// - It is full after payload_bytes_i, a multiple of the sample's bytes.
// - An empty beat (s_last, no sample) begins none: it names samples that were lost behind a burst.
// - A beat with s_start or s_overflow begins a packet of its own; one that is begun is ended before.
// - The count of an end of burst fills one further beat. Where there is none left, which only a beat
//   that is filled in part can cause, the count takes the place of that beat, and the beat begins a
//   second packet (the split of docs/protocol.md#6.5).
//
// It does not zero what lies beyond s_count: the source does. After a flush the first packet
// carries START, and losses before it do not count. While run_i is low, samples are taken and
// thrown away. Fewer than 2^48 samples are lost between two beats. ev_lost_count_o reports a loss
// in the cycle after the beat that shows it, lost_o one later.
// A ring slot is claimed at a packet's first beat, against oldest_i: the packets of the ring are
// [oldest_i, next_i) and the one or two that are being completed. No clock crossing.
`default_nettype none

module packetizer #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 64,
    parameter int unsigned SlotBytes = 8192,
    localparam int unsigned Sw       = $clog2(Slots),
    localparam int unsigned Aw       = $clog2(Slots * SlotBytes / (W / 8))
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic flush_i,
    input wire logic run_i,
    input wire logic stop_i,
    input wire logic [15:0] payload_bytes_i,

    input wire logic [Sw:0] oldest_i,  // low bits of the seqs: the window's oldest and next
    input wire logic [Sw:0] next_i,
    input wire logic hold_i,  // slot_o is still being read: a repeat that was released meanwhile
    output logic [Sw-1:0] slot_o,  // of the next packet to begin

    input  wire logic         s_valid,
    output logic              s_ready,
    input  wire logic [W-1:0] s_data,
    input  wire logic [ 63:0] s_index,
    input  wire logic [  7:0] s_count,
    input  wire logic         s_start,
    input  wire logic         s_overflow,
    input  wire logic         s_last,
    input  wire logic         s_whole,

    output logic          ring_we_o,
    output logic [Aw-1:0] ring_waddr_o,
    output logic [ W-1:0] ring_wdata_o,

    output logic                   slot_we_o,
    output logic          [Sw-1:0] slot_waddr_o,
    output send_pkg::slot_t        slot_wdata_o,
    output logic                   commit_o,

    output logic        busy_o,
    output logic [63:0] index_o,
    output logic [63:0] lost_o,
    output logic        ev_overflow_o,
    output logic [31:0] ev_lost_count_o
);

  localparam int unsigned BeatBytes = W / 8;
  localparam int unsigned Shift = $clog2(BeatBytes);
  localparam int unsigned SlotBeats = SlotBytes / BeatBytes;
  localparam int unsigned Lw = $clog2(SlotBeats + 1);
  localparam int unsigned GapWidth = 48;

  generate
    if (W < 64 || W != 8 << Shift) begin : g_bad_width
      $error("W must be a power of two, 64 at least");
    end
    if (Slots < 2 || Slots != (1 << Sw)) begin : g_bad_slots
      $error("Slots must be a power of two, 2 at least");
    end
    if (SlotBytes % BeatBytes != 0 || SlotBeats < 2 || SlotBytes > 65528) begin : g_bad_slot_bytes
      $error("SlotBytes must be whole beats, 2 at least, and fit 16 bits");
    end
  endgenerate

  // What to do in this cycle.

  logic open_q;    // a packet is begun
  logic ending_q;  // its burst has ended: the count is due
  logic whole_q;   // a sample ended with the last beat taken
  logic have_q;    // a packet was begun since the flush
  logic run_q;
  logic blocked_q;
  logic [Lw-1:0] left_q;  // beats that still fit the packet
  logic at_last_q;        // left_q is 1

  logic is_break, is_empty, split, is_idle;
  logic [Sw:0] claimed_q;  // the slot of the open packet, or of the next
  logic count_due, take, begins, drop, writes, closes;

  assign is_break = s_start || s_overflow;
  assign is_empty = s_last && !s_whole && s_count == 8'd0;
  assign split = at_last_q && s_last && !s_whole;
  assign count_due = open_q &&
      (ending_q || (stop_i && whole_q) || (s_valid && (is_break || split)));

  assign s_ready = !count_due && (open_q || !stop_i);
  assign take = s_valid && s_ready;
  assign slot_o = claimed_q[Sw-1:0];
  // Where no packet is open every beat is taken but for stop_i; where one is, but for its count.
  assign is_idle = !open_q && !stop_i && run_q;
  assign begins = is_idle && !blocked_q && s_valid && (whole_q || is_break) && !is_empty;
  assign drop = is_idle && have_q && s_valid && !begins;
  assign writes = begins || (s_valid && open_q && run_q) || count_due;
  assign closes = count_due || (s_valid && open_q && run_q && at_last_q);

  // A flush throws away what comes, as a low run_i does.
  always_ff @(posedge clk_i) begin
    run_q <= run_i && !flush_i && !rst_i;
    if (rst_i || flush_i) open_q <= 1'b0;
    else if (begins) open_q <= 1'b1;
    else if (closes) open_q <= 1'b0;
    if (rst_i || flush_i) ending_q <= 1'b0;
    else if (writes) ending_q <= !closes && s_last;
    if (rst_i) whole_q <= 1'b1;
    else if (take) whole_q <= s_whole || s_last;
    if (rst_i || flush_i) have_q <= 1'b0;
    else if (begins) have_q <= 1'b1;
  end

  logic [Lw-1:0] beats;  // of a packet
  assign beats = Lw'(payload_bytes_i >> Shift);

  always_ff @(posedge clk_i) begin
    if (writes) begin
      left_q    <= Lw'(-1) + (begins ? beats : left_q);
      at_last_q <= begins ? beats == Lw'(2) : left_q == Lw'(2);
    end
  end

  // Slots: claimed at the first beat, so that the next packet need not wait for this one's commit.

  logic [Sw-1:0] slot_q;  // of the next commit
  logic [Aw-1:0] base_q;  // first beat of the next slot

  // slot * SlotBeats without a multiplier cell: one addition for each one bit of the constant.
  function automatic logic [Aw-1:0] first_beat(input logic [Sw-1:0] slot);
    first_beat = '0;
    for (int i = 0; i < Aw; i++) begin
      if (((SlotBeats >> i) & 1) != 0) first_beat = first_beat + (Aw'(slot) << i);
    end
  endfunction

  logic commit_q, is_full;
  logic [Sw:0] oldest_q;
  // A released slot stays full for one cycle, also where it is claimed next in just that cycle: a
  // repeat that was chosen by the old `oldest` shows at hold_i only then.
  assign is_full = (claimed_q ^ oldest_q) == (Sw + 1)'(Slots);

  always_ff @(posedge clk_i) begin
    if (flush_i) begin
      claimed_q <= next_i;
      slot_q <= next_i[Sw-1:0];
    end else begin
      if (begins) claimed_q <= claimed_q + 1'b1;
      if (commit_q) slot_q <= slot_q + 1'b1;
    end
    oldest_q <= oldest_i;
    // A cycle is there to look: a packet stays open for one at least.
    blocked_q <= is_full || hold_i;
    base_q <= first_beat(claimed_q[Sw-1:0]);
  end

  // Indexes. Lost is what lies between the end of the beat before and this one, and with a beat that
  // is thrown away the beat too; a start leaves out what lies before it. The two meet a cycle later.

  logic [63:0] end_q, lost_q;
  logic [GapWidth-1:0] lost_from, gap_q, loss;
  logic [7:0] thrown_q;
  logic is_loss, is_loss_q;

  assign lost_from = s_start ? s_index[GapWidth-1:0] : end_q[GapWidth-1:0];
  // Where a packet is open, such a beat waits for its end.
  assign is_loss = is_idle && have_q && s_valid && (!begins || s_overflow);
  assign loss = is_loss_q ? gap_q + GapWidth'(thrown_q) : '0;

  always_ff @(posedge clk_i) begin
    if (take) end_q <= s_index + 64'(s_count);
    gap_q <= s_index[GapWidth-1:0] - lost_from;
    thrown_q <= begins ? 8'd0 : s_count;
    is_loss_q <= is_loss;
    lost_q <= 64'(loss) + lost_q;
    if (rst_i || flush_i) lost_q <= '0;
  end

  assign index_o = end_q;
  assign lost_o = lost_q;
  assign ev_lost_count_o = loss[31:0];

  // The packet begun.

  logic start_q, overflow_q;  // for the next packet
  logic [1:0] flags_q;        // START and OVERFLOW of this one
  logic [63:0] index_q;
  logic [15:0] samples_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      start_q <= 1'b1;
      overflow_q <= 1'b0;
    end else if (begins) begin
      start_q <= 1'b0;
      overflow_q <= 1'b0;
    end else if (drop) begin
      start_q <= start_q || s_start;
      overflow_q <= 1'b1;
    end
    if (begins) begin
      flags_q <= {overflow_q || (s_overflow && have_q), start_q || s_start};
      index_q <= s_index;
    end
    if (writes) samples_q <= 16'(s_count) + (begins ? 16'd0 : samples_q);
  end

  // Stage 1: the ring's write port. The length follows from the beats that are left over.

  logic we_q, first_q, close_q, burst_q;
  logic [Aw-1:0] waddr_q;
  logic [W-1:0] wdata_q;
  logic [W-1:0] count_beat;

  assign count_beat = {samples_q[7:0], samples_q[15:8], {(W - 16) {1'b0}}};

  always_ff @(posedge clk_i) begin
    we_q <= writes && !flush_i && !rst_i;
    close_q <= closes && !flush_i && !rst_i;
    first_q <= begins;
    burst_q <= count_due;
    if (writes) waddr_q <= begins ? base_q : waddr_q + 1'b1;
    wdata_q <= count_due ? count_beat : s_data;
  end

  assign ring_we_o = we_q;
  assign ring_waddr_o = waddr_q;
  assign ring_wdata_o = wdata_q;

  // Stages 2 and 3: the slot's entry is held until the CRC is there.

  logic hold_q, ev_overflow_q, busy_q;
  logic [63:0] hold_index_q;
  logic [15:0] hold_len_q;
  logic [2:0] hold_flags_q;
  logic [31:0] crc, power;
  logic [15:0] sum;

  always_ff @(posedge clk_i) begin
    busy_q <= (begins || open_q || close_q || hold_q) && !flush_i && !rst_i;
    hold_q <= close_q && !flush_i && !rst_i;
    commit_q <= hold_q && !flush_i && !rst_i;
    if (close_q) begin
      hold_index_q <= index_q;
      hold_len_q <= payload_bytes_i - (16'(left_q) << Shift);
      hold_flags_q <= {flags_q[1], burst_q, flags_q[0]};
    end
    ev_overflow_q <= begins && (overflow_q || (s_overflow && have_q));
  end

  crc_beats #(
      .W       (W),
      .BytesMax(SlotBytes)
  ) i_crc (
      .clk_i,
      .valid_i(we_q),
      .first_i(first_q),
      .data_i (wdata_q),
      .crc_o  (crc),
      .shift_o(power),
      .sum_o  (sum)
  );

  always_comb begin
    slot_wdata_o.index = hold_index_q;
    slot_wdata_o.len_bytes = hold_len_q;
    slot_wdata_o.flags = {5'd0, hold_flags_q};
    slot_wdata_o.crc = crc;
    slot_wdata_o.shift = power;
    slot_wdata_o.sum = sum;
  end

  assign slot_we_o = commit_q;
  assign slot_waddr_o = slot_q;
  assign commit_o = commit_q;

  assign busy_o = busy_q;
  assign ev_overflow_o = ev_overflow_q;

`ifdef FORMAL
  `include "packetizer_props.svh"
`endif

endmodule

`default_nettype wire
