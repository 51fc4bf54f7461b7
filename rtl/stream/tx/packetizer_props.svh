// packetizer beside a window that commits when it says so and releases as it likes: the ring is
// written only in slots outside [oldest, next), within a slot, in order, and a commit is of the slot
// behind the last one.

logic [Sw:0] f_next, f_oldest;  // the window
initial f_next = '0;
initial f_oldest = '0;

(* anyseq *) logic f_release;

always_ff @(posedge clk_i) begin
  if (commit_o && !flush_i) f_next <= f_next + 1'b1;  // a window that is flushed takes no commit
  if (f_release && f_oldest != f_next) f_oldest <= f_oldest + 1'b1;
end

// A flush of a few cycles begins it; payload_bytes_i stays.
logic [2:0] f_cycles;
initial f_cycles = '0;
(* anyconst *) logic [15:0] f_payload;
always_ff @(posedge clk_i) if (f_cycles != 3'd4) f_cycles <= f_cycles + 3'd1;

always_comb begin
  assume (oldest_i == f_oldest && next_i == f_next);
  assume (flush_i == (f_cycles != 3'd4));
  assume (rst_i == (f_cycles == 3'd0));
  assume (payload_bytes_i == f_payload);
  assume (f_payload[Shift-1:0] == '0);
  assume ((f_payload >> Shift) >= 16'd2 && (f_payload >> Shift) <= 16'(SlotBeats));
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
    c_full : cover (f_in_ring == (Sw + 1)'(Slots) && f_oldest != '0);
    c_split : cover (count_due && split && s_valid && !is_break && !ending_q);
  end
end
