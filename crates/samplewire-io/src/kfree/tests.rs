use std::net::UdpSocket;

use samplewire_testing::skip;

use super::*;
use crate::sockopt;

/// `None`, with the reason, where this is not allowed here.
fn attached() -> Option<KernelDrops> {
    let attached = KernelDrops::attach();
    attached
        .map_err(|error| skip(format_args!("drops of the kernel are not counted: {error}")))
        .ok()
}

/// A socket that sends to a port that no one has; the kernel drops its packets there.
fn sender(address: &str) -> (UdpSocket, SocketAddr) {
    let closed = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap();
    let socket = UdpSocket::bind((address, 0)).unwrap();
    (socket, closed)
}

fn no_socket(packets: u64, bytes: u64) -> Vec<(&'static str, Dropped)> {
    vec![("NO_SOCKET", Dropped { packets, bytes })]
}

#[test]
fn packets_of_a_followed_flow_are_counted_by_reason() {
    for address in ["127.0.0.1", "::1"] {
        let Some(mut drops) = attached() else { return };
        let (socket, closed) = sender(address);
        let peer = socket.local_addr().unwrap();
        let send = |count: usize, len: usize| {
            for _ in 0..count {
                assert_eq!(socket.send_to(&vec![7; len], closed).unwrap(), len);
            }
        };
        send(5, 100);
        assert_eq!(drops.by_reason().unwrap(), [], "nothing is followed");
        drops.follow(closed.port(), &[peer]).unwrap();
        send(100, 64);
        assert_eq!(drops.by_reason().unwrap(), no_socket(100, 6_400), "{address}");
        let (total, unspecified) = drops.total().unwrap();
        assert_eq!(total, Dropped { packets: 100, bytes: 6_400 });
        assert_eq!(unspecified, Dropped::default());
        // Others to this port, and from this peer to another port.
        let (other, _) = sender(address);
        other.send_to(&[7; 64], closed).unwrap();
        drops.follow(closed.port().wrapping_add(1), &[peer]).unwrap();
        send(5, 64);
        drops.follow(closed.port(), &[other.local_addr().unwrap()]).unwrap();
        send(5, 64);
        assert_eq!(drops.by_reason().unwrap(), no_socket(100, 6_400), "{address}");
    }
}

#[test]
fn joined_packets_count_as_they_were_sent() {
    let Some(mut drops) = attached() else { return };
    let (socket, closed) = sender("127.0.0.1");
    drops.follow(closed.port(), &[socket.local_addr().unwrap()]).unwrap();
    sockopt::set(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, 500).unwrap();
    socket.send_to(&[7; 4_700], closed).unwrap();
    assert_eq!(drops.by_reason().unwrap(), no_socket(10, 4_700));
}

#[test]
fn packets_that_reach_their_socket_are_not_counted() {
    let Some(mut drops) = attached() else { return };
    let (socket, _) = sender("127.0.0.1");
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    // The smallest buffer: it fills, which is the socket's own drop.
    sockopt::set(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUF, 0).unwrap();
    let port = receiver.local_addr().unwrap();
    drops.follow(port.port(), &[socket.local_addr().unwrap()]).unwrap();
    for _ in 0..100 {
        socket.send_to(&[7; 1_000], port).unwrap();
    }
    assert_eq!(drops.by_reason().unwrap(), []);
}

#[test]
fn more_peers_than_fit_are_refused() {
    let Some(mut drops) = attached() else { return };
    let peers: Vec<SocketAddr> =
        (0..FLOWS_MAX as u16 + 1).map(|port| ([127, 0, 0, 1], 1_000 + port).into()).collect();
    drops.follow(1, &peers[1..]).unwrap();
    assert_eq!(drops.follow(1, &peers).unwrap_err().raw_os_error(), Some(libc::E2BIG));
    drops.follow(1, &peers[..1]).unwrap();
}
