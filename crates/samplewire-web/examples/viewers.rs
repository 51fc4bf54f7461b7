//! Pages without a browser: they read frames, confirm every third one and discard them.
//!
//! ```text
//! cargo run -p samplewire-web --example viewers -- URL COUNT SECONDS [FRAMES_PER_SECOND [BINS]]
//! ```
//!
//! It prints one JSON object: frames that came and frames that were omitted, of all pages together;
//! the frames a second of the slowest page, from its first to its last; and the least share of the
//! samples that the frames of a page covered.

use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_web::frame::Frame;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), BoxError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, count, seconds, rest @ ..] = &words[..] else {
        return Err("usage: viewers URL COUNT SECONDS [FRAMES_PER_SECOND [BINS]]".into());
    };
    let number = |at: usize, unless: u32| rest.get(at).map_or(Ok(unless), |text| text.parse());
    let view =
        format!(r#"{{"view": {{"bins": {}, "fps": {}}}}}"#, number(1, 2_048)?, number(0, 30)?);
    let until = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
    let pages: Vec<JoinHandle<Result<Seen, BoxError>>> = (0..count.parse()?)
        .map(|_| {
            let (url, view) = (url.clone(), view.clone());
            std::thread::spawn(move || watch(&url, &view, until))
        })
        .collect();
    let (mut frames, mut omitted, mut slowest, mut covered) = (0, 0, f64::INFINITY, 1.0_f64);
    for page in pages {
        let seen = page.join().map_err(|_| "a page panicked")??;
        (frames, omitted) = (frames + seen.frames, omitted + seen.omitted);
        slowest = slowest.min(seen.frames_per_second());
        covered = covered.min(seen.covered);
    }
    let all = serde_json::json!({
        "frames": frames, "omitted": omitted, "frames_per_second": slowest, "covered": covered,
    });
    println!("{all}");
    Ok(())
}

#[derive(Default)]
struct Seen {
    frames: u64,
    omitted: u64,
    /// When the first frame and the last came.
    ends: Option<(Instant, Instant)>,
    /// The share of the delivered samples that the frames cover.
    covered: f64,
}

impl Seen {
    fn frames_per_second(&self) -> f64 {
        let span = self.ends.map_or(Duration::ZERO, |(first, last)| last - first);
        self.frames.saturating_sub(1) as f64 / span.as_secs_f64().max(1e-3)
    }
}

fn watch(url: &str, view: &str, until: Instant) -> Result<Seen, BoxError> {
    let (origin, token) = url.split_once("/#").ok_or("the URL has no token")?;
    let address = origin.strip_prefix("http://").ok_or("the URL is not http")?;
    let mut request = format!("ws://{address}/api/ws").into_client_request()?;
    let protocols = HeaderValue::from_str(&format!("samplewire, token.{token}"))?;
    request.headers_mut().insert("Sec-WebSocket-Protocol", protocols);
    request.headers_mut().insert("Origin", HeaderValue::from_str(origin)?);
    let (mut socket, _) = tungstenite::client(request, TcpStream::connect(address)?)?;
    socket.send(Message::text(view))?;
    let mut seen = Seen::default();
    while Instant::now() < until {
        next(&mut socket, &mut seen)?;
    }
    Ok(seen)
}

fn next(socket: &mut WebSocket<TcpStream>, seen: &mut Seen) -> Result<(), BoxError> {
    if let Message::Binary(bytes) = socket.read()? {
        let frame = Frame::decode(&bytes)?;
        let now = Instant::now();
        seen.ends = Some((seen.ends.map_or(now, |(first, _)| first), now));
        seen.frames += 1;
        seen.omitted = frame.omitted.into();
        seen.covered = frame.seen_samples as f64 / frame.delivered_samples.max(1) as f64;
        if frame.number.is_multiple_of(3) {
            socket.send(Message::text(format!(r#"{{"seen": {}}}"#, frame.number)))?;
        }
    }
    Ok(())
}
