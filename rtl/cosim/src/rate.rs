//! The reaction point of congestion control for a bench of `rtl/send/dcqcn.sv`; the contract of each
//! function is in `include/samplewire_cosim.h`.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, DcqcnParams, Notified, Rules, WireRate};

/// `sw_dcqcn_params`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Params {
    gain_shift: u32,
    alpha_period_ns: u32,
    rise_period_ns: u32,
    cut_interval_ns: u32,
    rise_bytes: u32,
    recovery_stages: u32,
    additive: u32,
    hyper: u32,
    minimum: u32,
    start: u32,
    first_cut: u32,
    line: u32,
}

/// `sw_dcqcn_state`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct State {
    rate: u32,
    target: u32,
    alpha: u32,
    timer_count: u32,
    byte_count: u32,
    bytes_left: u32,
}

/// See the header.
///
/// # Safety
/// `params` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_new(params: *const Params, now_ns: u64) -> *mut Dcqcn {
    // SAFETY: the caller gives a valid pointer or null.
    let Some(params) = (unsafe { params.as_ref() }) else { return std::ptr::null_mut() };
    let span = |ns: u32| Nanos(ns.into());
    let params = DcqcnParams {
        gain_shift: params.gain_shift as u8,
        alpha_period: span(params.alpha_period_ns),
        rise_period: span(params.rise_period_ns),
        rise_bytes: params.rise_bytes,
        recovery_stages: params.recovery_stages as u8,
        additive: WireRate::from_raw(params.additive),
        hyper: WireRate::from_raw(params.hyper),
        minimum: WireRate::from_raw(params.minimum),
        start: WireRate::from_raw(params.start),
        first_cut: WireRate::from_raw(params.first_cut),
        cut_interval: span(params.cut_interval_ns),
        line: WireRate::from_raw(params.line),
        rules: Rules::Paper,
    };
    Dcqcn::new(params, Nanos(now_ns))
        .map_or(std::ptr::null_mut(), |flow| Box::into_raw(Box::new(flow)))
}

/// See the header.
///
/// # Safety
/// `flow` is of [`sw_dcqcn_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_free(flow: *mut Dcqcn) {
    if !flow.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(flow) });
    }
}

/// See the header.
///
/// # Safety
/// `flow` is of [`sw_dcqcn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_time(flow: *mut Dcqcn, now_ns: u64) {
    // SAFETY: the caller gives a live flow.
    unsafe { &mut *flow }.handle_time(Nanos(now_ns));
}

/// See the header.
///
/// # Safety
/// `flow` is of [`sw_dcqcn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_departure(flow: *mut Dcqcn, now_ns: u64, wire_bytes: u16) {
    // SAFETY: the caller gives a live flow.
    unsafe { &mut *flow }.handle_departure(Nanos(now_ns), wire_bytes);
}

/// See the header.
///
/// # Safety
/// `flow` is of [`sw_dcqcn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_notification(flow: *mut Dcqcn, now_ns: u64, rtt_ns: u64) -> i32 {
    // SAFETY: the caller gives a live flow.
    let flow = unsafe { &mut *flow };
    (flow.handle_notification(Nanos(now_ns), Nanos(rtt_ns)) == Notified::Cut).into()
}

/// See the header.
///
/// # Safety
/// `flow` is of [`sw_dcqcn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_dcqcn_state_get(flow: *const Dcqcn) -> State {
    // SAFETY: the caller gives a live flow.
    let flow = unsafe { &*flow };
    let (timer_count, byte_count) = flow.stages();
    State {
        rate: flow.rate().raw(),
        target: flow.target().raw(),
        alpha: flow.alpha(),
        timer_count: timer_count.into(),
        byte_count: byte_count.into(),
        bytes_left: flow.bytes_left(),
    }
}
