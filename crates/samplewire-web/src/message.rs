//! Messages of a viewer: JSON of at most [`MESSAGE_BYTES_MAX`]. Layout: `docs/web.md#messages`.

use serde::Deserialize;

use crate::spectra::View;

/// What a viewer requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// Another view.
    View(ViewRequest),
    /// The frame with this number, and all earlier ones, arrived.
    Seen(u32),
    /// Go on at this position of a recording, counted from its first index.
    Seek(u64),
}

/// A view of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewRequest {
    /// The source and its stream.
    pub source: u16,
    /// See `source`.
    pub stream: u16,
    /// Frames per second, 1 to [`FRAMES_PER_SECOND_MAX`].
    pub frames_per_second: u32,
    /// The part of the stream. The page fits it to the stream.
    pub view: View,
}

/// A message that is not one of the protocol.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The message is too long.
    #[error("a message of {len} bytes: at most {MESSAGE_BYTES_MAX}")]
    Long {
        /// Its length.
        len: usize,
    },
    /// The message is not JSON, or not an object of the protocol.
    #[error("a message that is not one of the protocol: {0}")]
    Json(#[from] serde_json::Error),
    /// A number is out of range.
    #[error("a message with a number out of range")]
    Range,
}

/// Reads a message.
///
/// ```
/// use samplewire_web::message::{Message, decode};
///
/// assert_eq!(decode(r#"{"seen": 7}"#).unwrap(), Message::Seen(7));
/// assert!(decode(r#"{"seen": -7}"#).is_err());
/// ```
///
/// # Errors
/// [`Malformed`].
pub fn decode(text: &str) -> Result<Message, Malformed> {
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(Malformed::Long { len: text.len() });
    }
    match serde_json::from_str(text)? {
        Wire::Seen(number) => Ok(Message::Seen(number)),
        Wire::Seek(position) => Ok(Message::Seek(position)),
        Wire::View(wire) => {
            let zoom_is_right = (1..=View::ZOOM_MAX).contains(&wire.zoom);
            let bins_is_right = (View::BINS_MIN..=View::BINS_MAX).contains(&wire.bins);
            let rate_is_right = (1..=FRAMES_PER_SECOND_MAX).contains(&wire.fps);
            let centre_is_right = (-0.5..=0.5).contains(&wire.centre);
            if !(zoom_is_right && bins_is_right && rate_is_right && centre_is_right) {
                return Err(Malformed::Range);
            }
            Ok(Message::View(ViewRequest {
                source: wire.source,
                stream: wire.stream,
                frames_per_second: wire.fps,
                view: View {
                    channel: wire.channel,
                    bins: wire.bins,
                    zoom: wire.zoom,
                    centre: wire.centre,
                },
            }))
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Wire {
    View(WireView),
    Seen(u32),
    Seek(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireView {
    #[serde(default)]
    source: u16,
    #[serde(default)]
    stream: u16,
    #[serde(default)]
    channel: u16,
    bins: u32,
    fps: u32,
    #[serde(default = "one")]
    zoom: u32,
    #[serde(default)]
    centre: f64,
}

const fn one() -> u32 {
    1
}

/// Bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// The highest frame rate.
pub const FRAMES_PER_SECOND_MAX: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_is_read_with_its_defaults() {
        let message = decode(r#"{"view": {"bins": 2048, "fps": 30}}"#).unwrap();
        let view = View::whole(2_048);
        let request = ViewRequest { source: 0, stream: 0, frames_per_second: 30, view };
        assert_eq!(message, Message::View(request));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"seen": 4294967296}"#,
            r#"{"seen": 1, "view": {"bins": 2048, "fps": 30}}"#,
            r#"{"view": {"bins": 2048}}"#,
            r#"{"view": {"bins": 255, "fps": 30}}"#,
            r#"{"view": {"bins": 65537, "fps": 30}}"#,
            r#"{"view": {"bins": 2048, "fps": 0}}"#,
            r#"{"view": {"bins": 2048, "fps": 61}}"#,
            r#"{"view": {"bins": 2048, "fps": 30, "zoom": 65}}"#,
            r#"{"view": {"bins": 2048, "fps": 30, "centre": 0.6}}"#,
            r#"{"view": {"bins": 2048, "fps": 30, "folder": "/"}}"#,
            r#"{"delete": "all"}"#,
        ] {
            assert!(decode(text).is_err(), "{text}");
        }
        let long = format!(r#"{{"seen": 1{}}}"#, " ".repeat(MESSAGE_BYTES_MAX));
        assert!(matches!(decode(&long), Err(Malformed::Long { .. })));
        let deep = "[".repeat(MESSAGE_BYTES_MAX);
        assert!(decode(&deep).is_err());
    }
}
