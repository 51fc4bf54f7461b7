//! What an error of a link concerns: the one table by which an endpoint goes on or ends.
//!
//! A stranger chooses the address and the length of what is answered, and can forge what the network
//! answers (ICMP). So an error ends an endpoint only where no packet can cause it: the socket or the
//! host is broken. An error that the table does not name ends nothing; it is counted, and an
//! endpoint that meets it again and again slows down ([`Resilient`](crate::Resilient)).

use std::io;

use crate::link::LinkError;

/// What an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// This attempt alone: no packet is at fault, and the same call succeeds later.
    Attempt,
    /// One packet: another packet to the same destination may pass.
    Packet,
    /// One destination: packets to others pass. It may pass again later.
    Destination,
    /// One stream: the network answered to an earlier packet of a connected socket. The answer may
    /// be forged. The timers of the protocol find a peer that is really gone.
    Stream,
    /// The socket: no call on it succeeds any more.
    Socket,
    /// The host: its policy or its kernel refuses what a link needs.
    Host,
}

/// A call of a [`Link`](crate::Link) that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Link::send`](crate::Link::send).
    Send,
    /// [`Link::recv`](crate::Link::recv).
    Receive,
    /// [`Link::wait`](crate::Link::wait).
    Wait,
}

impl Concern {
    /// What `error`, returned by `call`, concerns.
    pub fn of(call: Call, error: &LinkError) -> Self {
        match error {
            LinkError::System { source, .. } => Self::of_system(call, source),
            LinkError::TooLong { .. } => Self::Packet,
            LinkError::Failed { .. } => Self::Destination,
            LinkError::Interface { .. } | LinkError::Disconnected => Self::Socket,
            LinkError::Capture(_) => Self::Host,
        }
    }

    /// What an answer of the system to `call` concerns.
    pub fn of_system(call: Call, error: &io::Error) -> Self {
        // A link's own error, which no packet has caused.
        let Some(errno) = error.raw_os_error() else { return Self::Socket };
        let row = TABLE.iter().find(|row| row.errnos.contains(&errno)).unwrap_or(&UNKNOWN);
        match call {
            Call::Send => row.send,
            Call::Receive => row.receive,
            Call::Wait => row.wait,
        }
    }

    /// Whether the endpoint that owns the link ends with such an error.
    pub const fn ends_endpoint(self) -> bool {
        match self {
            Self::Attempt | Self::Packet | Self::Destination | Self::Stream => false,
            Self::Socket | Self::Host => true,
        }
    }
}

/// What some errors concern at each call.
struct Row {
    errnos: &'static [i32],
    send: Concern,
    receive: Concern,
    wait: Concern,
}

/// The errors that Linux can return from `sendto`, `sendmmsg`, `recvmsg`, `recvmmsg` and `ppoll` on
/// a UDP socket, or that a connected socket keeps from an ICMP message (`icmp_err_convert` and
/// `icmpv6_err_convert` of the kernel). `Wait` never reports the latter.
///
/// A packet that a stream's own destination refuses counts as lost. Reason: the cause may pass (a
/// route returns, a filter is changed, the MTU is set back), and then the repair loop sends the packet
/// again. If it does not pass, the circuit breaker ends the stream at the sender, or silence at the
/// receiver, and `send_errors` shows why.
const TABLE: &[Row] = {
    use Concern::{Attempt, Destination, Host, Packet, Socket, Stream};
    &[
        // A queue is full or empty, a signal came, or memory is short for a moment.
        Row {
            errnos: &[libc::EAGAIN, libc::EINTR, libc::ENOBUFS, libc::ENOMEM],
            send: Attempt,
            receive: Attempt,
            wait: Attempt,
        },
        // Longer than the interface takes. From a receive: ICMP 3/4, or ICMPv6 "too big".
        Row { errnos: &[libc::EMSGSIZE], send: Packet, receive: Stream, wait: Attempt },
        // ICMP 3/3, ICMPv6 1/4: nothing listens there. It answers an earlier packet, never this.
        // ICMP 3/2, 3/5, 3/7, 3/8 and 12, ICMPv6 4 and any type that the kernel does not know.
        Row {
            errnos: &[
                libc::ECONNREFUSED,
                libc::ENOPROTOOPT,
                libc::EOPNOTSUPP,
                libc::EHOSTDOWN,
                libc::ENONET,
                libc::EPROTO,
            ],
            send: Stream,
            receive: Stream,
            wait: Attempt,
        },
        // No route, a route that rejects, or an interface that is down. From a receive: ICMP 3/0,
        // 3/1, 3/6, 3/9 to 3/15 and 11, ICMPv6 1 and 3.
        Row {
            errnos: &[libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ENETDOWN],
            send: Destination,
            receive: Stream,
            wait: Attempt,
        },
        // A broadcast address, or a route that prohibits. From a receive: ICMPv6 1/1, 1/5, 1/6.
        Row { errnos: &[libc::EACCES], send: Destination, receive: Stream, wait: Host },
        // A filter of the host drops packets to there (netfilter, BPF). The other calls meet only a
        // policy that forbids the call itself (seccomp, LSM).
        Row { errnos: &[libc::EPERM], send: Destination, receive: Host, wait: Host },
        // Port 0, or a source address that is gone and may return. A receive or a wait with a wrong
        // argument is a fault of this program.
        Row { errnos: &[libc::EINVAL], send: Destination, receive: Socket, wait: Host },
        // An address of another family; a scope, an interface or a source address that is gone and
        // may return; an interface that cannot do what the socket wants.
        Row {
            errnos: &[
                libc::EAFNOSUPPORT,
                libc::EADDRNOTAVAIL,
                libc::ENODEV,
                libc::ENXIO,
                libc::EIO,
            ],
            send: Destination,
            receive: Stream,
            wait: Attempt,
        },
        // The descriptor is no socket, or is closed, shut down, or destroyed (`ss -K`).
        Row {
            errnos: &[
                libc::EBADF,
                libc::ENOTSOCK,
                libc::EPIPE,
                libc::ESHUTDOWN,
                libc::ECONNABORTED,
                libc::ENOTCONN,
                libc::EDESTADDRREQ,
            ],
            send: Socket,
            receive: Socket,
            wait: Socket,
        },
        // Memory that is not this process's, or a call that the kernel does not have.
        Row { errnos: &[libc::EFAULT, libc::ENOSYS], send: Host, receive: Host, wait: Host },
    ]
};

/// An error that a later kernel may return. A stranger chooses where an answer goes, and a later
/// kernel may turn more of what the network says into errors: neither must end an endpoint. A wait that
/// fails becomes a short sleep.
const UNKNOWN: Row = Row {
    errnos: &[],
    send: Concern::Destination,
    receive: Concern::Stream,
    wait: Concern::Attempt,
};

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn of(call: Call, errno: i32) -> Concern {
        Concern::of_system(call, &io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn no_error_is_named_twice() {
        let mut named: Vec<_> = TABLE.iter().flat_map(|row| row.errnos).collect();
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), count);
    }

    /// `icmp_err_convert`, `icmp_unreach` and `icmpv6_err_convert` of Linux 6.
    pub(crate) const ANSWERS_OF_THE_NETWORK: [i32; 10] = [
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::ENOPROTOOPT,
        libc::ECONNREFUSED,
        libc::EMSGSIZE,
        libc::EOPNOTSUPP,
        libc::EHOSTDOWN,
        libc::ENONET,
        libc::EPROTO,
        libc::EACCES,
    ];

    #[test]
    fn answers_of_the_network_concern_the_stream_that_reads_them() {
        for errno in ANSWERS_OF_THE_NETWORK {
            assert_eq!(of(Call::Receive, errno), Concern::Stream, "errno {errno}");
            assert!(!of(Call::Send, errno).ends_endpoint(), "errno {errno}");
        }
    }

    #[test]
    fn refused_destination_concerns_that_destination_alone() {
        for errno in [
            libc::EINVAL,
            libc::EACCES,
            libc::EPERM,
            libc::ENETUNREACH,
            libc::EHOSTUNREACH,
            libc::ENETDOWN,
            libc::EAFNOSUPPORT,
            libc::EADDRNOTAVAIL,
            libc::ENODEV,
            libc::ENXIO,
            libc::EIO,
        ] {
            assert_eq!(of(Call::Send, errno), Concern::Destination, "errno {errno}");
        }
        for errno in [libc::ECONNREFUSED, libc::ENOPROTOOPT, libc::EPROTO] {
            assert_eq!(of(Call::Send, errno), Concern::Stream, "errno {errno}");
        }
        assert_eq!(of(Call::Send, libc::EMSGSIZE), Concern::Packet);
    }

    #[test]
    fn full_queue_concerns_the_attempt_and_a_dead_descriptor_the_socket() {
        for call in [Call::Send, Call::Receive, Call::Wait] {
            for errno in [libc::EAGAIN, libc::EINTR, libc::ENOBUFS, libc::ENOMEM] {
                assert_eq!(of(call, errno), Concern::Attempt, "errno {errno}");
            }
            for errno in [libc::EBADF, libc::ENOTSOCK, libc::ESHUTDOWN, libc::ECONNABORTED] {
                assert_eq!(of(call, errno), Concern::Socket, "errno {errno}");
            }
            for errno in [libc::EFAULT, libc::ENOSYS] {
                assert_eq!(of(call, errno), Concern::Host, "errno {errno}");
            }
            assert_eq!(Concern::of(call, &LinkError::Disconnected), Concern::Socket);
        }
        assert_eq!(of(Call::Receive, libc::EINVAL), Concern::Socket);
        assert_eq!(of(Call::Receive, libc::EPERM), Concern::Host);
        assert_eq!(of(Call::Wait, libc::EINVAL), Concern::Host);
        assert_eq!(of(Call::Wait, libc::EPERM), Concern::Host);
        assert_eq!(of(Call::Wait, libc::EACCES), Concern::Host);
    }

    #[test]
    fn unknown_error_ends_nothing_and_a_link_s_own_error_does() {
        for call in [Call::Send, Call::Receive, Call::Wait] {
            assert!(!of(call, 4_095).ends_endpoint());
            assert!(Concern::of_system(call, &io::Error::other("broken")).ends_endpoint());
        }
    }
}
