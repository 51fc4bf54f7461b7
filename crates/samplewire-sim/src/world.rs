//! The world: machines, processes and what lies between them, run on virtual time.

mod attack;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use samplewire_io::ether::Headers;
use samplewire_proto::{Nanos, Rng};

use crate::check::Checker;
use crate::clock::Clock;
use crate::hostile::Hostile;
use crate::net::{Net, peer_of};
use crate::packets::{PacketId, ProcessId};
use crate::plan::{Fault, MachineSpec, Plan};
use crate::process::{Arrival, Client, Device, Frames, Turn};
use crate::tape::Tape;

/// A world under way.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) net: Net,
    pub(crate) checker: Checker,
    machines: Vec<Machine>,
    processes: Vec<Process>,
    /// Faults that are still to come, the next one last.
    faults: Vec<(Nanos, Fault)>,
    heals_at: Option<Nanos>,
    ends_by: Nanos,
    hostile: Option<Hostile>,
    /// When programs end the streams that an attacker on the path has stalled.
    gives_up_at: Option<Nanos>,
    /// Steps taken, for an observer on another thread.
    pub(crate) steps: Arc<AtomicU64>,
    rng: Rng,
    bytes: Vec<u8>,
    frames: Frames,
}

#[derive(Debug)]
struct Machine {
    clock: Clock,
    poll: Nanos,
    paused_until: Nanos,
}

#[derive(Debug)]
struct Process {
    machine: usize,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Device(Device),
    Client(Client),
}

impl Role {
    fn handle(&mut self, turn: &mut Turn<'_>, arrival: &Arrival, bytes: &[u8]) {
        match self {
            Self::Device(device) => device.handle(turn, arrival, bytes),
            Self::Client(client) => client.handle(turn, arrival, bytes),
        }
    }
}

impl World {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ WORLD_SALT);
        let depths: Vec<usize> = plan
            .devices
            .iter()
            .map(|(machine, _, _)| machine.socket_packets)
            .chain(plan.clients.iter().map(|_| plan.host.socket_packets))
            .collect();
        let mut net = Net::new(&plan.links, &depths, &mut rng);
        let machine = |spec: &MachineSpec| Machine {
            clock: spec.clock,
            poll: spec.poll,
            paused_until: Nanos(0),
        };
        let epoch = Instant::now();
        let mut checker = Checker::default();
        let mut machines = vec![machine(&plan.host)];
        let mut processes = vec![];
        for (spec, device, _) in &plan.devices {
            machines.push(machine(spec));
            let mut turn = Turn {
                now: spec.clock.local(Nanos(0)),
                net: &mut net,
                checker: &mut checker,
                rng: &mut rng,
                me: processes.len() as ProcessId,
            };
            let role = Role::Device(Device::new(&mut turn, *device, epoch));
            processes.push(Process { machine: machines.len() - 1, role });
        }
        for client in &plan.clients {
            let from = processes.len() as ProcessId;
            let cable = plan.devices[usize::from(client.device)].2;
            let now = plan.host.clock.local(Nanos(0));
            net.set_route(from, client.device, cable.down);
            net.set_route(client.device, from, cable.up);
            net.agenda.set(net.part_of(from), Some(Nanos(0)));
            let role = Role::Client(Client::new(*client, now, epoch));
            processes.push(Process { machine: 0, role });
        }
        let mut faults = plan.faults.clone();
        faults.reverse();
        let heals_at = Some(plan.heals_at);
        let ends_by = plan.ends_by;
        net.tape = plan.hostile.map(|_| Tape::new(processes.len()));
        let hostile = plan.hostile.map(|spec| Hostile::new(spec, Rng::new(seed ^ HOSTILE_SALT)));
        let mut world = Self {
            net,
            checker,
            machines,
            processes,
            faults,
            heals_at,
            ends_by,
            hostile,
            steps: Arc::default(),
            gives_up_at: plan.hostile.map(|_| plan.heals_at + PATIENCE),
            rng,
            bytes: vec![],
            frames: Frames::default(),
        };
        world.set_script();
        world
    }

    /// Runs until everything has ended or something does not hold.
    pub(crate) fn run(&mut self) {
        let (mut steps, mut steps_at_once) = (0, 0);
        while self.checker.failure().is_none() && !self.is_over() {
            let Some((at, part)) = self.net.agenda.next() else {
                return self.checker.fail("nothing is left to happen".into());
            };
            steps_at_once = if at > self.net.now { 0 } else { steps_at_once + 1 };
            steps += 1;
            // Relaxed: an observer only checks that it rises, and reads nothing else by it.
            self.steps.store(steps, Ordering::Relaxed);
            let is_endless = steps > STEPS_MAX || steps_at_once > STEPS_AT_ONCE_MAX;
            if at > self.ends_by || is_endless {
                return self.checker.fail(format!(
                    "no end by {} ns, {steps} steps: {}",
                    at.0,
                    self.standing()
                ));
            }
            self.step(at, part);
        }
        self.close();
    }

    /// Runs up to an instant.
    pub(crate) fn run_until(&mut self, until: Nanos) {
        while self.checker.failure().is_none()
            && let Some((at, part)) = self.net.agenda.next()
            && at <= until
        {
            self.step(at, part);
        }
        self.net.now = until;
    }

    fn step(&mut self, at: Nanos, part: usize) {
        self.net.now = at.max(self.net.now);
        match part {
            0 => self.run_script(),
            link if link <= self.net.links.len() => self.net.run_link(link - 1),
            process => self.turn(process - 1 - self.net.links.len()),
        }
    }

    fn turn(&mut self, number: usize) {
        let me = number as ProcessId;
        let part = self.net.part_of(me);
        let machine = self.processes[number].machine;
        let paused_until = self.machines[machine].paused_until;
        if self.net.now < paused_until {
            return self.net.agenda.set(part, Some(paused_until));
        }
        while let Some(id) = self.next_packet(number) {
            let meta = *self.net.packets.meta(id);
            self.net.trace.note(self.net.now, "takes", &meta, self.net.packets.bytes(id));
            self.bytes.clear();
            self.bytes.extend_from_slice(self.net.packets.bytes(id));
            self.net.packets.free(id);
            let bytes = std::mem::take(&mut self.bytes);
            let arrival = Arrival {
                from: peer_of(meta.from),
                is_marked: meta.is_marked,
                dropped: meta.dropped,
            };
            let (role, mut turn) = self.split(number);
            role.handle(&mut turn, &arrival, &bytes);
            self.bytes = bytes;
        }
        let (role, mut turn) = self.split(number);
        let wakes_at = match role {
            Role::Device(device) => {
                device.run(&mut turn);
                Some(device.wakes_at())
            }
            Role::Client(client) => {
                client.run(&mut turn);
                client.wakes_at()
            }
        };
        let machine = &self.machines[machine];
        self.net.sockets[number].looks_at = self.net.now + machine.poll;
        let at = wakes_at.map(|at| machine.clock.world(at).max(self.net.now + PAUSE_MIN));
        self.net.agenda.set(part, at);
    }

    /// Takes frames where they come first, then the next packet: both have sockets of their own, and
    /// which is read first is drawn.
    fn next_packet(&mut self, number: usize) -> Option<PacketId> {
        let me = number as ProcessId;
        loop {
            match self.net.has_arrivals(me) {
                [true, true] if self.rng.one_in(2) => self.hand_frames(number),
                [false, true] => self.hand_frames(number),
                _ => return self.net.take(me),
            }
        }
    }

    /// Hands a process as many of the frames that have come as it takes in a turn.
    fn hand_frames(&mut self, number: usize) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        while frames.len() < FRAMES_MAX
            && let Some(id) = self.net.take_frame(number as ProcessId)
        {
            let meta = *self.net.packets.meta(id);
            self.net.trace.note(self.net.now, "takes", &meta, self.net.packets.bytes(id));
            let frame = frames.push(self.net.packets.bytes(id), meta.is_corrupted);
            if meta.is_marked
                && let Some(headers) = Headers::parse(frame)
            {
                headers.mark(frame);
            }
            self.net.packets.free(id);
        }
        self.give_frames(number, &frames);
        self.frames = frames;
    }

    fn give_frames(&mut self, number: usize, frames: &Frames) {
        let (role, mut turn) = self.split(number);
        match role {
            Role::Device(device) => device.handle_frames(&mut turn, frames),
            Role::Client(client) => client.handle_frames(&mut turn, frames),
        }
    }

    fn split(&mut self, number: usize) -> (&mut Role, Turn<'_>) {
        let process = &mut self.processes[number];
        let machine = &mut self.machines[process.machine];
        let turn = Turn {
            now: machine.clock.local(self.net.now),
            net: &mut self.net,
            checker: &mut self.checker,
            rng: &mut self.rng,
            me: number as ProcessId,
        };
        (&mut process.role, turn)
    }

    fn run_script(&mut self) {
        let now = self.net.now;
        while let Some((at, fault)) = self.faults.last().copied()
            && at <= now
        {
            self.faults.pop();
            self.net.trace.say(now, &format_args!("{fault:?}"));
            match fault {
                Fault::Pause { machine, span } => {
                    let machine = &mut self.machines[machine];
                    machine.paused_until = machine.paused_until.max(now + span);
                }
                Fault::Stall { link, span } => self.net.links[link].stall(now + span),
                Fault::Down { link, span } => self.net.links[link].take_down(now + span),
                Fault::Restart { process, pause } => self.restart(process.into(), pause),
            }
        }
        if self.hostile.as_ref().is_some_and(|hostile| hostile.next_at <= now) {
            self.attack();
        }
        if self.gives_up_at.is_some_and(|at| at <= now) {
            self.gives_up_at = None;
            self.give_up();
        }
        if self.heals_at.is_some_and(|at| at <= now) {
            self.heals_at = None;
            self.net.links.iter_mut().for_each(|link| link.heal(now));
            for process in &mut self.processes {
                if let Role::Client(client) = &mut process.role {
                    client.retire();
                }
            }
        }
        self.set_script();
    }

    fn set_script(&mut self) {
        let fault_at = self.faults.last().map(|(at, _)| *at);
        let strikes_at = self.hostile.as_ref().map(|hostile| hostile.next_at);
        let strikes_at = strikes_at.filter(|_| self.heals_at.is_some());
        let times = [fault_at, self.heals_at, strikes_at, self.gives_up_at];
        let at = times.into_iter().flatten().min();
        self.net.agenda.set(0, at);
    }

    fn restart(&mut self, number: usize, pause: Nanos) {
        self.checker.tally.restarts += 1;
        self.net.forget_arrivals(number as ProcessId);
        let (role, mut turn) = self.split(number);
        match role {
            Role::Device(device) => device.restart(&mut turn),
            Role::Client(client) => client.restart(&mut turn, pause),
        }
        let part = self.net.part_of(number as ProcessId);
        let now = self.net.now;
        self.net.agenda.hasten(part, now);
    }

    fn is_over(&self) -> bool {
        self.heals_at.is_none() && self.is_idle()
    }

    /// Whether no stream is open, and none will be opened.
    fn is_idle(&self) -> bool {
        self.processes.iter().all(|process| match &process.role {
            Role::Device(device) => device.is_idle(),
            Role::Client(client) => client.is_done(),
        })
    }

    /// Adds up what the parts have counted.
    pub(crate) fn close(&mut self) {
        if self.is_over() && self.checker.failure().is_none() {
            self.offer_void_cookies();
        }
        let tally = &mut self.checker.tally;
        tally.virtual_ns = self.net.now.0;
        for link in &self.net.links {
            let counts = link.counts();
            tally.losses += counts.all_lost();
            tally.corruptions += counts.corrupted;
            tally.duplicates += counts.duplicated;
            tally.reorderings += counts.reordered;
        }
        let dropped = self.net.sockets.iter().flat_map(|it| [it.dropped, it.frames_dropped]);
        tally.socket_drops = dropped.map(u64::from).sum();
    }

    fn standing(&self) -> String {
        let mut text = String::new();
        for (number, process) in self.processes.iter().enumerate() {
            let standing = match &process.role {
                Role::Client(client) => client.standing(),
                Role::Device(device) if device.is_idle() => continue,
                Role::Device(_) => "has open streams",
            };
            text += &format!("process {number} {standing}; ");
        }
        text
    }
}

/// How long after the links have healed a program waits for a stream that does not end.
const PATIENCE: Nanos = Nanos::from_millis(100_000);

/// Frames that an endpoint takes in a turn.
const FRAMES_MAX: usize = 64;

/// A process whose time has come does something at the latest a departure unit later.
const PAUSE_MIN: Nanos = Nanos(1);

/// A run takes no more steps than this: the longest of 20,000 seeds takes 0.7 million.
const STEPS_MAX: u64 = 10_000_000;

/// More steps than this at one instant make no progress.
const STEPS_AT_ONCE_MAX: u32 = 1_000_000;

/// Sets the draws of what is hostile apart from all others.
const HOSTILE_SALT: u64 = 0x41_54_54_41_43_4B;

/// Sets the world's draws apart from those of its plan.
const WORLD_SALT: u64 = 0x57_4F_52_4C_44;

#[cfg(test)]
mod tests;
