// A bus of the NIC, AFB or ACB, from a processor's clock to the NIC's: requests one way, responses
// the other, each through an async_fifo.
//
// Throughput: a request and a response a clock of the slower side. Latency: async_fifo's, in each
// direction. Back-pressure: valid and ready on all four sides; responses wait here, so that a
// master that takes none holds back its own requests alone.
//
// A reset of the processor's side drops its requests and the responses that are due, also those
// that the NIC gives later: what comes then answers a request from behind the reset. A reset of
// the NIC's side drops requests without a response: the processor's side is to be reset with it.
// Clock crossings: the two FIFOs.
`default_nettype none

module nic_bus_cdc #(
    parameter int unsigned RequestBits  = 74,  // of AFB; of ACB 110
    parameter int unsigned ResponseBits = 33,  // of AFB; of ACB 65
    parameter int unsigned Depth        = 16
) (
    // processor
    input  wire logic                    s_clk_i,
    input  wire logic                    s_rst_i,
    input  wire logic                    s_request_valid_i,
    output      logic                    s_request_ready_o,
    input  wire logic [ RequestBits-1:0] s_request_i,
    output      logic                    s_response_valid_o,
    input  wire logic                    s_response_ready_i,
    output      logic [ResponseBits-1:0] s_response_o,
    // NIC
    input  wire logic                    m_clk_i,
    input  wire logic                    m_rst_i,
    output      logic                    m_request_valid_o,
    input  wire logic                    m_request_ready_i,
    output      logic [ RequestBits-1:0] m_request_o,
    input  wire logic                    m_response_valid_i,
    output      logic                    m_response_ready_o,
    input  wire logic [ResponseBits-1:0] m_response_i
);

  // Requests taken and not answered, and how many of them are from before a reset. The FIFO for
  // responses stops here a little before or behind that for requests, and takes none meanwhile.
  localparam int unsigned Cw = 8;
  logic [Cw-1:0] open_q, stale_q;
  logic is_stopped, request_valid, take, answer, is_stale, response_ready, request_ready, s_stop;

  assign m_request_valid_o  = request_valid && !is_stopped && open_q != '1;
  assign take               = m_request_valid_o && m_request_ready_i;
  assign is_stale           = stale_q != '0;
  assign m_response_ready_o = response_ready || is_stale;
  assign answer             = m_response_valid_i && m_response_ready_o;

  always_ff @(posedge m_clk_i) begin
    if (m_rst_i) begin
      open_q  <= '0;
      stale_q <= '0;
    end else begin
      open_q <= open_q + Cw'(take) - Cw'(answer);
      if (is_stopped) stale_q <= open_q - Cw'(answer);
      else if (answer && stale_q != '0) stale_q <= stale_q - 1'b1;
    end
  end

  // None is taken before responses can come: a reset right behind would not clear what answers it.
  assign s_request_ready_o = request_ready && !s_stop;

`ifdef FORMAL
  logic f_requests_waits;  // the processor's side has stopped, and the NIC's has not stood since
  logic f_responses_stop;  // the NIC's side stands
`endif

  async_fifo #(
      .Width(RequestBits),
      .Depth(Depth)
  ) u_requests (
      .wr_clk_i  (s_clk_i),
      .wr_rst_i  (s_rst_i),
      .wr_stop_o (),
      .wr_valid_i(s_request_valid_i && !s_stop),
      .wr_ready_o(request_ready),
      .wr_data_i (s_request_i),
      .rd_clk_i  (m_clk_i),
      .rd_rst_i  (m_rst_i),
      .rd_stop_o (is_stopped),
`ifdef FORMAL
      .f_wr_waits_o(f_requests_waits),
`endif
      .rd_valid_o(request_valid),
      .rd_ready_i(take),
      .rd_data_o (m_request_o)
  );

  async_fifo #(
      .Width(ResponseBits),
      .Depth(Depth)
  ) u_responses (
      .wr_clk_i  (m_clk_i),
      .wr_rst_i  (m_rst_i),
`ifdef FORMAL
      .wr_stop_o (f_responses_stop),
`else
      .wr_stop_o (),
`endif
      .wr_valid_i(m_response_valid_i && !is_stale),
      .wr_ready_o(response_ready),
      .wr_data_i (m_response_i),
      .rd_clk_i  (s_clk_i),
      .rd_rst_i  (s_rst_i),
      .rd_stop_o (s_stop),
      .rd_valid_o(s_response_valid_o),
      .rd_ready_i(s_response_ready_i),
      .rd_data_o (s_response_o)
  );

`ifdef FORMAL
  `include "nic_bus_cdc_props.svh"
`endif

endmodule

`default_nettype wire
