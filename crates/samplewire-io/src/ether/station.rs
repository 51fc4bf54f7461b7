//! A station: one IPv4 address on a link of frames.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use samplewire_proto::Nanos;

use super::neighbours::Neighbours;
use super::{Arp, EtherError, EtherLink, FRAME_BYTES_MAX, PacketSocket, Routes};

/// An IPv4 address on a link. It answers ARP, finds the hardware addresses of others as frames leave,
/// and keeps a frame that the link has no room for.
///
/// A frame to a station that is not known yet is lost, and the station is asked for.
pub struct EtherStation {
    link: Box<dyn EtherLink>,
    ip: Ipv4Addr,
    mac: [u8; 6],
    neighbours: Neighbours,
    incoming: Box<[u8]>,
    outgoing: Box<[u8]>,
    waiting: Option<Waiting>,
    /// How long the link may keep what it had no room for.
    keeps_until: Option<Nanos>,
    unsent: u64,
}

/// A frame that the link had no room for: it is tried again until a time, and then lost.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    len: usize,
    until: Nanos,
}

impl EtherStation {
    /// A station that is alone with its address, on a link where every other one is a neighbour.
    pub fn new(link: Box<dyn EtherLink>, ip: Ipv4Addr, mac: [u8; 6]) -> Self {
        Self {
            link,
            ip,
            mac,
            neighbours: Neighbours::new((ip, mac), Routes::default()),
            incoming: vec![0; FRAME_BYTES_MAX + 1].into(),
            outgoing: vec![0; FRAME_BYTES_MAX].into(),
            waiting: None,
            keeps_until: None,
            unsent: 0,
        }
    }

    /// The station of this host on an interface that has the address `ip`: datagrams to `port` are
    /// its own, all others the kernel's. It goes by the kernel's routes, as they are now.
    ///
    /// # Errors
    /// See [`PacketSocket::open`].
    pub fn of_host(interface: &str, ip: Ipv4Addr, port: u16) -> Result<Self, EtherError> {
        let link = PacketSocket::open(interface, ip, port)?;
        let routes = Routes::of_host(interface).map_err(EtherError::of(interface, "routes"))?;
        let mac = link.mac();
        let neighbours = Neighbours::new((ip, mac), routes);
        Ok(Self { neighbours, ..Self::new(Box::new(link), ip, mac) })
    }

    /// Sends all frames by this router.
    #[must_use]
    pub fn via(self, router: Ipv4Addr) -> Self {
        let neighbours = Neighbours::new((self.ip, self.mac), Routes::by(router));
        Self { neighbours, ..self }
    }

    /// Puts the link into another one that passes frames on, such as one with faults.
    #[must_use]
    pub fn through(self, wrap: impl FnOnce(Box<dyn EtherLink>) -> Box<dyn EtherLink>) -> Self {
        Self { link: wrap(self.link), ..self }
    }

    /// The link, for its name and its size.
    pub fn link(&self) -> &dyn EtherLink {
        &*self.link
    }

    /// See [`EtherLink::advice`].
    pub fn advice(&mut self) -> Option<String> {
        self.link.advice()
    }

    /// The IPv4 address.
    pub const fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// The hardware address.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Frames that were lost here: their station is not known, or the link had no room for long.
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Takes a frame with an IPv4 packet to this station, and says its length; `None` when there is
    /// none, or none was among many others. [`EtherStation::frame`] has its bytes.
    ///
    /// # Errors
    /// The link has failed.
    pub fn recv(&mut self) -> Result<Option<usize>, EtherError> {
        for _ in 0..OTHERS_MAX {
            let Some(len) = self.link.recv(&mut self.incoming)? else { return Ok(None) };
            let bytes = &self.incoming[..len];
            if let Some(arp) = Arp::parse(bytes) {
                let answer = arp.answer((self.ip, self.mac));
                let destination = bytes.first_chunk().expect("it has a header");
                self.neighbours.learn(&arp, *destination);
                if let Some(answer) = answer {
                    self.send_arp(&answer)?;
                }
            } else if bytes.get(IPV4_DESTINATION).is_some_and(|ip| *ip == self.ip.octets()) {
                return Ok(Some(len));
            }
        }
        Ok(None)
    }

    /// The frame of that length that was taken last.
    pub fn frame(&self, len: usize) -> &[u8] {
        &self.incoming[..len]
    }

    /// Where the next frame is written, once there [is room](EtherStation::has_room).
    pub fn out(&mut self) -> &mut [u8] {
        debug_assert!(self.waiting.is_none(), "a frame waits there");
        &mut self.outgoing
    }

    /// Whether a frame may be written: the one before has left, or was given up. A link does not
    /// report when it has room: try again after [`EtherStation::FULL_PAUSE`].
    ///
    /// # Errors
    /// The link has failed.
    pub fn has_room(&mut self, now: Nanos) -> Result<bool, EtherError> {
        let Some(Waiting { len, until }) = self.waiting else { return Ok(true) };
        let is_sent = self.link.send(&self.outgoing[..len])?;
        if !is_sent && now < until {
            return Ok(false);
        }
        self.unsent += u64::from(!is_sent);
        self.waiting = None;
        Ok(true)
    }

    /// Lets all frames leave that were sent: call it at the end of each turn. `false` while the link has
    /// no room for them: try again after [`EtherStation::FULL_PAUSE`].
    ///
    /// # Errors
    /// The link has failed.
    pub fn flush(&mut self, now: Nanos) -> Result<bool, EtherError> {
        if !self.has_room(now)? {
            return Ok(false);
        }
        if self.link.flush()? {
            self.keeps_until = None;
            return Ok(true);
        }
        if now < *self.keeps_until.get_or_insert(now + FULL_PATIENCE) {
            return Ok(false);
        }
        self.keeps_until = None;
        self.unsent += self.link.forget() as u64;
        Ok(true)
    }

    /// How soon a full link is worth another try.
    pub const FULL_PAUSE: Nanos = Nanos::from_micros(50);

    /// Whether a frame waits for room.
    pub const fn is_full(&self) -> bool {
        self.waiting.is_some() || self.keeps_until.is_some()
    }

    /// Forgets the frames that wait for room.
    pub fn forget(&mut self) {
        self.waiting = None;
        self.keeps_until = None;
        self.link.forget();
    }

    /// Sends the frame that was written, of that length, to the station that its IPv4 destination
    /// names; its hardware address is filled in.
    ///
    /// # Errors
    /// The link has failed.
    pub fn send(&mut self, now: Nanos, len: usize) -> Result<(), EtherError> {
        let octets = *self.outgoing[IPV4_DESTINATION].first_chunk().expect("four bytes");
        let Some(mac) = self.find(now, Ipv4Addr::from(octets))? else {
            self.unsent += 1;
            return Ok(());
        };
        self.outgoing[..mac.len()].copy_from_slice(&mac);
        self.waiting = Some(Waiting { len, until: now + FULL_PATIENCE });
        self.has_room(now).map(drop)
    }

    /// The hardware address on the way to an address. One that is not known is asked for now and
    /// then, and one that is known is asked for again after a while: it may have another by then.
    ///
    /// # Errors
    /// The link has failed.
    pub fn find(&mut self, now: Nanos, ip: Ipv4Addr) -> Result<Option<[u8; 6]>, EtherError> {
        let found = self.neighbours.find(now, ip);
        if let Some(request) = found.request {
            self.send_arp(&request)?;
        }
        Ok(found.mac)
    }

    /// Asks for the station on the way to an address at once.
    ///
    /// # Errors
    /// The link has failed.
    pub fn ask(&mut self, now: Nanos, ip: Ipv4Addr) -> Result<(), EtherError> {
        let request = self.neighbours.ask(now, ip);
        self.send_arp(&request)
    }

    fn send_arp(&mut self, arp: &Arp) -> Result<(), EtherError> {
        self.link.send(&arp.frame())?;
        self.link.flush().map(drop)
    }
}

impl AsFd for EtherStation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

/// Frames for others that are passed over in a row, so that a flood of them has an end.
const OTHERS_MAX: usize = 64;

/// A link that is full for longer is down, or no one reads at its other end.
const FULL_PATIENCE: Nanos = Nanos::from_millis(20);

/// Where a frame has its IPv4 destination.
const IPV4_DESTINATION: std::ops::Range<usize> = 30..34;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::super::neighbours::NEIGHBOURS_MAX;
    use super::super::scripted::{Scripted, Wire};
    use super::*;

    const ME: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 0, 0, 1), [2, 0, 0, 0, 0, 1]);
    const PEER: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 0, 0, 2), [2, 0, 0, 0, 0, 2]);
    const AWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);

    fn station() -> (EtherStation, Arc<Mutex<Wire>>) {
        let (link, wire) = Scripted::new();
        (EtherStation::new(Box::new(link), ME.0, ME.1), wire)
    }

    /// A frame to an address, as long as the shortest of Ethernet.
    fn frame_to(ip: Ipv4Addr) -> [u8; 60] {
        let mut frame = [0; 60];
        frame[IPV4_DESTINATION].copy_from_slice(&ip.octets());
        frame
    }

    fn send(station: &mut EtherStation, ms: u64, ip: Ipv4Addr) {
        assert!(station.has_room(Nanos::from_millis(ms)).unwrap());
        station.out()[..60].copy_from_slice(&frame_to(ip));
        station.send(Nanos::from_millis(ms), 60).unwrap();
    }

    fn comes(station: &mut EtherStation, wire: &Mutex<Wire>, arp: &Arp) {
        wire.lock().unwrap().comes.push_back(arp.frame().to_vec());
        assert_eq!(station.recv().unwrap(), None, "it is no packet");
    }

    fn reply(sender: (Ipv4Addr, [u8; 6])) -> Arp {
        Arp { is_request: false, sender, target: ME }
    }

    fn requests(wire: &Mutex<Wire>) -> Vec<Ipv4Addr> {
        let mut wire = wire.lock().unwrap();
        wire.sent.drain(..).filter_map(|frame| Some(Arp::parse(&frame)?.target.0)).collect()
    }

    #[test]
    fn unknown_station_is_asked_for_now_and_then_and_a_known_one_after_a_while() {
        let (mut station, wire) = station();
        for ms in [0, 49, 50, 99] {
            send(&mut station, ms, PEER.0);
        }
        assert_eq!((requests(&wire), station.unsent()), (vec![PEER.0; 2], 4));
        comes(&mut station, &wire, &reply(PEER));
        send(&mut station, 100, PEER.0);
        send(&mut station, 30_049, PEER.0);
        let sent = std::mem::take(&mut wire.lock().unwrap().sent);
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|frame| frame[..6] == PEER.1 && frame.len() == 60));
        send(&mut station, 30_050, PEER.0);
        assert_eq!(requests(&wire), [PEER.0]);
        // Another board has its address now.
        comes(&mut station, &wire, &reply((PEER.0, [2, 0, 0, 0, 0, 9])));
        send(&mut station, 30_051, PEER.0);
        assert_eq!(wire.lock().unwrap().sent[0][..6], [2, 0, 0, 0, 0, 9]);
        assert_eq!(station.unsent(), 4);
    }

    #[test]
    fn only_the_reply_to_an_open_request_is_believed() {
        let (mut station, wire) = station();
        let other = [2, 0, 0, 0, 0, 9];
        let find =
            |station: &mut EtherStation, ms| station.find(Nanos::from_millis(ms), PEER.0).unwrap();
        comes(&mut station, &wire, &reply(PEER));
        assert_eq!(find(&mut station, 0), None, "it was not asked for");
        // A request is open from here on.
        let to_all = Arp { target: (PEER.0, [0xFF; 6]), ..reply((PEER.0, other)) };
        let wrong = [
            Arp::request((PEER.0, other), PEER.0),
            to_all,
            Arp { target: (AWAY, ME.1), ..reply((PEER.0, other)) },
            Arp { target: (ME.0, other), ..reply((PEER.0, other)) },
        ];
        let send_wrong = |station: &mut EtherStation| {
            for arp in &wrong {
                comes(station, &wire, arp);
            }
            let mut broadcast = reply((PEER.0, other)).frame();
            broadcast[..6].fill(0xFF);
            wire.lock().unwrap().comes.push_back(broadcast.to_vec());
            assert_eq!(station.recv().unwrap(), None);
        };
        send_wrong(&mut station);
        assert_eq!(find(&mut station, 1), None);
        comes(&mut station, &wire, &reply(PEER));
        assert_eq!(find(&mut station, 2), Some(PEER.1));
        send_wrong(&mut station);
        comes(&mut station, &wire, &reply((PEER.0, other)));
        comes(&mut station, &wire, &Arp::request((PEER.0, other), ME.0));
        requests(&wire);
        assert_eq!(find(&mut station, 40), Some(PEER.1), "the request was answered");
        assert!(requests(&wire).is_empty(), "it is not asked again so soon");
        assert_eq!(find(&mut station, 50), Some(PEER.1));
        assert_eq!(requests(&wire).len(), 1, "another address was named, so it is asked again");
        comes(&mut station, &wire, &reply(PEER));
        assert_eq!(find(&mut station, 29_999), Some(PEER.1));
        assert!(requests(&wire).is_empty(), "it has confirmed its address");
        // A refresh opens a request again.
        assert_eq!(find(&mut station, 30_050), Some(PEER.1));
        send_wrong(&mut station);
        assert_eq!(find(&mut station, 30_051), Some(PEER.1));
        comes(&mut station, &wire, &reply((PEER.0, other)));
        assert_eq!(find(&mut station, 30_052), Some(other));
    }

    #[test]
    fn request_of_a_station_that_is_asked_for_stands_for_its_reply() {
        let (mut station, wire) = station();
        let other = Arp::request((PEER.0, [2, 0, 0, 0, 0, 9]), ME.0);
        comes(&mut station, &wire, &other);
        assert_eq!(station.find(Nanos(0), PEER.0).unwrap(), None, "it was not asked for");
        comes(&mut station, &wire, &Arp::request(PEER, AWAY));
        assert_eq!(station.find(Nanos(1), PEER.0).unwrap(), None, "it looks for another");
        comes(&mut station, &wire, &Arp::request(PEER, ME.0));
        assert_eq!(station.find(Nanos(2), PEER.0).unwrap(), Some(PEER.1));
        comes(&mut station, &wire, &other);
        assert_eq!(station.find(Nanos(3), PEER.0).unwrap(), Some(PEER.1), "it is known");
    }

    #[test]
    fn unknown_stations_do_not_replace_a_known_one_in_use() {
        let (mut station, wire) = station();
        let find =
            |station: &mut EtherStation, ms, ip| station.find(Nanos::from_millis(ms), ip).unwrap();
        assert_eq!(find(&mut station, 0, PEER.0), None);
        comes(&mut station, &wire, &reply(PEER));
        for number in 0..2 * NEIGHBOURS_MAX as u32 {
            assert_eq!(find(&mut station, 1, other_peer(number)), None);
        }
        assert_eq!(find(&mut station, 2, PEER.0), Some(PEER.1));
        // One that is not in use makes room for others, also when they come at the same time.
        for number in 0..2 * NEIGHBOURS_MAX as u32 {
            find(&mut station, 40_000, other_peer(number));
        }
        assert_eq!(find(&mut station, 40_000, PEER.0), None);
    }

    #[test]
    fn requests_to_many_stations_are_limited() {
        let (mut station, wire) = station();
        for number in 0..500 {
            station.find(Nanos::from_millis(1_000), other_peer(number)).unwrap();
        }
        assert_eq!(requests(&wire).len(), 64);
        for number in 0..500 {
            station.find(Nanos::from_millis(1_010), other_peer(number)).unwrap();
        }
        assert_eq!(requests(&wire).len(), 10, "the next ones are due then");
    }

    /// One peer for each stream of an endpoint, in turns.
    #[test]
    fn stations_of_a_thousand_streams_are_known_at_a_time() {
        let (mut station, wire) = station();
        for number in 0..1_024 {
            let now = Nanos::from_millis(number.into());
            assert_eq!(station.find(now, other_peer(number)).unwrap(), None);
            comes(&mut station, &wire, &reply((other_peer(number), PEER.1)));
        }
        assert_eq!(requests(&wire).len(), 1_024);
        for number in 0..1_024 {
            let now = Nanos::from_millis(1_024);
            assert_eq!(station.find(now, other_peer(number)).unwrap(), Some(PEER.1));
        }
        assert!(requests(&wire).is_empty(), "none is asked for again");
    }

    fn other_peer(number: u32) -> Ipv4Addr {
        Ipv4Addr::from(Ipv4Addr::new(10, 1, 0, 0).to_bits() + number)
    }

    #[test]
    fn router_is_asked_for_in_place_of_who_is_behind_it() {
        let (station, wire) = station();
        let mut station = station.via(PEER.0);
        send(&mut station, 0, AWAY);
        assert_eq!(requests(&wire), [PEER.0]);
        comes(&mut station, &wire, &reply(PEER));
        send(&mut station, 1, AWAY);
        let sent = &wire.lock().unwrap().sent[0];
        assert_eq!((&sent[..6], &sent[IPV4_DESTINATION]), (&PEER.1[..], &AWAY.octets()[..]));
    }

    #[test]
    fn request_is_answered_and_only_packets_to_the_station_are_taken() {
        let (mut station, wire) = station();
        comes(&mut station, &wire, &Arp::request(PEER, ME.0));
        let answer = Arp::parse(&wire.lock().unwrap().sent[0]).expect("it is ARP");
        assert_eq!((answer.sender, answer.target), (ME, PEER));
        let mut frames: VecDeque<_> = [PEER.0, ME.0].map(|ip| frame_to(ip).to_vec()).into();
        frames.push_front(vec![0; 33]);
        wire.lock().unwrap().comes = frames;
        assert_eq!(station.recv().unwrap(), Some(60));
        assert_eq!(station.frame(60), frame_to(ME.0));
    }

    #[test]
    fn flood_for_others_has_an_end_in_each_turn() {
        let (mut station, wire) = station();
        let mut frames = vec![frame_to(PEER.0).to_vec(); OTHERS_MAX];
        frames.push(frame_to(ME.0).to_vec());
        wire.lock().unwrap().comes = frames.into();
        assert_eq!(station.recv().unwrap(), None);
        assert_eq!(station.recv().unwrap(), Some(60));
    }

    #[test]
    fn frame_waits_for_room_and_is_lost_after_a_while() {
        let (mut station, wire) = station();
        station.find(Nanos(0), PEER.0).unwrap();
        comes(&mut station, &wire, &reply(PEER));
        wire.lock().unwrap().sent.clear();
        let at = Nanos::from_millis;
        wire.lock().unwrap().is_full = true;
        send(&mut station, 0, PEER.0);
        assert!(!station.has_room(at(19)).unwrap());
        wire.lock().unwrap().is_full = false;
        assert!(station.has_room(at(19)).unwrap());
        assert_eq!((wire.lock().unwrap().sent.len(), station.unsent()), (1, 0));
        wire.lock().unwrap().is_full = true;
        send(&mut station, 100, PEER.0);
        assert!(!station.has_room(at(119)).unwrap());
        assert!(station.has_room(at(120)).unwrap(), "it is given up");
        assert_eq!((wire.lock().unwrap().sent.len(), station.unsent()), (1, 1));
    }
}
