//! Converters at both ends: an ADC that cannot be stopped, and a DAC that plays on.

use samplewire_io::faults::Loss;
use samplewire_proto::receiver::Delivery;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;
use samplewire_proto::{Nanos, Odds, Seq};

mod rdma;

use super::*;
use crate::check::Tally;
use crate::draw::BARE_FRAME_BYTES;
use crate::link::{ETHERNET_BYTES, LinkSpec};
use crate::plan::Cable;
use crate::process::{ClientSpec, ConsumerSpec, DeviceSpec};
use crate::source::{Ending, Pace, SourceSpec};

const LINE: LinkSpec = LinkSpec::clean(10_000_000_000, Nanos::from_micros(20));
const PACKET_BYTES: u32 = 1_500;
const PACKET_SAMPLES: u32 = 16;
const PACKETS: u64 = 200_000;
const PAUSE: Nanos = Nanos::from_millis(3);

/// A converter at 80 % of the line, in either direction.
fn converter() -> Nanos {
    Nanos(LINE.wire_time(PACKET_BYTES).0 * 10 / 8)
}

/// Packets that the line carries while the host pauses: the sizing rule.
fn ring_by_rule() -> u32 {
    (PAUSE.0 / LINE.wire_time(PACKET_BYTES).0) as u32
}

fn source() -> SourceSpec {
    SourceSpec {
        packets: Some(PACKETS),
        pace: Pace::Converter(converter()),
        samples: PACKET_SAMPLES,
        end_of_burst: Odds::NEVER,
        overflow: Odds::NEVER,
        ends: Ending::Close,
        breach: None,
    }
}

fn plan(role: Role, ring: u32, consumer: ConsumerSpec, faults: Vec<(Nanos, Fault)>) -> Plan {
    let line_bps =
        10_000_000_000 * u64::from(BARE_FRAME_BYTES) / u64::from(PACKET_BYTES + ETHERNET_BYTES);
    let sender = SenderConfig::default().with_link_bps(line_bps).expect("a rate of a pacer");
    let machine = MachineSpec { clock: Clock::default(), poll: Nanos(0), socket_packets: 1 << 16 };
    let device = DeviceSpec {
        streams: 1,
        packet_bytes_max: 9_000,
        packet_bytes: PACKET_BYTES as u16,
        packet_samples: PACKET_SAMPLES,
        window: ring,
        reorder_tolerance: 0,
        dead_ms: 15_000,
        idle_ms: 1_000,
        ranges_max: 128,
        source: source(),
        consumer,
        sender,
        payload_bytes: crate::payload::BYTES as u16,
        path_mtu: None,
    };
    let client = ClientSpec {
        underflow: Underflow::Zeros,
        device: 0,
        // A device plays the stream behind those that it sends.
        stream: u16::from(role == Role::Send),
        role,
        owner: 1,
        delivery: Delivery::Complete,
        window: ring,
        packet_bytes_max: PACKET_BYTES as u16,
        first_seq: Seq(0),
        sessions: 1,
        opens_at: Nanos(0),
        pause: Nanos(0),
        cancels_after: None,
        open_timeout: Nanos::from_millis(10_000),
        is_foreign: false,
        consumer: ConsumerSpec::Immediate,
        source: source(),
        sender,
        path_mtu: None,
    };
    Plan {
        host: machine,
        devices: vec![(machine, device, Cable { up: 0, down: 1 })],
        clients: vec![client],
        links: vec![(LINE, None), (LINE, None)],
        hostile: None,
        faults,
        heals_at: Nanos::from_millis(1_000),
        ends_by: Nanos::from_millis(30_000),
    }
}

/// Runs to the end and returns what was counted.
fn run(plan: &Plan) -> Tally {
    let mut world = World::new(plan, 1);
    world.run();
    assert_eq!(world.checker.failure(), None);
    world.checker.tally
}

/// Pauses of the host, one in 50 ms.
fn pauses() -> Vec<(Nanos, Fault)> {
    let fault = Fault::Pause { machine: 0, span: PAUSE };
    (1..6).map(|n| (Nanos::from_millis(50 * n), fault)).collect()
}

fn adc(ring: u32) -> Tally {
    run(&plan(Role::Receive, ring, ConsumerSpec::Immediate, pauses()))
}

#[test]
fn adc_at_80_percent_of_the_line_loses_nothing_with_the_ring_of_the_sizing_rule() {
    let tally = adc(ring_by_rule());
    assert_eq!((tally.lost_at_source, tally.gaps, tally.indexes_in_gaps), (0, 0, 0));
    assert_eq!(tally.indexes_delivered, PACKETS * u64::from(PACKET_SAMPLES));
}

#[test]
fn adc_before_too_small_a_ring_names_exactly_the_overflow() {
    let ring = ring_by_rule() / 2;
    let tally = adc(ring);
    assert_eq!(tally.indexes_in_gaps, tally.lost_at_source, "what is named is what was lost");
    let samples = PACKETS * u64::from(PACKET_SAMPLES);
    assert_eq!(tally.indexes_delivered + tally.indexes_in_gaps, samples);
    assert_eq!(tally.gaps, 5, "one for each pause");
    // What a pause makes less what the ring holds; of the ring an eighth may be delivered and not
    // yet reported (`docs/protocol.md#4.5`), and two round trips are under way.
    // The pool has as many quanta to spare, of a millisecond each, besides those of the window.
    let spare = 8 * 1_000 / u64::from(PACKET_SAMPLES);
    let least = PAUSE.0 / converter().0 - u64::from(ring) - spare;
    let under_way = 4 * LINE.delay.0 / converter().0;
    let bounds = least..=least + u64::from(ring / 8) + under_way;
    let lost = tally.lost_at_source / u64::from(PACKET_SAMPLES) / tally.gaps;
    assert!(bounds.contains(&lost), "{lost} packets lost in a pause, not {bounds:?}");
}

#[test]
fn deadline_of_2_ms_repairs_ten_percent_loss_but_one_in_a_thousand() {
    let mut plan = plan(Role::Receive, 4_096, ConsumerSpec::Immediate, vec![]);
    plan.clients[0].delivery = Delivery::Deadline(Nanos::from_millis(2));
    // At a fifth of the line, as for a receiver that requests repairs in time.
    plan.devices[0].1.source.pace = Pace::Converter(Nanos(LINE.wire_time(PACKET_BYTES).0 * 5));
    plan.links[0].0.loss = Loss::Independent(Odds::of(0.1));
    plan.heals_at = Nanos::from_millis(30_000);
    let tally = run(&plan);
    let samples = PACKETS * u64::from(PACKET_SAMPLES);
    assert_eq!(tally.indexes_delivered + tally.indexes_in_gaps, samples);
    assert!(tally.losses > PACKETS / 11, "{} were lost", tally.losses);
    assert!(tally.indexes_in_gaps * 1_000 <= samples, "{} missed it", tally.indexes_in_gaps);
}

/// Some quanta, and less than a stall.
const PREFILL: u32 = 256;

fn dac(prefill: u32, underflow: Underflow, faults: Vec<(Nanos, Fault)>) -> Tally {
    let consumer =
        ConsumerSpec::Player { interval: converter(), prefill, underflow: Underflow::Zeros };
    let mut plan = plan(Role::Send, 8_192, consumer, faults);
    plan.clients[0].underflow = underflow;
    run(&plan)
}

/// A stall of 2 ms of the link to the device, which holds everything back.
fn stall() -> Vec<(Nanos, Fault)> {
    vec![(Nanos::from_millis(100), Fault::Stall { link: 1, span: Nanos::from_millis(2) })]
}

#[test]
fn dac_plays_every_index_at_its_time_when_enough_came_before_a_stall() {
    let packets_in_stall = (Nanos::from_millis(2).0 / converter().0) as u32;
    for faults in [vec![], stall()] {
        let tally = dac(2 * packets_in_stall, Underflow::Stop, faults);
        assert_eq!((tally.indexes_late, tally.zeros_played, tally.underruns), (0, 0, 0));
        assert_eq!(tally.indexes_delivered, PACKETS * u64::from(PACKET_SAMPLES));
    }
}

#[test]
fn dac_that_underruns_plays_zeros_and_counts_as_late_what_missed_its_time() {
    let tally = dac(PREFILL, Underflow::Zeros, stall());
    assert_eq!(tally.indexes_delivered, PACKETS * u64::from(PACKET_SAMPLES));
    assert!(tally.underruns >= 1);
    // The grid is kept: each zero stands for an index that came too late, and for no other.
    assert_eq!(tally.zeros_played, tally.indexes_late);
    // The line catches up at a fifth of its rate, so five times what the stall left out is late.
    let stall_samples = Nanos::from_millis(2).0 * u64::from(PACKET_SAMPLES) / converter().0;
    let held = u64::from(PREFILL * PACKET_SAMPLES);
    assert!(
        (5 * (stall_samples - 2 * held)..=5 * stall_samples).contains(&tally.indexes_late),
        "{} late, {stall_samples} in the stall",
        tally.indexes_late
    );
}

#[test]
fn dac_that_is_to_stop_when_it_runs_dry_ends_the_stream_there() {
    let tally = dac(PREFILL, Underflow::Stop, stall());
    assert_eq!((tally.underruns, tally.zeros_played, tally.closings), (1, 0, 2));
    let before_the_stall = Nanos::from_millis(100).0 / converter().0 * u64::from(PACKET_SAMPLES);
    let slack = 2 * u64::from(PREFILL * PACKET_SAMPLES);
    let bounds = before_the_stall - slack..before_the_stall + slack;
    assert!(bounds.contains(&tally.indexes_played), "{} not in {bounds:?}", tally.indexes_played);
}
