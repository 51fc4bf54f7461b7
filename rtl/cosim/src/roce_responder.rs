//! The responder of RoCEv2 for a bench of `rtl/roce/roce_endpoint.sv`; the contract of each function
//! is in `include/samplewire_cosim.h`.

use samplewire_roce::responder::{
    Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, Responder, ResponderConfig,
};
use samplewire_roce::wire::{Body, Bth, Opcode, Operation, Packet, Reth, RnrTimer};
use samplewire_roce::{Access, PathMtu, Psn, Qpn, Region};

/// `sw_responder`.
pub type Receiver = Responder<Vec<ReceiveSlot>, [Region; 1]>;

/// `sw_responder_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    first_psn: u32,
    mtu: u32,
    rnr_timer: u32,
    key: u32,
    address: u64,
    len_bytes: u64,
    may_write: i32,
}

/// `sw_roce_request`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    psn: u32,
    opcode: u8,
    ack_request: u8,
    len_bytes: u16,
    address: u64,
    key: u32,
    message_bytes: u32,
    immediate: u32,
}

/// `sw_roce_place`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    offset: u64,
    id: u64,
    is_receive: i32,
}

/// `sw_roce_response`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Answer {
    psn: u32,
    msn: u32,
    syndrome: u8,
}

/// `sw_received`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Received {
    id: u64,
    status: u32,
    has_immediate: i32,
    immediate: u32,
    len_bytes: u32,
}

fn choices(config: &Config) -> Option<(ResponderConfig, Region)> {
    let access = if config.may_write == 0 { Access::None } else { Access::Write };
    let region = Region::new(config.key, config.address, config.len_bytes, access).ok()?;
    let config = ResponderConfig {
        psn: Psn::new(config.first_psn),
        mtu: *PathMtu::ALL.get((config.mtu as usize).checked_sub(1)?)?,
        rnr_timer: RnrTimer::new(u8::try_from(config.rnr_timer).ok()?)?,
        ..ResponderConfig::default()
    };
    Some((config, region))
}

/// See the header.
///
/// # Safety
/// `config` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_new(config: *const Config, slots: usize) -> *mut Receiver {
    // SAFETY: the caller gives a valid pointer or null.
    let choices = unsafe { config.as_ref() }.and_then(choices);
    let slots = vec![ReceiveSlot::default(); slots];
    let responder = choices.map(|(config, region)| Responder::new(config, slots, [region]));
    responder.map_or(std::ptr::null_mut(), |it| Box::into_raw(Box::new(it)))
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`] and not used afterwards, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_free(responder: *mut Receiver) {
    if !responder.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller gives it up.
        drop(unsafe { Box::from_raw(responder) });
    }
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_post(
    responder: *mut Receiver,
    id: u64,
    len_bytes: u32,
) -> i32 {
    // SAFETY: the caller gives a live responder.
    let responder = unsafe { &mut *responder };
    responder.post_receive(ReceiveRequest { id, len_bytes }).is_ok().into()
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`], `request` points to one, `payload` to as many bytes as
/// that says, and `place` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_handle(
    responder: *mut Receiver,
    request: *const Request,
    payload: *const u8,
    place: *mut Place,
) -> i32 {
    // SAFETY: the caller gives a live responder and a request.
    let (responder, request) = unsafe { (&mut *responder, &*request) };
    // SAFETY: the caller gives this many bytes.
    let payload = unsafe { std::slice::from_raw_parts(payload, request.len_bytes.into()) };
    let Some(opcode) = Opcode::from_number(request.opcode) else { return 0 };
    let (address, key, len_bytes) = (request.address, request.key, request.message_bytes);
    let body = match opcode.operation() {
        Operation::Send | Operation::Write => Body::Request {
            reth: opcode.has_reth().then_some(Reth { address, key, len_bytes }),
            immediate: opcode.has_immediate().then_some(request.immediate),
            payload,
        },
        _ => Body::Unsupported,
    };
    let bth = Bth::new(opcode, Qpn::new(0), Psn::new(request.psn));
    let bth = Bth { ack_request: request.ack_request != 0, ..bth };
    let found = match responder.handle(&Packet { bth, body }) {
        Placement::Nothing => return 0,
        Placement::Region { offset, .. } => Place { offset, id: 0, is_receive: 0 },
        Placement::Receive { id, offset } => Place { offset: offset.into(), id, is_receive: 1 },
    };
    // SAFETY: the caller gives room for a place.
    unsafe { place.write(found) };
    1
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`], `answer` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_transmit(
    responder: *mut Receiver,
    answer: *mut Answer,
) -> i32 {
    // SAFETY: the caller gives a live responder.
    let Some(response) = unsafe { &mut *responder }.poll_transmit() else { return 0 };
    let (psn, aeth) = (response.psn.get(), response.aeth);
    // SAFETY: the caller gives room for an answer.
    unsafe { answer.write(Answer { psn, msn: aeth.msn, syndrome: aeth.syndrome.number() }) };
    1
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`], `received` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_completion(
    responder: *mut Receiver,
    received: *mut Received,
) -> i32 {
    // SAFETY: the caller gives a live responder.
    let Some(done) = unsafe { &mut *responder }.poll_event() else { return 0 };
    // `receive_status_e` of rtl/roce/roce_pkg.sv.
    let (status, immediate, len_bytes) = match done.status {
        ReceiveStatus::Send { len_bytes, immediate } => (0, immediate, len_bytes),
        ReceiveStatus::Write { len_bytes, immediate } => (1, Some(immediate), len_bytes),
        ReceiveStatus::Failed => (2, None, 0),
        ReceiveStatus::Flushed => (3, None, 0),
    };
    let (has_immediate, immediate) = (immediate.is_some().into(), immediate.unwrap_or(0));
    let found = Received { id: done.id, status, has_immediate, immediate, len_bytes };
    // SAFETY: the caller gives room for it.
    unsafe { received.write(found) };
    1
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_expected(responder: *const Receiver) -> u32 {
    // SAFETY: the caller gives a live responder.
    unsafe { &*responder }.expected().get()
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_has_failed(responder: *const Receiver) -> i32 {
    // SAFETY: the caller gives a live responder.
    unsafe { &*responder }.fault().is_some().into()
}

/// See the header.
///
/// # Safety
/// `responder` is of [`sw_responder_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_responder_flush(responder: *mut Receiver) {
    // SAFETY: the caller gives a live responder.
    unsafe { &mut *responder }.flush();
}
