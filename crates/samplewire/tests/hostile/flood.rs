//! Attacks: threads that do what they can, and what that costs them.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use samplewire_proto::wire::{
    self, Flags, Header, OPEN_LEN_MIN, Open, Packet, PacketType, TRAILER_CRC32C,
};
use samplewire_proto::{Departure, Seq, Tag};

use crate::cpu::Thread;
use crate::craft::{Draw, nearly_right, noise, open, reecho, retag};
use crate::forge::{Forger, Stranger};
use crate::greedy::{Greed, Greedy};
use crate::liar::{Liar, Outcomes, open_once};
use crate::replay::Recording;

/// The target of an attack, whose CPU time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The device of the honest stream.
    Device,
    /// The receiver of the honest stream.
    ReceiveStream,
    /// Another device of this host, that the attacker has opened.
    OwnDevice,
    /// Another receiver of this host, that has opened the attacker.
    OwnReceiver,
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Noise,
    SmallNoise,
    NearlyRight,
    HalfOpen,
    Openings,
    Refused,
    ForgedPeer,
    NoiseAtReceiver,
    Tags,
    NoiseAsDevice,
    ReplayToDevice,
    ReplayAsClient,
    ReplayAsDevice,
    Greedy(Greed),
    Liar,
}

/// One attack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    kind: Kind,
}

/// Every attack; those that forge addresses need CAP_NET_RAW.
pub(crate) const ATTACKS: &[Attack] = &[
    // First, while the cookie in the recording is valid.
    attack("recorded session again, from its address", Target::Device, Kind::ReplayAsClient),
    attack("recorded session again, from another", Target::Device, Kind::ReplayToDevice),
    attack("recorded session again, to the receiver", Target::ReceiveStream, Kind::ReplayAsDevice),
    attack("random packets, joined, to the device", Target::Device, Kind::Noise),
    attack("random packets of 32 bytes, to the device", Target::Device, Kind::SmallNoise),
    attack("nearly right packets of every type, to the device", Target::Device, Kind::NearlyRight),
    attack("half-open: OPENs from 64 addresses", Target::Device, Kind::HalfOpen),
    attack("forged receiver tries tags", Target::Device, Kind::ForgedPeer),
    attack(
        "nearly right packets, to the receiver's port",
        Target::ReceiveStream,
        Kind::NoiseAtReceiver,
    ),
    attack("forged device tries tags", Target::ReceiveStream, Kind::Tags),
    attack("forged device sends random packets", Target::ReceiveStream, Kind::NoiseAsDevice),
    attack("OPENs with a valid cookie, 250 a CHALLENGE", Target::OwnDevice, Kind::Openings),
    attack("OPENs that are refused, of a proven address", Target::OwnDevice, Kind::Refused),
    attack("REPORTs of extremes", Target::OwnDevice, Kind::Greedy(Greed::Extremes)),
    attack("requests for one seq", Target::OwnDevice, Kind::Greedy(Greed::SameSeq)),
    attack("requests for all seqs", Target::OwnDevice, Kind::Greedy(Greed::AllSeqs)),
    attack("REPORTs in any order", Target::OwnDevice, Kind::Greedy(Greed::History)),
    attack("a device that lies", Target::OwnReceiver, Kind::Liar),
];

const fn attack(name: &'static str, target: Target, kind: Kind) -> Attack {
    Attack { name, target, kind }
}

/// Where the honest ends are.
pub(crate) struct Places<'a> {
    pub(crate) device: SocketAddr,
    pub(crate) client: SocketAddr,
    /// A device that no honest receiver has opened.
    pub(crate) own_device: SocketAddr,
    pub(crate) recording: &'a Recording,
}

/// Does some of the attack and says how many packets and bytes that took.
type Step = Box<dyn FnMut() -> io::Result<(u64, u64)> + Send>;

/// The threads of an attack.
pub(crate) struct Attackers {
    pub(crate) thread: Thread,
    spent: Arc<Spent>,
    handles: Vec<JoinHandle<()>>,
    pub(crate) outcomes: Outcomes,
}

#[derive(Default)]
struct Spent {
    goes: AtomicBool,
    stops: AtomicBool,
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Attack {
    pub(crate) fn forges(&self) -> bool {
        matches!(
            self.kind,
            Kind::ForgedPeer
                | Kind::Tags
                | Kind::NoiseAsDevice
                | Kind::ReplayAsClient
                | Kind::ReplayAsDevice
        )
    }

    /// Makes the attackers ready; they wait for [`Attackers::go`].
    pub(crate) fn prepare(&self, places: &Places<'_>) -> Result<Attackers, Box<dyn Error>> {
        let outcomes = Outcomes::default();
        let spent = Arc::<Spent>::default();
        let mut handles = Vec::new();
        let step = if self.kind == Kind::Liar {
            let mut liar = Liar::new()?;
            let (address, outcomes, ours) =
                (liar.address(), Arc::clone(&outcomes), Arc::clone(&spent));
            handles.push(std::thread::spawn(move || {
                ours.run(|| {
                    open_once(address, &outcomes);
                    Ok(())
                });
            }));
            Box::new(move || liar.step())
        } else {
            self.step(places)?
        };
        let before = Thread::named(NAME);
        let shared = Arc::clone(&spent);
        let handle = std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            let mut step: Step = step;
            shared.run(|| {
                let (packets, bytes) = step()?;
                // Relaxed: counts by which nothing is ordered.
                shared.packets.fetch_add(packets, Ordering::Relaxed);
                shared.bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok(())
            });
        })?;
        handles.push(handle);
        let thread = Thread::newest(NAME, &before);
        thread.yield_to_others();
        Ok(Attackers { thread, spent, handles, outcomes })
    }

    fn step(&self, places: &Places<'_>) -> io::Result<Step> {
        let (device, client) = (places.device, places.client);
        let mut draw = Draw::new(1);
        Ok(match self.kind {
            Kind::Noise => {
                let batches = batches(|len| noise(&mut draw, len), &[64, 512, 1_434, 9_000]);
                floods(Stranger::new(0, 1)?, batches, device)
            }
            Kind::SmallNoise => {
                // Unequal lengths, so that none are joined.
                let packets = (0..1_024).map(|at| noise(&mut draw, 30 + at % 4)).collect();
                floods(Stranger::new(0, 1)?, vec![packets], device)
            }
            Kind::NearlyRight => {
                floods(Stranger::new(0, 1)?, nearly_right_batches(&mut draw), device)
            }
            Kind::NoiseAtReceiver => {
                floods(Stranger::new(0, 1)?, nearly_right_batches(&mut draw), client)
            }
            Kind::HalfOpen => half_open(draw, device)?,
            Kind::Openings => openings(draw, places.own_device, OPENING_BYTES, TRAILER_CRC32C)?,
            Kind::Refused => openings(draw, places.own_device, OPEN_LEN_MIN, TRAILER_CRC32C + 1)?,
            Kind::ForgedPeer => {
                let kinds = [PacketType::Report, PacketType::Close, PacketType::CloseAck];
                tries(Forger::new(client, device)?, kinds, Flags::FROM_OPENER)
            }
            Kind::Tags => {
                let kinds = [PacketType::Data, PacketType::Mark, PacketType::CloseAck];
                tries(Forger::new(device, client)?, kinds, Flags::NONE)
            }
            Kind::NoiseAsDevice => {
                let packets = (0..1_024).map(|at| noise(&mut draw, 22 + at % 1_400)).collect();
                forges(Forger::new(device, client)?, packets)
            }
            Kind::ReplayToDevice => {
                let packets = places.recording.from_client.clone();
                floods(Stranger::new(0, 1)?, vec![packets], device)
            }
            Kind::ReplayAsClient => {
                let recording = places.recording;
                let forger = Forger::new(recording.client, device)?;
                forges(forger, recording.from_client.clone())
            }
            Kind::ReplayAsDevice => {
                let packets = places.recording.from_device.clone();
                forges(Forger::new(device, client)?, packets)
            }
            Kind::Greedy(greed) => {
                let mut greedy = Greedy::new(places.own_device, greed)?;
                Box::new(move || greedy.step())
            }
            Kind::Liar => unreachable!("it is not a step of one thread"),
        })
    }
}

impl Spent {
    /// Calls `step` repeatedly until it must stop.
    fn run(&self, mut step: impl FnMut() -> io::Result<()>) {
        while !self.stops.load(Ordering::Relaxed) {
            if self.goes.load(Ordering::Relaxed) {
                step().expect("an attacker's own calls work");
            } else {
                // It checks its flags without a lock, as an attack under way does.
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Attackers {
    pub(crate) fn go(&self, goes: bool) {
        self.spent.goes.store(goes, Ordering::Relaxed);
    }

    /// Packets and bytes so far.
    pub(crate) fn spent(&self) -> (u64, u64) {
        let Spent { packets, bytes, .. } = &*self.spent;
        (packets.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn stop(self) {
        self.spent.stops.store(true, Ordering::Relaxed);
        for handle in self.handles {
            handle.join().expect("an attacker's own calls work");
        }
    }
}

/// 64 packets of each length, so that a batch crosses the kernel as one where it can.
fn batches(mut make: impl FnMut(usize) -> Vec<u8>, lens_bytes: &[usize]) -> Vec<Vec<Vec<u8>>> {
    lens_bytes.iter().map(|len| (0..64).map(|_| make(*len)).collect()).collect()
}

fn nearly_right_batches(draw: &mut Draw) -> Vec<Vec<Vec<u8>>> {
    let mut batches = Vec::new();
    for kind in PacketType::ALL {
        for data_bytes in [8, 1_408] {
            let mut batch: Vec<_> =
                (0..64).map(|_| nearly_right(draw, kind, Flags::NONE, data_bytes)).collect();
            // Every second one has a bit wrong.
            for packet in batch.iter_mut().step_by(2) {
                let at = draw.below(packet.len());
                packet[at] ^= 1 << draw.below(8);
            }
            batches.push(batch);
        }
    }
    batches
}

/// Sends batch after batch.
fn floods(mut stranger: Stranger, batches: Vec<Vec<Vec<u8>>>, to: SocketAddr) -> Step {
    let mut next = 0;
    Box::new(move || {
        let batch = &batches[next % batches.len()];
        next += 1;
        stranger.send(batch, to)?;
        Ok((batch.len() as u64, batch.iter().map(|packet| packet.len() as u64).sum()))
    })
}

/// Sends packet after packet from an address that is not its own.
fn forges(mut forger: Forger, packets: Vec<Vec<u8>>) -> Step {
    let mut next = 0;
    Box::new(move || {
        let mut bytes = 0;
        for _ in 0..64 {
            let packet = &packets[next % packets.len()];
            next += 1;
            forger.send(packet)?;
            bytes += packet.len() as u64;
        }
        Ok((64, bytes))
    })
}

/// Tries one tag after another, of these types in turn.
fn tries(mut forger: Forger, kinds: [PacketType; 3], flags: Flags) -> Step {
    let mut draw = Draw::new(2);
    let mut packets = kinds.map(|kind| nearly_right(&mut draw, kind, flags, 8));
    Box::new(move || {
        let mut bytes = 0;
        for at in 0..66 {
            let kind = kinds[at % 3];
            let packet = &mut packets[at % 3];
            let tag = draw.word();
            if kind == PacketType::CloseAck {
                reecho(packet, tag)
            } else {
                retag(packet, tag)
            }
            forger.send(packet)?;
            bytes += packet.len() as u64;
        }
        Ok((66, bytes))
    })
}

/// OPENs of 128 bytes, each a stream more if anything were kept; every second has a cookie.
fn half_open(mut draw: Draw, device: SocketAddr) -> io::Result<Step> {
    let mut strangers = (1..=64).map(|y| Stranger::new(1, y)).collect::<io::Result<Vec<_>>>()?;
    let mut next = 0;
    Ok(Box::new(move || {
        let packets: Vec<_> = (0..64).map(|at| open_packet(&mut draw, at % 2 == 1)).collect();
        next = (next + 1) % strangers.len();
        strangers[next].send(&packets, device)?;
        Ok((64, (64 * OPEN_LEN_MIN) as u64))
    }))
}

/// OPENs from an address that is proven, and never a REPORT. Each is a takeover of the one before,
/// or refused for its trailer.
fn openings(
    mut draw: Draw,
    device: SocketAddr,
    len_bytes: usize,
    trailer_kind: u8,
) -> io::Result<Step> {
    let mut stranger = Stranger::new(3, 9)?;
    let mut departure = 0;
    Ok(Box::new(move || {
        let mut open = open(&mut draw);
        open.owner = 9;
        let mut emit = |open: &Open<'_>, len_bytes: usize| {
            departure += 1;
            let mut out = vec![0; len_bytes];
            open.emit(&open_header(Departure(departure)), len_bytes, &mut out);
            out
        };
        stranger.send(&[emit(&open, OPEN_LEN_MIN)], device)?;
        let mut cookie = None;
        for _ in 0..20 {
            stranger.receive(Duration::from_millis(1), |bytes, _| {
                if let Ok((_, Packet::Challenge(challenge))) = wire::parse(bytes)
                    && challenge.nonce == open.nonce
                {
                    cookie = Some(challenge.cookie);
                }
            })?;
        }
        let Some(cookie) = cookie else { return Ok((1, OPEN_LEN_MIN as u64)) };
        open.cookie = cookie;
        open.trailer_kind = trailer_kind;
        let nonce = open.nonce & !0xFF;
        let packets: Vec<_> = (0..250)
            .map(|step| {
                open.nonce = nonce | step;
                emit(&open, len_bytes)
            })
            .collect();
        for _ in 0..OPENINGS_A_COOKIE {
            stranger.send(&packets, device)?;
        }
        let count = 1 + OPENINGS_A_COOKIE * packets.len() as u64;
        Ok((count, (count - 1) * len_bytes as u64 + OPEN_LEN_MIN as u64))
    }))
}

/// An OPEN from an address that the device does not know.
fn open_packet(draw: &mut Draw, has_cookie: bool) -> Vec<u8> {
    let header = open_header(Departure(draw.word()));
    let mut open = open(draw);
    if has_cookie {
        open.cookie[..8].copy_from_slice(&draw.number().to_le_bytes());
    }
    let mut out = vec![0; OPEN_LEN_MIN];
    open.emit(&header, OPEN_LEN_MIN, &mut out);
    out
}

fn open_header(departure: Departure) -> Header {
    Header {
        kind: PacketType::Open,
        flags: Flags::FROM_OPENER,
        tag: Tag::NONE,
        index: 0,
        seq: Seq(0),
        departure,
    }
}

/// Of an OPEN that proves a path for any packet.
const OPENING_BYTES: usize = 8_972;

/// How often the same 250 are sent.
const OPENINGS_A_COOKIE: u64 = 4;

/// The name of an attacker's thread.
pub(crate) const NAME: &str = "attacker";
