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
    input  wire sw_pkg::peer_t       self_i,
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
      v0_q   <= 1'b0;
      idx0_q <= '0;
    end else begin
      v0_q <= s_axis_tvalid;
      if (v0_q) begin
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

  // How many 128-bit words of the beat hold anything, less one, and the bytes of the last.
  logic [1:0] words0;
  logic [3:0] bytes0;  // 0 is 16
  logic [15:0] keep_last;
  always_comb begin
    words0 = keep0_q[48] ? 2'd3 : keep0_q[32] ? 2'd2 : keep0_q[16] ? 2'd1 : 2'd0;
    keep_last = keep0_q[16*words0+:16];
    bytes0 = '0;
    for (int i = 1; i < 16; i++) if (keep_last[i-1] && !keep_last[i]) bytes0 = 4'(i);
  end

  logic [15:0] w[32];
  always_comb begin
    for (int i = 0; i < 32; i++) w[i] = {d0_q[16*i+:8], d0_q[16*i+8+:8]};
  end

  // What the first beat says, a cycle later. Each compares few bits: the and of them comes next.
  logic us_q, broadcast_q, arp_q, arp_form_q, arp_dst_q, ip_q, dst_q, udp_q, port_q, echo_q, tag_q;
  logic is_tag_q;
  logic v1_q, last1_q, bad1_q, runt1_q, over1_q, torn_q, written1_q, full1_q;

  always_ff @(posedge clk_i) begin
    if (v0_q && idx0_q == '0) begin
      us_q <= {w[0], w[1], w[2]} == self_i.mac;
      broadcast_q <= &{w[0], w[1], w[2]};
      arp_q <= w[6] == 16'h0806;
      arp_form_q <= {w[7], w[8], w[9], w[10]} == 64'h0001_0800_0604_0001;
      arp_dst_q <= {w[19], w[20]} == self_i.ip;
      ip_q <= w[6] == 16'h0800 && w[7][15:8] == 8'h45;
      dst_q <= {w[15], w[16]} == self_i.ip;
      udp_q <= w[11][7:0] == 8'd17;
      // A later fragment has no ports; it is counted as a fragment, behind.
      port_q <= w[18] == self_i.port || |w[10][13:0];
      echo_q <= w[11][7:0] == 8'd1 && (w[17] == 16'h0800 || |w[10][13:0]);
      tag_q <= {w[22], w[23]} == stream_tag_i && stream_tag_valid_i;
      is_tag_q <= w[21][15:8] == {sw_pkg::Version, sw_pkg::TypeReport};
    end
    if (v0_q) begin
      bad1_q  <= bad0_q;
      runt1_q <= idx0_q == '0 && !keep0_q[59];
      over1_q <= idx0_q == 8'(BeatsMax);
    end
  end

  // Writing: a beat at once, a frame's fate in the cycle after its last beat, in which the next
  // frame's first beat may be written: its address hangs on that fate.
  logic [Aw:0] wr_q, kept_q, rd_q, wr_now;
  logic [Aw:0] used;
  logic [7:0] frames_q, read_q;  // counts that wrap; there are never 128 frames between them
  logic ours, report, keep, full, crowded_q, write, places_full;
  assign ours = arp_q ? (us_q || broadcast_q) && arp_form_q && arp_dst_q
      : us_q && ip_q && dst_q && (udp_q && port_q || echo_q);
  assign report = ours && !arp_q && udp_q && tag_q && is_tag_q;
  assign keep = v1_q && last1_q && !bad1_q && !over1_q && !runt1_q && ours && !torn_q
      && (report || !crowded_q);
  assign wr_now = !(v1_q && last1_q) || keep ? wr_q : kept_q;
  assign used = wr_now - rd_q;
  assign places_full = 8'(frames_q - read_q) >= 8'd126;
  assign full = used[Aw] || places_full;
  assign write = v0_q && !full;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      v1_q      <= 1'b0;
      wr_q      <= '0;
      kept_q    <= '0;
      frames_q  <= '0;
      torn_q    <= 1'b0;
      crowded_q <= 1'b0;
    end else begin
      v1_q <= v0_q;
      crowded_q <= |used[Aw:Aw-1] || 8'(frames_q - read_q) >= 8'd64;
      wr_q <= wr_now + (Aw + 1)'(write);
      if (v0_q) torn_q <= (torn_q && idx0_q != '0) || full;
      if (keep) begin
        kept_q   <= wr_q;
        frames_q <= frames_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) last1_q <= last0_q;

  logic fate, good_length;
  assign fate          = v1_q && last1_q;
  assign good_length   = !bad1_q && !over1_q && !runt1_q;
  assign ev_bad_o      = fate && bad1_q;
  assign ev_oversize_o = fate && !bad1_q && over1_q;
  assign ev_runt_o     = fate && !bad1_q && !over1_q && runt1_q;
  assign ev_not_ours_o = fate && good_length && !ours;
  assign ev_no_room_o  = fate && good_length && ours && !keep;

  (* ram_style = "block" *)logic [518:0] mem[Beats];
  always_ff @(posedge clk_i) begin
    if (write) mem[wr_now[Aw-1:0]] <= {words0, bytes0, last0_q, d0_q};
  end

  // What is for nobody here, beat by beat; tuser on tlast: it is ours, or broken.
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
  assign u_axis_tuser  = !ev_not_ours_o;

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
