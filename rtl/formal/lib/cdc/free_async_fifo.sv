// What the proof of async_fifo says of it, for proofs of what is around it: order, and stops.
//
// Words may take any time to be seen. A side that stops, by its own reset or since
// the other one has, stands until both have stood in one step; the FIFO is empty then.
`default_nettype none

module async_fifo #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 16,
    parameter              Style = "auto"
) (
    input  wire logic             wr_clk_i,
    input  wire logic             wr_rst_i,
    output logic                  wr_stop_o,
    input  wire logic             wr_valid_i,
    output logic                  wr_ready_o,
    input  wire logic [Width-1:0] wr_data_i,

    input  wire logic             rd_clk_i,
    input  wire logic             rd_rst_i,
    output logic                  rd_stop_o,
    output logic                  rd_valid_o,
    input  wire logic             rd_ready_i,
    output logic      [Width-1:0] rd_data_o,

    output logic f_wr_waits_o  // the writer has stopped, and both have not stood in one step since
);

  localparam int unsigned Aw = $clog2(Depth);

  (* gclk *) logic step;
  (* anyseq *) logic wr_follows, wr_starts, rd_sees, rd_follows, rd_starts;

  logic [Width-1:0] mem[Depth];
  logic [Aw:0] wr_q, rd_q;
  logic wr_stop_q, wr_waits_q, rd_stop_q, rd_waits_q, rd_valid_q, both, wr_take, rd_take;
  logic [Width-1:0] rd_data_q;
  initial begin
    wr_q       = '0;
    rd_q       = '0;
    wr_stop_q  = 1'b1;
    rd_stop_q  = 1'b1;
    wr_waits_q = 1'b1;
    rd_waits_q = 1'b1;
    rd_valid_q = 1'b0;
  end

  assign wr_stop_o  = wr_rst_i || wr_stop_q || (rd_waits_q && wr_follows);
  assign rd_stop_o  = rd_rst_i || rd_stop_q || (wr_waits_q && rd_follows);
  assign both       = wr_stop_q && rd_stop_q;
  assign wr_ready_o = !wr_stop_o && wr_q - rd_q != (Aw + 1)'(Depth);
  assign wr_take    = wr_clk_i && wr_valid_i && wr_ready_o;
  assign rd_take    = rd_clk_i && !rd_stop_o && rd_sees && wr_q != rd_q && (!rd_valid_q || rd_ready_i);

  always_ff @(posedge step) begin
    if (wr_clk_i) begin
      wr_stop_q <= wr_stop_o && !(wr_stop_q && !wr_waits_q && !wr_rst_i && wr_starts);
    end
    wr_waits_q <= !both && (wr_waits_q || (wr_clk_i && wr_stop_o && !wr_stop_q));
    if (rd_clk_i) begin
      rd_stop_q  <= rd_stop_o && !(rd_stop_q && !rd_waits_q && !rd_rst_i && rd_starts);
      rd_valid_q <= !rd_stop_o && (rd_take || (rd_valid_q && !rd_ready_i));
    end
    rd_waits_q <= !both && (rd_waits_q || (rd_clk_i && rd_stop_o && !rd_stop_q));
    if (rd_take) rd_data_q <= mem[rd_q[Aw-1:0]];
    wr_q <= both ? '0 : wr_q + (Aw + 1)'(wr_take);
    rd_q <= both ? '0 : rd_q + (Aw + 1)'(rd_take);
  end

  always_ff @(posedge wr_clk_i) begin
    if (wr_take) mem[wr_q[Aw-1:0]] <= wr_data_i;
  end

  assign rd_valid_o   = rd_valid_q;
  assign rd_data_o    = rd_data_q;
  assign f_wr_waits_o = wr_waits_q;

endmodule

`default_nettype wire
