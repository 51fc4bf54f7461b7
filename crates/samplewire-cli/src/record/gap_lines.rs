//! Prints gaps for people, and limits the number of lines.

use samplewire_record::sigmf::RecordedGap;

use crate::console::Console;
use crate::figures::{grouped, span};

/// Prints the first gaps of each second, and the number of further ones.
#[derive(Debug)]
pub(crate) struct GapLines {
    /// 0 if the rate is not known.
    rate_hz: f64,
    printed: u32,
    left_out: u64,
    left_out_samples: u64,
}

impl GapLines {
    pub(crate) const fn new(rate_hz: f64) -> Self {
        Self { rate_hz, printed: 0, left_out: 0, left_out_samples: 0 }
    }

    /// Prints a gap, or only counts it after [`LINES_MAX`] lines in this second.
    pub(crate) fn print(&mut self, console: &mut Console, gap: &RecordedGap) {
        if self.printed < LINES_MAX {
            self.printed += 1;
            console.line(format_args!("{}", gap_words(gap, self.rate_hz)));
        } else {
            self.left_out += 1;
            self.left_out_samples += gap.count();
        }
    }

    /// Begins another second: prints how many gaps were left out in the last one.
    pub(crate) fn next_second(&mut self, console: &mut Console) {
        if self.left_out > 0 {
            console.line(format_args!(
                ".. and {} more gaps ({} samples)",
                grouped(self.left_out),
                grouped(self.left_out_samples)
            ));
        }
        *self = Self::new(self.rate_hz);
    }
}

/// `gap  index 81920000..81923999 (4,000 samples, 2.0 ms)  cause: deadline`.
fn gap_words(gap: &RecordedGap, rate_hz: f64) -> String {
    let (first, count) = (gap.first, gap.count());
    if gap.is_estimated() {
        let about = match count {
            0 => "an unknown number of samples".to_owned(),
            _ => format!("about {} samples, {}", grouped(count), span(count as f64 / rate_hz)),
        };
        return format!("gap  from index {first} on ({about})  cause: {}, estimated", gap.cause);
    }
    let last = gap.end() - 1;
    let samples =
        if count == 1 { "1 sample".into() } else { format!("{} samples", grouped(count)) };
    let length =
        if rate_hz > 0.0 { format!(", {}", span(count as f64 / rate_hz)) } else { String::new() };
    let cause = if gap.is_mixed() {
        format!(
            "mixed: {} not repaired, {} lost at source",
            grouped(gap.not_repaired),
            grouped(gap.source_lost)
        )
    } else {
        gap.cause.to_string()
    };
    let host = [("nic", gap.host.nic), ("kernel", gap.host.kernel)];
    let host = host.into_iter().filter(|it| it.1 > 0);
    let host: String = host.map(|(hop, samples)| format!(", {hop} {}", grouped(samples))).collect();
    let stream = gap.stream.map_or(String::new(), |stream| format!(", stream {stream}"));
    format!("gap  index {first}..{last} ({samples}{length})  cause: {cause}{host}{stream}")
}

/// The maximum number of gaps printed in a second.
const LINES_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use samplewire_proto::Cause;
    use samplewire_record::sigmf::{HostDrops, RecordedCause};

    use super::*;

    fn gap(first: u64, not_repaired: u64, source_lost: u64, cause: Cause) -> RecordedGap {
        RecordedGap::new(first, not_repaired, source_lost, RecordedCause::Stream(cause))
    }

    #[test]
    fn gap_reads_as_the_manual_says() {
        let gap = gap(81_920_000, 4_000, 0, Cause::Deadline);
        assert_eq!(
            gap_words(&gap, 2e6),
            "gap  index 81920000..81923999 (4,000 samples, 2.0 ms)  cause: deadline"
        );
        assert_eq!(
            gap_words(&gap, 0.0),
            "gap  index 81920000..81923999 (4,000 samples)  cause: deadline"
        );
    }

    #[test]
    fn gap_that_the_host_dropped_names_the_hop() {
        let host = HostDrops { nic: 0, kernel: 4_000 };
        let gap = RecordedGap { host, ..gap(81_920_000, 4_000, 0, Cause::NeverAsked) };
        assert_eq!(
            gap_words(&gap, 0.0),
            "gap  index 81920000..81923999 (4,000 samples)  cause: never asked, kernel 4,000"
        );
    }

    #[test]
    fn gap_of_one_of_several_streams_names_it() {
        let gap = RecordedGap { stream: Some(3), ..gap(7, 0, 1, Cause::SourceOverflow) };
        assert_eq!(
            gap_words(&gap, 0.0),
            "gap  index 7..7 (1 sample)  cause: source overflow, stream 3"
        );
    }

    #[test]
    fn mixed_gap_says_how_much_of_each() {
        let gap = gap(7, 3_000, 1, Cause::Deadline);
        assert_eq!(
            gap_words(&gap, 1e6),
            "gap  index 7..3007 (3,001 samples, 3.0 ms)  \
             cause: mixed: 3,000 not repaired, 1 lost at source"
        );
    }

    #[test]
    fn estimated_gap_says_so() {
        let cause = RecordedCause::DeviceRestarted;
        let gap = RecordedGap::new(7, 2_000, 0, cause);
        assert_eq!(
            gap_words(&gap, 1e6),
            "gap  from index 7 on (about 2,000 samples, 2.0 ms)  cause: device restarted, estimated"
        );
        let unknown = RecordedGap { not_repaired: 0, ..gap };
        assert!(gap_words(&unknown, 0.0).contains("(an unknown number of samples)"));
    }

    #[test]
    fn one_sample_is_a_gap_too() {
        let gap = gap(7, 0, 1, Cause::SourceOverflow);
        assert_eq!(
            gap_words(&gap, 1e6),
            "gap  index 7..7 (1 sample, 1.0 us)  cause: source overflow"
        );
    }
}
