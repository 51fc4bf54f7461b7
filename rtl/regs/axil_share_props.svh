// axil_share: each access of a master goes to m_axil once and unchanged, its answer comes back to this
// master and to no other, and a master waits for at most one access of each other. Of any one master.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

(* anyconst *) logic [Mw-1:0] f_me;
always_comb assume (32'(f_me) < Masters);

// Masters and the bus behind: what is offered stands until taken (a reset ends it).
logic [Masters-1:0] f_aw_q, f_w_q, f_ar_q;
logic [Masters*(AddrBits+3)-1:0] f_write_address_q, f_read_address_q;
logic [Masters*36-1:0] f_write_data_q;
logic f_b_q, f_r_q;
logic [1:0] f_bresp_q, f_rresp_q;
logic [31:0] f_rdata_q;
initial {f_aw_q, f_w_q, f_ar_q, f_b_q, f_r_q} = '0;
always_ff @(posedge clk_i) begin
  f_aw_q            <= rst_i ? '0 : s_axil_awvalid & ~s_axil_awready;
  f_w_q             <= rst_i ? '0 : s_axil_wvalid & ~s_axil_wready;
  f_ar_q            <= rst_i ? '0 : s_axil_arvalid & ~s_axil_arready;
  f_write_address_q <= {s_axil_awaddr, s_axil_awprot};
  f_read_address_q  <= {s_axil_araddr, s_axil_arprot};
  f_write_data_q    <= {s_axil_wdata, s_axil_wstrb};
  f_b_q             <= m_axil_bvalid && !m_axil_bready && !rst_i;
  f_r_q             <= m_axil_rvalid && !m_axil_rready && !rst_i;
  f_bresp_q         <= m_axil_bresp;
  f_rresp_q         <= m_axil_rresp;
  f_rdata_q         <= m_axil_rdata;
end
always_comb begin
  if (!rst_i) begin
    assume ((f_aw_q & ~s_axil_awvalid) == '0 && (f_w_q & ~s_axil_wvalid) == '0);
    assume ((f_ar_q & ~s_axil_arvalid) == '0);
    for (int n = 0; n < int'(Masters); n++) begin
      if (f_aw_q[n]) begin
        assume (s_axil_awaddr[n*AddrBits+:AddrBits] == f_write_address_q[3*Masters+n*AddrBits+:AddrBits]);
        assume (s_axil_awprot[n*3+:3] == f_write_address_q[n*3+:3]);
      end
      if (f_w_q[n]) begin
        assume (s_axil_wdata[n*32+:32] == f_write_data_q[4*Masters+n*32+:32]);
        assume (s_axil_wstrb[n*4+:4] == f_write_data_q[n*4+:4]);
      end
      if (f_ar_q[n]) begin
        assume (s_axil_araddr[n*AddrBits+:AddrBits] == f_read_address_q[3*Masters+n*AddrBits+:AddrBits]);
        assume (s_axil_arprot[n*3+:3] == f_read_address_q[n*3+:3]);
      end
    end
    if (f_b_q) assume (m_axil_bvalid && m_axil_bresp == f_bresp_q);
    if (f_r_q) assume (m_axil_rvalid && m_axil_rresp == f_rresp_q && m_axil_rdata == f_rdata_q);
  end
end

// What has been taken on each side and has no answer: of the bus behind, and of this master.
logic f_bus_aw_q, f_bus_w_q, f_bus_ar_q, f_my_aw_q, f_my_w_q, f_my_ar_q;
initial {f_bus_aw_q, f_bus_w_q, f_bus_ar_q, f_my_aw_q, f_my_w_q, f_my_ar_q} = '0;
always_ff @(posedge clk_i) begin
  if (m_axil_awvalid && m_axil_awready) f_bus_aw_q <= 1'b1;
  if (m_axil_wvalid && m_axil_wready) f_bus_w_q <= 1'b1;
  if (m_axil_arvalid && m_axil_arready) f_bus_ar_q <= 1'b1;
  if (s_axil_awvalid[f_me] && s_axil_awready[f_me]) f_my_aw_q <= 1'b1;
  if (s_axil_wvalid[f_me] && s_axil_wready[f_me]) f_my_w_q <= 1'b1;
  if (s_axil_arvalid[f_me] && s_axil_arready[f_me]) f_my_ar_q <= 1'b1;
  if (m_axil_bvalid && m_axil_bready) {f_bus_aw_q, f_bus_w_q} <= '0;
  if (m_axil_rvalid && m_axil_rready) f_bus_ar_q <= 1'b0;
  if (s_axil_bvalid[f_me] && s_axil_bready[f_me]) {f_my_aw_q, f_my_w_q} <= '0;
  if (s_axil_rvalid[f_me] && s_axil_rready[f_me]) f_my_ar_q <= 1'b0;
  if (rst_i) {f_bus_aw_q, f_bus_w_q, f_bus_ar_q, f_my_aw_q, f_my_w_q, f_my_ar_q} <= '0;
end
// The bus answers what it has taken.
always_comb begin
  assume (!m_axil_bvalid || (f_bus_aw_q && f_bus_w_q));
  assume (!m_axil_rvalid || f_bus_ar_q);
end

// The others whose access has ended while this master shows an address.
logic [Masters-1:0] f_wrote_q, f_read_q;
initial {f_wrote_q, f_read_q} = '0;
always_ff @(posedge clk_i) begin
  if (write_ends && writer_q != f_me) f_wrote_q[writer_q] <= 1'b1;
  if (read_ends && reader_q != f_me) f_read_q[reader_q] <= 1'b1;
  if (!s_axil_awvalid[f_me] || f_my_aw_q || rst_i) f_wrote_q <= '0;
  if (!s_axil_arvalid[f_me] || f_my_ar_q || rst_i) f_read_q <= '0;
end

// The turn never steps back: those that have had one are behind it on the way to this master.
function automatic logic [3:0] f_way(input logic [Mw-1:0] from);
  f_way = 4'(32'(f_me) + Masters - 32'(from)) % 4'(Masters);
endfunction
logic f_write_order, f_read_order;
always_comb begin
  f_write_order = !f_wrote_q[f_me];
  f_read_order  = !f_read_q[f_me];
  for (int n = 0; n < int'(Masters); n++) begin
    if (f_wrote_q[n] && f_way(Mw'(n)) < f_way(writer_q)) f_write_order = 1'b0;
    if (f_read_q[n] && f_way(Mw'(n)) < f_way(reader_q)) f_read_order = 1'b0;
    if (f_wrote_q[n] && writer_q == f_me && !writes_q) f_write_order = 1'b0;
    if (f_read_q[n] && reader_q == f_me && !reads_q) f_read_order = 1'b0;
  end
end

logic f_writes, f_reads;  // this master has the bus
assign f_writes = writes_q && writer_q == f_me;
assign f_reads  = reads_q && reader_q == f_me;

always_comb begin
  if (f_past_q && !rst_i) begin
    a_masters : assert (32'(writer_q) < Masters && 32'(reader_q) < Masters);
    // One access at a time, each part of it once.
    if (m_axil_awvalid) a_one_address : assert (!f_bus_aw_q);
    if (m_axil_wvalid) a_one_data : assert (!f_bus_w_q);
    if (m_axil_arvalid) a_one_read : assert (!f_bus_ar_q);
    a_writes : assert (f_bus_aw_q == aw_done_q && f_bus_w_q == w_done_q);
    a_reads : assert (f_bus_ar_q == ar_done_q);
    a_idle : assert ((writes_q || !(aw_done_q || w_done_q)) && (reads_q || !ar_done_q));
    // What this master gives is what the bus takes, at the same time.
    a_mine : assert ((f_my_aw_q == (f_writes && aw_done_q)) && (f_my_w_q == (f_writes && w_done_q)) &&
                     (f_my_ar_q == (f_reads && ar_done_q)));
    if (s_axil_awready[f_me] && s_axil_awvalid[f_me]) begin
      a_write_address : assert (m_axil_awvalid && m_axil_awready &&
          m_axil_awaddr == s_axil_awaddr[f_me*AddrBits+:AddrBits] &&
          m_axil_awprot == s_axil_awprot[f_me*3+:3]);
    end
    if (s_axil_wready[f_me] && s_axil_wvalid[f_me]) begin
      a_write_data : assert (m_axil_wvalid && m_axil_wready &&
          m_axil_wdata == s_axil_wdata[f_me*32+:32] && m_axil_wstrb == s_axil_wstrb[f_me*4+:4]);
    end
    if (s_axil_arready[f_me] && s_axil_arvalid[f_me]) begin
      a_read_address : assert (m_axil_arvalid && m_axil_arready &&
          m_axil_araddr == s_axil_araddr[f_me*AddrBits+:AddrBits] &&
          m_axil_arprot == s_axil_arprot[f_me*3+:3]);
    end
    // An answer comes to the one that it is for, as the bus gives it.
    if (s_axil_bvalid[f_me]) a_write_answer : assert (f_my_aw_q && f_my_w_q && s_axil_bresp == m_axil_bresp);
    if (s_axil_rvalid[f_me]) begin
      a_read_answer : assert (f_my_ar_q && {s_axil_rdata, s_axil_rresp} == {m_axil_rdata, m_axil_rresp});
    end
    if (m_axil_bvalid) a_write_to_one : assert ($onehot(s_axil_bvalid));
    if (m_axil_rvalid) a_read_to_one : assert ($onehot(s_axil_rvalid));
    if (m_axil_bvalid && m_axil_bready) a_b_taken : assert ((s_axil_bvalid & s_axil_bready) != '0);
    if (m_axil_rvalid && m_axil_rready) a_r_taken : assert ((s_axil_rvalid & s_axil_rready) != '0);
    // The bus is with a master that uses it.
    if (writes_q && !aw_done_q) a_write_stands : assert (m_axil_awvalid);
    if (reads_q && !ar_done_q) a_read_stands : assert (m_axil_arvalid);
    // Turns.
    a_order : assert (f_write_order && f_read_order);
    if (f_wrote_q[writer_q] && writer_q != f_me) a_write_turn : assert (!writes_q);
    if (f_read_q[reader_q] && reader_q != f_me) a_read_turn : assert (!reads_q);
  end
end

// Both masters write and read, one with late data.
logic [Masters-1:0] f_have_written_q, f_have_read_q;
logic f_late_q;
initial {f_have_written_q, f_have_read_q, f_late_q} = '0;
always_ff @(posedge clk_i) begin
  f_have_written_q <= f_have_written_q | (s_axil_bvalid & s_axil_bready);
  f_have_read_q    <= f_have_read_q | (s_axil_rvalid & s_axil_rready);
  f_late_q         <= f_late_q || (aw_done_q && !w_done_q && f_writes);
  if (rst_i) {f_have_written_q, f_have_read_q, f_late_q} <= '0;
end
always_comb begin
  c_all : cover (f_past_q && !rst_i && &f_have_written_q && &f_have_read_q && f_late_q);
  c_turns : cover (f_past_q && !rst_i && $countones(f_wrote_q) == 32'(Masters) - 1);
end
