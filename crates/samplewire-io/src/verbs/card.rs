//! A device, and slots that a peer of it writes to.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::{Failure, Peer, VerbsError, sys};

/// Which device, by which of its addresses.
#[derive(Clone, Debug)]
pub struct CardConfig {
    /// The name of the device, such as `mlx5_0` or `rxe0`: `rdma link` lists them.
    pub device: String,
    /// An IPv4 address of the device's interface.
    pub address: Ipv4Addr,
    /// The entry of the table of GIDs to use, where more than one has the address.
    pub gid_index: Option<u8>,
}

/// An open device. Clones are the same device.
#[derive(Clone)]
pub struct Card {
    name: Arc<str>,
    context: Arc<sys::Context>,
    gid_index: u8,
    mtu_bytes: u32,
}

impl Card {
    /// Loads the library and opens the device.
    ///
    /// # Errors
    /// [`VerbsError`] names what is missing.
    pub fn open(config: &CardConfig) -> Result<Self, VerbsError> {
        Self::open_with(LIBRARY, config)
    }

    fn open_with(library: &str, config: &CardConfig) -> Result<Self, VerbsError> {
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
        Ok(Self {
            name: name.into(),
            context: Arc::new(context),
            gid_index: gid_index as u8,
            mtu_bytes: state.mtu_bytes,
        })
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest path MTU that the device's interface carries.
    pub const fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
    }

    /// Takes the notices that [`CardSlots::arm`] requested; returns whether there were any.
    pub fn take_notices(&self) -> bool {
        self.context.take_notices()
    }

    /// Takes the failures that the system has reported.
    pub fn take_failures(&self, take: impl FnMut(Failure)) {
        self.context.take_failures(take);
    }

    pub(super) fn context(&self) -> Arc<sys::Context> {
        Arc::clone(&self.context)
    }

    pub(super) const fn gid_index(&self) -> u8 {
        self.gid_index
    }

    /// A call that the device refused.
    pub(super) fn failed(&self, operation: &'static str, source: io::Error) -> VerbsError {
        VerbsError::Call { name: self.name.to_string(), operation, source }
    }
}

/// Can be read when there are notices.
impl AsFd for Card {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.context.as_fd()
    }
}

/// Slots of one length, of which each WRITE with immediate fills one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotShape {
    /// How many: as many receive requests can wait.
    pub slots: u32,
    /// From slot to slot.
    pub slot_bytes: u32,
}

/// What a completion of [`CardSlots`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A WRITE with immediate: all its bytes lie in the memory.
    Whole {
        /// Its length.
        len_bytes: u32,
        /// Its immediate.
        immediate: u32,
    },
    /// A SEND.
    Message,
    /// A receive request failed, and the queue pair with it.
    Failed,
}

/// Registered memory that one peer may write to, and the queue pair for it.
///
/// The peer may write whenever it is connected, also where it has written before. So the memory is only
/// copied, and what was copied is checked.
pub struct CardSlots {
    card: Card,
    slots: sys::Slots,
    shape: SlotShape,
    address: u64,
}

impl CardSlots {
    /// Registers memory that a peer sees at `address`, a multiple of the page, and makes a queue pair,
    /// which is not connected.
    ///
    /// # Errors
    /// The device has no more resources, or not of that size.
    ///
    /// # Blocking
    /// Until the system has given every page of the memory.
    pub fn new(card: &Card, shape: SlotShape, address: u64) -> Result<Self, VerbsError> {
        let bytes = u64::from(shape.slots) * u64::from(shape.slot_bytes);
        let refused = |source| VerbsError::Memory { name: card.name().to_owned(), bytes, source };
        let len_bytes =
            usize::try_from(bytes).map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
        let slots = sys::Slots::new(card.context(), len_bytes, shape.slots as usize, address)
            .map_err(refused)?;
        Ok(Self { card: card.clone(), slots, shape, address })
    }

    /// The device.
    pub const fn card(&self) -> &Card {
        &self.card
    }

    /// How many slots of which length.
    pub const fn shape(&self) -> SlotShape {
        self.shape
    }

    /// Where a peer sees the first slot.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// The number of the queue pair; 0 after [`CardSlots::end`].
    pub fn qpn(&self) -> u32 {
        self.slots.number()
    }

    /// The key by which a peer writes to the slots.
    pub fn remote_key(&self) -> u32 {
        self.slots.remote_key()
    }

    /// Connects the queue pair to a peer, which may write from here on.
    ///
    /// # Errors
    /// The device refuses, or the system does not find the way to the peer.
    ///
    /// # Blocking
    /// Until the system knows the peer's Ethernet address. It knows that of a peer whose packets it has
    /// just answered.
    pub fn connect(&mut self, peer: &Peer) -> Result<(), VerbsError> {
        let connected = self.slots.connect(self.card.gid_index(), peer);
        connected.map_err(|source| self.card.failed("connect the queue pair", source))
    }

    /// Posts a receive request: each completion has taken one.
    ///
    /// # Errors
    /// The device fails, or as many requests wait as there are slots.
    pub fn post(&mut self) -> Result<(), VerbsError> {
        self.slots.post().map_err(|source| self.card.failed("post a receive request", source))
    }

    /// The next completion; `None` when there is none, or no queue pair.
    ///
    /// # Errors
    /// The device fails.
    pub fn poll(&mut self) -> Result<Option<Written>, VerbsError> {
        self.slots.poll().map_err(|source| self.card.failed("poll", source))
    }

    /// Requests a notice of the next completion; returns whether there is a completion already.
    ///
    /// # Errors
    /// The device fails.
    pub fn arm(&mut self) -> Result<bool, VerbsError> {
        self.slots.arm().map_err(|source| self.card.failed("request a notice", source))
    }

    /// Copies bytes of the memory from an offset on, a multiple of 8. The peer may write there meanwhile:
    /// only what was copied can be trusted not to change.
    ///
    /// # Panics
    /// They lie outside the memory, or the offset is no multiple of 8.
    pub fn copy(&self, offset: usize, into: &mut [u8]) {
        self.slots.copy(offset, into);
    }

    /// Ends the queue pair: no one writes to the memory any more.
    pub fn end(&mut self) {
        self.slots.end();
    }
}

fn call(name: &str, operation: &'static str) -> impl FnOnce(io::Error) -> VerbsError {
    let name = name.to_owned();
    move |source| VerbsError::Call { name, operation, source }
}

const LIBRARY: &str = "libibverbs.so.1";

/// Entries of the table that an index of one byte names.
const GIDS_MAX: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> CardConfig {
        CardConfig { device: "none0".to_owned(), address: Ipv4Addr::LOCALHOST, gid_index: None }
    }

    #[test]
    fn library_that_is_missing_is_named() {
        let error = Card::open_with("libibverbs-none.so.1", &config()).err().expect("none");
        assert!(error.to_string().contains("libibverbs-none.so.1"), "{error}");
    }

    #[test]
    fn library_of_another_kind_is_not_used() {
        let error = Card::open_with("libc.so.6", &config()).err().expect("it has no verbs");
        assert!(matches!(error, VerbsError::Library { .. }), "{error}");
        assert!(error.to_string().contains("ibv_"), "{error}");
    }

    /// Where there is no library, that is the error.
    #[test]
    fn device_that_is_missing_is_named() {
        let error = Card::open(&config()).err().expect("there is none of this name");
        let text = error.to_string();
        assert!(text.contains("none0") || matches!(error, VerbsError::Library { .. }), "{text}");
    }
}
