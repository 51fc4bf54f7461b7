//! Moves frames between the links and the switch, by the clock.
//!
//! A port takes frames no faster than its rate, like the network card at the other end of the cable:
//! what the host cannot send yet waits in its TAP device. So a frame has come in a frame's time after
//! the one before it, however late this process was; and it leaves at the time that the model gives.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use samplewire_io::Clock;
use samplewire_io::ether::{EtherError, EtherLink, FRAME_BYTES_MAX};
use samplewire_proto::Nanos;
use samplewire_sim::{EtherSwitch, wire_bytes};

use super::lateness::Lateness;

/// A switch with its links.
pub(super) struct Driver {
    pub(super) switch: EtherSwitch,
    pub(super) ports: Vec<Port>,
    pub(super) late: Lateness,
    clock: Clock,
    /// The host's time for a nanosecond of the clock.
    slow: u32,
    /// An epoll of all links. It reports a link once, until that has been read to its end.
    ready: OwnedFd,
    events: Vec<Event>,
}

/// A link, and the frame that is coming in.
pub(super) struct Port {
    pub(super) link: Box<dyn EtherLink>,
    /// Frames that the link did not take.
    pub(super) unsent: u64,
    bps: u64,
    /// One byte more than a frame: a longer one shows.
    memory: Box<[u8]>,
    incoming: Option<Incoming>,
    /// When the last frame had come in.
    free_at: Nanos,
    /// Bits times 10^9 that `free_at` has been rounded down by.
    rest: u64,
    /// Whether more may be read without a wait.
    is_ready: bool,
    /// Whether the frame before was followed at once.
    is_backlogged: bool,
}

#[derive(Clone, Copy, Debug)]
struct Incoming {
    len: usize,
    arrives_at: Nanos,
}

impl Port {
    pub(super) fn new(link: Box<dyn EtherLink>, bps: u64) -> Self {
        Self {
            link,
            unsent: 0,
            bps,
            memory: vec![0; FRAME_BYTES_MAX + 1].into(),
            incoming: None,
            free_at: Nanos(0),
            rest: 0,
            is_ready: true,
            is_backlogged: false,
        }
    }

    /// Begins to take the next frame, if there is one.
    fn begin(&mut self, now: Nanos) -> Result<(), EtherError> {
        if self.incoming.is_some() || !self.is_ready {
            return Ok(());
        }
        let Some(len) = self.link.recv(&mut self.memory)? else {
            (self.is_ready, self.is_backlogged) = (false, false);
            return Ok(());
        };
        if !self.is_backlogged {
            (self.free_at, self.rest) = (self.free_at.max(now), 0);
        }
        self.is_backlogged = true;
        let bits = u64::from(wire_bytes(len)) * 8 * NS_PER_S + self.rest;
        self.rest = bits % self.bps;
        self.free_at = self.free_at + Nanos(bits / self.bps);
        self.incoming = Some(Incoming { len, arrives_at: self.free_at });
        Ok(())
    }
}

impl Driver {
    /// # Errors
    /// The system refuses to watch the links.
    pub(super) fn new(
        switch: EtherSwitch,
        ports: Vec<Port>,
        clock: Clock,
        slow: u32,
    ) -> Result<Self, Errno> {
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        for (at, port) in ports.iter().enumerate() {
            let data = EventData::new_u64(at as u64);
            epoll::add(&ready, port.link.as_fd(), data, EventFlags::IN | EventFlags::ET)?;
        }
        let events = Vec::with_capacity(ports.len());
        Ok(Self { switch, ports, late: Lateness::default(), clock, slow, ready, events })
    }

    /// Takes and sends what is due at `now`; returns whether that was all.
    ///
    /// # Errors
    /// A link broke.
    pub(super) fn turn(&mut self, now: Nanos) -> Result<bool, EtherError> {
        for _ in 0..TURN_FRAMES_MAX {
            for port in &mut self.ports {
                port.begin(now)?;
            }
            let coming = self.ports.iter().enumerate();
            let coming = coming.filter_map(|(at, port)| Some((at, port.incoming?)));
            let Some((at, incoming)) = coming
                .min_by_key(|(_, incoming)| incoming.arrives_at)
                .filter(|(_, incoming)| incoming.arrives_at <= now)
            else {
                self.send(now, now)?;
                return Ok(true);
            };
            self.send(incoming.arrives_at, now)?;
            let port = &mut self.ports[at];
            port.incoming = None;
            self.switch.handle_frame(incoming.arrives_at, at, &port.memory[..incoming.len]);
        }
        Ok(false)
    }

    /// Sends what has left the switch by `until`.
    fn send(&mut self, until: Nanos, now: Nanos) -> Result<(), EtherError> {
        while let Some(departure) = self.switch.poll_transmit(until) {
            self.late.add(Duration::from_nanos(now.since(departure.at).0) * self.slow);
            let port = &mut self.ports[departure.port];
            port.unsent += u64::from(!port.link.send(departure.bytes)?);
        }
        Ok(())
    }

    /// Waits until something is due, comes in, or `limit` of the host's time has passed.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<(), Errno> {
        let incoming = self.ports.iter().filter_map(|port| Some(port.incoming?.arrives_at));
        let due = incoming.chain(self.switch.poll_timeout()).min();
        let span = due.map_or(limit, |at| self.clock.span_until(at).min(limit));
        let span = Timespec::try_from(span).expect("spans are short");
        // The wait of epoll itself ends at whole milliseconds.
        match poll(&mut [PollFd::new(&self.ready, PollFlags::IN)], Some(&span)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        epoll::wait(&self.ready, spare_capacity(&mut self.events), Some(&Timespec::default()))?;
        for event in self.events.drain(..) {
            self.ports[event.data.u64() as usize].is_ready = true;
        }
        Ok(())
    }
}

const NS_PER_S: u64 = 1_000_000_000;

/// Frames between two looks at the clock and at signals.
const TURN_FRAMES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use samplewire_io::ether::{Dgram, DgramAddress};
    use samplewire_sim::EtherSwitchConfig;

    use super::*;

    /// What a frame of 1,000 bytes takes of 1 Mb/s.
    const FRAME: Nanos = Nanos(8_192_000);

    #[test]
    fn frames_come_in_at_the_rate_of_their_port_however_late_the_process_is() {
        let folder = tempfile::tempdir().unwrap();
        let ends = ["a", "b"].map(|name| {
            let local = folder.path().join(name);
            let remote = folder.path().join(format!("{name}.far"));
            let far = UnixDatagram::bind(&remote).unwrap();
            (far, Dgram::open(&DgramAddress::Unix { local: local.clone(), remote }).unwrap(), local)
        });
        let [(a, near_a, local), (b, near_b, _)] = ends;
        let config = EtherSwitchConfig {
            buffer_bytes: 1 << 20,
            marking: None,
            loss: 0.0,
            seed: 1,
            cnp: None,
        };
        let bps = 1_000_000;
        let switch = EtherSwitch::new(config, &[bps; 2]).unwrap();
        let ports = vec![Port::new(Box::new(near_a), bps), Port::new(Box::new(near_b), bps)];
        let mut driver = Driver::new(switch, ports, Clock::start(1), 1).unwrap();
        let mut frame = [0xEE; 1_000];
        (frame[0], frame[6]) = (0x02, 0x04);
        for _ in 0..4 {
            a.send_to(&frame, &local).unwrap();
        }
        let mut counts = |at: u64| {
            assert!(driver.turn(Nanos(at)).unwrap(), "all is done");
            (driver.switch.ports()[0].frames_in, driver.switch.ports()[1].frames_out)
        };
        assert_eq!(counts(0), (0, 0));
        assert_eq!(counts(FRAME.0 - 1), (0, 0), "the last byte is still missing");
        assert_eq!(counts(FRAME.0), (1, 0));
        // As if it had slept: the frames came one after the other, and two of them have left.
        assert_eq!(counts(3 * FRAME.0), (3, 2));
        assert_eq!(counts(5 * FRAME.0), (4, 4));
        assert_eq!(driver.late.max(), Duration::from_nanos(FRAME.0));
        let mut came = 0;
        b.set_nonblocking(true).unwrap();
        while b.recv(&mut [0; 2_000]).is_ok() {
            came += 1;
        }
        assert_eq!(came, 4);
    }
}
