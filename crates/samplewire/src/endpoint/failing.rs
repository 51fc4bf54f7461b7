//! The end of an endpoint whose link has failed.

use std::sync::mpsc;

use samplewire_io::LinkError;
use samplewire_proto::Nanos;

use super::{Command, Endpoint, Entry, Rest};

impl Endpoint {
    /// Handles a failed link, in a turn or while the driver waited on it. Received streams end once
    /// their programs have taken the received samples; all others end at once.
    pub(crate) fn fail(&mut self, error: &LinkError) {
        self.is_broken = true;
        self.is_closed = true;
        // Nothing else sets it, so this never waits.
        self.shown.failure.get_or_init(|| error.duplicate());
        // Handles see that no command is accepted any more.
        let commands = std::mem::replace(&mut self.commands, mpsc::channel().1);
        for command in commands.try_iter() {
            match command {
                Command::Open(opening) => opening.fail(error.duplicate()),
                Command::Begin(place, entry) => self.streams.begin(place, entry),
            }
        }
        for place in 0..self.streams.len() {
            match self.streams.get_mut(place) {
                Some(Entry::Receiving(stream)) => {
                    stream.flow.fail(Some(error.duplicate()));
                    continue;
                }
                Some(Entry::Sending(stream)) => stream.flow.fail(error),
                Some(Entry::Playing(stream)) => stream.fail(error),
                Some(Entry::Opening(opening)) => opening.fail(error.duplicate()),
                Some(Entry::Accepted { .. }) => {}
                Some(Entry::Free) | None => continue,
            }
            self.streams.release(place);
        }
    }

    /// Hands over packets that arrived before the failure, as the programs make room.
    pub(super) fn hand_over_rest(&mut self, now: Nanos) -> Rest {
        self.counts.link = self.link.resilient().error_counts();
        for place in 0..self.streams.len() {
            let Some(Entry::Receiving(stream)) = self.streams.get_mut(place) else { continue };
            if stream.flow.fail(None) {
                stream.flow.snapshot.note_port(&self.counts);
                stream.flow.publish(now);
                self.streams.release(place);
            }
        }
        if self.spins { Rest::No } else { Rest::Pause(now + HAND_OVER_PAUSE) }
    }
}

/// Interval between checks of programs that have not taken everything of a failed link.
const HAND_OVER_PAUSE: Nanos = Nanos::from_millis(1);
