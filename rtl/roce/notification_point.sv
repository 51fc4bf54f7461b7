// The notification point of a queue pair (A17.9.3): when marked packets make its responder send a
// congestion notification (CNP).
//
// A mark makes one owed. It is sent at most once in `interval_ns_i`, from one that was sent to the
// next; a mark that comes sooner is reported at the end of the interval. 0 sends none. The Rust one,
// samplewire_roce::qp::NotificationPoint, decides the same.
//
// Latency: a mark to `owed_o` one cycle; the end of the interval to `owed_o` 2 cycles. `owed_o` stands
// until `sent_i`. A mark in the cycle of `sent_i` is the next one's. Times are kept modulo 2^47 ns, as
// in roce_qp; the interval stands while marks come. A reset forgets what is owed, and the interval.
// One clock.
`default_nettype none

module notification_point (
    input  wire logic        clk_i,
    input  wire logic        rst_i,
    input  wire logic [63:0] time_ns_i,
    input  wire logic [19:0] interval_ns_i,
    input  wire logic        mark_i,
    output      logic        owed_o,
    input  wire logic        sent_i   // only while `owed_o` is high
);

  localparam int unsigned TimeWidth = 47;
  typedef logic [TimeWidth-1:0] time_t;

  logic has_mark_q;
  logic waits_q, settles_q, is_over_q;  // the interval runs; its end is compared for the first time
  time_t end_q, over;

  assign over   = time_ns_i[TimeWidth-1:0] - end_q;
  assign owed_o = has_mark_q && !waits_q;

  always_ff @(posedge clk_i) begin
    if (sent_i) end_q <= time_ns_i[TimeWidth-1:0] + time_t'(interval_ns_i);
    is_over_q  <= !over[TimeWidth-1];
    settles_q  <= sent_i;
    waits_q    <= (sent_i || (waits_q && (settles_q || !is_over_q))) && !rst_i;
    has_mark_q <= ((has_mark_q && !sent_i) || (mark_i && interval_ns_i != '0)) && !rst_i;
  end

endmodule

`default_nettype wire
