//! Texts that someone else has chosen.

/// The first characters of a text that someone else has chosen, with question marks in the place of
/// control characters: they could steer a terminal.
pub(crate) fn plain(text: &str, chars_max: usize) -> String {
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    text.chars().take(chars_max).map(shown).collect()
}
