//! The page of several processes: each request names a process, and is passed to its socket.
//!
//! A process answers at its socket as it does at its own page ([`super::local`]), so that bytes are passed
//! on as they are, frames included. Its limits hold for the viewer: a page that does not confirm frames
//! gets no others.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
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
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::UnixStream;

use super::connection::{Busy, Connection, HEAD_BYTES_MAX};
use super::viewer::{self, PROTOCOL};
use super::{App, api, supervise};
use crate::hub::{Refusal, VIEWERS_MAX};

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
    last: tokio::sync::Mutex<Option<(Instant, Vec<Process>)>>,
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
        Self { list, last: tokio::sync::Mutex::default(), viewers: Arc::default() }
    }

    /// The processes, as of at most [`LIST_AGE_MAX`] ago.
    async fn processes(&self, app: &App) -> Vec<Process> {
        let mut last = self.last.lock().await;
        if let Some((at, list)) = &*last
            && at.elapsed() < LIST_AGE_MAX
        {
            return list.clone();
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
        *last = Some((Instant::now(), found.clone()));
        found
    }

    async fn find(&self, app: &App, id: u32) -> Result<Process, RelayError> {
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
            let body = Body::new(Passed { body, _busy: Busy::new(connection) });
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
                    pass(TokioIo::new(viewer), TokioIo::new(process)).await;
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
    app: &App,
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
    app: &App,
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

/// Passes bytes until one end closes.
async fn pass(viewer: impl AsyncRead + AsyncWrite, process: impl AsyncRead + AsyncWrite) {
    let (mut from_viewer, mut to_viewer) = tokio::io::split(viewer);
    let (from_process, mut to_process) = tokio::io::split(process);
    let mut from_process = BufReader::with_capacity(PASSED_BYTES, from_process);
    tokio::select! {
        _ended = tokio::io::copy(&mut from_viewer, &mut to_process) => {}
        _ended = tokio::io::copy_buf(&mut from_process, &mut to_viewer) => {}
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

/// The body of an answer.
struct Passed {
    body: Incoming,
    _busy: Busy,
}

impl HttpBody for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How old the list of processes may be.
const LIST_AGE_MAX: Duration = Duration::from_millis(500);
/// The time for the head of a process's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that are passed to a viewer at once.
const PASSED_BYTES: usize = 64 << 10;

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

    #[test]
    fn place_is_free_again_when_its_page_has_left() {
        let viewers = Arc::default();
        let mut places: Vec<_> = (0..VIEWERS_MAX).map(|_| Place::take(&viewers).unwrap()).collect();
        assert_eq!(Place::take(&viewers).err(), Some(Refusal::Viewers));
        places.pop();
        assert!(Place::take(&viewers).is_ok());
    }
}
