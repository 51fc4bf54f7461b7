//! A responder writes nothing outside the memory that it was given, takes packets in order alone, and
//! answers a gap once, whatever a peer sends.

use samplewire_roce::responder::{
    Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, Responder, ResponderConfig,
};
use samplewire_roce::wire::{Aeth, Body, Bth, NakCode, Opcode, Operation, Packet, Reth, Syndrome};
use samplewire_roce::{Access, PathMtu, Psn, Qpn, Region};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the responder breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mtu = input.choose(&PathMtu::ALL);
    let psn = Psn::new(0u32.wrapping_sub(u32::from(input.byte())));
    let config = ResponderConfig { psn, mtu, ..ResponderConfig::default() };
    let region = |key, len, access| Region::new(key, ADDRESS, len, access).expect("it fits");
    let regions = [region(1, 4_000, Access::Write), region(2, 100, Access::None)];
    let mut world = World {
        config,
        responder: Responder::new(config, [ReceiveSlot::default(); SLOTS], regions),
        mtu,
        lens: vec![],
        completed: 0,
        open: None,
        has_nacked: false,
        has_failed: false,
    };
    while !input.is_empty() {
        world.step(&mut input);
        world.drain();
    }
}

struct World {
    config: ResponderConfig,
    responder: Responder<[ReceiveSlot; SLOTS], [Region; 2]>,
    mtu: PathMtu,
    /// The length of each receive request.
    lens: Vec<u32>,
    completed: usize,
    /// The message of which a packet was taken, and not the last.
    open: Option<Open>,
    has_nacked: bool,
    has_failed: bool,
}

#[derive(Clone, Copy)]
struct Open {
    is_write: bool,
    left: u32,
    /// The offset of its next byte in the region or receive request.
    next: u64,
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0 => {
                let len_bytes = input.near(2 * self.mtu.bytes());
                let request = ReceiveRequest { id: self.lens.len() as u64, len_bytes };
                let is_posted = self.responder.post_receive(request).is_ok();
                assert_eq!(is_posted, self.lens.len() - self.completed < SLOTS);
                if is_posted {
                    self.lens.push(len_bytes);
                }
            }
            1 if self.has_failed || input.byte() == 0 => {
                self.responder.flush();
                self.has_failed = true;
            }
            2 if self.has_failed => {
                self.responder.begin(self.config);
                (self.open, self.has_nacked, self.has_failed) = (None, false, false);
            }
            _ => self.request(input),
        }
    }

    /// A packet that a peer may send next, or any other.
    fn request(&mut self, input: &mut Input<'_>) {
        let is_wild = input.byte() > 0xE0;
        let expected = self.responder.expected();
        let mtu = self.mtu.bytes();
        let psn = if is_wild { Psn::new(input.near(expected.get())) } else { expected };
        let (opcode, len, total) = if is_wild {
            let len = input.choose(&[0, 1, mtu - 1, mtu, mtu + 1]);
            (input.choose(&Opcode::ALL), len, input.near(len))
        } else {
            self.next_of_message(input)
        };
        let payload = &PAYLOAD[..len as usize];
        let reth = Reth {
            address: ADDRESS + u64::from(input.byte()),
            key: if is_wild { u32::from(input.byte() % 4) } else { 1 },
            len_bytes: total,
        };
        let body = match opcode.operation() {
            Operation::Send | Operation::Write => Body::Request {
                reth: opcode.has_reth().then_some(reth),
                immediate: opcode.has_immediate().then_some(5),
                payload,
            },
            Operation::Unsupported => Body::Unsupported,
            Operation::Acknowledge => {
                Body::Acknowledge(Aeth { syndrome: Syndrome::Ack(0), msn: 0 })
            }
            Operation::Cnp => Body::Cnp,
        };
        let ack_request = input.byte() & 1 == 1;
        let bth = Bth { ack_request, ..Bth::new(opcode, Qpn::new(1), psn) };
        // A WRITE begins where its first packet states, a SEND at the begin of its memory.
        let begin = if opcode.has_reth() { reth.address - ADDRESS } else { 0 };
        let next = self.open.map_or(begin, |open| open.next);
        let placement = self.responder.handle(&Packet { bth, body });
        let is_taken = self.responder.expected() != expected;
        if is_taken {
            assert_eq!((psn, self.responder.expected()), (expected, expected + 1));
            self.has_nacked = false;
            self.open = (!opcode.is_last()).then_some(Open {
                is_write: opcode.operation() == Operation::Write,
                left: self.open.map_or(total, |open| open.left).saturating_sub(len),
                next: next + u64::from(len),
            });
        }
        match placement {
            Placement::Nothing => return,
            Placement::Region { region, offset } => {
                let regions = self.responder.regions();
                assert_eq!(regions[region].access(), Access::Write);
                assert_eq!(offset, next, "each packet of a WRITE follows the one before");
                assert!(offset + u64::from(len) <= regions[region].len_bytes());
            }
            Placement::Receive { id, offset } => {
                let id = usize::try_from(id).expect("it was posted");
                assert_eq!(id, self.completed, "a SEND uses the oldest request that is not done");
                assert_eq!(u64::from(offset), next, "each packet of a SEND follows the one before");
                assert!(u64::from(offset) + u64::from(len) <= u64::from(self.lens[id]));
            }
        }
        assert!(is_taken && !self.has_failed, "only what is taken is written");
    }

    /// Opcode and length of a packet that breaks no rule, and the length of a message that begins.
    fn next_of_message(&self, input: &mut Input<'_>) -> (Opcode, u32, u32) {
        let mtu = self.mtu.bytes();
        let (is_write, left) = match self.open {
            Some(Open { is_write, left, .. }) => (is_write, left),
            None => (input.byte() & 1 == 1, mtu * u32::from(input.byte() % 4) + input.word() % mtu),
        };
        let is_last = left <= mtu;
        let has_immediate = is_last && input.byte() & 1 == 1;
        let opcode = Opcode::of_packet(is_write, self.open.is_none(), is_last, has_immediate);
        (opcode, left.min(mtu), left)
    }

    fn drain(&mut self) {
        if let Some(response) = self.responder.poll_transmit() {
            let expected = self.responder.expected();
            match response.aeth.syndrome {
                Syndrome::Ack(credit) => {
                    assert_eq!((response.psn + 1, credit), (expected, Syndrome::CREDIT_INVALID));
                }
                Syndrome::Nak(NakCode::SequenceError) => {
                    assert!(!self.has_nacked, "one NAK a gap");
                    assert_eq!(response.psn, expected);
                    self.has_nacked = true;
                }
                _ => assert_eq!(response.psn, expected),
            }
            assert_eq!(self.responder.poll_transmit(), None, "one answer is due at a time");
        }
        self.has_failed |= self.responder.fault().is_some();
        while let Some(done) = self.responder.poll_event() {
            assert_eq!(done.id, self.completed as u64, "completions come once and in order");
            if let ReceiveStatus::Send { len_bytes, .. } = done.status {
                assert!(len_bytes <= self.lens[self.completed]);
            }
            self.completed += 1;
        }
        let faults: u64 = self.responder.stats().faults.iter().sum();
        assert!(faults <= 1, "the first fault ends the connection");
    }
}

const ADDRESS: u64 = 0x1000;
const SLOTS: usize = 3;
static PAYLOAD: [u8; 4_097] = [0x5A; 4_097];
