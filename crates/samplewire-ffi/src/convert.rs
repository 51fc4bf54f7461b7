//! Conversion between sample formats.

use std::ffi::c_void;

use samplewire::format::convert;

use crate::arguments::not_null;
use crate::info::format_of;
use crate::result::{Failure, guard, sw_result};

/// Converts `count` samples of one channel each, or `count / n` samples of `n` channels, to another
/// format. Both formats are a `sw_format` other than 0. The result goes to the start of `to`, which
/// must not overlap `from`. Complex stays complex, and real stays real. Values out of range are
/// clipped. If the buffer is too small (`SW_RESULT_ROOM`), nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_convert(
    from: *const c_void,
    from_format: u32,
    count: usize,
    to: *mut c_void,
    to_size_bytes: usize,
    to_format: u32,
) -> sw_result {
    guard(|| {
        let as_sent = || Failure::argument("format 0 is none here: see sw_format");
        let from_format = format_of(from_format)?.ok_or_else(as_sent)?;
        let to_format = format_of(to_format)?.ok_or_else(as_sent)?;
        not_null("from", from)?;
        not_null("to", to)?;
        let bytes = |sample_bytes: usize| {
            let bytes = count.checked_mul(sample_bytes);
            let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
            bytes.ok_or_else(|| Failure::argument(format!("count {count} exceeds any memory")))
        };
        let needed_bytes = bytes(to_format.sample_bytes())?;
        if needed_bytes > to_size_bytes {
            let text = format!("to has {to_size_bytes} bytes, the samples take {needed_bytes}");
            return Err(Failure::new(sw_result::Room, text));
        }
        let from_bytes = bytes(from_format.sample_bytes())?;
        // SAFETY: `from` and `to` have that many initialised bytes and do not overlap (the caller's
        // contract).
        let (input, output) = unsafe {
            (
                std::slice::from_raw_parts(from.cast::<u8>(), from_bytes),
                std::slice::from_raw_parts_mut(to.cast::<u8>(), needed_bytes),
            )
        };
        convert(from_format, to_format, input, output)
            .map_err(|error| Failure::argument(error.to_string()))?;
        Ok(sw_result::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::sw_format;

    fn converted(count: usize, to_size_bytes: usize, to_format: sw_format) -> (sw_result, [u8; 8]) {
        let from = [0x01_u8, 0x40, 0xFF, 0xBF];
        let mut to = [0xAA_u8; 8];
        let sc16 = sw_format::Sc16 as u32;
        // SAFETY: the test's buffers have the stated sizes.
        let result = unsafe {
            sw_convert(
                from.as_ptr().cast(),
                sc16,
                count,
                to.as_mut_ptr().cast(),
                to_size_bytes,
                to_format as u32,
            )
        };
        (result, to)
    }

    #[test]
    fn samples_are_converted_or_left_alone() {
        let (result, to) = converted(1, 8, sw_format::Fc32);
        assert_eq!(result as u32, sw_result::Ok as u32);
        assert_eq!(f32::from_le_bytes(to[..4].try_into().unwrap()), 16385.0 / 32768.0);
        assert_eq!(f32::from_le_bytes(to[4..].try_into().unwrap()), -16385.0 / 32768.0);
        for (count, size, format, expected) in [
            (1, 7, sw_format::Fc32, sw_result::Room),
            (1, 8, sw_format::Rf32, sw_result::Argument),
            (1, 8, sw_format::AsSent, sw_result::Argument),
            (usize::MAX / 2, usize::MAX, sw_format::Sc16, sw_result::Argument),
        ] {
            let (result, to) = converted(count, size, format);
            assert_eq!((result as u32, to), (expected as u32, [0xAA; 8]));
        }
    }
}
