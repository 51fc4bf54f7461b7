// nic_queues: each buffer is in one place, queues keep their order, only the holder changes a locked
// free queue, and every operation is done within a bound. Included for formal runs.
//
// Ports do what they like. Engines push what they hold, which is assumed of one buffer, chosen
// freely, and buffers alone. Invariants: they hold for ever by induction.
//
// With Rings, rtl/formal/nic/free_rings.sv stands for nic_rings, and what that one's own proof asserts
// is assumed: an operation gives what the ring by its definition gives, or fails. Bounds count no
// cycle in which an operation is held.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;

// At one address: with any, sums of pointers take hours. Tests have others.
localparam logic [28:0] FBase = 29'h0468_ACF1;
(* anyconst *) logic [IndexBits:0] f_count;
(* anyconst *) logic [23:0] f_lock_cycles;
always_comb begin
  assume (base_i == FBase && bits_i == 3'd0 && count_i == f_count && f_count != '0);
  assume (f_count <= (IndexBits + 1)'(Buffers) && lock_cycles_i == f_lock_cycles);
  if (!f_past_q) assume (rst_i);
end

// Buffers of 16 places. A sum for each buffer, and not for each pointer: that is quick to prove.
logic [29*Buffers-1:0] f_buffers;
for (genvar n = 0; n < Buffers; n++) begin : g_f_buffers
  assign f_buffers[29*n+:29] = FBase + 29'(16 * n);
end

function automatic logic f_is_buffer(input logic [28:0] pointer,
                                     input logic [29*Buffers-1:0] buffers,
                                     input logic [IndexBits:0] count);
  f_is_buffer = 1'b0;
  for (int n = 0; n < int'(Buffers); n++) begin
    if (pointer == buffers[29*n+:29] && n < int'(count)) f_is_buffer = 1'b1;
  end
endfunction

// ------------------------------------------------------------------ requests

localparam int unsigned FQueues = 1 << QueueBits;

nic_pkg::op_t f_receive, f_transmit;
assign f_receive  = op_i[nic_pkg::OpBits-1:0];
assign f_transmit = op_i[2*nic_pkg::OpBits-1:nic_pkg::OpBits];

always_comb begin
  assume (f_receive.target.kind != nic_pkg::Lock && f_transmit.target.kind != nic_pkg::Lock);
  assume (32'(f_receive.target.server) < Servers && 32'(f_transmit.target.server) < Servers);
  assume (32'(port_op.target.server) < Servers);
  if (f_receive.target.kind == nic_pkg::Free) assume (f_receive.target.server == '0);
  if (f_transmit.target.kind == nic_pkg::Free) assume (f_transmit.target.server == '0);
  if (port_op.target.kind == nic_pkg::Free) assume (port_op.target.server == '0);
  assume (f_receive.pointer[2:0] == '0 && f_transmit.pointer[2:0] == '0);
  assume (f_is_buffer(f_receive.pointer[31:3], f_buffers, f_count));
  assume (f_is_buffer(f_transmit.pointer[31:3], f_buffers, f_count));
end

// A request stands until it is ready.
logic [Requesters-1:0] f_waited_q = '0;
nic_pkg::op_t f_receive_q, f_transmit_q;
always_ff @(posedge clk_i) begin
  f_waited_q   <= rst_i ? '0 : op_valid_i & ~grant;
  f_receive_q  <= f_receive;
  f_transmit_q <= f_transmit;
end
always_comb begin
  assume ((f_waited_q & ~op_valid_i) == '0);
  if (f_waited_q[0]) assume (f_receive == f_receive_q);
  if (f_waited_q[1]) assume (f_transmit == f_transmit_q);
end

// ------------------------------------------------------------------ rings

// The memories of the queues in the NIC are the rings by their definition.
always_comb begin
  if (is_queued && done && !failed) assume (level == level_mem[queue]);
  if (pop) assume (!Rings || ring_popped == queue_mem[{queue, entry}]);
end

// What nic_rings needs.
logic f_held_q = 1'b0;
nic_pkg::op_t f_held_op_q;
always_ff @(posedge clk_i) begin
  f_held_q    <= held && !rst_i;
  f_held_op_q <= op_q;
end
always_comb begin
  if (f_past_q && f_held_q) a_stands : assert (is_queued && op_q == f_held_op_q);
  if (f_past_q && sweeps) begin
    a_sweeps_alone : assert (valid_q == '0 && !locked_q);
  end
end

// ------------------------------------------------------------------ one buffer

(* anyconst *) logic [IndexBits-1:0] f_index;
logic [28:0] f_buffer;
assign f_buffer = f_buffers[29*f_index+:29];
always_comb assume ((IndexBits + 1)'(f_index) < f_count);

// The operation whose result is there.
logic f_push_q, f_lock_q;
logic [28:0] f_pointer_q;
always_ff @(posedge clk_i) begin
  f_push_q    <= op_q.push;
  f_lock_q    <= is_lock;
  f_pointer_q <= op_q.pointer[31:3];
end

logic f_is_popped, f_is_refused;
assign f_is_popped  = !f_push_q && !f_lock_q && status_q == 3'd0;
assign f_is_refused = f_push_q &&
    (status_q == 3'(nic_pkg::ResultFull) || status_q == 3'(nic_pkg::ResultFailed));

// Engines.
logic [1:0] f_has_q = '0, f_going, f_coming, f_gets;
for (genvar n = 0; n < 2; n++) begin : g_f_engine
  assign f_going[n] = valid_q[n] && op_q.push && op_q.pointer[31:3] == f_buffer;
  assign f_gets[n]  = (f_is_popped && popped_q == f_buffer) ||
      (f_is_refused && f_pointer_q == f_buffer);
  assign f_coming[n] = result_valid_o[n] && f_gets[n];
end
always_ff @(posedge clk_i) begin
  if (grant[0] && f_receive.push && f_receive.pointer[31:3] == f_buffer) f_has_q[0] <= 1'b0;
  if (grant[1] && f_transmit.push && f_transmit.pointer[31:3] == f_buffer) f_has_q[1] <= 1'b0;
  if (f_coming[0]) f_has_q[0] <= 1'b1;
  if (f_coming[1]) f_has_q[1] <= 1'b1;
  if (rst_i) f_has_q <= '0;
end
always_comb begin
  if (op_valid_i[0] && f_receive.push && f_receive.pointer[31:3] == f_buffer) assume (f_has_q[0]);
  if (op_valid_i[1] && f_transmit.push && f_transmit.pointer[31:3] == f_buffer) assume (f_has_q[1]);
end

// On its way to a port.
logic [1:0] f_returning;
assign f_returning = {returns_q && popped_q == f_buffer, is_returned_q && owned_index == f_index};

function automatic logic f_is_queue(input logic [QueueBits-1:0] n);
  f_is_queue = n == '0 || n[QueueBits-1:ServerBits] == nic_pkg::Receive ||
      n[QueueBits-1:ServerBits] == nic_pkg::Transmit;
endfunction

// Where it stands in a queue, and that it stands nowhere else.
localparam int unsigned FEntries = FQueues * Depth;
logic f_in_q = 1'b0;
logic [QueueBits+EntryBits-1:0] f_slot_q;
logic [FEntries-1:0] f_used, f_elsewhere, f_bad_there;
logic [FQueues-1:0] f_bad_level;
for (genvar q = 0; q < FQueues; q++) begin : g_f_queue
  assign f_bad_level[q] = f_is_queue(QueueBits'(q)) && level_mem[q] > CountBits'(Depth);
  for (genvar n = 0; n < Depth; n++) begin : g_f_entry
    localparam logic [QueueBits+EntryBits-1:0] Slot = (QueueBits + EntryBits)'(q * Depth + n);
    logic [EntryBits-1:0] behind;  // the head
    logic [28:0] pointer;
    assign behind             = EntryBits'(n) - head_mem[q];
    assign pointer            = queue_mem[Slot];
    assign f_used[Slot]       = f_is_queue(QueueBits'(q)) && CountBits'(behind) < level_mem[q];
    assign f_elsewhere[Slot]  = f_used[Slot] && pointer == f_buffer && !(f_in_q && f_slot_q == Slot);
    assign f_bad_there[Slot]  = f_used[Slot] && !f_is_buffer(pointer, f_buffers, f_count);
  end
end
always_ff @(posedge clk_i) begin
  if (push && op_q.pointer[31:3] == f_buffer) begin
    f_in_q   <= 1'b1;
    f_slot_q <= {queue, entry};
  end
  if (pop && f_slot_q == {queue, entry}) f_in_q <= 1'b0;
  if (rst_i) f_in_q <= 1'b0;
end

logic [3:0] f_places;
assign f_places = 4'(f_in_q) + 4'(f_has_q[0]) + 4'(f_has_q[1]) + 4'(f_going[0]) + 4'(f_going[1]) +
    4'(f_coming[0]) + 4'(f_coming[1]) + 4'(f_returning[0]) + 4'(f_returning[1]);

always_comb begin
  if (f_past_q && !sweep_q) begin
    // It is once in the NIC if the NIC owns it, else not at all: a port has it.
    a_one_place : assert (f_places == 4'(owned_mem[f_index]));
    a_slot : assert (f_elsewhere == '0);
    if (f_in_q) a_in : assert (f_used[f_slot_q] && queue_mem[f_slot_q] == f_buffer);
    a_levels : assert (f_bad_level == '0);
    a_buffers : assert (f_bad_there == '0);
  end
  if (f_past_q) begin
    // What is under way.
    a_one : assert ((valid_q & (valid_q - 1'b1)) == '0 &&
                    (result_valid_o & (result_valid_o - 1'b1)) == '0);
    a_port : assert (port_wait_q == {result_valid_o[2], valid_q[2]} && port_wait_q != 2'b11);
    a_returns : assert (!returns_q || (result_valid_o[2] && f_is_popped));
    a_returns_all : assert (!(result_valid_o[2] && f_is_popped) || returns_q);
    a_returned : assert (!(is_returned_q && (valid_q[2] || result_valid_o[2])));
    a_config : assert (limit_q == 32'({f_count, 4'd0}) && low_mask_q == 11'h00F);
    // An operation that a reset ends may hold them.
    if (!sweep_q || sweep_index_q != '0) a_shift : assert (index_q == place_q[4+:IndexBits]);
    if (result_valid_o != '0 && f_is_popped) begin
      a_popped : assert (f_is_buffer(popped_q, f_buffers, f_count));
    end
    if (is_returned_q) begin
      a_back : assert (returned_q[3:0] == '0 &&
                       returned_q[ReturnedBits-1:4] < (ReturnedBits - 4)'(f_count));
    end
    if (valid_q[2]) begin
      a_place : assert (place_q == op_q.pointer[31:3] - FBase &&
                        is_within_q == (|op_q.pointer[2:0] || |(place_q[10:0] & low_mask_q)));
    end else if (valid_q != '0) begin
      a_engine : assert (f_is_buffer(op_q.pointer[31:3], f_buffers, f_count) &&
                         op_q.pointer[2:0] == '0 && !is_lock);
    end
    if (push && is_port) a_aligned : assert (op_q.pointer[2:0] == '0);
    if (valid_q != '0) a_queue : assert (is_lock || f_is_queue(queue));
    if (valid_q != '0) a_server : assert (32'(op_q.target.server) < Servers);
  end
end

// A reset.
logic [FQueues-1:0] f_swept;
for (genvar q = 0; q < FQueues; q++) begin : g_f_swept
  assign f_swept[q] = level_mem[q] == '0 || sweep_index_q <= SweepBits'(q + 1);
end
always_comb begin
  if (f_past_q && sweep_q) begin
    // The one that is cleared in this cycle.
    a_sweeps : assert (sweep_index_q == '0 || queue == QueueBits'(sweep_index_q - 1'b1));
    a_swept : assert (&f_swept && (!owned_mem[f_index] || sweep_index_q <= SweepBits'(f_index)));
    a_still : assert (valid_q == '0 && result_valid_o == '0 && !is_returned_q &&
                      f_has_q == '0 && !f_in_q);
  end
end

// ------------------------------------------------------------------ flags

logic [Servers-1:0] f_receive_waits, f_receive_full, f_transmit_waits, f_transmit_full;
for (genvar s = 0; s < Servers; s++) begin : g_f_flags
  logic [CountBits-1:0] receive, transmit;
  assign receive            = level_mem[{2'(nic_pkg::Receive), ServerBits'(s)}];
  assign transmit           = level_mem[{2'(nic_pkg::Transmit), ServerBits'(s)}];
  assign f_receive_waits[s]  = !sweep_q && receive != '0;
  assign f_receive_full[s]   = !sweep_q && receive == CountBits'(Depth);
  assign f_transmit_waits[s] = !sweep_q && transmit != '0;
  assign f_transmit_full[s]  = !sweep_q && transmit == CountBits'(Depth);
end
always_comb begin
  if (f_past_q) begin
    a_receive_flags : assert (receive_waits_o == f_receive_waits &&
                              receive_full_o == f_receive_full);
    a_transmit_flags : assert (transmit_waits_o == f_transmit_waits &&
                               transmit_full_o == f_transmit_full);
    a_free_waits : assert (free_waits_o == (!sweep_q && level_mem[0] != '0));
  end
end

// ------------------------------------------------------------------ order

// A push of one queue, both chosen freely: it comes out behind those that stood before it.
(* anyconst *) logic [QueueBits-1:0] f_queue;
(* anyseq *) logic f_choose;
logic f_follow_q = 1'b0, f_out_q = 1'b0;
logic [28:0] f_word_q;
logic [CountBits-1:0] f_ahead_q;
logic [EntryBits-1:0] f_at;
assign f_at = head_mem[f_queue] + f_ahead_q[EntryBits-1:0];
always_comb assume (f_is_queue(f_queue));
always_ff @(posedge clk_i) begin
  f_out_q <= 1'b0;
  if (push && queue == f_queue && !f_follow_q && f_choose) begin
    f_follow_q <= 1'b1;
    f_word_q   <= op_q.pointer[31:3];
    f_ahead_q  <= level;
  end
  if (pop && queue == f_queue && f_follow_q) begin
    f_ahead_q <= f_ahead_q - 1'b1;
    if (f_ahead_q == '0) {f_follow_q, f_out_q} <= 2'b01;
  end
  if (rst_i) {f_follow_q, f_out_q} <= 2'b00;
end
always_comb begin
  if (f_past_q && f_follow_q) begin
    a_follow : assert (!sweep_q && f_ahead_q < level_mem[f_queue] &&
                       queue_mem[{f_queue, f_at}] == f_word_q);
  end
  if (f_past_q && f_out_q) begin
    a_order : assert (popped_q == f_word_q && status_q == '0 && result_valid_o != '0);
  end
end

// ------------------------------------------------------------------ the lock

logic [CountBits-1:0] f_level_q;
logic [EntryBits-1:0] f_head_q;
logic f_locked_q = 1'b0, f_by_holder_q, f_ended_q;
logic f_granted_q = 1'b0;
logic [PortBits-1:0] f_holder_q, f_asker_q;
logic [23:0] f_age_q;  // of the lock
always_ff @(posedge clk_i) begin
  f_level_q     <= level_mem[0];
  f_head_q      <= head_mem[0];
  f_locked_q    <= locked_q && !rst_i;
  f_holder_q    <= holder_q;
  f_by_holder_q <= valid_q[2] && port_q == holder_q;
  f_ended_q     <= lock_push && is_holder;
  f_granted_q   <= lock_pop_q && !rst_i;
  f_asker_q     <= port_q;
  f_age_q       <= locked_q ? f_age_q + 24'd1 : '0;
end
always_comb begin
  if (f_past_q && f_locked_q && !f_by_holder_q) begin
    a_locked : assert (level_mem[0] == f_level_q && head_mem[0] == f_head_q);
  end
  if (f_past_q && locked_q && (valid_q[0] || valid_q[1])) begin
    a_closed : assert (op_q.target.kind != nic_pkg::Free);
  end
  if (f_past_q && f_locked_q && locked_q) a_holder : assert (holder_q == f_holder_q);
  if (f_past_q && f_locked_q && !locked_q && !f_ended_q) begin
    a_early : assert (f_age_q == f_lock_cycles + 24'd1);
  end
  // A port that reads 1 has the lock.
  if (f_past_q && f_granted_q && f_lock_q && result_valid_o[2]) begin
    if (status_q == 3'd1) a_granted : assert (locked_q && holder_q == f_asker_q);
    if (status_q == 3'd0) a_busy : assert (!locked_q || holder_q != f_asker_q || is_over);
  end
  if (f_past_q && locked_q) begin
    a_age : assert (lock_left_q == {1'b0, f_lock_cycles} - 25'd1 - {1'b0, f_age_q});
    a_age_ends : assert (f_age_q <= f_lock_cycles);
  end
  if (f_past_q && sweep_q) a_open : assert (!locked_q);
end

// ------------------------------------------------------------------ bounds

// How long one requester, chosen freely, has waited: before a lock, in it, and behind it.
localparam logic [25:0] FTurns = 26'd2;
(* anyconst *) logic [1:0] f_who;
logic [25:0] f_wait_q = '0, f_open_q = '0;
logic f_was_blocked_q = 1'b0;
logic f_waits;
logic [1:0] f_ahead;  // how many have their turns before it
assign f_waits = op_valid_i[f_who] && !grant[f_who] && !sweep_q && !sweeps && !rst_i;
assign f_ahead = last_q < f_who ? f_who - last_q - 2'd1 : f_who + 2'd2 - last_q;
always_comb assume (f_who < 2'd3);
always_ff @(posedge clk_i) begin
  if (!held || rst_i) begin
    f_wait_q <= f_waits ? f_wait_q + 26'd1 : '0;
    f_open_q <= f_waits && !blocked[f_who] ? f_open_q + 26'd1 : '0;
  end
  f_was_blocked_q <= f_waits && (blocked[f_who] || f_was_blocked_q);
end
always_comb begin
  if (f_past_q) begin
    a_small : assert (f_open_q <= 26'd2 + FTurns);
    a_last : assert (last_q < 2'd3);
    a_lock_pop : assert (lock_pop_q == (is_port && is_lock && !op_q.push));
    if (f_who != 2'd2) a_turns : assert (f_open_q + 26'(f_ahead) <= FTurns);
    else if (port_wait_q == 2'b01) a_port_first : assert (f_open_q == '0);
    else if (port_wait_q == 2'b10) a_port_second : assert (f_open_q <= 26'd1);
    else a_port_turns : assert (f_open_q + 26'(f_ahead) <= 26'd2 + FTurns);
    if (!f_was_blocked_q) a_before : assert (f_wait_q == f_open_q);
    else a_owed : assert (owed_q[f_who] && f_who != 2'd2 && f_waited_q[f_who]);
    if (f_open_q != '0) a_open_stands : assert (f_waited_q[f_who]);
    if (f_open_q != '0 && locked_q && f_who != 2'd2) begin
      a_open_kind : assert (f_who == 2'd0 ? f_receive_q.target.kind != nic_pkg::Free :
                            f_transmit_q.target.kind != nic_pkg::Free);
    end
    if (f_was_blocked_q && f_who == 2'd0) begin
      a_receive_stands : assert (f_receive_q.target.kind == nic_pkg::Free);
    end
    if (f_was_blocked_q && f_who == 2'd1) begin
      a_transmit_stands : assert (f_transmit_q.target.kind == nic_pkg::Free);
    end
    if (f_was_blocked_q && locked_q) begin
      a_in_lock : assert (f_wait_q <= FTurns + 26'd1 + 26'(f_age_q) && f_open_q == '0);
    end
    if (f_was_blocked_q && !locked_q) begin
      a_behind : assert (f_wait_q <= FTurns + 26'd2 + 26'(f_lock_cycles) + f_open_q);
    end
    // The bounds.
    a_wait : assert (f_wait_q <= 26'(f_lock_cycles) + FTurns + 26'd4);
    if (f_who == 2'd2) a_port_wait : assert (f_wait_q <= 26'd4);
  end
end

// ------------------------------------------------------------------ what must be possible

logic f_both_q = 1'b0;
always_ff @(posedge clk_i) f_both_q <= !rst_i && (f_both_q || (f_has_q[0] && level_mem[0] == '0));
always_comb begin
  c_returned : cover (f_past_q && f_both_q && f_returning[0] && !locked_q);
  c_order : cover (f_out_q && f_both_q);
  c_waited : cover (f_was_blocked_q && f_who == 2'd1 && grant[1] && f_lock_cycles == 24'd3);
  c_denied : cover (is_denied && op_q.push);
  c_bad : cover (is_bad && !is_denied && f_has_q[1] && op_q.pointer[2:0] == '0 && valid_q[2]);
end
