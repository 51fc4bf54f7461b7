//! The reaction point of a queue pair (A17.9.3, `docs/congestion.md`): congestion notifications limit
//! the rate of its requests.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, DcqcnParams, Notified, Pacer, ParamsError, WireRate};

use crate::number::PathMtu;
use crate::requester::Request;
use crate::wire::{Opcode, request_frame_len};

/// How congestion notifications limit the rate of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionConfig {
    /// The parameters of DCQCN.
    pub dcqcn: DcqcnParams,
    /// Whether a marked acknowledgement acts as a notification. It reports the way back, and some
    /// receivers copy the mark of a request into its acknowledgement instead of sending notifications.
    pub congested_acks_cut: bool,
}

impl From<DcqcnParams> for ReactionConfig {
    /// Notifications alone cut the rate.
    fn from(dcqcn: DcqcnParams) -> Self {
        Self { dcqcn, congested_acks_cut: false }
    }
}

/// A machine of DCQCN and the pacer that keeps its rate; neither where there is no control.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    flow: Option<Dcqcn>,
    congested_acks_cut: bool,
    pacer: Pacer,
    /// A full packet on the wire: what leaves at once follows from it.
    full_bytes: u32,
}

impl Reaction {
    /// Without a limit: notifications change nothing.
    pub(super) const fn none() -> Self {
        Self {
            flow: None,
            congested_acks_cut: false,
            pacer: Pacer::new(0, Nanos(0)),
            full_bytes: 0,
        }
    }

    pub(super) fn new(
        now: Nanos,
        config: ReactionConfig,
        mtu: PathMtu,
    ) -> Result<Self, ParamsError> {
        let full_bytes = wire_bytes(Opcode::WriteOnlyImmediate, mtu.bytes());
        let ReactionConfig { dcqcn, congested_acks_cut } = config;
        let flow = Some(Dcqcn::new(dcqcn, now)?);
        let mut reaction = Self { flow, congested_acks_cut, full_bytes, ..Self::none() };
        reaction.follow(now);
        Ok(reaction)
    }

    /// Whether a packet may leave, with the rises of the rate up to `now`.
    pub(super) fn is_ready(&mut self, now: Nanos) -> bool {
        if let Some(flow) = &mut self.flow
            && now >= flow.due()
        {
            flow.handle_time(now);
            self.follow(now);
        }
        self.pacer.ready_at(now) <= now
    }

    /// When a packet that waits may leave at the latest, or the rate rises.
    pub(super) fn ready_at(&self) -> Option<Nanos> {
        let flow = self.flow.as_ref()?;
        Some(self.pacer.ready_at(Nanos(0)).min(flow.due()))
    }

    /// A packet leaves.
    pub(super) fn handle_departure(&mut self, now: Nanos, request: &Request) {
        let Some(flow) = &mut self.flow else { return };
        let bytes = wire_bytes(request.opcode, request.payload.len_bytes);
        // The longest has less than 5,000.
        flow.handle_departure(now, bytes as u16);
        self.pacer.spend(now, bytes);
        self.follow(now);
    }

    /// A notification has come: whether it cut the rate, which it does at most once in D.
    pub(super) fn handle_notification(&mut self, now: Nanos) -> bool {
        let Some(flow) = &mut self.flow else { return false };
        let has_cut = flow.handle_notification(now, Nanos(0)) == Notified::Cut;
        self.follow(now);
        has_cut
    }

    /// A marked acknowledgement has come: whether it cut the rate.
    pub(super) fn handle_marked_ack(&mut self, now: Nanos) -> bool {
        self.congested_acks_cut && self.handle_notification(now)
    }

    pub(super) fn rate(&self) -> Option<WireRate> {
        self.flow.as_ref().map(Dcqcn::rate)
    }

    fn follow(&mut self, now: Nanos) {
        let limit = self.rate();
        self.pacer.set_limit(now, limit, self.full_bytes);
    }
}

/// What a request takes of the wire.
const fn wire_bytes(opcode: Opcode, payload_bytes: u32) -> u32 {
    request_frame_len(opcode, payload_bytes as usize) as u32 + WIRE_OVERHEAD_BYTES
}

/// Preamble, gap and Ethernet's checksum.
const WIRE_OVERHEAD_BYTES: u32 = 8 + 12 + 4;
