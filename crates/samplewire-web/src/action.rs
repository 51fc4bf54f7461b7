//! Actions of a page: JSON of at most [`ACTION_BYTES_MAX`]. Layout: `docs/web.md#actions`.

use std::fmt;

use samplewire::SampleIndex;
use serde::Deserialize;

/// What a page wants done with a source, by the number of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a recording.
    Record {
        /// The source.
        source: u16,
        /// What is recorded, and where to.
        wanted: RecordRequest,
    },
    /// Stop the recording.
    Stop {
        /// The source.
        source: u16,
        /// The index after the last to record; `None` for the next one.
        at: Option<SampleIndex>,
    },
    /// Note an event in the recording.
    Event {
        /// The source.
        source: u16,
        /// The index of the event; `None` for the next one.
        at: Option<SampleIndex>,
        /// What happened.
        text: String,
    },
    /// End the stream.
    End {
        /// The source.
        source: u16,
    },
}

/// A recording that a page wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRequest {
    /// The first index; `None` for the next one.
    pub from: Option<SampleIndex>,
    /// The index after the last; `None` to record until it is stopped.
    pub until: Option<SampleIndex>,
    /// How the file's name begins; may be empty.
    pub name: String,
    /// The kind of the file.
    pub form: Form,
}

/// The kind of a recording's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// SigMF: with metadata that prove the recording.
    #[default]
    Sigmf,
    /// Raw samples in the stream's format, without metadata.
    Raw,
}

impl Form {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sigmf => "sigmf",
            Self::Raw => "raw",
        }
    }
}

/// A request that is not an action.
#[derive(Debug, thiserror::Error)]
pub enum MalformedAction {
    /// The request is too long.
    #[error("an action of {len} bytes: at most {ACTION_BYTES_MAX}")]
    Long {
        /// Its length.
        len: usize,
    },
    /// The request is not JSON, or not an object of the protocol.
    #[error("not an action: {0}")]
    Json(#[from] serde_json::Error),
    /// The name has other characters, or too many.
    #[error(
        "the name {0:?}: at most {NAME_CHARS_MAX} letters, digits, `-` and `_`, a letter or digit first"
    )]
    Name(Quote),
    /// The text of an event is empty, too long, or has control characters.
    #[error("the text {0:?}: 1 to {TEXT_CHARS_MAX} characters, no control characters")]
    Text(Quote),
    /// A recording would end before it begins.
    #[error("a recording from index {from} cannot end at index {until}")]
    Empty {
        /// The first index.
        from: SampleIndex,
        /// The index after the last.
        until: SampleIndex,
    },
}

/// The beginning of a text that was refused.
#[derive(Clone, PartialEq, Eq)]
pub struct Quote(String);

impl Quote {
    fn of(text: &str) -> Self {
        Self(text.chars().take(QUOTE_CHARS).collect())
    }
}

/// In quotes, with escapes.
impl fmt::Debug for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Reads an action.
///
/// ```
/// use samplewire_web::action::{Action, decode};
///
/// let action = decode(br#"{"stop": {"at": "18446744073709551615"}}"#).unwrap();
/// assert_eq!(action, Action::Stop { source: 0, at: Some(u64::MAX) });
/// let error = decode(br#"{"record": {"name": "../a"}}"#).unwrap_err();
/// assert!(error.to_string().starts_with(r#"the name "../a""#));
/// ```
///
/// # Errors
/// [`MalformedAction`] names what is wrong.
pub fn decode(bytes: &[u8]) -> Result<Action, MalformedAction> {
    if bytes.len() > ACTION_BYTES_MAX {
        return Err(MalformedAction::Long { len: bytes.len() });
    }
    let index = |index: Option<Index>| index.map(|Index(index)| index);
    Ok(match serde_json::from_slice(bytes)? {
        Wire::Record(wire) => {
            let (from, until) = (index(wire.from), index(wire.until));
            if !is_name(&wire.name) {
                return Err(MalformedAction::Name(Quote::of(&wire.name)));
            }
            if let (Some(from), Some(until)) = (from, until)
                && until <= from
            {
                return Err(MalformedAction::Empty { from, until });
            }
            let wanted = RecordRequest { from, until, name: wire.name, form: wire.form };
            Action::Record { source: wire.source, wanted }
        }
        Wire::Stop(wire) => Action::Stop { source: wire.source, at: index(wire.at) },
        Wire::Event(wire) => {
            if !is_text(&wire.text) {
                return Err(MalformedAction::Text(Quote::of(&wire.text)));
            }
            Action::Event { source: wire.source, at: index(wire.at), text: wire.text }
        }
        Wire::End(wire) => Action::End { source: wire.source },
    })
}

/// Whether a file's name may begin so. There is no way to write a separator, a leading dot or an
/// extension.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let begins_plainly = name.bytes().next().is_none_or(|byte| byte.is_ascii_alphanumeric());
    name.len() <= NAME_CHARS_MAX && begins_plainly && name.bytes().all(is_plain)
}

fn is_text(text: &str) -> bool {
    let chars = text.chars().count();
    (1..=TEXT_CHARS_MAX).contains(&chars) && !text.chars().any(char::is_control)
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Wire {
    Record(WireRecord),
    Stop(WireStop),
    Event(WireEvent),
    End(WireEnd),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRecord {
    #[serde(default)]
    source: u16,
    from: Option<Index>,
    until: Option<Index>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    form: Form,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireStop {
    #[serde(default)]
    source: u16,
    at: Option<Index>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEvent {
    #[serde(default)]
    source: u16,
    at: Option<Index>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEnd {
    #[serde(default)]
    source: u16,
}

/// An index as a string of digits: it may exceed what JavaScript's numbers hold.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Index(SampleIndex);

impl TryFrom<String> for Index {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let index = text.parse().ok().filter(|_| is_digits);
        let wrong = || format!("the index {:?}: digits of a number below 2^64", Quote::of(&text));
        index.map(Index).ok_or_else(wrong)
    }
}

/// Bytes of an action.
pub const ACTION_BYTES_MAX: usize = 8 << 10;

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 64;

/// Characters of an event's text.
pub const TEXT_CHARS_MAX: usize = 200;

/// Characters of a refused text that its error repeats.
const QUOTE_CHARS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        decode(text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn actions_are_read_with_their_defaults() {
        let record = decode(br#"{"record": {}}"#).unwrap();
        assert_eq!(record, Action::Record { source: 0, wanted: RecordRequest::default() });
        let record = br#"{"record": {"source": 1, "from": "7", "until": "9", "name": "a-1_b", "form": "raw"}}"#;
        let name = "a-1_b".to_owned();
        let wanted = RecordRequest { from: Some(7), until: Some(9), name, form: Form::Raw };
        assert_eq!(decode(record).unwrap(), Action::Record { source: 1, wanted });
        let text = "a \u{e9}vent".to_owned();
        let event = Action::Event { source: 0, at: None, text };
        assert_eq!(decode("{\"event\": {\"text\": \"a évent\"}}".as_bytes()).unwrap(), event);
        assert_eq!(decode(br#"{"end": {}}"#).unwrap(), Action::End { source: 0 });
    }

    #[test]
    fn anything_else_is_refused_and_the_error_names_it() {
        for (text, words) in [
            ("", "EOF"),
            ("null", "expected value"),
            ("{}", "expected value"),
            (r#"{"stop": {}, "end": {}}"#, "expected"),
            (r#"{"delete": {}}"#, "unknown variant `delete`"),
            (r#"{"stop": {"folder": "/"}}"#, "unknown field `folder`"),
            (r#"{"stop": {"source": 65536}}"#, "65536"),
            (r#"{"stop": {"at": 7}}"#, "integer `7`"),
            (r#"{"stop": {"at": "-7"}}"#, "the index \"-7\""),
            (r#"{"stop": {"at": "+7"}}"#, "the index \"+7\""),
            (r#"{"stop": {"at": ""}}"#, "the index \"\""),
            (r#"{"stop": {"at": "18446744073709551616"}}"#, "\"18446744073709551616\""),
            (r#"{"record": {"form": "exe"}}"#, "unknown variant `exe`"),
            (r#"{"record": {"from": "9", "until": "9"}}"#, "from index 9 cannot end at index 9"),
            (r#"{"event": {}}"#, "missing field `text`"),
            (r#"{"event": {"text": ""}}"#, "the text \"\""),
            (r#"{"event": {"text": "a\u0007"}}"#, "the text \"a\\u{7}\""),
        ] {
            let error = refusal(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        let long = format!(r#"{{"event": {{"text": "{}"}}}}"#, "x".repeat(TEXT_CHARS_MAX + 1));
        assert!(refusal(&long).len() < 200, "a part is enough");
        let long = format!("{{\"end\": {{}}{}}}", " ".repeat(ACTION_BYTES_MAX));
        assert!(refusal(&long).contains("bytes: at most 8192"), "{}", refusal(&long));
    }

    #[test]
    fn names_have_no_way_out_of_a_folder() {
        let long = "a".repeat(NAME_CHARS_MAX + 1);
        for name in [
            "../a",
            "..",
            ".",
            "/etc/a",
            "a/b",
            "a\\\\b",
            ".a",
            "a.b",
            "-a",
            "_a",
            "a b",
            "a\\u0000",
            "caf\u{e9}",
            "~",
            "a:b",
            "%2e%2e",
            &long,
        ] {
            let error = refusal(&format!(r#"{{"record": {{"name": "{name}"}}}}"#));
            assert!(error.starts_with("the name \""), "{name}: {error}");
        }
        assert!(is_name("") && is_name("a") && is_name(&long[1..]));
    }
}
