// nic_share with nic_dram behind it.
`default_nettype none

module nic_share_tb #(
    parameter int unsigned Ports       = 4,
    parameter int unsigned Engines     = 2,
    parameter int unsigned AddressBits = 12,
    parameter int unsigned Page        = 1,
    parameter int unsigned Latency     = 10,
    parameter int unsigned LockCycles  = 16
) (
    input  wire logic                                     clk_i,
    input  wire logic                                     rst_i,
    input  wire logic [                        Ports-1:0] request_valid_i,
    output      logic [                        Ports-1:0] request_ready_o,
    input  wire logic [ Ports*nic_pkg::AcbRequestBits-1:0] request_i,
    output      logic [                        Ports-1:0] response_valid_o,
    input  wire logic [                        Ports-1:0] response_ready_i,
    output      logic [Ports*nic_pkg::AcbResponseBits-1:0] response_o
);

  nic_pkg::acb_request_t request;
  nic_pkg::acb_response_t response;
  logic request_valid, request_ready, response_valid, response_ready;

  nic_share #(
      .Ports     (Ports),
      .Engines   (Engines),
      .LockCycles(LockCycles)
  ) u_share (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (request_valid_i),
      .request_ready_o (request_ready_o),
      .request_i       (request_i),
      .response_valid_o(response_valid_o),
      .response_ready_i(response_ready_i),
      .response_o      (response_o),
      .m_valid_o       (request_valid),
      .m_ready_i       (request_ready),
      .m_request_o     (request),
      .m_valid_i       (response_valid),
      .m_ready_o       (response_ready),
      .m_response_i    (response)
  );

  nic_dram #(
      .AddressBits(AddressBits),
      .Page       (Page),
      .Latency    (Latency)
  ) u_dram (
      .clk_i           (clk_i),
      .rst_i           (rst_i),
      .request_valid_i (request_valid),
      .request_ready_o (request_ready),
      .request_i       (request),
      .response_valid_o(response_valid),
      .response_ready_i(response_ready),
      .response_o      (response)
  );

endmodule

`default_nettype wire
