// The notification points of queue pairs (A17.9.3): when marked packets make a responder send a
// congestion notification (CNP).
//
// A mark makes one owed to its QP. It is sent at most once in `interval_ns_i`, from one that was sent to
// the next; a mark that comes sooner is reported at the end of the interval. 0 sends none. The Rust one,
// samplewire_roce::qp::NotificationPoint, decides the same.
//
// `owed_o`, `interval_ns_i` and `sent_i` are of the QP `qp_i`. Latency: a mark to `owed_o` one cycle; the
// end of the interval to `owed_o` 3 cycles, and up to Qps - 1 more, and one for each CNP sent meanwhile.
// `owed_o` stands until `sent_i`. A mark in the cycle of `sent_i` is the next one's. Times are kept modulo
// 2^47 ns, as in roce_qp. `forget_i` forgets what is owed, and the interval. One clock.
`default_nettype none

module notification_point #(
    parameter  int unsigned Qps     = 1,
    localparam int unsigned QpWidth = Qps > 1 ? $clog2(Qps) : 1
) (
    input  wire logic               clk_i,
    input  wire logic               rst_i,
    input  wire logic [    Qps-1:0] forget_i,
    input  wire logic        [63:0] time_ns_i,
    input  wire logic               mark_i,
    input  wire logic [QpWidth-1:0] mark_qp_i,
    input  wire logic [QpWidth-1:0] qp_i,
    input  wire logic        [19:0] interval_ns_i,
    output      logic               owed_o,
    input  wire logic               sent_i   // only while `owed_o` is high
);

  localparam int unsigned TimeWidth = 47;
  localparam Style = Qps > 1 ? "block" : "registers";
  typedef logic [TimeWidth-1:0] time_t;
  typedef logic [QpWidth-1:0] index_t;
  typedef logic [Qps-1:0] qps_t;

  // The interval runs to its end, which is compared for one QP a cycle; not for that of a CNP that is sent
  // meanwhile.
  (* ram_style = Style, no_rw_check, rw_addr_collision = "no" *) time_t end_mem[Qps];
  time_t end_q, left;
  index_t scan_q, read_q, compared_q, mark_qp, qp, at;
  logic is_read_q, is_over_q;
  qps_t has_mark_q, waits_q, changes;

  assign mark_qp = Qps > 1 ? mark_qp_i : '0;
  assign qp      = Qps > 1 ? qp_i : '0;
  assign at      = sent_i ? qp : compared_q;
  assign left    = time_ns_i[TimeWidth-1:0] - end_q;
  assign owed_o  = has_mark_q[qp] && !waits_q[qp] && interval_ns_i != '0;
  assign changes = !(sent_i || is_over_q) ? '0 : Qps > 1 ? qps_t'(1) << at : '1;

  always_ff @(posedge clk_i) begin
    if (sent_i) end_mem[qp] <= time_ns_i[TimeWidth-1:0] + time_t'(interval_ns_i);
    is_read_q <= !sent_i;
    is_over_q <= !sent_i && is_read_q && !left[TimeWidth-1];
    end_q     <= end_mem[scan_q];
    if (!sent_i) begin
      scan_q     <= 32'(scan_q) == Qps - 1 ? '0 : scan_q + 1'b1;
      read_q     <= scan_q;
      compared_q <= read_q;
    end
    for (int q = 0; q < int'(Qps); q++) begin
      if (changes[q]) waits_q[q] <= sent_i;
      if (forget_i[q]) waits_q[q] <= 1'b0;
      has_mark_q[q] <= (mark_i && mark_qp == index_t'(q))
          || (has_mark_q[q] && !(changes[q] && sent_i));
      if (forget_i[q]) has_mark_q[q] <= 1'b0;
    end
    if (rst_i) scan_q <= '0;
  end

endmodule

`default_nettype wire
