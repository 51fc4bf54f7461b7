// nic_l2 with nic_dram behind it.
`default_nettype none

module nic_l2_tb #(
    parameter int unsigned Ports       = 4,
    parameter int unsigned AddressBits = 20,
    parameter int unsigned Page        = 1,
    parameter int unsigned Latency     = 10
) (
    input  wire logic                                     clk_i,
    input  wire logic                                     rst_i,
    input  wire logic [                        Ports-1:0] request_valid_i,
    output      logic [                        Ports-1:0] request_ready_o,
    input  wire logic [ Ports*nic_pkg::AcbRequestBits-1:0] request_i,
    output      logic [                        Ports-1:0] response_valid_o,
    input  wire logic [                        Ports-1:0] response_ready_i,
    output      logic [Ports*nic_pkg::AcbResponseBits-1:0] response_o,
    input  wire logic                                     flush_i,
    output      logic                                     flush_done_o,
    output      logic                                     ev_fetch_o,
    output      logic                                     ev_take_o,
    output      logic                                     ev_write_back_o,
    output      logic                                     ev_write_failed_o
);

  nic_pkg::acb_request_t request;
  nic_pkg::acb_response_t response;
  logic request_valid, request_ready, response_valid, response_ready;

  nic_l2 #(
      .Ports      (Ports),
      .AddressBits(AddressBits),
      .Page       (Page)
  ) u_l2 (
      .clk_i                (clk_i),
      .rst_i                (rst_i),
      .request_valid_i      (request_valid_i),
      .request_ready_o      (request_ready_o),
      .request_i            (request_i),
      .response_valid_o     (response_valid_o),
      .response_ready_i     (response_ready_i),
      .response_o           (response_o),
      .flush_i              (flush_i),
      .flush_done_o         (flush_done_o),
      .dram_request_valid_o (request_valid),
      .dram_request_ready_i (request_ready),
      .dram_request_o       (request),
      .dram_response_valid_i(response_valid),
      .dram_response_ready_o(response_ready),
      .dram_response_i      (response),
      .ev_fetch_o           (ev_fetch_o),
      .ev_take_o            (ev_take_o),
      .ev_write_back_o      (ev_write_back_o),
      .ev_write_failed_o    (ev_write_failed_o)
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
