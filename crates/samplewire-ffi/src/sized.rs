//! Structs that cross the interface, and may grow.
//!
//! Each begins with `struct_size`, which the caller sets to its `sizeof`. A caller compiled against
//! an older header has a smaller struct: missing fields get their defaults, or are not written. A
//! newer caller has a larger struct: fields that this version does not know must be zero, and are
//! set to zero.

use crate::result::{Failure, sw_result};

/// A struct with `struct_size`.
///
/// # Safety
/// It is `repr(C)`, its first field is a `usize` with its size, every bit pattern is a value of it,
/// and it has no padding.
pub(crate) unsafe trait Sized_: Copy {
    /// The type's name, for texts.
    const NAME: &'static str;
    /// The values of fields that the caller's struct does not have.
    fn defaults() -> Self;
}

/// Implements [`Sized_`] and `Default`'s counterpart of zeros, and checks that nothing is padding.
macro_rules! sized {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }, $defaults:expr) => {
        const _: () = assert!(
            size_of::<$name>() == size_of::<usize>() $(+ size_of::<$type>())*,
            "it has padding, or a field that is not listed"
        );
        const _: () = assert!(std::mem::offset_of!($name, struct_size) == 0);
        const _: fn($name) = |value| {
            $(let _: $type = value.$field;)*
        };
        // SAFETY: all fields are integers, floats or raw pointers, of which every bit pattern is a
        // value, or arrays and structs of such; the assertion above says that nothing else is there.
        unsafe impl $crate::sized::Sized_ for $name {
            const NAME: &'static str = stringify!($name);
            fn defaults() -> Self {
                $defaults
            }
        }
    };
}
pub(crate) use sized;

/// Reads a caller's struct.
///
/// # Errors
/// NULL, misaligned, or of an invalid size.
///
/// # Safety
/// `from` is NULL, or points to as many bytes as its first field states.
pub(crate) unsafe fn read<T: Sized_>(from: *const T) -> Result<T, Failure> {
    // SAFETY: `from` is NULL or has `struct_size` bytes (the contract of this function).
    let size = unsafe { size_of_caller(from)? };
    let mut value = T::defaults();
    let known = size.min(size_of::<T>());
    // SAFETY: both sides have `known` bytes, and any bytes are a value of `T`.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast(), known) };
    // SAFETY: the caller's struct has `size` bytes, and these are the last of them.
    let rest = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|byte| *byte != 0) {
        let text = format!(
            "{}: struct_size {size} says that the program is newer than this library, which knows \
             {} bytes, and a field beyond them is set: update the library",
            T::NAME,
            size_of::<T>()
        );
        return Err(Failure::new(sw_result::StructSize, text));
    }
    Ok(value)
}

/// Writes the caller's struct, except for its `struct_size`.
///
/// # Errors
/// See [`read`].
///
/// # Safety
/// `to` is NULL, or points to as many writable bytes as its first field states.
pub(crate) unsafe fn write<T: Sized_>(to: *mut T, value: &T) -> Result<(), Failure> {
    // SAFETY: `to` is NULL or has `struct_size` bytes (the contract of this function).
    let size = unsafe { size_of_caller(to)? };
    let known = size.min(size_of::<T>());
    let front = size_of::<usize>();
    // SAFETY: both sides have that many bytes; the rest of the caller's struct is not touched by
    // the copy.
    unsafe {
        let (from, to) = ((&raw const *value).cast::<u8>(), to.cast::<u8>());
        std::ptr::copy_nonoverlapping(from.add(front), to.add(front), known - front);
        std::ptr::write_bytes(to.add(known), 0, size - known);
    }
    Ok(())
}

/// Writes the defaults to a struct whose size is an argument.
///
/// # Errors
/// See [`read`].
///
/// # Safety
/// `to` is NULL, or points to `size` bytes that may be written.
pub(crate) unsafe fn init<T: Sized_>(to: *mut T, size: usize) -> Result<(), Failure> {
    check::<T>(to, size)?;
    // SAFETY: it is neither NULL nor misaligned, and there are more bytes than that.
    unsafe { to.cast::<usize>().write(size) };
    // SAFETY: the number at its front is `size`.
    unsafe { write(to, &T::defaults()) }
}

/// The size that the caller states.
unsafe fn size_of_caller<T: Sized_>(pointer: *const T) -> Result<usize, Failure> {
    check::<T>(pointer, SIZE_MIN)?;
    // SAFETY: it is neither NULL nor misaligned, and the caller has at least a number there.
    let size = unsafe { pointer.cast::<usize>().read() };
    check(pointer, size)?;
    Ok(size)
}

fn check<T: Sized_>(pointer: *const T, size: usize) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::new(sw_result::Null, format!("{}: the pointer is NULL", T::NAME)));
    }
    if !pointer.is_aligned() {
        return Err(Failure::argument(format!("{}: {pointer:p} is not aligned", T::NAME)));
    }
    if !(SIZE_MIN..=SIZE_MAX).contains(&size) {
        let text = format!(
            "{}: struct_size {size}: set it to sizeof({}), which is {} for this library",
            T::NAME,
            T::NAME,
            size_of::<T>()
        );
        return Err(Failure::new(sw_result::StructSize, text));
    }
    Ok(())
}

/// The minimum includes the first field after the size.
const SIZE_MIN: usize = 2 * size_of::<usize>();

/// A larger struct was not initialised.
const SIZE_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Old {
        struct_size: usize,
        first: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct New {
        struct_size: usize,
        first: u64,
        second: u64,
    }

    sized!(Old { first: u64 }, Old { struct_size: size_of::<Old>(), first: 1 });
    sized!(
        New { first: u64, second: u64 },
        New { struct_size: size_of::<New>(), first: 1, second: 2 }
    );

    #[test]
    fn older_program_leaves_the_defaults_and_is_not_written_beyond() {
        let mut memory = New { struct_size: size_of::<Old>(), first: 7, second: 9 };
        // SAFETY: it has the bytes that it says.
        let seen = unsafe { read(&raw const memory) }.unwrap();
        assert_eq!((seen.first, seen.second), (7, 2));
        let answer = New { struct_size: 0, first: 5, second: 6 };
        // SAFETY: as above.
        unsafe { write(&raw mut memory, &answer) }.unwrap();
        assert_eq!(memory, New { struct_size: size_of::<Old>(), first: 5, second: 9 });
    }

    #[test]
    fn newer_program_is_understood_unless_it_asks_for_more() {
        let mut memory = New { struct_size: size_of::<New>(), first: 7, second: 0 };
        let old = (&raw mut memory).cast::<Old>();
        // SAFETY: it has the bytes that it says.
        assert_eq!(unsafe { read(old) }.unwrap().first, 7);
        memory.second = 1;
        // SAFETY: as above.
        let failure = unsafe { read((&raw mut memory).cast::<Old>()) }.unwrap_err();
        assert_eq!(failure.result, sw_result::StructSize);
        // SAFETY: as above.
        unsafe { init((&raw mut memory).cast::<Old>(), size_of::<New>()) }.unwrap();
        assert_eq!(memory, New { struct_size: size_of::<New>(), first: 1, second: 0 });
    }

    #[test]
    fn sizes_that_were_not_set_and_null_are_named() {
        for size in [0, 8, 5_000, usize::MAX] {
            let memory = Old { struct_size: size, first: 0 };
            // SAFETY: the size is refused before more is read.
            let failure = unsafe { read(&raw const memory) }.unwrap_err();
            assert_eq!(failure.result, sw_result::StructSize);
            assert!(failure.text.contains(&format!("struct_size {size}")), "{}", failure.text);
        }
        // SAFETY: NULL is refused.
        let failure = unsafe { read::<Old>(std::ptr::null()) }.unwrap_err();
        assert_eq!(failure.result, sw_result::Null);
    }
}
