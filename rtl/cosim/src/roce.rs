//! The requester of RoCEv2 for a bench of `rtl/roce/roce_requester.sv`; the contract of each
//! function is in `include/samplewire_cosim.h`.

use samplewire_proto::Nanos;
use samplewire_roce::requester::{
    AckTimeout, Requester, RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest,
};
use samplewire_roce::wire::{Aeth, NakCode, Syndrome};
use samplewire_roce::{PathMtu, Psn};

/// `sw_requester`.
pub type Sender = Requester<Vec<SendSlot>>;

/// `sw_requester_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    first_psn: u32,
    mtu: u32,
    window: u32,
    ack_every: u32,
    timeout: u32,
    retries: u32,
    rnr_retries: u32,
}

/// `sw_work_request`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Post {
    id: u64,
    len_bytes: u32,
    is_write: i32,
    has_immediate: i32,
}

/// `sw_roce_packet`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sent {
    psn: u32,
    opcode: u8,
    ack_request: u8,
    len_bytes: u32,
}

fn choices(config: &Config) -> Option<RequesterConfig> {
    Some(RequesterConfig {
        psn: Psn::new(config.first_psn),
        mtu: *PathMtu::ALL.get((config.mtu as usize).checked_sub(1)?)?,
        window: config.window,
        ack_every: config.ack_every,
        timeout: AckTimeout::new(u8::try_from(config.timeout).ok()?)?,
        retries: u8::try_from(config.retries).ok()?,
        rnr_retries: u8::try_from(config.rnr_retries).ok()?,
        patience: None,
    })
}

/// See the header.
///
/// # Safety
/// `config` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_new(config: *const Config, slots: usize) -> *mut Sender {
    // SAFETY: the caller gives a valid pointer or null.
    let config = unsafe { config.as_ref() }.and_then(choices);
    let requester = config.and_then(|it| Requester::new(it, vec![SendSlot::default(); slots]).ok());
    requester.map_or(std::ptr::null_mut(), |it| Box::into_raw(Box::new(it)))
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_free(requester: *mut Sender) {
    if !requester.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(requester) });
    }
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`], `post` points to a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_post(requester: *mut Sender, post: *const Post) -> i32 {
    // SAFETY: the caller gives a live requester and a request.
    let (requester, post) = unsafe { (&mut *requester, &*post) };
    let verb = if post.is_write == 0 { Verb::Send } else { Verb::Write { address: 0, key: 0 } };
    let request = WorkRequest {
        id: post.id,
        verb,
        len_bytes: post.len_bytes,
        immediate: (post.has_immediate != 0).then_some(0),
        is_solicited: false,
    };
    requester.post(request).is_ok().into()
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_answer(
    requester: *mut Sender,
    now_ns: u64,
    psn: u32,
    syndrome: u8,
) {
    // SAFETY: the caller gives a live requester.
    let requester = unsafe { &mut *requester };
    let aeth = Aeth { syndrome: Syndrome::from_number(syndrome), msn: 0 };
    requester.handle(Nanos(now_ns), Psn::new(psn), &aeth);
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_run(requester: *mut Sender, now_ns: u64) {
    // SAFETY: the caller gives a live requester.
    unsafe { &mut *requester }.handle_timeout(Nanos(now_ns));
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`], `sent` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_transmit(
    requester: *mut Sender,
    now_ns: u64,
    sent: *mut Sent,
) -> i32 {
    // SAFETY: the caller gives a live requester.
    let Some(packet) = unsafe { &mut *requester }.poll_transmit(Nanos(now_ns)) else { return 0 };
    let (psn, ack_request) = (packet.psn.get(), packet.ack_request.into());
    // SAFETY: the caller gives room for a packet.
    unsafe {
        sent.write(Sent {
            psn,
            opcode: packet.opcode as u8,
            ack_request,
            len_bytes: packet.payload.len_bytes,
        });
    }
    1
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`], `id` and `status` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_completion(
    requester: *mut Sender,
    id: *mut u64,
    status: *mut u32,
) -> i32 {
    // SAFETY: the caller gives a live requester.
    let Some(done) = unsafe { &mut *requester }.poll_event() else { return 0 };
    // `status_e` of rtl/roce/roce_pkg.sv.
    let number = match done.status {
        SendStatus::Done => 0,
        SendStatus::Nak(NakCode::InvalidRequest) => 1,
        SendStatus::Nak(NakCode::RemoteAccess) => 2,
        SendStatus::Nak(NakCode::RemoteOperation | NakCode::SequenceError) => 3,
        SendStatus::RetriesExceeded => 4,
        SendStatus::RnrRetriesExceeded => 5,
        SendStatus::Flushed => 6,
    };
    // SAFETY: the caller gives room for both.
    unsafe {
        id.write(done.id);
        status.write(number);
    }
    1
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_timeout(requester: *const Sender) -> u64 {
    // SAFETY: the caller gives a live requester.
    unsafe { &*requester }.poll_timeout().map_or(u64::MAX, |at| at.0)
}

/// See the header.
///
/// # Safety
/// `requester` is of [`sw_requester_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_requester_flush(requester: *mut Sender) {
    // SAFETY: the caller gives a live requester.
    unsafe { &mut *requester }.flush();
}
