use super::*;
use crate::ether::EtherError;
use crate::link::Ecn;
use crate::memory::{self, Memory};
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

fn pair() -> (Memory, Memory) {
    memory::pair(64, 9_000, 9_100).unwrap()
}

/// A disk that writes nothing until the test lets it go on.
struct StoppedDisk {
    go: Receiver<()>,
    head: bool,
}

impl StoppedDisk {
    fn new() -> (Self, Sender<()>) {
        let (send, go) = channel();
        (Self { go, head: true }, send)
    }
}

impl Write for StoppedDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.head {
            // The sender is dropped when the disk is to go on.
            assert!(self.go.recv().is_err());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.head = false;
        Ok(())
    }
}

/// A disk whose content can be seen.
#[derive(Clone, Default)]
struct GlassDisk {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Write for GlassDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that is full after its file's head.
struct FullDisk {
    head: bool,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.head { Ok(bytes.len()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.head = false;
        Ok(())
    }
}

/// Sends `count` packets of 8,000 bytes; the ring at the other end drops most of them.
fn send(link: &mut impl Link, peer: SocketAddr, count: usize) {
    let bytes = [7; 8_000];
    for _ in 0..count {
        assert_eq!(link.send(&[Outgoing::whole(peer, Ecn::Ect0, &bytes)]).unwrap(), 1);
    }
}

#[test]
fn stopped_disk_stops_no_packet_and_the_missing_are_counted() {
    let (near, far) = pair();
    let (disk, go) = StoppedDisk::new();
    let mut capture = Capture::new(near, disk).unwrap();
    let log = capture.log();
    let count = 10_000;
    send(&mut capture, far.local_addr(), count);
    // 32 buffers of 1 MiB hold 131 packets each.
    assert!(log.counts().skipped >= count as u64 - 33 * 131);
    drop(go);
    let counts = capture.finish().unwrap();
    assert_eq!(counts.written + counts.skipped, count as u64);
    assert_eq!(counts.written, 32 * 131);
}

#[test]
fn file_ends_with_the_count_of_packets() {
    let (near, far) = pair();
    let disk = GlassDisk::default();
    let mut capture = Capture::new(near, disk.clone()).unwrap();
    send(&mut capture, far.local_addr(), 500);
    drop(capture);
    let file = disk.bytes.lock().unwrap();
    // The last block's end: isb_ifrecv 500, isb_ifdrop 0, end of options, length.
    let end = [4, 0, 8, 0, 244, 1, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(file[file.len() - 32..file.len() - 8], end);
}

/// A link that takes what it is given, and gives it back.
struct Echo {
    frames: std::collections::VecDeque<Vec<u8>>,
    file: File,
}

impl std::os::fd::AsFd for Echo {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl EtherLink for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let frame = self.frames.pop_front();
        Ok(frame.map(|frame| {
            into[..frame.len()].copy_from_slice(&frame);
            frame.len()
        }))
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        self.frames.push_back(frame.to_vec());
        Ok(frame.len() < 1_000)
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(None)
    }
}

/// Frames beside the packets are whole, on an interface of their own.
#[test]
fn frames_are_in_the_file_as_they_are() {
    let (near, far) = pair();
    let disk = GlassDisk::default();
    let mut capture = Capture::new(near, disk.clone()).unwrap();
    let file = File::open("/dev/null").unwrap();
    let mut link = capture.frames(Box::new(Echo { frames: [].into(), file }));
    send(&mut capture, far.local_addr(), 1);
    let frame: Vec<u8> = (0..100).collect();
    assert!(link.send(&frame).unwrap());
    assert!(!link.send(&[7; 1_000]).unwrap(), "it is not recorded");
    let mut into = [0; 2_000];
    assert_eq!(link.recv(&mut into).unwrap(), Some(100));
    let counts = capture.finish().unwrap();
    assert_eq!(counts, CaptureCounts { written: 3, skipped: 0 });
    link.send(&frame).unwrap();
    let file = disk.bytes.lock().unwrap();
    let blocks = blocks(&file);
    let kinds: Vec<_> = blocks.iter().map(|block| block[0]).collect();
    // Head, interface, packet; the interface of frames before the first of them; statistics of both.
    assert_eq!(kinds, [0x0A, 1, 6, 1, 6, 6, 5, 5]);
    let link_types: Vec<_> = [1, 3].map(|at: usize| blocks[at][8]).into();
    assert_eq!(link_types, [101, 1]);
    for (at, direction) in [(4, 0b10), (5, 0b01)] {
        let block = blocks[at];
        assert_eq!(block[8], 1, "its interface");
        assert_eq!(block[28..128], frame);
        assert_eq!(block[132], direction);
    }
    // isb_ifrecv
    assert_eq!([6, 7].map(|at: usize| blocks[at][blocks[at].len() - 28]), [1, 2]);
}

/// The blocks of a file.
fn blocks(mut file: &[u8]) -> Vec<&[u8]> {
    let mut blocks = vec![];
    while let Some(len) = file.get(4..8) {
        let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
        blocks.push(&file[..len]);
        file = &file[len..];
    }
    blocks
}

#[test]
fn full_disk_stops_no_packet_and_is_reported_at_the_end() {
    let (near, far) = pair();
    let mut capture = Capture::new(near, FullDisk { head: true }).unwrap();
    let log = capture.log();
    send(&mut capture, far.local_addr(), 500);
    let error = capture.finish().unwrap_err();
    assert!(matches!(error, LinkError::Capture(_)), "{error}");
    assert_eq!(log.counts(), CaptureCounts { written: 0, skipped: 500 });
}

#[test]
fn file_that_cannot_be_made_is_an_error_at_once() {
    let (near, _far) = pair();
    let error = Capture::create(near, Path::new("/nonexistent/x.pcapng")).unwrap_err();
    assert!(error.to_string().starts_with("capture: No such file"), "{error}");
}

#[test]
fn packets_not_sent_are_not_recorded() {
    let (near, far) = pair();
    let peer = far.local_addr();
    let mut capture = Capture::new(near, io::sink()).unwrap();
    let (short, long) = ([1; 100], [2; 9_001]);
    let packets = [&short[..], &long].map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes));
    assert_eq!(capture.send(&packets).unwrap(), 1);
    assert!(capture.send(&packets[1..]).is_err());
    assert_eq!(capture.finish().unwrap(), CaptureCounts { written: 1, skipped: 0 });
}

#[test]
fn wait_does_not_keep_a_record_from_the_file() {
    let (near, far) = pair();
    let mut capture = Capture::new(near, io::sink()).unwrap();
    let log = capture.log();
    send(&mut capture, far.local_addr(), 1);
    let start = std::time::Instant::now();
    capture.wait(Duration::from_secs(60)).unwrap();
    while log.counts().written == 0 && start.elapsed() < Duration::from_secs(20) {
        capture.wait(Duration::from_millis(1)).unwrap();
    }
    assert_eq!(log.counts().written, 1);
}
