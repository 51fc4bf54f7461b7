// The queues of the NIC as rings in memory (NIC_1.1 of T), for nic_queues: one operation at a time,
// by ACB.
//
// A ring has 16 * Depth bytes; all of them lie on Page, in units of 2^(QueueBits + EntryBits + 4)
// bytes (16 KiB at 4 servers of 64), at their queue's number {kind, server}. Dword 0 of a ring has
// its entries in bits 15:0 and its first one in 31:16; entry n is a pointer in dword Depth + n.
//
// A push reads dword 0, writes the entry and writes dword 0; a pop reads dword 0, reads the entry
// and writes dword 0. Each access waits for the answer to the one before it. Dword 0 is all that a
// push to a full ring or a pop of an empty one reads.
//
// op_valid_i and what belongs to it stand until done_o. Latency: done_o comes 3 * (M + 1) cycles
// after the operation's first, M + 1 where the ring is full or empty, if memory answers M cycles
// after a request's first cycle.
//
// err: the operation ends with failed_o, and the ring is as before, since a request that fails
// changes nothing. A reset writes dword 0 of each ring (sweeps_o meanwhile). Where that fails,
// each operation does, without an access, until the next reset. One request is under way; its
// response is taken as it comes, and memory has the same reset. No clock crossing.
`default_nettype none

module nic_rings #(
    parameter  int unsigned Servers   = nic_pkg::Servers,
    parameter  int unsigned Depth     = nic_pkg::Depth,
    parameter  int unsigned Page      = 0,
    localparam int unsigned CountBits = $clog2(Depth) + 1,
    localparam int unsigned EntryBits = $clog2(Depth),
    localparam int unsigned QueueBits = 2 + (Servers > 1 ? $clog2(Servers) : 1)
) (
    input wire logic clk_i,
    input wire logic rst_i,

    output      logic                 sweeps_o,
    input  wire logic                 op_valid_i,
    input  wire logic                 push_i,
    input  wire logic [QueueBits-1:0] queue_i,
    input  wire logic [         28:0] pointer_i,  // of a push; address / 8
    output      logic                 done_o,
    output      logic                 failed_o,
    output      logic [CountBits-1:0] level_o,    // before the operation
    output      logic [         28:0] popped_o,

    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    input  wire nic_pkg::acb_response_t response_i
);

  localparam int unsigned PageBits = 36 - QueueBits - EntryBits - 4;

  if (Depth != 1 << EntryBits || Depth < 2) begin : g_bad_depth
    $error("nic_rings: Depth is a power of two, from 2 on");
  end
  if (64'(Page) >> PageBits != '0) begin : g_bad_page
    $error("nic_rings: Page is beyond 36 bits of address");
  end

  typedef enum logic [2:0] {
    Sweep,
    Level,   // is to be read, once there is an operation
    Entry,   // is to be read or written
    Update,  // of the level
    Done
  } state_e;

  state_e state_q, state_d;
  logic asked_q;  // the request of this state has been taken
  logic broken_q;  // a ring is not empty
  logic failed_q, answers, is_none;
  logic [QueueBits-1:0] sweep_queue_q;
  logic [CountBits-1:0] level, level_q, level_d;
  logic [EntryBits-1:0] head_q, head_d, entry;
  logic [28:0] popped_q;

  assign answers = response_valid_i && asked_q;
  assign level   = response_i.data[CountBits-1:0];
  assign is_none = push_i ? level[EntryBits] : level == '0;
  assign level_d = push_i ? level_q + 1'b1 : level_q - 1'b1;
  assign head_d  = push_i ? head_q : head_q + 1'b1;
  assign entry   = push_i ? head_q + level_q[EntryBits-1:0] : head_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Sweep: if (answers && &sweep_queue_q) state_d = Level;
      Level: begin
        if (op_valid_i && broken_q) state_d = Done;
        else if (answers) state_d = response_i.err || is_none ? Done : Entry;
      end
      Entry: if (answers) state_d = response_i.err ? Done : Update;
      Update: if (answers) state_d = Done;
      default: state_d = Level;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q       <= Sweep;
      asked_q       <= 1'b0;
      broken_q      <= 1'b0;
      sweep_queue_q <= '0;
    end else begin
      state_q <= state_d;
      asked_q <= (asked_q || (request_valid_o && request_ready_i)) && !answers;
      if (state_q == Sweep && answers) begin
        sweep_queue_q <= sweep_queue_q + 1'b1;
        broken_q      <= broken_q || response_i.err;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    failed_q <= answers ? response_i.err : failed_q || broken_q;
    if (answers && state_q == Level) begin
      level_q <= level;
      head_q  <= response_i.data[16+:EntryBits];
    end
    if (answers && state_q == Entry) popped_q <= response_i.data[31:3];
  end

  assign sweeps_o = state_q == Sweep;
  assign done_o   = state_q == Done;
  assign failed_o = failed_q;
  assign level_o  = level_q;
  assign popped_o = popped_q;

  // ------------------------------------------------------------------ requests

  // Nothing leaves in a reset: memory might answer behind it.
  always_comb begin
    unique case (state_q)
      Sweep: request_valid_o = !asked_q && !rst_i;
      Level: request_valid_o = !asked_q && !rst_i && op_valid_i && !broken_q;
      Entry, Update: request_valid_o = !asked_q && !rst_i;
      default: request_valid_o = 1'b0;
    endcase
  end

  always_comb begin
    request_o.lock    = 1'b0;
    request_o.mask    = '1;
    request_o.read    = state_q == Level || (state_q == Entry && !push_i);
    request_o.address = {PageBits'(Page), queue_i, 1'b0, EntryBits'(0), 3'd0};
    request_o.data    = '0;
    unique case (state_q)
      Sweep: request_o.address[EntryBits+4+:QueueBits] = sweep_queue_q;
      Entry: begin
        request_o.address[3+:EntryBits+1] = {1'b1, entry};
        request_o.data[31:0]              = {pointer_i, 3'd0};
      end
      Update: request_o.data[31:0] = {16'(head_d), 16'(level_d)};
      default: ;
    endcase
  end

`ifdef FORMAL
  `include "nic_rings_props.svh"
`endif

endmodule

`default_nettype wire
