//! Writes packets to a pcapng file (draft-ietf-opsawg-pcapng).
//!
//! A section of raw IP packets with timestamps in nanoseconds, on as many interfaces as the caller
//! names. IP and UDP headers are made up around each payload. Times come from the caller, so that
//! a simulator's virtual ones do as well as those of a clock.
//!
//! ```
//! use samplewire_io::Ecn;
//! use samplewire_io::pcapng::{Direction, PcapngPacket, PcapngWriter};
//!
//! let mut file = Vec::new();
//! let mut writer = PcapngWriter::new(&mut file, &["client"])?;
//! let packet = PcapngPacket {
//!     interface: 0,
//!     time_ns: 1_500,
//!     direction: Direction::Outbound,
//!     source: "10.0.0.1:40000".parse()?,
//!     destination: "10.0.0.2:40000".parse()?,
//!     ecn: Ecn::Ect0,
//!     wire_len_bytes: None,
//!     comment: "lost",
//! };
//! writer.packet(&packet, b"samples")?;
//! writer.flush()?;
//! assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
//! assert!(file.windows(7).any(|bytes| bytes == b"samples"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use crate::datagram::Headers;
use crate::link::Ecn;

/// Writes one section: its head, then packets and statistics in the order of the calls.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: u32,
}

/// What the file has of a packet besides its UDP payload.
#[derive(Clone, Copy, Debug)]
pub struct PcapngPacket<'a> {
    /// Which of the interfaces that [`PcapngWriter::new`] was given, from 0.
    pub interface: u32,
    /// Since the Unix epoch, or the start of a virtual clock, in nanoseconds.
    pub time_ns: u64,
    /// Whether it left or came.
    pub direction: Direction,
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it was to go. Addresses of different families are both written as IPv6.
    pub destination: SocketAddr,
    /// The ECN bits that it had at this point.
    pub ecn: Ecn,
    /// The length as an IP packet in bytes where it was longer than what is kept of it; readers
    /// show it as the frame's length. The headers count what is kept.
    pub wire_len_bytes: Option<u32>,
    /// Words about the packet, at most 65,535 bytes; none where empty.
    pub comment: &'a str,
}

/// Which way a packet crossed its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    /// It came.
    Inbound = 0b01,
    /// It left.
    Outbound = 0b10,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the head of the file. `interfaces` name the interfaces for people.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` when a name is longer than 65,535 bytes.
    pub fn new(out: W, interfaces: &[&str]) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: interfaces.len() as u32 };
        let mut section = Vec::new();
        section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        // The section's length is left open.
        section.extend(u64::MAX.to_le_bytes());
        append_option(&mut section, SHB_USERAPPL, b"samplewire")?;
        append_option(&mut section, END_OF_OPTIONS, b"")?;
        writer.block(SECTION_HEADER, &section)?;
        for name in interfaces {
            writer.describe_interface(LINKTYPE_RAW, name)?;
        }
        Ok(writer)
    }

    /// Adds an interface for [`PcapngWriter::frame`]; returns its number.
    ///
    /// # Errors
    /// As for [`PcapngWriter::new`].
    pub fn add_ethernet(&mut self, name: &str) -> io::Result<u32> {
        self.describe_interface(LINKTYPE_ETHERNET, name)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    fn describe_interface(&mut self, link_type: u16, name: &str) -> io::Result<()> {
        let mut description = Vec::new();
        description.extend(link_type.to_le_bytes());
        description.extend([0; 2]);
        // No limit on the length of a packet.
        description.extend([0; 4]);
        append_option(&mut description, IF_NAME, name.as_bytes())?;
        append_option(&mut description, IF_TSRESOL, &[NANOSECONDS])?;
        append_option(&mut description, END_OF_OPTIONS, b"")?;
        self.block(INTERFACE_DESCRIPTION, &description)
    }

    /// Writes a packet whose UDP payload is `payload`. Its checksums are right for these bytes.
    ///
    /// # Errors
    /// Those of `out`; `InvalidInput` when the comment or the payload is longer than its length
    /// field can say, and nothing was written.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn packet(&mut self, packet: &PcapngPacket<'_>, payload: &[u8]) -> io::Result<()> {
        let headers = Headers::new(packet.source, packet.destination, packet.ecn, &[payload]);
        let about = About {
            interface: packet.interface,
            time_ns: packet.time_ns,
            direction: packet.direction,
            wire_len_bytes: packet.wire_len_bytes,
            comment: packet.comment,
        };
        self.enhanced(&about, headers.as_bytes(), payload)
    }

    /// Writes a whole frame, without its FCS, on an interface that [`PcapngWriter::add_ethernet`] gave.
    ///
    /// # Errors
    /// As for [`PcapngWriter::packet`].
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn frame(
        &mut self,
        interface: u32,
        time_ns: u64,
        direction: Direction,
        frame: &[u8],
    ) -> io::Result<()> {
        let about = About { interface, time_ns, direction, wire_len_bytes: None, comment: "" };
        self.enhanced(&about, &[], frame)
    }

    fn enhanced(&mut self, packet: &About<'_>, headers: &[u8], payload: &[u8]) -> io::Result<()> {
        self.check_interface(packet.interface);
        let mut comment = Vec::new();
        if !packet.comment.is_empty() {
            append_option(&mut comment, OPT_COMMENT, packet.comment.as_bytes())?;
        }
        let len_bytes = headers.len() + payload.len();
        let padded_bytes = len_bytes.next_multiple_of(4);
        let total_bytes = PACKET_OVERHEAD_BYTES as usize + padded_bytes + comment.len();
        let Ok(total_bytes) = u32::try_from(total_bytes) else {
            return Err(too_long("packet", len_bytes));
        };
        let len_bytes = len_bytes as u32;
        let wire_len_bytes = packet.wire_len_bytes.map_or(len_bytes, |wire| wire.max(len_bytes));
        let [high, low] = halves(packet.time_ns);
        let fixed = [ENHANCED_PACKET, total_bytes, packet.interface, high, low];
        self.words(&fixed)?;
        self.words(&[len_bytes, wire_len_bytes])?;
        self.out.write_all(headers)?;
        self.out.write_all(payload)?;
        self.out.write_all(&[0; 3][..padded_bytes - len_bytes as usize])?;
        self.out.write_all(&comment)?;
        let flags_option = u32::from(EPB_FLAGS) | 4 << 16;
        let direction = packet.direction as u32;
        self.words(&[flags_option, direction, END_OF_OPTIONS.into(), total_bytes])
    }

    /// Writes how many packets crossed an interface between two times, and how many of them are
    /// missing in the file.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn statistics(
        &mut self,
        interface: u32,
        times_ns: RangeInclusive<u64>,
        packets: u64,
        skipped: u64,
    ) -> io::Result<()> {
        self.check_interface(interface);
        let (start_ns, end_ns) = times_ns.into_inner();
        let mut body = Vec::new();
        body.extend(interface.to_le_bytes());
        body.extend(halves(end_ns).map(u32::to_le_bytes).concat());
        for (code, time_ns) in [(ISB_STARTTIME, start_ns), (ISB_ENDTIME, end_ns)] {
            append_option(&mut body, code, &halves(time_ns).map(u32::to_le_bytes).concat())?;
        }
        append_option(&mut body, ISB_IFRECV, &packets.to_le_bytes())?;
        append_option(&mut body, ISB_IFDROP, &skipped.to_le_bytes())?;
        append_option(&mut body, END_OF_OPTIONS, b"")?;
        self.block(INTERFACE_STATISTICS, &body)
    }

    /// Flushes what it writes to.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn check_interface(&self, interface: u32) {
        assert!(interface < self.interfaces, "interface {interface} of {}", self.interfaces);
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let total_bytes = 12 + body.len() as u32;
        self.words(&[kind, total_bytes])?;
        self.out.write_all(body)?;
        self.words(&[total_bytes])
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.out.write_all(&word.to_le_bytes()))
    }
}

/// What a block has besides the packet's bytes.
struct About<'a> {
    interface: u32,
    time_ns: u64,
    direction: Direction,
    wire_len_bytes: Option<u32>,
    comment: &'a str,
}

fn append_option(body: &mut Vec<u8>, code: u16, value: &[u8]) -> io::Result<()> {
    let len_bytes = u16::try_from(value.len()).map_err(|_| too_long("option", value.len()))?;
    body.extend(code.to_le_bytes());
    body.extend(len_bytes.to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
    Ok(())
}

fn too_long(what: &str, len_bytes: usize) -> io::Error {
    let words = format!("{what} of {len_bytes} bytes is too long for pcapng");
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

/// A time as the format has it: high word first, each of them little endian.
fn halves(time_ns: u64) -> [u32; 2] {
    [(time_ns >> 32) as u32, time_ns as u32]
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Seven words, the flags option with its end, the closing length.
const PACKET_OVERHEAD_BYTES: u32 = 7 * 4 + 8 + 4 + 4;

/// IPv4 or IPv6, by the first four bits.
const LINKTYPE_RAW: u16 = 101;
const LINKTYPE_ETHERNET: u16 = 1;

const END_OF_OPTIONS: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

#[cfg(test)]
mod tests;
