//! The transfer that a receiver is in: which packets are there, and how many there are to be.

use super::answer::Answer;
use super::config::ReceiverConfig;
use crate::block::counters::Rejection;
use crate::block::layout::{Layout, offset};
use crate::block::seq_set::SeqSet;
use crate::block::wire::{FRAME_BYTES_MIN, Header, Summary, TransferId};
use crate::number::Nanos;

/// A transfer that is not complete, or whose CRC is not known to be right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// That of its frames from the sender.
    pub(super) header: Header,
    packet_bytes: u16,
    bytes_max: u64,
    /// The packets of the longest transfer.
    packets_max: u32,
    /// When the last frame was taken.
    pub(super) heard_at: Nanos,
    total: Option<Total>,
    /// How many packets are there.
    present: u32,
    /// Before the summary, what may be the last packet.
    short: Option<ShortPacket>,
    /// Bytes that came since the last answer.
    unanswered_bytes: u64,
    pub(super) answer: Option<Answer>,
    /// Another transfer of the same sender, if the last frame was of that.
    rival: Option<TransferId>,
}

/// What the summary has stated.
#[derive(Clone, Copy, Debug)]
struct Total {
    layout: Layout,
    summary: Summary,
}

/// DATA in a frame that is shorter than that of a full packet: the last, or a truncated one.
#[derive(Clone, Copy, Debug)]
struct ShortPacket {
    seq: u32,
    frame_len: usize,
}

/// The payload of a frame, and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The packet.
    pub seq: u32,
    /// Where the first byte belongs, counted from the start of the transfer.
    pub offset: u64,
    /// The bytes. Before the summary there may be padding behind those of the last packet.
    pub bytes: &'a [u8],
}

impl Transfer {
    pub(super) fn new(config: &ReceiverConfig, header: Header, now: Nanos) -> Self {
        let packet_bytes = config.full_packet(header.transfer.is_some());
        let packets = config.bytes_max.div_ceil(packet_bytes.into());
        Self {
            header,
            packet_bytes,
            bytes_max: config.bytes_max,
            packets_max: u32::try_from(packets).unwrap_or(u32::MAX),
            heard_at: now,
            total: None,
            present: 0,
            short: None,
            unanswered_bytes: 0,
            answer: None,
            rival: None,
        }
    }

    /// The summary, once it has come.
    pub(super) fn summary(&self) -> Option<Summary> {
        self.total.map(|total| total.summary)
    }

    /// Whether every packet is there.
    pub(super) fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| total.layout.packets() == self.present)
    }

    /// Notes a frame that was taken.
    pub(super) const fn hear(&mut self, now: Nanos, frame_len: usize) {
        (self.heard_at, self.rival) = (now, None);
        self.unanswered_bytes += frame_len as u64;
    }

    /// Notes a frame of another transfer of the same sender, and returns whether it is the second of
    /// that in a row: then the sender has begun again. One alone may be damaged.
    pub(super) fn is_superseded_by(&mut self, other: Option<TransferId>) -> bool {
        let before = core::mem::replace(&mut self.rival, other);
        before.is_some() && before == other
    }

    /// The answer to a summary is due. One that is on its way stays the one.
    pub(super) fn answer(&mut self) {
        if self.answer.is_none() {
            self.answer = Some(Answer::new(core::mem::take(&mut self.unanswered_bytes)));
        }
    }

    /// Where the first byte of a packet belongs, counted from the start of the transfer.
    pub(super) const fn offset(&self, seq: u32) -> u64 {
        offset(self.packet_bytes, seq)
    }

    /// Takes a packet whose payload has `payload_len` bytes to the end of the frame, and returns how many
    /// of them are of the transfer. `None` when it is there already.
    #[inline(always)]
    pub(super) fn take_data<S: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        present: &mut SeqSet<S>,
        seq: u32,
        payload_len: usize,
    ) -> Result<Option<usize>, Rejection> {
        match &self.total {
            Some(total) => {
                let layout = total.layout;
                self.take_known(present, &layout, seq, payload_len)
            }
            None => self.take_early(present, seq, payload_len),
        }
    }

    /// Takes the summary, and holds what came before it against it.
    pub(super) fn take_summary<S: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        present: &mut SeqSet<S>,
        summary: Summary,
    ) -> Result<(), Rejection> {
        if let Some(known) = self.summary() {
            return if known == summary { Ok(()) } else { Err(Rejection::Contradiction) };
        }
        if summary.bytes > self.bytes_max || summary.packets > present.capacity() {
            return Err(Rejection::TooLarge);
        }
        let layout = Layout::of_summary(self.packet_bytes, &summary);
        let layout = layout.ok_or(Rejection::Contradiction)?;
        present.truncate(layout.packets());
        if let Some(last) = layout.packets().checked_sub(1) {
            let frame_len = layout.frame_len(&self.header, last);
            if frame_len != self.full_frame_len() {
                present.remove(last);
                if self.short.is_some_and(|it| it.seq == last && it.frame_len == frame_len) {
                    present.insert(last);
                }
            }
        }
        self.present = present.len_below(layout.packets());
        self.total = Some(Total { layout, summary });
        Ok(())
    }

    /// Takes a packet of a transfer whose length is known.
    fn take_known<S: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        present: &mut SeqSet<S>,
        layout: &Layout,
        seq: u32,
        payload_len: usize,
    ) -> Result<Option<usize>, Rejection> {
        if seq >= layout.packets() {
            return Err(Rejection::BeyondEnd);
        }
        let len = layout.payload_len(seq);
        if self.header.data_frame_len(payload_len) != self.header.data_frame_len(len) {
            return Err(Rejection::Length);
        }
        if present.contains(seq) {
            return Ok(None);
        }
        present.insert(seq);
        self.present += 1;
        Ok(Some(len))
    }

    /// Takes a packet before the summary. Only the last may be short. Which one that is shows later,
    /// so that of several short ones the highest seq counts.
    #[inline(always)]
    fn take_early<S: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        present: &mut SeqSet<S>,
        seq: u32,
        payload_len: usize,
    ) -> Result<Option<usize>, Rejection> {
        if seq >= present.capacity() || seq >= self.packets_max {
            return Err(Rejection::TooLarge);
        }
        let frame_len = self.header.data_frame_len(payload_len);
        let full_len = self.full_frame_len();
        if frame_len > full_len {
            return Err(Rejection::Length);
        }
        if present.contains(seq) {
            return Ok(None);
        }
        let mut len = payload_len.min(self.packet_bytes.into());
        // Ahead of the last one there is room for a full packet.
        if seq + 1 == self.packets_max {
            let room = self.bytes_max - self.offset(seq);
            if len as u64 > room {
                if frame_len > FRAME_BYTES_MIN {
                    return Err(Rejection::TooLarge);
                }
                // What does not fit is padding, or the summary is too large.
                len = room as usize;
            }
        }
        if frame_len == full_len {
            present.insert(seq);
            if self.short.is_some_and(|it| it.seq == seq) {
                self.short = None;
            }
        } else if self.short.is_some_and(|it| seq < it.seq) {
            return Err(Rejection::Length);
        } else {
            self.short = Some(ShortPacket { seq, frame_len });
        }
        Ok(Some(len))
    }

    fn full_frame_len(&self) -> usize {
        self.header.data_frame_len(self.packet_bytes.into())
    }
}
