// Circuit breaker (docs/protocol.md#4.10): ten intervals of 1 s in a row, each with at least 100
// departures of which more than half were repeats, end the stream.
//
// Throughput: a departure a cycle. Latency: trip_o, a pulse, 1 cycle after the tick that ends the
// tenth interval. Back-pressure: none. Does not: end anything. One clock.
`default_nettype none

module breaker (
  input  logic clk_i,
  input  logic rst_i,
  input  logic flush_i,
  input  logic tick_i,    // a millisecond has passed
  input  logic new_i,     // DATA departed for the first time
  input  logic repeat_i,  // DATA departed again
  output logic trip_o
);

  localparam logic [9:0] IntervalTicks = 10'd999;
  localparam logic [6:0] DeparturesMin = 7'd100;
  localparam logic [3:0] BadIntervals  = 4'd10;

  logic [9:0]  ticks_q;
  logic [6:0]  departures_q;
  // Repeats less new packets: positive when repeats are more than half. 2^26 hold a second of the
  // smallest frames at 100 Gb/s.
  logic signed [26:0] balance_q;
  logic [3:0]  bad_q;
  logic        is_end, is_bad;

  assign is_end = tick_i && ticks_q == IntervalTicks;
  assign is_bad = departures_q == DeparturesMin && balance_q > 27'sd0;

  always_ff @(posedge clk_i) begin
    trip_o <= 1'b0;
    if (rst_i || flush_i) begin
      ticks_q      <= '0;
      departures_q <= '0;
      balance_q    <= '0;
      bad_q        <= '0;
    end else begin
      if (tick_i) ticks_q <= is_end ? 10'd0 : ticks_q + 10'd1;
      if (is_end) begin
        departures_q <= {6'd0, new_i || repeat_i};
        balance_q    <= repeat_i ? 27'sd1 : new_i ? -27'sd1 : 27'sd0;
        bad_q        <= is_bad ? bad_q + 4'd1 : 4'd0;
        trip_o       <= is_bad && bad_q == BadIntervals - 4'd1;
      end else if (new_i || repeat_i) begin
        if (departures_q != DeparturesMin) departures_q <= departures_q + 7'd1;
        balance_q <= repeat_i ? balance_q + 27'sd1 : balance_q - 27'sd1;
      end
    end
  end

endmodule

`default_nettype wire
