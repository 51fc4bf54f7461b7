//! A stream for a page, and clients of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire_web::Tap;
use samplewire_web::frame::Frame;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

pub(crate) const VIEW: &str = r#"{"view": {"bins": 2048, "fps": 60}}"#;

/// Feeds zeros as fast as a device of 1 MS/s.
pub(crate) fn feed(mut tap: Tap, is_over: &AtomicBool) {
    let block = vec![0; 4 * 1_000];
    let (mut next, started) = (0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        let due = (started.elapsed().as_secs_f64() * 1e6) as u64;
        while next + 1_000 <= due {
            tap.samples(next, [&block[..]]);
            next += 1_000;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// Sends the lines of a head, and reads to the end of the connection.
pub(crate) fn request(address: SocketAddr, lines: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head =
        format!("{lines}\r\nConnection: close\r\n\r\n").replace("ADDRESS", &address.to_string());
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    // A refused request may be cut off by a reset.
    let _is_whole = stream.read_to_end(&mut bytes).is_ok();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Answer { status, text }
}

/// Opens a WebSocket as a page's script does.
pub(crate) fn connect(
    address: SocketAddr,
    path: &str,
    token: &str,
    origin: &str,
) -> Result<WebSocket<TcpStream>, tungstenite::Error> {
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    let protocols = HeaderValue::from_str(&format!("samplewire, token.{token}")).unwrap();
    request.headers_mut().insert("Sec-WebSocket-Protocol", protocols);
    if !origin.is_empty() {
        request.headers_mut().insert("Origin", HeaderValue::from_str(origin).unwrap());
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("the socket blocks"),
    }
}

/// Reads until a frame comes, and confirms it.
pub(crate) fn next_frame(socket: &mut WebSocket<TcpStream>) -> Frame {
    loop {
        if let Message::Binary(bytes) = socket.read().unwrap() {
            let frame = Frame::decode(&bytes).unwrap();
            socket.send(Message::text(format!(r#"{{"seen": {}}}"#, frame.number))).unwrap();
            return frame;
        }
    }
}
