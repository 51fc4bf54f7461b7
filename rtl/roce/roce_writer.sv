// Cuts samples into messages of one length, keeps them in memory until they are acknowledged, and
// posts each as an RDMA WRITE with immediate: message k, its immediate, goes to slot k modulo
// `region_slots_i` of the peer's region.
//
// A message begins where the one before ends, and the memory is a ring of beats: an address behind
// its end is one at its begin. So addresses in posts have one bit more than those of the memory.
//
// Throughput: a beat a clock; a beat that ends a message waits until the message before it is
// posted. Latency: last beat of a message to its post one cycle. Back-pressure: s_axis_tready falls
// where the memory is full, and towards a full queue. While `run_i` is low nothing is taken, and
// what was taken is forgotten; `run_i` and the other inputs of the connection stand from 4 cycles
// before it on. After a failure nothing is taken. Does not check the length: whole beats, from one
// to the memory's. One clock.
`default_nettype none

module roce_writer #(
    parameter int unsigned Aw = 13  // of the memory, in beats
) (
    input  wire logic                    clk_i,
    input  wire logic                    rst_i,
    input  wire logic                    run_i,
    // connection
    input  wire logic             [31:0] rkey_i,
    input  wire logic             [63:0] region_i,
    input  wire logic             [31:0] region_slots_i,
    input  wire logic             [31:0] message_bytes_i,
    // samples
    input  wire logic             [63:0] s_axis_tdata,
    input  wire logic                    s_axis_tvalid,
    output      logic                    s_axis_tready,
    // memory
    output      logic                    we_o,
    output      logic           [Aw-1:0] waddr_o,
    output      logic             [63:0] wdata_o,
    // roce_requester
    output      logic                    post_valid_o,
    input  wire logic                    post_ready_i,
    output      roce_pkg::work_request_t post_o,
    input  wire logic                    completion_valid_i,
    input  wire roce_pkg::completion_t   completion_i,
    // state
    output      logic             [31:0] posted_o,     // messages
    output      logic             [31:0] completed_o,
    output      logic                    has_failed_o,
    output      roce_pkg::status_e       status_o      // of the first that failed
);

  logic flush_q;
  always_ff @(posedge clk_i) flush_q <= rst_i || !run_i;

  logic [Aw:0] beats, used_q, taken_q, freed;  // of a message; in memory; of the message under way
  logic [Aw-1:0] waddr_q, start_q;
  logic take, is_last, is_acked, is_full_q;
  assign beats         = message_bytes_i[3+:Aw+1];
  assign is_last       = taken_q == beats - 1'b1;
  assign s_axis_tready = !flush_q && !is_full_q && !has_failed_o && !(is_last && post_valid_o);
  assign take          = s_axis_tvalid && s_axis_tready;
  assign is_acked      = completion_valid_i && completion_i.status == roce_pkg::StatusDone;
  assign freed         = is_acked ? beats : '0;

  assign we_o    = take;
  assign waddr_o = waddr_q;
  assign wdata_o = s_axis_tdata;

  always_ff @(posedge clk_i) begin
    used_q    <= used_q + (Aw + 1)'(take) - freed;
    is_full_q <= used_q + (Aw + 1)'(take) >= (Aw + 1)'(1 << Aw);
    if (take) begin
      waddr_q <= waddr_q + 1'b1;
      taken_q <= is_last ? '0 : taken_q + 1'b1;
    end
    if (flush_q) begin
      used_q    <= '0;
      is_full_q <= 1'b0;
      waddr_q   <= '0;
      taken_q   <= '0;
    end
  end

  // The message that is posted; slot and address go to those of the next one.
  logic [31:0] slot_q;
  logic [63:0] address_q;
  logic is_last_slot;
  assign is_last_slot = slot_q == region_slots_i - 32'd1;

  always_ff @(posedge clk_i) begin
    if (post_valid_o && post_ready_i) begin
      post_valid_o <= 1'b0;
      start_q      <= start_q + beats[Aw-1:0];
      posted_o     <= posted_o + 32'd1;
      slot_q       <= is_last_slot ? '0 : slot_q + 32'd1;
      address_q    <= is_last_slot ? region_i : address_q + 64'(message_bytes_i);
    end
    if (take && is_last) post_valid_o <= 1'b1;
    if (flush_q) begin
      post_valid_o <= 1'b0;
      start_q      <= '0;
      posted_o     <= '0;
      slot_q       <= '0;
      address_q    <= region_i;
    end
  end

  always_comb begin
    post_o                = '0;
    post_o.id             = posted_o[15:0];
    post_o.is_write       = 1'b1;
    post_o.has_immediate  = 1'b1;
    post_o.immediate      = posted_o;
    post_o.remote_address = address_q;
    post_o.rkey           = rkey_i;
    post_o.addr           = 40'({start_q, 3'd0});
    post_o.len_bytes      = message_bytes_i;
  end

  always_ff @(posedge clk_i) begin
    if (is_acked) completed_o <= completed_o + 32'd1;
    if (completion_valid_i && !is_acked && !has_failed_o) begin
      has_failed_o <= 1'b1;
      status_o     <= completion_i.status;
    end
    if (flush_q) begin
      completed_o  <= '0;
      has_failed_o <= 1'b0;
      status_o     <= roce_pkg::StatusDone;
    end
  end

`ifdef FORMAL
  `include "roce_writer_props.svh"
`endif

endmodule

`default_nettype wire
