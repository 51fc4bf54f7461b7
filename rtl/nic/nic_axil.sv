// A processor's port to registers by AXI4-Lite, 1 KiB of addresses, beside nic_afb.
//
// A write answers no data: register 27 has the result of the last push. Reads and writes are served
// in turn where both wait; a write goes first. Latency: the register's, and one cycle for a write,
// two for a read (axil_decode). Register errors answer SLVERR. A reset drops what is under way. No
// clock crossing.
`default_nettype none

module nic_axil (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [ 9:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output      logic        s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output      logic        s_axil_wready,
    output      logic [ 1:0] s_axil_bresp,
    output      logic        s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [ 9:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output      logic        s_axil_arready,
    output      logic [31:0] s_axil_rdata,
    output      logic [ 1:0] s_axil_rresp,
    output      logic        s_axil_rvalid,
    input  wire logic        s_axil_rready,

    output      logic                        request_valid_o,
    input  wire logic                        request_ready_i,
    output      nic_pkg::register_request_t  request_o,
    output      logic                        lock_o,
    input  wire logic                        response_valid_i,
    input  wire nic_pkg::register_response_t response_i
);

  logic wr_valid, wr_whole, wr_done, rd_valid, rd_done, rd_error_q;
  logic [9:0] wr_addr, rd_addr;
  logic [31:0] wr_data, rd_data_q;

  axil_decode #(
      .Blocks   (1),
      .BlockBits(10),
      .AddrBits (10)
  ) u_decode (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .s_axil_awaddr (s_axil_awaddr),
      .s_axil_awprot (s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid),
      .s_axil_awready(s_axil_awready),
      .s_axil_wdata  (s_axil_wdata),
      .s_axil_wstrb  (s_axil_wstrb),
      .s_axil_wvalid (s_axil_wvalid),
      .s_axil_wready (s_axil_wready),
      .s_axil_bresp  (s_axil_bresp),
      .s_axil_bvalid (s_axil_bvalid),
      .s_axil_bready (s_axil_bready),
      .s_axil_araddr (s_axil_araddr),
      .s_axil_arprot (s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid),
      .s_axil_arready(s_axil_arready),
      .s_axil_rdata  (s_axil_rdata),
      .s_axil_rresp  (s_axil_rresp),
      .s_axil_rvalid (s_axil_rvalid),
      .s_axil_rready (s_axil_rready),
      .wr_valid_o    (wr_valid),
      .wr_addr_o     (wr_addr),
      .wr_data_o     (wr_data),
      .wr_whole_o    (wr_whole),
      .wr_done_i     (wr_done),
      .wr_error_i    (response_i.err),
      .rd_valid_o    (rd_valid),
      .rd_addr_o     (rd_addr),
      .rd_done_i     (rd_done),
      .rd_error_i    (rd_error_q),
      .rd_data_i     (rd_data_q)
  );

  // One request at a time. What is shown stands until its register has done.
  logic pending_q, writes_q, last_write_q, writes;

  assign writes          = wr_valid && !(rd_valid && last_write_q);
  assign request_valid_o = !pending_q && (wr_valid || rd_valid);
  assign request_o.read  = !writes;
  assign request_o.mask  = !writes || wr_whole ? 4'hf : 4'h0;
  assign request_o.index = writes ? wr_addr[9:2] : rd_addr[9:2];
  assign request_o.data  = wr_data;
  assign lock_o          = 1'b0;

  assign wr_done         = response_valid_i && writes_q;
  assign rd_done         = response_valid_i && !writes_q;

  always_ff @(posedge clk_i) begin
    if (response_valid_i) pending_q <= 1'b0;
    if (request_valid_o && request_ready_i) begin
      pending_q    <= 1'b1;
      last_write_q <= writes;
    end
    if (rst_i) begin
      pending_q    <= 1'b0;
      last_write_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!pending_q) writes_q <= writes;
    if (rd_done) begin
      rd_data_q  <= response_i.data;
      rd_error_q <= response_i.err;
    end
  end

endmodule

`default_nettype wire
