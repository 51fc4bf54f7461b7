// Says which beats at a FIFO's entrance to drop, so that only whole frames come in: those of each
// frame of which a beat came before or in a stop, up to its last beat.
//
// take_i marks a beat that has come; drop_o holds for the beats behind it. tear_i drops the rest of
// the frame too. After this side's own reset in mid-frame the stream may go on where it was, or
// begin again with a frame's first beat. The second is assumed after 8 cycles without valid_i since
// the reset began: more than a gap inside a frame. A stream that begins again sooner loses a frame.
//
// No reset: open_q begins at 0 when the device is configured. One clock.
`default_nettype none

module frame_gate (
    input  wire logic clk_i,
    input  wire logic rst_i,
    input  wire logic stop_i,   // this side stands, also in rst_i
    input  wire logic tear_i,
    input  wire logic valid_i,
    input  wire logic take_i,
    input  wire logic last_i,
    output logic      drop_o
`ifdef FORMAL
    ,
    output logic      f_open_o,
    output logic      f_doubt_o
`endif
);

  // verilator lint_off PROCASSINIT
  logic open_q = 1'b0;
  // verilator lint_on PROCASSINIT
  logic open_d, torn_q, doubt_q;
  logic [2:0] idle_q;

  always_comb begin
    open_d = open_q;
    if (take_i) open_d = !last_i;
    else if (doubt_q && !valid_i && idle_q == '1) open_d = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    open_q  <= open_d;
    torn_q  <= open_d && (torn_q || stop_i || tear_i);
    doubt_q <= open_d && (doubt_q || rst_i);
    idle_q  <= valid_i || !doubt_q ? '0 : idle_q + 1'b1;
  end

  assign drop_o = torn_q;

`ifdef FORMAL
  // As the first cycle leaves them.
  initial begin
    torn_q  = 1'b0;
    doubt_q = 1'b0;
  end
  assign f_open_o  = open_q;
  assign f_doubt_o = doubt_q;
`endif

endmodule

`default_nettype wire
