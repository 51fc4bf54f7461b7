// Joins two streams of frames to one: the first goes first, the second has a share of its bytes.
//
// s0 is the stream, s1 the other. A frame of s1 takes its turn behind one frame of s0 when s1's last
// frame is paid for, or when s0 has offered nothing for IdleCycles. A frame of s1 costs its bytes,
// rounded up to beats, and 24 more (preamble, FCS, gap); each whole beat of s0's pays share_i / 256
// of its bytes. So while s0 always has a frame, s1 gets at most share / (256 + share) of the wire's
// time, and s0 waits for one frame of s1 at a time. Nothing is saved up: s1 owes at most one frame,
// and has no credit; with frames that are short beside those of s0 it gets less than its share.
// share_i 0: only what s0 leaves idle. Frames of s1 have 65,536 bytes at most.
//
// Throughput: a beat a cycle; no idle cycle between frames that wait. Latency: none for s0 while s1 is
// silent; behind a frame of s1 one cycle. Back-pressure on both. s1 leaves no gap inside a frame, or s0
// waits for it. Does not look at contents. One clock.
`default_nettype none

module frame_share #(
    parameter int unsigned W          = 64,
    parameter int unsigned IdleCycles = 64
) (
    input wire logic       clk_i,
    input wire logic       rst_i,
    input wire logic [7:0] share_i,

    input  wire logic [  W-1:0] s0_axis_tdata,
    input  wire logic [W/8-1:0] s0_axis_tkeep,
    input  wire logic           s0_axis_tvalid,
    output      logic           s0_axis_tready,
    input  wire logic           s0_axis_tlast,

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

  localparam int unsigned FrameBytesMax = 65536;
  localparam int unsigned WireBytes = 24;  // beside a frame's own
  localparam int unsigned Iw = $clog2(IdleCycles + 1);
  // In 1 / 256 of a byte.
  localparam int unsigned Dw = $clog2(256 * (FrameBytesMax + WireBytes) + 1);
  localparam logic [Dw-1:0] Beat = Dw'(256 * (W / 8));
  localparam logic [Dw-1:0] First = Dw'(256 * (W / 8 + WireBytes));

  if (W < 64 || W != 1 << $clog2(W)) begin : g_bad_width
    $error("W must be a power of two, from 64 on");
  end
  if (IdleCycles < 1) begin : g_bad_idle
    $error("IdleCycles must be 1 at least");
  end

  logic [Dw-1:0] debt_q, paid;
  logic [Iw-1:0] idle_q;
  logic owes_q;
  logic open_q;  // a frame of s1's was shown, its last beat was not taken
  logic inside_q;  // a beat of it was taken
  logic may_begin, s1_open, s1_valid, s1_ready, s1_take, s0_take;

  assign may_begin = !owes_q || idle_q == Iw'(IdleCycles);
  assign s1_open   = open_q || may_begin;
  assign s1_valid  = s1_axis_tvalid && s1_open;
  assign s1_take   = s1_valid && s1_ready;
  assign s0_take   = s0_axis_tvalid && s0_axis_tready;
  assign s1_axis_tready = s1_ready && s1_open;
  assign paid      = Dw'(share_i) << $clog2(W / 8);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      debt_q   <= '0;
      owes_q   <= 1'b0;
      idle_q   <= '0;
      open_q   <= 1'b0;
      inside_q <= 1'b0;
    end else begin
      if (s1_take) begin
        debt_q <= inside_q ? debt_q + Beat : First;
        owes_q <= 1'b1;
      end else if (s0_take) begin
        debt_q <= debt_q - (debt_q < paid ? debt_q : paid);
        owes_q <= debt_q > paid;
      end
      if (s0_axis_tvalid) idle_q <= '0;
      else if (idle_q != Iw'(IdleCycles)) idle_q <= idle_q + 1'b1;
      if (s1_valid) open_q <= !(s1_take && s1_axis_tlast);
      if (s1_take) inside_q <= !s1_axis_tlast;
    end
  end

  axis_arbiter #(
      .W    (W),
      .Ports(2)
  ) i_arbiter (
      .clk_i        (clk_i),
      .rst_i        (rst_i),
      .s_axis_tdata ({s1_axis_tdata, s0_axis_tdata}),
      .s_axis_tkeep ({s1_axis_tkeep, s0_axis_tkeep}),
      .s_axis_tvalid({s1_valid, s0_axis_tvalid}),
      .s_axis_tready({s1_ready, s0_axis_tready}),
      .s_axis_tlast ({s1_axis_tlast, s0_axis_tlast}),
      .s_axis_tuser (2'b00),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tkeep (m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast (m_axis_tlast),
      .m_axis_tuser ()
  );

endmodule

`default_nettype wire
