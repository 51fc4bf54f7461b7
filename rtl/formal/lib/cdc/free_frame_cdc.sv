// A source of whole frames in place of frame_cdc, for proofs of what reads from it: any frames, at any
// time, each without a gap; the reader's own reset ends one. Words carry {last, number of the frame
// modulo 2, number in the frame: 0 is the first only} in their low bits, and a 1 above. What goes in
// is lost.
`default_nettype none

module frame_cdc #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    parameter bit          Lossy = 1'b1
) (
    input  wire logic             wr_clk_i,
    input  wire logic             wr_rst_i,
    input  wire logic             wr_valid_i,
    output      logic             wr_ready_o,
    input  wire logic [Width-1:0] wr_data_i,
    input  wire logic             wr_last_i,
    input  wire logic             wr_bad_i,
    output      logic             ev_bad_o,
    output      logic             ev_no_room_o,

    input  wire logic             rd_clk_i,
    input  wire logic             rd_rst_i,
    output      logic             rd_valid_o,
    input  wire logic             rd_ready_i,
    output      logic [Width-1:0] rd_data_o,
    output      logic             rd_last_o
);

  (* anyseq *) logic begins, ends;
  logic valid_q, id_q, last_q;
  logic [1:0] num_q;
  initial begin
    valid_q = 1'b0;
    id_q    = 1'b0;
  end

  assign wr_ready_o   = 1'b1;
  assign ev_bad_o     = 1'b0;
  assign ev_no_room_o = 1'b0;

  always_ff @(posedge rd_clk_i) begin
    if (rd_rst_i) begin
      valid_q <= 1'b0;
    end else if (!valid_q || (rd_ready_i && last_q)) begin
      valid_q <= begins;
      num_q   <= 2'd0;
      last_q  <= ends;
      id_q    <= !id_q;
    end else if (rd_ready_i) begin
      num_q  <= num_q == 2'd3 ? 2'd1 : num_q + 2'd1;
      last_q <= ends;
    end
  end

  assign rd_valid_o = valid_q;
  assign rd_last_o  = last_q;
  assign rd_data_o  = Width'({1'b1, last_q, id_q, num_q});

endmodule

`default_nettype wire
