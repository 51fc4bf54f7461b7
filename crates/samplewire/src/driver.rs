//! What runs an endpoint: an I/O thread, or the calls of the program. Only drivers read a clock.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_circuit::Pages;
use samplewire_io::{Batch, Capabilities, LinkError};
use samplewire_proto::Nanos;

use crate::calls::Calls;
use crate::endpoint::{Endpoint, Rest};
use crate::port::Epoch;
use crate::real_time::{Granted, RealTime, Waits};
use crate::sync::Mutex;
use crate::sync::lock;

/// What owns a link and its protocol machines, and does what is due.
pub(crate) trait Engine: Send {
    /// Receives, delivers, sends, and waits where it may; `false` when there is nothing left to do.
    fn step(&mut self) -> bool;
}

/// The monotonic clock of an endpoint, in nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Epoch,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { epoch: Epoch(Instant::now()) }
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.epoch.0.elapsed().as_nanos() as u64)
    }

    /// When its times start.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }
}

/// An endpoint with what it needs to run: the clock, and the memory for what arrives.
pub(crate) struct Running {
    pub(crate) endpoint: Endpoint,
    pub(crate) batch: Batch,
    pub(crate) clock: Clock,
    pub(crate) calls: Arc<Calls>,
}

impl Running {
    fn rest(&mut self, rest: Rest) -> Result<(), LinkError> {
        match rest {
            Rest::No => Ok(()),
            Rest::Until(at) => {
                let span = at.since(self.clock.now());
                self.calls.sleep(self.endpoint.link(), span, || true)
            }
            Rest::Room(at) => {
                let span = at.since(self.clock.now());
                self.endpoint.link().wait(Duration::from_nanos(span.0))
            }
            Rest::Pause(at) => {
                std::thread::sleep(Duration::from_nanos(at.since(self.clock.now()).0));
                Ok(())
            }
        }
    }
}

impl Engine for Running {
    fn step(&mut self) -> bool {
        let rest = self.endpoint.turn(self.clock.now(), &mut self.batch);
        if self.endpoint.is_over() {
            return false;
        }
        if let Err(error) = self.rest(rest) {
            self.endpoint.fail(&error);
        }
        true
    }
}

/// What every handle of a port has.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) capabilities: Capabilities,
    pub(crate) granted: Granted,
    /// Ends when the last handle goes.
    pub(crate) drive: Arc<Drive>,
}

/// Whoever calls an engine's steps; dropping it waits for the engine's end.
pub(crate) enum Drive {
    Thread(Option<JoinHandle<()>>),
    /// The program's calls, while they wait.
    Inline(Mutex<Option<Box<dyn Engine>>>),
}

impl Port {
    /// Starts an engine, in a thread of that name unless the options say otherwise. `pages` are those
    /// of its memory, `None` where the memory comes with each stream.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn start(
        name: &str,
        capabilities: Capabilities,
        options: &RealTime,
        pages: Option<Pages>,
        engine: impl Engine + 'static,
    ) -> io::Result<Self> {
        if options.how_it_waits() == Waits::Inline {
            let granted = Granted::ask(options, pages);
            let drive = Arc::new(Drive::Inline(Mutex::new(Some(Box::new(engine)))));
            return Ok(Self { capabilities, granted, drive });
        }
        Self::start_thread(name, capabilities, options, pages, engine)
    }

    /// Starts an engine in a thread of that name.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn start_thread(
        name: &str,
        capabilities: Capabilities,
        options: &RealTime,
        pages: Option<Pages>,
        mut engine: impl Engine + 'static,
    ) -> io::Result<Self> {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let options = options.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Whoever opened the port waits for it.
            let _told = tell.send(Granted::ask(&options, pages)).is_ok();
            while engine.step() {}
        })?;
        let granted = told.recv().map_err(|_| io::Error::other("the I/O thread ended at once"))?;
        Ok(Self { capabilities, granted, drive: Arc::new(Drive::Thread(Some(thread))) })
    }
}

impl Drive {
    /// Whether it is the program's calls that run the port.
    pub(crate) const fn is_inline(&self) -> bool {
        matches!(self, Self::Inline(_))
    }

    /// Does what is due, where no thread does; `false` where there is nothing left to do.
    pub(crate) fn turn(&self) -> bool {
        let Self::Inline(engine) = self else { return false };
        let mut engine = lock(engine);
        let goes_on = engine.as_mut().is_some_and(|engine| engine.step());
        if !goes_on {
            *engine = None;
        }
        goes_on
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        match self {
            Self::Thread(thread) => {
                if let Some(thread) = thread.take() {
                    thread.join().expect("the I/O thread does not panic");
                }
            }
            Self::Inline(_) => while self.turn() {},
        }
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_inline() { "Inline" } else { "Thread" })
    }
}
