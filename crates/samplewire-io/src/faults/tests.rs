use super::*;
use crate::link::Ecn;
use crate::memory::{self, Memory};

const COUNT: u32 = 2_000;

/// A DATA packet of 40 bytes with a seq.
fn data(seq: u32) -> [u8; 40] {
    let mut bytes = [0x5a; 40];
    bytes[0] = 0x10;
    bytes[14..18].copy_from_slice(&seq.to_be_bytes());
    bytes
}

fn seq(bytes: &[u8]) -> u32 {
    Head::of([bytes, &[], &[]]).seq
}

/// Sends packets 0 to `COUNT` through `near` in slices of 7, and returns what `far` received, until
/// nothing has come for longer than anything is held.
fn carried(mut near: impl Link, mut far: impl Link) -> Vec<Vec<u8>> {
    let (mut batch, mut all) = (Batch::new(64, 1_500), Vec::new());
    let peer = far.local_addr();
    let packets: Vec<_> = (0..COUNT).map(data).collect();
    let mut drain = |far: &mut dyn Link| {
        far.recv(&mut batch).unwrap();
        all.extend(batch.iter().map(|(bytes, _)| bytes.to_vec()));
        batch.len()
    };
    for slice in packets.chunks(7) {
        let slice: Vec<_> =
            slice.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
        assert_eq!(near.send(&slice).unwrap(), slice.len());
        drain(&mut far);
    }
    let deadline = Instant::now() + 3 * REORDER_WAIT;
    while Instant::now() < deadline {
        near.wait(Duration::from_millis(1)).unwrap();
        far.wait(Duration::from_millis(1)).unwrap();
        while drain(&mut far) > 0 {}
    }
    all
}

fn pair() -> (Memory, Memory) {
    memory::pair(4 * COUNT as usize, 1_500, 1_500).unwrap()
}

/// Carries packets through faults of one direction; the log and what arrived.
fn faulty(direction: Direction, spec: &FaultSpec) -> (FaultLog, Vec<Vec<u8>>) {
    let ((near, far), none) = (pair(), FaultSpec::new());
    match direction {
        Direction::Transmit => {
            let near = Faults::new(near, spec, &none).unwrap();
            (near.log(), carried(near, far))
        }
        Direction::Receive => {
            let far = Faults::new(far, &none, spec).unwrap();
            (far.log(), carried(near, far))
        }
    }
}

const DIRECTIONS: [Direction; 2] = [Direction::Transmit, Direction::Receive];

#[test]
fn what_is_missing_is_what_the_log_says_was_lost() {
    for direction in DIRECTIONS {
        let (log, arrived) = faulty(direction, &FaultSpec::new().loss(0.1).burst(4.0));
        let lost: Vec<_> = log.entries().iter().map(|entry| entry.seq).collect();
        let seqs: Vec<_> = arrived.iter().map(|bytes| seq(bytes)).collect();
        let expected: Vec<_> = (0..COUNT).filter(|seq| !lost.contains(seq)).collect();
        assert_eq!(seqs, expected);
        assert!(lost.len() > 100);
        let counts = log.counts(direction);
        assert_eq!((counts.packets, counts.lost), (COUNT.into(), lost.len() as u64));
        assert!(log.entries().iter().all(|entry| entry.ordinal == u64::from(entry.seq)));
    }
}

#[test]
fn both_directions_have_the_same_faults_for_the_same_seed() {
    let spec = FaultSpec::new().loss(0.1).corrupt(0.1).duplicate(0.1).reorder(0.1).seed(11);
    let (sent, _) = faulty(Direction::Transmit, &spec);
    let (received, _) = faulty(Direction::Receive, &spec);
    let strip = |log: FaultLog| -> Vec<_> {
        log.entries().iter().map(|entry| (entry.ordinal, entry.seq, entry.action)).collect()
    };
    let (sent, received) = (strip(sent), strip(received));
    assert!(sent.len() > 500);
    assert_eq!(sent, received);
}

#[test]
fn corrupted_packets_differ_and_no_others() {
    for direction in DIRECTIONS {
        let (log, arrived) = faulty(direction, &FaultSpec::new().corrupt(0.2));
        assert_eq!(arrived.len(), COUNT as usize);
        let entries = log.entries();
        let changed: Vec<_> = (0..COUNT)
            .zip(&arrived)
            .filter(|(seq, bytes)| bytes[..] != data(*seq))
            .map(|(seq, _)| seq)
            .collect();
        let logged: Vec<_> = entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(changed, logged);
        assert!(changed.len() > 300);
    }
}

#[test]
fn duplicates_follow_their_originals() {
    for direction in DIRECTIONS {
        let (log, arrived) = faulty(direction, &FaultSpec::new().duplicate(0.2));
        let doubled: Vec<_> = arrived
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .map(|pair| seq(&pair[0]))
            .collect();
        let logged: Vec<_> = log.entries().iter().map(|entry| entry.seq).collect();
        assert_eq!(doubled, logged);
        assert_eq!(arrived.len(), COUNT as usize + doubled.len());
        assert!(doubled.len() > 300);
    }
}

#[test]
fn reordered_packet_is_overtaken_by_no_more_than_the_depth() {
    for direction in DIRECTIONS {
        let spec = FaultSpec::new().reorder(0.01).depth(3);
        let (log, arrived) = faulty(direction, &spec);
        let seqs: Vec<_> = arrived.iter().map(|bytes| seq(bytes)).collect();
        let mut sorted = seqs.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..COUNT).collect::<Vec<_>>());
        for entry in log.entries() {
            let place = seqs.iter().position(|seq| *seq == entry.seq).unwrap() as u32;
            // One that was itself held does not count as passing.
            let shift = place - entry.seq;
            assert!((1..=4).contains(&shift) || entry.seq + 4 > COUNT, "{entry:?} at {place}");
        }
        assert!(log.counts(direction).reordered > 5);
    }
}

#[test]
fn delayed_packets_keep_their_order_and_are_not_early() {
    let delay = Duration::from_millis(3);
    for direction in DIRECTIONS {
        let start = Instant::now();
        let (log, arrived) = faulty(direction, &FaultSpec::new().delay(delay).hold(4_096));
        assert!(start.elapsed() >= delay);
        let seqs: Vec<_> = arrived.iter().map(|bytes| seq(bytes)).collect();
        assert_eq!(seqs, (0..COUNT).collect::<Vec<_>>());
        assert_eq!(log.counts(direction).delayed, COUNT.into());
        assert!(log.entries().is_empty());
    }
}

#[test]
fn wait_ends_when_a_held_packet_is_due() {
    let ((mut near, far), none) = (pair(), FaultSpec::new());
    let delay = Duration::from_millis(5);
    let mut far = Faults::new(far, &none, &FaultSpec::new().delay(delay)).unwrap();
    near.send(&[Outgoing::whole(far.local_addr(), Ecn::NotEct, &data(1))]).unwrap();
    let mut batch = Batch::new(4, 1_500);
    let start = Instant::now();
    far.recv(&mut batch).unwrap();
    while batch.is_empty() {
        far.wait(Duration::from_secs(60)).unwrap();
        far.recv(&mut batch).unwrap();
    }
    assert!((delay..Duration::from_secs(20)).contains(&start.elapsed()));
}

#[test]
fn at_the_bound_packets_pass_undelayed_and_are_counted() {
    for direction in DIRECTIONS {
        let spec = FaultSpec::new().delay(Duration::from_secs(60)).hold(8);
        let (log, arrived) = faulty(direction, &spec);
        assert_eq!(arrived.len(), COUNT as usize - 8);
        let counts = log.counts(direction);
        assert_eq!((counts.delayed, counts.undelayed), (8, u64::from(COUNT) - 8));
        assert_eq!(counts.packets, COUNT.into());
    }
}

#[test]
fn contradiction_is_found_when_the_link_is_made() {
    let ((near, _far), none) = (pair(), FaultSpec::new());
    let error = Faults::new(near, &none, &FaultSpec::new().loss(2.0)).unwrap_err();
    assert_eq!(error.to_string(), "loss=2: a probability is 0 to 1");
}

/// The error is not of a packet that is offered later, and the packets behind it pass.
#[test]
fn held_packet_that_the_link_refuses_is_lost_alone_and_counted() {
    let ((near, mut far), none) = (memory::pair(16, 64, 1_500).unwrap(), FaultSpec::new());
    let spec = FaultSpec::new().delay(Duration::from_millis(1));
    let mut near = Faults::new(near, &spec, &none).unwrap();
    let (long, short, peer) = ([0x10; 65], data(1), far.local_addr());
    let packets = [&long[..], &short].map(|bytes| Outgoing::whole(peer, Ecn::NotEct, bytes));
    assert_eq!(near.send(&packets).unwrap(), 2);
    let mut batch = Batch::new(4, 1_500);
    let deadline = Instant::now() + Duration::from_secs(20);
    while batch.is_empty() {
        assert!(Instant::now() < deadline, "the second packet is held back");
        near.wait(Duration::from_millis(1)).unwrap();
        far.recv(&mut batch).unwrap();
    }
    assert_eq!(batch.get(0).unwrap().0, short);
    assert_eq!(near.log().counts(Direction::Transmit).refused, 1);
}
