// Joins a header, its payload and its trailer to one frame, with the payload directly behind the
// header, at any byte of a beat, and the trailer directly behind the payload.
//
// The header is that of head_builder, HeadBytes long; its ports are named there. The payload comes
// in beats from its first byte on, (len_bytes + Nb - 1) / Nb of them a frame, and none for an empty
// one; bytes behind its end are not looked at. Without Trailer the frame ends with the payload, and
// a header of whole beats needs a payload.
//
// Two steps in one cycle: the trailer is put behind the last byte of the payload's words, and these
// are shifted by HeadBytes, which is wiring. What a word leaves over waits for the next.
//
// Throughput: a beat a clock, and a cycle behind a frame that ends with its header. Latency: one
// cycle from header and payload to the first beat. Back-pressure: m_axis_tready. tvalid has no gap
// inside a frame unless the payload has one: a frame waits for the first beat of its payload. Does
// not pad. One clock.
`default_nettype none

module frame_join #(
    parameter  int unsigned W         = 64,
    parameter  int unsigned HeadBytes = 64,
    parameter  bit          Trailer   = 1'b1,
    localparam int unsigned Nb        = W / 8,
    localparam int unsigned Beats     = (HeadBytes + Nb - 1) / Nb,
    localparam int unsigned BeatWidth = Beats > 1 ? $clog2(Beats) : 1
) (
    input  wire logic                 clk_i,
    input  wire logic                 rst_i,
    // head_builder
    input  wire logic                 head_ready_i,
    output      logic [BeatWidth-1:0] head_beat_o,
    input  wire logic [        W-1:0] head_data_i,
    input  wire logic [         15:0] head_len_bytes_i,
    input  wire logic [         31:0] head_trailer_i,
    output      logic                 head_done_o,
    // payload
    input  wire logic                 s_valid_i,
    output      logic                 s_ready_o,
    input  wire logic [        W-1:0] s_data_i,
    // frame
    output      logic [        W-1:0] m_axis_tdata,
    output      logic [       Nb-1:0] m_axis_tkeep,
    output      logic                 m_axis_tvalid,
    input  wire logic                 m_axis_tready,
    output      logic                 m_axis_tlast
);

  localparam int unsigned Over = HeadBytes % Nb;  // header bytes in the payload's first beat
  localparam int unsigned TrailerBytes = Trailer ? 4 : 0;
  localparam int unsigned Shift = $clog2(Nb);

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end
  if (HeadBytes < 14) begin : g_head
    $error("a header has an Ethernet header");
  end

  // A frame's beats: those of the header alone, then those that take from the payload, of which the
  // first may still hold the header's end.
  logic is_head_q, was_done_q, is_free, is_last_head, joins, takes, go, last;
  logic [BeatWidth-1:0] beat_q;
  // Of the payload, and of all that is not in a beat yet where `joins`; both with the beat in view.
  logic [16:0] left, left_q, out_left, out_left_q;
  logic [31:0] trailer, trailer_q;

  assign is_free      = !m_axis_tvalid || m_axis_tready;
  assign is_last_head = beat_q == BeatWidth'(Beats - 1);
  assign joins        = !is_head_q || (Over != 0 && is_last_head);
  assign left         = is_head_q ? 17'(head_len_bytes_i) : left_q;
  assign out_left     = is_head_q ? 17'(head_len_bytes_i) + 17'(Over + TrailerBytes) : out_left_q;
  assign trailer      = is_head_q ? head_trailer_i : trailer_q;
  assign takes        = joins && left != '0;
  assign last         = joins && out_left <= 17'(Nb);
  assign go = is_free && (!is_head_q || (head_ready_i && !was_done_q)) &&
      (s_valid_i || (is_head_q ? head_len_bytes_i == '0 : left_q == '0));

  // The payload's word, with the trailer behind its end, and what of the trailer finds no room.
  logic [W-1:0] kept, word;
  logic [W+31:0] placed;

  for (genvar i = 0; i < Nb; i++) begin : g_kept
    assign kept[8*i+:8] = left > 17'(i) ? s_data_i[8*i+:8] : 8'd0;
  end
  assign placed = Trailer && left < 17'(Nb) ?
      (W + 32)'(bits_pkg::be32(trailer)) << {left[Shift-1:0], 3'd0} : '0;
  assign word = kept | placed[W-1:0];

  // Its shift.
  logic [W-1:0] joined;

  if (Over == 0) begin : g_straight
    assign joined = word;
  end else begin : g_shifted
    logic [8*Over-1:0] over_q;
    assign joined = {word[W-8*Over-1:0], is_head_q ? head_data_i[8*Over-1:0] : over_q};
    always_ff @(posedge clk_i) if (go) over_q <= word[W-1-:8*Over];
  end

  assign head_beat_o = !(go && is_head_q) ? beat_q : is_last_head ? '0 : beat_q + 1'b1;
  assign head_done_o = go && is_head_q && is_last_head;
  assign s_ready_o   = go && takes;

  always_ff @(posedge clk_i) begin
    if (is_free) begin
      m_axis_tdata  <= joins ? joined : head_data_i;
      m_axis_tvalid <= go;
      m_axis_tlast  <= last;
      for (int unsigned i = 0; i < Nb; i++) m_axis_tkeep[i] <= !joins || out_left > 17'(i);
    end
    beat_q     <= head_beat_o;
    was_done_q <= head_done_o;
    if (go) begin
      left_q     <= !joins ? left : left > 17'(Nb) ? left - 17'(Nb) : '0;
      out_left_q <= joins ? out_left - 17'(Nb) : 17'(head_len_bytes_i) + 17'(TrailerBytes);
      trailer_q  <= joins && left < 17'(Nb) ? bits_pkg::be32(placed[W+:32]) : trailer;
      is_head_q  <= last || (is_head_q && !is_last_head);
    end
    if (rst_i) begin
      is_head_q     <= 1'b1;
      beat_q        <= '0;
      m_axis_tvalid <= 1'b0;
    end
  end

`ifdef FORMAL
  `include "frame_join_props.svh"
`endif

endmodule

`default_nettype wire
