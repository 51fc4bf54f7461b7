//! Events of a device that plays: late packets and underflows.

use samplewire::transmitter::{PlayEvent, PlayEventKind};

use crate::arguments::timeout;
use crate::result::{guard, sw_result};
use crate::sized::{Sized_, read, sized, write};
use crate::transmitter::{TRANSMITTERS, sw_transmitter};

/// What happened to samples that a device had to play.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_play_event_kind {
    /// A kind of a later version.
    Unknown = 0,
    /// Packets came after their time, and were not played.
    Late = 1,
    /// Samples were missing at their time, and zeros were played, or the stream ended.
    Underflow = 2,
}

/// Samples that a device did not have at their time. An underflow is reported at once, and exactly,
/// if samples of an open burst were not sent; a long one is reported in pieces. Samples missing for
/// other reasons, such as a late repair, are one event at the end of the stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_play_event {
    /// Set it to `sizeof(sw_play_event)` before the call.
    pub struct_size: usize,
    /// The first index that may be affected.
    pub index: u64,
    /// The end of the affected range: the index that the device played when it reported this, or
    /// the index after the last. A late packet is late by at most about `end_index - index`
    /// samples.
    pub end_index: u64,
    /// Number of late packets, or of missing samples.
    pub count: u64,
    /// Number of later events that were dropped because 256 waited for the program.
    pub lost: u64,
    /// A `sw_play_event_kind`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
}

sized!(
    sw_play_event { index: u64, end_index: u64, count: u64, lost: u64, kind: u32, reserved: u32 },
    sw_play_event {
        struct_size: size_of::<sw_play_event>(),
        index: 0,
        end_index: 0,
        count: 0,
        lost: 0,
        kind: sw_play_event_kind::Unknown as u32,
        reserved: 0
    }
);

/// Returns the next event, in the order of detection; works in any thread while another one sends.
/// `SW_RESULT_END` or `SW_RESULT_CANCELLED` after the stream has ended and all events were taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_next_event(
    transmitter: *const sw_transmitter,
    timeout_ns: u64,
    event: *mut sw_play_event,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // It is checked before an event is taken out.
        // SAFETY: `event` is NULL or has `struct_size` bytes (the caller's contract).
        unsafe { read(event)? };
        match sending.events.next_within(timeout(timeout_ns)) {
            Ok(Some(found)) => {
                // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
                unsafe { write(event, &sw_play_event::of(&found))? };
                Ok(sw_result::Ok)
            }
            Ok(None) => Ok(sw_result::Timeout),
            Err(error) => Err(sending.failure(error)),
        }
    })
}

impl sw_play_event {
    fn of(event: &PlayEvent) -> Self {
        let kind = match event.kind {
            PlayEventKind::Late => sw_play_event_kind::Late,
            PlayEventKind::Underflow => sw_play_event_kind::Underflow,
        };
        Self {
            index: event.index,
            end_index: event.end,
            count: event.count,
            lost: event.lost,
            kind: kind as u32,
            ..Self::defaults()
        }
    }
}
