//! Finds devices, and queries one for a stream.

use std::ffi::c_char;

use samplewire::find::{Found, find};
use samplewire::{DEFAULT_PORT, probe_rdma, probe_stream, resolve};

use crate::arguments::{check_out, put, text, timeout};
use crate::info::sw_stream_info;
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{Sized_, sized, write};

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

/// What a device describes of RDMA, for one stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_rdma_probe {
    /// Set it to `sizeof(sw_rdma_probe)` before the call.
    pub struct_size: usize,
    /// The largest payload of an RDMA packet that this host's interface carries, in bytes.
    pub path_mtu_bytes: u32,
    /// The same of the device; 0 if it does not offer RDMA.
    pub device_path_mtu_bytes: u32,
    /// RDMA packets of one packet of the stream; 0 if the device does not offer RDMA.
    pub packets_a_write: u32,
    /// 0.
    pub reserved: u32,
}

sized!(
    sw_rdma_probe {
        path_mtu_bytes: u32,
        device_path_mtu_bytes: u32,
        packets_a_write: u32,
        reserved: u32,
    },
    sw_rdma_probe {
        struct_size: size_of::<sw_rdma_probe>(),
        path_mtu_bytes: 0,
        device_path_mtu_bytes: 0,
        packets_a_write: 0,
        reserved: 0,
    }
);

/// Queries the device at `address` for a stream as it would be over RDMA, without opening it. `carriage` of
/// `info` is that of the stream which would result. It needs no privilege, and does not prove that frames
/// of RoCEv2 pass between both ends. `rdma` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_probe_rdma(
    address: *const c_char,
    stream: u16,
    timeout_ns: u64,
    info: *mut sw_stream_info,
    rdma: *mut sw_rdma_probe,
) -> sw_result {
    guard(|| {
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        let address = unsafe { address_of(address)? };
        let probe = probe_rdma(address, stream, timeout(timeout_ns))?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, &sw_stream_info::new(&probe.info, 0))? };
        if !rdma.is_null() {
            let described = sw_rdma_probe {
                path_mtu_bytes: probe.path_mtu_bytes.into(),
                device_path_mtu_bytes: probe.device_path_mtu_bytes.unwrap_or(0).into(),
                packets_a_write: probe.packets_a_write().unwrap_or(0),
                ..<sw_rdma_probe as Sized_>::defaults()
            };
            // SAFETY: the out-parameter is not NULL and valid for its size (the caller's contract).
            unsafe { write(rdma, &described)? };
        }
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
