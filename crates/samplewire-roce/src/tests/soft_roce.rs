//! Both halves against what Linux's Soft-RoCE did (`vectors/README.md#rxe-responderjson`).

use std::fs;

use samplewire_proto::Nanos;
use serde::Deserialize;

use crate::qp::{Event, Peer, QueuePair};
use crate::requester::{AckTimeout, RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest};
use crate::responder::{Placement, ReceiveRequest, ReceiveSlot, ReceiveStatus, ResponderConfig};
use crate::wire::{Aeth, Body, Frame, NakCode, Opcode, Reth, RnrTimer, Route, Syndrome, WireError};
use crate::{Access, PathMtu, Psn, Qpn, Region};

type Qp = QueuePair<Vec<SendSlot>, Vec<ReceiveSlot>, Vec<Region>>;

#[derive(Deserialize)]
struct ResponderCase {
    name: String,
    mtu: u32,
    psn: u32,
    qpn: u32,
    rkey: u32,
    region: u64,
    bytes: usize,
    rights: String,
    recvs: Vec<Receive>,
    steps: Vec<Exchange>,
    completions: Vec<Completion>,
    memory: String,
}

#[derive(Deserialize)]
struct Receive {
    id: u64,
    offset: usize,
    bytes: u32,
}

#[derive(Deserialize)]
struct Exchange {
    request: String,
    answers: Vec<String>,
}

#[derive(Deserialize)]
struct Completion {
    id: u64,
    status: u32,
    bytes: u32,
    imm: Option<u32>,
}

/// An acknowledgement: PSN, syndrome, MSN.
type Answer = (Psn, Syndrome, u32);

/// Where the responder does otherwise (`docs/roce.md#a-foreign-peer` gives the reasons).
const RESPONDER_DIFFERS: [&str; 9] = [
    "half of all psns behind",
    "first shorter than the mtu",
    "only longer than the mtu",
    "last of no bytes",
    "no receive request",
    "longer than its receive request",
    "read",
    "opcode of no meaning",
    "limited member of the partition",
];

#[test]
fn responder_answers_as_soft_roce_does() {
    for case in load::<ResponderCase>("rxe-responder") {
        let (answers, completions, memory) = replay(&case);
        let answers_of = |step: &Exchange| step.answers.iter().map(|it| answer(it)).collect();
        let wanted: Vec<Vec<Option<Answer>>> = case.steps.iter().map(answers_of).collect();
        let done = case.completions.iter().filter(|it| it.status == SUCCESS);
        let done: Vec<_> = done.map(|it| (it.id, it.bytes, it.imm)).collect();
        let is_same = answers == wanted && completions == done && memory == case.memory;
        assert_ne!(
            is_same,
            RESPONDER_DIFFERS.contains(&&*case.name),
            "{}: {answers:?} and not {wanted:?}, {completions:?} and not {done:?}",
            case.name
        );
    }
}

type Replayed = (Vec<Vec<Option<Answer>>>, Vec<(u64, u32, Option<u32>)>, String);

/// What the responder answers to each step, the receive requests that are done, and the memory.
fn replay(case: &ResponderCase) -> Replayed {
    let access = if case.rights.contains("remote_write") { Access::Write } else { Access::None };
    let region = Region::new(case.rkey, case.region, case.bytes as u64, access).unwrap();
    let slots = vec![ReceiveSlot::default(); case.recvs.len().max(1)];
    let mut qp: Qp = QueuePair::new(Qpn::new(case.qpn), vec![], slots, vec![region]);
    let config = ResponderConfig {
        psn: Psn::new(case.psn),
        mtu: PathMtu::from_bytes(case.mtu).unwrap(),
        rnr_timer: RnrTimer::new(RNR_TIMER).unwrap(),
        ..ResponderConfig::default()
    };
    connect(&mut qp, config);
    for receive in &case.recvs {
        let request = ReceiveRequest { id: receive.id, len_bytes: receive.bytes };
        qp.post_receive(request).unwrap();
    }
    let mut memory = vec![0; case.bytes];
    let (mut answers, mut completions) = (vec![], vec![]);
    for step in &case.steps {
        let bytes = bytes(&step.request);
        if let Ok(frame) = Frame::new_checked(&bytes) {
            let placement = qp.handle(NOW, &frame);
            if let Body::Request { payload, .. } = frame.packet().body {
                let at = match placement {
                    Placement::Nothing => None,
                    Placement::Region { offset, .. } => Some(offset as usize),
                    Placement::Receive { id, offset } => {
                        Some(case.recvs[id as usize].offset + offset as usize)
                    }
                };
                if let Some(at) = at {
                    memory[at..at + payload.len()].copy_from_slice(payload);
                }
            }
        }
        let mut came = vec![];
        while let Some(transmit) = qp.poll_transmit(NOW) {
            let packet = transmit.packet(&[]);
            let Body::Acknowledge(Aeth { syndrome, msn }) = packet.body else {
                panic!("{}: a request was sent", case.name)
            };
            came.push(Some((packet.bth.psn, syndrome, msn)));
        }
        answers.push(came);
        while let Some(event) = qp.poll_event() {
            let Event::Received(done) = event else { continue };
            match done.status {
                ReceiveStatus::Send { len_bytes, immediate } => {
                    completions.push((done.id, len_bytes, immediate));
                }
                ReceiveStatus::Write { len_bytes, immediate } => {
                    completions.push((done.id, len_bytes, Some(immediate)));
                }
                ReceiveStatus::Failed | ReceiveStatus::Flushed => {}
            }
        }
    }
    let used = memory.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    (answers, completions, hex(&memory[..used]))
}

#[derive(Deserialize)]
struct RequesterCase {
    name: String,
    mtu: u32,
    psn: u32,
    qpn: u32,
    timeout: u8,
    retries: u8,
    rnr_retries: u8,
    to: u64,
    rkey: u32,
    imm: u32,
    memory: String,
    messages: Vec<Message>,
    steps: Vec<Turn>,
    completions: Vec<Completion>,
}

#[derive(Deserialize)]
struct Message {
    id: u64,
    opcode: String,
    offset: usize,
    bytes: u32,
}

#[derive(Deserialize)]
struct Turn {
    requests: Vec<String>,
    answers: Vec<String>,
}

/// A request packet.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    opcode: Opcode,
    psn: Psn,
    reth: Option<Reth>,
    immediate: Option<u32>,
    payload: Vec<u8>,
}

/// Where the requester does otherwise: a reserved NAK changes nothing here.
const REQUESTER_DIFFERS: [&str; 1] = ["reserved nak"];

#[test]
fn requester_sends_and_completes_as_soft_roce_does() {
    for case in load::<RequesterCase>("rxe-requester") {
        let (sent, completions) = run(&case);
        let requests_of = |turn: &Turn| turn.requests.iter().map(|it| request(it)).collect();
        let wanted: Vec<Vec<Sent>> = case.steps.iter().map(requests_of).collect();
        let done: Vec<_> = case.completions.iter().map(|it| (it.id, it.status)).collect();
        assert_ne!(
            sent == wanted && completions == done,
            REQUESTER_DIFFERS.contains(&&*case.name),
            "{}: {sent:?} and not {wanted:?}, {completions:?} and not {done:?}",
            case.name
        );
    }
}

/// What the requester sends in each step, and its completions.
fn run(case: &RequesterCase) -> (Vec<Vec<Sent>>, Vec<(u64, u32)>) {
    let slots = vec![SendSlot::default(); case.messages.len()];
    let mut qp: Qp = QueuePair::new(Qpn::new(case.qpn), slots, vec![], vec![]);
    let mtu = PathMtu::from_bytes(case.mtu).unwrap();
    connect(&mut qp, ResponderConfig { mtu, ..ResponderConfig::default() });
    let config = RequesterConfig {
        psn: Psn::new(case.psn),
        mtu,
        timeout: AckTimeout::new(case.timeout).unwrap(),
        retries: case.retries,
        rnr_retries: case.rnr_retries,
        ..RequesterConfig::default()
    };
    qp.ready_to_send(config).unwrap();
    let memory = bytes(&case.memory);
    for message in &case.messages {
        let has_immediate = message.opcode.ends_with("imm");
        let verb = if message.opcode.starts_with("write") {
            Verb::Write { address: case.to, key: case.rkey }
        } else {
            Verb::Send
        };
        let request = WorkRequest {
            id: message.id,
            verb,
            len_bytes: message.bytes,
            immediate: has_immediate.then_some(case.imm),
            is_solicited: false,
        };
        qp.post_send(request).unwrap();
    }
    let mut now = NOW;
    let (mut sent, mut completions) = (vec![], vec![]);
    for (number, step) in case.steps.iter().enumerate() {
        let is_last = number + 1 == case.steps.len();
        let waits_on = is_last && completions.len() < case.completions.len();
        let mut came = vec![];
        loop {
            came.extend(departures(&mut qp, now, case, &memory));
            // What comes later has waited for a timer; so have the last completions.
            match qp.poll_timeout() {
                Some(at) if came.len() < step.requests.len() || waits_on => {
                    now = at;
                    qp.handle_timeout(now);
                }
                _ => break,
            }
        }
        sent.push(came);
        for answer in &step.answers {
            if let Ok(frame) = Frame::new_checked(&bytes(answer)) {
                assert_eq!(qp.handle(now, &frame), Placement::Nothing);
            }
        }
        while let Some(event) = qp.poll_event() {
            let Event::Sent(done) = event else { continue };
            completions.push((done.id, status(done.status)));
        }
    }
    (sent, completions)
}

/// What may leave at `now`.
fn departures(qp: &mut Qp, now: Nanos, case: &RequesterCase, memory: &[u8]) -> Vec<Sent> {
    let mut sent = vec![];
    while let Some(transmit) = qp.poll_transmit(now) {
        let at = transmit.payload().expect("nothing is answered");
        let begin = case.messages[at.id as usize].offset + at.offset as usize;
        let payload = &memory[begin..begin + at.len_bytes as usize];
        let packet = transmit.packet(payload);
        let Body::Request { reth, immediate, .. } = packet.body else {
            panic!("{}: {packet:?} is no request", case.name)
        };
        let (opcode, psn) = (packet.bth.opcode, packet.bth.psn);
        sent.push(Sent { opcode, psn, reth, immediate, payload: payload.to_vec() });
    }
    sent
}

/// As `enum ibv_wc_status` numbers it.
fn status(status: SendStatus) -> u32 {
    match status {
        SendStatus::Done => SUCCESS,
        SendStatus::Flushed => 5,
        SendStatus::Nak(NakCode::InvalidRequest) => 9,
        SendStatus::Nak(NakCode::RemoteAccess) => 10,
        SendStatus::Nak(_) => 11,
        SendStatus::RetriesExceeded => 12,
        SendStatus::RnrRetriesExceeded => 13,
    }
}

fn connect(qp: &mut Qp, config: ResponderConfig) {
    let route = Route { source_ip: GUEST, destination_ip: PEER, ..Route::default() };
    qp.init().unwrap();
    qp.ready_to_receive(Peer { number: Qpn::new(PEER_QPN), route }, config).unwrap();
}

/// `None` for the answer to a READ or an atomic.
fn answer(text: &str) -> Option<Answer> {
    let bytes = bytes(text);
    let packet = match Frame::new_checked(&bytes) {
        Ok(frame) => frame.packet(),
        Err(WireError::Opcode(_)) => return None,
        Err(error) => panic!("{text}: {error}"),
    };
    let Body::Acknowledge(Aeth { syndrome, msn }) = packet.body else { panic!("{packet:?}") };
    Some((packet.bth.psn, syndrome, msn))
}

fn request(text: &str) -> Sent {
    let bytes = bytes(text);
    let packet = Frame::new_checked(&bytes).expect("Soft-RoCE sent it").packet();
    let Body::Request { reth, immediate, payload } = packet.body else { panic!("{packet:?}") };
    let (opcode, psn) = (packet.bth.opcode, packet.bth.psn);
    Sent { opcode, psn, reth, immediate, payload: payload.to_vec() }
}

fn load<T: for<'a> Deserialize<'a>>(name: &str) -> Vec<T> {
    let path = format!("{}/../../vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(pair).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const NOW: Nanos = Nanos(1_000);
const GUEST: [u8; 4] = [10, 98, 0, 1];
const PEER: [u8; 4] = [10, 98, 0, 99];
const PEER_QPN: u32 = 0x77;
/// `min_rnr_timer` of the queue pairs.
const RNR_TIMER: u8 = 12;
const SUCCESS: u32 = 0;
