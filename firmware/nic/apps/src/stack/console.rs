//! The console: lines over TCP that read and write the board's registers.
//!
//! ```text
//! read NAME           a register: nic.NAME, or sender.NAME if the board has a sender
//! write NAME VALUE    decimal, or hexadecimal with 0x
//! counters            all counters of the NIC, the sender and the device
//! ```
//!
//! Each line is answered by one line, `counters` by one for each counter and an empty one. It has no
//! password: it is for a network that only its owner uses.

use samplewire_nic_driver::regs::{Register, nic, sender};
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
                let (len, line) = (core::mem::take(&mut self.len), self.line);
                let is_too_long = core::mem::take(&mut self.is_too_long);
                let mut out = Text::new();
                match core::str::from_utf8(&line[..len]) {
                    Ok(line) if !is_too_long => self.answer(line, &mut out),
                    _ => out.push("error: a line of at most 80 characters"),
                }
                if self.listing.is_none() {
                    out.send(socket);
                }
            }
            b'\r' => {}
            _ if self.len == LINE_BYTES_MAX => self.is_too_long = true,
            _ => {
                self.line[self.len] = byte;
                self.len += 1;
            }
        }
    }

    fn answer(&mut self, line: &str, out: &mut Text) {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("read"), Some(name), None, None) => match self.find(name, false) {
                Some((is_sender, register)) => {
                    let offset = u32::from(register.offset);
                    out.push_hex(if is_sender {
                        self.bus.read_sender(offset)
                    } else {
                        self.bus.read(offset)
                    });
                }
                None => out.push("error: no such register, or it is not readable"),
            },
            (Some("write"), Some(name), Some(value), None) => {
                match (self.find(name, true), number(value)) {
                    (Some((is_sender, register)), Some(value)) => {
                        let offset = u32::from(register.offset);
                        if is_sender {
                            self.bus.write_sender(offset, value);
                        } else {
                            self.bus.write(offset, value);
                        }
                        out.push("ok");
                    }
                    (None, _) => out.push("error: no such register, or it is not writable"),
                    (_, None) => out.push("error: not a number of 32 bits"),
                }
            }
            (Some("counters"), None, None, None) => {
                Nic::new(self.bus).snapshot();
                if self.has_sender {
                    let snapshot = sender::COMMAND_SNAPSHOT_MASK << sender::COMMAND_SNAPSHOT_SHIFT;
                    self.bus.write_sender(sender::COMMAND, snapshot);
                }
                self.listing = Some(0);
            }
            _ => out.push("error: read NAME, write NAME VALUE or counters"),
        }
    }

    /// A register that may be accessed, and whether it is the sender's.
    fn find(&self, name: &str, is_write: bool) -> Option<(bool, &'static Register)> {
        let by_name = |registers: &'static [Register], name| {
            registers.iter().find(|register| register.name == name)
        };
        if let Some(name) = name.strip_prefix("nic.") {
            let register = by_name(&nic::REGISTERS, name)?;
            return is_accessible(register, is_write).then_some((false, register));
        }
        let name = name.strip_prefix("sender.").filter(|_| self.has_sender)?;
        let register = by_name(&sender::REGISTERS, name)?;
        let is_allowed = if is_write { register.is_writable() } else { register.is_readable() };
        is_allowed.then_some((true, register))
    }

    /// Sends the line of a counter.
    fn list(&mut self, next: usize, socket: &mut tcp::Socket<'_>, device: &DeviceCounters) {
        let of_device = [
            ("received", device.received),
            ("sent", device.sent),
            ("bad_checksum", device.bad_checksum),
            ("fragments", device.fragments),
        ];
        let mut out = Text::new();
        let mut counter = |place: &str, name: &str, low: u32, high: u32| {
            out.push(place);
            out.push(name);
            out.push(" ");
            out.push_decimal(u64::from(high) << 32 | u64::from(low));
        };
        let at = |window: u32, entry: usize| window + 8 * entry as u32;
        self.listing = Some(next + 1);
        let of_sender = if self.has_sender { sender::COUNTERS.len() } else { 0 };
        let (mut entry, first_sender) = (next, of_device.len() + nic::COUNTERS.len());
        if let Some((name, value)) = of_device.get(entry) {
            counter("device.", name, *value, 0);
        } else if entry < first_sender {
            entry -= of_device.len();
            let at = at(nic::COUNTERS_WINDOW, entry);
            let (low, high) = (self.bus.read(at), self.bus.read(at + 4));
            counter("nic.", nic::COUNTERS[entry], low, high);
        } else if entry < first_sender + of_sender {
            entry -= first_sender;
            let at = at(sender::COUNTERS_WINDOW, entry);
            let (low, high) = (self.bus.read_sender(at), self.bus.read_sender(at + 4));
            counter("sender.", sender::COUNTERS[entry], low, high);
        } else {
            self.listing = None;
        }
        out.send(socket);
    }
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
