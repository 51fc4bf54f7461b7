//! The switch between datagram ports, and verbs in slow motion. TAP devices: `bench/incast.py`.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use samplewire_testing::{PATIENCE, wait_until};
use serde_json::Value;

use crate::harness::{Device, Running, folder, run, text};

/// The other end of a datagram port, as QEMU would have it.
struct Machine {
    socket: UnixDatagram,
    /// Where the switch listens.
    port: PathBuf,
    option: String,
}

impl Machine {
    fn new(folder: &Path, name: &str) -> Self {
        let (port, own) = (folder.join(format!("{name}.port")), folder.join(name));
        let socket = UnixDatagram::bind(&own).expect("the folder is new");
        socket.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        let option = format!("{},{}", text(&port), text(&own));
        Self { socket, port, option }
    }

    fn send(&self, frame: &[u8]) {
        self.socket.send_to(frame, &self.port).expect("the switch listens");
    }

    fn receive(&self) -> Vec<u8> {
        let mut frame = vec![0; 2_000];
        let len = self.socket.recv(&mut frame).expect("a frame comes");
        frame.truncate(len);
        frame
    }
}

/// An ECN-capable IPv4 frame, 1,024 bytes of wire; the checksum of its header is right.
fn frame(from: u8, to: u8) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, to, 0x02, 0, 0, 0, 0, from, 0x08, 0x00];
    let mut ip = vec![0x45, 0x02, 0x03, 0xDA, 0, from, 0, 0, 64, 17, 0, 0];
    ip.extend([10, 0, 0, from, 10, 0, 0, to]);
    let sum = ones_sum(&ip);
    ip[10..12].copy_from_slice(&(!sum).to_be_bytes());
    frame.extend(ip);
    frame.resize(1_000, 0xEE);
    frame
}

/// The sum of a header in ones' complement; all ones where its checksum is right.
fn ones_sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

#[test]
fn two_senders_share_a_port_and_are_marked() {
    let folder = folder("switch");
    let machines = ["a", "b", "c"].map(|name| Machine::new(&folder, name));
    let [a, b, c] = &machines;
    let ports = machines.iter().flat_map(|machine| ["--dgram", machine.option.as_str()]);
    let options = ["--rate", "1M", "--mark", "enqueue", "--kmin", "1", "--kmax", "1", "--json"];
    let switch =
        Running::start(&["switch"].into_iter().chain(ports).chain(options).collect::<Vec<_>>());
    wait_until("the last port", PATIENCE, || c.port.exists());
    c.send(&frame(3, 0xFF));
    assert_eq!((a.receive(), b.receive()), (frame(3, 0xFF), frame(3, 0xFF)), "unknown: to all");
    // All frames are there when it looks again, however slow this machine is.
    switch.signal(libc::SIGSTOP);
    for _ in 0..4 {
        a.send(&frame(1, 3));
        b.send(&frame(2, 3));
    }
    switch.signal(libc::SIGCONT);
    let mut marked = 0;
    for _ in 0..8 {
        let came = c.receive();
        assert_eq!(ones_sum(&came[14..34]), 0xFFFF, "{:02x?}", &came[..34]);
        marked += u64::from(came[15] == 0x03);
        assert_eq!((came.len(), &came[34..40]), (1_000, &[0xEE; 6][..]));
    }
    assert!(marked >= 3, "{marked} of 8");
    switch.signal(libc::SIGINT);
    let report: Value = serde_json::from_slice(&switch.finish().expect(0).stdout).unwrap();
    let end = |port: usize, name: &str| report["end"]["ports"][port][name].as_u64();
    assert_eq!(end(2, "marked"), Some(marked));
    assert_eq!((end(2, "frames_in"), end(2, "frames_out")), (Some(1), Some(8)));
    assert_eq!([0, 1].map(|port| end(port, "bytes_forwarded")), [Some(4 * 1_024); 2]);
    assert_eq!((end(2, "dropped"), end(2, "link_refused")), (Some(0), Some(0)));
    assert!(end(2, "queue_bytes_max") >= Some(2 * 1_024));
    assert_eq!(report["end"]["ports"][0]["link_dropped"], Value::Null, "a Unix socket drops none");
    assert!(!a.port.exists(), "its files are removed");
}

#[test]
fn contradictions_of_a_switch_are_named() {
    for (arguments, words) in [
        ("--tap a", "a switch of 1 ports"),
        ("--tap a --tap b --mark none --proxy-cnp", "leave --proxy-cnp out"),
        ("--tap a --tap b --cnp-above 0", "`0`"),
        ("--tap a --tap b --kmin 500k", "marks from 500000 bytes on, all above 400000"),
        ("--tap a --tap b --pmax 1.5", "probability 1.5 of a mark"),
        ("--tap a --tap b --mark none --kmax 5k", "--mark none marks nothing: leave --kmax out"),
        ("--tap a/b --tap b", "a/b: name: an interface has a name"),
        ("--dgram here --tap b", "`here` is not LOCAL,REMOTE"),
        ("--tap a --tap b --slow 0", "`0` must be 1 to 1000"),
    ] {
        let arguments: Vec<&str> = ["switch"].into_iter().chain(arguments.split(' ')).collect();
        run(&arguments).expect_error(1, &[words]);
    }
}

#[test]
fn device_and_receiver_in_slow_motion_take_as_much_longer() {
    let device = Device::start(&["--source", "counter", "--rate", "2M", "--slow", "20"]);
    let started = Instant::now();
    let arguments = ["record", &device.address, "null", "--nsamps", "50k", "--slow", "20"];
    run(&arguments).expect(0);
    // 25 ms of 2 MS/s; the last quantum is filled ahead of its time.
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
}

#[test]
fn time_limit_of_an_opening_in_slow_motion_is_as_much_longer() {
    let mute = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = mute.local_addr().expect("it is bound").to_string();
    let started = Instant::now();
    let limit = ["--timeout", "50ms", "--slow", "10"];
    run(&[&["record", &address, "null"], &limit[..]].concat()).expect(2);
    assert!(started.elapsed() >= Duration::from_millis(500), "{:?}", started.elapsed());
}
