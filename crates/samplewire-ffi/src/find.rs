//! Finds devices, and queries one for a stream.

use std::ffi::c_char;

use samplewire::find::{Found, find};
use samplewire::{DEFAULT_PORT, probe_stream, resolve};

use crate::arguments::{check_out, put, text, timeout};
use crate::info::sw_stream_info;
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::write;

/// The found devices. Any thread may read it.
pub struct sw_devices {
    _never_made: (),
}

static DEVICES: Registry<Found> = Registry::new("sw_devices");

/// Queries all devices on the local networks that listen on `port` (0: the default port), for about
/// twice `patience_ns`; 500000000 is a good value. Free the list with `sw_devices_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_find(
    port: u16,
    patience_ns: u64,
    devices: *mut *mut sw_devices,
) -> sw_result {
    guard(|| {
        check_out("devices", devices)?;
        let port = if port == 0 { DEFAULT_PORT } else { port };
        let found = find(port, timeout(patience_ns))?;
        let name = DEVICES.insert(|_| found);
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("devices", devices, std::ptr::without_provenance_mut(name))? };
        Ok(sw_result::Ok)
    })
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_devices_len(devices: *const sw_devices, len: *mut usize) -> sw_result {
    guard(|| {
        let found = DEVICES.get(devices)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("len", len, found.devices.len())? };
        Ok(sw_result::Ok)
    })
}

/// The device at `position`, from 0: its first stream, and its number of streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_devices_get(
    devices: *const sw_devices,
    position: usize,
    info: *mut sw_stream_info,
) -> sw_result {
    guard(|| {
        let found = DEVICES.get(devices)?;
        let device = found.devices.get(position).ok_or_else(|| {
            let len = found.devices.len();
            Failure::argument(format!("position {position} is not below {len}, which were found"))
        })?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, &sw_stream_info::new(&device.info, 0))? };
        Ok(sw_result::Ok)
    })
}

/// Frees the list. NULL is allowed; a list that was freed before is `SW_RESULT_STALE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_devices_free(devices: *mut sw_devices) -> sw_result {
    guard(|| {
        if !devices.is_null() {
            DEVICES.remove(devices)?;
        }
        Ok(sw_result::Ok)
    })
}

/// Queries the device at `address` (`HOST` or `HOST:PORT`) for a stream, by number, without opening
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_probe(
    address: *const c_char,
    stream: u16,
    timeout_ns: u64,
    info: *mut sw_stream_info,
) -> sw_result {
    guard(|| {
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        let address = unsafe { address_of(address)? };
        let described = probe_stream(address, stream, timeout(timeout_ns))?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, &sw_stream_info::new(&described, 0))? };
        Ok(sw_result::Ok)
    })
}

/// Resolves a device's address.
///
/// # Errors
/// NULL, or it does not resolve.
///
/// # Safety
/// `address` is NULL or ends with a zero byte.
pub(crate) unsafe fn address_of(address: *const c_char) -> Result<std::net::SocketAddr, Failure> {
    // SAFETY: `address` is NULL or ends with a zero byte (the contract of this function).
    let address = unsafe { text("address", address)? };
    resolve(address).map_err(|error| {
        let text = format!("{address}: {error}: give HOST or HOST:PORT");
        Failure::new(sw_result::Resolve, text)
    })
}
