// Counts events in 64 bits each, in block RAM, with a snapshot in another that is of one cycle.
//
// Every event has a position of 6 bits that steps with it; one slot after the other is visited, a
// slot a cycle, where the count follows its position: the difference of their low 6 bits is what
// came, since a round of visits is shorter than 64 cycles. A position is not a binary number but a
// place in a de Bruijn sequence: its step costs one LUT, and one decoder serves all.
//
// Event n is delayed by n cycles on its way to its position, and its slot is visited n cycles after
// that of event 0: so the visits of one round see all events up to the same cycle. A snapshot is
// the copy of one round.
//
// Slots: 0 sync_index_i, 1 sync_time_i, 2 the time of the last cycle that the round counts, 3 the
// sum of add_i, then the events.
//
// Throughput: an event a cycle on every input and a sum a cycle, for ever. A snapshot is complete
// at most 2 * (Events + 4) + 2 cycles after its request; busy_o is high until then, and a request
// meanwhile is served by a snapshot of its own behind it. rd_data_o: one cycle after rd_addr_i.
// Counts begin at 0 when the device is configured. There is no reset: none loses an event.
// Back-pressure: none. Clock crossings: none.
`default_nettype none

module counters #(
    parameter int unsigned Events = 40
) (
    input wire clk_i,

    input wire [Events-1:0] event_i,
    input wire [      31:0] add_i,

    input wire [63:0] time_ns_i,
    input wire [63:0] sync_index_i,
    input wire [63:0] sync_time_i,

    input  wire         snapshot_i,
    output logic        busy_o,
    input  wire  [ 5:0] rd_addr_i,
    output logic [63:0] rd_data_o
);

  localparam int unsigned Values = 4;
  localparam int unsigned Total = Events + Values;
  localparam logic [5:0] SlotTime = 6'd2;
  localparam logic [5:0] SlotSum = 6'd3;
  localparam logic [5:0] SlotLast = 6'(Total - 1);

  if (Total > 44 || Events < 1) begin : g_bad_events
    $error("counters: 1 to 40 events: an event is delayed by at most 39 cycles");
  end

  // The next bit of the sequence: that of x^6 + x^5 + 1, with the state of zeros put in.
  function automatic logic next_bit(input logic [5:0] p);
    next_bit = p[5] ^ p[4] ^ ~|p[4:0];
  endfunction

  // Bit v * 6 + b: bit b of the number of steps from state 0 to state v.
  function automatic logic [383:0] steps_of_states();
    logic [5:0] state;
    steps_of_states = '0;
    state = '0;
    for (int unsigned n = 0; n < 64; n++) begin
      steps_of_states[state*6+:6] = 6'(n);
      state = {state[4:0], next_bit(state)};
    end
  endfunction

  localparam logic [383:0] Steps = steps_of_states();

  // Visits, of four cycles each: position chosen (scan_q), turned into a number (turn_q), compared
  // with the count's (compare_q), count changed (slot_q). A position is chosen three cycles before its
  // count changes, but time and sum are of the cycle of the change. So a round begins with these two
  // and has the slots of sync between them and the events: all show the same cycle.
  logic [5:0] scan_q;
  logic [5:0] turn_q;
  logic [5:0] compare_q;
  logic [5:0] slot_q;
  logic       last;

  assign last = slot_q == SlotLast;

  // Values from power-up on: always_ff allows no other process, not even `initial`.
  initial begin
    scan_q = '0;
    turn_q = '0;
    compare_q = '0;
    slot_q = '0;
  end

  always @(posedge clk_i) begin
    unique case (scan_q)
      6'd1:     scan_q <= 6'd4;
      SlotSum:  scan_q <= 6'd0;
      SlotLast: scan_q <= SlotTime;
      default:  scan_q <= scan_q + 6'd1;
    endcase
    turn_q    <= scan_q;
    compare_q <= turn_q;
    slot_q    <= compare_q;
  end

  // Event n, n cycles late: n / 8 times eight cycles in memory, then the rest in registers.
  localparam int unsigned Groups = (Events + 7) / 8;

  logic [           4:0] row_q;
  logic [Groups*8-1:0] coarse;
  logic [Groups*8-1:0] step;

  initial row_q = '0;

  always @(posedge clk_i) row_q <= row_q + 5'd1;

  for (genvar g = 0; g < Groups; g++) begin : g_late
    localparam int unsigned Lanes = (Events - 8 * g < 8) ? Events - 8 * g : 8;

    logic [Lanes-1:0] lanes;

    assign lanes = event_i[8*g+:Lanes];

    if (g == 0) begin : g_none
      assign coarse[7:0] = 8'(lanes);
    end else begin : g_rows
      (* ram_style = "distributed" *) logic [Lanes-1:0] late_mem[32];

      logic [1:0] upper_row;
      logic [4:0] late_row;

      initial begin
        for (int unsigned n = 0; n < 32; n++) late_mem[n] = '0;
      end

      // Of 8 g cycles ago; 32 cycles ago is the row that is written in this one.
      assign upper_row = row_q[4:3] - 2'(g);
      assign late_row = {upper_row, row_q[2:0]};
      assign coarse[8*g+:8] = 8'(late_mem[late_row]);

      always @(posedge clk_i) late_mem[row_q] <= lanes;
    end
  end

  logic [Groups*8-1:0] late1_q, late2_q, late3_q, late4_q, late5_q, late6_q, late7_q;

  initial begin
    late1_q = '0;
    late2_q = '0;
    late3_q = '0;
    late4_q = '0;
    late5_q = '0;
    late6_q = '0;
    late7_q = '0;
  end

  always @(posedge clk_i) begin
    late1_q <= coarse;
    late2_q <= late1_q;
    late3_q <= late2_q;
    late4_q <= late3_q;
    late5_q <= late4_q;
    late6_q <= late5_q;
    late7_q <= late6_q;
  end

  assign step = (coarse & {Groups{8'h01}}) | (late1_q & {Groups{8'h02}})
                | (late2_q & {Groups{8'h04}}) | (late3_q & {Groups{8'h08}})
                | (late4_q & {Groups{8'h10}}) | (late5_q & {Groups{8'h20}})
                | (late6_q & {Groups{8'h40}}) | (late7_q & {Groups{8'h80}});

  // The positions, by slot.
  logic [383:0] place_q;

  initial place_q = '0;

  // The outer condition says nothing, and saves the simulator a look at every event.
  always @(posedge clk_i) begin
    if (step != '0) for (int unsigned n = 0; n < Events; n++) begin
      if (step[n]) begin
        place_q[(n+Values)*6+:6] <= {
          place_q[(n+Values)*6+:5], next_bit(place_q[(n+Values)*6+:6])
        };
      end
    end
  end

  // What was added since the slot of the sum was visited: 48 additions of 32 bits at most.
  logic [37:0] sum_q;
  logic        is_sum_q;  // slot_q is the sum's

  initial begin
    sum_q = '0;
    is_sum_q = 1'b0;
  end

  always @(posedge clk_i) is_sum_q <= compare_q == SlotSum;
  always @(posedge clk_i) sum_q <= (is_sum_q ? 38'd0 : sum_q) + {6'd0, add_i};

  // A slot is written three cycles after it was read, and read again a round later.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] count_mem[64];

  logic [ 5:0] place_of_slot_q;
  logic [63:0] fetched_q;  // of compare_q
  logic [63:0] old_q;
  logic [63:0] entry;
  logic [ 5:0] low;        // of compare_q
  logic [ 5:0] low_q;
  logic        is_round_q;  // the low bits went round since the visit before
  logic [63:0] total;
  logic [63:0] count;

  initial begin
    for (int unsigned n = 0; n < 64; n++) count_mem[n] = '0;
  end

  // The choice in threes of four, a LUT for four.
  logic [95:0] quarter;
  logic [23:0] row, choice_q;

  always_comb begin
    for (int unsigned n = 0; n < 16; n++) begin
      unique case (scan_q[1:0])
        2'd0: quarter[6*n+:6] = place_q[24*n+:6];
        2'd1: quarter[6*n+:6] = place_q[24*n+6+:6];
        2'd2: quarter[6*n+:6] = place_q[24*n+12+:6];
        2'd3: quarter[6*n+:6] = place_q[24*n+18+:6];
      endcase
    end
    for (int unsigned n = 0; n < 4; n++) begin
      unique case (scan_q[3:2])
        2'd0: row[6*n+:6] = quarter[24*n+:6];
        2'd1: row[6*n+:6] = quarter[24*n+6+:6];
        2'd2: row[6*n+:6] = quarter[24*n+12+:6];
        2'd3: row[6*n+:6] = quarter[24*n+18+:6];
      endcase
    end
  end

  // What a slot's entry is.
  typedef enum logic [1:0] {
    SyncIndex,
    SyncTime,
    Time,
    Count
  } entry_e;

  entry_e entry_q;

  always_ff @(posedge clk_i) begin
    choice_q <= row;
    unique case (turn_q[5:4])
      2'd0:    place_of_slot_q <= choice_q[5:0];
      2'd1:    place_of_slot_q <= choice_q[11:6];
      default: place_of_slot_q <= choice_q[17:12];
    endcase
    entry_q           <= |compare_q[5:2] || &compare_q[1:0] ? Count : entry_e'(compare_q[1:0]);
    fetched_q         <= count_mem[turn_q];
    old_q             <= fetched_q;
  end

  // Written a cycle later: both memories lie far from the adder.
  logic [ 5:0] written_slot_q;
  logic [63:0] written_q;

  initial begin
    written_slot_q = '0;
    written_q = '0;
  end

  always @(posedge clk_i) begin
    written_slot_q            <= slot_q;
    written_q                 <= entry;
    count_mem[written_slot_q] <= written_q;
  end

  assign low = Steps[place_of_slot_q*6+:6];
  // The low bits of a count are its position's; the rest goes up where these went round.
  always_ff @(posedge clk_i) begin
    low_q      <= low;
    is_round_q <= fetched_q[5:0] > low;
  end

  assign total = old_q + {26'd0, is_sum_q ? sum_q : {31'd0, is_round_q, 6'd0}};
  assign count = {total[63:6], is_sum_q ? total[5:0] : low_q};

  always_comb begin
    unique case (entry_q)
      SyncIndex: entry = sync_index_i;
      SyncTime:  entry = sync_time_i;
      Time:      entry = time_ns_i;
      Count:     entry = count;
    endcase
  end

  // The snapshot: one round, to its last slot. Nothing is read while busy_o is high.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] snapshot_mem[64];

  logic        wanted_q;
  logic        copy_q;
  logic        is_copied_q;  // what is written

  initial begin
    wanted_q = 1'b0;
    copy_q = 1'b0;
    is_copied_q = 1'b0;
  end

  always @(posedge clk_i) begin
    is_copied_q <= copy_q;
    wanted_q    <= wanted_q | snapshot_i;
    if (last) begin
      copy_q   <= wanted_q;
      wanted_q <= snapshot_i;
    end
  end

  assign busy_o = wanted_q | copy_q | is_copied_q;

  always_ff @(posedge clk_i) begin
    if (is_copied_q) snapshot_mem[written_slot_q] <= written_q;
    rd_data_o <= snapshot_mem[rd_addr_i];
  end

endmodule

`default_nettype wire
