// One core of nic_soc: VexRiscv Lite (RV32IM), its program memory, its registers and its buses.
//
// Address bits 31:28 choose: 0 program memory, 1 the NIC's registers, 2 packet memory, 3 AXI4-Lite
// (nic_soc_bus), 15 the registers below. Accesses to other addresses read 0 and change nothing; they
// count as errors, as do those that the NIC or the sender answers with an error.
//
// | word | register | |
// |--:|---|---|
// | 0 | core    | 7:0 this core, 15:8 cores |
// | 1, 2 | cycles | low and high word; a read of a low word keeps its high one for the next read of 2 or 11 |
// | 3 | sleep   | write 1: stops until irq_i, or until the time in `wake` |
// | 4 | wake    | write: low word of `time` from which on it has come, within 2^31 ns |
// | 5 | wake_on | write: bit 0: `wake` counts, and is the timer interrupt |
// | 6 | console | write: a byte out; read: bit 31 a byte has come, 7:0 it |
// | 7 | exit    | write: the program has ended with this code |
// | 8 | leds    | 7:0 |
// | 9 | errors  | 7:0 accesses with an error, wraps |
// | 10, 11 | time | time_ns_i, low and high word, as `cycles` |
// | 12 | crc     | register of the CRC-32C: reflected, not inverted |
// | 13 | crc_add | write: the register after a word's four bytes, lowest first, a half's two, or a byte |
//
// What has no value reads 0.
//
// Sleep: the acknowledge of the write is held back, and with it all later loads and stores. VexRiscv
// has no clock enable; its pipeline stands still at the next of them. asleep_o is high meanwhile.
//
// Cycles of a load in the stage that waits for it, with that of its address: program memory 2,
// registers here 1, those of the NIC 4, packet memory 3. Stores take one where nothing is in their
// way.
//
// run_i low holds the core in reset once a request that stands is taken (nic_soc_bus); what it has
// written leaves. load_i writes a word of the program then. rst_i resets all but the program. One
// clock.
`default_nettype none

module nic_soc_core #(
    parameter  int unsigned Core        = 0,  // its number
    parameter  int unsigned Cores       = 1,
    parameter  int unsigned MemoryBytes = 131072,
    parameter               ProgramFile = "",
    localparam int unsigned Aw          = $clog2(MemoryBytes) - 2
) (
    input wire logic clk_i,
    input wire logic rst_i,
    input wire logic run_i,

    input wire logic          load_i,
    input wire logic [Aw-1:0] load_word_i,
    input wire logic [  31:0] load_data_i,

    input  wire logic        irq_i,
    input  wire logic [63:0] cycles_i,
    input  wire logic [63:0] time_ns_i,
    output      logic        asleep_o,
    output      logic        exit_valid_o,
    output      logic [31:0] exit_code_o,
    output      logic [ 7:0] leds_o,

    output      logic       console_valid_o,
    input  wire logic       console_ready_i,
    output      logic [7:0] console_o,
    input  wire logic       console_valid_i,
    output      logic       console_ready_o,
    input  wire logic [7:0] console_i,

    output      logic                        afb_valid_o,
    input  wire logic                        afb_ready_i,
    output      nic_pkg::afb_request_t       afb_o,
    input  wire logic                        afb_valid_i,
    output      logic                        afb_ready_o,
    input  wire nic_pkg::register_response_t afb_i,

    output      logic                   acb_valid_o,
    input  wire logic                   acb_ready_i,
    output      nic_pkg::acb_request_t  acb_o,
    input  wire logic                   acb_valid_i,
    output      logic                   acb_ready_o,
    input  wire nic_pkg::acb_response_t acb_i,

    output      logic [27:0] m_axil_awaddr,
    output      logic [ 2:0] m_axil_awprot,
    output      logic        m_axil_awvalid,
    input  wire logic        m_axil_awready,
    output      logic [31:0] m_axil_wdata,
    output      logic [ 3:0] m_axil_wstrb,
    output      logic        m_axil_wvalid,
    input  wire logic        m_axil_wready,
    input  wire logic [ 1:0] m_axil_bresp,
    input  wire logic        m_axil_bvalid,
    output      logic        m_axil_bready,
    output      logic [27:0] m_axil_araddr,
    output      logic [ 2:0] m_axil_arprot,
    output      logic        m_axil_arvalid,
    input  wire logic        m_axil_arready,
    input  wire logic [31:0] m_axil_rdata,
    input  wire logic [ 1:0] m_axil_rresp,
    input  wire logic        m_axil_rvalid,
    output      logic        m_axil_rready
);

  // ------------------------------------------------------------------ the core

  logic core_rst_q, standing;
  logic fetch_shown, fetch_ack, shown, ack, write, timer;
  logic [29:0] fetch_word, word;
  logic [31:0] fetch_data, data, read_data;
  logic [3:0] mask;

  // From the configuration on: always_ff allows no other process, not even `initial`.
  initial core_rst_q = 1'b1;

  always @(posedge clk_i) core_rst_q <= rst_i || (!run_i && (core_rst_q || !standing));

  VexRiscv u_vexriscv (
      .clk                   (clk_i),
      .reset                 (core_rst_q),
      .externalResetVector   (32'd0),
      .timerInterrupt        (timer),
      .softwareInterrupt     (1'b0),
      .externalInterruptArray({31'd0, irq_i}),
      .iBusWishbone_CYC      (),
      .iBusWishbone_STB      (fetch_shown),
      .iBusWishbone_ACK      (fetch_ack),
      .iBusWishbone_WE       (),
      .iBusWishbone_ADR      (fetch_word),
      .iBusWishbone_DAT_MISO (fetch_data),
      .iBusWishbone_DAT_MOSI (),
      .iBusWishbone_SEL      (),
      .iBusWishbone_ERR      (1'b0),
      .iBusWishbone_CTI      (),
      .iBusWishbone_BTE      (),
      .dBusWishbone_CYC      (),
      .dBusWishbone_STB      (shown),
      .dBusWishbone_ACK      (ack),
      .dBusWishbone_WE       (write),
      .dBusWishbone_ADR      (word),
      .dBusWishbone_DAT_MISO (read_data),
      .dBusWishbone_DAT_MOSI (data),
      .dBusWishbone_SEL      (mask),
      .dBusWishbone_ERR      (1'b0),
      .dBusWishbone_CTI      (),
      .dBusWishbone_BTE      ()
  );

  // ------------------------------------------------------------------ program memory

  logic is_memory, is_own, is_bus, is_none, memory_ack;
  logic fetched_q, loaded_q;  // the word that is shown stands at the memory's output
  logic [Aw-1:0] fetch_next;
  logic [3:0] memory_write;
  logic [31:0] memory_data;

  assign is_memory = word[29:26] == 4'd0;
  assign is_own    = word[29:26] == 4'd15;
  assign is_bus    = word[29:28] == 2'd0 && !is_memory;
  assign is_none   = !is_memory && !is_own && !is_bus;

  // A line is fetched from its first word on: the next one is read ahead.
  assign fetch_ack  = fetch_shown && fetched_q;
  assign fetch_next = fetched_q ? {fetch_word[Aw-1:3], fetch_word[2:0] + 3'd1} : fetch_word[Aw-1:0];

  always_ff @(posedge clk_i) begin
    fetched_q <= fetch_shown && !(fetch_ack && &fetch_word[2:0]) && !core_rst_q;
    loaded_q  <= shown && is_memory && !write && !loaded_q && !core_rst_q;
  end

  assign memory_ack   = write || loaded_q;
  assign memory_write = load_i ? 4'hf : shown && is_memory && write && !core_rst_q ? mask : 4'h0;

  nic_soc_memory #(
      .Bytes      (MemoryBytes),
      .ProgramFile(ProgramFile)
  ) u_memory (
      .clk_i       (clk_i),
      .fetch_word_i(fetch_next),
      .fetch_data_o(fetch_data),
      .word_i      (load_i ? load_word_i : word[Aw-1:0]),
      .write_i     (memory_write),
      .data_i      (load_i ? load_data_i : data),
      .data_o      (memory_data)
  );

  // ------------------------------------------------------------------ the NIC and the sender

  logic bus_ack, err;
  logic [31:0] bus_data;

  nic_soc_bus u_bus (
      .clk_i         (clk_i),
      .rst_i         (rst_i),
      .forget_i      (core_rst_q),
      .valid_i       (shown && is_bus),
      .target_i      (word[27:26]),
      .write_i       (write),
      .address_i     ({word[25:0], 2'b00}),
      .mask_i        (mask),
      .data_i        (data),
      .ack_o         (bus_ack),
      .data_o        (bus_data),
      .standing_o    (standing),
      .ev_err_o      (err),
      .afb_valid_o   (afb_valid_o),
      .afb_ready_i   (afb_ready_i),
      .afb_o         (afb_o),
      .afb_valid_i   (afb_valid_i),
      .afb_ready_o   (afb_ready_o),
      .afb_i         (afb_i),
      .acb_valid_o   (acb_valid_o),
      .acb_ready_i   (acb_ready_i),
      .acb_o         (acb_o),
      .acb_valid_i   (acb_valid_i),
      .acb_ready_o   (acb_ready_o),
      .acb_i         (acb_i),
      .m_axil_awaddr (m_axil_awaddr),
      .m_axil_awprot (m_axil_awprot),
      .m_axil_awvalid(m_axil_awvalid),
      .m_axil_awready(m_axil_awready),
      .m_axil_wdata  (m_axil_wdata),
      .m_axil_wstrb  (m_axil_wstrb),
      .m_axil_wvalid (m_axil_wvalid),
      .m_axil_wready (m_axil_wready),
      .m_axil_bresp  (m_axil_bresp),
      .m_axil_bvalid (m_axil_bvalid),
      .m_axil_bready (m_axil_bready),
      .m_axil_araddr (m_axil_araddr),
      .m_axil_arprot (m_axil_arprot),
      .m_axil_arvalid(m_axil_arvalid),
      .m_axil_arready(m_axil_arready),
      .m_axil_rdata  (m_axil_rdata),
      .m_axil_rresp  (m_axil_rresp),
      .m_axil_rvalid (m_axil_rvalid),
      .m_axil_rready (m_axil_rready)
  );

  // ------------------------------------------------------------------ registers

  localparam logic [3:0] RegCore = 4'd0, RegCycles = 4'd1, RegCyclesHigh = 4'd2, RegSleep = 4'd3,
      RegWake = 4'd4, RegWakeOn = 4'd5, RegConsole = 4'd6, RegExit = 4'd7, RegLeds = 4'd8,
      RegErrors = 4'd9, RegTime = 4'd10, RegTimeHigh = 4'd11, RegCrc = 4'd12, RegCrcAdd = 4'd13;

  logic own, own_write, own_ack, due_q, wake_on_q, is_sleep;
  logic [3:0] index;
  logic [31:0] high_q, wake_q, own_data, past, crc_q, crc_stepped;
  logic [7:0] errors_q;

  assign index     = word[3:0];
  assign own       = shown && is_own && !core_rst_q;
  assign own_write = own && write;
  assign is_sleep  = own_write && index == RegSleep && data[0];
  assign past      = time_ns_i[31:0] - wake_q;
  assign timer     = due_q;
  assign asleep_o  = is_sleep && !irq_i && !due_q;

  assign console_valid_o = own_write && index == RegConsole;
  assign console_o       = data[7:0];
  assign console_ready_o = own && !write && index == RegConsole;
  assign exit_valid_o    = own_write && index == RegExit;
  assign exit_code_o     = data;
  assign own_ack         = !asleep_o && !(console_valid_o && !console_ready_i);

  // The bytes are the last of eight: zeros before them leave a register of 0 as it is. The core shows a
  // stored byte in each lane, and a half in both.
  logic is_half;
  logic [31:0] crc_rest;  // of the register, what meets no byte
  logic [63:0] crc_data;
  assign is_half = mask == 4'b0011 || mask == 4'b1100;
  always_comb begin
    crc_data = {crc_q[7:0] ^ data[7:0], 56'd0};
    crc_rest = crc_q >> 8;
    if (is_half) begin
      crc_data = {crc_q[15:0] ^ data[15:0], 48'd0};
      crc_rest = crc_q >> 16;
    end
    if (&mask) begin
      crc_data = {crc_q ^ data, 32'd0};
      crc_rest = '0;
    end
  end
  crc_step64 u_crc (
      .data_i(crc_data),
      .crc_o (crc_stepped)
  );

  always_comb begin
    unique case (index)
      RegCore:       own_data = {16'd0, 8'(Cores), 8'(Core)};
      RegCycles:     own_data = cycles_i[31:0];
      RegTime:       own_data = time_ns_i[31:0];
      RegCyclesHigh, RegTimeHigh: own_data = high_q;
      RegConsole:    own_data = {console_valid_i, 23'd0, console_i};
      RegLeds:       own_data = {24'd0, leds_o};
      RegErrors:     own_data = {24'd0, errors_q};
      RegCrc:        own_data = crc_q;
      default:       own_data = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    // The core shows an access in every second cycle at most: behind a write to `wake` or `wake_on` the
    // next one meets what they say.
    due_q <= wake_on_q && !past[31];
    if (own && !write && index == RegCycles) high_q <= cycles_i[63:32];
    if (own && !write && index == RegTime) high_q <= time_ns_i[63:32];
    if (own_write && index == RegCrc) crc_q <= data;
    if (own_write && index == RegCrcAdd) crc_q <= crc_stepped ^ crc_rest;
    if (own_write && index == RegWake) wake_q <= data;
    if (own_write && index == RegWakeOn) wake_on_q <= data[0];
    if (own_write && index == RegLeds) leds_o <= data[7:0];
    if (core_rst_q) begin
      due_q     <= 1'b0;
      wake_on_q <= 1'b0;
      leds_o    <= '0;
    end
    errors_q <= rst_i ? '0 : errors_q + 8'(err) + 8'(shown && is_none && !core_rst_q);
  end

  // ------------------------------------------------------------------ answers

  assign ack = (is_memory && shown && memory_ack) || (is_own && own && own_ack) ||
      (is_none && shown) || bus_ack;

  always_comb begin
    read_data = '0;
    if (is_memory) read_data = memory_data;
    if (is_own) read_data = own_data;
    if (is_bus) read_data = bus_data;
  end

endmodule

`default_nettype wire
