//! The program that takes the packets of known tags off the kernel's way.

use std::io;
use std::net::{IpAddr, SocketAddr};

use super::TAGS_MAX;
use crate::bpf::{Assembler, Insn, Map, MapKind, Program, ProgramKind, Register, Size, Test};

/// The program with what it shares with this process.
#[derive(Debug)]
pub(super) struct Steering {
    pub(super) program: Program,
    tags: Map,
    sockets: Map,
    /// The tags in the map, in rising order.
    known: Vec<u32>,
}

/// What the program takes, besides what its maps say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// Packets to this address and port.
    pub(super) local: SocketAddr,
    /// Where the tag stands in their payload.
    pub(super) tag_offset_bytes: u16,
    /// Their length with the IP header, at most.
    pub(super) mtu_bytes: usize,
}

impl Steering {
    /// Loads the program. There are no tags and no sockets in it yet: it takes nothing.
    ///
    /// # Errors
    /// See [`Program::load`].
    pub(super) fn load(taken: Taken, queues: u32, has_fragments: bool) -> io::Result<Self> {
        let tags = Map::new(MapKind::Hash, 4, 4, TAGS_MAX as u32)?;
        let sockets = Map::new(MapKind::XdpSockets, 4, 4, queues)?;
        let insns = insns(taken, &tags, &sockets);
        let kind = if has_fragments { ProgramKind::XdpFragments } else { ProgramKind::Xdp };
        let program = Program::load(kind, "samplewire", &insns)?;
        Ok(Self { program, tags, sockets, known: Vec::with_capacity(TAGS_MAX) })
    }

    /// Gives the packets of a queue to a socket.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn set_socket(&self, queue: u32, socket: i32) -> io::Result<()> {
        self.sockets.set(&queue.to_ne_bytes(), &socket.to_ne_bytes())
    }

    /// Takes packets with these tags, and with no other. Tags beyond [`TAGS_MAX`] stay on the kernel's
    /// way.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn set_tags(&mut self, tags: &[u32]) -> io::Result<()> {
        let mut wanted = tags[..tags.len().min(TAGS_MAX)].to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        for tag in self.known.iter().filter(|tag| wanted.binary_search(tag).is_err()) {
            self.tags.remove(&tag.to_be_bytes())?;
        }
        for tag in wanted.iter().filter(|tag| self.known.binary_search(tag).is_err()) {
            // As the packet has it.
            self.tags.set(&tag.to_be_bytes(), &[1, 0, 0, 0])?;
        }
        self.known = wanted;
        Ok(())
    }
}

/// Ethernet, IP without options or extension headers and not a fragment, UDP to our address and port, not
/// longer than a packet, and a tag of the map: to the socket of the queue. Everything else goes on to the
/// kernel.
fn insns(taken: Taken, tags: &Map, sockets: &Map) -> Vec<Insn> {
    use Register as R;
    let Taken { local, tag_offset_bytes, mtu_bytes } = taken;
    let mut program = Assembler::new();
    program.copy(R::R6, R::R1).load(Size::Word, R::R2, R::R6, XDP_MD_DATA).load(
        Size::Word,
        R::R3,
        R::R6,
        XDP_MD_DATA_END,
    );
    let (udp, ether_type) = match local {
        SocketAddr::V4(_) => (ETHERNET_BYTES + IPV4_BYTES, 0x0800),
        SocketAddr::V6(_) => (ETHERNET_BYTES + IPV6_BYTES, 0x86DD),
    };
    let tag = udp + UDP_BYTES + tag_offset_bytes as i16;
    let datagram_bytes_max = mtu_bytes as i32 - i32::from(udp - ETHERNET_BYTES);
    program
        .copy(R::R4, R::R2)
        .add(R::R4, (tag + 4).into())
        .jump_if_register(R::R4, Test::Greater, R::R3, "pass")
        .load(Size::Half, R::R5, R::R2, 12)
        .jump_if(R::R5, Test::NotEqual, as_loaded(ether_type), "pass");
    match local {
        SocketAddr::V4(_) => {
            program
                .load(Size::Byte, R::R5, R::R2, ETHERNET_BYTES)
                .jump_if(R::R5, Test::NotEqual, 0x45, "pass")
                .load(Size::Byte, R::R5, R::R2, ETHERNET_BYTES + 9)
                .jump_if(R::R5, Test::NotEqual, IP_UDP, "pass")
                .load(Size::Half, R::R5, R::R2, ETHERNET_BYTES + 6)
                .jump_if(R::R5, Test::AnyBit, as_loaded(FRAGMENT_BITS), "pass");
        }
        SocketAddr::V6(_) => {
            program.load(Size::Byte, R::R5, R::R2, ETHERNET_BYTES + 6).jump_if(
                R::R5,
                Test::NotEqual,
                IP_UDP,
                "pass",
            );
        }
    }
    program.load(Size::Half, R::R5, R::R2, udp + 2).jump_if(
        R::R5,
        Test::NotEqual,
        as_loaded(local.port()),
        "pass",
    );
    // In the generic mode a frame may be several packets, which the kernel splits further up: those of a
    // sender on veth (UDP_SEGMENT), or joined ones (UDP_GRO). A socket of AF_XDP would drop it.
    program.load(Size::Half, R::R5, R::R2, udp + 4).swap_network_half(R::R5).jump_if(
        R::R5,
        Test::Greater,
        datagram_bytes_max,
        "pass",
    );
    let mut match_half = |offset: i16, half: [u8; 2]| {
        program.load(Size::Half, R::R5, R::R2, offset).jump_if(
            R::R5,
            Test::NotEqual,
            i32::from(u16::from_ne_bytes(half)),
            "pass",
        );
    };
    // An unspecified address is any.
    match local.ip() {
        ip if ip.is_unspecified() => {}
        IpAddr::V4(ip) => {
            let halves = ip.octets();
            (0..2).for_each(|half| match_half(udp - 4 + 2 * half, pair(&halves, half)));
        }
        IpAddr::V6(ip) => {
            let halves = ip.octets();
            (0..8).for_each(|half| match_half(udp - 16 + 2 * half, pair(&halves, half)));
        }
    }
    program
        .load(Size::Word, R::R5, R::R2, tag)
        .store(Size::Word, R::STACK, -4, R::R5)
        .map(R::R1, tags)
        .copy(R::R2, R::STACK)
        .add(R::R2, -4)
        .call(MAP_LOOKUP_ELEM)
        .jump_if(R::R0, Test::Equal, 0, "pass")
        .map(R::R1, sockets)
        .load(Size::Word, R::R2, R::R6, XDP_MD_QUEUE)
        // Where the queue has no socket.
        .set(R::R3, XDP_PASS)
        .call(REDIRECT_MAP)
        .exit()
        .label("pass")
        .set(R::R0, XDP_PASS)
        .exit();
    program.finish()
}

/// The two bytes of an address at the index `half`.
fn pair(octets: &[u8], half: i16) -> [u8; 2] {
    let at = 2 * half as usize;
    [octets[at], octets[at + 1]]
}

/// A field of two bytes in network order as a load in the host's order gives it.
fn as_loaded(field: u16) -> i32 {
    i32::from(u16::from_ne_bytes(field.to_be_bytes()))
}

const ETHERNET_BYTES: i16 = 14;
const IPV4_BYTES: i16 = 20;
const IPV6_BYTES: i16 = 40;
const UDP_BYTES: i16 = 8;
const IP_UDP: i32 = 17;
/// "More fragments" and the offset.
const FRAGMENT_BITS: u16 = 0x3FFF;

/// `struct xdp_md` of `linux/bpf.h`.
const XDP_MD_DATA: i16 = 0;
const XDP_MD_DATA_END: i16 = 4;
const XDP_MD_QUEUE: i16 = 16;
const XDP_PASS: i32 = 2;

/// Functions of the kernel, `enum bpf_func_id`.
const MAP_LOOKUP_ELEM: i32 = 1;
const REDIRECT_MAP: i32 = 51;
