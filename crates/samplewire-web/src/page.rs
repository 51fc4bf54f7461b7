//! The page of a program: its address, its thread, and the streams that it shows.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{fmt, io};

use tokio::sync::Notify;

use crate::account::Ledger;
use crate::control::Control;
use crate::failures::Failures;
use crate::hub::Hub;
use crate::server::{self, App, LocalAnswers, Process, ProcessList};
use crate::source::{About, lock};
use crate::tap::Tap;
use crate::token::Token;

/// Where the page listens, and which secret it requires.
#[derive(Clone, Debug)]
pub struct PageOptions {
    address: Option<SocketAddr>,
    processes: Option<ProcessList>,
    is_every_sample: bool,
    token: Option<Token>,
    names: Vec<String>,
    control: Option<Control>,
}

impl PageOptions {
    /// Listens at `address`; port 0 picks a free one.
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address: Some(address),
            processes: None,
            is_every_sample: false,
            token: None,
            names: Vec::new(),
            control: None,
        }
    }

    /// Listens nowhere: only other programs of this user read the streams, by [`Page::local`].
    pub const fn local() -> Self {
        Self {
            address: None,
            processes: None,
            is_every_sample: false,
            token: None,
            names: Vec::new(),
            control: None,
        }
    }

    /// Has spectra cover all samples, as far as the page's thread can compute them; the page shows what it
    /// costs. Without it, a frame covers at most 8,192 samples or one transform.
    #[must_use]
    pub const fn every_sample(mut self, is_every_sample: bool) -> Self {
        self.is_every_sample = is_every_sample;
        self
    }

    /// Shows the streams of other processes instead of this one's. `list` returns those that there are;
    /// a call may block for a second.
    #[must_use]
    pub fn processes(mut self, list: impl Fn() -> Vec<Process> + Send + Sync + 'static) -> Self {
        self.processes = Some(ProcessList::new(list));
        self
    }

    /// Requires this token instead of a random one.
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Permits the page to act. Default: it only shows, and every action is refused.
    #[must_use]
    pub fn control(mut self, control: Control) -> Self {
        self.control = Some(control);
        self
    }

    /// Accepts requests for this host name too, for example that of a proxy: `NAME` or `NAME:PORT`.
    /// Other names are refused, since any site may point its own name at this address.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.names.push(name.to_ascii_lowercase());
        self
    }
}

/// The page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The page cannot listen there.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system has no random numbers, or starts no thread.
    #[error("the page: {0}")]
    System(#[from] io::Error),
}

/// Serves the page until it is dropped.
pub struct Page {
    app: Arc<App>,
    address: Option<SocketAddr>,
    local: LocalAnswers,
    thread: Option<JoinHandle<()>>,
    failures: Failures,
}

impl Page {
    /// Starts the page in a thread.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn start(options: PageOptions) -> Result<Self, PageError> {
        let listener = options.address.map(listen).transpose()?;
        let (listener, address) = listener.unzip();
        let token = match options.token {
            Some(token) => token,
            None => Token::draw()?,
        };
        let failures = Failures::default();
        let hub = Hub::new(Arc::new(Notify::new()), failures.clone())
            .with_every_sample(options.is_every_sample);
        // Without a listener no request is compared with the address.
        let own = address.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
        let app = App::new(hub, token, own, options.names)
            .with_processes(options.processes)
            .with_control(options.control);
        let app = Arc::new(app);
        let (local, handed) = LocalAnswers::channel();
        let run = {
            let (app, failures) = (Arc::clone(&app), failures.clone());
            move || failures.supervise(|| server::run(app, listener, handed))
        };
        let thread = std::thread::Builder::new().name("samplewire-web".into()).spawn(run)?;
        Ok(Self { app, address, local, thread: Some(thread), failures })
    }

    /// Shows a source whose agreed first index is `first`. The program passes its samples to the tap.
    pub fn add(&mut self, about: About, first: u64) -> Tap {
        self.app.hub().add(about, first)
    }

    /// The address; the system may have chosen the port.
    ///
    /// # Panics
    /// The page listens nowhere: [`PageOptions::local`].
    pub const fn address(&self) -> SocketAddr {
        self.address.expect("the page has an address")
    }

    /// Where the program passes connections of this user's other programs.
    pub const fn local(&self) -> &LocalAnswers {
        &self.local
    }

    /// The token. It is a secret.
    pub fn token(&self) -> &Token {
        self.app.token()
    }

    /// The address of the page with the token in its fragment, which a browser sends to no server. It is
    /// a secret.
    ///
    /// # Panics
    /// The page listens nowhere: [`PageOptions::local`].
    pub fn url(&self) -> String {
        format!("http://{}/#{}", self.address(), self.token().as_str())
    }

    /// Returns a copy of the account of a source, by its number from 0.
    pub fn ledger(&self, source: usize) -> Option<Ledger> {
        self.app.hub().sources().get(source).map(|source| lock(&source.shared.ledger).clone())
    }

    /// The number of connected pages.
    pub fn viewers(&self) -> usize {
        self.app.hub().viewers()
    }

    /// Returns the next line about a recording that a page started, once it is complete.
    pub fn take_report(&mut self) -> Option<String> {
        self.app.recording_threads().take_report()
    }

    /// Waits until the files of all recordings are complete whose streams have ended. Dropping the page
    /// does so too. A verification that is under way is given up when the program ends.
    ///
    /// # Blocking
    /// As long as the disk needs, and their hashes.
    pub fn finish_recordings(&self) {
        self.app.recording_threads().wait();
    }

    /// A handle to [`take_failure`](Self::take_failure).
    pub const fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Returns, once, why the page ended or why a view of it is not computed. The streams do not depend
    /// on it. The call never waits for the page's work.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failures.take()
    }
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), PageError> {
    let failed = |source| PageError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

impl Drop for Page {
    fn drop(&mut self) {
        self.app.stop();
        if let Some(thread) = self.thread.take() {
            // `supervise` returns panics as a failure.
            let _is_whole = thread.join().is_ok();
        }
        self.finish_recordings();
    }
}

/// Without the token.
impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use samplewire::Cause;
    use samplewire::source::StreamInfo;
    use samplewire_record::sigmf::{RecordedCause, RecordedGap};

    use super::*;
    use crate::message::ViewRequest;
    use crate::spectra::View;

    #[test]
    fn failure_is_taken_while_the_page_works() {
        let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        page.failures.note("no".to_owned());
        let app = Arc::clone(&page.app);
        // The page's thread holds the hub while it computes.
        let hub = app.hub();
        let (taken, found) = mpsc::channel();
        let receiving = std::thread::spawn(move || {
            taken.send(page.take_failure()).expect("the test waits");
            page
        });
        assert_eq!(found.recv_timeout(Duration::from_secs(20)), Ok(Some("no".to_owned())));
        drop(hub);
        drop(receiving.join().expect("it does not panic"));
    }

    /// Samples between two gaps: more than a frame covers.
    const BLOCK: u64 = 10_000;

    /// Passes a block and a gap, and returns the index behind them.
    fn pass(tap: &mut Tap, first: u64) -> u64 {
        tap.samples(first, [&[0; 4 * BLOCK as usize][..]]);
        let gap = RecordedGap::new(first + BLOCK, 7, 0, RecordedCause::Stream(Cause::Deadline));
        tap.gap(&gap, false);
        gap.end()
    }

    #[test]
    fn panic_of_the_thread_ends_the_page_and_is_reported_and_the_tap_goes_on() {
        let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let info = StreamInfo::sc16("", 1e6).unwrap();
        let mut tap = page.add(About::new("test", &[info]), 0);
        let (mut next, mut blocks) = (0, 0);
        let (viewer, _wake) = page.app.hub().join(Instant::now()).unwrap();
        let view = View::whole(256);
        let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: 60, view };
        page.app.hub().show(viewer, &wanted).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let mut frame = Vec::new();
        while !page.app.hub().frame(viewer, Instant::now(), &mut frame) {
            assert!(Instant::now() < end, "the page shows no frame");
            (next, blocks) = (pass(&mut tap, next), blocks + 1);
        }
        // The next request for a run is of a stream that there is not.
        page.app.hub().sources_mut()[0].about.streams.clear();
        let failure = loop {
            assert!(Instant::now() < end, "no failure is reported");
            (next, blocks) = (pass(&mut tap, next), blocks + 1);
            if let Some(failure) = page.take_failure() {
                break failure;
            }
        };
        assert!(failure.starts_with("a defect: index out of bounds"), "{failure}");
        // More gaps than wait for the page's thread.
        for _ in 0..3_000 {
            (next, blocks) = (pass(&mut tap, next), blocks + 1);
        }
        while !page.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            assert!(Instant::now() < end, "the thread goes on");
            (next, blocks) = (pass(&mut tap, next), blocks + 1);
        }
        assert!(TcpStream::connect(page.address()).is_err(), "the page is over");
        tap.end("done");
        let ledger = page.ledger(0).unwrap();
        let account = ledger.account();
        assert_eq!((account.delivered(), account.missing()), (blocks * BLOCK, blocks * 7));
        assert_eq!((account.range(), account.gaps()), (0..next, blocks));
        assert_eq!(page.take_failure(), None, "it is reported once");
    }
}
