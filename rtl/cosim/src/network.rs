//! The switch of the simulator for benches of several boards; the contract of each function is in
//! `include/samplewire_cosim.h`.

use samplewire_proto::Nanos;
use samplewire_switch::{FrameIn, Marking, MarkingPoint, Switch, SwitchConfig};

/// `sw_switch_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    buffer_bytes: u64,
    mark_min_bytes: u64,
    mark_max_bytes: u64,
    mark_probability_max: f64,
    seed: u64,
}

/// `sw_switch_frame`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    at_ns: u64,
    cookie: u64,
    is_marked: i32,
}

/// `sw_switch_counts`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counts {
    forwarded: u64,
    dropped: u64,
    marked: u64,
}

/// See the header.
///
/// # Safety
/// `config` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_switch_new(config: *const Config, port_bps: u64) -> *mut Switch<u64> {
    // SAFETY: the caller gives a valid pointer or null.
    let Some(config) = (unsafe { config.as_ref() }) else { return std::ptr::null_mut() };
    let marking = Marking {
        min_bytes: config.mark_min_bytes,
        max_bytes: config.mark_max_bytes,
        probability_max: config.mark_probability_max,
        at: MarkingPoint::Dequeue,
    };
    let settings =
        SwitchConfig { buffer_bytes: config.buffer_bytes, marking: Some(marking), pfc: None };
    Switch::new(settings, &[port_bps], config.seed)
        .map_or(std::ptr::null_mut(), |network| Box::into_raw(Box::new(network)))
}

/// See the header.
///
/// # Safety
/// `network` is of [`sw_switch_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_switch_free(network: *mut Switch<u64>) {
    if !network.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(network) });
    }
}

/// See the header.
///
/// # Safety
/// `network` is of [`sw_switch_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_switch_handle(
    network: *mut Switch<u64>,
    now_ns: u64,
    wire_bytes: u32,
    is_ecn_capable: i32,
    cookie: u64,
) -> i32 {
    let frame = FrameIn {
        ingress: 0,
        egress: 0,
        class: 0,
        wire_bytes,
        is_ecn_capable: is_ecn_capable != 0,
        frame: cookie,
    };
    // SAFETY: the caller gives a live switch.
    unsafe { &mut *network }.handle_frame(Nanos(now_ns), frame).into()
}

/// See the header.
///
/// # Safety
/// `network` is of [`sw_switch_new`]; `frame` points to room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_switch_poll(
    network: *mut Switch<u64>,
    now_ns: u64,
    frame: *mut Frame,
) -> i32 {
    // SAFETY: the caller gives a live switch.
    let Some(out) = unsafe { &mut *network }.poll_transmit(Nanos(now_ns)) else { return 0 };
    let filled = Frame { at_ns: out.at.0, cookie: out.frame, is_marked: out.is_marked.into() };
    // SAFETY: the caller gives writable room for one.
    unsafe { frame.write(filled) };
    1
}

/// See the header.
///
/// # Safety
/// `network` is of [`sw_switch_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_switch_counts_get(network: *const Switch<u64>) -> Counts {
    // SAFETY: the caller gives a live switch.
    let counts = unsafe { &*network }.counts();
    Counts { forwarded: counts.forwarded, dropped: counts.dropped, marked: counts.marked }
}
