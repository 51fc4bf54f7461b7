// The registers of a sender of RoCEv2, as rtl/regs/common.toml, congestion.toml and roce.toml name
// them, with its counters behind them: one block behind axil_decode, whose ports it answers. Words,
// answers, resets and the read-back from a memory are as in csr.
//
// Refused writes are errors, change nothing and pulse ev_refused_o. While `run` is 1 they are all
// but those of `command`, `control`, the pace, `event_index` and `local_rights`; and always a `message`
// that is not whole beats from one to MemoryBytes / Qps, `region_slots` 0, `select` from Qps on, a right
// of such a queue pair, what rate_check refuses, and without Full what the receiving half alone has. Other numbers that are out of
// range begin no connection (roce_requester). Of several queue pairs each has its `run` (run_o). While
// hold_i is high, writes wait.
//
// A write acts in its second cycle, a read is done in its second; reads wait for a snapshot under
// way. key_data_o is the register at key_addr_i, one of the first 32 of the control half, in the
// same cycle. Events are counted a cycle late. No clock crossing.
`default_nettype none

module roce_csr #(
    parameter int unsigned Slots       = 128,
    parameter int unsigned Queue       = 16,
    parameter int unsigned MemoryBytes = 65536,
    parameter bit          Full        = 1'b0,
    parameter int unsigned Qps         = 1
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

    input  wire                    hold_i,
    output logic [Qps-1:0]         run_o,
    output roce_regs_pkg::cfg_t    cfg_o,
    output roce_regs_pkg::cmd_t    cmd_o,
    output logic                   ev_refused_o,
    input  roce_regs_pkg::status_t status_i,
    input  roce_regs_pkg::event_t  event_i,
    input  wire [63:0]             time_ns_i
);

  if (Queue > 255) begin : g_bad_word
    $error("roce_csr: a parameter does not fit its register");
  end

  // The word within the control half is addr[7:2]: its first 32 have bit 5 set.
  function automatic logic is_status(input logic [10:0] addr);
    is_status = addr[10:7] == 4'b0000;
  endfunction

  function automatic logic is_control(input logic [10:0] addr);
    is_control = addr[10:9] == 2'b00 && (addr[8] ^ addr[7]);
  endfunction

  function automatic logic is_counters(input logic [10:0] addr);
    is_counters = addr[10:9] == roce_regs_pkg::WindowCounters[10:9];
  endfunction

  // Writes: judged a cycle before they act.
  logic write_q, to_control_q, refused_q, write, write_control, is_contradictory, is_free, refused;
  logic [5:0] word;
  logic is_of_one, any_run;  // of the selected queue pair
  roce_regs_pkg::cfg_t cfg_q;

  assign word = wr_addr_i[7:2];

  rate_check u_rate_check (
      .word_i      (word),
      .data_i      (wr_data_i),
      .minimum_i   (cfg_q.rate_minimum),
      .start_i     (cfg_q.rate_start),
      .first_cut_i (cfg_q.rate_first_cut),
      .line_i      (cfg_q.rate_line),
      .is_refused_o(is_contradictory)
  );

  always_comb begin
    is_free   = 1'b0;  // may be written while the connection runs
    is_of_one = 1'b0;
    refused   = 1'b0;
    unique case (word)
      roce_regs_pkg::OffCommand[7:2], roce_regs_pkg::OffControl[7:2],
      roce_regs_pkg::OffPaceRate[7:2], roce_regs_pkg::OffPaceBurst[7:2],
      roce_regs_pkg::OffEventIndex[7:2]:
      is_free = 1'b1;
      roce_regs_pkg::OffLocalRights[7:2]: begin
        is_free = 1'b1;
        refused = !Full || |(wr_data_i[15:0] >> Qps);
      end
      roce_regs_pkg::OffReceive[7:2], roce_regs_pkg::OffLocalKey[7:2],
      roce_regs_pkg::OffLocalRegionLo[7:2], roce_regs_pkg::OffLocalRegionHi[7:2],
      roce_regs_pkg::OffLocalBytesLo[7:2], roce_regs_pkg::OffLocalBytesHi[7:2],
      roce_regs_pkg::OffNotification[7:2]:
      refused = !Full;
      roce_regs_pkg::OffMessage[7:2]:
      refused = |wr_data_i[2:0] || ~|wr_data_i || wr_data_i > MemoryBytes / Qps;
      roce_regs_pkg::OffRegionSlots[7:2]: refused = ~|wr_data_i;
      roce_regs_pkg::OffQueuePair[7:2]: begin
        is_free = 1'b1;
        refused = {1'b0, wr_data_i[3:0]} >= 5'(Qps);
      end
      default: refused = !word[5] && is_contradictory;
    endcase
    unique case (word)
      roce_regs_pkg::OffPeerMacLo[7:2], roce_regs_pkg::OffPeerMacHi[7:2],
      roce_regs_pkg::OffPeerIp[7:2], roce_regs_pkg::OffRemoteQp[7:2],
      roce_regs_pkg::OffFirstPsn[7:2], roce_regs_pkg::OffRetry[7:2],
      roce_regs_pkg::OffWindow[7:2], roce_regs_pkg::OffRkey[7:2],
      roce_regs_pkg::OffRegionLo[7:2], roce_regs_pkg::OffRegionHi[7:2],
      roce_regs_pkg::OffMessage[7:2], roce_regs_pkg::OffRegionSlots[7:2],
      roce_regs_pkg::OffReceive[7:2], roce_regs_pkg::OffLocalKey[7:2],
      roce_regs_pkg::OffLocalRegionLo[7:2], roce_regs_pkg::OffLocalRegionHi[7:2],
      roce_regs_pkg::OffLocalBytesLo[7:2], roce_regs_pkg::OffLocalBytesHi[7:2],
      roce_regs_pkg::OffNotification[7:2]:
      is_of_one = 1'b1;
      default: ;
    endcase
    if ((is_of_one ? cfg_q.run : any_run) && !is_free) refused = 1'b1;
  end

  // Until the first reset other registers may have any value: nothing is written or counted.
  // always_ff allows no other process, not even `initial`.
  logic was_reset_q;

  initial was_reset_q = 1'b0;

  always @(posedge clk_i) if (rst_i) was_reset_q <= 1'b1;

  initial write_q = 1'b0;

  always @(posedge clk_i) begin
    write_q <= wr_valid_i && !write_q && !rst_i && was_reset_q && !hold_i;
  end

  always_ff @(posedge clk_i) begin
    to_control_q <= wr_whole_i && is_control(wr_addr_i) && roce_regs_pkg::ControlWritable[word];
    refused_q    <= refused;
  end

  // In a reset the bus may let go of it.
  assign write         = write_q && !rst_i;
  assign write_control = write && to_control_q && !refused_q;
  assign ev_refused_o  = write && to_control_q && refused_q;
  assign wr_done_o     = write_q;
  assign wr_error_o    = !write_control;

  roce_regs_pkg::cmd_t cmd_q;

  // Values from power-up on: always_ff allows no other process, not even `initial`.
  initial begin
    cfg_q = roce_regs_pkg::CfgReset;
    cmd_q = '0;
  end

  logic selects, selected_runs;

  always @(posedge clk_i) begin
    if (write_control) cfg_q <= roce_regs_pkg::cfg_write(cfg_q, word, wr_data_i);
    if (selects) cfg_q.run <= selected_runs;
    if (rst_i) begin
      cfg_q.run      <= 1'b0;
      cfg_q.loopback <= 2'd0;
    end
  end

  // cfg_q.run is that of the selected queue pair.
  if (Qps > 1) begin : g_runs
    localparam int unsigned QpWidth = $clog2(Qps);
    logic [Qps-1:0] runs_q;
    assign selects       = write_control && word == roce_regs_pkg::OffQueuePair[7:2];
    assign selected_runs = runs_q[wr_data_i[QpWidth-1:0]];
    assign run_o         = runs_q;
    assign any_run       = |runs_q;
    always @(posedge clk_i) begin
      if (write_control && word == roce_regs_pkg::OffControl[7:2])
        runs_q[cfg_q.select[QpWidth-1:0]] <= wr_data_i[0];
      if (rst_i) runs_q <= '0;
    end
    initial runs_q = '0;
  end else begin : g_run
    assign selects       = 1'b0;
    assign selected_runs = 1'b0;
    assign run_o         = cfg_q.run;
    assign any_run       = cfg_q.run;
  end

  always @(posedge clk_i) begin
    cmd_q <= '0;
    if (write_control && word == roce_regs_pkg::OffCommand[7:2]) begin
      cmd_q <= roce_regs_pkg::commands(wr_data_i);
    end
    if (rst_i) cmd_q <= '0;
  end

  assign cfg_o = cfg_q;
  assign cmd_o = cmd_q;

  // What is read back.
  (* ram_style = "distributed" *) logic [31:0] control_mem[64];

  initial begin
    for (int unsigned n = 0; n < 64; n++) begin
      control_mem[n] = roce_regs_pkg::control_reset(6'(n), 1'b0);
    end
  end

  always @(posedge clk_i) begin
    if (write_control) control_mem[word] <= wr_data_i;
  end

  assign key_data_o = control_mem[{1'b1, key_addr_i}];

  // Reads: a register first, then what the snapshot has at the address instead.
  logic read, answers_q, snapshot_busy, readable;
  logic [63:0] snapshot;

  assign read      = rd_valid_i && !answers_q && !snapshot_busy && !cmd_q.snapshot;
  assign rd_done_o = answers_q;

  always_comb begin
    readable = is_counters(rd_addr_i);
    if (is_status(rd_addr_i)) readable = roce_regs_pkg::StatusReadable[rd_addr_i[6:2]];
    else if (is_control(rd_addr_i)) readable = roce_regs_pkg::ControlReadable[rd_addr_i[7:2]];
  end

  logic [31:0] control_data, data;
  assign control_data = rd_addr_i[7:2] == roce_regs_pkg::OffControl[7:2]
      ? roce_regs_pkg::control_word(cfg_q) : control_mem[rd_addr_i[7:2]];
  assign data = is_control(rd_addr_i) ? control_data : roce_regs_pkg::status_word(
      rd_addr_i[6:2], status_i, 16'd64, Slots, 8'(Queue), MemoryBytes, Full, 8'(Qps));

  always_ff @(posedge clk_i) begin
    answers_q <= read && !rst_i;
    if (read) begin
      rd_data_o  <= readable ? data : 32'd0;
      rd_error_o <= !readable;
    end
    if (answers_q && is_counters(rd_addr_i)) begin
      rd_data_o <= rd_addr_i[2] ? snapshot[63:32] : snapshot[31:0];
    end
  end

  // The counters lie far from where events come from. In reset there are none.
  roce_regs_pkg::event_t events_q;

  initial events_q = '0;

  always @(posedge clk_i) events_q <= rst_i || !was_reset_q ? '0 : event_i;

  counters #(
      .Events(roce_regs_pkg::NumEvents)
  ) u_counters (
      .clk_i       (clk_i),
      .event_i     (events_q),
      .add_i       (32'd0),
      .time_ns_i   (time_ns_i),
      .sync_index_i(64'd0),
      .sync_time_i (64'd0),
      .snapshot_i  (cmd_q.snapshot),
      .busy_o      (snapshot_busy),
      .rd_addr_i   (rd_addr_i[8:3]),
      .rd_data_o   (snapshot)
  );

endmodule

`default_nettype wire
