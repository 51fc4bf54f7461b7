// Generates frames for a NIC without a processor: sizes in steps, a gap, numbers and time stamps
// that nic_checker verifies (layout: nic_pkg).
//
// While enable_i is high frames leave with gap_cycles between the last beat of one and the first of
// the next; the counter of a frame is that of the cycle in which its first beat was taken. A frame
// has no gap inside. Throughput: a beat a cycle; with a gap of 0, frames back to back.
// Back-pressure: passed on; what is held back leaves later, with its gap behind it. cfg_i stands
// while enable is high; lengths below GeneratorBytesMin count as that. A rising enable clears
// status_o and begins with number 0. enable low ends behind the frame that has begun. One clock.
`default_nettype none

module nic_generator (
    input wire logic                    clk_i,
    input wire logic                    rst_i,
    input wire nic_pkg::generator_cfg_t cfg_i,
    input wire logic             [31:0] counter_i,  // free-running

    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tvalid,
    input  wire logic   m_axis_tready,
    output logic        m_axis_tlast,

    output nic_pkg::generator_status_t status_o
);

  localparam int unsigned HeadBeats = 3;

  typedef enum logic [1:0] {
    Idle  = 2'd0,
    Gap   = 2'd1,
    Frame = 2'd2
  } state_e;

  state_e state_q, state_d;
  logic [13:0] length_q, left_q, length_min;
  logic [1:0] beat_q;  // stays at HeadBeats
  logic [23:0] gap_q;
  logic [31:0] number_q, stamp_q;
  logic [63:0] pattern_q;
  logic [47:0] bytes_q, cycles_q, clock_q;
  logic take, ends, is_last_q, is_final_q, is_done, runs;

  assign length_min = cfg_i.bytes_min < 14'(nic_pkg::GeneratorBytesMin) ?
      14'(nic_pkg::GeneratorBytesMin) : cfg_i.bytes_min;
  assign take    = m_axis_tvalid && m_axis_tready;
  assign ends    = take && is_last_q;
  assign is_done = cfg_i.frames != '0 && number_q == cfg_i.frames;
  assign runs    = cfg_i.enable && !is_done;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (cfg_i.enable) state_d = Frame;
      // The cycle in Gap is one of it.
      Gap: if (!runs) state_d = cfg_i.enable ? Gap : Idle;
           else if (gap_q <= 24'd1) state_d = Frame;
      Frame: begin
        if (ends) begin
          state_d = Gap;
          if (cfg_i.gap_cycles == '0 && cfg_i.enable && !is_final_q) state_d = Frame;
        end
      end
      default: state_d = Idle;
    endcase
  end

  // Ready comes late: what follows from the frame's length and number is known before its last beat.
  logic [14:0] length_next;
  logic [13:0] length_next_q;  // of the next frame
  logic [13:0] length_d;  // of the frame that begins in the next cycle
  assign length_next = 15'(length_q) + 15'(cfg_i.bytes_step);
  assign length_d    = state_q == Idle ? length_min : length_next_q;

  always_ff @(posedge clk_i) begin
    length_next_q <= length_next > 15'(cfg_i.bytes_max) ? length_min : length_next[13:0];
    is_final_q    <= number_q + 1'b1 == cfg_i.frames;
  end

  logic clears, starts;
  assign clears = state_q == Idle && cfg_i.enable;
  // A frame's length is chosen as the frame before it ends.
  assign starts = clears || ends;

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    if (starts) begin
      length_q  <= length_d;
      left_q    <= length_d;
      beat_q    <= '0;
      is_last_q <= 1'b0;
    end else if (take) begin
      left_q    <= left_q - 14'd8;
      is_last_q <= left_q <= 14'd16;
      if (beat_q != 2'(HeadBeats)) beat_q <= beat_q + 1'b1;
    end
    if (ends) gap_q <= cfg_i.gap_cycles;
    else if (gap_q != '0) gap_q <= gap_q - 1'b1;
    if (take && beat_q == 2'd0) stamp_q <= counter_i;
    if (take && beat_q == 2'd2) pattern_q <= {stamp_q, number_q} ^ nic_pkg::PatternMask;
    else if (take) pattern_q <= nic_pkg::pattern_next(pattern_q);
    clock_q <= clock_q + 1'b1;
    if (clears) begin
      number_q <= '0;
      bytes_q  <= '0;
      cycles_q <= '0;
    end else if (ends) begin
      number_q <= number_q + 1'b1;
      bytes_q  <= bytes_q + 48'(length_q);
      cycles_q <= clock_q;
    end
    // It counts from the first beat on.
    if (state_q == Idle || (number_q == '0 && beat_q == 2'd0 && !take)) clock_q <= 48'd1;
  end

  always_comb begin
    unique case (beat_q)
      2'd0: m_axis_tdata = {cfg_i.from[15:0], cfg_i.to};
      2'd1: m_axis_tdata = {bits_pkg::be16({2'b00, length_q}), bits_pkg::be16(cfg_i.ether_type),
                            cfg_i.from[47:16]};
      2'd2: m_axis_tdata = {stamp_q, number_q};
      default: m_axis_tdata = pattern_q;
    endcase
  end

  assign m_axis_tvalid = state_q == Frame;
  assign m_axis_tlast  = is_last_q;
  assign m_axis_tkeep  = is_last_q ? 8'(9'd1 << left_q[3:0]) - 8'd1 : '1;

  assign status_o.frames = number_q;
  assign status_o.bytes  = bytes_q;
  assign status_o.cycles = cycles_q;

endmodule

`default_nettype wire
