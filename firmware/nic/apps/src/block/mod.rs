//! Block transfer (`docs/block.md`): keeps the file that a sender transfers, and transfers it back.
//!
//! A packet stays in the buffer in which it arrived, and leaves from there: no payload is copied. Each slot
//! of the store has one buffer. A received packet takes the place of its slot's buffer, which goes to the
//! free queue, so the NIC always has as many buffers to receive.

mod check;
mod head;
#[cfg(test)]
mod tests;

use samplewire_nic_driver::{Buffer, Bus, Server};
use samplewire_proto::Nanos;
use samplewire_proto::block::{
    FRAME_BYTES_MAX, ReceiveEvent, Receiver, ReceiverConfig, Sender, SenderConfig, TransferId,
    Transmit, Types,
};

use check::Check;
pub use check::Crc32c;
use head::Head;

/// One end that sends back what it has received: files of up to 32 * `WORDS` packets.
pub struct BlockEcho<'m, B: Bus, C: Crc32c, const WORDS: usize> {
    server: Server<B>,
    unit: C,
    mac: [u8; 6],
    /// The buffer of each packet; none while the NIC sends it.
    slots: &'m mut [Option<Buffer<B>>],
    receiver: Receiver<[u32; WORDS]>,
    /// That of the DATA of the present transfer.
    head: Option<Head>,
    /// Whether the receiver may have an answer to send.
    owes_answer: bool,
    /// The check of the present transfer, if it has an ID, and the CRC of the last one.
    check: Option<Check>,
    crc: u32,
    sender: Option<Sending<WORDS>>,
    leaving: Leaving,
    last: Nanos,
}

/// A file on its way back.
struct Sending<const WORDS: usize> {
    sender: Sender<[u32; WORDS]>,
    /// A packet whose buffer has not come back from its transmission before.
    waiting: Option<Transmit>,
    is_over: bool,
}

impl<'m, B: Bus, C: Crc32c, const WORDS: usize> BlockEcho<'m, B, C, WORDS> {
    /// An end with the address `mac`, for files of as many packets as `slots` has, each with a buffer. The
    /// NIC has [`BUFFERS_TO_RECEIVE`] others. `unit` computes the CRC of a transfer with an ID.
    ///
    /// # Panics
    /// When there are more than 32 * `WORDS` slots.
    pub fn new(
        server: Server<B>,
        mac: [u8; 6],
        slots: &'m mut [Option<Buffer<B>>],
        unit: C,
    ) -> Self {
        let packets = slots.len();
        assert!(packets <= 32 * WORDS, "a bit for each packet");
        let config = ReceiverConfig {
            types: Types::Either,
            ..ReceiverConfig::new(mac, packets as u64 * PACKET_BYTES)
        };
        let Ok(receiver) = Receiver::new(config, [0; WORDS]) else {
            unreachable!("packets of the default length and a bound below 2^63 are in range")
        };
        Self {
            server,
            unit,
            mac,
            slots,
            receiver,
            head: None,
            owes_answer: false,
            check: None,
            crc: 0,
            sender: None,
            leaving: Leaving::default(),
            last: Nanos(0),
        }
    }

    /// Takes the frames that have come and sends what is to be sent. True if there was a frame.
    pub fn poll(&mut self, now: Nanos) -> bool {
        let mut is_frame = false;
        for _ in 0..FRAMES_AT_ONCE {
            let Some(buffer) = self.server.receive() else { break };
            is_frame = true;
            self.take(now, buffer);
            // Behind the last answer may be the first packets of the next file.
            if self.sender.as_ref().is_some_and(|sending| sending.is_over) {
                break;
            }
        }
        // A packet is added to the CRC while no frame waits, or when all are there.
        let checks = self.check.as_ref().is_some_and(|check| {
            check.is_complete() || !is_frame && self.receiver.has(check.next())
        });
        // Timers have steps of `now`.
        if !is_frame && now == self.last && self.sender.is_none() && !checks {
            return false;
        }
        self.last = now;
        self.receiver.handle_timeout(now);
        if self.owes_answer {
            self.answer();
        }
        if checks
            && let Some(check) = &mut self.check
            && let Some(crc) = check.step(self.slots, &mut self.unit)
        {
            (self.check, self.crc) = (None, crc);
            self.receiver.handle_crc(now, crc);
        }
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

    #[inline(always)]
    fn take(&mut self, now: Nanos, mut buffer: Buffer<B>) {
        if let Some(head) = &self.head
            && let Some(data) = head.data(&mut buffer)
        {
            if self.receiver.handle_data(now, data.seq, data.payload_len) {
                self.keep(data.seq, buffer);
            }
            return;
        }
        self.take_other(now, buffer);
    }

    /// Gives a packet its slot. The buffer that was there is freed.
    #[inline(always)]
    fn keep(&mut self, seq: u32, buffer: Buffer<B>) {
        if let Some(slot) = self.slots.get_mut(seq as usize) {
            *slot = Some(buffer);
        }
    }

    /// Takes a frame that is not one more packet of the present transfer.
    #[inline(never)]
    fn take_other(&mut self, now: Nanos, mut buffer: Buffer<B>) {
        self.owes_answer = true;
        if buffer.is_returned() {
            // One from before a restart of this program is freed.
            if let Some(seq) = self.leaving.take(buffer.address()) {
                self.slots[seq as usize] = Some(buffer);
            }
            return;
        }
        let seq = buffer.frame(|frame| {
            if frame.get(TYPE_OFFSET).is_some_and(|kind| *kind & TYPE_MASK == ANSWER) {
                if let Some(sending) = &mut self.sender {
                    sending.sender.handle(now, frame);
                    sending.is_over |= sending.sender.poll_event().is_some();
                }
                return None;
            }
            self.receiver.handle(now, frame).map(|place| place.seq)
        });
        if let Some(seq) = seq {
            let has_id = self.receiver.transfer().is_some_and(|header| header.transfer.is_some());
            if self.head.is_none() && has_id {
                self.check = Some(Check::new());
            }
            self.head = Some(Head::new(&mut buffer));
            self.keep(seq, buffer);
        }
    }

    /// Sends the receiver's answers, as long as there are buffers.
    fn answer(&mut self) {
        while let Some(mut buffer) = self.server.allocate() {
            let len = buffer.fill(FRAME_BYTES_MAX, |out| self.receiver.poll_transmit(out));
            self.owes_answer = len.is_some();
            let Some(len) = len else { return };
            buffer.set_len(len);
            self.server.transmit(buffer);
        }
    }

    fn handle(&mut self, now: Nanos, event: ReceiveEvent) {
        self.head = None;
        match event {
            ReceiveEvent::Complete { bytes } => {
                self.check.get_or_insert_with(Check::new).complete(bytes);
            }
            ReceiveEvent::Done { bytes } => {
                let Some(header) = self.receiver.last_done() else { return };
                let id = header.transfer.map(|id| other_id(id, now));
                let config = SenderConfig::new(self.mac, header.source, id);
                // A group address or more packets than bits: neither can come from the receiver.
                let sender = Sender::new(config, bytes, self.crc, [0; WORDS]).ok();
                self.sender =
                    sender.map(|sender| Sending { sender, waiting: None, is_over: false });
            }
            ReceiveEvent::Failed(_) => {
                self.check = None;
                self.receiver.listen();
            }
        }
    }

    /// Sends the file back. The slots are whole again before another file is received.
    fn send(&mut self, now: Nanos) {
        let Some(sending) = &mut self.sender else { return };
        sending.sender.handle_timeout(now);
        sending.is_over |= sending.sender.poll_event().is_some();
        while !sending.is_over && !self.leaving.is_full() {
            let next = sending.waiting.take().or_else(|| sending.sender.poll_transmit(now));
            let Some(transmit) = next else { break };
            let Some(seq) = transmit.seq() else {
                let Some(mut buffer) = self.server.allocate() else { break };
                let len = buffer.fill(FRAME_BYTES_MAX, |out| transmit.emit(&[], out));
                buffer.set_len(len);
                self.server.transmit(buffer);
                continue;
            };
            let Some(mut buffer) = self.slots[seq as usize].take() else {
                sending.waiting = Some(transmit);
                break;
            };
            let len = buffer.frame(|frame| transmit.emit_in_place(frame));
            self.leaving.add(buffer.address(), seq);
            self.server.send_and_return(buffer, len);
        }
        if sending.is_over && self.leaving.is_empty() {
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

/// The packets that the NIC sends, in the order in which it got them, and returns.
#[derive(Debug, Default)]
struct Leaving {
    packets: [(u32, u32); LEAVING_MAX],
    first: usize,
    count: usize,
}

impl Leaving {
    const fn is_empty(&self) -> bool {
        self.count == 0
    }

    const fn is_full(&self) -> bool {
        self.count == LEAVING_MAX
    }

    fn add(&mut self, address: u32, seq: u32) {
        self.packets[(self.first + self.count) % LEAVING_MAX] = (address, seq);
        self.count += 1;
    }

    /// The packet whose buffer has come back, if it is the next one.
    fn take(&mut self, address: u32) -> Option<u32> {
        let (next, seq) = self.packets[self.first];
        if self.is_empty() || next != address {
            return None;
        }
        self.first = (self.first + 1) % LEAVING_MAX;
        self.count -= 1;
        Some(seq)
    }
}

/// Frames that are taken before what they cause is done.
const FRAMES_AT_ONCE: u32 = 16;
/// Buffers that the NIC has to receive and for frames without payload, and those that it has to send at a
/// time beside them: 64 together, so that no queue is ever full.
pub const BUFFERS_TO_RECEIVE: u32 = 48;
const LEAVING_MAX: usize = 16;

/// Of a full packet with a transfer ID; without it has 4 more.
const PACKET_BYTES: u64 = 1477;

const TYPE_OFFSET: usize = 14;
/// Types 0x03 and 0x13 are answers.
const TYPE_MASK: u8 = 0x0F;
const ANSWER: u8 = 0x03;
