//! What C++ calls; the contract of each function is in `include/samplewire_cosim.h`.
//!
//! A panic ends the process: the bench is a test, and no caller could handle an error.

use std::ffi::c_char;
use std::slice;

use samplewire_proto::Nanos;
use samplewire_proto::gap::Cause;
use samplewire_proto::receiver::Delivery;

use crate::host::{Host, HostConfig, Standing};

/// `sw_host_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    owner: u64,
    seed: u64,
    deadline_us: u64,
    window_packets: u32,
    packet_bytes_max: u32,
    open_timeout_ns: u64,
}

/// `sw_host_counts`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counts {
    first_index: u64,
    next_index: u64,
    delivered: u64,
    missing: u64,
    jumped: u64,
    source_lost: u64,
    packets_received: u64,
    packets_repaired: u64,
    duplicates: u64,
    late: u64,
    reports: u64,
    refused: u64,
    boot_id: u64,
    timed_index: u64,
    timed_index_tai_ns: u64,
    accept_index: u64,
    accept_tai_ns: u64,
    board_tag: u32,
}

/// `sw_gap`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GapOut {
    first: u64,
    not_repaired: u64,
    source_lost: u64,
    cause: u32,
}

/// See the header.
///
/// # Safety
/// `config` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_new(config: *const Config, now_ns: u64) -> *mut Host {
    // SAFETY: the caller gives a valid pointer or null.
    let Some(config) = (unsafe { config.as_ref() }) else { return std::ptr::null_mut() };
    let deadline = Nanos::from_micros(config.deadline_us);
    let is_in_range = (1..=1 << 24).contains(&config.window_packets)
        && (576..=9_000).contains(&config.packet_bytes_max);
    if !is_in_range {
        return std::ptr::null_mut();
    }
    let config = HostConfig {
        owner: config.owner,
        seed: (u128::from(config.seed) * 0x9E37_79B9_7F4A_7C15).to_be_bytes(),
        window: config.window_packets,
        packet_bytes_max: config.packet_bytes_max as u16,
        delivery: if deadline.0 == 0 { Delivery::Complete } else { Delivery::Deadline(deadline) },
        open_timeout: Nanos(config.open_timeout_ns),
    };
    Box::into_raw(Box::new(Host::new(config, Nanos(now_ns))))
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_free(host: *mut Host) {
    if !host.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(host) });
    }
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`]; `packet` points to `len_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_handle(
    host: *mut Host,
    now_ns: u64,
    packet: *const u8,
    len_bytes: usize,
    is_marked: i32,
) {
    // SAFETY: the caller gives a live host and a readable packet.
    let (host, packet) = unsafe { (&mut *host, slice::from_raw_parts(packet, len_bytes)) };
    host.handle(Nanos(now_ns), packet, is_marked != 0);
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_run(host: *mut Host, now_ns: u64) {
    // SAFETY: the caller gives a live host.
    unsafe { &mut *host }.run(Nanos(now_ns));
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`]; `out` points to `capacity` bytes, 9,000 or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_transmit(
    host: *mut Host,
    now_ns: u64,
    out: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the caller gives a live host and writable room.
    let (host, out) = unsafe { (&mut *host, slice::from_raw_parts_mut(out, capacity)) };
    host.poll_transmit(Nanos(now_ns), out).unwrap_or(0)
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_timeout(host: *const Host, now_ns: u64) -> u64 {
    // SAFETY: the caller gives a live host.
    let at = unsafe { &*host }.poll_timeout(Nanos(now_ns));
    at.map_or(u64::MAX, |at| at.0)
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_cancel(host: *mut Host, now_ns: u64) {
    // SAFETY: the caller gives a live host.
    unsafe { &mut *host }.cancel(Nanos(now_ns));
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_standing(host: *const Host) -> Standing {
    // SAFETY: the caller gives a live host.
    unsafe { &*host }.standing()
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`]; `counts` points to room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_counts_get(host: *mut Host, counts: *mut Counts) {
    // SAFETY: the caller gives a live host.
    let host = unsafe { &mut *host };
    let stats = host.stats();
    let (board_tag, boot_id) = host.names().unwrap_or((0, 0));
    let (accept_index, accept_tai_ns) = host.accepted().unwrap_or((0, 0));
    let account = host.account();
    let filled = Counts {
        first_index: account.first_index,
        next_index: account.next_index,
        delivered: account.delivered,
        missing: account.missing,
        jumped: account.jumped,
        source_lost: stats.gap_samples[Cause::SourceOverflow as usize],
        packets_received: stats.received,
        packets_repaired: stats.repaired,
        duplicates: stats.duplicates,
        late: stats.late,
        reports: stats.reports,
        refused: stats.refused,
        boot_id,
        timed_index: stats.timed_index,
        timed_index_tai_ns: stats.timed_index_tai_ns,
        accept_index,
        accept_tai_ns,
        board_tag,
    };
    // SAFETY: the caller gives writable room for one.
    unsafe { counts.write(filled) };
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`]; `gap` points to room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_gap(host: *mut Host, gap: *mut GapOut) -> i32 {
    // SAFETY: the caller gives a live host.
    let gaps = &mut unsafe { &mut *host }.account().gaps;
    if gaps.is_empty() {
        return 0;
    }
    let oldest = gaps.remove(0);
    let filled = GapOut {
        first: oldest.first,
        not_repaired: oldest.not_repaired,
        source_lost: oldest.source_lost,
        cause: oldest.cause as u32,
    };
    // SAFETY: the caller gives writable room for one.
    unsafe { gap.write(filled) };
    1
}

/// See the header.
///
/// # Safety
/// `host` is of [`sw_host_new`]; `out` points to `capacity` bytes, at least one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_host_words(host: *mut Host, out: *mut c_char, capacity: usize) -> i32 {
    // SAFETY: the caller gives a live host.
    let host = unsafe { &mut *host };
    let fault = host.account().fault.clone();
    let is_wrong = fault.is_some();
    let words = fault.unwrap_or_else(|| host.words().to_owned());
    // SAFETY: the caller gives writable room.
    let out = unsafe { slice::from_raw_parts_mut(out.cast::<u8>(), capacity) };
    let len = words.len().min(capacity - 1);
    out[..len].copy_from_slice(&words.as_bytes()[..len]);
    out[len] = 0;
    i32::from(is_wrong)
}
