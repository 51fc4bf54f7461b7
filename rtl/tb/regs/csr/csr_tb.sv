// The sender's registers behind their decoder, as in samplewire_sender; and those of another core,
// which counts only other_event_i, behind the same one.
`default_nettype none

module csr_tb #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 256,
    parameter int unsigned SlotBytes = 1024,
    parameter int unsigned NackDepth = 64,
    parameter int unsigned Channels  = 1
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [11:0] s_axil_awaddr,
    input  wire logic [ 2:0] s_axil_awprot,
    input  wire logic        s_axil_awvalid,
    output logic             s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output logic             s_axil_wready,
    output logic      [ 1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [11:0] s_axil_araddr,
    input  wire logic [ 2:0] s_axil_arprot,
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready,

    output sw_regs_pkg::cfg_t         cfg_o,
    output sw_regs_pkg::cmd_t         cmd_o,
    output logic                      ev_refused_o,
    input  wire sw_regs_pkg::status_t status_i,
    input  wire sw_regs_pkg::event_t  event_i,
    input  wire sw_regs_pkg::event_t  other_event_i,
    input  wire logic [31:0]          samples_lost_i,
    input  wire logic [63:0]          time_ns_i,
    input  wire logic [63:0]          sync_index_i,
    input  wire logic [63:0]          sync_time_i,

    input  wire logic [ 5:0] tpl_addr_i,
    output logic      [63:0] tpl_data_o
);

  logic wr_whole;
  logic [1:0] wr_valid, wr_done, wr_error, rd_valid, rd_done, rd_error;
  logic [10:0] wr_addr, rd_addr;
  logic [31:0] wr_data;
  logic [63:0] rd_data;

  axil_decode #(
      .Blocks  (2),
      .AddrBits(12)
  ) u_axil_decode (
      .clk_i,
      .rst_i,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .wr_valid_o(wr_valid),
      .wr_addr_o (wr_addr),
      .wr_data_o (wr_data),
      .wr_whole_o(wr_whole),
      .wr_done_i (wr_done),
      .wr_error_i(wr_error),
      .rd_valid_o(rd_valid),
      .rd_addr_o (rd_addr),
      .rd_done_i (rd_done),
      .rd_error_i(rd_error),
      .rd_data_i (rd_data)
  );

  csr #(
      .W        (W),
      .Slots    (Slots),
      .SlotBytes(SlotBytes),
      .NackDepth(NackDepth),
      .Channels (Channels)
  ) u_csr (
      .clk_i,
      .rst_i,
      .wr_valid_i(wr_valid[0]),
      .wr_addr_i (wr_addr),
      .wr_data_i (wr_data),
      .wr_whole_i(wr_whole),
      .wr_done_o (wr_done[0]),
      .wr_error_o(wr_error[0]),
      .rd_valid_i(rd_valid[0]),
      .rd_addr_i (rd_addr),
      .rd_done_o (rd_done[0]),
      .rd_error_o(rd_error[0]),
      .rd_data_o (rd_data[31:0]),
      .key_addr_i(5'd0),
      .key_data_o(),
      .cfg_o,
      .cmd_o,
      .ev_refused_o,
      .status_i,
      .event_i,
      .samples_lost_i,
      .time_ns_i,
      .sync_index_i,
      .sync_time_i,
      .tpl_addr_i,
      .tpl_data_o
  );

  csr #(
      .W        (W),
      .Slots    (Slots),
      .SlotBytes(SlotBytes),
      .NackDepth(NackDepth),
      .Channels (Channels)
  ) u_other (
      .clk_i,
      .rst_i,
      .wr_valid_i(wr_valid[1]),
      .wr_addr_i (wr_addr),
      .wr_data_i (wr_data),
      .wr_whole_i(wr_whole),
      .wr_done_o (wr_done[1]),
      .wr_error_o(wr_error[1]),
      .rd_valid_i(rd_valid[1]),
      .rd_addr_i (rd_addr),
      .rd_done_o (rd_done[1]),
      .rd_error_o(rd_error[1]),
      .rd_data_o (rd_data[63:32]),
      .key_addr_i(5'd0),
      .key_data_o(),
      .cfg_o(),
      .cmd_o(),
      .ev_refused_o(),
      .status_i('0),
      .event_i(other_event_i),
      .samples_lost_i(32'd0),
      .time_ns_i,
      .sync_index_i,
      .sync_time_i,
      .tpl_addr_i(6'd0),
      .tpl_data_o()
  );

endmodule

`default_nettype wire
