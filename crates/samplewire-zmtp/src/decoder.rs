//! Decodes the input of a peer: a state machine without a socket.
//!
//! [`Decoder::next`] classifies the first bytes of the input. Its owner removes them and calls it
//! again. The decoder stores only a few numbers.

use crate::wire::{
    Command, GREETING_BYTES, Head, Kind, MESSAGE_BYTES_MAX, Violation, check_greeting,
};

/// Decodes one connection.
#[derive(Debug)]
pub struct Decoder {
    ours: Kind,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Expects a greeting of 64 bytes, which names the protocol and its version.
    Greeting,
    /// Expects READY.
    Handshake,
    /// Expects a frame.
    Frame,
    /// Expects this many more bytes of a part.
    Part { left_bytes: u64 },
}

/// The class of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    Wait,
    /// Skip this many bytes.
    Skip(usize),
    /// Skip this many bytes; the peer is ready.
    Ready(usize),
    /// Skip this many bytes; a part of a message follows.
    Part {
        /// The bytes of its head.
        skip: usize,
        /// The bytes that follow the head.
        len_bytes: u64,
        /// Whether another part of the message follows this one.
        has_more: bool,
    },
    /// Bytes of the current part.
    Bytes {
        /// How many.
        len: usize,
        /// Whether the part ends with them.
        is_last: bool,
    },
}

impl Decoder {
    /// For a connection of a socket of this kind.
    pub const fn new(ours: Kind) -> Self {
        Self { ours, state: State::Greeting }
    }

    /// Whether the handshake is complete.
    pub const fn is_ready(&self) -> bool {
        matches!(self.state, State::Frame | State::Part { .. })
    }

    /// Remaining bytes of the current part.
    pub const fn left_bytes(&self) -> u64 {
        match self.state {
            State::Part { left_bytes } => left_bytes,
            State::Greeting | State::Handshake | State::Frame => 0,
        }
    }

    /// Classifies the first bytes of `input`.
    ///
    /// # Errors
    /// The peer violated the protocol; the connection must be closed.
    pub fn next(&mut self, input: &[u8]) -> Result<Step, Violation> {
        match self.state {
            State::Greeting => {
                check_greeting(input)?;
                if input.len() < GREETING_BYTES {
                    return Ok(Step::Wait);
                }
                self.state = State::Handshake;
                Ok(Step::Skip(GREETING_BYTES))
            }
            State::Handshake | State::Frame => self.frame(input),
            State::Part { .. } if input.is_empty() => Ok(Step::Wait),
            State::Part { left_bytes } => {
                let len = left_bytes.min(input.len() as u64);
                let left_bytes = left_bytes - len;
                let is_last = left_bytes == 0;
                self.state = if is_last { State::Frame } else { State::Part { left_bytes } };
                Ok(Step::Bytes { len: len as usize, is_last })
            }
        }
    }

    fn frame(&mut self, input: &[u8]) -> Result<Step, Violation> {
        let Some(head) = Head::read(input)? else { return Ok(Step::Wait) };
        let len_bytes = head.body_bytes;
        if !head.is_command {
            return match self.state {
                State::Handshake => Err(Violation::Foreign),
                _ if len_bytes > MESSAGE_BYTES_MAX => Err(Violation::Long { len_bytes }),
                _ => {
                    if len_bytes > 0 {
                        self.state = State::Part { left_bytes: len_bytes };
                    }
                    let (skip, has_more) = (head.head_bytes, head.has_more);
                    Ok(Step::Part { skip, len_bytes, has_more })
                }
            };
        }
        if len_bytes > COMMAND_BYTES_MAX {
            return Err(Violation::Command);
        }
        let end = head.head_bytes + len_bytes as usize;
        let Some(body) = input.get(head.head_bytes..end) else { return Ok(Step::Wait) };
        match (Command::read(body)?, self.state) {
            (Command::Ready(theirs), State::Handshake) => {
                if !self.ours.peers().contains(&theirs.as_str()) {
                    return Err(Violation::Kind { theirs, ours: self.ours });
                }
                self.state = State::Frame;
                Ok(Step::Ready(end))
            }
            (Command::Error(words), _) => Err(Violation::Refused(words)),
            (Command::Other, State::Frame) => Ok(Step::Skip(end)),
            (Command::Ready(_) | Command::Other, _) => Err(Violation::Command),
        }
    }
}

/// The longest command: it must fit into one buffer.
pub(super) const COMMAND_BYTES_MAX: u64 = 1_024;

#[cfg(test)]
mod tests {
    use super::super::wire::{greeting, message_head, ready};
    use super::*;

    /// The parts, and the bytes of all.
    type Parts = (Vec<(u64, bool)>, Vec<u8>);

    /// Decodes these bytes in pieces of `piece` bytes.
    fn read(bytes: &[u8], piece: usize) -> Result<Parts, Violation> {
        let mut decoder = Decoder::new(Kind::Sub);
        let (mut input, mut parts, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            input.extend_from_slice(piece);
            loop {
                let taken = match decoder.next(&input)? {
                    Step::Wait => break,
                    Step::Skip(len) | Step::Ready(len) => len,
                    Step::Part { skip, len_bytes, has_more } => {
                        parts.push((len_bytes, has_more));
                        skip
                    }
                    Step::Bytes { len, .. } => {
                        all.extend_from_slice(&input[..len]);
                        len
                    }
                };
                input.drain(..taken);
            }
        }
        Ok((parts, all))
    }

    fn talk() -> Vec<u8> {
        let mut talk = greeting().to_vec();
        talk.extend(ready(Kind::Pub));
        for (len, has_more) in [(3, true), (300, false), (0, false), (5, false)] {
            let (head, written) = message_head(len, has_more);
            talk.extend(&head[..written]);
            talk.extend((0..len).map(|at| at as u8));
        }
        talk.extend(b"\x04\x05\x04PING");
        talk
    }

    #[test]
    fn messages_are_the_same_however_their_bytes_come() {
        let whole = read(&talk(), usize::MAX).unwrap();
        assert_eq!(whole.0, [(3, true), (300, false), (0, false), (5, false)]);
        assert_eq!(whole.1.len(), 308);
        for piece in [1, 2, 7, 64] {
            assert_eq!(read(&talk(), piece), Ok(whole.clone()), "pieces of {piece}");
        }
    }

    #[test]
    fn any_byte_that_is_changed_ends_in_a_violation_or_in_bounded_parts() {
        let talk = talk();
        for at in 0..talk.len() {
            for bit in 0..8 {
                let mut changed = talk.clone();
                changed[at] ^= 1 << bit;
                if let Ok((parts, bytes)) = read(&changed, 13) {
                    assert!(parts.iter().all(|(len, _)| *len <= MESSAGE_BYTES_MAX));
                    assert!(bytes.len() <= changed.len());
                }
            }
        }
    }

    #[test]
    fn lengths_at_their_limits_are_taken_and_beyond_are_not() {
        let mut decoder = Decoder::new(Kind::Sub);
        assert_eq!(decoder.next(&greeting()[..63]), Ok(Step::Wait));
        assert_eq!(decoder.next(&greeting()), Ok(Step::Skip(64)));
        let ready = ready(Kind::Pub);
        assert_eq!(decoder.next(&ready), Ok(Step::Ready(ready.len())));
        let command = |len_bytes: u64| {
            let mut command = [&[6][..], &len_bytes.to_be_bytes()].concat();
            command.resize(9 + len_bytes as usize, 0);
            command
        };
        assert_eq!(decoder.next(&command(1_024)), Ok(Step::Skip(1_033)));
        assert_eq!(decoder.next(&command(1_025)), Err(Violation::Command));
        let head = |len_bytes: u64| [&[2][..], &len_bytes.to_be_bytes()].concat();
        let long = MESSAGE_BYTES_MAX + 1;
        assert_eq!(decoder.next(&head(long)), Err(Violation::Long { len_bytes: long }));
        let empty = Step::Part { skip: 2, len_bytes: 0, has_more: false };
        assert_eq!(decoder.next(&[0, 0]), Ok(empty));
        let longest = Step::Part { skip: 9, len_bytes: MESSAGE_BYTES_MAX, has_more: false };
        assert_eq!(decoder.next(&head(MESSAGE_BYTES_MAX)), Ok(longest), "no byte was awaited");
        assert_eq!(decoder.left_bytes(), MESSAGE_BYTES_MAX);
    }

    #[test]
    fn what_a_peer_may_not_do_is_named() {
        let with = |more: &[u8]| {
            let mut talk = greeting().to_vec();
            talk.extend(ready(Kind::Pub));
            talk.extend(more);
            read(&talk, 1).unwrap_err()
        };
        let long = [2, 0, 0, 1, 0, 0, 0, 0, 0];
        assert_eq!(with(&long), Violation::Long { len_bytes: 1 << 40 });
        assert_eq!(with(&[4, 3, 9, 0, 0]), Violation::Command);
        assert_eq!(with(&[6, 0, 0, 0, 0, 0, 1, 0, 0]), Violation::Command);
        assert_eq!(with(b"\x04\x0a\x05ERROR\x03bad"), Violation::Refused("bad".into()));
        let mut early = greeting().to_vec();
        early.extend([0, 1, 7]);
        assert_eq!(read(&early, 1).unwrap_err(), Violation::Foreign);
        let mut other = greeting().to_vec();
        other.extend(ready(Kind::Rep));
        let words = read(&other, 1).unwrap_err().to_string();
        assert_eq!(words, "is a REP, and a SUB socket talks to PUB or XPUB");
    }
}
