//! Packets of an attacker: drawn from a seed, beside the faults of the network.
//!
//! There are five kinds:
//! - **Off the path**: the attacker sees no packet of a live stream. It sends forged packets and frames,
//!   those of former streams, right ones from wrong addresses, and any with a wrong CRC. They change
//!   nothing.
//! - **Replay**: the attacker sends packets again that it has seen, and frames of queue pairs. They do
//!   no more than copies made by the network.
//! - **Congestion**: notifications (CNP) in a flood. Those for a queue pair of a stream cut its rate as a
//!   switch may.
//! - **Refuse**: packets that the rules of positions refuse have no effect, from any sender.
//! - **On the path**: only an attacker that sees the packets and sends plausible ones can do harm.
//!   Even then every index is accounted for.

mod forge;
mod frames;
mod opening;

use samplewire_proto::session::{OpenPhase, Peer};
use samplewire_proto::wire::PacketType;
use samplewire_proto::{Nanos, Rng, crc};

use crate::net::{peer_of, stranger};
use crate::packets::ProcessId;
use crate::process::Facts;
use crate::tape::{Recorded, Tape};

pub(crate) use frames::Expected;

/// How much of it, and of which kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostileSpec {
    /// Packets of a burst at most, and the time between two bursts.
    pub(crate) burst: u32,
    pub(crate) every: Nanos,
    /// Whether right packets with wrong contents are among them.
    pub(crate) is_on_path: bool,
}

/// What must come of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Nothing but a count of what is foreign, or an answer.
    Nothing,
    /// It is no packet, whatever it says: its CRC is wrong.
    Damaged,
    /// What a late or second copy does.
    Replay,
    /// It is dropped by the rules of positions, and counted as such.
    Refused,
    /// It names an opening, which must not believe it.
    Disbelieved,
    /// Whatever a peer that lies can do.
    Anything,
}

/// Draws packets, one after another.
#[derive(Debug)]
pub(crate) struct Hostile {
    spec: HostileSpec,
    pub(crate) next_at: Nanos,
    rng: Rng,
    /// The packet drawn last, and where it claims to come from.
    pub(crate) bytes: Vec<u8>,
    pub(crate) from: Peer,
}

impl Hostile {
    pub(crate) const fn new(spec: HostileSpec, rng: Rng) -> Self {
        Self { next_at: spec.every, spec, rng, bytes: vec![], from: peer_of(0) }
    }

    /// The target of the next burst and its number of packets.
    pub(crate) fn aim(&mut self, processes: usize) -> (ProcessId, u32) {
        self.next_at = self.next_at + self.spec.every;
        let target = self.rng.below(processes as u64) as ProcessId;
        (target, 1 + self.rng.below(self.spec.burst.into()) as u32)
    }

    /// One of `ends`.
    pub(crate) fn pick(&mut self, ends: usize) -> usize {
        self.rng.below(ends.max(1) as u64) as usize
    }

    /// Draws a packet to `to`, where `facts` are of a stream's end that lives there.
    pub(crate) fn draw(
        &mut self,
        now: Nanos,
        to: ProcessId,
        facts: Option<&Facts>,
        tape: &Tape,
    ) -> Intent {
        self.bytes.clear();
        if let Some(facts) = facts {
            if self.spec.is_on_path && self.rng.one_in(2) && self.mutate_of(to, facts, tape) {
                return Intent::Anything;
            }
            if self.rng.one_in(4) && forge::refused(facts, &mut self.rng, &mut self.bytes) {
                self.from = peer_of(facts.peer);
                return Intent::Refused;
            }
        }
        let Some(recorded) = tape.pick(&mut self.rng, to) else { return self.noise() };
        self.from = peer_of(recorded.from);
        match self.rng.below(8) {
            0 => self.noise(),
            1 | 2 => self.damage(recorded),
            3 | 4 => self.disguise(recorded),
            5 => self.readdress(recorded),
            _ => self.replay(now, recorded),
        }
    }

    /// Draws an ACCEPT from `peer` that answers `open`, the newest OPEN of an opening in `phase`.
    pub(crate) fn draw_accept(
        &mut self,
        peer: ProcessId,
        open: &Recorded,
        phase: OpenPhase,
    ) -> Option<Intent> {
        self.from = peer_of(peer);
        self.bytes.clear();
        let is_on_path = self.spec.is_on_path;
        opening::accept(&open.bytes, phase, is_on_path, &mut self.rng, &mut self.bytes)
    }

    /// Draws an OPEN with another's cookie.
    pub(crate) fn draw_changed_open(&mut self, to: ProcessId, tape: &Tape) -> Option<Intent> {
        let recorded = tape.pick_opening(&mut self.rng, to)?;
        self.from = peer_of(recorded.from);
        self.bytes.clear();
        opening::open(&recorded.bytes, self.spec.is_on_path, &mut self.rng, &mut self.bytes)
    }

    /// Whether a packet is one of openings.
    pub(crate) fn strikes_openings(&mut self) -> bool {
        self.rng.one_in(OPENING_ONE_IN)
    }

    /// Draws an OPEN or an answer to one, as it was.
    pub(crate) fn draw_opening(&mut self, to: ProcessId, tape: &Tape) -> bool {
        let Some(recorded) = tape.pick_opening(&mut self.rng, to) else { return false };
        self.bytes.clear();
        self.bytes.extend_from_slice(&recorded.bytes);
        self.from = peer_of(recorded.from);
        true
    }

    /// Random bytes, often under a right CRC; where they look like a stream's, of a random tag.
    fn noise(&mut self) -> Intent {
        self.from = self.somebody();
        let len = self.rng.below(NOISE_BYTES) as usize;
        while self.bytes.len() < len {
            self.bytes.extend_from_slice(&self.rng.draw().to_le_bytes());
        }
        if self.rng.one_in(2)
            && let Some(first) = self.bytes.first_mut()
        {
            *first = 0x10 | (self.rng.below(9) as u8);
            // So that the flags are legal as well.
            self.bytes[1] &= 0x80;
            reseal(&mut self.bytes);
        }
        Intent::Nothing
    }

    /// A packet under a wrong CRC, with fields of extremes.
    fn damage(&mut self, recorded: &Recorded) -> Intent {
        self.bytes.extend_from_slice(&recorded.bytes);
        for _ in 0..=self.rng.below(3) {
            self.change_field();
        }
        reseal(&mut self.bytes);
        let wrong = 1 + self.rng.below(u64::from(u32::MAX)) as u32;
        let trailer = self.bytes.len() - 4;
        for (byte, flip) in self.bytes[trailer..].iter_mut().zip(wrong.to_be_bytes()) {
            *byte ^= flip;
        }
        Intent::Damaged
    }

    /// A packet under a right CRC that misses the tag, the cookie, or what stands for them.
    fn disguise(&mut self, recorded: &Recorded) -> Intent {
        self.bytes.extend_from_slice(&recorded.bytes);
        let secret = match self.bytes[0] & 0x0F {
            kind if kind == PacketType::Open as u8 => COOKIE + self.rng.below(4) as usize * 4,
            kind if kind == PacketType::CloseAck as u8 && self.bytes[TAG..TAG + 4] == [0; 4] => {
                ECHOED_TAG
            }
            _ => TAG,
        };
        for _ in 0..self.rng.below(3) {
            self.change_field();
        }
        let wrong = match self.rng.below(3) {
            0 => 1 << self.rng.below(32),
            1 => 1 + self.rng.below(3) as u32,
            _ => 1 + self.rng.below(u64::from(u32::MAX)) as u32,
        };
        let right = &recorded.bytes[secret..secret + 4];
        let right = u32::from_be_bytes(right.try_into().expect("four bytes"));
        self.bytes[secret..secret + 4].copy_from_slice(&(right ^ wrong).to_be_bytes());
        if secret != TAG {
            self.bytes[TAG..TAG + 4].copy_from_slice(&recorded.bytes[TAG..TAG + 4]);
        }
        // What it is of stays, or it would be another kind of packet.
        self.bytes[0] = recorded.bytes[0];
        reseal(&mut self.bytes);
        Intent::Nothing
    }

    /// A right packet from an address that is not its own.
    fn readdress(&mut self, recorded: &Recorded) -> Intent {
        self.bytes.extend_from_slice(&recorded.bytes);
        self.from = stranger(recorded.from, self.rng.below(4) as u16);
        Intent::Nothing
    }

    /// A packet once more, not later than a network could keep it.
    fn replay(&mut self, now: Nanos, recorded: &Recorded) -> Intent {
        if now.since(recorded.at) > REPLAY_MAX {
            return self.noise();
        }
        self.bytes.extend_from_slice(&recorded.bytes);
        Intent::Replay
    }

    /// A packet of the stream of `facts`, with other contents under a right CRC.
    fn mutate_of(&mut self, to: ProcessId, facts: &Facts, tape: &Tape) -> bool {
        for _ in 0..8 {
            let Some(recorded) = tape.pick(&mut self.rng, to) else { return false };
            if recorded.bytes[TAG..TAG + 4] != facts.local_tag.0.to_be_bytes() {
                continue;
            }
            self.bytes.extend_from_slice(&recorded.bytes);
            self.from = peer_of(facts.peer);
            for _ in 0..=self.rng.below(3) {
                self.change_field();
            }
            self.bytes[0] = recorded.bytes[0];
            self.bytes[TAG..TAG + 4].copy_from_slice(&recorded.bytes[TAG..TAG + 4]);
            reseal(&mut self.bytes);
            return true;
        }
        false
    }

    /// Writes an extreme, a neighbour or a random number to one of the fields.
    fn change_field(&mut self) {
        let end = self.bytes.len() - 4;
        let at = match self.rng.below(6) {
            0 => SEQ,
            1 => DEPARTURE,
            2 => INDEX,
            3 => FLAGS,
            _ => BODY + 4 * self.rng.below(16) as usize,
        };
        if at + 4 > end {
            return;
        }
        if at == FLAGS {
            self.bytes[FLAGS] ^= 1 << self.rng.below(8);
            return;
        }
        let field = &mut self.bytes[at..at + 4];
        let present = u32::from_be_bytes((&*field).try_into().expect("four bytes"));
        let near = 1 + self.rng.below(64) as u32;
        let value = match self.rng.below(9) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << 31,
            3 => (1 << 31) - 1,
            4 => present.wrapping_add(1 << 31),
            5 => present.wrapping_add(near),
            6 => present.wrapping_sub(near),
            7 => present ^ 1 << self.rng.below(32),
            _ => self.rng.draw() as u32,
        };
        field.copy_from_slice(&value.to_be_bytes());
    }

    fn somebody(&mut self) -> Peer {
        let process = self.rng.below(8) as ProcessId;
        if self.rng.one_in(2) { peer_of(process) } else { stranger(process, 1) }
    }
}

/// Makes the CRC right.
fn reseal(bytes: &mut [u8]) {
    if let Some(covered) = bytes.len().checked_sub(4) {
        let crc = crc::crc32c(&bytes[..covered]);
        bytes[covered..].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Where fields stand in a packet.
const FLAGS: usize = 1;
const TAG: usize = 2;
const INDEX: usize = 6;
const SEQ: usize = 14;
const DEPARTURE: usize = 18;
const BODY: usize = 22;
const COOKIE: usize = BODY + 24;
const ECHOED_TAG: usize = BODY + 4;

/// Packets are compared within the horizon; this is far from it.
const REPLAY_MAX: Nanos = Nanos::from_millis(8_000);
const NOISE_BYTES: u64 = 200;
/// So many packets are aimed at openings where there is one.
const OPENING_ONE_IN: u64 = 8;
