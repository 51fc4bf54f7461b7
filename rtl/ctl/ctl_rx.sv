// Keeps control frames until the control processor has read them, and the newest REPORT that was
// taken, in one memory of 64-bit words.
//
// Frames find room for Frames of them, each for 64 words; one more is dropped whole and counted:
// its maker repeats it. Nothing is held back, so REPORTs behind a frame are not. Of a REPORT, as
// frame_rx shows it, the first four words are kept, in two places in turn: what was taken stands
// still until the next one is taken.
//
// Throughput: a word a cycle. Latency: 1 cycle to read. Back-pressure: none. One clock.
`default_nettype none

module ctl_rx #(
  parameter int unsigned Frames = 4
) (
  input  logic        clk_i,
  input  logic        rst_i,

  input  logic        valid_i,       // a word, for any reader
  input  logic [63:0] data_i,
  input  logic        last_i,
  input  logic        is_report_i,
  input  logic        taken_i,       // with the word behind those of the REPORT that are kept

  output logic        has_frame_o,
  input  logic        release_i,
  input  logic        is_report_part_i,
  input  logic [5:0]  addr_i,
  output logic [63:0] data_o,        // one cycle later; first byte on the wire in the highest bits

  output logic        ev_dropped_o
);

  localparam int unsigned Fw = $clog2(Frames);

  if (Frames < 2 || Frames != 1 << Fw) begin : g_frames
    $error("ctl_rx: Frames is a power of two, 2 or more");
  end

  // Frames written and read; the difference is how many wait.
  logic [Fw:0] written_q, read_q;
  logic [5:0]  word_q;
  logic        inside_q, drop_q, is_full, is_dropped, place_q, write;

  assign is_full    = written_q == {!read_q[Fw], read_q[Fw-1:0]};
  assign is_dropped = inside_q ? drop_q : is_full;
  assign write      = valid_i && (is_report_i ? word_q[5:2] == '0 : !is_dropped);

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      inside_q <= !last_i;
      drop_q   <= is_dropped;
      // Words from 63 on share the last place, which is never read.
      if (last_i) word_q <= '0;
      else if (!(&word_q)) word_q <= word_q + 6'd1;
    end
    if (valid_i && last_i && !is_report_i && !is_dropped) written_q <= written_q + (Fw + 1)'(1);
    if (release_i) read_q <= read_q + (Fw + 1)'(1);
    if (taken_i) place_q <= !place_q;
    ev_dropped_o <= valid_i && last_i && !is_report_i && is_dropped && !rst_i;
    if (rst_i) begin
      written_q <= '0;
      read_q    <= '0;
      word_q    <= '0;
      inside_q  <= 1'b0;
      place_q   <= 1'b0;
    end
  end

  assign has_frame_o = written_q != read_q;

  // A frame is read once all of it is written, and a REPORT once the next is written elsewhere.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] mem[128*Frames];
  logic [Fw+6:0] waddr, raddr;
  assign waddr = is_report_i ? {1'b1, Fw'(0), 3'd0, place_q, word_q[1:0]}
                             : {1'b0, written_q[Fw-1:0], word_q};
  assign raddr = is_report_part_i ? {1'b1, Fw'(0), 3'd0, !place_q, addr_i[1:0]}
                                  : {1'b0, read_q[Fw-1:0], addr_i};
  always_ff @(posedge clk_i) begin
    if (write) mem[waddr] <= bits_pkg::be64(data_i);
  end
  always_ff @(posedge clk_i) data_o <= mem[raddr];

endmodule

`default_nettype wire
