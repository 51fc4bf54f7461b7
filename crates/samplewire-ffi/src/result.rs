//! The result of a call: a number, and a text with the values.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use samplewire::OpenError;
use samplewire::transmitter::SendError;
use samplewire_io::LinkError;
use samplewire_proto::wire::RefuseReason;

/// The result of a call. Numbers are never reused; later versions may add some.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum sw_result {
    /// Success.
    Ok = 0,
    /// Nothing came within the timeout. Not an error.
    Timeout = 1,
    /// The stream has ended, and everything before its end was returned. Not an error.
    End = 2,
    /// The object was cancelled from another thread. Not an error.
    Cancelled = 3,

    /// A pointer is NULL that must not be.
    Null = 10,
    /// The `struct_size` of a struct is not valid for this version.
    StructSize = 11,
    /// An argument is out of range; the text names it.
    Argument = 12,
    /// The object was freed, the block released, or the room committed; or it never existed.
    Stale = 13,
    /// Another thread is in a call that only one thread at a time may make on this object.
    Busy = 14,
    /// The maximum number of blocks or rooms is borrowed: return some.
    TooManyLoans = 15,
    /// The buffer is too small; the text states the size that it needs.
    Room = 16,
    /// Not available yet: the stream is open.
    StillOpen = 17,
    /// A bug of the library: a panic was caught. The object is no longer usable.
    Panic = 18,
    /// An error without a number in this version of the interface; the text describes it.
    Other = 19,

    /// The device's address does not resolve.
    Resolve = 100,
    /// The link failed.
    Link = 101,
    /// Nothing answered.
    NoAnswer = 102,
    /// The device sends a format that this version does not know.
    Format = 103,
    /// The device's terms contradict each other.
    Offer = 104,
    /// Streams to be aligned have different clocks, or different kinds of samples.
    Apart = 105,
    /// A stream does not begin at the requested index.
    Start = 106,
    /// A term is out of range.
    Terms = 107,
    /// An option is out of range.
    OptionRange = 108,
    /// Real-time options are out of range, or contradict each other.
    RealTime = 109,
    /// The system has no memory.
    Pool = 110,
    /// The port cannot take more streams.
    PortFull = 111,
    /// The port has failed, or was closed.
    PortGone = 112,
    /// The operating system refused a thread or random numbers.
    System = 113,
    /// Two options exclude each other; the text names them, and what to do instead.
    Contradiction = 114,
    /// A stream was named more than once.
    StreamTwice = 115,

    /// The device refused: another owner has the stream.
    RefusedBusy = 121,
    /// The device refused: it has no stream with this number.
    RefusedNoSuchStream = 122,
    /// The device refused: the stream has the other direction.
    RefusedRole = 123,
    /// The device refused: the samples of a packet do not fit the size that the path carries.
    RefusedPacketSize = 124,
    /// The device refused: it does not support the version.
    RefusedVersion = 125,
    /// The device refused: the window is too small.
    RefusedWindow = 126,
    /// The device refused: it cannot provide the requested format.
    RefusedFormat = 127,
    /// The device refused: the delivery is not offered.
    RefusedDelivery = 128,
    /// The device refused: the trailer is not offered.
    RefusedTrailer = 129,
    /// The device refused: the start index has passed or is too far away.
    RefusedStartIndex = 130,
    /// The device refused for a reason of a later version.
    Refused = 131,

    /// The stream broke: the peer closed it early; see `sw_end.close_reason`.
    ClosedByPeer = 141,
    /// The stream broke: the peer restarted, gave the stream to another owner, or received
    /// nothing from this end in time.
    PeerRestarted = 142,
    /// The stream broke: the peer was silent for too long.
    PeerSilent = 143,
    /// The stream broke: for too long more than half of all departures were retransmissions.
    CircuitBreaker = 144,
    /// The stream broke: the peer violated a rule that is needed to place samples.
    Violation = 145,
    /// The I/O thread failed; the text states why.
    Port = 146,
    /// An aligned stream broke off: it skipped to another index than the others on purpose.
    StreamsApart = 147,
    /// The stream broke: its queue pair failed. Only a stream over RDMA has one.
    QueuePairFailed = 148,
}

/// The name of a result, e.g. `timeout`; "unknown result" for an unknown number. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sw_result_str(result: u32) -> *const c_char {
    let name = NAMES.iter().find(|(number, _)| *number as u32 == result);
    name.map_or(c"unknown result", |(_, name)| name).as_ptr()
}

/// The text of this thread's last failed call, with the values and what to do next; empty if none
/// has failed. It is valid until the next failed call; other results leave it unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn sw_last_error() -> *const c_char {
    // A thread that is ending has no text any more.
    LAST_ERROR.try_with(|text| text.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// A failed call: its number and its text.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) result: sw_result,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(result: sw_result, text: impl Into<String>) -> Self {
        Self { result, text: text.into() }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(sw_result::Argument, text)
    }
}

impl sw_result {
    /// Whether it belongs to the life of a stream that works.
    const fn is_no_error(self) -> bool {
        matches!(self, Self::Ok | Self::Timeout | Self::End | Self::Cancelled)
    }
}

/// One that needs no text, since it is no error.
impl From<sw_result> for Failure {
    fn from(result: sw_result) -> Self {
        Self { result, text: String::new() }
    }
}

/// The boundary of every function: a failure leaves its text, a panic stays here.
pub(crate) fn guard(work: impl FnOnce() -> Result<sw_result, Failure>) -> sw_result {
    let (result, text) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => return result,
        Ok(Err(Failure { result, .. })) if result.is_no_error() => return result,
        Ok(Err(Failure { result, text })) => (result, text),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            let words = format!("the library panicked: {}", words.unwrap_or("without a word"));
            // What a panic carries may panic again where it is dropped.
            std::mem::forget(panic);
            (sw_result::Panic, words)
        }
    };
    // A thread that is ending has no place for it.
    let _ended = LAST_ERROR.try_with(|last| {
        *last.borrow_mut() = CString::new(text.replace('\0', "?")).unwrap_or_default();
    });
    result
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        use sw_result as R;
        let result = match &error {
            OpenError::Link(_) | OpenError::Card(_) => R::Link,
            OpenError::Address { .. } => R::Resolve,
            OpenError::NoAnswer { .. } => R::NoAnswer,
            OpenError::Refused { reason, .. } => of_refusal(*reason),
            OpenError::Format { .. } => R::Format,
            OpenError::Offer { .. } | OpenError::PeerTerms { .. } => R::Offer,
            OpenError::Apart { .. } => R::Apart,
            OpenError::Start { .. } => R::Start,
            OpenError::Terms(_) => R::Terms,
            OpenError::OptionRange { .. } => R::OptionRange,
            OpenError::RealTime(_) => R::RealTime,
            OpenError::Pool(_) => R::Pool,
            OpenError::PortFull { .. } => R::PortFull,
            OpenError::PortGone { .. } => R::PortGone,
            OpenError::System(_) => R::System,
            OpenError::Contradiction { .. } => R::Contradiction,
            OpenError::StreamTwice { .. } => R::StreamTwice,
            OpenError::Streams { .. } => R::Argument,
            _ => R::Other,
        };
        Self::new(result, error.to_string())
    }
}

const fn of_refusal(reason: RefuseReason) -> sw_result {
    match reason {
        RefuseReason::Busy => sw_result::RefusedBusy,
        RefuseReason::NoSuchStream => sw_result::RefusedNoSuchStream,
        RefuseReason::Role => sw_result::RefusedRole,
        RefuseReason::PacketSize => sw_result::RefusedPacketSize,
        RefuseReason::Version => sw_result::RefusedVersion,
        RefuseReason::Window => sw_result::RefusedWindow,
        RefuseReason::Format => sw_result::RefusedFormat,
        RefuseReason::Delivery => sw_result::RefusedDelivery,
        RefuseReason::Trailer => sw_result::RefusedTrailer,
        RefuseReason::StartIndex => sw_result::RefusedStartIndex,
        RefuseReason::Unknown(_) => sw_result::Refused,
    }
}

impl From<&LinkError> for Failure {
    fn from(error: &LinkError) -> Self {
        Self::new(sw_result::Link, error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match &error {
            SendError::Ended(ended) => crate::end::of_end(&ended.end).1,
            SendError::Port(_) => Self::new(sw_result::Port, error.to_string()),
            _ => Self::argument(error.to_string()),
        }
    }
}

macro_rules! names {
    ($($variant:ident $name:literal),* $(,)?) => {
        const NAMES: &[(sw_result, &CStr)] = &[$((sw_result::$variant, $name)),*];

        /// A result without a name does not compile.
        const _: fn(sw_result) = |result| match result { $(sw_result::$variant => {})* };
    };
}

names! {
    Ok c"ok",
    Timeout c"timeout",
    End c"end of the stream",
    Cancelled c"cancelled",
    Null c"a pointer is NULL",
    StructSize c"struct_size cannot be used",
    Argument c"an argument is out of range",
    Stale c"freed, released or committed before",
    Busy c"another thread is in a call on it",
    TooManyLoans c"too many blocks are on loan",
    Room c"the buffer is too small",
    StillOpen c"the stream is open",
    Panic c"a panic in the library",
    Other c"another error",
    Resolve c"the address does not resolve",
    Link c"the link failed",
    NoAnswer c"no answer",
    Format c"unknown sample format",
    Offer c"unusable terms",
    Apart c"streams cannot be aligned",
    Start c"the stream begins elsewhere",
    Terms c"a term is out of range",
    OptionRange c"an option is out of range",
    RealTime c"real-time options cannot be used",
    Pool c"the memory cannot be had",
    PortFull c"the port is full",
    PortGone c"the port is gone",
    System c"the operating system refused",
    Contradiction c"two choices exclude each other",
    StreamTwice c"a stream is named twice",
    RefusedBusy c"refused: busy",
    RefusedNoSuchStream c"refused: no such stream",
    RefusedRole c"refused: role",
    RefusedPacketSize c"refused: packet size",
    RefusedVersion c"refused: version",
    RefusedWindow c"refused: window",
    RefusedFormat c"refused: format",
    RefusedDelivery c"refused: delivery",
    RefusedTrailer c"refused: trailer",
    RefusedStartIndex c"refused: start index",
    Refused c"refused",
    ClosedByPeer c"closed by the peer",
    PeerRestarted c"the peer restarted",
    PeerSilent c"the peer is silent",
    CircuitBreaker c"too many repeats",
    Violation c"the peer broke a rule",
    Port c"the I/O thread broke",
    StreamsApart c"the streams are apart",
    QueuePairFailed c"the queue pair failed",
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_error() -> String {
        // SAFETY: it ends with a zero byte, and no call fails while it is read.
        unsafe { CStr::from_ptr(sw_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn panic_stays_inside_and_leaves_its_words() {
        let result = guard(|| panic!("at {}", 7));
        assert_eq!(result, sw_result::Panic);
        assert_eq!(last_error(), "the library panicked: at 7");
    }

    #[test]
    fn texts_are_of_the_thread_and_stay_until_the_next_failure() {
        let fails = || Err(Failure::argument("channel 9\0"));
        assert_eq!(guard(fails), sw_result::Argument);
        assert_eq!(guard(|| Ok(sw_result::Timeout)), sw_result::Timeout);
        assert_eq!(last_error(), "channel 9?");
        assert_eq!(std::thread::spawn(last_error).join().unwrap(), "");
    }

    #[test]
    fn every_number_has_a_name_of_its_own() {
        let numbers: std::collections::BTreeSet<u32> =
            NAMES.iter().map(|(result, _)| *result as u32).collect();
        let names: std::collections::BTreeSet<&CStr> =
            NAMES.iter().map(|(_, name)| *name).collect();
        assert_eq!((numbers.len(), names.len()), (NAMES.len(), NAMES.len()));
        // SAFETY: a text of this file.
        let unknown = unsafe { CStr::from_ptr(sw_result_str(9_999)) };
        assert_eq!(unknown, c"unknown result");
    }

    #[test]
    fn refusal_keeps_its_number() {
        for number in 1..=10 {
            let result = of_refusal(RefuseReason::from_number(number)) as u32;
            assert_eq!(result, sw_result::RefusedBusy as u32 - 1 + u32::from(number));
        }
    }
}
