//! A queue pair with its completion queue.

use std::ffi::c_int;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use samplewire_circuit::Quantum;

use super::super::Peer;
use super::bindings::{
    IBV_ACCESS_REMOTE_WRITE, IBV_QP_ACCESS_FLAGS, IBV_QP_AV, IBV_QP_DEST_QPN,
    IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER, IBV_QP_PATH_MTU,
    IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN,
    IBV_QP_SQ_PSN, IBV_QP_STATE, IBV_QP_TIMEOUT, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
    IBV_QPT_RC, ibv_ah_attr, ibv_gid, ibv_global_route, ibv_qp_attr, ibv_qp_cap, ibv_qp_init_attr,
    ibv_recv_wr, ibv_sge, ibv_wc,
};
use super::declared::{ibv_cq, ibv_qp};
use super::{Domain, PORT, checked};

/// A reliable connection with a completion queue of its own.
pub(super) struct Pair {
    raw: NonNull<ibv_qp>,
    completions: Completions,
    /// Found by [`Pair::arm`].
    waiting: Option<ibv_wc>,
    domain: Arc<Domain>,
}

impl Pair {
    pub(super) fn new(domain: &Arc<Domain>, receives: usize) -> io::Result<Self> {
        let completions = Completions::new(domain, receives)?;
        let mut attributes = ibv_qp_init_attr {
            qp_context: null_mut(),
            send_cq: completions.raw.as_ptr(),
            recv_cq: completions.raw.as_ptr(),
            srq: null_mut(),
            cap: ibv_qp_cap {
                // Nothing is sent, but some cards know no queue of no length.
                max_send_wr: 1,
                max_recv_wr: receives.max(1) as u32,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        let verbs = domain.context.verbs();
        // SAFETY: the domain and the queue are open, and outlive the pair: see its drop.
        let raw = unsafe { verbs.ibv_create_qp(domain.raw.as_ptr(), &raw mut attributes) };
        let raw = NonNull::new(raw).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { raw, completions, waiting: None, domain: Arc::clone(domain) })
    }

    pub(super) fn number(&self) -> u32 {
        // SAFETY: it is open; the field never changes.
        unsafe { self.raw.as_ref().qp_num }
    }

    /// Makes it ready for receive requests.
    pub(super) fn init(&mut self, may_be_written: bool) -> io::Result<()> {
        let access = if may_be_written { IBV_ACCESS_REMOTE_WRITE } else { 0 };
        let attributes = ibv_qp_attr {
            qp_state: IBV_QPS_INIT,
            port_num: PORT,
            qp_access_flags: access,
            ..no_attributes()
        };
        self.modify(
            attributes,
            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        )
    }

    pub(super) fn connect(&mut self, gid_index: u8, peer: &Peer) -> io::Result<()> {
        let route = ibv_global_route {
            dgid: ibv_gid { raw: peer.address.to_ipv6_mapped().octets() },
            flow_label: 0,
            sgid_index: gid_index,
            hop_limit: 64,
            traffic_class: ECT0,
        };
        let to = no_attributes().ah_attr;
        let attributes = ibv_qp_attr {
            qp_state: IBV_QPS_RTR,
            // 1 stands for 256 bytes.
            path_mtu: peer.mtu_bytes.ilog2() - 7,
            dest_qp_num: peer.qpn,
            rq_psn: peer.psn,
            min_rnr_timer: RNR_TIMER,
            ah_attr: ibv_ah_attr { grh: route, is_global: 1, port_num: PORT, ..to },
            ..no_attributes()
        };
        let mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        self.modify(attributes, mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)?;
        let attributes = ibv_qp_attr {
            qp_state: IBV_QPS_RTS,
            sq_psn: peer.own_psn,
            timeout: 14,
            retry_cnt: 7,
            rnr_retry: 7,
            ..no_attributes()
        };
        let mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
        self.modify(attributes, mask | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
    }

    fn modify(&mut self, mut attributes: ibv_qp_attr, mask: u32) -> io::Result<()> {
        let verbs = self.domain.context.verbs();
        // SAFETY: the pair is open, and the attributes are there to be read.
        let code =
            unsafe { verbs.ibv_modify_qp(self.raw.as_ptr(), &raw mut attributes, mask as c_int) };
        checked(code)
    }

    /// Posts a receive request without memory: for a WRITE with immediate, or a SEND of no bytes.
    pub(super) fn post_empty(&mut self) -> io::Result<()> {
        self.post_request(&mut ibv_recv_wr {
            wr_id: 0,
            next: null_mut(),
            sg_list: null_mut(),
            num_sge: 0,
        })
    }

    fn post_request(&mut self, request: &mut ibv_recv_wr) -> io::Result<()> {
        let mut refused = null_mut();
        // SAFETY: the pair is open, and the request is copied before the call returns. What the card
        // writes is the caller's: see the contract of `post`.
        let code = unsafe {
            let post = (*self.domain.context.raw.as_ptr()).ops.post_recv;
            let post = post.expect("every provider has it");
            post(self.raw.as_ptr(), request, &raw mut refused)
        };
        checked(code)
    }

    /// Posts a receive request for a whole quantum.
    ///
    /// # Safety
    /// The quantum's memory is registered under `key`. Until the request is completed or the pair is
    /// gone the quantum lives, and its bytes are neither read nor written.
    pub(super) unsafe fn post(
        &mut self,
        id: u64,
        quantum: &mut Quantum,
        key: u32,
    ) -> io::Result<()> {
        let bytes = quantum.fill();
        let mut place = ibv_sge {
            addr: bytes.as_mut_ptr().expose_provenance() as u64,
            length: bytes.len() as u32,
            lkey: key,
        };
        self.post_request(&mut ibv_recv_wr {
            wr_id: id,
            next: null_mut(),
            sg_list: &raw mut place,
            num_sge: 1,
        })
    }

    pub(super) fn poll(&mut self) -> io::Result<Option<ibv_wc>> {
        match self.waiting.take() {
            Some(completion) => Ok(Some(completion)),
            None => self.completions.poll(),
        }
    }

    /// Requests a notice of the next completion. Returns whether there is one already, which then needs
    /// no notice.
    pub(super) fn arm(&mut self) -> io::Result<bool> {
        if self.waiting.is_none() {
            self.completions.request_notice()?;
            // One may have come before the request.
            self.waiting = self.completions.poll()?;
        }
        Ok(self.waiting.is_some())
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: it is open; after this call the card writes no more. All its events were
        // acknowledged, so the call does not wait.
        let code = unsafe { self.domain.context.verbs().ibv_destroy_qp(self.raw.as_ptr()) };
        assert_eq!(code, 0, "the card may still write to memory that this program uses");
    }
}

// SAFETY: as for `Context`; the pair has no thread affinity.
unsafe impl Send for Pair {}

/// A completion queue, which notifies on the channel of its context.
struct Completions {
    raw: NonNull<ibv_cq>,
    domain: Arc<Domain>,
}

impl Completions {
    fn new(domain: &Arc<Domain>, receives: usize) -> io::Result<Self> {
        let (verbs, context) = (domain.context.verbs(), domain.context.raw.as_ptr());
        let channel = domain.context.channel().as_ptr();
        let entries = receives as c_int + 1;
        // SAFETY: the context and its channel are open.
        let raw = unsafe { verbs.ibv_create_cq(context, entries, null_mut(), channel, 0) };
        let raw = NonNull::new(raw).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { raw, domain: Arc::clone(domain) })
    }

    fn poll(&mut self) -> io::Result<Option<ibv_wc>> {
        // SAFETY: all bytes zero are a valid completion.
        let mut completion: ibv_wc = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open, and there is room for one completion.
        let count = unsafe {
            let poll = (*self.domain.context.raw.as_ptr()).ops.poll_cq;
            let poll = poll.expect("every provider has it");
            poll(self.raw.as_ptr(), 1, &raw mut completion)
        };
        match count {
            0 => Ok(None),
            1 => Ok(Some(completion)),
            _ => Err(io::Error::other("the completion queue cannot be read")),
        }
    }

    /// Makes the descriptor readable with the next completion.
    fn request_notice(&mut self) -> io::Result<()> {
        // SAFETY: the queue is open.
        let code = unsafe {
            let request = (*self.domain.context.raw.as_ptr()).ops.req_notify_cq;
            let request = request.expect("every provider has it");
            request(self.raw.as_ptr(), 0)
        };
        checked(code)
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: it is open, and the queue pair that used it is gone. Whoever took a notice of it
        // acknowledges that, until when the call waits.
        unsafe { self.domain.context.verbs().ibv_destroy_cq(self.raw.as_ptr()) };
    }
}

/// Attributes that say nothing.
fn no_attributes() -> ibv_qp_attr {
    // SAFETY: all bytes zero are valid attributes.
    unsafe { std::mem::zeroed() }
}

/// Switches may mark the packets rather than drop them.
const ECT0: u8 = 0b10;

/// 0.64 ms: how long a peer waits that found no receive request.
const RNR_TIMER: u8 = 12;
