//! Every error that a link can return, at every call, in every role. An error of a packet, of a
//! destination or of a stream costs no sample and ends nothing. An error of the socket or of the host
//! ends the endpoint at once, and its handle reports it.

mod failing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use failing::{Failing, Plan};
use samplewire::device::{Device, ReceiveListener};
use samplewire::format::Format;
use samplewire::receiver::{Port, ReceiveStream};
use samplewire::source::StreamInfo;
use samplewire::transmitter::{SendError, SendStream};
use samplewire::{
    DeviceOptions, End, OpenError, RealTime, ReceiveError, ReceiveOptions, SendOptions, Waits,
};
use samplewire_io::{Call, Link, LinkError, memory};
use samplewire_proto::session::{OpenConfig, Opener};
use samplewire_proto::wire::{self, Flags, Header, Mark, PacketType, Role};
use samplewire_proto::{Departure, Nanos, Seq, Tag};

/// The direction of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Roles {
    /// A device sends to the receiver that has opened it.
    Receiving,
    /// A device plays what the transmitter sends that has opened it.
    Playing,
    /// A device sends several streams to one port.
    Port,
}

const ROLES: [Roles; 3] = [Roles::Receiving, Roles::Playing, Roles::Port];
const CALLS: [Call; 3] = [Call::Send, Call::Receive, Call::Wait];

/// The errors that end an endpoint, by the call that returns them: the socket is dead, an argument of
/// ours is wrong, or the host's policy forbids the call. No packet can cause one of these. The list is
/// not read from the table of `samplewire-io`: it is what that table is held against.
fn ends_endpoint(call: Call, errno: i32) -> bool {
    let at_every_call = [
        libc::EBADF,
        libc::ENOTSOCK,
        libc::EPIPE,
        libc::ESHUTDOWN,
        libc::ECONNABORTED,
        libc::ENOTCONN,
        libc::EDESTADDRREQ,
        libc::EFAULT,
        libc::ENOSYS,
    ];
    at_every_call.contains(&errno)
        || match call {
            Call::Send => false,
            Call::Receive => [libc::EINVAL, libc::EPERM].contains(&errno),
            Call::Wait => [libc::EINVAL, libc::EPERM, libc::EACCES].contains(&errno),
        }
}

/// A device and its receiver, over links whose next calls can be made to fail.
struct Rig {
    streams: Vec<Stream>,
    /// Of the device's link and of the opener's.
    plans: [Arc<Plan>; 2],
    receive_listener: Option<ReceiveListener>,
}

/// Both ends of a stream.
struct Stream {
    sending: SendStream,
    receiver: Option<ReceiveStream>,
    /// Samples that were sent, and that have come.
    sent: u64,
    taken: u64,
}

impl Rig {
    fn open(roles: Roles) -> Self {
        let (near, far) = memory::pair(512, 2_000, 2_000).unwrap();
        let (near, device_plan) = Failing::new(near);
        let (far, opener_plan) = Failing::new(far);
        let (near, far) = (Box::new(near), Box::new(far));
        let info = StreamInfo::new(Format::Sc16, 1, 1e9).unwrap();
        let options = DeviceOptions::new().window(16).payload_bytes(1_024);
        let options = match roles {
            Roles::Receiving => options.sends(info),
            Roles::Playing => options.plays(info),
            Roles::Port => vec![info; 3].into_iter().fold(options, DeviceOptions::sends),
        };
        let Device { address, mut listeners, mut receive_listener, .. } =
            options.listen_over(near).unwrap();
        let options = ReceiveOptions::new().window(16);
        let mut sending = Vec::new();
        let receivers = match roles {
            Roles::Playing => {
                let options = SendOptions::new().window(16);
                sending.push(options.open_over(far, address).unwrap());
                Vec::new()
            }
            Roles::Receiving => vec![options.open_over(far, address).unwrap()],
            Roles::Port => {
                let port = Port::over(far, &RealTime::default()).unwrap();
                port.open_each(address, &options.streams(0..3)).unwrap()
            }
        };
        let mut receivers = receivers.into_iter();
        let accepted = listeners.iter_mut().map(|it| it.accept(PATIENCE).unwrap());
        sending.extend(accepted.map(|stream| stream.expect("it is opened")));
        let streams = sending.into_iter().map(|sending| {
            assert!(sending.wait_ready(PATIENCE).unwrap(), "it is opened");
            Stream { sending, receiver: receivers.next(), sent: 0, taken: 0 }
        });
        let mut streams: Vec<_> = streams.collect();
        if let Some(receive_listener) = &mut receive_listener {
            // The device shows a stream once its sender has spoken.
            streams[0].send();
            let incoming = receive_listener.accept(PATIENCE).unwrap().expect("it is opened");
            streams[0].receiver = Some(incoming.receiver);
        }
        Self { streams, plans: [device_plan, opener_plan], receive_listener }
    }

    /// Sends on all streams, and takes what comes, until `is_done`.
    fn run_until(&mut self, what: &str, is_done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_done(self) {
            assert!(Instant::now() < until, "{what}: {:?}", self.plans);
            for stream in &mut self.streams {
                assert!(stream.send(), "{what}: the sender has ended");
                stream.take(Duration::ZERO);
            }
            std::thread::yield_now();
        }
    }

    /// Ends all streams, each of which must be whole.
    fn finish(mut self) {
        for stream in &mut self.streams {
            let until = Instant::now() + PATIENCE;
            while stream.taken < stream.sent {
                assert!(Instant::now() < until, "{} of {} came", stream.taken, stream.sent);
                stream.take(PATIENCE);
            }
            let Stream { sending, receiver, sent, .. } = stream;
            let receiver = receiver.as_mut().expect("it is open");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert!(receiver.next().is_none(), "closed is no error");
                    assert!(matches!(receiver.end(), Some(Ok(End::Finished { .. }))));
                });
                let ended = sending.finish(0).unwrap();
                assert_eq!(ended.final_index, *sent);
            });
            let counts = receiver.stats().stream;
            assert_eq!((counts.samples_missing(), counts.samples_delivered), (0, *sent));
        }
    }

    /// Waits until the endpoint of `side`, 0 = the device's, reports why it has ended.
    fn reasons(mut self, roles: Roles, side: usize) -> Vec<String> {
        let is_sender = (side == 0) == (roles != Roles::Playing);
        let of_stream = |stream: &mut Stream| {
            let until = Instant::now() + PATIENCE;
            loop {
                assert!(Instant::now() < until, "nothing has ended");
                let receiver = stream.receiver.as_mut().expect("it is open");
                if is_sender {
                    match stream.sending.quantum(Duration::from_millis(1)) {
                        Err(SendError::Port(text)) => return text,
                        Err(error) => panic!("{error}"),
                        Ok(_) => {}
                    }
                } else if let Err(error) = receiver.next_within(Duration::from_millis(1)) {
                    assert!(matches!(error, ReceiveError::Link(_)), "{error}");
                    return error.to_string();
                }
            }
        };
        let mut reasons: Vec<_> = self.streams.iter_mut().map(of_stream).collect();
        if let (Some(receive_listener), false) = (&mut self.receive_listener, is_sender) {
            reasons.push(receive_listener.accept(PATIENCE).expect_err("an error").to_string());
        }
        reasons
    }
}

impl Stream {
    /// Sends a packet's worth of samples, if there is room; `false` when the stream has ended.
    fn send(&mut self) -> bool {
        let (len_bytes, sent) = (self.sending.session().payload_bytes, self.sent);
        match self.sending.quantum(Duration::ZERO) {
            Ok(Some(mut filling)) => {
                let room = &mut filling.bytes_mut()[..len_bytes];
                for (index, place) in (sent..).zip(room.chunks_exact_mut(4)) {
                    place.copy_from_slice(&sample(index));
                }
                self.sending.submit(filling, len_bytes, sent, Flags::NONE).expect("it follows");
                self.sent += len_bytes as u64 / 4;
                true
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Takes what is there, or comes first within `patience`.
    fn take(&mut self, patience: Duration) {
        let receiver = self.receiver.as_mut().expect("it is open");
        let mut patience = patience;
        while let Some(block) = receiver.next_within(patience).expect("it is open") {
            assert_eq!((block.index(), block.gaps()), (self.taken, &[][..]));
            for (index, bytes) in (self.taken..).zip(block.bytes().chunks_exact(4)) {
                assert_eq!(bytes, sample(index));
            }
            self.taken += block.len() as u64;
            patience = Duration::ZERO;
        }
        assert!(receiver.end().is_none(), "{:?}", receiver.end());
    }
}

/// What stands at an index.
fn sample(index: u64) -> [u8; 4] {
    (index as u32).wrapping_mul(0x9E37_79B1).to_le_bytes()
}

#[test]
fn link_that_is_broken_before_a_stream_is_open_is_the_reason_given() {
    for waits in [Waits::Asleep, Waits::Inline] {
        let (near, far) = memory::pair(16, 1_500, 1_500).unwrap();
        let address = far.local_addr();
        drop(far);
        let real_time = RealTime::new().waits(waits);
        let options = ReceiveOptions::new().real_time(real_time);
        let error = options.open_over(Box::new(near), address).expect_err("it is broken");
        assert!(matches!(error, OpenError::Link(LinkError::Disconnected)), "{waits:?}: {error}");
    }
}

#[test]
fn error_that_is_not_of_the_socket_or_the_host_costs_no_sample_in_any_role() {
    for roles in ROLES {
        let mut rig = Rig::open(roles);
        let mut sends_failed = 0;
        for errno in 1..=ERRNO_MAX {
            for call in CALLS.into_iter().filter(|&call| !ends_endpoint(call, errno)) {
                rig.plans.iter().for_each(|plan| plan.arm(call, errno));
                let is_full =
                    [libc::EAGAIN, libc::EINTR, libc::ENOBUFS, libc::ENOMEM].contains(&errno);
                sends_failed += u64::from(call == Call::Send && !is_full);
            }
            let what = format!("errno {errno}, {roles:?}");
            rig.run_until(&what, |rig| !rig.plans.iter().any(|plan| plan.is_armed()));
        }
        // The counters are shown now and then.
        rig.run_until(&format!("the counters of {roles:?}"), |rig| {
            let Stream { sending, receiver, .. } = &rig.streams[0];
            let (sender, receiver) = (sending.stats(), receiver.as_ref().unwrap().stats());
            (sender.send_errors, receiver.send_errors) == (sends_failed, sends_failed)
                && sender.receive_errors.min(receiver.receive_errors) > sends_failed
        });
        rig.finish();
    }
}

#[test]
fn error_of_the_socket_or_the_host_ends_its_endpoint_and_is_reported_in_every_role() {
    for roles in ROLES {
        for (call, side) in CALLS.into_iter().flat_map(|call| [(call, 0), (call, 1)]) {
            for errno in (1..=ERRNO_MAX).filter(|&errno| ends_endpoint(call, errno)) {
                let mut rig = Rig::open(roles);
                rig.run_until("a stream", |rig| rig.streams.iter().all(|it| it.taken > 0));
                rig.plans[side].arm(call, errno);
                let until = Instant::now() + PATIENCE;
                while rig.plans[side].is_armed() {
                    let what = format!("{call:?}, errno {errno}, {roles:?}, side {side}");
                    assert!(Instant::now() < until, "{what} is not called");
                    for stream in &mut rig.streams {
                        stream.send();
                    }
                    std::thread::yield_now();
                }
                let text = std::io::Error::from_raw_os_error(errno).to_string();
                for reason in rig.reasons(roles, side) {
                    let what = format!("{call:?}, errno {errno}, {roles:?}, side {side}");
                    assert!(reason.contains(&text), "{what}: {reason}");
                }
            }
        }
    }
}

/// docs/protocol.md#3.3, docs/protocol.md#7.6
#[test]
fn stranger_that_cannot_be_answered_ends_neither_a_device_nor_its_streams() {
    for roles in ROLES {
        let mut rig = Rig::open(roles);
        let before = rig.plans[0].refused();
        // No answer can reach the first two; the kernel refuses the others when it is to send.
        let strangers = [
            ("192.0.2.7:0", libc::EINVAL),
            ("224.0.0.1:9", libc::EINVAL),
            ("192.0.2.255:9", libc::EACCES),
            ("192.0.2.8:9", libc::EMSGSIZE),
            ("192.0.2.9:9", libc::EPERM),
        ];
        for (peer, errno) in strangers {
            for packet in [open(128), open(1_472), mark()] {
                rig.plans[0].strange(peer.parse().unwrap(), errno, &packet);
            }
        }
        rig.run_until("strangers", |rig| rig.plans[0].has_given_all());
        // Three packets, each with an answer of its own, from each of three addresses.
        rig.run_until("answers", |rig| rig.plans[0].refused() == before + 9);
        if roles != Roles::Playing {
            rig.run_until("counters", |rig| {
                let stats = rig.streams[0].sending.stats();
                (stats.listen.unanswerable, stats.send_errors) == (6, 9)
            });
        }
        rig.finish();
    }
}

/// An OPEN of so many bytes, as a program that describes a device sends it first.
fn open(len_bytes: usize) -> Vec<u8> {
    let config = OpenConfig::new(Role::Describe, 0, 0);
    let mut out = vec![0; 9_000];
    let len = Opener::new(config, [7; 16], Nanos(0)).poll_transmit(Nanos(0), &mut out).unwrap();
    let (header, wire::Packet::Open(open)) = wire::parse(&out[..len]).unwrap() else {
        panic!("not an OPEN")
    };
    let mut padded = vec![0; len_bytes];
    open.emit(&header, len_bytes, &mut padded);
    padded
}

/// A MARK of a stream that is not there.
fn mark() -> Vec<u8> {
    let header = Header {
        kind: PacketType::Mark,
        flags: Flags::NONE,
        tag: Tag(0xDEAD_0001),
        index: 0,
        seq: Seq(0),
        departure: Departure(0),
    };
    let mark = Mark {
        oldest: Seq(0),
        report: Seq(0),
        echo: Departure(0),
        hold: 0,
        source_lost: 0,
        time_ns: 0,
    };
    let mut out = [0; 128];
    let len = mark.emit(&header, &mut out);
    out[..len].to_vec()
}

#[test]
fn opening_that_the_host_refuses_to_send_says_so_and_others_try_again() {
    let refused = |open: &dyn Fn(Box<Failing>, std::net::SocketAddr) -> OpenError| {
        let (near, far) = memory::pair(64, 2_000, 2_000).unwrap();
        let (far, plan) = Failing::new(far);
        let address = samplewire_io::Link::local_addr(&near);
        plan.strange(address, libc::EPERM, b"no packet of ours");
        let error = open(Box::new(far), address);
        assert!(plan.refused() > 1, "it is tried again");
        match error {
            OpenError::Link(LinkError::System { source, .. }) => {
                assert_eq!(source.raw_os_error(), Some(libc::EPERM));
            }
            other => panic!("{other}"),
        }
    };
    let timeout = Duration::from_millis(250);
    let options = ReceiveOptions::new().timeout(timeout);
    refused(&|link, address| options.open_over(link, address).unwrap_err());
    refused(&|link, address| {
        let port = Port::over(link, &RealTime::default()).unwrap();
        port.open(address, &options).unwrap_err()
    });
    let options = SendOptions::new().timeout(timeout);
    refused(&|link, address| options.open_over(link, address).unwrap_err());
}

/// The largest error number of Linux.
const ERRNO_MAX: i32 = 133;

const PATIENCE: Duration = Duration::from_secs(20);
