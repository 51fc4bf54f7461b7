//! Text that a peer may have written.

use core::fmt::{self, Write};

/// A text of at most [`WireText::LEN_MAX`] bytes, as it came from the wire or goes there
/// (`docs/protocol.md#2.20`).
///
/// It prints escaped: a terminal and a log get no byte that they would obey. Control characters,
/// format characters such as those that turn the direction of text, unassigned and combining
/// characters and backslashes print as Rust writes them (`\n`, `\u{1b}`, `\\`), bytes that are not
/// UTF-8 as `\xff`. [`WireText::as_raw_bytes`] gives the bytes as they are.
///
/// ```
/// use samplewire_proto::session::WireText;
///
/// let text = WireText::from_raw(b"adc\x1b[2J\xFF");
/// assert_eq!(text.to_string(), r"adc\u{1b}[2J\xff");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WireText {
    bytes: [u8; Self::LEN_MAX],
    len: u8,
}

impl WireText {
    /// The longest text in bytes.
    pub const LEN_MAX: usize = 64;

    /// No text.
    pub const EMPTY: Self = Self { bytes: [0; Self::LEN_MAX], len: 0 };

    /// Keeps as many whole characters of `text` as fit.
    pub fn new(text: &str) -> Self {
        let mut len = text.len().min(Self::LEN_MAX);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        Self::from_raw(&text.as_bytes()[..len])
    }

    /// Keeps as many bytes as fit, whatever they are.
    pub fn from_raw(raw: &[u8]) -> Self {
        let len = raw.len().min(Self::LEN_MAX);
        let mut bytes = [0; Self::LEN_MAX];
        bytes[..len].copy_from_slice(&raw[..len]);
        Self { bytes, len: len as u8 }
    }

    /// The bytes as they came: not safe to print, and perhaps not UTF-8.
    pub fn as_raw_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether there is no text.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for WireText {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<&str> for WireText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(any(test, feature = "std"))]
impl From<std::string::String> for WireText {
    fn from(text: std::string::String) -> Self {
        Self::new(&text)
    }
}

impl fmt::Debug for WireText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl fmt::Display for WireText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut escaped = Escaped { bytes: [0; ESCAPED_LEN_MAX], len: 0 };
        for chunk in self.as_raw_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    // Within a line they are no danger.
                    '\'' | '"' => escaped.write_char(character)?,
                    _ => write!(escaped, "{}", character.escape_debug())?,
                }
            }
            for byte in chunk.invalid() {
                write!(escaped, "\\x{byte:02x}")?;
            }
        }
        f.pad(core::str::from_utf8(&escaped.bytes[..escaped.len]).map_err(|_| fmt::Error)?)
    }
}

/// The place of an escaped text, for padding.
struct Escaped {
    bytes: [u8; ESCAPED_LEN_MAX],
    len: usize,
}

impl Write for Escaped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// A control character of one byte takes six: `\u{1b}`. Others take less a byte.
const ESCAPED_LEN_MAX: usize = 6 * WireText::LEN_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_raw_bytes_are_not() {
        let long = "\u{e9}".repeat(40);
        assert_eq!(WireText::new(&long).as_raw_bytes().len(), 64);
        assert_eq!(WireText::new(&("a".to_owned() + &long)).as_raw_bytes().len(), 63);
        let raw = WireText::from_raw(&[0xC3; 300]);
        assert_eq!(raw.as_raw_bytes(), [0xC3; 64]);
        assert_eq!(raw.to_string(), r"\xc3".repeat(64));
        let name = WireText::new("adc");
        assert_eq!(format!("{name:?} {name:>4}"), "\"adc\"  adc");
        assert_eq!(format!("{:>6}|", WireText::new("\n")), r"    \n|");
    }

    #[test]
    fn no_character_that_a_terminal_obeys_is_printed() {
        for number in 0..=u32::from(char::MAX) {
            let Some(character) = char::from_u32(number) else { continue };
            let printed = WireText::new(character.encode_utf8(&mut [0; 4])).to_string();
            let is_format = matches!(
                number,
                0xAD | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xE0000..=0xE007F
            );
            if character.is_control() || is_format {
                assert!(printed.starts_with('\\') && printed.is_ascii(), "{number:x}: {printed}");
            }
        }
        for byte in 0..=255 {
            let printed = WireText::from_raw(&[byte; WireText::LEN_MAX]).to_string();
            assert!(printed.bytes().all(|it| (0x20..0x7F).contains(&it)), "{byte:x}: {printed}");
        }
        for text in ["adc0/ch0-1", "Antenne Süd", "受信機 1", "a \"b\" 'c'"] {
            assert_eq!(WireText::new(text).to_string(), text);
        }
    }
}
