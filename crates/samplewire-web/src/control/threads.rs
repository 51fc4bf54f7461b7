//! The threads of recordings: each opens the files of a recording, waits for its end, and finishes
//! and verifies them.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::SystemTime;

use samplewire::source::StreamInfo;
use samplewire_record::sigmf::Notes;
use samplewire_record::sink::{self, SinkError, SinkOptions, SinkSummary, Writer};
use samplewire_record::storage::Storage;
use samplewire_record::verify::{Hash, Report, verify_in};

use super::folder::{Folder, file_of};
use super::input::{Layout, Over, RecordingInput};
use super::progress::{Phase, RecordingProgress};
use super::{Order, Refused, Reply, Request, THREADS_MAX};
use crate::action::{Form, RecordRequest};
use crate::failures::Failures;
use crate::source::{About, Shared, lock};

/// The threads of a page's recordings.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordingThreads {
    at_work: Arc<(Mutex<AtWork>, Condvar)>,
}

#[derive(Debug, Default)]
struct AtWork {
    threads: usize,
    /// Recordings whose files are open.
    open: Vec<Arc<RecordingProgress>>,
    /// The results of recordings, in words.
    reports: VecDeque<String>,
}

/// A recording that a page wants.
pub(crate) struct Job {
    pub(crate) folder: Folder,
    pub(crate) wanted: RecordRequest,
    pub(crate) about: About,
    pub(crate) shared: Arc<Shared>,
}

impl RecordingThreads {
    /// Starts a recording in a thread of its own, which answers.
    pub(crate) fn start(&self, job: Job, reply: Reply) {
        {
            let mut at_work = lock(&self.at_work.0);
            if at_work.threads >= THREADS_MAX {
                drop(at_work);
                let _is_heard = reply.send(Err(Refused::ManyRecordings)).is_ok();
                return;
            }
            at_work.threads += 1;
        }
        let threads = self.clone();
        let run = move || {
            threads.supervise(|opened| threads.record(&job, reply, opened));
            threads.update(|at_work| at_work.threads -= 1);
        };
        let started = std::thread::Builder::new().name("samplewire-rec".into()).spawn(run);
        if let Err(error) = started {
            // The reply is dropped with the closure: the page gets no answer, and this is its
            // reason.
            self.report(format!("no thread for a recording: {error}"));
            self.update(|at_work| at_work.threads -= 1);
        }
    }

    /// Runs a recording, which notes itself once its files are open. After a panic nothing waits
    /// for it.
    fn supervise(&self, record: impl FnOnce(&mut Option<Arc<RecordingProgress>>)) {
        let (mut opened, defect) = (None, Failures::default());
        defect.supervise(|| {
            record(&mut opened);
            Ok(())
        });
        let Some(words) = defect.take() else { return };
        let Some(progress) = opened else { return self.report(format!("a recording: {words}")) };
        progress.judge(Phase::NotProven, words);
        self.report(progress.words());
        self.close(&progress);
    }

    /// Returns the next line about a recording that is complete.
    pub(crate) fn take_report(&self) -> Option<String> {
        lock(&self.at_work.0).reports.pop_front()
    }

    /// Waits until the files of all recordings that are finishing are complete.
    pub(crate) fn wait(&self) {
        let mut at_work = lock(&self.at_work.0);
        while at_work.open.iter().any(|progress| progress.phase() == Phase::Finishing) {
            at_work = self.at_work.1.wait(at_work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn update(&self, change: impl FnOnce(&mut AtWork)) {
        change(&mut lock(&self.at_work.0));
        self.at_work.1.notify_all();
    }

    fn report(&self, words: String) {
        self.update(|at_work| {
            at_work.reports.truncate(REPORTS_MAX - 1);
            at_work.reports.push_back(words);
        });
    }

    fn open(&self, progress: &Arc<RecordingProgress>) {
        self.update(|at_work| at_work.open.push(Arc::clone(progress)));
    }

    /// Notes that the files are complete: the program may end.
    fn close(&self, progress: &Arc<RecordingProgress>) {
        self.update(|at_work| at_work.open.retain(|it| !Arc::ptr_eq(it, progress)));
    }

    fn record(&self, job: &Job, reply: Reply, opened: &mut Option<Arc<RecordingProgress>>) {
        let (progress, layout, writer, boot) = match open(job) {
            Ok(open) => open,
            Err(refused) => {
                let _is_heard = reply.send(Err(refused)).is_ok();
                return;
            }
        };
        self.open(&progress);
        *opened = Some(Arc::clone(&progress));
        let (sender, over) = channel();
        let RecordRequest { from, until, .. } = job.wanted;
        let input =
            RecordingInput::new(Arc::clone(&progress), (from, until), layout, writer, sender);
        let order = Order::Begin { input: Box::new(input), boot };
        job.shared.orders.push(Request { order, reply });
        // It comes in any case: the input sends it when it is dropped.
        if let Ok(over) = over.recv() {
            self.complete(&*job.folder.storage(), &progress, over);
        }
    }

    /// Finishes the files, and verifies them.
    fn complete(&self, storage: &dyn Storage, progress: &Arc<RecordingProgress>, over: Over) {
        let Over { mut writer, rest, has_begun } = over;
        let queued = rest.write(&mut writer, progress);
        let (summary, unheard) = writer.finish();
        let error = queued.err().or(unheard);
        if has_begun {
            progress.settle(summary.samples);
        } else {
            remove(storage, &summary);
            progress.judge(Phase::Removed, String::new());
        }
        self.close(progress);
        if has_begun {
            let (phase, reason) = judge(storage, progress, error);
            progress.judge(phase, reason);
            self.report(progress.words());
        }
    }
}

/// Creates the files, and starts their thread. Returns the number of the device's run too.
fn open(job: &Job) -> Result<(Arc<RecordingProgress>, Layout, Writer, u32), Refused> {
    // Before anything else: the tap refuses a recording of another run.
    let boot = job.shared.boot();
    let info = combined(&job.about, &job.shared)?;
    // Checked before a file is created; the tap checks it again.
    if let Some(progress) =
        job.shared.recordings().last().filter(|progress| progress.is_under_way())
    {
        return Err(Refused::UnderWay(progress.name.clone()));
    }
    if lock(&job.shared.ended).is_some() {
        return Err(Refused::Ended);
    }
    let next = lock(&job.shared.ledger).account().range().end;
    if let Some(index) = job.wanted.from.filter(|&index| index < next) {
        return Err(Refused::Passed { index, next });
    }
    let name = job.folder.free_name(&job.wanted.name, SystemTime::now());
    let name = name.ok_or_else(|| Refused::Files("no name is free in the folder".to_owned()))?;
    let mut notes = Notes::default();
    if !job.about.numbers.is_empty() {
        notes.set_streams(job.about.numbers.iter().copied());
    }
    let options = SinkOptions::new().notes(notes).storage(job.folder.storage());
    let file = file_of(&name, job.wanted.form);
    let sink = sink::open(&file, &info, &options).map_err(|error| files(&error))?;
    let system = |error: io::Error| Refused::Files(error.to_string());
    let mut writer = Writer::start(sink, SLOTS).map_err(system)?;
    if let Some(boot_id) = boot.id {
        writer.session(boot_id).map_err(|error| files(&error))?;
    }
    let layout = Layout::new(info.frame_bytes(), info.rate_hz());
    let first = job.wanted.from.unwrap_or(next);
    let progress = RecordingProgress::new(name, job.wanted.form, info.frame_bytes(), first);
    Ok((Arc::new(progress), layout, writer, boot.number))
}

fn files(error: &SinkError) -> Refused {
    Refused::Files(error.to_string())
}

/// The streams of a source as one stream with all channels, at their present centre frequencies.
fn combined(about: &About, shared: &Shared) -> Result<StreamInfo, Refused> {
    let mut present = about.streams.iter().zip(&shared.lanes).map(|(info, lane)| {
        let centre_frequency_hz = Some(lane.centre_hz()).filter(|hz| hz.is_finite());
        StreamInfo { centre_frequency_hz, ..info.clone() }
    });
    let terms = |info: &StreamInfo| (info.format, info.rate_numerator, info.rate_denominator);
    let join = |all: StreamInfo, info: StreamInfo| {
        let is_like = terms(&all) == terms(&info);
        let fits = all.channels.checked_add(info.channels).is_some();
        (is_like && fits).then(|| all.joined(&info)).ok_or(Refused::Different)
    };
    let first = present.next().ok_or(Refused::Different)?;
    present.try_fold(first, join)
}

/// Removes the files of a recording that has not begun.
fn remove(storage: &dyn Storage, summary: &SinkSummary) {
    for file in &summary.files {
        // What cannot be removed is empty, and stays.
        let _is_removed = storage.remove_if_there(file).is_ok();
    }
}

/// Verifies complete files. `error`: why they are not, if finishing them failed.
fn judge(
    storage: &dyn Storage,
    progress: &RecordingProgress,
    error: Option<SinkError>,
) -> (Phase, String) {
    let error = error.map(|error| error.to_string());
    if progress.form == Form::Raw {
        let why = "raw samples have no metadata that could prove them";
        return (Phase::NotProven, error.unwrap_or_else(|| why.to_owned()));
    }
    let why_not = match verify_in(storage, &file_of(&progress.name, progress.form)) {
        Ok(report) => {
            if let Some(indexes) = indexes_of(&report) {
                progress.place(indexes, report.samples);
            }
            fault_of(&report)
        }
        Err(error) => Some(error.to_string()),
    };
    match error.or(why_not) {
        Some(reason) => (Phase::NotProven, reason),
        None => (Phase::Proven, String::new()),
    }
}

/// Why a recording is not proven, if it is not.
fn fault_of(report: &Report) -> Option<String> {
    let fault = report.faults.first().map(ToString::to_string);
    fault.or_else(|| match report.hash {
        _ if !report.is_finished => Some("it is not finished".to_owned()),
        Hash::Matches => None,
        Hash::Absent | Hash::Unfinished => Some("its data have no hash".to_owned()),
        Hash::Differs => Some("its data do not match the hash".to_owned()),
    })
}

fn indexes_of(report: &Report) -> Option<std::ops::Range<u64>> {
    let (first, last) = (report.boots.first()?, report.boots.last()?);
    Some(first.indexes.start..last.indexes.end)
}

/// Slots of the queue before the file: buffers, gaps and events.
const SLOTS: usize = 4_096;

/// Lines that wait for the program.
const REPORTS_MAX: usize = 64;

#[cfg(test)]
mod tests;
