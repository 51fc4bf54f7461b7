//! Actions of a page on a running stream: record it, note an event, end it.
//!
//! - The page's thread queues an [`Order`] for the [`Tap`](crate::Tap), which owns the stream's end of
//!   the recording ([`RecordingInput`]). The tap carries it out in its next call, and answers.
//! - A recording thread opens the files, and finishes and verifies them. The stream waits for neither.

mod executor;
mod folder;
mod input;
mod progress;
mod threads;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use samplewire::SampleIndex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) use executor::OrderExecutor;
pub use folder::Folder;
pub(crate) use input::RecordingInput;
pub(crate) use progress::RecordingProgress;
pub(crate) use threads::{Job, RecordingThreads};

use crate::action::MalformedAction;
use crate::source::lock;

/// Permits a page to act on streams: to record them into a folder, to note events, and to end them.
#[derive(Clone, Debug, Default)]
pub struct Control {
    folder: Option<Folder>,
}

impl Control {
    /// Permits everything except recordings.
    pub const fn new() -> Self {
        Self { folder: None }
    }

    /// Permits recordings into a folder.
    #[must_use]
    pub fn folder(self, folder: Folder) -> Self {
        Self { folder: Some(folder) }
    }

    pub(crate) const fn recordings(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }
}

/// Describes what a page may do, as JSON.
pub(crate) fn describe(control: Option<&Control>) -> Value {
    let folder = control.and_then(Control::recordings);
    let free_bytes = folder.and_then(|folder| folder.storage().free_bytes().ok());
    json!({
        "is_allowed": control.is_some(),
        "folder": folder.map(|folder| folder.path().display().to_string()),
        "free_bytes": free_bytes.map(|bytes| bytes.to_string()),
    })
}

/// What the tap is to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Begin a recording whose files are open, in the run of this number.
    Begin {
        input: Box<RecordingInput>,
        boot: u32,
    },
    Stop {
        at: Option<SampleIndex>,
    },
    Event {
        at: Option<SampleIndex>,
        text: String,
    },
    End,
}

/// An order, and where the answer goes.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) order: Order,
    pub(crate) reply: Reply,
}

pub(crate) type Reply = oneshot::Sender<Result<Done, Refused>>;

/// What was done.
#[derive(Debug)]
pub(crate) struct Done {
    /// The name of the recording, if there is one.
    pub(crate) name: Option<String>,
    /// The first index of a recording, the index after its last, or that of an event or an end.
    pub(crate) index: Option<SampleIndex>,
}

impl Done {
    pub(crate) fn json(&self) -> Value {
        json!({ "name": self.name, "index": self.index.map(|index| index.to_string()) })
    }
}

/// Why an action is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("this page only shows: start the program with --control to act")]
    NoControl,
    #[error("there is no folder for recordings: start the program with --folder DIR")]
    NoFolder,
    #[error("there is no source {0}")]
    NoSource(u16),
    #[error("source {0} is a recording: only a running stream can be recorded, marked or ended")]
    IsRecording(u16),
    #[error("the stream has ended")]
    Ended,
    #[error("index {index} has passed: the stream is at index {next}")]
    Passed { index: SampleIndex, next: SampleIndex },
    #[error("index {index} has not come: the stream is at index {next}")]
    NotCome { index: SampleIndex, next: SampleIndex },
    #[error("index {index} is before the recording, which begins at index {first}")]
    Before { index: SampleIndex, first: SampleIndex },
    #[error("{0} is under way: stop it first")]
    UnderWay(String),
    #[error("the device restarted")]
    Restarted,
    #[error("no recording is under way")]
    NoRecording,
    #[error("{name} has no place for events: raw samples have no metadata")]
    NoEvents { name: String },
    #[error("{name} has {EVENTS_MAX} events, which is the maximum")]
    ManyEvents { name: String },
    #[error("streams of different formats or rates cannot be recorded together")]
    Different,
    #[error("{THREADS_MAX} recordings are being written or verified, which is the maximum")]
    ManyRecordings,
    #[error("{ORDERS_MAX} actions wait for the stream, which is the maximum")]
    ManyOrders,
    #[error("the stream did not answer in time")]
    Late,
    #[error("{0}")]
    Files(String),
    #[error(transparent)]
    Malformed(#[from] MalformedAction),
}

/// Orders on their way to the tap.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    list: Mutex<Waiting>,
    /// Whether there may be some: a tap without orders takes no lock.
    is_any: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<Request>,
    /// The tap is gone.
    is_closed: bool,
}

impl Orders {
    /// Queues an order; a refusal is answered at once.
    pub(crate) fn push(&self, request: Request) {
        let mut waiting = lock(&self.list);
        let refused = if waiting.is_closed {
            Refused::Ended
        } else if waiting.requests.len() >= ORDERS_MAX {
            Refused::ManyOrders
        } else {
            waiting.requests.push_back(request);
            // Release: the tap that sees it finds the order behind the lock in any case.
            self.is_any.store(true, Ordering::Release);
            return;
        };
        drop(waiting);
        request.refuse(refused);
    }

    /// Returns the next order.
    pub(crate) fn pop(&self) -> Option<Request> {
        // Acquire: pairs with `push`.
        if !self.is_any.load(Ordering::Acquire) {
            return None;
        }
        let mut waiting = lock(&self.list);
        let request = waiting.requests.pop_front();
        self.is_any.store(!waiting.requests.is_empty(), Ordering::Release);
        request
    }

    /// Accepts orders again.
    pub(crate) fn reopen(&self) {
        lock(&self.list).is_closed = false;
    }

    /// Refuses all orders from now on.
    pub(crate) fn close(&self) {
        let requests = {
            let mut waiting = lock(&self.list);
            waiting.is_closed = true;
            std::mem::take(&mut waiting.requests)
        };
        requests.into_iter().for_each(|request| request.refuse(Refused::Ended));
    }
}

impl Request {
    pub(crate) fn refuse(self, refused: Refused) {
        // A page that no longer waits needs no answer.
        let _is_heard = self.reply.send(Err(refused)).is_ok();
    }
}

/// Orders that wait for the tap.
const ORDERS_MAX: usize = 8;

/// Events of a recording.
pub(crate) const EVENTS_MAX: u32 = 10_000;

/// Recordings that are open, being finished or being verified.
const THREADS_MAX: usize = 8;
