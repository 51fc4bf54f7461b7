// Tests the queues from inside the NIC, as requester 3 of nic_queues (T's DEBUG_QUEUE and
// DEBUG_QUEUE_SEQUENCE). All queues must be empty, and nothing else may use them.
//
// start_i with test_i 1: each queue in turn gets one pattern and gives it back. With 2: each is
// filled with Depth patterns and refuses one more, gives them back in order, and is then empty.
// Results that are not as expected are counted, as are all that were compared. Duration: about 3
// cycles for each operation. A start while a test runs has no effect. A reset ends a test. No clock
// crossing.
`default_nettype none

module nic_queue_test #(
    parameter int unsigned Servers = nic_pkg::Servers,
    parameter int unsigned Depth   = nic_pkg::Depth
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic        start_i,
    input  wire logic [ 1:0] test_i,
    output      logic [31:0] debug_o,  // as the register debug_2

    output      logic                op_valid_o,
    input  wire logic                op_ready_i,
    output      nic_pkg::op_t        op_o,
    input  wire logic                result_valid_i,
    input  wire logic         [31:0] result_i
);

  localparam int unsigned NBits = $clog2(Depth) + 1;
  localparam logic [3:0] Last = 4'(2 * Servers);  // the free queue

  logic busy_q, pops_q, waits_q, sequence_q;  // pops_q: the queue is emptied
  logic [3:0] queue_q;
  logic [NBits-1:0] n_q, count;  // operation of the queue; how many fit
  logic [15:0] mismatches_q;
  logic [14:0] checked_q;
  logic [31:0] pattern, expected;
  logic is_last;

  assign count    = sequence_q ? NBits'(Depth) : NBits'(1);
  assign pattern  = {8'hff ^ 8'(n_q), 8'(n_q), 4'h5, queue_q, 5'(n_q), 3'd0};
  // A sequence tries one operation more, which a full or an empty queue refuses.
  assign is_last  = n_q == (sequence_q ? count : count - 1'b1);
  assign expected = n_q == count ? (pops_q ? nic_pkg::ResultEmpty : nic_pkg::ResultFull) :
      pops_q ? pattern : nic_pkg::ResultDone;

  assign op_valid_o         = busy_q && !waits_q;
  assign op_o.push          = !pops_q;
  assign op_o.pointer       = pattern;
  assign op_o.target.kind   = queue_q == Last ? nic_pkg::Free :
      32'(queue_q) < Servers ? nic_pkg::Receive : nic_pkg::Transmit;
  assign op_o.target.server = queue_q == Last ? 2'd0 : 2'(32'(queue_q) % Servers);
  assign debug_o            = {busy_q, checked_q, mismatches_q};

  always_ff @(posedge clk_i) begin
    if (op_valid_o && op_ready_i) waits_q <= 1'b1;
    if (result_valid_i) begin
      waits_q   <= 1'b0;
      checked_q <= checked_q + 15'd1;
      if (result_i != expected) mismatches_q <= mismatches_q + 16'd1;
      n_q <= n_q + 1'b1;
      if (is_last) begin
        n_q    <= '0;
        pops_q <= !pops_q;
        if (pops_q) begin
          queue_q <= queue_q + 4'd1;
          busy_q  <= queue_q != Last;
        end
      end
    end
    if (start_i && !busy_q && (test_i == 2'd1 || test_i == 2'd2)) begin
      busy_q       <= 1'b1;
      sequence_q   <= test_i[1];
      pops_q       <= 1'b0;
      queue_q      <= '0;
      n_q          <= '0;
      mismatches_q <= '0;
      checked_q    <= '0;
    end
    if (rst_i) begin
      busy_q       <= 1'b0;
      waits_q      <= 1'b0;
      mismatches_q <= '0;
      checked_q    <= '0;
    end
  end

endmodule

`default_nettype wire
