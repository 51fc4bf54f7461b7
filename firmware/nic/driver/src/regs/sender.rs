//! The sender's registers: byte offsets.
//!
//! Written by rtl/regs/generate.py from common.toml, congestion.toml and tx.toml; not edited by hand.

use super::{Access, Register};

/// identity
pub const ID: u32 = 0x000;
/// version of this map
pub const VERSION: u32 = 0x004;
/// rises when registers are added: its lowest bit
pub const VERSION_MINOR_SHIFT: u32 = 0;
/// rises when registers are added: its bits, shifted down
pub const VERSION_MINOR_MASK: u32 = 0xffff;
/// rises when registers change: its lowest bit
pub const VERSION_MAJOR_SHIFT: u32 = 16;
/// rises when registers change: its bits, shifted down
pub const VERSION_MAJOR_MASK: u32 = 0xffff;
/// parameters of the build
pub const GEOMETRY: u32 = 0x008;
/// `W`: its lowest bit
pub const GEOMETRY_WIDTH_SHIFT: u32 = 0;
/// `W`: its bits, shifted down
pub const GEOMETRY_WIDTH_MASK: u32 = 0xffff;
/// largest payload: its lowest bit
pub const GEOMETRY_SLOT_BYTES_SHIFT: u32 = 16;
/// largest payload: its bits, shifted down
pub const GEOMETRY_SLOT_BYTES_MASK: u32 = 0xffff;
/// parameters of the build
pub const SLOTS: u32 = 0x00c;
/// parameters of the build
pub const CAPABILITY: u32 = 0x010;
/// requested ranges that may wait: its lowest bit
pub const CAPABILITY_NACK_DEPTH_SHIFT: u32 = 0;
/// requested ranges that may wait: its bits, shifted down
pub const CAPABILITY_NACK_DEPTH_MASK: u32 = 0xffff;
/// channels of the converter: its lowest bit
pub const CAPABILITY_CHANNELS_SHIFT: u32 = 16;
/// channels of the converter: its bits, shifted down
pub const CAPABILITY_CHANNELS_MASK: u32 = 0xff;
/// entries of the window `counters`: its lowest bit
pub const CAPABILITY_COUNTERS_SHIFT: u32 = 24;
/// entries of the window `counters`: its bits, shifted down
pub const CAPABILITY_COUNTERS_MASK: u32 = 0xff;
/// state of the stream
pub const STATE: u32 = 0x014;
/// 0 idle, 1 opening, 2 flowing, 3 closing, 4 ended: its lowest bit
pub const STATE_STATE_SHIFT: u32 = 0;
/// 0 idle, 1 opening, 2 flowing, 3 closing, 4 ended: its bits, shifted down
pub const STATE_STATE_MASK: u32 = 0x7;
/// a stream is open; `stream_tag`, `peer_ip` and `peer_port` are its own: its lowest bit
pub const STATE_STREAM_TAG_VALID_SHIFT: u32 = 3;
/// a stream is open; `stream_tag`, `peer_ip` and `peer_port` are its own: its bits, shifted down
pub const STATE_STREAM_TAG_VALID_MASK: u32 = 0x1;
/// the gate waits for its first index, or for the end of the one that is open: its lowest bit
pub const STATE_GATE_ARMED_SHIFT: u32 = 4;
/// the gate waits for its first index, or for the end of the one that is open: its bits, shifted down
pub const STATE_GATE_ARMED_MASK: u32 = 0x1;
/// `sync_set` or `sync_latch` waits for a sync edge; low: what the edge gave is counted: its lowest bit
pub const STATE_SYNC_ARMED_SHIFT: u32 = 5;
/// `sync_set` or `sync_latch` waits for a sync edge; low: what the edge gave is counted: its bits, shifted down
pub const STATE_SYNC_ARMED_MASK: u32 = 0x1;
/// sync edges that set or latched the index; wraps: its lowest bit
pub const STATE_SYNC_COUNT_SHIFT: u32 = 6;
/// sync edges that set or latched the index; wraps: its bits, shifted down
pub const STATE_SYNC_COUNT_MASK: u32 = 0xff;
/// tag of the stream
pub const STREAM_TAG: u32 = 0x018;
/// the opener
pub const PEER_IP: u32 = 0x01c;
/// the opener, and the ring
pub const PEER_PORT: u32 = 0x020;
/// UDP port: its lowest bit
pub const PEER_PORT_PEER_PORT_SHIFT: u32 = 0;
/// UDP port: its bits, shifted down
pub const PEER_PORT_PEER_PORT_MASK: u32 = 0xffff;
/// next less oldest: its lowest bit
pub const PEER_PORT_RING_FILL_SHIFT: u32 = 16;
/// next less oldest: its bits, shifted down
pub const PEER_PORT_RING_FILL_MASK: u32 = 0xffff;
/// window
pub const OLDEST: u32 = 0x024;
/// window
pub const SENT: u32 = 0x028;
/// window
pub const NEXT: u32 = 0x02c;
/// window
pub const LIMIT: u32 = 0x030;
/// round-trip time
pub const RTT: u32 = 0x034;
/// feedback
pub const REPORT_NUMBER: u32 = 0x038;
/// the core whose block this is
pub const CORE: u32 = 0x03c;
/// congestion control
pub const RATE: u32 = 0x040;
/// congestion control
pub const RATE_TARGET: u32 = 0x044;
/// congestion control
pub const ALPHA: u32 = 0x048;
/// ring of events
pub const EVENT_COUNT: u32 = 0x04c;
/// the entry `event_index`
pub const EVENT_TIME_LO: u32 = 0x050;
/// the entry `event_index`
pub const EVENT_TIME_HI: u32 = 0x054;
/// bits 44:32 of the time: its lowest bit
pub const EVENT_TIME_HI_EVENT_TIME_HI_SHIFT: u32 = 0;
/// bits 44:32 of the time: its bits, shifted down
pub const EVENT_TIME_HI_EVENT_TIME_HI_MASK: u32 = 0x1fff;
/// 0 start of a stream, 1 timer, 2 byte counter, 3 cut, 4 notification within the interval of a cut: ignored: its lowest bit
pub const EVENT_TIME_HI_EVENT_CAUSE_SHIFT: u32 = 13;
/// 0 start of a stream, 1 timer, 2 byte counter, 3 cut, 4 notification within the interval of a cut: ignored: its bits, shifted down
pub const EVENT_TIME_HI_EVENT_CAUSE_MASK: u32 = 0x7;
/// the entry `event_index`
pub const EVENT_RATE: u32 = 0x058;
/// acts
pub const COMMAND: u32 = 0x080;
/// copies all counters, as of one cycle; reads wait until it is done: its lowest bit
pub const COMMAND_SNAPSHOT_SHIFT: u32 = 0;
/// copies all counters, as of one cycle; reads wait until it is done: its bits, shifted down
pub const COMMAND_SNAPSHOT_MASK: u32 = 0x1;
/// ends the stream in order: its lowest bit
pub const COMMAND_CLOSE_SHIFT: u32 = 1;
/// ends the stream in order: its bits, shifted down
pub const COMMAND_CLOSE_MASK: u32 = 0x1;
/// arms the gate: it opens at `source_index` for `source_count` samples; replaces one that is armed: its lowest bit
pub const COMMAND_GATE_OPEN_SHIFT: u32 = 2;
/// arms the gate: it opens at `source_index` for `source_count` samples; replaces one that is armed: its bits, shifted down
pub const COMMAND_GATE_OPEN_MASK: u32 = 0x1;
/// cancels an armed gate, and closes an open one behind the next word; comes before `gate_open` of the same write: its lowest bit
pub const COMMAND_GATE_CLOSE_SHIFT: u32 = 3;
/// cancels an armed gate, and closes an open one behind the next word; comes before `gate_open` of the same write: its bits, shifted down
pub const COMMAND_GATE_CLOSE_MASK: u32 = 0x1;
/// the next sync edge sets the index to `source_index`, and reports it as `sync_latch` does; replaces an armed `sync_latch`: its lowest bit
pub const COMMAND_SYNC_SET_SHIFT: u32 = 4;
/// the next sync edge sets the index to `source_index`, and reports it as `sync_latch` does; replaces an armed `sync_latch`: its bits, shifted down
pub const COMMAND_SYNC_SET_MASK: u32 = 0x1;
/// the next sync edge latches index and time: `counters` 0 and 1; replaces an armed `sync_set`: its lowest bit
pub const COMMAND_SYNC_LATCH_SHIFT: u32 = 5;
/// the next sync edge latches index and time: `counters` 0 and 1; replaces an armed `sync_set`: its bits, shifted down
pub const COMMAND_SYNC_LATCH_MASK: u32 = 0x1;
/// disarms `sync_set` and `sync_latch`: its lowest bit
pub const COMMAND_SYNC_CANCEL_SHIFT: u32 = 6;
/// disarms `sync_set` and `sync_latch`: its bits, shifted down
pub const COMMAND_SYNC_CANCEL_MASK: u32 = 0x1;
/// on and off; cleared by rst_i
pub const CONTROL: u32 = 0x084;
/// answers openings: its lowest bit
pub const CONTROL_ENABLE_SHIFT: u32 = 0;
/// answers openings: its bits, shifted down
pub const CONTROL_ENABLE_MASK: u32 = 0x1;
/// 0 none, 1 near, 2 far: its lowest bit
pub const CONTROL_LOOPBACK_SHIFT: u32 = 1;
/// 0 none, 1 near, 2 far: its bits, shifted down
pub const CONTROL_LOOPBACK_MASK: u32 = 0x3;
/// 0 off, 1 converter, 2 counter of bytes, 3 counter of 64-bit words; a write that changes it while a stream is open is refused whole: its lowest bit
pub const CONTROL_SOURCE_SHIFT: u32 = 3;
/// 0 off, 1 converter, 2 counter of bytes, 3 counter of 64-bit words; a write that changes it while a stream is open is refused whole: its bits, shifted down
pub const CONTROL_SOURCE_MASK: u32 = 0x3;
/// our Ethernet address
pub const MAC_LO: u32 = 0x088;
/// our Ethernet address
pub const MAC_HI: u32 = 0x08c;
/// our address
pub const IP: u32 = 0x090;
/// our port
pub const PORT: u32 = 0x094;
/// size of a packet; read at an opening
pub const PAYLOAD: u32 = 0x098;
/// pacer
pub const PACE_RATE: u32 = 0x09c;
/// pacer
pub const PACE_BURST: u32 = 0x0a0;
/// timers, as the template of ACCEPT says them (docs/protocol.md#7.7)
pub const SILENCE: u32 = 0x0a4;
/// a peer that is silent for longer is dead: its lowest bit
pub const SILENCE_DEAD_MS_SHIFT: u32 = 0;
/// a peer that is silent for longer is dead: its bits, shifted down
pub const SILENCE_DEAD_MS_MASK: u32 = 0xffff;
/// between MARKs of an idle stream: its lowest bit
pub const SILENCE_IDLE_MS_SHIFT: u32 = 16;
/// between MARKs of an idle stream: its bits, shifted down
pub const SILENCE_IDLE_MS_MASK: u32 = 0xffff;
/// ACCEPT
pub const TEMPLATE_WORDS: u32 = 0x0a8;
/// boot id
pub const BOOT_LO: u32 = 0x0ac;
/// boot id
pub const BOOT_HI: u32 = 0x0b0;
/// key of the cookie
pub const SECRET_0: u32 = 0x0b4;
/// key of the cookie
pub const SECRET_1: u32 = 0x0b8;
/// key of the cookie
pub const SECRET_2: u32 = 0x0bc;
/// key of the cookie
pub const SECRET_3: u32 = 0x0c0;
/// converter
pub const SOURCE_INDEX_LO: u32 = 0x0c4;
/// converter
pub const SOURCE_INDEX_HI: u32 = 0x0c8;
/// converter
pub const SOURCE_COUNT_LO: u32 = 0x0cc;
/// converter
pub const SOURCE_COUNT_HI: u32 = 0x0d0;
/// test source
pub const SOURCE_RATE: u32 = 0x0d4;
/// for the software's own use
pub const SCRATCH: u32 = 0x0d8;
/// ring of events
pub const EVENT_INDEX: u32 = 0x0dc;
/// TAI of samples
pub const TAI_INDEX_LO: u32 = 0x0e0;
/// TAI of samples
pub const TAI_INDEX_HI: u32 = 0x0e4;
/// TAI of samples
pub const TAI_TIME_LO: u32 = 0x0e8;
/// TAI of samples
pub const TAI_TIME_HI: u32 = 0x0ec;
/// TAI of samples
pub const TAI_PERIOD_LO: u32 = 0x0f0;
/// TAI of samples
pub const TAI_PERIOD_HI: u32 = 0x0f4;
/// TAI of samples
pub const TAI_NUMBER: u32 = 0x0f8;
/// congestion control
pub const RATE_CONTROL: u32 = 0x100;
/// 0 none, 1 fixed: departures keep to `rate_start`, 2 dcqcn: its lowest bit
pub const RATE_CONTROL_RATE_MODE_SHIFT: u32 = 0;
/// 0 none, 1 fixed: departures keep to `rate_start`, 2 dcqcn: its bits, shifted down
pub const RATE_CONTROL_RATE_MODE_MASK: u32 = 0x3;
/// g is 2^-this; 1 to 16: its lowest bit
pub const RATE_CONTROL_GAIN_SHIFT_SHIFT: u32 = 2;
/// g is 2^-this; 1 to 16: its bits, shifted down
pub const RATE_CONTROL_GAIN_SHIFT_MASK: u32 = 0x1f;
/// F; 1 or more: its lowest bit
pub const RATE_CONTROL_RECOVERY_STAGES_SHIFT: u32 = 7;
/// F; 1 or more: its bits, shifted down
pub const RATE_CONTROL_RECOVERY_STAGES_MASK: u32 = 0x1f;
/// congestion control
pub const ALPHA_PERIOD: u32 = 0x104;
/// congestion control
pub const RISE_PERIOD: u32 = 0x108;
/// congestion control
pub const CUT_INTERVAL: u32 = 0x10c;
/// congestion control
pub const RISE_BYTES: u32 = 0x110;
/// congestion control
pub const RATE_ADDITIVE: u32 = 0x114;
/// congestion control
pub const RATE_HYPER: u32 = 0x118;
/// congestion control
pub const RATE_MINIMUM: u32 = 0x11c;
/// congestion control
pub const RATE_START: u32 = 0x120;
/// congestion control
pub const RATE_FIRST_CUT: u32 = 0x124;
/// congestion control
pub const RATE_LINE: u32 = 0x128;
/// What `id` reads.
pub const ID_VALUE: u32 = 0x53574952;
/// `rise_bytes` before it is written
pub const RISE_BYTES_RESET: u32 = 1000000;
/// `rise_bytes` before it is written, at W = 512
pub const RISE_BYTES_RESET_WIDE: u32 = 2000000;
/// `rate_additive` before it is written
pub const RATE_ADDITIVE_RESET: u32 = 41;
/// `rate_additive` before it is written, at W = 512
pub const RATE_ADDITIVE_RESET_WIDE: u32 = 82;
/// `rate_hyper` before it is written
pub const RATE_HYPER_RESET: u32 = 819;
/// `rate_hyper` before it is written, at W = 512
pub const RATE_HYPER_RESET_WIDE: u32 = 1638;
/// `rate_start` before it is written
pub const RATE_START_RESET: u32 = 81920;
/// `rate_start` before it is written, at W = 512
pub const RATE_START_RESET_WIDE: u32 = 819200;
/// `rate_first_cut` before it is written
pub const RATE_FIRST_CUT_RESET: u32 = 81920;
/// `rate_first_cut` before it is written, at W = 512
pub const RATE_FIRST_CUT_RESET_WIDE: u32 = 819200;
/// `rate_line` before it is written
pub const RATE_LINE_RESET: u32 = 81920;
/// `rate_line` before it is written, at W = 512
pub const RATE_LINE_RESET_WIDE: u32 = 819200;

/// The window of counters: 64 bits each, the low word first.
pub const COUNTERS_WINDOW: u32 = 0x200;
/// What the window has, in order.
pub static COUNTERS: [&str; 45] = [
    "sync_index",
    "sync_time",
    "time",
    "samples_lost",
    "packets",
    "retransmissions",
    "marks",
    "control_frames",
    "budget_stalls",
    "requests_refused",
    "requests_skipped",
    "reports",
    "reports_refused",
    "congestion",
    "cuts",
    "overflows",
    "opens",
    "challenged",
    "accepted",
    "refused",
    "takeovers",
    "ended_by_peer",
    "ended_finished",
    "ended_silent",
    "ended_broken",
    "ended_half_open",
    "unknown",
    "frames_received",
    "frames_bad",
    "frames_runt",
    "frames_oversize",
    "frames_foreign",
    "fragments",
    "ip_checksum",
    "udp_checksum",
    "lengths",
    "corrupted",
    "malformed",
    "no_room",
    "arp_replies",
    "icmp_replies",
    "replies_suppressed",
    "mac_tx_dropped",
    "mac_rx_dropped",
    "writes_refused",
];
/// body of ACCEPT from its offset 0 (docs/protocol.md#2.15): low half at 8 n; the first byte on the wire in the highest bits
pub const TEMPLATE_WINDOW: u32 = 0x400;

/// All registers.
pub static REGISTERS: [Register; 65] = [
    Register::new("id", 0x000, Access::ReadOnly),
    Register::new("version", 0x004, Access::ReadOnly),
    Register::new("geometry", 0x008, Access::ReadOnly),
    Register::new("slots", 0x00c, Access::ReadOnly),
    Register::new("capability", 0x010, Access::ReadOnly),
    Register::new("state", 0x014, Access::ReadOnly),
    Register::new("stream_tag", 0x018, Access::ReadOnly),
    Register::new("peer_ip", 0x01c, Access::ReadOnly),
    Register::new("peer_port", 0x020, Access::ReadOnly),
    Register::new("oldest", 0x024, Access::ReadOnly),
    Register::new("sent", 0x028, Access::ReadOnly),
    Register::new("next", 0x02c, Access::ReadOnly),
    Register::new("limit", 0x030, Access::ReadOnly),
    Register::new("rtt", 0x034, Access::ReadOnly),
    Register::new("report_number", 0x038, Access::ReadOnly),
    Register::new("core", 0x03c, Access::ReadOnly),
    Register::new("rate", 0x040, Access::ReadOnly),
    Register::new("rate_target", 0x044, Access::ReadOnly),
    Register::new("alpha", 0x048, Access::ReadOnly),
    Register::new("event_count", 0x04c, Access::ReadOnly),
    Register::new("event_time_lo", 0x050, Access::ReadOnly),
    Register::new("event_time_hi", 0x054, Access::ReadOnly),
    Register::new("event_rate", 0x058, Access::ReadOnly),
    Register::new("command", 0x080, Access::Pulse),
    Register::new("control", 0x084, Access::ReadWrite),
    Register::new("mac_lo", 0x088, Access::ReadWrite),
    Register::new("mac_hi", 0x08c, Access::ReadWrite),
    Register::new("ip", 0x090, Access::ReadWrite),
    Register::new("port", 0x094, Access::ReadWrite),
    Register::new("payload", 0x098, Access::ReadWrite),
    Register::new("pace_rate", 0x09c, Access::ReadWrite),
    Register::new("pace_burst", 0x0a0, Access::ReadWrite),
    Register::new("silence", 0x0a4, Access::ReadWrite),
    Register::new("template_words", 0x0a8, Access::ReadWrite),
    Register::new("boot_lo", 0x0ac, Access::ReadWrite),
    Register::new("boot_hi", 0x0b0, Access::ReadWrite),
    Register::new("secret_0", 0x0b4, Access::WriteOnly),
    Register::new("secret_1", 0x0b8, Access::WriteOnly),
    Register::new("secret_2", 0x0bc, Access::WriteOnly),
    Register::new("secret_3", 0x0c0, Access::WriteOnly),
    Register::new("source_index_lo", 0x0c4, Access::ReadWrite),
    Register::new("source_index_hi", 0x0c8, Access::ReadWrite),
    Register::new("source_count_lo", 0x0cc, Access::ReadWrite),
    Register::new("source_count_hi", 0x0d0, Access::ReadWrite),
    Register::new("source_rate", 0x0d4, Access::ReadWrite),
    Register::new("scratch", 0x0d8, Access::ReadWrite),
    Register::new("event_index", 0x0dc, Access::ReadWrite),
    Register::new("tai_index_lo", 0x0e0, Access::ReadWrite),
    Register::new("tai_index_hi", 0x0e4, Access::ReadWrite),
    Register::new("tai_time_lo", 0x0e8, Access::ReadWrite),
    Register::new("tai_time_hi", 0x0ec, Access::ReadWrite),
    Register::new("tai_period_lo", 0x0f0, Access::ReadWrite),
    Register::new("tai_period_hi", 0x0f4, Access::ReadWrite),
    Register::new("tai_number", 0x0f8, Access::ReadWrite),
    Register::new("rate_control", 0x100, Access::ReadWrite),
    Register::new("alpha_period", 0x104, Access::ReadWrite),
    Register::new("rise_period", 0x108, Access::ReadWrite),
    Register::new("cut_interval", 0x10c, Access::ReadWrite),
    Register::new("rise_bytes", 0x110, Access::ReadWrite),
    Register::new("rate_additive", 0x114, Access::ReadWrite),
    Register::new("rate_hyper", 0x118, Access::ReadWrite),
    Register::new("rate_minimum", 0x11c, Access::ReadWrite),
    Register::new("rate_start", 0x120, Access::ReadWrite),
    Register::new("rate_first_cut", 0x124, Access::ReadWrite),
    Register::new("rate_line", 0x128, Access::ReadWrite),
];
