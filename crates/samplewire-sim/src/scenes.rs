//! What a seed runs: the mixture of everything, or a scene for what the mixture seldom meets.
//!
//! A scene forces rare transitions of the state tables with few packets: virtual time costs nothing.
//! Its machines are the mixture's, with parameters and faults of its own. Each scene is a way to
//! bring two things together that seldom meet: a restart and a stream that closes, a partition and
//! a packet that is requested, loss for ten seconds and a sender that goes on.

use samplewire_io::faults::Loss;
use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;
use samplewire_proto::{Departure, Nanos, Odds, Rng};

use crate::check::Breach;
use crate::draw::{self, BARE_FRAME_BYTES, Kind};
use crate::hostile::HostileSpec;
use crate::link::LinkSpec;
use crate::packets::ProcessId;
use crate::plan::{Cable, Fault, Plan};
use crate::process::{ClientSpec, ConsumerSpec, DeviceSpec};
use crate::source::{Ending, Pace, SourceSpec};

/// What a scene dwells on.
#[derive(Clone, Copy, Debug)]
enum Scene {
    /// Loss that persists: the circuit breaker.
    Breaker,
    /// Openings that are refused, or that find no size.
    Refusals,
    /// Restarts of the device among short streams through loss.
    Restarts,
    /// Partitions among short streams through loss.
    Partitions,
    /// Short streams over links that let some packets arrive after the stream's end.
    Latecomers,
}

/// The plan of a seed, with hostile packets.
pub(crate) fn plan(seed: u64) -> Plan {
    let mut plan = peaceful(seed);
    draw::carry(&mut plan, &mut Rng::new(seed ^ CARRIAGE_SALT));
    let rng = &mut Rng::new(seed ^ HOSTILE_SALT);
    let is_on_path = rng.one_in(8);
    // In the time up to there so many bursts come.
    let bursts = rng.within(20..=60);
    let every = Nanos(plan.heals_at.0 / bursts);
    plan.hostile = Some(HostileSpec { burst: 64, every, is_on_path });
    if is_on_path {
        // A player's grid goes where its sender says.
        plan.devices.iter_mut().for_each(|(_, device, _)| {
            device.consumer = ConsumerSpec::Immediate;
        });
    }
    plan
}

/// The plan of a seed, but for hostile packets.
fn peaceful(seed: u64) -> Plan {
    // Drawn apart from the plan: a seed of the mixture keeps it, whatever scenes there are.
    let mut rng = Rng::new(seed ^ SCENE_SALT);
    if rng.below(100) >= SCENE_PERCENT {
        return draw::mixture(seed);
    }
    let rng = &mut rng;
    match rng.below(100) {
        0..4 => Stage::new(rng, Scene::Breaker).plan(rng),
        4..18 => Stage::new(rng, Scene::Refusals).plan(rng),
        18..46 => Stage::new(rng, Scene::Restarts).plan(rng),
        46..80 => Stage::new(rng, Scene::Partitions).plan(rng),
        80..86 => Stage::new(rng, Scene::Latecomers).plan(rng),
        86..93 => overrun(draw::mixture(seed), rng),
        _ => twist(draw::mixture(seed), rng),
    }
}

/// The mixture with sources that change their mind, programs of
/// another version, converters that play as fast as their source goes, and small socket buffers.
fn twist(mut plan: Plan, rng: &mut Rng) -> Plan {
    // A host that stops reading, and has little room meanwhile.
    plan.host.socket_packets = rng.spread(8..=256) as usize;
    for _ in 0..PAUSES {
        let span = Nanos(rng.spread(300_000..=10_000_000));
        let at = Nanos(rng.below(plan.heals_at.0));
        plan.faults.push((at, Fault::Pause { machine: HOST, span }));
    }
    plan.faults.sort_by_key(|(at, _)| *at);
    for (_, device, _) in &mut plan.devices {
        device.source.ends = ending(rng);
    }
    for client in &mut plan.clients {
        client.source.ends = ending(rng);
        client.is_foreign = rng.one_in(8);
        // What plays on plays as fast as its source goes.
        if let Pace::Paced(interval) | Pace::Converter(interval) = client.source.pace {
            let (_, device, _) = &mut plan.devices[usize::from(client.device)];
            let (prefill, underflow) = (rng.spread(1..=64) as u32, Underflow::Zeros);
            device.consumer = ConsumerSpec::Player { interval, prefill, underflow };
            if rng.one_in(3) {
                client.underflow = Underflow::Stop;
            }
        }
    }
    plan
}

/// The mixture with deliveries that give up, sources that lose much, links that lose some, and a host
/// whose socket has room for a few packets: gaps of several causes.
fn overrun(mut plan: Plan, rng: &mut Rng) -> Plan {
    plan.host.socket_packets = rng.spread(2..=32) as usize;
    for _ in 0..PAUSES {
        let span = Nanos(rng.spread(30_000..=3_000_000));
        let at = Nanos(rng.below(plan.heals_at.0 / 4));
        plan.faults.push((at, Fault::Pause { machine: HOST, span }));
    }
    plan.faults.sort_by_key(|(at, _)| *at);
    for (link, _) in &mut plan.links {
        link.loss = Loss::Independent(Odds::ppm(rng.spread(1_000..=100_000)));
    }
    for (_, device, _) in &mut plan.devices {
        device.source.overflow = Odds::ppm(rng.spread(1_000..=100_000));
        device.source.end_of_burst = Odds::ppm(rng.spread(1..=50_000));
    }
    for client in &mut plan.clients {
        client.role = Role::Receive;
        client.cancels_after = None;
        client.delivery = if rng.one_in(2) {
            Delivery::BestEffort
        } else {
            Delivery::Deadline(Nanos(rng.spread(20..=5_000) * 1_000))
        };
    }
    plan
}

fn ending(rng: &mut Rng) -> Ending {
    match rng.below(3) {
        0 => Ending::CloseThenCancel(Nanos(rng.spread(1_000..=100_000_000))),
        1 => Ending::Fail,
        _ => Ending::Close,
    }
}

/// One device with a few streams and a client for each, over one cable.
#[derive(Clone, Copy, Debug)]
struct Stage {
    scene: Scene,
    up: LinkSpec,
    down: LinkSpec,
    device: DeviceSpec,
    heals_at: Nanos,
}

impl Stage {
    fn new(rng: &mut Rng, scene: Scene) -> Self {
        let rate_bps = rng.spread(50_000_000..=1_000_000_000);
        let delay = match scene {
            // Every size is tried while an opening lasts.
            Scene::Refusals => Nanos(rng.spread(100_000..=5_000_000)),
            _ => Nanos(rng.spread(4_000_000..=40_000_000)),
        };
        let clean = LinkSpec::clean(rate_bps, delay);
        let lossy = |rng: &mut Rng, percents| LinkSpec {
            loss: Loss::Independent(Odds::ppm(rng.within(percents) * 10_000)),
            ..clean
        };
        let (up, down) = match scene {
            Scene::Breaker => (lossy(rng, 65..=80), lossy(rng, 0..=10)),
            Scene::Refusals => {
                let mtu_bytes = rng.pick(&[576, 1_400, 1_500, 1_500, 4_096, 4_096]);
                let narrow = LinkSpec { mtu_bytes, ..lossy(rng, 0..=50) };
                (narrow, if rng.one_in(2) { narrow } else { clean })
            }
            Scene::Latecomers => {
                let reorder_by = Nanos(rng.within(50_000_000..=1_000_000_000));
                let reorder = Odds::ppm(rng.within(50_000..=300_000));
                let late = LinkSpec { reorder, reorder_by, ..lossy(rng, 0..=30) };
                (late, late)
            }
            Scene::Restarts | Scene::Partitions => (lossy(rng, 30..=80), lossy(rng, 0..=60)),
        };
        let device = draw::device(rng, Kind::Churn, &up, up.mtu_bytes);
        let packets = rng.spread(1..=32);
        let device = DeviceSpec {
            packet_bytes: 1_280,
            window: rng.spread(32..=256) as u32,
            // A half-open stream is forgotten before its peer is dead.
            dead_ms: if matches!(scene, Scene::Refusals) { 15_000 } else { 400 },
            // So that holes stay open while best effort drains.
            reorder_tolerance: Departure::units(Nanos(rng.below(200_000_000))),
            source: short_source(rng, packets),
            ..device
        };
        Self { scene, up, down, device, heals_at: Nanos(rng.spread(1_000_000_000..=4_000_000_000)) }
    }

    fn plan(mut self, rng: &mut Rng) -> Plan {
        let cable = Cable { up: 0, down: 1 };
        let mut clients: Vec<ClientSpec> = (0..self.device.streams)
            .map(|stream| {
                let drawn = draw::client(rng, Kind::Churn, DEVICE, stream, &self.up);
                self.client(rng, drawn)
            })
            .collect();
        match self.scene {
            Scene::Breaker => self.persist(rng, &mut clients),
            Scene::Refusals => self.refuse(rng, &mut clients),
            _ => {}
        }
        let faults = self.faults(rng);
        let host = draw::machine(rng, true);
        let mut plan = Plan {
            hostile: None,
            host,
            devices: vec![(draw::machine(rng, false), self.device, cable)],
            clients,
            links: vec![(self.up, None), (self.down, None)],
            faults,
            heals_at: self.heals_at,
            ends_by: self.heals_at + Nanos::from_millis(300_000),
        };
        draw::place(&mut plan);
        plan
    }

    /// Many short streams, most of them whole; some senders break the rules.
    fn client(&self, rng: &mut Rng, drawn: ClientSpec) -> ClientSpec {
        let packets = rng.spread(1..=32);
        ClientSpec {
            role: if rng.one_in(2) { Role::Send } else { Role::Receive },
            delivery: if rng.one_in(3) { Delivery::BestEffort } else { Delivery::Complete },
            window: rng.spread(32..=256) as u32,
            packet_bytes_max: 1_280,
            sessions: 64,
            pause: Nanos(rng.spread(1_000..=1_000_000)),
            cancels_after: rng.one_in(16).then(|| Nanos(rng.spread(1_000..=20_000_000))),
            consumer: ConsumerSpec::Immediate,
            source: short_source(rng, packets),
            ..drawn
        }
    }

    /// Streams at a low rate through loss that lasts for longer than a sender goes on.
    fn persist(&mut self, rng: &mut Rng, clients: &mut [ClientSpec]) {
        self.heals_at = Nanos(rng.within(14_000_000_000..=30_000_000_000));
        self.device.streams = 1 + rng.below(2) as u16;
        self.device.dead_ms = 3_000;
        // Either the window holds back what is to come, or the stream is closing from the start.
        let is_closing = rng.one_in(2);
        self.device.window = if is_closing { 4_096 } else { 64 };
        self.device.source = SourceSpec {
            ends: Ending::Close,
            breach: None,
            ..short_source(rng, PERSISTENT_PACKETS)
        };
        self.device.sender = slow_sender(rng);
        self.device.reorder_tolerance = 0;
        let role = if rng.one_in(4) { Role::Send } else { Role::Receive };
        if role == Role::Send {
            std::mem::swap(&mut self.up, &mut self.down);
        }
        for client in clients {
            client.role = role;
            client.delivery = Delivery::Complete;
            client.window = self.device.window;
            client.sessions = 2;
            client.cancels_after = None;
            client.open_timeout = Nanos::from_millis(10_000);
            client.source = self.device.source;
            client.sender = slow_sender(rng);
        }
    }

    /// Openings that cannot come to pass.
    fn refuse(&mut self, rng: &mut Rng, clients: &mut [ClientSpec]) {
        for client in clients {
            client.packet_bytes_max = rng.pick(&[1_500, 4_096, 9_000, 9_000]);
            client.open_timeout = Nanos(rng.spread(50_000_000..=2_000_000_000));
            client.is_foreign = rng.one_in(8);
            if rng.one_in(8) {
                client.stream = self.device.streams;
            }
        }
    }

    fn faults(&self, rng: &mut Rng) -> Vec<(Nanos, Fault)> {
        let mut faults = vec![];
        let mut at = Nanos(0);
        for _ in 0..FAULTS_MAX {
            let (pause, fault) = match self.scene {
                // A network card that stalls every few seconds.
                Scene::Breaker => (
                    rng.within(2_000_000_000..=5_000_000_000),
                    Fault::Stall {
                        link: rng.below(2) as usize,
                        span: Nanos(rng.within(300_000..=3_000_000)),
                    },
                ),
                Scene::Restarts => {
                    let process = if rng.one_in(8) { CLIENT } else { DEVICE };
                    let pause = Nanos(rng.spread(1_000..=1_000_000));
                    (rng.spread(10_000_000..=150_000_000), Fault::Restart { process, pause })
                }
                Scene::Partitions => {
                    let link = rng.below(2) as usize;
                    let span = Nanos(rng.within(450_000_000..=900_000_000));
                    (span.0 + rng.spread(20_000_000..=400_000_000), Fault::Down { link, span })
                }
                Scene::Refusals | Scene::Latecomers => break,
            };
            at = at + Nanos(pause);
            if at >= self.heals_at {
                break;
            }
            faults.push((at, fault));
        }
        faults
    }
}

/// A few packets at once; one source in two belongs to a sender that breaks the rules.
fn short_source(rng: &mut Rng, packets: u64) -> SourceSpec {
    let breaches = [Breach::Form, Breach::Form, Breach::Jumps, Breach::Retreats];
    let breach = rng.one_in(2).then(|| rng.pick(&breaches));
    let packets = match breach {
        None => packets,
        // So few may all be lost at first, and the CLOSE comes before them.
        Some(Breach::Form) => packets.min(3),
        // The last index of a shorter stream may retreat too, and then nothing shows it.
        Some(Breach::Jumps | Breach::Retreats) => packets.max(3),
    };
    SourceSpec {
        packets: Some(packets),
        pace: if rng.one_in(2) { Pace::Greedy } else { Pace::Paced(Nanos(rng.below(20_000_000))) },
        samples: 1,
        end_of_burst: Odds::NEVER,
        overflow: Odds::NEVER,
        ends: ending(rng),
        breach,
    }
}

/// A little more than the hundred departures a second below which loss says nothing.
fn slow_sender(rng: &mut Rng) -> SenderConfig {
    let packets_a_second = rng.within(120..=250);
    SenderConfig::default()
        .with_link_bps(8 * u64::from(BARE_FRAME_BYTES) * packets_a_second)
        .expect("a rate of a pacer")
}

/// So many seeds in a hundred are scenes; each takes few packets.
const SCENE_PERCENT: u64 = 65;

/// The device is the first process of a scene, its clients follow.
const DEVICE: ProcessId = 0;
const CLIENT: ProcessId = 1;

/// Packets that a slow sender through loss does not get across before its breaker trips.
const PERSISTENT_PACKETS: u64 = 3_000;

const FAULTS_MAX: usize = 64;

/// The host is the first machine, and pauses so often in a twist.
const HOST: usize = 0;
const PAUSES: u32 = 16;

/// Sets the draw of what is hostile apart from all others.
const HOSTILE_SALT: u64 = 0x48_4F_53_54_49_4C_45;

/// Sets the draw of the carriage apart from all others. Of the salts it is one that leaves the seeds of
/// `swarm/tests.rs` worlds without RDMA, as they were when they failed.
const CARRIAGE_SALT: u64 = 0x52_44_4D_41_04_B6;

/// Sets the draw of a scene apart from that of the mixture.
const SCENE_SALT: u64 = 0x53_43_45_4E_45;
