//! Several links as one, so that one thread serves several network cards.
//!
//! Receives take turns, each packet leaves by the link of its peer, and one wait serves all links.
//! The counts of the links are added, but for the drops, which are those of each packet's own. A link that fails ends nothing at the others.

mod routes;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::routes::Routes;
use crate::batch::Batch;
use crate::concern::{Call, Concern};
use crate::ether::EtherLink;
use crate::favoured::{Favoured, KnownTags};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::udp::{UdpOptions, route_source};
use crate::wake::{Sleep, SleepMark, Waker};
use crate::xdp::{Xdp, XdpLog};

/// A link over several others.
///
/// A peer has a route: the link by which its packets come. Where nothing has come yet, the route is
/// the link whose local address the kernel would send from; of links with one address it is the one
/// with the fewest peers. Such a guess is made again after a second. A packet of a stream moves the
/// route of its peer, so the route follows a peer that changes its card. Other packets do not move
/// the route of a peer whose stream flows: a stranger could send them in its name.
///
/// A packet of a stream whose link has failed is refused with [`LinkError::Failed`], which concerns
/// that destination alone ([`Concern::Destination`]); other peers are sent to by another link. When
/// the last link fails, its error ends the endpoint.
///
/// [`Capture`](crate::Capture) belongs around each of them: around the whole it would give all
/// packets the address of the first.
///
/// ```
/// use samplewire_io::{Batch, Ecn, Link, Links, Outgoing, Udp, UdpOptions};
///
/// let options = UdpOptions::new();
/// let mut near = Links::bind(&["127.0.0.1:0".parse()?, "127.0.0.2:0".parse()?], &options)?;
/// let mut batch = Batch::new(64, 9_000);
/// for local in near.local_addrs() {
///     let mut far = Udp::client(local, &options)?;
///     far.send(&[Outgoing::whole(local, Ecn::NotEct, b"question")])?;
///     while batch.is_empty() {
///         near.wait(std::time::Duration::from_secs(1))?;
///         near.recv(&mut batch)?;
///     }
///     let peer = batch.get(0).unwrap().1.peer;
///     near.send(&[Outgoing::whole(peer, Ecn::NotEct, b"answer")])?;
///     far.wait(std::time::Duration::from_secs(1))?;
///     far.recv(&mut batch)?;
///     assert_eq!(batch.get(0).unwrap().1.peer, local);
///     batch.clear();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Links {
    members: Vec<Member>,
    waker: Waker,
    /// Whose turn it is to receive, and how often it had something since its turn began.
    turn: usize,
    turn_batches: u32,
    routes: Routes,
    /// The member that took fewer packets than it was given by the last send.
    short: Option<usize>,
    /// The error of the last member, once all have failed.
    end: Option<LinkError>,
}

struct Member {
    link: Box<dyn Link>,
    local: SocketAddr,
    /// Why it has failed, if it has.
    failure: Option<Arc<LinkError>>,
    /// Its last send took fewer packets than it was given, and nothing was received or waited for
    /// since.
    is_short: bool,
    /// The last wait has found nothing at it: the next receive passes it over, once.
    is_quiet: bool,
    /// What it has added to the last wait.
    marks: [SleepMark; 2],
}

impl Links {
    /// Joins links, whose first is the one that [`Link::local_addr`] and [`Link::frames`] mean.
    ///
    /// # Errors
    /// `System` when the process has no descriptor left.
    ///
    /// # Panics
    /// When there is no link, or more than [`LINKS_MAX`].
    pub fn new(links: Vec<Box<dyn Link>>) -> Result<Self, LinkError> {
        assert!((1..=LINKS_MAX).contains(&links.len()), "1 to {LINKS_MAX} links");
        let local = links[0].local_addr();
        let waker = Waker::new().map_err(system("eventfd", local))?;
        let routes = Routes::new(links.len());
        let members = links
            .into_iter()
            .map(|link| Member {
                local: link.local_addr(),
                link,
                failure: None,
                is_short: false,
                is_quiet: false,
                marks: [Sleep::new(Duration::ZERO).mark(); 2],
            })
            .collect();
        Ok(Self { members, waker, turn: 0, turn_batches: 0, routes, short: None, end: None })
    }

    /// Binds a link to each of these addresses, for any number of peers: see [`Xdp::bind`].
    ///
    /// # Errors
    /// See [`Xdp::bind`].
    ///
    /// # Panics
    /// See [`Links::new`].
    pub fn bind(locals: &[SocketAddr], options: &UdpOptions) -> Result<Self, LinkError> {
        // The first link that is attached would give up the rights that the others need.
        let options = options.clone().drop_rights(options.drops_rights && locals.len() == 1);
        let bind = |&local: &SocketAddr| -> Result<Box<dyn Link>, LinkError> {
            Ok(Box::new(Xdp::bind(local, &options)?))
        };
        Self::new(locals.iter().map(bind).collect::<Result<_, _>>()?)
    }

    fn live(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.failure.is_none())
    }

    fn live_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.members.iter_mut().filter(|member| member.failure.is_none())
    }

    /// The member by which packets to `peer` leave.
    #[inline]
    fn route(&mut self, peer: SocketAddr) -> usize {
        match self.routes.of(peer, Instant::now) {
            Some(at) => at,
            None => self.choose(peer),
        }
    }

    /// Chooses the member for a peer of which nothing has come.
    #[cold]
    fn choose(&mut self, peer: SocketAddr) -> usize {
        let source = if self.live().count() > 1 { route_source(peer).ok() } else { None };
        let suits = |member: &Member| {
            let local = member.local.ip();
            let is_own = source.is_some_and(|source| source == local);
            // What matters more comes first.
            (
                member.failure.is_none(),
                member.local.is_ipv4() == peer.is_ipv4(),
                is_own,
                local.is_unspecified(),
            )
        };
        let peers = self.routes.peers_by_link();
        let rank = |&at: &usize| (suits(&self.members[at]), std::cmp::Reverse((peers[at], at)));
        let at = (0..self.members.len()).max_by_key(rank).expect("there is a link");
        self.routes.guess(peer, at, Instant::now());
        at
    }

    /// Notes an error of a member about `address`, and returns what it is for the whole.
    #[cold]
    fn note(&mut self, at: usize, call: Call, address: SocketAddr, error: LinkError) -> LinkError {
        if !Concern::of(call, &error).ends_endpoint() {
            return error;
        }
        let source = Arc::new(error.duplicate());
        let member = &mut self.members[at];
        (member.failure, member.is_short) = (Some(Arc::clone(&source)), false);
        self.routes.forget_link(at);
        if self.live().next().is_some() {
            return LinkError::Failed { address, source };
        }
        self.end = Some(error.duplicate());
        error
    }

    /// The error of the last link, once all have failed.
    fn check(&self) -> Result<(), LinkError> {
        self.end.as_ref().map_or(Ok(()), |error| Err(error.duplicate()))
    }

    /// Learns the routes of the peers. A packet keeps the count of drops of its own socket. Where a
    /// peer's packets come by another link than before, they have no count: its stream then begins
    /// with that of the other socket.
    fn note_received(&mut self, at: usize, batch: &mut Batch) {
        let mut moved = None;
        for (bytes, meta) in batch.iter() {
            if self.routes.note(meta.peer, at, bytes) {
                moved = Some(meta.peer);
            }
        }
        if let Some(peer) = moved {
            batch.update(|meta| meta.dropped = meta.dropped.filter(|_| meta.peer != peer));
        }
    }
}

impl Link for Links {
    /// The least of all.
    fn capabilities(&self) -> Capabilities {
        let each: Vec<_> = self.members.iter().map(|member| member.link.capabilities()).collect();
        let is_one_kind = each.iter().all(|it| it.kind == each[0].kind);
        let least = |of: fn(&Capabilities) -> usize| each.iter().map(of).min().unwrap_or(0);
        let interface = each[0].interface.clone();
        let is_one_interface = each.iter().all(|it| it.interface == interface);
        Capabilities {
            kind: if is_one_kind { each[0].kind } else { "several" },
            mtu_bytes: least(|it| it.mtu_bytes),
            receive_buffer_bytes: least(|it| it.receive_buffer_bytes),
            send_buffer_bytes: least(|it| it.send_buffer_bytes),
            segmentation: each.iter().all(|it| it.segmentation),
            ecn: each.iter().all(|it| it.ecn),
            interface: interface.filter(|_| is_one_interface),
            bypass: XdpLog::of_each(each.iter().filter_map(|it| it.bypass.as_ref())),
        }
    }

    /// That of the first link.
    fn local_addr(&self) -> SocketAddr {
        self.members[0].local
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.local).collect()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.check()?;
        self.short = None;
        let mut sent = 0;
        while let Some(first) = packets.get(sent) {
            let at = self.route(first.peer);
            let rest = &packets[sent..];
            let mut run = 1;
            while run < rest.len()
                && (rest[run].peer == rest[run - 1].peer || self.route(rest[run].peer) == at)
            {
                run += 1;
            }
            let member = &mut self.members[at];
            let taken = match &member.failure {
                None => member.link.send(&rest[..run]),
                Some(source) => {
                    let source = Arc::clone(source);
                    Err(LinkError::Failed { address: first.peer, source })
                }
            };
            match taken {
                Ok(count) => {
                    sent += count;
                    member.is_short = count < run;
                    if member.is_short {
                        self.short = Some(at);
                        break;
                    }
                }
                // It is full.
                Err(error) if Concern::of(Call::Send, &error) == Concern::Attempt => {
                    member.is_short = true;
                    self.short = Some(at);
                    break;
                }
                Err(error) => {
                    let error = self.note(at, Call::Send, first.peer, error);
                    // It comes again when its packet is offered first.
                    return if sent > 0 { Ok(sent) } else { Err(error) };
                }
            }
        }
        Ok(sent)
    }

    /// What one link has: the one whose turn it is, or else the next that has something. A turn is
    /// up to four calls.
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.check()?;
        batch.clear();
        self.members.iter_mut().for_each(|member| member.is_short = false);
        for _ in 0..self.members.len() {
            let at = self.turn;
            let member = &mut self.members[at];
            let is_passed = std::mem::take(&mut member.is_quiet) || member.failure.is_some();
            let received = if is_passed { Ok(()) } else { member.link.recv(batch) };
            let has_some = !batch.is_empty();
            self.turn_batches += 1;
            if !has_some || self.turn_batches == TURN_BATCHES {
                self.turn = if at + 1 == self.members.len() { 0 } else { at + 1 };
                self.turn_batches = 0;
            }
            if has_some {
                self.note_received(at, batch);
            }
            if let Err(error) = received {
                let local = self.members[at].local;
                return Err(self.note(at, Call::Receive, local, error));
            }
            if has_some {
                break;
            }
        }
        Ok(())
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        self.check()?;
        let mut result = Ok(());
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            member.is_short = false;
            if member.failure.is_some() {
                continue;
            }
            let from = sleep.mark();
            let begun = member.link.begin_wait(sleep);
            member.marks = [from, sleep.mark()];
            if let Err(error) = begun {
                result = Err(self.note(at, Call::Wait, self.members[at].local, error));
            }
        }
        result
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        let mut result = Ok(());
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            if member.failure.is_some() {
                continue;
            }
            member.is_quiet = sleep.is_quiet(member.marks);
            if let Err(error) = member.link.end_wait(sleep) {
                result = Err(self.note(at, Call::Wait, self.members[at].local, error));
            }
        }
        result
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.live_mut().for_each(|member| member.link.make_room(packets, packet_bytes));
    }

    fn is_full(&self) -> bool {
        self.short.is_some_and(|at| self.members[at].link.is_full())
    }

    fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
        match peer {
            Some(peer) => {
                let at = self.route(peer);
                !self.members[at].is_short
            }
            None => self.live().any(|member| !member.is_short),
        }
    }

    fn unreachable_hint(&self) -> u64 {
        self.members.iter().map(|member| member.link.unreachable_hint()).sum()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        let at = self.route(peer);
        self.members[at].link.line_bps(peer)
    }

    /// By the first link: frames beside several links are of its interface.
    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        self.members[0].link.frames(frames)
    }

    /// Returns whether it holds at one of them.
    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        let mut holds = false;
        self.live_mut().for_each(|member| holds |= member.link.favour(favoured));
        holds
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.routes.set_tags(tags);
        // A stream that is over no longer holds its peer at a link that has failed.
        for at in 0..self.members.len() {
            if self.members[at].failure.is_some() {
                self.routes.forget_link(at);
            }
        }
        self.live_mut().for_each(|member| member.link.steer(tags));
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("locals", &self.local_addrs()).finish_non_exhaustive()
    }
}

/// Binds a link to one address, or one over several to each of these ([`Links::bind`]).
///
/// # Errors
/// See [`Xdp::bind`].
///
/// # Panics
/// See [`Links::new`].
pub fn bind(locals: &[SocketAddr], options: &UdpOptions) -> Result<Box<dyn Link>, LinkError> {
    Ok(match locals {
        [local] => Box::new(Xdp::bind(*local, options)?),
        several => Box::new(Links::bind(several, options)?),
    })
}

fn system(operation: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> LinkError {
    move |source| LinkError::System { operation, address, source }
}

/// Batches of one link before it is the next one's turn. A look at a link that has nothing is a
/// system call for each turn of another; a packet waits for so many batches of each other link, at
/// most.
const TURN_BATCHES: u32 = 4;

/// The most links of one.
pub const LINKS_MAX: usize = 8;

#[cfg(test)]
mod tests;
