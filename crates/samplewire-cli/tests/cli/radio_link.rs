//! Two bridges carry both directions of a ZMQ radio link over a bad network, in the format of
//! srsRAN's radio. A transmitter answers requests of one byte with as many complex float32 samples
//! as it has. A receiver sends requests, and the sample count is the time.

use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use samplewire_proto::Rng;

use crate::bridge::Bridge;
use crate::zmtp::Peer;

/// Samples of a subframe at 23.04 MS/s.
const SLOT: u64 = 23_040;

/// The shared state of srsRAN's two ends: how far this end has received. An end transmits at most
/// two slots further, so the path must not hold samples back until more come.
#[derive(Default)]
struct Clock {
    received: Mutex<u64>,
    moved: Condvar,
}

impl Clock {
    fn advance(&self, to: u64) {
        *self.received.lock().unwrap() = to;
        self.moved.notify_all();
    }

    /// How far the end may transmit, once that is beyond `sent`.
    fn horizon(&self, sent: u64) -> u64 {
        let received = self.received.lock().unwrap();
        let has_come = |received: &mut u64| *received + 2 * SLOT <= sent;
        let (received, waited) =
            self.moved.wait_timeout_while(received, STALL_MAX, has_come).unwrap();
        assert!(!waited.timed_out(), "the link stands still: {sent} sent, {received} received");
        *received + 2 * SLOT
    }
}

/// Sample `index` of a direction: both parts are whole numbers below 2^24, and encode the index.
fn sample(index: u64, way: u64) -> [u8; 8] {
    let (low, high) = (index % 10_000_019, index / 10_000_019 * 2 + way);
    let parts = [low as f32, high as f32].map(f32::to_le_bytes);
    parts.concat().try_into().unwrap()
}

/// srsRAN's transmitter: a REP that listens, and answers with some of what may be sent.
fn transmit(listener: &TcpListener, way: u64, count: u64, clock: &Clock) -> Peer {
    let mut peer = Peer::accept(listener, "REP");
    let (mut sent, mut rng) = (0, Rng::new(way));
    let mut message = Vec::new();
    while sent < count {
        let request = peer.receive().expect("a request comes");
        assert_eq!(request, [&b""[..], &[0]]);
        // Mostly whole slots, as srsRAN, sometimes a few samples.
        let most = if rng.one_in(4) { rng.within(1..=97) } else { SLOT };
        let end = clock.horizon(sent).min(count).min(sent + most);
        message.clear();
        (sent..end).for_each(|index| message.extend_from_slice(&sample(index, way)));
        peer.send(&[b"", &message]);
        sent = end;
    }
    peer
}

/// srsRAN's receiver: a REQ that checks every sample.
fn receive(address: &str, way: u64, count: u64, clock: &Clock) {
    let mut peer = Peer::connect(address, "REQ");
    let mut received = 0;
    while received < count {
        peer.send(&[b"", &[0]]);
        let reply = peer.receive().expect("a reply comes");
        assert_eq!((reply.len(), &reply[0][..]), (2, &b""[..]));
        let (samples, rest) = reply[1].as_chunks::<8>();
        assert!(rest.is_empty() && !samples.is_empty());
        for found in samples {
            assert_eq!(*found, sample(received, way), "sample {received} of way {way}");
            received += 1;
        }
        clock.advance(received);
    }
    assert_eq!(received, count);
}

/// One end of the link: its transmitter at `listener`, its receiver towards `bridge`.
fn radio(listener: TcpListener, bridge: String, way: u64, count: u64) {
    let clock = Arc::new(Clock::default());
    let transmitter = {
        let clock = Arc::clone(&clock);
        std::thread::spawn(move || transmit(&listener, way, count, &clock))
    };
    receive(&bridge, 1 - way, count, &clock);
    // It ends when the other end has all samples.
    drop(transmitter.join().expect("transmitting does not panic"));
}

/// Runs the link until both ends have `count` samples; returns the output of the two bridges.
fn link(count: u64, faults: &[&str]) -> String {
    let listen = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("tcp://{}", listener.local_addr().unwrap());
        (listener, place)
    };
    let ((first, first_place), (second, second_place)) = (listen(), listen());
    let sockets = |place: &str| {
        ["--zmq-req", place, "--zmq-rep", "tcp://127.0.0.1:0"].map(str::to_owned).to_vec()
    };
    let mut arguments = sockets(&first_place);
    arguments.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
    arguments.extend(faults.iter().map(|word| (*word).to_owned()));
    let near = Bridge::start(&arguments);
    let mut arguments = sockets(&second_place);
    arguments.push(near.address().to_owned());
    let far = Bridge::start(&arguments);
    let (near_place, far_place) = (near.socket("REP"), far.socket("REP"));
    let started = Instant::now();
    let radios = [
        std::thread::spawn(move || radio(first, near_place, 0, count)),
        std::thread::spawn(move || radio(second, far_place, 1, count)),
    ];
    for radio in radios {
        radio.join().expect("the link holds");
    }
    let rate = count as f64 / started.elapsed().as_secs_f64();
    let far = far.interrupt().expect(130);
    let near = near.interrupt().expect(0);
    format!("{:.1} MS/s each way\n{}\n{}", rate / 1e6, near.text(), far.text())
}

const LOSS: [&str; 4] =
    ["--fault", "data:loss=0.01,seed=5", "--fault", "feedback:loss=0.01,seed=6"];

#[test]
fn radio_link_keeps_every_sample_in_its_place_both_ways_under_loss() {
    let words = link(1_000_000, &LOSS);
    assert!(!words.contains(" 0 retransmissions") && !words.contains(" 0 repaired"), "{words}");
    assert!(words.contains("1,000,000 samples and 0 zeros"), "{words}");
}

/// `make link`
#[test]
#[ignore = "minutes: make link"]
fn long_link_is_run_on_demand() {
    let count = std::env::var("SAMPLEWIRE_LINK_SAMPLES").unwrap_or("100000000".into());
    let count = count.parse().expect("a number of samples");
    println!("{}", link(count, &LOSS));
}

const STALL_MAX: Duration = Duration::from_secs(30);
