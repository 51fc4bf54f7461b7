//! What is simulated.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{DcqcnParams, WireRate};

use super::preset::Preset;
use super::topology::Topology;
use samplewire_switch::{Pfc, SwitchConfig};

/// Flows through a network.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Hosts, switches and links.
    pub topology: Topology,
    /// Senders and receivers, when each sends, and under which control. A host sends at most one flow.
    pub flows: Vec<FlowSpec>,
    /// What senders do about lost frames.
    pub traffic: Traffic,
    /// What a frame takes of the wire.
    pub wire_bytes: u32,
    /// The delay of each link. Reports of steady flows take as long as frames that
    /// find no queue.
    pub wire_delay: Nanos,
    /// A receiver reports a mark at once, but not more often than this.
    pub report_spacing: Nanos,
    /// Share of the reports that are lost, in millionths.
    pub report_loss_ppm: u64,
    /// Whether marks on acknowledgements cut the rate too; of RoCE alone.
    pub congested_acks_cut: bool,
    /// Share of the data that is marked besides what switches mark, in millionths; not of steady flows.
    pub stray_marks_ppm: u64,
    /// Buffer, marks and PFC of every switch.
    pub switch: SwitchConfig,
    /// Each flow begins within so long after its time, drawn from the seed.
    pub spread: Nanos,
    /// Decides which frames are marked, which reports are lost and when each flow begins.
    pub seed: u64,
    /// When to measure from, and until when.
    pub span: (Nanos, Nanos),
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    /// The host that sends.
    pub from: usize,
    /// The host that receives.
    pub to: usize,
    /// When it begins.
    pub joins_at: Nanos,
    /// When it ends.
    pub leaves_at: Nanos,
    /// It ends after so many frames, too.
    pub frames: Option<u64>,
    /// How its rate follows from notifications.
    pub control: Control,
    /// Of a stream: the bits a second of samples that a converter gives, room or not.
    pub converter_bps: Option<u64>,
    /// Whether it is an uninvolved flow: it counts for none of the figures but its own rate.
    pub is_victim: bool,
}

/// How a rate follows from notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It is that of the sender's link.
    None,
    /// It is this.
    Fixed(WireRate),
    /// By the machine of integers that senders run.
    Dcqcn(DcqcnParams),
    /// By the same rules in floating point.
    Reference(DcqcnParams),
}

/// What flows do about lost frames. All have data at any time, except streams of a converter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Nothing: every frame that comes is of use.
    Steady,
    /// Reliable connections of RoCEv2, by the crate `samplewire-roce`: the sender repeats everything
    /// from the first missing frame on.
    Roce {
        /// Packets that wait for an acknowledgement at most, 1 to 65,536.
        window: u32,
    },
    /// Streams of the endpoint of crate `samplewire`: REPORTs come back through the network, and lost
    /// packets are repeated.
    Stream {
        /// Packets that may await their repair.
        window: u32,
    },
    /// Streams and reliable connections in turn, the first flow a stream.
    Both {
        /// Packets of each that are on their way at most, 1 to 65,536.
        window: u32,
    },
}

impl Scenario {
    /// `senders` hosts of `line_bps` into one link of `shared_bps`, under a preset, with a loop of
    /// 4 us and a buffer of 2 MB; measured from 0.2 to 0.4 s.
    pub fn star(
        preset: Preset,
        senders: usize,
        line_bps: u64,
        shared_bps: u64,
        wire_bytes: u32,
    ) -> Self {
        let control = Control::Dcqcn(preset.params(line_bps));
        Self {
            topology: Topology::star(senders, line_bps, shared_bps),
            flows: (0..senders).map(|from| FlowSpec::new(from, senders, control)).collect(),
            traffic: Traffic::Steady,
            wire_bytes,
            wire_delay: Nanos::from_micros(1),
            report_spacing: preset.report_spacing(),
            report_loss_ppm: 0,
            congested_acks_cut: false,
            stray_marks_ppm: 0,
            switch: SwitchConfig {
                marking: Some(preset.marking(line_bps)),
                ..SwitchConfig::plain(2_000_000)
            },
            spread: Nanos::from_micros(100),
            seed: 1,
            span: (Nanos::from_millis(200), Nanos::from_millis(400)),
        }
    }

    /// Two senders, a third that joins them at 0.2 s, and one after the other leaves: at 0.4 s and at
    /// 0.5 s. Measured from 0.1 to 0.6 s.
    pub fn turns(preset: Preset, line_bps: u64, wire_bytes: u32) -> Self {
        let mut scenario = Self::star(preset, 3, line_bps, line_bps, wire_bytes);
        scenario.flows[2].joins_at = Nanos::from_millis(200);
        scenario.flows[2].leaves_at = Nanos::from_millis(400);
        scenario.flows[1].leaves_at = Nanos::from_millis(500);
        scenario.span = (Nanos::from_millis(100), Nanos::from_millis(600));
        scenario
    }

    /// Two switches with a trunk four times as fast as a host's link. Three senders at the first and
    /// one at the second send to one server at the second; an uninvolved flow goes from the first to
    /// another server at the second.
    pub fn two_switches(preset: Preset, line_bps: u64, wire_bytes: u32) -> Self {
        let control = Control::Dcqcn(preset.params(line_bps));
        let mut flows: Vec<_> =
            [0, 1, 2, 4].map(|from| FlowSpec::new(from, 5, control)).into_iter().collect();
        flows.push(FlowSpec { is_victim: true, ..FlowSpec::new(3, 6, control) });
        Self {
            topology: Topology::two_switches(line_bps, 4 * line_bps),
            flows,
            ..Self::star(preset, 1, line_bps, line_bps, wire_bytes)
        }
    }

    /// Three senders to one server, and two uninvolved flows that congest the way back to the first
    /// sender. It does not matter to steady flows, whose reports find no queue.
    pub fn return_path(preset: Preset, line_bps: u64, wire_bytes: u32) -> Self {
        let mut scenario = Self::star(preset, 5, line_bps, line_bps, wire_bytes);
        for flow in &mut scenario.flows[3..] {
            (flow.to, flow.is_victim) = (0, true);
        }
        scenario
    }

    /// 143 boards of `line_bps` behind six leaves with trunks of ten times that, and four servers of
    /// ten times that at the spine; each board sends to one of them.
    pub fn camera(preset: Preset, line_bps: u64, wire_bytes: u32) -> Self {
        let (boards, leaves, servers) = (143, 6, 4);
        let fast = 10 * line_bps;
        let control = Control::Dcqcn(preset.params(line_bps));
        // Boards are at the leaves in turn, so each leaf has boards of every server.
        let server = |board: usize| boards + board / leaves % servers;
        Self {
            topology: Topology::leaf_and_spine((boards, line_bps), (leaves, fast), (servers, fast)),
            flows: (0..boards).map(|it| FlowSpec::new(it, server(it), control)).collect(),
            ..Self::star(preset, 1, line_bps, line_bps, wire_bytes)
        }
    }

    /// Puts all flows under another control.
    pub fn set_control(&mut self, control: Control) {
        self.flows.iter_mut().for_each(|flow| flow.control = control);
    }

    /// Every flow sends so many frames and ends; measured from the start.
    pub fn set_burst(&mut self, frames: u64) {
        self.flows.iter_mut().for_each(|flow| flow.frames = Some(frames));
        self.span.0 = Nanos(0);
    }

    /// Turns PFC on, with thresholds that lose nothing: each port has its part of the buffer, less
    /// what arrives until its neighbour stops.
    pub fn set_pfc(&mut self) {
        let ports = self.topology.switches.iter().map(Vec::len).max().unwrap_or(1) as u64;
        let speeds = self.topology.switches.iter().flatten().map(|port| port.bps);
        let bits = speeds.max().unwrap_or(0) / 1_000_000 * self.wire_delay.0 * 2 / 1_000;
        let frame = u64::from(self.wire_bytes);
        let headroom = bits / 8 + 3 * frame;
        let xoff_bytes = (self.switch.buffer_bytes / ports).saturating_sub(headroom).max(frame);
        self.switch.pfc =
            Some(Pfc { xoff_bytes, xon_bytes: xoff_bytes - xoff_bytes.min(2 * frame) });
    }

    /// The rate that all servers can take of the flows that count, in bits a second.
    pub(super) fn capacity_bps(&self) -> u64 {
        self.servers().iter().map(|&server| self.topology.host_bps(server)).sum()
    }

    /// The hosts that receive flows that count, in order.
    pub(super) fn servers(&self) -> Vec<usize> {
        let mut servers: Vec<_> =
            self.flows.iter().filter(|flow| !flow.is_victim).map(|flow| flow.to).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }
}

impl FlowSpec {
    /// A flow from the start of the run to its end.
    pub const fn new(from: usize, to: usize, control: Control) -> Self {
        Self {
            from,
            to,
            joins_at: Nanos(0),
            leaves_at: Nanos(u64::MAX),
            frames: None,
            control,
            converter_bps: None,
            is_victim: false,
        }
    }
}
