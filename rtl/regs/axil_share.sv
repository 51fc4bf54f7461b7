// Masters by turns on one AXI4-Lite: a processor on the board beside a soft core.
//
// A master's access goes to m_axil from its first beat to its answer, and the other masters wait.
// Writes and reads take turns apart from each other. The turn goes to the next master in a circle
// that shows an address, so a master waits for at most one access of each other.
//
// Throughput: one write and one read are under way at a time. Latency: an access is shown a cycle
// after its address, and nothing is added to its answer. Back-pressure: as m_axil's. rst_i ends what
// is under way, so masters and m_axil are reset with it. No clock crossing.
`default_nettype none

module axil_share #(
    parameter  int unsigned Masters  = 2,
    parameter  int unsigned AddrBits = 11,
    localparam int unsigned Mw       = Masters > 1 ? $clog2(Masters) : 1
) (
    input wire logic clk_i,
    input wire logic rst_i,

    // Master 0 in the lowest bits.
    input  wire logic [Masters*AddrBits-1:0] s_axil_awaddr,
    input  wire logic [       Masters*3-1:0] s_axil_awprot,
    input  wire logic [         Masters-1:0] s_axil_awvalid,
    output      logic [         Masters-1:0] s_axil_awready,
    input  wire logic [      Masters*32-1:0] s_axil_wdata,
    input  wire logic [       Masters*4-1:0] s_axil_wstrb,
    input  wire logic [         Masters-1:0] s_axil_wvalid,
    output      logic [         Masters-1:0] s_axil_wready,
    output      logic [                 1:0] s_axil_bresp,
    output      logic [         Masters-1:0] s_axil_bvalid,
    input  wire logic [         Masters-1:0] s_axil_bready,
    input  wire logic [Masters*AddrBits-1:0] s_axil_araddr,
    input  wire logic [       Masters*3-1:0] s_axil_arprot,
    input  wire logic [         Masters-1:0] s_axil_arvalid,
    output      logic [         Masters-1:0] s_axil_arready,
    output      logic [                31:0] s_axil_rdata,
    output      logic [                 1:0] s_axil_rresp,
    output      logic [         Masters-1:0] s_axil_rvalid,
    input  wire logic [         Masters-1:0] s_axil_rready,

    output      logic [AddrBits-1:0] m_axil_awaddr,
    output      logic [         2:0] m_axil_awprot,
    output      logic                m_axil_awvalid,
    input  wire logic                m_axil_awready,
    output      logic [        31:0] m_axil_wdata,
    output      logic [         3:0] m_axil_wstrb,
    output      logic                m_axil_wvalid,
    input  wire logic                m_axil_wready,
    input  wire logic [         1:0] m_axil_bresp,
    input  wire logic                m_axil_bvalid,
    output      logic                m_axil_bready,
    output      logic [AddrBits-1:0] m_axil_araddr,
    output      logic [         2:0] m_axil_arprot,
    output      logic                m_axil_arvalid,
    input  wire logic                m_axil_arready,
    input  wire logic [        31:0] m_axil_rdata,
    input  wire logic [         1:0] m_axil_rresp,
    input  wire logic                m_axil_rvalid,
    output      logic                m_axil_rready
);

  if (Masters < 2 || Masters > 8) begin : g_bad_masters
    $error("axil_share: Masters is 2 to 8");
  end

  // The next master in the circle behind `turn` that has an address; `turn` itself comes last.
  function automatic logic [Mw-1:0] next_of(
      input logic [Mw-1:0] turn, input logic [Masters-1:0] valid);
    next_of = turn;
    // The farthest first, so that the nearest counts.
    for (int unsigned i = 1; i < Masters; i++) begin
      if (valid[(32'(turn)+Masters-i)%Masters]) next_of = Mw'((32'(turn) + Masters - i) % Masters);
    end
  endfunction

  // ------------------------------------------------------------------ writes
  logic writes_q, aw_done_q, w_done_q, write_ends;
  logic [Mw-1:0] writer_q;

  assign m_axil_awaddr  = s_axil_awaddr[writer_q*AddrBits+:AddrBits];
  assign m_axil_awprot  = s_axil_awprot[writer_q*3+:3];
  assign m_axil_awvalid = writes_q && !aw_done_q && s_axil_awvalid[writer_q];
  assign m_axil_wdata   = s_axil_wdata[writer_q*32+:32];
  assign m_axil_wstrb   = s_axil_wstrb[writer_q*4+:4];
  assign m_axil_wvalid  = writes_q && !w_done_q && s_axil_wvalid[writer_q];
  assign m_axil_bready  = writes_q && s_axil_bready[writer_q];
  assign s_axil_bresp   = m_axil_bresp;
  assign write_ends     = m_axil_bvalid && m_axil_bready;

  always_comb begin
    s_axil_awready = '0;
    s_axil_wready  = '0;
    s_axil_bvalid  = '0;
    s_axil_awready[writer_q] = writes_q && !aw_done_q && m_axil_awready;
    s_axil_wready[writer_q]  = writes_q && !w_done_q && m_axil_wready;
    s_axil_bvalid[writer_q]  = writes_q && m_axil_bvalid;
  end

  always_ff @(posedge clk_i) begin
    if (writes_q) begin
      aw_done_q <= !write_ends && (aw_done_q || (m_axil_awvalid && m_axil_awready));
      w_done_q  <= !write_ends && (w_done_q || (m_axil_wvalid && m_axil_wready));
      writes_q  <= !write_ends;
    end else begin
      writes_q <= |s_axil_awvalid;
      writer_q <= next_of(writer_q, s_axil_awvalid);
    end
    if (rst_i) begin
      writes_q  <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q  <= 1'b0;
      writer_q  <= '0;
    end
  end

  // ------------------------------------------------------------------ reads
  logic reads_q, ar_done_q, read_ends;
  logic [Mw-1:0] reader_q;

  assign m_axil_araddr  = s_axil_araddr[reader_q*AddrBits+:AddrBits];
  assign m_axil_arprot  = s_axil_arprot[reader_q*3+:3];
  assign m_axil_arvalid = reads_q && !ar_done_q && s_axil_arvalid[reader_q];
  assign m_axil_rready  = reads_q && s_axil_rready[reader_q];
  assign s_axil_rdata   = m_axil_rdata;
  assign s_axil_rresp   = m_axil_rresp;
  assign read_ends      = m_axil_rvalid && m_axil_rready;

  always_comb begin
    s_axil_arready = '0;
    s_axil_rvalid  = '0;
    s_axil_arready[reader_q] = reads_q && !ar_done_q && m_axil_arready;
    s_axil_rvalid[reader_q]  = reads_q && m_axil_rvalid;
  end

  always_ff @(posedge clk_i) begin
    if (reads_q) begin
      ar_done_q <= !read_ends && (ar_done_q || (m_axil_arvalid && m_axil_arready));
      reads_q   <= !read_ends;
    end else begin
      reads_q  <= |s_axil_arvalid;
      reader_q <= next_of(reader_q, s_axil_arvalid);
    end
    if (rst_i) begin
      reads_q   <= 1'b0;
      ar_done_q <= 1'b0;
      reader_q  <= '0;
    end
  end

`ifdef FORMAL
  `include "axil_share_props.svh"
`endif

endmodule

`default_nettype wire
