//! Reading the account by GET: `docs/web.md#api`.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::App;
use crate::account::Ledger;
use crate::source::lock;
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
    of_source(&app, query.source, |ledger| {
        json(state::gaps(ledger, query.before, count).to_string())
    })
}

pub(super) async fn gaps_csv(
    State(app): State<Arc<App>>,
    Query(query): Query<GapsQuery>,
) -> Response {
    of_source(&app, query.source, |ledger| typed("text/csv; charset=utf-8", ledger.csv()))
}

pub(super) async fn timeline(
    State(app): State<Arc<App>>,
    Query(query): Query<TimelineQuery>,
) -> Response {
    let columns = query.columns.clamp(1, COLUMNS_MAX);
    of_source(&app, query.source, |ledger| {
        json(state::timeline(ledger, query.first, query.end, columns).to_string())
    })
}

fn of_source(app: &App, source: usize, answer: impl FnOnce(&Ledger) -> Response) -> Response {
    let hub = app.hub();
    let Some(source) = hub.sources().get(source) else {
        return (StatusCode::NOT_FOUND, "there is no such source\n").into_response();
    };
    let ledger = lock(&source.shared.ledger);
    answer(&ledger)
}

fn json(text: String) -> Response {
    typed("application/json", text)
}

fn typed(kind: &'static str, text: String) -> Response {
    const KIND: HeaderName = CONTENT_TYPE;
    ([(KIND, kind)], text).into_response()
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
