//! The NIC's registers: byte offsets.
//!
//! Written by rtl/regs/generate.py from nic.toml; not edited by hand.

use super::{Access, Register};

/// enables
pub const CONTROL: u32 = 0x000;
/// frames are received and sent; takes effect between frames: its lowest bit
pub const CONTROL_ENABLE_SHIFT: u32 = 0;
/// frames are received and sent; takes effect between frames: its bits, shifted down
pub const CONTROL_ENABLE_MASK: u32 = 0x1;
/// the MAC is enabled: its lowest bit
pub const CONTROL_ENABLE_MAC_SHIFT: u32 = 1;
/// the MAC is enabled: its bits, shifted down
pub const CONTROL_ENABLE_MAC_MASK: u32 = 0x1;
/// interrupts are enabled: its lowest bit
pub const CONTROL_ENABLE_IRQ_SHIFT: u32 = 2;
/// interrupts are enabled: its bits, shifted down
pub const CONTROL_ENABLE_IRQ_MASK: u32 = 0x1;
/// servers
pub const SERVERS: u32 = 0x004;
/// the test modules of queues and memory, in builds that have them
pub const DEBUG_1: u32 = 0x008;
/// result of the test
pub const DEBUG_2: u32 = 0x00c;
/// results that were not as expected: its lowest bit
pub const DEBUG_2_DEBUG_MISMATCHES_SHIFT: u32 = 0;
/// results that were not as expected: its bits, shifted down
pub const DEBUG_2_DEBUG_MISMATCHES_MASK: u32 = 0xffff;
/// results that were checked: its lowest bit
pub const DEBUG_2_DEBUG_CHECKED_SHIFT: u32 = 16;
/// results that were checked: its bits, shifted down
pub const DEBUG_2_DEBUG_CHECKED_MASK: u32 = 0x7fff;
/// the test runs: its lowest bit
pub const DEBUG_2_DEBUG_BUSY_SHIFT: u32 = 31;
/// the test runs: its bits, shifted down
pub const DEBUG_2_DEBUG_BUSY_MASK: u32 = 0x1;
/// buffers in each queue
pub const DEPTH: u32 = 0x010;
/// receive queue of server 0
pub const RECEIVE_0: u32 = 0x020;
/// receive queue of server 0
pub const RECEIVE_LEVEL_0: u32 = 0x024;
/// receive queue of server 1
pub const RECEIVE_1: u32 = 0x028;
/// receive queue of server 1
pub const RECEIVE_LEVEL_1: u32 = 0x02c;
/// receive queue of server 2
pub const RECEIVE_2: u32 = 0x030;
/// receive queue of server 2
pub const RECEIVE_LEVEL_2: u32 = 0x034;
/// receive queue of server 3
pub const RECEIVE_3: u32 = 0x038;
/// receive queue of server 3
pub const RECEIVE_LEVEL_3: u32 = 0x03c;
/// transmit queue of server 0
pub const TRANSMIT_0: u32 = 0x040;
/// transmit queue of server 0
pub const TRANSMIT_LEVEL_0: u32 = 0x044;
/// transmit queue of server 1
pub const TRANSMIT_1: u32 = 0x048;
/// transmit queue of server 1
pub const TRANSMIT_LEVEL_1: u32 = 0x04c;
/// transmit queue of server 2
pub const TRANSMIT_2: u32 = 0x050;
/// transmit queue of server 2
pub const TRANSMIT_LEVEL_2: u32 = 0x054;
/// transmit queue of server 3
pub const TRANSMIT_3: u32 = 0x058;
/// transmit queue of server 3
pub const TRANSMIT_LEVEL_3: u32 = 0x05c;
/// free queue
pub const FREE: u32 = 0x060;
/// free queue
pub const FREE_LEVEL: u32 = 0x064;
/// lock of the free queue
pub const LOCK: u32 = 0x068;
/// last push of this port
pub const PUSH_RESULT: u32 = 0x06c;
/// first buffer
pub const BASE: u32 = 0x080;
/// size of buffers
pub const BUFFER_SIZE: u32 = 0x084;
/// number of buffers
pub const BUFFERS: u32 = 0x088;
/// address of buffers
pub const ADDRESS_HIGH: u32 = 0x08c;
/// received frames that are kept
pub const FILTER: u32 = 0x090;
/// mode
pub const MODE: u32 = 0x094;
/// longest lock
pub const LOCK_CYCLES: u32 = 0x098;
/// server of a received frame
pub const CHOICE: u32 = 0x09c;
/// data frames, for `choice` 2
pub const DATA_FRAMES: u32 = 0x0a0;
/// their EtherType: its lowest bit
pub const DATA_FRAMES_ETHERTYPE_SHIFT: u32 = 0;
/// their EtherType: its bits, shifted down
pub const DATA_FRAMES_ETHERTYPE_MASK: u32 = 0xffff;
/// or their UDP port: its lowest bit
pub const DATA_FRAMES_UDP_PORT_SHIFT: u32 = 16;
/// or their UDP port: its bits, shifted down
pub const DATA_FRAMES_UDP_PORT_MASK: u32 = 0xffff;
/// commands
pub const COMMAND: u32 = 0x0a4;
/// with a generator (nic_board): who is at the NIC and at the MAC
pub const ROUTE: u32 = 0x0a8;
/// beside a stream
pub const SHARE: u32 = 0x0ac;
/// our Ethernet address
pub const MAC_LO: u32 = 0x340;
/// our Ethernet address
pub const MAC_HI: u32 = 0x344;
/// frames sent
pub const PACKETS_TRANSMITTED: u32 = 0x348;
/// frames received
pub const PACKETS_RECEIVED: u32 = 0x34c;
/// status word
pub const STATUS: u32 = 0x350;
/// generator and checker; their settings change only while `generate_on` is 0
pub const GENERATOR: u32 = 0x354;
/// rises: counters are cleared, frames are sent; falls: stops behind a frame: its lowest bit
pub const GENERATOR_GENERATE_ON_SHIFT: u32 = 0;
/// rises: counters are cleared, frames are sent; falls: stops behind a frame: its bits, shifted down
pub const GENERATOR_GENERATE_ON_MASK: u32 = 0x1;
/// the checker expects the two addresses swapped: its lowest bit
pub const GENERATOR_SWAP_SHIFT: u32 = 1;
/// the checker expects the two addresses swapped: its bits, shifted down
pub const GENERATOR_SWAP_MASK: u32 = 0x1;
/// length of generated frames
pub const BYTES_MIN: u32 = 0x358;
/// length of generated frames
pub const BYTES_MAX: u32 = 0x35c;
/// length of generated frames
pub const BYTES_STEP: u32 = 0x360;
/// between generated frames
pub const GAP_CYCLES: u32 = 0x364;
/// number of generated frames
pub const FRAMES: u32 = 0x368;
/// destination of generated frames
pub const TO_LO: u32 = 0x36c;
/// destination of generated frames
pub const TO_HI: u32 = 0x370;
/// source of generated frames
pub const FROM_LO: u32 = 0x374;
/// source of generated frames, and their EtherType
pub const FROM_HI: u32 = 0x378;
/// its last two bytes: its lowest bit
pub const FROM_HI_FROM_SHIFT: u32 = 0;
/// its last two bytes: its bits, shifted down
pub const FROM_HI_FROM_MASK: u32 = 0xffff;
/// EtherType: its lowest bit
pub const FROM_HI_GENERATED_TYPE_SHIFT: u32 = 16;
/// EtherType: its bits, shifted down
pub const FROM_HI_GENERATED_TYPE_MASK: u32 = 0xffff;
/// generator
pub const GENERATED_FRAMES: u32 = 0x380;
/// generator
pub const GENERATED_BYTES_LO: u32 = 0x388;
/// generator
pub const GENERATED_BYTES_HI: u32 = 0x38c;
/// generator
pub const GENERATED_CYCLES_LO: u32 = 0x390;
/// generator
pub const GENERATED_CYCLES_HI: u32 = 0x394;
/// checker
pub const CHECKED_FRAMES: u32 = 0x398;
/// checker
pub const CHECKED_BYTES_LO: u32 = 0x3a0;
/// checker
pub const CHECKED_BYTES_HI: u32 = 0x3a4;
/// checker
pub const CHECKED_CYCLES_LO: u32 = 0x3a8;
/// checker
pub const CHECKED_CYCLES_HI: u32 = 0x3ac;
/// checker
pub const LOST: u32 = 0x3b0;
/// checker
pub const DUPLICATED: u32 = 0x3b8;
/// checker
pub const LATE: u32 = 0x3c0;
/// checker
pub const ALTERED: u32 = 0x3c8;
/// checker
pub const FOREIGN: u32 = 0x3d0;
/// checker, round trip
pub const TRIP_MIN: u32 = 0x3d8;
/// checker, round trip
pub const TRIP_MAX: u32 = 0x3e0;
/// checker, round trip
pub const TRIP_SUM_LO: u32 = 0x3e8;
/// checker, round trip
pub const TRIP_SUM_HI: u32 = 0x3ec;
/// free-running counter
pub const COUNTER: u32 = 0x3fc;

/// The window of counters: 64 bits each, the low word first.
pub const COUNTERS_WINDOW: u32 = 0x100;
/// What the window has, in order.
pub static COUNTERS: [&str; 29] = [
    "zero_0",
    "zero_1",
    "time",
    "zero_3",
    "received",
    "bad",
    "too_long",
    "filtered",
    "queue_full",
    "write_failed",
    "disabled",
    "sent",
    "bad_length",
    "read_failed",
    "bad_push",
    "full_push",
    "locked_op",
    "revoked",
    "refused",
    "mac_rx_dropped",
    "mac_tx_dropped",
    "mac_rx_bad",
    "attach_rx",
    "attach_rx_no_room",
    "attach_rx_cut",
    "attach_tx",
    "attach_tx_dropped",
    "write_back_failed",
    "failed_op",
];

/// All registers.
pub static REGISTERS: [Register; 72] = [
    Register::new("control", 0x000, Access::ReadWrite),
    Register::new("servers", 0x004, Access::ReadWrite),
    Register::new("debug_1", 0x008, Access::ReadWrite),
    Register::new("debug_2", 0x00c, Access::ReadOnly),
    Register::new("depth", 0x010, Access::ReadOnly),
    Register::new("receive_0", 0x020, Access::Queue),
    Register::new("receive_level_0", 0x024, Access::ReadOnly),
    Register::new("receive_1", 0x028, Access::Queue),
    Register::new("receive_level_1", 0x02c, Access::ReadOnly),
    Register::new("receive_2", 0x030, Access::Queue),
    Register::new("receive_level_2", 0x034, Access::ReadOnly),
    Register::new("receive_3", 0x038, Access::Queue),
    Register::new("receive_level_3", 0x03c, Access::ReadOnly),
    Register::new("transmit_0", 0x040, Access::Queue),
    Register::new("transmit_level_0", 0x044, Access::ReadOnly),
    Register::new("transmit_1", 0x048, Access::Queue),
    Register::new("transmit_level_1", 0x04c, Access::ReadOnly),
    Register::new("transmit_2", 0x050, Access::Queue),
    Register::new("transmit_level_2", 0x054, Access::ReadOnly),
    Register::new("transmit_3", 0x058, Access::Queue),
    Register::new("transmit_level_3", 0x05c, Access::ReadOnly),
    Register::new("free", 0x060, Access::Queue),
    Register::new("free_level", 0x064, Access::ReadOnly),
    Register::new("lock", 0x068, Access::Queue),
    Register::new("push_result", 0x06c, Access::ReadOnly),
    Register::new("base", 0x080, Access::ReadWrite),
    Register::new("buffer_size", 0x084, Access::ReadWrite),
    Register::new("buffers", 0x088, Access::ReadWrite),
    Register::new("address_high", 0x08c, Access::ReadWrite),
    Register::new("filter", 0x090, Access::ReadWrite),
    Register::new("mode", 0x094, Access::ReadWrite),
    Register::new("lock_cycles", 0x098, Access::ReadWrite),
    Register::new("choice", 0x09c, Access::ReadWrite),
    Register::new("data_frames", 0x0a0, Access::ReadWrite),
    Register::new("command", 0x0a4, Access::Pulse),
    Register::new("route", 0x0a8, Access::ReadWrite),
    Register::new("share", 0x0ac, Access::ReadWrite),
    Register::new("mac_lo", 0x340, Access::ReadWrite),
    Register::new("mac_hi", 0x344, Access::ReadWrite),
    Register::new("packets_transmitted", 0x348, Access::ReadOnly),
    Register::new("packets_received", 0x34c, Access::ReadOnly),
    Register::new("status", 0x350, Access::ReadOnly),
    Register::new("generator", 0x354, Access::ReadWrite),
    Register::new("bytes_min", 0x358, Access::ReadWrite),
    Register::new("bytes_max", 0x35c, Access::ReadWrite),
    Register::new("bytes_step", 0x360, Access::ReadWrite),
    Register::new("gap_cycles", 0x364, Access::ReadWrite),
    Register::new("frames", 0x368, Access::ReadWrite),
    Register::new("to_lo", 0x36c, Access::ReadWrite),
    Register::new("to_hi", 0x370, Access::ReadWrite),
    Register::new("from_lo", 0x374, Access::ReadWrite),
    Register::new("from_hi", 0x378, Access::ReadWrite),
    Register::new("generated_frames", 0x380, Access::ReadOnly),
    Register::new("generated_bytes_lo", 0x388, Access::ReadOnly),
    Register::new("generated_bytes_hi", 0x38c, Access::ReadOnly),
    Register::new("generated_cycles_lo", 0x390, Access::ReadOnly),
    Register::new("generated_cycles_hi", 0x394, Access::ReadOnly),
    Register::new("checked_frames", 0x398, Access::ReadOnly),
    Register::new("checked_bytes_lo", 0x3a0, Access::ReadOnly),
    Register::new("checked_bytes_hi", 0x3a4, Access::ReadOnly),
    Register::new("checked_cycles_lo", 0x3a8, Access::ReadOnly),
    Register::new("checked_cycles_hi", 0x3ac, Access::ReadOnly),
    Register::new("lost", 0x3b0, Access::ReadOnly),
    Register::new("duplicated", 0x3b8, Access::ReadOnly),
    Register::new("late", 0x3c0, Access::ReadOnly),
    Register::new("altered", 0x3c8, Access::ReadOnly),
    Register::new("foreign", 0x3d0, Access::ReadOnly),
    Register::new("trip_min", 0x3d8, Access::ReadOnly),
    Register::new("trip_max", 0x3e0, Access::ReadOnly),
    Register::new("trip_sum_lo", 0x3e8, Access::ReadOnly),
    Register::new("trip_sum_hi", 0x3ec, Access::ReadOnly),
    Register::new("counter", 0x3fc, Access::ReadOnly),
];
