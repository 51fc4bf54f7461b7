//! Arguments as C passes them.

use std::ffi::{CStr, c_char};
use std::time::Duration;

use crate::SW_FOREVER;
use crate::result::{Failure, sw_result};

/// Reads a text.
///
/// # Errors
/// NULL, or not UTF-8.
///
/// # Safety
/// `text` is NULL, or ends with a zero byte and outlives the result.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    not_null(what, text)?;
    // SAFETY: `text` is not NULL, ends with a zero byte and outlives the result (the contract of
    // this function).
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::argument(format!("{what} {:?} is not UTF-8", text.to_string_lossy())))
}

/// Reads a text that may be missing.
///
/// # Errors
/// Not UTF-8.
///
/// # Safety
/// `pointer` is NULL, or ends with a zero byte and outlives the result.
pub(crate) unsafe fn optional<'a>(
    what: &str,
    pointer: *const c_char,
) -> Result<Option<&'a str>, Failure> {
    // SAFETY: `pointer` is not NULL, ends with a zero byte and outlives the result (the contract of this
    // function).
    (!pointer.is_null()).then(|| unsafe { text(what, pointer) }).transpose()
}

/// Writes an out-parameter.
///
/// # Errors
/// NULL or misaligned.
///
/// # Safety
/// `to` is NULL or may be written.
pub(crate) unsafe fn put<T>(what: &str, to: *mut T, value: T) -> Result<(), Failure> {
    check_out(what, to)?;
    // SAFETY: `to` is not NULL, is aligned, and may be written (the contract of this function).
    unsafe { to.write(value) };
    Ok(())
}

/// Checks whether an out-parameter can be written, before its value exists.
pub(crate) fn check_out<T>(what: &str, to: *mut T) -> Result<(), Failure> {
    not_null(what, to)?;
    if to.is_aligned() {
        Ok(())
    } else {
        Err(Failure::argument(format!("{what} {to:p} is not aligned")))
    }
}

pub(crate) fn not_null<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        Err(Failure::new(sw_result::Null, format!("{what} is NULL")))
    } else {
        Ok(())
    }
}

/// Writes a text and its zero byte to the caller's buffer.
///
/// # Errors
/// NULL, or the buffer is too small; then nothing is written.
///
/// # Safety
/// `to` is NULL or points to `size_bytes` bytes that may be written.
pub(crate) unsafe fn put_text(
    to: *mut c_char,
    size_bytes: usize,
    text: &str,
) -> Result<(), Failure> {
    not_null("the buffer", to)?;
    if text.len() >= size_bytes {
        let needed = text.len() + 1;
        let text = format!("the buffer has {size_bytes} bytes, the text takes {needed}");
        return Err(Failure::new(sw_result::Room, text));
    }
    // SAFETY: `to` has `size_bytes` writable bytes (the contract of this function), and the text
    // with its zero byte is not longer.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// A text in a field of fixed size: cut if it is too long, and padded with zeros.
pub(crate) fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    let fits = |len: &usize| text.is_char_boundary(*len);
    let len = (0..=text.len().min(N - 1)).rev().find(fits).expect("0 is a boundary");
    for (to, from) in field.iter_mut().zip(text[..len].bytes()) {
        *to = from as c_char;
    }
    field
}

/// Converts a timeout.
pub(crate) const fn timeout(timeout_ns: u64) -> Duration {
    if timeout_ns == SW_FOREVER { Duration::MAX } else { Duration::from_nanos(timeout_ns) }
}

/// Converts the number of an enumeration, which may be invalid.
///
/// # Errors
/// It is not a value of `all`.
pub(crate) fn one_of<T: Copy>(
    what: &str,
    number: u32,
    all: &[(u32, T)],
    words: &str,
) -> Result<T, Failure> {
    let found = all.iter().find(|(known, _)| *known == number);
    let unknown = || Failure::argument(format!("{what} {number} is none: {words}"));
    found.map(|(_, value)| *value).ok_or_else(unknown)
}

/// Converts a switch.
///
/// # Errors
/// Neither 0 nor 1.
pub(crate) fn switch(what: &str, number: u32) -> Result<bool, Failure> {
    one_of(what, number, &[(0, false), (1, true)], "0 or 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_field_is_cut_between_characters() {
        assert_eq!(fixed::<4>("abc"), [97, 98, 99, 0]);
        assert_eq!(fixed::<4>("ab\u{fc}"), [97, 98, 0, 0]);
        assert_eq!(fixed::<4>(""), [0; 4]);
    }

    #[test]
    fn forever_has_no_end() {
        assert_eq!(timeout(SW_FOREVER), Duration::MAX);
        assert_eq!(timeout(5), Duration::from_nanos(5));
    }
}
