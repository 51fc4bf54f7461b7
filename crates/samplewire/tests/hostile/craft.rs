//! Packets that are nearly right.

use samplewire_proto::crc::crc32c;
use samplewire_proto::wire::{
    Challenge, Close, CloseAck, CloseAckReason, CloseReason, Flags, HEADER_LEN, Header, Mark, Open,
    PacketType, Refuse, RefuseReason, ReportFields, Role, SeqRange, TRAILER_LEN, Tlvs, seal,
};
use samplewire_proto::{Departure, Rng, Seq, Tag};

/// Draws fields of packets.
#[derive(Clone, Debug)]
pub(crate) struct Draw(Rng);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.draw()
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.number() as u32
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.index(end)
    }

    /// A number near which arithmetic goes wrong, or any.
    pub(crate) fn extreme(&mut self, near: u32) -> u32 {
        let offset = self.below(5) as u32;
        match self.below(6) {
            0 => offset.wrapping_sub(2),
            1 => near.wrapping_add(offset).wrapping_sub(2),
            2 => near.wrapping_add(1 << 31).wrapping_add(offset).wrapping_sub(2),
            3 => near.wrapping_add(1 << 24).wrapping_add(offset).wrapping_sub(2),
            4 => near.wrapping_sub(1_024).wrapping_add(offset),
            _ => self.word(),
        }
    }
}

/// Bytes without sense, of `len_bytes`.
pub(crate) fn noise(draw: &mut Draw, len_bytes: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..len_bytes.div_ceil(8)).flat_map(|_| draw.number().to_le_bytes()).collect();
    bytes.truncate(len_bytes);
    bytes
}

/// A random header, except for its type and its sender.
pub(crate) fn header(draw: &mut Draw, kind: PacketType, flags: Flags) -> Header {
    Header {
        kind,
        flags,
        tag: Tag(draw.word()),
        index: draw.number() >> 2,
        seq: Seq(draw.word()),
        departure: Departure(draw.word()),
    }
}

/// A packet of this type with a right CRC and drawn fields. DATA has `data_bytes` of payload.
pub(crate) fn nearly_right(
    draw: &mut Draw,
    kind: PacketType,
    flags: Flags,
    data_bytes: usize,
) -> Vec<u8> {
    let mut out = vec![0; 9_000];
    let mut header = header(draw, kind, flags);
    let len = match kind {
        PacketType::Data => {
            out[HEADER_LEN..HEADER_LEN + data_bytes].copy_from_slice(&noise(draw, data_bytes));
            seal(&header, data_bytes, &mut out)
        }
        PacketType::Mark => mark(draw).emit(&header, &mut out),
        PacketType::Report => {
            let ranges = [SeqRange { first: Seq(draw.word()), count: draw.word() }; 4];
            report(draw).emit(&header, &ranges, &mut out)
        }
        PacketType::Open => {
            header.tag = Tag::NONE;
            open(draw).emit(&header, 128, &mut out)
        }
        PacketType::Challenge => {
            let cookie = draw.number().to_le_bytes().repeat(2);
            let cookie = *cookie.first_chunk().expect("16 bytes");
            Challenge { nonce: draw.number(), cookie }.emit(&header, &mut out)
        }
        // Without a request, only its length and its type distinguish it from noise.
        PacketType::Accept => {
            out[HEADER_LEN..HEADER_LEN + 72].copy_from_slice(&noise(draw, 72));
            seal(&header, 72 + 64, &mut out)
        }
        PacketType::Refuse => {
            let reason = RefuseReason::Busy;
            Refuse { nonce: draw.number(), reason, versions: 2, retry_ms: 0 }
                .emit(&header, &mut out)
        }
        PacketType::Close => {
            let reason = CloseReason::Finished;
            let close = Close { reason, last: Seq(draw.word()), source_lost: draw.number() };
            close.emit(&header, &mut out)
        }
        PacketType::CloseAck => {
            let reason = CloseAckReason::UnknownTag;
            header.tag = Tag::NONE;
            let echoed_tag = Tag(draw.word());
            CloseAck { reason, echoed_tag, source_lost: 0 }.emit(&header, &mut out)
        }
    };
    out.truncate(len);
    out
}

fn mark(draw: &mut Draw) -> Mark {
    Mark {
        oldest: Seq(draw.word()),
        report: Seq(draw.word()),
        echo: Departure(draw.word()),
        hold: draw.word(),
        source_lost: draw.number(),
        time_ns: 0,
    }
}

/// A REPORT of which every field is drawn.
pub(crate) fn report(draw: &mut Draw) -> ReportFields {
    ReportFields {
        released: Seq(draw.word()),
        limit: Seq(draw.word()),
        settled: Departure(draw.word()),
        highest_end: Seq(draw.word()),
        echo: Departure(draw.word()),
        hold: draw.word(),
        received: draw.word(),
        marked: draw.word(),
        skipped: draw.word(),
        late: draw.word() as u16,
    }
}

/// A wish to receive stream 0 by an owner of its own, without a cookie.
pub(crate) fn open(draw: &mut Draw) -> Open<'static> {
    Open {
        tag: Tag(draw.word() | 1),
        role: Role::Receive,
        delivery: 0,
        stream: 0,
        nonce: draw.number(),
        owner: draw.number(),
        cookie: [0; 16],
        window: 1_024,
        max_packet_bytes: 9_000,
        pad: 0,
        trailer_kind: 0,
        deadline_us: 0,
        tlvs: Tlvs::EMPTY,
    }
}

/// Writes another tag into a packet, and the CRC that goes with it.
pub(crate) fn retag(packet: &mut [u8], tag: u32) {
    packet[2..6].copy_from_slice(&tag.to_be_bytes());
    reseal(packet);
}

/// Writes another echoed tag into a CLOSE_ACK, and the CRC that goes with it.
pub(crate) fn reecho(packet: &mut [u8], tag: u32) {
    packet[HEADER_LEN + 4..HEADER_LEN + 8].copy_from_slice(&tag.to_be_bytes());
    reseal(packet);
}

fn reseal(packet: &mut [u8]) {
    let covered = packet.len() - TRAILER_LEN;
    let crc = crc32c(&packet[..covered]);
    packet[covered..].copy_from_slice(&crc.to_be_bytes());
}

/// The seed of an opening that need not be secret.
pub(crate) fn seed(draw: &mut Draw) -> [u8; 16] {
    *draw.number().to_le_bytes().repeat(2).first_chunk().expect("16 bytes")
}
