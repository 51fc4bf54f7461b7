//! Hostile peers beside an honest stream, over real sockets: what the peer spent, what we spent,
//! what the stream kept, and what an address that has not been proven gets back.
//!
//! ```text
//! cargo run --release -p samplewire --example hostile -- \
//!     [--only WORDS] [--rounds N] [--seconds S] [--payload BYTES] [--rate BITS/S] [--json]
//! ```
//!
//! `bench/hostile.py` runs it and keeps the figures; `docs/testing.md` says what they mean. Attacks
//! that forge addresses need CAP_NET_RAW and are skipped without it. All traffic is on loopback.

#[path = "../tests/hostile/amplification.rs"]
mod amplification;
#[path = "../tests/hostile/cpu.rs"]
mod cpu;
#[path = "../tests/hostile/craft.rs"]
mod craft;
#[path = "../tests/hostile/field.rs"]
mod field;
#[path = "../tests/hostile/flood.rs"]
mod flood;
#[path = "../tests/hostile/forge.rs"]
mod forge;
#[path = "../tests/hostile/greedy.rs"]
mod greedy;
#[path = "../tests/hostile/honest.rs"]
mod honest;
#[path = "../tests/hostile/liar.rs"]
mod liar;
#[path = "../tests/hostile/replay.rs"]
mod replay;
#[path = "../tests/hostile/tally.rs"]
mod tally;

use std::error::Error;
use std::time::Duration;

use serde_json::{Value, json};

use amplification::Answer;
use field::{Plan, Row, Window};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let answers = if arguments.only.is_empty() { amplification::measure()? } else { Vec::new() };
    let is_json = arguments.is_json;
    let rows = field::run(arguments.plan, &arguments.only, |row| {
        if !is_json {
            print_row(row);
        }
    })?;
    if is_json {
        let rows: Vec<_> = rows.iter().map(|row| row_json(row, &arguments.plan)).collect();
        let answers: Vec<_> = answers.iter().map(answer_json).collect();
        println!("{}", json!({ "attacks": rows, "amplification": answers }));
    } else {
        for answer in answers {
            println!("{answer:?}: factor {:.2}", answer.factor());
        }
    }
    Ok(())
}

struct Arguments {
    plan: Plan,
    only: String,
    is_json: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let plan = Plan {
            rounds: 5,
            tries: 1,
            window: Duration::from_millis(500),
            payload_bytes: 1_408,
            pace_bps: 1_000_000_000,
        };
        let mut arguments = Self { plan, only: String::new(), is_json: false };
        while let Some(word) = words.next() {
            let plan = &mut arguments.plan;
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            match word.as_str() {
                "--only" => arguments.only = value()?,
                "--rounds" => plan.rounds = value()?.parse::<usize>()?.clamp(1, 1_000),
                "--seconds" => {
                    let seconds = value()?.parse::<f64>()?.clamp(0.05, 60.0);
                    plan.window = Duration::from_secs_f64(seconds);
                }
                "--payload" => plan.payload_bytes = value()?.parse()?,
                "--rate" => plan.pace_bps = value()?.parse()?,
                "--json" => arguments.is_json = true,
                _ => return Err(format!("unknown argument {word}").into()),
            }
        }
        Ok(arguments)
    }
}

fn print_row(row: &Row) {
    println!(
        "{:<52} {:>9.0} packets/s, {:.2} of {:.2} Gb/s kept, {:>6.0} ns a packet, {:>6.0} ns DATA",
        row.attack,
        row.median(|_, window| window.packets as f64 / window.seconds),
        row.kept(),
        row.median(|quiet, _| quiet.goodput_bps / 1e9),
        row.cpu_ns_per_packet(),
        row.cpu_ns_per_data(),
    );
}

fn row_json(row: &Row, plan: &Plan) -> Value {
    json!({
        "attack": row.attack,
        "target": format!("{:?}", row.target),
        "has_pace": row.has_heard_the_pace(plan),
        "kept": row.kept(),
        "cost": row.cost(),
        "cpu_ns_per_packet": row.cpu_ns_per_packet(),
        "cpu_ns_per_taken": row.cpu_ns_per_taken(),
        "cpu_ns_per_data": row.cpu_ns_per_data(),
        "memory_growth_bytes": row.memory_growth_bytes,
        "outcomes": row.outcomes,
        "quiet": row.quiet.iter().map(window_json).collect::<Vec<_>>(),
        "attacked": row.attacked.iter().map(window_json).collect::<Vec<_>>(),
    })
}

fn window_json(window: &Window) -> Value {
    json!({
        "seconds": window.seconds,
        "goodput_bps": window.goodput_bps,
        "data": window.data,
        "retransmissions": window.retransmissions,
        "receiver_cpu_ns": window.receiver_cpu_ns,
        "device_cpu_ns": window.device_cpu_ns,
        "target_cpu_ns": window.target_cpu_ns,
        "packets": window.packets,
        "bytes": window.bytes,
        "attacker_cpu_ns": window.attacker_cpu_ns,
        "taken": window.taken,
        "answered_bytes": window.answered_bytes,
    })
}

fn answer_json(answer: &Answer) -> Value {
    json!({
        "packet": answer.kind,
        "target_end": answer.target,
        "packet_bytes": answer.packet_bytes,
        "packets": answer.packets,
        "sent_bytes": answer.sent_bytes,
        "answered_bytes": answer.answered_bytes,
        "factor": answer.factor(),
    })
}
