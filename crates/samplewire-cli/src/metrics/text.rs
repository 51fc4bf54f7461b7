//! Text of the exposition format 0.0.4: values of labels as they are written, and pages as they are parsed,
//! possibly from a process of another user. `fuzz/checks/metrics_text.rs` reads this file too.

use std::fmt::{self, Display, Write};

/// A number with its name and labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

impl Sample {
    /// The value of a label, empty if it is absent.
    pub(crate) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map_or("", |(_, value)| value)
    }
}

/// The value of a label, escaped: the peer may have chosen it.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

/// A line that violates the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number} is not of Prometheus' text format: `{line}`")]
pub(crate) struct TextError {
    number: usize,
    line: String,
}

/// Parses a page; ignores comments and time stamps.
///
/// # Errors
/// A line violates the format.
pub(crate) fn parse(page: &str) -> Result<Vec<Sample>, TextError> {
    let lines = page.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let shown = || line.escape_debug().take(LINE_CHARS_MAX).collect();
            sample(line).ok_or_else(|| TextError { number, line: shown() })
        })
        .collect()
}

fn sample(line: &str) -> Option<Sample> {
    let name_len = line.find(|letter| !is_of_name(letter) && letter != ':')?;
    let (name, rest) = line.split_at(name_len);
    if !is_name(&name.replace(':', "_")) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let time = words.next();
    let is_whole = time.is_none_or(|it| it.parse::<i64>().is_ok()) && words.next().is_none();
    is_whole.then_some(Sample { name: name.to_owned(), labels, value })
}

/// Whether a label may be called so; a metric may also have colons.
fn is_name(name: &str) -> bool {
    name.chars().all(is_of_name) && name.starts_with(|letter: char| !letter.is_ascii_digit())
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The labels up to the brace, and what follows it.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_once('=')?;
        let name = name.trim_end();
        if !is_name(name) {
            return None;
        }
        let (value, behind) = quoted(behind.trim_start().strip_prefix('"')?)?;
        labels.push((name.to_owned(), value));
        let behind = behind.trim_start();
        match behind.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return Some((labels, behind.strip_prefix('}')?)),
        }
    }
}

/// The value up to the quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

/// How much of a line an error shows.
const LINE_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_reads_as_prometheus_reads_it() {
        let page = "# HELP a Words.\n# TYPE a counter\na 1\n\nb{x=\"1\",y=\"a\\\"b\\\\c\\nd,}\"} 2.5e3\n\
                    c{} NaN 1700000000\nd{ x = \"1\" , } +Inf -1\n:e:1 -0\n";
        let samples = parse(page).unwrap();
        let names: Vec<_> = samples.iter().map(|sample| sample.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", ":e:1"]);
        assert_eq!((samples[0].value, samples[1].value), (1.0, 2_500.0));
        assert_eq!((samples[1].label("x"), samples[1].label("y")), ("1", "a\"b\\c\nd,}"));
        assert!(samples[2].value.is_nan() && samples[3].value.is_infinite());
        assert_eq!(samples[3].label("x"), "1");
        assert_eq!(samples[0].label("x"), "");
    }

    #[test]
    fn line_of_another_format_is_named() {
        for line in [
            "<html>",
            "a",
            "a b",
            "9a 1",
            "{} 1",
            "a{x=1} 1",
            "a{x=\"1\" 1",
            "a{x=\"1\\",
            "a{,} 1",
            "a{,x=\"1\"} 1",
            "a{x=\"1\",,} 1",
            "a{x=\"1\"y=\"2\"} 1",
            "a{=\"1\"} 1",
            "a{0x=\"1\"} 1",
            "a{x:=\"1\"} 1",
            "a{x y=\"1\"} 1",
            "a 1 2 3",
            "a 1 2.5",
        ] {
            let error = parse(&format!("ok 1\n{line}\n")).unwrap_err();
            let line = line.escape_debug().to_string();
            assert_eq!(error, TextError { number: 2, line });
        }
        let long = format!("a {}", "x".repeat(1_000));
        assert!(parse(&long).unwrap_err().to_string().len() < 150);
    }
}
