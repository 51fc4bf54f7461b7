// Tests the packet memory from inside the NIC, as an ACB master (T's DEBUG_MEMORY_ACCESS).
//
// start_i: each dword gets a pattern; then half of its bytes the pattern's complement, which half
// by its address; then all are read and compared. Responses that are not as expected are counted,
// as are the dwords that were compared, 32,767 at most. What stood in memory is lost. Duration: 3
// cycles for each dword where nothing else is requested. A start while the test runs has no effect.
// A reset ends it. Responses are never held back. No clock crossing.
`default_nettype none

module nic_memory_test #(
    parameter int unsigned AddressBits = 17,  // of the memory, in bytes
    parameter int unsigned Page        = 0    // as nic_memory
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic        start_i,
    output      logic [31:0] debug_o,  // as the register debug_2

    output      logic                   request_valid_o,
    input  wire logic                   request_ready_i,
    output      nic_pkg::acb_request_t  request_o,
    input  wire logic                   response_valid_i,
    input  wire nic_pkg::acb_response_t response_i
);

  localparam int unsigned Iw = AddressBits - 3;

  if (AddressBits < 5 || AddressBits > 34) begin : g_bad_bits
    $error("AddressBits must be 5 to 34");
  end

  typedef enum logic [1:0] {
    Idle,
    Fill,
    Half,
    Compare
  } state_e;

  state_e state_q, state_d;
  logic [Iw:0] index_q, answered_q;  // dwords requested, and answered
  logic [15:0] mismatches_q;
  logic [14:0] checked_q;
  logic is_end, is_wrong;

  function automatic logic [63:0] pattern(input logic [Iw-1:0] index);
    pattern = {{(32 - Iw) {1'b1}}, ~index, {(32 - Iw) {1'b0}}, index} ^ 64'hc3a5_96f0_3c5a_690f;
  endfunction

  function automatic logic [7:0] half(input logic [Iw-1:0] index);
    half = index[1] ? (index[0] ? 8'h0f : 8'h55) : (index[0] ? 8'hf0 : 8'h99);
  endfunction

  function automatic logic [63:0] bits(input logic [7:0] mask);
    for (int i = 0; i < 8; i++) bits[8*i+:8] = {8{mask[i]}};
  endfunction

  logic [Iw-1:0] index, answered;
  assign index             = index_q[Iw-1:0];
  assign answered          = answered_q[Iw-1:0];
  assign request_valid_o   = state_q != Idle && !index_q[Iw];
  assign request_o.lock    = 1'b0;
  assign request_o.read    = state_q == Compare;
  assign request_o.mask    = state_q == Half ? half(index) : 8'hff;
  assign request_o.address = {(36 - AddressBits)'(Page), index, 3'd0};
  assign request_o.data    = pattern(index) ^ {64{state_q == Half}};

  assign is_end            = answered_q[Iw];
  assign is_wrong          = response_i.err || (state_q == Compare &&
      response_i.data != (pattern(answered) ^ bits(half(answered))));

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = Fill;
      Fill: if (is_end) state_d = Half;
      Half: if (is_end) state_d = Compare;
      Compare: if (is_end) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q      <= Idle;
      index_q      <= '0;
      answered_q   <= '0;
      mismatches_q <= '0;
      checked_q    <= '0;
    end else begin
      state_q <= state_d;
      if (request_valid_o && request_ready_i) index_q <= index_q + 1'b1;
      if (response_valid_i) begin
        answered_q <= answered_q + 1'b1;
        if (is_wrong && !(&mismatches_q)) mismatches_q <= mismatches_q + 1'b1;
        if (state_q == Compare && !(&checked_q)) checked_q <= checked_q + 1'b1;
      end
      if (state_d != state_q) begin
        index_q    <= '0;
        answered_q <= '0;
      end
      if (state_q == Idle && start_i) begin
        mismatches_q <= '0;
        checked_q    <= '0;
      end
    end
  end

  assign debug_o = {state_q != Idle, checked_q, mismatches_q};

endmodule

`default_nettype wire
