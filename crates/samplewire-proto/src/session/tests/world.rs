//! An opener, a listener and a path between them, on virtual time and from one seed.

use crate::number::{Nanos, Seq, Tag};
use crate::random::Rng;
use crate::session::{
    AcceptError, AcceptParams, ListenConfig, ListenEvent, Listener, OpenConfig, OpenEvent,
    OpenRequest, Opener, Peer, StreamSlot, StreamTerms, WireText,
};
use crate::wire::{self, HEADER_LEN, PacketType, RdmaOffer, RefuseReason, Role, TRAILER_LEN};

pub(super) const OWNER: u64 = 0x0E_0001;
pub(super) const PEER: Peer = Peer::v4([192, 0, 2, 7], 40_000);
pub(super) const BOOT_ID: u64 = 0xB007;
pub(super) const STREAMS: usize = 3;
/// Packets that the device takes or holds.
pub(super) const WINDOW: u32 = 512;
pub(super) const PACKET_BYTES_MAX: usize = 9_000;

/// A direction of the path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) delay: Nanos,
    /// A packet takes up to this much longer.
    pub(super) jitter: Nanos,
    pub(super) loss_percent: u64,
    pub(super) duplicate_percent: u64,
    /// The largest IP packet that comes through.
    pub(super) packet_bytes_max: usize,
    /// Packets by number of departure, from 0, that are lost for certain.
    pub(super) lost: Vec<usize>,
    departed: usize,
}

impl Path {
    pub(super) fn clean() -> Self {
        Self {
            delay: Nanos::from_micros(250),
            jitter: Nanos(0),
            loss_percent: 0,
            duplicate_percent: 0,
            packet_bytes_max: PACKET_BYTES_MAX,
            lost: vec![],
            departed: 0,
        }
    }

    pub(super) fn bad() -> Self {
        Self {
            jitter: Nanos::from_millis(60),
            loss_percent: 30,
            duplicate_percent: 30,
            ..Self::clean()
        }
    }
}

/// What the device does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// Packets as large as the path was shown to carry.
    Fits,
    /// Packets of this payload, or no stream.
    Payload(u16),
    /// Nothing: the application hangs.
    Mute,
}

pub(super) struct World {
    pub(super) now: Nanos,
    pub(super) opener: Opener,
    pub(super) listener: Listener<Vec<StreamSlot>>,
    pub(super) to_listener: Path,
    pub(super) to_opener: Path,
    pub(super) device: Device,
    /// What the device says of RDMA.
    pub(super) rdma: Option<RdmaOffer>,
    /// Why the listener could not accept.
    pub(super) errors: Vec<AcceptError>,
    /// The tags that openings ended.
    pub(super) taken_over: Vec<Tag>,
    pub(super) openings: Vec<OpenRequest>,
    /// When each OPEN departed, and its length as an IP packet.
    pub(super) opens: Vec<(Nanos, usize)>,
    pub(super) rng: Rng,
    on_wire: Vec<(Nanos, bool, Vec<u8>)>,
}

impl World {
    pub(super) fn new(seed: u64, config: OpenConfig) -> Self {
        let now = Nanos::from_millis(1_000);
        Self {
            now,
            opener: Opener::new(config, seed_bytes(seed), now),
            listener: listener(seed ^ 0xFF),
            to_listener: Path::clean(),
            to_opener: Path::clean(),
            device: Device::Fits,
            rdma: None,
            errors: vec![],
            taken_over: vec![],
            openings: vec![],
            opens: vec![],
            rng: Rng::new(seed),
            on_wire: vec![],
        }
    }

    /// Opens once more, as a program does that was started again.
    pub(super) fn reopen(&mut self, seed: u64, config: OpenConfig) -> OpenEvent {
        self.opener = Opener::new(config, seed_bytes(seed), self.now);
        self.run()
    }

    /// Runs until the opening has ended and the path is empty.
    pub(super) fn run(&mut self) -> OpenEvent {
        let mut event = None;
        for _ in 0..STEPS_MAX {
            self.transmit();
            event = event.or(self.opener.poll_event());
            let arrival = self.on_wire.iter().map(|packet| packet.0).min();
            match (arrival, self.opener.poll_timeout()) {
                (None, None) => return event.expect("an opening ends with an event"),
                (Some(at), None) | (None, Some(at)) => self.now = self.now.max(at),
                (Some(a), Some(b)) => self.now = self.now.max(a.min(b)),
            }
            self.deliver();
        }
        panic!("no end after {STEPS_MAX} steps");
    }

    /// The stream that is open, by the tag that its device chose.
    pub(super) fn open_stream(&self, tag: Tag) -> Option<u16> {
        self.listener.stream_of(tag)
    }

    fn transmit(&mut self) {
        let mut buf = vec![0; PACKET_BYTES_MAX];
        while let Some(len) = self.opener.poll_transmit(self.now, &mut buf) {
            self.opens.push((self.now, len + usize::from(Peer::V4_OVERHEAD)));
            self.send(true, &buf[..len]);
        }
    }

    fn send(&mut self, to_listener: bool, bytes: &[u8]) {
        let path = if to_listener { &mut self.to_listener } else { &mut self.to_opener };
        let number = path.departed;
        path.departed += 1;
        let is_lost = path.lost.contains(&number)
            || bytes.len() + usize::from(Peer::V4_OVERHEAD) > path.packet_bytes_max
            || self.rng.below(100) < path.loss_percent;
        if is_lost {
            return;
        }
        let copies = 1 + usize::from(self.rng.below(100) < path.duplicate_percent);
        for _ in 0..copies {
            let late = Nanos(self.rng.below(path.jitter.0 + 1));
            self.on_wire.push((self.now + path.delay + late, to_listener, bytes.to_vec()));
        }
    }

    fn deliver(&mut self) {
        let (due, rest) = self.on_wire.drain(..).partition(|packet| packet.0 <= self.now);
        self.on_wire = rest;
        let due: Vec<(Nanos, bool, Vec<u8>)> = due;
        for (_, to_listener, bytes) in due {
            if to_listener {
                self.listener
                    .handle(self.now, PEER, &bytes, &wire::parse(&bytes))
                    .expect("an OPEN is a packet");
                self.decide();
                let mut buf = vec![0; PACKET_BYTES_MAX];
                while let Some((peer, len)) = self.listener.poll_transmit(self.now, &mut buf) {
                    assert_eq!(peer, PEER);
                    self.send(false, &buf[..len]);
                }
            } else {
                let (header, packet) = wire::parse(&bytes).expect("an answer is a packet");
                self.opener.handle(self.now, &header, &packet, bytes.len());
            }
        }
    }

    fn decide(&mut self) {
        let Some(ListenEvent::Opening { request, takes_over }) = self.listener.poll_event() else {
            return;
        };
        self.openings.push(request);
        let payload_bytes = match self.device {
            Device::Mute => return,
            Device::Payload(bytes) => bytes,
            Device::Fits => payload_that_fits(&request),
        };
        let params = AcceptParams { rdma: self.rdma, ..*params_of(&request, payload_bytes) };
        let params = StreamTerms::new(params).expect("they are in their ranges");
        match self.listener.accept(self.now, &request, &params) {
            Ok(_) => self.taken_over.extend(takes_over),
            Err(error) => {
                self.errors.push(error);
                self.listener.refuse(&request, RefuseReason::PacketSize, 0);
            }
        }
    }
}

pub(super) fn config() -> OpenConfig {
    OpenConfig::new(Role::Receive, 1, OWNER)
}

pub(super) fn listener(seed: u64) -> Listener<Vec<StreamSlot>> {
    let slots = vec![StreamSlot::default(); STREAMS];
    Listener::new(slots, ListenConfig::new(), seed_bytes(seed), BOOT_ID)
}

/// Parameters whose packet of 1,024 bytes of payload fits every path of the ladder.
pub(super) fn params(request: &OpenRequest) -> StreamTerms {
    params_of(request, 1_024)
}

/// Parameters whose packet has `payload_bytes`.
pub(super) fn params_of(request: &OpenRequest, payload_bytes: u16) -> StreamTerms {
    StreamTerms::new(AcceptParams {
        stream: request.stream,
        streams: STREAMS as u16,
        first_index: 1 << 40,
        first_seq: Seq(77),
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        format: 2,
        channels: 1,
        packet_samples: u32::from(payload_bytes) / 4,
        payload_bytes,
        payload_offset: HEADER_LEN as u8,
        window: WINDOW,
        dead_ms: 400,
        idle_ms: 100,
        ranges_max: 32,
        granularity_bytes: 8,
        centre_frequency_hz: Some(1.0e9),
        name: WireText::new("adc"),
        ..AcceptParams::default()
    })
    .expect("they are in their ranges")
}

/// The type of a packet that was sent.
pub(super) fn kind_of(bytes: &[u8]) -> PacketType {
    wire::parse(bytes).expect("what was sent is a packet").0.kind
}

pub(super) fn seed_bytes(seed: u64) -> [u8; 16] {
    (u128::from(seed) << 64 | u128::from(seed)).to_be_bytes()
}

fn payload_that_fits(request: &OpenRequest) -> u16 {
    let len = request.len_in.min(request.len_out);
    (len - (HEADER_LEN + TRAILER_LEN) as u16) / 8 * 8
}

/// Steps of a scenario; the longest takes a few hundred.
const STEPS_MAX: usize = 20_000;
