//! Events of a device that plays: late packets and underflows.

use samplewire::transmitter::{PlayEvent, PlayEventKind};

use crate::arguments::timeout;
use crate::result::{guard, sw_result};
use crate::sized::{Sized_, read, sized, write};
use crate::transmitter::{TRANSMITTERS, sw_transmitter};

/// What happened to samples that a device was to play.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_play_event_kind {
    /// Of a later version.
    Unknown = 0,
    /// Packets came after their time, and were not played.
    Late = 1,
    /// Samples were not there at their time, and zeros were played, or the stream ended.
    Underflow = 2,
}

/// Samples that a device did not have at their time. An underflow is told at once, and exactly, where
/// samples of an open burst were not sent, a long one in pieces. What lacked for other reasons, as a
/// repair that came too late, is one event at the end of the stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_play_event {
    /// Set it to `sizeof(sw_play_event)` before the call.
    pub struct_size: usize,
    /// It happened to samples of this index or later ones.
    pub index: u64,
    /// And to samples before this index: what the device played when it said so, or that after the
    /// last. What is late is so by about `end_index - index` samples at most.
    pub end_index: u64,
    /// How many packets were late, or samples lacked.
    pub count: u64,
    /// Events after this one that were lost, since 256 waited for the program.
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

/// The next event, in the order in which they became known; any thread may ask while another sends.
/// `SW_RESULT_END` or `SW_RESULT_CANCELLED` when the stream has ended and all were taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_next_event(
    transmitter: *const sw_transmitter,
    timeout_ns: u64,
    event: *mut sw_play_event,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // It is checked before an event is taken out. SAFETY: the caller's.
        unsafe { read(event)? };
        match sending.events.next_within(timeout(timeout_ns)) {
            Ok(Some(found)) => {
                // SAFETY: the caller's.
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
