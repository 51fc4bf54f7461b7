//! A TAP device: an Ethernet interface of the kernel whose cable ends in this process.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use super::{EtherError, EtherLink, sys};

/// An open TAP device. It may be moved to another network namespace while it is open.
#[derive(Debug)]
pub struct Tap {
    name: String,
    file: File,
    /// `tx_dropped` of the interface; none without sysfs. It stays open: sysfs shows an interface
    /// only in its namespace, and the file goes with it.
    drops: Option<File>,
    dropped_before: u64,
}

impl Tap {
    /// Opens the TAP device `name`, or creates one that goes when it is closed. Frames that the
    /// kernel sends wait in a queue of [`QUEUE_FRAMES`](Self::QUEUE_FRAMES).
    ///
    /// # Errors
    /// The name cannot be an interface's, the device is open elsewhere or no TAP device, or the
    /// process does not have CAP_NET_ADMIN.
    pub fn open(name: &str) -> Result<Self, EtherError> {
        // A percent sign lets the kernel choose a number.
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'%');
        if !(1..libc::IFNAMSIZ).contains(&name.len()) || !name.bytes().all(is_allowed) {
            let source = io::Error::new(ErrorKind::InvalidInput, NAME_WORDS);
            return Err(EtherError::of(name, "name")(source));
        }
        let file = sys::open_tap(name).map_err(EtherError::of(name, "TUNSETIFF"))?;
        sys::set_queue_frames(name, Self::QUEUE_FRAMES)
            .map_err(EtherError::of(name, "SIOCSIFTXQLEN"))?;
        let drops = File::open(format!("/sys/class/net/{name}/statistics/tx_dropped")).ok();
        let mut tap = Self { name: name.to_owned(), file, drops, dropped_before: 0 };
        tap.dropped_before = tap.read_drops()?.unwrap_or(0);
        Ok(tap)
    }

    fn read_drops(&self) -> Result<Option<u64>, EtherError> {
        let Some(file) = &self.drops else { return Ok(None) };
        let mut text = [0; 24];
        let read = file.read_at(&mut text, 0).map_err(EtherError::of(&self.name, "tx_dropped"))?;
        let count = str::from_utf8(&text[..read]).ok().and_then(|text| text.trim().parse().ok());
        Ok(count)
    }

    /// Frames that may wait in the kernel: at 84 bytes of wire each, 275 us of 10 Gb/s; of 4 KiB
    /// frames, more than a sender's socket buffer.
    pub const QUEUE_FRAMES: i32 = 4_096;
}

impl EtherLink for Tap {
    fn name(&self) -> &str {
        &self.name
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        match self.file.read(into) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(source) => Err(EtherError::of(&self.name, "read")(source)),
        }
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        match self.file.write(frame) {
            Ok(_) => Ok(true),
            Err(error) if LOST.contains(&error.raw_os_error().unwrap_or(0)) => Ok(false),
            Err(source) => Err(EtherError::of(&self.name, "write")(source)),
        }
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(self.read_drops()?.map(|count| count.saturating_sub(self.dropped_before)))
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The queue is full or memory is short; EIO: the interface is down; EINVAL: the kernel takes no
/// frame without a whole header. No packet causes another error: a device that is gone has EBADFD.
const LOST: [i32; 5] = [libc::EAGAIN, libc::EIO, libc::EINVAL, libc::ENOBUFS, libc::ENOMEM];

const NAME_WORDS: &str = "an interface has a name of 1 to 15 letters without / : and %";

#[cfg(test)]
mod tests {
    use samplewire_testing::skip;

    use super::*;

    #[test]
    fn names_that_no_interface_has_are_refused() {
        for name in ["", "sixteen-letters-", "a/b", "tap%d", "a b", "a:1"] {
            let error = Tap::open(name).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: name: an interface")), "{error}");
        }
    }

    #[test]
    fn frames_to_an_interface_that_is_down_are_lost() {
        let name = format!("swt{}", std::process::id());
        let mut tap = match Tap::open(&name) {
            Ok(tap) => tap,
            Err(error) => return skip(format_args!("{error} (needs root and /dev/net/tun)")),
        };
        let mut into = [0; 2_000];
        assert_eq!(tap.recv(&mut into).expect("it is open"), None);
        assert!(!tap.send(&[0xEE; 60]).expect("it is open"), "the interface is down");
        assert_eq!(tap.dropped().expect("sysfs"), Some(0));
        assert!(Tap::open(&name).unwrap_err().to_string().contains("TUNSETIFF"), "it is open");
    }
}
