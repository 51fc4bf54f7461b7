//! A link whose calls fail when a test says so, and to which strangers' packets come.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samplewire_io::memory::Memory;
use samplewire_io::{Batch, Call, Capabilities, Ecn, Link, LinkError, Meta, Outgoing, Waker};

/// A link in memory with a [`Plan`].
pub(crate) struct Failing {
    link: Memory,
    plan: Arc<Plan>,
}

/// What the next calls of a link return, and what comes to it.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The errno of the next send, receive and wait; 0 where it does not fail.
    errnos: [AtomicI32; 3],
    strangers: Mutex<Vec<(SocketAddr, Vec<u8>)>>,
    /// Addresses to which the system refuses to send, why, and how many packets it has refused.
    refused: Mutex<Vec<(SocketAddr, i32, usize)>>,
}

impl Plan {
    /// The next such call returns `errno`.
    pub(crate) fn arm(&self, call: Call, errno: i32) {
        self.errnos[call as usize].store(errno, Ordering::SeqCst);
    }

    /// Whether a call is still to fail.
    pub(crate) fn is_armed(&self) -> bool {
        self.errnos.iter().any(|errno| errno.load(Ordering::SeqCst) != 0)
    }

    /// A packet comes from `peer`, to which nothing can be sent because of `errno`.
    pub(crate) fn strange(&self, peer: SocketAddr, errno: i32, bytes: &[u8]) {
        self.refused.lock().unwrap().push((peer, errno, 0));
        self.strangers.lock().unwrap().push((peer, bytes.to_vec()));
    }

    /// Whether all packets of strangers have been received.
    pub(crate) fn has_given_all(&self) -> bool {
        self.strangers.lock().unwrap().is_empty()
    }

    /// How many packets to strangers were refused.
    pub(crate) fn refused(&self) -> usize {
        self.refused.lock().unwrap().iter().map(|(_, _, count)| count).sum()
    }

    fn fail(&self, call: Call) -> Result<(), LinkError> {
        match self.errnos[call as usize].swap(0, Ordering::SeqCst) {
            0 => Ok(()),
            errno => Err(system(UNREACHABLE.parse().unwrap(), errno)),
        }
    }

    fn refuse(&self, peer: SocketAddr) -> Result<(), LinkError> {
        let mut refused = self.refused.lock().unwrap();
        let Some((_, errno, count)) = refused.iter_mut().find(|(to, _, _)| *to == peer) else {
            return Ok(());
        };
        *count += 1;
        Err(system(peer, *errno))
    }
}

impl Failing {
    pub(crate) fn new(link: Memory) -> (Self, Arc<Plan>) {
        let plan = Arc::<Plan>::default();
        (Self { link, plan: Arc::clone(&plan) }, plan)
    }
}

impl Link for Failing {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.plan.fail(Call::Send)?;
        // As a socket: the error is of the first packet, and a later one ends the run before it.
        self.plan.refuse(packets[0].peer)?;
        let peer = packets[0].peer;
        let run = packets.iter().take_while(|packet| packet.peer == peer).count();
        self.link.send(&packets[..run])
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.plan.fail(Call::Receive)?;
        self.link.recv(batch)?;
        let mut strangers = self.plan.strangers.lock().unwrap();
        while let Some((peer, bytes)) = strangers.last() {
            let meta = Meta { peer: *peer, ecn: Ecn::NotEct, dropped: None, packets_per_drop: 1 };
            if batch.push(bytes, meta).is_err() {
                break;
            }
            strangers.pop();
        }
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.plan.fail(Call::Wait)?;
        if !self.plan.has_given_all() {
            return Ok(());
        }
        self.link.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }
}

fn system(address: SocketAddr, errno: i32) -> LinkError {
    let source = std::io::Error::from_raw_os_error(errno);
    LinkError::System { operation: "test", address, source }
}

const UNREACHABLE: &str = "192.0.2.99:9";
