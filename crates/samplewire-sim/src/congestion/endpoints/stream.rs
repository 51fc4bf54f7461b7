//! One end of a stream: an endpoint, its link, and its program.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire::receiver::Port;
use samplewire::stepped::{Machine, PendingReceiver, Rest, Stepped};
use samplewire::{
    Control, Device, DeviceOptions, Format, ReceiveOptions, ReceiveStream, SendStream, StreamInfo,
};
use samplewire_io::{Ecn, Meta};
use samplewire_proto::sender::{FRAME_OVERHEAD_BYTES, SenderStats};
use samplewire_proto::wire::{Flags, Header, PacketType};
use samplewire_proto::{Nanos, Rng};

use super::super::Preset;
use super::super::scenario::{self, Scenario};
use super::{CongestionError, End, Figures, Leaving};
use crate::link::ETHERNET_BYTES;
use crate::net::address_of;
use crate::packets::ProcessId;
use crate::process::{Departed, MailLink, Mailbox, lock};

pub(super) struct StreamEnd {
    stepped: Option<Stepped>,
    mailbox: Arc<Mutex<Mailbox>>,
    departed: Departed,
    due_at: Nanos,
    peer: ProcessId,
    program: Program,
    /// Counters of the sender, which outlast it.
    sender_stats: SenderStats,
    /// Packets that found no room at a converter that has left.
    overflows_before: u64,
}

#[expect(clippy::large_enum_variant, reason = "a few in a run")]
enum Program {
    Sends { device: Device, stream: Option<SendStream>, source: Source },
    Waits { port: Port, options: ReceiveOptions, seed: [u8; 16], begin: Nanos },
    Opens { port: Port, pending: PendingReceiver },
    Receives { _port: Port, stream: ReceiveStream },
    Gone,
}

/// What gives the samples.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    /// Bytes a second of a converter; `None` gives samples whenever there is room.
    bytes_per_s: Option<u64>,
    /// When the next quantum of a converter is full.
    next_at: Nanos,
    index: u64,
    overflows: u64,
}

impl StreamEnd {
    /// A device with one stream, whose sender follows the flow's control.
    pub(super) fn sender(
        scenario: &Scenario,
        flow: usize,
        window: u32,
        epoch: Instant,
        rng: &mut Rng,
    ) -> Result<Self, CongestionError> {
        let spec = &scenario.flows[flow];
        let line_bps = scenario.topology.host_bps(spec.from);
        let control = match spec.control {
            scenario::Control::None => Control::None,
            scenario::Control::Fixed(rate) => Control::Fixed { bps: rate.bps() },
            scenario::Control::Dcqcn(params) if params == Preset::Samplewire.params(line_bps) => {
                Control::Dcqcn { start_bps: Some(params.start.bps().max(START_BPS_MIN)) }
            }
            scenario::Control::Dcqcn(params) => {
                let is_of = |preset: &Preset| preset.params(line_bps) == params;
                let preset = Preset::ALL.into_iter().find(is_of);
                let name = preset.map_or("other parameters", Preset::name);
                return Err(CongestionError::StreamPreset(name));
            }
            scenario::Control::Reference(_) => return Err(CongestionError::EndpointReference),
        };
        let bytes_per_s = spec.converter_bps.map(|bps| bps / 8);
        let rate_hz = bytes_per_s.map_or(1.0, |bytes| bytes as f64 / SAMPLE_BYTES as f64);
        let mut info = StreamInfo::new(Format::Sc16, 1, rate_hz).expect("a rate in range");
        if bytes_per_s.is_none() {
            info.rate_numerator = 0;
        }
        let options = DeviceOptions::new()
            .window(window)
            .mtu(ip_bytes(scenario))
            .control(control)
            .sends(info);
        let me = 2 * flow as ProcessId;
        let (mailbox, link) = link(me, Some(line_bps))?;
        let (device, stepped) =
            options.listen_stepped(Box::new(link), None, epoch, [seed(rng), seed(rng)])?;
        let source = Source { bytes_per_s, ..Source::default() };
        let program = Program::Sends { device, stream: None, source };
        Ok(Self::new(mailbox, stepped, me + 1, program))
    }

    /// A program that opens the flow's stream at an instant.
    pub(super) fn receiver(
        scenario: &Scenario,
        flow: usize,
        window: u32,
        begin: Nanos,
        epoch: Instant,
        rng: &mut Rng,
    ) -> Result<Self, CongestionError> {
        let me = 2 * flow as ProcessId + 1;
        let (mailbox, link) = link(me, None)?;
        let (port, stepped) = Port::stepped(Box::new(link), None, 1, epoch)?;
        let options = ReceiveOptions::new()
            .window(window)
            .mtu(ip_bytes(scenario))
            .timeout(Duration::from_secs(10));
        let program = Program::Waits { port, options, seed: seed(rng), begin };
        Ok(Self::new(mailbox, stepped, me - 1, program))
    }

    fn new(
        mailbox: Arc<Mutex<Mailbox>>,
        stepped: Stepped,
        peer: ProcessId,
        program: Program,
    ) -> Self {
        Self {
            stepped: Some(stepped),
            mailbox,
            departed: Departed::default(),
            due_at: Nanos(0),
            peer,
            program,
            sender_stats: SenderStats::default(),
            overflows_before: 0,
        }
    }

    const fn overflows(&self) -> u64 {
        match &self.program {
            Program::Sends { source, .. } => source.overflows,
            _ => self.overflows_before,
        }
    }

    /// Turns the endpoint until nothing is left to do at once. It turns at least once: a packet may wait
    /// in the mailbox.
    fn settle(&mut self, now: Nanos, leaving: &mut Vec<Leaving>) {
        for _ in 0..TURNS_MAX {
            let Some(stepped) = &mut self.stepped else { return };
            let rest = stepped.turn(now);
            let sending = stepped.views().find_map(|view| match view.machine {
                Machine::Sending(sender) => Some(*sender.stats()),
                _ => None,
            });
            self.sender_stats = sending.unwrap_or(self.sender_stats);
            lock(&self.mailbox).take(&mut self.departed);
            let packets = self.departed.iter();
            leaving.extend(packets.map(|(packet, bytes)| Leaving {
                bytes: bytes.into(),
                wire_bytes: bytes.len() as u32 + FRAME_OVERHEAD_BYTES,
                is_ect: packet.is_ect,
            }));
            match rest {
                Some(Rest::No) => {}
                Some(Rest::Until(at) | Rest::Room(at) | Rest::Pause(at)) => {
                    self.due_at = at;
                    if at > now {
                        return;
                    }
                }
                None => {
                    self.due_at = Nanos(u64::MAX);
                    self.stepped = None;
                }
            }
        }
        panic!("{TURNS_MAX} turns at one instant");
    }
}

impl End for StreamEnd {
    fn put(&mut self, _now: Nanos, bytes: &[u8], ecn: Ecn) {
        let peer = address_of(self.peer);
        let meta = Meta { peer, ecn, dropped: None, packets_per_drop: 1 };
        lock(&self.mailbox).put(bytes, meta);
    }

    fn run(&mut self, now: Nanos, leaving: &mut Vec<Leaving>) {
        self.settle(now, leaving);
        if self.program.run(now, self.peer) {
            self.settle(now, leaving);
        }
    }

    fn due_at(&self) -> Nanos {
        let own = match &self.program {
            Program::Sends { stream: Some(_), source, .. } if source.bytes_per_s.is_some() => {
                source.next_at
            }
            Program::Waits { begin, .. } => *begin,
            _ => Nanos(u64::MAX),
        };
        own.min(self.due_at)
    }

    fn leave(&mut self) {
        self.overflows_before = self.overflows();
        self.program = Program::Gone;
    }

    fn is_report(&self, bytes: &[u8]) -> bool {
        Header::parse(bytes).is_ok_and(|header| header.kind == PacketType::Report)
    }

    fn received(&self) -> u64 {
        let mut views = self.stepped.iter().flat_map(Stepped::views);
        let receiving = views.find_map(|view| match view.machine {
            Machine::Receiving(receiver) => Some(receiver.stats().received),
            _ => None,
        });
        receiving.unwrap_or(0)
    }

    /// Also after the sender has left; zeros before it begins.
    fn figures(&self) -> Figures {
        let stats = &self.sender_stats;
        Figures {
            limit_bps: stats.limit_bps,
            notifications: stats.congestion,
            cuts: stats.cuts,
            departures: stats.packets + stats.retransmissions,
            repeats: stats.retransmissions,
            overflows: self.overflows(),
        }
    }
}

impl Program {
    /// Does what is due; says whether the endpoint may have to act on it.
    fn run(&mut self, now: Nanos, peer: ProcessId) -> bool {
        match self {
            Self::Sends { device, stream, source } => {
                if stream.is_none() {
                    let accepted = device.listeners[0].accept(Duration::ZERO);
                    *stream = accepted.expect("no link fails");
                    source.next_at = now;
                }
                stream.as_mut().is_some_and(|stream| source.run(now, stream))
            }
            Self::Waits { begin, .. } if now < *begin => false,
            Self::Waits { .. } => {
                let Self::Waits { port, options, seed, .. } = std::mem::replace(self, Self::Gone)
                else {
                    return false;
                };
                let pending = port.start_opening(address_of(peer), &options, seed);
                *self = Self::Opens { port, pending: pending.expect("checked before") };
                true
            }
            Self::Opens { port, pending } => match port.poll_opening(pending) {
                Some(Ok(stream)) => {
                    let Self::Opens { port, .. } = std::mem::replace(self, Self::Gone) else {
                        return false;
                    };
                    *self = Self::Receives { _port: port, stream };
                    true
                }
                Some(Err(_)) => {
                    *self = Self::Gone;
                    false
                }
                None => false,
            },
            Self::Receives { stream, .. } => {
                let mut has_taken = false;
                while let Ok(Some(_)) = stream.next_within(Duration::ZERO) {
                    has_taken = true;
                }
                has_taken
            }
            Self::Gone => false,
        }
    }
}

impl Source {
    /// Gives the samples that are there; says whether there were any.
    fn run(&mut self, now: Nanos, stream: &mut SendStream) -> bool {
        let mut has_given = false;
        for _ in 0..QUANTA_MAX {
            if self.bytes_per_s.is_some() && self.next_at > now {
                break;
            }
            let session = stream.session();
            let (packets, bytes) = (session.quantum_packets, session.payload_bytes);
            let quantum_bytes = u64::from(packets) * bytes as u64;
            let filling = stream.quantum(Duration::ZERO).ok().flatten();
            if let Some(bytes_per_s) = self.bytes_per_s {
                let span = quantum_bytes * 1_000_000_000 / bytes_per_s;
                self.next_at = self.next_at + Nanos(span);
            }
            let Some(mut filling) = filling else {
                if self.bytes_per_s.is_none() {
                    break;
                }
                // A converter cannot wait.
                self.overflows += u64::from(packets);
                self.index += quantum_bytes / SAMPLE_BYTES;
                continue;
            };
            let len_bytes = filling.bytes_mut().len();
            let has_jumped = self.index > stream.next_index();
            let flags = if has_jumped { Flags::OVERFLOW } else { Flags::NONE };
            let index = self.index.max(stream.next_index());
            if stream.submit(filling, len_bytes, index, flags).is_err() {
                break;
            }
            self.index = index + len_bytes as u64 / SAMPLE_BYTES;
            has_given = true;
        }
        has_given
    }
}

fn link(
    me: ProcessId,
    line_bps: Option<u64>,
) -> Result<(Arc<Mutex<Mailbox>>, MailLink), CongestionError> {
    let mailbox = Arc::new(Mutex::new(Mailbox::default()));
    let link = MailLink::new(me, &mailbox)?;
    let link = match line_bps {
        Some(bps) => link.with_line_bps(bps),
        None => link,
    };
    Ok((mailbox, link))
}

/// The longest IP packet, so that a full frame takes what the scenario states.
const fn ip_bytes(scenario: &Scenario) -> usize {
    scenario.wire_bytes.saturating_sub(ETHERNET_BYTES) as usize
}

fn seed(rng: &mut Rng) -> [u8; 16] {
    (u128::from(rng.draw()) << 64 | u128::from(rng.draw())).to_be_bytes()
}

/// The minimum rate of the presets, and of the option to start at.
const START_BPS_MIN: u64 = 10_000_000;
/// One `sc16` sample.
const SAMPLE_BYTES: u64 = 4;
/// More than a window has.
const QUANTA_MAX: usize = 1 << 16;
/// More than an endpoint takes until it rests.
const TURNS_MAX: usize = 100_000;
