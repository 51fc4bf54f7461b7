//! A device that plays: it writes one session after another to one file.

use std::time::{Duration, Instant};

use samplewire::End;
use samplewire::device::{
    AcceptedStream, PlayCounts, Played, Player, ReceiveListener, SampleClock,
};
use samplewire_proto::wire::CloseReason;
use samplewire_record::sink::{self, SinkOptions, WriteSamples};
use samplewire_web::{Failures, Page};

use super::parts::Ending;
use super::time::StartTime;
use super::underruns::UnderrunLines;
use crate::arguments::EmulateArguments;
use crate::cadence::Cadence;
use crate::console::Console;
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, indexes_words, measured, span};
use crate::finishing::{self, backlog_words};
use crate::interrupt::STOP_PAUSE;
use crate::metrics::{Entry, Exported, View, ended};
use crate::outcome::Outcome;
use crate::web::{self, PlayedTap, ShownOutput};

/// Plays received streams into a file.
pub(super) struct Stage {
    receive_listener: ReceiveListener,
    entry: Entry,
    clock: Option<SampleClock>,
    sink: Box<dyn WriteSamples>,
    file: String,
    ending: Ending,
    /// Shows what is played on a page.
    shown: Option<PlayedTap>,
    /// Why the page failed.
    failures: Option<Failures>,
}

impl Stage {
    /// Opens the output file.
    ///
    /// # Errors
    /// The file exists already, or cannot be created.
    pub(super) fn open(
        arguments: &EmulateArguments,
        receive_listener: ReceiveListener,
        entry: Entry,
        clock: Option<SampleClock>,
        ending: Ending,
    ) -> Result<Option<Self>, Failure> {
        let Some(file) = &arguments.play else { return Ok(None) };
        let options = SinkOptions::new().overwrite(arguments.overwrite);
        let sink = sink::open(file, receive_listener.info(), &options).map_err(Failure::Create)?;
        let file = file.display().to_string();
        let (shown, failures) = (None, None);
        Ok(Some(Self { receive_listener, entry, clock, sink, file, ending, shown, failures }))
    }

    /// Shows what is played on a page. `origin` names this end. `time`: of index 0.
    pub(super) fn show(&mut self, page: &mut Page, origin: String, time: Option<StartTime>) {
        let info = self.receive_listener.info();
        let tap = PlayedTap::new(page, origin, info);
        self.shown = Some(tap.with_time(time.and_then(|time| time.clock_of(info))));
        self.failures = Some(page.failures().clone());
    }

    /// Plays one session, or one after another until it is interrupted.
    pub(super) fn serve(mut self, once: bool, console: &mut Console) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::Whole;
        while !self.ending.has_come(console) {
            let incoming = self.receive_listener.accept(STOP_PAUSE)?;
            let Some(incoming) = incoming else { continue };
            let played = self.play(incoming, console)?;
            if once {
                outcome = played;
                break;
            }
        }
        let backlog = self.sink.backlog();
        let left = || backlog_words(&backlog, &self.file);
        let finished =
            finishing::finish(console, self.ending.interrupt(), left, || self.sink.finish());
        let files = finished.map_err(Failure::Create)?;
        let names: Vec<_> = files.files.iter().map(|path| path.display().to_string()).collect();
        if !names.is_empty() {
            let samples = grouped(files.samples);
            console.line(format_args!("played into {}: {samples} samples", names.join(", ")));
        }
        Ok(outcome)
    }

    fn play(
        &mut self,
        incoming: AcceptedStream,
        console: &mut Console,
    ) -> Result<Outcome, Failure> {
        let AcceptedStream { id, underflow, receiver } = incoming;
        let info = receiver.info().clone();
        console.line(format_args!(
            "play {id}: {} opened at index {}, packets of {} bytes",
            info.address,
            info.first_index,
            grouped(info.payload_bytes.into())
        ));
        let started = Instant::now();
        let mut cadence = Cadence::new(STATUS_PERIOD, started);
        let mut lines = UnderrunLines::new(self.clock.map_or(0.0, |_| info.rate_hz()));
        let counts = Exported::new(PlayCounts::default());
        self.entry.set({
            let (stats, counts) = (receiver.stats_handle(), counts.clone());
            let (peer, packet_samples) = (Some(info.address), info.packet_samples);
            move || View {
                peer,
                packet_samples,
                receiver: Some(stats.stats()),
                player: Some(counts.get()),
                ..View::default()
            }
        });
        if let Some(shown) = &mut self.shown {
            shown.begin_session(info.first_index, receiver.stats_handle());
        }
        let mut output = ShownOutput::new(&mut self.sink, self.shown.as_mut());
        let mut player = Player::new(receiver, self.clock, underflow, &mut output);
        loop {
            let runs = player.run(TURN, |underrun| lines.print(console, underrun));
            let has_more = runs.map_err(Failure::Create)?;
            counts.set(*player.counts());
            let now = Instant::now();
            if cadence.is_due(now) {
                lines.next_second(console);
                if console.has_status() {
                    let counts = player.counts();
                    console.status(&format!(
                        "play {id}: {}  {} samples  {} underruns  {} late",
                        span((now - started).as_secs_f64()),
                        grouped(counts.played),
                        grouped(counts.underruns),
                        grouped(counts.late_samples)
                    ));
                }
            }
            if let Some(failures) = &self.failures {
                web::report(failures, console);
            }
            if !has_more || self.ending.has_come(console) {
                break;
            }
        }
        lines.next_second(console);
        let played = player.finish();
        if let Some(shown) = &mut self.shown {
            shown.end(&end_words(&played));
        }
        let (receiver, player) = (Some(ended(&played.stats)), Some(played.counts));
        let last = View { receiver, player, ..View::default() };
        self.entry.set(move || last.clone());
        print(console, id, &played, info.frame_bytes(), started.elapsed());
        let beyond_credit = played.stats.stream.beyond_credit;
        if beyond_credit > 0 {
            let packets = grouped(beyond_credit);
            let error = format!("overflow: {packets} packets came beyond the credit of the sender");
            let tip = "the sender breaks the protocol: please report it to its vendor";
            console.error(format_args!("{error}"), Some(tip));
        }
        Ok(outcome(&played))
    }
}

fn print(console: &mut Console, id: u64, played: &Played, frame_bytes: usize, elapsed: Duration) {
    let Played { counts, stats, .. } = played;
    console.line(format_args!(
        "play {id}: {}: {} samples in {}, {}",
        end_words(played),
        grouped(counts.played),
        span(elapsed.as_secs_f64()),
        measured(bits_per_second(counts.played * frame_bytes as u64, elapsed), "b/s")
    ));
    console.line(format_args!("  indexes    {}", indexes_words(played.indexes.clone())));
    console.line(format_args!("  bursts     {}", grouped(counts.bursts)));
    console.line(format_args!(
        "  underruns  {}, of {} samples",
        grouped(counts.underruns),
        grouped(counts.underrun_samples)
    ));
    console.line(format_args!(
        "  late       {} samples in {} packets",
        grouped(counts.late_samples),
        grouped(counts.late_packets)
    ));
    let stream = &stats.stream;
    console.line(format_args!(
        "  packets    {} received, {} repaired, {} given up, {} duplicates",
        grouped(stream.received),
        grouped(stream.repaired),
        grouped(stream.skipped),
        grouped(stream.duplicates)
    ));
    console.line(format_args!(
        "             {} reordered, {} corrupted, {} beyond credit, {} dropped by the socket",
        grouped(stream.reordered),
        grouped(stats.corrupted),
        grouped(stream.beyond_credit),
        grouped(stats.socket_dropped)
    ));
}

fn outcome(played: &Played) -> Outcome {
    let is_whole = played.counts.underruns == 0;
    match played.end {
        _ if played.stats.stream.beyond_credit > 0 => Outcome::Unreachable,
        _ if played.is_stopped => Outcome::Missing,
        Some(End::Finished { .. } | End::ClosedByPeer(CloseReason::Cancelled) | End::Cancelled)
        | None => {
            if is_whole {
                Outcome::Whole
            } else {
                Outcome::Missing
            }
        }
        Some(_) => Outcome::Unreachable,
    }
}

/// Describes how a session ended, from the device's side.
fn end_words(played: &Played) -> String {
    match played.end {
        _ if played.is_stopped => "stopped at an underrun, as the sender wished".into(),
        Some(End::PeerRestarted) => "the sender is gone, or opened the stream again".into(),
        Some(End::Cancelled) | None => "ended here".into(),
        Some(end) => end.words("the sender").to_string(),
    }
}

/// How long the device plays between checks.
const TURN: Duration = Duration::from_millis(20);

/// The interval between updates of the status line.
const STATUS_PERIOD: Duration = Duration::from_secs(1);
