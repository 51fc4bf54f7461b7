//! Every pair of boundary values of the fields of a packet, through what takes packets.

use super::pair::{RECEIVER_TAG, SENDER_TAG, terms};
use crate::crc::crc32c;
use crate::number::{Nanos, Seq, Tag};
use crate::receiver::{Receiver, ReceiverConfig, RecvSlot};
use crate::sender::{SendSlot, Sender, SenderConfig};
use crate::session::{ListenConfig, Listener, OpenConfig, Opener, Peer, StreamSlot, StreamTerms};
use crate::stream::Terms;
use crate::wire::{self, HEADER_LEN, Packet, PacketType, Role};

/// Where a field stands in a packet, and how wide it is.
type Field = (usize, usize);

/// Flags, index, seq, departure.
const HEADER: [Field; 4] = [(1, 1), (6, 8), (14, 4), (18, 4)];

/// The fields of a body behind the header, and its length.
fn body(kind: PacketType) -> (&'static [Field], usize) {
    match kind {
        PacketType::Data => (&[(2, 8), (10, 8), (58, 8)], 66),
        PacketType::Mark => (&[(0, 4), (4, 4), (8, 4), (12, 4), (16, 8), (24, 8)], 32),
        PacketType::Report => {
            (&[(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 4), (24, 4), (40, 4), (44, 4)], 48)
        }
        PacketType::Open => (
            &[
                (0, 4),
                (4, 1),
                (5, 1),
                (6, 2),
                (8, 8),
                (16, 8),
                (40, 4),
                (44, 2),
                (46, 1),
                (47, 1),
                (48, 4),
            ],
            102,
        ),
        PacketType::Close => (&[(0, 2), (4, 4), (8, 8)], 16),
        // With a centre frequency behind its fields.
        _ => (
            &[
                (12, 2),
                (14, 2),
                (24, 8),
                (32, 4),
                (36, 2),
                (38, 2),
                (40, 4),
                (44, 2),
                (46, 1),
                (47, 1),
                (48, 4),
                (52, 4),
                (56, 2),
                (58, 2),
                (60, 2),
                (62, 2),
                (64, 8),
                (76, 8),
            ],
            102,
        ),
    }
}

/// 0, 1, the middle, the largest but one and the largest; of 8 bytes NaN and infinity too.
fn values(width: usize) -> Vec<u64> {
    let max = u64::MAX >> (64 - 8 * width);
    let mut values = vec![0, 1, max / 2 + 1, max - 1, max];
    if width == 8 {
        values.extend([f64::NAN.to_bits(), f64::INFINITY.to_bits()]);
    }
    values
}

/// Rows of one value for each list, so that each pair of values of two lists is in one.
fn covering(lists: &[Vec<u64>]) -> Vec<Vec<usize>> {
    let mut open = std::collections::BTreeSet::new();
    for b in 0..lists.len() {
        for a in 0..b {
            for i in 0..lists[a].len() {
                open.extend((0..lists[b].len()).map(|j| (a, i, b, j)));
            }
        }
    }
    let mut rows = Vec::new();
    while let Some(&(a, i, b, j)) = open.first() {
        let mut row = vec![None; lists.len()];
        (row[a], row[b]) = (Some(i), Some(j));
        for at in 0..lists.len() {
            let gain = |value: &usize| {
                let chosen = row.iter().enumerate().filter(|(it, _)| *it != at);
                let pairs = chosen.filter_map(|(it, other)| Some((it, (*other)?)));
                pairs.filter(|&(it, of)| open.contains(&pair((it, of), (at, *value)))).count()
            };
            if row[at].is_none() {
                row[at] = (0..lists[at].len()).max_by_key(gain);
            }
        }
        let row: Vec<usize> = row.into_iter().flatten().collect();
        for second in 0..row.len() {
            (0..second).for_each(|first| {
                open.remove(&(first, row[first], second, row[second]));
            });
        }
        rows.push(row);
    }
    rows
}

fn pair(a: (usize, usize), b: (usize, usize)) -> (usize, usize, usize, usize) {
    let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
    (first.0, first.1, second.0, second.1)
}

/// The packets of a type, with `tag`.
fn packets(kind: PacketType, tag: Tag) -> Vec<Vec<u8>> {
    let (fields, body_len) = body(kind);
    let fields: Vec<Field> = HEADER
        .into_iter()
        .chain(fields.iter().map(|&(at, width)| (HEADER_LEN + at, width)))
        .collect();
    let lists: Vec<_> = fields.iter().map(|&(_, width)| values(width)).collect();
    let packet_of = |row: &Vec<usize>| {
        let mut bytes = vec![0; HEADER_LEN + body_len + 4];
        match kind {
            PacketType::Report => bytes[HEADER_LEN + 39] = 1,
            PacketType::Accept => {
                bytes[HEADER_LEN + 73..HEADER_LEN + 76].copy_from_slice(&[1, 0, 8])
            }
            _ => {}
        }
        for (place, &(at, width)) in fields.iter().enumerate() {
            let value = lists[place][row[place]].to_be_bytes();
            bytes[at..at + width].copy_from_slice(&value[8 - width..]);
        }
        bytes[0] = 0x10 | kind as u8;
        bytes[1] &= !0x40;
        bytes[2..6].copy_from_slice(&tag.0.to_be_bytes());
        let covered = bytes.len() - 4;
        let crc = crc32c(&bytes[..covered]).to_be_bytes();
        bytes[covered..].copy_from_slice(&crc);
        bytes
    };
    covering(&lists).iter().map(packet_of).collect()
}

#[test]
fn covering_array_has_every_pair() {
    let lists = vec![values(8), values(1), values(4), values(2)];
    let rows = covering(&lists);
    for b in 0..lists.len() {
        for a in 0..b {
            for i in 0..lists[a].len() {
                for j in 0..lists[b].len() {
                    assert!(rows.iter().any(|row| (row[a], row[b]) == (i, j)), "{a}:{i} {b}:{j}");
                }
            }
        }
    }
    assert!(rows.len() < 150, "{} rows", rows.len());
}

const KINDS: [PacketType; 6] = [
    PacketType::Data,
    PacketType::Mark,
    PacketType::Report,
    PacketType::Open,
    PacketType::Accept,
    PacketType::Close,
];

const NOW: Nanos = Nanos::from_millis(1_000);

#[test]
fn every_pair_of_extremes_meets_a_receiver_and_a_sender_and_neither_panics() {
    let mut parsed = 0;
    for kind in KINDS {
        for tag in [RECEIVER_TAG, SENDER_TAG, Tag(7)] {
            for bytes in packets(kind, tag) {
                let Ok((header, packet)) = wire::parse(&bytes) else { continue };
                parsed += 1;
                let here = Terms {
                    local_tag: RECEIVER_TAG,
                    peer_tag: SENDER_TAG,
                    is_opener: true,
                    ..terms(16, Nanos(0))
                };
                let slots = vec![RecvSlot::default(); 16];
                let mut receiver =
                    Receiver::new(here, ReceiverConfig::new().with_jump_max(1_000), slots, NOW)
                        .expect("they hold");
                receiver.grant(Seq(8));
                match packet {
                    Packet::Data(body) if tag == RECEIVER_TAG => {
                        receiver.handle_data(NOW, &header, body, false);
                    }
                    Packet::Data(_) => {}
                    _ => {
                        receiver.handle(NOW, &header, &packet);
                    }
                }
                receiver.handle_timeout(NOW);
                let delivered = std::iter::from_fn(|| receiver.poll_delivery(NOW)).take(64).count();
                assert!(delivered < 64, "{packet:?}");
                if tag == Tag(7) {
                    assert_eq!(
                        (delivered, receiver.next_index(), receiver.poll_event()),
                        (0, 0, None)
                    );
                }
                let there =
                    Terms { local_tag: SENDER_TAG, peer_tag: RECEIVER_TAG, ..terms(16, Nanos(0)) };
                let slots = vec![SendSlot::default(); 16];
                let mut sender =
                    Sender::new(there, SenderConfig::default(), slots, NOW).expect("they hold");
                sender.handle(NOW, &header, &packet);
                sender.handle_timeout(NOW);
            }
        }
    }
    assert!(parsed > 500, "{parsed} were packets");
}

#[test]
fn every_pair_of_extremes_meets_an_opener_and_a_listener_and_neither_panics() {
    let mut held = 0;
    for kind in KINDS {
        let config = OpenConfig::new(Role::Receive, 0, 1);
        let opener = Opener::new(config, [3; 16], NOW);
        for bytes in packets(kind, opener.tag()).into_iter().chain(packets(kind, Tag::NONE)) {
            let slots = vec![StreamSlot::default(); 2];
            let mut listener = Listener::new(slots, ListenConfig::new(), [5; 16], 1);
            let peer = Peer::v4([192, 0, 2, 7], 40_000);
            let is_packet = listener.handle(NOW, peer, &bytes, &wire::parse(&bytes)).is_ok();
            assert_eq!(listener.poll_event(), None, "no cookie, no request");
            let mut out = vec![0; 9_000];
            if let Some((_, len)) = listener.poll_transmit(NOW, &mut out) {
                assert!(len <= bytes.len());
            }
            let Ok((header, packet)) = wire::parse(&bytes) else {
                assert!(!is_packet);
                continue;
            };
            let mut opener = opener.clone();
            opener.handle(NOW, &header, &packet, bytes.len());
            assert_eq!(opener.poll_event(), None, "nothing was asked with a cookie");
            if let Packet::Accept(accept) = packet {
                held += u32::from(StreamTerms::read(&header, &accept).is_ok());
            }
        }
    }
    assert_eq!(held, 0, "extremes contradict each other");
}
