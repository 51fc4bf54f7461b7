//! Reading the account by GET: `docs/web.md#api`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Deserialize;

use super::App;
use super::connection::{Busy, Connection};
use crate::account::{GapRows, Ledger};
use crate::source::{Shared, lock};
use crate::state;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GapsQuery {
    #[serde(default)]
    source: usize,
    /// The number of the first gap that is not wanted.
    #[serde(default = "all")]
    before: u64,
    #[serde(default = "some")]
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimelineQuery {
    #[serde(default)]
    source: usize,
    #[serde(default)]
    first: u64,
    #[serde(default = "all")]
    end: u64,
    columns: usize,
}

pub(super) async fn account(State(app): State<Arc<App>>) -> Response {
    json(app.account().to_string())
}

pub(super) async fn gaps(State(app): State<Arc<App>>, Query(query): Query<GapsQuery>) -> Response {
    let count = query.count.min(COUNT_MAX);
    let list = of_source(&app, query.source, |ledger| ledger.latest(query.before, count));
    list.map_or_else(no_source, |list| json(state::gaps(&list).to_string()))
}

pub(super) async fn gaps_csv(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(query): Query<GapsQuery>,
) -> Response {
    let shared = shared_of(&app, query.source);
    shared.map_or_else(no_source, |shared| {
        let rows = GapRows::new(&lock(&shared.ledger));
        typed(
            "text/csv; charset=utf-8",
            Body::new(Csv { shared, rows, _busy: Busy::new(connection) }),
        )
    })
}

/// The list of gaps of a source, written as the client reads it.
struct Csv {
    shared: Arc<Shared>,
    rows: GapRows,
    _busy: Busy,
}

impl HttpBody for Csv {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The text is written without the lock.
        let part = self.rows.copy(&lock(&self.shared.ledger));
        Poll::Ready(part.map(|part| Ok(Frame::data(self.rows.lines(&part).into()))))
    }
}

pub(super) async fn timeline(
    State(app): State<Arc<App>>,
    Query(query): Query<TimelineQuery>,
) -> Response {
    let columns = query.columns.clamp(1, COLUMNS_MAX);
    let found = of_source(&app, query.source, |ledger| {
        let timeline = ledger.timeline();
        (timeline.columns(query.first, query.end, columns), timeline.len())
    });
    found.map_or_else(no_source, |(columns, positions)| {
        json(state::timeline(&columns, positions).to_string())
    })
}

/// Copies what an answer needs from the account of a source. The answer is written without the lock,
/// for which the receiving thread may wait.
fn of_source<T>(app: &App, source: usize, copy: impl FnOnce(&Ledger) -> T) -> Option<T> {
    let shared = shared_of(app, source)?;
    let ledger = lock(&shared.ledger);
    Some(copy(&ledger))
}

fn shared_of(app: &App, source: usize) -> Option<Arc<Shared>> {
    Some(Arc::clone(&app.hub().sources().get(source)?.shared))
}

fn no_source() -> Response {
    (StatusCode::NOT_FOUND, "there is no such source\n").into_response()
}

pub(super) fn json(text: String) -> Response {
    typed("application/json", text)
}

fn typed(kind: &'static str, body: impl IntoResponse) -> Response {
    const KIND: HeaderName = CONTENT_TYPE;
    ([(KIND, kind)], body).into_response()
}

const fn all() -> u64 {
    u64::MAX
}

const fn some() -> u64 {
    100
}

/// Gaps of one answer.
const COUNT_MAX: u64 = 1_000;
/// Columns of one answer.
const COLUMNS_MAX: usize = 4_096;
