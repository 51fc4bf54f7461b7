//! What a device does at once: some streams that it sends, and one that it plays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use samplewire::source::Source;
use samplewire::transmitter::PlayError;
use samplewire_record::source::SourceSpec;

use super::play::Stage;
use super::session::Player;
use super::supply::Supply;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STOP_PAUSE};
use crate::outcome::Outcome;

/// When everything is to end.
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
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
        self.interrupt.stop_signal(console).is_some() || self.given_up.load(Ordering::Relaxed)
    }
}

/// One of the things that a device does.
pub(super) enum Part<'a> {
    /// Sends a stream.
    Sends { player: Box<Player>, supply: Supply<'a>, source: Box<dyn Source> },
    /// Plays what is sent to it.
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

/// Does everything at once, the first part with this console and its status line.
///
/// # Errors
/// Of the first part, with which all ends. Another that fails says so, and the rest goes on,
/// perhaps for long.
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
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
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
    mut source: Box<dyn Source>,
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
