//! Sending and receiving take no memory once a link is made.

#[expect(clippy::allow_attributes, reason = "each test uses some of it")]
#[allow(dead_code)]
#[path = "links/veth.rs"]
mod veth;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use samplewire_io::ether::{EtherLink, FRAME_BYTES_MAX, FrameReceive, PacketSocket};
use samplewire_io::{
    Batch, Bypass, Capture, Ecn, FaultSpec, Faults, Link, Links, Outgoing, Udp, UdpOptions, memory,
};
use samplewire_testing::in_namespace;

/// The system's allocator, which counts the calls of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Carries packets both ways; what is received, and what that took of memory.
fn carry(mut near: impl Link, mut far: impl Link) -> (usize, u64) {
    let mut batch = Batch::new(64, 9_000);
    let bytes = [7; 8_950];
    let (to_far, to_near) = (far.local_addr(), near.local_addr());
    let mut received = 0;
    let taken = allocations(|| {
        for round in 0..200 {
            let len_bytes = [34, 1_472, 8_950][round % 3];
            let (header, payload) = bytes[..len_bytes].split_at(22);
            let parts = [header, payload, &[]];
            near.send(&[Outgoing { peer: to_far, ecn: Ecn::Ect0, parts }; 64]).unwrap();
            far.wait(Duration::from_millis(1)).unwrap();
            received += receive(&mut far, &mut batch);
            far.send(&[Outgoing { peer: to_near, ecn: Ecn::NotEct, parts }; 3]).unwrap();
            near.wait(Duration::from_millis(1)).unwrap();
            received += receive(&mut near, &mut batch);
        }
    });
    (received, taken)
}

/// Receives until nothing is there: how many packets.
fn receive(link: &mut impl Link, batch: &mut Batch) -> usize {
    let mut received = 0;
    loop {
        link.recv(batch).unwrap();
        if batch.is_empty() {
            return received;
        }
        received += batch.len();
    }
}

fn udp(local: &str, options: &UdpOptions) -> (Udp, Udp) {
    let far = Udp::bind(local.parse().unwrap(), options).unwrap();
    (Udp::client(far.local_addr(), options).unwrap(), far)
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1_u8)))), 1);
}

#[test]
fn memory_takes_none() {
    let (near, far) = memory::pair(64, 9_000, 9_100).unwrap();
    let (received, taken) = carry(near, far);
    assert!(received > 10_000);
    assert_eq!(taken, 0);
}

#[test]
fn udp_takes_none() {
    let plain = UdpOptions::new().segmentation(false).joining(false);
    for options in [UdpOptions::new(), plain] {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let (near, far) = udp(local, &options);
            let (received, taken) = carry(near, far);
            assert!(received > 10_000);
            assert_eq!(taken, 0);
        }
    }
}

/// Peers behind both links, which take turns.
#[test]
fn links_of_one_port_take_none() {
    let options = UdpOptions::new();
    let locals = ["127.0.0.1:0", "127.0.0.2:0"].map(|local| local.parse().unwrap());
    let mut near = Links::bind(&locals, &options).unwrap();
    let to_near = near.local_addrs();
    let mut far = [0, 1].map(|at: usize| Udp::client(to_near[at], &options).unwrap());
    let mut batch = Batch::new(64, 9_000);
    let bytes = [7; 1_472];
    let mut round = |far: &mut [Udp; 2]| {
        let mut received = 0;
        for (far, to_near) in far.iter_mut().zip(&to_near) {
            far.send(&[Outgoing::whole(*to_near, Ecn::Ect0, &bytes); 32]).unwrap();
        }
        near.wait(Duration::from_millis(1)).unwrap();
        received += receive(&mut near, &mut batch);
        let to_far = [0, 1].map(|at| Outgoing::whole(far[at].local_addr(), Ecn::Ect0, &bytes));
        near.send(&[to_far[0], to_far[1], to_far[0], to_far[1]]).unwrap();
        for far in far {
            far.wait(Duration::from_millis(1)).unwrap();
            received += receive(far, &mut batch);
        }
        received
    };
    // The first packets of the peers.
    round(&mut far);
    let mut received = 0;
    let taken = allocations(|| received = (0..200).map(|_| round(&mut far)).sum());
    assert!(received > 10_000, "{received}");
    assert_eq!(taken, 0);
}

/// The first packet makes the batch's list of frames, and a change of the network is looked up.
#[test]
fn xdp_takes_none_for_a_packet() {
    if !in_namespace("xdp_takes_none_for_a_packet", &veth::interfaces(9_000, 1))
        || veth::is_refused()
    {
        return;
    }
    for bypass in [Bypass::Always, Bypass::Generic] {
        let (near, far) = veth::pair(veth::FAR, bypass);
        let (received, taken) = carry(near, far);
        assert!(received > 10_000, "{received}");
        assert!(taken <= 50, "{bypass:?}: {taken}");
    }
}

#[test]
fn faults_take_none() {
    let spec = FaultSpec::new()
        .loss(0.05)
        .corrupt(0.05)
        .duplicate(0.05)
        .reorder(0.05)
        .delay(Duration::from_micros(20))
        .jitter(Duration::from_micros(20));
    let (near, far) = memory::pair(1_024, 9_000, 9_100).unwrap();
    let near = Faults::new(near, &spec, &spec).unwrap();
    let far = Faults::new(far, &FaultSpec::new(), &spec).unwrap();
    let log = near.log();
    let (received, taken) = carry(near, far);
    assert!(received > 5_000);
    assert!(log.entries().len() > 500);
    assert_eq!(taken, 0);
}

#[test]
fn capture_takes_none_in_the_thread_of_the_link() {
    let (near, far) = udp("127.0.0.1:0", &UdpOptions::new());
    let near = Capture::new(near, std::io::sink()).unwrap();
    let (received, taken) = carry(near, far);
    assert!(received > 10_000);
    // The standard library's channel makes one record for the thread when it first may block.
    assert!(taken <= 1, "{taken}");
}

/// The loopback interface brings back what leaves.
#[test]
fn frames_of_an_ether_type_take_none() {
    for receive in [FrameReceive::Calls, FrameReceive::Ring] {
        let mut link = match PacketSocket::open_ether_type("lo", 0x88B6, receive) {
            Ok(link) => link,
            Err(error) => return samplewire_testing::skip(format_args!("{error} (needs root)")),
        };
        let mut into = [0; FRAME_BYTES_MAX + 1];
        let mut frame = [7; 1_514];
        frame[12..14].copy_from_slice(&0x88B6_u16.to_be_bytes());
        let mut received = 0;
        let taken = allocations(|| {
            for _ in 0..100 {
                for _ in 0..70 {
                    assert!(link.send(&frame).unwrap());
                }
                assert!(link.flush().unwrap());
                while link.recv(&mut into).unwrap().is_some() {
                    received += 1;
                }
            }
        });
        assert!(received > 5_000, "{receive:?}: {received}");
        assert_eq!(taken, 0, "{receive:?}");
    }
}
