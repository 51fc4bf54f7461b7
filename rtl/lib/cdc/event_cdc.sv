// Carries pulses to another clock, where they come out as pulses, as many as went in.
//
// A Gray-coded count crosses and is followed by one a cycle. Right while the two counts are less
// than 2^Bits apart: for ever where to_clk_i is the faster, and for any flood of 2^Bits events that
// comes faster than to_clk_i runs. Latency 3 to 4 edges of to_clk_i. The crossing is the purpose.
`default_nettype none

module event_cdc #(
    parameter int unsigned Bits = 8
) (
    input  wire logic from_clk_i,
    input  wire logic from_rst_i,
    input  wire logic ev_i,
    input  wire logic to_clk_i,
    input  wire logic to_rst_i,
    output      logic ev_o
);

  logic [Bits-1:0] sent_q, gray_q, seen, told_q;
  logic [Bits-1:0] sent_d;
  logic from_rst_seen, to_rst_seen;
  assign sent_d = sent_q + 1'b1;

  sync_bits i_rst_back (
      .clk_i(from_clk_i),
      .d_i  (to_rst_i),
      .q_o  (to_rst_seen)
  );

  sync_bits #(
      .Width(Bits + 1)
  ) i_sync (
      .clk_i(to_clk_i),
      .d_i  ({from_rst_i, gray_q}),
      .q_o  ({from_rst_seen, seen})
  );

  always_ff @(posedge from_clk_i) begin
    if (from_rst_i || to_rst_seen) begin
      sent_q <= '0;
      gray_q <= '0;
    end else if (ev_i) begin
      sent_q <= sent_d;
      gray_q <= sent_d ^ (sent_d >> 1);
    end
  end

  always_ff @(posedge to_clk_i) begin
    if (to_rst_i || from_rst_seen) begin
      told_q <= '0;
      ev_o   <= 1'b0;
    end else begin
      ev_o <= seen != (told_q ^ (told_q >> 1));
      if (seen != (told_q ^ (told_q >> 1))) told_q <= told_q + 1'b1;
    end
  end

endmodule

`default_nettype wire
