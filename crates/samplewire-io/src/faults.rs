//! A link with faults: loss, bursts, corruption, duplication, reordering, delay and a slow hop,
//! separately for each direction, drawn from a seed.
//!
//! What is drawn depends on the seed and on the packets, not on the time, except that a packet
//! that is delayed leaves at a call ([`Link::send`], [`Link::recv`], [`Link::wait`]) after it is
//! due. Every fault is in the [`FaultLog`], so that a test can account for each packet.
//!
//! A link of frames beside it ([`Link::frames`]) has the same faults on its RoCEv2 frames, drawn apart.
//! [`frames`](frames()) puts faults on one alone.
//!
//! Memory is taken once. A packet that meets a fault is copied; others pass by reference when
//! sent, and are copied once when received through faults of that direction.

mod frames;
mod hold;
mod log;
mod loss;
mod model;
mod path;
mod spec;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use self::frames::{FrameFaults, FramesDue};
pub use self::log::{Action, Direction, ENTRIES_MAX, Entry, FaultLog};
pub use self::loss::{Loss, Losses};
pub use self::model::{Corruption, Fate, Model};
pub use self::path::REORDER_WAIT;
use self::path::{Head, Path, Reads};
pub use self::spec::{FaultSpec, PacketTypes, Side, SpecError, parse, type_name};
use crate::batch::{Batch, JOINED_BYTES_MAX, Meta};
use crate::concern::{Call, Concern};
use crate::ether::{EtherLink, FRAME_BYTES_MAX};
use crate::favoured::{Favoured, KnownTags};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::wake::{Sleep, Waker};

/// A link that passes packets on to and from `L` with faults.
#[derive(Debug)]
pub struct Faults<L> {
    link: L,
    transmit: Path,
    receive: Path,
    log: FaultLog,
    /// One packet that changes.
    scratch: Box<[u8]>,
    /// What `link` gave and has not been decided on, from `inbox_next` on.
    inbox: Batch,
    inbox_next: usize,
    /// For frames beside the packets: their faults, and when one that is held is due.
    specs: [FaultSpec; 2],
    frames_due: Option<FramesDue>,
}

impl<L: Link> Faults<L> {
    /// Puts `transmit` on what is sent through `link` and `receive` on what is received.
    ///
    /// # Errors
    /// [`SpecError`] where a description has values out of range or contradicts itself.
    pub fn new(link: L, transmit: &FaultSpec, receive: &FaultSpec) -> Result<Self, SpecError> {
        let log = FaultLog::new();
        let mtu_bytes = link.capabilities().mtu_bytes;
        Ok(Self {
            transmit: Path::new(Direction::Transmit, transmit, mtu_bytes, Reads::Packets, &log)?,
            receive: Path::new(Direction::Receive, receive, mtu_bytes, Reads::Packets, &log)?,
            log,
            scratch: vec![0; JOINED_BYTES_MAX].into_boxed_slice(),
            inbox: Batch::new(INBOX_PACKETS, mtu_bytes.clamp(1, JOINED_BYTES_MAX)),
            inbox_next: 0,
            specs: [transmit.clone(), receive.clone()],
            frames_due: None,
            link,
        })
    }

    /// A handle to the record of faults, good after the link is gone.
    pub fn log(&self) -> FaultLog {
        self.log.clone()
    }

    /// Sends what is due; false where the link takes no more.
    fn send_due(&mut self, now: Instant) -> Result<bool, LinkError> {
        while let Some((bytes, meta)) = self.transmit.hold.first_due(now) {
            match self.link.send(&[Outgoing::whole(meta.peer, meta.ecn, bytes)]) {
                Ok(0) => return Ok(false),
                Ok(_) => self.transmit.hold.remove_first(),
                Err(error) => match Concern::of(Call::Send, &error) {
                    Concern::Attempt => return Ok(false),
                    concern if concern.ends_endpoint() => return Err(error),
                    // It was taken before, so that the error is not of a packet that is offered.
                    _ => {
                        self.transmit.hold.remove_first();
                        self.log.count(Direction::Transmit, |counts| counts.refused += 1);
                    }
                },
            }
        }
        Ok(true)
    }

    /// Sends packets that pass unchanged; how many the link took.
    fn send_run(
        &mut self,
        run: &[Outgoing<'_>],
        then: Option<Fate>,
        now: Instant,
    ) -> Result<usize, LinkError> {
        if run.is_empty() {
            return Ok(0);
        }
        let sent = self.link.send(run);
        let count = *sent.as_ref().unwrap_or(&0);
        if count < run.len() {
            self.transmit.put_back(&run[count..], then);
        }
        self.transmit.passed(count, now);
        sent
    }

    /// Takes one packet as its fate says; false where the link had to take it and did not.
    fn send_faulty(
        &mut self,
        packet: &Outgoing<'_>,
        fate: Fate,
        now: Instant,
    ) -> Result<bool, LinkError> {
        if packet.len_bytes() > self.scratch.len() {
            return Err(LinkError::TooLong { len_bytes: packet.len_bytes(), peer: packet.peer });
        }
        let len_bytes = packet.gather(&mut self.scratch);
        let bytes = &mut self.scratch[..len_bytes];
        let meta = Meta { peer: packet.peer, ecn: packet.ecn, ..Meta::NONE };
        if self.transmit.take(fate, bytes, meta, now) {
            return Ok(true);
        }
        let sent = self.link.send(&[Outgoing::whole(packet.peer, packet.ecn, bytes)]);
        if matches!(sent, Ok(1..)) {
            self.transmit.passed_undelayed(fate, &Head::of(packet.parts), now);
        } else {
            self.transmit.put_back(&[], Some(fate));
        }
        sent.map(|count| count > 0)
    }

    /// Moves what is due to the end of `batch`.
    fn deliver_due(&mut self, batch: &mut Batch, now: Instant) {
        while let Some((bytes, meta)) = self.receive.hold.first_due(now) {
            if batch.push(bytes, meta).is_err() {
                return;
            }
            self.receive.hold.remove_first();
        }
    }

    /// Decides on the packets of the inbox while `batch` has room for them.
    fn deliver_inbox(&mut self, batch: &mut Batch, now: Instant) {
        while let Some((bytes, meta)) = self.inbox.get(self.inbox_next) {
            if !batch.has_room(bytes.len()) {
                return;
            }
            self.inbox_next += 1;
            let room = "has_room was asked";
            let head = Head::of([bytes, &[], &[]]);
            match self.receive.decide(&head) {
                None => {
                    batch.push(bytes, *meta).expect(room);
                    self.receive.passed(1, now);
                }
                Some(fate) => {
                    let changed = &mut self.scratch[..bytes.len()];
                    changed.copy_from_slice(bytes);
                    if !self.receive.take(fate, changed, *meta, now) {
                        batch.push(changed, *meta).expect(room);
                        self.receive.passed_undelayed(fate, &head, now);
                    }
                }
            }
            self.deliver_due(batch, now);
        }
    }
}

impl<L: Link> Link for Faults<L> {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.link.local_addrs()
    }

    /// A packet that was taken before and held, and that the link then refuses, is lost and counted.
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        if self.transmit.is_faultless() {
            let sent = self.link.send(packets)?;
            self.transmit.passed(sent, Instant::now());
            return Ok(sent);
        }
        let now = Instant::now();
        let mut taken = 0;
        while self.send_due(now)? && taken < packets.len() {
            let rest = &packets[taken..];
            let (run, fate) = self.transmit.run(rest);
            let step = self.send_run(&rest[..run], fate, now).and_then(|sent| match fate {
                Some(fate) if sent == run => {
                    self.send_faulty(&rest[run], fate, now).map(|was| run + usize::from(was))
                }
                _ => Ok(sent),
            });
            match step {
                Ok(count) => {
                    taken += count;
                    if count < run + usize::from(fate.is_some()) {
                        return Ok(taken);
                    }
                }
                Err(error) if taken == 0 => return Err(error),
                Err(_) => return Ok(taken),
            }
        }
        Ok(taken)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        if self.receive.is_faultless() {
            self.send_due(Instant::now())?;
            self.link.recv(batch)?;
            self.receive.passed(batch.len(), Instant::now());
            return Ok(());
        }
        let now = Instant::now();
        self.send_due(now)?;
        batch.clear();
        self.deliver_due(batch, now);
        if self.inbox_next == self.inbox.len() {
            self.inbox_next = 0;
            let received = self.link.recv(&mut self.inbox);
            if received.is_err() {
                self.inbox.clear();
                // The error comes again once what was held has been delivered.
                if batch.is_empty() && self.receive.hold.is_empty() {
                    return received;
                }
            }
        }
        self.deliver_inbox(batch, now);
        Ok(())
    }

    /// Ends early, too, when a held packet is due in either direction.
    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        let now = Instant::now();
        // A packet that is overdue here waits for the link, and the link ends the wait.
        let sendable = self.send_due(now)?;
        if self.inbox_next < self.inbox.len() {
            sleep.at_most(Duration::ZERO);
        }
        let transmit_due = self.transmit.hold.next_due().filter(|_| sendable);
        let frames_due = self.frames_due.as_ref().and_then(FramesDue::get);
        let held = [transmit_due, self.receive.hold.next_due(), frames_due];
        if let Some(due) = held.into_iter().flatten().min() {
            sleep.at_most(due.saturating_duration_since(now));
        }
        self.link.begin_wait(sleep)
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        self.link.end_wait(sleep)?;
        self.send_due(Instant::now())?;
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn is_full(&self) -> bool {
        self.link.is_full()
    }

    fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
        self.link.has_room_for(peer)
    }

    fn unreachable_hint(&self) -> u64 {
        self.link.unreachable_hint()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        self.link.line_bps(peer)
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.link.make_room(packets, packet_bytes);
    }

    /// The same faults on RoCEv2 frames, drawn apart, with the same log.
    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        let frames = self.link.frames(frames);
        let path = |direction, spec: &FaultSpec| {
            let spec = spec.clone().seed(spec.chosen_seed().wrapping_add(FRAMES_SEED));
            Path::new(direction, &spec, FRAME_BYTES_MAX, Reads::Frames, &self.log)
                .expect("it has been checked")
        };
        let paths =
            [path(Direction::Transmit, &self.specs[0]), path(Direction::Receive, &self.specs[1])];
        let due = self.frames_due.insert(FramesDue::new());
        Box::new(FrameFaults::new(frames, paths, due.clone()))
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.link.favour(favoured)
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.link.steer(tags);
    }
}

/// Puts faults on a link of frames that has no packets beside it: `transmit` on what is sent and `receive`
/// on what is received, each on frames of RoCEv2 and of the block transfer. The second value is the record
/// of faults. Frames that are held are due at [`EtherLink::due_at`].
///
/// # Errors
/// [`SpecError`] where a description has values out of range or contradicts itself.
pub fn frames(
    link: Box<dyn EtherLink>,
    transmit: &FaultSpec,
    receive: &FaultSpec,
) -> Result<(Box<dyn EtherLink>, FaultLog), SpecError> {
    let log = FaultLog::new();
    let path = |direction, spec| Path::new(direction, spec, FRAME_BYTES_MAX, Reads::Frames, &log);
    let paths = [path(Direction::Transmit, transmit)?, path(Direction::Receive, receive)?];
    Ok((Box::new(FrameFaults::new(link, paths, FramesDue::new())), log))
}

/// The seed of the faults of frames, apart from those that people and the streams of a bridge choose.
const FRAMES_SEED: u64 = 1 << 48;

/// Packets received from the link in one call.
const INBOX_PACKETS: usize = 64;

#[cfg(test)]
mod tests;
