// The NIC's packet memory: two banks, chosen by address bit 3, each with a write and a read port.
//
// Port 0 is the receive engine, port 1 the transmit engine; other engines follow, then processors. A
// bank's port goes to the lowest engine that wants it, else to a processor; what does not get it
// waits. Processors take turns: the one whose turn it is goes before the others, until it is served
// or asks for nothing. Port 0 only writes, and never waits; nor do reads of port 1.
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
// response stands 3 cycles after the request was taken, of a write too. Back-pressure: responses
// of processors wait for ready, their requests then for them; engines take each at once. One clock.
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
    granted = '0;
    for (int p = int'(Ports) - 1; p >= 0; p--) if (wants[p]) granted = Ports'(1) << p;
    if (wants[Engines-1:0] == '0 && wants[turn]) granted = Ports'(1) << turn;
  endfunction

  always_comb begin
    for (int b = 0; b < 2; b++) begin
      writes[b] = granted(wants_write[b], turn_q);
      reads[b]  = granted(wants_read[b], turn_q);
    end
    taken = writes[0] | writes[1] | reads[0] | reads[1];
    // As above, without the way through the grants.
    taken[0] = is_asking[0];
    if (is_read[1]) taken[1] = is_asking[1];
  end
  assign request_ready_o = taken;

  // ------------------------------------------------------------------ banks

  logic [1:0][63:0] bank_q;

  for (genvar b = 0; b < 2; b++) begin : g_bank
    // A bank is far from its ports: what it does stands in registers first.
    logic [Aw-1:0] write_address, write_address_q, read_address, read_address_q;
    logic [7:0] write_mask, write_mask_q;
    logic [63:0] write_data, write_data_q;
    logic reads_q;

    always_comb begin
      write_address = '0;
      write_mask    = '0;
      write_data    = '0;
      read_address  = '0;
      for (int p = 0; p < int'(Ports); p++) begin
        write_address |= address[p] & {Aw{writes[b][p]}};
        write_mask |= mask[p] & {8{writes[b][p] && !is_outside[p]}};
        write_data |= data[p] & {64{writes[b][p]}};
        read_address |= address[p] & {Aw{reads[b][p]}};
      end
    end

    always_ff @(posedge clk_i) begin
      write_address_q <= write_address;
      write_mask_q    <= write_mask;
      write_data_q    <= write_data;
      read_address_q  <= read_address;
      reads_q         <= |reads[b];
    end

    // A buffer has one owner: no port reads what another one writes in the same cycle.
    (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)
    logic [63:0] mem[1<<Aw];
    always_ff @(posedge clk_i) begin
      for (int i = 0; i < 8; i++) begin
        if (write_mask_q[i]) mem[write_address_q][8*i+:8] <= write_data_q[8*i+:8];
      end
    end
    always_ff @(posedge clk_i) begin
      if (reads_q) bank_q[b] <= mem[read_address_q];
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
      assign is_here           = is_asking[p] && request.address[3] == 1'(b);
      assign wants_write[b][p] = is_here && !request.read;
      assign wants_read[b][p]  = is_here && request.read;
    end

    // A response passes the registers ahead of and behind the bank, then stands at the output.
    logic issued_q, issued_bank_q, issued_err_q, stage_q, stage_bank_q, stage_err_q, out_q;
    nic_pkg::acb_response_t stage, response_q;

    assign stage.err  = stage_err_q;
    assign stage.data = bank_q[stage_bank_q];

    always_ff @(posedge clk_i) begin
      issued_q <= taken[p] && !rst_i;
      stage_q  <= issued_q && !rst_i;
    end

    always_ff @(posedge clk_i) begin
      {stage_bank_q, issued_bank_q} <= {issued_bank_q, request.address[3]};
      {stage_err_q, issued_err_q}   <= {issued_err_q, is_outside[p]};
    end

    if (p < int'(Engines)) begin : g_engine
      assign has_room[p] = 1'b1;
      always_ff @(posedge clk_i) out_q <= stage_q && !rst_i;
      always_ff @(posedge clk_i) response_q <= stage;
    end else begin : g_processor
      // While the output waits, up to three more find room here.
      (* ram_style = "distributed" *) logic [nic_pkg::AcbResponseBits-1:0] held_mem[4];
      logic [1:0] wr_q, rd_q;
      logic [2:0] open_q;  // requests without a response that was taken
      logic moves, is_held_up;

      assign moves       = !out_q || response_ready_i[p];
      assign is_held_up  = wr_q != rd_q;
      assign has_room[p] = !open_q[2];

      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          out_q  <= 1'b0;
          wr_q   <= '0;
          rd_q   <= '0;
          open_q <= '0;
        end else begin
          if (moves) out_q <= stage_q || is_held_up;
          wr_q   <= wr_q + 2'(stage_q && !(moves && !is_held_up));
          rd_q   <= rd_q + 2'(moves && is_held_up);
          open_q <= open_q + 3'(taken[p]) - 3'(out_q && moves);
        end
      end

      always_ff @(posedge clk_i) begin
        held_mem[wr_q] <= stage;
        if (moves) response_q <= is_held_up ? held_mem[rd_q] : stage;
      end
    end

    assign response_valid_o[p] = out_q;
    assign response_o[p*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits] = response_q;
  end

`ifdef FORMAL
  `include "nic_memory_props.svh"
`endif

endmodule

`default_nettype wire
