// Counts events in 64 bits each, in block RAM, with a snapshot in another that is of one cycle.
//
// Every event has a position of Bits bits that steps with it; one slot after the other is visited, a
// slot a cycle, where the count follows its position: the difference of their low bits is what came,
// since a round of visits is shorter than 2^Bits cycles. Up to 59 events need 6 bits, 123 need 7. A
// position is not a binary number but a place in a de Bruijn sequence: its step costs one LUT, and
// one decoder serves all.
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
    parameter  int unsigned Events = 40,
    localparam int unsigned Bits   = Events + 4 < 64 ? 6 : 7
) (
    input wire clk_i,

    input wire [Events-1:0] event_i,
    input wire [      31:0] add_i,

    input wire [63:0] time_ns_i,
    input wire [63:0] sync_index_i,
    input wire [63:0] sync_time_i,

    input  wire             snapshot_i,
    output logic            busy_o,
    input  wire  [Bits-1:0] rd_addr_i,
    output logic [    63:0] rd_data_o
);

  localparam int unsigned Values = 4;
  localparam int unsigned Total = Events + Values;
  localparam int unsigned Slots = 1 << Bits;
  typedef logic [Bits-1:0] slot_t;
  localparam slot_t SlotTime = Bits'(2);
  localparam slot_t SlotSum = Bits'(3);
  localparam slot_t SlotLast = Bits'(Total - 1);

  if (Total >= Slots || Events < 1) begin : g_bad_events
    $error("counters: 1 to 123 events: the sequence of positions is one for 6 or 7 bits");
  end

  // The next bit of the sequence: that of x^6 + x^5 + 1, or x^7 + x^6 + 1, with the state of zeros
  // put in.
  function automatic logic next_bit(input slot_t p);
    next_bit = p[Bits-1] ^ p[Bits-2] ^ ~|p[Bits-2:0];
  endfunction

  // Bit v * Bits + b: bit b of the number of steps from state 0 to state v.
  function automatic logic [Slots*Bits-1:0] steps_of_states();
    slot_t state;
    steps_of_states = '0;
    state = '0;
    for (int unsigned n = 0; n < Slots; n++) begin
      steps_of_states[state*Bits+:Bits] = Bits'(n);
      state = {state[Bits-2:0], next_bit(state)};
    end
  endfunction

  localparam logic [Slots*Bits-1:0] Steps = steps_of_states();

  // Visits, of four cycles each: position chosen (scan_q), turned into a number (turn_q), compared
  // with the count's (compare_q), count changed (slot_q). A position is chosen three cycles before its
  // count changes, but time and sum are of the cycle of the change. So a round begins with these two
  // and has the slots of sync between them and the events: all show the same cycle.
  slot_t scan_q;
  slot_t turn_q;
  slot_t compare_q;
  slot_t slot_q;
  logic last;

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
      Bits'(1): scan_q <= Bits'(4);
      SlotSum:    scan_q <= '0;
      SlotLast:   scan_q <= SlotTime;
      default:    scan_q <= scan_q + 1'b1;
    endcase
    turn_q    <= scan_q;
    compare_q <= turn_q;
    slot_q    <= compare_q;
  end

  // Event n, n cycles late: n / 8 times eight cycles in memory, then the rest in registers.
  localparam int unsigned Groups = (Events + 7) / 8;
  // The memory's rows: those of the longest delay, 32 at least, as a LUT has.
  localparam int unsigned RowBits = Groups <= 5 ? 5 : Groups <= 9 ? 6 : 7;

  logic [ RowBits-1:0] row_q;
  logic [Groups*8-1:0] coarse;
  logic [Groups*8-1:0] step;

  initial row_q = '0;

  always @(posedge clk_i) row_q <= row_q + 1'b1;

  for (genvar g = 0; g < Groups; g++) begin : g_late
    localparam int unsigned Lanes = (Events - 8 * g < 8) ? Events - 8 * g : 8;

    logic [Lanes-1:0] lanes;

    assign lanes = event_i[8*g+:Lanes];

    if (g == 0) begin : g_none
      assign coarse[7:0] = 8'(lanes);
    end else begin : g_rows
      (* ram_style = "distributed" *) logic [Lanes-1:0] late_mem[1<<RowBits];

      logic [RowBits-4:0] upper_row;
      logic [RowBits-1:0] late_row;

      initial begin
        for (int unsigned n = 0; n < 1 << RowBits; n++) late_mem[n] = '0;
      end

      // Of 8 g cycles ago; as many as there are rows ago is the row that is written in this one.
      assign upper_row = row_q[RowBits-1:3] - (RowBits - 3)'(g);
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
  logic [Slots*Bits-1:0] place_q;

  initial place_q = '0;

  // The outer condition says nothing, and saves the simulator a look at every event.
  always @(posedge clk_i) begin
    if (step != '0) for (int unsigned n = 0; n < Events; n++) begin
      if (step[n]) begin
        place_q[(n+Values)*Bits+:Bits] <= {
          place_q[(n+Values)*Bits+:Bits-1], next_bit(place_q[(n+Values)*Bits+:Bits])
        };
      end
    end
  end

  // What was added since the slot of the sum was visited: less than 2^Bits additions of 32 bits.
  logic [31+Bits:0] sum_q;
  logic             is_sum_q;  // slot_q is the sum's

  initial begin
    sum_q = '0;
    is_sum_q = 1'b0;
  end

  always @(posedge clk_i) is_sum_q <= compare_q == SlotSum;
  always @(posedge clk_i) sum_q <= (is_sum_q ? '0 : sum_q) + (32 + Bits)'(add_i);

  // A slot is written three cycles after it was read, and read again a round later.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] count_mem[Slots];

  slot_t       place_of_slot_q;
  logic [63:0] fetched_q;  // of compare_q
  logic [63:0] old_q;
  logic [63:0] entry;
  slot_t       low;        // of compare_q
  slot_t       low_q;
  logic        is_round_q;  // the low bits went round since the visit before
  logic [63:0] total;
  logic [63:0] count;

  initial begin
    for (int unsigned n = 0; n < Slots; n++) count_mem[n] = '0;
  end

  // The choice in threes of four, a LUT for four; of as many rows as there are, the last one.
  localparam int unsigned Rows = (Total + 15) / 16;
  logic [Slots/4*Bits-1:0] quarter;
  logic [Slots/16*Bits-1:0] row, choice_q;

  always_comb begin
    for (int unsigned n = 0; n < Slots / 4; n++) begin
      unique case (scan_q[1:0])
        2'd0: quarter[Bits*n+:Bits] = place_q[4*Bits*n+:Bits];
        2'd1: quarter[Bits*n+:Bits] = place_q[4*Bits*n+Bits+:Bits];
        2'd2: quarter[Bits*n+:Bits] = place_q[4*Bits*n+2*Bits+:Bits];
        2'd3: quarter[Bits*n+:Bits] = place_q[4*Bits*n+3*Bits+:Bits];
      endcase
    end
    for (int unsigned n = 0; n < Slots / 16; n++) begin
      unique case (scan_q[3:2])
        2'd0: row[Bits*n+:Bits] = quarter[4*Bits*n+:Bits];
        2'd1: row[Bits*n+:Bits] = quarter[4*Bits*n+Bits+:Bits];
        2'd2: row[Bits*n+:Bits] = quarter[4*Bits*n+2*Bits+:Bits];
        2'd3: row[Bits*n+:Bits] = quarter[4*Bits*n+3*Bits+:Bits];
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
    place_of_slot_q <= choice_q[Bits*(Rows-1)+:Bits];
    for (int unsigned n = 0; n < Rows - 1; n++) begin
      if (turn_q[Bits-1:4] == (Bits - 4)'(n)) place_of_slot_q <= choice_q[Bits*n+:Bits];
    end
    entry_q           <= |compare_q[Bits-1:2] || &compare_q[1:0] ? Count : entry_e'(compare_q[1:0]);
    fetched_q         <= count_mem[turn_q];
    old_q             <= fetched_q;
  end

  // Written a cycle later: both memories lie far from the adder.
  slot_t       written_slot_q;
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

  assign low = Steps[place_of_slot_q*Bits+:Bits];
  // The low bits of a count are its position's; the rest goes up where these went round.
  always_ff @(posedge clk_i) begin
    low_q      <= low;
    is_round_q <= fetched_q[Bits-1:0] > low;
  end

  assign total = old_q + 64'(is_sum_q ? sum_q : {31'd0, is_round_q, Bits'(0)});
  assign count = {total[63:Bits], is_sum_q ? total[Bits-1:0] : low_q};

  always_comb begin
    unique case (entry_q)
      SyncIndex: entry = sync_index_i;
      SyncTime:  entry = sync_time_i;
      Time:      entry = time_ns_i;
      Count:     entry = count;
    endcase
  end

  // The snapshot: one round, to its last slot. Nothing is read while busy_o is high.
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [63:0] snapshot_mem[Slots];

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
