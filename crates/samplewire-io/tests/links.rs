//! One body of tests over every link, alone and under each middleware.

#[path = "links/body.rs"]
mod body;
#[path = "links/veth.rs"]
mod veth;
#[path = "links/xdp.rs"]
mod xdp;

use samplewire_io::{Link, Links, Udp, UdpOptions, memory};

use body::{Base, Case, Pair, V4, V6};

fn cases() -> Vec<Case> {
    body::cases(&bases(), &body::wraps())
}

fn bases() -> Vec<Base> {
    vec![
        Base::new("memory", 9_100, || {
            let (near, far) = memory::pair(1_024, 9_000, 9_100).unwrap();
            (Box::new(near), Box::new(far))
        }),
        Base::new("udp v4", LOOPBACK, || udp(V4, &UdpOptions::new())),
        Base::new("udp v6", LOOPBACK, || udp(V6, &UdpOptions::new())),
        Base::new("udp v4 packet by packet", LOOPBACK, || {
            udp(V4, &UdpOptions::new().segmentation(false).joining(false))
        }),
        Base::new("udp v6 segmented, not joined", LOOPBACK, || {
            udp(V6, &UdpOptions::new().joining(false))
        }),
        Base::new("udp v4 joined, not segmented", LOOPBACK, || {
            udp(V4, &UdpOptions::new().segmentation(false))
        }),
        Base::new("two links, udp v4", LOOPBACK, || (two_links(), two_links())),
    ]
}

/// The MTU of the loopback interface, within the longest IP packet.
const LOOPBACK: usize = 65_535;

/// Two sockets as one link, of which the first has the traffic.
fn two_links() -> Box<dyn Link> {
    let locals = [V4, V6].map(|local| local.parse().unwrap());
    Box::new(Links::bind(&locals, &UdpOptions::new()).unwrap())
}

fn udp(local: &str, options: &UdpOptions) -> Pair {
    let far = Udp::bind(local.parse().unwrap(), options).unwrap();
    let near = Udp::client(far.local_addr(), options).unwrap();
    (Box::new(near), Box::new(far))
}

#[test]
fn equal_packets_arrive_whole_and_in_order() {
    body::equal_packets_arrive_whole_and_in_order(&cases());
}

#[test]
fn unequal_packets_arrive_whole_and_in_order() {
    body::unequal_packets_arrive_whole_and_in_order(&cases());
}

#[test]
fn ecn_bits_arrive_with_their_packets() {
    body::ecn_bits_arrive_with_their_packets(&cases());
}

#[test]
fn nothing_there_is_an_empty_batch() {
    body::nothing_there_is_an_empty_batch(&cases());
}

#[test]
fn waker_ends_the_wait_before_it_and_during_it() {
    body::waker_ends_the_wait_before_it_and_during_it(&cases());
}

#[test]
fn arrival_ends_the_wait() {
    body::arrival_ends_the_wait(&cases());
}

#[test]
fn packet_above_the_mtu_is_named_after_those_before_it_were_sent() {
    body::packet_above_the_mtu_is_named_after_those_before_it_were_sent(&cases());
}

#[test]
fn capabilities_pass_through_middleware() {
    body::capabilities_pass_through_middleware(&bases());
}
