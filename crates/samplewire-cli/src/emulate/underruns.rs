//! Prints underruns, no more of them than people can read.

use samplewire::device::Underrun;

use crate::console::Console;
use crate::figures::{grouped, span};

/// Prints the first underruns of each second, and the number of the others.
#[derive(Debug)]
pub(super) struct UnderrunLines {
    /// 0 if the rate is unknown.
    rate_hz: f64,
    printed: u32,
    left_out: u64,
    left_out_samples: u64,
}

impl UnderrunLines {
    pub(super) const fn new(rate_hz: f64) -> Self {
        Self { rate_hz, printed: 0, left_out: 0, left_out_samples: 0 }
    }

    /// Prints an underrun, or counts it after [`LINES_MAX`] lines in this second.
    pub(super) fn print(&mut self, console: &mut Console, underrun: &Underrun) {
        if self.printed < LINES_MAX {
            self.printed += 1;
            console.line(format_args!("{}", words(underrun, self.rate_hz)));
        } else {
            self.left_out += 1;
            self.left_out_samples += underrun.samples;
        }
    }

    /// Ends a second: prints how many underruns were left out.
    pub(super) fn next_second(&mut self, console: &mut Console) {
        if self.left_out > 0 {
            console.line(format_args!(
                ".. and {} more underruns ({} samples)",
                grouped(self.left_out),
                grouped(self.left_out_samples)
            ));
        }
        *self = Self::new(self.rate_hz);
    }
}

/// `underrun  index 81920000..81923999 (4,000 samples, 2.0 ms)  cause: sender behind`.
fn words(underrun: &Underrun, rate_hz: f64) -> String {
    let Underrun { first, samples, cause } = *underrun;
    let count =
        if samples == 1 { "1 sample".into() } else { format!("{} samples", grouped(samples)) };
    let length =
        if rate_hz > 0.0 { format!(", {}", span(samples as f64 / rate_hz)) } else { String::new() };
    format!("underrun  index {first}..{} ({count}{length})  cause: {cause}", underrun.end() - 1)
}

/// Maximum number of underruns printed in a second.
const LINES_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use samplewire::device::UnderrunCause;

    use super::*;

    #[test]
    fn underrun_reads_as_the_manual_says() {
        let cause = UnderrunCause::SenderBehind;
        let underrun = Underrun { first: 81_920_000, samples: 4_000, cause };
        assert_eq!(
            words(&underrun, 2e6),
            "underrun  index 81920000..81923999 (4,000 samples, 2.0 ms)  cause: sender behind"
        );
        let one = Underrun { samples: 1, ..underrun };
        let expected = "underrun  index 81920000..81920000 (1 sample)  cause: sender behind";
        assert_eq!(words(&one, 0.0), expected);
    }
}
