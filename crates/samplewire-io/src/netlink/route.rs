//! rtnetlink: programs between a card and the IP stack.

use std::io;

use super::sys::Socket;

/// Whether an XDP program is attached to an interface: 0 for none, else its mode by
/// `XDP_ATTACHED_*` (1 driver, 2 generic, 3 card, 4 several).
///
/// # Errors
/// The system's.
pub fn xdp_mode(index: u32) -> io::Result<u64> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // ifinfomsg: family, padding, type, index, flags, mask of changes.
    let mut request = [0; LINK_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut mode = 0;
    socket.request(libc::RTM_GETLINK, &request, false, |message| {
        let xdp = message.attributes(LINK_HEADER_BYTES).get(IFLA_XDP);
        let attached = xdp.and_then(|it| it.nested().get(IFLA_XDP_ATTACHED)?.number());
        mode = attached.unwrap_or(0);
    })?;
    Ok(mode)
}

/// Kinds of the queueing disciplines of an interface, e.g. `fq_codel`, `clsact`.
///
/// # Errors
/// The system's.
pub fn disciplines(index: u32) -> io::Result<Vec<String>> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    // tcmsg: family and padding, index, handle, parent, info. The kernel may ignore the index.
    let mut request = [0; QUEUE_HEADER_BYTES];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut kinds = Vec::new();
    socket.request(libc::RTM_GETQDISC, &request, true, |message| {
        let of = message.body.get(4..8).map(|it| it == index.to_ne_bytes());
        let kind = message.attributes(QUEUE_HEADER_BYTES).get(TCA_KIND).and_then(|it| it.text());
        if let (Some(true), Some(kind)) = (of, kind) {
            kinds.push(kind.to_owned());
        }
    })?;
    Ok(kinds)
}

const LINK_HEADER_BYTES: usize = 16;
const QUEUE_HEADER_BYTES: usize = 20;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const TCA_KIND: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_discipline_and_no_program() {
        assert_eq!(xdp_mode(1).unwrap(), 0);
        assert_eq!(disciplines(1).unwrap().first().map(String::as_str), Some("noqueue"));
        assert_eq!(xdp_mode(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
