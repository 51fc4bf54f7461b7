//! A socket of its own for the packets that matter, beside the one that any host can send to.
//!
//! Both are bound to the same port; a program in the kernel selects the socket for each packet. So
//! a flood fills the port's own buffer and not the lane's. The port's own socket is read less often
//! while there is a lane: see [`RateLimit`].

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::drops::Drops;
use super::sys::Socket;
use crate::favoured::Favoured;

/// The second socket of a port.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) socket: Socket,
    pub(super) kernel_dropped: u32,
    pub(super) drops: Drops,
    pub(super) port_limit: RateLimit,
}

/// What the port's socket is bound to, and its lane too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) local: SocketAddr,
    /// The index of the interface, if one was named.
    pub(super) interface: Option<u32>,
}

impl Lane {
    /// Opens a lane for `favoured` at the port of `port`.
    pub(super) fn open(
        port: &Socket,
        bound: Bound,
        favoured: &Favoured<'_>,
        receive_buffer_bytes: usize,
    ) -> io::Result<Self> {
        port.share_port(true)?;
        let opened = Self::open_shared(port, bound, favoured, receive_buffer_bytes);
        if opened.is_err() {
            port.share_port(false)?;
        }
        opened
    }

    fn open_shared(
        port: &Socket,
        bound: Bound,
        favoured: &Favoured<'_>,
        receive_buffer_bytes: usize,
    ) -> io::Result<Self> {
        let socket = Socket::open(bound.local)?;
        if let Some(index) = bound.interface {
            socket.bind_interface(index)?;
        }
        socket.set_receive_buffer(receive_buffer_bytes)?;
        socket.count_drops(true)?;
        socket.share_port(true)?;
        // Received packets are not joined here: the kernel would look at the first of them alone,
        // and a flood between them would take them along.
        socket.bind(bound.local)?;
        port.attach_steering(favoured)?;
        let drops = Drops::new(bound.local.is_ipv6());
        Ok(Self { socket, kernel_dropped: 0, drops, port_limit: RateLimit::new() })
    }
}

/// Says when the port's own socket is looked at while there is a lane.
///
/// What is done with the packets of a look is done before the next call to the link, so the time
/// in between is what they cost. The next look comes after [`SHARE`] times as long, and after
/// [`PACKET_PAUSE`] for each packet: a flood gets a part of the thread and not all of it, also on
/// a machine that gives the thread little.
#[derive(Debug)]
pub(super) struct RateLimit {
    due: Instant,
    /// When the last look ended and what it found, until the link is called again.
    looked: Option<(Instant, usize)>,
    /// Nothing was there at the last look: then a packet ends a wait.
    is_quiet: bool,
}

impl RateLimit {
    fn new() -> Self {
        Self { due: Instant::now(), looked: None, is_quiet: true }
    }

    /// The link is called again: what the last look found has been dealt with.
    pub(super) fn note_return(&mut self, now: Instant) {
        if let Some((at, packets)) = self.looked.take() {
            let cost = now.saturating_duration_since(at);
            let pause = (cost * SHARE).max(PACKET_PAUSE * packets as u32);
            self.due = now + if packets == 0 { LOOK_PAUSE } else { pause.max(LOOK_PAUSE) };
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// Whether a wait ends when something comes, and how long it may last else.
    pub(super) fn waits(&self, now: Instant, timeout: Duration) -> (bool, Duration) {
        let left = self.due.saturating_duration_since(now);
        if self.is_quiet || left.is_zero() { (true, timeout) } else { (false, timeout.min(left)) }
    }

    /// Something has come that a wait saw.
    pub(super) fn note_ready(&mut self, now: Instant) {
        self.due = now;
    }

    /// `packets` were there at a look.
    pub(super) fn note_look(&mut self, now: Instant, packets: usize) {
        self.is_quiet = packets == 0;
        self.looked = Some((now, packets));
    }
}

/// The most messages, joined or not, of one look.
pub(super) const LOOK_MESSAGES_MAX: usize = 4;

/// A fifth of the thread's time is for strangers.
const SHARE: u32 = 4;

/// 250,000 packets a second.
const PACKET_PAUSE: Duration = Duration::from_micros(4);

/// A look where nothing is costs a system call.
const LOOK_PAUSE: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_looked_at_in_proportion_to_what_they_send() {
        let mut port_limit = RateLimit::new();
        let now = Instant::now();
        assert!(port_limit.is_due(now));
        port_limit.note_look(now, 1_000_000);
        port_limit.note_return(now);
        assert!(!port_limit.is_due(now + Duration::from_millis(3_999)));
        assert!(port_limit.is_due(now + Duration::from_secs(4)));
        let (ends_on_arrival, longest) = port_limit.waits(now, Duration::from_secs(60));
        assert!(!ends_on_arrival);
        assert_eq!(longest, Duration::from_secs(4));
    }

    #[test]
    fn strangers_get_a_fifth_of_the_time_however_long_they_take() {
        let mut port_limit = RateLimit::new();
        let looked_at = Instant::now();
        port_limit.note_look(looked_at, 10);
        let returned_at = looked_at + Duration::from_millis(3);
        port_limit.note_return(returned_at);
        // A second call is of no stranger.
        port_limit.note_return(returned_at + Duration::from_millis(1));
        assert!(!port_limit.is_due(returned_at + Duration::from_millis(11)));
        assert!(port_limit.is_due(returned_at + Duration::from_millis(12)));
    }

    #[test]
    fn wait_ends_by_the_first_packet_after_silence() {
        let mut port_limit = RateLimit::new();
        let now = Instant::now();
        port_limit.note_look(now, 0);
        port_limit.note_return(now + Duration::from_secs(1));
        assert_eq!(port_limit.waits(now, Duration::from_secs(60)), (true, Duration::from_secs(60)));
        port_limit.note_ready(now);
        assert!(port_limit.is_due(now));
    }
}
