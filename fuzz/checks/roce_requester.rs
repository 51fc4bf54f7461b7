//! A requester keeps to its window, repeats nothing that is acknowledged, and completes each work
//! request once and in order, whatever is acknowledged and whenever.

use samplewire_proto::Nanos;
use samplewire_roce::requester::{
    AckTimeout, PostError, Requester, RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest,
};
use samplewire_roce::wire::{Aeth, Syndrome};
use samplewire_roce::{PathMtu, Psn};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the requester breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = 1 + u32::from(input.byte() % 32);
    let config = RequesterConfig {
        psn: Psn::new(0u32.wrapping_sub(u32::from(input.byte()))),
        mtu: input.choose(&PathMtu::ALL),
        window,
        ack_every: 1 + u32::from(input.byte()) % window,
        timeout: AckTimeout::new(input.byte() % 32).expect("it is below 32"),
        retries: input.byte() % 8,
        rnr_retries: input.byte() % 8,
        patience: None,
    };
    let slots = [SendSlot::default(); SLOTS];
    let mut world = World {
        requester: Requester::new(config, slots).expect("the choices are in range"),
        config,
        now: Nanos(1_000),
        acked: 0,
        sent: 0,
        ends: vec![],
        completed: 0,
        has_failed: false,
    };
    while !input.is_empty() {
        world.step(&mut input);
        world.drain();
    }
}

struct World {
    requester: Requester<[SendSlot; SLOTS]>,
    config: RequesterConfig,
    now: Nanos,
    /// Packets acknowledged and sent, as they follow from what the requester does.
    acked: u64,
    sent: u64,
    /// The packet after the last of each work request.
    ends: Vec<u64>,
    completed: usize,
    has_failed: bool,
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0..=2 => self.post(input),
            3..=5 => self.acknowledge(input),
            6 => self.now = self.now + Nanos(u64::from(input.word())),
            _ => match input.byte() {
                0 => self.requester.flush(),
                _ => self.now = self.requester.poll_timeout().unwrap_or(self.now).max(self.now),
            },
        }
        self.requester.handle_timeout(self.now);
    }

    fn post(&mut self, input: &mut Input<'_>) {
        let is_write = input.byte() & 1 == 1;
        let verb = if is_write { Verb::Write { address: 1, key: 2 } } else { Verb::Send };
        let packets = u32::from(input.byte() % 8);
        let len_bytes = input.near(self.config.mtu.bytes() * packets);
        let immediate = (input.byte() & 1 == 1).then_some(7);
        let id = self.ends.len() as u64;
        let request = WorkRequest { id, verb, len_bytes, immediate, is_solicited: false };
        let is_full = self.requester.free_slots() == 0;
        match self.requester.post(request) {
            Ok(()) => {
                let begin = self.ends.last().copied().unwrap_or(0);
                self.ends.push(begin + u64::from(self.config.mtu.packets(len_bytes)));
            }
            Err(PostError::Full(slots)) => assert!(is_full && slots == SLOTS),
            Err(PostError::TooLong(len)) => assert!(len > 1 << 31),
        }
    }

    fn acknowledge(&mut self, input: &mut Input<'_>) {
        let psn = Psn::new(input.near(self.requester.oldest().get()));
        let syndrome = Syndrome::from_number(input.byte());
        let is_within = u64::from(psn.after(self.requester.oldest())) < self.sent - self.acked;
        let before = (self.requester.oldest(), self.requester.poll_timeout());
        self.requester.handle(self.now, psn, &Aeth { syndrome, msn: input.word() });
        if !is_within || self.has_failed {
            let after = (self.requester.oldest(), self.requester.poll_timeout());
            assert_eq!(before, after, "what was not sent is not acknowledged");
        }
        self.acked += u64::from(self.requester.oldest().after(before.0));
        assert!(self.acked <= self.sent);
    }

    fn drain(&mut self) {
        let mut packets = 0;
        while let Some(request) = self.requester.poll_transmit(self.now) {
            assert!(!self.has_failed, "nothing leaves after a failure");
            packets += 1;
            assert!(packets <= self.config.window, "one moment has few packets to send");
            let position = self.acked + u64::from(request.psn.after(self.requester.oldest()));
            assert!(position <= self.sent, "new packets leave in order");
            self.sent = self.sent.max(position + 1);
            assert!(self.sent - self.acked <= u64::from(self.config.window));
            let number = self.ends.partition_point(|end| *end <= position);
            assert_eq!(request.payload.id, number as u64, "each packet is of its message");
            assert!(request.payload.len_bytes <= self.config.mtu.bytes());
            assert_eq!(request.opcode.is_last(), self.ends[number] == position + 1);
        }
        assert_eq!(u64::from(self.requester.in_flight()), self.sent - self.acked);
        while let Some(done) = self.requester.poll_event() {
            assert_eq!(done.id, self.completed as u64, "completions come once and in order");
            if done.status == SendStatus::Done {
                assert!(!self.has_failed, "none is done after one that failed");
                assert!(self.ends[self.completed] <= self.acked, "it is acknowledged");
            } else {
                self.has_failed = true;
            }
            self.completed += 1;
        }
        self.has_failed |= self.requester.has_failed();
        if self.has_failed {
            assert_eq!(self.completed, self.ends.len(), "all that is posted is flushed");
        }
    }
}

const SLOTS: usize = 5;
