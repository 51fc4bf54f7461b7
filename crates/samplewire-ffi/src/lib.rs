//! The C interface of Samplewire: `include/samplewire.h`, which is generated from this crate, and
//! `include/samplewire.hpp` on top of it. `docs/c.md` describes its use.
//!
//! It wraps the crate `samplewire` and contains no stream logic. It adds what a caller in C needs:
//!
//! - **No object is dereferenced.** A `sw_receiver *` is a name in a registry (`registry.rs`):
//!   using a freed one is an error, not an access to freed memory. Borrowed blocks and rooms are
//!   slots with a generation (`loans.rs`).
//! - **No panic crosses the interface.** Every function runs in one guard (`result.rs`).
//! - **Structs can grow.** Each begins with its size as the caller knows it (`sized.rs`).
//!
//! # Safety
//! The pointer rules are the same for all functions. A pointer argument is NULL (an error unless
//! the function allows it), or valid for its type during the call. A text ends with a zero byte.
#![expect(non_camel_case_types, reason = "the types have the names that C sees")]
#![expect(clippy::missing_safety_doc, reason = "it is the same for all, and stands above")]

mod aligned;
mod arguments;
mod block;
mod convert;
mod counters;
mod device;
mod end;
mod events;
mod find;
mod granted;
mod info;
mod loans;
mod options;
mod receiver;
mod registry;
mod result;
mod sized;
mod transmitter;

pub use aligned::{
    sw_aligned, sw_aligned_block, sw_aligned_cancel, sw_aligned_close, sw_aligned_free,
    sw_aligned_get_end, sw_aligned_get_granted, sw_aligned_get_info, sw_aligned_get_stats,
    sw_aligned_next, sw_aligned_open, sw_stream_samples,
};
pub use block::{SW_GAPS_MAX, SW_TAGS_MAX, sw_block, sw_block_release, sw_cause, sw_gap, sw_tag};
pub use block::{sw_cause_str, sw_tag_kind};
pub use convert::sw_convert;
pub use counters::{sw_receiver_stats, sw_transmitter_stats};
pub use device::{
    sw_device, sw_device_free, sw_device_get_address, sw_device_new, sw_device_options,
    sw_device_options_init,
};
pub use end::sw_end;
pub use events::{sw_play_event, sw_play_event_kind, sw_transmitter_next_event};
pub use find::{
    sw_devices, sw_devices_free, sw_devices_get, sw_devices_len, sw_find, sw_probe, sw_probe_rdma,
    sw_rdma_probe,
};
pub use info::{
    SW_TEXT_BYTES, sw_format, sw_format_parse, sw_format_str, sw_stream_info, sw_time_parse,
};
pub use options::{
    sw_carriage, sw_control, sw_control_parse, sw_delivery, sw_link, sw_receiver_options,
    sw_receiver_options_init, sw_transmitter_options, sw_transmitter_options_init, sw_underflow,
    sw_waits,
};
pub use receiver::{
    sw_receiver, sw_receiver_cancel, sw_receiver_close, sw_receiver_free, sw_receiver_get_end,
    sw_receiver_get_granted, sw_receiver_get_info, sw_receiver_get_stats, sw_receiver_next,
    sw_receiver_open, sw_receiver_read,
};
pub use result::{sw_last_error, sw_result, sw_result_str};
pub use transmitter::{
    SW_INDEX_NEXT, SW_SEND_END_OF_BURST, SW_SEND_START, sw_room, sw_transmitter,
    sw_transmitter_begin, sw_transmitter_cancel, sw_transmitter_commit, sw_transmitter_discard,
    sw_transmitter_finish, sw_transmitter_free, sw_transmitter_get_end, sw_transmitter_get_granted,
    sw_transmitter_get_info, sw_transmitter_get_stats, sw_transmitter_open,
    sw_transmitter_wait_acknowledged, sw_transmitter_wait_played, sw_transmitter_write,
};

/// No timeout, as a timeout in nanoseconds.
pub const SW_FOREVER: u64 = u64::MAX;

/// The library's version, e.g. `0.1.0`. Never NULL, and valid forever.
#[unsafe(no_mangle)]
pub extern "C" fn sw_version() -> *const std::ffi::c_char {
    VERSION.as_ptr()
}

/// The library's version as a number that increases: major * 1000000 + minor * 1000 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn sw_version_number() -> u32 {
    let part = |text: &str| text.parse::<u32>().expect("cargo checked it");
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

const VERSION: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};
