// `ns_clock`, for Vivado.
// Written by rtl/vendor/xilinx/wrappers/generate.py from the ports of the RTL.
`default_nettype none

module samplewire_ns_clock #(
    parameter integer Num = 32,
    parameter integer Den = 5
) (
    (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk_i CLK" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME clk_i, ASSOCIATED_RESET rst_i" *)
    input  wire clk_i,
    (* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 rst_i RST" *)
    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME rst_i, POLARITY ACTIVE_HIGH" *)
    input  wire rst_i,
    output wire [63:0] time_ns_o
);

  ns_clock #(
      .Num(Num),
      .Den(Den)
  ) inst (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .time_ns_o(time_ns_o)
  );

endmodule

`default_nettype wire
