// AXI4-Lite to register blocks: block n answers the addresses of window n, 2^BlockBits bytes each.
// Every access is answered exactly once; one to a window without a block answers DECERR.
//
// To a block: wr_valid_o[n] is high, and address, data and wr_whole_o (all bytes of the word are
// written) stand, until the block raises wr_done_i[n] for a cycle; in that cycle the write acts, or
// wr_error_i[n] is high. rd_valid_o[n] and the address stand in the same way until rd_done_i[n]; from
// the cycle after it until the next read rd_data_i and rd_error_i hold the answer. Done may come in
// the first cycle of valid. An error answers SLVERR.
//
// Throughput: one write and one read are under way at a time. Latency: a write is shown to its block
// as soon as its address and its data are there, in either order, and answered in the cycle after it
// is done; a read is shown a cycle after its address. Back-pressure: the bus waits for the block, and
// an answer for its bready or rready. rst_i ends what is under way; the block's own reset is rst_i.
// No clock crossing.
`default_nettype none

module axil_decode #(
    parameter int unsigned Blocks    = 1,
    parameter int unsigned BlockBits = 11,
    parameter int unsigned AddrBits  = 11
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [AddrBits-1:0] s_axil_awaddr,
    input  wire logic [         2:0] s_axil_awprot,
    input  wire logic                s_axil_awvalid,
    output logic                     s_axil_awready,
    input  wire logic [        31:0] s_axil_wdata,
    input  wire logic [         3:0] s_axil_wstrb,
    input  wire logic                s_axil_wvalid,
    output logic                     s_axil_wready,
    output logic      [         1:0] s_axil_bresp,
    output logic                     s_axil_bvalid,
    input  wire logic                s_axil_bready,
    input  wire logic [AddrBits-1:0] s_axil_araddr,
    input  wire logic [         2:0] s_axil_arprot,
    input  wire logic                s_axil_arvalid,
    output logic                     s_axil_arready,
    output logic      [        31:0] s_axil_rdata,
    output logic      [         1:0] s_axil_rresp,
    output logic                     s_axil_rvalid,
    input  wire logic                s_axil_rready,

    output logic      [   Blocks-1:0] wr_valid_o,
    output logic      [BlockBits-1:0] wr_addr_o,
    output logic      [         31:0] wr_data_o,
    output logic                      wr_whole_o,
    input  wire logic [   Blocks-1:0] wr_done_i,
    input  wire logic [   Blocks-1:0] wr_error_i,

    output logic      [   Blocks-1:0] rd_valid_o,
    output logic      [BlockBits-1:0] rd_addr_o,
    input  wire logic [   Blocks-1:0] rd_done_i,
    input  wire logic [   Blocks-1:0] rd_error_i,
    input  wire logic [Blocks*32-1:0] rd_data_i
);

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;
  localparam logic [1:0] RespDecerr = 2'b11;

  generate
    if (AddrBits < BlockBits || Blocks < 1 || Blocks > 1 << (AddrBits - BlockBits)) begin : g_bad
      $error("axil_decode: the address is too short for all blocks");
    end
  endgenerate

  // Windows that an address chooses; none where there is no block.
  function automatic logic [Blocks-1:0] block_of(input logic [AddrBits-1:0] addr);
    for (int unsigned n = 0; n < Blocks; n++) block_of[n] = (addr >> BlockBits) == AddrBits'(n);
  endfunction

  // ------------------------------------------------------------------ writes
  // What the bus shows stands until it is taken, together with the answer.
  logic write, write_done, write_error, write_missed;
  logic [Blocks-1:0] write_block;

  assign write = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid && !rst_i;
  assign write_block = block_of(s_axil_awaddr);
  assign write_missed = write_block == '0;
  assign wr_valid_o = write ? write_block : '0;
  assign wr_addr_o = s_axil_awaddr[BlockBits-1:0];
  assign wr_data_o = s_axil_wdata;
  assign wr_whole_o = &s_axil_wstrb;

  assign write_done = write && (write_missed || (write_block & wr_done_i) != '0);
  assign write_error = (write_block & wr_error_i) != '0;
  assign s_axil_awready = write_done;
  assign s_axil_wready = write_done;

  always_ff @(posedge clk_i) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (write_done) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp  <= write_missed ? RespDecerr : write_error ? RespSlverr : RespOkay;
    end
    if (rst_i) s_axil_bvalid <= 1'b0;
  end

  // ------------------------------------------------------------------ reads
  logic reading_q, read_missed, read_done;
  logic [AddrBits-1:0] raddr_q;
  logic [Blocks-1:0] read_block;

  assign s_axil_arready = !reading_q && !s_axil_rvalid && !rst_i;
  assign read_block = block_of(raddr_q);
  assign read_missed = read_block == '0;
  assign rd_valid_o = reading_q ? read_block : '0;
  assign rd_addr_o = raddr_q[BlockBits-1:0];
  assign read_done = reading_q && (read_missed || (read_block & rd_done_i) != '0);

  always_ff @(posedge clk_i) begin
    if (s_axil_arvalid && s_axil_arready) begin
      reading_q <= 1'b1;
      raddr_q   <= s_axil_araddr;
    end
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (read_done) begin
      reading_q     <= 1'b0;
      s_axil_rvalid <= 1'b1;
    end
    if (rst_i) begin
      reading_q     <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end

  // The block holds its answer.
  always_comb begin
    s_axil_rdata = '0;
    for (int unsigned n = 0; n < Blocks; n++) begin
      s_axil_rdata = s_axil_rdata | (read_block[n] ? rd_data_i[n*32+:32] : 32'd0);
    end
    s_axil_rresp = read_missed ? RespDecerr :
        (read_block & rd_error_i) != '0 ? RespSlverr : RespOkay;
  end

`ifdef FORMAL
  `include "axil_decode_props.svh"
`endif

endmodule

`default_nettype wire
