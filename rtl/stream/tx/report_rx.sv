// Takes the stream's REPORTs: their check by `window`, their ranges to nack_walker
// (docs/protocol.md#2.12, #4.6).
//
// Takes beats from frame byte 56 on (the REPORT's number and departure), as frame_rx shows frames of
// ClassReport; lengths and n have been checked there. `window` compares the numbers one after the
// other, which takes 3 cycles of the second beat and 2 of the third; the verdict comes with the
// fifth. From the seventh on each beat is a range, which takes 2 cycles: one to find where it lies,
// then rng_valid_o. Every other beat takes one. Back-pressure besides only where rng_ready_i is low.
// A REPORT that `window` refuses is swallowed; one that is no newer ends at its check: its ranges
// say nothing that the newer did not. A REPORT of a stream that has ended since it came is swallowed
// uncounted. Ranges behind the 384 bytes of a frame that frame_rx keeps are not seen; the receiver
// lists them again.
//
// number_o and report_time_o are those of the newest REPORT that was taken, and hold still. Its
// departure, echo and hold are kept by `ctl_rx`: taken_o comes with the beat behind that.
// Counters of the receiver are not kept, but for a look whether that of CE marks has changed.
`default_nettype none

module report_rx (
    input wire logic        clk_i,
    input wire logic        rst_i,
    input wire logic        flush_i,
    input wire logic [63:0] time_ns_i,
    input wire logic [31:0] stream_tag_i,
    input wire logic        stream_tag_valid_i,

    input  wire logic                    c_valid_i,
    output      logic                    c_ready_o,
    input  wire logic             [63:0] c_data_i,
    input  wire logic                    c_last_i,
    input  wire net_pkg::rx_meta_t       c_meta_i,

    output      logic                    rep_step_o,
    output      send_pkg::check_e        rep_check_o,
    output      logic             [31:0] rep_hi_o,
    output      logic             [31:0] rep_lo_o,
    output      logic                    rep_is_newer_o,
    output      logic                    rep_has_ranges_o,
    output      logic                    rep_valid_o,
    input  wire logic                    rep_ok_i,

    output      logic        rng_valid_o,
    input  wire logic        rng_ready_i,
    output      logic [31:0] rng_first_o,
    output      logic [31:0] rng_count_o,
    output      logic        rng_to_next_o,
    output      logic [31:0] rng_settled_o,

    output logic        taken_o,             // newer, and taken
    output logic        alive_o,             // taken, or older and valid
    output logic        reported_o,          // one was taken since flush
    output logic [31:0] number_o,
    output logic [31:0] report_time_o,       // 16 ns units
    output logic        ev_refused_o,
    output logic        ev_marked_o
);

  // Beats from byte 56 on.
  localparam logic [2:0] BeatNumber = 3'd0;
  localparam logic [2:0] BeatReleased = 3'd1;
  localparam logic [2:0] BeatSettled = 3'd2;
  localparam logic [2:0] BeatEcho = 3'd3;
  localparam logic [2:0] BeatReceived = 3'd4;
  localparam logic [2:0] BeatSkipped = 3'd5;
  localparam logic [2:0] BeatRange = 3'd6;  // and all that follow

  // A REPORT without ranges, docs/protocol.md#2.4.
  localparam logic [15:0] BytesMin = 16'd66;

  logic [2:0] beat_q;
  logic [1:0] step_q;  // cycles that this beat has stood
  logic live_q;        // it is of the present stream and not refused
  logic taken_q;       // it is the newest
  logic is_newer_q;
  logic [5:0] left_q;  // ranges
  logic more_q;        // a beat of ranges is one that is wanted
  logic is_ours_q, has_ranges_q;  // of the meta data, which stands 2 cycles before the first beat
  logic [31:0] hi, lo, number_q, settled_q, marked_q;
  logic step, is_range, is_done, n_large;
  send_pkg::check_e check_q;

  assign hi       = bits_pkg::be32(c_data_i[31:0]);  // first on the wire
  assign lo       = bits_pkg::be32(c_data_i[63:32]);
  assign is_range = beat_q == BeatRange && more_q;

  always_comb begin
    unique case (beat_q)
      BeatReleased: is_done = step_q[1];
      BeatSettled:  is_done = step_q[0];
      BeatRange:    is_done = !is_range || (step_q[0] && rng_ready_i);
      default:      is_done = 1'b1;
    endcase
  end
  assign c_ready_o = is_done;
  assign step      = c_valid_i && is_done;
  assign n_large   = |lo[15:6];

  // What `window` is to compare in a cycle is known in the one before.
  function automatic send_pkg::check_e check_of(input logic [2:0] beat, input logic [1:0] cycle);
    check_of = send_pkg::CheckReleased;  // also of a range
    if (beat == BeatReleased && cycle == 2'd1) check_of = send_pkg::CheckLimit;
    if (beat == BeatReleased && cycle[1]) check_of = send_pkg::CheckGrowth;
    if (beat == BeatSettled) check_of = cycle[0] ? send_pkg::CheckHighest : send_pkg::CheckSettled;
  endfunction

  // Sums of these few bits are written out: a carry chain would take a level of its own.
  logic [2:0] beat_next;
  logic [1:0] step_next;
  always_comb begin
    unique case (beat_q)
      BeatNumber:   beat_next = BeatReleased;
      BeatReleased: beat_next = BeatSettled;
      BeatSettled:  beat_next = BeatEcho;
      BeatEcho:     beat_next = BeatReceived;
      BeatReceived: beat_next = BeatSkipped;
      default:      beat_next = BeatRange;
    endcase
    step_next = {step_q[1] ^ step_q[0], !step_q[0]};
    if (is_range && step_q[0]) step_next = step_q;
    if (!c_valid_i) step_next = step_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || (step && c_last_i)) begin
      beat_q  <= BeatNumber;
      step_q  <= '0;
      check_q <= check_of(BeatNumber, 2'd0);
    end else if (step) begin
      beat_q  <= beat_next;
      step_q  <= '0;
      check_q <= check_of(beat_next, 2'd0);
    end else begin
      step_q  <= step_next;
      check_q <= check_of(beat_q, step_next);
    end
  end

  assign rep_check_o      = check_q;
  assign rep_step_o       = c_valid_i && (beat_q == BeatReleased || beat_q == BeatSettled);
  assign rep_hi_o         = hi;
  assign rep_lo_o         = lo;
  assign rep_is_newer_o   = is_newer_q;
  assign rep_has_ranges_o = has_ranges_q;
  assign rep_valid_o      = c_valid_i && beat_q == BeatReceived && live_q && !flush_i;

  assign alive_o      = rep_valid_o && rep_ok_i;
  assign taken_o      = alive_o && is_newer_q;
  assign ev_refused_o = rep_valid_o && !rep_ok_i;
  assign ev_marked_o  = taken_o && !bits_pkg::same32(lo, marked_q);

  assign rng_valid_o   = c_valid_i && is_range && step_q[0] && !flush_i;
  assign rng_first_o   = hi;
  assign rng_count_o   = lo;
  assign rng_to_next_o = 1'b0;
  assign rng_settled_o = settled_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      live_q     <= 1'b0;
      taken_q    <= 1'b0;
      more_q     <= 1'b0;
      reported_o <= 1'b0;
    end else begin
      if (step) begin
        if (beat_q == BeatNumber) live_q <= is_ours_q;
        if (beat_q == BeatReceived) begin
          taken_q <= taken_o;
          if (!rep_ok_i) live_q <= 1'b0;
          if (taken_o) reported_o <= 1'b1;
        end
        if (beat_q == BeatSkipped) more_q <= live_q && taken_q && (n_large || |lo[5:0]);
        if (is_range) more_q <= left_q != 6'd1;
      end
      if (flush_i) begin
        live_q     <= 1'b0;
        more_q     <= 1'b0;
        reported_o <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step && beat_q == BeatNumber) begin
      number_q   <= hi;
      is_newer_q <= !reported_o || wire_pkg::before32(number_o, hi);
    end
    if (step && beat_q == BeatSettled) settled_q <= hi;
    if (step && beat_q == BeatSkipped) left_q <= n_large ? '1 : lo[5:0];
    else if (step) left_q <= left_q - 1'b1;
    if (taken_o) begin
      number_o           <= number_q;
      report_time_o      <= time_ns_i[35:4];
    end
  end

  always_ff @(posedge clk_i) begin
    is_ours_q    <= stream_tag_valid_i && bits_pkg::same32(c_meta_i.tag, stream_tag_i);
    has_ranges_q <= c_meta_i.udp_bytes != BytesMin;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) marked_q <= '0;
    else if (taken_o) marked_q <= lo;
  end

endmodule

`default_nettype wire
