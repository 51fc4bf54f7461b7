// A model of DRAM behind ACB: a memory of one port whose responses come late.
//
// It stands for a memory controller in simulations and on a board without one. A request with `lock`
// is one like others: masters are arbitrated ahead (nic_share). A write stores the bytes of its
// mask. Address bits 2:0 are ignored. An address outside answers err and changes nothing. Requests
// are done in their order: a read gives what the writes before it have written.
//
// Throughput: a request a cycle, InFlight without a response at most: InFlight a Latency where that
// is longer. Latency: the response stands Latency cycles after the request was taken, of a write
// too, or behind the one before. Back-pressure: responses wait for ready, requests then for them. A
// reset drops the responses that are due; memory keeps its contents. One clock.
`default_nettype none

module nic_dram #(
    parameter int unsigned AddressBits = 17,  // of bytes
    parameter int unsigned Page        = 0,  // the first byte is at Page << AddressBits
    parameter int unsigned Latency     = 10,  // cycles, from 1 on
    parameter int unsigned InFlight    = 16  // a power of two
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic                   request_valid_i,
    output      logic                   request_ready_o,
    input  wire nic_pkg::acb_request_t  request_i,
    output      logic                   response_valid_o,
    input  wire logic                   response_ready_i,
    output      nic_pkg::acb_response_t response_o
);

  localparam int unsigned Aw = AddressBits - 3;
  localparam int unsigned Tw = $clog2(InFlight);

  if (InFlight != 1 << Tw || InFlight < 2) begin : g_bad_in_flight
    $error("InFlight must be a power of two, from 2 on");
  end
  if (Latency == 0) begin : g_bad_latency
    $error("Latency must be 1 at least");
  end
  if (AddressBits < 4 || AddressBits > 35 || 64'(Page) << AddressBits >= 64'd1 << 36) begin : g_bad
    $error("it must be of 16 bytes at least, and within 36 bits of address");
  end

  logic [Tw:0] in_flight_q, due_q;  // without a response; of them those whose time has come before
  logic [Tw-1:0] wr_q, rd_q, stage_at_q;
  logic [Latency-1:0] late_q;  // requests taken, by their age
  logic taken, gives, comes_due, is_outside, stage_err_q;

  assign request_ready_o = !in_flight_q[Tw];
  assign taken           = request_valid_i && request_ready_o;
  assign comes_due       = late_q[Latency-1];
  assign gives           = response_valid_o && response_ready_i;
  assign is_outside      = request_i.address[35:AddressBits] != (36 - AddressBits)'(Page);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      late_q      <= '0;
      in_flight_q <= '0;
      due_q       <= '0;
      wr_q        <= '0;
      rd_q        <= '0;
    end else begin
      late_q      <= Latency'({late_q, taken});
      in_flight_q <= in_flight_q + (Tw + 1)'(taken) - (Tw + 1)'(gives);
      due_q       <= due_q + (Tw + 1)'(comes_due) - (Tw + 1)'(gives);
      if (taken) wr_q <= wr_q + 1'b1;
      if (gives) rd_q <= rd_q + 1'b1;
    end
  end

  // ------------------------------------------------------------------ memory

  (* ram_style = "block" *) logic [63:0] mem[1<<Aw];
  logic [63:0] stage_q;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 8; i++) begin
      if (taken && !request_i.read && !is_outside && request_i.mask[i])
        mem[request_i.address[AddressBits-1:3]][8*i+:8] <= request_i.data[8*i+:8];
    end
  end

  always_ff @(posedge clk_i) if (taken) stage_q <= mem[request_i.address[AddressBits-1:3]];

  // ------------------------------------------------------------------ responses

  logic [63:0] data_mem[InFlight];
  logic [InFlight-1:0] err_q;
  logic stage_valid_q;

  always_ff @(posedge clk_i) stage_valid_q <= taken && !rst_i;

  always_ff @(posedge clk_i) begin
    stage_at_q  <= wr_q;
    stage_err_q <= is_outside;
    if (stage_valid_q) begin
      data_mem[stage_at_q] <= stage_q;
      err_q[stage_at_q]    <= stage_err_q;
    end
  end

  // One that is due in the first cycle comes from the memory's register.
  logic is_stage;
  assign is_stage         = stage_valid_q && stage_at_q == rd_q;
  assign response_valid_o = comes_due || due_q != '0;
  assign response_o.err   = is_stage ? stage_err_q : err_q[rd_q];
  assign response_o.data  = is_stage ? stage_q : data_mem[rd_q];

endmodule

`default_nettype wire
