//! Socket addresses as the kernel lays them out.

use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// An address of either family, of the length that its family says.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::udp) union NativeAddress {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl NativeAddress {
    /// Room for the kernel to write an address of either family into.
    pub(in crate::udp) const EMPTY: Self = Self {
        v6: libc::sockaddr_in6 {
            sin6_family: libc::AF_UNSPEC as libc::sa_family_t,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    /// The address for a call that reads it, with its length.
    pub(super) fn as_ptr(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        // SAFETY: every variant begins with the family.
        let len_bytes = match i32::from(unsafe { self.family }) {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            _ => size_of::<libc::sockaddr_in6>(),
        };
        ((&raw const *self).cast(), len_bytes as libc::socklen_t)
    }

    /// The address, if the kernel has written one.
    pub(super) fn get(&self) -> Option<SocketAddr> {
        // SAFETY: the union is valid for either family, whose field says which.
        unsafe { from_pointer((&raw const *self).cast()) }
    }
}

impl From<SocketAddr> for NativeAddress {
    fn from(address: SocketAddr) -> Self {
        // The union's longest variant first, so that no byte is left unwritten.
        let mut native = Self::EMPTY;
        match address {
            SocketAddr::V4(v4) => {
                native.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
            }
            SocketAddr::V6(v6) => {
                native.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
            }
        }
        native
    }
}

/// The address that `pointer` leads to; `None` where it is null or of another family.
///
/// # Safety
/// `pointer` is null or leads to a socket address that is valid for its family.
pub(super) unsafe fn from_pointer(pointer: *const libc::sockaddr) -> Option<SocketAddr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's address begins with its family, which determines what follows. Reads are
    // unaligned because a sockaddr has a smaller alignment than a sockaddr_in6.
    unsafe {
        match i32::from((*pointer).sa_family) {
            libc::AF_INET => {
                let v4 = pointer.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                let v6 = pointer.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernel_s_layout() {
        for text in ["192.0.2.7:4660", "[2001:db8::7]:1", "[fe80::1%3]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(NativeAddress::from(address).get(), Some(address));
        }
    }

    #[test]
    fn unwritten_address_is_none() {
        assert_eq!(NativeAddress::EMPTY.get(), None);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { from_pointer(std::ptr::null()) }, None);
    }

    #[test]
    fn length_is_that_of_the_family() {
        let v4 = NativeAddress::from(SocketAddr::from(([127, 0, 0, 1], 1)));
        assert_eq!(v4.as_ptr().1, 16);
        let v6 = NativeAddress::from(SocketAddr::from(([0; 16], 1)));
        assert_eq!(v6.as_ptr().1, 28);
    }
}
