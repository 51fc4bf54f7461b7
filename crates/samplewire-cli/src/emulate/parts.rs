//! The parallel parts of a device: the streams that it sends, and the one that it plays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use samplewire::source::ReadSamples;
use samplewire::transmitter::PlayError;
use samplewire_record::source::SourceSpec;

use super::play::Stage;
use super::session::Player;
use super::supply::Supply;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STOP_PAUSE};
use crate::outcome::Outcome;

/// When all parts end.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    interrupt: Interrupt,
    /// The first part has failed.
    given_up: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, given_up: Arc::default() }
    }

    pub(super) const fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    pub(super) fn has_come(&self, console: &mut Console) -> bool {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.interrupt.stop_signal(console).is_some() || self.given_up.load(Ordering::Relaxed)
    }
}

/// One part of a device.
pub(super) enum Part<'a> {
    /// Sends a stream.
    Sends { player: Box<Player>, supply: Supply<'a>, source: Box<dyn ReadSamples> },
    /// Plays the stream that it receives.
    Plays(Box<Stage>),
}

impl Part<'_> {
    /// Serves one session, or one after another until the end.
    fn serve(self, once: bool, console: &mut Console) -> Result<Outcome, Failure> {
        match self {
            Self::Sends { player, supply, source } => send(*player, &supply, source, once, console),
            Self::Plays(stage) => stage.serve(once, console),
        }
    }
}

/// Runs all parts at the same time; the first part has this console and its status line.
///
/// # Errors
/// Errors of the first part, which ends all others. If another part fails, it prints so, and the
/// rest continues.
pub(super) fn serve(
    parts: Vec<Part<'_>>,
    once: bool,
    ending: &Ending,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    let mut parts = parts.into_iter();
    let first = parts.next().expect("a device sends or plays");
    std::thread::scope(|scope| {
        let others = parts.map(|part| {
            scope.spawn(move || {
                let mut words = Console::new(Lines::Stdout, false);
                part.serve(once, &mut words).unwrap_or_else(|failure| {
                    failure.print();
                    failure.outcome()
                })
            })
        });
        let others: Vec<_> = others.collect();
        let first = first.serve(once, console);
        // Relaxed: the flag is read again soon, and orders nothing.
        ending.given_up.store(first.is_err(), Ordering::Relaxed);
        let others = others.into_iter().map(|it| it.join().expect("a part does not panic"));
        let worse = |all, outcome| if all == Outcome::Whole { outcome } else { all };
        let others = others.fold(Outcome::Whole, worse);
        first.map(|first| worse(first, others))
    })
}

fn send(
    mut player: Player,
    supply: &Supply<'_>,
    mut source: Box<dyn ReadSamples>,
    once: bool,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    while !player.ending.has_come(console) {
        let opened = player.listener.accept(STOP_PAUSE).map_err(PlayError::from)?;
        let Some(mut stream) = opened else { continue };
        let played = player.play(&mut stream, &mut *source, console)?;
        let is_used_up = *supply.spec == SourceSpec::Stdin && played.has_source_ended;
        if (once && !played.was_called_off) || is_used_up {
            return Ok(played.outcome);
        }
        source = supply.open()?;
    }
    Ok(Outcome::Whole)
}
