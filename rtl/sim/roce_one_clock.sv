// roce_board on one clock, which ticks at each change of tick_i, as one_clock has samplewire_board;
// with a source that waits: 64-bit numbers from 0 on, below source_beats_i. Its memory, and its receive
// requests, are the program's.
`default_nettype none

module roce_one_clock #(
    parameter int unsigned Slots       = 256,
    parameter int unsigned MemoryBytes = 1 << 20, // a full window at an MTU of 4,096 bytes
    parameter bit          Full        = 1'b0
) (
    input wire logic        tick_i,
    input wire logic        rst_i,
    input wire logic [63:0] time_ns_i,  // of the next cycle

    input wire logic adc_rst_i,
    input wire logic mac_tx_rst_i,
    input wire logic mac_rx_rst_i,

    output logic [63:0] m_axis_tx_tdata,
    output logic [ 7:0] m_axis_tx_tkeep,
    output logic        m_axis_tx_tvalid,
    input  wire logic   m_axis_tx_tready,
    output logic        m_axis_tx_tlast,
    output logic        m_axis_tx_tuser,

    input wire logic [63:0] s_axis_rx_tdata,
    input wire logic [ 7:0] s_axis_rx_tkeep,
    input wire logic        s_axis_rx_tvalid,
    input wire logic        s_axis_rx_tlast,
    input wire logic        s_axis_rx_tuser,

    input  wire logic [10:0] s_axil_awaddr,
    input  wire logic        s_axil_awvalid,
    output logic             s_axil_awready,
    input  wire logic [31:0] s_axil_wdata,
    input  wire logic [ 3:0] s_axil_wstrb,
    input  wire logic        s_axil_wvalid,
    output logic             s_axil_wready,
    output logic      [ 1:0] s_axil_bresp,
    output logic             s_axil_bvalid,
    input  wire logic        s_axil_bready,
    input  wire logic [10:0] s_axil_araddr,
    input  wire logic        s_axil_arvalid,
    output logic             s_axil_arready,
    output logic      [31:0] s_axil_rdata,
    output logic      [ 1:0] s_axil_rresp,
    output logic             s_axil_rvalid,
    input  wire logic        s_axil_rready,

    input  wire logic        receive_valid_i,
    output logic             receive_ready_o,
    input  wire logic [15:0] receive_id_i,
    input  wire logic [63:0] receive_address_i,
    input  wire logic [31:0] receive_bytes_i,
    output logic             received_valid_o,
    output logic       [1:0] received_status_o,
    output logic      [31:0] received_bytes_o,
    output logic             wr_valid_o,
    output logic      [63:0] wr_addr_o,
    output logic      [63:0] wr_data_o,
    output logic      [ 7:0] wr_keep_o,

    input  wire logic [63:0] source_beats_i,
    output logic             samples_taken_o
);

  // High from a change until the registers have taken it.
  logic clk, tick_q;
  assign clk = tick_i ^ tick_q;

  logic rst_q, adc_rst_q, mac_tx_rst_q, mac_rx_rst_q;
  logic [63:0] time_q;

  always_ff @(posedge clk) begin
    tick_q       <= tick_i;
    rst_q        <= rst_i;
    adc_rst_q    <= adc_rst_i;
    mac_tx_rst_q <= mac_tx_rst_i;
    mac_rx_rst_q <= mac_rx_rst_i;
    time_q       <= time_ns_i;
  end

  // The source.
  logic [63:0] beat_q, beat;
  logic valid_q, ready;
  assign samples_taken_o = valid_q && ready;
  assign beat            = beat_q + 64'(samples_taken_o);

  always_ff @(posedge clk) begin
    beat_q  <= rst_q ? '0 : beat;
    valid_q <= !rst_q && ((valid_q && !ready) || beat < source_beats_i);
  end

  roce_pkg::received_t received;
  assign received_status_o = received.status;
  assign received_bytes_o  = received.len_bytes;

  roce_board #(.Slots(Slots), .MemoryBytes(MemoryBytes), .Full(Full)) u_board (
      .clk_i(clk), .rst_i(rst_q), .time_ns_i(time_q),
      .s_axis_tdata(beat_q), .s_axis_tdest(1'b0), .s_axis_tvalid(valid_q), .s_axis_tready(ready),
      .mac_tx_clk_i(clk), .mac_tx_rst_i(mac_tx_rst_q),
      .m_axis_tx_tdata(m_axis_tx_tdata), .m_axis_tx_tkeep(m_axis_tx_tkeep),
      .m_axis_tx_tvalid(m_axis_tx_tvalid), .m_axis_tx_tready(m_axis_tx_tready),
      .m_axis_tx_tlast(m_axis_tx_tlast), .m_axis_tx_tuser(m_axis_tx_tuser),
      .mac_rx_clk_i(clk), .mac_rx_rst_i(mac_rx_rst_q),
      .s_axis_rx_tdata(s_axis_rx_tdata), .s_axis_rx_tkeep(s_axis_rx_tkeep),
      .s_axis_rx_tvalid(s_axis_rx_tvalid), .s_axis_rx_tlast(s_axis_rx_tlast),
      .s_axis_rx_tuser(s_axis_rx_tuser),
      .receive_valid_i(receive_valid_i), .receive_ready_o(receive_ready_o), .receive_qp_i(1'b0),
      .receive_i({receive_id_i, receive_address_i, receive_bytes_i}),
      .received_valid_o(received_valid_o), .received_ready_i(1'b1), .received_qp_o(),
      .received_o(received),
      .wr_valid_o(wr_valid_o), .wr_ready_i(1'b1), .wr_addr_o(wr_addr_o),
      .wr_data_o(wr_data_o), .wr_keep_o(wr_keep_o), .wr_last_o(),
      .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(3'd0), .s_axil_awvalid(s_axil_awvalid),
      .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
      .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr), .s_axil_arprot(3'd0), .s_axil_arvalid(s_axil_arvalid),
      .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready)
  );

endmodule

`default_nettype wire
