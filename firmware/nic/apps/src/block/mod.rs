//! Block transfer (`docs/block.md`): keeps the file that a sender transfers, and transfers it back.

#[cfg(test)]
mod tests;

use samplewire_nic_driver::{Buffer, Bus, Nic, Server};
use samplewire_proto::Nanos;
use samplewire_proto::block::wire::Header;
use samplewire_proto::block::{
    FRAME_BYTES_MAX, ReceiveEvent, Receiver, ReceiverConfig, Sender, SenderConfig, TransferId,
};
use samplewire_proto::crc::crc32c;

/// One end that sends back what it has received.
pub struct BlockEcho<'m, B: Bus> {
    nic: Nic<B>,
    server: Server<B>,
    mac: [u8; 6],
    file: &'m mut [u8],
    receiver: Receiver<Packets>,
    /// Where the present transfer came from, once it is complete, and its CRC.
    from: Option<(Header, u32)>,
    sender: Option<Sender<Packets>>,
    last: Nanos,
}

impl<'m, B: Bus> BlockEcho<'m, B> {
    /// An end with the address `mac`, for files as long as `file`.
    ///
    /// # Panics
    /// When `file` is longer than [`FILE_BYTES_MAX`].
    pub fn new(bus: B, server: Server<B>, mac: [u8; 6], file: &'m mut [u8]) -> Self {
        assert!(file.len() <= FILE_BYTES_MAX, "a bit for each packet");
        let config = ReceiverConfig::new(mac, file.len() as u64);
        let Ok(receiver) = Receiver::new(config, PACKETS_NONE) else {
            unreachable!("packets of the default length and a bound below 2^63 are in range")
        };
        let nic = Nic::new(bus);
        Self { nic, server, mac, file, receiver, from: None, sender: None, last: Nanos(0) }
    }

    /// Takes the frames that have come and sends what is to be sent. True if there was a frame.
    pub fn poll(&mut self, now: Nanos) -> bool {
        let mut is_frame = false;
        for _ in 0..FRAMES_AT_ONCE {
            let Some(buffer) = self.server.receive() else { break };
            is_frame = true;
            self.take(now, buffer);
        }
        // Timers have steps of `now`.
        if !is_frame && now == self.last && self.sender.is_none() {
            return false;
        }
        self.last = now;
        self.receiver.handle_timeout(now);
        self.answer();
        while let Some(event) = self.receiver.poll_event() {
            self.handle(now, event);
            self.answer();
        }
        self.send(now);
        is_frame
    }

    /// Whether a file is on its way back.
    pub const fn is_sending(&self) -> bool {
        self.sender.is_some()
    }

    fn take(&mut self, now: Nanos, mut buffer: Buffer<B>) {
        buffer.frame(|frame| {
            if frame.get(TYPE_OFFSET).is_some_and(|kind| *kind & TYPE_MASK == ANSWER) {
                if let Some(sender) = &mut self.sender {
                    sender.handle(now, frame);
                }
                return;
            }
            if let Some(place) = self.receiver.handle(now, frame) {
                let first = place.offset as usize;
                self.file[first..first + place.bytes.len()].copy_from_slice(place.bytes);
            }
        });
    }

    /// Sends the receiver's answers.
    fn answer(&mut self) {
        while let Some(mut buffer) = self.server.allocate() {
            let len = buffer.fill(FRAME_BYTES_MAX, |out| self.receiver.poll_transmit(out));
            let Some(len) = len else { return };
            buffer.set_len(len);
            self.server.transmit(buffer);
        }
    }

    fn handle(&mut self, now: Nanos, event: ReceiveEvent) {
        match event {
            ReceiveEvent::Complete { bytes } => {
                let crc = crc32c(&self.file[..bytes as usize]);
                self.from = self.receiver.transfer().map(|header| (*header, crc));
                self.receiver.handle_crc(now, crc);
            }
            ReceiveEvent::Done { bytes } => {
                let Some((header, crc)) = self.from.take() else { return };
                let id = header.transfer.map(|id| other_id(id, now));
                let config = SenderConfig::new(self.mac, header.source, id);
                // A group address or more packets than bits: neither can come from the receiver.
                self.sender = Sender::new(config, bytes, crc, PACKETS_NONE).ok();
            }
            ReceiveEvent::Failed(_) => self.receiver.listen(),
        }
    }

    /// Sends the file back, as long as buffers to receive are left.
    fn send(&mut self, now: Nanos) {
        let Some(sender) = &mut self.sender else { return };
        sender.handle_timeout(now);
        while self.nic.free_level() > BUFFERS_TO_RECEIVE {
            let Some(mut buffer) = self.server.allocate() else { break };
            let Some(transmit) = sender.poll_transmit(now) else { break };
            let payload = transmit.payload().map_or(0..0, |at| at.start as usize..at.end as usize);
            let payload = &self.file[payload];
            let len = buffer.fill(FRAME_BYTES_MAX, |out| transmit.emit(payload, out));
            buffer.set_len(len);
            self.server.transmit(buffer);
        }
        if sender.poll_event().is_some() {
            self.sender = None;
            self.receiver.listen();
        }
    }
}

/// An ID for the way back, which differs from the one received and from those before.
fn other_id(id: TransferId, now: Nanos) -> TransferId {
    let drawn = (now.0 as u32).wrapping_mul(0x9E37_79B1) ^ id.0.rotate_left(16) ^ 0x5357_4249;
    TransferId(if drawn == id.0 { !drawn } else { drawn })
}

/// A bit for each packet.
type Packets = [u32; PACKETS_MAX.div_ceil(32)];
const PACKETS_NONE: Packets = [0; PACKETS_MAX.div_ceil(32)];
const PACKETS_MAX: usize = 64;

/// The longest file: so many packets of 1,477 bytes.
pub const FILE_BYTES_MAX: usize = PACKETS_MAX * 1477;

/// Frames that are taken before what they cause is done.
const FRAMES_AT_ONCE: u32 = 16;
/// Buffers that the file on its way back leaves to the NIC.
const BUFFERS_TO_RECEIVE: u32 = 16;

const TYPE_OFFSET: usize = 14;
/// Types 0x03 and 0x13 are answers.
const TYPE_MASK: u8 = 0x0F;
const ANSWER: u8 = 0x03;
