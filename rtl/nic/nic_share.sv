// ACB masters at one memory that answers late: DRAM, or a cache. Takes their requests by turns, and
// gives each its responses.
//
// A master that waits sees at most one request of each other before its own. Ports below Engines take
// each response as it comes. The others are processors: their responses wait for ready in a FIFO, so
// that one that takes none holds back its own requests alone. A processor's request with `lock`
// holds back the other processors until its next request without, LockCycles at most, not counting those
// in which it waits for the memory; engines are not held back.
//
// Throughput: a request a cycle, InFlight without a response at most. Latency: a request passes in
// one cycle, an engine's response in none, a processor's in one. Back-pressure: valid and ready;
// responses of the memory are never held back. A reset forgets what is under way: the memory's reset
// is due then, or rst_i lasts until it has answered. One clock.
`default_nettype none

module nic_share #(
    parameter int unsigned Ports      = 3,
    parameter int unsigned Engines    = 2,
    parameter int unsigned InFlight   = 16,  // a power of two
    parameter int unsigned LockCycles = 64
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Of acb_request_t and acb_response_t, port 0 in the lowest bits.
    input  wire logic [                        Ports-1:0] request_valid_i,
    output      logic [                        Ports-1:0] request_ready_o,
    input  wire logic [ Ports*nic_pkg::AcbRequestBits-1:0] request_i,
    output      logic [                        Ports-1:0] response_valid_o,
    input  wire logic [                        Ports-1:0] response_ready_i,
    output      logic [Ports*nic_pkg::AcbResponseBits-1:0] response_o,

    // The memory.
    output      logic                   m_valid_o,
    input  wire logic                   m_ready_i,
    output      nic_pkg::acb_request_t  m_request_o,
    input  wire logic                   m_valid_i,
    output      logic                   m_ready_o,
    input  wire nic_pkg::acb_response_t m_response_i
);

  localparam int unsigned Pw = Ports > 1 ? $clog2(Ports) : 1;
  localparam int unsigned Tw = $clog2(InFlight);
  localparam int unsigned LockBit = nic_pkg::AcbRequestBits - 1;

  if (InFlight != 1 << Tw || InFlight < 2) begin : g_bad_in_flight
    $error("InFlight must be a power of two, from 2 on");
  end
  if (Engines > Ports) begin : g_bad_engines
    $error("engines are ports too");
  end

  // ------------------------------------------------------------------ turns

  logic [Ports-1:0] locks, has_room, may, grant, waits;
  logic [Pw-1:0] last_q, owner;
  logic lock, moves, is_granted;
  logic [Tw:0] in_flight_q;  // requests granted that have no response

  assign moves = (!m_valid_o || m_ready_i) && !in_flight_q[Tw];

  for (genvar p = 0; p < int'(Ports); p++) begin : g_may
    logic is_held;
    assign locks[p]  = p >= int'(Engines) && request_i[p*nic_pkg::AcbRequestBits+LockBit];
    assign is_held   = p >= int'(Engines) && lock && owner != Pw'(p);
    assign may[p]    = request_valid_i[p] && has_room[p] && !is_held;
  end

  // The lowest above the last one, else the lowest.
  always_comb begin
    grant = '0;
    for (int p = int'(Ports) - 1; p >= 0; p--) if (may[p]) grant = Ports'(1) << p;
    for (int p = int'(Ports) - 1; p >= 0; p--) begin
      if (may[p] && Pw'(p) > last_q) grant = Ports'(1) << p;
    end
    if (!moves) grant = '0;
  end

  assign request_ready_o = grant;
  assign is_granted      = grant != '0;

  nic_lock #(
      .Ports     (Ports),
      .Engines   (Engines),
      .LockCycles(LockCycles)
  ) u_lock (
      .clk_i  (clk_i),
      .rst_i  (rst_i),
      .taken_i(grant),
      .locks_i(locks),
      .waits_i(waits[owner]),
      .lock_o (lock),
      .owner_o(owner)
  );

  // ------------------------------------------------------------------ requests

  nic_pkg::acb_request_t request;
  logic [Pw-1:0] port, first_q;
  logic [Pw-1:0] route_mem[InFlight];
  logic [Tw-1:0] wr_q, rd_q;

  always_comb begin
    request = '0;
    port    = '0;
    for (int p = 0; p < int'(Ports); p++) begin
      request |= request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits] &
          {nic_pkg::AcbRequestBits{grant[p]}};
      port |= Pw'(p) & {Pw{grant[p]}};
    end
    request.lock = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      m_valid_o   <= 1'b0;
      in_flight_q <= '0;
      last_q      <= '0;
      wr_q        <= '0;
      rd_q        <= '0;
    end else begin
      m_valid_o   <= is_granted || (m_valid_o && !m_ready_i);
      in_flight_q <= in_flight_q + (Tw + 1)'(is_granted) - (Tw + 1)'(m_valid_i);
      if (is_granted) last_q <= port;
      if (is_granted) wr_q <= wr_q + 1'b1;
      if (m_valid_i) rd_q <= rd_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (is_granted) m_request_o <= request;
    if (is_granted) route_mem[wr_q] <= port;
  end

  // ------------------------------------------------------------------ responses

  assign m_ready_o = 1'b1;
  assign first_q   = route_mem[rd_q];

  for (genvar p = 0; p < int'(Ports); p++) begin : g_port
    logic comes;
    assign comes = m_valid_i && first_q == Pw'(p);
    if (p < int'(Engines)) begin : g_engine
      assign has_room[p]         = 1'b1;
      assign waits[p]            = 1'b0;
      assign response_valid_o[p] = comes;
      assign response_o[p*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits] = m_response_i;
    end else begin : g_processor
      logic [nic_pkg::AcbResponseBits-1:0] held_mem[InFlight];
      logic [Tw-1:0] held_wr_q, held_rd_q;
      logic [Tw:0] level_q, room_q;  // responses that wait, and requests that may follow
      logic gives;

      assign gives               = response_valid_o[p] && response_ready_i[p];
      assign has_room[p]         = room_q != '0;
      assign waits[p]            = level_q + room_q != (Tw + 1)'(InFlight) && !comes;
      assign response_valid_o[p] = level_q != '0;
      assign response_o[p*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits] =
          held_mem[held_rd_q];

      always_ff @(posedge clk_i) if (comes) held_mem[held_wr_q] <= m_response_i;

      always_ff @(posedge clk_i) begin
        if (rst_i) begin
          held_wr_q <= '0;
          held_rd_q <= '0;
          level_q   <= '0;
          room_q    <= (Tw + 1)'(InFlight);
        end else begin
          if (comes) held_wr_q <= held_wr_q + 1'b1;
          if (gives) held_rd_q <= held_rd_q + 1'b1;
          level_q <= level_q + (Tw + 1)'(comes) - (Tw + 1)'(gives);
          room_q  <= room_q + (Tw + 1)'(gives) - (Tw + 1)'(grant[p]);
        end
      end
    end
  end

`ifdef FORMAL
  `include "nic_share_props.svh"
`endif

endmodule

`default_nettype wire
