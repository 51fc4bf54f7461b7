// nic_memory: a read gives what was written last; each request has its response, in order, and none
// is lost while responses wait; the lock excludes the other processors, and ends.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);
always_ff @(posedge clk_i) if (f_past_q) assume (!rst_i);

// Each port owns a part of the memory, by the high bits of the address: a buffer has one owner. A
// request that waits does not change.
(* anyconst *) logic [Pw-1:0] f_port;
(* anyconst *) logic [35:3] f_address;
logic [nic_pkg::AcbRequestBits-1:0] f_request;
logic f_is_here;
assign f_request = request_i[f_port*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits];
assign f_is_here = f_request[99:67] == f_address;
always_comb begin
  assume (32'(f_port) < Ports && f_address[35:AddressBits] == (36 - AddressBits)'(Page));
  for (int p = 0; p < int'(Ports); p++)
  if (Pw'(p) != f_port)
    assume (request_i[p*nic_pkg::AcbRequestBits+67+:33] != f_address);
end

logic [Ports*nic_pkg::AcbRequestBits-1:0] f_requests_q;
logic [Ports-1:0] f_waits_q;
always_ff @(posedge clk_i) begin
  f_requests_q <= request_i;
  f_waits_q    <= rst_i ? '0 : request_valid_i & ~request_ready_o;
end
always_comb begin
  for (int p = 0; p < int'(Ports); p++) begin
    if (f_waits_q[p]) assume (request_valid_i[p] &&
      request_i[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits] ==
      f_requests_q[p*nic_pkg::AcbRequestBits+:nic_pkg::AcbRequestBits]);
  end
  // Engines take each response, and the first one reads nothing.
  assume (&response_ready_i[Engines-1:0] && !request_i[108]);
end

// The lowest byte of that dword, once it is written.
logic f_known_q, f_takes;
logic [7:0] f_byte_q;
assign f_takes = request_valid_i[f_port] && request_ready_o[f_port];
always_ff @(posedge clk_i) begin
  if (rst_i) f_known_q <= 1'b0;
  else if (f_takes && f_is_here && !f_request[108] && f_request[100]) f_known_q <= 1'b1;
  if (f_takes && f_is_here && !f_request[108] && f_request[100]) f_byte_q <= f_request[7:0];
end

// What the port has asked, the last in entry 0: whether it is a read of that byte, and err.
logic [3:0] f_reads_q, f_errs_q;
logic [3:0][7:0] f_bytes_q;
logic [2:0] f_open_q;
logic f_gives;
logic [nic_pkg::AcbResponseBits-1:0] f_response;
assign f_gives = response_valid_o[f_port] && response_ready_i[f_port];
assign f_response = response_o[f_port*nic_pkg::AcbResponseBits+:nic_pkg::AcbResponseBits];
always_ff @(posedge clk_i) begin
  if (rst_i) f_open_q <= '0;
  else f_open_q <= f_open_q + 3'(f_takes) - 3'(f_gives);
  if (f_takes) begin
    f_reads_q <= {f_reads_q[2:0], f_is_here && f_known_q && f_request[108]};
    f_errs_q  <= {f_errs_q[2:0], f_request[99:64+AddressBits] != (36 - AddressBits)'(Page)};
    f_bytes_q <= {f_bytes_q[2:0], f_byte_q};
  end
end

// The processors that take the lock in this cycle; its owner, and how long.
logic [Ports-Engines-1:0] f_locking;
assign f_locking = taken[Ports-1:Engines] & locks[Ports-1:Engines];
localparam int unsigned FLw = $clog2(LockCycles + 1) + 1;
logic [FLw-1:0] f_locked_q;
always_ff @(posedge clk_i) f_locked_q <= rst_i || !lock ? '0 : f_locked_q + 1'b1;

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    p_open : assert (f_open_q <= 3'd4);
    if (response_valid_o[f_port]) begin
      p_asked : assert (f_open_q != '0);
      p_err : assert (f_response[64] == f_errs_q[2'(f_open_q-3'd1)]);
      if (f_reads_q[2'(f_open_q-3'd1)])
        p_last_written : assert (f_response[7:0] == f_bytes_q[2'(f_open_q-3'd1)]);
    end
    if (lock)
      for (int p = int'(Engines); p < int'(Ports); p++)
      if (request_ready_o[p]) assert (owner == Pw'(p));
    p_one_locks : assert ((f_locking & (f_locking - 1'b1)) == '0);
    p_lock_ends : assert (32'(f_locked_q) <= LockCycles);
    if (request_valid_i[1] && request_i[nic_pkg::AcbRequestBits+108])
      p_reader_first : assert (request_ready_o[1]);
    c_locked : cover (!lock && f_locked_q == FLw'(LockCycles));
    c_held : cover (f_open_q == 3'd4 && !response_ready_i[f_port] && f_reads_q == 4'b1111);
  end
end
