//! libibverbs, loaded at run time: queue pairs, and memory that a network card writes to.
//!
//! A [`Port`] and [`Slots`] have each a protection domain of their own and at most one queue pair in
//! it, so the keys of their memory serve no other peer. Of a port, what the card may write and what
//! this program may read never overlap: quanta are with the queue pair from [`Port::post`] until their
//! completion or until the queue pair is gone; the region can be seen only while there is no queue
//! pair. Slots are never seen, only copied, word by word, by atomic reads.

use std::error::Error;
use std::ffi::{CStr, c_int};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::Duration;

use samplewire_circuit::{Pool, PoolConfig, Quantum};

use self::bindings::{
    IBV_EVENT_CQ_ERR, IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ERR, IBV_EVENT_QP_ACCESS_ERR,
    IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_GID_TYPE_ROCE_V2, IBV_PORT_ACTIVE,
    IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS, IBV_WC_WITH_IMM, Verbs, ibv_async_event,
    ibv_comp_channel, ibv_gid_entry, ibv_pd, ibv_port_attr, ibv_wc,
};
use self::declared::ibv_context;
use self::memory::{Keys, Registered};
use self::pair::Pair;
pub(super) use self::slots::Slots;
use super::{Failure, Peer, Received};

mod memory;
mod pair;
mod slots;

#[expect(unreachable_pub, clippy::allow_attributes, reason = "bindgen writes it")]
#[expect(clippy::undocumented_unsafe_blocks, reason = "each call is explained where it is used")]
#[expect(dead_code, reason = "constants come as whole enumerations")]
#[rustfmt::skip]
mod bindings;

/// What the bindings leave out: types of which only pointers are used, and the first fields of those
/// that go on with a mutex, whose length depends on the machine.
#[expect(non_camel_case_types, reason = "the library's names")]
#[expect(unreachable_pub, reason = "the bindings show them")]
mod declared {
    use std::ffi::{c_int, c_void};

    use super::bindings::{ibv_comp_channel, ibv_context_ops, ibv_pd};

    #[repr(C)]
    pub struct ibv_context {
        device: *mut ibv_device,
        pub ops: ibv_context_ops,
        cmd_fd: c_int,
        pub async_fd: c_int,
    }

    #[repr(C)]
    pub struct ibv_qp {
        context: *mut ibv_context,
        qp_context: *mut c_void,
        pd: *mut ibv_pd,
        send_cq: *mut ibv_cq,
        recv_cq: *mut ibv_cq,
        srq: *mut ibv_srq,
        handle: u32,
        pub qp_num: u32,
    }

    #[repr(C)]
    pub struct ibv_cq {
        context: *mut ibv_context,
        channel: *mut ibv_comp_channel,
    }

    pub enum ibv_device {}
    pub enum ibv_device_attr {}
    pub enum ibv_mw {}
    pub enum ibv_mw_bind {}
    pub enum ibv_send_wr {}
    pub enum ibv_srq {}
    pub enum ibv_wq {}
    pub enum _compat_ibv_port_attr {}
    pub type ibv_mw_type = u32;
}

/// The library.
pub(super) struct Library(Verbs);

impl Library {
    /// Loads it; the error is the system's.
    pub(super) fn load(name: &str) -> Result<Arc<Self>, String> {
        // SAFETY: the constructors of libibverbs have no requirements; the declarations are those of
        // its header, and its ABI has grown since without a change.
        let verbs = unsafe { Verbs::new(name) };
        // The system's words have the name; the error's own say only which call failed.
        let words = |error: libloading::Error| match error.source() {
            Some(source) => source.to_string(),
            None => error.to_string(),
        };
        Ok(Arc::new(Self(verbs.map_err(words)?)))
    }

    /// Opens the device of this name, or returns the names that there are.
    pub(super) fn open(self: Arc<Self>, name: &str) -> io::Result<Result<Context, Vec<String>>> {
        let verbs = &self.0;
        let mut count = 0;
        // SAFETY: the count is there to be written.
        let list = unsafe { verbs.ibv_get_device_list(&raw mut count) };
        if list.is_null() {
            let error = io::Error::last_os_error();
            // Of a kernel without RDMA.
            return if error.raw_os_error() == Some(libc::ENOSYS) {
                Ok(Err(Vec::new()))
            } else {
                Err(error)
            };
        }
        let mut found = Ok(Err(Vec::new()));
        for at in 0..count as usize {
            // SAFETY: the list has `count` devices and is freed below; names are C strings that live
            // as long.
            let (device, its_name) = unsafe {
                let device = *list.add(at);
                (device, CStr::from_ptr(verbs.ibv_get_device_name(device)))
            };
            let its_name = its_name.to_string_lossy();
            if its_name == name {
                // SAFETY: the device is one of the list.
                let raw = NonNull::new(unsafe { verbs.ibv_open_device(device) });
                found = match raw {
                    Some(raw) => Context::new(raw, Arc::clone(&self)).map(Ok),
                    None => Err(io::Error::last_os_error()),
                };
                break;
            }
            if let Ok(Err(names)) = &mut found {
                names.push(its_name.into_owned());
            }
        }
        // SAFETY: it is the library's list, and no device of it is used from here on; an open one
        // lives on.
        unsafe { verbs.ibv_free_device_list(list) };
        found
    }
}

/// An open device, and the channel on which its completion queues notify.
pub(super) struct Context {
    raw: NonNull<ibv_context>,
    channel: Option<NonNull<ibv_comp_channel>>,
    library: Arc<Library>,
}

/// What is known of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortState {
    pub(super) is_active: bool,
    pub(super) is_ethernet: bool,
    pub(super) mtu_bytes: u32,
    pub(super) gids: u32,
}

impl Context {
    /// Takes an open device, whose descriptors then do not block.
    fn new(raw: NonNull<ibv_context>, library: Arc<Library>) -> io::Result<Self> {
        let mut context = Self { raw, channel: None, library };
        // SAFETY: the context is open.
        let channel = unsafe { context.verbs().ibv_create_comp_channel(raw.as_ptr()) };
        context.channel = NonNull::new(channel);
        if context.channel.is_none() {
            return Err(io::Error::last_os_error());
        }
        set_nonblocking(context.events_fd())?;
        set_nonblocking(context.notices_fd())?;
        Ok(context)
    }

    fn verbs(&self) -> &Verbs {
        &self.library.0
    }

    fn channel(&self) -> NonNull<ibv_comp_channel> {
        self.channel.expect("it was made with the context")
    }

    /// What is known of the first port.
    pub(super) fn port(&self) -> io::Result<PortState> {
        // SAFETY: all bytes zero are valid attributes.
        let mut port: ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the function writes the first fields of the attributes, which are there.
        let code = unsafe {
            let place = (&raw mut port).cast();
            self.verbs().ibv_query_port(self.raw.as_ptr(), PORT, place)
        };
        checked(code)?;
        Ok(PortState {
            is_active: port.state == IBV_PORT_ACTIVE,
            is_ethernet: port.link_layer == LINK_LAYER_ETHERNET,
            // 1 stands for 256 bytes, 5 for 4,096.
            mtu_bytes: 128 << port.active_mtu.clamp(1, 5),
            gids: port.gid_tbl_len.max(0) as u32,
        })
    }

    /// The address of an entry of the port's table, if it is one of RoCE v2 and IPv4.
    pub(super) fn address(&self, index: u32) -> Option<Ipv4Addr> {
        // SAFETY: all bytes zero are a valid entry.
        let mut entry: ibv_gid_entry = unsafe { std::mem::zeroed() };
        // SAFETY: the entry is there to be written, and of the length that is given.
        let code = unsafe {
            let len = size_of::<ibv_gid_entry>();
            let place = &raw mut entry;
            self.verbs()._ibv_query_gid_ex(self.raw.as_ptr(), PORT.into(), index, place, 0, len)
        };
        // SAFETY: any bytes are a valid array of them.
        let raw = unsafe { entry.gid.raw };
        let is_v2 = code == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2;
        let mapped = std::net::Ipv6Addr::from(raw).to_ipv4_mapped();
        mapped.filter(|_| is_v2)
    }

    /// Takes all events, and passes on those of failures.
    pub(super) fn take_failures(&self, mut take: impl FnMut(Failure)) {
        // SAFETY: all bytes zero are a valid event.
        let mut event: ibv_async_event = unsafe { std::mem::zeroed() };
        let verbs = self.verbs();
        // SAFETY: the descriptor does not block. An event that was written is acknowledged once, and
        // the queue pair that it names exists until then. Names are constants.
        unsafe {
            while verbs.ibv_get_async_event(self.raw.as_ptr(), &raw mut event) == 0 {
                let kind = event.event_type;
                let qpn = PAIR_FAILURES.contains(&kind).then(|| (*event.element.qp).qp_num);
                verbs.ibv_ack_async_event(&raw mut event);
                if qpn.is_some() || DEVICE_FAILURES.contains(&kind) {
                    let words = CStr::from_ptr(verbs.ibv_event_type_str(kind));
                    let is_port = kind == IBV_EVENT_PORT_ERR;
                    let words = words.to_string_lossy().into_owned();
                    take(Failure { qpn, is_port, words });
                }
            }
        }
    }

    /// Takes the notices of completions that have come; returns whether there were any.
    pub(super) fn take_notices(&self) -> bool {
        let verbs = self.verbs();
        let (mut queue, mut context) = (null_mut(), null_mut());
        let mut has_come = false;
        // SAFETY: the descriptor does not block. Each notice is acknowledged once; its queue exists
        // until then.
        unsafe {
            let channel = self.channel().as_ptr();
            while verbs.ibv_get_cq_event(channel, &raw mut queue, &raw mut context) == 0 {
                verbs.ibv_ack_cq_events(queue, 1);
                has_come = true;
            }
        }
        has_come
    }

    fn notices_fd(&self) -> RawFd {
        // SAFETY: the channel is open; the field never changes.
        unsafe { self.channel().as_ref().fd }
    }

    /// The library's words for the status of a completion.
    fn status_words(&self, status: u32) -> String {
        // SAFETY: the words are a constant.
        let words = unsafe { CStr::from_ptr(self.verbs().ibv_wc_status_str(status)) };
        words.to_string_lossy().into_owned()
    }

    fn events_fd(&self) -> RawFd {
        // SAFETY: the context is open, and the field never changes.
        unsafe { (*self.raw.as_ptr()).async_fd }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: both are open, and whatever was opened in them holds this value and is gone.
        unsafe {
            if let Some(channel) = self.channel {
                self.verbs().ibv_destroy_comp_channel(channel.as_ptr());
            }
            self.verbs().ibv_close_device(self.raw.as_ptr());
        }
    }
}

/// Can be read when there are notices.
impl AsFd for Context {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is open for as long as this value lives.
        unsafe { BorrowedFd::borrow_raw(self.notices_fd()) }
    }
}

// SAFETY: verbs may be called from any thread (rdma-core, Documentation/libibverbs.md).
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Memory for one peer at a time, and the queue pair that serves it.
pub(super) struct Port {
    /// Before the quanta: it has to be gone when they are given back.
    pair: Option<Pair>,
    /// Receive requests: the quanta that are with the queue pair.
    posted: Box<[Option<Quantum>]>,
    messages: Option<(Pool, Keys)>,
    region: Option<(Quantum, Keys)>,
    domain: Arc<Domain>,
}

impl Port {
    pub(super) fn new(
        context: Arc<Context>,
        messages: Option<PoolConfig>,
        region: Option<(PoolConfig, u64)>,
    ) -> io::Result<Self> {
        let domain = Domain::new(context)?;
        let pool = |config: PoolConfig, seen_at| {
            let bytes = config.memory_bytes().map_err(io::Error::other)?;
            let memory = Registered::new(&domain, bytes, seen_at)?;
            let keys = memory.keys();
            io::Result::Ok((Pool::with_memory(config, memory).map_err(io::Error::other)?, keys))
        };
        let messages = messages.map(|config| pool(config, None)).transpose()?;
        let region = region.map(|(config, address)| {
            let (pool, keys) = pool(config, Some(address))?;
            let mut quantum = pool.take().expect("nothing was taken yet");
            quantum.fill();
            io::Result::Ok((quantum, keys))
        });
        let region = region.transpose()?;
        let receives = messages.as_ref().map_or(0, |(pool, _)| pool.len());
        let posted = std::iter::repeat_with(|| None).take(receives).collect();
        Ok(Self { pair: None, posted, messages, region, domain })
    }

    fn context(&self) -> &Context {
        &self.domain.context
    }

    /// The key by which a peer writes to the region, 0 where there is none.
    pub(super) fn remote_key(&self) -> u32 {
        self.region.as_ref().map_or(0, |(_, keys)| keys.remote)
    }

    /// The region, while no peer can write to it.
    pub(super) fn region(&self) -> Option<&[u8]> {
        if self.pair.is_some() {
            return None;
        }
        Some(self.region.as_ref().map_or(&[], |(quantum, _)| quantum.data()))
    }

    /// As [`Port::region`].
    pub(super) fn region_mut(&mut self) -> Option<&mut [u8]> {
        if self.pair.is_some() {
            return None;
        }
        Some(self.region.as_mut().map_or(&mut [], |(quantum, _)| quantum.data_mut()))
    }

    /// Makes a queue pair, posts receive requests, and connects it; returns its number.
    pub(super) fn connect(&mut self, gid_index: u8, peer: &Peer) -> io::Result<u32> {
        self.end();
        let pair = self.pair.insert(Pair::new(&self.domain, self.posted.len())?);
        pair.init(self.region.is_some())?;
        let number = pair.number();
        self.post()?;
        self.pair.as_mut().expect("it was made").connect(gid_index, peer)?;
        Ok(number)
    }

    /// Ends the queue pair: no quantum is with it any more.
    pub(super) fn end(&mut self) {
        self.pair = None;
        self.posted.fill_with(|| None);
    }

    /// Posts a receive request for each free quantum.
    pub(super) fn post(&mut self) -> io::Result<()> {
        let (Some(pair), Some((pool, keys))) = (&mut self.pair, &self.messages) else {
            return Ok(());
        };
        for (id, place) in self.posted.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
            let Some(mut quantum) = pool.take() else { break };
            // SAFETY: the quantum's memory is registered under the key for as long as the quantum
            // lives. It stays in `posted` until the request is completed or the pair is gone.
            unsafe { pair.post(id as u64, &mut quantum, keys.local)? };
            *place = Some(quantum);
        }
        Ok(())
    }

    /// The next completion, if there is a queue pair.
    pub(super) fn poll(&mut self) -> io::Result<Option<Received>> {
        let Some(pair) = &mut self.pair else { return Ok(None) };
        let Some(completion) = pair.poll()? else { return Ok(None) };
        let quantum = self.posted.get_mut(completion.wr_id as usize).and_then(Option::take);
        if completion.status != IBV_WC_SUCCESS {
            let code = completion.status;
            return Ok(Some(Received::Failed { code, words: self.context().status_words(code) }));
        }
        let immediate = immediate(&completion);
        if completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM {
            let len_bytes = completion.byte_len;
            return Ok(Some(Received::Written { len_bytes, immediate: immediate.unwrap_or(0) }));
        }
        let Some(mut quantum) = quantum else {
            return Err(io::Error::other("a completion of no receive request"));
        };
        quantum.set_len((completion.byte_len as usize).min(quantum.capacity()));
        Ok(Some(Received::Message { quantum, immediate }))
    }

    /// Waits until a completion or an event comes, or `limit` has passed.
    pub(super) fn wait(&mut self, limit: Duration) -> io::Result<()> {
        if let Some(pair) = &mut self.pair
            && pair.arm()?
        {
            return Ok(());
        }
        sleep(&[self.context().events_fd(), self.context().notices_fd()], limit)?;
        self.context().take_notices();
        Ok(())
    }
}

/// The immediate data of a completion.
fn immediate(completion: &ibv_wc) -> Option<u32> {
    // SAFETY: both members of the union are words of the same bytes.
    let bytes = unsafe { completion.__bindgen_anon_1.imm_data };
    (completion.wc_flags & IBV_WC_WITH_IMM != 0).then_some(u32::from_be(bytes))
}

/// A protection domain.
struct Domain {
    raw: NonNull<ibv_pd>,
    context: Arc<Context>,
}

impl Domain {
    fn new(context: Arc<Context>) -> io::Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = unsafe { context.verbs().ibv_alloc_pd(context.raw.as_ptr()) };
        let raw = NonNull::new(raw).ok_or_else(io::Error::last_os_error)?;
        Ok(Arc::new(Self { raw, context }))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: it was allocated, and what belonged to it holds this value and is gone.
        unsafe { self.context.verbs().ibv_dealloc_pd(self.raw.as_ptr()) };
    }
}

// SAFETY: as for `Context`.
unsafe impl Send for Domain {}
// SAFETY: as for `Context`.
unsafe impl Sync for Domain {}

/// Functions of the library return an error of the system, or -1 and set `errno`.
fn checked(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        1.. => Err(io::Error::from_raw_os_error(code)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: the descriptor is open; the calls take no pointers.
    let code = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until one of at most two descriptors is readable, or `limit` has passed.
fn sleep(fds: &[RawFd], limit: Duration) -> io::Result<()> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 2];
    for (place, fd) in polled.iter_mut().zip(fds) {
        place.fd = *fd;
    }
    let limit_ms = limit.as_millis().clamp(1, 60_000) as c_int;
    // SAFETY: there are two entries; one without a descriptor is left out.
    match unsafe { libc::poll(polled.as_mut_ptr(), 2, limit_ms) } {
        0.. => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        },
    }
}

/// Events after which nothing comes any more: of a queue pair, and of the device.
const PAIR_FAILURES: [u32; 3] = [IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR];
const DEVICE_FAILURES: [u32; 3] = [IBV_EVENT_CQ_ERR, IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ERR];

/// Cards with several ports show each as a device.
const PORT: u8 = 1;

const LINK_LAYER_ETHERNET: u8 = 2;
