//! The page's thread: HTTP and WebSockets on one runtime, and the clock of the frames.

mod act;
mod api;
mod assets;
mod connection;
mod cost;
mod guard;
mod local;
mod relay;
mod viewer;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{future, io};

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use crate::control::{self, Control, RecordingThreads};
use crate::failures::Failures;
use crate::hub::Hub;
use crate::source::lock;
use crate::state;
use crate::token::Token;
use connection::{Connection, Connections};
use cost::Cost;
pub(crate) use local::Handed;
pub use local::LocalAnswers;
pub use relay::Process;
pub(crate) use relay::ProcessList;
use relay::Relay;

/// What every request can reach.
pub(crate) struct App {
    hub: Mutex<Hub>,
    /// Wakes the frame clock.
    notify: Arc<Notify>,
    token: Token,
    address: SocketAddr,
    names: Vec<String>,
    stop: Notify,
    failures: Failures,
    control: Option<Control>,
    recording_threads: RecordingThreads,
    started: Instant,
    /// Constant texts, as JSON.
    terms: String,
    /// The last account and its time: all pages share it.
    account: Mutex<Option<(Instant, Arc<str>)>>,
    /// What the page's thread costs.
    cost: Mutex<Cost>,
    /// For a page of several processes, instead of its own streams.
    relay: Option<Relay>,
}

impl App {
    pub(crate) fn new(hub: Hub, token: Token, address: SocketAddr, names: Vec<String>) -> Self {
        Self {
            notify: hub.notify(),
            failures: hub.failures(),
            control: None,
            recording_threads: RecordingThreads::default(),
            hub: Mutex::new(hub),
            token,
            address,
            names,
            stop: Notify::new(),
            started: Instant::now(),
            terms: state::terms().to_string(),
            account: Mutex::default(),
            cost: Mutex::default(),
            relay: None,
        }
    }

    pub(crate) fn with_control(self, control: Option<Control>) -> Self {
        Self { control, ..self }
    }

    pub(crate) const fn recording_threads(&self) -> &RecordingThreads {
        &self.recording_threads
    }

    /// Shows processes instead of this one's streams.
    pub(crate) fn with_processes(mut self, list: Option<ProcessList>) -> Self {
        self.relay = list.map(Relay::new);
        self
    }

    pub(crate) fn hub(&self) -> MutexGuard<'_, Hub> {
        lock(&self.hub)
    }

    pub(crate) const fn token(&self) -> &Token {
        &self.token
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// The account as JSON, at most [`ACCOUNT_PERIOD`] old.
    fn account(&self) -> Arc<str> {
        let mut last = lock(&self.account);
        let now = Instant::now();
        if let Some((at, text)) = &*last
            && now.saturating_duration_since(*at) < ACCOUNT_PERIOD / 2
        {
            return Arc::clone(text);
        }
        // Only where the user chose the cost.
        let hub = self.hub();
        let cost = hub.is_every_sample().then(|| lock(&self.cost).share(now)).flatten();
        let mut account = state::account(hub.sources(), self.started, cost);
        drop(hub);
        account["control"] = control::describe(self.control.as_ref());
        let text: Arc<str> = account.to_string().into();
        *last = Some((now, Arc::clone(&text)));
        text
    }
}

/// Serves until the page is dropped: browsers at `listener`, if there is one, and other programs of this
/// user by the connections that are handed over.
pub(crate) fn run(
    app: Arc<App>,
    listener: Option<TcpListener>,
    handed: mpsc::Receiver<Handed>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = listener.map(tokio::net::TcpListener::from_std).transpose()?;
        let connections = Connections::new();
        tokio::select! {
            () = app.stop.notified() => Ok(()),
            never = accept(&app, listener, &connections) => match never {},
            never = local::serve(&app, handed) => match never {},
            never = keep_time(&app) => match never {},
        }
    })
}

/// Runs the task of a connection. A panic in it is a defect as any other of the page: it is reported,
/// and ends the page.
async fn supervise(app: Arc<App>, task: impl Future<Output = ()> + Send + 'static) {
    let Err(error) = tokio::spawn(task).await else { return };
    if let Ok(panic) = error.try_into_panic() {
        app.failures.note_panic(&*panic);
        app.stop();
    }
}

/// Accepts connections until it is dropped.
async fn accept(
    app: &Arc<App>,
    listener: Option<tokio::net::TcpListener>,
    connections: &Connections,
) -> Infallible {
    let Some(listener) = listener else { return future::pending().await };
    let router = router(app);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Frames leave at once. A failure only costs time.
                let _is_set = stream.set_nodelay(true).is_ok();
                connections.serve(app, stream, router.clone(), Connection::default());
            }
            // For example too many open files: what is open goes on.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Requests runs at the frame rate, and computes when runs arrive: one of each stream in a turn.
async fn keep_time(app: &App) -> Infallible {
    let mut period = None;
    let mut clock = interval(ACCOUNT_PERIOD);
    loop {
        let wanted = app.hub().period();
        if wanted != period {
            period = wanted;
            clock = interval(wanted.unwrap_or(ACCOUNT_PERIOD));
        }
        tokio::select! {
            _ = clock.tick(), if period.is_some() => app.hub().request(),
            () = app.notify.notified() => {
                app.hub().compute_and_request();
                // The next run may be complete already: timers and connections come first.
                tokio::task::yield_now().await;
            }
        }
    }
}

/// The calls that read this program's streams.
fn reading() -> Router<Arc<App>> {
    Router::new()
        .route("/api/ws", get(viewer::upgrade))
        .route("/api/account", get(api::account))
        .route("/api/gaps", get(api::gaps))
        .route("/api/gaps.csv", get(api::gaps_csv))
        .route("/api/timeline", get(api::timeline))
}

fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    interval
}

fn router(app: &Arc<App>) -> Router {
    let api = match app.relay {
        Some(_) => relay::routes(),
        None => reading()
            .route("/api/processes", get(relay::processes))
            .route("/api/act", post(act::act)),
    };
    let api = api.route_layer(axum::middleware::from_fn_with_state(Arc::clone(app), guard::token));
    let pages = assets::ASSETS.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(|| future::ready(asset.response())))
    });
    api.merge(pages)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(app), guard::request))
        .with_state(Arc::clone(app))
}

/// How often a page gets the account.
const ACCOUNT_PERIOD: Duration = Duration::from_millis(250);

/// The pause after an error of the system.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_a_connection_is_reported_and_ends_the_page() {
        let failures = Failures::default();
        let hub = Hub::new(Arc::new(Notify::new()), failures.clone());
        let address = "127.0.0.1:1".parse().unwrap();
        let app = Arc::new(App::new(hub, Token::draw().unwrap(), address, Vec::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(async {
            supervise(Arc::clone(&app), async { panic!("a number {}", 7) }).await;
            tokio::time::timeout(Duration::from_secs(20), app.stop.notified()).await
        });
        assert!(ended.is_ok(), "the page's thread is to end");
        assert_eq!(failures.take().as_deref(), Some("a defect: a number 7"));
    }
}
