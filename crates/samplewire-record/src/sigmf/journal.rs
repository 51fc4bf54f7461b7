//! The journal of a recording in progress: lines of JSON about its captures and gaps. Each line is
//! appended before the samples that it describes.
//!
//! At any moment, the recorder's process may end. The journal then gives the index of each sample
//! in the data file, and the cause of each missing index up to the last sample. Lines about samples
//! that did not reach the file are at the end, and are ignored; so is an incomplete last line. A
//! finished recording has no journal: its metadata are complete.

use serde_json::{Value, json};

use super::field::{id_of, id_text};

/// The content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Journal {
    /// The owner ID that the recorder used with the device.
    pub(crate) owner: Option<u64>,
    /// `captures` and `annotations` in the form of the metadata.
    pub(crate) root: Value,
}

impl Journal {
    /// Returns the first line.
    pub(crate) fn head_line(owner: Option<u64>) -> String {
        let mut head = json!({ "samplewire:journal": VERSION });
        if let Some(owner) = owner {
            head["samplewire:owner"] = id_text(owner).into();
        }
        format!("{head}\n")
    }

    /// Returns the line of a capture or an annotation.
    pub(crate) fn line(list: &'static str, entry: Value) -> String {
        format!("{}\n", json!({ (list): entry }))
    }

    /// Reads the lines of a journal.
    ///
    /// # Errors
    /// [`JournalError`] names the line.
    pub(crate) fn parse(text: &str) -> Result<Self, JournalError> {
        let mut lines = text.split_inclusive('\n').enumerate().map_while(|(at, line)| {
            let whole = line.strip_suffix('\n')?;
            Some((at + 1, whole))
        });
        let object = |(number, line): (usize, &str)| match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok((number, fields)),
            Ok(_) => Err(JournalError::Line { number, why: "it is no object".into() }),
            Err(error) => Err(JournalError::Line { number, why: error.to_string() }),
        };
        let (_, head) = lines.next().map_or(Err(JournalError::Empty), object)?;
        match head.get("samplewire:journal") {
            Some(version) if *version == json!(VERSION) => {}
            other => {
                let version = other.map_or("missing".to_owned(), Value::to_string);
                return Err(JournalError::Version { version });
            }
        }
        let (mut captures, mut annotations) = (Vec::new(), Vec::new());
        for line in lines {
            let (number, mut fields) = object(line)?;
            match (fields.remove("capture"), fields.remove("annotation")) {
                (Some(capture), None) => captures.push(capture),
                (None, Some(annotation)) => annotations.push(annotation),
                _ => {
                    let why = "it has neither a capture nor an annotation".into();
                    return Err(JournalError::Line { number, why });
                }
            }
        }
        let owner = head.get("samplewire:owner").and_then(id_of);
        Ok(Self { owner, root: json!({ "captures": captures, "annotations": annotations }) })
    }
}

/// Why a journal is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JournalError {
    /// There is no complete line.
    #[error("it has no first line")]
    Empty,
    /// The journal has another version.
    #[error("samplewire:journal is {version}: this version reads {VERSION}")]
    Version {
        /// The version in the journal.
        version: String,
    },
    /// A line is not valid in a journal.
    #[error("line {number}: {why}")]
    Line {
        /// The line, from 1.
        number: usize,
        /// What is wrong with it.
        why: String,
    },
}

const VERSION: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_an_unfinished_one_is_left_out() {
        let capture = json!({ "core:sample_start": 0 });
        let mut text = Journal::head_line(Some(0xab));
        text += &Journal::line("capture", capture.clone());
        text += &Journal::line("annotation", json!({ "core:label": "gap" }));
        let whole = Journal::parse(&text).unwrap();
        assert_eq!(whole.owner, Some(0xab));
        assert_eq!(whole.root["captures"], json!([capture]));
        assert_eq!(whole.root["annotations"].as_array().map(Vec::len), Some(1));
        text += "{\"capture\": {\"core:sam";
        assert_eq!(Journal::parse(&text), Ok(whole));
    }

    #[test]
    fn wrong_lines_are_named() {
        let head = Journal::head_line(None);
        let cases = [
            (String::new(), "it has no first line"),
            ("{\"samplewire:jour".into(), "it has no first line"),
            ("{}\n".into(), "samplewire:journal is missing: this version reads 1"),
            (
                "{\"samplewire:journal\":2}\n".into(),
                "samplewire:journal is 2: this version reads 1",
            ),
            ("[]\n".into(), "line 1: it is no object"),
            (format!("{head}{{}}\n"), "line 2: it has neither a capture nor an annotation"),
            (format!("{head}\n"), "line 2: EOF while parsing"),
        ];
        for (text, words) in cases {
            let error = Journal::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
