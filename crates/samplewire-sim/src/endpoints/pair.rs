//! A device, a host, and the two links between them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire::device::{Device, DeviceConfig};
use samplewire::format::Format;
use samplewire::receiver::{Block, Port, ReceiveOptions, ReceiveStream};
use samplewire::source::{StreamInfo, counter_mismatch, counter_sample};
use samplewire::stepped::{PendingReceiver, Rest, Stepped};
use samplewire::transmitter::{Listener, SendError, SendStream, TransmitterOptions};
use samplewire::{End, Gap};
use samplewire_proto::wire::{CloseReason, Flags};
use samplewire_proto::{Nanos, Rng};

use super::link::{SimLink, Wire, lock};
use crate::link::LinkSpec;
use crate::net::{Net, address_of};
use crate::packets::ProcessId;

/// Two endpoints and their programs. Process 0 is the device, process 1 the host.
pub(super) struct Pair {
    wire: Arc<Mutex<Wire>>,
    device: Converter,
    host: Consumer,
    samples: u64,
}

/// What a run has shown, on the wire and at the handles.
pub(super) struct Run {
    pub(super) samples: u64,
    pub(super) packet_samples: u64,
    pub(super) gaps: Vec<Gap>,
    /// First and end index of what each block held.
    blocks: Vec<(u64, u64)>,
    pub(super) departed: BTreeMap<u64, u32>,
    pub(super) arrived: BTreeMap<u64, u32>,
    /// What each process sent and when.
    pub(super) trace: String,
}

/// The sending end with a program that has a sample of a counter each 50 ns, and never waits.
struct Converter {
    endpoint: Stepped,
    is_over: bool,
    listener: Option<Listener>,
    stream: Option<SendStream>,
    began_at: Nanos,
    samples: u64,
    is_finishing: bool,
}

/// The receiving end with a program that takes each block at once.
struct Consumer {
    endpoint: Stepped,
    is_over: bool,
    port: Option<Port>,
    opening: PendingReceiver,
    receiver: Option<ReceiveStream>,
    packet_samples: u64,
    next: u64,
    gaps: Vec<Gap>,
    blocks: Vec<(u64, u64)>,
    end: Option<End>,
}

impl Pair {
    pub(super) fn new(line: LinkSpec, seed: u64, samples: u64, options: &ReceiveOptions) -> Self {
        let mut rng = Rng::new(seed);
        let lines = [(line, None), (line, None)];
        let mut net = Net::new(&lines, &[SOCKET_PACKETS; 2], &mut rng);
        net.set_route(DEVICE, HOST, 0);
        net.set_route(HOST, DEVICE, 1);
        net.trace.start();
        for process in [DEVICE, HOST] {
            let part = net.part_of(process);
            net.agenda.set(part, Some(Nanos(0)));
        }
        let (departed, arrived) = (BTreeMap::new(), BTreeMap::new());
        let wire = Arc::new(Mutex::new(Wire { net, departed, arrived }));
        let epoch = Instant::now();
        Self {
            device: Converter::new(&wire, epoch, &mut rng, samples),
            host: Consumer::new(&wire, epoch, &mut rng, options),
            wire,
            samples,
        }
    }

    /// Runs until both endpoints are over: the stream has ended, and both programs have let go.
    pub(super) fn run(mut self) -> Run {
        while !(self.device.is_over && self.host.is_over) {
            let mut wire = lock(&self.wire);
            let (at, part) = wire.net.agenda.next().expect("something is left to happen");
            assert!(at < ENDS_BY, "no end: {:?}, {} taken", self.host.end, self.host.next);
            wire.net.now = at;
            if (1..=wire.net.links.len()).contains(&part) {
                wire.net.run_link(part - 1);
                continue;
            }
            drop(wire);
            let (now, device) = (at, part == lock(&self.wire).net.part_of(DEVICE));
            let next = if device { self.device.turn(now) } else { self.host.turn(now) };
            lock(&self.wire).net.agenda.set(part, next.map(|at| at.max(now + TURN)));
        }
        let Self { wire, host, samples, .. } = self;
        let Consumer { packet_samples, gaps, blocks, end, next, .. } = host;
        assert_eq!((next, end), (samples, Some(End::Finished { final_index: samples })));
        let mut wire = lock(&wire);
        let (departed, arrived) =
            (std::mem::take(&mut wire.departed), std::mem::take(&mut wire.arrived));
        let trace = wire.net.trace.take();
        Run { samples, packet_samples, gaps, blocks, departed, arrived, trace }
    }
}

impl Run {
    /// The indexes at which the packets begin that were handed over.
    pub(super) fn delivered_packets(&self) -> impl Iterator<Item = u64> + '_ {
        let packets =
            |&(first, end): &(u64, u64)| (first..end).step_by(self.packet_samples as usize);
        self.blocks.iter().flat_map(packets)
    }
}

impl Converter {
    fn new(wire: &Arc<Mutex<Wire>>, epoch: Instant, rng: &mut Rng, samples: u64) -> Self {
        let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).expect("a rate in range");
        let link = Box::new(SimLink::new(DEVICE, wire).expect("a waker"));
        let sends = std::slice::from_ref(&info);
        let config = DeviceConfig { sends, ..DeviceConfig::default() };
        let origin = (epoch, [seed(rng), seed(rng)]);
        let (mut device, endpoint) =
            Device::stepped(link, config, &TransmitterOptions::new(), origin)
                .expect("options in range");
        let listener = device.listeners.pop();
        Self {
            endpoint,
            is_over: false,
            listener,
            stream: None,
            began_at: Nanos(0),
            samples,
            is_finishing: false,
        }
    }

    /// Returns when it is to come again, if ever, whatever arrives.
    fn turn(&mut self, now: Nanos) -> Option<Nanos> {
        let due_at = self.sample(now);
        let rest = self.endpoint.turn(now);
        self.is_over = rest.is_none();
        rest.map(|rest| due_at.map_or(wakes_at(now, rest), |at| at.min(wakes_at(now, rest))))
    }

    /// Submits what has been sampled; returns when the next quantum is full.
    fn sample(&mut self, now: Nanos) -> Option<Nanos> {
        let Some(stream) = &mut self.stream else {
            self.stream = self.listener.as_mut()?.accept(Duration::ZERO).expect("the port works");
            self.began_at = now;
            return self.stream.is_some().then_some(now);
        };
        let session = *stream.session();
        let quantum_samples = u64::from(session.quantum_packets * session.packet_samples);
        loop {
            let index = stream.next_index();
            let len = quantum_samples.min(self.samples - index);
            let full_at = self.began_at + Nanos((index + len) * SAMPLE_NS);
            if len > 0 && full_at > now {
                return Some(full_at);
            }
            if len > 0 {
                let filling = stream.quantum(Duration::ZERO).expect("it is open");
                let mut filling = filling.expect("the link is faster than the converter");
                let len_bytes = len as usize * FRAME_BYTES;
                let frames = filling.bytes_mut()[..len_bytes].chunks_exact_mut(FRAME_BYTES);
                (index..).zip(frames).for_each(|(index, frame)| {
                    frame.copy_from_slice(&counter_sample(index, 0));
                });
                stream.submit(filling, len_bytes, index, Flags::NONE).expect("it follows");
                continue;
            }
            if !std::mem::replace(&mut self.is_finishing, true) {
                stream.start_finish(0, CloseReason::Finished);
            }
            match stream.check() {
                Ok(()) => {}
                Err(SendError::Ended(end)) => {
                    assert_eq!(end.end, End::Finished { final_index: self.samples });
                    (self.listener, self.stream) = (None, None);
                }
                Err(error) => panic!("{error}"),
            }
            return None;
        }
    }
}

impl Consumer {
    fn new(
        wire: &Arc<Mutex<Wire>>,
        epoch: Instant,
        rng: &mut Rng,
        options: &ReceiveOptions,
    ) -> Self {
        let link = Box::new(SimLink::new(HOST, wire).expect("a waker"));
        let (port, endpoint) = Port::stepped(link, 1, epoch).expect("memory");
        let opening = port.start_opening(address_of(DEVICE), options, seed(rng));
        Self {
            endpoint,
            is_over: false,
            port: Some(port),
            opening: opening.expect("options in range"),
            receiver: None,
            packet_samples: 1,
            next: 0,
            gaps: vec![],
            blocks: vec![],
            end: None,
        }
    }

    /// Returns when it is to come again, if ever, whatever arrives.
    fn turn(&mut self, now: Nanos) -> Option<Nanos> {
        let rest = self.endpoint.turn(now);
        self.is_over = rest.is_none();
        let has_acted = self.take();
        rest.map(|rest| if has_acted { now } else { wakes_at(now, rest) })
    }

    /// Takes what there is for the program; says whether there was anything.
    fn take(&mut self) -> bool {
        if let Some(port) = self.port.take_if(|port| {
            let opened = port.poll_opening(&self.opening);
            self.receiver = opened.map(|opened| opened.expect("the device accepts"));
            self.receiver.is_some()
        }) {
            drop(port);
            let info = self.receiver.as_ref().expect("it was opened").info();
            (self.packet_samples, self.next) = (info.packet_samples.into(), info.first_index);
            return true;
        }
        let Some(receiver) = &mut self.receiver else { return false };
        let mut has_taken = false;
        while let Some(block) = receiver.next_within(Duration::ZERO) {
            has_taken = true;
            account(&block, &mut self.next, &mut self.gaps);
            self.blocks.push((block.index(), self.next));
        }
        if let Some(end) = receiver.end() {
            self.end = Some(*end.as_ref().expect("the link works"));
            self.receiver = None;
            return true;
        }
        has_taken
    }
}

/// Every index is in one gap or one block, in order, and each sample is the one of its index.
fn account(block: &Block, next: &mut u64, gaps: &mut Vec<Gap>) {
    for gap in block.gaps() {
        assert_eq!(gap.first, *next, "a gap follows what came before");
        *next = gap.end();
        gaps.push(*gap);
    }
    assert_eq!(block.index(), *next);
    assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
    *next += block.len() as u64;
}

fn wakes_at(now: Nanos, rest: Rest) -> Nanos {
    match rest {
        Rest::No => now,
        Rest::Until(at) | Rest::Room(at) | Rest::Pause(at) => at,
    }
}

fn seed(rng: &mut Rng) -> [u8; 16] {
    (u128::from(rng.draw()) << 64 | u128::from(rng.draw())).to_be_bytes()
}

const DEVICE: ProcessId = 0;
const HOST: ProcessId = 1;

/// What a socket holds: a window and more.
const SOCKET_PACKETS: usize = 4_096;

/// A process does something again at the earliest so much later.
const TURN: Nanos = Nanos(1_000);

const FRAME_BYTES: usize = 4;
const RATE_HZ: f64 = 20e6;
const SAMPLE_NS: u64 = 50;

/// No run is longer.
const ENDS_BY: Nanos = Nanos::from_millis(10_000);
