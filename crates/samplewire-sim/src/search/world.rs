//! A state of the network, and the events that are possible in it.

use std::fmt;
use std::rc::Rc;

use samplewire_proto::fingerprint::Fingerprint;
use samplewire_proto::wire::PacketType;
use samplewire_proto::{Nanos, Rng};

use super::canon::Canon;
use super::device::Device;
use super::host::{Host, HostStanding};
use super::ledger::{Broken, Ledger};
use super::mutant::Mutant;
use super::packet::{Flying, Outgoing, Process};
use super::scenario::{Fault, Faults, IN_FLIGHT_MAX, OWNER_A, OWNER_NEW, Scenario};

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World {
    scenario: &'static Scenario,
    mutant: Option<Mutant>,
    pub(super) now: Nanos,
    device: Device,
    hosts: [Host; 2],
    /// In the order of [`Flying::key`].
    flight: Vec<InFlight>,
    faults: Faults,
    ledger: Ledger,
    rng: Rng,
    departed: u64,
}

/// A packet in flight.
#[derive(Clone, Debug)]
struct InFlight {
    packet: Rc<Flying>,
    /// A timer has fired since it left.
    is_late: bool,
}

/// What may happen next. Packets are named by their place among those in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Arrive(u8),
    Lose(u8),
    /// It arrives, and a copy stays behind.
    Double(u8),
    /// The next timer of a process fires.
    Timer(Process),
    RestartDevice,
    RestartHost,
    /// Host B begins to open.
    Rival,
    /// Host A cancels its stream.
    Cancel,
    /// Nothing that leaves comes through for longer than it takes to count a peer as dead. What was
    /// in flight before stays in flight.
    Partition(Blocked),
}

/// Which way a partition blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    ToDevice,
    ToHosts,
    BothWays,
}

/// What a process works with for the length of an event.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) now: Nanos,
    pub(super) scenario: &'static Scenario,
    pub(super) mutant: Option<Mutant>,
    pub(super) ledger: &'a mut Ledger,
    rng: &'a mut Rng,
    sent: &'a mut Vec<Outgoing>,
    lines: Option<&'a mut Vec<String>>,
}

impl Turn<'_> {
    pub(super) fn send(&mut self, to: Process, bytes: &[u8], session: u32) {
        self.sent.push(Outgoing { to, bytes: bytes.to_vec(), session });
    }

    /// Writes a line if the path is recorded.
    pub(super) fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(format!("          {}", line()));
        }
    }

    /// An unpredictable seed, unless the mutant breaks this rule.
    pub(super) const fn seed(&mut self) -> u128 {
        let drawn = seed(self.rng);
        if matches!(self.mutant, Some(Mutant::ReusedTags)) { 1 } else { drawn }
    }
}

const fn seed(rng: &mut Rng) -> u128 {
    (rng.draw() as u128) << 64 | rng.draw() as u128
}

impl World {
    /// A network where a scenario starts.
    pub(super) fn at_start(scenario: &'static Scenario, mutant: Option<Mutant>) -> Self {
        let mut rng = Rng::new(SEED);
        let hosts = [Host::new(0, OWNER_A), Host::new(1, scenario.rival.unwrap_or(OWNER_A))];
        let mut world = Self {
            scenario,
            mutant,
            now: START,
            device: Device::new(0, START, seed(&mut rng)),
            hosts,
            flight: vec![],
            faults: scenario.faults,
            ledger: Ledger::default(),
            rng,
            departed: 0,
        };
        world.open(0, None);
        while !scenario.start.is_reached(&world) {
            let event = world.next_without_fault().expect("a stream begins without a fault");
            if world.broken().is_some() {
                break;
            }
            world.take(event, None);
        }
        world
    }

    pub(super) const fn scenario_name(&self) -> &'static str {
        self.scenario.name
    }

    /// The first thing that did not hold.
    pub(super) fn broken(&self) -> Option<&Broken> {
        self.ledger.broken()
    }

    pub(super) const fn host_standing(&self, host: usize) -> HostStanding {
        self.hosts[host].standing()
    }

    /// Whether all packets of the first session have been delivered and a CLOSE is in flight.
    pub(super) fn is_closing(&self) -> bool {
        self.ledger.next_session() > 1
            && self.ledger.book(1).delivered == self.scenario.packets
            && self.flight.iter().any(|flying| flying.packet.kind == PacketType::Close)
    }

    /// Whether nothing goes on: no opening, no stream, no packet.
    pub(super) fn is_quiet(&self) -> bool {
        let is_at_rest =
            |host: &Host| matches!(host.standing(), HostStanding::Waiting | HostStanding::Done);
        self.flight.is_empty() && self.device.is_idle() && self.hosts.iter().all(is_at_rest)
    }

    /// What goes on, for a run that does not end.
    pub(super) fn standing(&self) -> String {
        let [a, b] = [0, 1].map(|host| self.host_standing(host));
        let device = if self.device.is_idle() { "idle" } else { "streaming" };
        format!("host A {a:?}, host B {b:?}, the device {device}")
    }

    /// Packets of the newest session that have been delivered, of all that it has.
    pub(super) fn newest_is_whole(&self) -> bool {
        let newest = self.ledger.next_session() - 1;
        newest > 0 && self.ledger.book(newest).delivered == self.scenario.packets
    }

    /// Every event that is possible here, in a fixed order.
    pub(super) fn events(&self, into: &mut Vec<Event>) {
        into.clear();
        for (at, flying) in self.flight.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &self.flight[before]);
            if before.is_some_and(|before| before.is_like(flying)) {
                continue;
            }
            into.push(Event::Arrive(at as u8));
            if self.faults.allow(Fault::Loss, 1) {
                into.push(Event::Lose(at as u8));
            }
            if self.faults.allow(Fault::Copy, 1) {
                into.push(Event::Double(at as u8));
            }
        }
        let on_time = self.flight.iter().filter(|flying| !flying.is_late).count();
        if self.flight.len() < IN_FLIGHT_MAX && self.faults.allow(Fault::Late, on_time) {
            let first = PROCESSES.iter().filter_map(|process| self.wakes_at(*process)).min();
            let has_turn = |process: &Process| {
                let at = self.wakes_at(*process);
                at.zip(first).is_some_and(|(at, first)| at <= first.max(self.now) + LATENESS)
            };
            into.extend(PROCESSES.into_iter().filter(has_turn).map(Event::Timer));
        }
        if self.faults.allow(Fault::DeviceRestart, 1) {
            into.push(Event::RestartDevice);
        }
        if self.faults.allow(Fault::HostRestart, 1) {
            into.push(Event::RestartHost);
        }
        if self.scenario.rival.is_some() && self.host_standing(1) == HostStanding::Waiting {
            into.push(Event::Rival);
        }
        if self.faults.allow(Fault::Cancel, 1) && self.host_standing(0) == HostStanding::Streaming {
            into.push(Event::Cancel);
        }
        if self.faults.allow(Fault::Partition, 1)
            && PROCESSES.iter().any(|p| self.wakes_at(*p).is_some())
        {
            let ways = [Blocked::ToDevice, Blocked::ToHosts, Blocked::BothWays];
            into.extend(ways.map(Event::Partition));
        }
    }

    /// What happens next in a network without faults, that hands packets over in their order.
    pub(super) fn next_without_fault(&self) -> Option<Event> {
        self.next_since(0)
    }

    /// As [`World::next_without_fault`], where only what left after so many packets arrives.
    fn next_since(&self, before: u64) -> Option<Event> {
        let timers =
            PROCESSES.iter().filter_map(|process| Some((self.wakes_at(*process)?, *process)));
        let first = timers.min();
        if let Some((at, process)) = first
            && at <= self.now
        {
            return Some(Event::Timer(process));
        }
        let flight = self.flight.iter().enumerate();
        let oldest = flight
            .filter(|(_, flying)| flying.packet.order > before)
            .min_by_key(|(_, flying)| flying.packet.order);
        match oldest {
            Some((at, _)) => Some(Event::Arrive(at as u8)),
            None => first.map(|(_, process)| Event::Timer(process)),
        }
    }

    /// Lets an event happen; describes it in `lines` if given.
    pub(super) fn take(&mut self, event: Event, mut lines: Option<&mut Vec<String>>) {
        if let Some(lines) = lines.as_deref_mut() {
            let text = self.describe(event);
            lines.push(format!("{:>9.3} {text}", self.now.since(START).0 as f64 / 1e6));
        }
        match event {
            Event::Arrive(at) => {
                let flying = self.flight.remove(at.into());
                self.arrive(&flying.packet, lines);
            }
            Event::Double(at) => {
                self.faults.take(Fault::Copy);
                let packet = Rc::clone(&self.flight[usize::from(at)].packet);
                self.arrive(&packet, lines);
            }
            Event::Lose(at) => {
                self.faults.take(Fault::Loss);
                self.flight.remove(at.into());
            }
            Event::Timer(process) => {
                let at = self.wakes_at(process).expect("only a timer that runs fires");
                self.now = self.now.max(at);
                for flying in self.flight.iter_mut().filter(|flying| !flying.is_late) {
                    flying.is_late = true;
                    self.faults.take(Fault::Late);
                }
                self.turn(
                    process,
                    lines,
                    |device, turn| device.run(turn),
                    |host, turn| {
                        host.run(turn);
                    },
                );
            }
            Event::RestartDevice => {
                self.faults.take(Fault::DeviceRestart);
                let seed = seed(&mut self.rng);
                self.device = Device::new(self.device.boot + 1, self.now, seed);
            }
            Event::RestartHost => {
                self.faults.take(Fault::HostRestart);
                self.open(0, lines);
            }
            Event::Rival => self.open(1, lines),
            Event::Cancel => {
                self.faults.take(Fault::Cancel);
                let nothing = |_: &mut Device, _: &mut Turn<'_>| {};
                self.turn(Process::Host(0), lines, nothing, Host::cancel);
            }
            Event::Partition(blocked) => {
                self.faults.take(Fault::Partition);
                self.partition(blocked, lines);
            }
        }
        self.forget_undeliverable();
    }

    /// Lets [`PARTITION`] pass. What leaves is lost or arrives at once, in its order.
    fn partition(&mut self, blocked: Blocked, mut lines: Option<&mut Vec<String>>) {
        let until = self.now + PARTITION;
        let before = self.departed;
        for _ in 0..PARTITION_EVENTS_MAX {
            self.flight.retain(|InFlight { packet, .. }| {
                let is_to_device = packet.to == Process::Device;
                let is_blocked = match blocked {
                    Blocked::ToDevice => is_to_device,
                    Blocked::ToHosts => !is_to_device,
                    Blocked::BothWays => true,
                };
                packet.order <= before || !is_blocked
            });
            let event = self.next_since(before);
            match event {
                Some(Event::Timer(process)) if self.wakes_at(process) > Some(until) => break,
                Some(event) => self.take(event, lines.as_deref_mut()),
                None => break,
            }
        }
        self.now = self.now.max(until);
    }

    /// Lets a host open a stream.
    fn open(&mut self, host: usize, lines: Option<&mut Vec<String>>) {
        let nothing = |_: &mut Device, _: &mut Turn<'_>| {};
        self.turn(Process::Host(host), lines, nothing, Host::open);
    }

    /// No fault happens from here on.
    pub(super) fn heal(&mut self) {
        self.faults = Faults::NONE;
    }

    /// Lets a program open a stream where nothing goes on: that of host A, or an unknown one.
    pub(super) fn reopen(&mut self, lines: Option<&mut Vec<String>>) {
        let host = usize::from(self.departed.is_multiple_of(2));
        if host == 1 {
            self.hosts[host] = Host::new(host, OWNER_NEW);
        }
        self.open(host, lines);
    }

    pub(super) fn fingerprint(&self, canon: &mut Canon) -> u64 {
        canon.word(self.faults.word());
        self.device.fingerprint(self.now, canon);
        for host in &self.hosts {
            host.fingerprint(self.now, canon);
        }
        for InFlight { packet, is_late } in &self.flight {
            canon.word((*is_late).into());
            packet.fingerprint(canon);
        }
        canon.finish()
    }

    fn wakes_at(&self, process: Process) -> Option<Nanos> {
        match process {
            Process::Device => self.device.wakes_at(self.now, self.mutant),
            Process::Host(host) => self.hosts[host].wakes_at(self.now),
        }
    }

    fn arrive(&mut self, packet: &Flying, lines: Option<&mut Vec<String>>) {
        self.now = self.now + LATENCY;
        let to = packet.to;
        let device = |device: &mut Device, turn: &mut Turn<'_>| device.take(turn, packet);
        self.turn(to, lines, device, |host, turn| host.take(turn, packet));
    }

    /// Gives a process its turn, and puts in flight what it sends.
    fn turn(
        &mut self,
        process: Process,
        mut lines: Option<&mut Vec<String>>,
        device: impl FnOnce(&mut Device, &mut Turn<'_>),
        host: impl FnOnce(&mut Host, &mut Turn<'_>),
    ) {
        let mut sent = vec![];
        let mut turn = Turn {
            now: self.now,
            scenario: self.scenario,
            mutant: self.mutant,
            ledger: &mut self.ledger,
            rng: &mut self.rng,
            sent: &mut sent,
            lines: lines.as_deref_mut(),
        };
        match process {
            Process::Device => device(&mut self.device, &mut turn),
            Process::Host(number) => host(&mut self.hosts[number], &mut turn),
        }
        for outgoing in sent {
            self.departed += 1;
            let packet = Rc::new(Flying::new(process, outgoing, self.departed));
            if let Some(lines) = lines.as_deref_mut() {
                lines.push(format!("          sends {packet}"));
            }
            let at = self.flight.partition_point(|other| other.packet.key() <= packet.key());
            self.flight.insert(at, InFlight { packet, is_late: false });
        }
    }

    /// Drops what is on its way to a host that will never listen again.
    fn forget_undeliverable(&mut self) {
        let is_deaf = [0, 1].map(|host| {
            let may_restart = host == 0 && self.faults.allow(Fault::HostRestart, 1);
            self.host_standing(host) == HostStanding::Done && !may_restart
        });
        self.flight.retain(|flying| match flying.packet.to {
            Process::Device => true,
            Process::Host(host) => !is_deaf[host],
        });
    }

    fn describe(&self, event: Event) -> EventText<'_> {
        EventText { world: self, event }
    }
}

impl InFlight {
    /// Whether it does not matter which of the two comes.
    fn is_like(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.packet, &other.packet) && self.is_late == other.is_late
    }
}

/// An event in words.
struct EventText<'a> {
    world: &'a World,
    event: Event,
}

impl fmt::Display for EventText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packet = |at: u8| &self.world.flight[usize::from(at)].packet;
        match self.event {
            Event::Arrive(at) => write!(f, "{} gets {}", packet(at).to, packet(at)),
            Event::Lose(at) => write!(f, "lost is {}", packet(at)),
            Event::Double(at) => write!(f, "{} gets a copy of {}", packet(at).to, packet(at)),
            Event::Timer(process) => write!(f, "a timer of {process} fires"),
            Event::RestartDevice => f.write_str("the device starts again"),
            Event::RestartHost => f.write_str("the program on host A starts again"),
            Event::Rival => f.write_str("host B opens"),
            Event::Cancel => f.write_str("host A cancels"),
            Event::Partition(blocked) => write!(f, "the network is blocked: {blocked:?}"),
        }
    }
}

const PROCESSES: [Process; 3] = [Process::Device, Process::Host(0), Process::Host(1)];

/// The largest window of a scenario: slots of either ring.
pub(super) const WINDOW_MAX: usize = 2;

/// The largest IP packet: the smallest that may be chosen, since its bytes cost time.
pub(super) const PACKET_BYTES_MAX: usize = 576;

/// How long a packet is on its way at least.
const LATENCY: Nanos = Nanos::from_micros(1);

/// How much later than that of another process a timer may be due and yet fire before it.
const LATENESS: Nanos = Nanos::from_millis(5);

/// How long a partition lasts: longer than [`DEAD_MS`](super::device::DEAD_MS).
const PARTITION: Nanos = Nanos::from_millis(500);
const PARTITION_EVENTS_MAX: usize = 1_000;

/// What clocks show at the start: past the first cookies' epoch.
const START: Nanos = Nanos::from_millis(10_000);

/// Draws tags, nonces and keys.
const SEED: u64 = 1;
