//! What a device counts of all its connections, as the system shows it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Counters of a device since it was started. `None`: the device has no such counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets received.
    pub packets: Option<u64>,
    /// Requests that had come before.
    pub duplicates: Option<u64>,
    /// Packets that came after a gap.
    pub out_of_order: Option<u64>,
    /// Packets that a switch has marked.
    pub marked: Option<u64>,
    /// Congestion notifications sent.
    pub cnp_sent: Option<u64>,
    /// Packets with a wrong checksum.
    pub invalid: Option<u64>,
}

/// The files with a device's counters, open.
#[derive(Debug)]
pub struct CounterFiles([Option<File>; 6]);

impl CounterFiles {
    /// Opens those that the device has.
    pub fn open(device: &str) -> Self {
        Self::below(&Path::new("/sys/class/infiniband").join(device).join("ports/1"))
    }

    fn below(port: &Path) -> Self {
        Self(NAMES.map(|names| names.iter().find_map(|name| File::open(port.join(name)).ok())))
    }

    /// Reads them, without an allocation.
    pub fn read(&self) -> DeviceCounters {
        let [packets, duplicates, out_of_order, marked, cnp_sent, invalid] =
            [0, 1, 2, 3, 4, 5].map(|at| self.0[at].as_ref().and_then(|file| number(file).ok()));
        DeviceCounters { packets, duplicates, out_of_order, marked, cnp_sent, invalid }
    }

    /// Packets received, of all connections: it changes while a peer sends anything.
    pub fn packets(&self) -> Option<u64> {
        self.0[0].as_ref().and_then(|file| number(file).ok())
    }
}

fn number(file: &File) -> io::Result<u64> {
    let mut text = [0; 32];
    let len = file.read_at(&mut text, 0)?;
    let text = str::from_utf8(&text[..len]).map_err(io::Error::other)?;
    text.trim().parse().map_err(io::Error::other)
}

/// In the order of [`DeviceCounters`]: the name of Soft-RoCE, then that of mlx5.
const NAMES: [&[&str]; 6] = [
    &["hw_counters/rcvd_pkts", "counters/port_rcv_packets"],
    &["hw_counters/duplicate_request"],
    &["hw_counters/out_of_seq_request", "hw_counters/out_of_sequence"],
    &["hw_counters/np_ecn_marked_roce_packets"],
    &["hw_counters/np_cnp_sent"],
    &["hw_counters/rx_icrc_encapsulated"],
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn counters_are_read_again_and_missing_ones_are_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("hw_counters")).unwrap();
        let packets = folder.path().join("hw_counters/rcvd_pkts");
        fs::write(&packets, "17\n").unwrap();
        fs::write(folder.path().join("hw_counters/out_of_sequence"), "3\n").unwrap();
        let files = CounterFiles::below(folder.path());
        let seen = DeviceCounters {
            packets: Some(17),
            out_of_order: Some(3),
            ..DeviceCounters::default()
        };
        assert_eq!(files.read(), seen);
        fs::write(&packets, "18446744073709551615\n").unwrap();
        assert_eq!(files.packets(), Some(u64::MAX));
    }
}
