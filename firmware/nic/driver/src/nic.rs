//! Starting the NIC, and its registers for a person.

use crate::buffer::{Buffer, push_free};
use crate::bus::Bus;
use crate::regs::Register;
use crate::regs::nic as regs;
use crate::server::SERVERS_MAX;

/// The NIC, as the one processor that starts it has it.
#[derive(Clone, Copy, Debug)]
pub struct Nic<B>(B);

/// What the NIC starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Our Ethernet address.
    pub mac: [u8; 6],
    /// Servers that get frames, 1 to 4.
    pub servers: u32,
    /// How the server of a received frame is chosen.
    pub choice: Choice,
    /// Number of buffers, from address 0 of packet memory on: 1 to 64, or more if the NIC is built for them.
    pub buffers: u32,
    /// Frames that are kept: bit 0 to our address, 1 broadcast, 2 multicast, 3 all.
    pub filter: u32,
}

/// How the server of a received frame is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By turns.
    Turns = 0,
    /// By the hash of the flow.
    Hash = 1,
    /// Data frames to the servers from 1 on by the hash, all others to server 0. Which those are is in the
    /// NIC's register `data_frames`: after a reset EtherType 0x88B5 and UDP port 9100.
    Control = 2,
}

/// Why the NIC has not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// A number of servers or buffers is out of range.
    Range,
    /// The NIC has other buffers, as it was started otherwise and needs a reset; or it is built for fewer.
    Refused,
    /// The free queue did not take a buffer; the result of the push.
    Push(u32),
}

impl<B: Bus> Nic<B> {
    /// The NIC at `bus`.
    pub const fn new(bus: B) -> Self {
        Self(bus)
    }

    /// Gives the NIC its buffers, and enables it, its MAC and its interrupts. Other processors wait for
    /// [`Nic::is_started`] meanwhile.
    ///
    /// After a restart of the processors alone, buffers that the NIC owns stay where they are, and
    /// those that a program had are freed.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(&self, config: &Config) -> Result<(), StartError> {
        if config.buffers > QUEUE_MAX {
            return Err(StartError::Range);
        }
        self.start_keeping(config, config.buffers, drop)
    }

    /// As [`Nic::start`], for more buffers than a queue holds: gives the NIC `free` of them, 1 to 64, and
    /// the others to `keep`. After a restart that is less what still waits to be received or sent.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start_keeping(
        &self,
        config: &Config,
        free: u32,
        mut keep: impl FnMut(Buffer<B>),
    ) -> Result<(), StartError> {
        let bus = self.0;
        if !(1..=BUFFERS_MAX).contains(&config.buffers)
            || !(1..=SERVERS_MAX).contains(&config.servers)
            || !(1..=QUEUE_MAX).contains(&free)
        {
            return Err(StartError::Range);
        }
        bus.write(regs::LOCK, 1);
        bus.write(regs::CONTROL, 0);
        for (offset, value) in
            [(regs::BASE, 0), (regs::BUFFER_SIZE, BUFFER_BITS), (regs::BUFFERS, config.buffers)]
        {
            // Refused while the NIC owns a buffer; then it must be as before.
            bus.write(offset, value);
            if bus.read(offset) != value {
                return Err(StartError::Refused);
            }
        }
        let [m0, m1, m2, m3, m4, m5] = config.mac;
        bus.write(regs::MAC_LO, u32::from_le_bytes([m0, m1, m2, m3]));
        bus.write(regs::MAC_HI, u32::from_le_bytes([m4, m5, 0, 0]));
        bus.write(regs::FILTER, config.filter);
        bus.write(regs::SERVERS, config.servers);
        bus.write(regs::CHOICE, config.choice as u32);
        // Counted and not computed from levels: the transmit engine frees what it has under way.
        let (mut kept, kept_max) = (0, config.buffers.saturating_sub(free));
        let mut keep = |buffer| {
            kept += 1;
            keep(buffer);
            kept < kept_max
        };
        let mut is_more = kept_max > 0;
        // Loops over pops go on while another port has the lock: it ends after `lock_cycles` at most.
        let pop = || Buffer::popped(bus, bus.read(regs::FREE));
        for address in (0..config.buffers).map(|n| n * BUFFER_BYTES) {
            loop {
                match push_free(bus, address) {
                    // Refused: after a restart the NIC may have it.
                    DONE | REFUSED => break,
                    FULL => match pop() {
                        // There from before the restart, or since the engine freed it. Its push follows.
                        Some(buffer) if buffer.address() > address => {
                            buffer.into_address();
                        }
                        Some(buffer) => is_more = keep(buffer),
                        None => {}
                    },
                    result => return Err(StartError::Push(result)),
                }
            }
        }
        while is_more && self.free_level() > 1 {
            if let Some(buffer) = pop() {
                is_more = keep(buffer);
            }
        }
        let enables = regs::CONTROL_ENABLE_MASK << regs::CONTROL_ENABLE_SHIFT
            | regs::CONTROL_ENABLE_MAC_MASK << regs::CONTROL_ENABLE_MAC_SHIFT
            | regs::CONTROL_ENABLE_IRQ_MASK << regs::CONTROL_ENABLE_IRQ_SHIFT;
        bus.write(regs::CONTROL, enables);
        Ok(())
    }

    /// The NIC's Ethernet address: what the board's loader has written before the processors started, the
    /// register's reset value without one, or what [`Nic::start`] has written.
    pub fn mac(&self) -> [u8; 6] {
        let [m0, m1, m2, m3] = self.0.read(regs::MAC_LO).to_le_bytes();
        let [m4, m5, ..] = self.0.read(regs::MAC_HI).to_le_bytes();
        [m0, m1, m2, m3, m4, m5]
    }

    /// Whether the NIC is enabled.
    pub fn is_started(&self) -> bool {
        self.0.read(regs::CONTROL) & regs::CONTROL_ENABLE_MASK != 0
    }

    /// Buffers in the free queue.
    pub fn free_level(&self) -> u32 {
        self.0.read(regs::FREE_LEVEL)
    }

    /// Copies all counters as of one cycle, for [`Nic::counter`].
    pub fn snapshot(&self) {
        self.0.write(regs::COMMAND, 1);
    }

    /// The low word of an entry of [`regs::COUNTERS`](crate::regs::nic::COUNTERS).
    pub fn counter(&self, entry: u32) -> u32 {
        self.0.read(regs::COUNTERS_WINDOW + 8 * entry)
    }
}

/// Whether a person may read or write a register of the NIC: an access to a queue would move a buffer
/// that a program or the NIC has, and a change of the buffers would too.
pub fn is_accessible(register: &Register, is_write: bool) -> bool {
    let is_steady =
        [regs::BASE, regs::BUFFER_SIZE, regs::BUFFERS, regs::ADDRESS_HIGH, regs::DEBUG_1]
            .contains(&u32::from(register.offset));
    if is_write { register.is_writable() && !is_steady } else { register.is_readable() }
}

impl StartError {
    /// In words, without the formatting of a `Display`, which would be half of a small image.
    pub const fn text(&self) -> &'static str {
        match self {
            Self::Range => "servers or buffers out of range",
            Self::Refused => "the NIC has other buffers: reset it",
            Self::Push(_) => "the free queue does not take a buffer",
        }
    }
}

/// The most buffers that a NIC is built for.
const BUFFERS_MAX: u32 = 16_384;
/// What a queue holds. With no more buffers no queue is ever full.
const QUEUE_MAX: u32 = 64;

/// Buffers of 2 KiB: 128 << 4.
const BUFFER_BITS: u32 = 4;
const BUFFER_BYTES: u32 = 128 << BUFFER_BITS;

/// Results of a push.
const DONE: u32 = 0;
/// The queue is full.
const FULL: u32 = 2;
/// The NIC owns the buffer already.
const REFUSED: u32 = 4;
