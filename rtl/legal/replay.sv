// Replays what rtl/sim/record.cpp recorded of the Verilated board, in a simulator of four states.
//
// Each cycle takes a line of the tape: the board gets its inputs and must give its outputs. Frames
// and register reads equal the tape's. From reset on no handshake is X, nor data beside a valid.
`default_nettype none

module replay;

  parameter W = 64;
  parameter Slots = 1024;
  parameter Cycles = 0;

  localparam Bits = 64 + 8 + W + W / 8 + 24 + 32 + 4 + 8 + 4 + W + W / 8 + 4 + 32;

  logic [Bits-1:0] tape[0:Cycles-1];
  logic [Bits-1:0] line;
  logic clk, is_reset;

  // A line's fields, as record.cpp writes them.
  logic [63:0] time_d;
  logic rst_d, adc_rst_d, tx_rst_d, rx_rst_d;
  logic rx_tvalid, rx_tlast, rx_tuser, tx_tready;
  logic [W-1:0] rx_tdata;
  logic [W/8-1:0] rx_tkeep;
  logic [11:0] awaddr, araddr;
  logic [31:0] wdata;
  logic [3:0] wstrb;
  logic awvalid, wvalid, bready, arvalid, rready;
  logic tape_tvalid, tape_tlast, tape_rvalid;
  logic [W-1:0] tape_tdata;
  logic [W/8-1:0] tape_tkeep;
  logic [31:0] tape_rdata;
  logic [2:0] pad_axil, pad_r;
  logic [1:0] pad_tx;
  assign {time_d, rst_d, adc_rst_d, tx_rst_d, rx_rst_d, rx_tvalid, rx_tlast, rx_tuser, tx_tready,
          rx_tdata, rx_tkeep, awaddr, araddr, wdata, wstrb,
          pad_axil, awvalid, wvalid, bready, arvalid, rready,
          pad_tx, tape_tvalid, tape_tlast, tape_tdata, tape_tkeep, pad_r, tape_rvalid, tape_rdata}
      = line;

  // As in one_clock: resets and the time come a cycle late.
  logic rst_q, adc_rst_q, tx_rst_q, rx_rst_q;
  logic [63:0] time_q;
  always @(posedge clk) begin
    rst_q <= rst_d;
    adc_rst_q <= adc_rst_d;
    tx_rst_q <= tx_rst_d;
    rx_rst_q <= rx_rst_d;
    time_q <= time_d;
  end

  logic [W-1:0] tdata;
  logic [W/8-1:0] tkeep;
  logic tvalid, tlast, awready, wready, bvalid, arready, rvalid, taken;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;

  samplewire_board #(.W(W), .Slots(Slots)) u_board (
      .clk_i(clk), .rst_i(rst_q), .time_ns_i(time_q), .sync_i(1'b0),
      .adc_clk_i(1'b0), .adc_rst_i(adc_rst_q), .s_axis_adc_tvalid(1'b0), .s_axis_adc_tready(),
      .s_axis_adc_tdata({W{1'b0}}),
      .mac_tx_clk_i(clk), .mac_tx_rst_i(tx_rst_q),
      .m_axis_tx_tdata(tdata), .m_axis_tx_tkeep(tkeep), .m_axis_tx_tvalid(tvalid),
      .m_axis_tx_tready(tx_tready), .m_axis_tx_tlast(tlast),
      .mac_rx_clk_i(clk), .mac_rx_rst_i(rx_rst_q),
      .s_axis_rx_tdata(rx_tdata), .s_axis_rx_tkeep(rx_tkeep), .s_axis_rx_tvalid(rx_tvalid),
      .s_axis_rx_tlast(rx_tlast), .s_axis_rx_tuser(rx_tuser),
      .m_axis_nic_tdata(), .m_axis_nic_tkeep(), .m_axis_nic_tvalid(), .m_axis_nic_tready(1'b0),
      .m_axis_nic_tlast(), .m_axis_nic_tuser(), .s_axis_nic_tdata(64'd0), .s_axis_nic_tkeep(8'd0),
      .s_axis_nic_tvalid(1'b0), .s_axis_nic_tready(), .s_axis_nic_tlast(1'b0),
      .s_axis_nic_tuser(1'b0), .nic_share_i(8'd0), .nic_event_o(),
      .s_axil_awaddr(awaddr[10:0]), .s_axil_awprot(3'd0), .s_axil_awvalid(awvalid),
      .s_axil_awready(awready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
      .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_bresp(bresp),
      .s_axil_bvalid(bvalid), .s_axil_bready(bready),
      .s_axil_araddr(araddr[10:0]), .s_axil_arprot(3'd0), .s_axil_arvalid(arvalid),
      .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
      .s_axil_rvalid(rvalid), .s_axil_rready(rready),
      .samples_taken_o(taken)
  );

  logic [W-1:0] mask;
  always_comb for (int i = 0; i < W / 8; i++) mask[8*i+:8] = {8{tape_tkeep[i]}};

  integer frames, reads, faults;

  task static check(input logic is_right, input integer cycle, input logic [8*40-1:0] what);
    if (is_right !== 1'b1) begin
      faults = faults + 1;
      if (faults <= 10) $display("cycle %0d: %0s", cycle, what);
    end
  endtask

  string path;
  initial begin
    if (!$value$plusargs("tape=%s", path)) $finish;
    $readmemh(path, tape);
    clk = 1'b0;
    {rst_q, adc_rst_q, tx_rst_q, rx_rst_q} = 4'b1111;
    is_reset = 1'b0;
    frames = 0;
    reads = 0;
    faults = 0;
    for (int n = 0; n < Cycles; n++) begin
      line = tape[n];
      #4;
      if (is_reset && !rst_q) begin
        check(^{tvalid, awready, wready, bvalid, arready, rvalid, taken} !== 1'bx, n,
              "X handshake");
        check(tvalid === tape_tvalid, n, "tvalid differs");
        if (tape_tvalid) begin
          check({tlast, tkeep} === {tape_tlast, tape_tkeep}, n, "tlast or tkeep differs");
          check((tdata & mask) === (tape_tdata & mask), n, "tdata differs");
        end
        if (tvalid && tx_tready && tlast) frames = frames + 1;
        if (bvalid) check(bresp === 2'd0, n, "bresp is no OKAY");
        if (rvalid) check(^{rresp, rdata} !== 1'bx, n, "X in a read");
        if (tape_rvalid && rready) begin
          check(rdata === tape_rdata, n, "rdata differs");
          reads = reads + 1;
        end
      end
      if (rst_q) is_reset = 1'b1;
      #1 clk = 1'b1;
      #5 clk = 1'b0;
    end
    $display("replay: %0d cycles, %0d frames, %0d reads, %0d faults", Cycles, frames, reads,
             faults);
    $finish;
  end

endmodule

`default_nettype wire
