//! Configuring the sender of samples: the sequence of `rtl/sim/driver.cpp`.

use crate::bus::Bus;
use crate::regs::sender as regs;

/// What the sender is configured with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub ip: [u8; 4],
    /// Its UDP port.
    pub port: u16,
    /// Channels, 1 or more.
    pub channels: u16,
    /// Payload of a packet: a multiple of the bus's width.
    pub payload_bytes: u32,
    /// Samples a second.
    pub rate_hz: u64,
    /// Where samples come from.
    pub source: Source,
    /// Rate of a counter, in 2^-16 bytes a nanosecond; 0: as fast as they leave.
    pub source_rate_q: u32,
    /// The line, in Gb/s.
    pub line_gbps: u32,
    /// Pace in 2^-16 bytes a nanosecond.
    pub pace_bytes_per_ns_q: u32,
    /// After so many milliseconds without samples it reports.
    pub idle_ms: u16,
    /// After so many milliseconds without a word of the receiver it closes the stream.
    pub dead_ms: u16,
    /// How far a receiver's clock may be off, in 16 ns.
    pub tolerance_16ns: u32,
    /// A number that differs from that of the last start.
    pub boot_id: u64,
    /// The secret of the tags: random bits.
    pub secret: [u64; 2],
    /// How many samples the gate of the converter lets through; 0: no end.
    pub gate_samples: u64,
    /// The name of the source.
    pub name: &'a str,
}

/// Where the samples of a sender come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The converter's port.
    Converter = 1,
    /// A counter of bytes.
    Bytes = 2,
    /// A counter of words of 64 bits.
    Words = 3,
}

/// Why the sender is not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// No sender is at its registers.
    NoSender,
    /// It is enabled: another program has configured it, or this one before a restart.
    Enabled,
    /// The payload is longer than a slot, or no multiple of the width.
    Payload,
    /// The name is longer than [`NAME_BYTES_MAX`].
    Name,
}

impl SetupError {
    /// In words, as a line.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::NoSender => "sender: none\n",
            Self::Enabled => "sender: up already\n",
            Self::Payload => "sender: the payload does not fit\n",
            Self::Name => "sender: the name is too long\n",
        }
    }
}

/// The addresses of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub ip: [u8; 4],
}

impl Addresses {
    /// Those of a sender that another program has enabled; none if no sender is enabled.
    pub fn of_sender(bus: impl Bus) -> Option<Self> {
        let is_enabled = bus.read_sender(regs::ID) == regs::ID_VALUE
            && bus.read_sender(regs::CONTROL) >> regs::CONTROL_ENABLE_SHIFT
                & regs::CONTROL_ENABLE_MASK
                != 0;
        is_enabled.then(|| {
            let [m2, m3, m4, m5] = bus.read_sender(regs::MAC_LO).to_be_bytes();
            let [_, _, m0, m1] = bus.read_sender(regs::MAC_HI).to_be_bytes();
            Self { mac: [m0, m1, m2, m3, m4, m5], ip: bus.read_sender(regs::IP).to_be_bytes() }
        })
    }
}

/// Configures and enables the sender.
///
/// # Errors
/// See [`SetupError`]. Nothing has been written then.
pub fn configure(bus: impl Bus, setup: &Setup<'_>) -> Result<(), SetupError> {
    if bus.read_sender(regs::ID) != regs::ID_VALUE {
        return Err(SetupError::NoSender);
    }
    let enable = regs::CONTROL_ENABLE_MASK << regs::CONTROL_ENABLE_SHIFT;
    if bus.read_sender(regs::CONTROL) & enable != 0 {
        return Err(SetupError::Enabled);
    }
    let geometry = bus.read_sender(regs::GEOMETRY);
    let beat_bytes = (geometry & regs::GEOMETRY_WIDTH_MASK) / 8;
    let slot_bytes = geometry >> regs::GEOMETRY_SLOT_BYTES_SHIFT;
    if setup.payload_bytes > slot_bytes || !setup.payload_bytes.is_multiple_of(beat_bytes) {
        return Err(SetupError::Payload);
    }
    if setup.name.len() > NAME_BYTES_MAX {
        return Err(SetupError::Name);
    }
    let [m0, m1, m2, m3, m4, m5] = setup.mac;
    bus.write_sender(regs::MAC_LO, u32::from_be_bytes([m2, m3, m4, m5]));
    bus.write_sender(regs::MAC_HI, u32::from_be_bytes([0, 0, m0, m1]));
    bus.write_sender(regs::IP, u32::from_be_bytes(setup.ip));
    bus.write_sender(regs::PORT, u32::from(setup.port));
    bus.write_sender(regs::PAYLOAD, setup.payload_bytes);
    bus.write_sender(regs::PACE_RATE, setup.pace_bytes_per_ns_q);
    write_line(bus, setup.line_gbps);
    bus.write_sender(
        regs::SILENCE,
        u32::from(setup.idle_ms) << regs::SILENCE_IDLE_MS_SHIFT | u32::from(setup.dead_ms),
    );
    write64(bus, regs::BOOT_LO, setup.boot_id);
    write64(bus, regs::SECRET_0, setup.secret[0]);
    write64(bus, regs::SECRET_2, setup.secret[1]);
    bus.write_sender(regs::SOURCE_RATE, setup.source_rate_q);
    write_accept(bus, setup, beat_bytes);
    // The time of samples is unknown; a reset leaves what another program wrote.
    bus.write_sender(regs::TAI_NUMBER, 0);
    write64(bus, regs::SOURCE_COUNT_LO, setup.gate_samples);
    bus.write_sender(regs::COMMAND, regs::COMMAND_GATE_OPEN_MASK << regs::COMMAND_GATE_OPEN_SHIFT);
    bus.write_sender(regs::CONTROL, enable | (setup.source as u32) << regs::CONTROL_SOURCE_SHIFT);
    Ok(())
}

/// The preset `samplewire` of `docs/congestion.md`: a faster line begins as 512 bits do.
fn write_line(bus: impl Bus, line_gbps: u32) {
    let is_slow = line_gbps <= 20;
    let of = |slow, wide| if is_slow { slow } else { wide };
    bus.write_sender(regs::RISE_BYTES, of(regs::RISE_BYTES_RESET, regs::RISE_BYTES_RESET_WIDE));
    bus.write_sender(
        regs::RATE_ADDITIVE,
        of(regs::RATE_ADDITIVE_RESET, regs::RATE_ADDITIVE_RESET_WIDE),
    );
    bus.write_sender(regs::RATE_HYPER, of(regs::RATE_HYPER_RESET, regs::RATE_HYPER_RESET_WIDE));
    // After each write the others are to be at most `rate_line`.
    let rate = line_gbps * GBPS;
    let is_faster = rate >= bus.read_sender(regs::RATE_LINE);
    if is_faster {
        bus.write_sender(regs::RATE_LINE, rate);
    }
    bus.write_sender(regs::RATE_FIRST_CUT, rate);
    bus.write_sender(regs::RATE_START, rate);
    if !is_faster {
        bus.write_sender(regs::RATE_LINE, rate);
    }
}

/// Body of an ACCEPT, `docs/protocol.md#2.15`, as the words of the window `template`.
fn write_accept(bus: impl Bus, setup: &Setup<'_>, beat_bytes: u32) {
    let packet_samples = setup.payload_bytes / (4 * u32::from(setup.channels));
    let window_packets = bus.read_sender(regs::SLOTS);
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let mut words = [0; TEMPLATE_WORDS];
    // 0 and 1 are the board's: the nonce; the tag, stream 0 of 1. 8 is the time of the index, the board's too.
    words[1] = 1;
    words[2] = setup.boot_id;
    words[3] = setup.rate_hz;
    words[4] = pair(1, FORMAT_SC16 << 16 | u32::from(setup.channels));
    words[5] = pair(packet_samples, setup.payload_bytes << 16 | PAYLOAD_OFFSET << 8);
    words[6] = pair(window_packets, setup.tolerance_16ns);
    words[7] = pair(
        u32::from(setup.dead_ms) << 16 | u32::from(setup.idle_ms),
        RANGES_MAX << 16 | beat_bytes,
    );
    let name = setup.name.as_bytes();
    let mut tlv = [0; TLV_BYTES];
    tlv[1] = TLV_NAME;
    tlv[3] = name.len() as u8;
    tlv[4..4 + name.len()].copy_from_slice(name);
    let used = FIXED_WORDS + (4 + name.len()).div_ceil(8);
    for (word, bytes) in words[FIXED_WORDS..].iter_mut().zip(tlv.chunks_exact(8)) {
        let (bytes, _) = bytes.split_first_chunk().expect("chunks of eight bytes");
        *word = u64::from_be_bytes(*bytes);
    }
    let mut at = regs::TEMPLATE_WINDOW;
    for word in &words[..used] {
        write64(bus, at, *word);
        at += 8;
    }
    bus.write_sender(regs::TEMPLATE_WORDS, used as u32);
}

fn write64(bus: impl Bus, offset: u32, value: u64) {
    bus.write_sender(offset, value as u32);
    bus.write_sender(offset + 4, (value >> 32) as u32);
}

/// The longest name.
pub const NAME_BYTES_MAX: usize = TLV_BYTES - 4;

const TLV_BYTES: usize = 64;
const FIXED_WORDS: usize = 9;
const TEMPLATE_WORDS: usize = FIXED_WORDS + TLV_BYTES / 8;
const RANGES_MAX: u32 = 32;
const FORMAT_SC16: u32 = 2;
const PAYLOAD_OFFSET: u32 = 22;
const TLV_NAME: u8 = 2;
/// In 2^-16 bytes a nanosecond.
const GBPS: u32 = 8192;
