// The NIC's L2 cache: 32 KiB between engines, processors and DRAM, write-back, one for all of them.
//
// Ports as those of nic_memory: the lowest are engines, receive first, the others processors.
// Each cycle takes a write and a read: of the lowest engine that wants it, else of a processor by
// turns; one that has waited for 15 cycles goes ahead of an engine once. A port that changes from
// reads to writes waits for its answers. nic_l2_cache has lines, misses, errors and the flush.
//
// A processor's request with `lock` waits for its turn, and until no other processor has a request
// without an answer; it holds back the others until its next request without, LockCycles at most.
// Cycles in which it waits for an answer of the cache do not count: a miss takes no lock away.
// Engines are not held back.
//
// Throughput: a write and a read a cycle. Latency of a hit: the response stands 2 cycles after the
// request was taken. Back-pressure: Depth responses of a port wait, and then its requests; no other
// port waits for them. One clock; DRAM sees the same reset.
`default_nettype none

module nic_l2 #(
    parameter int unsigned Ports       = 3,
    parameter int unsigned Engines     = 2,
    parameter int unsigned AddressBits = 30,  // of DRAM, in bytes
    parameter int unsigned Page        = 0,  // the first byte is at Page << AddressBits
    parameter int unsigned SetBits     = 7,
    parameter int unsigned Ways        = 4,
    parameter int unsigned DwordBits   = 3,  // log2 of the dwords of a line
    parameter int unsigned InFlight    = 16,  // requests to DRAM
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
    output      logic [Ports*nic_pkg::AcbResponseBits-1:0] response_o,

    // All lines to DRAM: until done, for one cycle.
    input  wire logic flush_i,
    output      logic flush_done_o,

    output      logic                   dram_request_valid_o,
    input  wire logic                   dram_request_ready_i,
    output      nic_pkg::acb_request_t  dram_request_o,
    input  wire logic                   dram_response_valid_i,
    output      logic                   dram_response_ready_o,
    input  wire nic_pkg::acb_response_t dram_response_i,

    output logic ev_fetch_o,
    output logic ev_take_o,
    output logic ev_write_back_o,
    output logic ev_write_failed_o
);

  localparam int unsigned Pw = $clog2(Ports);
  localparam int unsigned Depth = 4;  // of a port: requests without a response taken
  localparam int unsigned Dw = $clog2(Depth);

  if (Engines == 0 || Ports <= Engines) begin : g_bad_ports
    $error("there must be an engine and a processor");
  end

  logic [Ports-1:0] is_asking, is_held, has_room, taken, is_read, locks, is_busy, comes;
  logic [Ports-1:0] wants_write, wants_read, writes, reads;

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
      .waits_i(is_busy[owner] && !comes[owner]),
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
                                               input logic [Pw-1:0] turn, input logic is_late);
    granted = wants;
    if (|wants[Engines-1:0] && !(is_late && |wants[Ports-1:Engines])) granted[Ports-1:Engines] = '0;
    else if (wants[turn]) granted = Ports'(1) << turn;
    else granted[Engines-1:0] = '0;
    granted = granted & (~granted + 1'b1);
  endfunction

  // Cycles in which a processor waited for an engine, up to 15.
  logic [3:0] write_wait_q, read_wait_q;
  logic write_ready, read_ready;
  assign writes = granted(wants_write, turn_q, &write_wait_q) & {Ports{write_ready}};
  assign reads  = granted(wants_read, turn_q, &read_wait_q) & {Ports{read_ready}};
  assign taken  = writes | reads;
  assign request_ready_o = taken;

  always_ff @(posedge clk_i) begin
    if (|writes[Ports-1:Engines] || wants_write[Ports-1:Engines] == '0) write_wait_q <= '0;
    else if (!(&write_wait_q)) write_wait_q <= write_wait_q + 1'b1;
    if (|reads[Ports-1:Engines] || wants_read[Ports-1:Engines] == '0) read_wait_q <= '0;
    else if (!(&read_wait_q)) read_wait_q <= read_wait_q + 1'b1;
  end

  // ------------------------------------------------------------------ the cache

  nic_pkg::acb_request_t write, read;
  logic [Pw-1:0] write_id, read_id, written_id, answer_id;
  logic written_valid, written_err, answer_valid;
  nic_pkg::acb_response_t answer;

  always_comb begin
    write    = '0;
    read     = '0;
    write_id = '0;
    read_id  = '0;
    for (int p = 0; p < int'(Ports); p++) begin
      if (writes[p]) begin
        write |= request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits];
        write_id |= Pw'(p);
      end
      if (reads[p]) begin
        read |= request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits];
        read_id |= Pw'(p);
      end
    end
  end

  nic_l2_cache #(
      .AddressBits(AddressBits),
      .Page       (Page),
      .SetBits    (SetBits),
      .Ways       (Ways),
      .DwordBits  (DwordBits),
      .IdBits     (Pw),
      .InFlight   (InFlight)
  ) u_cache (
      .clk_i            (clk_i),
      .rst_i            (rst_i),
      .write_valid_i    (|writes),
      .write_ready_o    (write_ready),
      .write_id_i       (write_id),
      .write_i          (write),
      .written_valid_o  (written_valid),
      .written_id_o     (written_id),
      .written_err_o    (written_err),
      .read_valid_i     (|reads),
      .read_ready_o     (read_ready),
      .read_id_i        (read_id),
      .read_i           (read),
      .answer_valid_o   (answer_valid),
      .answer_id_o      (answer_id),
      .answer_o         (answer),
      .flush_i          (flush_i),
      .flush_done_o     (flush_done_o),
      .request_valid_o  (dram_request_valid_o),
      .request_ready_i  (dram_request_ready_i),
      .request_o        (dram_request_o),
      .response_valid_i (dram_response_valid_i),
      .response_ready_o (dram_response_ready_o),
      .response_i       (dram_response_i),
      .ev_fetch_o       (ev_fetch_o),
      .ev_take_o        (ev_take_o),
      .ev_write_back_o  (ev_write_back_o),
      .ev_write_failed_o(ev_write_failed_o)
  );

  // ------------------------------------------------------------------ ports

  for (genvar p = 0; p < int'(Ports); p++) begin : g_port
    nic_pkg::acb_request_t request;
    nic_pkg::acb_response_t in, waiting[Depth];
    logic [Dw:0] open_q, level_q;  // in the cache; answered, and not taken
    logic [Dw-1:0] wr_q, rd_q;
    logic was_read_q, is_written, goes;

    assign request     = request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits];
    assign is_read[p]  = request.read;
    assign locks[p]    = p >= int'(Engines) && request.lock;
    assign is_busy[p]  = p >= int'(Engines) && open_q != '0;
    assign has_room[p] = {1'b0, open_q} + {1'b0, level_q} < (Dw + 2)'(Depth) &&
        (open_q == '0 || was_read_q == request.read);
    // One takes the lock in its turn, and alone.
    assign is_held[p]  = p >= int'(Engines) && (lock ? owner != Pw'(p) :
        turn_q != Pw'(p) ? locks[p] || (request_valid_i[turn_q] && locks[turn_q]) :
        locks[p] && |(is_busy & ~(Ports'(1) << p)));
    assign is_asking[p]   = request_valid_i[p] && has_room[p] && !is_held[p];
    assign wants_write[p] = is_asking[p] && !request.read;
    assign wants_read[p]  = is_asking[p] && request.read;

    assign is_written = written_valid && written_id == Pw'(p);
    assign comes[p]   = is_written || (answer_valid && answer_id == Pw'(p));
    assign in.err     = is_written ? written_err : answer.err;
    assign in.data    = answer.data;
    assign goes       = response_valid_o[p] && response_ready_i[p];

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        open_q  <= '0;
        level_q <= '0;
        wr_q    <= '0;
        rd_q    <= '0;
      end else begin
        open_q  <= open_q + (Dw + 1)'(taken[p]) - (Dw + 1)'(comes[p]);
        level_q <= level_q + (Dw + 1)'(comes[p]) - (Dw + 1)'(goes);
        wr_q    <= wr_q + Dw'(comes[p]);
        rd_q    <= rd_q + Dw'(goes);
      end
    end

    always_ff @(posedge clk_i) begin
      if (taken[p]) was_read_q <= request.read;
      if (comes[p]) waiting[wr_q] <= in;
    end

    assign response_valid_o[p] = comes[p] || level_q != '0;
    assign response_o[p*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits] =
        level_q == '0 ? in : waiting[rd_q];
  end

endmodule

`default_nettype wire
