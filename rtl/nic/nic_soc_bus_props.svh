// nic_soc_bus: each access has one request, with what it shows, and is acknowledged once; a read with
// its own response, unchanged. Responses of another access, also of one from before forget_i, never
// acknowledge it. A request begins only once those of all other targets have their responses. A
// request that stands is not withdrawn. With nothing under way, an access is shown at once.

logic f_past_q = 1'b0;
always_ff @(posedge clk_i) f_past_q <= 1'b1;
always_comb if (!f_past_q) assume (rst_i);

// ------------------------------------------------------------------ the core

// An access stands until acknowledged, or until the core's reset, which waits for the request.
logic f_shown_q, f_standing_q, f_forget_q;
logic [66:0] f_access, f_access_q;
assign f_access = {target_i, write_i, address_i, mask_i, data_i};
always_ff @(posedge clk_i) begin
  f_shown_q    <= valid_i && !ack_o && !forget_i && !rst_i;
  f_standing_q <= standing_o && !rst_i;
  f_forget_q   <= forget_i && !rst_i;
  f_access_q   <= f_access;
end
always_comb begin
  if (f_shown_q && !forget_i) assume (valid_i && f_access == f_access_q);
  if (f_standing_q && !f_forget_q) assume (!forget_i);
  if (valid_i) assume (target_i != 2'd0 && address_i[1:0] == 2'd0);
end

// ------------------------------------------------------------------ the targets

// Each answers what it has taken, once and later. They are reset with this.
logic [2:0] f_afb_q, f_acb_q;
logic f_aw_q, f_w_q, f_ar_q;
always_ff @(posedge clk_i) begin
  if (rst_i) begin
    f_afb_q <= '0;
    f_acb_q <= '0;
    f_aw_q  <= 1'b0;
    f_w_q   <= 1'b0;
    f_ar_q  <= 1'b0;
  end else begin
    f_afb_q <= f_afb_q + 3'(afb_valid_o && afb_ready_i) - 3'(afb_valid_i && afb_ready_o);
    f_acb_q <= f_acb_q + 3'(acb_valid_o && acb_ready_i) - 3'(acb_valid_i && acb_ready_o);
    if (m_axil_bvalid && m_axil_bready) {f_aw_q, f_w_q} <= 2'b00;
    if (m_axil_rvalid && m_axil_rready) f_ar_q <= 1'b0;
    if (m_axil_awvalid && m_axil_awready) f_aw_q <= 1'b1;
    if (m_axil_wvalid && m_axil_wready) f_w_q <= 1'b1;
    if (m_axil_arvalid && m_axil_arready) f_ar_q <= 1'b1;
  end
end
always_comb begin
  assume (!afb_valid_i || f_afb_q != '0);
  assume (!acb_valid_i || f_acb_q != '0);
  assume (!m_axil_bvalid || (f_aw_q && f_w_q));
  assume (!m_axil_rvalid || f_ar_q);
end

// ------------------------------------------------------------------ the access that is shown

// Its request, of a write to AXI4-Lite its two, were taken; so many answers are due ahead of its own.
logic f_asked_q, f_asks, f_is_axil, f_aw_asked_q, f_w_asked_q;
logic [2:0] f_ahead_q, f_due;
logic f_answer, f_mine;
assign f_is_axil = target_i == Axil;
assign f_asks = (afb_valid_o && afb_ready_i) || (acb_valid_o && acb_ready_i) ||
    (m_axil_arvalid && m_axil_arready) ||
    ((f_aw_asked_q || (m_axil_awvalid && m_axil_awready)) &&
     (f_w_asked_q || (m_axil_wvalid && m_axil_wready)));
assign f_due = target_i == Afb ? f_afb_q : target_i == Acb ? f_acb_q : 3'd0;
assign f_answer = target_i == Afb ? afb_valid_i : target_i == Acb ? acb_valid_i :
    m_axil_bvalid || m_axil_rvalid;
assign f_mine = f_asked_q && f_answer && f_ahead_q == '0;
always_ff @(posedge clk_i) begin
  if (rst_i || forget_i || ack_o) begin
    f_asked_q    <= 1'b0;
    f_aw_asked_q <= 1'b0;
    f_w_asked_q  <= 1'b0;
  end else begin
    if (f_asks) f_asked_q <= 1'b1;
    if (m_axil_awvalid && m_axil_awready) f_aw_asked_q <= !f_asks;
    if (m_axil_wvalid && m_axil_wready) f_w_asked_q <= !f_asks;
    if (f_asks) {f_aw_asked_q, f_w_asked_q} <= 2'b00;
  end
  if (f_asks) f_ahead_q <= f_due - 3'(f_answer);
  else if (f_answer) f_ahead_q <= f_ahead_q - 3'd1;
end

// What stood in the cycle before.
logic f_afb_stood_q, f_acb_stood_q, f_aw_stood_q, f_w_stood_q, f_ar_stood_q;
nic_pkg::afb_request_t f_afb_o_q;
nic_pkg::acb_request_t f_acb_o_q;
logic [27:0] f_awaddr_q, f_araddr_q;
logic [35:0] f_w_o_q;
always_ff @(posedge clk_i) begin
  f_afb_stood_q <= afb_valid_o && !afb_ready_i;
  f_acb_stood_q <= acb_valid_o && !acb_ready_i;
  f_aw_stood_q  <= m_axil_awvalid && !m_axil_awready;
  f_w_stood_q   <= m_axil_wvalid && !m_axil_wready;
  f_ar_stood_q  <= m_axil_arvalid && !m_axil_arready;
  f_afb_o_q     <= afb_o;
  f_acb_o_q     <= acb_o;
  f_awaddr_q    <= m_axil_awaddr;
  f_araddr_q    <= m_axil_araddr;
  f_w_o_q       <= {m_axil_wstrb, m_axil_wdata};
  if (rst_i) {f_afb_stood_q, f_acb_stood_q, f_aw_stood_q, f_w_stood_q, f_ar_stood_q} <= '0;
end

// The lanes of a word in a dword.
logic [63:0] f_bits;
logic [31:0] f_lanes;
for (genvar n = 0; n < 8; n++) begin : g_f
  assign f_bits[8*n+:8] = {8{acb_o.mask[n]}};
end
assign f_lanes = address_i[2] ? acb_o.data[63:32] : acb_o.data[31:0];

always_ff @(posedge clk_i) begin
  if (f_past_q && !rst_i) begin
    // One request for each access, to its target, with what it shows.
    if (afb_valid_o || acb_valid_o || m_axil_awvalid || m_axil_wvalid || m_axil_arvalid)
      p_once : assert (valid_i && !forget_i && !f_asked_q);
    if (afb_valid_o) p_afb : assert (
        target_i == Afb && afb_o == {1'b0, !write_i, mask_i, 8'd0, address_i, data_i});
    if (acb_valid_o) p_acb : assert (
        target_i == Acb && !acb_o.lock && acb_o.read == !write_i &&
        acb_o.address == {8'd0, address_i[27:3], 3'd0} &&
        acb_o.mask == 8'({4'd0, mask_i} << (address_i[2] ? 4 : 0)) && f_lanes == data_i);
    if (m_axil_awvalid) p_aw : assert (
        f_is_axil && write_i && !f_aw_asked_q && m_axil_awaddr == address_i);
    if (m_axil_wvalid) p_w : assert (f_is_axil && write_i && !f_w_asked_q &&
                                     m_axil_wdata == data_i && m_axil_wstrb == mask_i);
    if (m_axil_arvalid) p_ar : assert (f_is_axil && !write_i && m_axil_araddr == address_i);
    // Acknowledged once: a read with its own response, a posted write with its request.
    if (ack_o && !forget_i) begin
      p_shown : assert (valid_i);
      if (write_i && !f_is_axil) p_posted : assert (f_asks && !f_asked_q);
      else p_answered : assert (f_mine);
      if (!write_i && target_i == Afb) p_afb_data : assert (data_o == afb_i.data);
      if (!write_i && target_i == Acb)
        p_acb_data : assert (data_o == 32'(acb_i.data >> (address_i[2] ? 32 : 0)));
      if (!write_i && f_is_axil) p_axil_data : assert (data_o == m_axil_rdata);
    end
    if (f_mine && !forget_i) p_not_lost : assert (ack_o);
    if (f_asks && write_i && !f_is_axil) p_not_late : assert (ack_o);
    // Order: what begins finds nothing of another target open.
    if (afb_valid_o) p_afb_order : assert (f_acb_q == '0 && !f_aw_q && !f_w_q && !f_ar_q);
    if (acb_valid_o) p_acb_order : assert (f_afb_q == '0 && !f_aw_q && !f_w_q && !f_ar_q);
    if (m_axil_awvalid || m_axil_wvalid || m_axil_arvalid)
      p_axil_order : assert (f_afb_q == '0 && f_acb_q == '0 && !f_ar_q && !(f_aw_q && f_w_q));
    p_open : assert (f_afb_q <= 3'(OpenMax) && f_acb_q <= 3'(OpenMax));
    // A request stands.
    if (f_afb_stood_q) p_afb_stands : assert (afb_valid_o && afb_o == f_afb_o_q);
    if (f_acb_stood_q) p_acb_stands : assert (acb_valid_o && acb_o == f_acb_o_q);
    if (f_aw_stood_q) p_aw_stands : assert (m_axil_awvalid && m_axil_awaddr == f_awaddr_q);
    if (f_w_stood_q)
      p_w_stands : assert (m_axil_wvalid && {m_axil_wstrb, m_axil_wdata} == f_w_o_q);
    if (f_ar_stood_q) p_ar_stands : assert (m_axil_arvalid && m_axil_araddr == f_araddr_q);
    // Nothing waits for nothing.
    if (valid_i && !forget_i && !f_asked_q && f_afb_q == '0 && f_acb_q == '0 && !f_ar_q &&
        !(f_aw_q && f_w_q))
      p_goes : assert (afb_valid_o || acb_valid_o || m_axil_arvalid || m_axil_awvalid ||
                       m_axil_wvalid);
    p_err : assert (ev_err_o == ((afb_valid_i && afb_i.err) || (acb_valid_i && acb_i.err) ||
                                 (m_axil_bvalid && m_axil_bresp[1]) ||
                                 (m_axil_rvalid && m_axil_rresp[1])));
    // For induction.
    p_sum : assert (3'(open_q) == f_afb_q + f_acb_q + 3'(f_ar_q) + 3'(f_aw_q && f_w_q));
    p_targets : assert ((f_afb_q == '0 || target_q == Afb) && (f_acb_q == '0 || target_q == Acb) &&
                        (!(f_ar_q || (f_aw_q && f_w_q)) || target_q == Axil) &&
                        !(f_ar_q && (f_aw_q || f_w_q)));
    p_halves : assert (aw_done_q == (f_aw_q && !f_w_q) && w_done_q == (f_w_q && !f_aw_q) &&
                       f_aw_asked_q == aw_done_q && f_w_asked_q == w_done_q);
    if (aw_done_q || w_done_q)
      p_half : assert (f_shown_q && open_q == '0 && target_i == Axil && write_i && !forget_i);
    p_waits : assert (waits_q == f_asked_q && (!waits_q || (f_shown_q && open_q != '0 &&
                      f_access_q[66:65] == target_q &&
                      (!f_access_q[64] || target_q == Axil) && f_ahead_q + 3'd1 == 3'(open_q))));
    if (waits_q && f_access_q[66:65] == Axil)
      p_axil_kind : assert (f_access_q[64] ? f_aw_q : f_ar_q);
    if (f_afb_stood_q || f_acb_stood_q || f_aw_stood_q || f_w_stood_q || f_ar_stood_q)
      p_stood : assert (f_standing_q && f_shown_q && !f_forget_q);
    c_posted : cover (open_q == 2'(OpenMax) && valid_i && write_i && !ack_o);
    c_behind : cover (ack_o && !write_i && target_i == Acb && f_access_q[66:65] == Acb);
    c_forgotten : cover (open_q != '0 && !waits_q && valid_i && f_asks && !write_i);
    c_axil : cover (ack_o && write_i && f_is_axil);
  end
end
