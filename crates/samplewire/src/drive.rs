//! Who runs a port: an I/O thread, or the calls of the program.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use samplewire_circuit::Pages;
use samplewire_io::Capabilities;

use crate::bell::lock;
use crate::real_time::{Granted, RealTime, Waits};
use crate::sync::Mutex;

/// What owns a link and its protocol machines, and does what is due.
pub(crate) trait Engine: Send {
    /// Receives, delivers, sends, and waits where it may; `false` when there is nothing left to do.
    fn step(&mut self) -> bool;
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
    /// Starts an engine, in a thread of that name unless the options say otherwise.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn start(
        name: &str,
        capabilities: Capabilities,
        (options, pages): (&RealTime, Pages),
        engine: impl Engine + 'static,
    ) -> io::Result<Self> {
        if options.how_it_waits() == Waits::Inline {
            let granted = Granted::ask(options, pages);
            let drive = Arc::new(Drive::Inline(Mutex::new(Some(Box::new(engine)))));
            return Ok(Self { capabilities, granted, drive });
        }
        Self::start_thread(name, capabilities, (options, pages), engine)
    }

    /// Starts an engine in a thread of that name.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn start_thread(
        name: &str,
        capabilities: Capabilities,
        (options, pages): (&RealTime, Pages),
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
