//! `nic` between two processes: over Unix sockets, and over two interfaces that are connected.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire_proto::Nanos;
use samplewire_proto::block::MacAddress;
use samplewire_proto::block::trial::{Order, Probe, Report};
use samplewire_testing::{PATIENCE, in_namespace, skip, wait_until};
use serde_json::Value;

use crate::harness::{Background, Running, folder, has_program, run, signal, text, wait};

/// The address of the far end on Unix sockets.
const FAR: &str = "02:53:57:00:00:01";

/// Two ends that are connected by Unix sockets.
struct Ends {
    near: String,
    far: String,
}

impl Ends {
    fn new(folder: &Path) -> Self {
        let (near, far) = (folder.join("near"), folder.join("far"));
        Self {
            near: format!("unix:{},{}", text(&near), text(&far)),
            far: format!("unix:{},{}", text(&far), text(&near)),
        }
    }

    /// A far end that sends frames or transfers back.
    fn echo(&self, options: &[&str]) -> Background {
        let echo = ["nic", "echo", &self.far, "--mac", FAR];
        Background::start(&[&echo, options].concat(), Vec::new(), "back")
    }

    /// Runs a verb at the near end, and returns its JSON.
    fn run(&self, verb: &str, options: &[&str], code: i32) -> Value {
        let command = ["nic", verb, &self.near, "--peer", FAR, "--json"];
        let ran = run(&[&command, options].concat()).expect(code);
        serde_json::from_str(ran.text()).expect("it is JSON")
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Bytes that depend on their place.
fn file(folder: &Path, len: usize) -> (PathBuf, Vec<u8>) {
    let path = folder.join("in");
    let bytes: Vec<u8> = (0..len as u64).map(|at| ((at * at) >> 7) as u8).collect();
    fs::write(&path, &bytes).expect("the folder is new");
    (path, bytes)
}

#[test]
fn round_trips_are_measured_and_losses_and_wrong_bytes_counted() {
    let folder = folder("nic-rtt");
    let ends = Ends::new(&folder);
    let echo = ends.echo(&[]);
    let few = ["--count", "100", "--sizes", "46,64,1486"];
    let ran = ends.run("rtt", &few, 0);
    for (point, bytes) in ran["points"].as_array().unwrap().iter().zip([46, 64, 1_486]) {
        assert_eq!(point["bytes"], bytes);
        assert_eq!((count(&point["returned"]), count(&point["lost"])), (100, 0));
        let times = ["min_ns", "median_ns", "p99_ns", "max_ns"].map(|it| count(&point[it]));
        assert!(times[0] > 1_000 && times.is_sorted(), "{point}");
    }
    let faults = ["--fault", "data:loss=10%,seed=1", "--fault", "feedback:corrupt=10%,seed=2"];
    let faulty = [&few[..2], &["--sizes", "64", "--timeout", "20ms"], &faults].concat();
    let point = &ends.run("rtt", &faulty, 3)["points"][0];
    let [returned, lost, wrong] = ["returned", "lost", "wrong"].map(|it| count(&point[it]));
    assert!(lost > 2 && wrong > 2 && returned + lost + wrong == 100, "{point}");
    ends.run("rtt", &[&faulty[..], &["--fail-on", "lost=100,wrong=100"]].concat(), 0);
    ends.run("rtt", &[&faulty[..], &["--fail-on", "lost=0"]].concat(), 4);
    // Of another station.
    let other = ["nic", "rtt", &ends.near, "--peer", "02:00:00:00:00:09", "--timeout", "5ms"];
    run(&[&other, &few[..]].concat()).expect_error(2, &["02:00:00:00:00:09", "nic echo"]);
    let ran = echo.interrupt();
    assert!(ran.text().contains(", 300 for others, 0 failed"), "{}", ran.text());
}

#[test]
fn throughput_is_measured_by_each_scheme_and_the_search_loses_nothing() {
    let folder = folder("nic-rate");
    let ends = Ends::new(&folder);
    let echo = ends.echo(&[]);
    let few = ["--count", "500", "--sizes", "64,1486"];
    for scheme in [
        &["--scheme", "1", "--delay", "5us"][..],
        &["--scheme", "2", "--burst", "4"],
        &["--scheme", "3", "--burst", "8"],
    ] {
        let ran = ends.run("rate", &[&few, scheme].concat(), 0);
        assert_eq!(ran["scheme"].to_string(), scheme[1]);
        for point in ran["points"].as_array().unwrap() {
            assert_eq!((count(&point["sent"]), count(&point["returned"])), (500, 500));
            let bits = count(&point["bytes"]) * 8 * 500;
            let expected = bits as f64 / point["seconds"].as_f64().unwrap();
            let measured = point["bits_per_second"].as_f64().unwrap();
            assert!((measured / expected - 1.0).abs() < 1e-6, "{point}");
        }
    }
    // Four frames each 100 us: 40,000 a second at most.
    let bursts = ["--scheme", "2", "--burst", "4", "--delay", "100us"];
    let point = &ends.run("rate", &[&few[..], &bursts].concat(), 0)["points"][0];
    assert!(point["seconds"].as_f64().unwrap() > 124.0 * 100e-6, "{point}");
    let search = ["--count", "50", "--sizes", "64", "--search"];
    let ran = ends.run("rate", &search, 0);
    assert!((1..=256).contains(&count(&ran["points"][0]["burst"])));
    let loses = ["--scheme", "1", "--fault", "data:loss=50%,seed=1"];
    let ran = ends.run("rate", &[&search[..], &loses].concat(), 3);
    assert_eq!(ran["error"], "scheme 1 loses frames at every setting");
    let faults = ["--fault", "data:loss=10%,dup=10%,corrupt=10%,seed=1"];
    let point =
        &ends.run("rate", &[&few[..2], &["--sizes", "64"], &faults].concat(), 3)["points"][0];
    let [returned, lost, wrong] = ["returned", "lost", "wrong"].map(|it| count(&point[it]));
    assert!(lost > 10 && wrong > 10 && returned > 300, "{point}");
    assert!(count(&point["duplicate"]) > 10, "{point}");
    drop(echo);
}

/// A board that sends by order, a frame at a time. It counts nine of ten that come back, and its first report
/// is lost.
fn board_that_sends(ends: &Ends) {
    let (far, near) = ends.far.strip_prefix("unix:").and_then(|it| it.split_once(',')).unwrap();
    let socket = UnixDatagram::bind(far).expect("a socket");
    let near = near.to_owned();
    std::thread::spawn(move || {
        let mut bytes = [0; 2_048];
        let (mut is_first, mut done) = (true, None);
        let receive = |out: &[u8], bytes: &mut [u8]| {
            if !out.is_empty() {
                socket.send_to(out, &near).expect("a host that listens");
            }
            socket.recv(bytes).expect("a host that answers")
        };
        let mut len = receive(&[], &mut bytes);
        loop {
            let Some((host, order)) = Order::parse(&bytes[..len]) else {
                len = receive(&[], &mut bytes);
                continue;
            };
            let board: MacAddress = bytes[..6].try_into().unwrap();
            let mut frame = vec![7; 14 + usize::from(order.size)];
            let frames = if done == Some(order.run) { 0 } else { order.frames };
            let mut returned = order.frames - order.frames / 10;
            for number in 0..frames {
                let probe = Probe { run: order.run, number };
                probe.emit(host, board, &mut frame);
                let back = receive(&frame, &mut bytes);
                let (head, rest) = frame.split_at_mut(12);
                let is_right =
                    bytes[..12] == [&head[6..], &head[..6]].concat() && bytes[12..back] == *rest;
                returned -= u32::from(!is_right);
            }
            done = Some(order.run);
            let (sent, time) = (order.frames, Nanos::from_millis(10));
            let report = Report { run: order.run, sent, returned, time };
            let out = report.emit(host, board, &mut frame);
            let is_lost = std::mem::take(&mut is_first);
            len = receive(if is_lost { &[] } else { &frame[..out] }, &mut bytes);
        }
    });
}

#[test]
fn board_sends_by_order_and_its_count_is_reported() {
    let folder = folder("nic-order");
    let ends = Ends::new(&folder);
    board_that_sends(&ends);
    let order = ["--by-board", "--sizes", "64,1486", "--count", "200", "--scheme", "2"];
    let ran = ends.run("rate", &order, 3);
    for (point, bytes) in ran["points"].as_array().unwrap().iter().zip([64, 1_486]) {
        let counts = ["bytes", "sent", "returned", "lost"].map(|it| count(&point[it]));
        assert_eq!(counts, [bytes, 200, 180, 20]);
        // In 10 ms.
        assert_eq!(point["bits_per_second"], (180 * bytes * 8 * 100) as f64);
    }
    let rate = ["nic", "rate", &ends.near, "--peer", FAR, "--by-board"];
    for beyond in
        [&["--sizes", "1487"][..], &["--count", "16385"], &["--scheme", "1", "--delay", "1001ms"]]
    {
        let words = ["46 to 1486 bytes, 16384 at a time, with delays of 1 s"];
        run(&[&rate[..], beyond].concat()).expect_error(1, &words);
    }
    let words = ["does not count wrong frames", "--fail-on lost=0"];
    run(&[&rate[..], &["--fail-on", "wrong=0"]].concat()).expect_error(1, &words);
}

/// Runs both ends under valgrind, the near one to its end. Returns how often each of them has allocated.
fn allocations(ends: &Ends, far: &[&str], near: &[&str]) -> [u64; 2] {
    let start = |link: &str, arguments: &[&str]| {
        Running::start_by(&["valgrind"], &[&["nic"], arguments, &[link]].concat())
    };
    let far = start(&ends.far, &[far, &["--mac", FAR]].concat());
    far.until("0 B for frames");
    let near = start(&ends.near, &[near, &["--peer", FAR]].concat()).finish();
    far.signal(libc::SIGINT);
    [far.finish(), near].map(|ran| {
        let (_, words) = ran.stderr.split_once("total heap usage: ").expect("valgrind counts");
        let (count, _) = words.split_once(" allocs").expect("valgrind counts");
        count.replace(',', "").parse().expect("a number")
    })
}

#[test]
fn frames_take_no_memory() {
    if !has_program("valgrind") {
        return;
    }
    let folder = folder("nic-memory");
    let ends = Ends::new(&folder);
    let (path, out) = (folder.join("in"), folder.join("out"));
    let receive = ["receive", text(&out), "--linger", "60s"];
    let runs = |frames: &str, len: usize| {
        fs::write(&path, vec![7; len]).expect("the folder is new");
        let count = ["--sizes", "64", "--count", frames];
        [
            allocations(&ends, &["echo"], &[&["rtt"], &count[..]].concat()),
            allocations(&ends, &["echo"], &[&["rate"], &count[..]].concat()),
            allocations(&ends, &receive, &["send", text(&path)]),
        ]
    };
    let (few, many) = (runs("100", 100_000), runs("500", 500_000));
    for (few, many) in few.iter().flatten().zip(many.iter().flatten()) {
        // What depends on time, as a wait that is interrupted, takes some.
        assert!(*few > 1_000 && few.abs_diff(*many) < 20, "{few} and {many}");
    }
}

#[test]
fn file_is_whole_through_loss_with_and_without_transfer_ids() {
    let folder = folder("nic-file");
    let ends = Ends::new(&folder);
    let (path, bytes) = file(&folder, 1_000_001);
    let out = folder.join("out");
    for options in [&[][..], &["--plain"], &["--packet-bytes", "700"]] {
        let receive = ["nic", "receive", text(&out), &ends.far, "--mac", FAR];
        let faults = ["--fault", "data:loss=2%,dup=1%,reorder=1%,seed=5", "--json"];
        let linger = ["--linger", "300ms"];
        let receiver = Running::start(&[&receive, &linger[..], &faults, options].concat());
        wait_until("the receiver", PATIENCE, || folder.join("far").exists());
        let send = ["nic", "send", text(&path), &ends.near, "--peer", FAR, "--json"];
        let ran = run(&[&send[..], options].concat()).expect(0);
        let sent: Value = serde_json::from_str(ran.text()).unwrap();
        let ran = receiver.finish().expect(0);
        let received: Value = serde_json::from_str(ran.text()).unwrap();
        assert!(fs::read(&out).unwrap() == bytes, "{options:?}");
        assert!(!folder.join("out.part").exists());
        for ran in [&sent, &received] {
            assert_eq!((&ran["result"], count(&ran["bytes"])), (&"whole".into(), 1_000_001));
        }
        let packets = count(&sent["packets"]);
        assert_eq!(count(&received["packets"]), packets);
        assert!(count(&sent["repeated"]) > packets / 100, "{sent}");
        assert!(count(&received["duplicate"]) > 0, "{received}");
        fs::remove_file(&out).unwrap();
    }
    // A file of no bytes, and a threshold.
    let empty = folder.join("empty");
    fs::write(&empty, "").unwrap();
    let receive = ["nic", "receive", text(&out), &ends.far, "--mac", FAR, "--linger", "10ms"];
    let receiver = Running::start(&[&receive[..], &["--fail-on", "rejected=0"]].concat());
    receiver.until("waits for a transfer");
    run(&["nic", "send", text(&empty), &ends.near, "--peer", FAR]).expect(0);
    receiver.finish().expect(0);
    assert_eq!(fs::read(&out).unwrap(), b"");
}

#[test]
fn incomplete_file_is_removed_and_the_one_before_stays() {
    let folder = folder("nic-part");
    let ends = Ends::new(&folder);
    let (path, _) = file(&folder, 5_000_000);
    let (out, part) = (folder.join("out"), folder.join("out.part"));
    fs::write(&out, "before").unwrap();
    let receiver = Running::start(&["nic", "receive", text(&out), &ends.far, "--mac", FAR]);
    receiver.until("waits for a transfer");
    // Slow enough to be interrupted.
    let send = ["nic", "send", text(&path), &ends.near, "--peer", FAR];
    let sender = Running::start(&[&send[..], &["--burst", "1", "--delay", "5ms"]].concat());
    sender.until("for frames");
    assert!(part.exists());
    sender.signal(libc::SIGINT);
    assert_eq!(sender.finish().code(), 130);
    receiver.signal(libc::SIGINT);
    assert_eq!(receiver.finish().code(), 130);
    assert!(!part.exists());
    assert_eq!(fs::read(&out).unwrap(), b"before");
}

#[test]
fn sender_that_starts_again_is_received() {
    let folder = folder("nic-again");
    let ends = Ends::new(&folder);
    let (path, bytes) = file(&folder, 300_000);
    let out = folder.join("out");
    let receive = ["nic", "receive", text(&out), &ends.far, "--mac", FAR, "--linger", "100ms"];
    let receiver = Running::start(&receive);
    receiver.until("waits for a transfer");
    // The receiver takes its first frames alone.
    let send = ["nic", "send", text(&path), &ends.near, "--peer", FAR];
    let local = ["--mac", "02:00:00:00:00:07"];
    let slow = ["--burst", "3", "--delay", "1min"];
    let sender = Running::start(&[&send[..], &local, &slow].concat());
    sender.until("for frames");
    std::thread::sleep(Duration::from_millis(100));
    sender.signal(libc::SIGKILL);
    let mut killed = sender;
    wait_until("the end of the first", PATIENCE, || killed.is_over());
    run(&[&send[..], &local].concat()).expect(0);
    let ran = receiver.finish().expect(0);
    assert!(ran.stderr.contains("the sender has begun again"), "{}", ran.stderr);
    assert!(fs::read(&out).unwrap() == bytes);
}

#[test]
fn pictures_go_both_ways_by_both_schemes() {
    let folder = folder("nic-image");
    let ends = Ends::new(&folder);
    let (path, _) = file(&folder, 10_007);
    let pictures = format!("20kB,{},1", text(&path));
    let options = ["--pictures", &pictures, "--rounds", "2"];
    for (scheme, echo) in [
        (&["--scheme", "3"][..], &[][..]),
        (&["--scheme", "4"], &["--block"]),
        (&["--scheme", "4", "--plain"], &["--block"]),
    ] {
        let far = ends.echo(echo);
        let ran = ends.run("image", &[&options[..], scheme].concat(), 0);
        for (picture, bytes) in ran["pictures"].as_array().unwrap().iter().zip([20_480, 10_007, 1])
        {
            assert_eq!(count(&picture["bytes"]), bytes);
            assert_eq!(count(&picture["verified_bytes"]), 2 * bytes, "{picture}");
            assert_eq!(count(&picture["lost"]), 0);
        }
        let lost = ["--fault", "data:loss=10%,seed=2"];
        let code = if scheme[1] == "3" { 3 } else { 0 };
        let picture =
            &ends.run("image", &[&options[..], scheme, &lost].concat(), code)["pictures"][0];
        let field = if scheme[1] == "3" { "lost" } else { "repeated" };
        assert!(count(&picture[field]) > 0, "{picture}");
        drop(far);
    }
    let missing = folder.join("none");
    let command = ["nic", "image", &ends.near, "--peer", FAR, "--pictures", text(&missing)];
    run(&command).expect_error(1, &[text(&missing)]);
}

#[test]
fn parts_of_a_board_are_differences_of_its_modes() {
    let folder = folder("nic-modes");
    let ends = Ends::new(&folder);
    let _echo = ends.echo(&[]);
    let board = folder.join("registers");
    let console = format!("unix:{}", text(&board));
    let written = registers(&board);
    let few = ["--count", "20", "--sizes", "64", "--rounds", "3", "--peer", FAR, "--json"];
    let command = [&["nic", "modes", &ends.near], &few[..]].concat();
    run(&command).expect_error(1, &["--registers"]);
    let ran = run(&[&command[..], &["--registers", &console]].concat()).expect(0);
    // The register `control` has other bits too.
    let of_round = [("nic.mode", 0, 0x19), ("nic.mode", 1, 0x19), ("nic.mode", 0, 0x1d)];
    let mut expected: String = of_round
        .map(|(name, mode, control)| {
            format!("write {name} {mode:#x}\nwrite sender.control {control:#x}\n")
        })
        .concat()
        .repeat(3);
    expected += "write nic.mode 0x0\nwrite sender.control 0x19\n";
    assert_eq!(*written.lock().unwrap(), expected);
    let ran: Value = serde_json::from_str(ran.text()).unwrap();
    assert_eq!(ran["trips"].as_array().map(Vec::len), Some(9));
    let medians = |mode: &str| {
        let trips = ran["trips"].as_array().unwrap().iter();
        trips
            .filter(|it| it["mode"] == mode)
            .map(|it| it["median_ns"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    let mut differences: Vec<i64> =
        medians("normal").iter().zip(medians("nic")).map(|(one, other)| one - other).collect();
    differences.sort_unstable();
    let processor = &ran["points"][0]["processor"];
    let figures = ["min_ns", "median_ns", "max_ns"].map(|it| processor[it].as_i64().unwrap());
    assert_eq!(figures[..], differences);
    let none = format!("unix:{}", text(&folder.join("none")));
    run(&[&command[..], &["--registers", &none]].concat()).expect_error(2, &[&none, "make board"]);
}

/// The register socket of a simulated board, whose registers read 0x1b; returns the lines that write.
fn registers(path: &Path) -> Arc<Mutex<String>> {
    let written = Arc::new(Mutex::new(String::new()));
    let listener = UnixListener::bind(path).expect("a socket");
    let lines = Arc::clone(&written);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let reader = BufReader::new(stream.try_clone().expect("a stream"));
            for line in reader.lines().map_while(Result::ok) {
                let answer = match line.split(' ').next() {
                    Some("write") => {
                        *lines.lock().unwrap() += &format!("{line}\n");
                        "ok"
                    }
                    Some("counters") => "nic.sent 5\nok",
                    _ if line == "read nic.free" => "error: `nic.free` may not be accessed",
                    _ => "0x0000001b",
                };
                writeln!(stream, "{answer}").expect("a client that reads");
            }
        }
    });
    written
}

#[test]
fn registers_are_read_written_and_listed() {
    let folder = folder("nic-regs");
    let board = folder.join("registers");
    let console = format!("unix:{}", text(&board));
    let written = registers(&board);
    let regs = |words: &[&str]| run(&[&["nic", "regs", &console], words].concat());
    let read = regs(&["nic.mode", "sender.id"]).expect(0);
    assert_eq!(read.text(), "nic.mode 0x0000001b (27)\nsender.id 0x0000001b (27)\n");
    regs(&["nic.mode=0x10"]).expect(0);
    assert_eq!(*written.lock().unwrap(), "write nic.mode 0x10\n");
    let listed: Value = serde_json::from_str(regs(&["--json"]).expect(0).text()).unwrap();
    assert_eq!(listed["values"]["nic.sent"], 5);
    regs(&["nic.free"]).expect_error(1, &["`read nic.free`", "may not be accessed"]);
    regs(&["nic.mode=4294967296"]).expect_error(1, &["nic.mode=4294967296", "0xffffffff"]);
    regs(&["a b"]).expect_error(1, &["a b"]);
}

#[test]
fn links_and_files_that_cannot_be_used_are_named() {
    let folder = folder("nic-errors");
    let ends = Ends::new(&folder);
    let none = folder.join("none");
    let (rtt, peer) = (["nic", "rtt"], ["--peer", FAR]);
    let with = |link: &str| run(&[&rtt[..], &[link], &peer].concat());
    with("no-such-one").expect_error(1, &["no-such-one: type: ", "`ip link`"]);
    with("../lo").expect_error(1, &["no interface has this name"]);
    with(&format!("unix:{}", text(&none))).expect_error(1, &[text(&none), "make board"]);
    let send = |file: &Path| run(&["nic", "send", text(file), &ends.near, "--peer", FAR]);
    send(&none).expect_error(1, &[text(&none)]);
    send(&folder).expect_error(1, &["is not a file"]);
    let receive = |file: &Path| run(&["nic", "receive", text(file), &ends.far, "--wait", "20ms"]);
    receive(&none.join("out")).expect_error(1, &["out.part"]);
    receive(&folder).expect_error(1, &[text(&folder)]);
    receive(&none).expect_error(2, &["no transfer began within 20.0 ms", "nic send"]);
    assert!(!none.exists() && !folder.join("none.part").exists());
    for (options, words) in [
        (&["--peer", "ff:ff:ff:ff:ff:ff"][..], "no Ethernet address of one station"),
        (&["--peer", FAR, "--sizes", "45"], "must be 46 to 9202"),
        (&["--peer", FAR, "--fail-on", "repeated=0"], "known are lost, wrong, late"),
        (&["--peer", FAR, "--fault", "data:loss=2"], "loss"),
    ] {
        run(&[&rtt[..], &[&ends.near], options].concat()).expect_error(1, &[words]);
    }
    // No one is there, and no right to open an interface.
    let nobody = ["nic", "rtt", &ends.near, "--count", "2", "--sizes", "64", "--timeout", "5ms"];
    run(&[&nobody[..], &peer].concat()).expect_error(2, &["came back", "nic echo"]);
    let ran = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_samplewire")])
        .args(["nic", "rtt", "lo", "--peer", FAR])
        .output();
    match ran {
        Ok(ran) if ran.status.code() == Some(1) => {
            let words = String::from_utf8(ran.stderr).unwrap();
            assert!(words.contains("CAP_NET_RAW") && words.contains("unix:PATH"), "{words}");
        }
        other => skip(format_args!("setpriv does not run the command (needs root): {other:?}")),
    }
}

/// Two interfaces, and a disk of 1 MiB.
const PAIR: &str = "ip link add sw-a type veth peer name sw-b && ip link set sw-a up && \
                    ip link set sw-b up && mount -t tmpfs -o size=1m tmpfs /mnt";

#[test]
fn frames_go_over_interfaces() {
    if !in_namespace("nic::frames_go_over_interfaces", PAIR) {
        return;
    }
    let folder = folder("nic-veth");
    let mac = fs::read_to_string("/sys/class/net/sw-b/address").unwrap();
    let peer = ["--peer", mac.trim()];
    let (path, bytes) = file(&folder, 2_000_001);
    // 10 s of silence, while the rest of the test runs.
    let small = folder.join("small");
    fs::write(&small, "nobody hears it").unwrap();
    let nobody = ["--peer", "02:00:00:00:00:09"];
    let began = Instant::now();
    let unheard = Running::start(&[&["nic", "send", text(&small), "sw-a"][..], &nobody].concat());

    let echo = Background::start(&["nic", "echo", "sw-b"], Vec::new(), "back");
    let few = ["--count", "300", "--json"];
    for verb in ["rtt", "rate"] {
        let ran = run(&[&["nic", verb, "sw-a"], &peer[..], &few].concat()).expect(0);
        let ran: Value = serde_json::from_str(ran.text()).unwrap();
        assert!(count(&ran["memory_bytes"]) > 1 << 20);
        for point in ran["points"].as_array().unwrap() {
            assert_eq!((count(&point["sent"]), count(&point["returned"])), (300, 300));
        }
    }
    let long = ["--sizes", "1501"];
    run(&[&["nic", "rtt", "sw-a"], &peer[..], &long].concat())
        .expect_error(1, &["1515", "1514", "mtu 9000"]);
    drop(echo);

    let capture = folder.join("capture.pcapng");
    let tshark = capture_of("sw-b", &capture);
    let out = folder.join("out");
    let receive = |file: &Path, options: &[&str]| {
        let receive = ["nic", "receive", text(file), "sw-b", "--linger", "200ms"];
        let receiver = Running::start(&[&receive[..], options].concat());
        receiver.until("waits for a transfer");
        receiver
    };
    let send = [&["nic", "send", text(&path), "sw-a"], &peer[..]].concat();
    let receiver = receive(&out, &["--fault", "data:loss=1%,seed=3"]);
    let ran = run(&send).expect(0);
    assert!(ran.text().contains("sent 2,000,001 bytes"), "{}", ran.text());
    let ran = receiver.finish().expect(0);
    assert!(ran.text().contains("received 2,000,001 bytes"), "{}", ran.text());
    assert!(fs::read(&out).unwrap() == bytes);
    if let Some(mut tshark) = tshark {
        let mut last = (0, Instant::now());
        wait_until("the end of the capture", PATIENCE, || {
            let len = fs::metadata(&capture).map_or(0, |it| it.len());
            if len != last.0 {
                last = (len, Instant::now());
            }
            len > 2_000_001 && last.1.elapsed() > Duration::from_secs(1)
        });
        signal(&tshark, libc::SIGINT);
        wait(&mut tshark);
        check_capture(&capture, 2_000_001_u64.div_ceil(1_477));
    }

    // The disk is full.
    let receiver = receive(Path::new("/mnt/out"), &[]);
    let sender = Running::start(&send);
    receiver.finish().expect_error(1, &["/mnt/out.part", "No space left"]);
    assert_eq!(fs::read_dir("/mnt").unwrap().count(), 0);
    sender.signal(libc::SIGINT);
    assert_eq!(sender.finish().code(), 130);

    let words = ["no answer from 02:00:00:00:00:09 for 10 s", "nic receive"];
    unheard.finish().expect_error(2, &words);
    assert!(began.elapsed() >= Duration::from_secs(10));
}

/// tshark that writes what comes by an interface; `None` without it.
fn capture_of(interface: &str, file: &Path) -> Option<std::process::Child> {
    if !has_program("tshark") {
        return None;
    }
    let mut command = Command::new("tshark");
    // The default buffer of 2 MiB overflows where the whole file comes before tshark runs.
    command.args(["-q", "-B", "32", "-i", interface, "-w", text(file)]).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it is there");
    // An interface description is there once it captures.
    wait_until("a capture", PATIENCE, || fs::metadata(file).is_ok_and(|it| it.len() > 100));
    Some(child)
}

/// The capture as the dissector shows it: each packet, and the `OK` in the end.
fn check_capture(file: &Path, packets: u64) {
    let script = file.with_extension("lua");
    fs::write(&script, &run(&["dissector"]).expect(0).stdout).unwrap();
    let shown = Command::new("tshark")
        .args(["-n", "-r", text(file), "-X", &format!("lua_script:{}", text(&script))])
        .args(["-Y", "samplewire_block", "-T", "fields"])
        .args(["-e", "samplewire_block.seq", "-e", "samplewire_block.answer"])
        .args(["-e", "samplewire_block.packets"])
        .output()
        .expect("tshark runs");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let shown = String::from_utf8(shown.stdout).unwrap();
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split('\t').collect()).collect();
    let mut seqs: Vec<u64> = rows.iter().filter_map(|row| row[0].parse().ok()).collect();
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs, (0..packets).collect::<Vec<_>>());
    assert!(rows.iter().any(|row| row[1] == "MI"), "{shown}");
    assert!(rows.iter().any(|row| row[1] == "OK"));
    assert!(rows.iter().any(|row| row[2] == packets.to_string()));
}
