use std::time::Duration;

use super::*;
use crate::concern::tests::ANSWERS_OF_THE_NETWORK;
use crate::link::Ecn;

fn bound() -> Udp {
    Udp::bind((Ipv4Addr::LOCALHOST, 0).into(), &UdpOptions::new()).unwrap()
}

fn concern_of_send(link: &mut Udp, peer: &str, len_bytes: usize) -> (Concern, Option<i32>) {
    let bytes = vec![7; len_bytes];
    let packet = Outgoing::whole(peer.parse().unwrap(), Ecn::NotEct, &bytes);
    let error = link.send(&[packet]).expect_err("the kernel refuses it");
    let errno = match &error {
        LinkError::System { source, .. } => source.raw_os_error(),
        _ => None,
    };
    (Concern::of(Call::Send, &error), errno)
}

/// What the kernel returns for destinations that a stranger can choose, and that it is not fatal.
#[test]
fn destination_that_cannot_be_reached_is_refused_for_that_packet_alone() {
    let mut near = bound();
    for len_bytes in [42, 1_000] {
        let port_0 = concern_of_send(&mut near, "127.0.0.1:0", len_bytes);
        assert_eq!(port_0, (Concern::Destination, Some(libc::EINVAL)));
        let broadcast = concern_of_send(&mut near, "127.255.255.255:9", len_bytes);
        assert_eq!(broadcast, (Concern::Destination, Some(libc::EACCES)));
        let family = concern_of_send(&mut near, "[::1]:9", len_bytes);
        assert_eq!(family, (Concern::Destination, Some(libc::EAFNOSUPPORT)));
    }
    let long = concern_of_send(&mut near, "127.0.0.1:9", 65_530);
    assert_eq!(long, (Concern::Packet, None));
    let mut far = bound();
    let packet = Outgoing::whole(far.local_addr(), Ecn::NotEct, b"next");
    assert_eq!(near.send(&[packet]).unwrap(), 1);
    far.wait(Duration::from_secs(10)).unwrap();
    let mut batch = Batch::new(4, 1_500);
    far.recv(&mut batch).unwrap();
    assert_eq!(batch.len(), 1);
    assert_eq!(near.unreachable_hint(), 0);
}

/// A run of packets to a bad destination proves nothing of segmentation.
#[test]
fn run_to_a_bad_destination_is_refused_and_segmentation_stays_on() {
    let mut near = bound();
    let segmentation = near.capabilities().segmentation;
    let packet = Outgoing::whole("127.0.0.1:0".parse().unwrap(), Ecn::Ect0, &[7; 600]);
    assert!(matches!(near.send(&[packet; 5]), Err(LinkError::System { .. })));
    assert_eq!(near.capabilities().segmentation, segmentation);
}

/// A forged ICMP message must not turn segmentation off.
#[test]
fn no_answer_of_the_network_is_taken_for_a_refusal_to_segment() {
    for errno in ANSWERS_OF_THE_NETWORK {
        assert!(!is_of_segmentation(&io::Error::from_raw_os_error(errno)), "errno {errno}");
    }
    assert!(is_of_segmentation(&io::Error::from_raw_os_error(libc::EINVAL)));
}

#[test]
fn socket_that_is_shut_down_is_an_error_of_the_socket() {
    let far = bound();
    let mut near = Udp::client(far.local_addr(), &UdpOptions::new()).unwrap();
    // SAFETY: shutdown takes no pointers.
    assert_eq!(unsafe { libc::shutdown(near.socket.fd(), libc::SHUT_WR) }, 0);
    let peer = far.local_addr().to_string();
    assert_eq!(concern_of_send(&mut near, &peer, 42), (Concern::Socket, Some(libc::EPIPE)));
}

/// Two sockets of which the first must not segment: without checksums the kernel refuses it with
/// EINVAL, as it does with EIO for an interface that cannot.
fn refusing_pair() -> (Udp, Udp) {
    let options = UdpOptions::new();
    let far = Udp::bind((Ipv4Addr::LOCALHOST, 0).into(), &options).unwrap();
    let near = Udp::client(far.local_addr(), &options).unwrap();
    near.socket.set(libc::SOL_SOCKET, libc::SO_NO_CHECK, 1).unwrap();
    (near, far)
}

#[test]
fn segmentation_that_is_refused_is_off_for_good_and_no_packet_is_missing() {
    let (mut near, mut far) = refusing_pair();
    let peer = far.local_addr();
    let bytes: Vec<_> = (0..40_u8).map(|number| [number; 100]).collect();
    let packets: Vec<_> =
        bytes.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
    let mut batch = Batch::new(64, 1_500);
    for round in 0..2 {
        assert_eq!(near.send(&packets).unwrap(), 40);
        assert!(!near.capabilities().segmentation);
        let mut arrived = Vec::new();
        while arrived.len() < 40 {
            far.wait(Duration::from_secs(10)).unwrap();
            far.recv(&mut batch).unwrap();
            assert!(!batch.is_empty(), "{} of 40 in round {round}", arrived.len());
            arrived.extend(batch.iter().map(|(bytes, _)| bytes.to_vec()));
        }
        assert_eq!(arrived, bytes);
    }
}

#[test]
fn packets_too_long_do_not_turn_segmentation_off() {
    let (mut near, far) = refusing_pair();
    let long = vec![0; 65_520];
    let packet = Outgoing::whole(far.local_addr(), Ecn::Ect0, &long);
    let short = Outgoing::whole(far.local_addr(), Ecn::Ect0, b"short");
    assert!(matches!(near.send(&[packet, short]), Err(LinkError::TooLong { .. })));
    assert!(near.capabilities().segmentation);
}

/// What most packets leave with is the socket's own; the others keep theirs, alone and in runs.
#[test]
fn packets_keep_their_ecn_bits_whatever_most_others_have() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let mut far = Udp::bind(local.parse().unwrap(), &UdpOptions::new()).unwrap();
        let near = Udp::client(far.local_addr(), &UdpOptions::new()).unwrap();
        let listener = Udp::bind(local.parse().unwrap(), &UdpOptions::new()).unwrap();
        for mut near in [near, listener] {
            let mut batch = Batch::new(64, 1_500);
            let mut own = Vec::new();
            for round in 0..400 {
                let (most, few) =
                    if round < 200 { (Ecn::Ect0, Ecn::NotEct) } else { (Ecn::NotEct, Ecn::Ect0) };
                let ecn = if round % 4 == 3 { few } else { most };
                let count = [1, 5][usize::from(round % 7 == 0)];
                let len_bytes = [60, 1_200][usize::from(round % 5 == 0)];
                let bytes = vec![7; len_bytes];
                let packet = Outgoing::whole(far.local_addr(), ecn, &bytes);
                assert_eq!(near.send(&vec![packet; count]).unwrap(), count);
                let mut came = 0;
                while came < count {
                    far.wait(Duration::from_secs(10)).unwrap();
                    far.recv(&mut batch).unwrap();
                    assert!(!batch.is_empty(), "{came} of {count} in round {round}");
                    assert!(batch.iter().all(|(_, meta)| meta.ecn == ecn), "round {round}");
                    came += batch.len();
                }
                own.push(near.marking.own());
            }
            own.dedup();
            assert_eq!(own, [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct]);
        }
    }
}

#[test]
fn socket_of_lone_packets_takes_many_and_counts_what_it_drops_meanwhile() {
    let options = UdpOptions::new().receive_buffer_bytes(212_992);
    let mut far = Udp::bind((Ipv4Addr::LOCALHOST, 0).into(), &options).unwrap();
    let mut near = Udp::client(far.local_addr(), &UdpOptions::new()).unwrap();
    let mut batch = Batch::new(64, 1_500);
    let bytes = [7; 1_000];
    let packet = Outgoing::whole(far.local_addr(), Ecn::Ect0, &bytes);

    // As after many that came alone. What fills the buffer comes before the next look.
    far.count_drops(false);
    assert!(far.single_packet.is_spared());
    for _ in 0..1_000 {
        assert_eq!(near.send(&[packet]).unwrap(), 1);
    }
    let mut queued = 0;
    loop {
        far.recv(&mut batch).unwrap();
        assert!(!far.single_packet.is_spared(), "from the first look on");
        if batch.is_empty() {
            break;
        }
        assert!(batch.iter().all(|(_, meta)| meta.dropped == Some(0)), "all came before a drop");
        queued += batch.len() as u32;
    }
    assert!(queued < 1_000);

    // Many have come: from now on they are joined, and taken apart.
    assert_eq!(near.send(&[packet; 40]).unwrap(), 40);
    let mut came = 0;
    while came < 40 {
        far.wait(Duration::from_secs(10)).unwrap();
        far.recv(&mut batch).unwrap();
        assert!(!batch.is_empty(), "{came} of 40");
        for (came, meta) in &batch {
            assert_eq!((came, meta.dropped), (&bytes[..], Some(1_000 - queued)));
        }
        came += batch.len();
    }
    assert!(far.joined_packets_max > 1);
}
