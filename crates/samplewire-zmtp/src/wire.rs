//! The bytes of ZMTP 3.0: greeting, frames, READY (RFC 23).

use std::fmt;

/// The kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sends to all subscribers; a slow subscriber misses messages.
    Pub,
    /// Receives from publishers.
    Sub,
    /// Sends each message to one PULL peer, and waits.
    Push,
    /// Receives from PUSH peers.
    Pull,
    /// Sends requests, and receives answers.
    Req,
    /// Sends answers.
    Rep,
}

impl Kind {
    /// Its name in the handshake.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pub => "PUB",
            Self::Sub => "SUB",
            Self::Push => "PUSH",
            Self::Pull => "PULL",
            Self::Req => "REQ",
            Self::Rep => "REP",
        }
    }

    /// Whether it receives samples.
    pub const fn is_inward(self) -> bool {
        matches!(self, Self::Sub | Self::Pull | Self::Req)
    }

    /// The kinds that it may connect to.
    pub(super) const fn peers(self) -> &'static [&'static str] {
        match self {
            Self::Pub => &["SUB", "XSUB"],
            Self::Sub => &["PUB", "XPUB"],
            Self::Push => &["PULL"],
            Self::Pull => &["PUSH"],
            Self::Req => &["REP", "ROUTER"],
            Self::Rep => &["REQ", "DEALER"],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A violation of the protocol by a peer, which ends its connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The peer does not use ZeroMQ.
    #[error("speaks no ZeroMQ")]
    Foreign,
    /// The peer has a library from before 2012.
    #[error("speaks ZMTP {0}, and 3.0 is needed (libzmq 4.0 or later)")]
    Version(u8),
    /// The peer requires a password or keys.
    #[error("wants the mechanism {0}, and only NULL is spoken here")]
    Mechanism(String),
    /// The peer refuses this end.
    #[error("refuses: {0}")]
    Refused(String),
    /// The two kinds are not compatible.
    #[error("is a {theirs}, and a {ours} socket talks to {}", .ours.peers().join(" or "))]
    Kind {
        /// What the peer is.
        theirs: String,
        /// What this end is.
        ours: Kind,
    },
    /// The handshake took too long.
    #[error("did not finish its handshake")]
    Slow,
    /// A frame with undefined flags.
    #[error("sent a frame with the flags {0:#04x}, which ZMTP 3.0 does not have")]
    Flags(u8),
    /// A command that is truncated, or out of place.
    #[error("sent a command that cannot be read")]
    Command,
    /// A message that is too long.
    #[error("sent a message of {len_bytes} bytes, and {MESSAGE_BYTES_MAX} are taken at most")]
    Long {
        /// Its length.
        len_bytes: u64,
    },
    /// A message with a fraction of a sample.
    #[error("sent {len_bytes} bytes, which are no whole number of samples of {item_bytes} bytes")]
    Split {
        /// The message's length.
        len_bytes: u64,
        /// A sample's length.
        item_bytes: usize,
    },
    /// More topics, or a longer envelope, than this end stores.
    #[error("requests more topics, or more hops, than this end stores")]
    Crowd,
    /// An answer without a request.
    #[error("sent an answer without a request")]
    Unasked,
}

/// The greeting of this end.
pub(super) fn greeting() -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    (greeting[0], greeting[8], greeting[9]) = (0xFF, 1, 0x7F);
    greeting[10] = 3;
    greeting[MECHANISM_AT..][..NULL.len()].copy_from_slice(NULL);
    greeting
}

/// Checks the received part of a greeting.
///
/// # Errors
/// It is not a greeting, or has another version or mechanism.
pub(super) fn check_greeting(come: &[u8]) -> Result<(), Violation> {
    if come.first().is_some_and(|byte| *byte != 0xFF)
        || come.get(9).is_some_and(|byte| *byte != 0x7F)
    {
        return Err(Violation::Foreign);
    }
    if let Some(&major) = come.get(10).filter(|major| **major < 3) {
        // Revision 0 is ZMTP 1, and 1 is ZMTP 2.
        return Err(Violation::Version(major + 1));
    }
    let mechanism = come.get(MECHANISM_AT..MECHANISM_AT + MECHANISM_BYTES);
    let name = mechanism.and_then(|bytes| bytes.split(|byte| *byte == 0).next());
    match name {
        Some(name) if name != NULL => Err(Violation::Mechanism(words(name))),
        _ => Ok(()),
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) is_command: bool,
    pub(super) has_more: bool,
    pub(super) body_bytes: u64,
    /// The length of this head.
    pub(super) head_bytes: usize,
}

impl Head {
    /// Reads a head; `None` if it is incomplete.
    ///
    /// # Errors
    /// [`Violation::Flags`].
    pub(super) fn read(input: &[u8]) -> Result<Option<Self>, Violation> {
        let Some(&flags) = input.first() else { return Ok(None) };
        let is_command = flags & COMMAND != 0;
        if flags & !(MORE | LONG | COMMAND) != 0 || (is_command && flags & MORE != 0) {
            return Err(Violation::Flags(flags));
        }
        let (body_bytes, head_bytes) = if flags & LONG == 0 {
            let Some(&len) = input.get(1) else { return Ok(None) };
            (u64::from(len), 2)
        } else {
            let Some(len) = input[1..].first_chunk() else { return Ok(None) };
            (u64::from_be_bytes(*len), 9)
        };
        Ok(Some(Self { is_command, has_more: flags & MORE != 0, body_bytes, head_bytes }))
    }
}

/// The head of a frame with a part of a message.
pub(super) fn message_head(body_bytes: usize, has_more: bool) -> ([u8; 9], usize) {
    let more = if has_more { MORE } else { 0 };
    let mut head = [0; 9];
    if let Ok(len) = u8::try_from(body_bytes) {
        (head[0], head[1]) = (more, len);
        (head, 2)
    } else {
        head[0] = more | LONG;
        head[1..].copy_from_slice(&(body_bytes as u64).to_be_bytes());
        (head, 9)
    }
}

/// The command that completes this end's half of the handshake.
pub(super) fn ready(kind: Kind) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    property(&mut body, b"Socket-Type", kind.as_str().as_bytes());
    if kind == Kind::Req {
        property(&mut body, b"Identity", b"");
    }
    let mut frame = vec![COMMAND, u8::try_from(body.len()).expect("it is short")];
    frame.extend(body);
    frame
}

fn property(body: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    body.push(name.len() as u8);
    body.extend(name);
    body.extend((value.len() as u32).to_be_bytes());
    body.extend(value);
}

/// A command of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The peer's half of the handshake is complete; the kind of its socket.
    Ready(String),
    /// The peer refuses the connection.
    Error(String),
    /// A command that needs no answer in ZMTP 3.0.
    Other,
}

impl Command {
    /// Reads the body of a command.
    ///
    /// # Errors
    /// [`Violation::Command`].
    pub(super) fn read(body: &[u8]) -> Result<Self, Violation> {
        let (name, rest) = short(body)?;
        match name {
            b"READY" => Self::read_ready(rest),
            b"ERROR" => Ok(Self::Error(words(short(rest)?.0))),
            _ => Ok(Self::Other),
        }
    }

    fn read_ready(mut rest: &[u8]) -> Result<Self, Violation> {
        let mut kind = None;
        while !rest.is_empty() {
            let (name, after) = short(rest)?;
            let (len, after) = after.split_first_chunk::<4>().ok_or(Violation::Command)?;
            let len = u32::from_be_bytes(*len) as usize;
            let (value, after) = after.split_at_checked(len).ok_or(Violation::Command)?;
            if name.eq_ignore_ascii_case(b"Socket-Type") {
                kind = Some(words(value));
            }
            rest = after;
        }
        kind.map(Self::Ready).ok_or(Violation::Command)
    }
}

/// Bytes after a byte with their count.
fn short(bytes: &[u8]) -> Result<(&[u8], &[u8]), Violation> {
    let (&len, rest) = bytes.split_first().ok_or(Violation::Command)?;
    rest.split_at_checked(len.into()).ok_or(Violation::Command)
}

/// A peer's text, made printable and short.
fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().take(WORDS_CHARS_MAX).collect()
}

/// The length of a greeting.
pub(super) const GREETING_BYTES: usize = 64;

/// The longest accepted message: several seconds of samples. srsRAN sends at most 24.6 MB.
pub(super) const MESSAGE_BYTES_MAX: u64 = 256 << 20;

const MECHANISM_AT: usize = 12;
const MECHANISM_BYTES: usize = 20;
const NULL: &[u8] = b"NULL";

const MORE: u8 = 0x01;
const LONG: u8 = 0x02;
const COMMAND: u8 = 0x04;

const WORDS_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greeting_and_ready_are_those_of_the_specification() {
        let greeting = greeting();
        assert_eq!(greeting[..12], [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0]);
        assert_eq!(&greeting[12..17], b"NULL\0");
        assert_eq!(greeting[17..], [0; 47]);
        let expected = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB";
        assert_eq!(ready(Kind::Pub), expected);
        assert_eq!(Command::read(&expected[2..]), Ok(Command::Ready("PUB".into())));
    }

    #[test]
    fn greeting_is_judged_as_soon_as_it_can_be() {
        let good = greeting();
        for len in 0..=good.len() {
            assert_eq!(check_greeting(&good[..len]), Ok(()));
        }
        assert_eq!(check_greeting(b"GET / HTTP/1.1"), Err(Violation::Foreign));
        for at in [0, 9] {
            let mut foreign = good;
            foreign[at] ^= 1;
            assert_eq!(check_greeting(&foreign), Err(Violation::Foreign), "byte {at}");
        }
        let mut old = good;
        old[10] = 1;
        assert_eq!(check_greeting(&old[..11]), Err(Violation::Version(2)));
        let mut curve = good;
        curve[12..17].copy_from_slice(b"CURVE");
        assert_eq!(check_greeting(&curve), Err(Violation::Mechanism("CURVE".into())));
    }

    #[test]
    fn heads_are_short_up_to_255_bytes_and_come_back() {
        for (len, head_bytes) in [(0, 2), (255, 2), (256, 9), (24_576_000, 9)] {
            let (bytes, written) = message_head(len, false);
            let head = Head::read(&bytes[..written]).unwrap().expect("it is there");
            assert_eq!((head.body_bytes, head.head_bytes), (len as u64, head_bytes));
            assert!(!head.has_more && !head.is_command);
            assert_eq!(Head::read(&bytes[..written - 1]), Ok(None));
        }
        assert_eq!(message_head(0, true), ([1, 0, 0, 0, 0, 0, 0, 0, 0], 2));
        assert_eq!(Head::read(&[0x08]), Err(Violation::Flags(0x08)));
        assert_eq!(Head::read(&[0x05]), Err(Violation::Flags(0x05)));
    }

    #[test]
    fn command_that_is_cut_is_refused_at_every_length() {
        let whole = &ready(Kind::Req)[2..];
        let cut = (0..whole.len()).filter(|len| Command::read(&whole[..*len]).is_ok());
        // READY is valid without the identity too.
        assert_eq!(cut.collect::<Vec<_>>(), [ready(Kind::Sub).len() - 2]);
    }
}
