//! Memory that a network card may write to.

use std::ffi::c_int;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use samplewire_circuit::Memory;

use super::Domain;
use super::bindings::{IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, ibv_mr};

/// Memory for a pool that the card may write to.
pub(super) struct Registered {
    base: NonNull<u8>,
    len_bytes: usize,
    mr: NonNull<ibv_mr>,
    domain: Arc<Domain>,
}

/// The keys of registered memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub(super) local: u32,
    pub(super) remote: u32,
}

impl Registered {
    /// Takes zeroed pages and registers them. A peer may write to them if it sees them at some
    /// address, a multiple of the page; receive requests name them by this program's addresses.
    pub(super) fn new(
        domain: &Arc<Domain>,
        len_bytes: usize,
        seen_at: Option<u64>,
    ) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses an address range that is not in use.
        let base = unsafe { libc::mmap(null_mut(), len_bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let remote = if seen_at.is_some() { IBV_ACCESS_REMOTE_WRITE } else { 0 };
        let address = seen_at.unwrap_or(base.expose_provenance() as u64);
        let access = (IBV_ACCESS_LOCAL_WRITE | remote) as c_int;
        let verbs = domain.context.verbs();
        // SAFETY: the range is mapped, and stays so until the registration has ended: see the drop.
        let mr =
            unsafe { verbs.ibv_reg_mr_iova(domain.raw.as_ptr(), base, len_bytes, address, access) };
        let Some(mr) = NonNull::new(mr) else {
            let error = io::Error::last_os_error();
            // SAFETY: the range was mapped above, and nothing points to it.
            unsafe { libc::munmap(base, len_bytes) };
            return Err(error);
        };
        let base = NonNull::new(base.cast()).expect("no mapping is at address 0");
        Ok(Self { base, len_bytes, mr, domain: Arc::clone(domain) })
    }

    pub(super) fn keys(&self) -> Keys {
        // SAFETY: it is registered; the fields never change.
        let mr = unsafe { self.mr.as_ref() };
        Keys { local: mr.lkey, remote: mr.rkey }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: it was registered once. Where that cannot be ended, the card may go on to write, and
        // the pages stay mapped.
        if unsafe { self.domain.context.verbs().ibv_dereg_mr(self.mr.as_ptr()) } == 0 {
            // SAFETY: the range was mapped in one piece; whoever had pointers into it had this value.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len_bytes) };
        }
    }
}

// SAFETY: the mapping begins at a page, lies there until the drop, and was zeroed by the kernel. In
// this process only the pool has its address, or `Slots` without a pool. The card writes to a quantum
// only while it is with the queue pair of a `Port`: see the module above.
unsafe impl Memory for Registered {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

// SAFETY: a mapping has no thread affinity, nor has its registration.
unsafe impl Send for Registered {}
// SAFETY: a reference to it only says where it lies.
unsafe impl Sync for Registered {}
