//! Both ends of a block transfer on a link.

use std::ops::Range;

use samplewire_proto::Nanos;
use samplewire_proto::block::{
    ReceiveEvent, Receiver, ReceiverConfig, SendEnd, Sender, SenderConfig,
};
use samplewire_proto::crc::crc32c;

use super::NicError;
use super::link::{Link, Until};
use crate::failure::Failure;

/// The bytes that are sent.
pub(super) trait Source {
    /// Those of a packet.
    fn bytes(&mut self, at: Range<u64>) -> Result<&[u8], Failure>;
}

/// Where the bytes go that are received.
pub(super) trait Store {
    /// Keeps those of a packet.
    fn place(&mut self, at: u64, bytes: &[u8]) -> Result<(), Failure>;

    /// Works on the CRC-32C of the first bytes, as many as the transfer has, for some ms; `None` when it
    /// needs another call.
    fn crc(&mut self, bytes: u64) -> Result<Option<u32>, Failure>;
}

/// The sending end of a transfer.
pub(super) struct Sending<S> {
    pub(super) sender: Sender<Vec<u32>>,
    source: S,
    frame: Box<[u8]>,
    /// The length of a frame that the link has not taken.
    waiting: Option<usize>,
    has_bursts: bool,
}

impl<S: Source> Sending<S> {
    /// Of so many bytes with this CRC-32C.
    pub(super) fn new(
        config: SenderConfig,
        bytes: u64,
        crc: u32,
        source: S,
    ) -> Result<Self, NicError> {
        config.check()?;
        let sender = Sender::new(config, bytes, crc, bits(bytes, config.packet_bytes))?;
        let has_bursts = config.bursts.is_some();
        Ok(Self { sender, source, frame: frame(), waiting: None, has_bursts })
    }

    /// Gives the link what may leave; whether there may be more at once.
    pub(super) fn send(&mut self, link: &mut Link) -> Result<bool, Failure> {
        self.sender.handle_timeout(link.now());
        for _ in 0..TURN_FRAMES_MAX {
            if self.waiting.is_none() {
                let Some(transmit) = self.sender.poll_transmit(link.now()) else {
                    return Ok(false);
                };
                let payload = match transmit.payload() {
                    Some(at) => self.source.bytes(at)?,
                    None => &[],
                };
                self.waiting = Some(transmit.emit(payload, &mut self.frame));
            }
            let len = self.waiting.expect("a frame was written");
            if !link.send(&self.frame[..len])? {
                return Ok(false);
            }
            self.waiting = None;
        }
        Ok(true)
    }

    /// When [`Sending::send`] has something to do.
    pub(super) fn until(&self) -> Until {
        match self.sender.poll_timeout() {
            // The link reports when it has room.
            _ if self.waiting.is_some() => Until::Frame,
            Some(at) if self.has_bursts => Until::Exactly(at),
            Some(at) => Until::Asleep(at),
            None => Until::Frame,
        }
    }

    /// The bytes, when the transfer has ended.
    pub(super) fn into_source(self) -> S {
        self.source
    }

    /// How the transfer has ended, once.
    pub(super) fn poll_end(&mut self) -> Option<SendEnd> {
        self.sender.poll_event()
    }
}

/// The receiving end, for one transfer after the other.
pub(super) struct Receiving<S> {
    pub(super) receiver: Receiver<Vec<u32>>,
    pub(super) store: S,
    frame: Box<[u8]>,
    waiting: Option<usize>,
    /// The length of a transfer whose CRC is worked out.
    to_check: Option<u64>,
    /// When the first packet of the present transfer came.
    pub(super) began_at: Option<Nanos>,
}

impl<S: Store> Receiving<S> {
    pub(super) fn new(config: ReceiverConfig, store: S) -> Result<Self, NicError> {
        config.check()?;
        let packet_bytes = config.packet_bytes.unwrap_or(PACKET_BYTES);
        let receiver = Receiver::new(config, bits(config.bytes_max, packet_bytes))?;
        let (waiting, to_check, began_at) = (None, None, None);
        Ok(Self { receiver, store, frame: frame(), waiting, to_check, began_at })
    }

    /// Takes a frame that has come.
    pub(super) fn take(&mut self, now: Nanos, frame: &[u8]) -> Result<(), Failure> {
        if let Some(place) = self.receiver.handle(now, frame) {
            self.began_at.get_or_insert(now);
            self.store.place(place.offset, place.bytes)?;
        }
        Ok(())
    }

    /// Acts on timers and works on the CRC; what has happened to the transfer.
    pub(super) fn poll(&mut self, now: Nanos) -> Result<Option<ReceiveEvent>, Failure> {
        self.receiver.handle_timeout(now);
        let event = self.receiver.poll_event();
        if let Some(ReceiveEvent::Complete { bytes }) = event {
            self.to_check = Some(bytes);
        } else if event.is_some() {
            return Ok(event);
        }
        if let Some(bytes) = self.to_check
            && let Some(crc) = self.store.crc(bytes)?
        {
            self.to_check = None;
            self.receiver.handle_crc(now, crc);
            return Ok(self.receiver.poll_event());
        }
        Ok(None)
    }

    /// Whether [`Receiving::poll`] has work to do at once.
    pub(super) const fn is_checking(&self) -> bool {
        self.to_check.is_some()
    }

    /// Gives the link the answers.
    pub(super) fn send(&mut self, link: &mut Link) -> Result<(), Failure> {
        loop {
            if self.waiting.is_none() {
                self.waiting = self.receiver.poll_transmit(&mut self.frame);
            }
            let Some(len) = self.waiting else { return Ok(()) };
            if !link.send(&self.frame[..len])? {
                return Ok(());
            }
            self.waiting = None;
        }
    }

    /// Waits for the next transfer.
    pub(super) fn listen(&mut self) {
        self.receiver.listen();
        (self.to_check, self.began_at) = (None, None);
    }

    /// When a timer expires.
    pub(super) fn until(&self) -> Until {
        self.receiver.poll_timeout().map_or(Until::Frame, Until::Asleep)
    }
}

/// Takes what has come, up to a number of frames; whether there may be more.
pub(super) fn take_all(
    link: &mut Link,
    into: &mut [u8],
    mut take: impl FnMut(Nanos, &[u8]) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    for _ in 0..TURN_FRAMES_MAX {
        let Some(len) = link.recv(into)? else { return Ok(false) };
        take(link.now(), &into[..len])?;
    }
    Ok(true)
}

/// Bytes in memory, to send from or to receive into.
pub(super) struct Memory(pub(super) Vec<u8>);

impl Source for Memory {
    fn bytes(&mut self, at: Range<u64>) -> Result<&[u8], Failure> {
        Ok(&self.0[at.start as usize..at.end as usize])
    }
}

impl Store for Memory {
    fn place(&mut self, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        // Before the summary the last packet may have padding.
        let start = (at as usize).min(self.0.len());
        let end = (start + bytes.len()).min(self.0.len());
        self.0[start..end].copy_from_slice(&bytes[..end - start]);
        Ok(())
    }

    fn crc(&mut self, bytes: u64) -> Result<Option<u32>, Failure> {
        Ok(Some(crc32c(&self.0[..bytes as usize])))
    }
}

/// Memory with a bit for each packet.
fn bits(bytes: u64, packet_bytes: u16) -> Vec<u32> {
    let packets = bytes.div_ceil(packet_bytes.max(1).into()).min(u32::MAX.into());
    // Below 2^27.
    vec![0; packets.div_ceil(u32::BITS.into()) as usize]
}

fn frame() -> Box<[u8]> {
    vec![0; samplewire_proto::block::FRAME_BYTES_MAX].into()
}

/// The shorter one of the default payloads: it has more packets.
const PACKET_BYTES: u16 = 1_477;

/// Frames between two looks at what comes and at what may leave.
const TURN_FRAMES_MAX: usize = 64;
