//! The program: its arguments are `kfree_skb(skb, location, reason, ..)`.

use super::{REASONS_MAX, TOTAL};
use crate::bpf::{Assembler, Insn, Map, Register, Size, Test};
use crate::btf::Btf;

/// Where a packet has what the program reads, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    device: i32,
    head: i32,
    data: i32,
    end: i32,
    network_header: i32,
    /// In the device.
    namespace: i32,
    /// In the namespace.
    number: i32,
    /// Behind the packet's bytes.
    segments: i32,
}

impl Layout {
    /// `None` where the kernel's packets have another form.
    pub(super) fn of(btf: &Btf<'_>) -> Option<Self> {
        // Elsewhere the end of a packet's bytes is a pointer.
        if cfg!(not(target_pointer_width = "64")) {
            return None;
        }
        let offset = |structure, path: &[&str]| {
            let offset = btf.offset(structure, path)?;
            (offset < OFFSET_MAX).then_some(offset as i32)
        };
        Some(Self {
            device: offset("sk_buff", &["dev"])?,
            head: offset("sk_buff", &["head"])?,
            data: offset("sk_buff", &["data"])?,
            end: offset("sk_buff", &["end"])?,
            network_header: offset("sk_buff", &["network_header"])?,
            namespace: offset("net_device", &["nd_net", "net"])?,
            number: offset("net", &["ns", "inum"])?,
            segments: offset("skb_shared_info", &["gso_segs"])?,
        })
    }
}

/// Counts drops of the flows in `flows` in `counts`, unless the reason is excluded.
pub(super) fn counting(layout: &Layout, excluded: &[u32], flows: &Map, counts: &Map) -> Vec<Insn> {
    let mut it = Assembler::new();
    it.load(Size::Double, PACKET, Register::R1, 0);
    it.load(Size::Double, REASON, Register::R1, 16);
    for &reason in excluded {
        it.jump_if(REASON, Test::Equal, reason as i32, "end");
    }
    // The namespace of the device.
    read(&mut it, SCRATCH, 8, PACKET, layout.device);
    it.load(Size::Double, PLACE, Register::STACK, SCRATCH);
    it.jump_if(PLACE, Test::Equal, 0, "end");
    read(&mut it, SCRATCH, 8, PLACE, layout.namespace);
    it.load(Size::Double, PLACE, Register::STACK, SCRATCH);
    read(&mut it, KEY, 4, PLACE, layout.number);
    // The IP header. Before the IP stack has seen the packet, its data begin there.
    read(&mut it, HEAD, 8, PACKET, layout.head);
    read(&mut it, SCRATCH, 2, PACKET, layout.network_header);
    it.load(Size::Half, Register::R1, Register::STACK, SCRATCH);
    it.load(Size::Double, PLACE, Register::STACK, HEAD);
    it.add_register(PLACE, Register::R1);
    it.jump_if(Register::R1, Test::NotEqual, 0, "ip");
    read(&mut it, SCRATCH, 8, PACKET, layout.data);
    it.load(Size::Double, PLACE, Register::STACK, SCRATCH);
    it.label("ip");
    read(&mut it, IP, IP_BYTES, PLACE, 0);
    read_addresses(&mut it);
    it.map(Register::R1, flows);
    it.copy(Register::R2, Register::STACK).add(Register::R2, KEY.into());
    it.call(MAP_LOOKUP).jump_if(Register::R0, Test::Equal, 0, "end");
    // How many packets it was joined from.
    read(&mut it, SCRATCH, 4, PACKET, layout.end);
    it.load(Size::Word, Register::R1, Register::STACK, SCRATCH);
    it.load(Size::Double, PLACE, Register::STACK, HEAD);
    it.add_register(PLACE, Register::R1);
    read(&mut it, SCRATCH, 2, PLACE, layout.segments);
    it.load(Size::Half, PLACE, Register::STACK, SCRATCH);
    it.jump_if(PLACE, Test::NotEqual, 0, "joined").set(PLACE, 1).label("joined");
    it.jump_if(REASON, Test::Greater, REASONS_MAX as i32 - 1, "other");
    it.jump("known").label("other").set(REASON, 0).label("known");
    count(&mut it, counts);
    it.set(REASON, TOTAL as i32);
    count(&mut it, counts);
    it.label("end").set(Register::R0, 0).exit();
    it.finish()
}

/// Reads the peer's address, the ports and the length of the payload from the header at `IP`; ends
/// where it is not UDP. Fragments and IP options do not occur in a stream.
fn read_addresses(it: &mut Assembler) {
    let stack = Register::STACK;
    it.load(Size::Byte, Register::R1, stack, IP);
    it.jump_if(Register::R1, Test::Equal, 0x45, "v4");
    it.jump_if(Register::R1, Test::Greater, 0x6f, "end");
    it.jump_if(Register::R1, Test::Greater, 0x5f, "v6");
    it.jump("end").label("v6");
    it.load(Size::Byte, Register::R1, stack, IP + 6);
    it.jump_if(Register::R1, Test::NotEqual, UDP, "end");
    for at in [0, 8] {
        it.load(Size::Double, Register::R1, stack, IP + 8 + at);
        it.store(Size::Double, stack, KEY + 8 + at, Register::R1);
    }
    it.load(Size::Half, Register::R1, stack, IP + 4).swap_network_half(Register::R1);
    it.add(Register::R1, -UDP_BYTES).jump_if(Register::R1, Test::Greater, LENGTH_MAX, "end");
    it.store(Size::Double, stack, LENGTH, Register::R1);
    it.add(PLACE, IPV6_BYTES).jump("udp");
    it.label("v4");
    it.load(Size::Byte, Register::R1, stack, IP + 9);
    it.jump_if(Register::R1, Test::NotEqual, UDP, "end");
    // As an IPv6 address of IPv4.
    it.set(Register::R1, 0).store(Size::Double, stack, KEY + 8, Register::R1);
    it.store(Size::Half, stack, KEY + 16, Register::R1);
    it.set(Register::R1, 0xffff).store(Size::Half, stack, KEY + 18, Register::R1);
    it.load(Size::Word, Register::R1, stack, IP + 12);
    it.store(Size::Word, stack, KEY + 20, Register::R1);
    it.load(Size::Half, Register::R1, stack, IP + 2).swap_network_half(Register::R1);
    it.add(Register::R1, -IPV4_BYTES - UDP_BYTES);
    // A length below that of the headers is negative, and very large without its sign.
    it.jump_if(Register::R1, Test::Greater, LENGTH_MAX, "end").store(
        Size::Double,
        stack,
        LENGTH,
        Register::R1,
    );
    it.add(PLACE, IPV4_BYTES);
    it.label("udp");
    read(it, KEY + 4, 4, PLACE, 0);
}

/// Copies bytes of the kernel to the stack, or ends.
fn read(it: &mut Assembler, to: i16, len_bytes: i32, from: Register, offset: i32) {
    it.copy(Register::R1, Register::STACK).add(Register::R1, to.into());
    it.set(Register::R2, len_bytes);
    it.copy(Register::R3, from).add(Register::R3, offset);
    it.call(PROBE_READ_KERNEL).jump_if(Register::R0, Test::NotEqual, 0, "end");
}

/// Adds the packets in `PLACE` and their bytes at the place `REASON`.
fn count(it: &mut Assembler, counts: &Map) {
    it.store(Size::Word, Register::STACK, SCRATCH, REASON);
    it.map(Register::R1, counts);
    it.copy(Register::R2, Register::STACK).add(Register::R2, SCRATCH.into());
    it.call(MAP_LOOKUP).jump_if(Register::R0, Test::Equal, 0, "end");
    it.add_atomically(Register::R0, 0, PLACE);
    it.load(Size::Double, Register::R1, Register::STACK, LENGTH);
    it.add_atomically(Register::R0, 8, Register::R1);
}

/// No packet has a longer payload.
const LENGTH_MAX: i32 = 0xFFFF;
const PACKET: Register = Register::R6;
const REASON: Register = Register::R7;
/// An address that is followed, at last the number of packets.
const PLACE: Register = Register::R8;

// Places below the end of the stack.
const KEY: i16 = -24;
const IP: i16 = -64;
const SCRATCH: i16 = -72;
const HEAD: i16 = -80;
const LENGTH: i16 = -88;

// Functions of `linux/bpf.h`.
const MAP_LOOKUP: i32 = 1;
const PROBE_READ_KERNEL: i32 = 113;

const UDP: i32 = 17;
const UDP_BYTES: i32 = 8;
const IPV4_BYTES: i32 = 20;
const IPV6_BYTES: i32 = 40;
const IP_BYTES: i32 = IPV6_BYTES;
/// The kernel's largest structure here is a network namespace, of some KiB.
const OFFSET_MAX: u32 = 1 << 16;
