//! The command line.

use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    Default,
    Local,
    Smol,
    Flow,
}

pub(crate) struct Arguments {
    pub(crate) kernels: usize,
    /// Of a buffer.
    pub(crate) floats: usize,
    pub(crate) buffers: usize,
    pub(crate) cores: usize,
    pub(crate) schedule: Schedule,
    pub(crate) duration: Duration,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut kernels, mut floats, mut buffers, mut cores) = (1, 4096, 8, 1);
        let (mut schedule, mut seconds) = (Schedule::Local, 1.0);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            let wrong = || format!("{word} {value}: not understood");
            let number = || value.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
            match (word.as_str(), value.as_str()) {
                ("--kernels", _) => kernels = number()?,
                ("--floats", _) => floats = number()?,
                ("--buffers", _) => buffers = number()?,
                ("--cores", _) => cores = number()?,
                ("--schedule", "default") => schedule = Schedule::Default,
                ("--schedule", "local") => schedule = Schedule::Local,
                ("--schedule", "smol") => schedule = Schedule::Smol,
                ("--schedule", "flow") => schedule = Schedule::Flow,
                ("--seconds", _) => seconds = value.parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        if schedule == Schedule::Local && cores > 1 {
            return Err(format!(
                "--cores {cores}: a local domain has one; --schedule smol or flow"
            ));
        }
        Ok(Self {
            kernels,
            floats,
            buffers,
            cores,
            schedule,
            duration: Duration::try_from_secs_f64(seconds)
                .map_err(|error| format!("--seconds {seconds}: {error}"))?,
        })
    }
}
