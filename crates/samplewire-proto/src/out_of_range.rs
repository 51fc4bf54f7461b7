//! The wording of a value out of range, the same in every layer and binding.

use core::fmt::{self, Display, Formatter};

/// Prints an option, the value given and the allowed range in words.
///
/// ```
/// use samplewire_proto::{OutOfRange, WINDOW_RANGE};
///
/// let text = OutOfRange("window", 0, WINDOW_RANGE).to_string();
/// assert_eq!(text, "window 0: must be 1 to 2^24 packets");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange<O, V, R>(pub O, pub V, pub R);

impl<O: Display, V: Display, R: Display> Display for OutOfRange<O, V, R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(option, value, range) = self;
        write!(f, "{option} {value}: must be {range}")
    }
}

/// The range of [`WINDOW_MAX`](crate::stream::WINDOW_MAX) in words.
pub const WINDOW_RANGE: &str = "1 to 2^24 packets";
