//! Descriptive fields of a recording, which do not affect the samples.

use serde_json::{Map, Value};

/// The descriptive fields of SigMF's global object: description, author, licence, hardware, and
/// extension fields. They are copied unread from a source's metadata to a recording.
///
/// ```
/// use samplewire_record::sigmf::Notes;
///
/// let mut notes = Notes::default();
/// notes.set("core:author", "N. N.");
/// assert_eq!(notes.get("core:author"), Some("N. N."));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    fields: Map<String, Value>,
}

impl Notes {
    /// Selects the notes from the fields of a global object.
    pub(super) fn of_global(global: &Map<String, Value>) -> Self {
        let kept = global.iter().filter(|(field, _)| !OWNED.contains(&field.as_str()));
        Self { fields: kept.map(|(field, value)| (field.clone(), value.clone())).collect() }
    }

    /// Returns the text of a field such as `core:author`; `None` if it is absent or not a text.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str)
    }

    /// Sets a field to a text.
    ///
    /// # Panics
    /// If the field describes the data and therefore belongs to the recorder, such as
    /// `core:datatype`.
    pub fn set(&mut self, field: &str, text: &str) {
        assert!(!OWNED.contains(&field), "{field} is set by the recorder");
        self.fields.insert(field.to_owned(), text.into());
    }

    /// Returns the numbers of the device's streams whose channels the samples have, in order;
    /// `None` if they are not stated.
    pub fn streams(&self) -> Option<Vec<u16>> {
        let streams = self.fields.get(STREAMS)?.as_array()?;
        streams.iter().map(|stream| stream.as_u64()?.try_into().ok()).collect()
    }

    /// Sets the device's streams from which the samples come.
    pub fn set_streams(&mut self, streams: impl IntoIterator<Item = u16>) {
        let streams: Vec<Value> = streams.into_iter().map(Value::from).collect();
        self.fields.insert(STREAMS.to_owned(), streams.into());
    }

    /// All fields.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// The device's streams from which the samples come.
const STREAMS: &str = "samplewire:streams";

/// Fields that describe the data file itself, or identify this recording.
const OWNED: [&str; 23] = [
    "core:collection",
    "core:data_doi",
    "core:dataset",
    "core:datatype",
    "core:extensions",
    "core:meta_doi",
    "core:metadata_only",
    "core:num_channels",
    "core:offset",
    "core:recorder",
    "core:sample_rate",
    "core:sha512",
    "core:trailing_bytes",
    "core:version",
    "samplewire:compression",
    "samplewire:continued",
    "samplewire:end_index",
    "samplewire:finished",
    "samplewire:first_index",
    "samplewire:part",
    "samplewire:sample_count",
    "samplewire:timed_index",
    "samplewire:timed_index_tai_ns",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_the_data_stay_behind() {
        let global = json!({
            "core:datatype": "cu8", "core:sha512": "00", "core:author": "a", "x:y": {"z": [1]}
        });
        let notes = Notes::of_global(global.as_object().unwrap());
        let kept: Vec<_> = notes.fields().keys().collect();
        assert_eq!(kept, ["core:author", "x:y"]);
    }

    #[test]
    fn streams_are_read_back_and_what_is_none_says_nothing() {
        let mut notes = Notes::default();
        assert_eq!(notes.streams(), None);
        notes.set_streams([2, 0]);
        assert_eq!(notes.streams(), Some(vec![2, 0]));
        for streams in [json!("0,1"), json!([0, -1]), json!([65_536])] {
            let global = json!({ "samplewire:streams": streams });
            assert_eq!(Notes::of_global(global.as_object().unwrap()).streams(), None);
        }
    }

    #[test]
    #[should_panic(expected = "core:sha512 is set by the recorder")]
    fn field_of_the_data_cannot_be_set() {
        Notes::default().set("core:sha512", "");
    }
}
