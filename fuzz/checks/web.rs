//! Any message of a viewer and any action of a page is read or refused, and any bytes are a frame or an
//! error.

use samplewire_web::View;
use samplewire_web::action::{self, ACTION_BYTES_MAX, Action, NAME_CHARS_MAX, TEXT_CHARS_MAX};
use samplewire_web::frame::Frame;
use samplewire_web::message::{MESSAGE_BYTES_MAX, Message, decode};

use crate::input::Input;

/// Reads the bytes after the first as what that byte says.
///
/// # Panics
/// When a message or an action that is read is out of range, or a frame does not write its own bytes.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.byte() % 4 {
        0 | 2 => frame(input.rest()),
        3 => act(input.rest()),
        _ => {
            if let Ok(text) = std::str::from_utf8(input.rest()) {
                message(text);
            }
        }
    }
}

/// A name that is read cannot leave a folder, and a text is one line.
fn act(bytes: &[u8]) {
    match action::decode(bytes) {
        Ok(action) => {
            assert!(bytes.len() <= ACTION_BYTES_MAX);
            match action {
                Action::Record { wanted, .. } => {
                    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
                    assert!(
                        wanted.name.len() <= NAME_CHARS_MAX && wanted.name.chars().all(is_plain)
                    );
                    assert!(!wanted.name.starts_with(['-', '_']));
                }
                Action::Event { text, .. } => {
                    assert!((1..=TEXT_CHARS_MAX).contains(&text.chars().count()));
                    assert!(!text.contains(char::is_control));
                }
                Action::Stop { .. } | Action::End { .. } => {}
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn message(text: &str) {
    match decode(text) {
        Ok(Message::View(request)) => {
            assert!(text.len() <= MESSAGE_BYTES_MAX);
            assert!((1..=60).contains(&request.frames_per_second));
            let View { bins, zoom, centre, .. } = request.view;
            assert!((View::BINS_MIN..=View::BINS_MAX).contains(&bins));
            assert!((1..=View::ZOOM_MAX).contains(&zoom) && centre.abs() <= 0.5);
        }
        Ok(Message::Seen(_) | Message::Seek(_)) => assert!(text.len() <= MESSAGE_BYTES_MAX),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// All bytes of a frame are in it, but for the last of its header.
fn frame(bytes: &[u8]) {
    let Ok(frame) = Frame::decode(bytes) else { return };
    let mut again = Vec::new();
    frame.encode(&mut again);
    assert_eq!(again.len(), bytes.len());
    // Numbers that are not a number have several forms: bytes are compared, not numbers.
    let mut third = Vec::new();
    Frame::decode(&again).expect("it was written").encode(&mut third);
    assert_eq!(again, third);
}
