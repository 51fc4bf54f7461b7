// The ports of VexRiscv_Lite.v, the core of nic_soc, for checks of our own modules: the package that has
// it may be missing, and its Verilog is not ours to check. `pytest rtl/tb/nic/nic_soc` compares them.
`default_nettype none

module VexRiscv (
    input  wire logic [31:0] externalResetVector,
    input  wire logic        timerInterrupt,
    input  wire logic        softwareInterrupt,
    input  wire logic [31:0] externalInterruptArray,
    output      logic        iBusWishbone_CYC,
    output      logic        iBusWishbone_STB,
    input  wire logic        iBusWishbone_ACK,
    output      logic        iBusWishbone_WE,
    output      logic [29:0] iBusWishbone_ADR,
    input  wire logic [31:0] iBusWishbone_DAT_MISO,
    output      logic [31:0] iBusWishbone_DAT_MOSI,
    output      logic [ 3:0] iBusWishbone_SEL,
    input  wire logic        iBusWishbone_ERR,
    output      logic [ 2:0] iBusWishbone_CTI,
    output      logic [ 1:0] iBusWishbone_BTE,
    output      logic        dBusWishbone_CYC,
    output      logic        dBusWishbone_STB,
    input  wire logic        dBusWishbone_ACK,
    output      logic        dBusWishbone_WE,
    output      logic [29:0] dBusWishbone_ADR,
    input  wire logic [31:0] dBusWishbone_DAT_MISO,
    output      logic [31:0] dBusWishbone_DAT_MOSI,
    output      logic [ 3:0] dBusWishbone_SEL,
    input  wire logic        dBusWishbone_ERR,
    output      logic [ 2:0] dBusWishbone_CTI,
    output      logic [ 1:0] dBusWishbone_BTE,
    input  wire logic        clk,
    input  wire logic        reset
);

  assign iBusWishbone_CYC      = 1'b0;
  assign iBusWishbone_STB      = 1'b0;
  assign iBusWishbone_WE       = 1'b0;
  assign iBusWishbone_ADR      = '0;
  assign iBusWishbone_DAT_MOSI = '0;
  assign iBusWishbone_SEL      = '0;
  assign iBusWishbone_CTI      = '0;
  assign iBusWishbone_BTE      = '0;
  assign dBusWishbone_CYC      = 1'b0;
  assign dBusWishbone_STB      = 1'b0;
  assign dBusWishbone_WE       = 1'b0;
  assign dBusWishbone_ADR      = '0;
  assign dBusWishbone_DAT_MOSI = '0;
  assign dBusWishbone_SEL      = '0;
  assign dBusWishbone_CTI      = '0;
  assign dBusWishbone_BTE      = '0;

endmodule

`default_nettype wire
