//! Reads fields of SigMF objects and checks their types.

use std::fmt;

use serde_json::{Map, Value};

use super::MetadataError;

/// An object of the metadata, and its place.
pub(super) struct Object<'a> {
    place: Place,
    fields: &'a Map<String, Value>,
}

/// The place of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Global,
    Capture(usize),
    Annotation(usize),
}

impl<'a> Object<'a> {
    /// Reads `value` as the object at `place`.
    pub(super) fn new(place: Place, value: Option<&'a Value>) -> Result<Self, MetadataError> {
        let value = value.ok_or_else(|| MetadataError::Missing { field: place.to_string() })?;
        let fields = value.as_object().ok_or_else(|| MetadataError::Value {
            field: place.to_string(),
            value: excerpt(value),
            expected: "an object",
        })?;
        Ok(Self { place, fields })
    }

    /// Returns all fields.
    pub(super) fn fields(&self) -> &'a Map<String, Value> {
        self.fields
    }

    /// Returns the place and the name of a field, for an error text.
    pub(super) fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.place)
    }

    /// Reads a text.
    pub(super) fn text(&self, field: &str) -> Result<Option<&'a str>, MetadataError> {
        self.read(field, "a text", Value::as_str)
    }

    /// Reads a number.
    pub(super) fn number(&self, field: &str) -> Result<Option<f64>, MetadataError> {
        self.read(field, "a number", Value::as_f64)
    }

    /// Reads a whole number from 0; `2.0` is valid.
    pub(super) fn count(&self, field: &str) -> Result<Option<u64>, MetadataError> {
        self.read(field, "a whole number from 0 to 2^63 + 2^32", |value| {
            let whole =
                |number: &f64| number.fract() == 0.0 && (0.0..=COUNT_MAX as f64).contains(number);
            value
                .as_u64()
                .or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
                .filter(|&count| count <= COUNT_MAX)
        })
    }

    /// Reads a field that must not be absent, with a reader such as [`Self::count`].
    pub(super) fn needed<T>(
        &self,
        field: &str,
        reader: impl FnOnce(&Self, &str) -> Result<Option<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        reader(self, field)?.ok_or_else(|| MetadataError::Missing { field: self.path(field) })
    }

    /// Reads a field with `reader`, which rejects invalid values; `None` if the field is absent.
    pub(super) fn read<T>(
        &self,
        field: &str,
        expected: &'static str,
        reader: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        let wrong =
            || MetadataError::Value { field: self.path(field), value: excerpt(value), expected };
        reader(value).map(Some).ok_or_else(wrong)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Capture(number) => write!(f, "captures[{number}]"),
            Self::Annotation(number) => write!(f, "annotations[{number}]"),
        }
    }
}

/// Formats a device's run or an owner.
pub(super) fn id_text(id: u64) -> String {
    format!("{id:016x}")
}

/// Reads what [`id_text`] wrote.
pub(super) fn id_of(value: &Value) -> Option<u64> {
    value.as_str().and_then(|text| u64::from_str_radix(text, 16).ok())
}

/// Returns the beginning of a value, for an error text.
pub(super) fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

const EXCERPT_CHARS_MAX: usize = 60;

/// The largest index at which a stream can end: `docs/protocol.md#7.2`.
const COUNT_MAX: u64 = (1 << 63) + (1 << 32);
