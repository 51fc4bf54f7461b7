//! A sender, a receiver and the wire between them, on virtual time and from one seed.

use std::collections::BTreeMap;

use crate::block::wire::{Body, Frame, Header};
use crate::block::{
    FRAME_BYTES_MAX, MacAddress, ReceiveEvent, ReceiveFailure, Receiver, ReceiverConfig, SendEnd,
    Sender, SenderConfig, TransferId, Types,
};
use crate::crc::crc32c;
use crate::number::Nanos;
use crate::random::{Odds, Rng};

pub(super) const NEAR: MacAddress = [2, 0, 0, 0, 0, 1];
pub(super) const FAR: MacAddress = [2, 0, 0, 0, 0, 2];

/// One direction of the wire: 1 Gb/s, then a delay.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) delay: Nanos,
    pub(super) loss: Odds,
    pub(super) duplicate: Odds,
    /// Frames with up to four changed bits that no checksum has seen.
    pub(super) corrupt: Odds,
    pub(super) truncate: Odds,
    /// Frames that take up to `reorder_by` longer.
    pub(super) reorder: Odds,
    pub(super) reorder_by: Nanos,
    pub(super) busy_until: Nanos,
}

/// What a transfer is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) bytes: usize,
    pub(super) packet_bytes: u16,
    pub(super) with_id: bool,
}

/// An end that starts again at some moment, with nothing left of the time before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// With another file.
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

pub(super) struct World {
    pub(super) now: Nanos,
    pub(super) sender: Sender<Vec<u32>>,
    pub(super) receiver: Receiver<Vec<u32>>,
    pub(super) data_path: Path,
    pub(super) answer_path: Path,
    /// In order of time, the first last.
    pub(super) restarts: Vec<(Nanos, Restart)>,
    /// DATA that did not arrive as it was sent.
    pub(super) lost_data: u64,
    /// How the last transfer ended, for its sender.
    pub(super) sent: Option<(Nanos, SendEnd)>,
    /// What became of transfers at the receiver, in order.
    pub(super) received: Vec<(Nanos, Result<(), ReceiveFailure>)>,
    /// How long the receiver takes to compute a CRC.
    pub(super) crc_time: Nanos,
    /// When the CRC of so many bytes is known.
    crc_at: Option<(Nanos, u64)>,
    plan: Plan,
    /// The files of all transfers, in order.
    files: Vec<Vec<u8>>,
    /// The ID of the transfer whose CRC was computed last.
    complete: Option<TransferId>,
    memory: Vec<u8>,
    on_wire: BTreeMap<(Nanos, u64), (Side, Vec<u8>)>,
    order: u64,
    rng: Rng,
}

impl World {
    pub(super) fn new(seed: u64, plan: Plan) -> Self {
        let mut rng = Rng::new(seed);
        let (file, sender) = sender(&mut rng, &plan, 0);
        let path = Path { delay: Nanos::from_micros(10), ..Path::default() };
        Self {
            now: Nanos::from_millis(1),
            sender,
            receiver: receiver(&plan),
            data_path: path.clone(),
            answer_path: path,
            restarts: vec![],
            lost_data: 0,
            sent: None,
            received: vec![],
            crc_time: Nanos(0),
            crc_at: None,
            plan,
            files: vec![file],
            complete: None,
            memory: vec![0xEE; limit(&plan)],
            on_wire: BTreeMap::new(),
            order: 0,
            rng,
        }
    }

    /// Runs until the sender has ended, the receiver has no transfer, and no restart is to come.
    pub(super) fn run(&mut self) {
        let limit = self.now + Nanos::from_millis(600_000);
        while self.sent.is_none() || self.receiver.transfer().is_some() || !self.restarts.is_empty()
        {
            assert!(self.now < limit, "no end: {:?} {:?}", self.sender, self.receiver.stats());
            self.step(limit);
        }
    }

    pub(super) fn run_until(&mut self, end: Nanos) {
        while self.now < end {
            self.step(end);
        }
    }

    /// Runs until `is_reached`, and returns when that was.
    pub(super) fn run_to(&mut self, is_reached: impl Fn(&Self) -> bool) -> Nanos {
        loop {
            let now = self.now;
            self.step(Nanos(u64::MAX));
            if is_reached(self) {
                return now;
            }
        }
    }

    /// Hands bytes to the sender as if they had arrived.
    pub(super) fn inject_to_sender(&mut self, bytes: Vec<u8>) {
        self.arrive(Side::Sender, self.now, bytes);
    }

    /// Hands bytes to the receiver as if they had arrived.
    pub(super) fn inject_to_receiver(&mut self, bytes: Vec<u8>) {
        self.arrive(Side::Receiver, self.now, bytes);
    }

    /// Loses all that has left and not arrived.
    pub(super) fn forget_what_is_on_the_wire(&mut self) {
        self.on_wire.clear();
    }

    /// The header of frames from the sender.
    pub(super) fn header(&self) -> Header {
        let transfer = self.plan.with_id.then(|| id(self.files.len() - 1));
        Header { destination: FAR, source: NEAR, transfer }
    }

    /// Begins the next transfer at the sender.
    pub(super) fn send_next(&mut self) {
        let (file, sender) = sender(&mut self.rng, &self.plan, self.files.len());
        self.files.push(file);
        (self.sender, self.sent) = (sender, None);
    }

    pub(super) fn step(&mut self, limit: Nanos) {
        self.restart();
        self.deliver();
        self.run_sender();
        self.run_receiver();
        let next = [
            self.on_wire.first_key_value().map(|((at, _), _)| *at),
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
            self.crc_at.map(|(at, _)| at),
            self.restarts.last().map(|(at, _)| *at),
        ];
        let next = next.into_iter().flatten().min().unwrap_or(limit).min(limit);
        self.now = next.max(self.now + Nanos(1));
    }

    fn restart(&mut self) {
        while let Some((_, restart)) = self.restarts.pop_if(|(at, _)| *at <= self.now) {
            match restart {
                Restart::Sender => {
                    // What waited in front of the wire is gone.
                    let path = &mut self.data_path;
                    let (end, now) = (self.now + path.delay, self.now);
                    self.on_wire.retain(|(at, _), (to, _)| *to == Side::Sender || *at <= end);
                    path.busy_until = now;
                    self.send_next();
                }
                Restart::Receiver => {
                    self.receiver = receiver(&self.plan);
                    self.crc_at = None;
                    self.memory.fill(0xEE);
                }
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.on_wire.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, bytes) = entry.remove();
            match to {
                Side::Sender => self.sender.handle(self.now, &bytes),
                Side::Receiver => {
                    if let Some(place) = self.receiver.handle(self.now, &bytes) {
                        let offset = place.offset as usize;
                        self.memory[offset..][..place.bytes.len()].copy_from_slice(place.bytes);
                    }
                }
            }
        }
    }

    fn run_sender(&mut self) {
        self.sender.handle_timeout(self.now);
        let mut out = [0xEE; FRAME_BYTES_MAX];
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            let at = transmit.payload().unwrap_or(0..0);
            let payload = &self.files[self.files.len() - 1][at.start as usize..at.end as usize];
            let len = transmit.emit(payload, &mut out);
            let arrived = self.send(Side::Receiver, &out[..len]);
            self.lost_data += u64::from(!arrived && transmit.seq().is_some());
        }
        if let Some(end) = self.sender.poll_event() {
            assert!(self.sent.is_none(), "a transfer ends once");
            self.sent = Some((self.now, end));
        }
    }

    fn run_receiver(&mut self) {
        self.receiver.handle_timeout(self.now);
        if let Some((_, bytes)) = self.crc_at.take_if(|(at, _)| *at <= self.now) {
            self.receiver.handle_crc(self.now, crc32c(&self.memory[..bytes as usize]));
        }
        while let Some(event) = self.receiver.poll_event() {
            if let Some(header) = self.receiver.transfer() {
                self.complete = header.transfer;
            }
            match event {
                ReceiveEvent::Complete { bytes } if self.crc_time > Nanos(0) => {
                    self.crc_at = Some((self.now + self.crc_time, bytes));
                }
                ReceiveEvent::Complete { bytes } => {
                    let crc = crc32c(&self.memory[..bytes as usize]);
                    self.receiver.handle_crc(self.now, crc);
                }
                ReceiveEvent::Done { bytes } => {
                    let number = (0..self.files.len()).find(|it| self.complete == Some(id(*it)));
                    // A damaged ID is that of none.
                    let files = number.map_or(&self.files[..], |it| &self.files[it..=it]);
                    let is_right = files.iter().any(|file| self.memory[..bytes as usize] == *file);
                    assert!(is_right, "a wrong file of {bytes} bytes");
                    self.received.push((self.now, Ok(())));
                    self.receiver.listen();
                }
                ReceiveEvent::Failed(failure) => {
                    self.crc_at = None;
                    self.received.push((self.now, Err(failure)));
                    self.receiver.listen();
                }
            }
        }
        let mut out = [0xEE; FRAME_BYTES_MAX];
        while let Some(len) = self.receiver.poll_transmit(&mut out) {
            self.send(Side::Sender, &out[..len]);
        }
    }

    /// Returns whether the frame arrives as it was sent.
    fn send(&mut self, to: Side, bytes: &[u8]) -> bool {
        let rng = &mut self.rng;
        let path = if to == Side::Receiver { &mut self.data_path } else { &mut self.answer_path };
        // With preamble, checksum and gap.
        let wire_time = Nanos(8 * (bytes.len() as u64 + 24));
        path.busy_until = path.busy_until.max(self.now) + wire_time;
        if rng.chance(path.loss) {
            return false;
        }
        let path = path.clone();
        let mut arrives = false;
        for _ in 0..1 + u64::from(rng.chance(path.duplicate)) {
            let mut copy = bytes.to_vec();
            if self.rng.chance(path.truncate) {
                copy.truncate(self.rng.index(copy.len()));
            }
            if self.rng.chance(path.corrupt) {
                for _ in 0..=self.rng.index(4) {
                    let bit = self.rng.index(8 * copy.len());
                    if let Some(byte) = copy.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                }
            }
            arrives |= copy == bytes;
            let mut at = path.busy_until + path.delay;
            if self.rng.chance(path.reorder) {
                at = at + Nanos(self.rng.below(path.reorder_by.0));
            }
            self.arrive(to, at, copy);
        }
        arrives
    }

    fn arrive(&mut self, to: Side, at: Nanos, bytes: Vec<u8>) {
        self.order += 1;
        self.on_wire.insert((at, self.order), (to, bytes));
    }
}

/// The frame of an answer to the sender of a header.
pub(super) fn answer(header: Header, seqs: &[u32]) -> Vec<u8> {
    let mut out = [0; FRAME_BYTES_MAX];
    let len = match seqs {
        [] => Frame { header, body: Body::Complete }.emit(&mut out),
        seqs => header.emit_missing(seqs.iter().copied(), &mut out),
    };
    out[..len].to_vec()
}

/// A frame of any kind.
pub(super) fn frame(header: Header, body: Body<'_>) -> Vec<u8> {
    let mut out = [0; FRAME_BYTES_MAX];
    let len = Frame { header, body }.emit(&mut out);
    out[..len].to_vec()
}

fn sender(rng: &mut Rng, plan: &Plan, number: usize) -> (Vec<u8>, Sender<Vec<u32>>) {
    let file: Vec<u8> = (0..plan.bytes).map(|_| rng.draw() as u8).collect();
    let transfer = plan.with_id.then(|| id(number));
    let config =
        SenderConfig { packet_bytes: plan.packet_bytes, ..SenderConfig::new(NEAR, FAR, transfer) };
    let sender = Sender::new(config, plan.bytes as u64, crc32c(&file), memory(plan));
    (file, sender.expect("the choices hold"))
}

fn receiver(plan: &Plan) -> Receiver<Vec<u32>> {
    let config = ReceiverConfig {
        types: if plan.with_id { Types::WithId } else { Types::Plain },
        packet_bytes: Some(plan.packet_bytes),
        ..ReceiverConfig::new(FAR, limit(plan) as u64)
    };
    Receiver::new(config, memory(plan)).expect("the choices hold")
}

/// The receiver has room for what is a little longer.
fn limit(plan: &Plan) -> usize {
    plan.bytes + 3 * usize::from(plan.packet_bytes)
}

fn memory(plan: &Plan) -> Vec<u32> {
    let packets = limit(plan).div_ceil(plan.packet_bytes.into());
    vec![u32::MAX; packets.div_ceil(32)]
}

const fn id(number: usize) -> TransferId {
    TransferId(0x5EED_0000 + 0x0101 * number as u32)
}
