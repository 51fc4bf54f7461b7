//! The notification point of RoCEv2 for a bench of `rtl/roce/roce_endpoint.sv`; the contract of each
//! function is in `include/samplewire_cosim.h`.

use samplewire_proto::Nanos;
use samplewire_roce::qp::NotificationPoint;

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn sw_notification_new(interval_ns: u64) -> *mut NotificationPoint {
    Box::into_raw(Box::new(NotificationPoint::new(Nanos(interval_ns))))
}

/// See the header.
///
/// # Safety
/// `point` is of [`sw_notification_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_notification_free(point: *mut NotificationPoint) {
    if !point.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(point) });
    }
}

/// See the header.
///
/// # Safety
/// `point` is of [`sw_notification_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_notification_mark(point: *mut NotificationPoint) {
    // SAFETY: the caller gives a live notification point.
    unsafe { &mut *point }.handle_mark();
}

/// See the header.
///
/// # Safety
/// `point` is of [`sw_notification_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_notification_poll(point: *mut NotificationPoint, now_ns: u64) -> i32 {
    // SAFETY: the caller gives a live notification point.
    unsafe { &mut *point }.poll(Nanos(now_ns)).into()
}

/// See the header.
///
/// # Safety
/// `point` is of [`sw_notification_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_notification_timeout(point: *const NotificationPoint) -> u64 {
    // SAFETY: the caller gives a live notification point.
    unsafe { &*point }.poll_timeout().map_or(u64::MAX, |at| at.0)
}
