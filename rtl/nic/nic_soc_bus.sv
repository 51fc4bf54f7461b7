// A core's accesses to the NIC and to the sender: Wishbone to AFB, ACB and AXI4-Lite.
//
// A write to AFB or ACB is posted: acknowledged in the cycle in which it is taken, up to OpenMax
// ahead of its response. A read is acknowledged with its response, an access to AXI4-Lite too. Order:
// an access begins once all earlier ones of the other targets have their responses, and those of
// one target are answered in order. So a buffer that is pushed has all that was written to it.
//
// Throughput and latency: none is added but where the target changes: there an access waits for the
// responses of posted writes, and one cycle. Back-pressure: a request stands until it is taken.
//
// forget_i, for a core in reset: no access is shown, and the response of a read that was is dropped.
// It rises only behind a cycle in which standing_o is low: a
// request that stands is not withdrawn. rst_i drops all, so
// the targets are reset with it. One clock.
`default_nettype none

module nic_soc_bus #(
    parameter int unsigned OpenMax = 3  // AFB and ACB: requests without a response; 1 to 3
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic forget_i,

    input  wire logic        valid_i,    // until ack_o
    input  wire logic [ 1:0] target_i,   // 1 AFB, 2 ACB, 3 AXI4-Lite
    input  wire logic        write_i,
    input  wire logic [27:0] address_i,  // of a word, bits 1:0 are 0
    input  wire logic [ 3:0] mask_i,
    input  wire logic [31:0] data_i,
    output      logic        ack_o,
    output      logic [31:0] data_o,     // with the ack_o of a read
    output      logic        standing_o,
    output      logic        ev_err_o,   // a response was an error

    output      logic                        afb_valid_o,
    input  wire logic                        afb_ready_i,
    output      nic_pkg::afb_request_t       afb_o,
    input  wire logic                        afb_valid_i,
    output      logic                        afb_ready_o,
    input  wire nic_pkg::register_response_t afb_i,

    output      logic                   acb_valid_o,
    input  wire logic                   acb_ready_i,
    output      nic_pkg::acb_request_t  acb_o,
    input  wire logic                   acb_valid_i,
    output      logic                   acb_ready_o,
    input  wire nic_pkg::acb_response_t acb_i,

    output      logic [27:0] m_axil_awaddr,
    output      logic [ 2:0] m_axil_awprot,
    output      logic        m_axil_awvalid,
    input  wire logic        m_axil_awready,
    output      logic [31:0] m_axil_wdata,
    output      logic [ 3:0] m_axil_wstrb,
    output      logic        m_axil_wvalid,
    input  wire logic        m_axil_wready,
    input  wire logic [ 1:0] m_axil_bresp,
    input  wire logic        m_axil_bvalid,
    output      logic        m_axil_bready,
    output      logic [27:0] m_axil_araddr,
    output      logic [ 2:0] m_axil_arprot,
    output      logic        m_axil_arvalid,
    input  wire logic        m_axil_arready,
    input  wire logic [31:0] m_axil_rdata,
    input  wire logic [ 1:0] m_axil_rresp,
    input  wire logic        m_axil_rvalid,
    output      logic        m_axil_rready
);

  if (OpenMax < 1 || OpenMax > 3) begin : g_bad_open_max
    $error("nic_soc_bus: OpenMax is 1 to 3");
  end

  localparam logic [1:0] Afb = 2'd1, Acb = 2'd2, Axil = 2'd3;

  // Requests taken and not answered, all of one target. The last one is that of the access shown if
  // waits_q is 1.
  logic [1:0] open_q, target_q;
  logic waits_q;
  logic shows, may, may_axil, take, take_axil, answer, last;

  assign shows    = valid_i && !waits_q && !forget_i;
  assign may      = shows && (open_q == '0 || (target_q == target_i && open_q != 2'(OpenMax)));
  assign may_axil = shows && open_q == '0 && target_i == Axil;

  assign afb_valid_o   = may && target_i == Afb;
  assign afb_o.lock    = 1'b0;
  assign afb_o.read    = !write_i;
  assign afb_o.mask    = mask_i;
  assign afb_o.address = {8'd0, address_i};
  assign afb_o.data    = data_i;
  assign afb_ready_o   = 1'b1;

  assign acb_valid_o   = may && target_i == Acb;
  assign acb_o.lock    = 1'b0;
  assign acb_o.read    = !write_i;
  assign acb_o.mask    = address_i[2] ? {mask_i, 4'd0} : {4'd0, mask_i};
  assign acb_o.address = {8'd0, address_i[27:3], 3'd0};
  assign acb_o.data    = {data_i, data_i};
  assign acb_ready_o   = 1'b1;

  // Address and data of a write are taken in any order.
  logic aw_done_q, w_done_q, aw_done, w_done;

  assign m_axil_awaddr  = address_i;
  assign m_axil_awprot  = 3'd0;
  assign m_axil_awvalid = may_axil && write_i && !aw_done_q;
  assign m_axil_wdata   = data_i;
  assign m_axil_wstrb   = mask_i;
  assign m_axil_wvalid  = may_axil && write_i && !w_done_q;
  assign m_axil_bready  = 1'b1;
  assign m_axil_araddr  = address_i;
  assign m_axil_arprot  = 3'd0;
  assign m_axil_arvalid = may_axil && !write_i;
  assign m_axil_rready  = 1'b1;
  assign aw_done        = aw_done_q || m_axil_awready;
  assign w_done         = w_done_q || m_axil_wready;
  assign take_axil      = may_axil && (write_i ? aw_done && w_done : m_axil_arready);

  assign take   = (afb_valid_o && afb_ready_i) || (acb_valid_o && acb_ready_i) || take_axil;
  assign answer = (target_q == Afb && afb_valid_i) || (target_q == Acb && acb_valid_i) ||
      (target_q == Axil && (m_axil_bvalid || m_axil_rvalid));
  assign last   = answer && open_q == 2'd1;

  assign standing_o = shows && !take;
  assign ack_o      = waits_q ? last : take && write_i && target_i != Axil;

  always_comb begin
    unique case (target_i)
      Afb: data_o = afb_i.data;
      Acb: data_o = address_i[2] ? acb_i.data[63:32] : acb_i.data[31:0];
      default: data_o = m_axil_rdata;
    endcase
  end

  always_comb begin
    unique case (target_q)
      Afb: ev_err_o = afb_valid_i && afb_i.err;
      Acb: ev_err_o = acb_valid_i && acb_i.err;
      default:
      ev_err_o = (m_axil_bvalid && m_axil_bresp[1]) || (m_axil_rvalid && m_axil_rresp[1]);
    endcase
    if (open_q == '0) ev_err_o = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q    <= '0;
      waits_q   <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q  <= 1'b0;
    end else begin
      open_q <= open_q + 2'(take) - 2'(answer);
      if (take) waits_q <= !write_i || target_i == Axil;
      else if (last || forget_i) waits_q <= 1'b0;
      aw_done_q <= may_axil && write_i && aw_done && !take;
      w_done_q  <= may_axil && write_i && w_done && !take;
    end
  end

  always_ff @(posedge clk_i) if (take) target_q <= target_i;

`ifdef FORMAL
  `include "nic_soc_bus_props.svh"
`endif

endmodule

`default_nettype wire
