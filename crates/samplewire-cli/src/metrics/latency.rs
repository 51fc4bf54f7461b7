//! Latencies as a histogram: in Prometheus' form, in JSON, and in words.

use samplewire_proto::Latencies;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::figures::span;

/// A metric that counts latencies in buckets.
pub(crate) struct Histogram<T> {
    /// Prometheus adds `_bucket`, `_sum` and `_count`.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) latencies: fn(&T) -> &Latencies,
    /// The sum of the latencies in nanoseconds.
    pub(crate) sum_ns: fn(&T) -> u64,
}

/// The repair latency of a run, in JSON and in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepairLatency(pub(crate) Latencies);

/// A bucket in JSON.
#[derive(Debug, serde::Serialize)]
struct Bucket {
    /// The largest latency that it counts.
    le_ms: f64,
    packets: u64,
}

impl RepairLatency {
    /// `half within 0.4 ms, 99 % within 1.0 ms`; `None` if nothing was repaired.
    pub(crate) fn words(&self) -> Option<String> {
        let within = |percent| Some(span(self.0.quantile_ns(percent)? as f64 * 1e-9));
        Some(format!("half within {}, 99 % within {}", within(50)?, within(99)?))
    }

    fn quantile_ms(&self, percent: u8) -> Option<f64> {
        self.0.quantile_ns(percent).map(milliseconds)
    }

    /// The buckets that counted something.
    fn buckets(&self) -> Vec<Bucket> {
        let counts = self.0.counts().iter().enumerate().filter(|&(_, &packets)| packets > 0);
        let bucket =
            |(at, &packets)| Bucket { le_ms: milliseconds(Latencies::bound_ns(at)), packets };
        counts.map(bucket).collect()
    }
}

impl Serialize for RepairLatency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("RepairLatency", 3)?;
        fields.serialize_field("p50_ms", &self.quantile_ms(50))?;
        fields.serialize_field("p99_ms", &self.quantile_ms(99))?;
        fields.serialize_field("buckets", &self.buckets())?;
        fields.end()
    }
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_has_quantiles_and_the_buckets_that_counted_something() {
        let none = RepairLatency(Latencies::default());
        let document = serde_json::to_value(none).unwrap();
        assert_eq!(document, json!({ "p50_ms": null, "p99_ms": null, "buckets": [] }));
        assert_eq!(none.words(), None);
        let mut counts = [0; Latencies::BUCKETS];
        (counts[1], counts[16]) = (3, 2);
        let some = RepairLatency(Latencies::new(counts));
        let buckets =
            json!([{ "le_ms": 0.008_192, "packets": 3 }, { "le_ms": 1.482_910, "packets": 2 }]);
        let document = serde_json::to_value(some).unwrap();
        assert_eq!(
            document,
            json!({ "p50_ms": 0.008_192, "p99_ms": 1.482_910, "buckets": buckets })
        );
        assert_eq!(some.words().unwrap(), "half within 8.2 us, 99 % within 1.5 ms");
    }
}
