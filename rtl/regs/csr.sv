// Registers over AXI4-Lite, as rtl/regs/registers.toml names them, with the counters behind them.
//
// A write is taken a cycle after its address and its data are both there, in either order, and
// answered one cycle later; a read is answered three cycles later. One of each is under way at a
// time. A write of less than a whole word, an address that is none, and a read of what is not readable answer
// SLVERR and do nothing. Reads wait while a snapshot is being made, at most 2 * 48 + 2 cycles, so
// that a snapshot may be read right after it was requested; each 64-bit value of it is of one
// cycle.
//
// rst_i clears the register `control`; all others keep what was written, and counters what they
// counted, from the configuration of the device on. What is written is read back from a memory
// beside the registers, except `control`. Fields that registers.toml calls memory stand in it
// alone: key_data_o is the register at key_addr_i, a word of the control half, in the same cycle.
//
// Events are counted a cycle late, all of them.
//
// tpl_data_o is one cycle after tpl_addr_i. Clock crossings: none; the bus runs on the core clock.
`default_nettype none

module csr #(
    parameter int unsigned W         = 64,
    parameter int unsigned Slots     = 256,
    parameter int unsigned SlotBytes = 1408,
    parameter int unsigned NackDepth = 64,
    parameter int unsigned Channels  = 1
) (
    input wire clk_i,
    input wire rst_i,

    input  wire  [10:0] s_axil_awaddr,
    input  wire  [ 2:0] s_axil_awprot,
    input  wire         s_axil_awvalid,
    output logic        s_axil_awready,
    input  wire  [31:0] s_axil_wdata,
    input  wire  [ 3:0] s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  wire         s_axil_bready,
    input  wire  [10:0] s_axil_araddr,
    input  wire  [ 2:0] s_axil_arprot,
    input  wire         s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  wire         s_axil_rready,

    input  wire  [ 4:0] key_addr_i,
    output logic [31:0] key_data_o,

    output sw_regs_pkg::cfg_t    cfg_o,
    output sw_regs_pkg::cmd_t    cmd_o,
    input  sw_regs_pkg::status_t status_i,
    input  sw_regs_pkg::event_t  event_i,
    input  wire [31:0]           samples_lost_i,  // to be added in this cycle
    input  wire [63:0]           time_ns_i,
    input  wire [63:0]           sync_index_i,
    input  wire [63:0]           sync_time_i,

    input  wire  [ 5:0] tpl_addr_i,
    output logic [63:0] tpl_data_o
);

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;

  if (W > 65535 || SlotBytes > 65535 || NackDepth > 65535 || Channels > 255) begin : g_bad_word
    $error("csr: a parameter does not fit its register");
  end

  // Parts of the address space, and the word within one.
  function automatic logic is_status(input logic [10:0] addr);
    is_status = addr[10:6] == 5'b00000;
  endfunction

  function automatic logic is_control(input logic [10:0] addr);
    is_control = addr[10:7] == 4'b0001;
  endfunction

  function automatic logic is_counters(input logic [10:0] addr);
    is_counters = addr[10:9] == sw_regs_pkg::WindowCounters[10:9];
  endfunction

  function automatic logic is_template(input logic [10:0] addr);
    is_template = addr[10:9] == sw_regs_pkg::WindowTemplate[10:9];
  endfunction

  // Writes.
  logic       write;
  logic       write_control;
  logic       write_template;
  logic [4:0] write_word;

  // What the bus shows stands still until it is taken: it is judged before.
  logic write_q, to_control_q, to_template_q;

  assign write_word = s_axil_awaddr[6:2];

  always_ff @(posedge clk_i) begin
    write_q <= s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid && !write_q && !rst_i;
    to_control_q <= (&s_axil_wstrb) && is_control(s_axil_awaddr)
                    && sw_regs_pkg::ControlWritable[write_word];
    to_template_q <= (&s_axil_wstrb) && is_template(s_axil_awaddr);
  end

  assign write = write_q;
  assign write_control = write_q && to_control_q;
  assign write_template = write_q && to_template_q;

  assign s_axil_awready = write;
  assign s_axil_wready  = write;

  always_ff @(posedge clk_i) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (write) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp  <= (write_control || write_template) ? RespOkay : RespSlverr;
    end
    if (rst_i) s_axil_bvalid <= 1'b0;
  end

  sw_regs_pkg::cfg_t cfg_q;
  sw_regs_pkg::cmd_t cmd_q;

  // Values from power-up on: always_ff allows no other process, not even `initial`.
  initial cfg_q = sw_regs_pkg::CfgReset;
  initial cmd_q = '0;

  always @(posedge clk_i) begin
    if (write_control) cfg_q <= sw_regs_pkg::cfg_write(cfg_q, write_word, s_axil_wdata);
    if (rst_i) begin
      cfg_q.enable   <= 1'b0;
      cfg_q.loopback <= 2'd0;
      cfg_q.source   <= 2'd0;
    end
  end

  always @(posedge clk_i) begin
    cmd_q <= '0;
    if (write_control && write_word == sw_regs_pkg::OffCommand[6:2]) begin
      cmd_q <= sw_regs_pkg::commands(s_axil_wdata);
    end
    if (rst_i) cmd_q <= '0;
  end

  assign cfg_o = cfg_q;
  assign cmd_o = cmd_q;

  // What is read back, and what is read by the word.
  (* ram_style = "distributed" *) logic [31:0] control_mem[32];

  initial begin
    for (int unsigned n = 0; n < 32; n++) control_mem[n] = sw_regs_pkg::control_reset(5'(n));
  end

  always @(posedge clk_i) begin
    if (write_control) control_mem[write_word] <= s_axil_wdata;
  end

  assign key_data_o = control_mem[key_addr_i];

  // The body of ACCEPT. The driver writes it while no stream opens (docs/registers.md).
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [31:0] template_lo_mem[64];
  (* ram_style = "block", no_rw_check, rw_addr_collision = "no" *) logic [31:0] template_hi_mem[64];

  always_ff @(posedge clk_i) begin
    if (write_template && !s_axil_awaddr[2]) template_lo_mem[s_axil_awaddr[8:3]] <= s_axil_wdata;
    tpl_data_o[31:0] <= template_lo_mem[tpl_addr_i];
  end

  always_ff @(posedge clk_i) begin
    if (write_template && s_axil_awaddr[2]) template_hi_mem[s_axil_awaddr[8:3]] <= s_axil_wdata;
    tpl_data_o[63:32] <= template_hi_mem[tpl_addr_i];
  end

  // Reads: a register first, then what the snapshot has at the address instead.
  logic        read;
  logic        reading_q;
  logic        answers_q;
  logic [10:0] addr_q;
  logic        snapshot_busy;
  logic [63:0] snapshot;
  logic        readable;

  assign s_axil_arready = !reading_q && !answers_q && !s_axil_rvalid && !snapshot_busy
                          && !cmd_q.snapshot;
  assign read = s_axil_arvalid && s_axil_arready;

  always_comb begin
    readable = is_counters(addr_q);
    if (is_status(addr_q)) readable = sw_regs_pkg::StatusReadable[addr_q[5:2]];
    else if (is_control(addr_q)) readable = sw_regs_pkg::ControlReadable[addr_q[6:2]];
  end

  // A function, for the simulator to leave out where nothing is read.
  function automatic logic [31:0] data_at(input logic [10:0] addr);
    data_at = '0;
    if (is_status(addr)) begin
      data_at = sw_regs_pkg::status_word(addr[5:2], status_i, 16'(W), 16'(SlotBytes), Slots,
                                         16'(NackDepth), 8'(Channels));
    end else if (is_control(addr)) begin
      data_at = control_mem[addr[6:2]];
      if (addr[6:2] == sw_regs_pkg::OffControl[6:2]) data_at = sw_regs_pkg::control_word(cfg_q);
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (read) addr_q <= s_axil_araddr;
    reading_q <= read;
    answers_q <= reading_q;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (reading_q) begin
      s_axil_rdata <= readable ? data_at(addr_q) : 32'd0;
      s_axil_rresp <= readable ? RespOkay : RespSlverr;
    end
    if (answers_q) begin
      s_axil_rvalid <= 1'b1;
      if (is_counters(addr_q)) s_axil_rdata <= addr_q[2] ? snapshot[63:32] : snapshot[31:0];
    end
    if (rst_i) begin
      reading_q     <= 1'b0;
      answers_q     <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end

  // The counters lie far from where events come from: events arrive a cycle late. In reset there
  // are none: registers that are not reset yet would be counted.
  sw_regs_pkg::event_t events_q;
  logic [31:0] samples_lost_q;

  initial begin
    events_q = '0;
    samples_lost_q = '0;
  end

  always @(posedge clk_i) begin
    events_q       <= rst_i ? '0 : event_i;
    samples_lost_q <= rst_i ? '0 : samples_lost_i;
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
      .rd_addr_i   (addr_q[8:3]),
      .rd_data_o   (snapshot)
  );

endmodule

`default_nettype wire
