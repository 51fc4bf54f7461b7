//! AF_XDP beside a UDP socket: packets of streams bypass the kernel's IP stack, everything else goes on
//! as before (Linux, `Documentation/networking/af_xdp.rst`).
//!
//! [`Xdp`] wraps [`Udp`]. That socket holds the port, finds neighbours, answers ICMP, and carries openings
//! and packets of strangers. Once a stream flows ([`Link::steer`]), a BPF program takes the packets with its
//! tag to sockets of this link, one for each queue of the card, and what leaves for its peer goes by them.
//! The program is attached by a descriptor, so it goes with the process, however that ends. A thread of its
//! own attaches it (`attempt`), and until then streams go by UDP.
//!
//! Where any of this is refused, or ends while streams flow, packets go by UDP: to fall back means not to
//! be attached. [`XdpLog`] has the state and the reason.

mod attempt;
mod hops;
mod path;
mod program;
mod ring;
mod socket;
pub(crate) mod umem;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::attempt::Attempt;
use self::path::{Path, Refusal, Room, Wanted, is_link_local};
use crate::batch::Batch;
use crate::favoured::{Favoured, KnownTags};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::thread;
use crate::udp::{Udp, UdpOptions};
use crate::wake::{Sleep, Waker};

/// A UDP socket whose streams bypass the kernel where it lets them.
///
/// ```
/// use samplewire_io::{Bypass, Link, UdpOptions, Xdp};
///
/// let options = UdpOptions::new().bypass(Bypass::Always);
/// let link = Xdp::bind("127.0.0.1:0".parse()?, &options)?;
/// let bypass = link.capabilities().bypass.expect("it was asked for");
/// assert_eq!(bypass.state().to_string(), "no packet has bypassed the kernel yet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Xdp {
    udp: Udp,
    choice: Bypass,
    drops_rights: bool,
    /// Those that the program's thread may run on; none where they are not known.
    cpus: Vec<usize>,
    /// Where the tag of a packet stands, once a stream has flowed.
    tag_offset_bytes: u16,
    tags: Vec<u32>,
    /// The peers that send packets with these tags.
    peers: Vec<SocketAddr>,
    state: State,
    room: Room,
    looks: Looks,
    /// What the UDP socket has dropped, by the last packet before the path.
    udp_dropped: u32,
    /// What paths that have ended have dropped.
    path_dropped: u32,
    log: XdpLog,
}

#[derive(Debug)]
enum State {
    /// No stream flows, or no peer is known.
    Idle,
    /// Under way; attempts in a row began then.
    Attaching {
        since: Instant,
        attempt: Attempt,
    },
    /// A queue is taken: the kernel frees those of a link that has ended after some ms.
    Busy {
        since: Instant,
        tried: Instant,
    },
    Attached(Box<Path>),
    /// Refused, or over: for good.
    Off,
}

/// Whether packets of streams are to bypass the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bypass {
    /// Never.
    #[default]
    Never,
    /// Where the driver writes into this link's memory: without that, latency is lower than by UDP, but
    /// throughput is not higher.
    ZeroCopy,
    /// Wherever it is possible: in the driver's own mode if it has one, else in the generic one; without a
    /// copy if the driver can, else with one.
    Always,
    /// In the generic mode, which every interface has: the kernel makes a buffer for each frame before
    /// the program sees it.
    Generic,
}

impl Bypass {
    /// The names of the choices: `udp` is [`Bypass::Never`], and `auto` [`Bypass::ZeroCopy`].
    pub const NAMES: [&str; 4] = ["auto", "udp", "xdp", "xdp-generic"];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZeroCopy => "auto",
            Self::Never => "udp",
            Self::Always => "xdp",
            Self::Generic => "xdp-generic",
        }
    }
}

/// A text that names no choice of [`Bypass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is none of auto, udp, xdp and xdp-generic")]
pub struct NoBypass;

impl std::str::FromStr for Bypass {
    type Err = NoBypass;

    fn from_str(text: &str) -> Result<Self, NoBypass> {
        let all = [Self::ZeroCopy, Self::Never, Self::Always, Self::Generic];
        all.into_iter().find(|it| it.name() == text).ok_or(NoBypass)
    }
}

/// Whether packets bypass the kernel, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XdpState {
    /// Not attached yet: no stream flows, the peer is on this host, or attaching is under way, for
    /// some 10 ms, or up to 1 s where a queue is busy.
    Idle,
    /// They do.
    Attached(XdpGrant),
    /// They go by UDP, for this reason.
    Off(String),
}

/// What the kernel has granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpGrant {
    /// The interface.
    pub interface: String,
    /// The program runs in the driver; else in the kernel's generic path.
    pub is_native: bool,
    /// The driver writes into this link's memory; else the kernel copies.
    pub is_zero_copy: bool,
    /// Packets may lie in several frames: those above 4 KB.
    pub has_fragments: bool,
    /// Queues of the card, each with a socket.
    pub queues: u32,
    /// Memory of frames in bytes.
    pub memory_bytes: usize,
}

impl std::fmt::Display for XdpState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Idle => f.write_str("no packet has bypassed the kernel yet"),
            Self::Off(reason) => write!(f, "packets go by UDP: {reason}"),
            Self::Attached(grant) => {
                let mode = if grant.is_native { "native" } else { "generic" };
                let copy = if grant.is_zero_copy { "zero copy" } else { "copy" };
                let queues = if grant.queues == 1 { "queue" } else { "queues" };
                let XdpGrant { interface, queues: count, .. } = grant;
                write!(f, "{interface}, {mode} mode, {copy}, {count} {queues}")
            }
        }
    }
}

/// The state of an [`Xdp`] link, or of several, also after the link is gone.
#[derive(Clone, Debug)]
pub struct XdpLog(Vec<Arc<Mutex<XdpState>>>);

impl PartialEq for XdpLog {
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl Eq for XdpLog {}

impl XdpLog {
    fn new() -> Self {
        Self(vec![Arc::new(Mutex::new(XdpState::Idle))])
    }

    /// The states of several links, if there are any.
    pub(crate) fn of_each<'a>(logs: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let logs: Vec<_> = logs.flat_map(|log| log.0.iter().cloned()).collect();
        (!logs.is_empty()).then_some(Self(logs))
    }

    /// The state. Of several links: that of the first whose packets go by UDP, else of the first that is
    /// attached.
    pub fn state(&self) -> XdpState {
        let rank = |state: &XdpState| match state {
            XdpState::Off(_) => 0,
            XdpState::Attached(_) => 1,
            XdpState::Idle => 2,
        };
        let states = self.0.iter();
        let states = states.map(|it| it.lock().unwrap_or_else(PoisonError::into_inner).clone());
        states.min_by_key(rank).expect("a log is of a link")
    }

    /// Of one link.
    fn set(&self, state: XdpState) {
        *self.0[0].lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl Xdp {
    /// [`Udp::bind`] with this link around it. Nothing is attached before a stream flows.
    ///
    /// # Errors
    /// See there.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        Ok(Self::new(Udp::bind(local, options)?, options))
    }

    /// [`Udp::client`] with this link around it. Nothing is attached before a stream flows.
    ///
    /// # Errors
    /// See there.
    pub fn client(remote: SocketAddr, options: &UdpOptions) -> Result<Self, LinkError> {
        Ok(Self::new(Udp::client(remote, options)?, options))
    }

    fn new(udp: Udp, options: &UdpOptions) -> Self {
        let choice = options.bypass;
        let is_off = choice == Bypass::Never;
        Self {
            udp,
            choice,
            drops_rights: options.drops_rights,
            cpus: if is_off { Vec::new() } else { thread::affinity().unwrap_or_default() },
            tag_offset_bytes: 0,
            tags: Vec::with_capacity(TAGS_MAX),
            peers: Vec::with_capacity(TAGS_MAX),
            state: if is_off { State::Off } else { State::Idle },
            room: Room::default(),
            looks: Looks::new(),
            udp_dropped: 0,
            path_dropped: 0,
            log: XdpLog::new(),
        }
    }

    /// Begins to attach once a stream flows and a peer is known.
    #[cold]
    fn attach(&mut self) {
        if self.tags.is_empty() {
            return;
        }
        let is_far = |peer: &&SocketAddr| !peer.ip().is_loopback() && !is_link_local(peer.ip());
        let Some(&peer) = self.peers.iter().find(is_far).or(self.peers.first()) else { return };
        let wanted = Wanted {
            peer,
            local: self.udp.local_addr(),
            remote: self.udp.remote(),
            named: self.udp.interface(),
            tag_offset_bytes: self.tag_offset_bytes,
            room: self.room,
            choice: self.choice,
        };
        let now = Instant::now();
        let since = if let State::Busy { since, .. } = self.state { since } else { now };
        match Attempt::start(wanted, self.cpus.clone(), self.udp.waker()) {
            Ok(attempt) => self.state = State::Attaching { since, attempt },
            Err(error) => self.detach(&error.to_string()),
        }
    }

    /// Takes the way that an attempt has attached, or finds another.
    #[cold]
    fn settle(&mut self, since: Instant, attached: Result<Box<Path>, Refusal>) {
        let dropped = self.udp_dropped.wrapping_add(self.path_dropped);
        let begun = attached.and_then(|mut path| {
            path.begin(dropped);
            path.set_tags(&self.tags, &self.peers).map(|()| path)
        });
        match begun {
            Ok(path) => {
                if self.drops_rights {
                    // What is attached stays. Without the call the rights stay too.
                    let _ = thread::drop_network_rights();
                }
                self.log.set(XdpState::Attached(path.grant().clone()));
                self.state = State::Attached(path);
            }
            Err(error) => {
                let now = Instant::now();
                if error.is_busy() && now.duration_since(since) < BUSY_MAX {
                    self.state = State::Busy { since, tried: now };
                } else if error.is_of_peer() && self.udp.remote().is_none() {
                    // Another peer may come by an interface.
                    self.state = State::Idle;
                } else {
                    self.detach(&error.to_string());
                }
            }
        }
    }

    /// Goes on with what was begun: takes the way once it is attached, and tries again where a queue was
    /// taken.
    fn advance(&mut self) {
        match &self.state {
            State::Attaching { since, attempt } => {
                let since = *since;
                if let Some(attached) = attempt.poll() {
                    self.settle(since, attached);
                }
            }
            State::Busy { tried, .. } if tried.elapsed() >= BUSY_PAUSE => self.attach(),
            _ => {}
        }
    }

    /// Goes on by UDP. What lies in frames is lost, and the stream repairs it.
    #[cold]
    fn detach(&mut self, reason: &str) {
        if let State::Attached(path) = &self.state {
            self.path_dropped = self.path_dropped.wrapping_add(path.dropped());
        }
        self.state = State::Off;
        self.log.set(XdpState::Off(reason.to_owned()));
    }

    /// Detaches if the way has ended.
    #[cold]
    fn check(&mut self) {
        if let State::Attached(path) = &mut self.state
            && let Err(reason) = path.check()
        {
            self.detach(&reason.to_string());
        }
    }
}

impl Link for Xdp {
    fn capabilities(&self) -> Capabilities {
        let bypass = (self.choice != Bypass::Never).then(|| self.log.clone());
        Capabilities { bypass, ..self.udp.capabilities() }
    }

    fn local_addr(&self) -> SocketAddr {
        self.udp.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let State::Attached(path) = &mut self.state else {
            return self.udp.send(packets);
        };
        path.begin_send();
        self.udp.forget_full();
        let mut sent = 0;
        while sent < packets.len() {
            let rest = &packets[sent..];
            if path.reaches(rest[0].peer) {
                match path.push(&rest[0]) {
                    Ok(true) => sent += 1,
                    Ok(false) => break,
                    Err(_) if sent > 0 => break,
                    Err(error) => return Err(error),
                }
                continue;
            }
            let others = rest[1..].iter().take_while(|packet| !path.reaches(packet.peer)).count();
            let others = 1 + others;
            path.kick();
            match self.udp.send(&rest[..others]) {
                Ok(count) if count < others => return Ok(sent + count),
                Ok(count) => sent += count,
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        path.kick();
        if path.has_failed() && self.looks.are_to_check(Instant::now()) {
            self.check();
        }
        Ok(sent)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        let now = Instant::now();
        let State::Attached(path) = &mut self.state else {
            self.advance();
            self.udp.recv(batch)?;
            self.udp_dropped = batch.last_dropped().unwrap_or(self.udp_dropped);
            add_drops(batch, self.path_dropped);
            return Ok(());
        };
        let (is_due, is_udp_first) = (self.looks.are_due(now), self.looks.is_udp_first());
        if !(is_due && is_udp_first) {
            path.receive(batch);
            self.looks.note_path();
        }
        if is_due && (is_udp_first || batch.is_empty()) {
            let received = self.udp.recv(batch);
            self.looks.note_udp(now, batch.len());
            received?;
            add_drops(batch, path.dropped());
            if self.looks.are_to_check(now) {
                self.check();
            }
            if is_udp_first
                && batch.is_empty()
                && let State::Attached(path) = &mut self.state
            {
                path.receive(batch);
            }
        }
        Ok(())
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        if let State::Attached(path) = &mut self.state {
            path.begin_wait(sleep);
        }
        self.udp.begin_wait(sleep)
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        self.udp.end_wait(sleep)
    }

    fn waker(&self) -> Waker {
        self.udp.waker()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.room = self.room.max(Room { packets, packet_bytes });
        self.udp.make_room(packets, packet_bytes);
    }

    fn is_full(&self) -> bool {
        let is_full = matches!(&self.state, State::Attached(path) if path.is_full());
        is_full || self.udp.is_full()
    }

    fn unreachable_hint(&self) -> u64 {
        self.udp.unreachable_hint()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        self.udp.line_bps(peer)
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.udp.favour(favoured)
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.tags.clear();
        self.peers.clear();
        let Some(KnownTags { word, peers }) = tags else {
            if let State::Attached(path) = &mut self.state {
                // What a tag that is still in the map brings is a stranger's.
                let _ = path.set_tags(&[], &[]);
            }
            return;
        };
        self.tags.extend(word.values.iter().take(TAGS_MAX));
        match self.udp.remote() {
            Some(remote) => self.peers.push(remote),
            None => self.peers.extend(peers.iter().take(TAGS_MAX)),
        }
        self.tag_offset_bytes = word.offset_bytes;
        match &mut self.state {
            State::Idle | State::Busy { .. } => self.attach(),
            State::Attached(path) => {
                if let Err(error) = path.set_tags(&self.tags, &self.peers) {
                    self.detach(&error.to_string());
                }
            }
            State::Attaching { .. } | State::Off => {}
        }
    }
}

/// Adds what sockets of paths have dropped to the counts of packets that came by UDP.
fn add_drops(batch: &mut Batch, dropped: u32) {
    if dropped > 0 {
        batch.update(|meta| meta.dropped = meta.dropped.map(|count| count.wrapping_add(dropped)));
    }
}

/// When the UDP socket is read beside the others.
#[derive(Debug)]
struct Looks {
    due: Instant,
    /// The last look found something: others have their turn first.
    was_udp: bool,
    checked: Instant,
}

impl Looks {
    fn new() -> Self {
        let now = Instant::now();
        Self { due: now, was_udp: false, checked: now }
    }

    fn are_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    fn is_udp_first(&self) -> bool {
        !self.was_udp
    }

    /// The UDP socket was read, and had so many packets.
    fn note_udp(&mut self, now: Instant, packets: usize) {
        self.was_udp = packets > 0;
        self.due = if packets > 0 { now } else { now + LOOK_PAUSE };
    }

    /// The others were read.
    fn note_path(&mut self) {
        self.was_udp = false;
    }

    fn are_to_check(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.checked) >= CHECK_PAUSE;
        if is_due {
            self.checked = now;
        }
        is_due
    }
}

/// The most tags whose packets bypass the kernel.
pub const TAGS_MAX: usize = 1_024;

/// A look at a socket where nothing is costs a system call.
const LOOK_PAUSE: Duration = Duration::from_micros(50);

/// Between two attempts while a queue is taken.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How long a queue may stay taken.
const BUSY_MAX: Duration = Duration::from_secs(1);

/// Between two looks for changes of interfaces and neighbours.
const CHECK_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_pause_after_nothing_and_alternate_while_something_comes() {
        let mut looks = Looks::new();
        let now = Instant::now();
        assert!(looks.are_due(now) && looks.is_udp_first());
        looks.note_udp(now, 0);
        assert!(!looks.are_due(now + LOOK_PAUSE - Duration::from_nanos(1)));
        assert!(looks.are_due(now + LOOK_PAUSE));
        looks.note_udp(now, 3);
        assert!(looks.are_due(now) && !looks.is_udp_first(), "others first");
        looks.note_path();
        assert!(looks.are_due(now) && looks.is_udp_first());
    }

    #[test]
    fn states_are_put_into_words() {
        let grant = XdpGrant {
            interface: "eth0".into(),
            is_native: true,
            is_zero_copy: false,
            has_fragments: false,
            queues: 2,
            memory_bytes: 1,
        };
        let words = XdpState::Attached(grant).to_string();
        assert_eq!(words, "eth0, native mode, copy, 2 queues");
    }
}
