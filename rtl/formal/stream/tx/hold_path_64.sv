// hold_path at 64 bits, where frame_tx reads a job that still stands at its input.
`default_nettype none

module hold_path_64 (
    input wire logic clk_i
);

  hold_path #(.W(64)) u_path (.clk_i(clk_i));

endmodule

`default_nettype wire
