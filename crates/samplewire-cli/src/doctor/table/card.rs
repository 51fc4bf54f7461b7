//! The network card: what its driver is set to, and what it has counted.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, parse};
use super::super::demand::SOFTIRQ_STALL;
use super::super::fix::{CardParameter, Fix, Place};
use super::super::reader::ReadError;
use crate::figures::{grouped, measured, span};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "card.speed",
        title: "speed of the link",
        severity: Severity::Severe,
        read: speed,
        reason: "the stream's bits with all headers, preambles and gaps between frames",
        cost: "the switch drops what the link does not carry",
        measured: None,
    },
    Check {
        id: "card.duplex",
        title: "duplex of the link",
        severity: Severity::Severe,
        read: duplex,
        reason: "a link that sends or receives, but not both, delays each at the other's frames",
        cost: "collisions: frames are lost at both ends",
        measured: None,
    },
    Check {
        id: "card.rx_ring",
        title: "frames in the receive ring",
        severity: Severity::Severe,
        read: rx_ring,
        reason: "what arrives in 1 ms, for which the kernel may defer its network work",
        cost: "the card drops frames (rx_missed_errors, rx_fifo_errors)",
        measured: None,
    },
    Check {
        id: "card.tx_ring",
        title: "frames in the send ring",
        severity: Severity::Note,
        read: tx_ring,
        reason: "what a sender of this rate sends in 1 ms",
        cost: "sending stops until the card has sent; the stream is slower",
        measured: None,
    },
    Check {
        id: "card.coalescing",
        title: "time between a frame and its interrupt",
        severity: Severity::Risk,
        read: coalescing,
        reason: "half of the time in which this rate fills the receive ring",
        cost: "the ring is nearly full before the kernel starts to empty it",
        measured: None,
    },
    Check {
        id: "card.gro",
        title: "joining of received packets (GRO)",
        severity: Severity::Risk,
        read: joining,
        reason: "needed where packets of this size, one by one, take more than one core",
        cost: "more CPU time for each packet; at the limit packets are dropped",
        measured: Some("a stream of joined packets: 17.3 Gb/s, 0.65 of raw UDP (Intel Xeon, veth)"),
    },
    Check {
        id: "card.gso",
        title: "segmentation of sent packets (tx-udp-segmentation)",
        severity: Severity::Note,
        read: segmentation,
        reason: "needed where packets of this size, one by one, take more than one core",
        cost: "more CPU time for each packet sent",
        measured: Some(
            "segmentation in the kernel: 395 ns of 1,564 ns for each packet (AMD EPYC, veth)",
        ),
    },
    Check {
        id: "card.rx_checksum",
        title: "checksums computed by the card",
        severity: Severity::Note,
        read: checksum,
        reason: "needed where packets of this size take more than one core; the kernel then reads \
                 each byte once more, and cannot join packets",
        cost: "more CPU time for each packet",
        measured: None,
    },
    Check {
        id: "card.channels",
        title: "queues that receive",
        severity: Severity::Note,
        read: channels,
        reason: "a queue is emptied by one core, so at least as many as the stream takes cores; \
                 several streams spread over them",
        cost: "one core empties the ring for all streams",
        measured: None,
    },
    Check {
        id: "card.steering",
        title: "how the card chooses a queue for UDP",
        severity: Severity::Note,
        read: steering,
        reason: "where the stream takes more than one core, by its ports or by a rule: by addresses \
                 alone all streams of a device share a queue",
        cost: "all streams of the device are emptied by one core",
        measured: None,
    },
    Check {
        id: "card.pause",
        title: "flow control towards the switch (tx pause)",
        severity: Severity::Risk,
        read: pause,
        reason: "needed where the ring holds less than 2 ms of this rate: twice the time for which the \
                 kernel may defer its work",
        cost: "the card drops frames that the switch could have kept",
        measured: None,
    },
    Check {
        id: "card.drops",
        title: "frames that the interface dropped since the start",
        severity: Severity::Risk,
        read: drops,
        reason: "any count of rx_dropped, rx_missed_errors, rx_fifo_errors or rx_over_errors is a \
                 loss that has happened",
        cost: "those frames are lost",
        measured: None,
    },
    Check {
        id: "card.errors",
        title: "damaged frames since the start",
        severity: Severity::Risk,
        read: errors,
        reason: "rx_crc_errors, rx_frame_errors and rx_length_errors count what a cable, a plug or a \
                 transceiver damaged",
        cost: "those frames are lost",
        measured: None,
    },
    Check {
        id: "card.driver_drops",
        title: "drops in the driver's own counters",
        severity: Severity::Risk,
        read: driver_drops,
        reason: "a counter of received frames named drop, discard, miss, no_buf or overrun must be 0",
        cost: "those frames are lost",
        measured: None,
    },
    Check {
        id: "card.queue_drops",
        title: "drops in the queues (netdev)",
        severity: Severity::Risk,
        read: queue_drops,
        reason: "the queue's hardware drops and failed allocations must be 0",
        cost: "those frames are lost",
        measured: None,
    },
    Check {
        id: "card.pages",
        title: "pages that the driver takes from the system (netdev)",
        severity: Severity::Note,
        read: pages,
        reason: "a refill takes 64 pages at once: more than one slow allocation in 64 means that \
                 pages are not reused",
        cost: "more CPU time for each packet",
        measured: None,
    },
    Check {
        id: "card.xdp",
        title: "XDP in this driver",
        severity: Severity::Note,
        read: xdp,
        reason: "needed where packets of this size take more cores than the process may use: basic, \
                 redirect, zero copy",
        cost: "the kernel's IP stack cannot be passed by",
        measured: None,
    },
    Check {
        id: "card.pcie_width",
        title: "rate of the card's PCIe link",
        severity: Severity::Severe,
        read: pcie_rate,
        reason: "the stream's bits, and 24 bytes of PCIe headers for each 256 bytes",
        cost: "the card drops frames",
        measured: None,
    },
    Check {
        id: "card.pcie_slot",
        title: "lanes of the card's PCIe link",
        severity: Severity::Note,
        read: pcie_slot,
        reason: "the lanes in use must carry the stream twice, for both directions of a duplex \
                 stream, or be all that the card has",
        cost: "the card sits in a slot, or at a speed, below its own",
        measured: None,
    },
    Check {
        id: "card.numa",
        title: "NUMA node of the card",
        severity: Severity::Note,
        read: numa,
        reason: "the process must have as many CPUs of the card's node as the stream takes cores",
        cost: "each byte crosses between the sockets of the board",
        measured: None,
    },
];

fn speed(context: &Context<'_>) -> Answer {
    let path = context.card_path("speed")?;
    let megabits = context.signed_number(&path)?;
    if megabits <= 0.0 {
        return Err(NoReading::NotApplicable("the driver states no speed".into()));
    }
    let fix = Fix::advice("a faster port, cable or transceiver; or a lower rate");
    let least = context.demand.wire_bits_per_s();
    Ok(Reading::at_least(megabits * 1e6, least, bits).with_fix(fix))
}

fn duplex(context: &Context<'_>) -> Answer {
    let text = context.text(&context.card_path("duplex")?)?;
    let fix = Fix::advice("let both ends negotiate: `ethtool -s IF autoneg on`");
    match text.trim() {
        "unknown" => Err(NoReading::NotApplicable("the driver states no duplex".into())),
        word => Ok(Reading::state(word == "full", word, "full").with_fix(fix)),
    }
}

fn rx_ring(context: &Context<'_>) -> Answer {
    ring(context, CardParameter::RxRing, "rx_max")
}

fn tx_ring(context: &Context<'_>) -> Answer {
    ring(context, CardParameter::TxRing, "tx_max")
}

fn ring(context: &Context<'_>, parameter: CardParameter, most: &str) -> Answer {
    let [answer, key] = parameter.answer();
    let path = context.answer_path(answer)?;
    let (has, most): (f64, u64) = (context.field(&path, key)?, context.field(&path, most)?);
    let least = context.packets_in(SOFTIRQ_STALL);
    let reading = Reading::at_least(has, least, frames);
    let wanted = (least as u64).next_power_of_two().min(most);
    Ok(if wanted as f64 > has {
        reading
            .with_fix(Fix::set(Place::Card(context.card()?.into(), parameter), wanted.to_string()))
    } else {
        reading.with_fix(Fix::advice("the ring is at its largest: larger packets, or more queues"))
    })
}

fn coalescing(context: &Context<'_>) -> Answer {
    let usecs: f64 = context.field(&context.answer_path("coalescing")?, "rx_usecs")?;
    let ring: f64 = context.field(&context.answer_path("rings")?, "rx")?;
    let most = ring / 2.0 / context.demand.packets_per_s();
    let place = Place::Card(context.card()?.into(), CardParameter::RxCoalescing);
    let fix = Fix::set(place, format!("{}", (most * 1e6).floor()));
    Ok(Reading::at_most(usecs * 1e-6, most, span).with_fix(fix))
}

fn joining(context: &Context<'_>) -> Answer {
    offload(context, CardParameter::Joining)
}

fn segmentation(context: &Context<'_>) -> Answer {
    offload(context, CardParameter::Segmentation)
}

fn checksum(context: &Context<'_>) -> Answer {
    offload(context, CardParameter::RxChecksum)
}

/// An offload that must be on if the stream takes more than one core.
fn offload(context: &Context<'_>, parameter: CardParameter) -> Answer {
    let [answer, key] = parameter.answer();
    let path = context.answer_path(answer)?;
    let state = context.word(&path, key)?;
    let is_needed = context.demand.cores() > 1.0;
    let is_fixed = context.text(&path)?.lines().any(|line| line == format!("{key} {state} fixed"));
    let fix = if is_fixed {
        Fix::advice("the driver does not let it be changed: larger packets, or another card")
    } else {
        Fix::set(Place::Card(context.card()?.into(), parameter), "on")
    };
    let limit = if is_needed { "on".to_owned() } else { one_core(context) };
    Ok(Reading::state(&*state == "on" || !is_needed, &*state, limit).with_fix(fix))
}

fn channels(context: &Context<'_>) -> Answer {
    let path = context.answer_path("channels")?;
    let (rx, combined): (f64, f64) =
        (context.field(&path, "rx")?, context.field(&path, "combined")?);
    let most: f64 =
        context.field::<f64>(&path, "rx_max")?.max(context.field(&path, "combined_max")?);
    let least = context.demand.cores().ceil().min(most);
    let words = |queues| format!("{queues}");
    let fix = Fix::advice(format!("ethtool -L {} combined {least}", context.card()?));
    Ok(Reading::at_least(rx + combined, least, words).with_fix(fix))
}

fn steering(context: &Context<'_>) -> Answer {
    let path = context.answer_path("flow_hash")?;
    let (ports, rules): (u8, u64) =
        (context.field(&path, "ports")?, context.field(&path, "rules")?);
    let queues = context.answer_path("channels").and_then(|path| {
        Ok(context.field::<u64>(&path, "rx")?.max(context.field(&path, "combined")?))
    });
    if queues.is_ok_and(|queues| queues <= 1) {
        return Err(NoReading::NotApplicable("the card has one queue".into()));
    }
    let is_needed = context.demand.cores() > 1.0;
    let value = match (ports, rules) {
        (1.., 0) => "addresses and ports".to_owned(),
        (0, 0) => "addresses".to_owned(),
        (_, rules) => format!("{rules} rules"),
    };
    let limit = if is_needed { "ports, or a rule".to_owned() } else { one_core(context) };
    let place = Place::Card(context.card()?.into(), CardParameter::FlowHash);
    let is_right = ports > 0 || rules > 0 || !is_needed;
    Ok(Reading::state(is_right, value, limit).with_fix(Fix::set(place, "3")))
}

fn pause(context: &Context<'_>) -> Answer {
    let state = context.word(&context.answer_path("pause")?, "tx")?;
    let ring: f64 = context.field(&context.answer_path("rings")?, "rx")?;
    let least = context.packets_in(2 * SOFTIRQ_STALL);
    let limit = format!("on, or a ring of {}", frames(least));
    let place = Place::Card(context.card()?.into(), CardParameter::TxPause);
    let is_right = &*state == "on" || ring >= least;
    let value = format!("{state}, a ring of {}", frames(ring));
    Ok(Reading::state(is_right, value, limit).with_fix(Fix::set(place, "on")))
}

fn drops(context: &Context<'_>) -> Answer {
    let names = ["rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];
    let fix =
        Fix::advice("see card.rx_ring and socket.backlog; `ethtool -S IF` has the driver's names");
    counted(context, &names).map(|reading| reading.with_fix(fix))
}

fn errors(context: &Context<'_>) -> Answer {
    let names = ["rx_crc_errors", "rx_frame_errors", "rx_length_errors"];
    let fix =
        Fix::advice("replace the cable or the transceiver; both ends must have one speed and FEC");
    counted(context, &names).map(|reading| reading.with_fix(fix))
}

/// Counters of the interface that must all be 0.
fn counted(context: &Context<'_>, names: &[&str]) -> Answer {
    let (mut sum, mut worst) = (0_u64, (0, names[0]));
    for &name in names {
        let count: u64 = context.number(&context.card_path(&format!("statistics/{name}"))?)?;
        sum = sum.saturating_add(count);
        worst = worst.max((count, name));
    }
    let words = if sum == 0 { "frames".to_owned() } else { format!("frames, most {}", worst.1) };
    Ok(Reading::none(sum, &words))
}

fn driver_drops(context: &Context<'_>) -> Answer {
    let path = context.answer_path("statistics")?;
    let text = context.text(&path)?;
    let (mut sum, mut worst) = (0_u64, (0, ""));
    for line in text.lines() {
        let (name, count) = line.split_once(' ').ok_or_else(|| ReadError::form(&path, line))?;
        let lower = name.to_ascii_lowercase();
        let is_drop =
            ["drop", "discard", "miss", "no_buf", "overrun"].iter().any(|it| lower.contains(it));
        if is_drop && !lower.contains("tx") {
            let count: u64 = parse(&path, count)?;
            sum = sum.saturating_add(count);
            worst = worst.max((count, name));
        }
    }
    let words = if sum == 0 { "frames".to_owned() } else { format!("frames, most {}", worst.1) };
    Ok(Reading::none(sum, &words).with_fix(Fix::advice("see card.rx_ring and card.coalescing")))
}

fn queue_drops(context: &Context<'_>) -> Answer {
    let path = context.netdev_path()?;
    let counts = ["queue_hardware_drops", "queue_allocation_failures"]
        .map(|key| context.field::<u64>(&path, key));
    let [Ok(drops), Ok(failures)] = counts else { return Err(uncounted("queues")) };
    let fix = Fix::advice("see card.rx_ring and memory.reserve");
    Ok(Reading::none(drops.saturating_add(failures), "frames").with_fix(fix))
}

fn pages(context: &Context<'_>) -> Answer {
    let path = context.netdev_path()?;
    let counts = ["pages_fast", "pages_slow"].map(|key| context.field::<f64>(&path, key));
    let [Ok(fast), Ok(slow)] = counts else { return Err(uncounted("page pools")) };
    let words = |pages: f64| format!("{} slow allocations", grouped(pages as u64));
    let fix = Fix::advice("a smaller ring, or more packets joined, so that pages return in time");
    Ok(Reading::at_most(slow, ((fast + slow) / PAGES_OF_REFILL).floor(), words).with_fix(fix))
}

fn xdp(context: &Context<'_>) -> Answer {
    let features: u64 = context.field(&context.netdev_path()?, "xdp_features")?;
    let names = [(1, "basic"), (2, "redirect"), (8, "zero copy")];
    let has = names.iter().filter(|(bit, _)| features & bit != 0).map(|it| it.1);
    let value = has.collect::<Vec<_>>().join(", ");
    let value = if value.is_empty() { "none".to_owned() } else { value };
    let is_needed = context.demand.cores() > context.own_cpus()?.len() as f64;
    let limit = if is_needed { "basic, redirect, zero copy" } else { "none needed" };
    let fix = Fix::advice("larger packets, or a card whose driver has zero copy (i40e, ice, mlx5)");
    Ok(Reading::state(features & 11 == 11 || !is_needed, value, limit).with_fix(fix))
}

fn pcie_rate(context: &Context<'_>) -> Answer {
    let (lane, lanes) = pcie(context, "current")?;
    let least = context.demand.wire_bits_per_s() * (1.0 + 24.0 / 256.0);
    let fix = Fix::advice("another slot: `lspci -vv` shows LnkCap and LnkSta of the card");
    Ok(Reading::at_least(lane * lanes, least, bits).with_fix(fix))
}

fn pcie_slot(context: &Context<'_>) -> Answer {
    let (lane, lanes) = pcie(context, "current")?;
    let (lane_max, lanes_max) = pcie(context, "max")?;
    let least = (2.0 * context.demand.wire_bits_per_s()).min(lane_max * lanes_max);
    let fix = Fix::advice("another slot: `lspci -vv` shows LnkCap and LnkSta of the card");
    Ok(Reading::at_least(lane * lanes, least, bits).with_fix(fix))
}

/// Bits per second of a lane after its coding, and the lanes.
fn pcie(context: &Context<'_>, which: &str) -> Result<(f64, f64), NoReading> {
    let path = context.card_path(&format!("device/{which}_link_speed"))?;
    let Some(text) = context.optional(&path)? else {
        return Err(NoReading::NotApplicable("no PCIe card".into()));
    };
    let transfers: f64 = parse(&path, text.split_ascii_whitespace().next().unwrap_or_default())?;
    let lanes = context.number(&context.card_path(&format!("device/{which}_link_width"))?)?;
    // 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s.
    let coding = if transfers < 8.0 { 0.8 } else { 128.0 / 130.0 };
    Ok((transfers * 1e9 * coding, lanes))
}

fn numa(context: &Context<'_>) -> Answer {
    let node = context.card_node()?;
    let near = context.node_cpus(node)?;
    let own = context.own_cpus()?;
    let shared = own.iter().filter(|cpu| near.contains(cpu)).count() as f64;
    let least = context.demand.cores().ceil().min(near.len() as f64);
    let fix = Fix::advice(format!("start the command with `numactl --cpunodebind={node}`"));
    let words = |cpus| format!("{cpus} CPUs of node {node}");
    Ok(Reading::at_least(shared, least, words).with_fix(fix))
}

fn uncounted(what: &str) -> NoReading {
    NoReading::NotApplicable(format!("the driver counts no {what}"))
}

fn one_core(context: &Context<'_>) -> String {
    format!("any: the stream takes {:.2} cores", context.demand.cores())
}

fn bits(count: f64) -> String {
    measured(count, "b/s")
}

fn frames(count: f64) -> String {
    format!("{} frames", grouped(count as u64))
}

const PAGES_OF_REFILL: f64 = 64.0;
