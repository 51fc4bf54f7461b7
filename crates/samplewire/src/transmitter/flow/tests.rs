//! What a program sees of a stream that it sends, on time that is passed in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker as TaskWaker};

use samplewire_circuit::{Pool, PoolConfig};
use samplewire_io::Waker;
use samplewire_io::memory::{self, Memory};
use samplewire_proto::Seq;
use samplewire_proto::receiver::{REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot};
use samplewire_proto::wire;

use super::super::SendError;
use super::super::shared::Shared;
use super::*;
use crate::published::publisher;
use crate::wakeups::Wakeups;

const PAYLOAD_BYTES: usize = 8_192;
const QUANTUM_PACKETS: u32 = 4;
const WINDOW: u32 = 256;
const QUANTA: usize = 20;
/// Quanta that are cut before the first of their packets departs.
const CUT: usize = 8;

/// The half of a port that sends and a receiver, without a thread or a socket.
struct Rig {
    now: Nanos,
    flow: SendFlow,
    submits: rtrb::Producer<Submit>,
    shared: Arc<Shared>,
    pool: Pool,
    receiver: Receiver<Vec<RecvSlot>>,
    peer: SocketAddr,
    link: Memory,
}

impl Rig {
    fn new(ahead_max: usize) -> Self {
        let now = Nanos::from_millis(1_000);
        let waker = Waker::new().unwrap();
        let wake_handle = Wakeups::new(1, waker, Duration::ZERO).wake_handle(0);
        let writer = SharedWriter::new(wake_handle, ahead_max);
        let shared = Arc::clone(&writer.shared);
        let (submits, submitted) = rtrb::RingBuffer::new(QUANTA);
        let held = RetransmitBuffer::new(WINDOW, QUANTA);
        let mut flow = SendFlow::new(
            SenderConfig::default(),
            held,
            submitted,
            publisher(&None).reader(),
            writer,
        );
        let quantum_bytes = (QUANTUM_PACKETS as usize + 1) * PAYLOAD_BYTES;
        let pool = Pool::new(PoolConfig::new(QUANTA, quantum_bytes)).unwrap();
        let (link, far) = memory::pair(64, 9_000, 9_000).unwrap();
        let peer = far.local_addr();
        let receiver = begin(&mut flow, peer, now);
        Self { now, flow, submits, shared, pool, receiver, peer, link }
    }

    /// A session begins, and ends once the program knows of it.
    fn pass_session(&mut self, end: End) {
        self.receiver = begin(&mut self.flow, self.peer, self.now);
        self.report();
        assert!(self.flow.announce());
        self.flow.end(self.now, end, &mut self.link);
    }

    /// The program submits so many full quanta.
    fn submit(&mut self, quanta: usize) {
        for _ in 0..quanta {
            let mut quantum = self.pool.take().expect("one is free");
            let len_bytes = QUANTUM_PACKETS as usize * PAYLOAD_BYTES;
            quantum.set_len(len_bytes + PAYLOAD_BYTES);
            let position = QUANTA - self.pool.free() - 1;
            let index = (position * len_bytes / 4) as u64;
            let (session, flags) = (1, Flags::NONE);
            let samples = Submit::Samples { session, quantum, len_bytes, index, flags };
            self.submits.push(samples).expect("there is room");
        }
    }

    /// The receiver reports.
    fn report(&mut self) {
        let end = self.receiver.promise_end();
        self.receiver.grant(end);
        let mut report = [0; REPORT_BYTES];
        let len = self.receiver.poll_transmit(self.now, &mut report).expect("it has news");
        let (header, packet) = wire::parse(&report[..len]).unwrap();
        assert!(self.flow.handle(self.now, self.peer, &header, &packet));
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Nanos::from_millis(millis);
    }

    /// How many packets the program sees as held, once the counters are to be shown.
    fn held(&mut self) -> u32 {
        self.flow.publish(self.now, &PortCounts::default());
        self.shared.snapshot().held
    }
}

/// Begins a session; returns its receiver.
fn begin(flow: &mut SendFlow, peer: SocketAddr, now: Nanos) -> Receiver<Vec<RecvSlot>> {
    let terms = Terms {
        local_tag: Tag(1),
        peer_tag: Tag(2),
        is_opener: false,
        first_seq: Seq(0),
        first_index: 0,
        packet_samples: PAYLOAD_BYTES as u32 / 4,
        payload_bytes: PAYLOAD_BYTES as u16,
        payload_offset: 22,
        window: WINDOW,
        reorder_tolerance: 0,
        dead_after: Nanos::from_millis(15_000),
        idle_after: Nanos::from_millis(100),
        ranges_max: 32,
        rtt: Nanos::from_micros(50),
        carriage: samplewire_proto::stream::Carriage::Data,
    };
    let form = Form { payload_bytes: PAYLOAD_BYTES, frame_bytes: 4, granularity_bytes: 8 };
    flow.begin(now, terms, form, Route::unknown(peer), QUANTUM_PACKETS).unwrap();
    let slots = vec![RecvSlot::default(); WINDOW as usize];
    let (local_tag, peer_tag) = (terms.peer_tag, terms.local_tag);
    let terms = Terms { local_tag, peer_tag, is_opener: true, ..terms };
    Receiver::new(terms, ReceiverConfig::new(), slots, now).unwrap()
}

/// How a session has ended, as its stream finds it.
fn ended(shared: &Shared, session: u64) -> Option<End> {
    match shared.error_of(Some(session))? {
        SendError::Ended(ended) => Some(ended.end),
        error => panic!("{error}"),
    }
}

#[test]
fn stream_of_a_flow_that_is_gone_has_its_own_end_or_an_error() {
    let mut rig = Rig::new(QUANTA);
    rig.flow.end(rig.now, End::Cancelled, &mut rig.link);
    rig.pass_session(End::PeerSilent);
    rig.receiver = begin(&mut rig.flow, rig.peer, rig.now);
    let Rig { flow, shared, .. } = rig;
    assert_eq!((ended(&shared, 2), shared.error_of(Some(3))), (Some(End::PeerSilent), None));
    drop(flow);
    assert_eq!(ended(&shared, 2), Some(End::PeerSilent));
    assert!(matches!(shared.error_of(Some(3)), Some(SendError::Port(_))));
}

/// Samples that cannot be sent, and a session that ends before its program looks.
#[test]
fn failure_goes_before_the_end() {
    let mut rig = Rig::new(QUANTA);
    rig.flow.fail(&"index 9 lies beyond 2^63");
    rig.flow.end(rig.now, End::Cancelled, &mut rig.link);
    rig.pass_session(End::Finished { final_index: 0 });
    assert!(
        matches!(rig.shared.error_of(Some(2)), Some(SendError::Port(words)) if words.contains("2^63"))
    );
}

#[test]
fn stream_does_not_get_the_end_of_a_later_session() {
    let mut rig = Rig::new(QUANTA);
    rig.flow.end(rig.now, End::Cancelled, &mut rig.link);
    rig.pass_session(End::ClosedByPeer(CloseReason::Finished));
    assert_eq!(ended(&rig.shared, 2), Some(End::ClosedByPeer(CloseReason::Finished)));
    rig.pass_session(End::PeerSilent);
    assert_eq!(ended(&rig.shared, 2), Some(End::PeerRestarted));
    assert_eq!(ended(&rig.shared, 3), Some(End::PeerSilent));
}

#[test]
fn packets_are_held_from_the_programs_hands_until_the_receiver_has_them() {
    let mut rig = Rig::new(QUANTA);
    rig.submit(CUT + 2);
    assert!(rig.flow.push(rig.now));
    assert_eq!(rig.held(), (CUT as u32 + 2) * QUANTUM_PACKETS);
    assert_eq!(rig.shared.snapshot().window, WINDOW);
}

#[test]
fn counters_are_shown_now_and_then() {
    let mut rig = Rig::new(QUANTA);
    assert_eq!(rig.held(), 0);
    rig.submit(1);
    rig.flow.push(rig.now);
    rig.pass(19);
    assert_eq!(rig.held(), 0);
    rig.pass(1);
    assert_eq!(rig.held(), QUANTUM_PACKETS);
    rig.submit(1);
    rig.flow.push(rig.now);
    rig.pass(50);
    assert_eq!(rig.held(), 2 * QUANTUM_PACKETS);
}

#[test]
fn session_is_open_from_the_first_report_to_the_end() {
    let mut rig = Rig::new(QUANTA);
    assert!(!rig.flow.announce());
    assert_eq!((rig.shared.open_session(), rig.shared.session()), (None, None));
    rig.report();
    assert!(rig.flow.announce());
    assert!(!rig.flow.announce(), "it is announced once");
    assert_eq!(rig.shared.open_session(), Some(1));
    assert_eq!(rig.shared.session().map(|it| it.peer), Some(rig.peer));
    let tag = rig.flow.end(rig.now, End::PeerSilent, &mut rig.link);
    assert_eq!((tag, rig.shared.open_session()), (Some(Tag(1)), None));
    assert_eq!(ended(&rig.shared, 1), Some(End::PeerSilent));
}

/// How often a program that waits was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn program_is_woken_once_half_of_what_it_is_ahead_has_been_cut() {
    for (ahead_max, wakes) in [(4, 1), (3, 0)] {
        let mut rig = Rig::new(ahead_max);
        let woken = Arc::new(Woken::default());
        rig.shared.bell.announce_to(&TaskWaker::from(Arc::clone(&woken)));
        rig.flow.push(rig.now);
        assert_eq!(woken.0.load(Ordering::Relaxed), 0, "nothing was submitted");
        rig.submit(CUT + 2);
        rig.flow.push(rig.now);
        assert_eq!(woken.0.load(Ordering::Relaxed), wakes, "2 of {ahead_max} are left");
    }
}

#[test]
fn stream_is_idle_while_what_was_submitted_has_no_room() {
    let mut rig = Rig::new(QUANTA);
    assert!(rig.flow.is_idle());
    rig.submit(CUT + 2);
    assert!(!rig.flow.is_idle());
    rig.flow.push(rig.now);
    assert!(rig.flow.is_idle());
    rig.report();
    rig.flow.fill(rig.now);
    assert!(!rig.flow.is_idle(), "what departs makes room");
}
