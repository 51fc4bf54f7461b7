//! Links over DPDK's drivers for interfaces of the kernel, in network namespaces: each test has a process of
//! its own, since DPDK starts once in a process.

mod allocation;
#[expect(clippy::allow_attributes, reason = "other tests use the rest of it")]
#[allow(dead_code)]
#[path = "../../../samplewire-io/tests/links/body.rs"]
mod body;
mod opening;
mod packets;
mod shared;
mod strangers;
mod streams;

use std::io::ErrorKind;
use std::process::Command;

use samplewire_dpdk::{DpdkError, DpdkLink};
use samplewire_io::{Links, Udp, UdpOptions};
use samplewire_testing::{in_namespace, skip};

use body::Base;
use shared::{FAR_NETWORK, NETWORK, link, meet, near_and_far, options};

/// Two links in one process, one at each end of a cable of which the kernel has no address.
#[test]
fn links_over_dpdk_pass_too() {
    let name = "links_over_dpdk_pass_too";
    if !in_namespace(name, &near_and_far(9_000)) {
        return;
    }
    all_pass(&[
        Base::new("dpdk over AF_PACKET", 1_500, || pair("net_af_packet", "", 1_500)),
        Base::new("dpdk over libpcap, jumbo", 9_000, || pair("net_pcap", "", 9_000)),
        Base::new("dpdk beside another link", 1_500, || {
            let (near, far) = pair("net_af_packet", "", 1_500);
            let other = Udp::bind(body::V4.parse().unwrap(), &UdpOptions::new()).unwrap();
            (Box::new(Links::new(vec![near, Box::new(other)]).unwrap()), far)
        }),
    ]);
}

#[test]
fn links_over_two_queues_of_dpdk_pass_too() {
    let name = "links_over_two_queues_of_dpdk_pass_too";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    all_pass(&[Base::new("dpdk, two queues", 1_500, || pair("net_af_packet", ",qpairs=2", 1_500))]);
}

#[test]
fn links_over_dpdk_and_af_xdp_pass_too() {
    let name = "links_over_dpdk_and_af_xdp_pass_too";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    match DpdkLink::open(&options("net_af_xdp0,iface=near0", NETWORK)) {
        Err(error) if is_refusal(&error) => {
            return skip(format_args!("{error} (bpf(2) or AF_XDP is refused)"));
        }
        opened => drop(opened.unwrap()),
    }
    all_pass(&[Base::new("dpdk over AF_XDP", 1_500, || {
        // The kernel frees a queue of AF_XDP some time after its socket was closed: another cable has
        // other queues.
        let script = format!("ip link del near0 && {}", near_and_far(1_500));
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        pair("net_af_xdp", "", 1_500)
    })]);
}

/// Whether the kernel refuses bpf(2) or AF_XDP to this process, or has none.
fn is_refusal(error: &DpdkError) -> bool {
    let (DpdkError::Attach { source, .. } | DpdkError::Start { source, .. }) = error else {
        return false;
    };
    matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

fn all_pass(bases: &[Base]) {
    // Middleware knows no link: once, alone.
    let cases = body::cases(bases, &[("", |link| link)]);
    body::equal_packets_arrive_whole_and_in_order(&cases);
    body::unequal_packets_arrive_whole_and_in_order(&cases);
    body::ecn_bits_arrive_with_their_packets(&cases);
    body::nothing_there_is_an_empty_batch(&cases);
    body::waker_ends_the_wait_before_it_and_during_it(&cases);
    body::arrival_ends_the_wait(&cases);
    body::packet_above_the_mtu_is_named_after_those_before_it_were_sent(&cases);
    body::capabilities_pass_through_middleware(bases);
}

fn pair(driver: &str, more: &str, mtu_bytes: u16) -> body::Pair {
    let queues = if more.is_empty() { 1 } else { 2 };
    let open = |number: u8, interface: &str, network: &str| {
        let device = format!("{driver}{number},iface={interface}{more}");
        link(&device, network, |options| options.mtu_bytes(mtu_bytes).queues(queues))
    };
    let (mut near, mut far) = (open(0, "near0", NETWORK), open(1, "far0", FAR_NETWORK));
    meet(&mut near, &mut far);
    (Box::new(near), Box::new(far))
}
