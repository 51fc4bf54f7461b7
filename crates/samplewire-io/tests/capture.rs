//! Captured files as tshark reads them.

use std::path::{Path, PathBuf};
use std::process::Command;

use samplewire_io::{Batch, Capture, Ecn, Link, Outgoing, Udp, UdpOptions};
use samplewire_testing::skip;

const LENGTHS_BYTES: [usize; 8] = [34, 1, 0, 1_472, 8_192, 8_193, 8_950, 2];

/// Captures packets from and to a client; how many the file should have.
fn capture(local: &str, path: &Path) -> usize {
    let mut far = Udp::bind(local.parse().unwrap(), &UdpOptions::new()).unwrap();
    let near = Udp::client(far.local_addr(), &UdpOptions::new()).unwrap();
    let mut near = Capture::create(near, path).unwrap();
    let (to_far, to_near) = (far.local_addr(), near.local_addr());
    let bytes: Vec<_> = (0..8_950).map(|at| (at * 13) as u8).collect();
    let mut batch = Batch::new(64, 9_000);
    let mut count = 0;
    for len_bytes in LENGTHS_BYTES {
        let bytes = &bytes[..len_bytes];
        count += near.send(&[Outgoing::whole(to_far, Ecn::Ect0, bytes); 40]).unwrap();
        far.send(&[Outgoing::whole(to_near, Ecn::Ce, bytes)]).unwrap();
        near.recv(&mut batch).unwrap();
        count += batch.len();
    }
    let counts = near.finish().unwrap();
    assert_eq!((counts.written, counts.skipped), (count as u64, 0));
    count
}

/// Each frame's fields, or `None` where there is no tshark.
fn tshark(path: &Path) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-T", "fields", "-E", "separator=/t"]);
    for preference in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE"] {
        command.args(["-o", preference]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(String::from).collect()).collect())
}

const FIELDS: [&str; 8] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "udp.length",
    "frame.packet_flags_direction",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "_ws.malformed",
    "_ws.expert.message",
];

/// What tshark calls a checksum that it has verified.
const GOOD: &str = "1";

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn tshark_finds_every_frame_and_no_fault() {
    for (local, name) in [("127.0.0.1:0", "v4.pcapng"), ("[::1]:0", "v6.pcapng")] {
        let path = temporary(name);
        let count = capture(local, &path);
        let Some(frames) = tshark(&path) else {
            return skip("tshark is not on this machine");
        };
        assert_eq!(frames.len(), count);
        let v4 = local.starts_with('1');
        let mut outbound = 0;
        for frame in &frames {
            let [ip, udp, _, direction, ecn4, ecn6, malformed, expert] = &frame[..] else {
                panic!("{frame:?}")
            };
            assert_eq!(ip, if v4 { GOOD } else { "" }, "{frame:?}");
            assert_eq!(udp, GOOD, "{frame:?}");
            assert_eq!(malformed, "", "{frame:?}");
            assert!(!expert.to_lowercase().contains("checksum"), "{frame:?}");
            let sent = direction.ends_with('2');
            outbound += usize::from(sent);
            assert_eq!(if v4 { ecn4 } else { ecn6 }, if sent { "2" } else { "3" }, "{frame:?}");
        }
        assert_eq!(outbound, 40 * LENGTHS_BYTES.len());
        let lengths: Vec<usize> =
            frames.iter().step_by(41).map(|frame| frame[2].parse().unwrap()).collect();
        assert_eq!(lengths, LENGTHS_BYTES.map(|len_bytes| len_bytes + 8));
    }
}
