//! Packets of chosen flows that this host's kernel drops, by its own reason: a BPF program at the
//! tracepoint `skb:kfree_skb` counts them (Linux 5.17 and later; CAP_BPF and CAP_PERFMON).
//!
//! The tracepoint reports the drops of all programs and network namespaces. Counted are those in the
//! namespace of this process, on their way in, from a peer's address and port to a local port, over UDP. A
//! packet that the kernel has joined from several counts as these. Where the structures of a packet lie is
//! read from the kernel's BTF.
//!
//! Not counted, since the socket's own counters have them: drops of a full or filtering socket, and
//! packets with a wrong UDP checksum. Copies for packet sockets (`tcpdump`) are not counted either.

mod program;

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

use crate::bpf::{Attachment, Map, MapKind, Program, ProgramKind};
use crate::btf::Btf;
use program::Layout;

/// Counts drops until it is dropped.
#[derive(Debug)]
pub struct KernelDrops {
    flows: Map,
    counts: Map,
    /// The names of the reasons, by number.
    reasons: Vec<String>,
    unspecified: u32,
    namespace: u32,
    /// The keys that are set in `flows`.
    followed: Vec<[u8; FLOW_BYTES]>,
    _attachment: Attachment,
}

/// Packets, and the bytes of their UDP payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Packets as they were sent.
    pub packets: u64,
    /// Bytes of UDP payload.
    pub bytes: u64,
}

impl KernelDrops {
    /// Attaches the program. No flow is counted yet.
    ///
    /// # Errors
    /// `EPERM` without CAP_BPF and CAP_PERFMON; `NotFound` or `Unsupported` where the kernel has no BTF or no
    /// reasons of drops.
    pub fn attach() -> io::Result<Self> {
        let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let namespace = u32::try_from(namespace).map_err(|_| unsupported("the namespace"))?;
        // Before the types are read: most processes may not do this.
        let flows = Map::new(MapKind::Hash, FLOW_BYTES, 1, FLOWS_MAX)?;
        let counts = Map::new(MapKind::Array, 4, COUNT_BYTES, REASONS_MAX)?;
        let bytes = fs::read(KERNEL_TYPES)?;
        let btf = Btf::parse(&bytes).map_err(|error| unsupported(&error.to_string()))?;
        let layout = Layout::of(&btf).ok_or_else(|| unsupported("structures of packets"))?;
        let values =
            btf.values("skb_drop_reason").ok_or_else(|| unsupported("reasons of drops"))?;
        let number = |name: &str| {
            let found = values.iter().find(|it| it.0.strip_prefix(PREFIX) == Some(name));
            found.map(|it| it.1)
        };
        let excluded: Vec<u32> = EXCLUDED.iter().filter_map(|name| number(name)).collect();
        let insns = program::counting(&layout, &excluded, &flows, &counts);
        let program = Program::load(ProgramKind::RawTracepoint, "samplewire_drop", &insns)?;
        let attachment = Attachment::raw_tracepoint(&program, c"kfree_skb")?;
        let mut reasons = vec![String::new(); REASONS_MAX as usize];
        for (name, value) in &values {
            if let Some(place) = reasons.get_mut(*value as usize) {
                *place = name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
            }
        }
        reasons[OTHER as usize] = "OTHER".to_owned();
        let unspecified = number("NOT_SPECIFIED").unwrap_or(OTHER);
        Ok(Self {
            flows,
            counts,
            reasons,
            unspecified,
            namespace,
            followed: Vec::new(),
            _attachment: attachment,
        })
    }

    /// Counts packets from these peers to a local port, and no others from here on.
    ///
    /// # Errors
    /// `E2BIG` with more than 64 peers.
    pub fn follow(&mut self, local_port: u16, peers: &[SocketAddr]) -> io::Result<()> {
        for key in self.followed.drain(..) {
            self.flows.remove(&key)?;
        }
        for peer in peers {
            let key = flow_key(self.namespace, local_port, *peer);
            self.flows.set(&key, &[1])?;
            self.followed.push(key);
        }
        Ok(())
    }

    /// What was dropped so far, and the part of it for which the kernel names no reason: mostly drops
    /// of drivers.
    ///
    /// # Errors
    /// The system's.
    pub fn total(&self) -> io::Result<(Dropped, Dropped)> {
        Ok((self.count(TOTAL)?, self.count(self.unspecified)?))
    }

    /// What was dropped so far by reason, those alone that dropped something, most first.
    ///
    /// # Errors
    /// The system's.
    pub fn by_reason(&self) -> io::Result<Vec<(&str, Dropped)>> {
        let mut found = Vec::new();
        for (number, name) in (0..).zip(&self.reasons) {
            if number != TOTAL && !name.is_empty() {
                let count = self.count(number)?;
                if count.packets > 0 {
                    found.push((name.as_str(), count));
                }
            }
        }
        found.sort_by_key(|it| std::cmp::Reverse(it.1.packets));
        Ok(found)
    }

    fn count(&self, place: u32) -> io::Result<Dropped> {
        let mut value = [0; COUNT_BYTES];
        self.counts.get(&place.to_ne_bytes(), &mut value)?;
        let number = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().expect("8 bytes"));
        Ok(Dropped { packets: number(0), bytes: number(8) })
    }
}

/// The key of a flow: the namespace, both ports and the peer's address as IPv6, as packets have them.
fn flow_key(namespace: u32, local_port: u16, peer: SocketAddr) -> [u8; FLOW_BYTES] {
    let mut key = [0; FLOW_BYTES];
    key[..4].copy_from_slice(&namespace.to_ne_bytes());
    key[4..6].copy_from_slice(&peer.port().to_be_bytes());
    key[6..8].copy_from_slice(&local_port.to_be_bytes());
    let address = match peer.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    key[8..].copy_from_slice(&address.octets());
    key
}

fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("not in {KERNEL_TYPES}: {what}"))
}

const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const PREFIX: &str = "SKB_DROP_REASON_";

/// The socket counts these, or they are of a copy.
const EXCLUDED: [&str; 5] =
    ["SOCKET_RCVBUFF", "PROTO_MEM", "SOCKET_FILTER", "UDP_CSUM", "PACKET_SOCK_ERROR"];

const FLOW_BYTES: usize = 24;
/// The most streams that a program aligns, each from a device of its own.
const FLOWS_MAX: u32 = 64;
const COUNT_BYTES: usize = 16;
/// Reasons of the core; those of subsystems have larger numbers, and count as [`OTHER`].
const REASONS_MAX: u32 = 256;
/// SKB_NOT_DROPPED_YET of the kernel, which no drop has.
const OTHER: u32 = 0;
/// SKB_CONSUMED of the kernel, which no drop has.
const TOTAL: u32 = 1;

#[cfg(test)]
mod tests;
