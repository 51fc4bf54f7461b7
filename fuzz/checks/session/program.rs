//! What must hold of an opener: it sends what its state says, believes what is of its attempt, and
//! ends once.

use samplewire_proto::session::{
    AcceptInfo, OpenConfig, OpenEvent, OpenPhase, Opener, Peer, StreamTerms,
};
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::{Flags, OPEN_LEN_MIN, Packet, Role, parse};
use samplewire_proto::{Departure, Nanos, Seq, Tag};

use crate::input::Input;

/// An opener and its options.
pub(super) struct Program {
    pub(super) owner: u64,
    opener: Opener,
    role: Role,
    first_seq: Seq,
    asks_for_rdma: bool,
    packet_bytes_max: usize,
    ip_overhead: usize,
    give_up_at: Nanos,
    is_over: bool,
    last_departure: Option<(Departure, Nanos)>,
}

impl Program {
    /// Starts an opening, the `attempt`-th of all.
    pub(super) fn new(
        peer: Peer,
        owner: u64,
        attempt: u64,
        input: &mut Input<'_>,
        now: Nanos,
    ) -> Self {
        let role = input.choose(&[Role::Receive, Role::Send, Role::Describe]);
        let stream = u16::from(input.byte() % 3);
        let packet_bytes_max = input.choose(&[1_500, 1_400, 1_280, 576]);
        let timeout = Nanos::from_millis(1 + u64::from(input.half()));
        let first_seq = Seq(input.near(0));
        let mut config = OpenConfig::new(role, stream, owner)
            .with_packet_bytes_max(packet_bytes_max)
            .and_then(|config| config.with_ip_overhead(peer.ip_overhead()))
            .and_then(|config| config.with_timeout(timeout))
            .expect("all are in range")
            .with_first_seq(first_seq)
            .with_start_index(u64::from(input.byte()))
            .with_ranges_max(first_seq.0 as u16)
            .with_underflow(Underflow::from_number(first_seq.0 as u8));
        let asks_for_rdma = first_seq.0 & 3 == 3;
        if asks_for_rdma {
            config = config.with_rdma(super::offer(role == Role::Receive, 1_024));
        }
        let seed = u128::from(input.half()) << 64 | u128::from(attempt);
        Self {
            owner,
            opener: Opener::new(config, seed.to_be_bytes(), now),
            role,
            first_seq,
            asks_for_rdma,
            packet_bytes_max: packet_bytes_max.into(),
            ip_overhead: peer.ip_overhead().into(),
            give_up_at: now + timeout,
            is_over: false,
            last_departure: None,
        }
    }

    /// When the opener wants to be called, which is never after its time.
    pub(super) fn next_at(&self) -> Option<Nanos> {
        let at = self.opener.poll_timeout();
        assert_eq!(at.is_none(), self.is_over);
        assert!(at.is_none_or(|at| at <= self.give_up_at));
        at
    }

    /// The packet that is due: one at most.
    pub(super) fn transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<usize> {
        let len = self.opener.poll_transmit(now, out);
        if let Some(len) = len {
            assert!(!self.is_over && now < self.give_up_at, "an OPEN after the end");
            self.check_open(now, &out[..len]);
            let again = self.opener.poll_transmit(now, &mut [0; super::LEN_MAX]);
            assert_eq!(again, None, "a pause lies between two OPENs");
        }
        if let Some(event) = self.opener.poll_event() {
            assert!(now >= self.give_up_at, "nothing came that could end it");
            assert!(!matches!(event, OpenEvent::Accepted(_)));
            self.note_end();
        }
        self.next_at();
        len
    }

    /// Takes a packet from the path; `accepted` looks at what it opened.
    pub(super) fn handle(&mut self, now: Nanos, bytes: &[u8], accepted: impl Fn(&AcceptInfo)) {
        let Ok((header, packet)) = parse(bytes) else { return };
        let (tag, phase) = (self.opener.tag(), self.opener.phase());
        self.opener.handle(now, &header, &packet, bytes.len());
        let event = self.opener.poll_event();
        if header.tag != tag {
            assert_eq!((self.opener.tag(), self.opener.phase()), (tag, phase));
            assert_eq!(event, None);
        }
        match (event, packet) {
            (None, _) => assert_eq!(self.opener.phase() == OpenPhase::Done, self.is_over),
            (Some(OpenEvent::Accepted(info)), Packet::Accept(accept)) => {
                assert_eq!(phase, OpenPhase::Trying);
                assert_eq!((info.tag, info.peer_tag), (tag, accept.tag));
                assert_eq!(info.boot_id, accept.boot_id);
                self.check_terms(&info, bytes.len());
                accepted(&info);
                self.note_end();
            }
            (Some(OpenEvent::Refused { reason, .. }), Packet::Refuse(refuse)) => {
                assert_eq!(reason, refuse.reason);
                self.note_end();
            }
            (Some(OpenEvent::Contradicted(error)), Packet::Accept(accept)) => {
                match StreamTerms::read(&header, &accept) {
                    Ok(terms) => assert!(terms.rdma.is_some(), "{error}"),
                    Err(read) => assert_eq!(read, error),
                }
                self.note_end();
            }
            (Some(event), packet) => panic!("{packet:?} brought {event:?}"),
        }
        self.next_at();
    }

    /// Waits until the opener gives up.
    pub(super) fn time_out(&mut self, now: Nanos) {
        self.transmit(now.max(self.give_up_at), &mut [0; super::LEN_MAX]);
        assert!(self.is_over, "it gives up when its time is over");
    }

    /// A full packet is no longer than what came through, and the tags name a stream.
    fn check_terms(&self, info: &AcceptInfo, len: usize) {
        let data_len = info.params.data_len();
        assert!(self.asks_for_rdma || info.params.rdma.is_none());
        match self.role {
            _ if info.params.rdma.is_some() => {}
            Role::Describe => {}
            Role::Receive => assert!(data_len <= len),
            Role::Send => {
                assert!(data_len <= self.packet_bytes_max - self.ip_overhead);
                assert_eq!(info.params.first_seq, self.first_seq);
            }
        }
        assert!(info.peer_tag != Tag::NONE || self.role == Role::Describe);
        assert!(info.rtt <= Nanos::from_millis(10_000));
        assert!(info.params.name.to_string().bytes().all(|it| it >= 0x20));
        assert!(usize::from(info.packet_bytes_out) <= self.packet_bytes_max);
    }

    fn check_open(&mut self, now: Nanos, bytes: &[u8]) {
        let (header, packet) = parse(bytes).expect("what is sent can be parsed");
        let Packet::Open(open) = packet else { panic!("an opener sent {packet:?}") };
        assert_eq!((header.tag, header.flags), (Tag::NONE, Flags::FROM_OPENER));
        assert_eq!((open.tag, open.role, open.owner), (self.opener.tag(), self.role, self.owner));
        assert_ne!(open.tag, Tag::NONE);
        match self.opener.phase() {
            OpenPhase::Asking => assert_eq!((bytes.len(), open.cookie), (OPEN_LEN_MIN, [0; 16])),
            OpenPhase::Trying => assert!(bytes.len() + self.ip_overhead <= self.packet_bytes_max),
            OpenPhase::Done => panic!("an OPEN after the end"),
        }
        if let Some((last, at)) = self.last_departure
            && now.since(at) < Nanos::from_millis(17_000)
        {
            assert!(last.before(header.departure), "departures rise");
        }
        self.last_departure = Some((header.departure, now));
    }

    fn note_end(&mut self) {
        assert!(!self.is_over, "an opening ends once");
        assert_eq!(self.opener.phase(), OpenPhase::Done);
        self.is_over = true;
    }
}
