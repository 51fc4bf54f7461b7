//! A sender of the block transfer sends each packet once, repeats only what was listed since its last
//! summary, and ends once, whatever is answered and whenever.

use samplewire_proto::Nanos;
use samplewire_proto::block::wire::{Body, Frame, Header};
use samplewire_proto::block::{
    Bursts, CHECK_MAX, FRAME_BYTES_MAX, SILENCE_MAX, SendEnd, Sender, SenderConfig, TransferId,
};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the sender breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let transfer = input.choose(&[None, Some(TransferId(7))]);
    let packets = u32::from(input.byte() % 100);
    let bursts = match input.byte() % 3 {
        0 => Some(Bursts { frames: 1 + u32::from(input.byte()), gap: Nanos(input.word().into()) }),
        _ => None,
    };
    let packet_bytes = input.choose(&[1, 40, 1_000]);
    let config = SenderConfig { packet_bytes, bursts, ..SenderConfig::new(NEAR, FAR, transfer) };
    // The last may be short.
    let bytes = u64::from(packets) * u64::from(packet_bytes);
    let bytes = bytes.saturating_sub(u64::from(input.byte()) % u64::from(packet_bytes));
    let mut world = World {
        sender: Sender::new(config, bytes, 9, [u32::MAX; 4]).expect("the choices hold"),
        header: Header { destination: FAR, source: NEAR, transfer },
        packets,
        bytes,
        packet_bytes: packet_bytes.into(),
        now: Nanos(1_000),
        sent: 0,
        listed: vec![false; packets as usize],
        waits: None,
        checks: None,
        end: None,
    };
    while !input.is_empty() {
        world.step(&mut input);
        world.drain();
    }
}

struct World {
    sender: Sender<[u32; 4]>,
    header: Header,
    packets: u32,
    bytes: u64,
    packet_bytes: u64,
    now: Nanos,
    /// Packets sent for the first time.
    sent: u32,
    /// Packets that a list has named since the last summary, and that were not repeated since.
    listed: Vec<bool>,
    /// While no answer has come: when the first summary left or the receiver was heard last, and when
    /// the last summary left.
    waits: Option<(Nanos, Nanos)>,
    /// While the receiver computes the CRC: since when, and when it was heard last.
    checks: Option<(Nanos, Nanos)>,
    end: Option<SendEnd>,
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0..=2 => self.list(input),
            3 => self.now = self.now + Nanos(input.word().into()),
            4 | 5 => self.now = self.sender.poll_timeout().unwrap_or(self.now).max(self.now),
            6 => {
                let bytes = input.slice(80);
                let is_answer =
                    Frame::parse(bytes).is_ok_and(|it| it.header == self.header.reply());
                if !is_answer {
                    self.is_rejected(bytes);
                }
            }
            _ if input.byte().is_multiple_of(2) && self.header.transfer.is_some() => self.check(),
            _ => self.complete(input),
        }
        self.sender.handle_timeout(self.now);
    }

    fn list(&mut self, input: &mut Input<'_>) {
        let count = 1 + input.byte() % 16;
        let seqs: Vec<u32> = (0..count).map(|_| input.near(self.packets / 2)).collect();
        let mut out = [0; FRAME_BYTES_MAX];
        let len = self.header.reply().emit_missing(seqs.iter().copied(), &mut out);
        let can_answer = self.can_answer() && seqs.iter().all(|seq| *seq < self.packets);
        if !can_answer {
            return self.is_rejected(&out[..len]);
        }
        self.sender.handle(self.now, &out[..len]);
        (self.waits, self.checks) = (None, None);
        for seq in seqs {
            self.listed[seq as usize] = true;
        }
    }

    fn check(&mut self) {
        let mut out = [0; FRAME_BYTES_MAX];
        let len = Frame { header: self.header.reply(), body: Body::Checking }.emit(&mut out);
        if !self.can_answer() {
            return self.is_rejected(&out[..len]);
        }
        self.sender.handle(self.now, &out[..len]);
        // While it repeats, nothing is checked. Of a summary one answer counts.
        let Some((_, last)) = self.waits else { return };
        if self.checks.is_none_or(|(_, heard)| heard < last) {
            let since = self.checks.map_or(self.now, |(since, _)| since);
            self.checks = Some((since, self.now));
            self.waits = Some((self.now, last));
        }
    }

    fn complete(&mut self, input: &mut Input<'_>) {
        let mut header = self.header.reply();
        match input.byte() {
            0..=15 => {}
            choice if choice & 1 == 0 => header.source[5] ^= 1 | choice,
            choice if choice & 2 == 0 => header.destination[5] ^= 1 | choice,
            choice => header.transfer = Some(TransferId(choice.into())),
        }
        let mut out = [0; FRAME_BYTES_MAX];
        let len = Frame { header, body: Body::Complete }.emit(&mut out);
        if header != self.header.reply() || !self.can_answer() {
            return self.is_rejected(&out[..len]);
        }
        self.sender.handle(self.now, &out[..len]);
        assert_eq!(self.sender.poll_event(), Some(SendEnd::Done));
        self.end = Some(SendEnd::Done);
    }

    /// Whether a summary has left, and the transfer has not ended.
    fn can_answer(&self) -> bool {
        self.end.is_none() && self.sender.stats().summaries > 0
    }

    fn is_rejected(&mut self, bytes: &[u8]) {
        let before = (self.sender.poll_timeout(), *self.sender.stats());
        self.sender.handle(self.now, bytes);
        let mut stats = *self.sender.stats();
        let count = |rejected: &[u64]| rejected.iter().sum::<u64>();
        assert_eq!(count(&stats.rejected), count(&before.1.rejected) + 1, "it is rejected");
        stats.rejected = before.1.rejected;
        assert_eq!((self.sender.poll_timeout(), stats), before, "and changes nothing");
    }

    fn drain(&mut self) {
        self.end();
        let mut out = [0; FRAME_BYTES_MAX];
        let mut frames = 0;
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            assert!(self.end.is_none(), "nothing leaves after the end");
            frames += 1;
            assert!(frames <= self.packets + 1, "a moment has few frames to send");
            let Some((seq, at)) = transmit.seq().zip(transmit.payload()) else {
                self.summary();
                continue;
            };
            let start = u64::from(seq) * self.packet_bytes;
            assert_eq!(at, start..self.bytes.min(start + self.packet_bytes));
            let payload = vec![5; (at.end - at.start) as usize];
            let len = transmit.emit(&payload, &mut out);
            assert_eq!(Frame::parse(&out[..len]).map(|it| it.header), Ok(self.header));
            if self.sent < self.packets {
                assert_eq!(seq, self.sent, "packets leave in order");
                self.sent += 1;
            } else {
                let was_listed = std::mem::take(&mut self.listed[seq as usize]);
                assert!(was_listed, "only what was listed is repeated, and once");
            }
        }
        // It does not spin.
        let next = self.sender.poll_timeout();
        assert!(next.is_none_or(|at| at > self.now), "{next:?} at {:?}", self.now);
        assert_eq!(next.is_none(), self.end.is_some());
    }

    fn summary(&mut self) {
        assert_eq!(self.sent, self.packets, "all DATA leaves before the summary");
        let first = match self.waits {
            Some((first, last)) => {
                let interval = self.now.since(last);
                assert!(interval >= Nanos::from_millis(10), "{interval:?} between summaries");
                first
            }
            None => self.now,
        };
        self.waits = Some((first, self.now));
        self.listed.fill(false);
    }

    fn end(&mut self) {
        let Some(end) = self.sender.poll_event() else {
            let is_late = self.waits.is_some_and(|(first, _)| self.now >= first + SILENCE_MAX);
            assert!(self.end.is_some() || !is_late, "10 s of silence end a transfer");
            return;
        };
        assert!(self.end.is_none(), "a transfer ends once");
        match end {
            SendEnd::Done => panic!("only `OK` completes a transfer"),
            SendEnd::Silent => {
                let first = self.waits.expect("it waits").0;
                assert!(self.now >= first + SILENCE_MAX, "it gives up early");
            }
            SendEnd::CheckTooLong => {
                let since = self.checks.expect("it computes the CRC").0;
                assert!(self.now >= since + CHECK_MAX, "it gives up early");
            }
            SendEnd::Stalled => {
                assert!(self.sender.stats().repeats >= 64 + 64 * u64::from(self.packets));
            }
        }
        self.end = Some(end);
    }
}

const NEAR: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FAR: [u8; 6] = [2, 0, 0, 0, 0, 2];
