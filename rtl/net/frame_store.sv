// Keeps judged frames until their readers take them, 64 bits a beat: frame_rx's commit FIFO.
//
// A frame is written while it comes, N bits a cycle, at most its first BytesMax bytes; it is shown
// once its last beat said ok_i, and forgotten whole where it did not or found no room. Frames of
// another class than ClassReport get in only while less than half of the storage and of the places
// is in use: a flood of them leaves room for the stream's REPORTs. c_meta_o is written beside the
// frame from its fields and holds still while the frame is read.
//
// A REPORT is shown from byte ReportFrom on: its reader needs nothing before, and the repeats that
// it requests wait for these cycles.
//
// Accepts a beat every clock for ever. Last beat in to first beat out: 4 cycles; then a beat a cycle,
// and 3 idle cycles between frames. Back-pressure on the output only.
`default_nettype none

module frame_store #(
    parameter int unsigned N          = 64,
    parameter int unsigned Words      = 512,  // of N bits, a power of two
    parameter int unsigned Frames     = 32,   // a power of two
    parameter int unsigned BytesMax   = 384,
    parameter int unsigned ReportFrom = 56,
    parameter bit          Reserve    = 1'b1  // half of it for the stream's REPORTs alone
) (
    input wire logic clk_i,
    input wire logic rst_i,

    input wire logic                      valid_i,
    input wire logic                      last_i,
    input wire logic    [  $clog2(N/8):0] count_i,
    input wire logic    [          N-1:0] data_i,
    input wire logic                      ok_i,             // with last_i
    input wire logic                      other_version_i,  // with last_i
    input wire net_pkg::class_e           cls_i,            // with last_i

    output logic                     room_o,  // for three frames more, whatever their class
    output logic                     ev_kept_o,
    output logic                     ev_no_room_o,

    output      logic                    c_valid_o,
    input  wire logic                    c_ready_i,
    output      logic             [63:0] c_data_o,
    output      logic                    c_last_o,
    output      net_pkg::rx_meta_t       c_meta_o
);

  localparam int unsigned Nb = N / 8;
  localparam int unsigned Aw = $clog2(Words);
  localparam int unsigned Fw = $clog2(Frames);
  localparam int unsigned Keep = BytesMax / Nb;
  localparam int unsigned Iw = $clog2(Keep + 1);
  localparam int unsigned Skip = ReportFrom / Nb;

  if (N != 64 && N != 128) begin : g_bad_1
    $error("N must be 64 or 128");
  end
  if (Words != 1 << Aw || Frames != 1 << Fw) begin : g_bad_2
    $error("Words and Frames must be powers of two");
  end
  if (Words < 4 * Keep) begin : g_bad_3
    $error("Words must hold four frames");
  end
  if (BytesMax % Nb != 0 || ReportFrom % 8 != 0) begin : g_bad_4
    $error("BytesMax and ReportFrom must be of beats");
  end

  // Writing. Pointers have one bit more than an address.
  logic [Aw:0] wr_q, kept_q, rd_q;
  logic [Fw:0] frames_kept_q, frames_read_q;
  logic [Iw-1:0] idx_q;  // of the beat in its frame, stays at Keep
  logic torn_q;          // a beat of this frame found no room
  logic crowded_q;

  logic full, fits, write, shut, keep;
  logic [Aw:0] used;
  logic [Fw:0] frames_used;

  assign used = wr_q - rd_q;
  assign frames_used = frames_kept_q - frames_read_q;
  assign full = used[Aw] || frames_used[Fw];
  assign fits = idx_q != Iw'(Keep);
  assign write = valid_i && fits && !full && !torn_q;
  // The last beat that is kept closes the frame in storage.
  assign shut = last_i || idx_q == Iw'(Keep - 1);
  assign keep = valid_i && last_i && ok_i && !torn_q && !(fits && full)
      && (!Reserve || cls_i == net_pkg::ClassReport || !crowded_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      wr_q          <= '0;
      kept_q        <= '0;
      frames_kept_q <= '0;
      idx_q         <= '0;
      torn_q        <= 1'b0;
      crowded_q     <= 1'b0;
    end else begin
      crowded_q <= |used[Aw:Aw-1] || |frames_used[Fw:Fw-1];
      if (write) wr_q <= wr_q + 1'b1;
      if (valid_i) begin
        if (fits) idx_q <= idx_q + 1'b1;
        if (fits && full) torn_q <= 1'b1;
        if (last_i) begin
          idx_q  <= '0;
          torn_q <= 1'b0;
          if (keep) begin
            kept_q        <= wr_q + (Aw + 1)'(write);
            frames_kept_q <= frames_kept_q + 1'b1;
          end else begin
            wr_q <= kept_q;
          end
        end
      end
    end
  end

  assign ev_kept_o    = keep;
  assign ev_no_room_o = valid_i && last_i && ok_i && !keep;
  // Two frames of 60 bytes may still be on their way when room is seen.
  logic room_q;
  always_ff @(posedge clk_i)
    room_q <= used <= (Aw + 1)'(Words - 3 * Keep) && frames_used <= (Fw + 1)'(Frames - 4);
  assign room_o = room_q;

  // Storage: the data, whether the frame ends here, and for N = 128 whether the upper half counts.
  // Only a frame that is kept whole is read, and its room is free after that.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [N+1:0] mem[Words];
  always_ff @(posedge clk_i) begin
    if (write) mem[wr_q[Aw-1:0]] <= {count_i > ($clog2(N / 8) + 1)'(8), shut, data_i};
  end

  // The fields of the meta data, each written when its beat passes; the place is the frame's only
  // once it is kept, so what a frame that is dropped wrote there does no harm. A place is read
  // once it is kept: shown_q rises a cycle later.
  logic [Fw-1:0] place;
  assign place = frames_kept_q[Fw-1:0];

  function automatic logic [15:0] word(input logic [N-1:0] data, input int unsigned offset);
    word = bits_pkg::be16(data[8*(offset%Nb)+:16]);
  endfunction

  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [15:0] mac_hi_mem[Frames];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [31:0] mac_lo_mem[Frames];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [31:0] ip_mem[Frames];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [31:0] udp_mem[Frames];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *)logic [35:0] head_mem[Frames];
  (* ram_style = "distributed" *)logic [2:0] class_mem[Frames];

  always_ff @(posedge clk_i) begin
    if (write && idx_q == Iw'(6 / Nb)) mac_hi_mem[place] <= word(data_i, 6);
    if (write && idx_q == Iw'(8 / Nb)) mac_lo_mem[place] <= {word(data_i, 8), word(data_i, 10)};
    if (write && idx_q == Iw'(26 / Nb)) ip_mem[place] <= {word(data_i, 26), word(data_i, 28)};
    if (write && idx_q == Iw'(34 / Nb)) udp_mem[place] <= {word(data_i, 34), word(data_i, 38)};
    if (write && idx_q == Iw'(42 / Nb))
      head_mem[place] <= {data_i[8*(42%Nb)+:4], word(data_i, 44), word(data_i, 46)};
    if (valid_i && last_i) class_mem[place] <= {other_version_i, cls_i};
  end

  // Reading. What is to be read, and its class, are known a cycle late.
  logic [Fw-1:0] reading;
  logic [2:0] class_q;
  logic [47:0] mac_q;
  logic [31:0] ip_q, udp_q;
  logic [35:0] fields_q;
  logic shown_q;
  assign reading = frames_read_q[Fw-1:0];

  always_ff @(posedge clk_i) begin
    shown_q      <= frames_kept_q != frames_read_q && !rst_i;
    class_q      <= class_mem[reading];
    mac_q[47:32] <= mac_hi_mem[reading];
    mac_q[31:0]  <= mac_lo_mem[reading];
    ip_q         <= ip_mem[reading];
    udp_q        <= udp_mem[reading];
    fields_q     <= head_mem[reading];
  end

  always_comb begin
    c_meta_o.cls = net_pkg::class_e'(class_q[1:0]);
    c_meta_o.other_version = class_q[2];
    c_meta_o.peer.mac = mac_q;
    c_meta_o.peer.ip = ip_q;
    c_meta_o.peer.port = udp_q[31:16];
    c_meta_o.udp_bytes = udp_q[15:0] - 16'd8;
    {c_meta_o.ptype, c_meta_o.tag} = fields_q;
  end

  logic head_q;   // the next read is a frame's first
  logic stale_q;  // shown_q and class_q are still of the frame before
  logic valid_q, upper_q;
  logic fetch, take, done, is_report;
  logic [N+1:0] out_q;
  logic [Aw:0] rd_addr;
  logic ends_here;

  assign is_report = class_q[1:0] == net_pkg::ClassReport;
  assign ends_here = out_q[N] && (N == 64 || upper_q || !out_q[N+1]);
  assign rd_addr = rd_q + (head_q && is_report ? (Aw + 1)'(Skip) : (Aw + 1)'(0));

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      rd_q          <= '0;
      frames_read_q <= '0;
      head_q        <= 1'b1;
      stale_q       <= 1'b0;
      valid_q       <= 1'b0;
      upper_q       <= 1'b0;
    end else begin
      stale_q <= done;
      if (done) begin
        head_q        <= 1'b1;
        frames_read_q <= frames_read_q + 1'b1;
      end
      if (fetch) begin
        rd_q    <= rd_addr + 1'b1;
        valid_q <= 1'b1;
        head_q  <= 1'b0;
        upper_q <= head_q && is_report && ReportFrom % Nb != 0;
      end else if (valid_q && take) begin
        if (ends_here) valid_q <= 1'b0;
        upper_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetch) out_q <= mem[rd_addr[Aw-1:0]];
  end

  // A register takes 64 bits after 64 bits; the frame is done when the last have left it.
  logic beat_valid_q, beat_last_q;
  logic [63:0] beat_q;

  assign take  = !beat_valid_q || c_ready_i;
  assign done  = beat_valid_q && beat_last_q && c_ready_i;
  assign fetch = shown_q && !stale_q && !(beat_valid_q && beat_last_q)
      && (!valid_q || (take && !out_q[N] && (N == 64 || upper_q)));

  always_ff @(posedge clk_i) begin
    if (take) begin
      beat_q      <= N != 64 && upper_q ? out_q[N-1-:64] : out_q[63:0];
      beat_last_q <= ends_here;
    end
    beat_valid_q <= (valid_q || !take) && !rst_i;
  end

  assign c_valid_o = beat_valid_q;
  assign c_last_o  = beat_last_q;
  assign c_data_o  = beat_q;

`ifdef FORMAL
  `include "frame_store_props.svh"
`endif

endmodule

`default_nettype wire
