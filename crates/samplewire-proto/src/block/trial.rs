//! Frames that come back, and a board that sends them by a scheme when a host orders it
//! (`docs/nic-host.md#from-the-board`).
//!
//! They have the block transfer's EtherType, and types that it does not have.

use super::pacing::Bursts;
use super::scheme::Scheme;
use super::wire::{ETHER_TYPE, FRAME_BYTES_MIN, MacAddress, is_group};
use crate::number::Nanos;
use crate::wire::field;

/// A frame that is to come back: of which run, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The run, which a program draws.
    pub run: u32,
    /// The number of the frame, from 0.
    pub number: u32,
}

impl Probe {
    /// Where the contents of the frame begin.
    pub const BYTES: usize = at::NUMBER + 4;

    /// That of a frame; its addresses are not read.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        is_of_type(frame, PROBE).then(|| Self {
            run: field::get_u32(frame, at::RUN),
            number: field::get_u32(frame, at::NUMBER),
        })
    }

    /// Writes the beginning of the frame, [`Probe::BYTES`] bytes.
    ///
    /// # Panics
    /// When `out` is shorter.
    pub fn emit(&self, destination: MacAddress, source: MacAddress, out: &mut [u8]) {
        put_header(destination, source, PROBE, self.run, out);
        field::put_u32(out, at::NUMBER, self.number);
    }
}

/// What a host orders a board to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The run. A board that has done it takes it for a copy, and reports again.
    pub run: u32,
    /// How frames are spaced.
    pub scheme: Scheme,
    /// How many frames, [`FRAMES_MAX`](Order::FRAMES_MAX) at most.
    pub frames: u32,
    /// Bytes of each behind its Ethernet header, from 46 to [`SIZE_MAX`](Order::SIZE_MAX).
    pub size: u16,
}

impl Order {
    /// The most frames of a run.
    pub const FRAMES_MAX: u32 = 16_384;
    /// The most bytes of a frame behind its Ethernet header.
    pub const SIZE_MAX: u16 = 1_486;
    /// The longest delay.
    pub const DELAY_MAX: Nanos = Nanos::from_millis(1_000);
    /// All delays of a run: no order keeps a board for longer than this and the time of its frames.
    pub const DELAYS_MAX: Nanos = Nanos::from_millis(60_000);

    /// That of a frame, and who sent it. `None` of others, and where a number is out of its range.
    pub fn parse(frame: &[u8]) -> Option<(MacAddress, Self)> {
        if !is_of_type(frame, ORDER) {
            return None;
        }
        let source: MacAddress = field::get(frame, at::SOURCE);
        let burst = field::get_u32(frame, at::BURST);
        let delay = Nanos(field::get_u64(frame, at::DELAY));
        let order = Self {
            run: field::get_u32(frame, at::RUN),
            scheme: Scheme::new(frame[at::SCHEME], burst, delay)?,
            frames: field::get_u32(frame, at::FRAMES),
            size: field::get_u16(frame, at::SIZE),
        };
        (order.is_in_range() && !is_group(source)).then_some((source, order))
    }

    /// Whether a board carries it out: the numbers are in their ranges, and all delays together are at
    /// most [`DELAYS_MAX`](Order::DELAYS_MAX).
    pub const fn is_in_range(&self) -> bool {
        let (delay, delays) = match self.scheme {
            Scheme::Delay(delay) => (delay, self.frames),
            Scheme::Bursts(Bursts { frames: 0, .. }) | Scheme::Returns(0) => return false,
            Scheme::Bursts(Bursts { frames, gap }) => (gap, self.frames / frames),
            Scheme::Returns(_) => (Nanos(0), 0),
        };
        self.frames >= 1
            && self.frames <= Self::FRAMES_MAX
            && self.size >= SIZE_MIN
            && self.size <= Self::SIZE_MAX
            && delay.0 <= Self::DELAY_MAX.0
            && delay.0 * delays as u64 <= Self::DELAYS_MAX.0
    }

    /// Writes the frame and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter.
    pub fn emit(&self, destination: MacAddress, source: MacAddress, out: &mut [u8]) -> usize {
        let (burst, delay) = self.scheme.setting();
        out[..FRAME_BYTES_MIN].fill(0);
        put_header(destination, source, ORDER, self.run, out);
        out[at::SCHEME] = self.scheme.number();
        field::put_u32(out, at::BURST, burst.unwrap_or(1));
        field::put_u64(out, at::DELAY, delay.map_or(0, |delay| delay.0));
        field::put_u32(out, at::FRAMES, self.frames);
        field::put_u16(out, at::SIZE, self.size);
        FRAME_BYTES_MIN
    }
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The run.
    pub run: u32,
    /// Frames that left.
    pub sent: u32,
    /// Those of them that came back, each counted once.
    pub returned: u32,
    /// From the first one sent to the last one back.
    pub time: Nanos,
}

impl Report {
    /// That of a frame; its addresses are not read.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        is_of_type(frame, REPORT).then(|| Self {
            run: field::get_u32(frame, at::RUN),
            sent: field::get_u32(frame, at::SENT),
            returned: field::get_u32(frame, at::RETURNED),
            time: Nanos(field::get_u64(frame, at::TIME)),
        })
    }

    /// Writes the frame and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter.
    pub fn emit(&self, destination: MacAddress, source: MacAddress, out: &mut [u8]) -> usize {
        out[..FRAME_BYTES_MIN].fill(0);
        put_header(destination, source, REPORT, self.run, out);
        field::put_u32(out, at::SENT, self.sent);
        field::put_u32(out, at::RETURNED, self.returned);
        field::put_u64(out, at::TIME, self.time.0);
        FRAME_BYTES_MIN
    }
}

fn is_of_type(frame: &[u8], kind: u8) -> bool {
    frame.len() >= FRAME_BYTES_MIN
        && frame[at::ETHER_TYPE..at::KIND] == ETHER_TYPE.to_be_bytes()
        && frame[at::KIND] == kind
}

fn put_header(destination: MacAddress, source: MacAddress, kind: u8, run: u32, out: &mut [u8]) {
    field::put(out, 0, destination);
    field::put(out, at::SOURCE, source);
    field::put_u16(out, at::ETHER_TYPE, ETHER_TYPE);
    out[at::KIND] = kind;
    field::put_u32(out, at::RUN, run);
}

const PROBE: u8 = 0x20;
const ORDER: u8 = 0x21;
const REPORT: u8 = 0x22;
const SIZE_MIN: u16 = 46;

/// Where each field of a frame stands.
mod at {
    pub(super) const SOURCE: usize = 6;
    pub(super) const ETHER_TYPE: usize = 12;
    pub(super) const KIND: usize = 14;
    pub(super) const RUN: usize = 15;
    pub(super) const NUMBER: usize = 19;
    pub(super) const SCHEME: usize = 19;
    pub(super) const BURST: usize = 20;
    pub(super) const DELAY: usize = 24;
    pub(super) const FRAMES: usize = 32;
    pub(super) const SIZE: usize = 36;
    pub(super) const SENT: usize = 19;
    pub(super) const RETURNED: usize = 23;
    pub(super) const TIME: usize = 27;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: MacAddress = [2, 0, 0, 0, 0, 1];
    const BOARD: MacAddress = [2, 0, 0, 0, 0, 2];
    const ORDER: Order =
        Order { run: 0x0102_0304, scheme: Scheme::Delay(Nanos(0x506)), frames: 0x708, size: 0x90 };

    #[test]
    fn order_has_its_bytes_and_is_read_again() {
        let mut frame = [7; 64];
        assert_eq!(ORDER.emit(BOARD, HOST, &mut frame), 60);
        let head = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5, 0x21, 1, 2, 3, 4, 1];
        assert_eq!(frame[..20], head);
        assert_eq!(frame[20..38], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0x90]);
        assert_eq!(frame[38..60], [0; 22]);
        let bursts = Scheme::Bursts(Bursts { frames: 16, gap: Nanos(100_000) });
        for scheme in [ORDER.scheme, bursts, Scheme::Returns(5)] {
            let order = Order { scheme, ..ORDER };
            order.emit(BOARD, HOST, &mut frame);
            assert_eq!(Order::parse(&frame), Some((HOST, order)));
        }
    }

    #[test]
    fn order_out_of_range_is_none() {
        let with = |change: fn(&mut [u8])| {
            let mut frame = [0; 60];
            ORDER.emit(BOARD, HOST, &mut frame);
            change(&mut frame);
            Order::parse(&frame)
        };
        assert!(with(|_| {}).is_some());
        for change in [
            (|frame| frame[6] = 1) as fn(&mut [u8]),
            |frame| frame[13] = 0xB6,
            |frame| frame[14] = 0x20,
            |frame| frame[19] = 4,
            |frame| frame[19] = 0,
            |frame| frame[24] = 1,
            |frame| frame[33] = 1,
            |frame| frame[32..36].fill(0),
            |frame| frame[36] = 6,
            |frame| frame[37] = 45,
        ] {
            assert_eq!(with(change), None);
        }
        let mut frame = [0; 60];
        ORDER.emit(BOARD, HOST, &mut frame);
        assert_eq!(Order::parse(&frame[..59]), None);
    }

    #[test]
    fn delays_of_an_order_are_at_most_a_second_each_and_a_minute_together() {
        let with = |scheme, frames| Order { scheme, frames, ..ORDER }.is_in_range();
        let delay = |ns| Scheme::Delay(Nanos(ns));
        assert!(with(delay(1_000_000_000), 60) && !with(delay(1_000_000_001), 1));
        assert!(!with(delay(1_000_000_000), 61));
        assert!(with(delay(3_662_109), 16_384) && !with(delay(3_662_110), 16_384));
        let bursts = |frames| Scheme::Bursts(Bursts { frames, gap: Order::DELAY_MAX });
        assert!(with(bursts(2), 121) && !with(bursts(2), 122) && !with(bursts(0), 1));
        assert!(with(Scheme::Returns(1), 16_384) && !with(Scheme::Returns(0), 1));
    }

    #[test]
    fn probe_and_report_are_read_again_and_no_other_type_is() {
        let mut frame = [0; 60];
        let probe = Probe { run: 0x0102_0304, number: 0x0506_0708 };
        probe.emit(BOARD, HOST, &mut frame);
        assert_eq!(frame[12..Probe::BYTES], [0x88, 0xB5, 0x20, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((Probe::parse(&frame), Report::parse(&frame)), (Some(probe), None));
        let report = Report { run: 1, sent: 2, returned: 3, time: Nanos(1 << 40 | 4) };
        assert_eq!(report.emit(HOST, BOARD, &mut frame), 60);
        assert_eq!(frame[14..27], [0x22, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]);
        assert_eq!((Report::parse(&frame), Probe::parse(&frame)), (Some(report), None));
    }
}
