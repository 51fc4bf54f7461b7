use crate::check::Tally;
use crate::swarm::{RunResult, run_tapped};

/// An enhanced packet block as it is in the file.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    interface: u32,
    time_ns: u64,
    wire_len_bytes: u32,
    /// The last two bytes of both IPv4 addresses.
    from: u16,
    to: u16,
    payload: Vec<u8>,
    comment: String,
}

impl Read {
    fn departs(&self) -> bool {
        self.interface.is_multiple_of(2)
    }
}

/// The packets of a file, and what each interface's statistics say was left out.
fn read(mut file: &[u8]) -> (Vec<Read>, Vec<u64>) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let half = |bytes: &[u8], at: usize| u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap());
    let (mut packets, mut left_out) = (vec![], vec![]);
    while !file.is_empty() {
        let (block, rest) = file.split_at(word(file, 4) as usize);
        file = rest;
        match word(block, 0) {
            6 => {
                let len_bytes = word(block, 20) as usize;
                let frame = &block[28..28 + len_bytes];
                let options = &block[28 + len_bytes.next_multiple_of(4)..];
                let comment_bytes = match options[..2] {
                    [1, 0] => word(options, 0) as usize >> 16,
                    _ => 0,
                };
                packets.push(Read {
                    interface: word(block, 8),
                    time_ns: u64::from(word(block, 12)) << 32 | u64::from(word(block, 16)),
                    wire_len_bytes: word(block, 24),
                    from: half(frame, 14),
                    to: half(frame, 18),
                    payload: frame[28..].to_vec(),
                    comment: String::from_utf8(options[4..4 + comment_bytes].into()).unwrap(),
                });
            }
            5 => {
                // isb_ifdrop, end of options, length.
                let at = block.len() - 16;
                left_out.push(u64::from(word(block, at)));
            }
            _ => {}
        }
    }
    (packets, left_out)
}

fn replay(seed: u64, packets_max: usize) -> (RunResult, Vec<Read>, Vec<u64>) {
    let mut run = run_tapped(seed, true, Some(packets_max));
    let tap = run.tap.take().expect("it was requested");
    let mut file = vec![];
    tap.write_pcapng(&mut file).expect("a vector takes all");
    let (packets, left_out) = read(&file);
    assert_eq!(packets.len(), tap.packets());
    assert_eq!(left_out.iter().sum::<u64>(), tap.left_out());
    (run, packets, left_out)
}

/// How often the comments of departures contain `what`.
fn count(packets: &[Read], what: &str) -> u64 {
    let departures = packets.iter().filter(|packet| packet.departs());
    departures.map(|packet| packet.comment.matches(what).count() as u64).sum()
}

#[test]
fn departures_are_those_of_the_trace_with_their_times() {
    for seed in [1, 3, 10] {
        let (run, packets, _) = replay(seed, usize::MAX);
        let sent: Vec<String> = packets
            .iter()
            .filter(|packet| packet.departs())
            .map(|packet| format!("{:>14} {}->{} sends", packet.time_ns, packet.from, packet.to))
            .collect();
        let mut lines = run.trace.lines().filter(|line| line.contains(" sends "));
        assert!(!sent.is_empty(), "seed {seed}");
        for departure in sent {
            let line = lines.next().expect("each departure has a line");
            assert!(line.starts_with(&departure), "{line}\n{departure}");
        }
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn comments_name_each_fault_that_the_links_count() {
    let mut all = Tally::default();
    for seed in 0..100 {
        let (run, packets, _) = replay(seed, usize::MAX);
        let losses = ["lost", "queue full", "above the MTU", "partition"];
        let tally = run.tally;
        all += tally;
        assert_eq!(losses.map(|what| count(&packets, what)).iter().sum::<u64>(), tally.losses);
        assert_eq!(count(&packets, "corrupted"), tally.corruptions, "seed {seed}");
        assert_eq!(count(&packets, "duplicated"), tally.duplicates, "seed {seed}");
        assert_eq!(count(&packets, "reordered"), tally.reorderings, "seed {seed}");
        assert_eq!(count(&packets, "no room"), tally.socket_drops, "seed {seed}");
    }
    for count in [all.losses, all.corruptions, all.duplicates, all.reorderings, all.socket_drops] {
        assert!(count > 0, "{all:?}");
    }
}

#[test]
fn packets_arrive_as_they_departed_unless_the_comment_says_otherwise() {
    let (_, packets, _) = replay(10, usize::MAX);
    let mut arrivals = 0;
    for (at, packet) in packets.iter().enumerate().filter(|(_, packet)| !packet.departs()) {
        arrivals += 1;
        let same = |departure: &Read| {
            departure.departs()
                && departure.time_ns < packet.time_ns
                && departure.payload == packet.payload
                && departure.wire_len_bytes == packet.wire_len_bytes
                && (departure.from, departure.to) == (packet.from, packet.to)
        };
        let is_corrupted = packet.comment.starts_with("corrupted");
        assert_ne!(packets[..at].iter().rev().any(same), is_corrupted, "{packet:?}");
    }
    assert!(arrivals > 0);
}

#[test]
fn full_tap_keeps_the_last_packets_and_counts_the_rest() {
    let (_, all, none) = replay(10, usize::MAX);
    let (_, last, left_out) = replay(10, 100);
    assert_eq!(none.iter().sum::<u64>(), 0);
    assert_eq!(left_out.iter().sum::<u64>(), all.len() as u64 - 100);
    let times = |packets: &[Read]| packets.iter().map(|packet| packet.time_ns).collect::<Vec<_>>();
    assert_eq!(times(&last), times(&all[all.len() - 100..]));
}

#[test]
fn tapped_run_is_the_same_run() {
    let (tapped, plain) = (run_tapped(77, false, Some(1_000)), run_tapped(77, false, None));
    assert_eq!((tapped.tally, tapped.transitions), (plain.tally, plain.transitions));
    assert!(plain.tap.is_none());
}
