//! Packets of an attacker, handed to a process beside those of the network, and their effects.

use samplewire_proto::Nanos;
use samplewire_proto::Tag;
use samplewire_proto::session::{OpenPhase, Peer};
use samplewire_proto::wire::{self, Header, Packet};
use samplewire_roce::Qpn;

use super::{Process, Role, World};
use crate::hostile::{Expected, Hostile, Intent};
use crate::net::{ip_of, peer_of};
use crate::packets::{Meta, ProcessId};
use crate::process::{Arrival, Endpoint, Facts, Observed, Place};

/// All that a packet may change of a process.
#[derive(Debug)]
struct Before {
    ends: Vec<Observed>,
    opening: Option<(OpenPhase, Tag)>,
    sessions: usize,
}

impl World {
    /// Hands a burst to one process, unless its machine pauses.
    pub(super) fn attack(&mut self) {
        let Some(mut hostile) = self.hostile.take() else { return };
        let (target, packets) = hostile.aim(self.processes.len());
        let machine = self.processes[usize::from(target)].machine;
        if self.net.now >= self.machines[machine].paused_until {
            for _ in 0..packets {
                self.strike(&mut hostile, target);
            }
            self.replay_frames(&mut hostile, target);
            self.flood_notifications(&mut hostile, target);
            self.forge_frames(&mut hostile, target);
            let (part, now) = (self.net.part_of(target), self.net.now);
            self.net.agenda.hasten(part, now);
        }
        self.hostile = Some(hostile);
    }

    /// Offers OPENs whose cookies are void to devices of which all streams have ended.
    pub(super) fn offer_void_cookies(&mut self) {
        let Some(mut hostile) = self.hostile.take() else { return };
        self.net.now = self.net.now + COOKIE_LIFE;
        for device in 0..self.processes.len() {
            let Role::Device(_) = self.processes[device].role else { continue };
            for _ in 0..VOID_COOKIES {
                let Some(tape) = &self.net.tape else { return };
                if hostile.draw_opening(device as ProcessId, tape) {
                    self.settle(device);
                    self.hand(&hostile, device as ProcessId, Intent::Nothing);
                }
            }
        }
    }

    /// Ends the processes whose streams an attacker on the path has touched. An attacker that can
    /// put packets into a stream can stall it: its ends hear each other, and wait.
    pub(super) fn give_up(&mut self) {
        for number in 0..self.processes.len() {
            let is_forged = |end: &Facts| {
                let is_over = matches!(end.place, Place::Over);
                self.checker.sessions[end.session].is_forged && !is_over
            };
            let is_stalled = self.processes[number].role.facts().any(|end| is_forged(&end));
            if is_stalled {
                self.restart(number, Nanos(0));
            }
        }
    }

    /// Hands the station of a process frames that were sent before: a queue pair takes none of a former
    /// stream, and no copy.
    fn replay_frames(&mut self, hostile: &mut Hostile, target: ProcessId) {
        let Some(tape) = &self.net.tape else { return };
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        hostile.draw_frames(target, tape, &mut frames);
        if frames.len() > 0 {
            self.checker.tally.hostile_replayed += frames.len() as u64;
            self.give_frames(target.into(), &frames);
        }
        self.frames = frames;
    }

    /// Hands the station of a process frames that are of none of its queue pairs: they change nothing.
    fn forge_frames(&mut self, hostile: &mut Hostile, target: ProcessId) {
        self.settle(target.into());
        let live = self.expected(hostile, target);
        let Some(tape) = &self.net.tape else { return };
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let numbers = self.numbers(target);
        hostile.draw_forged_frames(target, live.as_ref(), &numbers, tape, &mut frames);
        if frames.len() > 0 {
            let before = self.observe(target.into());
            self.give_frames(target.into(), &frames);
            self.checker.tally.hostile_ignored += frames.len() as u64;
            let after = self.observe(target.into());
            if !after.is_after(&before, 0) {
                let what = format!("{} forged frames to process {target}", frames.len());
                self.checker.fail(format!("{what}: {before:?} became {after:?}"));
            }
        }
        self.frames = frames;
    }

    /// Hands the station of a process congestion notifications for its queue pairs.
    fn flood_notifications(&mut self, hostile: &mut Hostile, target: ProcessId) {
        let Some(tape) = &self.net.tape else { return };
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        hostile.draw_cnps(target, tape, &mut frames);
        self.checker.tally.hostile_cnps += frames.len() as u64;
        if frames.len() > 0 {
            self.give_frames(target.into(), &frames);
        }
        self.frames = frames;
    }

    /// The numbers of the queue pairs of a process.
    fn numbers(&self, process: ProcessId) -> Vec<Qpn> {
        let ends = self.processes[usize::from(process)].role.facts();
        let terms = ends.filter_map(|end| self.checker.sessions[end.session].rdma());
        terms.flat_map(|rdma| [rdma.sender.qpn, rdma.receiver.qpn]).map(Qpn::new).collect()
    }

    /// The next frame to a queue pair of a process, if the stream that is picked has one.
    fn expected(&self, hostile: &mut Hostile, target: ProcessId) -> Option<Expected> {
        let role = &self.processes[usize::from(target)].role;
        let facts = role.facts().nth(hostile.pick(role.facts().count()))?;
        let is_sender = matches!(facts.place, Place::Sender { .. });
        let (number, psn) = self.checker.sessions[facts.session].expected(is_sender)?;
        Some(Expected { source_ip: ip_of(facts.peer).octets(), number, psn })
    }

    fn strike(&mut self, hostile: &mut Hostile, target: ProcessId) {
        self.settle(target.into());
        let ends = self.processes[usize::from(target)].role.facts().count();
        let chosen = hostile.pick(ends);
        let facts = self.facts(target, chosen);
        if hostile.strikes_openings() && self.strike_opening(hostile, target) {
            return;
        }
        let Some(tape) = &self.net.tape else { return };
        let intent = hostile.draw(self.net.now, target, facts.as_ref(), tape);
        if let (Intent::Anything, Some(facts)) = (intent, facts) {
            self.checker.sessions[facts.session].is_forged = true;
        }
        self.hand(hostile, target, intent);
    }

    /// Lets a process do what is due, so that what follows comes of the next packet alone.
    fn settle(&mut self, number: usize) {
        let (role, mut turn) = self.split(number);
        match role {
            Role::Device(device) => device.run(&mut turn),
            Role::Client(client) => client.run(&mut turn),
        }
    }

    /// Hands an ACCEPT to a client that opens, or a changed OPEN to a device; `false` where there is
    /// none to make it of.
    fn strike_opening(&mut self, hostile: &mut Hostile, target: ProcessId) -> bool {
        let Some(tape) = &self.net.tape else { return false };
        let intent = match &self.processes[usize::from(target)].role {
            Role::Device(_) => hostile.draw_changed_open(target, tape),
            role => role.opening().zip(role.device()).and_then(|((phase, tag), device)| {
                let open = tape.newest_open(target, device, tag)?;
                hostile.draw_accept(device, open, phase)
            }),
        };
        let Some(intent) = intent else { return false };
        if intent == Intent::Anything {
            self.taint(target, &hostile.bytes);
        }
        match self.processes[usize::from(target)].role {
            Role::Device(_) => self.checker.tally.hostile_opens += 1,
            Role::Client(_) => self.checker.tally.hostile_accepts += 1,
        }
        self.hand(hostile, target, intent);
        true
    }

    /// Notes the stream that comes of a forged packet of an opening, and any that has its tag.
    fn taint(&mut self, target: ProcessId, bytes: &[u8]) {
        let Ok((header, packet)) = wire::parse(bytes) else { return };
        let (device, opener_tag) = match (&packet, &self.processes[usize::from(target)].role) {
            (Packet::Open(open), _) => (target, open.tag),
            (_, role) => match role.device() {
                Some(device) => (device, header.tag),
                None => return,
            },
        };
        self.checker.taint(device, opener_tag);
        let of_tag = self.processes.iter().flat_map(|process| process.role.facts());
        let of_tag = of_tag.filter(|it| it.local_tag == opener_tag || it.peer_tag == opener_tag);
        let sessions: Vec<_> = of_tag.map(|it| it.session).collect();
        for session in sessions {
            self.checker.sessions[session].is_forged = true;
        }
    }

    /// What is known of an end at a process.
    fn facts(&self, target: ProcessId, chosen: usize) -> Option<Facts> {
        let Process { machine, role } = &self.processes[usize::from(target)];
        let facts = role.facts().nth(chosen)?;
        let now = self.machines[*machine].clock.local(self.net.now);
        let is_sender = matches!(facts.place, Place::Sender { .. });
        let is_closing = matches!(facts.place, Place::Sender { is_closing: true, .. });
        let session = &self.checker.sessions[facts.session];
        let is_opener = role.device().is_some();
        let denial_is_early = is_opener && !is_closing && session.is_heard_lately(now, is_sender);
        Some(Facts { denial_is_early, has_refused: session.has_refused, ..facts })
    }

    /// Hands the packet that was drawn to `target`, and holds what comes of it against `intent`.
    fn hand(&mut self, hostile: &Hostile, target: ProcessId, intent: Intent) {
        let (number, bytes) = (usize::from(target), &hostile.bytes);
        let Process { machine, role } = &self.processes[number];
        let now = self.machines[*machine].clock.local(self.net.now);
        if role.endpoint().is_some_and(|it| it.is_nearly_due(now)) {
            // What comes of time could not be distinguished from what comes of the packet.
            return;
        }
        let own = role.endpoint().map(|it| it.as_read(bytes));
        let parsed = wire::parse(own.as_deref().unwrap_or(bytes));
        // By chance it may carry what it should miss.
        let is_lucky = |(header, packet): &(Header, Packet<'_>)| {
            let is_of_end = role.facts().any(|end| end.is_named_by(header, packet));
            let is_of_opening = role.opening().is_some_and(|(_, tag)| header.tag == tag);
            is_of_end || is_of_opening
        };
        let comes_from_peer = role.is_peer(&hostile.from);
        let intent = match (intent, &parsed) {
            (Intent::Damaged, Ok((header, _))) => {
                return self.checker.fail(format!("{header:?} was taken under a wrong CRC"));
            }
            (Intent::Nothing, Ok(parsed)) if comes_from_peer && is_lucky(parsed) => return,
            (Intent::Replay, Ok(parsed)) if !is_lucky(parsed) && !is_open(parsed) => {
                Intent::Nothing
            }
            (intent, _) => intent,
        };
        let dropped = role.dropped_noted();
        let changes_nothing = !matches!(intent, Intent::Replay | Intent::Anything);
        let before = changes_nothing.then(|| self.observe(number));
        let meta = Meta { from: target, to: target, ..Meta::default() };
        self.net.trace.note(self.net.now, "is struck by", &meta, bytes);
        let arrival = Arrival { from: hostile.from, is_marked: false, dropped };
        let (role, mut turn) = self.split(number);
        role.handle(&mut turn, &arrival, bytes);
        let tally = &mut self.checker.tally;
        let refused = match intent {
            Intent::Nothing | Intent::Damaged => {
                tally.hostile_ignored += 1;
                0
            }
            Intent::Refused => {
                tally.hostile_refused += 1;
                1
            }
            Intent::Disbelieved => {
                tally.hostile_refused += 1;
                0
            }
            Intent::Replay => return tally.hostile_replayed += 1,
            Intent::Anything => return tally.hostile_on_path += 1,
        };
        let after = self.observe(number);
        if let Some(before) = before.filter(|before| !after.is_after(before, refused)) {
            let what = format!("{intent:?} of {bytes:02x?} from {:?}", hostile.from);
            self.checker.fail(format!("{what}: {before:?} became {after:?}"));
        }
    }

    fn observe(&self, number: usize) -> Before {
        let role = &self.processes[number].role;
        let (ends, opening) = (role.observe().collect(), role.opening());
        Before { ends, opening, sessions: self.checker.sessions.len() }
    }
}

impl Before {
    /// Whether nothing has happened since but that one end refused `refused` packets.
    fn is_after(&self, before: &Self, refused: u64) -> bool {
        let mut refusals = 0;
        let is_same = self.ends.iter().zip(&before.ends).all(|(after, before)| {
            let is_untouched = after.is_after(before, 0);
            refusals += u64::from(!is_untouched);
            is_untouched || after.is_after(before, 1)
        });
        let is_same = is_same && self.ends.len() == before.ends.len();
        let opened = (self.opening, self.sessions) == (before.opening, before.sessions);
        is_same && opened && refusals == refused
    }
}

impl Role {
    const fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Device(device) => Some(device.endpoint()),
            Self::Client(client) => client.endpoint(),
        }
    }

    fn facts(&self) -> impl Iterator<Item = Facts> {
        self.endpoint().into_iter().flat_map(Endpoint::facts)
    }

    fn observe(&self) -> impl Iterator<Item = Observed> {
        self.endpoint().into_iter().flat_map(Endpoint::observe)
    }

    fn opening(&self) -> Option<(OpenPhase, Tag)> {
        self.endpoint()?.opening()
    }

    /// The device that a client opens.
    const fn device(&self) -> Option<ProcessId> {
        match self {
            Self::Client(client) => Some(client.device()),
            Self::Device(_) => None,
        }
    }

    fn is_peer(&self, from: &Peer) -> bool {
        match self.device() {
            Some(device) => *from == peer_of(device),
            None => self.facts().any(|end| peer_of(end.peer) == *from),
        }
    }

    fn dropped_noted(&self) -> u32 {
        match self {
            Self::Device(device) => device.endpoint().dropped(),
            Self::Client(client) => client.dropped_noted(),
        }
    }
}

const fn is_open(parsed: &(Header, Packet<'_>)) -> bool {
    matches!(parsed.1, Packet::Open(_))
}

/// OPENs that each device is offered at the end of a run, when every cookie has become void.
const VOID_COOKIES: u32 = 4;
const COOKIE_LIFE: Nanos = Nanos::from_millis(16_100);
