//! One page's WebSocket: texts and frames to it, requests from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde_json::json;
use tokio::sync::Notify;

use super::connection::Connection;
use super::{ACCOUNT_PERIOD, App, interval, supervise};
use crate::message::{self, MESSAGE_BYTES_MAX};

/// The page is gone, or does not read.
struct Gone;

pub(super) async fn upgrade(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    connection.view();
    limited(upgrade).on_upgrade(move |socket| {
        supervise(Arc::clone(&app), async move {
            serve(app, socket).await;
            // It counts as a connection until here.
            drop(connection);
        })
    })
}

/// Admits a page only to report why it sees nothing.
pub(super) fn refuse(
    app: &Arc<App>,
    connection: Arc<Connection>,
    upgrade: WebSocketUpgrade,
    reason: String,
) -> Response {
    let app = Arc::clone(app);
    limited(upgrade).on_upgrade(move |mut socket| {
        supervise(app, async move {
            send_refusal(&mut socket, &reason).await;
            drop(connection);
        })
    })
}

fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .read_buffer_size(MESSAGE_BYTES_MAX)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BYTES_MAX)
}

async fn send_refusal(socket: &mut WebSocket, reason: &str) {
    let text = json!({ "type": "refused", "reason": reason }).to_string();
    if send(socket, Message::text(text)).await.is_ok() {
        close(socket, TRY_AGAIN, reason).await;
    }
}

async fn serve(app: Arc<App>, mut socket: WebSocket) {
    let joined = app.hub().join(Instant::now());
    let (id, wake) = match joined {
        Ok(joined) => joined,
        Err(refusal) => {
            send_refusal(&mut socket, &refusal.to_string()).await;
            return;
        }
    };
    // Whatever ends the viewer, its place becomes free.
    let _leaving = Leaving { app: &app, id };
    // The page is gone, or has broken the protocol: nothing is left to report to it.
    let _gone = converse(&app, &mut socket, id, &wake).await;
}

struct Leaving<'a> {
    app: &'a App,
    id: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.app.hub().leave(self.id);
    }
}

async fn converse(app: &App, socket: &mut WebSocket, id: u64, wake: &Notify) -> Result<(), Gone> {
    send(socket, Message::text(app.terms.clone())).await?;
    let mut clock = interval(ACCOUNT_PERIOD);
    loop {
        tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => answer(app, socket, id, &text).await?,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => {
                    close(socket, UNSUPPORTED, "messages are text").await;
                    return Err(Gone);
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
            },
            () = wake.notified() => {
                let mut frame = Vec::new();
                let is_due = app.hub().frame(id, Instant::now(), &mut frame);
                if is_due {
                    send(socket, Message::binary(frame)).await?;
                }
            }
            _ = clock.tick() => {
                let text = app.account();
                send(socket, Message::text(&*text)).await?;
            }
        }
    }
}

async fn answer(app: &App, socket: &mut WebSocket, id: u64, text: &str) -> Result<(), Gone> {
    match message::decode(text) {
        Ok(message::Message::Seen(number)) => app.hub().seen(id, number),
        Ok(message::Message::Seek(position)) => app.hub().seek(id, position),
        Ok(message::Message::View(wanted)) => {
            let shown = app.hub().show(id, &wanted);
            let text = match shown {
                Ok(view) => json!({
                    "type": "view", "bins": view.bins, "zoom": view.zoom, "centre": view.centre,
                    "channel": view.channel, "source": wanted.source, "stream": wanted.stream,
                }),
                Err(refusal) => json!({ "type": "refused", "reason": refusal.to_string() }),
            };
            send(socket, Message::text(text.to_string())).await?;
        }
        Err(malformed) => {
            close(socket, POLICY, &malformed.to_string()).await;
            return Err(Gone);
        }
    }
    Ok(())
}

/// Sends a message. A page that takes nothing for [`STALL_MAX`] is gone.
async fn send(socket: &mut WebSocket, message: Message) -> Result<(), Gone> {
    match tokio::time::timeout(STALL_MAX, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}

async fn close(socket: &mut WebSocket, code: u16, reason: &str) {
    let ends = reason.char_indices().map(|(at, char)| at + char.len_utf8());
    let end = ends.take_while(|&end| end <= REASON_BYTES_MAX).last().unwrap_or(0);
    let frame = CloseFrame { code, reason: reason[..end].into() };
    // It is being closed: a page that does not take the reason does without.
    let _is_sent = send(socket, Message::Close(Some(frame))).await.is_ok();
}

/// The subprotocol that the server selects.
pub(super) const PROTOCOL: &str = "samplewire";
/// Bytes that wait for one page.
const WRITE_BYTES_MAX: usize = 1 << 20;
/// How long a page may take nothing.
pub(super) const STALL_MAX: Duration = Duration::from_secs(60);
/// Bytes of the reason in a close frame: RFC 6455, section 5.5.
const REASON_BYTES_MAX: usize = 123;
const UNSUPPORTED: u16 = 1003;
const POLICY: u16 = 1008;
const TRY_AGAIN: u16 = 1013;
