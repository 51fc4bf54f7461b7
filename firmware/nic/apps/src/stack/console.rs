//! The console: lines over TCP that read and write the board's registers.
//!
//! ```text
//! read NAME           a register: nic.NAME, or sender.NAME if the board has a sender
//! write NAME VALUE    decimal, or hexadecimal with 0x
//! counters            all counters of the NIC, the sender and the device
//! ```
//!
//! Each line is answered by one line, `counters` by one for each counter first. The last line is a value,
//! `ok`, or `error: ..`, as on the socket of a simulated board. It has no password: it is for a network that only its owner uses.

use samplewire_nic_driver::regs::{nic, sender};
use samplewire_nic_driver::{Bus, Nic, is_accessible};
use smoltcp::socket::tcp;

use super::device::DeviceCounters;

/// The state of the one connection.
pub(super) struct Console<B> {
    bus: B,
    has_sender: bool,
    line: [u8; LINE_BYTES_MAX],
    len: usize,
    /// The line is longer than there is room for.
    is_too_long: bool,
    /// The next counter to be listed.
    listing: Option<usize>,
}

impl<B: Bus> Console<B> {
    pub(super) fn new(bus: B) -> Self {
        Self {
            bus,
            has_sender: bus.read_sender(sender::ID) == sender::ID_VALUE,
            line: [0; LINE_BYTES_MAX],
            len: 0,
            is_too_long: false,
            listing: None,
        }
    }

    /// Takes what has come and answers it as far as there is room to send.
    pub(super) fn poll(&mut self, socket: &mut tcp::Socket<'_>, device: &DeviceCounters) {
        if !socket.is_open() {
            (self.len, self.is_too_long, self.listing) = (0, false, None);
            socket.listen(PORT).expect("it is closed, and the port is not 0");
            return;
        }
        while socket.may_send() && socket.send_capacity() - socket.send_queue() >= ANSWER_BYTES_MAX
        {
            if let Some(next) = self.listing {
                self.list(next, socket, device);
            } else {
                let mut byte = [0];
                if socket.recv_slice(&mut byte) != Ok(1) {
                    break;
                }
                self.take(byte[0], socket);
            }
        }
        if !socket.may_recv() && socket.may_send() && !socket.can_recv() && self.listing.is_none() {
            socket.close();
        }
    }

    fn take(&mut self, byte: u8, socket: &mut tcp::Socket<'_>) {
        match byte {
            b'\n' => {
                let len = core::mem::take(&mut self.len);
                let is_too_long = core::mem::take(&mut self.is_too_long);
                let line = self.line;
                let answer = match core::str::from_utf8(&line[..len]) {
                    Ok(line) if !is_too_long => self.answer(line),
                    _ => Answer::Text("error: a line of at most 80 characters"),
                };
                let mut out = Text::new();
                match answer {
                    Answer::Text(text) => out.push(text),
                    Answer::Value(value) => out.push_hex(value),
                    Answer::Counters => {
                        self.listing = Some(0);
                        return;
                    }
                }
                out.send(socket);
            }
            _ if self.len == LINE_BYTES_MAX => self.is_too_long = true,
            _ => {
                self.line[self.len] = byte;
                self.len += 1;
            }
        }
    }

    fn answer(&self, line: &str) -> Answer {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("read"), Some(name), None, None) => match self.find(name, false) {
                Some((true, offset)) => Answer::Value(self.bus.read_sender(offset)),
                Some((false, offset)) => Answer::Value(self.bus.read(offset)),
                None => Answer::Text("error: no such register, or it is not readable"),
            },
            (Some("write"), Some(name), Some(value), None) => {
                match (self.find(name, true), number(value)) {
                    (Some((is_sender, offset)), Some(value)) => {
                        if is_sender {
                            self.bus.write_sender(offset, value);
                        } else {
                            self.bus.write(offset, value);
                        }
                        Answer::Text("ok")
                    }
                    (None, _) => Answer::Text("error: no such register, or it is not writable"),
                    (_, None) => Answer::Text("error: not a number of 32 bits"),
                }
            }
            (Some("counters"), None, None, None) => {
                Nic::new(self.bus).snapshot();
                if self.has_sender {
                    let snapshot = sender::COMMAND_SNAPSHOT_MASK << sender::COMMAND_SNAPSHOT_SHIFT;
                    self.bus.write_sender(sender::COMMAND, snapshot);
                }
                Answer::Counters
            }
            _ => Answer::Text("error: read NAME, write NAME VALUE or counters"),
        }
    }

    /// Whether a register that may be accessed is the sender's, and its offset.
    fn find(&self, name: &str, is_write: bool) -> Option<(bool, u32)> {
        let (is_sender, name, registers) = if let Some(name) = name.strip_prefix("nic.") {
            (false, name, &nic::REGISTERS[..])
        } else {
            let name = name.strip_prefix("sender.").filter(|_| self.has_sender)?;
            (true, name, &sender::REGISTERS[..])
        };
        let register = registers.iter().find(|register| register.name == name)?;
        let is_allowed = match (is_sender, is_write) {
            (false, _) => is_accessible(register, is_write),
            (true, true) => register.is_writable(),
            (true, false) => register.is_readable(),
        };
        is_allowed.then_some((is_sender, u32::from(register.offset)))
    }

    /// Sends the line of a counter, or `ok` behind the last one.
    fn list(&mut self, next: usize, socket: &mut tcp::Socket<'_>, device: &DeviceCounters) {
        let of_device = [
            ("received", device.received),
            ("sent", device.sent),
            ("bad_checksum", device.bad_checksum),
            ("fragments", device.fragments),
            ("no_buffer", device.no_buffer),
        ];
        let of_nic = next.wrapping_sub(of_device.len());
        let of_sender = of_nic.wrapping_sub(nic::COUNTERS.len());
        let low_and_high = |window: u32, entry: usize, read: &dyn Fn(u32) -> u32| {
            let at = window + 8 * entry as u32;
            // The low word first: reading it keeps the high one.
            let low = read(at);
            u64::from(read(at + 4)) << 32 | u64::from(low)
        };
        let mut out = Text::new();
        let found = if let Some((name, value)) = of_device.get(next) {
            Some(("device.", *name, u64::from(*value)))
        } else if let Some(name) = nic::COUNTERS.get(of_nic) {
            let value = low_and_high(nic::COUNTERS_WINDOW, of_nic, &|at| self.bus.read(at));
            Some(("nic.", *name, value))
        } else if let Some(name) = sender::COUNTERS.get(of_sender).filter(|_| self.has_sender) {
            let read = |at| self.bus.read_sender(at);
            Some(("sender.", *name, low_and_high(sender::COUNTERS_WINDOW, of_sender, &read)))
        } else {
            None
        };
        self.listing = found.map(|_| next + 1);
        if let Some((place, name, value)) = found {
            out.push(place);
            out.push(name);
            out.push(" ");
            out.push_decimal(value);
        } else {
            out.push("ok");
        }
        out.send(socket);
    }
}

/// What a line is answered with.
enum Answer {
    Text(&'static str),
    Value(u32),
    /// All counters, from the next poll on.
    Counters,
}

/// One line of an answer.
struct Text {
    bytes: [u8; ANSWER_BYTES_MAX],
    len: usize,
}

impl Text {
    const fn new() -> Self {
        Self { bytes: [0; ANSWER_BYTES_MAX], len: 0 }
    }

    fn push(&mut self, text: &str) {
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text.as_bytes());
        self.len += text.len();
    }

    fn push_byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn push_hex(&mut self, value: u32) {
        self.push("0x");
        for byte in value.to_be_bytes() {
            for digit in [byte >> 4, byte & 15] {
                self.push_byte(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit });
            }
        }
    }

    fn push_decimal(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        for digit in &digits[first..] {
            self.push_byte(*digit);
        }
    }

    /// Sends it as a line. The caller has seen that there is room.
    fn send(mut self, socket: &mut tcp::Socket<'_>) {
        self.push("\r\n");
        let sent = socket.send_slice(&self.bytes[..self.len]);
        debug_assert_eq!(sent, Ok(self.len));
    }
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

const PORT: u16 = 23;
const LINE_BYTES_MAX: usize = 80;
/// Prefix, name, 20 digits and the end of the line.
const ANSWER_BYTES_MAX: usize = 80;
