// The NIC's packet memory: two banks, chosen by address bit 3, each with a write and a read port.
//
// Port 0 is the receive engine, port 1 the transmit engine; other engines follow, then processors. A
// bank's port goes to the lowest engine that wants it, else to a processor; what does not get it
// waits. Processors take turns: the one whose turn it is goes before the others, until it is served
// or asks for nothing. Port 0 only writes: reads of port 1 never wait.
//
// A processor's request with `lock` waits for its turn, and holds back the other processors until
// its next request without, LockCycles at most. Engines are not held back: they use only buffers
// that the NIC owns, and the frame that leaves must not get a gap.
//
// A write stores the bytes of its mask. Address bits 2:0 are ignored. An address outside
// answers err and changes nothing. A read in the cycle of another port's write to the same dword
// gives either value.
//
// Throughput: each port one request a cycle; each bank one read and one write. Latency: the
// response stands 2 cycles after the request was taken, of a write too. Back-pressure: responses
// wait for ready, requests then for them. One clock.
`default_nettype none

module nic_memory #(
    parameter int unsigned Ports       = 3,
    parameter int unsigned Engines     = 2,
    parameter int unsigned AddressBits = 17,  // of bytes: 17 for 128 KiB, 18 for 256 KiB
    parameter int unsigned Page        = 0,  // the first byte is at Page << AddressBits
    parameter int unsigned LockCycles  = 64
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Of acb_request_t and acb_response_t, port 0 in the lowest bits.
    input  wire logic [                        Ports-1:0] request_valid_i,
    output      logic [                        Ports-1:0] request_ready_o,
    input  wire logic [ Ports*nic_pkg::AcbRequestBits-1:0] request_i,
    output      logic [                        Ports-1:0] response_valid_o,
    input  wire logic [                        Ports-1:0] response_ready_i,
    output      logic [Ports*nic_pkg::AcbResponseBits-1:0] response_o
);

  localparam int unsigned Aw = AddressBits - 4;  // of a bank
  localparam int unsigned Pw = $clog2(Ports);

  if (Engines < 2 || Ports <= Engines) begin : g_bad_ports
    $error("there must be two engines and a processor");
  end
  if (AddressBits < 5 || AddressBits > 35 || 64'(Page) << AddressBits >= 64'd1 << 36) begin : g_bad
    $error("it must be of 32 bytes at least, and within 36 bits of address");
  end

  // Of all ports and banks: who wants to write and to read, and who is granted.
  logic [Ports-1:0] is_asking, is_outside, is_held, has_room, taken;
  logic [1:0][Ports-1:0] wants_write, wants_read, writes, reads;
  logic [Ports-1:0] is_read, locks;
  logic [Ports-1:0][Aw-1:0] address;
  logic [Ports-1:0][7:0] mask;
  logic [Ports-1:0][63:0] data;

  // ------------------------------------------------------------------ the lock and turns

  logic lock;
  logic [Pw-1:0] owner, turn_q;

  nic_lock #(
      .Ports     (Ports),
      .Engines   (Engines),
      .LockCycles(LockCycles)
  ) u_lock (
      .clk_i  (clk_i),
      .rst_i  (rst_i),
      .taken_i(taken),
      .locks_i(locks),
      .waits_i(1'b0),
      .lock_o (lock),
      .owner_o(owner)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) turn_q <= Pw'(Engines);
    else if (taken[turn_q] || !request_valid_i[turn_q])
      turn_q <= turn_q == Pw'(Ports - 1) ? Pw'(Engines) : turn_q + 1'b1;
  end

  // One of those that want: the lowest engine, the processor whose turn it is, the lowest other.
  function automatic logic [Ports-1:0] granted(input logic [Ports-1:0] wants,
                                               input logic [Pw-1:0] turn);
    granted = wants;
    if (|wants[Engines-1:0]) granted[Ports-1:Engines] = '0;
    else if (wants[turn]) granted = Ports'(1) << turn;
    granted = granted & (~granted + 1'b1);
  endfunction

  always_comb begin
    for (int b = 0; b < 2; b++) begin
      writes[b] = granted(wants_write[b], turn_q);
      reads[b]  = granted(wants_read[b], turn_q);
    end
    taken = is_asking & (is_outside | writes[0] | writes[1] | reads[0] | reads[1]);
  end
  assign request_ready_o = taken;

  // ------------------------------------------------------------------ banks

  logic [1:0][63:0] bank_q;

  for (genvar b = 0; b < 2; b++) begin : g_bank
    logic [Aw-1:0] write_address, read_address;
    logic [ 7:0] write_mask;
    logic [63:0] write_data;

    always_comb begin
      write_address = '0;
      write_mask    = '0;
      write_data    = '0;
      read_address  = '0;
      for (int p = 0; p < int'(Ports); p++) begin
        write_address |= address[p] & {Aw{writes[b][p]}};
        write_mask |= mask[p] & {8{writes[b][p]}};
        write_data |= data[p] & {64{writes[b][p]}};
        read_address |= address[p] & {Aw{reads[b][p]}};
      end
    end

    // A buffer has one owner: no port reads what another one writes in the same cycle.
    (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
    logic [63:0] mem[1<<Aw];
    always_ff @(posedge clk_i) begin
      for (int i = 0; i < 8; i++) begin
        if (write_mask[i]) mem[write_address][8*i+:8] <= write_data[8*i+:8];
      end
    end
    always_ff @(posedge clk_i) begin
      if (|reads[b]) bank_q[b] <= mem[read_address];
    end
  end

  // ------------------------------------------------------------------ ports

  for (genvar p = 0; p < int'(Ports); p++) begin : g_port
    nic_pkg::acb_request_t request;
    assign request       = request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits];
    assign address[p]    = request.address[AddressBits-1:4];
    assign mask[p]       = request.mask;
    assign data[p]       = request.data;
    assign is_read[p]    = request.read;
    assign locks[p]      = p >= int'(Engines) && request.lock;
    assign is_outside[p] = request.address[35:AddressBits] != (36 - AddressBits)'(Page);
    // One takes the lock in its turn, and alone.
    assign is_held[p]    = p >= int'(Engines) && (lock ? owner != Pw'(p) :
        turn_q != Pw'(p) && (locks[p] || (request_valid_i[turn_q] && locks[turn_q])));
    assign is_asking[p]  = request_valid_i[p] && has_room[p] && !is_held[p];
    for (genvar b = 0; b < 2; b++) begin : g_wants
      logic is_here;
      assign is_here           = is_asking[p] && !is_outside[p] && request.address[3] == 1'(b);
      assign wants_write[b][p] = is_here && !request.read;
      assign wants_read[b][p]  = is_here && request.read;
    end

    // A response passes the bank's register, then stands at the output; one more finds room behind.
    logic stage_q, out_q, held_q;
    logic stage_bank_q, stage_err_q, moves;
    nic_pkg::acb_response_t stage, response_q, held_response_q;

    assign moves       = !out_q || response_ready_i[p];
    assign has_room[p] = !held_q && (moves || !stage_q);
    assign stage.err   = stage_err_q;
    assign stage.data  = bank_q[stage_bank_q];

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        stage_q <= 1'b0;
        out_q   <= 1'b0;
        held_q  <= 1'b0;
      end else begin
        stage_q <= taken[p];
        if (moves) out_q <= held_q || stage_q;
        held_q <= !moves && (held_q || stage_q);
      end
    end

    always_ff @(posedge clk_i) begin
      stage_bank_q <= request.address[3];
      stage_err_q  <= is_outside[p];
      if (moves) response_q <= held_q ? held_response_q : stage;
      if (stage_q) held_response_q <= stage;
    end

    assign response_valid_o[p] = out_q;
    assign response_o[p*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits] = response_q;
  end

`ifdef FORMAL
  `include "nic_memory_props.svh"
`endif

endmodule

`default_nettype wire
