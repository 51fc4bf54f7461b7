// Takes the stream's REPORTs: their check by `window`, their ranges to nack_walker, their echo to
// rtt, their counters to csr (docs/protocol.md#2.12, #4.6).
//
// A beat a cycle from frame byte 56 on (the REPORT's number and departure), as frame_rx shows
// frames of ClassReport; lengths and n have been checked there. The check is made with the fourth
// beat; from the seventh on each beat is a range, at rng_valid_o in the same cycle. Back-pressure
// only where rng_ready_i is low. A REPORT that `window` refuses is swallowed; one that is no newer
// ends at its check: its ranges say nothing that the newer did not. A REPORT of a stream that has
// ended since it came is swallowed uncounted. Ranges behind the 384 bytes of a frame that frame_rx
// keeps are not seen; the receiver lists them again.
//
// number_o, received_o, marked_o, skipped_o, report_departure_o and report_time_o are those of the
// newest REPORT that was taken, and hold still (the counters change in the two cycles behind
// taken_o); echo_o and hold_o are right in the cycle of taken_o alone.
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
    input  wire sw_pkg::rx_meta_t        c_meta_i,

    output      logic        rep_valid_o,
    output      logic        rep_is_newer_o,
    output      logic        rep_has_ranges_o,
    output      logic [31:0] rep_released_o,
    output      logic [31:0] rep_highest_o,
    output      logic [31:0] rep_limit_o,
    output      logic [31:0] rep_settled_o,
    input  wire logic        rep_ok_i,

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
    output logic [31:0] echo_o,
    output logic [31:0] hold_o,
    output logic [31:0] received_o,
    output logic [31:0] marked_o,
    output logic [31:0] skipped_o,
    output logic [31:0] report_departure_o,
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
  logic live_q;   // it is of the present stream and not refused
  logic taken_q;  // it is the newest
  logic [5:0] left_q;
  logic [31:0] hi, lo, number_q, departure_q, released_q, limit_q, settled_q, highest_q;
  logic step, is_range, n_large;

  assign hi        = sw_pkg::be32(c_data_i[31:0]);  // first on the wire
  assign lo        = sw_pkg::be32(c_data_i[63:32]);
  assign is_range  = beat_q == BeatRange && live_q && taken_q && left_q != 0;
  assign c_ready_o = !is_range || rng_ready_i;
  assign step      = c_valid_i && c_ready_o;
  assign n_large   = |lo[15:6];

  assign rep_valid_o      = c_valid_i && beat_q == BeatEcho && live_q && !flush_i;
  assign rep_is_newer_o   = !reported_o || sw_pkg::before32(number_o, number_q);
  assign rep_has_ranges_o = c_meta_i.udp_bytes != BytesMin;
  assign rep_released_o   = released_q;
  assign rep_limit_o      = limit_q;
  assign rep_settled_o    = settled_q;
  assign rep_highest_o    = highest_q;

  assign alive_o      = rep_valid_o && rep_ok_i;
  assign taken_o      = alive_o && rep_is_newer_o;
  assign ev_refused_o = rep_valid_o && !rep_ok_i;
  assign ev_marked_o  = step && beat_q == BeatReceived && live_q && taken_q && lo != marked_o;
  assign echo_o       = hi;
  assign hold_o       = lo;

  assign rng_valid_o   = c_valid_i && is_range && !flush_i;
  assign rng_first_o   = hi;
  assign rng_count_o   = lo;
  assign rng_to_next_o = 1'b0;
  assign rng_settled_o = settled_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      beat_q     <= BeatNumber;
      live_q     <= 1'b0;
      taken_q    <= 1'b0;
      left_q     <= '0;
      reported_o <= 1'b0;
    end else begin
      if (step) begin
        if (c_last_i) beat_q <= BeatNumber;
        else if (beat_q != BeatRange) beat_q <= beat_q + 1'b1;
        if (beat_q == BeatNumber) live_q <= stream_tag_valid_i && c_meta_i.tag == stream_tag_i;
        if (beat_q == BeatEcho) begin
          taken_q <= taken_o;
          if (!rep_ok_i) live_q <= 1'b0;
          if (taken_o) reported_o <= 1'b1;
        end
        if (beat_q == BeatSkipped) left_q <= n_large ? '1 : lo[5:0];
        if (is_range) left_q <= left_q - 1'b1;
      end
      if (flush_i) begin
        live_q     <= 1'b0;
        reported_o <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step && beat_q == BeatNumber) {number_q, departure_q} <= {hi, lo};
    if (step && beat_q == BeatReleased) {released_q, limit_q} <= {hi, lo};
    if (step && beat_q == BeatSettled) {settled_q, highest_q} <= {hi, lo};
    if (taken_o) begin
      number_o           <= number_q;
      report_departure_o <= departure_q;
      report_time_o      <= time_ns_i[35:4];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || flush_i) begin
      received_o <= '0;
      marked_o   <= '0;
      skipped_o  <= '0;
    end else if (step && live_q && taken_q) begin
      if (beat_q == BeatReceived) {received_o, marked_o} <= {hi, lo};
      if (beat_q == BeatSkipped) skipped_o <= hi;
    end
  end

endmodule

`default_nettype wire
