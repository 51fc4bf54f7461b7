//! Hostile peers over real sockets, beside an honest stream (`docs/testing.md`, Hostile peers).
//!
//! What stands here must hold on a busy machine too: figures are medians of pairs that lie next to
//! each other. `bench/hostile.py` measures longer.

mod amplification;
mod cpu;
mod craft;
mod field;
mod flood;
mod forge;
mod greedy;
mod honest;
mod liar;
mod replay;
mod tally;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samplewire_testing::skip;

use amplification::Answer;
use field::{COST_MOST, KEPT_LEAST, Plan, Row, Window};
use flood::{ATTACKS, Target};
use forge::can_forge;

/// The two need the machine for themselves.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn honest_stream_beside_each_attack_loses_nothing_and_keeps_half_its_goodput() {
    let _alone = alone();
    let plan = Plan {
        rounds: 5,
        tries: 3,
        window: Duration::from_millis(150),
        payload_bytes: 8_000,
        pace_bps: 1_000_000_000,
    };
    let rows = field::run(plan, "", show).expect("the honest stream is whole");
    let expected = ATTACKS.iter().filter(|attack| can_forge() || !attack.forges());
    let (names, expected): (Vec<_>, Vec<_>) =
        (rows.iter().map(|row| row.attack).collect(), expected.map(|attack| attack.name).collect());
    assert_eq!(names, expected, "each attack is measured");
    let at_device = rows.iter().filter(|row| row.target == Target::Device);
    assert!(at_device.map(taken).sum::<u64>() > 0, "no attack reached the device");
    let mut compared = 0;
    for row in &rows {
        let Row { attack, memory_growth_bytes, .. } = row;
        assert!(row.attacked.iter().any(|window| window.packets > 0), "{attack}: nothing was sent");
        assert!(
            *memory_growth_bytes < MEMORY_NOISE_BYTES,
            "{attack}: memory grew by {memory_growth_bytes} bytes"
        );
        // An attack that misses its target proves nothing. A filter in the kernel drops what is of no
        // stream; an attacker with a stream of its own passes it.
        if row.target == Target::OwnDevice {
            assert!(taken(row) > 0, "{attack}: nothing came");
        }
        if row.target == Target::OwnReceiver {
            assert_liar_is_refused(row);
        }
        let goodput_bps = row.median(|_, attacked| attacked.goodput_bps);
        assert!(goodput_bps > 0.0, "{attack}: the honest stream stands still");
        // What a program of ours opens it pays for; a packet is not what that is counted by.
        if row.target != Target::OwnReceiver {
            assert!(row.cost() <= COST_MOST, "{attack}: a packet costs {:.2} of DATA", row.cost());
        }
        if row.has_heard_the_pace(&plan) {
            assert!(row.kept() >= KEPT_LEAST, "{attack}: {:.2} of the goodput", row.kept());
            compared += 1;
        } else {
            println!("the machine is taken otherwise: goodput not compared beside: {attack}");
        }
    }
    if compared == 0 {
        skip("goodput beside attacks: other work takes this machine");
    }
}

#[test]
fn unproven_address_gets_no_more_bytes_than_came_from_it() {
    let _alone = alone();
    let answers = amplification::measure().expect("sockets work");
    for answer in &answers {
        let Answer { kind, target, packet_bytes, packets, sent_bytes, answered_bytes } = answer;
        println!(
            "{target}: {packets} of {kind}, {packet_bytes} bytes each: {sent_bytes} bytes sent, \
             {answered_bytes} answered"
        );
        assert!(*sent_bytes > 0 && answer.factor() <= 1.0, "{answer:?}");
    }
    // An end that answers nothing would pass too.
    for kind in ["Open", "Data", "OPEN of version 2"] {
        let of_kind = |answer: &&Answer| answer.kind == kind && answer.answered_bytes > 0;
        assert!(answers.iter().any(|answer| of_kind(&answer)), "{kind} was never answered");
    }
}

/// Hostile packets that our code was given.
fn taken(row: &Row) -> u64 {
    row.attacked.iter().map(|window| window.taken).sum()
}

/// Our receivers report what is wrong with a device, in several ways, and accept no end of a stream
/// as whole that was not.
fn assert_liar_is_refused(row: &Row) {
    let ended = |text: &str| text.starts_with("ended: ") || text == "closed by us";
    let refused = row.outcomes.iter().filter(|(text, _)| !ended(text));
    assert!(refused.count() > 0, "no lie was refused: {:?}", row.outcomes);
    let broken = row.outcomes.iter().any(|(text, _)| text.starts_with("failed: "));
    assert!(!broken, "a lie broke the link: {:?}", row.outcomes);
}

fn show(row: &Row) {
    let rate =
        |figure: fn(&Window) -> u64| row.median(|_, window| figure(window) as f64 / window.seconds);
    println!(
        "{:<50} {:>9.0} packets, {:>11.0} bytes, {:.2} cpu s a second; we: {:>6.0} ns a packet, \
         {:>6.0} ns taken, {:>6.0} ns DATA, {:>9.0} bytes; stream: {:.2} cpu s, {:>5.0} repeats, \
         {:.2} of {:.2} Gb/s; memory {:+}; {:?}",
        row.attack,
        rate(|window| window.packets),
        rate(|window| window.bytes),
        rate(|window| window.attacker_cpu_ns) / 1e9,
        row.cpu_ns_per_packet(),
        row.cpu_ns_per_taken(),
        row.cpu_ns_per_data(),
        rate(|window| window.answered_bytes),
        rate(|window| window.device_cpu_ns + window.receiver_cpu_ns) / 1e9,
        rate(|window| window.retransmissions),
        row.kept(),
        row.median(|quiet, _| quiet.goodput_bps / 1e9),
        row.memory_growth_bytes,
        row.outcomes,
    );
}

/// Pages of buffers that are used for the first time, and a receiver that is open at one of the two
/// looks: up to 8 MB were seen.
const MEMORY_NOISE_BYTES: i64 = 16 << 20;
