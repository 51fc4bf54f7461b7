// axil_decode: every access is answered once, with the answer of its window's block, whatever the
// order of address and data, the pauses of the bus and the time that a block takes.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// The bus: what is offered stands until taken (a reset ends it).
logic f_aw_q, f_w_q, f_ar_q, f_b_q, f_r_q;
logic [AddrBits-1:0] f_awaddr_q, f_araddr_q;
logic [35:0] f_wdata_q;
logic [1:0] f_bresp_q, f_rresp_q;
logic [31:0] f_rdata_q;
initial {f_aw_q, f_w_q, f_ar_q, f_b_q, f_r_q} = '0;
always_ff @(posedge clk_i) begin
  f_aw_q     <= s_axil_awvalid && !s_axil_awready && !rst_i;
  f_w_q      <= s_axil_wvalid && !s_axil_wready && !rst_i;
  f_ar_q     <= s_axil_arvalid && !s_axil_arready && !rst_i;
  f_b_q      <= s_axil_bvalid && !s_axil_bready && !rst_i;
  f_r_q      <= s_axil_rvalid && !s_axil_rready && !rst_i;
  f_awaddr_q <= s_axil_awaddr;
  f_araddr_q <= s_axil_araddr;
  f_wdata_q  <= {s_axil_wdata, s_axil_wstrb};
  f_bresp_q  <= s_axil_bresp;
  f_rresp_q  <= s_axil_rresp;
  f_rdata_q  <= s_axil_rdata;
end
always_comb begin
  if (f_aw_q && !rst_i) assume (s_axil_awvalid && s_axil_awaddr == f_awaddr_q);
  if (f_w_q && !rst_i) assume (s_axil_wvalid && {s_axil_wdata, s_axil_wstrb} == f_wdata_q);
  if (f_ar_q && !rst_i) assume (s_axil_arvalid && s_axil_araddr == f_araddr_q);
end

// Blocks: done within FBlock cycles, and what was read stands until the next read of the block.
localparam int unsigned FBlock = 3;
logic [1:0] f_wr_wait_q, f_rd_wait_q;
logic f_held_q;  // the block of raddr_q has done
logic [Blocks*33-1:0] f_read_q;
initial {f_wr_wait_q, f_rd_wait_q, f_held_q} = '0;
always_ff @(posedge clk_i) begin
  f_wr_wait_q <= rst_i || (wr_valid_o & ~wr_done_i) == '0 ? 2'd0 : f_wr_wait_q + 2'd1;
  f_rd_wait_q <= rst_i || (rd_valid_o & ~rd_done_i) == '0 ? 2'd0 : f_rd_wait_q + 2'd1;
  f_read_q    <= {rd_error_i, rd_data_i};
  f_held_q    <= s_axil_rvalid && !s_axil_rready && !rst_i;
end
always_comb begin
  assume ((wr_done_i & ~wr_valid_o) == '0 && (rd_done_i & ~rd_valid_o) == '0);
  if (f_wr_wait_q == 2'(FBlock - 1)) assume ((wr_valid_o & ~wr_done_i) == '0);
  if (f_rd_wait_q == 2'(FBlock - 1)) assume ((rd_valid_o & ~rd_done_i) == '0);
  if (f_held_q) assume ({rd_error_i, rd_data_i} == f_read_q);
end

// What each window is, written apart from the module.
logic [AddrBits-BlockBits-1:0] f_wr_window, f_rd_window;
logic [AddrBits-1:0] f_asked_q;  // the read that is under way
assign f_wr_window = s_axil_awaddr[AddrBits-1:BlockBits];
assign f_rd_window = f_asked_q[AddrBits-1:BlockBits];

// Accesses that are under way: taken by the bus and not answered, and shown to a block and not done.
logic f_write_q, f_read_due_q, f_wr_error_q, f_wr_miss_q;
logic f_rd_done_is_q;  // the block of the read has done
logic [2:0] f_wait_w_q, f_wait_r_q;
initial {f_write_q, f_read_due_q, f_wait_w_q, f_wait_r_q} = '0;
always_ff @(posedge clk_i) begin
  if (s_axil_bvalid && s_axil_bready) f_write_q <= 1'b0;
  if (s_axil_awvalid && s_axil_awready) begin
    f_write_q    <= 1'b1;
    f_wr_miss_q  <= 32'(f_wr_window) >= Blocks;
    f_wr_error_q <= (wr_error_i & wr_done_i) != '0;
  end
  if (s_axil_rvalid && s_axil_rready) f_read_due_q <= 1'b0;
  if (s_axil_arvalid && s_axil_arready) begin
    f_read_due_q <= 1'b1;
    f_asked_q    <= s_axil_araddr;
  end
  if (s_axil_arvalid && s_axil_arready) f_rd_done_is_q <= 1'b0;
  else if (rd_done_i != '0) f_rd_done_is_q <= 1'b1;
  f_wait_w_q <= s_axil_awvalid && s_axil_wvalid && !f_write_q ? f_wait_w_q + 3'd1 : 3'd0;
  f_wait_r_q <= f_read_due_q && !s_axil_rvalid ? f_wait_r_q + 3'd1 : 3'd0;
  if (rst_i) begin
    f_write_q    <= 1'b0;
    f_read_due_q <= 1'b0;
    f_wait_w_q   <= 3'd0;
    f_wait_r_q   <= 3'd0;
  end
end

always_comb begin
  if (f_past_q) begin
    // Writes: address and data are taken together, once, and one answer follows.
    a_together : assert ((s_axil_awready == s_axil_wready) &&
                         (!s_axil_awready || (s_axil_awvalid && s_axil_wvalid)));
    a_write_answer : assert (s_axil_bvalid == f_write_q);
    if (s_axil_awready) a_one_write : assert (!f_write_q);
    if (s_axil_bvalid) begin
      a_bresp : assert (s_axil_bresp == (f_wr_miss_q ? 2'b11 : f_wr_error_q ? 2'b10 : 2'b00));
    end
    if (f_b_q) a_b_stands : assert (s_axil_bvalid && s_axil_bresp == f_bresp_q);
    // A block is shown its own accesses alone, each until it is done.
    a_wr_block : assert (wr_valid_o == (s_axil_awvalid && s_axil_wvalid && !f_write_q && !rst_i ?
                                        Blocks'(Blocks'(1) << f_wr_window) : '0));
    a_rd_block : assert (rd_valid_o == (f_read_due_q && !s_axil_rvalid ?
                                        Blocks'(Blocks'(1) << f_rd_window) : '0));
    if (wr_valid_o != '0) a_wr_taken : assert (s_axil_awready == (wr_done_i != '0));
    a_shown : assert (wr_addr_o == s_axil_awaddr[BlockBits-1:0] && wr_data_o == s_axil_wdata &&
                      wr_whole_o == (s_axil_wstrb == 4'hf));
    // Reads.
    if (s_axil_arready) a_one_read : assert (!f_read_due_q);
    if (s_axil_rvalid) a_read_answer : assert (f_read_due_q && rd_valid_o == '0);
    if (f_read_due_q) begin
      a_rd_address : assert (raddr_q == f_asked_q && rd_addr_o == f_asked_q[BlockBits-1:0]);
      a_read_lives : assert (s_axil_rvalid != reading_q);
    end
    if (!f_read_due_q) a_no_read : assert (!s_axil_rvalid && !reading_q);
    if (s_axil_rvalid) begin
      if (32'(f_rd_window) >= Blocks) begin
        a_rd_miss : assert (s_axil_rresp == 2'b11 && s_axil_rdata == '0);
      end else begin
        a_rd_after_done : assert (f_rd_done_is_q);
        a_rd_answer : assert (s_axil_rdata == rd_data_i[f_rd_window[0]*32+:32] &&
                              s_axil_rresp == {rd_error_i[f_rd_window[0]], 1'b0});
      end
    end
    if (f_r_q) begin
      a_r_stands : assert (s_axil_rvalid && s_axil_rresp == f_rresp_q && s_axil_rdata == f_rdata_q);
    end
    // No access waits longer than its block.
    a_write_ends : assert (f_wait_w_q <= 3'(FBlock) && f_wait_w_q >= {1'b0, f_wr_wait_q});
    a_read_ends : assert (f_wait_r_q <= 3'(FBlock) && f_wait_r_q >= {1'b0, f_rd_wait_q});
    if (rst_i) a_reset : assert (!s_axil_awready && !s_axil_arready && wr_valid_o == '0);
  end
end

// Second accesses after a reset, with pauses of the bus.
logic [2:0] f_writes_q, f_reads_q;
logic f_block_q, f_miss_q;
initial {f_writes_q, f_reads_q, f_block_q, f_miss_q} = '0;
always_ff @(posedge clk_i) begin
  if (s_axil_bvalid && s_axil_bready && !rst_i) f_writes_q <= f_writes_q + 3'd1;
  if (f_r_q && s_axil_rvalid && s_axil_rready && !rst_i) f_reads_q <= f_reads_q + 3'd1;
  f_block_q <= f_block_q || wr_done_i[Blocks-1];
  f_miss_q  <= f_miss_q || (s_axil_rvalid && s_axil_rresp == 2'b11);
  if (rst_i) {f_writes_q, f_reads_q, f_block_q, f_miss_q} <= '0;
end
always_comb begin
  c_both : cover (f_past_q && !rst_i && f_writes_q == 3'd2 && f_reads_q == 3'd2 && f_block_q);
  c_missed : cover (f_past_q && !rst_i && f_miss_q && f_b_q && s_axil_bresp == 2'b10);
  c_late_data : cover (f_past_q && !rst_i && f_aw_q && !f_w_q && s_axil_wready);
  c_late_address : cover (f_past_q && !rst_i && f_w_q && !f_aw_q && s_axil_awready);
end
