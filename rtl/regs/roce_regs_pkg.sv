// Written by rtl/regs/generate.py from common.toml, congestion.toml and roce.toml; not edited by hand.
`default_nettype none

package roce_regs_pkg;

  // Configuration, as registers hold it.
  typedef struct packed {
    logic run;
    logic [1:0] loopback;
    logic [47:0] mac;
    logic [31:0] ip;
    logic [15:0] port;
    logic [47:0] peer_mac;
    logic [23:0] pace_rate;
    logic [19:0] pace_burst_ns;
    logic [31:0] peer_ip;
    logic [23:0] local_qp;
    logic [23:0] remote_qp;
    logic [23:0] first_psn;
    logic [2:0] mtu;
    logic [4:0] timeout;
    logic [2:0] retries;
    logic [2:0] rnr_retries;
    logic congested_acks_cut;
    logic [15:0] window;
    logic [15:0] ack_every;
    logic [31:0] rkey;
    logic [63:0] region;
    logic [31:0] message_bytes;
    logic [31:0] region_slots;
    logic [23:0] peer_psn;
    logic [4:0] rnr_timer;
    logic [31:0] local_key;
    logic [8:0] event_index;
    logic [63:0] local_region;
    logic [63:0] local_bytes;
    logic [15:0] may_write;
    logic [19:0] cnp_interval_ns;
    logic [3:0] select;
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
    logic flush;
  } cmd_t;

  // Status, as read.
  typedef struct packed {
    logic is_running;
    logic is_refused;
    logic has_failed;
    logic [2:0] status;
    logic [31:0] posted;
    logic [31:0] completed;
    logic has_fault;
    logic [2:0] fault;
    logic [3:0] event_qp;
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
    logic cnps_sent;
    logic requests_marked;
    logic requests_dropped;
    logic unexpected;
    logic after_fault;
    logic faults;
    logic not_ready;
    logic out_of_order;
    logic duplicates;
    logic receives;
    logic requests;
    logic syndromes;
    logic opcodes;
    logic strangers;
    logic partition_keys;
    logic corrupted;
    logic versions;
    logic lengths;
    logic udp_checksum;
    logic ip_checksum;
    logic fragments;
    logic frames_foreign;
    logic frames_oversize;
    logic frames_runt;
    logic frames_bad;
    logic cuts;
    logic acks_marked;
    logic cnps;
    logic timeouts;
    logic naks_repeated;
    logic rnr_naks;
    logic sequence_naks;
    logic answers_dropped;
    logic answers_outside;
    logic acks;
    logic messages_failed;
    logic messages;
    logic retransmissions;
    logic packets;
  } event_t;

  localparam int unsigned NumEvents = 46;
  localparam int unsigned NumValues = 4;  // entries before counter 0

  localparam logic [10:0] WindowCounters = 11'h200;

  // Byte offsets.
  localparam logic [10:0] OffId = 11'h000;
  localparam logic [10:0] OffVersion = 11'h004;
  localparam logic [10:0] OffGeometry = 11'h008;
  localparam logic [10:0] OffSlots = 11'h00c;
  localparam logic [10:0] OffMemory = 11'h010;
  localparam logic [10:0] OffState = 11'h014;
  localparam logic [10:0] OffPosted = 11'h018;
  localparam logic [10:0] OffCompleted = 11'h01c;
  localparam logic [10:0] OffReceiver = 11'h020;
  localparam logic [10:0] OffQueuePairs = 11'h024;
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
  localparam logic [10:0] OffPeerMacLo = 11'h098;
  localparam logic [10:0] OffPaceRate = 11'h09c;
  localparam logic [10:0] OffPaceBurst = 11'h0a0;
  localparam logic [10:0] OffPeerMacHi = 11'h0a4;
  localparam logic [10:0] OffPeerIp = 11'h0a8;
  localparam logic [10:0] OffLocalQp = 11'h0ac;
  localparam logic [10:0] OffRemoteQp = 11'h0b0;
  localparam logic [10:0] OffFirstPsn = 11'h0b4;
  localparam logic [10:0] OffRetry = 11'h0b8;
  localparam logic [10:0] OffWindow = 11'h0bc;
  localparam logic [10:0] OffRkey = 11'h0c0;
  localparam logic [10:0] OffRegionLo = 11'h0c4;
  localparam logic [10:0] OffRegionHi = 11'h0c8;
  localparam logic [10:0] OffMessage = 11'h0cc;
  localparam logic [10:0] OffRegionSlots = 11'h0d0;
  localparam logic [10:0] OffReceive = 11'h0d4;
  localparam logic [10:0] OffLocalKey = 11'h0d8;
  localparam logic [10:0] OffEventIndex = 11'h0dc;
  localparam logic [10:0] OffLocalRegionLo = 11'h0e0;
  localparam logic [10:0] OffLocalRegionHi = 11'h0e4;
  localparam logic [10:0] OffLocalBytesLo = 11'h0e8;
  localparam logic [10:0] OffLocalBytesHi = 11'h0ec;
  localparam logic [10:0] OffLocalRights = 11'h0f0;
  localparam logic [10:0] OffNotification = 11'h0f4;
  localparam logic [10:0] OffQueuePair = 11'h0f8;
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
  localparam logic ResetRun = 1'h0;
  localparam logic [1:0] ResetLoopback = 2'h0;
  localparam logic [47:0] ResetMac = 48'h25357495200;
  localparam logic [31:0] ResetIp = 32'h0;
  localparam logic [15:0] ResetPort = 16'hc000;
  localparam logic [47:0] ResetPeerMac = 48'h0;
  localparam logic [23:0] ResetPaceRate = 24'h0;
  localparam logic [19:0] ResetPaceBurstNs = 20'h4e20;
  localparam logic [31:0] ResetPeerIp = 32'h0;
  localparam logic [23:0] ResetLocalQp = 24'h2;
  localparam logic [23:0] ResetRemoteQp = 24'h2;
  localparam logic [23:0] ResetFirstPsn = 24'h0;
  localparam logic [2:0] ResetMtu = 3'h5;
  localparam logic [4:0] ResetTimeout = 5'he;
  localparam logic [2:0] ResetRetries = 3'h7;
  localparam logic [2:0] ResetRnrRetries = 3'h7;
  localparam logic ResetCongestedAcksCut = 1'h0;
  localparam logic [15:0] ResetWindow = 16'h40;
  localparam logic [15:0] ResetAckEvery = 16'h10;
  localparam logic [31:0] ResetRkey = 32'h0;
  localparam logic [63:0] ResetRegion = 64'h0;
  localparam logic [31:0] ResetMessageBytes = 32'h1000;
  localparam logic [31:0] ResetRegionSlots = 32'h1;
  localparam logic [23:0] ResetPeerPsn = 24'h0;
  localparam logic [4:0] ResetRnrTimer = 5'hc;
  localparam logic [31:0] ResetLocalKey = 32'h0;
  localparam logic [8:0] ResetEventIndex = 9'h0;
  localparam logic [63:0] ResetLocalRegion = 64'h0;
  localparam logic [63:0] ResetLocalBytes = 64'h0;
  localparam logic [15:0] ResetMayWrite = 16'h0;
  localparam logic [19:0] ResetCnpIntervalNs = 20'hc350;
  localparam logic [3:0] ResetSelect = 4'h0;
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
    ResetRun,
    ResetLoopback,
    ResetMac,
    ResetIp,
    ResetPort,
    ResetPeerMac,
    ResetPaceRate,
    ResetPaceBurstNs,
    ResetPeerIp,
    ResetLocalQp,
    ResetRemoteQp,
    ResetFirstPsn,
    ResetMtu,
    ResetTimeout,
    ResetRetries,
    ResetRnrRetries,
    ResetCongestedAcksCut,
    ResetWindow,
    ResetAckEvery,
    ResetRkey,
    ResetRegion,
    ResetMessageBytes,
    ResetRegionSlots,
    ResetPeerPsn,
    ResetRnrTimer,
    ResetLocalKey,
    ResetEventIndex,
    ResetLocalRegion,
    ResetLocalBytes,
    ResetMayWrite,
    ResetCnpIntervalNs,
    ResetSelect,
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
  localparam logic [31:0] StatusReadable = 32'h007f83ff;
  localparam logic [63:0] ControlReadable = 64'h7ffffffe000007ff;
  localparam logic [63:0] ControlWritable = 64'h7fffffff000007ff;

  // What a word of the control half reads before it is written; is_wide: at W = 512.
  function automatic logic [31:0] control_reset(input logic [5:0] word,
                                                input logic is_wide);
    case (word)
      6'h22: control_reset = 32'h57495200;
      6'h23: control_reset = 32'h00000253;
      6'h25: control_reset = 32'h0000c000;
      6'h28: control_reset = 32'h00004e20;
      6'h2b: control_reset = 32'h00000002;
      6'h2c: control_reset = 32'h00000002;
      6'h2e: control_reset = 32'h00003f75;
      6'h2f: control_reset = 32'h00100040;
      6'h33: control_reset = 32'h00001000;
      6'h34: control_reset = 32'h00000001;
      6'h35: control_reset = 32'h0c000000;
      6'h3d: control_reset = 32'h0000c350;
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
    if (word == 6'h21) written.run = data[0];
    if (word == 6'h21) written.loopback = data[2:1];
    if (word == 6'h22) written.mac[31:0] = data[31:0];
    if (word == 6'h23) written.mac[47:32] = data[15:0];
    if (word == 6'h24) written.ip = data[31:0];
    if (word == 6'h25) written.port = data[15:0];
    if (word == 6'h26) written.peer_mac[31:0] = data[31:0];
    if (word == 6'h27) written.pace_rate = data[23:0];
    if (word == 6'h28) written.pace_burst_ns = data[19:0];
    if (word == 6'h29) written.peer_mac[47:32] = data[15:0];
    if (word == 6'h2a) written.peer_ip = data[31:0];
    if (word == 6'h2b) written.local_qp = data[23:0];
    if (word == 6'h2c) written.remote_qp = data[23:0];
    if (word == 6'h2d) written.first_psn = data[23:0];
    if (word == 6'h2e) written.mtu = data[2:0];
    if (word == 6'h2e) written.timeout = data[7:3];
    if (word == 6'h2e) written.retries = data[10:8];
    if (word == 6'h2e) written.rnr_retries = data[13:11];
    if (word == 6'h2e) written.congested_acks_cut = data[14];
    if (word == 6'h2f) written.window = data[15:0];
    if (word == 6'h2f) written.ack_every = data[31:16];
    if (word == 6'h30) written.rkey = data[31:0];
    if (word == 6'h31) written.region[31:0] = data[31:0];
    if (word == 6'h32) written.region[63:32] = data[31:0];
    if (word == 6'h33) written.message_bytes = data[31:0];
    if (word == 6'h34) written.region_slots = data[31:0];
    if (word == 6'h35) written.peer_psn = data[23:0];
    if (word == 6'h35) written.rnr_timer = data[28:24];
    if (word == 6'h36) written.local_key = data[31:0];
    if (word == 6'h37) written.event_index = data[8:0];
    if (word == 6'h38) written.local_region[31:0] = data[31:0];
    if (word == 6'h39) written.local_region[63:32] = data[31:0];
    if (word == 6'h3a) written.local_bytes[31:0] = data[31:0];
    if (word == 6'h3b) written.local_bytes[63:32] = data[31:0];
    if (word == 6'h3c) written.may_write = data[15:0];
    if (word == 6'h3d) written.cnp_interval_ns = data[19:0];
    if (word == 6'h3e) written.select = data[3:0];
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
    commands = {data[0], data[1]};
  endfunction

  // What the register `control` reads.
  function automatic logic [31:0] control_word(input cfg_t cfg);
    control_word = {29'd0, cfg.loopback, cfg.run};
  endfunction

  // A word of the status half.
  function automatic logic [31:0] status_word(
      input logic [4:0] word, input status_t status, input logic [15:0] width,
      input logic [31:0] slots, input logic [7:0] queue, input logic [31:0] memory_bytes,
      input logic is_full, input logic [7:0] qps);
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
      {24'd0, 8'd2},
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      32'd0,
      {20'd0, status.event_qp, qps},
      {27'd0, status.fault, status.has_fault, is_full},
      status.completed,
      status.posted,
      {26'd0, status.status, status.has_failed, status.is_refused, status.is_running},
      memory_bytes,
      slots,
      {8'd50, queue, width},
      {16'h1, 16'h5},
      32'h53574952
    };
    status_word = words[word*32+:32];
  endfunction

endpackage

`default_nettype wire
