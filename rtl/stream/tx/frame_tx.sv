// Sends DATA packets as Ethernet, IPv4 and UDP frames: header from the job, payload from the ring,
// CRC-32C as the trailer (docs/protocol.md#2). The payload begins at frame byte 64, the last beat
// holds the 4 bytes of the CRC.
//
// The header is made by head_builder, while the frame before leaves; the payload comes through a
// FIFO, which is filled as soon as a job is begun.
//
// Throughput: a beat a clock; frames back to back where a frame has at least 26 beats at 64 bits, 7
// at 512, else a frame in so many clocks. Latency: job to first beat 15 cycles, the ring answering
// at once. Back-pressure: `m_axis_tready`; reads of the ring are requested only as far as the FIFO
// has room for their replies. tvalid has no gap inside a frame unless the ring keeps requests
// waiting.
//
// A job's packet lies in the ring, at whole beats; its buffer id is not looked at. A job stands
// from `job_valid_i` until it is taken, and leaves whole. `self_i` and `peer_i` stand still from 32
// cycles before a job on. Does not pad: a frame has at least 68 bytes. One clock.
`default_nettype none

module frame_tx #(
    parameter int unsigned W         = 64,
    parameter int unsigned RdLatency = 2,
    parameter int unsigned Aw        = 16
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire net_pkg::peer_t        self_i,
    input  wire net_pkg::peer_t        peer_i,
    input  wire logic                  job_valid_i,
    output      logic                  job_ready_o,
    input  wire send_pkg::job_t        job_i,
    output      logic                  rd_valid_o,
    input  wire logic                  rd_ready_i,
    output      logic         [Aw-1:0] rd_addr_o,
    input  wire logic                  rd_valid_i,
    input  wire logic         [ W-1:0] rd_data_i,
    output      logic         [ W-1:0] m_axis_tdata,
    output      logic        [W/8-1:0] m_axis_tkeep,
    output      logic                  m_axis_tvalid,
    input  wire logic                  m_axis_tready,
    output      logic                  m_axis_tlast,
    output      logic                  busy_o,
    output      logic                  fetch_busy_o
);

  localparam int unsigned BeatBytes = W / 8;
  localparam int unsigned BeatShift = $clog2(BeatBytes);
  localparam int unsigned HeadBeats = 512 / W;
  localparam int unsigned HeadWidth = (HeadBeats > 1) ? $clog2(HeadBeats) : 1;
  localparam int unsigned CountWidth = 16 - BeatShift;

  localparam int unsigned FifoDepth = 32;
  localparam int unsigned Fw = $clog2(FifoDepth);

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (RdLatency < 1 || RdLatency > 12) begin : g_latency
    $error("RdLatency must be 1 to 12: the FIFO covers no more");
  end
  if (Aw + BeatShift > 40) begin : g_address
    $error("an address in bytes has at most 40 bits");
  end

  // The header.
  logic start, head_done, head_held, head_busy, head_ready;
  logic [W-1:0] head_data;
  logic [15:0] head_len_bytes;
  logic [31:0] trailer;
  logic [HeadWidth-1:0] beat_q, beat_d;
  logic fetch_busy_q;
  logic [8*wire_pkg::HeaderBytes-1:0] header;

  // docs/protocol.md#2.2
  assign header = {
    wire_pkg::Version, wire_pkg::TypeData, job_i.desc.flags, job_i.desc.tag, job_i.index,
    job_i.seq, job_i.departure
  };

  head_builder #(
      .W          (W),
      .HeaderBytes(wire_pkg::HeaderBytes)
  ) u_head (
      .clk_i      (clk_i),
      .rst_i      (rst_i),
      .self_i     (self_i),
      .peer_i     (peer_i),
      .ip_sum_i   (16'd0),
      .job_valid_i(job_valid_i),
      .tos_i      (net_pkg::TosEct0),
      .job_ready_o(job_ready_o),
      .header_i   (header),
      .payload_i  ({job_i.desc.len_bytes, job_i.crc, job_i.shift, job_i.sum}),
      .hold_i     (fetch_busy_q),
      .start_o    (start),
      .held_o     (head_held),
      .busy_o     (head_busy),
      .ready_o    (head_ready),
      .beat_i     (beat_d),
      .data_o     (head_data),
      .len_bytes_o(head_len_bytes),
      .trailer_o  (trailer),
      .done_i     (head_done)
  );

  // While the job that is read stands at the input, it is no job of before.
  assign fetch_busy_o = fetch_busy_q && !head_held;

  // The payload's way from the ring.
  logic [W-1:0] fifo[FifoDepth];
  logic [Fw-1:0] fifo_wr_q, fifo_rd_q;
  logic [Fw:0] room_q, level_q;
  logic has_room_q;     // room_q is not zero; learns of a pop a cycle late
  logic has_payload_q;  // level_q is not zero
  logic [Aw-1:0] fetch_addr_q;
  logic [CountWidth-1:0] fetch_left_q;
  logic ask, pop;

  assign rd_valid_o = fetch_busy_q && has_room_q;
  assign rd_addr_o  = fetch_addr_q;
  assign ask        = rd_valid_o && rd_ready_i;

  always_ff @(posedge clk_i) begin
    if (rd_valid_i) fifo[fifo_wr_q] <= rd_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (ask) begin
      fetch_addr_q <= fetch_addr_q + 1'b1;
      fetch_left_q <= fetch_left_q - 1'b1;
      if (fetch_left_q == CountWidth'(1)) fetch_busy_q <= 1'b0;
    end
    if (start) begin
      fetch_addr_q <= job_i.desc.addr[BeatShift+:Aw];
      fetch_left_q <= job_i.desc.len_bytes[15:BeatShift];
      fetch_busy_q <= 1'b1;
    end
    if (rd_valid_i) fifo_wr_q <= fifo_wr_q + 1'b1;
    if (pop) fifo_rd_q <= fifo_rd_q + 1'b1;
    room_q  <= room_q + (Fw + 1)'(pop) - (Fw + 1)'(ask);
    level_q <= level_q + (Fw + 1)'(rd_valid_i) - (Fw + 1)'(pop);
    has_room_q    <= |room_q[Fw:1] || (room_q[0] && !ask);
    has_payload_q <= |level_q[Fw:1] || (level_q[0] && !pop) || rd_valid_i;
    if (rst_i) begin
      fetch_busy_q  <= 1'b0;
      fifo_wr_q     <= '0;
      fifo_rd_q     <= '0;
      room_q        <= (Fw + 1)'(FifoDepth);
      level_q       <= '0;
      has_room_q    <= 1'b0;
      has_payload_q <= 1'b0;
    end
  end

  // The frame leaves.
  typedef enum logic [1:0] {
    PartHead,
    PartPayload,
    PartTrailer
  } part_e;

  part_e part_q;
  logic [CountWidth-1:0] left_q;
  logic [31:0] trailer_q;
  logic [W-1:0] data_q;
  logic valid_q, last_q, is_free, send_head;

  assign is_free     = !valid_q || m_axis_tready;
  assign send_head   = is_free && part_q == PartHead && head_ready && ((|beat_q) || has_payload_q);
  assign head_done   = send_head && beat_q == HeadWidth'(HeadBeats - 1);
  assign beat_d      = head_done ? '0 : beat_q + HeadWidth'(send_head);
  assign pop         = is_free && part_q == PartPayload && has_payload_q;

  always_ff @(posedge clk_i) begin
    if (is_free) begin
      unique case (part_q)
        PartPayload: data_q <= fifo[fifo_rd_q];
        PartTrailer: data_q <= W'({bits_pkg::be32(trailer_q)});
        default: data_q <= head_data;
      endcase
      valid_q <= send_head || pop || part_q == PartTrailer;
      last_q  <= part_q == PartTrailer;
    end
    beat_q <= beat_d;
    if (head_done) begin
      part_q    <= PartPayload;
      trailer_q <= trailer;
      left_q    <= head_len_bytes[15:BeatShift];
    end
    if (pop) begin
      left_q <= left_q - 1'b1;
      if (left_q == CountWidth'(1)) part_q <= PartTrailer;
    end
    if (is_free && part_q == PartTrailer) part_q <= PartHead;
    if (rst_i) begin
      part_q  <= PartHead;
      beat_q  <= '0;
      valid_q <= 1'b0;
    end
  end

  assign m_axis_tdata  = data_q;
  assign m_axis_tkeep  = {{(BeatBytes - 4) {!last_q}}, 4'hF};
  assign m_axis_tvalid = valid_q;
  assign m_axis_tlast  = last_q;
  assign busy_o        = head_busy || part_q != PartHead || valid_q;

`ifdef FORMAL
  `include "frame_tx_props.svh"
`endif

endmodule

`default_nettype wire
