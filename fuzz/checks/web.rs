//! Any message of a viewer is read or refused, and any bytes are a frame or an error.

use samplewire_web::View;
use samplewire_web::frame::Frame;
use samplewire_web::message::{MESSAGE_BYTES_MAX, Message, decode};

use crate::input::Input;

/// Reads the bytes after the first as what that byte says.
///
/// # Panics
/// When a message that is read is out of range, or a frame does not write its own bytes.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.byte().is_multiple_of(2) {
        frame(input.rest());
    } else if let Ok(text) = std::str::from_utf8(input.rest()) {
        message(text);
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

/// All bytes of a frame are in it, but for those between its gaps.
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
