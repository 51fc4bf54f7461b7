//! `--fault`: the faults that the user requests, and the counts of injected ones.

use samplewire_io::faults::{self, Side};
use samplewire_io::{FaultCounts, FaultSpec};

use crate::console::Console;
use crate::failure::Failure;
use crate::figures::grouped;

/// One `--fault` option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FaultOption {
    text: String,
    side: Side,
    spec: FaultSpec,
}

impl FaultOption {
    /// Reads `data:loss=0.01,seed=7` or `feedback:..`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (side, spec) = faults::parse(text).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned(), side, spec })
    }
}

/// The faults of a command line, one description per side.
#[derive(Clone, Debug)]
pub(crate) struct FaultPair {
    text: String,
    /// For packets that the sender of samples sends.
    pub(crate) data: FaultSpec,
    /// For packets that the receiver of samples sends.
    pub(crate) feedback: FaultSpec,
}

impl FaultPair {
    /// Sorts the options by side; `None` without options.
    ///
    /// # Errors
    /// [`Failure::Contradiction`] if one side is described twice.
    pub(crate) fn new(options: &[FaultOption]) -> Result<Option<Self>, Failure> {
        let of = |side: Side| -> Result<FaultSpec, Failure> {
            let mut specs = options.iter().filter(|option| option.side == side);
            let spec = specs.next().map_or_else(FaultSpec::new, |option| option.spec.clone());
            match specs.next() {
                None => Ok(spec),
                Some(second) => Err(Failure::Contradiction(format!(
                    "--fault {}: its side is described already; join its faults with commas",
                    second.text
                ))),
            }
        };
        let (data, feedback) = (of(Side::Data)?, of(Side::Feedback)?);
        let texts: Vec<_> = options.iter().map(|option| option.text.as_str()).collect();
        Ok((!texts.is_empty()).then(|| Self { text: texts.join(" "), data, feedback }))
    }

    /// The same for a stream of a bridge, with its own seeds.
    pub(crate) fn of_stream(&self, stream: u16) -> Self {
        let of = |spec: &FaultSpec| {
            let seed = spec.chosen_seed();
            spec.clone().seed(seed.wrapping_add(u64::from(stream) * SEEDS_APART))
        };
        Self { text: self.text.clone(), data: of(&self.data), feedback: of(&self.feedback) }
    }

    /// Prints the faults as the user wrote them.
    pub(crate) fn print(&self, console: &mut Console) {
        console.line(format_args!("  faults     {}", self.text));
    }
}

/// Prints the counts of injected faults of one side.
pub(crate) fn print_counts(console: &mut Console, side: &str, counts: &FaultCounts) {
    console.line(format_args!(
        "  {side:<10} {} of {} lost, {} corrupted, {} doubled, {} reordered{}",
        grouped(counts.lost + counts.queue_full + counts.refused),
        grouped(counts.packets),
        grouped(counts.corrupted),
        grouped(counts.duplicated),
        grouped(counts.reordered),
        match counts.undelayed {
            0 => String::new(),
            undelayed => format!("; {} not done because the buffer was full", grouped(undelayed)),
        }
    ));
}

/// Larger than the distance between seeds that people choose for the two sides.
const SEEDS_APART: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(texts: &[&str]) -> Vec<FaultOption> {
        texts.iter().map(|text| FaultOption::parse(text).unwrap()).collect()
    }

    #[test]
    fn each_side_has_its_own_faults() {
        assert!(FaultPair::new(&[]).unwrap().is_none());
        let pair = FaultPair::new(&options(&["feedback:loss=0.5", "data:dup=0.1"])).unwrap();
        let pair = pair.expect("there are faults");
        assert_eq!(pair.data, FaultSpec::new().duplicate(0.1));
        assert_eq!(pair.feedback, FaultSpec::new().loss(0.5));
    }

    #[test]
    fn each_stream_has_faults_of_its_own() {
        let pair = FaultPair::new(&options(&["data:loss=0.5,seed=7"])).unwrap();
        let of = |stream| pair.as_ref().unwrap().of_stream(stream).data;
        assert_eq!(of(0), FaultSpec::new().loss(0.5).seed(7));
        assert!(of(1) != of(0) && of(1) != of(2));
    }

    #[test]
    fn second_description_of_a_side_is_refused() {
        let failure = FaultPair::new(&options(&["data:loss=0.5", "data:dup=0.1"])).unwrap_err();
        assert!(failure.to_string().contains("data:dup=0.1"), "{failure}");
    }
}
