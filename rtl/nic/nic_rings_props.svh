// nic_rings: each operation gives what a ring of its definition gives, or fails and changes nothing,
// whenever memory answers and whatever it fails. Included for formal runs.
//
// Of one ring and one entry, chosen freely: what memory has, and what the ring should have. A request
// that fails changes nothing. nic_queues keeps an operation until it is done, and has none in a
// sweep: its own proof asserts both. Invariants: they hold for ever by induction.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;

(* anyconst *) logic [QueueBits-1:0] f_queue;
(* anyconst *) logic [EntryBits-1:0] f_slot;

// ------------------------------------------------------------------ memory

(* anyseq *) logic f_fails;
logic f_open_q = 1'b0, f_err_q, f_is_control, f_is_entry, f_reads_q, f_taken;
logic [31:0] f_control_q, f_entry_q, f_data_q;  // dword 0, the entry; what a read gives
logic f_known_q;  // it reads one of both
logic [EntryBits:0] f_offset;

assign f_offset     = request_o.address[3+:EntryBits+1];
assign f_is_control = request_o.address[EntryBits+4+:QueueBits] == f_queue && f_offset == '0;
assign f_is_entry   = request_o.address[EntryBits+4+:QueueBits] == f_queue &&
    f_offset == {1'b1, f_slot};
assign f_taken      = request_valid_o && request_ready_i;

always_ff @(posedge clk_i) begin
  f_open_q <= !rst_i && (f_taken || (f_open_q && !response_valid_i));
  if (f_taken) begin
    f_err_q   <= f_fails;
    f_known_q <= request_o.read && (f_is_control || f_is_entry);
    f_data_q  <= f_is_control ? f_control_q : f_entry_q;
    if (!request_o.read && !f_fails && f_is_control) f_control_q <= request_o.data[31:0];
    if (!request_o.read && !f_fails && f_is_entry) f_entry_q <= request_o.data[31:0];
  end
end

logic f_waits_q = 1'b0, f_push_q;
logic [QueueBits-1:0] f_op_queue_q;
logic [28:0] f_pointer_q;
always_ff @(posedge clk_i) begin
  f_waits_q    <= op_valid_i && !done_o && !rst_i;
  f_push_q     <= push_i;
  f_op_queue_q <= queue_i;
  f_pointer_q  <= pointer_i;
end

always_comb begin
  if (!f_past_q) assume (rst_i);
  if (response_valid_i) assume (f_open_q && response_i.err == f_err_q);
  if (response_valid_i && f_known_q && !f_err_q) assume (response_i.data[31:0] == f_data_q);
  if (f_waits_q) assume (op_valid_i && push_i == f_push_q && queue_i == f_op_queue_q &&
                         pointer_i == f_pointer_q);
  if (sweeps_o) assume (!op_valid_i);
end

// ------------------------------------------------------------------ the ring by its definition

logic f_here, f_full, f_empty, f_inside;
logic [CountBits-1:0] f_level_q;
logic [EntryBits-1:0] f_head_q, f_end;
logic [28:0] f_word_q;

assign f_here   = op_valid_i && queue_i == f_queue;
assign f_full   = f_level_q == CountBits'(Depth);
assign f_empty  = f_level_q == '0;
assign f_end    = f_head_q + f_level_q[EntryBits-1:0];
assign f_inside = CountBits'(EntryBits'(f_slot - f_head_q)) < f_level_q;

always_ff @(posedge clk_i) begin
  if (done_o && !failed_o && f_here) begin
    if (push_i && !f_full) begin
      f_level_q <= f_level_q + 1'b1;
      if (f_end == f_slot) f_word_q <= pointer_i;
    end
    if (!push_i && !f_empty) begin
      f_level_q <= f_level_q - 1'b1;
      f_head_q  <= f_head_q + 1'b1;
    end
  end
  if (rst_i) begin
    f_level_q <= '0;
    f_head_q  <= '0;
  end
end

// Accesses of an operation, and whether one has failed.
logic [1:0] f_count_q = '0;
logic f_failed_q = 1'b0;
always_ff @(posedge clk_i) begin
  if (f_taken && !sweeps_o) f_count_q <= f_count_q + 1'b1;
  if (response_valid_i && response_i.err && !sweeps_o) f_failed_q <= 1'b1;
  if (done_o || rst_i) {f_count_q, f_failed_q} <= '0;
end

// ------------------------------------------------------------------ what holds

always_comb begin
  if (f_past_q) begin
    a_one : assert (!(request_valid_o && f_open_q));
    a_place : assert (!request_valid_o || (&request_o.mask && !request_o.lock &&
                      request_o.address[35:QueueBits+EntryBits+4] == PageBits'(Page)));
    a_own : assert (!request_valid_o || sweeps_o ||
                    (op_valid_i && request_o.address[EntryBits+4+:QueueBits] == queue_i));
    if (done_o) a_done : assert (op_valid_i && !f_open_q);
    a_count : assert (f_count_q <= 2'd3);
    if (done_o) a_failed : assert (failed_o == (f_failed_q || broken_q));
    if (done_o && !failed_o && f_here) begin
      a_level : assert (level_o == f_level_q);
      if (!push_i && !f_empty && f_head_q == f_slot) a_popped : assert (popped_o == f_word_q);
    end
    if (broken_q && !sweeps_o) a_broken : assert (!request_valid_o);
  end
end

// ------------------------------------------------------------------ invariants

logic f_is_none, f_written, f_is_done;
assign f_is_none = push_i ? f_full : f_empty;
assign f_is_done = state_q == Done && !failed_q && !f_is_none;
// Memory has the new dword 0 already.
assign f_written = f_here && ((state_q == Update && asked_q && !f_err_q) || f_is_done);

always_comb begin
  if (f_past_q) begin
    i_asked : assert (asked_q == f_open_q);
    i_states : assert (state_q == Sweep || state_q == Level || state_q == Entry ||
                       state_q == Update || state_q == Done);
    i_bounds : assert (f_level_q <= CountBits'(Depth));
    if (state_q == Entry || state_q == Update || state_q == Done || (state_q == Level && asked_q))
      i_op : assert (op_valid_i);
    // How far an operation is.
    if (state_q == Level) i_none : assert (!f_failed_q && f_count_q == 2'(asked_q));
    if (state_q == Entry) i_entry : assert (!f_failed_q && f_count_q == 2'd1 + 2'(asked_q));
    if (state_q == Update) i_update : assert (!f_failed_q && f_count_q == 2'd2 + 2'(asked_q));
    if (state_q == Done) i_ended : assert (failed_q == (f_failed_q || broken_q));
    if (broken_q) i_still : assert (state_q == Sweep || (state_q == Level && !asked_q) ||
                                    state_q == Done);
    if (state_q == Sweep) begin
      i_sweep : assert (f_level_q == '0 && f_head_q == '0 && !f_failed_q && f_count_q == '0);
      if (!broken_q && (sweep_queue_q > f_queue ||
                        (sweep_queue_q == f_queue && asked_q && !f_err_q))) begin
        i_swept : assert (f_control_q == '0);
      end
    end else if (!broken_q) begin
      if (!f_written) begin
        i_control : assert (f_control_q == {16'(f_head_q), 16'(f_level_q)});
      end else begin
        i_written : assert (f_control_q == (push_i ? {16'(f_head_q), 16'(f_level_q + 1'b1)} :
                            {16'(EntryBits'(f_head_q + 1'b1)), 16'(f_level_q - 1'b1)}));
      end
      if (f_inside) i_word : assert (f_entry_q[31:3] == f_word_q);
    end
    // What was read.
    if (f_here && (state_q == Entry || state_q == Update || (state_q == Done && !failed_q))) begin
      i_level : assert (level_q == f_level_q && head_q == f_head_q);
    end
    if (f_here && (state_q == Entry || state_q == Update)) i_room : assert (!f_is_none);
    if (f_here && asked_q && state_q == Level) begin
      i_reads : assert (f_known_q && f_data_q == {16'(f_head_q), 16'(f_level_q)});
    end
    if (f_here && asked_q && state_q == Entry && !push_i && f_head_q == f_slot) begin
      i_reads_entry : assert (f_known_q && f_data_q == f_entry_q);
    end
    if (f_here && (state_q == Update || f_is_done) && !push_i && f_head_q == f_slot) begin
      i_popped : assert (popped_q == f_word_q);
    end
    if (f_here && push_i && f_end == f_slot && ((state_q == Entry && asked_q && !f_err_q) ||
                                                state_q == Update || f_is_done)) begin
      i_pushed : assert (f_entry_q[31:3] == pointer_i);
    end
  end
end

// ------------------------------------------------------------------ what must be possible

always_comb begin
  c_push : cover (f_past_q && done_o && !failed_o && f_here && push_i && f_level_q == CountBits'(1));
  c_pop : cover (f_past_q && done_o && !failed_o && f_here && !push_i && f_level_q == CountBits'(1));
  c_failed : cover (f_past_q && done_o && failed_o && f_count_q == 2'd3);
  c_broken : cover (f_past_q && done_o && broken_q);
end
