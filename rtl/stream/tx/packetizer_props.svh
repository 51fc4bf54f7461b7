// packetizer beside a source that keeps to the contract of rtl/README.md and a window that commits
// when it says so and releases as it likes. Every index is in exactly one packet or counted as lost;
// the ring is written only in slots outside [oldest, next), within a slot, in order; and a commit is
// of the slot behind the last one.
//
// Assumed of the payload: the documented range (whole beats and samples, 2 beats to SlotBytes),
// which csr keeps to.

// The window. A flush empties it, and takes no commit.
logic [Sw:0] f_next, f_oldest;
initial f_next = '0;
initial f_oldest = '0;

(* anyseq *) logic f_release;

always_ff @(posedge clk_i) begin
  if (commit_o) f_next <= f_next + 1'b1;
  if (f_release && f_oldest != f_next) f_oldest <= f_oldest + 1'b1;
  if (flush_i) begin
    f_next   <= '0;
    f_oldest <= '0;
  end
end

// A flush begins it, and may come again; it takes 4 cycles at least. A payload stays, run_i, once
// high, and stop_i stay until the flush.
logic [2:0] f_cycles;  // of the flush
logic f_reset;
initial f_cycles = '0;
initial f_reset = 1'b1;
logic f_stopped, f_runs;
initial f_stopped = 1'b0;
initial f_runs = 1'b0;
always_ff @(posedge clk_i) begin
  f_reset   <= 1'b0;
  f_stopped <= stop_i && !flush_i;
  f_runs    <= run_i && !flush_i;
  if (!flush_i) f_cycles <= '0;
  else if (f_cycles != 3'd4) f_cycles <= f_cycles + 3'd1;
end

always_comb begin
  assume (oldest_i == f_oldest && next_i == f_next);
  assume (rst_i == f_reset);
  assume (flush_i || (f_cycles == 3'd0 && !f_reset) || f_cycles == 3'd4);
  if (f_stopped) assume (stop_i);
  if (f_runs && !flush_i) assume (run_i);
  assume (payload_bytes_i == f_payload);
end

// The source: samples of f_size bytes, side by side. f_phase bytes of one that has begun are gone.
// The kinds of sample and payload are those that beats of 8 bytes and slots of 24 tell apart.
(* anyconst *) logic [2:0] f_kind;
(* anyconst *) logic [1:0] f_carry;
logic [4:0] f_size;
logic [3:0] f_samples;      // of a full packet
logic [15:0] f_payload;
logic [3:0] f_first_1, f_first_2;  // first sample to begin in the second and in the third beat
logic [63:0] f_base;        // where indexes begin: carries at each half and at the width of a loss
always_comb begin
  unique case (f_kind)
    3'd0: {f_size, f_samples, f_first_1, f_first_2} = {5'd3, 4'd8, 4'd3, 4'd6};
    3'd1: {f_size, f_samples, f_first_1, f_first_2} = {5'd4, 4'd4, 4'd2, 4'd0};
    3'd2: {f_size, f_samples, f_first_1, f_first_2} = {5'd4, 4'd6, 4'd2, 4'd4};
    3'd3: {f_size, f_samples, f_first_1, f_first_2} = {5'd8, 4'd2, 4'd1, 4'd0};
    3'd4: {f_size, f_samples, f_first_1, f_first_2} = {5'd8, 4'd3, 4'd1, 4'd2};
    3'd5: {f_size, f_samples, f_first_1, f_first_2} = {5'd12, 4'd2, 4'd1, 4'd2};
    3'd6: {f_size, f_samples, f_first_1, f_first_2} = {5'd16, 4'd1, 4'd1, 4'd0};
    default: {f_size, f_samples, f_first_1, f_first_2} = {5'd24, 4'd1, 4'd1, 4'd1};
  endcase
  f_payload = (f_kind == 3'd1 || f_kind == 3'd3 || f_kind == 3'd6) ? 16'd16 : 16'd24;
  unique case (f_carry)
    2'd0: f_base = 64'd0;
    2'd1: f_base = 64'h0000_0000_FFFF_FFFD;
    default: f_base = 64'h0000_FFFF_FFFF_FFFD;
  endcase
end
(* anyseq *) logic [3:0] f_bytes;      // of samples in the beat
(* anyseq *) logic [2:0] f_jump;
logic [4:0] f_phase, f_phase_end;
logic [3:0] f_begun;
logic [7:0] f_next_place, f_place;  // of the next sample to begin, and of the beat, from f_base on
initial f_phase = '0;
initial f_next_place = '0;
assign f_place = f_next_place + 8'(f_jump);
always_comb begin
  f_phase_end = f_phase;
  f_begun = '0;
  for (int i = 0; i < 8; i++) begin
    if (4'(i) < f_bytes) begin
      f_begun = f_begun + 4'(f_phase_end == '0);
      f_phase_end = (f_phase_end + 1'b1 == f_size) ? '0 : f_phase_end + 1'b1;
    end
  end
end

logic f_stands;
logic [W+64+8+4-1:0] f_beat_was;
initial f_stands = 1'b0;
always_ff @(posedge clk_i) begin
  f_stands   <= s_valid && !s_ready;
  f_beat_was <= {s_data, s_index, s_count, s_start, s_overflow, s_last, s_whole};
  if (take) begin
    f_phase <= f_phase_end;
    f_next_place <= f_place + s_count;
  end
end

always_comb begin
  assume (s_data == '0);  // nothing below looks at it
  if (f_reset) assume (!s_valid);  // its reset is that of the source
  assume (s_count == 8'(f_begun));
  assume (s_whole == (f_bytes == 4'd8 && f_phase_end == '0));
  // Only the last beat of a burst is not full. It begins with a sample, and ends behind one.
  assume (f_bytes == 4'd8 || (f_bytes < 4'd8 && s_last && f_phase == '0));
  if (s_last) assume (f_phase_end == '0);
  // The index jumps only with a flag, and where a sample begins.
  assume (s_index == f_base + 64'(f_place) && f_next_place < 8'd200);
  if (!s_start && !s_overflow) assume (f_jump == '0);
  else assume (f_phase == '0);
  if (f_stands)
    assume (s_valid &&
            f_beat_was == {s_data, s_index, s_count, s_start, s_overflow, s_last, s_whole});
end

logic [Sw:0] f_in_ring;
assign f_in_ring = f_next - f_oldest;

// The slot and the beat of each write, followed from the claim.
logic [Sw-1:0] f_slot;
logic [Lw-1:0] f_beat;
initial f_slot = '0;
initial f_beat = '0;
always_ff @(posedge clk_i) begin
  if (flush_i) begin
    f_slot <= '0;
    f_beat <= '0;
  end else if (ring_we_o) begin
    f_beat <= close_q ? '0 : f_beat + 1'b1;
    if (close_q) f_slot <= f_slot + 1'b1;
  end
end

logic [Sw-1:0] f_age;
assign f_age = f_slot - f_oldest[Sw-1:0];

// Indexes since the first packet, modulo 256: taken from the source, or named as lost by it; in
// packets that are closed. What a packet holds is what its reader makes of it: its count, or a full
// one.
logic [7:0] f_taken, f_packed, f_wrote, f_holds, f_inside, f_begin, f_held, f_named, f_way;
logic f_began, f_owes, f_marks;  // a packet began; samples were lost before it
initial f_taken = '0;
initial f_packed = '0;
initial f_began = 1'b0;
initial f_owes = 1'b0;
// What fits beside the count, docs/protocol.md#6.5: whole samples in one beat, and in two.
logic [7:0] f_fit_1, f_fit_2;
assign f_fit_1 = f_size == 5'd3 || f_size == 5'd4 ? 8'd2 : f_size == 5'd8 ? 8'd1 : 8'd0;
assign f_fit_2 = f_size == 5'd3 ? 8'd5 : f_size == 5'd4 ? 8'd4 : f_size == 5'd8 ? 8'd2 :
    f_size == 5'd24 ? 8'd0 : 8'd1;
assign f_holds = burst_q ? wdata_q[W-8+:8] : 8'(f_samples);
assign f_begin = index_q[7:0] - f_base[7:0];
assign f_inside = f_wrote - f_begin;  // samples of the packet that begin before the beat
assign f_named = s_overflow && !s_start && have_q ? 8'(f_jump) : 8'd0;
// On the way to the counts: in the packet that is open or just closed, and the loss of the last beat.
assign f_way = (open_q ? samples_q[7:0] : close_q ? f_holds : 8'd0) + loss[7:0];
always_ff @(posedge clk_i) begin
  if (take && run_q && (have_q || begins)) f_taken <= f_taken + s_count + f_named;
  if (close_q) begin
    f_packed <= f_packed + f_holds;
    f_held   <= f_holds;
  end
  f_wrote <= f_place;
  f_began <= begins;
  f_marks <= f_owes || f_named != '0;
  f_owes  <= !begins && (f_owes || (drop && (s_count != '0 || f_named != '0)));
  if (flush_i) begin
    f_taken  <= '0;
    f_packed <= '0;
    f_began  <= 1'b0;
    f_owes   <= 1'b0;
  end
end

logic f_ever, f_again;  // a packet was committed; and then a flush came
initial f_ever = 1'b0;
initial f_again = 1'b0;
always_ff @(posedge clk_i) begin
  if (commit_o) f_ever <= 1'b1;
  if (flush_i && f_ever) f_again <= 1'b1;
end

// Beats of the packet that are behind.
logic [Lw-1:0] f_done;
assign f_done = Lw'(f_payload >> Shift) - left_q;

always_comb begin
  if (!flush_i && !rst_i) begin
    a_bounded : assert (f_in_ring <= (Sw + 1)'(Slots));
    if (ring_we_o) begin
      a_in_its_slot : assert (f_beat < Lw'(SlotBeats));
      a_address : assert (ring_waddr_o == Aw'(f_slot) * Aw'(SlotBeats) + Aw'(f_beat));
      a_not_held : assert ({1'b0, f_age} >= f_in_ring);
    end
    if (commit_o) begin
      a_commit_slot : assert (slot_waddr_o == f_next[Sw-1:0]);
      a_commit_room : assert (f_in_ring < (Sw + 1)'(Slots));
    end
    // A beat stands where its samples belong: those that begin before it are ahead of it.
    if (ring_we_o && !burst_q) begin
      a_place : assert (f_inside == (f_beat == 0 ? 8'd0 : f_beat == 1 ? 8'(f_first_1) :
                                     8'(f_first_2)));
      a_index_high : assert (index_q == f_base + 64'(f_begin) && f_begin < 8'd200);
    end
    // Every index is in one packet or lost.
    a_account : assert (8'(f_taken - f_packed) == lost_o[7:0] + f_way);
    a_lost_high : assert (lost_o < 64'd256 && loss < GapWidth'(256));
    // docs/protocol.md#6.6.
    if (f_began) begin
      a_index : assert (f_begin == f_wrote && f_beat == 0);
      a_marked : assert (flags_q[1] || !f_marks);
    end
    // What the source is to go on with.
    if (open_q) begin
      a_left : assert (left_q != '0 && f_done != '0 && at_last_q == (left_q == 1));
      if (!ending_q)
        a_samples : assert (f_next_place == f_begin + samples_q[7:0] && samples_q ==
                            16'(f_done == 1 ? f_first_1 : f_first_2));
      a_fits : assert (samples_q < 16'd16);
    end
    if (have_q) a_end : assert (index_o == f_base + 64'(f_next_place));
    if (commit_o) a_length : assert (slot_wdata_o.len_bytes <= f_payload);
    if (hold_q && hold_flags_q[1])
      a_count : assert (f_held <= (hold_len_q == 16'd8 ? 8'd0 : hold_len_q == 16'd16 ?
                                   f_fit_1 : f_fit_2));
    c_full : cover (commit_o && f_in_ring == (Sw + 1)'(Slots) - 1'b1 && f_oldest != '0);
    c_split : cover (count_due && split && s_valid && !is_break && !ending_q);
    c_lost : cover (commit_o && slot_wdata_o.flags[2] && lost_o != '0 && !slot_wdata_o.flags[0]);
    c_flushed : cover (commit_o && f_again);
  end
end
