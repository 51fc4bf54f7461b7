//! The colours of the waterfall: 24-bit, or a terminal's 256.

use std::fmt;

/// The colours that the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colors {
    /// Each 8 bits of red, green and blue.
    Rgb,
    /// The 6 x 6 x 6 cube of the 256-colour palette.
    Indexed,
}

impl Colors {
    /// Chooses by `COLORTERM`, `TERM` and `NO_COLOR` (no-color.org); `None` for no colours.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable("NO_COLOR").is_some_and(|it| !it.is_empty()) {
            return None;
        }
        let has = |name: &str, words: &[&str]| {
            variable(name).is_some_and(|it| words.iter().any(|&word| it.contains(word)))
        };
        if has("COLORTERM", &["truecolor", "24bit"]) {
            Some(Self::Rgb)
        } else if has("TERM", &["256color"]) {
            Some(Self::Indexed)
        } else {
            None
        }
    }

    /// Returns the colour of a level from 0 to 1: dark blue, violet, red, yellow, white.
    pub(super) fn at(self, level: f32) -> Color {
        let at = level.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
        let below = (at as usize).min(STOPS.len() - 2);
        let share = at - below as f32;
        let mix = |part: usize| {
            let (from, to) = (f32::from(STOPS[below][part]), f32::from(STOPS[below + 1][part]));
            (from + (to - from) * share).round() as u8
        };
        let rgb = [mix(0), mix(1), mix(2)];
        match self {
            Self::Rgb => Color::Rgb(rgb),
            Self::Indexed => Color::Indexed(index_of(rgb)),
        }
    }
}

/// A colour. It prints as the parameters of an SGR sequence (ECMA-48, ISO 8613-6) after `38;` or
/// `48;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    Rgb([u8; 3]),
    Indexed(u8),
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rgb([red, green, blue]) => write!(f, "2;{red};{green};{blue}"),
            Self::Indexed(index) => write!(f, "5;{index}"),
        }
    }
}

/// Returns the nearest colour of the cube, whose steps are 0, 95, 135, 175, 215 and 255.
fn index_of(rgb: [u8; 3]) -> u8 {
    let [red, green, blue] = rgb.map(|part| match part {
        0..48 => 0,
        48..115 => 1,
        _ => (part - 35) / 40,
    });
    16 + 36 * red + 6 * green + blue
}

const STOPS: [[u8; 3]; 6] =
    [[0, 0, 24], [40, 10, 100], [140, 40, 130], [230, 80, 60], [250, 190, 60], [255, 255, 220]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_that_the_terminal_says_it_has() {
        let of = |term: &str, colorterm: &str, no_color: &str| {
            Colors::of(|name| {
                let value = match name {
                    "TERM" => term,
                    "COLORTERM" => colorterm,
                    _ => no_color,
                };
                (!value.is_empty()).then(|| value.to_owned())
            })
        };
        assert_eq!(of("xterm", "", ""), None);
        assert_eq!(of("xterm-256color", "", ""), Some(Colors::Indexed));
        assert_eq!(of("xterm-256color", "truecolor", ""), Some(Colors::Rgb));
        assert_eq!(of("xterm-256color", "truecolor", "1"), None);
    }

    #[test]
    fn levels_go_from_dark_to_bright() {
        assert_eq!(Colors::Rgb.at(-1.0).to_string(), "2;0;0;24");
        assert_eq!(Colors::Rgb.at(0.2).to_string(), "2;40;10;100");
        assert_eq!(Colors::Rgb.at(2.0).to_string(), "2;255;255;220");
        assert_eq!(Colors::Indexed.at(0.0).to_string(), "5;16");
        assert_eq!(Colors::Indexed.at(1.0).to_string(), "5;230");
    }

    #[test]
    fn index_is_that_of_the_nearest_step() {
        for (part, step) in
            [(0, 0), (47, 0), (48, 1), (114, 1), (115, 2), (154, 2), (155, 3), (255, 5)]
        {
            assert_eq!(index_of([0, 0, part]), 16 + step, "{part}");
        }
        assert_eq!(index_of([255, 95, 0]), 16 + 36 * 5 + 6);
    }
}
