// A processor's port to registers: AFB (T A.4, A.5) to register requests (T A.8, A.9).
//
// An address is a byte's: words 0 to 255 are the registers; above them, and between words, a
// request answers err. One request is under way at a time: the next one may be taken in the cycle
// in which the response is. Latency: none in either direction. Back-pressure: a response waits here
// for its ready. A reset drops what is under way. No clock crossing (nic_bus_cdc).
`default_nettype none

module nic_afb (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic                        afb_valid_i,
    output      logic                        afb_ready_o,
    input  wire nic_pkg::afb_request_t       afb_i,
    output      logic                        afb_valid_o,
    input  wire logic                        afb_ready_i,
    output      nic_pkg::register_response_t afb_o,

    output      logic                        request_valid_o,
    input  wire logic                        request_ready_i,
    output      nic_pkg::register_request_t  request_o,
    output      logic                        lock_o,
    input  wire logic                        response_valid_i,
    input  wire nic_pkg::register_response_t response_i
);

  localparam logic [7:0] Reserved = 8'd254;  // answers err

  logic pending_q, held_q, ends;
  nic_pkg::register_response_t response_q;

  assign ends            = afb_valid_o && afb_ready_i;
  assign request_valid_o = afb_valid_i && (!pending_q || ends) && !rst_i;
  assign afb_ready_o     = request_valid_o && request_ready_i;
  assign request_o.read  = afb_i.read;
  assign request_o.mask  = afb_i.mask;
  assign request_o.data  = afb_i.data;
  assign request_o.index =
      afb_i.address[35:10] == '0 && afb_i.address[1:0] == '0 ? afb_i.address[9:2] : Reserved;
  assign lock_o          = afb_i.lock;

  assign afb_valid_o     = response_valid_i || held_q;
  assign afb_o           = held_q ? response_q : response_i;

  always_ff @(posedge clk_i) begin
    if (ends) pending_q <= 1'b0;
    if (afb_ready_o) pending_q <= 1'b1;
    held_q <= afb_valid_o && !afb_ready_i;
    if (rst_i) begin
      pending_q <= 1'b0;
      held_q    <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) if (!held_q) response_q <= response_i;

endmodule

`default_nettype wire
