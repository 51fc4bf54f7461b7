// The registers of the sender, as rtl/regs/common.toml and tx.toml name them, with its counters
// behind them: one block behind axil_decode, whose ports it answers.
//
// A write acts in its second cycle, a read is done in its second. A write of less than a whole word,
// an address that is none, and a read of what is not readable are errors and do nothing. Reads wait
// while a snapshot is being made, at most 2 * (NumEvents + 4) + 2 cycles, so that a snapshot may be
// read right after it was requested; each 64-bit value of it is of one cycle.
//
// Refused writes are errors, change nothing and pulse ev_refused_o. They are those that would
// falsify packets: `payload` that is not whole beats and whole samples from two beats to SlotBytes,
// and `payload` or another `source` while a stream is open. Of the parameters of congestion control
// (from `rate_control` on) all writes while a stream is open are refused, and those that rate_check
// refuses.
//
// rst_i clears the register `control`; all others keep what was written, and counters what they
// counted, from the configuration of the device on. Before the first reset nothing is written or
// counted. What is written is read back from a memory beside the registers, except `control`. Fields
// that tx.toml calls memory stand in it alone: key_data_o is the register at key_addr_i, one of the
// first 32 of the control half, in the same cycle.
//
// Events are counted a cycle late, all of them.
//
// tpl_data_o is one cycle after tpl_addr_i. No clock crossing.
`default_nettype none

module csr #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 256,
    parameter int unsigned SlotBytes = 1408,
    parameter int unsigned NackDepth = 64,
    parameter int unsigned Channels  = 1,
    parameter int unsigned SampleBytes = 4 * Channels  // of all channels
) (
    input wire clk_i,
    input wire rst_i,

    input  wire         wr_valid_i,
    input  wire  [10:0] wr_addr_i,
    input  wire  [31:0] wr_data_i,
    input  wire         wr_whole_i,
    output logic        wr_done_o,
    output logic        wr_error_o,
    input  wire         rd_valid_i,
    input  wire  [10:0] rd_addr_i,
    output logic        rd_done_o,
    output logic        rd_error_o,
    output logic [31:0] rd_data_o,

    input  wire  [ 4:0] key_addr_i,
    output logic [31:0] key_data_o,

    output sw_regs_pkg::cfg_t    cfg_o,
    output sw_regs_pkg::cmd_t    cmd_o,
    output logic                 ev_refused_o,
    input  sw_regs_pkg::status_t status_i,
    input  sw_regs_pkg::event_t  event_i,
    input  wire [31:0]           samples_lost_i,  // to be added in this cycle
    input  wire [63:0]           time_ns_i,
    input  wire [63:0]           sync_index_i,
    input  wire [63:0]           sync_time_i,

    input  wire  [ 5:0] tpl_addr_i,
    output logic [63:0] tpl_data_o
);

  if (W > 65535 || SlotBytes > 65535 || NackDepth > 65535 || Channels > 255) begin : g_bad_word
    $error("csr: a parameter does not fit its register");
  end

  localparam int unsigned BeatBytes = W / 8;
  localparam int unsigned PayloadStep = BeatBytes > SampleBytes ? BeatBytes : SampleBytes;

  if (SlotBytes / PayloadStep < 2) begin : g_bad_slot
    $error("csr: a slot holds two beats and two samples at least");
  end

  // The payload before any write: that of tx.toml where a slot holds it.
  localparam int unsigned ResetBytes =
      32'(sw_regs_pkg::ResetPayloadBytes) < SlotBytes ?
      32'(sw_regs_pkg::ResetPayloadBytes) : SlotBytes;
  localparam logic [15:0] PayloadReset = 16'(ResetBytes / PayloadStep * PayloadStep);

  // Parts of the address space. The word within the control half is addr[7:2]: its first 32 have
  // bit 5 set, the parameters of congestion control behind them have not.
  function automatic logic is_status(input logic [10:0] addr);
    is_status = addr[10:7] == 4'b0000;
  endfunction

  function automatic logic is_control(input logic [10:0] addr);
    is_control = addr[10:9] == 2'b00 && (addr[8] ^ addr[7]);
  endfunction

  function automatic logic is_counters(input logic [10:0] addr);
    is_counters = addr[10:9] == sw_regs_pkg::WindowCounters[10:9];
  endfunction

  function automatic logic is_template(input logic [10:0] addr);
    is_template = addr[10:9] == sw_regs_pkg::WindowTemplate[10:9];
  endfunction

  // Writes.
  logic       write_control;
  logic       write_template;
  logic [5:0] write_word;

  // Until the first reset other registers may have any value: nothing is written or counted.
  // always_ff allows no other process, not even `initial`.
  logic was_reset_q;

  initial was_reset_q = 1'b0;

  always @(posedge clk_i) if (rst_i) was_reset_q <= 1'b1;

  // A write stands until it is done: it is judged a cycle before.
  logic write_q, to_control_q, to_template_q, refused_q;

  assign write_word = wr_addr_i[7:2];

  sw_regs_pkg::cfg_t cfg_q, written;

  // What the write in view makes of the configuration.
  assign written = sw_regs_pkg::cfg_write(cfg_q, write_word, wr_data_i);

  // The packetizer uses payload and source in every cycle of a stream.
  logic stream_open, bad_payload, is_rate, refused;

  assign stream_open = status_i.state != wire_pkg::StateIdle &&
      status_i.state != wire_pkg::StateEnded;
  assign bad_payload = wr_data_i > SlotBytes || wr_data_i < 2 * BeatBytes ||
      wr_data_i % BeatBytes != 0 || wr_data_i % SampleBytes != 0;

  logic is_contradictory;

  rate_check u_rate_check (
      .word_i      (write_word),
      .data_i      (wr_data_i),
      .minimum_i   (cfg_q.rate_minimum),
      .start_i     (cfg_q.rate_start),
      .first_cut_i (cfg_q.rate_first_cut),
      .line_i      (cfg_q.rate_line),
      .is_refused_o(is_contradictory)
  );

  assign is_rate = !write_word[5];

  always_comb begin
    refused = stream_open && written.source != cfg_q.source;
    if (write_word == sw_regs_pkg::OffPayload[7:2]) refused = stream_open || bad_payload;
    if (is_rate) refused = stream_open || is_contradictory;
  end

  initial write_q = 1'b0;

  always @(posedge clk_i) write_q <= wr_valid_i && !write_q && !rst_i && was_reset_q;

  always_ff @(posedge clk_i) begin
    to_control_q <= wr_whole_i && is_control(wr_addr_i)
                    && sw_regs_pkg::ControlWritable[write_word];
    to_template_q <= wr_whole_i && is_template(wr_addr_i);
    refused_q <= refused;
  end

  // In a reset the bus may let go of it.
  logic write;
  assign write = write_q && !rst_i;
  assign write_control = write && to_control_q && !refused_q;
  assign write_template = write && to_template_q;
  assign ev_refused_o = write && to_control_q && refused_q;

  assign wr_done_o  = write_q;
  assign wr_error_o = !write_control && !write_template;

  sw_regs_pkg::cmd_t cmd_q;

  // Values from power-up on: always_ff allows no other process, not even `initial`.
  initial begin
    cfg_q = sw_regs_pkg::cfg_reset(W == 512);
    cfg_q.payload_bytes = PayloadReset;
    cmd_q = '0;
  end

  always @(posedge clk_i) begin
    if (write_control) cfg_q <= written;
    if (rst_i) begin
      cfg_q.enable   <= 1'b0;
      cfg_q.loopback <= 2'd0;
      cfg_q.source   <= 2'd0;
    end
  end

  always @(posedge clk_i) begin
    cmd_q <= '0;
    if (write_control && write_word == sw_regs_pkg::OffCommand[7:2]) begin
      cmd_q <= sw_regs_pkg::commands(wr_data_i);
    end
    if (rst_i) cmd_q <= '0;
  end

  assign cfg_o = cfg_q;
  assign cmd_o = cmd_q;

  // What is read back, and what is read by the word.
  (* ram_style = "distributed" *) logic [31:0] control_mem[64];

  initial begin
    for (int unsigned i = 0; i < 64; i++) begin
      control_mem[i] = sw_regs_pkg::control_reset(6'(i), W == 512);
    end
    control_mem[sw_regs_pkg::OffPayload[7:2]] = {16'd0, PayloadReset};
  end

  always @(posedge clk_i) begin
    if (write_control) control_mem[write_word] <= wr_data_i;
  end

  assign key_data_o = control_mem[{1'b1, key_addr_i}];

  // The body of ACCEPT. The driver writes it while no stream opens (docs/registers.md).
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [31:0] template_lo_mem[64];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [31:0] template_hi_mem[64];

  always_ff @(posedge clk_i) begin
    if (write_template && !wr_addr_i[2]) template_lo_mem[wr_addr_i[8:3]] <= wr_data_i;
    tpl_data_o[31:0] <= template_lo_mem[tpl_addr_i];
  end

  always_ff @(posedge clk_i) begin
    if (write_template && wr_addr_i[2]) template_hi_mem[wr_addr_i[8:3]] <= wr_data_i;
    tpl_data_o[63:32] <= template_hi_mem[tpl_addr_i];
  end

  // Reads: a register first, then what the snapshot has at the address instead.
  logic        read;
  logic        answers_q;
  logic        snapshot_busy;
  logic [63:0] snapshot;
  logic        readable;

  assign read = rd_valid_i && !answers_q && !snapshot_busy && !cmd_q.snapshot;
  assign rd_done_o = answers_q;

  always_comb begin
    readable = is_counters(rd_addr_i);
    if (is_status(rd_addr_i)) readable = sw_regs_pkg::StatusReadable[rd_addr_i[6:2]];
    else if (is_control(rd_addr_i)) readable = sw_regs_pkg::ControlReadable[rd_addr_i[7:2]];
  end

  // A function, for the simulator to leave out where nothing is read.
  function automatic logic [31:0] data_at(input logic [10:0] addr);
    data_at = '0;
    if (is_status(addr)) begin
      data_at = sw_regs_pkg::status_word(addr[6:2], status_i, 16'(W), 16'(SlotBytes), Slots,
                                         16'(NackDepth), 8'(Channels));
    end else if (is_control(addr)) begin
      data_at = control_mem[addr[7:2]];
      if (addr[7:2] == sw_regs_pkg::OffControl[7:2]) data_at = sw_regs_pkg::control_word(cfg_q);
    end
  endfunction

  always_ff @(posedge clk_i) begin
    answers_q <= read && !rst_i;
    if (read) begin
      rd_data_o  <= readable ? data_at(rd_addr_i) : 32'd0;
      rd_error_o <= !readable;
    end
    if (answers_q && is_counters(rd_addr_i)) begin
      rd_data_o <= rd_addr_i[2] ? snapshot[63:32] : snapshot[31:0];
    end
  end

  // The counters lie far from where events come from: events arrive a cycle late. In reset there
  // are none.
  sw_regs_pkg::event_t events_q;
  logic [31:0] samples_lost_q;

  initial begin
    events_q = '0;
    samples_lost_q = '0;
  end

  always @(posedge clk_i) begin
    events_q       <= rst_i || !was_reset_q ? '0 : event_i;
    samples_lost_q <= rst_i || !was_reset_q ? '0 : samples_lost_i;
  end

  counters #(
      .Events(sw_regs_pkg::NumEvents)
  ) u_counters (
      .clk_i       (clk_i),
      .event_i     (events_q),
      .add_i       (samples_lost_q),
      .time_ns_i   (time_ns_i),
      .sync_index_i(sync_index_i),
      .sync_time_i (sync_time_i),
      .snapshot_i  (cmd_q.snapshot),
      .busy_o      (snapshot_busy),
      .rd_addr_i   (rd_addr_i[8:3]),
      .rd_data_o   (snapshot)
  );

`ifdef FORMAL
  `include "csr_props.svh"
`endif

endmodule

`default_nettype wire
