//! Any text in the place of a line of a RoCEv2 connection is read or refused; numbers at the edges of their
//! ranges are.

use samplewire_roce::PathMtu;

use crate::input::Input;
use crate::line::{LastLine, Line, ParseError};

/// With an odd first byte, reads the rest as a line. With an even one each of the next bytes chooses a value of
/// a field, and the line is accepted only if all are in range.
///
/// # Panics
/// When a line that is read does not read back as itself or is out of range, or when an error, or a refusal
/// with it, could steer a terminal or is longer than a line.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.byte().is_multiple_of(2) {
        return numbers(&mut input);
    }
    let text = String::from_utf8_lossy(input.rest());
    check_first(&text);
    if let Ok(last) = LastLine::parse(&text) {
        let written = serde_json::to_string(&last).expect("a number and words");
        assert_eq!(LastLine::parse(&written).expect("it was written so"), last);
        if let LastLine { bytes: Some(bytes), error: None } = last {
            assert_eq!(last, LastLine::of(bytes));
        }
        assert!(last.error.is_none_or(|words| is_plain(&words)));
    }
    fits(&LastLine::failed(&text));
}

/// Returns whether the text is a first line.
fn check_first(text: &str) -> bool {
    match Line::parse(text) {
        Ok(line) => {
            let written = serde_json::to_string(&line).expect("numbers and an address");
            assert!(written.len() <= LINE_BYTES_MAX);
            assert_eq!(Line::parse(&written).expect("it was written so"), line);
            assert_eq!((line.qpn().get(), line.psn().get()), (line.qpn, line.psn));
            for mtu in PathMtu::ALL {
                assert_eq!(line.mtu_with(mtu).bytes(), line.mtu.min(mtu.bytes()));
            }
            true
        }
        Err(error) => {
            let words = error.to_string();
            assert!(is_plain(&words), "{words:?} steers a terminal");
            let is_short = !matches!(error, ParseError::Refused(_));
            assert!(!is_short || words.chars().count() <= WORDS_CHARS_MAX, "{words}");
            fits(&LastLine::failed(&words));
            false
        }
    }
}

/// A last line that can be sent is read as it was meant.
fn fits(last: &LastLine) {
    let written = serde_json::to_string(last).expect("a number and words");
    assert!(written.len() <= LINE_BYTES_MAX, "{} bytes", written.len());
    assert_eq!(LastLine::parse(&written).expect("it was written so"), *last);
    assert!(matches!(Line::parse(&written), Err(ParseError::Refused(_))));
}

fn is_plain(words: &str) -> bool {
    !words.chars().any(char::is_control)
}

/// A line whose fields have values at the edges of their ranges.
fn numbers(input: &mut Input<'_>) {
    let mut is_in_range = true;
    let mut values = [0; 6];
    for (value, edges) in values.iter_mut().zip(EDGES) {
        let (edge, is_allowed) = edges[usize::from(input.byte()) % edges.len()];
        (*value, is_in_range) = (edge, is_in_range && is_allowed);
    }
    let (address, is_station) = ADDRESSES[usize::from(input.byte()) % ADDRESSES.len()];
    let [qpn, psn, mtu, rkey, region_address, region_bytes] = values;
    // The address after the last byte is below 2^64.
    let has_end = u128::from(region_address) + u128::from(region_bytes) < 1 << 64;
    let text = format!(
        "{{\"address\":\"{address}\",\"qpn\":{qpn},\"psn\":{psn},\"mtu\":{mtu},\"rkey\":{rkey},\
         \"region_address\":{region_address},\"region_bytes\":{region_bytes}}}"
    );
    assert_eq!(check_first(&text), is_in_range && is_station && has_end, "{text}");
}

/// How many choices each byte of [`numbers`] has.
pub(crate) const CHOICES: [usize; 7] = {
    let [qpn, psn, mtu, rkey, region_address, region_bytes] = EDGES;
    [
        qpn.len(),
        psn.len(),
        mtu.len(),
        rkey.len(),
        region_address.len(),
        region_bytes.len(),
        ADDRESSES.len(),
    ]
};

/// Values of the fields in their order, each with whether it is in range. The first of each is.
const EDGES: [&[(u64, bool)]; 6] = [
    &[
        (2, true),
        (0, false),
        (1, false),
        (3, true),
        (0xFF_FFFE, true),
        (0xFF_FFFF, false),
        PAST_U24,
        PAST_U32,
    ],
    &[
        (0, true),
        (1, true),
        (0xFF_FFFE, true),
        (0xFF_FFFF, true),
        PAST_U24,
        (0xFFFF_FFFF, false),
        PAST_U32,
    ],
    &[
        (256, true),
        (512, true),
        (1_024, true),
        (2_048, true),
        (4_096, true),
        (0, false),
        (255, false),
        (257, false),
        (4_095, false),
        (4_097, false),
        (8_192, false),
        PAST_U32,
    ],
    &[(0, true), (1, true), (0xFFFF_FFFF, true), PAST_U32],
    &[(0, true), (1, true), (4_096, true), (1 << 63, true), (u64::MAX - 1, true), (u64::MAX, true)],
    &[(0, true), (1, true), (4_096, true), (1 << 63, true), (u64::MAX - 1, true), (u64::MAX, true)],
];

const PAST_U24: (u64, bool) = (1 << 24, false);
const PAST_U32: (u64, bool) = (1 << 32, false);

const ADDRESSES: [(&str, bool); 9] = [
    ("10.0.0.2", true),
    ("0.0.0.0", false),
    ("0.0.0.1", true),
    ("223.255.255.255", true),
    ("224.0.0.0", false),
    ("239.255.255.255", false),
    ("240.0.0.0", true),
    ("255.255.255.255", false),
    ("10.0.0.256", false),
];

/// The longest line that an end reads.
const LINE_BYTES_MAX: usize = 1_024;

/// The longest error about a line, but for a refusal, which has the peer's words.
const WORDS_CHARS_MAX: usize = 400;
