//! Parses a page: text of the exposition format 0.0.4, possibly from a process of another user.

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
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    let name_len = line.find(|letter| !is_of_name(letter))?;
    let (name, rest) = line.split_at(name_len);
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let has_more = words.nth(1).is_some();
    (!has_more).then_some(Sample { name: name.to_owned(), labels, value })
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
        let (name, behind) = rest.split_once("=\"")?;
        let (value, behind) = quoted(behind)?;
        labels.push((name.trim().to_owned(), value));
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind);
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
                    c{} NaN 1700000000\nd{x=\"1\",} +Inf\n";
        let samples = parse(page).unwrap();
        let names: Vec<_> = samples.iter().map(|sample| sample.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!((samples[0].value, samples[1].value), (1.0, 2_500.0));
        assert_eq!((samples[1].label("x"), samples[1].label("y")), ("1", "a\"b\\c\nd,}"));
        assert!(samples[2].value.is_nan() && samples[3].value.is_infinite());
        assert_eq!(samples[0].label("x"), "");
    }

    #[test]
    fn line_of_another_format_is_named() {
        for line in
            ["<html>", "a", "a b", "9a 1", "a{x=1} 1", "a{x=\"1\" 1", "a{x=\"1\\", "a 1 2 3"]
        {
            let error = parse(&format!("ok 1\n{line}\n")).unwrap_err();
            let line = line.escape_debug().to_string();
            assert_eq!(error, TextError { number: 2, line });
        }
        let long = format!("a {}", "x".repeat(1_000));
        assert!(parse(&long).unwrap_err().to_string().len() < 150);
    }
}
