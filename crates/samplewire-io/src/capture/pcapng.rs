//! The four blocks of a pcapng file that a capture needs (draft-ietf-opsawg-pcapng): section
//! header, interface description, enhanced packet, interface statistics. Little endian.

use std::io::{self, Write};

/// Writes a section with one interface of raw IP packets and nanosecond timestamps.
#[derive(Debug)]
pub(super) struct PcapngWriter<W> {
    out: W,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the headers. `interface` names the interface for people.
    pub(super) fn new(out: W, interface: &str) -> io::Result<Self> {
        let mut writer = Self { out };
        let mut section = Vec::new();
        section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        // The section's length is left open.
        section.extend(u64::MAX.to_le_bytes());
        append_option(&mut section, SHB_USERAPPL, b"samplewire");
        append_option(&mut section, END_OF_OPTIONS, b"");
        writer.block(SECTION_HEADER, &section)?;

        let mut description = Vec::new();
        description.extend(LINKTYPE_RAW.to_le_bytes());
        description.extend([0; 2]);
        // No limit on the length of a packet.
        description.extend([0; 4]);
        append_option(&mut description, IF_NAME, interface.as_bytes());
        append_option(&mut description, IF_TSRESOL, &[NANOSECONDS]);
        append_option(&mut description, END_OF_OPTIONS, b"");
        writer.block(INTERFACE_DESCRIPTION, &description)?;
        Ok(writer)
    }

    /// Writes a packet that is `headers` and then `payload`. `time_ns` is since the Unix epoch.
    pub(super) fn packet(
        &mut self,
        time_ns: u64,
        outbound: bool,
        headers: &[u8],
        payload: &[u8],
    ) -> io::Result<()> {
        let len_bytes = headers.len() + payload.len();
        let padded_bytes = len_bytes.next_multiple_of(4);
        let total_bytes = PACKET_OVERHEAD_BYTES + padded_bytes as u32;
        let [high, low] = halves(time_ns);
        let fixed = [
            ENHANCED_PACKET,
            total_bytes,
            INTERFACE,
            high,
            low,
            len_bytes as u32,
            len_bytes as u32,
        ];
        self.words(&fixed)?;
        self.out.write_all(headers)?;
        self.out.write_all(payload)?;
        self.out.write_all(&[0; 3][..padded_bytes - len_bytes])?;
        let direction = if outbound { OUTBOUND } else { INBOUND };
        let flags_option = u32::from(EPB_FLAGS) | 4 << 16;
        self.words(&[flags_option, direction, END_OF_OPTIONS.into(), total_bytes])
    }

    /// Writes how many packets there were between two times and how many of them the file lacks.
    pub(super) fn statistics(
        &mut self,
        start_ns: u64,
        end_ns: u64,
        packets: u64,
        skipped: u64,
    ) -> io::Result<()> {
        let mut body = Vec::new();
        body.extend(INTERFACE.to_le_bytes());
        body.extend(halves(end_ns).map(u32::to_le_bytes).concat());
        for (code, time_ns) in [(ISB_STARTTIME, start_ns), (ISB_ENDTIME, end_ns)] {
            append_option(&mut body, code, &halves(time_ns).map(u32::to_le_bytes).concat());
        }
        append_option(&mut body, ISB_IFRECV, &packets.to_le_bytes());
        append_option(&mut body, ISB_IFDROP, &skipped.to_le_bytes());
        append_option(&mut body, END_OF_OPTIONS, b"");
        self.block(INTERFACE_STATISTICS, &body)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
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

fn append_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
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

const INTERFACE: u32 = 0;
/// IPv4 or IPv6, by the first four bits.
const LINKTYPE_RAW: u16 = 101;

const END_OF_OPTIONS: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const INBOUND: u32 = 0b01;
const OUTBOUND: u32 = 0b10;
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a file: type and body. Both lengths of each are checked.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let total_bytes = word(file, 4) as usize;
            assert_eq!(total_bytes % 4, 0);
            assert_eq!(word(file, total_bytes - 4) as usize, total_bytes);
            blocks.push((word(file, 0), file[8..total_bytes - 4].to_vec()));
            file = &file[total_bytes..];
        }
        blocks
    }

    #[test]
    fn file_has_the_blocks_in_their_order() {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file, "udp 127.0.0.1:1").unwrap();
        for len_bytes in 0..5 {
            writer.packet(1 << 40, true, &[0x45; 28], &[7; 5][..len_bytes]).unwrap();
        }
        writer.statistics(5, 6, 9, 4).unwrap();
        let kinds: Vec<_> = blocks(&file).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6, 6, 6, 6, 6, 5]);
    }

    #[test]
    fn packet_block_is_the_literal_one() {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file, "x").unwrap();
        writer.packet(0x0000_0001_0203_0405, false, &[0xaa, 0xbb], &[0xcc]).unwrap();
        let (kind, body) = blocks(&file).pop().unwrap();
        assert_eq!(kind, 6);
        let expected = [
            0, 0, 0, 0, 1, 0, 0, 0, 5, 4, 3, 2, 3, 0, 0, 0, 3, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0, 2, 0,
            4, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(body, expected);
    }

    #[test]
    fn statistics_carry_what_was_skipped() {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file, "x").unwrap();
        writer.statistics(5, 6, 9, 4).unwrap();
        let (_, body) = blocks(&file).pop().unwrap();
        let dropped = [5, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(body.ends_with(&dropped));
    }
}
