// Written by rtl/regs/generate.py from common.toml, congestion.toml and tx.toml; not edited by hand.
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
    logic [8:0] event_index;
    logic [1:0] rate_mode;
    logic [4:0] gain_shift;
    logic [4:0] recovery_stages;
    logic [19:0] alpha_period_ns;
    logic [19:0] rise_period_ns;
    logic [19:0] cut_interval_ns;
    logic [25:0] rise_bytes;
    logic [23:0] rate_additive;
    logic [23:0] rate_hyper;
    logic [23:0] rate_minimum;
    logic [23:0] rate_start;
    logic [23:0] rate_first_cut;
    logic [23:0] rate_line;
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
    logic [23:0] rate;
    logic [23:0] rate_target;
    logic [16:0] alpha;
    logic [31:0] event_count;
    logic [31:0] event_time_lo;
    logic [12:0] event_time_hi;
    logic [2:0] event_cause;
    logic [23:0] event_rate;
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
    logic cuts;
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

  localparam int unsigned NumEvents = 41;
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
  localparam logic [10:0] OffRate = 11'h040;
  localparam logic [10:0] OffRateTarget = 11'h044;
  localparam logic [10:0] OffAlpha = 11'h048;
  localparam logic [10:0] OffEventCount = 11'h04c;
  localparam logic [10:0] OffEventTimeLo = 11'h050;
  localparam logic [10:0] OffEventTimeHi = 11'h054;
  localparam logic [10:0] OffEventRate = 11'h058;
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
  localparam logic [10:0] OffEventIndex = 11'h0dc;
  localparam logic [10:0] OffTaiIndexLo = 11'h0e0;
  localparam logic [10:0] OffTaiIndexHi = 11'h0e4;
  localparam logic [10:0] OffTaiTimeLo = 11'h0e8;
  localparam logic [10:0] OffTaiTimeHi = 11'h0ec;
  localparam logic [10:0] OffTaiPeriodLo = 11'h0f0;
  localparam logic [10:0] OffTaiPeriodHi = 11'h0f4;
  localparam logic [10:0] OffTaiNumber = 11'h0f8;
  localparam logic [10:0] OffRateControl = 11'h100;
  localparam logic [10:0] OffAlphaPeriod = 11'h104;
  localparam logic [10:0] OffRisePeriod = 11'h108;
  localparam logic [10:0] OffCutInterval = 11'h10c;
  localparam logic [10:0] OffRiseBytes = 11'h110;
  localparam logic [10:0] OffRateAdditive = 11'h114;
  localparam logic [10:0] OffRateHyper = 11'h118;
  localparam logic [10:0] OffRateMinimum = 11'h11c;
  localparam logic [10:0] OffRateStart = 11'h120;
  localparam logic [10:0] OffRateFirstCut = 11'h124;
  localparam logic [10:0] OffRateLine = 11'h128;

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
  localparam logic [8:0] ResetEventIndex = 9'h0;
  localparam logic [1:0] ResetRateMode = 2'h2;
  localparam logic [4:0] ResetGainShift = 5'h8;
  localparam logic [4:0] ResetRecoveryStages = 5'h5;
  localparam logic [19:0] ResetAlphaPeriodNs = 20'hd6d8;
  localparam logic [19:0] ResetRisePeriodNs = 20'hd6d8;
  localparam logic [19:0] ResetCutIntervalNs = 20'hc350;
  localparam logic [25:0] ResetRiseBytes = 26'hf4240;
  localparam logic [23:0] ResetRateAdditive = 24'h29;
  localparam logic [23:0] ResetRateHyper = 24'h333;
  localparam logic [23:0] ResetRateMinimum = 24'h52;
  localparam logic [23:0] ResetRateStart = 24'h14000;
  localparam logic [23:0] ResetRateFirstCut = 24'h14000;
  localparam logic [23:0] ResetRateLine = 24'h14000;
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
    ResetSourceRate,
    ResetEventIndex,
    ResetRateMode,
    ResetGainShift,
    ResetRecoveryStages,
    ResetAlphaPeriodNs,
    ResetRisePeriodNs,
    ResetCutIntervalNs,
    ResetRiseBytes,
    ResetRateAdditive,
    ResetRateHyper,
    ResetRateMinimum,
    ResetRateStart,
    ResetRateFirstCut,
    ResetRateLine
  };

  // The same at either width; is_wide: W = 512.
  function automatic cfg_t cfg_reset(input logic is_wide);
    cfg_t cfg;
    cfg = CfgReset;
    if (is_wide) cfg.rise_bytes = 26'h1e8480;
    if (is_wide) cfg.rate_additive = 24'h52;
    if (is_wide) cfg.rate_hyper = 24'h666;
    if (is_wide) cfg.rate_start = 24'hc8000;
    if (is_wide) cfg.rate_first_cut = 24'hc8000;
    if (is_wide) cfg.rate_line = 24'hc8000;
    cfg_reset = cfg;
  endfunction

  // A bit for each word of the low half (status) and the high half (control).
  localparam logic [31:0] StatusReadable = 32'h007fffff;
  localparam logic [63:0] ControlReadable = 64'h7ffe1ffe000007ff;
  localparam logic [63:0] ControlWritable = 64'h7fffffff000007ff;

  // What a word of the control half reads before it is written; is_wide: at W = 512.
  function automatic logic [31:0] control_reset(input logic [5:0] word,
                                                input logic is_wide);
    case (word)
      6'h22: control_reset = 32'h57495200;
      6'h23: control_reset = 32'h00000253;
      6'h25: control_reset = 32'h0000238c;
      6'h26: control_reset = 32'h00000580;
      6'h28: control_reset = 32'h00004e20;
      6'h29: control_reset = 32'h00643a98;
      6'h00: control_reset = 32'h000002a2;
      6'h01: control_reset = 32'h0000d6d8;
      6'h02: control_reset = 32'h0000d6d8;
      6'h03: control_reset = 32'h0000c350;
      6'h04: control_reset = is_wide ? 32'h001e8480 : 32'h000f4240;
      6'h05: control_reset = is_wide ? 32'h00000052 : 32'h00000029;
      6'h06: control_reset = is_wide ? 32'h00000666 : 32'h00000333;
      6'h07: control_reset = 32'h00000052;
      6'h08: control_reset = is_wide ? 32'h000c8000 : 32'h00014000;
      6'h09: control_reset = is_wide ? 32'h000c8000 : 32'h00014000;
      6'h0a: control_reset = is_wide ? 32'h000c8000 : 32'h00014000;
      default: control_reset = 32'h0;
    endcase
  endfunction

  // The configuration after a write of `data` to a word of the control half.
  function automatic cfg_t cfg_write(input cfg_t cfg, input logic [5:0] word,
                                     input logic [31:0] data);
    cfg_t written;
    written = cfg;
    if (word == 6'h21) written.enable = data[0];
    if (word == 6'h21) written.loopback = data[2:1];
    if (word == 6'h21) written.source = data[4:3];
    if (word == 6'h22) written.mac[31:0] = data[31:0];
    if (word == 6'h23) written.mac[47:32] = data[15:0];
    if (word == 6'h24) written.ip = data[31:0];
    if (word == 6'h25) written.port = data[15:0];
    if (word == 6'h26) written.payload_bytes = data[15:0];
    if (word == 6'h27) written.pace_rate = data[23:0];
    if (word == 6'h28) written.pace_burst_ns = data[19:0];
    if (word == 6'h29) written.dead_ms = data[15:0];
    if (word == 6'h29) written.idle_ms = data[31:16];
    if (word == 6'h2a) written.template_words = data[6:0];
    if (word == 6'h31) written.source_index[31:0] = data[31:0];
    if (word == 6'h32) written.source_index[63:32] = data[31:0];
    if (word == 6'h33) written.source_count[31:0] = data[31:0];
    if (word == 6'h34) written.source_count[63:32] = data[31:0];
    if (word == 6'h35) written.source_rate = data[23:0];
    if (word == 6'h37) written.event_index = data[8:0];
    if (word == 6'h00) written.rate_mode = data[1:0];
    if (word == 6'h00) written.gain_shift = data[6:2];
    if (word == 6'h00) written.recovery_stages = data[11:7];
    if (word == 6'h01) written.alpha_period_ns = data[19:0];
    if (word == 6'h02) written.rise_period_ns = data[19:0];
    if (word == 6'h03) written.cut_interval_ns = data[19:0];
    if (word == 6'h04) written.rise_bytes = data[25:0];
    if (word == 6'h05) written.rate_additive = data[23:0];
    if (word == 6'h06) written.rate_hyper = data[23:0];
    if (word == 6'h07) written.rate_minimum = data[23:0];
    if (word == 6'h08) written.rate_start = data[23:0];
    if (word == 6'h09) written.rate_first_cut = data[23:0];
    if (word == 6'h0a) written.rate_line = data[23:0];
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
      input logic [4:0] word, input status_t status, input logic [15:0] width,
      input logic [15:0] slot_bytes, input logic [31:0] slots, input logic [15:0] nack_depth,
      input logic [7:0] channels);
    logic [1023:0] words;
    words = {
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      {8'd0, status.event_rate},
      {16'd0, status.event_cause, status.event_time_hi},
      status.event_time_lo,
      status.event_count,
      {15'd0, status.alpha},
      {8'd0, status.rate_target},
      {8'd0, status.rate},
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
      {8'd45, channels, nack_depth},
      slots,
      {slot_bytes, width},
      {16'h1, 16'h5},
      32'h53574952
    };
    status_word = words[word*32+:32];
  endfunction

endpackage

`default_nettype wire
