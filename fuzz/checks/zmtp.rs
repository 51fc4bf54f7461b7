//! Any bytes of a ZeroMQ peer are classified or refused, the same however they come.

use samplewire_zmtp::{Control, Decoder, Kind, Step, Violation};

use crate::input::Input;

/// Decodes the bytes after the first two as the input of a socket whose kind the first names: whole, and
/// in pieces of a length that the second gives.
///
/// # Panics
/// When a step takes more than there is, a part is too long, or the pieces decode otherwise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = KINDS[usize::from(input.byte()) % KINDS.len()];
    let piece = usize::from(input.byte()) + 1;
    let talk = input.rest();
    assert_eq!(read(kind, talk, talk.len().max(1)), read(kind, talk, piece));
}

/// What a peer's bytes are.
#[derive(Debug, Default, PartialEq)]
struct Talk {
    /// The parts of messages: their lengths, and whether another part follows.
    parts: Vec<(u64, bool)>,
    /// The bytes of all parts, where nothing was refused.
    bytes: Vec<u8>,
    /// Whether a PUB would send a message of these first bytes.
    subscribed: [bool; 2],
    /// Answers that a REP would give.
    answers: Vec<Vec<u8>>,
    violation: Option<Violation>,
}

fn read(kind: Kind, talk: &[u8], piece: usize) -> Talk {
    let (mut decoder, mut control) = (Decoder::new(kind), Control::new(kind));
    let (mut input, mut found) = (Vec::new(), Talk::default());
    for piece in talk.chunks(piece) {
        input.extend_from_slice(piece);
        if let Err(violation) = take(&mut decoder, &mut control, &mut input, &mut found) {
            // How many bytes of the refused part were read depends on the pieces.
            (found.violation, found.bytes) = (Some(violation), Vec::new());
            break;
        }
    }
    found.subscribed = [&b""[..], b"abc"].map(|message| control.subscribes_to(message));
    found
}

/// Removes all that can be classified of `input`.
fn take(
    decoder: &mut Decoder,
    control: &mut Control,
    input: &mut Vec<u8>,
    found: &mut Talk,
) -> Result<(), Violation> {
    loop {
        let was_ready = decoder.is_ready();
        let left_bytes = decoder.left_bytes();
        let step = decoder.next(input)?;
        let len = match step {
            Step::Wait => return Ok(()),
            Step::Skip(len) => len,
            Step::Ready(len) => {
                assert!(!was_ready && decoder.is_ready());
                len
            }
            Step::Part { skip, len_bytes, has_more } => {
                assert!(was_ready && len_bytes <= MESSAGE_BYTES_MAX);
                assert_eq!((left_bytes, decoder.left_bytes()), (0, len_bytes));
                control.begin(&input[..skip], len_bytes, has_more)?;
                found.parts.push((len_bytes, has_more));
                skip
            }
            Step::Bytes { len, is_last } => {
                assert_eq!(left_bytes - len as u64, decoder.left_bytes());
                assert_eq!(is_last, decoder.left_bytes() == 0);
                control.take(&input[..len], is_last)?;
                found.bytes.extend_from_slice(&input[..len]);
                len
            }
        };
        assert!((1..=input.len()).contains(&len), "{step:?} of {} bytes", input.len());
        input.drain(..len);
        if control.is_asking() {
            control.answer(|way_back| {
                assert!(way_back.len() <= WAY_BACK_BYTES_MAX);
                found.answers.push(way_back.to_vec());
            });
            assert!(!control.is_asking());
        }
    }
}

const KINDS: [Kind; 6] = [Kind::Pub, Kind::Sub, Kind::Push, Kind::Pull, Kind::Req, Kind::Rep];

/// The longest message that a socket takes.
const MESSAGE_BYTES_MAX: u64 = 256 << 20;

/// The longest envelope of a request.
const WAY_BACK_BYTES_MAX: usize = 256;
