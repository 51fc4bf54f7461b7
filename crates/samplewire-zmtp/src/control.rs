//! Input of a socket that sends samples: subscriptions to a PUB, requests to a REP.

use crate::wire::{Kind, Violation};

/// The control state that a peer has set.
#[derive(Debug)]
pub struct Control(State);

#[derive(Debug)]
enum State {
    /// Subscriptions.
    Topics(Topics),
    /// Requests.
    Requests(Requests),
    /// Nothing of interest.
    None,
}

/// The subscriptions of a peer (RFC 29: a byte for subscribe or cancel, and the prefix of
/// messages).
#[derive(Debug, Default)]
struct Topics {
    list: Vec<Vec<u8>>,
    message: Vec<u8>,
}

/// The request of a peer (RFC 28: the envelope, an empty part, and the request itself). The request
/// is ignored: srsRAN's is one byte, and GNU Radio's is the number of samples it would like.
#[derive(Debug, Default)]
struct Requests {
    /// The parts up to the empty one, as frames.
    way_back: Vec<u8>,
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In the envelope.
    #[default]
    WayBack,
    /// In a message that is not a request.
    Stray,
    /// In a part of the request.
    Body { is_last: bool },
    /// The request is complete.
    Asked,
}

impl Control {
    /// For a peer of a socket of this kind.
    pub fn new(kind: Kind) -> Self {
        Self(match kind {
            Kind::Pub => State::Topics(Topics::default()),
            Kind::Rep => State::Requests(Requests::default()),
            Kind::Push | Kind::Sub | Kind::Pull | Kind::Req => State::None,
        })
    }

    /// Begins a part of `len_bytes` with this head.
    ///
    /// # Errors
    /// [`Violation::Crowd`].
    pub fn begin(&mut self, head: &[u8], len_bytes: u64, has_more: bool) -> Result<(), Violation> {
        match &mut self.0 {
            State::Topics(topics) => topics.begin(len_bytes),
            State::Requests(requests) => requests.begin(head, len_bytes, has_more),
            State::None => Ok(()),
        }
    }

    /// Takes bytes of the current part.
    ///
    /// # Errors
    /// [`Violation::Crowd`].
    pub fn take(&mut self, bytes: &[u8], is_last: bool) -> Result<(), Violation> {
        match &mut self.0 {
            State::Topics(topics) => topics.take(bytes, is_last),
            State::Requests(requests) => {
                requests.take(bytes, is_last);
                Ok(())
            }
            State::None => Ok(()),
        }
    }

    /// Whether the peer subscribes to a message with this beginning.
    pub fn subscribes_to(&self, message: &[u8]) -> bool {
        match &self.0 {
            State::Topics(topics) => topics.list.iter().any(|topic| message.starts_with(topic)),
            State::Requests(_) | State::None => false,
        }
    }

    /// Whether a request is pending.
    pub fn is_asking(&self) -> bool {
        matches!(&self.0, State::Requests(requests) if requests.place == Place::Asked)
    }

    /// Removes the request, and passes the envelope of its answer to `write`.
    pub fn answer(&mut self, write: impl FnOnce(&[u8])) {
        if let State::Requests(requests) = &mut self.0 {
            write(&requests.way_back);
            requests.way_back.clear();
            requests.place = Place::WayBack;
        }
    }
}

impl Topics {
    fn begin(&mut self, len_bytes: u64) -> Result<(), Violation> {
        self.message.clear();
        if len_bytes > TOPIC_BYTES_MAX { Err(Violation::Crowd) } else { Ok(()) }
    }

    fn take(&mut self, bytes: &[u8], is_last: bool) -> Result<(), Violation> {
        self.message.extend_from_slice(bytes);
        match self.message.split_first() {
            Some((1, topic)) if is_last => {
                if self.list.len() == TOPICS_MAX {
                    return Err(Violation::Crowd);
                }
                self.list.push(topic.to_owned());
            }
            Some((0, topic)) if is_last => {
                if let Some(at) = self.list.iter().position(|known| known == topic) {
                    self.list.remove(at);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Requests {
    fn begin(&mut self, head: &[u8], len_bytes: u64, has_more: bool) -> Result<(), Violation> {
        self.place = match self.place {
            Place::WayBack if !has_more => {
                // Without an empty part, the start of the request is unknown.
                self.way_back.clear();
                if len_bytes > 0 { Place::Stray } else { Place::WayBack }
            }
            Place::WayBack => {
                let needed_bytes = (self.way_back.len() + head.len()) as u64;
                if needed_bytes.saturating_add(len_bytes) > WAY_BACK_BYTES_MAX {
                    return Err(Violation::Crowd);
                }
                self.way_back.extend_from_slice(head);
                if len_bytes > 0 { Place::WayBack } else { Place::Body { is_last: false } }
            }
            Place::Body { .. } if !has_more && len_bytes == 0 => Place::Asked,
            Place::Body { .. } => Place::Body { is_last: !has_more },
            place @ (Place::Stray | Place::Asked) => place,
        };
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], is_last: bool) {
        match self.place {
            Place::WayBack => self.way_back.extend_from_slice(bytes),
            Place::Stray if is_last => self.place = Place::WayBack,
            Place::Body { is_last: true } if is_last => self.place = Place::Asked,
            Place::Stray | Place::Body { .. } | Place::Asked => {}
        }
    }
}

/// Maximum size of a topic with the byte before it.
const TOPIC_BYTES_MAX: u64 = 256;

/// Maximum subscriptions of one peer.
const TOPICS_MAX: usize = 16;

/// Enough for the IDs that proxies add.
const WAY_BACK_BYTES_MAX: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(control: &mut Control, parts: &[&[u8]]) -> Result<(), Violation> {
        for (at, part) in parts.iter().enumerate() {
            let has_more = at + 1 < parts.len();
            control.begin(&[u8::from(has_more), part.len() as u8], part.len() as u64, has_more)?;
            for (at, byte) in part.iter().enumerate() {
                control.take(&[*byte], at + 1 == part.len())?;
            }
        }
        Ok(())
    }

    #[test]
    fn request_keeps_its_way_back_and_nothing_else() {
        let mut control = Control::new(Kind::Rep);
        for (parts, way_back) in [
            (&[&b""[..], b"\0"][..], &[1, 0][..]),
            (&[b"id", b"", b"\xff"], &[1, 2, b'i', b'd', 1, 0]),
            (&[b"", b"\x10\0\0\0", b"more"], &[1, 0]),
            (&[b"", b""], &[1, 0]),
        ] {
            message(&mut control, parts).unwrap();
            assert!(control.is_asking(), "{parts:?}");
            control.answer(|found| assert_eq!(found, way_back));
            assert!(!control.is_asking());
        }
        message(&mut control, &[b"no way back"]).unwrap();
        message(&mut control, &[b""]).unwrap();
        assert!(!control.is_asking());
        message(&mut control, &[b"", b"\0"]).unwrap();
        assert!(control.is_asking());
        control.answer(|found| assert_eq!(found, [1, 0], "what was no request is forgotten"));
    }

    #[test]
    fn request_is_complete_with_its_last_byte() {
        let mut control = Control::new(Kind::Rep);
        control.begin(&[1, 0], 0, true).unwrap();
        control.begin(&[1, 0], 0, true).unwrap();
        assert!(!control.is_asking(), "an empty part, and another follows");
        control.begin(&[1, 1], 1, true).unwrap();
        control.take(&[9], true).unwrap();
        assert!(!control.is_asking(), "a part, and another follows");
        control.begin(&[0, 2], 2, false).unwrap();
        assert!(!control.is_asking());
        control.take(&[7], false).unwrap();
        assert!(!control.is_asking(), "a byte is missing");
        control.take(&[7], true).unwrap();
        assert!(control.is_asking());
    }

    #[test]
    fn envelope_has_at_most_256_bytes_heads_included() {
        for (last, is_right) in [(124, true), (125, false)] {
            let mut control = Control::new(Kind::Rep);
            // Heads of 2 bytes: 2 + 126 + 2 + `last`, and 2 of the empty part.
            let parts = [&[7; 126][..], &[7; 200][..last], b"", b"\0"];
            assert_eq!(message(&mut control, &parts).is_ok(), is_right, "{last}");
            assert_eq!(control.is_asking(), is_right);
        }
    }

    #[test]
    fn subscriptions_come_and_go_and_are_bounded() {
        let mut control = Control::new(Kind::Pub);
        assert!(!control.subscribes_to(b"abc"));
        message(&mut control, &[b"\x01ab"]).unwrap();
        assert!(control.subscribes_to(b"abc") && !control.subscribes_to(b"b"));
        message(&mut control, &[b"\x01"]).unwrap();
        message(&mut control, &[b"\x00ab"]).unwrap();
        assert!(control.subscribes_to(b"b"), "nothing is a topic too");
        message(&mut control, &[b"\x00"]).unwrap();
        assert!(!control.subscribes_to(b"abc"));
        let many = (0..17).map(|at| message(&mut control, &[&[1, at]]));
        assert_eq!(many.filter(Result::is_err).count(), 1);
        for (len_bytes, is_right) in [(256, true), (257, false), (1 << 40, false)] {
            assert_eq!(control.begin(&[], len_bytes, false).is_ok(), is_right, "{len_bytes}");
        }
    }
}
