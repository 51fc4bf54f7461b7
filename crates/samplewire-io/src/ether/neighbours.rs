//! The hardware addresses on the way to other stations, as ARP has found them.

use std::net::Ipv4Addr;

use samplewire_proto::Nanos;

use super::{Arp, Routes};

/// What a station knows of others. It says what to ask, and sends nothing itself.
#[derive(Debug)]
pub(super) struct Neighbours {
    me: (Ipv4Addr, [u8; 6]),
    routes: Routes,
    entries: Box<[Neighbour]>,
    /// The entry that is replaced next.
    oldest: usize,
    /// The entry that was looked for last.
    last: usize,
}

/// Another station, and when it was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbour {
    ip: Option<Ipv4Addr>,
    mac: Option<[u8; 6]>,
    asked_at: Option<Nanos>,
}

/// What is known of the way to an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) mac: Option<[u8; 6]>,
    /// To be sent.
    pub(super) request: Option<Arp>,
}

impl Neighbours {
    /// Of the station `me`, which knows no other yet.
    pub(super) fn new(me: (Ipv4Addr, [u8; 6]), routes: Routes) -> Self {
        let entries = vec![Neighbour::default(); NEIGHBOURS_MAX].into();
        Self { me, routes, entries, oldest: 0, last: 0 }
    }

    /// The hardware address on the way to an address. One that is not known is asked for now and
    /// then, and one that is known is asked for again after a while: it may have another by then.
    pub(super) fn find(&mut self, now: Nanos, ip: Ipv4Addr) -> Found {
        let at = self.place_of(ip);
        let Neighbour { mac, asked_at, .. } = self.entries[at];
        let pause = if mac.is_some() { REFRESH } else { ASK_PAUSE };
        let is_due = asked_at.is_none_or(|at| now >= at + pause);
        Found { mac, request: is_due.then(|| self.ask(now, ip)) }
    }

    /// The request for the station on the way to an address.
    pub(super) fn ask(&mut self, now: Nanos, ip: Ipv4Addr) -> Arp {
        let at = self.place_of(ip);
        self.entries[at].asked_at = Some(now);
        Arp::request(self.me, self.entries[at].ip.unwrap_or(ip))
    }

    /// Keeps what an ARP message says of a station that is looked for, and of no other.
    pub(super) fn learn(&mut self, arp: &Arp) {
        let known = self.entries.iter_mut().find(|it| it.ip == Some(arp.sender.0));
        if let Some(neighbour) = known {
            neighbour.mac = Some(arp.sender.1);
        }
    }

    /// The entry of the station on the way to an address.
    fn place_of(&mut self, ip: Ipv4Addr) -> usize {
        let hop = Some(self.routes.hop(ip));
        if self.entries[self.last].ip == hop {
            return self.last;
        }
        self.last = self.entries.iter().position(|it| it.ip == hop).unwrap_or_else(|| {
            let at = self.oldest;
            self.oldest = (at + 1) % NEIGHBOURS_MAX;
            self.entries[at] = Neighbour { ip: hop, ..Neighbour::default() };
            at
        });
        self.last
    }
}

/// Stations that are remembered: as many as an endpoint has streams. Of more, the one that was
/// looked for first is forgotten, and with peers in turns none would be known when its turn comes.
pub(super) const NEIGHBOURS_MAX: usize = 1_024;

/// Between two requests for a station that does not answer.
const ASK_PAUSE: Nanos = Nanos::from_millis(50);

/// How old an answer may be before the station is asked for again (RFC 1122, 2.3.2.1).
const REFRESH: Nanos = Nanos::from_millis(30_000);
