//! Captures at random: `decode` ends, prints, and never panics.

use std::fs;

use samplewire_proto::Rng;

use crate::captures::{ethernet, packets_of, pcap, vectors, write_payloads};
use crate::harness::{folder, run, text};

/// Damages a file in a few places, moves parts of it, or cuts it.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.index(8) {
        let at = rng.index(bytes.len());
        match rng.index(6) {
            0 => bytes[at] ^= 1 << rng.index(8),
            1 => bytes[at] = rng.draw() as u8,
            2 => {
                let value = [0, 1, 0x7fff_ffff, u32::MAX, 12, 28][rng.index(6)];
                let end = bytes.len().min(at + 4);
                bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
            3 if rng.index(4) == 0 => bytes.truncate(at.max(1)),
            4 => {
                let end = bytes.len().min(at + rng.index(64));
                bytes.drain(at..end);
                if bytes.is_empty() {
                    bytes.push(0);
                }
            }
            _ => {
                let end = bytes.len().min(at + rng.index(64));
                let part = bytes[at..end].to_vec();
                let to = rng.index(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
}

#[test]
fn mutated_captures_end_with_0_or_1_and_words() {
    let folder = folder("mutations");
    let path = folder.join("capture");
    let mut packets = packets_of(&vectors("packets.json"));
    packets.extend(packets_of(&vectors("invalid.json")));
    let run_of_data = packets[2].repeat(3);
    packets.push(run_of_data);
    write_payloads(&path, &packets);
    let pcapng = fs::read(&path).unwrap();
    let frame = ethernet(&packets[12]);
    let originals = [pcapng, pcap(1, &frame, frame.len())];
    let seed = std::env::var("SAMPLEWIRE_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(1..=RUNS, |seed| seed..=seed) {
        let mut rng = Rng::new(seed);
        let mut bytes = originals[usize::from(seed.is_multiple_of(4))].clone();
        mutate(&mut bytes, &mut rng);
        fs::write(&path, &bytes).unwrap();
        let options: &[&str] = match rng.index(3) {
            0 => &["--json", "--verbose"],
            1 => &["--port", "9100", "--verbose"],
            _ => &[],
        };
        let ran = run(&[&["decode", text(&path)], options].concat());
        assert!(!ran.stderr.contains("panicked"), "SAMPLEWIRE_SEED={seed}: {}", ran.stderr);
        assert!([0, 1].contains(&ran.code()), "SAMPLEWIRE_SEED={seed}: {}", ran.stderr);
        assert_eq!(ran.code() == 1, ran.stderr.contains("error: "), "SAMPLEWIRE_SEED={seed}");
    }
}

/// Each starts a process; the tests in `src/decode` take many more without one.
const RUNS: u64 = 60;
