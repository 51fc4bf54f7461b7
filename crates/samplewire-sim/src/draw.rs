//! Draws a plan of everything at once from a seed: topology, parameters and faults.

use samplewire_io::faults::Loss;
use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;
use samplewire_proto::{Departure, Nanos, Odds, Rng, Seq};
use samplewire_roce::PathMtu;

use crate::clock::Clock;
use crate::link::LinkSpec;
use crate::packets::ProcessId;
use crate::payload;
use crate::plan::{Cable, Fault, MachineSpec, Plan};
use crate::process::{ClientSpec, ConsumerSpec, DeviceSpec};
use crate::source::{Ending, Pace, SourceSpec};

/// What a run dwells on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many packets through faults of the links.
    Flow,
    /// Many short streams.
    Churn,
    /// Everything at once, with restarts and partitions.
    Storm,
}

/// The plan of a seed, of everything at once.
pub(crate) fn mixture(seed: u64) -> Plan {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let kind = rng.pick(&[Kind::Flow, Kind::Churn, Kind::Storm]);
    let count = rng.spread(1..=4) as usize;
    let mut links = vec![];
    let trunk = (count > 1 && rng.one_in(2)).then(|| {
        let spec = link(rng, kind);
        links.push((LinkSpec { mtu_bytes: 9_000, ..spec }, None));
        0
    });
    let mut devices = vec![];
    for _ in 0..count {
        let cable = Cable { up: links.len(), down: links.len() + 1 };
        let up = link(rng, kind);
        let down = back(rng, kind, &up);
        links.push((up, trunk));
        links.push((down, None));
        let mtu_bytes = up.mtu_bytes.min(down.mtu_bytes);
        devices.push((machine(rng, false), device(rng, kind, &up, mtu_bytes), cable));
    }
    let mut clients = vec![];
    for (number, (_, spec, _)) in devices.iter().enumerate() {
        for stream in 0..spec.streams {
            let up = links[devices[number].2.up].0;
            clients.push(client(rng, kind, number as ProcessId, stream, &up));
            if rng.one_in(8) {
                let rival = client(rng, kind, number as ProcessId, stream, &up);
                clients.push(ClientSpec { owner: rng.within(1..=2), ..rival });
            }
        }
    }
    let host = machine(rng, true);
    bound_packets(&mut devices, &mut clients);
    let heals_at = Nanos(rng.spread(20_000_000..=2_000_000_000));
    let faults = faults(rng, kind, heals_at, &links, count, clients.len());
    // A slow player of a stream whose index jumps ahead takes five minutes.
    let ends_by = heals_at + Nanos::from_millis(600_000);
    let mut plan = Plan { host, devices, clients, links, hostile: None, faults, heals_at, ends_by };
    place(&mut plan);
    plan
}

pub(crate) fn link(rng: &mut Rng, kind: Kind) -> LinkSpec {
    let rate_bps = rng.spread(50_000_000..=100_000_000_000);
    let delay = Nanos(rng.spread(500..=20_000_000));
    let clean = LinkSpec::clean(rate_bps, delay);
    let is_faulty = |rng: &mut Rng| kind == Kind::Storm || rng.one_in(2);
    let loss = match rng.below(4) {
        0 => Loss::None,
        1 => Loss::Bursty {
            enter_bad: Odds::ppm(rng.spread(10..=20_000)),
            leave_bad: Odds::ppm(rng.spread(5_000..=500_000)),
            lost_in_bad: Odds::ppm(rng.pick(&[500_000, 1_000_000])),
        },
        _ => Loss::Independent(Odds::ppm(rng.spread(10..=300_000))),
    };
    let mut odds = |ppm_max: u64| {
        if is_faulty(rng) { Odds::ppm(rng.spread(1..=ppm_max)) } else { Odds::NEVER }
    };
    let (corrupt, duplicate, reorder) = (odds(20_000), odds(50_000), odds(100_000));
    LinkSpec {
        queue_bytes: rng.spread(16_384..=clean.queue_bytes.max(16_384) * 8),
        mark_above_bytes: rng.one_in(2).then(|| rng.spread(1_000..=1_000_000)),
        mtu_bytes: rng.pick(&[1_280, 1_500, 4_096, 9_000]),
        loss,
        corrupt,
        duplicate,
        reorder,
        reorder_by: Nanos(rng.spread(100..=2 * delay.0)),
        ..clean
    }
}

/// The other direction: like the first, or not.
fn back(rng: &mut Rng, kind: Kind, up: &LinkSpec) -> LinkSpec {
    let drawn = link(rng, kind);
    let delay = Nanos(up.delay.0 * rng.within(50..=200) / 100);
    if rng.one_in(3) { LinkSpec { delay, ..drawn } } else { LinkSpec { delay, ..*up } }
}

pub(crate) fn machine(rng: &mut Rng, is_host: bool) -> MachineSpec {
    let wrap_ns = Departure::UNIT_NS << 32;
    let offset_ns = match rng.below(3) {
        0 => rng.below(1 << 50),
        1 => (1 + rng.below(100)) * wrap_ns - rng.below(1_000_000_000),
        _ => (1 + rng.below(100)) * wrap_ns + wrap_ns / 2 - rng.below(1_000_000_000),
    };
    let drift_ppb = rng.within(0..=200_000) as i64 - 100_000;
    MachineSpec {
        clock: Clock::new(Nanos(offset_ns), drift_ppb),
        poll: if is_host { Nanos(rng.spread(100..=50_000)) } else { Nanos(0) },
        socket_packets: if is_host { rng.spread(64..=16_384) as usize } else { 1 << 16 },
    }
}

pub(crate) fn device(rng: &mut Rng, kind: Kind, up: &LinkSpec, mtu_bytes: u32) -> DeviceSpec {
    let packet_bytes = rng.pick(&[1_280, 1_500, 4_096, 9_000]);
    let full = u32::from(packet_bytes).min(mtu_bytes);
    let tolerance = if rng.one_in(3) { Nanos(0) } else { Nanos(rng.below(up.delay.0 + 1)) };
    DeviceSpec {
        streams: rng.spread(1..=3) as u16,
        packet_bytes_max: 9_000,
        packet_bytes,
        packet_samples: rng.pick(&[2, 4, 8, 16]),
        window: rng.spread(2..=4_096) as u32,
        reorder_tolerance: Departure::units(tolerance),
        dead_ms: rng.pick(&[400, 1_000, 3_000]),
        idle_ms: rng.within(20..=100) as u16,
        ranges_max: rng.spread(1..=128) as u16,
        source: source(rng, kind, up.wire_time(full)),
        consumer: consumer(rng, up.wire_time(full), true),
        sender: sender(rng, up, full),
        payload_bytes: payload::BYTES as u16,
        path_mtu: None,
    }
}

fn first_seq(rng: &mut Rng) -> Seq {
    if rng.one_in(2) { Seq(0) - rng.below(3_000) as u32 } else { Seq(rng.draw() as u32) }
}

/// Paces bare packets as the wire paces full ones.
fn sender(rng: &mut Rng, up: &LinkSpec, full_bytes: u32) -> SenderConfig {
    if rng.one_in(6) {
        return SenderConfig::default();
    }
    let bare_bits = 8 * u64::from(BARE_FRAME_BYTES);
    let share = rng.within(50..=100);
    let link_bps = bare_bits * 1_000_000_000 / up.wire_time(full_bytes).0.max(1) * share / 100;
    SenderConfig::default()
        .with_link_bps(link_bps.clamp(10_000, 10_000_000_000_000))
        .and_then(|config| config.with_burst(Nanos(rng.pick(&[0, 1_000, 100_000]))))
        .expect("both are clamped to their range")
}

fn source(rng: &mut Rng, kind: Kind, wire_time: Nanos) -> SourceSpec {
    let packets = match kind {
        Kind::Flow => rng.spread(100..=30_000),
        Kind::Churn => rng.spread(1..=200) - 1,
        Kind::Storm => rng.spread(10..=10_000),
    };
    // A source never runs for much longer than its faults.
    let interval_max = (2_000_000_000 / (packets + 1)).min(1_000_000).max(wire_time.0 + 1);
    let interval = Nanos(rng.spread(wire_time.0.max(1)..=interval_max));
    let rare = |rng: &mut Rng| {
        if rng.one_in(3) { Odds::ppm(rng.spread(10..=20_000)) } else { Odds::NEVER }
    };
    SourceSpec {
        packets: Some(packets),
        pace: rng.pick(&[
            Pace::Greedy,
            Pace::Greedy,
            Pace::Converter(interval),
            Pace::Paced(interval),
        ]),
        samples: 1,
        end_of_burst: rare(rng),
        overflow: rare(rng),
        ends: rng.pick(&[Ending::Close, Ending::Close, Ending::Close, Ending::Cancel]),
        breach: None,
    }
}

fn consumer(rng: &mut Rng, wire_time: Nanos, may_play: bool) -> ConsumerSpec {
    let interval = Nanos((wire_time.0 * rng.within(10..=130) / 100).max(1));
    match rng.below(4) {
        0 => ConsumerSpec::Slow {
            interval,
            pause: Nanos(rng.spread(10_000..=10_000_000)),
            pause_one_in: rng.spread(100..=10_000),
        },
        1 if may_play => {
            let (prefill, underflow) = (rng.spread(1..=64) as u32, Underflow::Zeros);
            ConsumerSpec::Player { interval, prefill, underflow }
        }
        _ => ConsumerSpec::Immediate,
    }
}

pub(crate) fn client(
    rng: &mut Rng,
    kind: Kind,
    device: ProcessId,
    stream: u16,
    up: &LinkSpec,
) -> ClientSpec {
    let delivery = match rng.below(10) {
        0..5 => Delivery::Complete,
        5..8 => Delivery::Deadline(Nanos(rng.spread(20_000..=50_000_000) / 1_000 * 1_000)),
        _ => Delivery::BestEffort,
    };
    let sends = rng.one_in(5);
    let sessions = if kind == Kind::Churn { rng.within(2..=40) } else { rng.within(1..=3) };
    let wire_time = up.wire_time(1_500);
    ClientSpec {
        underflow: Underflow::Zeros,
        device,
        stream,
        role: match (rng.below(20), sends) {
            (0, _) => Role::Describe,
            (_, true) => Role::Send,
            (_, false) => Role::Receive,
        },
        owner: 1,
        delivery,
        window: rng.spread(2..=4_096) as u32,
        packet_bytes_max: rng.pick(&[1_280, 1_500, 9_000, 9_000]),
        first_seq: first_seq(rng),
        sessions: sessions as u32,
        opens_at: Nanos(rng.below(10_000_000)),
        pause: Nanos(rng.spread(1_000..=10_000_000)),
        cancels_after: rng.one_in(4).then(|| Nanos(rng.spread(1_000..=200_000_000))),
        open_timeout: Nanos::from_millis(rng.pick(&[200, 1_000, 3_000])),
        is_foreign: false,
        consumer: consumer(rng, wire_time, false),
        source: source(rng, kind, wire_time),
        sender: sender(rng, up, 1_500),
        path_mtu: None,
    }
}

/// Lets a part of the streams go over RDMA, in one world of some. Drawn last, and apart from all else:
/// the other worlds are as they were.
pub(crate) fn carry(plan: &mut Plan, rng: &mut Rng) {
    if !rng.one_in(RDMA_ONE_IN) {
        return;
    }
    let path_mtu = |rng: &mut Rng| rng.pick(&PathMtu::ALL[..4]);
    for (_, device, _) in &mut plan.devices {
        device.payload_bytes = rng.pick(&PAYLOADS_BYTES);
        device.path_mtu = (!rng.one_in(8)).then(|| path_mtu(rng));
        let packets = device.source.packets;
        device.source.packets = packets.map(|packets| packets.min(RDMA_PACKETS_MAX));
        // A queue pair tries as long.
        device.dead_ms = rng.pick(&[400, 1_000, 3_000]);
    }
    for client in &mut plan.clients {
        if client.role == Role::Receive && !rng.one_in(4) {
            client.path_mtu = Some(path_mtu(rng));
            client.delivery = Delivery::Complete;
            client.window = client.window.next_power_of_two();
        }
    }
    // Some longer than a queue pair tries.
    for _ in 0..rng.below(4) {
        let at = Nanos(rng.spread(1_000_000..=plan.heals_at.0.max(2_000_000)));
        let link = rng.below(plan.links.len() as u64) as usize;
        let span = Nanos(rng.within(200_000_000..=1_500_000_000));
        plan.faults.push((at, Fault::Down { link, span }));
    }
    plan.faults.sort_by_key(|(at, _)| *at);
    // A loss repeats a window, and some in a row end a connection.
    if rng.one_in(2) {
        let lost = Loss::Independent(Odds::ppm(rng.spread(100..=50_000)));
        for (link, _) in &mut plan.links {
            link.loss = lost;
        }
    }
}

/// A device sends its first streams, and plays the last: one client of each sends to that.
pub(crate) fn place(plan: &mut Plan) {
    let mut has_sender = vec![false; plan.devices.len()];
    for client in &mut plan.clients {
        let number = usize::from(client.device);
        let streams = plan.devices[number].1.streams;
        let is_unknown = client.stream >= streams;
        if client.role == Role::Send && std::mem::replace(&mut has_sender[number], true) {
            client.role = Role::Receive;
        }
        client.stream = match client.role {
            _ if is_unknown => streams + 1,
            Role::Send => streams,
            Role::Receive | Role::Describe => client.stream,
        };
    }
}

/// No source has more packets than its windows can move in some hundred
/// round trips.
fn bound_packets(devices: &mut [(MachineSpec, DeviceSpec, Cable)], clients: &mut [ClientSpec]) {
    for client in clients {
        let (_, device, _) = &mut devices[usize::from(client.device)];
        let window = u64::from(client.window.min(device.window));
        for source in [&mut device.source, &mut client.source] {
            source.packets = source.packets.map(|packets| packets.min(window * ROUND_TRIPS_MAX));
        }
    }
}

fn faults(
    rng: &mut Rng,
    kind: Kind,
    heals_at: Nanos,
    links: &[(LinkSpec, Option<usize>)],
    devices: usize,
    clients: usize,
) -> Vec<(Nanos, Fault)> {
    let count = match kind {
        Kind::Flow => rng.below(4),
        Kind::Churn => rng.below(8),
        Kind::Storm => rng.spread(4..=32),
    };
    let mut faults: Vec<_> = (0..count)
        .map(|_| {
            let link = rng.below(links.len() as u64) as usize;
            let fault = match rng.below(if kind == Kind::Flow { 2 } else { 6 }) {
                0 => Fault::Pause {
                    machine: rng.below(devices as u64 + 1) as usize,
                    span: Nanos(rng.spread(300_000..=10_000_000)),
                },
                1 => Fault::Stall { link, span: Nanos(rng.spread(300_000..=3_000_000)) },
                2 => Fault::Down { link, span: Nanos(rng.spread(100_000..=4_000_000_000)) },
                _ => Fault::Restart {
                    process: rng.below((devices + clients) as u64) as ProcessId,
                    pause: Nanos(rng.spread(1_000..=500_000_000)),
                },
            };
            (Nanos(rng.below(heals_at.0)), fault)
        })
        .collect();
    faults.sort_by_key(|(at, _)| *at);
    faults
}

/// A source that goes over RDMA has no more packets: a loss repeats up to a window.
const RDMA_PACKETS_MAX: u64 = 2_000;

/// In so many worlds one has streams over RDMA.
const RDMA_ONE_IN: u64 = 4;

/// WRITEs of one to six RDMA packets; with zeros before the record, with a record that has the last packet
/// to itself, and with packets that not every link carries.
const PAYLOADS_BYTES: [u16; 6] =
    [payload::BYTES as u16, 200, 256, 448, 704, payload::BYTES_MAX as u16];

/// Round trips that a source takes at most when it is bound by its window.
const ROUND_TRIPS_MAX: u64 = 500;

/// A DATA packet without padding on the wire, as the sender's pacer counts it.
pub(crate) const BARE_FRAME_BYTES: u32 = 8 + 12 + 14 + 4 + 20 + 8 + 22 + 16 + 4;
