// The notification points of queue pairs (A17.9.3): when marked packets make a responder send a
// congestion notification (CNP).
//
// A mark makes one owed to its QP. It is sent at most once in `interval_ns_i`, from one that was sent to
// the next; a mark that comes sooner is reported at the end of the interval. 0 sends none. The Rust one,
// samplewire_roce::qp::NotificationPoint, decides the same.
//
// `owed_o`, `interval_ns_i` and `sent_i` are of the QP `qp_i`; several QPs may be marked in one cycle.
// Latency: a mark to `owed_o` one cycle; the end of the interval to `owed_o` 2 cycles, and up to Qps - 1
// more. `owed_o` stands until `sent_i`. A mark in the cycle of `sent_i` is the next one's. Times are kept
// modulo 2^47 ns, as in roce_qp. `forget_i` forgets what is owed, and the interval. One clock.
`default_nettype none

module notification_point #(
    parameter  int unsigned Qps     = 1,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic               clk_i,
    input  wire logic               rst_i,
    input  wire logic [    Qps-1:0] forget_i,
    input  wire logic        [63:0] time_ns_i,
    input  wire logic [    Qps-1:0] mark_i,
    input  wire logic [QpWidth-1:0] qp_i,
    input  wire logic        [19:0] interval_ns_i,
    output      logic               owed_o,
    input  wire logic               sent_i   // only while `owed_o` is high
);

  localparam int unsigned TimeWidth = 47;
  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [QpWidth-1:0] index_t;
  typedef logic [Qps-1:0] qps_t;

  // The interval runs to its end, which is compared for one QP a cycle.
  qps_t has_mark_q, waits_q, sent, over;
  logic is_over_q;
  time_t end_mem[Qps];
  time_t left;
  index_t scan_q, scanned_q;

  assign sent   = sent_i ? (Qps > 1 ? qps_t'(1) << qp_i : qps_t'(1)) : '0;
  assign over   = is_over_q ? (Qps > 1 ? qps_t'(1) << scanned_q : qps_t'(1)) : '0;
  assign left   = time_ns_i[TimeWidth-1:0] - end_mem[scan_q];
  assign owed_o = has_mark_q[qp_i] && !waits_q[qp_i] && interval_ns_i != '0;

  always_ff @(posedge clk_i) begin
    if (sent_i) end_mem[qp_i] <= time_ns_i[TimeWidth-1:0] + time_t'(interval_ns_i);
    // What was read in the cycle of `sent_i` is the end of the interval before.
    is_over_q  <= !left[TimeWidth-1] && !(sent_i && scan_q == qp_i);
    scanned_q  <= scan_q;
    scan_q     <= 32'(scan_q) == Qps - 1 ? '0 : scan_q + 1'b1;
    waits_q    <= ((waits_q & ~over) | sent) & ~forget_i;
    if (rst_i) scan_q <= '0;
    has_mark_q <= ((has_mark_q & ~sent) | mark_i) & ~forget_i;
  end

endmodule

`default_nettype wire
