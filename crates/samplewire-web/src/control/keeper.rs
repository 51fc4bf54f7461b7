//! Keepers: each opens the files of a recording, waits for its end, and finishes and verifies them.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::SystemTime;

use samplewire::source::StreamInfo;
use samplewire_record::sigmf::Notes;
use samplewire_record::sink::{self, SinkError, SinkOptions, SinkSummary, Writer};
use samplewire_record::storage::Storage;
use samplewire_record::verify::{Report, verify_in};

use super::excerpt::{Excerpt, Layout, Over};
use super::folder::{Folder, file_of};
use super::kept::{Kept, Phase};
use super::{KEEPERS_MAX, Order, Refused, Reply, Request};
use crate::action::{Form, RecordRequest};
use crate::failures::Failures;
use crate::source::{About, Shared, lock};

/// The keepers of a page.
#[derive(Clone, Debug)]
pub(crate) struct Keepers {
    at_work: Arc<(Mutex<AtWork>, Condvar)>,
    failures: Failures,
}

#[derive(Debug, Default)]
struct AtWork {
    threads: usize,
    /// Recordings whose files are open.
    open: Vec<Arc<Kept>>,
    /// What became of recordings, in words.
    reports: VecDeque<String>,
}

/// A recording that a page wants.
pub(crate) struct Job {
    pub(crate) folder: Folder,
    pub(crate) wanted: RecordRequest,
    pub(crate) about: About,
    pub(crate) shared: Arc<Shared>,
}

impl Keepers {
    pub(crate) fn new(failures: Failures) -> Self {
        Self { at_work: Arc::default(), failures }
    }

    /// Starts a recording in a thread of its own, which answers.
    pub(crate) fn start(&self, job: Job, reply: Reply) {
        {
            let mut at_work = lock(&self.at_work.0);
            if at_work.threads >= KEEPERS_MAX {
                drop(at_work);
                let _is_heard = reply.send(Err(Refused::ManyKeepers)).is_ok();
                return;
            }
            at_work.threads += 1;
        }
        let keepers = self.clone();
        let run = move || {
            keepers.failures.clone().supervise(|| {
                keepers.keep(&job, reply);
                Ok(())
            });
            keepers.update(|at_work| at_work.threads -= 1);
        };
        let started = std::thread::Builder::new().name("samplewire-keep".into()).spawn(run);
        if let Err(error) = started {
            // The reply is dropped with the closure: the page gets no answer, and this is its reason.
            self.failures.note(format!("no thread for a recording: {error}"));
            self.update(|at_work| at_work.threads -= 1);
        }
    }

    /// Returns the next line about a recording that is complete.
    pub(crate) fn take_report(&self) -> Option<String> {
        lock(&self.at_work.0).reports.pop_front()
    }

    /// Waits until the files of all recordings are complete that the streams have ended or left.
    pub(crate) fn wait(&self) {
        let mut at_work = lock(&self.at_work.0);
        while at_work.open.iter().any(|kept| kept.phase() == Phase::Finishing) {
            at_work = self.at_work.1.wait(at_work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn update(&self, change: impl FnOnce(&mut AtWork)) {
        change(&mut lock(&self.at_work.0));
        self.at_work.1.notify_all();
    }

    fn keep(&self, job: &Job, reply: Reply) {
        let (kept, layout, writer) = match open(job) {
            Ok(opened) => opened,
            Err(refused) => {
                let _is_heard = reply.send(Err(refused)).is_ok();
                return;
            }
        };
        self.update(|at_work| at_work.open.push(Arc::clone(&kept)));
        let (sender, over) = channel();
        let RecordRequest { from, until, .. } = job.wanted;
        let excerpt = Excerpt::new(Arc::clone(&kept), (from, until), layout, writer, sender);
        job.shared.orders.push(Request { order: Order::Begin(Box::new(excerpt)), reply });
        // It comes in any case: the excerpt sends it when it is dropped.
        if let Ok(over) = over.recv() {
            self.complete(job, &kept, over);
        }
    }

    /// Finishes the files, and verifies them.
    fn complete(&self, job: &Job, kept: &Arc<Kept>, over: Over) {
        let Over { mut writer, rest, has_begun } = over;
        let storage = job.folder.storage();
        let queued = rest.write(&mut writer, kept);
        let (summary, unheard) = writer.finish();
        let error = queued.err().or(unheard);
        if has_begun {
            kept.settle(summary.samples);
        } else {
            remove(&*storage, &summary);
            kept.judge(Phase::Removed, String::new());
        }
        // The files are complete: the program may end.
        self.update(|at_work| at_work.open.retain(|it| !Arc::ptr_eq(it, kept)));
        if has_begun {
            let (phase, reason) = judge(&*storage, kept);
            kept.judge(phase, error.map_or(reason, |error| error.to_string()));
            self.update(|at_work| {
                at_work.reports.truncate(REPORTS_MAX - 1);
                at_work.reports.push_back(kept.words());
            });
        }
    }
}

/// Creates the files, and starts their thread.
fn open(job: &Job) -> Result<(Arc<Kept>, Layout, Writer), Refused> {
    let info = combined(&job.about, &job.shared)?;
    // Checked before a file is created; the tap checks it again.
    if let Some(kept) = job.shared.recordings().last().filter(|kept| kept.is_under_way()) {
        return Err(Refused::UnderWay(kept.name.clone()));
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
    if let Some(boot_id) = job.about.boot_id {
        writer.session(boot_id).map_err(|error| files(&error))?;
    }
    let layout = Layout::new(info.frame_bytes(), info.rate_hz());
    let first = job.wanted.from.unwrap_or(next);
    let kept = Kept::new(name, job.wanted.form, info.frame_bytes(), first);
    Ok((Arc::new(kept), layout, writer))
}

fn files(error: &SinkError) -> Refused {
    Refused::Files(error.to_string())
}

/// The streams of a source as one stream with all channels.
fn combined(about: &About, shared: &Shared) -> Result<StreamInfo, Refused> {
    let first = about.streams.first().ok_or(Refused::Different)?;
    let terms = |info: &StreamInfo| (info.format, info.rate_numerator, info.rate_denominator);
    let mut channels = 0_u16;
    for info in &about.streams {
        let sum = channels.checked_add(info.channels).filter(|_| terms(info) == terms(first));
        channels = sum.ok_or(Refused::Different)?;
    }
    let centre_hz = shared.lanes.first().map_or(f64::NAN, |lane| lane.centre_hz());
    let centre_frequency_hz = centre_hz.is_finite().then_some(centre_hz);
    Ok(StreamInfo { channels, centre_frequency_hz, ..first.clone() })
}

/// Removes the files of a recording that has not begun.
fn remove(storage: &dyn Storage, summary: &SinkSummary) {
    for file in &summary.files {
        // What cannot be removed is empty, and stays.
        let _is_removed = storage.remove_if_there(file).is_ok();
    }
}

/// Verifies complete files.
fn judge(storage: &dyn Storage, kept: &Kept) -> (Phase, String) {
    if kept.form == Form::Raw {
        return (Phase::NotProven, "raw samples have no metadata that could prove them".to_owned());
    }
    let path: PathBuf = file_of(&kept.name, kept.form);
    let report = match verify_in(storage, &path) {
        Ok(report) => report,
        Err(error) => return (Phase::NotProven, error.to_string()),
    };
    if let Some(indexes) = indexes_of(&report) {
        kept.place(indexes);
    }
    match report.faults.first() {
        Some(fault) => (Phase::NotProven, fault.to_string()),
        None if !report.is_finished => (Phase::NotProven, "it is not finished".to_owned()),
        None => (Phase::Proven, String::new()),
    }
}

fn indexes_of(report: &Report) -> Option<std::ops::Range<u64>> {
    let (first, last) = (report.boots.first()?, report.boots.last()?);
    Some(first.indexes.start..last.indexes.end)
}

/// Slots of the queue before the file: buffers, gaps and events.
const SLOTS: usize = 4_096;

/// Lines that wait for the program.
const REPORTS_MAX: usize = 64;
