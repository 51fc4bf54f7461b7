// Reads a range of beats from a memory with delayed replies, such as `ring`, into a FIFO, as far
// ahead as that has room.
//
// Throughput: a beat a clock. Latency: start to first request one cycle; reply to output one cycle.
// Back-pressure: m_ready_i; requests are made only as far as the FIFO has room for their replies.
// `start_i` only while `busy_o` is low, which it is as soon as the last beat is requested: what
// comes of the next range follows in the FIFO. A range of no beats does nothing. Does not check the
// range. One clock.
`default_nettype none

module read_ahead #(
    parameter  int unsigned Width      = 64,
    parameter  int unsigned Aw         = 16,
    parameter  int unsigned CountWidth = 10,
    parameter  int unsigned Depth      = 32,  // covers a latency of 12 cycles at full rate
    localparam int unsigned Fw         = $clog2(Depth)
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire logic                  start_i,
    input  wire logic [        Aw-1:0] addr_i,
    input  wire logic [CountWidth-1:0] count_i,
    output      logic                  busy_o,
    // memory
    output      logic                  rd_valid_o,
    input  wire logic                  rd_ready_i,
    output      logic [        Aw-1:0] rd_addr_o,
    input  wire logic                  rd_valid_i,
    input  wire logic [     Width-1:0] rd_data_i,
    // beats
    output      logic                  m_valid_o,
    input  wire logic                  m_ready_i,
    output      logic [     Width-1:0] m_data_o
);

  if (Depth != (1 << Fw) || Depth < 4) begin : g_depth
    $error("Depth must be a power of two, 4 at least");
  end

  logic [Width-1:0] fifo[Depth];
  logic [Fw-1:0] wr_q, rd_q;
  logic [Fw:0] room_q, level_q;
  logic [Aw-1:0] addr_q;
  logic [CountWidth-1:0] left_q;
  logic busy_q, request, pop;

  assign rd_valid_o = busy_q && |room_q;
  assign rd_addr_o  = addr_q;
  assign request    = rd_valid_o && rd_ready_i;
  assign m_valid_o  = |level_q;
  assign m_data_o   = fifo[rd_q];
  assign pop        = m_valid_o && m_ready_i;
  assign busy_o     = busy_q;

  always_ff @(posedge clk_i) if (rd_valid_i) fifo[wr_q] <= rd_data_i;

  always_ff @(posedge clk_i) begin
    if (request) begin
      addr_q <= addr_q + 1'b1;
      left_q <= left_q - 1'b1;
      if (left_q == CountWidth'(1)) busy_q <= 1'b0;
    end
    if (start_i) begin
      addr_q <= addr_i;
      left_q <= count_i;
      busy_q <= |count_i;
    end
    if (rd_valid_i) wr_q <= wr_q + 1'b1;
    if (pop) rd_q <= rd_q + 1'b1;
    room_q  <= room_q + (Fw + 1)'(pop) - (Fw + 1)'(request);
    level_q <= level_q + (Fw + 1)'(rd_valid_i) - (Fw + 1)'(pop);
    if (rst_i) begin
      busy_q  <= 1'b0;
      wr_q    <= '0;
      rd_q    <= '0;
      room_q  <= (Fw + 1)'(Depth);
      level_q <= '0;
    end
  end

endmodule

`default_nettype wire
