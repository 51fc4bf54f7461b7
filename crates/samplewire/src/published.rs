//! What the I/O thread publishes for programs: values as the words of a
//! [`Published`](samplewire_circuit::Published).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use samplewire_circuit::{Codec, Publisher, WordReader, WordWriter};
use samplewire_proto::stream::{End, Violation};
use samplewire_proto::wire::{CloseReason, RdmaError, RdmaField};
use samplewire_proto::{Latencies, Nanos, Seq, TaiClock};

/// A publisher whose first value is `initial`.
pub(crate) fn publisher<T: Words>(initial: &T) -> Publisher<T> {
    Publisher::new(initial, Codec { words: T::COUNT, encode: T::put, decode: T::take })
}

/// A value that is some words; what the functions must do is in [`Codec`].
pub(crate) trait Words: Sized {
    /// The most words of a value.
    const COUNT: usize;

    fn put(&self, to: &mut WordWriter<'_>);

    fn take(from: &mut WordReader<'_>) -> Self;
}

/// Makes the words of a struct those of its fields, of which all are to be listed.
macro_rules! words {
    ($type:ident { $($field:tt),* $(,)? }) => {
        impl $crate::published::Words for $type {
            const COUNT: usize = 0 $(+ $crate::published::words_of(|it: &Self| &it.$field))*;

            fn put(&self, to: &mut samplewire_circuit::WordWriter<'_>) {
                $($crate::published::Words::put(&self.$field, to);)*
            }

            fn take(from: &mut samplewire_circuit::WordReader<'_>) -> Self {
                Self { $($field: $crate::published::Words::take(from)),* }
            }
        }
    };
}
pub(crate) use words;

/// The words of a field.
pub(crate) const fn words_of<S, T: Words>(_field: fn(&S) -> &T) -> usize {
    T::COUNT
}

/// Makes the words of an enum a number and those of the variant's fields.
macro_rules! variant_words {
    ($type:ident, $count:expr, {
        $($number:literal => $variant:ident { $($field:tt: $name:ident),* },)*
        _ => $last:ident { $($last_field:tt: $last_name:ident),* },
    }) => {
        impl Words for $type {
            const COUNT: usize = $count;

            fn put(&self, to: &mut WordWriter<'_>) {
                match self {
                    $(Self::$variant { $($field: $name),* } => {
                        to.put($number);
                        $($name.put(to);)*
                    })*
                    Self::$last { $($last_field: $last_name),* } => {
                        to.put(u64::MAX);
                        $($last_name.put(to);)*
                    }
                }
            }

            fn take(from: &mut WordReader<'_>) -> Self {
                match from.take() {
                    $($number => Self::$variant { $($field: Words::take(from)),* },)*
                    _ => Self::$last { $($last_field: Words::take(from)),* },
                }
            }
        }
    };
}

macro_rules! integers {
    ($($type:ident),*) => {
        $(impl Words for $type {
            const COUNT: usize = 1;

            fn put(&self, to: &mut WordWriter<'_>) {
                to.put(*self as u64);
            }

            fn take(from: &mut WordReader<'_>) -> Self {
                from.take() as Self
            }
        })*
    };
}

integers!(u16, u32, u64, usize);
words!(Nanos { 0 });
words!(Seq { 0 });
variant_words!(End, 1 + Violation::COUNT, {
    0 => Finished { final_index: index },
    1 => ClosedByPeer { 0: reason },
    2 => PeerRestarted {},
    3 => PeerSilent {},
    4 => CircuitBreaker {},
    5 => Violation { 0: violation },
    6 => QueuePairFailed {},
    _ => Cancelled {},
});
variant_words!(Violation, 4, {
    0 => PayloadLength { seq: seq, len_bytes: len_bytes, expected: expected },
    1 => IndexRetreats { seq: seq, index: index, expected: expected },
    2 => IndexJumps { seq: seq, index: index, expected: expected },
    3 => JumpTooFar { index: index, expected: expected, latest: latest },
    4 => IndexTooLarge { seq: seq, index: index },
    5 => FinalIndexRetreats { final_index: index, expected: expected },
    6 => WriteOrder { seq: seq, expected: expected, limit: limit },
    7 => WriteLength { seq: seq, len_bytes: len_bytes, expected: expected },
    8 => Record { seq: seq, error: error },
    9 => NoWrite { expected: expected },
    _ => BurstLength { seq: seq, samples: samples },
});

impl Words for RdmaField {
    const COUNT: usize = 1;

    fn put(&self, to: &mut WordWriter<'_>) {
        (*self as usize).put(to);
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        let at: usize = Words::take(from);
        // A reader may see words of two values: it reads again then.
        Self::ALL[at.min(Self::ALL.len() - 1)]
    }
}

words!(RdmaError { field, value });
words!(TaiClock { index, tai_ns, rate_numerator, rate_denominator });

impl Words for CloseReason {
    const COUNT: usize = 1;

    fn put(&self, to: &mut WordWriter<'_>) {
        self.number().put(to);
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        Self::from_number(Words::take(from))
    }
}

/// Few buckets are used: those alone are words, after a word that names them.
impl Words for Latencies {
    const COUNT: usize = 1 + Self::BUCKETS;

    fn put(&self, to: &mut WordWriter<'_>) {
        let mut used = self.used();
        to.put(used);
        while used != 0 {
            to.put(self.counts()[used.trailing_zeros() as usize]);
            used &= used - 1;
        }
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        let used = from.take();
        let count = |bucket| if used >> bucket & 1 == 1 { from.take() } else { 0 };
        Self::new(std::array::from_fn(count))
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    const COUNT: usize = N * T::COUNT;

    fn put(&self, to: &mut WordWriter<'_>) {
        self.iter().for_each(|it| it.put(to));
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        std::array::from_fn(|_| T::take(from))
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    const COUNT: usize = A::COUNT + B::COUNT;

    fn put(&self, to: &mut WordWriter<'_>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        (A::take(from), B::take(from))
    }
}

impl<T: Words> Words for Option<T> {
    const COUNT: usize = 1 + T::COUNT;

    fn put(&self, to: &mut WordWriter<'_>) {
        to.put(self.is_some().into());
        self.iter().for_each(|it| it.put(to));
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        (from.take() != 0).then(|| T::take(from))
    }
}

impl Words for SocketAddr {
    const COUNT: usize = 6;

    fn put(&self, to: &mut WordWriter<'_>) {
        let (bits, flow, scope) = match self {
            Self::V4(it) => (u128::from(it.ip().to_bits()), 0, 0),
            Self::V6(it) => (it.ip().to_bits(), it.flowinfo(), it.scope_id()),
        };
        to.put(self.is_ipv6().into());
        ((bits >> 64) as u64, bits as u64).put(to);
        (self.port(), (flow, scope)).put(to);
    }

    fn take(from: &mut WordReader<'_>) -> Self {
        let is_v6 = from.take() != 0;
        let (high, low) = <(u64, u64)>::take(from);
        let (port, (flow, scope)) = Words::take(from);
        if is_v6 {
            let ip = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
            SocketAddrV6::new(ip, port, flow, scope).into()
        } else {
            (IpAddr::from(Ipv4Addr::from_bits(low as u32)), port).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use samplewire_proto::receiver::ReceiverStats;
    use samplewire_proto::sender::SenderStats;

    use super::*;
    use crate::receiver::ReceiverSnapshot;
    use crate::transmitter::TransmitterSnapshot;

    fn come_back<T: Words + PartialEq + Debug>(values: &[T]) {
        let mut publisher = publisher(&values[0]);
        let published = publisher.reader();
        for value in values {
            publisher.publish(value);
            assert_eq!(&published.read(), value);
        }
    }

    #[test]
    fn values_come_back_whatever_was_published_before() {
        let (seq, index, expected) = (Seq(u32::MAX), u64::MAX, u64::MAX - 1);
        let violations = [
            Violation::PayloadLength { seq, len_bytes: usize::MAX, expected: u16::MAX },
            Violation::IndexRetreats { seq, index, expected },
            Violation::IndexJumps { seq, index, expected },
            Violation::JumpTooFar { index, expected, latest: 7 },
            Violation::IndexTooLarge { seq, index },
            Violation::FinalIndexRetreats { final_index: index, expected },
            Violation::BurstLength { seq, samples: index },
            Violation::WriteOrder { seq, expected: Seq(1), limit: Seq(2) },
            Violation::WriteLength { seq, len_bytes: u32::MAX, expected: 128 },
            Violation::Record { seq, error: RdmaError { field: RdmaField::Zero, value: index } },
            Violation::NoWrite { expected: seq },
        ];
        let ends = [
            End::Finished { final_index: index },
            End::Cancelled,
            End::PeerRestarted,
            End::PeerSilent,
            End::CircuitBreaker,
            End::QueuePairFailed,
        ];
        let reasons = (0..10).map(CloseReason::from_number).map(End::ClosedByPeer);
        let ends = ends.into_iter().chain(reasons).chain(violations.map(End::Violation));
        let ends: Vec<_> = ends.flat_map(|end| [Some((end, index)), None]).collect();
        come_back(&ends);

        let peers = ["192.168.10.2:4900", "[::1]:65535", "0.0.0.0:0", "[fe80::2%7]:4900"];
        let mut peers = peers.map(|it| it.parse::<SocketAddr>().unwrap());
        let ip = Ipv6Addr::from_bits(u128::MAX);
        peers[0] = SocketAddrV6::new(ip, u16::MAX, u32::MAX, u32::MAX).into();
        come_back(&peers);
    }

    #[test]
    fn buckets_come_back_whichever_are_used() {
        let of = |counts: [u64; Latencies::BUCKETS]| Latencies::new(counts);
        let single = |at: usize| of(std::array::from_fn(|bucket| (bucket == at).into()));
        let all = of(std::array::from_fn(|bucket| u64::MAX - bucket as u64));
        let some = of(std::array::from_fn(|bucket| bucket as u64 % 3));
        let values = [Latencies::default(), single(0), all, single(47), some, Latencies::default()];
        come_back(&values.map(|it| (it, 7_u64)));
    }

    /// A value of the words 1, 2 and so on.
    fn counting<T: Words + Default>() -> T {
        let encode =
            |_: &T, to: &mut WordWriter<'_>| (1..=T::COUNT as u64).for_each(|it| to.put(it));
        let codec = Codec { words: T::COUNT, encode, decode: T::take };
        Publisher::new(&T::default(), codec).reader().read()
    }

    #[test]
    fn each_counter_comes_back_in_its_place() {
        come_back(&[ReceiverSnapshot::default(), counting()]);
        come_back(&[TransmitterSnapshot::default(), counting()]);
        assert_eq!(counting::<SenderStats>().underflow_at_peer, SenderStats::COUNT as u64);
    }

    #[test]
    fn sum_of_two_sessions_has_all_counters_and_the_gauges_of_the_later() {
        let (before, session): (ReceiverSnapshot, _) = (counting(), ReceiverSnapshot::default());
        let sum = session.after(&before);
        let gauges = ReceiverSnapshot {
            stream: ReceiverStats {
                reorder_tolerance: Nanos(0),
                timed_index: 0,
                timed_index_tai_ns: 0,
                ..before.stream
            },
            stalls: session.stalls,
            rtt_ns: 0,
            credit: 0,
            window: 0,
            silent_ns: 0,
            dead_after_ns: 0,
            ..before
        };
        assert_eq!(sum, gauges);
        assert_eq!(
            before.after(&before).stream.gap_samples,
            before.stream.gap_samples.map(|it| 2 * it)
        );
    }
}
