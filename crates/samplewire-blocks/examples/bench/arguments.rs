//! The command line of the measuring examples.

use std::time::Duration;

/// What is to be measured.
pub(crate) struct Arguments {
    pub(crate) kernels: usize,
    pub(crate) cores: usize,
    /// In a buffer.
    pub(crate) floats: usize,
    /// How many go round.
    pub(crate) quanta: usize,
    pub(crate) schedule: Option<String>,
    /// What ours is compared with, where there is more than one.
    pub(crate) by_hand: Option<String>,
    pub(crate) duration: Duration,
    pub(crate) json: bool,
}

impl Arguments {
    /// Of this program.
    pub(crate) fn parse() -> Result<Self, String> {
        let mut arguments = Self {
            kernels: 1,
            cores: 1,
            floats: 4_096,
            quanta: 8,
            schedule: None,
            by_hand: None,
            duration: Duration::from_secs(1),
            json: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--json" {
                arguments.json = true;
                continue;
            }
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            let wrong = || format!("{word} {value}: not understood");
            let number = || value.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
            match word.as_str() {
                "--kernels" => arguments.kernels = number()?,
                "--cores" => arguments.cores = number()?,
                "--floats" => arguments.floats = number()?,
                "--quanta" => arguments.quanta = number()?,
                "--schedule" => arguments.schedule = Some(value),
                "--by-hand" if value == "in-order" => arguments.by_hand = Some(value),
                "--seconds" => {
                    let seconds = value.parse().map_err(|_| wrong())?;
                    arguments.duration = Duration::try_from_secs_f64(seconds)
                        .map_err(|error| format!("--seconds {seconds}: {error}"))?;
                }
                _ => return Err(wrong()),
            }
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        if arguments.cores > cpus {
            return Err(format!("--cores {}: there are {cpus}", arguments.cores));
        }
        Ok(arguments)
    }
}
