//! What a recording says of itself and nothing here depends on.

use serde_json::{Map, Value};

/// The descriptive fields of SigMF's global object: description, author, licence, hardware, and
/// those of extensions. They pass from a source's metadata to a recording unread.
///
/// ```
/// use samplewire::sigmf::Notes;
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
    /// The notes among the fields of a global object.
    pub(super) fn of_global(global: &Map<String, Value>) -> Self {
        let kept = global.iter().filter(|(field, _)| !OWNED.contains(&field.as_str()));
        Self { fields: kept.map(|(field, value)| (field.clone(), value.clone())).collect() }
    }

    /// The text of a field such as `core:author`; `None` when there is none.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str)
    }

    /// Sets a field to a text.
    ///
    /// # Panics
    /// When the field is one that describes the data and therefore belongs to the recorder, such as
    /// `core:datatype`.
    pub fn set(&mut self, field: &str, text: &str) {
        assert!(!OWNED.contains(&field), "{field} is set by the recorder");
        self.fields.insert(field.to_owned(), text.into());
    }

    /// All fields.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// Fields that describe the data file itself, or name this very recording to others.
const OWNED: [&str; 21] = [
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
    #[should_panic(expected = "core:sha512 is set by the recorder")]
    fn field_of_the_data_cannot_be_set() {
        Notes::default().set("core:sha512", "");
    }
}
