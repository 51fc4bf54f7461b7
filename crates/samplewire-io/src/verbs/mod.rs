//! Memory of quanta that an RDMA network card writes to (libibverbs, Linux).
//!
//! A [`Receiver`] has a device, memory that is registered with it, and one reliable connection after the
//! other. A message that a peer sends lies in a [`Quantum`] of a pool, which goes back to the card when
//! it is dropped; without a free quantum the peer waits. What a peer writes lies in the region, which
//! can be read when the connection has ended.
//!
//! The library is loaded when the first receiver is opened. Where it is missing, that is an error.
//! Neither a completion nor a message costs a system call, an allocation or a copy; only
//! [`Receiver::wait`] enters the system.

mod counters;
mod sys;

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use samplewire_circuit::{PoolConfig, Quantum};

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
    name: String,
    port: sys::Port,
    gid_index: u8,
    mtu_bytes: u32,
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
        Self::open_with(LIBRARY, config)
    }

    fn open_with(library: &str, config: &ReceiverConfig) -> Result<Self, VerbsError> {
        let name = config.device.clone();
        let library =
            sys::Library::load(library).map_err(|reason| VerbsError::Library { reason })?;
        let context = match library.open(&name).map_err(call(&name, "open"))? {
            Ok(context) => context,
            Err(found) => return Err(VerbsError::Device { name, found }),
        };
        let state = context.port().map_err(call(&name, "query the port"))?;
        if !state.is_ethernet {
            return Err(VerbsError::Kind { name });
        }
        if !state.is_active {
            return Err(VerbsError::Down { name });
        }
        let mut indexes = match config.gid_index {
            Some(index) => u32::from(index)..u32::from(index) + 1,
            None => 0..state.gids.min(GIDS_MAX),
        };
        let address = config.address;
        let gid_index =
            indexes.find(|index| context.address(*index) == Some(address)).ok_or_else(|| {
                let (name, gid_index) = (name.clone(), config.gid_index);
                VerbsError::Address { name, address, gid_index }
            })?;
        let messages = (config.receives > 0)
            .then(|| PoolConfig::new(config.receives.into(), config.message_bytes as usize));
        let bytes =
            config.region_bytes + u64::from(config.receives) * u64::from(config.message_bytes);
        let refused = |source| VerbsError::Memory { name: name.clone(), bytes, source };
        let region_bytes = usize::try_from(config.region_bytes)
            .map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
        // Without margins: it begins at a page, and a peer can write to all of it.
        let pool = |bytes| PoolConfig::new(1, bytes).head_bytes(0).tail_bytes(0);
        let region = (region_bytes > 0).then(|| (pool(region_bytes), config.region_address));
        let port = sys::Port::new(context, messages, region).map_err(refused)?;
        Ok(Self {
            name,
            port,
            gid_index: gid_index as u8,
            mtu_bytes: state.mtu_bytes,
            region_bytes: config.region_bytes,
            region_address: config.region_address,
        })
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest path MTU that the device's interface carries.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
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
        let connected = self.port.connect(self.gid_index, peer);
        if connected.is_err() {
            self.port.end();
        }
        connected.map_err(call(&self.name, "connect the queue pair"))
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
        self.port.poll().map_err(call(&self.name, "poll"))
    }

    /// Posts a receive request for each quantum that is free again. Call it after the completions of a
    /// turn.
    ///
    /// # Errors
    /// The device fails.
    pub fn post(&mut self) -> Result<(), VerbsError> {
        self.port.post().map_err(call(&self.name, "post a receive request"))
    }

    /// Why the connection or the device has failed, if the system has reported it.
    pub fn failure(&self) -> Option<String> {
        self.port.failure()
    }

    /// Waits until something may have come, at most for `limit`, in steps of a millisecond.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(&mut self, limit: Duration) -> io::Result<()> {
        self.port.wait(limit)
    }
}

fn call(name: &str, operation: &'static str) -> impl FnOnce(io::Error) -> VerbsError {
    let name = name.to_owned();
    move |source| VerbsError::Call { name, operation, source }
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

const LIBRARY: &str = "libibverbs.so.1";

/// Entries of the table that an index of one byte names.
const GIDS_MAX: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ReceiverConfig {
        ReceiverConfig {
            device: "none0".to_owned(),
            address: Ipv4Addr::LOCALHOST,
            gid_index: None,
            receives: 1,
            message_bytes: 1,
            region_bytes: 1,
            region_address: 0,
        }
    }

    #[test]
    fn library_that_is_missing_is_named() {
        let error = Receiver::open_with("libibverbs-none.so.1", &config()).err().expect("none");
        assert!(error.to_string().contains("libibverbs-none.so.1"), "{error}");
    }

    #[test]
    fn library_of_another_kind_is_not_used() {
        let error = Receiver::open_with("libc.so.6", &config()).err().expect("it has no verbs");
        assert!(matches!(error, VerbsError::Library { .. }), "{error}");
        assert!(error.to_string().contains("ibv_"), "{error}");
    }

    /// Where there is no library, that is the error.
    #[test]
    fn device_that_is_missing_is_named() {
        let error = Receiver::open(&config()).err().expect("there is none of this name");
        let text = error.to_string();
        assert!(text.contains("none0") || matches!(error, VerbsError::Library { .. }), "{text}");
    }
}
