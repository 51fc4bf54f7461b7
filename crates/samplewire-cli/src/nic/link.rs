//! The link that frames go by, and this end of it.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use samplewire_io::ether::{Dgram, EtherError, EtherLink, FrameReceive, PacketSocket};
use samplewire_io::faults::{self, Direction, FaultLog};
use samplewire_io::{Clock, thread};
use samplewire_proto::Nanos;
use samplewire_proto::block::wire::ETHER_TYPE;
use samplewire_proto::block::{MacAddress, SILENCE_MAX};

use super::{NicError, random};
use crate::arguments::{LinkName, LinkOptions};
use crate::console::Console;
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::interrupt::STOP_PAUSE;

/// An open link.
pub(super) struct Link {
    ether: Box<dyn EtherLink>,
    mac: MacAddress,
    clock: Clock,
    /// What frames are kept in.
    memory_bytes: usize,
    log: Option<FaultLog>,
    /// Since when it takes no frame.
    refuses_since: Option<Nanos>,
    /// It keeps frames that it could not send.
    keeps: bool,
}

/// Which end has the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Sender,
    Receiver,
}

/// How exactly a time is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// As the system wakes a process that sleeps.
    Asleep(Nanos),
    /// To a microsecond: the last of it passes without sleeping.
    Exactly(Nanos),
    /// Nothing is due.
    Frame,
}

impl Link {
    pub(super) fn open(
        options: &LinkOptions,
        role: Role,
        receive: FrameReceive,
    ) -> Result<Self, Failure> {
        let Opened { ether, mac, memory_bytes } = open(&options.link, receive)?;
        let mac = options.mac.or(mac).unwrap_or_else(random_station);
        let mut link = Self {
            ether,
            mac,
            clock: Clock::start(1),
            memory_bytes,
            log: None,
            refuses_since: None,
            keeps: false,
        };
        if let Some(FaultPair { data, feedback, .. }) = FaultPair::new(&options.fault)? {
            let [transmit, receive] =
                if role == Role::Sender { [data, feedback] } else { [feedback, data] };
            let (ether, log) = faults::frames(link.ether, &transmit, &receive)?;
            (link.ether, link.log) = (ether, Some(log));
        }
        Ok(link)
    }

    pub(super) const fn mac(&self) -> MacAddress {
        self.mac
    }

    /// Memory that frames are kept in, the ring of the kernel included.
    pub(super) const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The longest frame that the link takes, where it states one.
    pub(super) fn frame_bytes_max(&self) -> Option<usize> {
        self.ether.mtu_bytes().map(|mtu| mtu + ETHERNET_BYTES)
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Takes a frame for the next flush; `false` when it is not taken.
    ///
    /// # Errors
    /// The link broke, or has taken no frame for 10 s.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, Failure> {
        if self.ether.send(frame)? {
            self.refuses_since = None;
            return Ok(true);
        }
        let now = self.clock.now();
        if now >= *self.refuses_since.get_or_insert(now) + SILENCE_MAX {
            return Err(NicError::Refused(self.ether.name().to_owned()).into());
        }
        Ok(false)
    }

    /// A frame that was not taken is given up: the next one has its own 10 s.
    pub(super) const fn give_up(&mut self) {
        self.refuses_since = None;
    }

    pub(super) fn flush(&mut self) -> Result<(), EtherError> {
        self.keeps = !self.ether.flush()?;
        Ok(())
    }

    pub(super) fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        self.ether.recv(into)
    }

    /// Frames that found no room on their way into this process.
    pub(super) fn dropped(&mut self) -> Result<u64, EtherError> {
        Ok(self.ether.dropped()?.unwrap_or(0))
    }

    /// Waits until a frame comes or a time is reached, 50 ms at most: a signal may have come. A link that
    /// was full is tried again soon: it does not report when it has room.
    pub(super) fn wait(&self, until: Until) -> io::Result<()> {
        let mut limit = STOP_PAUSE;
        match until {
            Until::Frame => {}
            Until::Asleep(at) => limit = limit.min(self.clock.span_until(at)),
            Until::Exactly(at) => match self.clock.span_until(at).checked_sub(thread::SPIN) {
                Some(sleep) => limit = limit.min(sleep),
                // The caller looks for frames meanwhile.
                None => {
                    std::hint::spin_loop();
                    return Ok(());
                }
            },
        }
        if let Some(due) = self.ether.due_at() {
            limit = limit.min(due.saturating_duration_since(Instant::now()));
        }
        if self.keeps || self.refuses_since.is_some() {
            limit = limit.min(FULL_PAUSE);
        }
        let span = Timespec::try_from(limit).expect("spans are short");
        match poll(&mut [PollFd::new(&self.ether, PollFlags::IN)], Some(&span)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Prints the counts of injected faults, if there are any.
    pub(super) fn print_faults(&self, console: &mut Console) {
        let Some(log) = &self.log else { return };
        for (words, direction) in [("sent", Direction::Transmit), ("received", Direction::Receive)]
        {
            print_counts(console, words, &log.counts(direction));
        }
    }
}

/// A link as the system gives it.
struct Opened {
    ether: Box<dyn EtherLink>,
    /// The address of an interface.
    mac: Option<MacAddress>,
    memory_bytes: usize,
}

fn open(name: &LinkName, receive: FrameReceive) -> Result<Opened, EtherError> {
    let dgram = |dgram: Dgram| Opened { ether: Box::new(dgram), mac: None, memory_bytes: 0 };
    Ok(match name {
        LinkName::Interface(name) => {
            let socket = PacketSocket::open_ether_type(name, ETHER_TYPE, receive)?;
            let (mac, memory_bytes) = (Some(socket.mac()), socket.memory_bytes());
            Opened { ether: Box::new(socket), mac, memory_bytes }
        }
        LinkName::Board(path) => dgram(Dgram::to(path)?),
        LinkName::Pair(pair) => dgram(Dgram::open(pair)?),
    })
}

/// Of local administration.
fn random_station() -> MacAddress {
    let [a, b, c, d, e, ..] = random().to_be_bytes();
    [0x02, a, b, c, d, e]
}

const ETHERNET_BYTES: usize = 14;

/// How soon a full link is worth another try.
const FULL_PAUSE: Duration = Duration::from_micros(50);
