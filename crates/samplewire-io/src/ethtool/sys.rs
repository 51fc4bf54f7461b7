//! The ioctl, through `libc`.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// An interface to query.
pub(super) struct Card {
    socket: UdpSocket,
    name: [libc::c_char; libc::IFNAMSIZ],
}

/// The parts of `ethtool_rxnfc` that are read.
pub(super) struct Rules {
    pub(super) hash: u64,
    pub(super) rules: u32,
}

impl Card {
    pub(super) fn open(interface: &str) -> io::Result<Self> {
        let mut name = [0; libc::IFNAMSIZ];
        // The last byte stays zero.
        if interface.len() >= name.len() || interface.bytes().any(|byte| byte == 0) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        for (place, byte) in name.iter_mut().zip(interface.bytes()) {
            *place = byte as libc::c_char;
        }
        // No address: the loopback may be down.
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        Ok(Self { socket, name })
    }

    /// The answer to a request whose structure is `N` words, the first of which is the command.
    pub(super) fn words<const N: usize>(&self, command: u32) -> io::Result<[u32; N]> {
        let bytes = self.answer(command, 0, 4 * N)?;
        Ok(std::array::from_fn(|at| word(&bytes, 4 * at)))
    }

    /// The answer to a request of a command and a word, in `len_bytes`. The driver may have more
    /// entries by now than were counted before: there is room for them, and they are left out.
    pub(super) fn answer(&self, command: u32, word: u32, len_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 2 * len_bytes + RESERVE_BYTES];
        bytes[..4].copy_from_slice(&command.to_ne_bytes());
        bytes[4..8].copy_from_slice(&word.to_ne_bytes());
        self.ioctl(&mut bytes)?;
        bytes.truncate(len_bytes);
        Ok(bytes)
    }

    /// The names of a set, with at most [`STRINGS_MAX`] entries.
    pub(super) fn strings(&self, set: u32) -> io::Result<Vec<String>> {
        // ethtool_sset_info: command, reserved, a mask of 64 bits, then a count for each of its bits.
        let mut bytes = vec![0; 16 + RESERVE_BYTES];
        bytes[..4].copy_from_slice(&0x37_u32.to_ne_bytes());
        bytes[8..16].copy_from_slice(&(1_u64 << set).to_ne_bytes());
        self.ioctl(&mut bytes)?;
        let count = if number(&bytes, 8) == 0 { 0 } else { word(&bytes, 16) as usize };
        if count > STRINGS_MAX {
            return Err(io::Error::from_raw_os_error(libc::EOVERFLOW));
        }
        let mut bytes = vec![0; 12 + 2 * STRING_BYTES * count + RESERVE_BYTES];
        bytes[..4].copy_from_slice(&0x1b_u32.to_ne_bytes());
        bytes[4..8].copy_from_slice(&set.to_ne_bytes());
        bytes[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
        self.ioctl(&mut bytes)?;
        let names = bytes[12..].chunks(STRING_BYTES).take(count);
        Ok(names.map(name_of).collect())
    }

    /// What `ethtool_rxnfc` has after a command.
    pub(super) fn rules(&self, command: u32, flow: u32) -> io::Result<Rules> {
        let bytes = self.answer(command, flow, RXNFC_BYTES)?;
        Ok(Rules { hash: number(&bytes, 8), rules: word(&bytes, RULE_COUNT_AT) })
    }

    fn ioctl(&self, bytes: &mut [u8]) -> io::Result<()> {
        // SAFETY: all bytes zero are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name = self.name;
        request.ifr_ifru.ifru_data = bytes.as_mut_ptr().cast();
        // SAFETY: the request is an ifreq whose data points to `bytes`. The commands of this module
        // write the structures of linux/ethtool.h, with as many entries as the driver counts: callers
        // leave room for twice as many as it counted, and for RESERVE_BYTES.
        let answer = unsafe {
            let request = &raw mut request;
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, request)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A word of an answer; 0 past its end.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |it| u32::from_ne_bytes(it.try_into().expect("4 bytes")))
}

/// A number of 64 bits; 0 past the end.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |it| u64::from_ne_bytes(it.try_into().expect("8 bytes")))
}

/// The text up to its zero, with `_` for what could not stand in a list of words.
fn name_of(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let shown = |&byte: &u8| if byte.is_ascii_graphic() { char::from(byte) } else { '_' };
    text.iter().map(shown).collect()
}

const STRING_BYTES: usize = 32;
/// Cards with hundreds of queues count some ten thousand.
const STRINGS_MAX: usize = 1 << 17;
/// Entries that appear between two calls, e.g. with a queue.
const RESERVE_BYTES: usize = 64 << 10;
/// The size of `ethtool_rxnfc`, and its `rule_cnt`.
const RXNFC_BYTES: usize = 192;
const RULE_COUNT_AT: usize = 184;
