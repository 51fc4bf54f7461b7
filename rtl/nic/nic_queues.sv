// The queues of the NIC in one memory: a free queue, a receive and a transmit queue of each server.
//
// Requesters 0 and 1 are the engines, 2 the processor ports (port_i: which one); a test module is
// 3. An operation waits for its ready and is done in the next cycle, so that operations are atomic
// and in one order. Throughput: an operation a cycle; one of ports in three. Latency: the result
// comes 2 cycles after the request's first cycle where nothing else is requested; result_valid_o
// names the requester. Requesters take turns: one that waits sees at most one operation of each
// other.
//
// Ports own buffers until they push them: a push needs the start of a buffer (base_i, bits_i: log2
// of its bytes, count_i) that the NIC does not own, and gives it to the NIC; a pop gives it to the
// port. Engines and the test module move buffers that the NIC owns, and are trusted.
//
// The lock: while a port holds it, operations on the free queue from other ports fail, and those of
// the others have no ready. It ends with lock_cycles_i at the latest, and is not given again before
// each operation that waited for it is done. So an engine's operation waits for lock_cycles_i + 6
// cycles at most, and for 2 where there is no lock; a port's waits for 4.
//
// With Rings the queues lie in memory, on RingsPage (nic_rings), as in NIC_1.1 of T. An operation
// stays under way (port_held_o: one of the ports) until the memory behind ACB has answered its
// accesses, one after the other, and all others wait for it. If memory answers err, its result is
// ResultFailed: the queue is as before, the buffer stays where it was. The bounds above grow by the
// time of operations before; all else is the same. Without Rings ACB is unused.
//
// base_i, bits_i and count_i change only while owns_o is low, two cycles after a result or later. A
// reset takes Buffers cycles, with Rings until memory has emptied them; nothing is ready meanwhile.
// No clock crossing.
`default_nettype none

module nic_queues #(
    parameter  int unsigned Requesters = 3,
    parameter  int unsigned Servers    = nic_pkg::Servers,
    parameter  int unsigned Depth      = nic_pkg::Depth,
    parameter  int unsigned Buffers    = 128,
    parameter  int unsigned Ports      = 2,
    parameter  bit          Rings      = 1'b0,
    parameter  int unsigned RingsPage  = 0,
    localparam int unsigned PortBits   = Ports > 1 ? $clog2(Ports) : 1,
    localparam int unsigned CountBits  = $clog2(Depth) + 1,
    localparam int unsigned IndexBits  = $clog2(Buffers)
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic         [       28:0] base_i,         // address / 8
    input  wire logic         [        2:0] bits_i,         // buffers of 128 << bits_i bytes
    input  wire logic         [IndexBits:0] count_i,
    input  wire logic         [       23:0] lock_cycles_i,

    input  wire logic [               Requesters-1:0] op_valid_i,
    input  wire logic [Requesters*nic_pkg::OpBits-1:0] op_i,  // of nic_pkg::op_t; 0 is lowest
    input  wire logic [                 PortBits-1:0] port_i,
    output      logic [               Requesters-1:0] op_ready_o,
    output      logic [               Requesters-1:0] result_valid_o,
    output      logic [                         31:0] result_o,
    output      logic                                 port_held_o,

    // How full they are, with all operations before this cycle but the last.
    output      logic                           free_waits_o,      // is not empty
    output      logic            [ Servers-1:0] receive_waits_o,
    output      logic            [ Servers-1:0] receive_full_o,
    output      logic            [ Servers-1:0] transmit_waits_o,
    output      logic            [ Servers-1:0] transmit_full_o,
    input  wire nic_pkg::queue_t                level_queue_i,
    output      logic            [CountBits-1:0] level_o,          // of it, in the same cycle

    output logic owns_o,  // a buffer; with all operations before this cycle but the last two

    // The memory of Rings.
    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    input  wire nic_pkg::acb_response_t response_i,

    output logic ev_bad_o,      // a push of a port failed: no buffer, or owned
    output logic ev_full_o,     // .. the queue is full
    output logic ev_locked_o,   // a port's operation failed: another holds the lock
    output logic ev_revoked_o,  // the lock has ended by itself
    output logic ev_failed_o    // an operation failed: memory answered err
);

  localparam int unsigned PortRequester = 2;
  localparam int unsigned ServerBits = Servers > 1 ? $clog2(Servers) : 1;
  localparam int unsigned EntryBits = $clog2(Depth);
  localparam int unsigned QueueBits = 2 + ServerBits;
  localparam int unsigned SweepBits = IndexBits > QueueBits ? IndexBits : QueueBits + 1;
  localparam int unsigned SmallestLog2 = 7;  // bytes of the smallest buffer
  localparam int unsigned ReturnedBits = SmallestLog2 - 3 + 7 + IndexBits;  // what the index needs

  if (Requesters < 3 || Requesters > 4) begin : g_bad_requesters
    $error("nic_queues: two engines, the ports, and a test module or none");
  end
  if (Depth != 1 << EntryBits || Buffers != 1 << IndexBits) begin : g_bad_depth
    $error("nic_queues: Depth and Buffers are powers of two");
  end
  if (Servers < 2 || Servers > 4) begin : g_bad_servers
    $error("nic_queues: 2 to 4 servers");
  end

  // ------------------------------------------------------------------ turns

  // A pop returns its buffer behind the result, and the next operation of a port comes behind that.
  logic [1:0] port_wait_q;
  logic sweep_q;
  logic [SweepBits-1:0] sweep_index_q;
  logic lock_pop_q;  // a port's operation in this cycle: it wants the lock
  logic locked_q;
  logic closed;  // to operations on the free queue: the lock is taken, or was before
  logic held;  // the operation that is under way is not done
  logic sweeps;  // rings are being emptied
  logic [Requesters-1:0] owed_q;  // operations that wait because of the lock

  assign closed = locked_q || (lock_pop_q && owed_q == '0);

  logic [1:0] last_q;  // requester
  logic [Requesters-1:0] may, blocked, grant;

  for (genvar n = 0; n < Requesters; n++) begin : g_request
    nic_pkg::op_t op;
    assign op = op_i[n*nic_pkg::OpBits+:nic_pkg::OpBits];
    assign blocked[n] = n != PortRequester && op.target.kind == nic_pkg::Free && closed;
    assign may[n] = op_valid_i[n] && !blocked[n] && !sweep_q && !sweeps && !held &&
        (n != PortRequester || port_wait_q == '0);
  end

  nic_pkg::op_t port_op;
  assign port_op = op_i[PortRequester*nic_pkg::OpBits+:nic_pkg::OpBits];

  // The lowest above the last one, else the lowest.
  always_comb begin
    grant = '0;
    for (int n = int'(Requesters) - 1; n >= 0; n--) begin
      if (may[n]) grant = Requesters'(1) << n;
    end
    for (int n = int'(Requesters) - 1; n >= 0; n--) begin
      if (may[n] && 2'(n) > last_q) grant = Requesters'(1) << n;
    end
  end

  assign op_ready_o = grant;

  nic_pkg::op_t op, op_q;
  logic [Requesters-1:0] valid_q;
  logic [PortBits-1:0] port_q;

  always_comb begin
    op = '0;
    for (int unsigned n = 0; n < Requesters; n++) begin
      op = op | (grant[n] ? op_i[n*nic_pkg::OpBits+:nic_pkg::OpBits] : '0);
    end
  end

  // While the sweep is on nothing is granted; the queues that it clears pass here too.
  always_ff @(posedge clk_i) begin
    if (!held) begin
      op_q   <= op;
      port_q <= port_i;
    end
    if (sweep_q) begin
      op_q.target <= {sweep_index_q[QueueBits-1:ServerBits], 2'(sweep_index_q[ServerBits-1:0])};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!held) valid_q <= grant;
    lock_pop_q  <= grant[PortRequester] && port_op.target.kind == nic_pkg::Lock && !port_op.push;
    port_wait_q <= {port_wait_q[0] && !port_held_o, grant[PortRequester] || port_held_o};
    for (int unsigned n = 0; n < Requesters; n++) begin
      if (grant[n]) last_q <= 2'(n);
    end
    if (rst_i) begin
      valid_q     <= '0;
      lock_pop_q  <= 1'b0;
      port_wait_q <= '0;
      last_q      <= '0;
    end
  end

  // ------------------------------------------------------------------ places of buffers

  logic pushed_q;  // the result is of a port's push that succeeded
  logic returns_q;  // the result is a buffer that goes to a port
  logic is_returned_q;  // returned_q is its place
  logic [28:0] place, place_q;  // of a port's buffer, in units of 8 bytes
  logic [ReturnedBits-1:0] returned_q;
  logic is_within_q;  // a buffer: not at its start
  logic [31:0] limit_q;  // of places
  logic [10:0] low_mask_q;
  logic [IndexBits-1:0] index_q;

  always_ff @(posedge clk_i) begin
    limit_q    <= 32'(count_i) << (bits_i + 4'(SmallestLog2 - 3));
    low_mask_q <= ~(11'h7F0 << bits_i);
  end

  assign place = port_op.pointer[31:3] - base_i;

  function automatic logic [IndexBits-1:0] index_of(input logic [ReturnedBits-1:0] of_place,
                                                    input logic [2:0] bits);
    index_of = '0;
    for (int unsigned n = 0; n < 8; n++) begin
      if (bits == 3'(n)) index_of = of_place[SmallestLog2-3+n+:IndexBits];
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (!port_held_o) begin
      place_q     <= place;
      is_within_q <= |port_op.pointer[2:0] || |(place[10:0] & low_mask_q);
      index_q     <= index_of(place[ReturnedBits-1:0], bits_i);
    end
  end

  // Computed apart: the way from the queues' memory through the index is long.
  always_ff @(posedge clk_i) returned_q <= ReturnedBits'(result_o[31:3] - base_i);

  // What the NIC owns. Cleared by the sweep.
  (* ram_style = "distributed" *) logic owned_mem[Buffers];
  logic owned, owned_we, owned_d;
  logic [IndexBits-1:0] owned_index;

  assign owned = owned_mem[index_q];

  always_ff @(posedge clk_i) begin
    sweep_index_q <= rst_i ? '0 : sweep_index_q + 1'b1;
    sweep_q       <= rst_i || (sweep_q && !(&sweep_index_q));
    if (owned_we) owned_mem[owned_index] <= owned_d;
  end

  // ------------------------------------------------------------------ the operation

  // Entries and first entry of each queue, cleared by the sweep.
  (* ram_style = "distributed" *) logic [CountBits-1:0] level_mem[1<<QueueBits];
  (* ram_style = "distributed" *) logic [EntryBits-1:0] head_mem[1<<QueueBits];

  logic is_valid, is_port, is_lock, is_holder, is_denied, is_bad, is_full, is_empty;
  logic is_queued, done, failed, push, pop, lock_push;
  logic [QueueBits-1:0] queue;
  logic [CountBits-1:0] level, level_d;
  logic [EntryBits-1:0] head, entry;
  logic [PortBits-1:0] holder_q;

  assign queue     = {op_q.target.kind, op_q.target.server[ServerBits-1:0]};
  assign head      = head_mem[queue];
  assign is_valid  = valid_q != '0;
  assign is_port   = valid_q[PortRequester];
  assign is_lock   = op_q.target.kind == nic_pkg::Lock;
  assign is_holder = locked_q && holder_q == port_q;
  assign is_denied = is_port && op_q.target.kind == nic_pkg::Free && locked_q && !is_holder;
  assign is_bad    = is_port && (owned || is_within_q || 32'(place_q) >= limit_q);
  assign is_full   = level[EntryBits];
  assign is_empty  = level == '0;
  assign is_queued = is_valid && !is_lock && !is_denied && !(op_q.push && is_bad);
  assign push      = is_valid && op_q.push && !is_lock && !is_denied && !is_bad && !is_full &&
                     done && !failed;
  assign pop       = is_valid && !op_q.push && !is_lock && !is_denied && !is_empty &&
                     done && !failed;
  assign lock_push = is_port && is_lock && op_q.push && op_q.pointer[0];

  assign level_d   = op_q.push ? level + 1'b1 : level - 1'b1;
  assign entry     = op_q.push ? head + level[EntryBits-1:0] : head;

  always_ff @(posedge clk_i) begin
    if (sweep_q || push || pop) begin
      level_mem[queue] <= sweep_q ? '0 : level_d;
    end
    if (sweep_q || pop) begin
      head_mem[queue] <= sweep_q ? '0 : head + 1'b1;
    end
  end

  logic [IndexBits:0] owned_count_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) owned_count_q <= '0;
    else if (pushed_q) owned_count_q <= owned_count_q + 1'b1;
    else if (returns_q) owned_count_q <= owned_count_q - 1'b1;
  end

  assign owns_o      = owned_count_q != '0;
  assign owned_we    = sweep_q || (push && is_port) || is_returned_q;
  assign owned_d     = !sweep_q && !is_returned_q;
  assign owned_index = sweep_q ? sweep_index_q[IndexBits-1:0] :
      is_returned_q ? index_of(returned_q, bits_i) : index_q;

  assign level_o = level_mem[{level_queue_i.kind, level_queue_i.server[ServerBits-1:0]}];

  // One word is written or read in a cycle. What is no buffer reads as zero. With Rings nothing
  // reads it, nor head_mem, and synthesis removes both; level_mem is a copy for level_o.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
  logic [28:0] queue_mem[1<<(QueueBits+EntryBits)];
  logic [28:0] popped_q, ring_popped;
  logic [2:0] status, status_q;

  always_ff @(posedge clk_i) if (push) queue_mem[{queue, entry}] <= op_q.pointer[31:3];

  always_ff @(posedge clk_i) begin
    if (!pop) popped_q <= '0;
    else popped_q <= Rings ? ring_popped : queue_mem[{queue, entry}];
  end

  // ------------------------------------------------------------------ rings

  if (Rings) begin : g_rings
    logic ring_done, ring_failed;

    nic_rings #(
        .Servers(Servers),
        .Depth  (Depth),
        .Page   (RingsPage)
    ) u_rings (
        .clk_i           (clk_i),
        .rst_i           (rst_i),
        .sweeps_o        (sweeps),
        .op_valid_i      (is_queued),
        .push_i          (op_q.push),
        .queue_i         (queue),
        .pointer_i       (op_q.pointer[31:3]),
        .done_o          (ring_done),
        .failed_o        (ring_failed),
        .level_o         (level),
        .popped_o        (ring_popped),
        .request_valid_o (request_valid_o),
        .request_ready_i (request_ready_i),
        .request_o       (request_o),
        .response_valid_i(response_valid_i),
        .response_i      (response_i)
    );

    assign done   = !is_queued || ring_done;
    assign failed = is_queued && ring_failed;
  end else begin : g_no_rings
    assign level           = level_mem[queue];
    assign ring_popped     = '0;
    assign sweeps          = 1'b0;
    assign done            = 1'b1;
    assign failed          = 1'b0;
    assign request_valid_o = 1'b0;
    assign request_o       = '0;
  end

  assign held        = is_valid && !done;
  assign port_held_o = is_port && !done;

  // ------------------------------------------------------------------ the lock

  logic [24:0] lock_left_q;  // cycles; below zero it is over
  logic lock_granted, is_over;

  assign lock_granted = (is_holder && !is_over) || (!locked_q && owed_q == '0);
  assign is_over      = locked_q && lock_left_q[24];

  always_ff @(posedge clk_i) begin
    lock_left_q <= (locked_q ? lock_left_q : {1'b0, lock_cycles_i}) - 25'd1;
    if (!locked_q) holder_q <= port_q;
  end

  always_ff @(posedge clk_i) begin
    if (lock_pop_q && lock_granted) locked_q <= 1'b1;
    if ((lock_push && is_holder) || is_over) locked_q <= 1'b0;
    owed_q <= op_valid_i & ~grant & (blocked | owed_q);
    if (rst_i) begin
      locked_q <= 1'b0;
      owed_q   <= '0;
    end
  end

  // ------------------------------------------------------------------ results

  always_comb begin
    if (is_lock) status = {2'b00, lock_pop_q && lock_granted};
    else if (is_denied) status = nic_pkg::ResultLocked[2:0];
    else if (failed) status = nic_pkg::ResultFailed[2:0];
    else if (!op_q.push) status = is_empty ? nic_pkg::ResultEmpty[2:0] : 3'd0;
    else if (is_bad) status = nic_pkg::ResultBad[2:0];
    else status = is_full ? nic_pkg::ResultFull[2:0] : nic_pkg::ResultDone[2:0];
  end

  always_ff @(posedge clk_i) begin
    status_q <= status;
  end

  always_ff @(posedge clk_i) begin
    result_valid_o <= rst_i || !done ? '0 : valid_q;
    pushed_q       <= !rst_i && push && is_port;
    returns_q      <= !rst_i && pop && is_port;
    is_returned_q  <= !rst_i && returns_q;
    ev_bad_o       <= !rst_i && is_port && done && status == nic_pkg::ResultBad[2:0];
    ev_full_o      <= !rst_i && is_port && done && status == nic_pkg::ResultFull[2:0];
    ev_locked_o    <= !rst_i && is_denied;
    ev_revoked_o   <= !rst_i && is_over && !(lock_push && is_holder);
    ev_failed_o    <= !rst_i && done && failed;
  end

  assign result_o = {popped_q, status_q};

  // ------------------------------------------------------------------ flags

  logic [3:0] receive_waits_q, receive_full_q, transmit_waits_q, transmit_full_q;

  always_ff @(posedge clk_i) begin
    if (push || pop) begin
      unique case (op_q.target.kind)
        nic_pkg::Receive: begin
          receive_waits_q[op_q.target.server] <= level_d != '0;
          receive_full_q[op_q.target.server]  <= level_d[EntryBits];
        end
        nic_pkg::Transmit: begin
          transmit_waits_q[op_q.target.server] <= level_d != '0;
          transmit_full_q[op_q.target.server]  <= level_d[EntryBits];
        end
        default: free_waits_o <= level_d != '0;
      endcase
    end
    if (rst_i) begin
      receive_waits_q  <= '0;
      receive_full_q   <= '0;
      transmit_waits_q <= '0;
      transmit_full_q  <= '0;
      free_waits_o     <= 1'b0;
    end
  end

  assign receive_waits_o  = receive_waits_q[Servers-1:0];
  assign receive_full_o   = receive_full_q[Servers-1:0];
  assign transmit_waits_o = transmit_waits_q[Servers-1:0];
  assign transmit_full_o  = transmit_full_q[Servers-1:0];

`ifdef FORMAL
  `include "nic_queues_props.svh"
`endif

endmodule

`default_nettype wire
