//! Reads captures, pcapng and pcap, as a sequence of frames.
//!
//! A block states its length, is read whole, and is parsed by `pcap-parser`. The readers of that
//! crate are not used, since they hide the position and the cause of an error. The reader holds one
//! block of at most [`BLOCK_BYTES_MAX`], and a word for each interface that the file describes.

use std::io::{self, Read};

use pcap_parser::nom::IResult;
use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, SimplePacketBlock, parse_block_be,
    parse_block_le,
};
use pcap_parser::{
    Block, LegacyPcapBlock, PcapError, PcapHeader, parse_pcap_frame, parse_pcap_frame_be,
    parse_pcap_frame_modified, parse_pcap_header,
};

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// From 1, as Wireshark counts.
    pub(super) number: u64,
    /// Since the Unix epoch or the start of a virtual clock, if the file states it.
    pub(super) time_ns: Option<u64>,
    /// The type of the first header: <https://www.tcpdump.org/linktypes.html>.
    pub(super) link_type: u16,
    /// The captured bytes of the frame.
    pub(super) bytes: &'a [u8],
    /// The length of the whole frame, at least that of the captured bytes.
    pub(super) len_bytes: usize,
}

/// Why a capture cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// A read failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file has another format.
    #[error("neither pcapng nor pcap: it begins with {first:02x?}")]
    Foreign {
        /// Its first bytes.
        first: [u8; 4],
    },
    /// The file ends within a block.
    #[error("after frame {frames} the file ends within a block that begins at byte {at}")]
    Cut { frames: u64, at: u64 },
    /// The length of a block is out of range.
    #[error("after frame {frames} the block at byte {at} says that it has {len} bytes")]
    Length { frames: u64, at: u64, len: u32 },
    /// The content of a block does not match its type.
    #[error("after frame {frames} the block at byte {at} is malformed")]
    Malformed { frames: u64, at: u64 },
    /// A packet names an interface that the file does not describe.
    #[error("after frame {frames} the packet at byte {at} names interface {id}, of {known}")]
    Interface { frames: u64, at: u64, id: u32, known: usize },
}

/// Reads a capture to its end.
pub(crate) struct CaptureReader<R> {
    input: R,
    /// The file header, if the file is pcap.
    pcap: Option<PcapHeader>,
    is_big_endian: bool,
    /// The interfaces of the section, ordered by number.
    interfaces: Vec<Interface>,
    block: Vec<u8>,
    /// The position of the block.
    at: u64,
    frames: u64,
}

/// Constants of an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    /// In the form of the option `if_tsresol`.
    resolution: u8,
    offset_s: i64,
    snap_bytes: u32,
}

impl<R: Read> CaptureReader<R> {
    /// Reads the header of the file.
    pub(crate) fn new(mut input: R) -> Result<Self, CaptureError> {
        let mut first = [0; 4];
        match read_up_to(&mut input, &mut first)? {
            0 => return Err(CaptureError::Empty),
            4 => {}
            _ => return Err(CaptureError::Foreign { first }),
        }
        let (block, interfaces) = (first.to_vec(), Vec::new());
        let mut reader =
            Self { input, pcap: None, is_big_endian: false, interfaces, block, at: 0, frames: 0 };
        if u32::from_be_bytes(first) != SECTION_HEADER {
            reader.extend(PCAP_HEADER_BYTES - first.len())?;
            let (_, header) =
                parse_pcap_header(&reader.block).map_err(|_| CaptureError::Foreign { first })?;
            reader.is_big_endian = header.is_bigendian();
            reader.pcap = Some(header);
            reader.at = PCAP_HEADER_BYTES as u64;
        }
        Ok(reader)
    }

    /// The next frame, `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        match self.pcap.clone() {
            Some(header) => self.next_of_pcap(&header),
            None => self.next_of_pcapng(),
        }
    }

    fn next_of_pcap(&mut self, header: &PcapHeader) -> Result<Option<Frame<'_>>, CaptureError> {
        let (head_bytes, parse): (_, FrameParser) =
            match (header.is_modified_format(), self.is_big_endian) {
                (true, _) => (24, parse_pcap_frame_modified),
                (false, true) => (16, parse_pcap_frame_be),
                (false, false) => (16, parse_pcap_frame),
            };
        if !self.start_block(head_bytes)? {
            return Ok(None);
        }
        let len = word(&self.block, 8, self.is_big_endian);
        self.check_len(len, 0)?;
        self.extend(len as usize)?;
        let malformed = self.malformed();
        self.frames += 1;
        self.at += self.block.len() as u64;
        let Ok((_, packet)) = parse(&self.block) else { return Err(malformed) };
        let unit_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
        Ok(Some(Frame {
            number: self.frames,
            time_ns: Some(
                u64::from(packet.ts_sec) * NS_PER_S + u64::from(packet.ts_usec) * unit_ns,
            ),
            // The upper bits hold the length of the frame check sequence.
            link_type: header.network.0 as u16,
            bytes: packet.data,
            len_bytes: packet.data.len().max(packet.origlen as usize),
        }))
    }

    fn next_of_pcapng(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        while self.read_block()? {
            match word(&self.block, 0, self.is_big_endian) {
                ENHANCED_PACKET | SIMPLE_PACKET => return self.frame().map(Some),
                SECTION_HEADER => self.interfaces.clear(),
                INTERFACE_DESCRIPTION => {
                    let Ok((_, Block::InterfaceDescription(block))) = self.parse_block() else {
                        return Err(self.malformed());
                    };
                    let interface = Interface::new(&block, self.is_big_endian);
                    self.interfaces.push(interface);
                }
                _ => {}
            }
            self.at += self.block.len() as u64;
        }
        Ok(None)
    }

    /// The frame in the current block.
    fn frame(&mut self) -> Result<Frame<'_>, CaptureError> {
        let (frames, at) = (self.frames, self.at);
        self.frames += 1;
        self.at += self.block.len() as u64;
        let number = self.frames;
        let interface = |id: u32| {
            let known = self.interfaces.len();
            self.interfaces.get(id as usize).ok_or(CaptureError::Interface {
                frames,
                at,
                id,
                known,
            })
        };
        match self.parse_block() {
            Ok((_, Block::EnhancedPacket(packet))) => {
                let interface = interface(packet.if_id)?;
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let EnhancedPacketBlock { caplen, origlen, data, .. } = packet;
                let bytes = data.get(..caplen as usize).unwrap_or(data);
                let (time_ns, link_type) = (interface.time_ns(ticks), interface.link_type);
                let len_bytes = bytes.len().max(origlen as usize);
                Ok(Frame { number, time_ns, link_type, bytes, len_bytes })
            }
            Ok((_, Block::SimplePacket(packet))) => {
                let Interface { link_type, snap_bytes, .. } = *interface(0)?;
                let kept = if snap_bytes == 0 { u32::MAX } else { snap_bytes };
                let SimplePacketBlock { data, origlen, .. } = packet;
                let bytes = data.get(..origlen.min(kept) as usize).unwrap_or(data);
                let len_bytes = bytes.len().max(origlen as usize);
                Ok(Frame { number, time_ns: None, link_type, bytes, len_bytes })
            }
            _ => Err(CaptureError::Malformed { frames, at }),
        }
    }

    fn parse_block(&self) -> IResult<&[u8], Block<'_>, PcapError<&[u8]>> {
        let parse = if self.is_big_endian { parse_block_be } else { parse_block_le };
        parse(&self.block)
    }

    /// Reads the block at `at`; `false` at the end of the file.
    fn read_block(&mut self) -> Result<bool, CaptureError> {
        if !self.start_block(BLOCK_HEAD_BYTES)? {
            return Ok(false);
        }
        // A section states its byte order after its length.
        if word(&self.block, 0, true) == SECTION_HEADER {
            self.extend(4)?;
            self.is_big_endian = match word(&self.block, BLOCK_HEAD_BYTES, false) {
                BYTE_ORDER_MAGIC => false,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                _ => return Err(self.malformed()),
            };
        }
        let len = word(&self.block, 4, self.is_big_endian);
        let have = self.block.len();
        self.check_len(len, have + 4)?;
        self.extend(len as usize - have)?;
        Ok(true)
    }

    /// Reads the first bytes of a block; `false` at the end of the file.
    fn start_block(&mut self, head_bytes: usize) -> Result<bool, CaptureError> {
        // `new` has already read the first bytes, to detect the format.
        if self.at > 0 {
            self.block.clear();
        }
        let have = self.block.len();
        self.block.resize(head_bytes, 0);
        match have + read_up_to(&mut self.input, &mut self.block[have..])? {
            0 => Ok(false),
            got if got < head_bytes => Err(self.cut()),
            _ => Ok(true),
        }
    }

    /// Reads this many more bytes of the block.
    fn extend(&mut self, more_bytes: usize) -> Result<(), CaptureError> {
        let have = self.block.len();
        self.block.resize(have + more_bytes, 0);
        let got = read_up_to(&mut self.input, &mut self.block[have..])?;
        if got < more_bytes { Err(self.cut()) } else { Ok(()) }
    }

    fn check_len(&self, len: u32, least: usize) -> Result<(), CaptureError> {
        if (least..=BLOCK_BYTES_MAX).contains(&(len as usize)) {
            return Ok(());
        }
        Err(CaptureError::Length { frames: self.frames, at: self.at, len })
    }

    const fn cut(&self) -> CaptureError {
        CaptureError::Cut { frames: self.frames, at: self.at }
    }

    const fn malformed(&self) -> CaptureError {
        CaptureError::Malformed { frames: self.frames, at: self.at }
    }
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, is_big_endian: bool) -> Self {
        // The crate reads the option as little-endian in every file.
        let offset = block.if_tsoffset;
        Self {
            link_type: block.linktype.0 as u16,
            resolution: block.if_tsresol,
            offset_s: if is_big_endian { offset.swap_bytes() } else { offset },
            snap_bytes: block.snaplen,
        }
    }

    /// The time of a packet, `None` where it does not fit 64 bits.
    fn time_ns(self, ticks: u64) -> Option<u64> {
        let exponent = u32::from(self.resolution & 0x7f);
        let base = if self.resolution & 0x80 == 0 { 10u128 } else { 2 };
        let ticks_per_s = base.checked_pow(exponent)?;
        let ns = (u128::from(ticks) * u128::from(NS_PER_S)).checked_div(ticks_per_s)?;
        let offset_ns = i128::from(self.offset_s) * i128::from(NS_PER_S);
        u64::try_from(i128::try_from(ns).ok()? + offset_ns).ok()
    }
}

/// The 32-bit number at `at`.
fn word(bytes: &[u8], at: usize, is_big_endian: bool) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    if is_big_endian { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
}

/// Reads until `out` is full or the input ends; returns the number of bytes.
fn read_up_to(input: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < out.len() {
        match input.read(&mut out[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

type FrameParser = fn(&[u8]) -> IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;

/// The longest block that is read: a UDP frame has at most 64 KiB, keys and names may take more. A
/// longer block ends the reading.
const BLOCK_BYTES_MAX: usize = 16 << 20;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type and length.
const BLOCK_HEAD_BYTES: usize = 8;
const PCAP_HEADER_BYTES: usize = 24;
const NS_PER_S: u64 = 1_000_000_000;

#[cfg(test)]
mod tests;
