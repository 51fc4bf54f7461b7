// Time for a board that has no other: nanoseconds since the reset, from the period of its clock.
//
// The period is Num / Den ns, its reduced fraction or any other; the remainder is carried, so the
// time is floor(cycles * Num / Den) without drift against the clock. 322.265625 MHz is 512 / 165,
// 156.25 MHz 32 / 5, 390.625 MHz 64 / 25. Latency: the first cycle without rst_i shows 0.
//
// The time starts again at a reset: reset what uses it too. Does not follow PTP or a PPS. One clock.
`default_nettype none

module ns_clock #(
    parameter int unsigned Num = 32,
    parameter int unsigned Den = 5
) (
    input  wire logic        clk_i,
    input  wire logic        rst_i,
    output logic      [63:0] time_ns_o
);

  localparam int unsigned Whole = Num / Den;
  localparam int unsigned Part = Num % Den;
  localparam int unsigned Rw = $clog2(2 * Den);

  if (Num < 1 || Den < 1 || Den > 32'h4000_0000) begin : g_bad_period
    $error("Num and Den must be 1 or more, Den 2^30 at most");
  end

  logic [63:0] time_q;
  logic [Rw-1:0] rest_q, rest_d;  // in Den-ths of a nanosecond
  logic is_whole;

  assign rest_d   = rest_q + Rw'(Part);
  assign is_whole = rest_d >= Rw'(Den);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      time_q <= '0;
      rest_q <= '0;
    end else begin
      time_q <= time_q + 64'(Whole) + 64'(is_whole);
      rest_q <= is_whole ? rest_d - Rw'(Den) : rest_d;
    end
  end

  assign time_ns_o = time_q;

endmodule

`default_nettype wire
