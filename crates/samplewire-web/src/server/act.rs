//! Actions by POST: `docs/web.md#actions`.
//!
//! Before this, `guard` has checked the host, the origin and the token. Here come a header that no form
//! can send, whether the program permits actions, and the limits of the request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::App;
use crate::action::{self, ACTION_BYTES_MAX, Action};
use crate::control::{Done, Job, Order, Refused, Request};
use crate::source::{About, Role, Shared};

pub(super) async fn act(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    let has_header = headers.get(ACTION_HEADER).is_some_and(|value| value == "1");
    if !has_header {
        let words = format!("an action needs the header {ACTION_HEADER}: 1\n");
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
        let words = "an action is application/json\n";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, words).into_response();
    }
    if app.control.is_none() {
        return refuse(&Refused::NoControl);
    }
    let Ok(body) = timeout(BODY_TIMEOUT, to_bytes(body, ACTION_BYTES_MAX)).await else {
        return (StatusCode::REQUEST_TIMEOUT, "the action did not arrive in time\n")
            .into_response();
    };
    let Ok(body) = body else {
        let words = format!("an action has at most {ACTION_BYTES_MAX} bytes\n");
        return (StatusCode::PAYLOAD_TOO_LARGE, words).into_response();
    };
    match carry_out(&app, &body).await {
        Ok(done) => ([(CONTENT_TYPE, "application/json")], done.json().to_string()).into_response(),
        Err(refused) => refuse(&refused),
    }
}

/// Passes an action on, and waits for the answer.
async fn carry_out(app: &App, body: &Bytes) -> Result<Done, Refused> {
    let action = action::decode(body)?;
    let (reply, answer) = oneshot::channel();
    match action {
        Action::Record { source, wanted } => {
            let (about, shared) = source_of(app, source)?;
            let control = app.control.as_ref().ok_or(Refused::NoControl)?;
            let folder = control.recordings().ok_or(Refused::NoFolder)?.clone();
            app.recording_threads.start(Job { folder, wanted, about, shared }, reply);
        }
        Action::Stop { source, at } => order(app, source, Order::Stop { at }, reply)?,
        Action::Event { source, at, text } => {
            order(app, source, Order::Event { at, text }, reply)?;
        }
        Action::End { source } => order(app, source, Order::End, reply)?,
    }
    match timeout(ANSWER_TIMEOUT, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => Err(Refused::Late),
    }
}

fn order(
    app: &App,
    source: u16,
    order: Order,
    reply: crate::control::Reply,
) -> Result<(), Refused> {
    let (_, shared) = source_of(app, source)?;
    shared.orders.push(Request { order, reply });
    Ok(())
}

/// A running stream, by its number.
fn source_of(app: &App, number: u16) -> Result<(About, Arc<Shared>), Refused> {
    let hub = app.hub();
    let source = hub.sources().get(usize::from(number)).ok_or(Refused::NoSource(number))?;
    if source.about.role == Role::Recording {
        return Err(Refused::IsRecording(number));
    }
    Ok((source.about.clone(), Arc::clone(&source.shared)))
}

fn refuse(refused: &Refused) -> Response {
    let status = match refused {
        Refused::NoControl | Refused::NoFolder => StatusCode::FORBIDDEN,
        Refused::Malformed(_) => StatusCode::BAD_REQUEST,
        Refused::NoSource(_) => StatusCode::NOT_FOUND,
        Refused::Files(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Refused::ManyRecordings | Refused::ManyOrders | Refused::Late => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::CONFLICT,
    };
    (status, format!("{refused}\n")).into_response()
}

/// A form cannot send it, and a script of another origin only after a question that is refused.
const ACTION_HEADER: HeaderName = HeaderName::from_static("x-samplewire-action");

/// The time for an action to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for the stream, and for the disk, to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
