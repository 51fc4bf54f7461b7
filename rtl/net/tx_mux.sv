// Joins control frames (64 bits, s0) and DATA (W bits, s1) to one stream of whole frames.
//
// Control goes first, but a DATA frame that waits has its turn after each control frame, so that
// neither starves. At W = 64 both pass at a beat a cycle, without an idle cycle between frames that
// wait, and without latency but for one cycle before a control frame behind DATA or nothing. At W =
// 512 a control frame is gathered whole, eight beats to one, before it leaves without gaps: latency
// 3 cycles from its last beat; DATA still passes without.
// A control frame that is held back (`s0_hold_i`) leaves behind all DATA that was chosen until then
// and before any that is chosen later.
// Back-pressure on both. A gap that a source leaves inside a frame goes through, but for s0 at W =
// 512.
`default_nettype none

module tx_mux #(
    parameter int unsigned W    = 64,
    parameter int unsigned Rows = 256  // of W bits for control, W = 512: above the longest frame's
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input  wire logic [63:0] s0_axis_tdata,
    input  wire logic [ 7:0] s0_axis_tkeep,
    input  wire logic        s0_axis_tvalid,
    output      logic        s0_axis_tready,
    input  wire logic        s0_axis_tlast,

    input  wire logic s0_hold_i,    // control frames wait; rises only where s0_busy_o is low
    output      logic s0_busy_o,    // control frames have come and not left; a cycle late
    output      logic s0_shown_o,   // one is whole, and waits or leaves
    input  wire logic s1_chosen_i,  // a DATA frame will come

    input  wire logic [  W-1:0] s1_axis_tdata,
    input  wire logic [W/8-1:0] s1_axis_tkeep,
    input  wire logic           s1_axis_tvalid,
    output      logic           s1_axis_tready,
    input  wire logic           s1_axis_tlast,

    output      logic [  W-1:0] m_axis_tdata,
    output      logic [W/8-1:0] m_axis_tkeep,
    output      logic           m_axis_tvalid,
    input  wire logic           m_axis_tready,
    output      logic           m_axis_tlast
);

  if (W != 64 && W != 512) begin : g_bad_width
    $error("W must be 64 or 512");
  end

  logic [W-1:0] ctl_data;
  logic [W/8-1:0] ctl_keep;
  logic ctl_valid, ctl_ready, ctl_last;

  if (W == 64) begin : g_direct
    assign ctl_data       = s0_axis_tdata;
    assign ctl_keep       = s0_axis_tkeep;
    assign ctl_valid      = s0_axis_tvalid;
    assign ctl_last       = s0_axis_tlast;
    assign s0_axis_tready = ctl_ready;
    assign s0_busy_o      = s0_axis_tvalid;
  end else begin : g_gather
    localparam int unsigned Aw = $clog2(Rows);
    // A proof is of short frames, so that few cycles fill all rows.
`ifndef FORMAL
    if (Rows * 64 <= 9216) begin : g_few_rows
      $error("Rows must hold more than 9,216 bytes");
    end
`endif
    if (Rows != 1 << Aw) begin : g_bad_rows
      $error("Rows must be a power of two");
    end

    // A lane is written in its turn. Of a frame's last row the lanes behind its end keep what they
    // held: the first lane that says so is the end.
    logic [Aw:0] wr_q, kept_q, rd_q;
    logic [2:0] lane_q;
    logic take, fetch, pass, has_room_q, row_valid_q, valid_q;
    logic [Aw:0] used;

    // A row is read, then shown. Room is for the row that is being written and one more.
    assign s0_axis_tready = has_room_q;
    assign take           = s0_axis_tvalid && has_room_q;
    assign used           = wr_q - rd_q;
    assign pass           = row_valid_q && (!valid_q || ctl_ready);
    assign fetch          = kept_q != rd_q && (!row_valid_q || pass);

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        wr_q        <= '0;
        kept_q      <= '0;
        rd_q        <= '0;
        lane_q      <= '0;
        has_room_q  <= 1'b0;
        row_valid_q <= 1'b0;
        valid_q     <= 1'b0;
      end else begin
        has_room_q <= !used[Aw] && !(&used[Aw-1:0]);
        if (take) begin
          lane_q <= s0_axis_tlast ? '0 : lane_q + 1'b1;
          if (s0_axis_tlast || lane_q == 3'd7) wr_q <= wr_q + 1'b1;
          if (s0_axis_tlast) kept_q <= wr_q + 1'b1;
        end
        if (fetch) rd_q <= rd_q + 1'b1;
        if (fetch) row_valid_q <= 1'b1;
        else if (pass) row_valid_q <= 1'b0;
        if (pass) valid_q <= 1'b1;
        else if (ctl_ready) valid_q <= 1'b0;
      end
    end

    logic [7:0] ends;
    logic [7:0] keep_of[8];
    logic [W-1:0] row, data_q;
    logic [W/8-1:0] keep, keep_q;
    logic last_q;
    for (genvar g = 0; g < 8; g++) begin : g_lane
      (* ram_style = "block" *)logic [71:0] mem[Rows];
      logic [71:0] out_q;
      // All ones is the keep of a lane that does not end the frame; an end has its last bit apart.
      always_ff @(posedge clk_i) begin
        if (take && lane_q == 3'(g))
          mem[wr_q[Aw-1:0]] <= {s0_axis_tlast, s0_axis_tkeep[7:1], s0_axis_tdata};
      end
      always_ff @(posedge clk_i) begin
        if (fetch) out_q <= mem[rd_q[Aw-1:0]];
      end
      assign row[64*g+:64] = out_q[63:0];
      assign ends[g]       = out_q[71];
      assign keep_of[g]    = {out_q[70:64], 1'b1};
    end

    logic gone;  // an end lies before the lane
    always_comb begin
      gone = 1'b0;
      for (int i = 0; i < 8; i++) begin
        keep[8*i+:8] = gone ? 8'h00 : keep_of[i];
        gone = gone || ends[i];
      end
    end

    always_ff @(posedge clk_i) begin
      if (pass) begin
        data_q <= row;
        keep_q <= keep;
        last_q <= |ends;
      end
    end
    assign ctl_data  = data_q;
    assign ctl_keep  = keep_q;
    assign ctl_valid = valid_q;
    assign ctl_last  = last_q;

    logic busy_q;
    always_ff @(posedge clk_i) busy_q <= s0_axis_tvalid || wr_q != rd_q || row_valid_q || valid_q;
    assign s0_busy_o = busy_q;
  end
  assign s0_shown_o = ctl_valid;

  // DATA that was chosen and has not left; and what of it leaves before the control frame that was
  // held back.
  logic [2:0] chosen_q, chosen_d, ahead_q;
  logic data_ends, may_ctl;
  assign chosen_d = chosen_q + 3'(s1_chosen_i) - 3'(data_ends);
  assign may_ctl  = ctl_valid && !s0_hold_i && !(|ahead_q[2:1]) && (!ahead_q[0] || data_ends);

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen_d;
    if (s0_hold_i) ahead_q <= chosen_d;
    else if (data_ends && |ahead_q) ahead_q <= ahead_q - 1'b1;
    if (rst_i) begin
      chosen_q <= '0;
      ahead_q  <= '0;
    end
  end

  // Whose frame is under way, or may begin: a register, since each bit of the output looks at it.
  // It changes behind a frame, or where the one that may begin does not; DATA is waited for.
  logic data_q, begun_q, is_valid, is_last, ends;
  assign is_valid  = data_q ? s1_axis_tvalid : ctl_valid;
  assign is_last   = data_q ? s1_axis_tlast : ctl_last;
  assign ends      = is_valid && is_last && m_axis_tready;
  assign data_ends = ends && data_q;

  assign m_axis_tdata   = data_q ? s1_axis_tdata : ctl_data;
  assign m_axis_tkeep   = data_q ? s1_axis_tkeep : ctl_keep;
  assign m_axis_tvalid  = is_valid;
  assign m_axis_tlast   = is_last;
  assign s1_axis_tready = data_q && m_axis_tready;
  assign ctl_ready      = !data_q && m_axis_tready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      begun_q <= 1'b0;
      data_q  <= 1'b0;
    end else begin
      if (is_valid) begun_q <= !ends;
      if (ends || !(begun_q || is_valid)) begin
        data_q <= data_q ? !may_ctl : s1_axis_tvalid || !is_valid;
      end
    end
  end

`ifdef FORMAL
  `include "tx_mux_props.svh"
`endif

endmodule

`default_nettype wire
