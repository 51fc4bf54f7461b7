//! A queue pair of this program receives, on a link of frames.

use std::io;
use std::time::Duration;

use samplewire_proto::{Nanos, Rng};
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{PayloadAt, RequesterConfig};
use samplewire_roce::responder::{
    Fault, Placement, ReceiveRequest, ReceiveStatus, ResponderConfig,
};
use samplewire_roce::{Access, Psn, Region};

use super::super::line::Line;
use super::super::station::{FindError, Memory, Station};
use super::super::{RoceError, seed};
use super::end::{Counters, End, Ended, Turn};
use super::kept::Kept;
use crate::arguments::ListenArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// A station, and the memory that its peers write to and send into.
pub(super) struct Software<'a> {
    arguments: &'a ListenArguments,
    rng: Rng,
    key: u32,
    pub(super) station: Station,
    pub(super) memory: Buffers,
}

impl<'a> Software<'a> {
    pub(super) fn open(arguments: &'a ListenArguments) -> Result<Self, Failure> {
        let mut rng = Rng::new(seed());
        let key = rng.draw() as u32;
        let memory = Buffers::new(arguments)?;
        let region = Region::new(key, REGION_ADDRESS, arguments.region, Access::Write);
        let regions = vec![region.map_err(RoceError::Memory)?];
        let receives = arguments.receives.into();
        let station = Station::open(&arguments.station, 1, receives, regions)?;
        Ok(Self::on(station, arguments, rng, key, memory))
    }

    /// The peer counts the marks of acknowledgements.
    pub(super) fn on(
        mut station: Station,
        arguments: &'a ListenArguments,
        rng: Rng,
        key: u32,
        memory: Buffers,
    ) -> Self {
        station.is_ecn_capable = true;
        Self { arguments, rng, key, station, memory }
    }
}

impl End for Software<'_> {
    fn idle(&mut self, limit: Duration) -> Result<(), Failure> {
        self.station.turn(&mut self.memory)?;
        Ok(self.station.wait(limit)?)
    }

    fn connect(
        &mut self,
        peer: &Line,
        is_live: bool,
        interrupt: &Interrupt,
    ) -> Result<Line, RoceError> {
        let Self { arguments, station, rng, .. } = self;
        let options = &arguments.station;
        station.renew(options.qpn, rng);
        let psn = Psn::new(options.psn.unwrap_or(rng.draw() as u32));
        let mtu = peer.mtu_with(options.mtu);
        for id in 0..arguments.receives.into() {
            let request = ReceiveRequest { id, len_bytes: arguments.message };
            station.qp.post_receive(request).expect("the queue is empty");
        }
        let way = loop {
            match station.find(peer, mtu, interrupt) {
                // A peer that says nothing may start later.
                Err(FindError::NoStation { .. }) if !is_live => {}
                found => break found.map_err(RoceError::Find)?,
            }
        };
        let cnp_interval = (!arguments.no_cnp).then_some(arguments.cnp_interval);
        let responder = ResponderConfig {
            psn: peer.psn(),
            mtu,
            cnp_interval: cnp_interval.map(|span| Nanos(span.as_nanos() as u64)),
            ..ResponderConfig::default()
        };
        station.qp.ready_to_receive(way, responder).expect("it is in INIT");
        let requester = RequesterConfig { psn, mtu, ..RequesterConfig::default() };
        station.qp.ready_to_send(requester).expect("the default is in range");
        Ok(Line {
            address: options.ip,
            qpn: station.qp.number().get(),
            psn: psn.get(),
            mtu: mtu.bytes(),
            rkey: self.key,
            region_address: REGION_ADDRESS,
            region_bytes: arguments.region,
        })
    }

    fn turn(&mut self, kept: &mut Kept) -> Result<Turn, Failure> {
        let before = self.station.qp.responder().stats().packets;
        let has_more = self.station.turn(&mut self.memory)?;
        let has_come = self.station.qp.responder().stats().packets > before;
        let fault = match self.keep(kept) {
            Err(error) => Some(error.to_string()),
            // The NAK has left with the turn.
            Ok(()) => self.station.qp.responder().fault().map(|it| fault_words(it).to_owned()),
        };
        Ok(Turn { has_more, has_come, fault })
    }

    fn wait(&mut self, limit: Duration) -> io::Result<()> {
        self.station.wait(limit)
    }

    fn advice(&mut self) -> Option<String> {
        self.station.advice()
    }

    fn end(&mut self, _: Option<u64>) -> Ended {
        let (qp, _, responder) = self.station.qp.stats();
        let ended = Ended {
            messages: responder.messages,
            written: self.memory.written,
            region_end: self.memory.region_end,
            counters: Counters {
                packets: Some(responder.packets),
                duplicates: Some(responder.duplicates),
                out_of_order: Some(responder.out_of_order),
                requests_marked: Some(qp.requests_marked),
                cnp_sent: Some(qp.cnp_sent),
                frames_invalid: Some(self.station.invalid),
            },
        };
        self.station.end();
        ended
    }

    fn region(&self) -> &[u8] {
        &self.memory.region
    }

    fn clear(&mut self) {
        let Buffers { region, written, region_end, .. } = &mut self.memory;
        region[..*region_end as usize].fill(0);
        (*written, *region_end) = (0, 0);
    }
}

impl Software<'_> {
    /// Keeps the messages that are complete, and posts their receive requests again.
    fn keep(&mut self, kept: &mut Kept) -> io::Result<()> {
        while let Some(event) = self.station.poll_event() {
            let Event::Received(received) = event else { continue };
            let (len, immediate) = match received.status {
                ReceiveStatus::Send { len_bytes, immediate } => (len_bytes, immediate),
                ReceiveStatus::Write { immediate, .. } => (0, Some(immediate)),
                ReceiveStatus::Failed | ReceiveStatus::Flushed => continue,
            };
            let message = &self.memory.messages[received.id as usize][..len as usize];
            kept.message(message, immediate)?;
            let len_bytes = self.arguments.message;
            let request = ReceiveRequest { id: received.id, len_bytes };
            self.station.qp.post_receive(request).expect("its place is free");
        }
        Ok(())
    }
}

/// The memory that peers write to and send into.
pub(super) struct Buffers {
    pub(super) region: Vec<u8>,
    messages: Vec<Vec<u8>>,
    pub(super) written: u64,
    pub(super) region_end: u64,
}

impl Buffers {
    pub(super) fn new(arguments: &ListenArguments) -> Result<Self, RoceError> {
        let receives = usize::from(arguments.receives);
        let needed = arguments.region + receives as u64 * u64::from(arguments.message);
        let fail = |words: &str| RoceError::Reserve { needed, words: words.to_owned() };
        let len = usize::try_from(needed).map_err(|_| fail("more than there are addresses"))?;
        // Zeros that the system has not given yet take no memory.
        Vec::<u8>::new().try_reserve_exact(len).map_err(|error| fail(&error.to_string()))?;
        Ok(Self {
            region: vec![0; arguments.region as usize],
            messages: (0..receives).map(|_| vec![0; arguments.message as usize]).collect(),
            written: 0,
            region_end: 0,
        })
    }
}

impl Memory for Buffers {
    fn payload(&self, _: PayloadAt) -> &[u8] {
        unreachable!("this end posts nothing to send")
    }

    fn place(&mut self, placement: Placement, payload: &[u8]) {
        let place = match placement {
            Placement::Nothing => return,
            Placement::Region { offset, .. } => {
                self.written += payload.len() as u64;
                self.region_end = self.region_end.max(offset + payload.len() as u64);
                &mut self.region[offset as usize..]
            }
            Placement::Receive { id, offset } => &mut self.messages[id as usize][offset as usize..],
        };
        place[..payload.len()].copy_from_slice(payload);
    }
}

const fn fault_words(fault: Fault) -> &'static str {
    match fault {
        Fault::Order => "packets in an order that no message has",
        Fault::Unsupported => "a READ, an atomic or an invalidation",
        Fault::Length => "a packet of a wrong length",
        Fault::TooLong => "a SEND longer than --message",
        Fault::Key => "a write with a wrong key",
        Fault::Rights => "a write without the right to",
        Fault::Bounds => "a write outside the region",
    }
}

/// Where peers see the region: not 0, so that a missing address is found.
pub(super) const REGION_ADDRESS: u64 = 0x1000_0000;
