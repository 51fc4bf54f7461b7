//! A link whose errors end no more than they concern.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::batch::Batch;
use crate::concern::{Call, Concern};
use crate::counters::ErrorCounts;
use crate::ether::EtherLink;
use crate::favoured::{Favoured, KnownTags};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::wake::Waker;

/// A link around another, for an endpoint: it returns only errors that end the endpoint
/// ([`Concern::ends_endpoint`]) and deals with all others.
///
/// A packet that cannot be sent is lost: it counts as sent, and in [`ErrorCounts::send_errors`]. A
/// receive that fails has received nothing. After [`FAILURES_MAX`] failures in a row each wait is a
/// sleep of [`FAILURE_PAUSE`], so that an error that persists costs a thread little.
pub struct Resilient {
    link: Box<dyn Link>,
    counts: ErrorCounts,
    /// The last error of a send, for a program whose opening gets no answer.
    send_error: Option<LinkError>,
    /// Receives and waits that failed since one succeeded.
    failures: u32,
}

impl Resilient {
    /// Puts the policy on `link`.
    pub fn new(link: Box<dyn Link>) -> Self {
        Self { link, counts: ErrorCounts::default(), send_error: None, failures: 0 }
    }

    /// What has been counted.
    pub const fn error_counts(&self) -> ErrorCounts {
        self.counts
    }

    /// The last error of a send since the last call, if that concerned packets to `peer`.
    pub fn take_send_error(&mut self, peer: SocketAddr) -> Option<LinkError> {
        self.send_error.take_if(|error| match error {
            LinkError::System { address, .. } | LinkError::Failed { address, .. } => {
                *address == peer
            }
            LinkError::TooLong { peer: to, .. } => *to == peer,
            LinkError::Interface { .. } | LinkError::Disconnected | LinkError::Capture(_) => false,
        })
    }

    /// Counts a failed receive or wait, unless that ends the endpoint.
    fn note_failure(&mut self, call: Call, error: LinkError) -> Result<(), LinkError> {
        match Concern::of(call, &error) {
            concern if concern.ends_endpoint() => Err(error),
            // An empty queue or a signal is no failure.
            Concern::Attempt if call == Call::Receive => Ok(()),
            _ => {
                self.counts.receive_errors += 1;
                self.failures = self.failures.saturating_add(1);
                Ok(())
            }
        }
    }
}

impl Link for Resilient {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.link.local_addrs()
    }

    /// Takes all packets, unless the link is full.
    #[inline]
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let mut taken = 0;
        // Each turn takes a packet or is the last.
        while taken < packets.len() {
            match self.link.send(&packets[taken..]) {
                Ok(0) => break,
                Ok(sent) => {
                    taken += sent;
                    if self.link.is_full() {
                        break;
                    }
                }
                Err(error) => match Concern::of(Call::Send, &error) {
                    Concern::Attempt => break,
                    concern if concern.ends_endpoint() => return Err(error),
                    _ => {
                        taken += 1;
                        self.counts.send_errors += 1;
                        self.send_error = Some(error);
                    }
                },
            }
        }
        Ok(taken)
    }

    #[inline]
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        // What came before an error remains; what an earlier call brought does not.
        batch.clear();
        match self.link.recv(batch) {
            Ok(()) => {
                self.failures = 0;
                Ok(())
            }
            Err(error) => self.note_failure(Call::Receive, error),
        }
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        if self.failures < FAILURES_MAX {
            match self.link.wait(timeout) {
                Ok(()) => return Ok(()),
                Err(error) => self.note_failure(Call::Wait, error)?,
            }
        }
        std::thread::sleep(FAILURE_PAUSE.min(timeout));
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.link.make_room(packets, packet_bytes);
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

    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        self.link.frames(frames)
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.link.favour(favoured)
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.link.steer(tags);
    }
}

impl fmt::Debug for Resilient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// Receives and waits that may fail in a row before a wait becomes a sleep.
pub const FAILURES_MAX: u32 = 16;

/// How long that sleep is.
pub const FAILURE_PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Instant;

    use super::*;
    use crate::link::Ecn;
    use crate::memory::{self, Memory};

    /// What a call of a link returns that takes nothing else into account.
    type Answer = fn(Call) -> Result<(), LinkError>;

    /// A link that refuses packets of one byte, and whose other calls answer as a test says.
    struct Scripted(Memory, Answer);

    impl Link for Scripted {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }

        fn local_addr(&self) -> SocketAddr {
            self.0.local_addr()
        }

        fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
            (self.1)(Call::Send)?;
            match packets.iter().position(|packet| packet.len_bytes() == 1) {
                Some(0) => Err(LinkError::TooLong { len_bytes: 1, peer: packets[0].peer }),
                Some(at) => self.0.send(&packets[..at]),
                None => self.0.send(packets),
            }
        }

        fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
            // It adds what came before the error, and leaves the rest of the batch as it is.
            let mut came = Batch::new(16, 100);
            self.0.recv(&mut came)?;
            came.iter().for_each(|(bytes, meta)| batch.push(bytes, *meta).expect("room"));
            (self.1)(Call::Receive)
        }

        fn wait(&mut self, _timeout: Duration) -> Result<(), LinkError> {
            (self.1)(Call::Wait)
        }

        fn waker(&self) -> Waker {
            self.0.waker()
        }
    }

    fn failed(errno: i32) -> LinkError {
        let (operation, address) = ("test", ([127, 0, 0, 1], 9).into());
        LinkError::System { operation, address, source: io::Error::from_raw_os_error(errno) }
    }

    fn pair(answer: Answer) -> (Resilient, Memory) {
        let (near, far) = memory::pair(64, 100, 1_500).unwrap();
        (Resilient::new(Box::new(Scripted(near, answer))), far)
    }

    #[test]
    fn packets_around_those_that_are_refused_leave_by_one_call() {
        let (mut link, mut far) = pair(|_| Ok(()));
        let peer = far.local_addr();
        let bytes = [&b"x"[..], b"one", b"two", b"x", b"x", b"three", b"x"];
        let packets = bytes.map(|bytes| Outgoing::whole(peer, Ecn::NotEct, bytes));
        assert_eq!(link.send(&packets).unwrap(), 7);
        let mut batch = Batch::new(16, 100);
        far.recv(&mut batch).unwrap();
        let came: Vec<_> = batch.iter().map(|(bytes, _)| bytes).collect();
        assert_eq!(came, [&b"one"[..], b"two", b"three"]);
        assert_eq!(link.error_counts(), ErrorCounts { send_errors: 4, receive_errors: 0 });
        assert!(link.take_send_error(link.local_addr()).is_none(), "of another destination");
        assert!(matches!(link.take_send_error(peer), Some(LinkError::TooLong { .. })));
        assert!(link.take_send_error(peer).is_none(), "it is taken");
        let (mut link, far) = pair(|_| Err(failed(libc::EPERM)));
        let packet = Outgoing::whole(far.local_addr(), Ecn::NotEct, b"one");
        assert_eq!(link.send(&[packet; 2]).unwrap(), 2);
        assert!(link.take_send_error(far.local_addr()).is_none(), "of another destination");
        let of_peer = link.take_send_error(([127, 0, 0, 1], 9).into());
        assert!(matches!(of_peer, Some(LinkError::System { .. })));
    }

    #[test]
    fn full_link_takes_none_and_a_broken_one_says_so() {
        let (mut link, far) = pair(|_| Err(failed(libc::ENOBUFS)));
        let packet = Outgoing::whole(far.local_addr(), Ecn::NotEct, b"one");
        assert_eq!(link.send(&[packet; 3]).unwrap(), 0);
        assert_eq!(link.error_counts(), ErrorCounts::default());
        let (mut link, _far) = pair(|_| Err(failed(libc::EBADF)));
        assert!(link.send(&[packet]).is_err());
        assert!(link.recv(&mut Batch::new(1, 100)).is_err());
        assert!(link.wait(Duration::ZERO).is_err());
    }

    /// A link that takes one packet, knows then that it is full, and panics when it is asked again.
    struct Full(Memory, bool);

    impl Link for Full {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }

        fn local_addr(&self) -> SocketAddr {
            self.0.local_addr()
        }

        fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
            assert!(!self.1, "it has said that it is full");
            self.1 = true;
            self.0.send(&packets[..1])
        }

        fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
            self.0.recv(batch)
        }

        fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
            self.0.wait(timeout)
        }

        fn waker(&self) -> Waker {
            self.0.waker()
        }

        fn is_full(&self) -> bool {
            self.1
        }
    }

    #[test]
    fn link_that_is_full_is_not_called_again() {
        let (near, far) = memory::pair(64, 100, 1_500).unwrap();
        let mut link = Resilient::new(Box::new(Full(near, false)));
        let packet = Outgoing::whole(far.local_addr(), Ecn::NotEct, b"one");
        assert_eq!(link.send(&[packet; 3]).unwrap(), 1);
    }

    #[test]
    fn packets_before_a_failed_receive_come_once() {
        let (mut link, mut far) = pair(|call| match call {
            Call::Receive => Err(failed(libc::EPROTO)),
            Call::Send | Call::Wait => Ok(()),
        });
        far.send(&[Outgoing::whole(link.local_addr(), Ecn::NotEct, b"one")]).unwrap();
        let mut batch = Batch::new(16, 100);
        link.recv(&mut batch).unwrap();
        assert_eq!(batch.len(), 1);
        link.recv(&mut batch).unwrap();
        assert_eq!(batch.len(), 0);
        assert_eq!(link.error_counts().receive_errors, 2);
    }

    /// A wait that returns at once, as poll(2) does for a socket with an error.
    #[test]
    fn error_that_persists_slows_its_thread_down_and_ends_nothing() {
        const TURNS: u32 = 60;
        for answer in [
            (|call| if call == Call::Receive { Err(failed(4_095)) } else { Ok(()) }) as Answer,
            |call| if call == Call::Wait { Err(failed(4_095)) } else { Ok(()) },
        ] {
            let (mut link, _far) = pair(answer);
            let start = Instant::now();
            for _ in 0..TURNS {
                link.recv(&mut Batch::new(1, 100)).unwrap();
                link.wait(Duration::from_secs(60)).unwrap();
            }
            assert!(start.elapsed() >= FAILURE_PAUSE * (TURNS - FAILURES_MAX));
            assert_eq!(link.error_counts().receive_errors, u64::from(TURNS));
        }
    }
}
