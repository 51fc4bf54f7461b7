//! The page of several processes: each request names a process, and is passed to its socket.
//!
//! A process answers at its socket as it does at its own page ([`super::local`]), so that bytes are passed
//! on as they are, frames included. Its limits hold for the viewer: a page that does not confirm frames
//! gets no others.

mod body;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::header::{
    CONNECTION, CONTENT_DISPOSITION, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::sleep_until;

use body::BoundedBody;

use super::connection::{Busy, Connection, HEAD_BYTES_MAX};
use super::viewer::{self, PROTOCOL, STALL_MAX};
use super::{App, api, supervise};
use crate::hub::{Refusal, VIEWERS_MAX};
use crate::source::lock;

/// A process whose streams a page can show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Identifies it in requests, for example its number in the system.
    pub id: u32,
    /// Where it passes connections to [`LocalAnswers`](crate::LocalAnswers).
    #[serde(skip)]
    pub socket: PathBuf,
    /// What it does, for example `record`.
    pub verb: String,
    /// The names of its streams.
    pub streams: Vec<String>,
}

/// Lists the processes that a page can show. A call may block for a second.
#[derive(Clone)]
pub(crate) struct ProcessList(Arc<dyn Fn() -> Vec<Process> + Send + Sync>);

impl ProcessList {
    pub(crate) fn new(list: impl Fn() -> Vec<Process> + Send + Sync + 'static) -> Self {
        Self(Arc::new(list))
    }
}

impl std::fmt::Debug for ProcessList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessList").finish_non_exhaustive()
    }
}

/// Passes requests to processes.
pub(super) struct Relay {
    list: ProcessList,
    /// The last list and its time: all pages share it.
    last: Mutex<Option<(Instant, Vec<Process>)>>,
    /// Held while a new list is made.
    listing: tokio::sync::Mutex<()>,
    viewers: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct ProcessQuery {
    process: u32,
}

/// Why a process does not answer.
#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error("process {0} has ended, or shows no streams")]
    Gone(u32),
    #[error("process {0} has no samples to show")]
    Unable(u32),
    #[error("process {id} does not answer: {source}")]
    Io { id: u32, source: io::Error },
    #[error("process {id} does not answer: {source}")]
    Http { id: u32, source: hyper::Error },
    #[error("process {0} does not answer")]
    Slow(u32),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Relay {
    pub(super) fn new(list: ProcessList) -> Self {
        let (last, listing) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { list, last, listing, viewers: Arc::default() }
    }

    /// The processes, as of at most [`LIST_AGE_MAX`] ago.
    async fn processes(&self, app: &App) -> Vec<Process> {
        let fresh = || {
            let last = lock(&self.last);
            let (_, list) = last.as_ref().filter(|(at, _)| at.elapsed() < LIST_AGE_MAX)?;
            Some(list.clone())
        };
        if let Some(list) = fresh() {
            return list;
        }
        let _listing = self.listing.lock().await;
        // Another request may have made one meanwhile.
        if let Some(list) = fresh() {
            return list;
        }
        let list = self.list.clone();
        let found = match tokio::task::spawn_blocking(move || (list.0)()).await {
            Ok(found) => found,
            Err(error) => {
                if let Ok(panic) = error.try_into_panic() {
                    app.failures.note_panic(&*panic);
                }
                Vec::new()
            }
        };
        *lock(&self.last) = Some((Instant::now(), found.clone()));
        found
    }

    /// A process of the last list, which is then renewed without a wait, or of a new one.
    async fn find(&self, app: &Arc<App>, id: u32) -> Result<Process, RelayError> {
        let known = lock(&self.last).as_ref().and_then(|(at, list)| {
            let found = list.iter().find(|process| process.id == id).cloned();
            Some((found?, at.elapsed() >= LIST_AGE_MAX))
        });
        if let Some((process, is_old)) = known {
            if is_old && self.listing.try_lock().is_ok() {
                let app = Arc::clone(app);
                tokio::spawn(async move {
                    if let Some(relay) = &app.relay {
                        relay.processes(&app).await;
                    }
                });
            }
            return Ok(process);
        }
        let list = self.processes(app).await;
        list.into_iter().find(|process| process.id == id).ok_or(RelayError::Gone(id))
    }
}

/// A page's place among the viewers.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(viewers: &Arc<AtomicUsize>) -> Result<Self, Refusal> {
        // Relaxed: only the page's thread counts.
        if viewers.fetch_add(1, Ordering::Relaxed) < VIEWERS_MAX {
            return Ok(Self(Arc::clone(viewers)));
        }
        viewers.fetch_sub(1, Ordering::Relaxed);
        Err(Refusal::Viewers)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The calls of a page of several processes.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/processes", get(processes))
        .route("/api/ws", get(view))
        .route("/api/account", get(read))
        .route("/api/gaps", get(read))
        .route("/api/gaps.csv", get(read))
        .route("/api/timeline", get(read))
}

/// The list for a page: null for a page of one program.
pub(super) async fn processes(State(app): State<Arc<App>>) -> Response {
    let list = match &app.relay {
        Some(relay) => Some(relay.processes(&app).await),
        None => None,
    };
    api::json(json!({ "processes": list }).to_string())
}

async fn read(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(ProcessQuery { process }): Query<ProcessQuery>,
    request: Request,
) -> Response {
    let mut asked = Request::new(Body::empty());
    *asked.uri_mut() = target(request.uri());
    match ask(&app, process, asked).await {
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            let body = Body::new(BoundedBody::new(body, Busy::new(connection)));
            let headers = copied(&parts.headers, &[CONTENT_TYPE, CONTENT_DISPOSITION]);
            (parts.status, headers, body).into_response()
        }
        Err(error @ RelayError::Gone(_)) => {
            (StatusCode::NOT_FOUND, format!("{error}\n")).into_response()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error}\n")).into_response(),
    }
}

async fn view(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(ProcessQuery { process }): Query<ProcessQuery>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let mut asked = Request::new(Body::empty());
    *asked.uri_mut() = target(&parts.uri);
    *asked.headers_mut() = copied(&parts.headers, &[SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION]);
    for (name, value) in [
        (CONNECTION, "upgrade"),
        (UPGRADE, "websocket"),
        // The token is for this page, not for the process.
        (SEC_WEBSOCKET_PROTOCOL, PROTOCOL),
    ] {
        asked.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    match open(&app, process, asked).await {
        Ok((place, mut answer)) => {
            let Some(viewer) = parts.extensions.remove::<OnUpgrade>() else {
                return StatusCode::UPGRADE_REQUIRED.into_response();
            };
            let process = hyper::upgrade::on(&mut answer);
            connection.view();
            tokio::spawn(supervise(Arc::clone(&app), async move {
                // It counts as a viewer, and as a connection, until here.
                let _counted = (place, connection);
                if let (Ok(viewer), Ok(process)) = tokio::join!(viewer, process) {
                    pass(TokioIo::new(viewer), TokioIo::new(process), STALL_MAX).await;
                }
            }));
            let names = ["connection", "upgrade", "sec-websocket-accept", "sec-websocket-protocol"];
            let headers = copied(answer.headers(), &names.map(HeaderName::from_static));
            (answer.status(), headers).into_response()
        }
        Err(error) => match WebSocketUpgrade::from_request_parts(&mut parts, &app).await {
            Ok(upgrade) => viewer::refuse(&app, connection, upgrade, error.to_string()),
            Err(rejection) => rejection.into_response(),
        },
    }
}

/// Opens a WebSocket to a process.
async fn open(
    app: &Arc<App>,
    process: u32,
    request: Request,
) -> Result<(Place, hyper::Response<Incoming>), RelayError> {
    let relay = app.relay.as_ref().ok_or(RelayError::Gone(process))?;
    let place = Place::take(&relay.viewers)?;
    let answer = ask(app, process, request).await?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Ok((place, answer));
    }
    Err(RelayError::Unable(process))
}

/// Sends a request to a process, and returns the head of its answer.
async fn ask(
    app: &Arc<App>,
    id: u32,
    mut request: Request,
) -> Result<hyper::Response<Incoming>, RelayError> {
    let relay = app.relay.as_ref().ok_or(RelayError::Gone(id))?;
    let process = relay.find(app, id).await?;
    request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    let answered = async {
        let socket = UnixStream::connect(&process.socket).await;
        let socket = socket.map_err(|source| RelayError::Io { id, source })?;
        let http = |source| RelayError::Http { id, source };
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES_MAX);
        let (mut sender, connection) =
            builder.handshake(TokioIo::new(socket)).await.map_err(http)?;
        // It ends with the answer, or with the WebSocket that the answer opens.
        tokio::spawn(connection.with_upgrades());
        sender.send_request(request).await.map_err(http)
    };
    tokio::time::timeout(ANSWER_TIMEOUT, answered).await.map_err(|_| RelayError::Slow(id))?
}

/// Passes bytes until one end closes, or the viewer takes nothing for `stall`.
async fn pass(
    viewer: impl AsyncRead + AsyncWrite,
    process: impl AsyncRead + AsyncWrite,
    stall: Duration,
) {
    let (mut from_viewer, to_viewer) = tokio::io::split(viewer);
    let (from_process, mut to_process) = tokio::io::split(process);
    tokio::select! {
        _ended = tokio::io::copy(&mut from_viewer, &mut to_process) => {}
        () = pass_on(from_process, to_viewer, stall) => {}
    }
}

/// Passes what a process sends. It reads ahead of the viewer, and so sees the end of the process.
async fn pass_on(
    mut process: impl AsyncRead + Unpin,
    mut viewer: impl AsyncWrite + Unpin,
    stall: Duration,
) {
    let now = tokio::time::Instant::now;
    let mut waiting = VecDeque::new();
    let mut chunk = vec![0; PASSED_BYTES];
    let (mut until, mut has_ended) = (now(), false);
    while !(has_ended && waiting.is_empty()) {
        tokio::select! {
            read = process.read(&mut chunk), if !has_ended && waiting.len() < WAITING_BYTES => {
                match read {
                    Ok(len @ 1..) => {
                        if waiting.is_empty() {
                            until = now() + stall;
                        }
                        waiting.extend(&chunk[..len]);
                    }
                    Ok(0) | Err(_) => {
                        has_ended = true;
                        until = until.min(now() + END_TIMEOUT);
                    }
                }
            }
            written = viewer.write(waiting.as_slices().0), if !waiting.is_empty() => {
                let Ok(len @ 1..) = written else { return };
                waiting.drain(..len);
                if !has_ended {
                    until = now() + stall;
                }
            }
            () = sleep_until(until), if !waiting.is_empty() => return,
        }
    }
}

/// The target without the process: its own calls know only their parameters.
fn target(uri: &Uri) -> Uri {
    let query = uri.query().unwrap_or_default().split('&');
    let query = query.filter(|it| !it.starts_with("process=")).collect::<Vec<_>>().join("&");
    let target = format!("{}?{query}", uri.path());
    target.parse().expect("a part of a target is one")
}

fn copied(from: &hyper::HeaderMap, names: &[HeaderName]) -> hyper::HeaderMap {
    let found = names.iter().filter_map(|name| Some((name.clone(), from.get(name)?.clone())));
    found.collect()
}

/// How old the list of processes may be.
const LIST_AGE_MAX: Duration = Duration::from_millis(500);
/// The time for the head of a process's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that are read from a process at once.
const PASSED_BYTES: usize = 64 << 10;
/// Bytes that wait for a viewer before no more are read: the frames that it may get unconfirmed.
const WAITING_BYTES: usize = 1 << 20;
/// The time for the last bytes of a process that has ended.
const END_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_is_not_in_the_target_that_it_gets() {
        for (asked, passed) in [
            ("/api/gaps?process=7", "/api/gaps?"),
            ("/api/gaps?source=1&process=7&count=2", "/api/gaps?source=1&count=2"),
            ("/api/ws?process=7&process=8", "/api/ws?"),
        ] {
            assert_eq!(target(&asked.parse().unwrap()).to_string(), passed);
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let waited = async { tokio::time::timeout(Duration::from_secs(20), future).await };
        runtime.block_on(waited).expect("it ends")
    }

    #[test]
    fn viewer_that_does_not_read_is_gone_after_the_stall() {
        block_on(async {
            let (viewer, _unread) = tokio::io::duplex(16);
            let (process, mut program) = tokio::io::duplex(1 << 10);
            let passed = pass(viewer, process, Duration::from_millis(50));
            let ((), written) = tokio::join!(passed, program.write_all(&[7; 8 << 20]));
            assert!(written.is_err(), "the process is closed");
        });
    }

    #[test]
    fn end_of_the_process_ends_a_viewer_that_does_not_read() {
        block_on(async {
            let (viewer, _unread) = tokio::io::duplex(16);
            let (process, mut program) = tokio::io::duplex(1 << 10);
            let sent = async {
                program.write_all(&[7; 500 << 10]).await.unwrap();
                drop(program);
            };
            tokio::join!(pass(viewer, process, Duration::from_secs(3_600)), sent);
        });
    }

    #[test]
    fn viewer_that_reads_gets_all_before_the_end() {
        block_on(async {
            let (viewer, mut page) = tokio::io::duplex(100);
            let (process, mut program) = tokio::io::duplex(1 << 10);
            let sent: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
            let mut got = Vec::new();
            let send = async {
                program.write_all(&sent).await.unwrap();
                drop(program);
            };
            let passed = pass(viewer, process, Duration::from_secs(20));
            let ((), (), read) = tokio::join!(passed, send, page.read_to_end(&mut got));
            assert_eq!((read.unwrap(), got == sent), (300_000, true));
        });
    }

    #[test]
    fn place_is_free_again_when_its_page_has_left() {
        let viewers = Arc::default();
        let mut places: Vec<_> = (0..VIEWERS_MAX).map(|_| Place::take(&viewers).unwrap()).collect();
        assert_eq!(Place::take(&viewers).err(), Some(Refusal::Viewers));
        places.pop();
        assert!(Place::take(&viewers).is_ok());
    }
}
