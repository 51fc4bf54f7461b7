//! A receiver of the block transfer places bytes within its limit, completes a transfer only when all
//! its bytes are placed, and answers with no more than what came, whatever comes and whenever.

use std::collections::BTreeMap;

use samplewire_proto::Nanos;
use samplewire_proto::block::wire::{Body, Frame, Header, Summary};
use samplewire_proto::block::{
    ANSWER_FRAMES_MAX, ANSWERS_MAX, FRAME_BYTES_MAX, ReceiveEvent, ReceiveFailure, Receiver,
    ReceiverConfig, SILENCE_MAX, TransferId, Types,
};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the receiver breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let types = input.choose(&[Types::WithId, Types::Plain, Types::Either]);
    let packet_bytes = input.choose(&[1, 40, 100]);
    let bytes_max = u64::from(input.byte()) * u64::from(packet_bytes) / 3;
    let peer = input.choose(&[None, Some(NEAR)]);
    let packet = Some(packet_bytes);
    let config =
        ReceiverConfig { types, peer, packet_bytes: packet, ..ReceiverConfig::new(FAR, bytes_max) };
    let mut world = World {
        receiver: Receiver::new(config, [u32::MAX; 2]).expect("the choices hold"),
        packet_bytes: packet_bytes.into(),
        placed: vec![false; bytes_max as usize],
        now: Nanos(1_000),
        heard_at: None,
        came: BTreeMap::new(),
        last: None,
        is_complete: false,
        done: None,
        oks: 0,
    };
    while !input.is_empty() {
        world.step(&mut input);
        world.drain(&mut input);
    }
}

struct World {
    receiver: Receiver<[u32; 2]>,
    packet_bytes: u64,
    /// The bytes that the present transfer has placed.
    placed: Vec<bool>,
    now: Nanos,
    /// When the last frame of the present transfer was taken.
    heard_at: Option<Nanos>,
    /// Bytes that came from each address since the last list to it.
    came: BTreeMap<[u8; 6], usize>,
    /// The header of the last frame that was taken.
    last: Option<Header>,
    /// Whether a CRC is waited for.
    is_complete: bool,
    /// When the last transfer was done, and its header.
    done: Option<(Nanos, Header)>,
    oks: u64,
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=7 => {
                let len = match input.byte() % 4 {
                    0 => usize::from(input.byte()),
                    _ => self.packet_bytes as usize,
                };
                let payload = vec![5; len];
                let seq = input.near(20);
                self.hand(input, Body::Data { seq, payload: &payload });
            }
            8..=10 => {
                let packets = u32::from(input.byte() % 80);
                let bytes = u64::from(packets) * self.packet_bytes;
                let bytes = bytes.saturating_sub(u64::from(input.byte()) / 64);
                let crc = Some(9 + u32::from(input.byte() == 0));
                let packets = if input.byte() == 0 { input.word() } else { packets };
                self.hand(input, Body::Summary(Summary { packets, bytes, crc }));
            }
            11 => self.hand(input, Body::Complete),
            12 => {
                let bytes = input.slice(80);
                self.take(bytes);
            }
            13 => {
                self.receiver.listen();
                self.begin();
            }
            14 => self.now = self.now + Nanos(u64::from(input.word())),
            _ => self.now = self.receiver.poll_timeout().unwrap_or(self.now).max(self.now),
        }
        self.receiver.handle_timeout(self.now);
    }

    /// Hands it a frame, mostly of one of two transfers of one sender.
    fn hand(&mut self, input: &mut Input<'_>, body: Body<'_>) {
        let choice = input.byte();
        let mut header = Header { destination: FAR, source: NEAR, transfer: None };
        header.transfer = input.choose(&[None, Some(TransferId(7)), Some(TransferId(8))]);
        match choice {
            0 => header.source[5] = 9,
            1 => header.destination[5] = 9,
            _ => {}
        }
        let body = match body {
            Body::Summary(summary) if header.transfer.is_none() => {
                Body::Summary(Summary { crc: None, ..summary })
            }
            other => other,
        };
        let mut out = [0; FRAME_BYTES_MAX];
        let len = Frame { header, body }.emit(&mut out);
        self.take(&out[..len]);
    }

    fn take(&mut self, bytes: &[u8]) {
        let before = (*self.receiver.stats(), self.receiver.transfer().copied());
        let place = self.receiver.handle(self.now, bytes);
        let stats = *self.receiver.stats();
        let count = |rejected: &[u64]| rejected.iter().sum::<u64>();
        let is_rejected = count(&stats.rejected) > count(&before.0.rejected);
        let taken = |stats: samplewire_proto::block::ReceiverStats| {
            stats.data + stats.duplicates + stats.summaries
        };
        assert_eq!(u64::from(is_rejected) + taken(stats) - taken(before.0), 1, "it counts once");
        let Ok(frame) = Frame::parse(bytes) else {
            assert!(is_rejected && place.is_none());
            return;
        };
        // The bytes of every frame from there, of which it counts fewer.
        *self.came.entry(frame.header.source).or_default() += bytes.len();
        if !is_rejected {
            self.last = Some(frame.header);
        }
        let is_of_transfer = self.receiver.transfer() == Some(&frame.header);
        if is_of_transfer && !is_rejected {
            if before.1.is_none() {
                self.begin();
            }
            self.heard_at = Some(self.now);
        }
        if let Some(place) = place {
            let (start, end) = (place.offset, place.offset + place.bytes.len() as u64);
            assert!(end <= self.placed.len() as u64 && start.is_multiple_of(self.packet_bytes));
            assert!(place.bytes.len() as u64 <= self.packet_bytes && !is_rejected);
            self.placed[start as usize..end as usize].fill(true);
        }
    }

    /// A transfer begins, or none is under way.
    fn begin(&mut self) {
        self.placed.fill(false);
        (self.heard_at, self.is_complete) = (None, false);
    }

    fn drain(&mut self, input: &mut Input<'_>) {
        self.events(input);
        let (mut bytes, mut frames) = (0, 0);
        let mut out = [0; FRAME_BYTES_MAX];
        while let Some(len) = self.receiver.poll_transmit(&mut out) {
            let frame = Frame::parse(&out[..len]).expect("it sends frames");
            assert_eq!(frame.header.source, FAR);
            let to = frame.header.destination;
            let came = self.came.get(&to).copied().expect("it answers");
            match frame.body {
                Body::Complete => {
                    let (at, header) = self.done.expect("OK is for what is done");
                    assert_eq!(frame.header, header.reply());
                    assert!(self.now < at + ANSWERS_MAX || self.oks == 0, "for 10 s");
                    self.oks += 1;
                    assert!(len <= came, "an answer is no longer than what came");
                }
                Body::Checking => {
                    assert_eq!(self.receiver.transfer().map(|it| it.reply()), Some(frame.header));
                    assert!(self.is_complete, "it computes the CRC of what is complete");
                    assert!(len <= came, "an answer is no longer than what came");
                }
                Body::Missing(seqs) => {
                    assert_eq!(self.receiver.transfer().map(|it| it.reply()), Some(frame.header));
                    let seqs: Vec<u32> = seqs.iter().collect();
                    assert!(seqs.is_sorted() && seqs.iter().all(|seq| *seq < 64));
                    (bytes, frames) = (bytes + len, frames + 1);
                    assert!(frames <= ANSWER_FRAMES_MAX && bytes <= came);
                }
                Body::Data { .. } | Body::Summary(_) => panic!("a receiver only answers"),
            }
        }
        let stats = self.receiver.stats();
        assert!(stats.checks + stats.oks <= stats.summaries, "a summary has one answer");
        if let (true, Some(header)) = (bytes > 0, self.receiver.transfer()) {
            self.came.insert(header.source, 0);
        }
        let next = self.receiver.poll_timeout();
        assert!(next.is_none_or(|at| at > self.now), "{next:?} at {:?}", self.now);
    }

    fn events(&mut self, input: &mut Input<'_>) {
        while let Some(event) = self.receiver.poll_event() {
            match event {
                ReceiveEvent::Complete { bytes } => {
                    self.assert_placed(bytes);
                    self.is_complete = true;
                    if input.byte() == 0 {
                        continue;
                    }
                    // That of most summaries.
                    self.receiver.handle_crc(self.now, 9);
                }
                ReceiveEvent::Done { bytes } => {
                    self.assert_placed(bytes);
                    let header = self.last.expect("a frame has completed it");
                    assert_eq!(header.transfer.is_some(), self.is_complete, "an ID has a CRC");
                    (self.done, self.oks) = (Some((self.now, header)), 0);
                    self.begin();
                }
                ReceiveEvent::Failed(failure) => {
                    let silence = self.heard_at.map(|at| self.now.since(at));
                    match failure {
                        ReceiveFailure::Silent => assert!(silence >= Some(SILENCE_MAX)),
                        ReceiveFailure::Crc { stated, actual } => {
                            assert!(self.is_complete && stated == 10 && actual == 9);
                        }
                        ReceiveFailure::Superseded => {}
                    }
                    self.begin();
                }
            }
        }
        let is_late = self.heard_at.is_some_and(|at| self.now >= at + SILENCE_MAX);
        assert!(!is_late, "10 s of silence end a transfer");
    }

    fn assert_placed(&self, bytes: u64) {
        let bytes = bytes as usize;
        assert!(bytes <= self.placed.len() && self.placed[..bytes].iter().all(|placed| *placed));
    }
}

const NEAR: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FAR: [u8; 6] = [2, 0, 0, 0, 0, 2];
