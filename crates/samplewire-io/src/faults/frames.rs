//! A link of frames with the faults of the packets beside it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::path::{Head, Path};
use crate::batch::Meta;
use crate::ether::{EtherError, EtherLink, FRAME_BYTES_MAX};

/// Passes frames on; those of RoCEv2 and of the block transfer with faults. ARP passes: without it there would be no frames, and it
/// has no checksum of its own.
pub(super) struct FrameFaults {
    link: Box<dyn EtherLink>,
    transmit: Path,
    receive: Path,
    due: FramesDue,
    /// One frame that changes.
    scratch: Box<[u8]>,
}

/// When a held frame is due: the packets' link ends its wait then.
#[derive(Clone, Debug)]
pub(super) struct FramesDue {
    epoch: Instant,
    /// In nanoseconds from `epoch`. Both links are of one thread, so it orders nothing: Relaxed.
    due_ns: Arc<AtomicU64>,
}

impl FramesDue {
    pub(super) fn new() -> Self {
        Self { epoch: Instant::now(), due_ns: Arc::new(AtomicU64::new(NEVER)) }
    }

    pub(super) fn get(&self) -> Option<Instant> {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        (due_ns != NEVER).then(|| self.epoch + Duration::from_nanos(due_ns))
    }

    fn set(&self, due: Option<Instant>) {
        let since = |due: Instant| due.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.due_ns.store(due.map_or(NEVER, since), Ordering::Relaxed);
    }
}

impl FrameFaults {
    pub(super) fn new(link: Box<dyn EtherLink>, paths: [Path; 2], due: FramesDue) -> Self {
        let [transmit, receive] = paths;
        let scratch = vec![0; FRAME_BYTES_MAX].into();
        Self { link, transmit, receive, due, scratch }
    }

    /// Sends what is due.
    fn send_due(&mut self, now: Instant) -> Result<(), EtherError> {
        let mut retry_at = None;
        while let Some((frame, _)) = self.transmit.hold.first_due(now) {
            if !self.link.send(frame)? {
                retry_at = Some(now + RETRY);
                break;
            }
            self.transmit.hold.remove_first();
        }
        let transmit_due = retry_at.or_else(|| self.transmit.hold.next_due());
        self.due.set(transmit_due.into_iter().chain(self.receive.hold.next_due()).min());
        Ok(())
    }

    fn send_now(&mut self, frame: &[u8], now: Instant) -> Result<bool, EtherError> {
        let Some(head) = Head::of_frame(frame).filter(|_| frame.len() <= self.scratch.len()) else {
            return self.link.send(frame);
        };
        let fate = self.transmit.decide(&head);
        let Some(decided) = fate else {
            let is_sent = self.link.send(frame)?;
            if is_sent {
                self.transmit.passed(1, now);
            } else {
                self.transmit.put_back_one(&head, None);
            }
            return Ok(is_sent);
        };
        let changed = &mut self.scratch[..frame.len()];
        changed.copy_from_slice(frame);
        if self.transmit.take(decided, changed, Meta::NONE, now) {
            return Ok(true);
        }
        let is_sent = self.link.send(changed)?;
        if is_sent {
            self.transmit.passed_undelayed(decided, &head, now);
        } else {
            self.transmit.put_back_one(&head, fate);
        }
        Ok(is_sent)
    }

    /// The next frame that has come, or is due, up to a number of those that are lost or held.
    fn recv_now(&mut self, into: &mut [u8], now: Instant) -> Result<Option<usize>, EtherError> {
        for _ in 0..FRAMES_MAX {
            if let Some((frame, _)) = self.receive.hold.first_due(now) {
                let len = frame.len().min(into.len());
                into[..len].copy_from_slice(&frame[..len]);
                self.receive.hold.remove_first();
                return Ok(Some(len));
            }
            let Some(len) = self.link.recv(into)? else { return Ok(None) };
            let frame = &mut into[..len];
            let Some(head) = Head::of_frame(frame) else { return Ok(Some(len)) };
            match self.receive.decide(&head) {
                None => self.receive.passed(1, now),
                Some(fate) if self.receive.take(fate, frame, Meta::NONE, now) => continue,
                Some(fate) => self.receive.passed_undelayed(fate, &head, now),
            }
            return Ok(Some(len));
        }
        Ok(None)
    }
}

impl AsFd for FrameFaults {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl EtherLink for FrameFaults {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        if self.transmit.is_faultless() && self.receive.is_faultless() {
            let came = self.link.recv(into)?;
            let counts = came.is_some_and(|len| Head::of_frame(&into[..len]).is_some());
            self.receive.passed(usize::from(counts), Instant::now());
            return Ok(came);
        }
        let now = Instant::now();
        let came = self.recv_now(into, now)?;
        self.send_due(now)?;
        Ok(came)
    }

    /// A frame that was taken before and held, and that the link then refuses, is tried again.
    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let now = Instant::now();
        let is_taken = self.send_now(frame, now)?;
        self.send_due(now)?;
        Ok(is_taken)
    }

    fn mtu_bytes(&self) -> Option<usize> {
        self.link.mtu_bytes()
    }

    fn advice(&mut self) -> Option<String> {
        self.link.advice()
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        self.send_due(Instant::now())?;
        self.link.flush()
    }

    fn due_at(&self) -> Option<Instant> {
        self.due.get()
    }

    fn forget(&mut self) -> usize {
        self.link.forget()
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        self.link.dropped()
    }
}

const NEVER: u64 = u64::MAX;

/// How soon a full link is worth another try.
const RETRY: Duration = Duration::from_millis(1);

/// Frames of one call that are lost or held, so that a flood of them has an end.
const FRAMES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ether::Arp;
    use crate::ether::scripted::{Scripted, Wire};
    use crate::faults::{Direction, Entry, FaultSpec, Faults, PacketTypes};
    use crate::link::Link;
    use crate::memory;

    type Under = (Faults<memory::Memory>, Box<dyn EtherLink>, Arc<Mutex<Wire>>);

    fn under(transmit: &FaultSpec, receive: &FaultSpec) -> Under {
        let (near, _far) = memory::pair(4, 2_000, 2_000).unwrap();
        let mut faults = Faults::new(near, transmit, receive).unwrap();
        let (link, wire) = Scripted::new();
        let link = faults.frames(Box::new(link));
        (faults, link, wire)
    }

    /// A frame of RoCEv2 with this opcode and PSN.
    fn frame(opcode: u8, psn: u32) -> Vec<u8> {
        let mut frame = vec![0; 74];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[23] = 17;
        frame[36..38].copy_from_slice(&4_791_u16.to_be_bytes());
        frame[42] = opcode;
        frame[50..54].copy_from_slice(&psn.to_be_bytes());
        frame
    }

    fn write(psn: u32) -> Vec<u8> {
        frame(0x0B, psn)
    }

    fn arp() -> Vec<u8> {
        Arp::request(([10, 0, 0, 1].into(), [2; 6]), [10, 0, 0, 2].into()).frame().to_vec()
    }

    fn received(link: &mut dyn EtherLink) -> Vec<Vec<u8>> {
        let mut into = vec![0; 2_000];
        std::iter::from_fn(|| {
            let len = link.recv(&mut into).unwrap()?;
            Some(into[..len].to_vec())
        })
        .collect()
    }

    #[test]
    fn each_direction_has_its_own_loss_and_arp_has_none() {
        let all = FaultSpec::new().loss(1.0);
        for loses in [Direction::Transmit, Direction::Receive] {
            let of = |direction| if loses == direction { all.clone() } else { FaultSpec::new() };
            let (faults, mut link, wire) = under(&of(Direction::Transmit), &of(Direction::Receive));
            for frame in [write(7), arp(), write(8)] {
                assert!(link.send(&frame).unwrap());
                wire.lock().unwrap().comes.push_back(frame);
            }
            let came = received(&mut *link);
            let sent = wire.lock().unwrap().sent.clone();
            let (with, without) =
                if loses == Direction::Transmit { (sent, came) } else { (came, sent) };
            assert_eq!((with, without), (vec![arp()], vec![write(7), arp(), write(8)]));
            let counts = faults.log().counts(loses);
            assert_eq!((counts.packets, counts.lost), (2, 2));
            let entries: Vec<_> = faults.log().entries();
            assert!(matches!(entries[..], [Entry { seq: 7, .. }, Entry { seq: 8, .. }]));
        }
    }

    #[test]
    fn requests_count_as_data_and_answers_as_reports() {
        let data = PacketTypes::one(samplewire_proto::wire::PacketType::Data as u8);
        let (_faults, mut link, wire) =
            under(&FaultSpec::new().loss(1.0).only(data), &FaultSpec::new());
        let answers = [frame(0x11, 1), frame(0x81, 0)];
        for frame in [write(1), answers[0].clone(), frame(0x06, 2), answers[1].clone()] {
            assert!(link.send(&frame).unwrap());
        }
        assert_eq!(wire.lock().unwrap().sent, answers);
    }

    #[test]
    fn frames_of_the_block_transfer_have_faults_without_packets_beside_them() {
        let frame = |kind: u8, seq: u32| {
            let mut frame = vec![0; 60];
            frame[12..15].copy_from_slice(&[0x88, 0xB5, kind]);
            let at = if kind & 0x10 == 0 { 15 } else { 19 };
            frame[at..at + 4].copy_from_slice(&seq.to_be_bytes());
            frame
        };
        let (data, answers) = ([frame(0x01, 3), frame(0x12, 9), frame(0x11, 4)], [0x03, 0x13]);
        let (link, wire) = Scripted::new();
        let type_of_data = PacketTypes::one(samplewire_proto::wire::PacketType::Data as u8);
        let delay = Duration::from_millis(5);
        let (transmit, receive) =
            (FaultSpec::new().loss(1.0).only(type_of_data), FaultSpec::new().delay(delay));
        let (mut link, log) = crate::faults::frames(Box::new(link), &transmit, &receive).unwrap();
        for frame in data.iter().cloned().chain(answers.map(|kind| frame(kind, 0))) {
            assert!(link.send(&frame).unwrap());
        }
        assert_eq!(wire.lock().unwrap().sent, answers.map(|kind| frame(kind, 0)));
        let seqs: Vec<_> = log.entries().iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, [3, 0, 4], "a summary has none");
        wire.lock().unwrap().comes.push_back(data[0].clone());
        assert!(received(&mut *link).is_empty());
        let due = link.due_at().expect("one is held");
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        assert_eq!(received(&mut *link), [data[0].clone()]);
        assert_eq!(link.due_at(), None);
        let wrong = FaultSpec::new().loss(2.0);
        assert!(crate::faults::frames(link, &wrong, &receive).is_err());
    }

    #[test]
    fn frames_are_doubled_and_changed() {
        let (faults, mut link, wire) =
            under(&FaultSpec::new().duplicate(1.0).corrupt(1.0), &FaultSpec::new());
        assert!(link.send(&write(1)).unwrap());
        let sent = &wire.lock().unwrap().sent;
        assert_eq!(sent.len(), 2);
        assert!(sent[0] == sent[1] && sent[0] != write(1));
        let counts = faults.log().counts(Direction::Transmit);
        assert_eq!((counts.packets, counts.corrupted, counts.duplicated), (1, 1, 1));
    }

    /// The thread sleeps in the wait of the packets' link.
    #[test]
    fn wait_ends_when_a_held_frame_is_due() {
        let delay = Duration::from_millis(5);
        let (mut faults, mut link, wire) = under(&FaultSpec::new(), &FaultSpec::new().delay(delay));
        wire.lock().unwrap().comes.push_back(write(1));
        let start = Instant::now();
        assert!(received(&mut *link).is_empty());
        let mut came = vec![];
        while came.is_empty() {
            faults.wait(Duration::from_secs(20)).unwrap();
            came = received(&mut *link);
        }
        assert_eq!(came, [write(1)]);
        assert!((delay..Duration::from_secs(10)).contains(&start.elapsed()));
        assert_eq!(faults.frames_due.as_ref().unwrap().get(), None, "nothing is held");
    }

    /// A station offers the frame again: it has the fate that was drawn.
    #[test]
    fn frame_that_a_full_link_refuses_keeps_its_fate() {
        let spec = FaultSpec::new().loss(0.5).seed(3);
        let fates = |refuses: bool| {
            let (_faults, mut link, wire) = under(&spec, &FaultSpec::new());
            for psn in 0..100 {
                wire.lock().unwrap().is_full = refuses;
                if !link.send(&write(psn)).unwrap() {
                    wire.lock().unwrap().is_full = false;
                    assert!(link.send(&write(psn)).unwrap());
                }
            }
            std::mem::take(&mut wire.lock().unwrap().sent)
        };
        assert_eq!(fates(true), fates(false));
    }
}
