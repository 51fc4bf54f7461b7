// Header and trailer of Ethernet, IPv4 and UDP frames, whatever the width: head_serial at 64 bits,
// head_wide at 512, behind the one interface that is described here.
//
// A frame: 42 bytes of Ethernet, IPv4 (no options, DF) and UDP headers, made from self_i, peer_i,
// tos_i and the lengths; HeaderBytes bytes of the packet's own header, which the job brings; the
// payload; 4 bytes of trailer. The payload begins at frame byte HeadBytes, which may be any byte of
// a beat: frame_join puts it there. Where HeadBytes is whole beats a core may do without.
//
// The trailer is the CRC of the packet, from its header's first byte to the payload's last, joined
// from the header's CRC, which is worked out here, and that of the payload, which the job brings.
//
//                 HeaderBytes  UdpSum  trailer
//   DATA          22           1       trailer_o
//   RoCEv2        12 BTH, 28   0       ICRC, which covers IPv4 and UDP too: crc_append behind
//                 with RETH            frame_join writes it, trailer_o is left open
//
//   port                  meaning
//   self_i, peer_i        stand still from 32 cycles before a job on; with PeerByJob peer_i
//                         stands with the job instead
//   ip_sum_i              with PeerByJob the sum of both IPv4 addresses, stands with the job
//   job_valid_i           a job: tos_i, header_i and payload_i stand with it until job_ready_o
//   tos_i                 IPv4's type of service, ECT(0) (02h) or above
//   header_i              first byte of the packet's header in its highest bits
//   payload_i             length, CRC, and the sum if UdpSum
//   job_ready_o           the job is taken
//   hold_i                no job is begun meanwhile: the payload before is still being requested
//   start_o               a job is begun, it stands at the input: its payload is wanted
//   held_o                a job that was begun still stands at the input
//   busy_o                a job was begun, and its header has not left
//   ready_o               a header is there; not to be looked at in the cycle behind done_i
//   beat_i                which beat of it data_o is to show in the next cycle
//   data_o                first byte in the lowest bits; bytes behind the header are zero
//   len_bytes_o           of its payload, stands with ready_o
//   trailer_o             first byte in its highest bits, right in the cycle of done_i
//   done_i                takes the header: its last beat leaves in this cycle
//
// A payload of length 0 is one of CRC 0, sum 0 and shift 1 (32'h8000_0000). WholeWords: payloads
// are of whole 8 bytes, which saves adders. Trailer 0: trailer_o is left open, and the header is
// ready sooner.
//
// Throughput and latency: those of head_serial and head_wide. Their difference that a user sees: at
// 512 bits a job is taken at start_o and may be withdrawn before it, at 64 it stands from
// job_valid_i to the cycle behind done_i. Does not pad: with a short header and payload a frame has
// less than 60 bytes. One clock.
`default_nettype none

module head_builder #(
    parameter  int unsigned W           = 64,
    parameter  int unsigned HeaderBytes = 22,
    parameter  bit          WholeWords  = 1'b1,
    parameter  bit          UdpSum      = 1'b1,
    parameter  bit          Trailer     = 1'b1,
    parameter  bit          PeerByJob   = 1'b0,  // without UdpSum
    parameter  logic [31:0] Poly        = crc_pkg::Crc32cPoly,
    localparam int unsigned HeadBytes   = 42 + HeaderBytes,
    localparam int unsigned Beats       = (HeadBytes + W / 8 - 1) / (W / 8),
    localparam int unsigned BeatWidth   = Beats > 1 ? $clog2(Beats) : 1
) (
    input  wire logic                          clk_i,
    input  wire logic                          rst_i,
    input  wire net_pkg::peer_t                self_i,
    input  wire net_pkg::peer_t                peer_i,
    input  wire logic                   [15:0] ip_sum_i,
    input  wire logic                          job_valid_i,
    input  wire logic                    [7:0] tos_i,
    output      logic                          job_ready_o,
    input  wire logic      [8*HeaderBytes-1:0] header_i,
    input  wire net_pkg::payload_t             payload_i,
    input  wire logic                          hold_i,
    output      logic                          start_o,
    output      logic                          held_o,
    output      logic                          busy_o,
    output      logic                          ready_o,
    input  wire logic          [BeatWidth-1:0] beat_i,
    output      logic                [  W-1:0] data_o,
    output      logic                   [15:0] len_bytes_o,
    output      logic                   [31:0] trailer_o,
    input  wire logic                          done_i
);

  if (W != 64 && W != 512) begin : g_width
    $error("W must be 64 or 512");
  end

  if (W == 512) begin : g_wide
    head_wide #(
        .HeaderBytes(HeaderBytes),
        .WholeWords (WholeWords),
        .UdpSum     (UdpSum),
        .Trailer    (Trailer),
        .PeerByJob  (PeerByJob),
        .Poly       (Poly)
    ) u_head (
        .clk_i      (clk_i),
        .rst_i      (rst_i),
        .self_i     (self_i),
        .peer_i     (peer_i),
        .ip_sum_i   (ip_sum_i),
        .job_valid_i(job_valid_i),
        .tos_i      (tos_i),
        .header_i   (header_i),
        .payload_i  (payload_i),
        .hold_i     (hold_i),
        .start_o    (start_o),
        .busy_o     (busy_o),
        .ready_o    (ready_o),
        .beat_i     (beat_i),
        .data_o     (data_o),
        .len_bytes_o(len_bytes_o),
        .done_i     (done_i),
        .trailer_o  (trailer_o)
    );
    assign job_ready_o = start_o;
    assign held_o      = 1'b0;
  end else begin : g_serial
    // A cycle late: what is chosen next hangs on it, and it on the frame's tready.
    logic done_q;
    always_ff @(posedge clk_i) done_q <= done_i && !rst_i;

    head_serial #(
        .HeaderBytes(HeaderBytes),
        .WholeWords (WholeWords),
        .UdpSum     (UdpSum),
        .Trailer    (Trailer),
        .PeerByJob  (PeerByJob),
        .Poly       (Poly)
    ) u_head (
        .clk_i      (clk_i),
        .rst_i      (rst_i),
        .self_i     (self_i),
        .peer_i     (peer_i),
        .ip_sum_i   (ip_sum_i),
        .job_valid_i(job_valid_i),
        .tos_i      (tos_i),
        .header_i   (header_i),
        .payload_i  (payload_i),
        .hold_i     (hold_i),
        .start_o    (start_o),
        .busy_o     (busy_o),
        .ready_o    (ready_o),
        .beat_i     (beat_i),
        .data_o     (data_o),
        .done_i     (done_q),
        .trailer_o  (trailer_o)
    );
    assign job_ready_o = done_q;
    assign held_o      = busy_o;
    assign len_bytes_o = payload_i.len_bytes;
  end

endmodule

`default_nettype wire
