// Written by rtl/regs/generate.py from nic.toml; not edited by hand.
`default_nettype none

package nic_regs_pkg;

  // What rw registers hold.
  typedef struct packed {
    logic enable;
    logic enable_mac;
    logic enable_irq;
    logic [2:0] servers;
    logic [1:0] debug;
    logic [31:0] base;
    logic [2:0] buffer_bits;
    logic [14:0] buffers;
    logic [3:0] address_high;
    logic [3:0] filter;
    logic [1:0] mode;
    logic [23:0] lock_cycles;
    logic [1:0] choice;
    logic [15:0] ethertype;
    logic [15:0] udp_port;
    logic [1:0] route;
    logic [7:0] share;
    logic [47:0] mac;
    logic generate_on;
    logic swap;
    logic [13:0] bytes_min;
    logic [13:0] bytes_max;
    logic [13:0] bytes_step;
    logic [23:0] gap_cycles;
    logic [31:0] frames;
    logic [47:0] to;
    logic [47:0] from;
    logic [15:0] generated_type;
  } cfg_t;

  // Events: one count for each cycle in which the bit is high. Bit n is counter n.
  typedef struct packed {
    logic failed_op;
    logic write_back_failed;
    logic attach_tx_dropped;
    logic attach_tx;
    logic attach_rx_cut;
    logic attach_rx_no_room;
    logic attach_rx;
    logic mac_rx_bad;
    logic mac_tx_dropped;
    logic mac_rx_dropped;
    logic refused;
    logic revoked;
    logic locked_op;
    logic full_push;
    logic bad_push;
    logic read_failed;
    logic bad_length;
    logic sent;
    logic disabled;
    logic write_failed;
    logic queue_full;
    logic filtered;
    logic too_long;
    logic bad;
    logic received;
  } event_t;

  localparam int unsigned NumEvents = 25;

  // IDs.
  localparam logic [7:0] IdControl = 8'd0;
  localparam logic [7:0] IdServers = 8'd1;
  localparam logic [7:0] IdDebug1 = 8'd2;
  localparam logic [7:0] IdDebug2 = 8'd3;
  localparam logic [7:0] IdDepth = 8'd4;
  localparam logic [7:0] IdReceive0 = 8'd8;
  localparam logic [7:0] IdReceiveLevel0 = 8'd9;
  localparam logic [7:0] IdReceive1 = 8'd10;
  localparam logic [7:0] IdReceiveLevel1 = 8'd11;
  localparam logic [7:0] IdReceive2 = 8'd12;
  localparam logic [7:0] IdReceiveLevel2 = 8'd13;
  localparam logic [7:0] IdReceive3 = 8'd14;
  localparam logic [7:0] IdReceiveLevel3 = 8'd15;
  localparam logic [7:0] IdTransmit0 = 8'd16;
  localparam logic [7:0] IdTransmitLevel0 = 8'd17;
  localparam logic [7:0] IdTransmit1 = 8'd18;
  localparam logic [7:0] IdTransmitLevel1 = 8'd19;
  localparam logic [7:0] IdTransmit2 = 8'd20;
  localparam logic [7:0] IdTransmitLevel2 = 8'd21;
  localparam logic [7:0] IdTransmit3 = 8'd22;
  localparam logic [7:0] IdTransmitLevel3 = 8'd23;
  localparam logic [7:0] IdFree = 8'd24;
  localparam logic [7:0] IdFreeLevel = 8'd25;
  localparam logic [7:0] IdLock = 8'd26;
  localparam logic [7:0] IdPushResult = 8'd27;
  localparam logic [7:0] IdBase = 8'd32;
  localparam logic [7:0] IdBufferSize = 8'd33;
  localparam logic [7:0] IdBuffers = 8'd34;
  localparam logic [7:0] IdAddressHigh = 8'd35;
  localparam logic [7:0] IdFilter = 8'd36;
  localparam logic [7:0] IdMode = 8'd37;
  localparam logic [7:0] IdLockCycles = 8'd38;
  localparam logic [7:0] IdChoice = 8'd39;
  localparam logic [7:0] IdDataFrames = 8'd40;
  localparam logic [7:0] IdCommand = 8'd41;
  localparam logic [7:0] IdRoute = 8'd42;
  localparam logic [7:0] IdShare = 8'd43;
  localparam logic [7:0] IdMacLo = 8'd208;
  localparam logic [7:0] IdMacHi = 8'd209;
  localparam logic [7:0] IdPacketsTransmitted = 8'd210;
  localparam logic [7:0] IdPacketsReceived = 8'd211;
  localparam logic [7:0] IdStatus = 8'd212;
  localparam logic [7:0] IdGenerator = 8'd213;
  localparam logic [7:0] IdBytesMin = 8'd214;
  localparam logic [7:0] IdBytesMax = 8'd215;
  localparam logic [7:0] IdBytesStep = 8'd216;
  localparam logic [7:0] IdGapCycles = 8'd217;
  localparam logic [7:0] IdFrames = 8'd218;
  localparam logic [7:0] IdToLo = 8'd219;
  localparam logic [7:0] IdToHi = 8'd220;
  localparam logic [7:0] IdFromLo = 8'd221;
  localparam logic [7:0] IdFromHi = 8'd222;
  localparam logic [7:0] IdGeneratedFrames = 8'd224;
  localparam logic [7:0] IdGeneratedBytesLo = 8'd226;
  localparam logic [7:0] IdGeneratedBytesHi = 8'd227;
  localparam logic [7:0] IdGeneratedCyclesLo = 8'd228;
  localparam logic [7:0] IdGeneratedCyclesHi = 8'd229;
  localparam logic [7:0] IdCheckedFrames = 8'd230;
  localparam logic [7:0] IdCheckedBytesLo = 8'd232;
  localparam logic [7:0] IdCheckedBytesHi = 8'd233;
  localparam logic [7:0] IdCheckedCyclesLo = 8'd234;
  localparam logic [7:0] IdCheckedCyclesHi = 8'd235;
  localparam logic [7:0] IdLost = 8'd236;
  localparam logic [7:0] IdDuplicated = 8'd238;
  localparam logic [7:0] IdLate = 8'd240;
  localparam logic [7:0] IdAltered = 8'd242;
  localparam logic [7:0] IdForeign = 8'd244;
  localparam logic [7:0] IdTripMin = 8'd246;
  localparam logic [7:0] IdTripMax = 8'd248;
  localparam logic [7:0] IdTripSumLo = 8'd250;
  localparam logic [7:0] IdTripSumHi = 8'd251;
  localparam logic [7:0] IdCounter = 8'd255;

  // A bit for each ID: the window of counters is readable too.
  localparam logic [255:0] Readable = 256'h8d555f7d7fff00000000000000000000000000000000000000000dff0fffff1f;
  localparam logic [255:0] Writable = 256'h000000007fe300000000000000000000000000000000000000000fff05555507;
  localparam logic [255:0] Kept = 256'h000000007fe300000000000000000000000000000000000000000dff00000007;
  localparam logic [255:0] Steady = 256'h0000000000000000000000000000000000000000000000000000000f00000000;
  localparam logic [1:0] WindowHigh = 2'd1;  // bits 7:6 of its IDs

  localparam cfg_t CfgReset = {
    1'h0,  // enable
    1'h0,  // enable_mac
    1'h0,  // enable_irq
    3'h1,  // servers
    2'h0,  // debug
    32'h0,  // base
    3'h4,  // buffer_bits
    15'h40,  // buffers
    4'h0,  // address_high
    4'h3,  // filter
    2'h0,  // mode
    24'h10000,  // lock_cycles
    2'h0,  // choice
    16'h88b5,  // ethertype
    16'h238c,  // udp_port
    2'h0,  // route
    8'hd,  // share
    48'h5249575302,  // mac
    1'h0,  // generate_on
    1'h0,  // swap
    14'h40,  // bytes_min
    14'h40,  // bytes_max
    14'h0,  // bytes_step
    24'h7d,  // gap_cycles
    32'h0,  // frames
    48'h0,  // to
    48'h0,  // from
    16'h88b5  // generated_type
  };

  // What a kept register reads before it is written.
  function automatic logic [31:0] word_reset(input logic [7:0] id);
    case (id)
      8'd1: word_reset = 32'h00000001;
      8'd33: word_reset = 32'h00000004;
      8'd34: word_reset = 32'h00000040;
      8'd36: word_reset = 32'h00000003;
      8'd38: word_reset = 32'h00010000;
      8'd40: word_reset = 32'h238c88b5;
      8'd43: word_reset = 32'h0000000d;
      8'd208: word_reset = 32'h49575302;
      8'd209: word_reset = 32'h00000052;
      8'd214: word_reset = 32'h00000040;
      8'd215: word_reset = 32'h00000040;
      8'd217: word_reset = 32'h0000007d;
      8'd222: word_reset = 32'h88b50000;
      default: word_reset = 32'h0;
    endcase
  endfunction

  // The configuration after a write of `data`.
  function automatic cfg_t cfg_write(input cfg_t cfg, input logic [7:0] id,
                                     input logic [31:0] data);
    cfg_t written;
    written = cfg;
    if (id == 8'd0) written.enable = data[0];
    if (id == 8'd0) written.enable_mac = data[1];
    if (id == 8'd0) written.enable_irq = data[2];
    if (id == 8'd1) written.servers = data[2:0];
    if (id == 8'd2) written.debug = data[1:0];
    if (id == 8'd32) written.base = data[31:0];
    if (id == 8'd33) written.buffer_bits = data[2:0];
    if (id == 8'd34) written.buffers = data[14:0];
    if (id == 8'd35) written.address_high = data[3:0];
    if (id == 8'd36) written.filter = data[3:0];
    if (id == 8'd37) written.mode = data[1:0];
    if (id == 8'd38) written.lock_cycles = data[23:0];
    if (id == 8'd39) written.choice = data[1:0];
    if (id == 8'd40) written.ethertype = data[15:0];
    if (id == 8'd40) written.udp_port = data[31:16];
    if (id == 8'd42) written.route = data[1:0];
    if (id == 8'd43) written.share = data[7:0];
    if (id == 8'd208) written.mac[31:0] = data[31:0];
    if (id == 8'd209) written.mac[47:32] = data[15:0];
    if (id == 8'd213) written.generate_on = data[0];
    if (id == 8'd213) written.swap = data[1];
    if (id == 8'd214) written.bytes_min = data[13:0];
    if (id == 8'd215) written.bytes_max = data[13:0];
    if (id == 8'd216) written.bytes_step = data[13:0];
    if (id == 8'd217) written.gap_cycles = data[23:0];
    if (id == 8'd218) written.frames = data[31:0];
    if (id == 8'd219) written.to[31:0] = data[31:0];
    if (id == 8'd220) written.to[47:32] = data[15:0];
    if (id == 8'd221) written.from[31:0] = data[31:0];
    if (id == 8'd222) written.from[47:32] = data[15:0];
    if (id == 8'd222) written.generated_type = data[31:16];
    cfg_write = written;
  endfunction

endpackage

`default_nettype wire
