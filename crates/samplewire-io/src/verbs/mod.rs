//! Memory of quanta that an RDMA network card writes to (libibverbs, Linux).
//!
//! A [`Receiver`] has a device, memory that is registered with it, and one reliable connection after the
//! other. A message that a peer sends lies in a [`Quantum`] of a pool, which goes back to the card when
//! it is dropped; without a free quantum the peer waits. What a peer writes lies in the region, which
//! can be read when the connection has ended. [`CardSlots`] are memory that is copied from while a peer
//! writes to it.
//!
//! The library is loaded when a [`Card`] is opened. Where it is missing, that is an error.
//! Neither a completion nor a message costs a system call or an allocation; only
//! [`Receiver::wait`] enters the system.

mod card;
mod counters;
mod sys;

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use samplewire_circuit::{PoolConfig, Quantum};

pub use card::{Card, CardConfig, CardSlots, SlotShape, Written};
pub use counters::{CounterFiles, DeviceCounters};

/// What a receiver is opened with.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The name of the device, such as `mlx5_0` or `rxe0`: `rdma link` lists them.
    pub device: String,
    /// An IPv4 address of the device's interface.
    pub address: Ipv4Addr,
    /// The entry of the table of GIDs to use, where more than one has the address.
    pub gid_index: Option<u8>,
    /// Receive requests that wait for messages and immediate data; 0 for none.
    pub receives: u16,
    /// The longest message in bytes, at least 1.
    pub message_bytes: u32,
    /// The length of the region that a peer may write to; 0 for none.
    pub region_bytes: u64,
    /// Where a peer sees the region, a multiple of the page.
    pub region_address: u64,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its IPv4 address.
    pub address: Ipv4Addr,
    /// The number of its queue pair.
    pub qpn: u32,
    /// The PSN of its first request.
    pub psn: u32,
    /// The PSN of the first request of this end.
    pub own_psn: u32,
    /// The path MTU of both: 256, 512, 1024, 2048 or 4096.
    pub mtu_bytes: u32,
}

/// What a completion reports.
#[derive(Debug)]
pub enum Received {
    /// A message was sent.
    Message {
        /// Its bytes. The card gets the quantum back when it is dropped, with [`Receiver::post`].
        quantum: Quantum,
        /// Its immediate data.
        immediate: Option<u32>,
    },
    /// A message was written to the region. Of writes without immediate data nothing is reported.
    Written {
        /// Its length.
        len_bytes: u32,
        /// Its immediate data.
        immediate: u32,
    },
    /// A receive request failed, and the connection with it.
    Failed {
        /// `ibv_wc_status`.
        code: u32,
        /// The library's words for it.
        words: String,
    },
}

/// An event after which a queue pair, or all of a device, does no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The queue pair; `None` of the device.
    pub qpn: Option<u32>,
    /// Of the port alone: the interface has no cable, or was set down. Queue pairs live on.
    pub is_port: bool,
    /// The library's words.
    pub words: String,
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VerbsError {
    /// The library is missing, or too old.
    #[error("the verbs library cannot be loaded: {reason}")]
    Library {
        /// The system's words.
        reason: String,
    },
    /// There is no such device.
    #[error("no RDMA device is called {name}; {}", names(found))]
    Device {
        /// The name given.
        name: String,
        /// The names that there are.
        found: Vec<String>,
    },
    /// The device cannot carry packets.
    #[error("the RDMA device {name} is down: its network interface is, or has no cable")]
    Down {
        /// Its name.
        name: String,
    },
    /// The device is of another kind.
    #[error("the RDMA device {name} is not one of Ethernet (RoCE)")]
    Kind {
        /// Its name.
        name: String,
    },
    /// The device does not have the address.
    #[error("the RDMA device {name} has no RoCE v2 address {address}{}", place(*gid_index))]
    Address {
        /// Its name.
        name: String,
        /// The address given.
        address: Ipv4Addr,
        /// The only entry to look at, if one was given.
        gid_index: Option<u8>,
    },
    /// Memory cannot be registered, or the device has no more resources.
    #[error("the RDMA device {name} refuses {bytes} bytes of memory: {source}")]
    Memory {
        /// Its name.
        name: String,
        /// The length of the region and the receive requests.
        bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// The device refuses a call.
    #[error("the RDMA device {name}: {operation}: {source}")]
    Call {
        /// Its name.
        name: String,
        /// What was tried.
        operation: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

impl VerbsError {
    /// Whether the system finds no way to the peer, which may start later.
    pub fn is_unreachable(&self) -> bool {
        let Self::Call { source, .. } = self else { return false };
        let codes = [libc::ETIMEDOUT, libc::EHOSTUNREACH, libc::ENETUNREACH, libc::ENODATA];
        source.raw_os_error().is_some_and(|code| codes.contains(&code))
    }
}

/// A device, memory that peers write to and send into, and one connection at a time.
pub struct Receiver {
    card: Card,
    port: sys::Port,
    region_bytes: u64,
    region_address: u64,
}

impl Receiver {
    /// Loads the library, opens the device, and takes and registers all memory.
    ///
    /// # Errors
    /// [`VerbsError`] names what is missing.
    ///
    /// # Blocking
    /// Until the system has given every page of the memory.
    pub fn open(config: &ReceiverConfig) -> Result<Self, VerbsError> {
        let card = Card::open(&CardConfig {
            device: config.device.clone(),
            address: config.address,
            gid_index: config.gid_index,
        })?;
        let messages = (config.receives > 0)
            .then(|| PoolConfig::new(config.receives.into(), config.message_bytes as usize));
        let bytes =
            config.region_bytes + u64::from(config.receives) * u64::from(config.message_bytes);
        let refused = |source| VerbsError::Memory { name: card.name().to_owned(), bytes, source };
        let region_bytes = usize::try_from(config.region_bytes)
            .map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
        // Without margins: it begins at a page, and a peer can write to all of it.
        let pool = |bytes| PoolConfig::new(1, bytes).head_bytes(0).tail_bytes(0);
        let region = (region_bytes > 0).then(|| (pool(region_bytes), config.region_address));
        let port = sys::Port::new(card.context(), messages, region).map_err(refused)?;
        let (region_bytes, region_address) = (config.region_bytes, config.region_address);
        Ok(Self { card, port, region_bytes, region_address })
    }

    /// The device.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The key by which a peer writes to the region; 0 where there is none.
    pub fn remote_key(&self) -> u32 {
        self.port.remote_key()
    }

    /// Where a peer sees the region.
    pub fn region_address(&self) -> u64 {
        self.region_address
    }

    /// How long the region is.
    pub fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    /// What peers have written; `None` while one is connected and may write.
    pub fn region(&self) -> Option<&[u8]> {
        self.port.region()
    }

    /// As [`Receiver::region`], to be changed.
    pub fn region_mut(&mut self) -> Option<&mut [u8]> {
        self.port.region_mut()
    }

    /// Ends the last connection and makes one to a peer; returns the number of its queue pair. All
    /// receive requests for which a quantum is free are posted.
    ///
    /// # Errors
    /// The device refuses a step, or the system does not find the way to the peer.
    ///
    /// # Blocking
    /// Until the system has found the peer's Ethernet address.
    pub fn connect(&mut self, peer: &Peer) -> Result<u32, VerbsError> {
        let connected = self.port.connect(self.card.gid_index(), peer);
        if connected.is_err() {
            self.port.end();
        }
        connected.map_err(|source| self.card.failed("connect the queue pair", source))
    }

    /// Ends the connection: no one writes to the memory of this receiver any more.
    pub fn end(&mut self) {
        self.port.end();
    }

    /// The next completion; `None` when there is none, or no connection.
    ///
    /// # Errors
    /// The device fails.
    pub fn poll(&mut self) -> Result<Option<Received>, VerbsError> {
        self.port.poll().map_err(|source| self.card.failed("poll", source))
    }

    /// Posts a receive request for each quantum that is free again. Call it after the completions of a
    /// turn.
    ///
    /// # Errors
    /// The device fails.
    pub fn post(&mut self) -> Result<(), VerbsError> {
        self.port.post().map_err(|source| self.card.failed("post a receive request", source))
    }

    /// Why the connection or the device has failed, if the system has reported it.
    pub fn failure(&self) -> Option<String> {
        let mut first = None;
        self.card.take_failures(|failure| {
            first.get_or_insert(failure.words);
        });
        first
    }

    /// Waits until something may have come, at most for `limit`, in steps of a millisecond.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(&mut self, limit: Duration) -> io::Result<()> {
        self.port.wait(limit)
    }
}

fn names(found: &[String]) -> String {
    match found {
        [] => "there is none".to_owned(),
        found => format!("there is {}", found.join(", ")),
    }
}

fn place(gid_index: Option<u8>) -> String {
    gid_index.map_or_else(String::new, |index| format!(" at GID index {index}"))
}
