// Written by rtl/regs/generate.py from common.toml and tx.toml; not edited by hand.
`default_nettype none

package sw_regs_pkg;

  // Configuration, as registers hold it.
  typedef struct packed {
    logic enable;
    logic [1:0] loopback;
    logic [1:0] source;
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] port;
    logic [15:0] payload_bytes;
    logic [23:0] pace_rate;
    logic [19:0] pace_burst_ns;
    logic [15:0] dead_ms;
    logic [15:0] idle_ms;
    logic [6:0] template_words;
    logic [63:0] source_index;
    logic [63:0] source_count;
    logic [23:0] source_rate;
  } cfg_t;

  // Commands: pulses of one cycle.
  typedef struct packed {
    logic snapshot;
    logic close;
    logic gate_open;
    logic gate_close;
    logic sync_set;
    logic sync_latch;
    logic sync_cancel;
  } cmd_t;

  // Status, as read.
  typedef struct packed {
    logic [2:0] state;
    logic stream_tag_valid;
    logic gate_armed;
    logic sync_armed;
    logic [7:0] sync_count;
    logic [31:0] stream_tag;
    logic [31:0] peer_ip;
    logic [15:0] peer_port;
    logic [15:0] ring_fill;
    logic [31:0] oldest;
    logic [31:0] sent;
    logic [31:0] next;
    logic [31:0] limit;
    logic [31:0] rtt;
    logic [31:0] report_number;
  } status_t;

  // Events: one count for each cycle in which the bit is high. Bit n is counter n.
  typedef struct packed {
    logic writes_refused;
    logic mac_rx_dropped;
    logic mac_tx_dropped;
    logic replies_suppressed;
    logic icmp_replies;
    logic arp_replies;
    logic no_room;
    logic malformed;
    logic corrupted;
    logic lengths;
    logic udp_checksum;
    logic ip_checksum;
    logic fragments;
    logic frames_foreign;
    logic frames_oversize;
    logic frames_runt;
    logic frames_bad;
    logic frames_received;
    logic unknown;
    logic ended_half_open;
    logic ended_broken;
    logic ended_silent;
    logic ended_finished;
    logic ended_by_peer;
    logic takeovers;
    logic refused;
    logic accepted;
    logic challenged;
    logic opens;
    logic overflows;
    logic congestion;
    logic reports_refused;
    logic reports;
    logic requests_skipped;
    logic requests_refused;
    logic budget_stalls;
    logic control_frames;
    logic marks;
    logic retransmissions;
    logic packets;
  } event_t;

  localparam int unsigned NumEvents = 40;
  localparam int unsigned NumValues = 4;  // entries before counter 0

  localparam logic [10:0] WindowCounters = 11'h200;
  localparam logic [10:0] WindowTemplate = 11'h400;

  // Byte offsets.
  localparam logic [10:0] OffId = 11'h000;
  localparam logic [10:0] OffVersion = 11'h004;
  localparam logic [10:0] OffGeometry = 11'h008;
  localparam logic [10:0] OffSlots = 11'h00c;
  localparam logic [10:0] OffCapability = 11'h010;
  localparam logic [10:0] OffState = 11'h014;
  localparam logic [10:0] OffStreamTag = 11'h018;
  localparam logic [10:0] OffPeerIp = 11'h01c;
  localparam logic [10:0] OffPeerPort = 11'h020;
  localparam logic [10:0] OffOldest = 11'h024;
  localparam logic [10:0] OffSent = 11'h028;
  localparam logic [10:0] OffNext = 11'h02c;
  localparam logic [10:0] OffLimit = 11'h030;
  localparam logic [10:0] OffRtt = 11'h034;
  localparam logic [10:0] OffReportNumber = 11'h038;
  localparam logic [10:0] OffCore = 11'h03c;
  localparam logic [10:0] OffCommand = 11'h080;
  localparam logic [10:0] OffControl = 11'h084;
  localparam logic [10:0] OffMacLo = 11'h088;
  localparam logic [10:0] OffMacHi = 11'h08c;
  localparam logic [10:0] OffIp = 11'h090;
  localparam logic [10:0] OffPort = 11'h094;
  localparam logic [10:0] OffPayload = 11'h098;
  localparam logic [10:0] OffPaceRate = 11'h09c;
  localparam logic [10:0] OffPaceBurst = 11'h0a0;
  localparam logic [10:0] OffSilence = 11'h0a4;
  localparam logic [10:0] OffTemplateWords = 11'h0a8;
  localparam logic [10:0] OffBootLo = 11'h0ac;
  localparam logic [10:0] OffBootHi = 11'h0b0;
  localparam logic [10:0] OffSecret0 = 11'h0b4;
  localparam logic [10:0] OffSecret1 = 11'h0b8;
  localparam logic [10:0] OffSecret2 = 11'h0bc;
  localparam logic [10:0] OffSecret3 = 11'h0c0;
  localparam logic [10:0] OffSourceIndexLo = 11'h0c4;
  localparam logic [10:0] OffSourceIndexHi = 11'h0c8;
  localparam logic [10:0] OffSourceCountLo = 11'h0cc;
  localparam logic [10:0] OffSourceCountHi = 11'h0d0;
  localparam logic [10:0] OffSourceRate = 11'h0d4;
  localparam logic [10:0] OffScratch = 11'h0d8;

  // The configuration before anything is written.
  localparam logic ResetEnable = 1'h0;
  localparam logic [1:0] ResetLoopback = 2'h0;
  localparam logic [1:0] ResetSource = 2'h0;
  localparam logic [47:0] ResetMac = 48'h25357495200;
  localparam logic [31:0] ResetIp = 32'h0;
  localparam logic [15:0] ResetPort = 16'h238c;
  localparam logic [15:0] ResetPayloadBytes = 16'h580;
  localparam logic [23:0] ResetPaceRate = 24'h0;
  localparam logic [19:0] ResetPaceBurstNs = 20'h4e20;
  localparam logic [15:0] ResetDeadMs = 16'h3a98;
  localparam logic [15:0] ResetIdleMs = 16'h64;
  localparam logic [6:0] ResetTemplateWords = 7'h0;
  localparam logic [63:0] ResetSourceIndex = 64'h0;
  localparam logic [63:0] ResetSourceCount = 64'h0;
  localparam logic [23:0] ResetSourceRate = 24'h0;
  localparam cfg_t CfgReset = {
    ResetEnable,
    ResetLoopback,
    ResetSource,
    ResetMac,
    ResetIp,
    ResetPort,
    ResetPayloadBytes,
    ResetPaceRate,
    ResetPaceBurstNs,
    ResetDeadMs,
    ResetIdleMs,
    ResetTemplateWords,
    ResetSourceIndex,
    ResetSourceCount,
    ResetSourceRate
  };

  // A bit for each word of the low half (status) and the high half (control).
  localparam logic [15:0] StatusReadable = 16'hffff;
  localparam logic [31:0] ControlReadable = 32'h007e1ffe;
  localparam logic [31:0] ControlWritable = 32'h007fffff;

  // What a word of the control half reads before it is written.
  function automatic logic [31:0] control_reset(input logic [4:0] word);
    case (word)
      5'h02: control_reset = 32'h57495200;
      5'h03: control_reset = 32'h00000253;
      5'h05: control_reset = 32'h0000238c;
      5'h06: control_reset = 32'h00000580;
      5'h08: control_reset = 32'h00004e20;
      5'h09: control_reset = 32'h00643a98;
      default: control_reset = 32'h0;
    endcase
  endfunction

  // The configuration after a write of `data` to a word of the control half.
  function automatic cfg_t cfg_write(input cfg_t cfg, input logic [4:0] word,
                                     input logic [31:0] data);
    cfg_t written;
    written = cfg;
    if (word == 5'h01) written.enable = data[0];
    if (word == 5'h01) written.loopback = data[2:1];
    if (word == 5'h01) written.source = data[4:3];
    if (word == 5'h02) written.mac[31:0] = data[31:0];
    if (word == 5'h03) written.mac[47:32] = data[15:0];
    if (word == 5'h04) written.ip = data[31:0];
    if (word == 5'h05) written.port = data[15:0];
    if (word == 5'h06) written.payload_bytes = data[15:0];
    if (word == 5'h07) written.pace_rate = data[23:0];
    if (word == 5'h08) written.pace_burst_ns = data[19:0];
    if (word == 5'h09) written.dead_ms = data[15:0];
    if (word == 5'h09) written.idle_ms = data[31:16];
    if (word == 5'h0a) written.template_words = data[6:0];
    if (word == 5'h11) written.source_index[31:0] = data[31:0];
    if (word == 5'h12) written.source_index[63:32] = data[31:0];
    if (word == 5'h13) written.source_count[31:0] = data[31:0];
    if (word == 5'h14) written.source_count[63:32] = data[31:0];
    if (word == 5'h15) written.source_rate = data[23:0];
    cfg_write = written;
  endfunction

  function automatic cmd_t commands(input logic [31:0] data);
    commands = {data[0], data[1], data[2], data[3], data[4], data[5], data[6]};
  endfunction

  // What the register `control` reads.
  function automatic logic [31:0] control_word(input cfg_t cfg);
    control_word = {27'd0, cfg.source, cfg.loopback, cfg.enable};
  endfunction

  // A word of the status half.
  function automatic logic [31:0] status_word(
      input logic [3:0] word, input status_t status, input logic [15:0] width,
      input logic [15:0] slot_bytes, input logic [31:0] slots,
      input logic [15:0] nack_depth, input logic [7:0] channels);
    logic [511:0] words;
    words = {
      {24'd0, 8'd1},
      status.report_number,
      status.rtt,
      status.limit,
      status.next,
      status.sent,
      status.oldest,
      {status.ring_fill, status.peer_port},
      status.peer_ip,
      status.stream_tag,
      {18'd0, status.sync_count, status.sync_armed, status.gate_armed, status.stream_tag_valid, status.state},
      {8'd44, channels, nack_depth},
      slots,
      {slot_bytes, width},
      {16'h1, 16'h1},
      32'h53574952
    };
    status_word = words[word*32+:32];
  endfunction

endpackage

`default_nettype wire
