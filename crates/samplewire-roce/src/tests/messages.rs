//! Messages of a seed and a number: both ends know what they hold.

use samplewire_proto::Rng;

use super::pair::{Pair, SLOT_BYTES, Settings, TIMEOUT, WAY};
use crate::number::PathMtu;

/// A message of one end.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) len_bytes: u32,
    pub(super) immediate: Option<u32>,
    content: Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    /// Where it begins in its slot.
    Write {
        offset: usize,
    },
}

impl Message {
    /// Half of the lengths are at the edges of packets.
    pub(super) fn draw(seed: u64, number: u64, mtu: PathMtu) -> Self {
        let mut rng = Rng::stream(seed, number);
        let mtu = u64::from(mtu.bytes());
        let longest = SLOT_BYTES as u64 - 64;
        let edges = [0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu, longest];
        let is_edge = rng.one_in(2);
        let any = rng.spread(1..=longest);
        let len_bytes = if is_edge { rng.pick(&edges).min(longest) } else { any } as u32;
        let offset = rng.index(64);
        let kind = if rng.one_in(2) { Kind::Send } else { Kind::Write { offset } };
        let immediate = rng.one_in(2).then_some(number as u32);
        Self { kind, len_bytes, immediate, content: rng }
    }

    /// Whether its last packet completes a receive request.
    pub(super) fn uses_receive(&self) -> bool {
        self.kind == Kind::Send || self.immediate.is_some()
    }

    /// Writes its bytes.
    pub(super) fn fill(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut content = self.content.clone();
        while bytes.len() < self.len_bytes as usize {
            bytes.extend_from_slice(&content.draw().to_le_bytes());
        }
        bytes.truncate(self.len_bytes as usize);
    }

    /// Whether these are its bytes.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        let mut content = self.content.clone();
        bytes.len() == self.len_bytes as usize
            && bytes.chunks(8).all(|part| part == &content.draw().to_le_bytes()[..part.len()])
    }
}

/// Runs until each end has had so many messages acknowledged; returns the frames that were repeated.
fn exchange(settings: Settings, messages: u64) -> u64 {
    repeated(&run(settings, messages))
}

/// Runs until each end has had so many messages acknowledged, and checks the sums.
fn run(settings: Settings, messages: u64) -> Pair {
    let mut pair = Pair::new(settings);
    pair.run([messages; 2]);
    for end in &pair.ends {
        end.check_counters();
        assert_eq!((end.posted, end.completed, end.done), (messages, messages, messages));
    }
    pair
}

fn repeated(pair: &Pair) -> u64 {
    pair.ends.iter().map(|end| end.qp.stats().1.retransmissions).sum()
}

const SETTINGS: Settings = Settings {
    seed: 1,
    mtu: PathMtu::Bytes256,
    window: 64,
    loss: [0.01; 2],
    others: 0.01,
    starves: false,
};

const NO_FAULTS: Settings = Settings { loss: [0.0; 2], others: 0.0, ..SETTINGS };

#[test]
fn messages_arrive_whole_and_once_over_a_wire_without_faults() {
    let settings = NO_FAULTS;
    for (seed, mtu) in PathMtu::ALL.into_iter().enumerate() {
        let repeated = exchange(Settings { seed: seed as u64, mtu, ..settings }, 500);
        assert_eq!(repeated, 0, "nothing is repeated at {mtu:?}");
    }
}

#[test]
fn ten_thousand_messages_arrive_whole_and_once_over_a_bad_wire() {
    for (seed, mtu) in PathMtu::ALL.into_iter().enumerate() {
        let seed = seed as u64;
        let window = [1, 2, 7, 64, 300][seed as usize];
        let starves = seed.is_multiple_of(2);
        let repeated = exchange(Settings { seed, mtu, window, starves, ..SETTINGS }, 1_000);
        assert!(repeated > 0, "there are faults at {mtu:?}");
    }
}

#[test]
fn messages_arrive_whole_and_once_where_every_fifth_frame_has_a_fault() {
    for seed in 0..20 {
        exchange(
            Settings { seed, loss: [0.05; 2], others: 0.05, window: 16, starves: true, ..SETTINGS },
            100,
        );
    }
}

/// One end sends, and this share of its packets is lost: how long that takes in ns, and how many
/// packets it has.
fn transfer(seed: u64, loss: f64) -> (f64, f64) {
    let mut pair = Pair::new(Settings { seed, loss: [loss, 0.0], ..NO_FAULTS });
    let begin = pair.now;
    pair.run([2_000, 0]);
    ((pair.now.0 - begin.0) as f64, pair.ends[0].qp.stats().1.packets as f64)
}

/// With p the share lost, n packets a round trip and t packets a timeout, go-back-N has a goodput of
/// 1 / (1 + p (n + 1) + p^2 t): a loss costs a round trip, and a timeout where its repeat is lost too.
/// Beyond a few percent repeats are lost more than once.
#[test]
fn goodput_under_loss_is_that_of_go_back_n() {
    let sum = |loss| {
        (0..4)
            .map(|seed| transfer(seed, loss))
            .fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    };
    let (whole_ns, packets) = sum(0.0);
    let packet_ns = whole_ns / packets;
    let in_round_trip = 2.0 * WAY.0 as f64 / packet_ns + 1.0;
    let in_timeout = TIMEOUT.span().expect("there is one").0 as f64 / packet_ns;
    println!("{in_round_trip:.0} packets a round trip, {in_timeout:.0} a timeout");
    for loss in [1e-4, 1e-3, 1e-2, 5e-2] {
        let cost = loss * (in_round_trip + 1.0) + loss * loss * in_timeout;
        let (goodput, bound) = (whole_ns / sum(loss).0, 0.95 / (1.0 + cost));
        println!("loss {loss}: {goodput:.3}, at least {bound:.3}");
        assert!(goodput >= bound && goodput <= 1.0, "loss {loss}: {goodput:.3} of {bound:.3}");
    }
}

/// Prints what it counts; SAMPLEWIRE_ROCE_MESSAGES (10^7) is the number of messages of both ends.
#[test]
#[ignore = "minutes: cargo test --release -p samplewire-roce -- --ignored ten_million --nocapture"]
fn ten_million_messages_arrive_whole_and_once_over_a_bad_wire() {
    let messages = std::env::var("SAMPLEWIRE_ROCE_MESSAGES").ok();
    let messages = messages.map_or(10_000_000, |text| text.parse().expect("a number of messages"));
    let pair = run(Settings { starves: true, ..SETTINGS }, messages / 2);
    for end in &pair.ends {
        println!("{:#?}", end.qp.stats());
    }
    assert!(repeated(&pair) > 0, "there are faults");
}
