//! One device that streams to one host over one link, for figures.

use samplewire_io::faults::Loss;
use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;
use samplewire_proto::{Departure, Nanos, Odds, Seq};

use super::{RepairOptions, RepairRow};
use crate::check::{Repair, Session, Tally};
use crate::clock::Clock;
use crate::draw::BARE_FRAME_BYTES;
use crate::link::{ETHERNET_BYTES, LinkSpec};
use crate::payload;
use crate::plan::{Cable, Fault, MachineSpec, Plan};
use crate::process::{ClientSpec, ConsumerSpec, DeviceSpec};
use crate::source::{Ending, Pace, SourceSpec};
use crate::world::World;

/// What a figure is measured on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    pub(crate) rate_bps: u64,
    pub(crate) rtt: Nanos,
    pub(crate) packet_bytes: u32,
    pub(crate) window: u32,
    pub(crate) data_loss: Loss,
    pub(crate) report_loss: Loss,
    pub(crate) tolerance: Nanos,
    pub(crate) reorder: Odds,
    pub(crate) reorder_by: Nanos,
    pub(crate) pace: Pace,
    /// How long the host stops, and how often.
    pub(crate) pause: Nanos,
    pub(crate) pause_every: Nanos,
    pub(crate) seed: u64,
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) repairs: Vec<Repair>,
    pub(crate) tally: Tally,
    rtt: Nanos,
    goodput_permille: u64,
}

impl Scene {
    pub(crate) fn new(rate_bps: u64, rtt: Nanos, packet_bytes: u32, window_percent: u64) -> Self {
        let wire_time = LinkSpec::clean(rate_bps, Nanos(0)).wire_time(packet_bytes);
        Self {
            rate_bps,
            rtt,
            packet_bytes,
            window: (rtt.0 * window_percent / 100 / wire_time.0).max(8) as u32,
            data_loss: Loss::None,
            report_loss: Loss::None,
            tolerance: Nanos(rtt.0 / 32),
            reorder: Odds::NEVER,
            reorder_by: Nanos(0),
            pace: Pace::Greedy,
            pause: Nanos(0),
            pause_every: Nanos(0),
            seed: 1,
        }
    }

    pub(super) fn of_cell(
        options: &RepairOptions,
        rtt: Nanos,
        window_percent: u64,
        loss_ppm: u64,
    ) -> Self {
        let loss = if loss_ppm == 0 { Loss::None } else { Loss::Independent(Odds::ppm(loss_ppm)) };
        Self {
            data_loss: loss,
            report_loss: loss,
            seed: options.seed,
            ..Self::new(options.rate_bps, rtt, options.packet_bytes, window_percent)
        }
    }

    /// Runs for as long as the link takes for `packets`, after some round trips to settle.
    ///
    /// # Panics
    /// When the checker finds that something did not hold.
    pub(crate) fn measure(&self, packets: u64) -> Measured {
        let wire_time_ps = self.wire_time_ps();
        let span = Nanos((packets * wire_time_ps / 1_000).max(40 * self.rtt.0));
        let mut world =
            World::new(&self.plan(OPENS_BY + Nanos(2 * WARM_RTTS * self.rtt.0) + span), self.seed);
        while world.checker.tally.indexes_delivered == 0 && world.net.now < OPENS_BY {
            world.run_until(world.net.now + self.rtt);
        }
        let warm_at = world.net.now + Nanos(WARM_RTTS * self.rtt.0);
        let end_at = warm_at + span;
        world.run_until(warm_at);
        world.checker.repairs = Some(Vec::with_capacity(1 << 16));
        let accounted =
            |world: &World| -> u64 { world.checker.sessions.iter().map(Session::accounted).sum() };
        let warm = accounted(&world);
        world.run_until(end_at);
        assert_eq!(world.checker.failure(), None, "{self:?}");
        // By packets, not by the blocks that a program is handed.
        let delivered = (accounted(&world) - warm) / u64::from(PACKET_SAMPLES);
        let span_ps = u128::from(end_at.since(warm_at).0) * 1_000;
        world.close();
        Measured {
            repairs: world.checker.repairs.take().unwrap_or_default(),
            tally: world.checker.tally,
            rtt: self.rtt,
            goodput_permille: (u128::from(delivered) * u128::from(wire_time_ps) * 1_000 / span_ps)
                as u64,
        }
    }

    fn wire_time_ps(&self) -> u64 {
        let bits = 8 * u64::from(self.packet_bytes + ETHERNET_BYTES);
        bits * 1_000_000_000 / (self.rate_bps / 1_000)
    }

    fn plan(&self, end_at: Nanos) -> Plan {
        let one_way = Nanos(self.rtt.0 / 2);
        let clean = LinkSpec::clean(self.rate_bps, one_way);
        let up = LinkSpec {
            loss: self.data_loss,
            reorder: self.reorder,
            reorder_by: self.reorder_by,
            ..clean
        };
        let down = LinkSpec { loss: self.report_loss, ..clean };
        let machine = MachineSpec {
            clock: Clock::default(),
            // A process takes a packet in a turn: it does so when that comes.
            poll: Nanos(0),
            socket_packets: 1 << 16,
        };
        let faults = match self.pause_every.0 {
            0 => vec![],
            every => (1..end_at.0 / every)
                .map(|n| (Nanos(n * every), Fault::Pause { machine: 0, span: self.pause }))
                .collect(),
        };
        Plan {
            host: machine,
            devices: vec![(
                MachineSpec { poll: Nanos(0), ..machine },
                self.device(),
                Cable { up: 0, down: 1 },
            )],
            clients: vec![self.client()],
            links: vec![(up, None), (down, None)],
            hostile: None,
            faults,
            heals_at: end_at + Nanos::from_millis(1),
            ends_by: end_at + Nanos::from_millis(60_000),
        }
    }

    fn device(&self) -> DeviceSpec {
        let bare_bps = u128::from(self.rate_bps) * u128::from(BARE_FRAME_BYTES)
            / u128::from(self.packet_bytes + ETHERNET_BYTES);
        DeviceSpec {
            streams: 1,
            packet_bytes_max: 9_000,
            packet_bytes: self.packet_bytes as u16,
            packet_samples: PACKET_SAMPLES,
            window: self.window,
            reorder_tolerance: Departure::units(self.tolerance),
            dead_ms: 15_000,
            idle_ms: 1_000,
            ranges_max: 128,
            source: SourceSpec {
                packets: None,
                pace: self.pace,
                samples: PACKET_SAMPLES,
                end_of_burst: Odds::NEVER,
                overflow: Odds::NEVER,
                ends: Ending::Never,
                breach: None,
            },
            consumer: ConsumerSpec::Immediate,
            sender: SenderConfig::default()
                .with_link_bps(bare_bps as u64)
                .expect("the rate of a link is one of a pacer"),
            payload_bytes: payload::BYTES as u16,
            path_mtu: None,
        }
    }

    fn client(&self) -> ClientSpec {
        ClientSpec {
            underflow: Underflow::Zeros,
            device: 0,
            stream: 0,
            role: Role::Receive,
            owner: 1,
            delivery: Delivery::Complete,
            window: self.window,
            packet_bytes_max: self.packet_bytes as u16,
            first_seq: Seq(0),
            sessions: 1,
            opens_at: Nanos(0),
            pause: Nanos(0),
            cancels_after: None,
            open_timeout: Nanos::from_millis(10_000),
            is_foreign: false,
            consumer: ConsumerSpec::Immediate,
            source: self.device().source,
            sender: SenderConfig::default(),
            path_mtu: None,
        }
    }
}

impl Measured {
    pub(crate) fn goodput_permille(&self) -> u64 {
        self.goodput_permille
    }

    /// DATA that came and was not needed, by repeats, in a million.
    pub(crate) fn unneeded_ppm(&self) -> u64 {
        self.tally.unneeded * 1_000_000 / self.tally.repeats.max(1)
    }

    /// The same by departures.
    pub(crate) fn unneeded_of_departures_ppm(&self) -> u64 {
        self.tally.unneeded * 1_000_000 / self.tally.data_packets.max(1)
    }

    /// The latencies of those repairs that `which` picks, in thousandths of a round trip: p50, p98,
    /// p99, p99.9 and the longest.
    pub(crate) fn latency_permille(&self, which: impl Fn(&Repair) -> bool) -> [u64; 5] {
        let mut took: Vec<u64> = self
            .repairs
            .iter()
            .filter(|repair| which(repair))
            .map(|repair| repair.took.0)
            .collect();
        took.sort_unstable();
        let Some(last) = took.len().checked_sub(1) else { return [0; 5] };
        [500, 980, 990, 999, 1_000]
            .map(|permille| took[last * permille / 1_000] * 1_000 / self.rtt.0)
    }

    pub(super) fn row(
        &self,
        loss_ppm: u64,
        rtt: Nanos,
        window_percent: u64,
        go_back_n_permille: u64,
    ) -> RepairRow {
        let [p50, p98, _, p999, max] = self.latency_permille(|_| true);
        RepairRow {
            loss_ppm,
            rtt,
            window_percent,
            repairs: self.repairs.len() as u64,
            latency_permille: [p50, p98, p999, max],
            goodput_permille: self.goodput_permille,
            unneeded_ppm: self.unneeded_ppm(),
            go_back_n_permille,
        }
    }
}

const PACKET_SAMPLES: u32 = 16;

/// Round trips until a stream has settled.
const WARM_RTTS: u64 = 20;

/// An opening may lose some of its packets.
const OPENS_BY: Nanos = Nanos::from_millis(10_000);
