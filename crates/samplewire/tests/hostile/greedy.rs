//! A receiver with an address and a stream of its own that sends what it likes.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_proto::session::{AcceptInfo, OpenConfig, OpenEvent, Opener, Peer};
use samplewire_proto::wire::{self, Flags, Header, PacketType, ReportFields, Role, SeqRange};
use samplewire_proto::{Departure, Nanos, Seq};

use crate::craft::{Draw, seed};
use crate::forge::Stranger;

/// The excessive request of such a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greed {
    /// Every field is an extreme.
    Extremes,
    /// The same packet again, in every REPORT.
    SameSeq,
    /// All that was ever sent, in every range of every REPORT.
    AllSeqs,
    /// Earlier REPORTs in any order.
    History,
}

/// An open stream at which nothing is right but the tag.
pub(crate) struct Greedy {
    stranger: Stranger,
    device: SocketAddr,
    greed: Greed,
    draw: Draw,
    origin: Instant,
    open: Option<Stream>,
    pub(crate) openings: u64,
    history: Vec<Vec<u8>>,
}

struct Stream {
    accept: AcceptInfo,
    number: u32,
    highest_end: Seq,
    newest: Departure,
    heard_at: Instant,
}

impl Greedy {
    pub(crate) fn new(device: SocketAddr, greed: Greed) -> io::Result<Self> {
        Ok(Self {
            stranger: Stranger::new(3, greed as u8 + 1)?,
            device,
            greed,
            draw: Draw::new(greed as u64),
            origin: Instant::now(),
            open: None,
            openings: 0,
            history: Vec::new(),
        })
    }

    /// Sends some REPORTs; how many packets and bytes that were.
    pub(crate) fn step(&mut self) -> io::Result<(u64, u64)> {
        if self.open.as_ref().is_none_or(|open| open.heard_at.elapsed() > SILENCE_MAX) {
            self.history.clear();
            self.open = self.open()?;
        }
        self.listen(Duration::ZERO)?;
        let Some(open) = &mut self.open else { return Ok((0, 0)) };
        let mut packets = Vec::with_capacity(REPORTS_A_STEP);
        for _ in 0..REPORTS_A_STEP {
            packets.push(match self.greed {
                Greed::History if self.history.len() == HISTORY_MAX => {
                    self.history[self.draw.below(HISTORY_MAX)].clone()
                }
                greed => open.report(greed, &mut self.draw),
            });
        }
        if self.greed == Greed::History && self.history.len() < HISTORY_MAX {
            let room = HISTORY_MAX - self.history.len();
            self.history.extend(packets.iter().take(room).cloned());
        }
        self.stranger.send(&packets, self.device)?;
        let bytes = packets.iter().map(|packet| packet.len() as u64).sum();
        Ok((packets.len() as u64, bytes))
    }

    /// Takes what the device sends.
    fn listen(&mut self, patience: Duration) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let tag = open.accept.tag;
        self.stranger.receive(patience, |bytes, _| {
            let Ok((header, _)) = wire::parse(bytes) else { return };
            if header.tag != tag {
                return;
            }
            open.heard_at = Instant::now();
            let newer = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
            if newer(header.departure.0, open.newest.0) {
                open.newest = header.departure;
            }
            let end = header.seq.0.wrapping_add(u32::from(header.kind == PacketType::Data));
            if newer(end, open.highest_end.0) {
                open.highest_end = Seq(end);
            }
        })?;
        Ok(())
    }

    fn open(&mut self) -> io::Result<Option<Stream>> {
        let now = |origin: Instant| Nanos(origin.elapsed().as_nanos() as u64);
        let SocketAddr::V4(device) = self.device else { return Ok(None) };
        let overhead = Peer::v4(device.ip().octets(), device.port()).ip_overhead();
        let config = OpenConfig::new(Role::Receive, 0, GREEDY_OWNER)
            .with_packet_bytes_max(9_000)
            .and_then(|config| config.with_ip_overhead(overhead))
            .and_then(|config| config.with_timeout(Nanos::from_millis(500)))
            .map_err(io::Error::other)?;
        let mut opener = Opener::new(config, seed(&mut self.draw), now(self.origin));
        let mut out = vec![0; 9_000];
        loop {
            while let Some(len) = opener.poll_transmit(now(self.origin), &mut out) {
                self.stranger.send(&[out[..len].to_vec()], self.device)?;
            }
            match opener.poll_event() {
                Some(OpenEvent::Accepted(accept)) => {
                    self.openings += 1;
                    return Ok(Some(Stream {
                        number: 0,
                        highest_end: accept.params.first_seq,
                        newest: Departure(0),
                        heard_at: Instant::now(),
                        accept,
                    }));
                }
                Some(_) => return Ok(None),
                None => {}
            }
            let origin = self.origin;
            self.stranger.receive(Duration::from_millis(5), |bytes, _| {
                if let Ok((header, packet)) = wire::parse(bytes) {
                    opener.handle(now(origin), &header, &packet, bytes.len());
                }
            })?;
        }
    }
}

impl Stream {
    fn report(&mut self, greed: Greed, draw: &mut Draw) -> Vec<u8> {
        self.number = self.number.wrapping_add(1);
        let (first, end) = (self.accept.params.first_seq, self.highest_end);
        let honest = ReportFields {
            released: first,
            limit: Seq(first.0.wrapping_add(1_024)),
            settled: self.newest,
            highest_end: end,
            echo: self.newest,
            hold: 0,
            received: end.0.wrapping_sub(first.0),
            marked: 0,
            skipped: 0,
            late: 0,
        };
        let (number, fields, ranges) = match greed {
            // The first one opens the stream; without it nothing is sent.
            Greed::Extremes if self.number > 1 => {
                let fields = ReportFields {
                    released: Seq(draw.extreme(first.0)),
                    limit: Seq(draw.extreme(end.0)),
                    settled: Departure(draw.extreme(self.newest.0)),
                    highest_end: Seq(draw.extreme(end.0)),
                    echo: Departure(draw.extreme(self.newest.0)),
                    hold: draw.extreme(0),
                    received: draw.extreme(0),
                    marked: draw.extreme(0),
                    skipped: draw.extreme(0),
                    late: draw.word() as u16,
                };
                let range = SeqRange { first: Seq(draw.extreme(end.0)), count: draw.extreme(0) };
                (draw.extreme(self.number), fields, vec![range; draw.below(129)])
            }
            Greed::SameSeq => (self.number, honest, vec![SeqRange { first, count: 1 }]),
            Greed::AllSeqs => {
                (self.number, honest, vec![SeqRange { first, count: u32::MAX >> 1 }; 128])
            }
            Greed::Extremes | Greed::History => {
                let count = 1 + draw.below(64) as u32;
                let at = Seq(first.0.wrapping_add(draw.below(1_024) as u32));
                (self.number, honest, vec![SeqRange { first: at, count }; 8])
            }
        };
        let header = Header {
            kind: PacketType::Report,
            flags: Flags::FROM_OPENER,
            tag: self.accept.peer_tag,
            index: 0,
            seq: Seq(number),
            departure: Departure(draw.word()),
        };
        let mut out = vec![0; ReportFields::packet_len(ranges.len())];
        fields.emit(&header, &ranges, &mut out);
        out
    }
}

const GREEDY_OWNER: u64 = 0x6EED;
const REPORTS_A_STEP: usize = 64;
const HISTORY_MAX: usize = 4_096;

/// After this the device has ended the stream, or its packets do not come through.
const SILENCE_MAX: Duration = Duration::from_millis(500);
