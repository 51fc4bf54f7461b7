//! The metadata of a recording in progress.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use samplewire::{StreamInfo, TaiClock};
use samplewire_proto::SampleIndex;

use super::datatype::datatype_of;
use super::datetime::rfc3339_of_tai;
use super::entry::{Event, Mark, MarkKind, RECORDER, Run};
use super::field::id_text;
use super::gap::RecordedGap;
use super::notes::Notes;
use super::{Capture, Metadata};

/// The metadata: global fields, a capture for each run of samples without a gap, and an annotation
/// for each gap, jump or event. It can be written at any time.
#[derive(Debug)]
pub(crate) struct Document {
    global: Map<String, Value>,
    global_bytes_max: u64,
    /// The centre frequency of the samples that follow.
    frequency_hz: Option<f64>,
    /// The device's time of the samples that follow.
    tai_clock: Option<TaiClock>,
    /// The number of this recording in a series, from 1.
    part: Option<u32>,
    /// Whether another part follows.
    is_continued: bool,
    sessions: Vec<Session>,
    /// The boot of the session whose first run is still to come.
    opening: Option<Option<u64>>,
    runs: Vec<Run>,
    marks: Vec<Mark>,
    /// In the order of their samples.
    events: Vec<Event>,
    events_bytes_max: u64,
}

/// The runs of one opening of the stream at one centre frequency.
#[derive(Clone, Debug)]
struct Session {
    /// The number of its first run.
    first_run: usize,
    /// The device's run; indexes are comparable within one.
    boot_id: Option<u64>,
    /// When its first sample arrived; `None` if that is not known, and after a change of the centre
    /// frequency alone.
    datetime: Option<String>,
    frequency_hz: Option<f64>,
}

/// Finds the sessions of runs, which must be visited in order.
struct SessionsInOrder<'a> {
    left: &'a [Session],
    current: Option<&'a Session>,
}

impl<'a> SessionsInOrder<'a> {
    const fn of(sessions: &'a [Session]) -> Self {
        Self { left: sessions, current: None }
    }

    /// Returns the session of a run. The run must not be before that of the previous call.
    fn at(&mut self, run: usize) -> Option<&'a Session> {
        while let Some((next, left)) = self.left.split_first()
            && next.first_run <= run
        {
            (self.current, self.left) = (Some(next), left);
        }
        self.current
    }
}

/// The progress of a recording at the time of writing its metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress<'a> {
    /// Samples in the data file. The metadata do not cover later samples.
    pub(crate) samples: u64,
    /// Whether the recording is finished.
    pub(crate) is_finished: bool,
    /// The hash of the data, once it is known.
    pub(crate) sha512: Option<&'a str>,
}

impl Document {
    /// Creates a document without samples.
    pub(crate) fn new(info: &StreamInfo, notes: &Notes) -> Self {
        let mut global = notes.fields().clone();
        global.insert("core:datatype".into(), datatype_of(info.format).into());
        global.insert("core:version".into(), SIGMF_VERSION.into());
        global.insert("core:num_channels".into(), info.channels.into());
        global.insert("core:recorder".into(), RECORDER.into());
        global.insert(
            "core:extensions".into(),
            json!([{ "name": "samplewire", "version": "1.3.0", "optional": true }]),
        );
        if info.rate_numerator > 0 {
            global.insert("core:sample_rate".into(), rate(info));
        }
        let text = serde_json::to_string_pretty(&global).expect("all keys are texts");
        Self {
            global,
            global_bytes_max: (text.len() + AROUND_BYTES_MAX) as u64,
            frequency_hz: info.centre_frequency_hz.filter(|hz| hz.is_finite()),
            tai_clock: None,
            part: None,
            is_continued: false,
            sessions: Vec::new(),
            opening: Some(None),
            runs: Vec::new(),
            marks: Vec::new(),
            events: Vec::new(),
            events_bytes_max: 0,
        }
    }

    /// Restores the document of the captures of `metadata`, `marks` and `events`; captures without an
    /// index are left out.
    pub(crate) fn restored(
        info: &StreamInfo,
        metadata: &Metadata,
        marks: &[Mark],
        events: &[Event],
    ) -> Self {
        let mut document = Self::new(info, &metadata.notes);
        for Capture { sample_start, global_index, boot_id, datetime, tai_ns, frequency_hz } in
            &metadata.captures
        {
            let Some(index) = *global_index else { continue };
            let (boot_id, tai_ns, frequency_hz) = (*boot_id, *tai_ns, *frequency_hz);
            // The date of a capture with the device's time comes from that time.
            let datetime = datetime.clone().filter(|_| tai_ns.is_none());
            let is_new = document
                .sessions
                .last()
                .is_none_or(|last| (last.boot_id, last.frequency_hz) != (boot_id, frequency_hz));
            if is_new || datetime.is_some() {
                let first_run = document.runs.len();
                document.sessions.push(Session { first_run, boot_id, datetime, frequency_hz });
            }
            document.runs.push(Run { sample_start: *sample_start, index, tai_ns });
        }
        document.marks = marks.to_vec();
        document.events = events.to_vec();
        document.events_bytes_max = events.iter().map(Event::len_bytes_max).sum();
        document
    }

    /// Notes that the data are compressed in the file `dataset`. Readers without support for that
    /// must refuse the recording.
    pub(crate) fn set_compressed(&mut self, dataset: &str) {
        self.global.insert("core:dataset".into(), dataset.into());
        self.global.insert("samplewire:compression".into(), "zstd".into());
        self.global["core:extensions"][0]["optional"] = false.into();
        self.global_bytes_max += dataset.len() as u64;
    }

    /// Sets the number of this part in a series, from 1.
    pub(crate) fn set_part(&mut self, part: Option<u32>) {
        self.part = part;
    }

    /// Notes that another part follows.
    pub(crate) fn set_continued(&mut self) {
        self.is_continued = true;
    }

    /// Returns the device's run of the last session.
    pub(crate) fn boot_id(&self) -> Option<u64> {
        let run_start = self.runs.last().map(|run| run.sample_start);
        let is_behind = |mark: &&Mark| run_start.is_none_or(|start| mark.sample_start > start);
        let of_mark = self.marks.last().filter(is_behind).and_then(|mark| mark.boot_id);
        of_mark.or_else(|| self.sessions.last()?.boot_id)
    }

    /// Returns whether there are no captures or annotations.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.marks.is_empty()
    }

    /// Returns all captures and annotations in the form of a journal.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let mut sessions = SessionsInOrder::of(&self.sessions);
        let captures = (0..self.runs.len())
            .map(move |number| ("capture", self.capture(number, sessions.at(number))));
        let marks = self.marks.iter().map(Mark::annotation);
        let annotations = marks.chain(self.events.iter().map(Event::annotation));
        captures.chain(annotations.map(|annotation| ("annotation", annotation)))
    }

    /// Notes that the next run begins a session with the device's run `boot_id`, whose time is not
    /// known until [`Self::set_tai_clock`].
    pub(crate) fn begin_session(&mut self, boot_id: u64) {
        (self.opening, self.tai_clock) = (Some(Some(boot_id)), None);
    }

    /// Sets the device's time of the indexes that follow: each run begins with the newest.
    pub(crate) fn set_tai_clock(&mut self, clock: Option<TaiClock>) {
        self.tai_clock = clock;
    }

    /// Sets the centre frequency of the samples that follow. Each change between two samples begins a
    /// run, and counts against [`GAPS_MAX`].
    pub(crate) fn tune(&mut self, frequency_hz: Option<f64>) {
        self.frequency_hz = frequency_hz.filter(|hz| hz.is_finite());
    }

    /// Returns whether the next sample has another centre frequency than the last.
    pub(crate) fn is_retuned(&self) -> bool {
        self.sessions.last().is_some_and(|last| last.frequency_hz != self.frequency_hz)
    }

    /// Begins a run at `sample_start` of the file, of the indexes from `index` on, and returns its
    /// capture; `None` if there are [`GAPS_MAX`] already. `datetime` is the time of arrival, kept for
    /// the first run of an opening.
    pub(crate) fn begin_run(
        &mut self,
        sample_start: u64,
        index: SampleIndex,
        datetime: impl FnOnce() -> String,
    ) -> Option<Value> {
        if self.runs.len() > GAPS_MAX {
            return None;
        }
        if let Some(boot_id) = self.opening.take() {
            let (first_run, datetime) = (self.runs.len(), Some(datetime()));
            let frequency_hz = self.frequency_hz;
            self.sessions.push(Session { first_run, boot_id, datetime, frequency_hz });
        } else if self.is_retuned() {
            // The index has the time of these samples: their arrival would contradict it.
            let boot_id = self.sessions.last().and_then(|last| last.boot_id);
            let (first_run, frequency_hz) = (self.runs.len(), self.frequency_hz);
            self.sessions.push(Session { first_run, boot_id, datetime: None, frequency_hz });
        }
        let tai_ns = self.tai_clock.map(|clock| clock.tai_ns(index));
        self.runs.push(Run { sample_start, index, tai_ns });
        Some(self.capture(self.runs.len() - 1, self.sessions.last()))
    }

    /// Adds a gap before `sample_start` of the file and returns its annotation; `None` if there are
    /// [`GAPS_MAX`] already.
    pub(crate) fn add_gap(&mut self, sample_start: u64, gap: &RecordedGap) -> Option<Value> {
        self.add(sample_start, MarkKind::Gap(*gap))
    }

    /// Adds indexes that have no samples; as [`Self::add_gap`].
    pub(crate) fn add_jump(
        &mut self,
        sample_start: u64,
        first: SampleIndex,
        count: u64,
    ) -> Option<Value> {
        self.add(sample_start, MarkKind::Jump { first, count })
    }

    fn add(&mut self, sample_start: u64, kind: MarkKind) -> Option<Value> {
        if self.marks.len() >= GAPS_MAX {
            return None;
        }
        let mark = Mark { sample_start, kind, boot_id: self.opening.flatten() };
        self.marks.push(mark);
        Some(mark.annotation())
    }

    /// Adds an event at an index of the device's last run, and returns its annotation; `None` if there
    /// are [`EVENTS_MAX`] already. The file has `len_samples` samples.
    pub(crate) fn add_event(
        &mut self,
        len_samples: u64,
        index: SampleIndex,
        text: &str,
    ) -> Option<Value> {
        if self.events.len() >= EVENTS_MAX {
            return None;
        }
        let sample_start = self.place_of(index, len_samples);
        let event = Event { sample_start, index, text: text.to_owned() };
        let annotation = event.annotation();
        self.events_bytes_max += event.len_bytes_max();
        let at = self.events.partition_point(|it| it.sample_start <= sample_start);
        self.events.insert(at, event);
        Some(annotation)
    }

    /// Returns the sample at an index of the device's last run, or the first in the file after it.
    fn place_of(&self, index: SampleIndex, len_samples: u64) -> u64 {
        let boot_id = self.sessions.last().and_then(|last| last.boot_id);
        let sessions = self.sessions.iter().rev();
        let first = sessions.take_while(|session| session.boot_id == boot_id).last();
        let first_run = first.map_or(0, |session| session.first_run);
        let runs = &self.runs[first_run.min(self.runs.len())..];
        let after = runs.partition_point(|run| run.index <= index);
        let end = runs.get(after).map_or(len_samples, |next| next.sample_start);
        match after.checked_sub(1) {
            Some(at) => runs[at].sample_start.saturating_add(index - runs[at].index).min(end),
            None => end,
        }
    }

    /// Removes everything after the first `len_samples` of the file.
    pub(crate) fn truncate(&mut self, len_samples: u64) {
        self.runs.truncate(self.runs_before(len_samples));
        self.marks.truncate(self.marks_until(len_samples));
        self.events.truncate(self.events_until(len_samples));
        let runs = self.runs.len();
        self.sessions.retain(|session| session.first_run < runs);
    }

    /// Returns an upper bound of the text's length in bytes.
    pub(crate) fn len_bytes_max(&self) -> u64 {
        let lists = self.runs.len() * RUN_BYTES_MAX + self.marks.len() * MARK_BYTES_MAX;
        self.global_bytes_max + lists as u64 + self.events_bytes_max
    }

    /// Writes the whole document.
    pub(crate) fn write(&self, out: &mut impl Write, progress: &Progress<'_>) -> io::Result<()> {
        out.write_all(b"{\n\"global\": ")?;
        serde_json::to_writer_pretty(&mut *out, &self.global(progress))?;
        out.write_all(b",\n\"captures\": [")?;
        let runs = self.runs_before(progress.samples);
        let mut sessions = SessionsInOrder::of(&self.sessions);
        list(out, (0..runs).map(|number| self.capture(number, sessions.at(number))))?;
        out.write_all(b"\n],\n\"annotations\": [")?;
        list(out, self.annotations(progress.samples))?;
        out.write_all(b"\n]\n}\n")
    }

    /// Returns the annotations within the first `len_samples` of the file, in the order of their
    /// samples.
    fn annotations(&self, len_samples: u64) -> impl Iterator<Item = Value> {
        let mut marks = self.marks[..self.marks_until(len_samples)].iter().peekable();
        let mut events = self.events[..self.events_until(len_samples)].iter().peekable();
        std::iter::from_fn(move || {
            let event_start = events.peek().map_or(u64::MAX, |event| event.sample_start);
            match marks.next_if(|mark| mark.sample_start <= event_start) {
                Some(mark) => Some(mark.annotation()),
                None => events.next().map(Event::annotation),
            }
        })
    }

    fn global(&self, progress: &Progress<'_>) -> Map<String, Value> {
        let mut global = self.global.clone();
        global.insert("samplewire:finished".into(), progress.is_finished.into());
        global.insert("samplewire:sample_count".into(), progress.samples.into());
        if let Some(part) = self.part {
            global.insert("samplewire:part".into(), part.into());
            global.insert("samplewire:continued".into(), self.is_continued.into());
        }
        if let Some(sha512) = progress.sha512 {
            global.insert("core:sha512".into(), sha512.into());
        }
        if let (true, Some(first)) = (progress.is_finished, self.first()) {
            global.insert("samplewire:first_index".into(), first.into());
            global.insert("samplewire:end_index".into(), self.end(progress.samples).into());
        }
        // Of an opening that has samples.
        let clock = self.tai_clock.filter(|_| progress.is_finished && self.opening.is_none());
        if let Some(clock) = clock {
            global.insert("samplewire:timed_index".into(), clock.index.into());
            global.insert("samplewire:timed_index_tai_ns".into(), clock.tai_ns.into());
        }
        global
    }

    /// Returns the first index that is present or in a gap.
    fn first(&self) -> Option<SampleIndex> {
        match (self.marks.first(), self.runs.first()) {
            (Some(mark), _) if mark.sample_start == 0 => Some(mark.first()),
            (_, run) => run.map(|run| run.index),
        }
    }

    /// Returns the index after the last that is present or in a gap; 0 if there is no index. The
    /// file has `len_samples` samples.
    pub(crate) fn end(&self, len_samples: u64) -> SampleIndex {
        match (self.marks.last(), self.runs.last()) {
            (Some(mark), _) if mark.sample_start >= len_samples => mark.end(),
            (_, Some(run)) => run.index + (len_samples - run.sample_start),
            (_, None) => 0,
        }
    }

    fn capture(&self, number: usize, session: Option<&Session>) -> Value {
        let run = &self.runs[number];
        let mut capture =
            json!({ "core:sample_start": run.sample_start, "core:global_index": run.index });
        let Some(session) = session else { return capture };
        if let Some(frequency_hz) = session.frequency_hz {
            capture["core:frequency"] = frequency_hz.into();
        }
        if let Some(boot_id) = session.boot_id {
            capture["samplewire:boot_id"] = id_text(boot_id).into();
        }
        if let Some(tai_ns) = run.tai_ns {
            capture["samplewire:tai_ns"] = tai_ns.into();
            capture["core:datetime"] = rfc3339_of_tai(tai_ns).into();
        } else if let (true, Some(datetime)) = (session.first_run == number, &session.datetime) {
            capture["core:datetime"] = datetime.as_str().into();
        }
        capture
    }

    /// Returns how many runs begin within the first `len_samples` of the file.
    fn runs_before(&self, len_samples: u64) -> usize {
        self.runs.partition_point(|run| run.sample_start < len_samples)
    }

    /// Returns how many marks lie within the first `len_samples` of the file, or at their end.
    fn marks_until(&self, len_samples: u64) -> usize {
        self.marks.partition_point(|mark| mark.sample_start <= len_samples)
    }

    /// Returns how many events lie within the first `len_samples` of the file, or at their end.
    fn events_until(&self, len_samples: u64) -> usize {
        self.events.partition_point(|event| event.sample_start <= len_samples)
    }
}

fn list(out: &mut impl Write, values: impl Iterator<Item = Value>) -> io::Result<()> {
    for (number, value) in values.enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &value)?;
    }
    Ok(())
}

/// Returns the sample rate, as an integer if it is one.
fn rate(info: &StreamInfo) -> Value {
    match info.rate_numerator % u64::from(info.rate_denominator) {
        0 => (info.rate_numerator / u64::from(info.rate_denominator)).into(),
        _ => info.rate_hz().into(),
    }
}

/// The maximum number of gaps in a recording, and of captures after the first: their
/// memory is 96 MiB, their text some 300 MB.
pub(crate) const GAPS_MAX: usize = 1 << 20;

/// The maximum length of metadata and journals; [`GAPS_MAX`] gaps and as many captures are shorter.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 30;

/// The maximum number of events in a recording.
pub(crate) const EVENTS_MAX: usize = 1 << 16;

/// The length of the hash, the claims, a time of arrival and the brackets.
const AROUND_BYTES_MAX: usize = 768;

/// The maximum length of a capture and of an annotation, with numbers of 20 digits.
const RUN_BYTES_MAX: usize = 256;
/// See [`RUN_BYTES_MAX`].
const MARK_BYTES_MAX: usize = 640;

const SIGMF_VERSION: &str = "1.2.5";

#[cfg(test)]
mod tests;
