// When the sender owes a MARK, or a CLOSE in its place (docs/protocol.md#4.8).
//
// Throughput: an event a cycle. Latency: an event shows in due_o 1 cycle later, the end of a pause
// at most 7. One comparison serves all pauses in turn. Back-pressure: due_o stays until `left_i` or
// until its reason has gone. Does not: send, nor choose between MARK and CLOSE. One clock.
//
// Pauses are in units of 256 ns, of a clock of 24 bits (4.29 s): a pause may be one unit short.
// Pauses of idle streams are counted elsewhere. Round trips above 1.07 s count as that, which
// only the pause of 16 RTT notices: it is at most 1.07 s.
`default_nettype none

module mark_timer (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        flush_i,
  input  logic [31:0] now_i,        // 16 ns
  input  logic [31:0] rtt_i,        // 16 ns
  input  logic        is_idle_i,    // the pause of an idle stream is over
  input  logic        is_active_i,  // there is a stream that has not ended
  input  logic        is_waiting_i, // something is not released, or the stream opens or closes
  input  logic        data_left_i,
  input  logic        restart_i,    // credit came, or the call to close
  input  logic        left_i,       // the MARK or CLOSE departed
  output logic        due_o
);

  localparam int unsigned Bits = 22;
  localparam logic [18:0] QuietMax = 19'd390_625;  // 100 ms
  localparam logic [23:0] BusyMin  = 24'd39_063;   // 10 ms
  // Bits behind the unit in the smoothed interval, so that an eighth of one unit still counts.
  localparam int unsigned Fraction = 5;

  // How often the silence has been marked, as far as the next pause depends on it.
  typedef enum logic [1:0] {
    Fresh,     // not since DATA: a quarter comes next
    Quarter,   // once, or a silence before any DATA: one RTT comes next
    Doubling
  } backoff_e;

  backoff_e backoff_q;

  // What a pause is compared with.
  typedef enum logic [1:0] {
    Intervals,  // four intervals of DATA
    Eighth,     // of RTT
    Pause,
    Busy        // 16 RTT
  } turn_e;

  turn_e turn_q, turn_past_q;

  logic [23:0] now, since_q, data_at_q, mark_at_q, elapsed_q, least_q;
  logic [Bits-1:0] rtt_q, pause_q;
  logic [18:0] sample_q;
  logic [18+Fraction:0] interval_q;
  logic        is_after_data_q, is_begun_q, is_sampled_q, has_data_q, is_event_q, is_left_q;
  logic        is_quiet_due, is_event, is_over, is_over_max;
  logic        is_marked, is_quarter, is_doubling, is_pause_set;
  logic        is_over_intervals_q, is_over_data_q, is_over_pause_q, is_over_busy_q;

  assign now = now_i[27:4];

  // The smoothed interval: gain 1/8, as the Rust core has it.
  logic [23:0] sample;
  logic signed [19+Fraction:0] to_sample;
  logic [18+Fraction:0] interval_d;
  assign sample     = now - data_at_q;
  assign to_sample  = $signed({1'b0, sample_q, {Fraction{1'b0}}}) - $signed({1'b0, interval_q});
  assign interval_d = interval_q + {{2{to_sample[19+Fraction]}}, to_sample[19+Fraction:3]};

  assign is_event    = data_left_i || left_i || restart_i;
  assign is_over     = elapsed_q >= least_q;
  assign is_over_max = elapsed_q >= {5'd0, QuietMax};

  always_comb begin
    if (is_after_data_q)   is_quiet_due = is_over_data_q;
    else if (is_waiting_i) is_quiet_due = is_over_pause_q;
    else                   is_quiet_due = is_idle_i;
  end

  // The next pause; far above 100 ms it need not grow.
  assign is_marked   = left_i && is_waiting_i;
  assign is_quarter  = is_marked && backoff_q == Fresh;
  assign is_doubling = is_marked && backoff_q == Doubling;
  assign is_pause_set = (restart_i || is_marked) && !(is_doubling && |pause_q[Bits-1:19]);

  always_ff @(posedge clk_i) begin
    if (is_pause_set) begin
      pause_q <= is_doubling ? {pause_q[Bits-2:0], 1'b0} :
                 is_quarter ? {2'b00, rtt_q[Bits-1:2]} : rtt_q;
    end

    rtt_q <= |rtt_i[31:Bits+4] ? '1 : rtt_i[Bits+3:4];

    turn_q      <= turn_e'(turn_q + 2'd1);
    turn_past_q <= turn_q;
    elapsed_q   <= now - (turn_q == Busy ? mark_at_q : since_q);
    unique case (turn_q)
      Intervals: least_q <= {3'd0, interval_q[18+Fraction:Fraction-2]};
      Eighth:    least_q <= {5'd0, rtt_q[Bits-1:3]};
      Pause:     least_q <= {2'd0, pause_q};
      Busy:      least_q <= {rtt_q[19:0], 4'd0};
    endcase
    // 16 RTT that do not fit in 22 bits count as what these hold.
    unique case (turn_past_q)
      Intervals: is_over_intervals_q <= is_over;
      Eighth:    is_over_data_q  <= (is_over_intervals_q && is_over) || is_over_max;
      Pause:     is_over_pause_q <= is_over || is_over_max;
      Busy:      is_over_busy_q  <= ((is_over && !(|rtt_q[Bits-1:Bits-4])) || |elapsed_q[23:22])
                                    && elapsed_q >= BusyMin;
    endcase
    // What is compared is a cycle older than the comparison: an event takes both back.
    if (is_event || is_event_q) begin
      is_over_intervals_q <= 1'b0;
      is_over_data_q      <= 1'b0;
      is_over_pause_q     <= 1'b0;
    end
    if (left_i || is_left_q) is_over_busy_q <= 1'b0;

    due_o <= is_active_i && !left_i && !is_event_q && !rst_i && !flush_i
             && (is_begun_q || is_quiet_due || (is_waiting_i && is_over_busy_q));
    is_left_q    <= left_i;
    is_event_q   <= is_event;
    sample_q     <= sample > {5'd0, QuietMax} ? QuietMax : sample[18:0];
    is_sampled_q <= data_left_i && has_data_q;

    if (is_sampled_q) interval_q <= interval_d;
    if (data_left_i) data_at_q <= now;
    if (is_event) since_q <= now;
    if (left_i) mark_at_q <= now;

    if (restart_i) begin
      is_after_data_q <= 1'b0;
      if (backoff_q == Doubling) backoff_q <= Quarter;
    end
    if (left_i) begin
      is_begun_q      <= 1'b0;
      is_after_data_q <= 1'b0;
      if (is_waiting_i) begin
        backoff_q <= backoff_q == Fresh ? Quarter : Doubling;
      end
    end
    if (data_left_i) begin
      is_after_data_q <= 1'b1;
      backoff_q       <= Fresh;
      has_data_q      <= 1'b1;
    end
    if (rst_i || flush_i) begin
      is_begun_q      <= 1'b1;
      is_after_data_q <= 1'b0;
      has_data_q      <= 1'b0;
      is_sampled_q    <= 1'b0;
      backoff_q       <= Quarter;
      interval_q      <= '0;
      turn_q          <= Intervals;
    end
  end

endmodule

`default_nettype wire
