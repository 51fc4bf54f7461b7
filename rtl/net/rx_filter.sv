// Takes frames of 512 bits a beat, keeps those for our addresses, and gives them 128 bits a beat.
//
// All addresses of a frame lie in its first beat, so that a beat is taken every clock for ever.
// Wanted frames wait whole in a FIFO, Beats deep; one that finds no room is dropped whole. Frames
// that are not the stream's REPORTs get in only while less than half is in use. MAC errors, runts
// and frames above 9,216 bytes are dropped here. Latency: last beat in to first beat out 4 cycles.
// Frames leave only while go_i says that what follows has room for one more.
`default_nettype none

module rx_filter #(
    parameter int unsigned Beats = 512  // a power of two, at least four frames of 9,216 bytes
) (
    input  wire logic                clk_i,
    input  wire logic                rst_i,
    input  wire net_pkg::peer_t      self_i,
    input  wire logic         [31:0] stream_tag_i,
    input  wire logic                stream_tag_valid_i,

    input wire logic [511:0] s_axis_tdata,
    input wire logic [ 63:0] s_axis_tkeep,
    input wire logic         s_axis_tvalid,
    input wire logic         s_axis_tlast,
    input wire logic         s_axis_tuser,

    output logic [511:0] u_axis_tdata,
    output logic [ 63:0] u_axis_tkeep,
    output logic         u_axis_tvalid,
    output logic         u_axis_tlast,
    output logic         u_axis_tuser,

    input  wire logic         go_i,
    output      logic         valid_o,
    output      logic         last_o,
    output      logic [  4:0] count_o,
    output      logic [127:0] data_o,

    output logic ev_bad_o,
    output logic ev_oversize_o,
    output logic ev_runt_o,
    output logic ev_not_ours_o,
    output logic ev_no_room_o
);

  localparam int unsigned Aw = $clog2(Beats);
  localparam int unsigned BeatsMax = 9216 / 64;
  if (Beats != 1 << Aw || Beats < 4 * BeatsMax && Beats != 512) begin : g_bad_1
    $error("Beats must be a power of two from 512 on");
  end

  // Stage 0.
  logic v0_q, last0_q, bad0_q, first0_q;
  logic [511:0] d0_q;
  logic [63:0] keep0_q;
  logic [7:0] idx0_q;  // stays at BeatsMax

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      v0_q     <= 1'b0;
      first0_q <= 1'b1;
      idx0_q   <= '0;
    end else begin
      v0_q <= s_axis_tvalid;
      if (v0_q) begin
        first0_q <= last0_q;
        if (last0_q) idx0_q <= '0;
        else if (idx0_q != 8'(BeatsMax)) idx0_q <= idx0_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axis_tvalid) begin
      d0_q    <= s_axis_tdata;
      keep0_q <= s_axis_tkeep;
      bad0_q  <= s_axis_tuser;
      last0_q <= s_axis_tlast;
    end
  end

  // How many 128-bit words of the beat hold anything, less one, and the bytes of the last: those of
  // the beat modulo 16, 0 is 16. Each bit b of a number of bytes follows from the byte with which
  // it rises and the one with which it falls.
  logic [1:0] words0;
  logic [3:0] bytes0;
  logic [31:0] falls0;
  always_comb begin
    words0 = keep0_q[48] ? 2'd3 : keep0_q[32] ? 2'd2 : keep0_q[16] ? 2'd1 : 2'd0;
    for (int b = 0; b < 4; b++) begin
      falls0 = '0;
      for (int n = 0; n < 32 >> b; n++) begin
        falls0[n] = keep0_q[((2*n+1)<<b)-1] && !keep0_q[((2*n+2)<<b)-1];
      end
      bytes0[b] = |falls0;
    end
  end

  logic [15:0] w[32];
  always_comb begin
    for (int i = 0; i < 32; i++) w[i] = {d0_q[16*i+:8], d0_q[16*i+8+:8]};
  end

  // What the first beat says, a cycle later. Each compares few bits: the and of them comes next.
  logic us_q, broadcast_q, arp_q, arp_form_q, arp_dst_q, ip_q, dst_q, udp_q, port_q, echo_q, long_q;
  logic tag_q, is_tag_q, fragment_q;
  logic v1_q, last1_q, bad1_q, runt1_q, over1_q, good1_q, torn_q;
  logic is_runt, is_over;
  assign is_runt = first0_q && !keep0_q[59];
  assign is_over = idx0_q == 8'(BeatsMax);

  always_ff @(posedge clk_i) begin
    if (v0_q && first0_q) begin
      us_q <= bits_pkg::same64({16'd0, w[0], w[1], w[2]}, {16'd0, self_i.mac});
      broadcast_q <= &{w[0], w[1], w[2]};
      arp_q <= w[6] == 16'h0806;
      arp_form_q <= {w[7], w[8], w[9], w[10]} == 64'h0001_0800_0604_0001;
      arp_dst_q <= bits_pkg::same32({w[19], w[20]}, self_i.ip);
      ip_q <= w[6] == 16'h0800 && w[7][15:8] == 8'h45;
      dst_q <= bits_pkg::same32({w[15], w[16]}, self_i.ip);
      udp_q <= w[11][7:0] == 8'd17;
      // A later fragment has no ports; it is counted as a fragment, behind.
      fragment_q <= |w[10][13:0];
      port_q <= w[18] == self_i.port || |w[10][13:0];
      echo_q <= w[11][7:0] == 8'd1 && (w[17] == 16'h0800 || |w[10][13:0]);
      long_q <= w[8] > 16'(20 + net_pkg::IcmpMax) && !(|w[10][13:0]);
      tag_q <= bits_pkg::same32({w[22], w[23]}, stream_tag_i) && stream_tag_valid_i;
      is_tag_q <= w[21][15:8] == {wire_pkg::Version, wire_pkg::TypeReport};
    end
    if (v0_q) begin
      bad1_q  <= bad0_q;
      runt1_q <= is_runt;
      over1_q <= is_over;
      good1_q <= !bad0_q && !is_runt && !is_over;
    end
  end

  // Writing: a beat at once, a frame's fate in the cycle after its last beat, in which the next
  // frame's first beat may be written: its address hangs on that fate. Whether there is room is
  // known a cycle late, without what that fate gives back.
  logic [Aw:0] wr_q, kept_q, rd_q, used;
  logic [Aw-1:0] wr_now;
  logic [7:0] frames_q, read_q;  // counts that wrap; there are never 128 frames between them
  logic [7:0] places;
  logic fate, ours, is_report, keep, undo, full_q, crowded_q, write;
  assign ours = arp_q ? (us_q || broadcast_q) && arp_form_q && arp_dst_q
      : us_q && ip_q && dst_q && (udp_q && port_q || echo_q && !long_q);
  assign is_report = !arp_q && udp_q && tag_q && is_tag_q;  // if it is ours
  assign fate   = v1_q && last1_q;
  assign keep   = fate && good1_q && !torn_q && ours && (is_report || !crowded_q);
  assign undo   = fate && !keep;
  assign wr_now = undo ? kept_q[Aw-1:0] : wr_q[Aw-1:0];
  assign used   = wr_q - rd_q;
  assign places = frames_q - read_q;
  assign write  = v0_q && !full_q;

  // Neither sum waits for the fate.
  logic [Aw:0] wr_next, kept_next;
  assign wr_next   = wr_q + (Aw + 1)'(write);
  assign kept_next = kept_q + (Aw + 1)'(write);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      v1_q      <= 1'b0;
      wr_q      <= '0;
      kept_q    <= '0;
      frames_q  <= '0;
      torn_q    <= 1'b0;
      full_q    <= 1'b0;
      crowded_q <= 1'b0;
    end else begin
      v1_q <= v0_q;
      full_q <= used[Aw] || &used[Aw-1:0] || places >= 8'd124;
      crowded_q <= |used[Aw:Aw-1] || |places[7:6];
      wr_q <= undo ? kept_next : wr_next;
      if (v0_q) torn_q <= (torn_q && !first0_q) || full_q;
      if (keep) begin
        kept_q   <= wr_q;
        frames_q <= frames_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) last1_q <= last0_q;

  assign ev_bad_o      = fate && bad1_q;
  assign ev_oversize_o = fate && !bad1_q && over1_q;
  assign ev_runt_o     = fate && !bad1_q && !over1_q && runt1_q;
  assign ev_not_ours_o = fate && good1_q && !ours;
  assign ev_no_room_o  = fate && good1_q && ours && (torn_q || !(is_report || !crowded_q));

  (* ram_style = "block" *)logic [518:0] mem[Beats];
  always_ff @(posedge clk_i) begin
    if (write) mem[wr_now] <= {words0, bytes0, last0_q, d0_q};
  end

  // Frames for other receivers, and fragments, beat by beat; tuser on tlast: it is ours, or broken.
  logic [511:0] d1_q;
  logic [ 63:0] keep1_q;
  always_ff @(posedge clk_i) begin
    d1_q    <= d0_q;
    keep1_q <= keep0_q;
  end
  assign u_axis_tdata  = d1_q;
  assign u_axis_tkeep  = keep1_q;
  assign u_axis_tvalid = v1_q;
  assign u_axis_tlast  = last1_q;
  assign u_axis_tuser  = !(ev_not_ours_o || fate && good1_q && ours && !arp_q && fragment_q);

  // Reading, four words a beat.
  logic valid_q, begun_q, fetch;
  logic [1:0] lane_q;
  logic [518:0] out_q;
  logic out_last, lane_last;
  assign out_last = out_q[512];
  assign lane_last = out_last ? lane_q == out_q[518:517] : lane_q == 2'd3;
  assign fetch = frames_q != read_q
      && (valid_q ? lane_last && !out_last : begun_q || go_i);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      rd_q    <= '0;
      read_q  <= '0;
      valid_q <= 1'b0;
      begun_q <= 1'b0;
      lane_q  <= '0;
    end else begin
      lane_q <= valid_q && !lane_last ? lane_q + 1'b1 : 2'd0;
      if (fetch) begin
        rd_q    <= rd_q + 1'b1;
        valid_q <= 1'b1;
        begun_q <= 1'b1;
      end else if (valid_q && lane_last) begin
        valid_q <= 1'b0;
        begun_q <= 1'b0;
        read_q  <= read_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetch) out_q <= mem[rd_q[Aw-1:0]];
  end

  assign valid_o = valid_q;
  assign last_o  = out_last && lane_last;
  assign count_o = out_last && lane_last && out_q[516:513] != 0 ? {1'b0, out_q[516:513]} : 5'd16;
  assign data_o  = out_q[128*lane_q+:128];

endmodule

`default_nettype wire
