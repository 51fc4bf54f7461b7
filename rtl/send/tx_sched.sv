// Chooses what departs next, stamps it, and hands frame_tx one DATA packet after the other.
//
// Order (docs/protocol.md#4.7): a control packet of the sender that is built and whose time has come;
// else the next repeat, if the budget allows; else the next packet that never departed. DATA waits
// for the pacer. The budget is a bucket of max(window / 4, 32) repeats that is filled again an RTT
// after the first was taken from it.
//
// A control packet takes longer to build than a frame to leave, so its place is given ahead of
// time: `ctl_departure_o` lies CtlLead after the present, and DATA goes on with stamps before that.
// When the clock has passed it, no DATA is chosen until the packet is built. What was chosen before
// leaves before it, and `tx_mux`, which held it back (`ctl_hold_o`), sends it then. So the order of
// departures is the order of leaving (docs/protocol.md#2.6). DATA waits for the packet only if its
// building takes longer than CtlLead.
//
// The job is the slot's descriptor as slot_table shows it: the address stands still while the job
// waits, so the descriptor needs no registers here. It waits while the packet before leaves.
// `hold_o` is high while the slot of `next` is still to be read: a repeat whose seq was released
// after it was chosen. Then nothing may be written to that slot.
//
// Throughput: one job in 3 cycles. Latency: `has_new_i` or `cand_valid_i` to `job_valid_o` one
// cycle. Back-pressure: `job_ready_i`; flush withdraws the job that waits. Does not know REPORTs,
// and does not time MARK. One clock.
`default_nettype none

module tx_sched #(
    parameter  int unsigned Slots     = 1024,
    parameter  int unsigned SlotBeats = 1024,
    localparam int unsigned Sw        = $clog2(Slots)
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_i,
    input  wire logic                  flush_i,
    input  wire logic           [63:0] time_ns_i,
    input  wire wire_pkg::state_e      state_i,
    input  wire logic           [31:0] stream_tag_i,
    input  wire logic           [31:0] window_i,
    input  wire logic           [31:0] rtt_i,
    // window
    input  wire logic                  has_new_i,
    input  wire logic           [31:0] sent_i,
    input  wire logic           [31:0] next_i,
    output      logic                  depart_new_o,
    output      logic                  depart_repeat_o,
    output      logic                  hold_o,
    // nack_walker
    input  wire logic                  cand_valid_i,
    input  wire logic           [31:0] cand_seq_i,
    output      logic                  cand_ready_o,
    // slot_table
    output      logic         [Sw-1:0] slot_addr_o,
    input  wire send_pkg::slot_t       slot_data_i,
    output      logic                  dep_we_o,
    output      logic         [Sw-1:0] dep_waddr_o,
    output      logic           [31:0] dep_wdata_o,
    // pacer
    input  wire logic                  pacer_ok_i,
    output      logic                  charge_o,
    output      logic           [15:0] charge_bytes_o,
    // control packets of the sender
    input  wire logic                  ctl_want_i,       // until granted
    output      logic                  ctl_grant_o,      // pulse
    output      logic           [31:0] ctl_departure_o,  // from the next cycle on
    input  wire logic                  ctl_done_i,       // pulse: no packet comes for the place
    // tx_mux
    input  wire logic                  ctl_busy_i,   // control frames of before have not left
    input  wire logic                  ctl_shown_i,  // the control frame is built
    output      logic                  ctl_hold_o,   // and does not leave yet
    // frame_tx
    output      logic                  job_valid_o,
    input  wire logic                  job_ready_i,
    output      send_pkg::job_t        job_o,
    input  wire logic                  fetch_busy_i,  // the job taken last is still read
    output      logic           [31:0] last_departure_o,
    output      logic                  ev_budget_o
);

  // A bucket of Slots / 4 packets, and never fewer than 32.
  localparam int unsigned LevelWidth = (Sw > 7) ? Sw - 1 : 6;
  localparam logic [LevelWidth-1:0] LevelMin = LevelWidth'(32);
  // Time in units of 2^34 ns (17 s), a quarter of the wrap of departures. Its bits tell any silence
  // apart, since what is stale stays so; the clock may step by 17 minutes within two cycles.
  localparam int unsigned AgeLow = 34;
  localparam int unsigned AgeWidth = 6;
  // From the place of a control packet to its departure, in units of 16 ns: the 170 cycles that
  // ctl_cpu builds one in, of a clock of 133 MHz. A faster one has the packet wait for its time.
  localparam logic [31:0] CtlLead = 32'd80;
  // The budget counts time in units of 256 ns, up to 34 s.
  localparam int unsigned SpanWidth = 27;
  // Header, pad to the frame's beat, trailer: docs/protocol.md#2.2.
  localparam logic [15:0] FrameBytes =
      16'(wire_pkg::OffBody + wire_pkg::CrcBytes + wire_pkg::FrameOverhead);

  if (Slots != (1 << Sw) || Slots < 2) begin : g_slots
    $error("Slots must be a power of two");
  end
  if (SlotBeats < 2) begin : g_beats
    $error("a slot holds at least 2 beats");
  end

  logic job_valid_q, is_repeat_q, is_first_q;
  logic [1:0] pause_q;
  logic [31:0] seq_q;
  logic [Sw-1:0] read_slot_q;  // of the job that was taken last

  // docs/protocol.md#2.6. Stamps are of the cycle before, of which is known whether the clock had
  // passed the last one; nothing is stamped 2 cycles after a stamp.
  logic may_stamp_q;
  logic [31:0] now, now_q, last_q;
  logic [AgeWidth-1:0] epoch, epoch_q, last_epoch_q, age;  // epoch_q is that of now_q
  logic is_stale_q, is_aged, is_risen_q;
  logic [31:0] lead;
  assign now   = time_ns_i[35:4];
  assign epoch = time_ns_i[AgeLow+:AgeWidth];
  assign age   = epoch - last_epoch_q;
  // Two epochs apart are more than a quarter of the wrap: the stamp cannot be ahead of the clock.
  // One epoch apart are less than half of the wrap, and the comparison holds.
  // That they are is known a cycle late, so nothing is stamped in the cycle in which it shows.
  assign lead  = last_q - now;
  assign is_aged = |age[AgeWidth-1:1];

  // The place of a control packet. DATA is chosen before it only where the clock gives the stamp.
  logic ctl_q, is_done_q, is_reached_q, is_built, leave;
  logic [31:0] ctl_stamp_q, ctl_lead;
  logic [AgeWidth-1:0] ctl_epoch_q, ctl_age;
  // Its stamp is even: the clock has come to it where the odd number is beyond.
  assign ctl_lead = ctl_stamp_q - {now[31:1], 1'b1};
  assign ctl_age  = epoch - ctl_epoch_q;
  assign is_built = ctl_shown_i || is_done_q;

  // docs/protocol.md#4.7, the budget.
  logic [LevelWidth-1:0] level_q, capacity_q;
  logic [SpanWidth-1:0] span, filled_q, elapsed;
  logic has_budget_q, is_full_q, is_over_q, was_stalled_q, is_stalled;
  assign span    = time_ns_i[8+:SpanWidth];
  assign elapsed = span - filled_q;

  logic is_flowing, is_free, may_data, is_repeat, take_repeat, take_new, choose, grant;
  logic [31:0] seq;
  assign is_flowing = state_i == wire_pkg::StateFlowing || state_i == wire_pkg::StateClosing;
  assign is_free = may_stamp_q && (!job_valid_q || job_ready_i);
  assign leave = is_reached_q && is_built && is_free;
  assign may_data = is_flowing && pacer_ok_i && is_free && !flush_i &&
      (!ctl_q || (is_reached_q ? is_built : is_risen_q));
  assign is_repeat = cand_valid_i && has_budget_q;
  assign take_repeat = may_data && is_repeat;
  assign take_new = may_data && has_new_i && !is_repeat;
  assign choose = take_repeat || take_new;
  assign seq = is_repeat ? cand_seq_i : sent_i;
  assign grant = ctl_want_i && !ctl_q && !ctl_busy_i && may_stamp_q;
  assign is_stalled = cand_valid_i && !has_budget_q;

  always_ff @(posedge clk_i) begin
    if (choose) begin
      seq_q       <= seq;
      is_repeat_q <= take_repeat;
    end
    now_q   <= now;
    epoch_q <= epoch;
    // A control packet that leaves now has an even stamp, at most that of the clock.
    if (choose || leave) begin
      last_q       <= is_risen_q ? {now_q[31:1], now_q[0] || leave} : last_q + 1'b1;
      last_epoch_q <= epoch_q;
    end
    is_stale_q  <= !(choose || leave) && (is_stale_q || is_aged);
    may_stamp_q <= !(choose || leave || grant) && !pause_q[1] && (is_stale_q || !is_aged);
    is_risen_q  <= lead[31] || is_stale_q;

    if (grant) begin
      ctl_stamp_q <= {(is_risen_q ? now_q[31:1] : last_q[31:1]) + CtlLead[31:1], 1'b0};
      ctl_epoch_q <= epoch_q;
    end
    is_reached_q <= ctl_q && !leave && (is_reached_q || ctl_lead[31] || |ctl_age[AgeWidth-1:1]);
    is_done_q    <= ctl_done_i || (is_done_q && !grant);
    ctl_q        <= grant || (ctl_q && !leave);
    if (job_valid_q && job_ready_i) read_slot_q <= seq_q[Sw-1:0];

    // A window above what the ring holds needs no more than the ring holds.
    if (window_i[31:LevelWidth+2] != '0) capacity_q <= '1;
    else capacity_q <= (window_i[LevelWidth+1:2] > LevelMin) ? window_i[LevelWidth+1:2] : LevelMin;
    is_full_q  <= level_q == capacity_q;
    is_over_q  <= elapsed > rtt_i[4+:SpanWidth];
    if (is_full_q) filled_q <= span;
    has_budget_q <= |level_q;
    if (take_repeat) begin
      level_q <= level_q - 1'b1;
    end else if (is_over_q || flush_i) begin
      level_q   <= capacity_q;
      filled_q  <= span;
      is_over_q <= 1'b0;
    end

    is_first_q    <= choose;
    was_stalled_q <= is_stalled;
    if (choose || leave) pause_q <= 2'd2;
    else if (|pause_q) pause_q <= pause_q - 1'b1;
    job_valid_q <= !flush_i && (choose || (job_valid_q && !job_ready_i));
    if (rst_i) begin
      job_valid_q  <= 1'b0;
      is_first_q   <= 1'b0;
      ctl_q        <= 1'b0;
      pause_q      <= 2'd3;
      is_stale_q   <= 1'b1;
      may_stamp_q  <= 1'b0;
      level_q      <= '0;
      has_budget_q <= 1'b0;
      is_full_q    <= 1'b0;
    end
  end

  assign depart_new_o    = take_new;
  assign depart_repeat_o = take_repeat;
  assign cand_ready_o    = take_repeat;
  assign ev_budget_o     = is_stalled && !was_stalled_q;

  // Also without a choice: while no job is offered, the address is not used.
  assign slot_addr_o = job_valid_q && !job_ready_i ? seq_q[Sw-1:0] : seq[Sw-1:0];
  assign dep_we_o    = is_first_q;
  assign dep_waddr_o = seq_q[Sw-1:0];
  assign dep_wdata_o = last_q;

  assign charge_o       = is_first_q;
  assign charge_bytes_o = slot_data_i.len_bytes + FrameBytes;

  assign ctl_grant_o      = grant;
  assign ctl_departure_o  = ctl_stamp_q;
  assign ctl_hold_o       = ctl_q;
  assign last_departure_o = last_q;

  assign hold_o = (job_valid_q && seq_q[Sw-1:0] == next_i[Sw-1:0]) ||
      (fetch_busy_i && read_slot_q == next_i[Sw-1:0]);

  // Nothing else is stamped while a job waits, so its departure is the last one.
  always_comb begin
    job_o.desc.addr      = 32'(seq_q[Sw-1:0]) * SlotBeats;
    job_o.desc.len_bytes = slot_data_i.len_bytes;
    job_o.desc.flags     = slot_data_i.flags | (is_repeat_q ? wire_pkg::FlagRetransmission : 8'h00);
    job_o.desc.tag       = stream_tag_i;
    job_o.index          = slot_data_i.index;
    job_o.seq            = seq_q;
    job_o.departure      = last_q;
    job_o.crc            = slot_data_i.crc;
    job_o.shift          = slot_data_i.shift;
    job_o.sum            = slot_data_i.sum;
  end
  assign job_valid_o = job_valid_q;

`ifdef FORMAL
  `include "tx_sched_props.svh"
`endif

endmodule

`default_nettype wire
