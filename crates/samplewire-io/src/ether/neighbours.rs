//! The hardware addresses on the way to other stations, as ARP has found them.

use std::net::Ipv4Addr;

use samplewire_proto::Nanos;
use samplewire_proto::session::Bucket;

use super::{Arp, Routes};

/// The other stations that a station knows. It returns the requests that are to be sent, and sends nothing.
#[derive(Debug)]
pub(super) struct Neighbours {
    me: (Ipv4Addr, [u8; 6]),
    routes: Routes,
    entries: Box<[Neighbour]>,
    /// The entry that was looked for last.
    last: usize,
    /// Requests that may be sent.
    requests: Bucket,
}

/// Another station, and when it was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbour {
    ip: Option<Ipv4Addr>,
    mac: Option<[u8; 6]>,
    asked_at: Option<Nanos>,
    /// Whether a request was sent that is not answered yet.
    is_asked: bool,
    /// A message that does not count has named another hardware address.
    is_doubted: bool,
    used_at: Nanos,
}

/// The way to an address, as far as it is known.
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
        Self { me, routes, entries, last: 0, requests: Bucket::new() }
    }

    /// The hardware address on the way to an address. One that is not known is asked for now and
    /// then, and one that is known is asked for again after a while: it may have another by then.
    /// Requests are limited to 64 at once and 1,000 a second; one beyond that is due at the next call.
    pub(super) fn find(&mut self, now: Nanos, ip: Ipv4Addr) -> Found {
        let at = self.place_of(now, ip);
        let Neighbour { mac, asked_at, is_doubted, .. } = self.entries[at];
        let pause = if mac.is_some() && !is_doubted { REFRESH } else { ASK_PAUSE };
        let is_due = asked_at.is_none_or(|at| now >= at + pause);
        let may_ask = is_due && self.requests.take(now);
        Found { mac, request: may_ask.then(|| self.ask(now, ip)) }
    }

    /// The request for the station on the way to an address; no limit applies.
    pub(super) fn ask(&mut self, now: Nanos, ip: Ipv4Addr) -> Arp {
        let at = self.place_of(now, ip);
        let neighbour = &mut self.entries[at];
        neighbour.asked_at = Some(now);
        neighbour.is_asked = true;
        Arp::request(self.me, neighbour.ip.unwrap_or(ip))
    }

    /// While a request is not answered, keeps the hardware address of the reply, in a frame to this
    /// station alone. The reply may be lost: where none is known, that of the other's request for this
    /// station counts too (RFC 826). Any other message, such as an announcement, only has the station
    /// asked again, if it names another hardware address. Otherwise any host on the link could redirect
    /// packets at any time.
    pub(super) fn learn(&mut self, arp: &Arp, destination: [u8; 6]) {
        let (ip, mac) = arp.sender;
        let Some(neighbour) = self.entries.iter_mut().find(|it| it.ip == Some(ip)) else { return };
        let is_for_me = match arp.is_request {
            true => arp.target.0 == self.me.0 && neighbour.mac.is_none(),
            false => arp.target == self.me && destination == self.me.1,
        };
        if is_for_me && neighbour.is_asked {
            neighbour.mac = Some(mac);
            (neighbour.is_asked, neighbour.is_doubted) = (false, false);
        } else {
            neighbour.is_doubted |= neighbour.mac.is_some_and(|known| known != mac);
        }
    }

    /// The entry of the station on the way to an address. A station that has none takes the entry of the
    /// lowest rank.
    fn place_of(&mut self, now: Nanos, ip: Ipv4Addr) -> usize {
        let hop = Some(self.routes.hop(ip));
        if self.entries[self.last].ip != hop {
            let entries = &mut self.entries;
            self.last = entries.iter().position(|it| it.ip == hop).unwrap_or_else(|| {
                let rank = |at: &usize| entries[*at].rank(now);
                let at = (0..NEIGHBOURS_MAX).min_by_key(rank).expect("there are some");
                entries[at] = Neighbour { ip: hop, ..Neighbour::default() };
                at
            });
        }
        self.entries[self.last].used_at = now;
        self.last
    }
}

impl Neighbour {
    /// The order in which entries are replaced: free ones, then those that were used least recently. One
    /// that is known and in use is replaced last, so that packets to many stations that do not exist
    /// leave it.
    fn rank(&self, now: Nanos) -> (bool, bool, Nanos) {
        let is_in_use = self.mac.is_some() && now < self.used_at + REFRESH;
        (self.ip.is_some(), is_in_use, self.used_at)
    }
}

/// Stations that are remembered: as many as an endpoint has streams.
pub(super) const NEIGHBOURS_MAX: usize = 1_024;

/// Between two requests for a station that does not answer.
const ASK_PAUSE: Nanos = Nanos::from_millis(50);

/// How old an answer may be before the station is asked for again (RFC 1122, 2.3.2.1).
const REFRESH: Nanos = Nanos::from_millis(30_000);
