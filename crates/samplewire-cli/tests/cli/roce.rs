//! `roce` between two processes, over datagram ports and a switch that loses frames.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use samplewire_io::Ecn;
use samplewire_io::ether::{FRAME_BYTES_MAX, Headers};
use samplewire_testing::{PATIENCE, wait_until};
use serde_json::Value;

use crate::harness::{Background, folder, run, signal, spawn, text, wait};

/// A listener and its switch, with the options of a peer.
struct Place {
    listener: Background,
    _switch: Background,
    exchange: String,
    dgram: String,
    out: PathBuf,
}

impl Place {
    fn new(folder: &Path, options: &[&str]) -> Self {
        let path = |name: &str| folder.join(name);
        let port = |name: &str| {
            let (near, far) = (path(&format!("{name}.port")), path(name));
            (format!("{},{}", text(&near), text(&far)), format!("{},{}", text(&far), text(&near)))
        };
        let ((here, near), (there, far)) = (port("near"), port("far"));
        let ports = ["switch", "--dgram", &here, "--dgram", &there, "--rate", "1G"];
        let loss = ["--loss", "0.01", "--seed", "3"];
        let switch = Background::start(&[&ports[..], &loss].concat(), Vec::new(), "");
        wait_until("the switch", PATIENCE, || path("far.port").exists());
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let exchange = free.local_addr().expect("it is bound").to_string();
        drop(free);
        let out = path("out");
        let listen = ["roce", "listen", "--exchange", &exchange, "--dgram", &far];
        let station = ["--ip", "10.98.0.2", "--mtu", "4096"];
        let keep = ["--out", text(&out)];
        let keep = if options.contains(&"--out") { &[][..] } else { &keep };
        let arguments = [&listen[..], &station, keep, options].concat();
        let listener = Background::start(&arguments, Vec::new(), "listening");
        Self { listener, _switch: switch, exchange, dgram: near, out }
    }

    /// Runs `write` or `send`; the JSON that it prints.
    fn transfer(&self, verb: &str, file: &Path, options: &[&str], code: i32) -> Value {
        let ran = run(&self.arguments(verb, file, options)).expect(code);
        serde_json::from_str(ran.text()).expect("it is JSON")
    }

    fn arguments<'a>(&'a self, verb: &'a str, file: &'a Path, options: &[&'a str]) -> Vec<&'a str> {
        let to = ["roce", verb, text(file), "--to", &self.exchange, "--dgram", &self.dgram];
        // 4.096 us times 2^12: a lost ACK at the end costs 17 ms.
        let station = ["--ip", "10.98.0.1", "--json", "--timeout", "12"];
        [&to[..], &station, options].concat()
    }

    /// What the listener keeps, once that has the length.
    fn kept(&self, len: usize) -> Vec<u8> {
        let has_all = || fs::metadata(&self.out).is_ok_and(|it| it.len() == len as u64);
        wait_until("the file is complete", PATIENCE, has_all);
        fs::read(&self.out).expect("it is there")
    }
}

/// Bytes that tell their place, of a length that is no multiple of 4.
fn file(folder: &Path, len: usize) -> (PathBuf, Vec<u8>) {
    let path = folder.join("in");
    let bytes: Vec<u8> = (0..len as u64).map(|at| ((at * at) >> 7) as u8).collect();
    fs::write(&path, &bytes).expect("the folder is new");
    (path, bytes)
}

#[test]
fn file_is_whole_through_loss_written_and_sent_at_several_mtus() {
    let folder = folder("roce");
    let place = Place::new(&folder, &["--region", "5MB"]);
    let (path, bytes) = file(&folder, 3_000_001);
    for (verb, mtu) in [("write", "4096"), ("send", "1024"), ("write", "256"), ("send", "4096")] {
        fs::remove_file(&place.out).ok();
        // Of each message, and PSNs that wrap.
        let options = ["--mtu", mtu, "--immediate", "7", "--psn", "16777213"];
        let sent = place.transfer(verb, &path, &options, 0);
        assert_eq!(place.kept(bytes.len()), bytes, "{verb} at {mtu}");
        assert_eq!(sent["result"], "whole");
        assert_eq!(sent["mtu_bytes"].to_string(), mtu);
        assert_eq!((sent["bytes"].as_u64(), sent["messages"].as_u64()), (Some(3_000_001), Some(3)));
        assert!(sent["retransmissions"].as_u64() > Some(0), "{sent}");
        assert_eq!(sent["frames_invalid"], 0);
    }
    let ran = place.listener.interrupt();
    assert_eq!(ran.text().matches(": whole;").count(), 4, "{}", ran.text());
}

#[test]
fn ends_whose_lines_are_in_files_need_no_tcp() {
    let folder = folder("roce-files");
    let path = |name: &str| text(&folder.join(name)).to_owned();
    let line = |name: &str, ip: &str, qpn: u32, psn: u32| {
        let line = format!(r#"{{"address":"{ip}","qpn":{qpn},"psn":{psn},"mtu":1024}}"#);
        fs::write(path(name), line).expect("the folder is new");
    };
    line("sender.json", "10.98.0.1", 17, 5);
    line("listener.json", "10.98.0.2", 18, 0xFF_FFFE);
    let (near, far) = (path("near"), path("far"));
    let listen = ["roce", "listen", "--peer", &path("sender.json"), "--out", &path("out")];
    let dgram = format!("{far},{near}");
    let station = ["--dgram", &dgram, "--ip", "10.98.0.2", "--qpn", "18", "--psn", "16777214"];
    let listener = Background::start(&[&listen[..], &station].concat(), Vec::new(), "listening");
    let (input, bytes) = file(&folder, 1_500_001);
    let send = ["roce", "send", text(&input), "--peer", &path("listener.json"), "--json"];
    let dgram = format!("{near},{far}");
    let station = ["--dgram", &dgram, "--ip", "10.98.0.1", "--qpn", "17", "--psn", "5"];
    let sent = run(&[&send[..], &station].concat()).expect(0);
    let sent: Value = serde_json::from_str(sent.text()).expect("it is JSON");
    assert_eq!((sent["result"].as_str(), number(&sent, "bytes")), (Some("whole"), 1_500_001));
    let ran = listener.interrupt();
    assert!(ran.text().contains(": whole; 1,500,001 bytes sent"), "{}", ran.text());
    assert_eq!(fs::read(path("out")).expect("it was kept"), bytes);
    // Neither a message of a peer nor a place to look for one.
    fs::write(path("sender.json"), "{}").expect("it is ours");
    run(&[&listen[..], &["--tap", "a/b", "--ip", "10.0.0.1"]].concat()).expect_error(1, &["a/b"]);
    let dgram = format!("{far},{near}");
    let refused = run(&[&listen[..], &["--dgram", &dgram, "--ip", "10.0.0.1"]].concat());
    refused.expect_error(2, &["the peer's connection line", "missing field `address`"]);
    let none = ["roce", "listen", "--peer", "none.json", "--dgram", &dgram, "--ip", "10.0.0.1"];
    run(&none).expect_error(2, &["connection lines at none.json: No such file"]);
}

#[test]
fn what_the_peer_does_not_take_is_named_and_the_listener_goes_on() {
    let folder = folder("roce-refused");
    let place = Place::new(&folder, &["--region", "1MB", "--message", "64kB"]);
    let (path, bytes) = file(&folder, 1_000_001);
    // It holds up no one.
    let _silent = TcpStream::connect(&place.exchange).expect("it listens");
    place.transfer("send", &path, &["--message", "64000"], 0);
    let words = ["1000001 bytes do not fit the peer's region of 1000000", "larger --region"];
    run(&place.arguments("write", &path, &[])).expect_error(1, &words);
    let long = place.transfer("send", &path, &["--message", "64001"], 3);
    let error = long["error"].as_str().expect("it fails");
    assert!(error.contains("InvalidRequest") || error.contains("longer than --message"), "{error}");
    let mut stranger = TcpStream::connect(&place.exchange).expect("it listens");
    stranger.write_all(b"GET / HTTP/1.1\r\n").expect("it is accepted");
    let mut answer = String::new();
    stranger.read_to_string(&mut answer).expect("it answers and closes");
    assert!(answer.contains("expected value"), "{answer}");
    // It is not at this address that the station answers.
    let mut peer = TcpStream::connect(&place.exchange).expect("it listens");
    peer.write_all(b"{\"address\":\"10.98.0.2\",\"qpn\":2,\"psn\":0,\"mtu\":256}\n").unwrap();
    answer.clear();
    peer.read_to_string(&mut answer).expect("it answers and closes");
    assert_eq!(answer, "{\"error\":\"both ends have the address 10.98.0.2\"}\n");
    assert_eq!(fs::read(&place.out).expect("it was kept"), bytes, "no failure has touched it");
    let ran = place.listener.interrupt();
    assert_eq!(ran.text().matches(": whole;").count(), 1, "{}", ran.text());
}

#[test]
fn broken_connection_is_not_whole_at_either_end() {
    let folder = folder("roce-broken");
    let place = Place::new(&folder, &["--once"]);
    fs::write(&place.out, b"earlier").expect("the folder is new");
    let mut sender = spawn(&place.arguments("send", Path::new("-"), &["--message", "100kB"]));
    // A pipe that stays open: the sender has more to come.
    let mut pipe = sender.stdin.take().expect("it is piped");
    pipe.write_all(&[7; 250_000]).expect("the sender reads");
    let part = folder.join("out.part");
    wait_until("two messages", PATIENCE, || {
        fs::metadata(&part).is_ok_and(|it| it.len() >= 200_000)
    });
    signal(&sender, libc::SIGINT);
    assert_eq!(wait(&mut sender).code(), Some(130), "a silent pipe does not hold it");
    drop(pipe);
    let ran = place.listener.finish();
    assert_eq!(ran.code(), 3, "{}", ran.text());
    assert!(ran.text().contains("closed the exchange without a last line"), "{}", ran.text());
    assert_eq!(fs::read(&place.out).unwrap(), b"earlier");
    assert_eq!(fs::read(&part).unwrap(), [7; 200_000], "what came of it");
}

#[test]
fn silent_peer_holds_the_listener_for_a_time_alone() {
    let folder = folder("roce-silent");
    // An ARP request that is lost costs half a second.
    let place = Place::new(&folder, &["--idle", "1.5s"]);
    let mut sender = spawn(&place.arguments("send", Path::new("-"), &[]));
    let pipe = sender.stdin.take();
    assert_eq!(wait(&mut sender).code(), Some(3), "its pipe is open, and it has nothing to send");
    drop(pipe);
    let (path, bytes) = file(&folder, 10_000);
    place.transfer("send", &path, &[], 0);
    assert_eq!(place.kept(bytes.len()), bytes, "the next one is served");
    let ran = place.listener.interrupt();
    let words = "the peer sent nothing for 1.5 s (--idle)";
    assert!(ran.text().contains(words), "{}", ran.text());
}

#[test]
fn sender_hears_that_the_file_was_not_kept() {
    let folder = folder("roce-full");
    let place = Place::new(&folder, &["--once", "--out", "/dev/full"]);
    let (path, _) = file(&folder, 10_000);
    let sent = place.transfer("write", &path, &[], 3);
    assert!(sent["error"].as_str().is_some_and(|it| it.contains("No space left")), "{sent}");
    assert_eq!(place.listener.finish().code(), 3);
}

#[test]
fn bench_measures_each_mtu_and_length_and_the_listener_agrees() {
    let folder = folder("roce-bench");
    let place = Place::new(&folder, &["--region", "100kB"]);
    let (csv, svg) = (folder.join("b.csv"), folder.join("b.svg"));
    let to = ["roce", "bench", "--to", &place.exchange, "--dgram", &place.dgram];
    let what = ["--ip", "10.98.0.1", "--mtu", "4096", "--timeout", "12", "--duration", "50ms"];
    let lists = ["--mtus", "256,4096", "--messages", "64,20kB", "--json"];
    let files = ["--csv", text(&csv), "--svg", text(&svg)];
    let ran = run(&[&to[..], &what, &lists, &files].concat()).expect(0);
    let report: Value = serde_json::from_str(ran.text()).expect("it is JSON");
    let points = report["points"].as_array().expect("there are points");
    let of = |name: &str| points.iter().map(|it| it[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("mtu_bytes"), [256, 256, 4_096, 4_096]);
    assert_eq!(of("message_bytes"), [64, 20_000, 64, 20_000]);
    for point in points {
        assert!(point["bits_per_second"].as_f64() > Some(1e3), "{point}");
        assert!(point["latency_p50_ns"].as_u64() > Some(1_000), "{point}");
        assert!(point["latency_p99_ns"].as_u64() >= point["latency_p50_ns"].as_u64(), "{point}");
    }
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 5);
    assert!(fs::read_to_string(&svg).unwrap().contains("MTU 4096"));
    let words = ["100001 bytes do not fit the peer's region of 100000"];
    run(&[&to[..], &what, &["--messages", "100001"]].concat()).expect_error(1, &words);
    let ran = place.listener.interrupt();
    assert_eq!(ran.text().matches(": whole;").count(), 2, "{}", ran.text());
}

#[test]
fn options_that_are_missing_or_impossible_are_named() {
    for (arguments, words) in [
        ("listen --ip 10.0.0.1", "--interface <IF>"),
        ("listen --tap a --interface b --ip 10.0.0.1", "cannot be used with"),
        ("listen --tap a", "--ip <A.B.C.D>"),
        ("write f --to 127.0.0.1:1 --tap a/b --ip 10.0.0.1", "f: No such file"),
        ("listen --tap a/b --ip 10.0.0.1", "a/b: name: an interface has a name"),
        ("listen --tap a --ip 10.0.0.1 --mtu 1500", "`1500` is none of 256, 512, 1024, 2048"),
        ("listen --tap a --ip 10.0.0.1 --message 65MiB", "1 byte to 64 MiB"),
        ("listen --interface no-such-one --ip 10.0.0.1", "no-such-one: address: No such file"),
    ] {
        let arguments: Vec<&str> = ["roce"].into_iter().chain(arguments.split(' ')).collect();
        run(&arguments).expect_error(1, &[words]);
    }
}

/// Two datagram ports with a relay between, which marks what may be marked while it is to.
struct MarkingPath {
    near: String,
    far: String,
}

impl MarkingPath {
    /// Marks of frames towards the listener and back.
    fn new(folder: &Path, marks: [bool; 2]) -> Self {
        let names = ["near.relay", "near", "far.relay", "far"].map(|name| folder.join(name));
        let [near_relay, near, far_relay, far] = &names;
        let port = |local: &Path, remote: &Path| format!("{},{}", text(local), text(remote));
        let sockets = [near_relay, far_relay].map(|path| UnixDatagram::bind(path).expect("new"));
        for (from, to, path, is_marked) in [(0, 1, far, marks[0]), (1, 0, near, marks[1])] {
            let (from, to) = (&sockets[from], &sockets[to]);
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let path = path.clone();
            // It ends with the process of the test.
            std::thread::spawn(move || {
                let mut frame = vec![0; FRAME_BYTES_MAX];
                while let Ok(len) = from.recv(&mut frame) {
                    let headers = Headers::parse(&frame[..len]).expect("it is a frame");
                    if is_marked && headers.ecn() != Ecn::NotEct {
                        headers.mark(&mut frame[..len]);
                    }
                    // A station that is gone loses it.
                    drop(to.send_to(&frame[..len], &path));
                }
            });
        }
        Self { near: port(near, near_relay), far: port(far, far_relay) }
    }

    /// Sends 200 kB in one connection: the JSON of the sender, and of the listener.
    fn transfer(&self, folder: &Path, sending: &[&str], listening: &[&str]) -> [Value; 2] {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let exchange = free.local_addr().expect("it is bound").to_string();
        drop(free);
        let listen = ["roce", "listen", "--exchange", &exchange, "--dgram", &self.far, "--once"];
        let station = ["--ip", "10.98.0.2", "--json"];
        let listen = [&listen[..], &station, listening].concat();
        let listener = Background::start(&listen, Vec::new(), "");
        wait_until("the listener", PATIENCE, || TcpStream::connect(&exchange).is_ok());
        let (path, _) = file(folder, 200_000);
        let send = ["roce", "write", text(&path), "--to", &exchange, "--dgram", &self.near];
        let station = ["--ip", "10.98.0.1", "--json"];
        let sent = run(&[&send[..], &station, sending].concat()).expect(0);
        let received = listener.finish();
        [sent.text(), received.text()].map(|text| serde_json::from_str(text).expect("it is JSON"))
    }
}

const LINE_RATE: [&str; 2] = ["--line-rate", "10G"];

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} in {of}"))
}

#[test]
fn marked_packets_send_notifications_that_cut_the_sender() {
    let folder = folder("roce-marked");
    let path = MarkingPath::new(&folder, [true, false]);
    let [sent, received] = path.transfer(&folder, &LINE_RATE, &[]);
    let cnps = number(&received, "cnp_sent");
    assert!((1..=number(&received, "requests_marked")).contains(&cnps), "{received}");
    assert!(number(&received, "requests_marked") >= 196, "of 1,024 bytes each: {received}");
    // The last one may come after the last acknowledgement.
    assert!(cnps - number(&sent, "cnp_received") <= 1, "{sent} {received}");
    assert!((1..=cnps).contains(&number(&sent, "cuts")), "{sent}");
    assert_eq!(number(&sent, "acks_marked"), 0);
}

#[test]
fn marked_acknowledgements_cut_where_they_are_to_and_notifications_can_be_off() {
    let folder = folder("roce-acks");
    let path = MarkingPath::new(&folder, [true, true]);
    let cutting = [&LINE_RATE[..], &["--congested-acks-cut"]].concat();
    for (sending, cuts) in [(&LINE_RATE[..], false), (&cutting, true)] {
        let [sent, received] = path.transfer(&folder, sending, &["--no-cnp"]);
        let counts = ["cnp_sent", "requests_marked"].map(|name| number(&received, name));
        assert!(counts[0] == 0 && counts[1] >= 196, "{received}");
        assert!(number(&sent, "acks_marked") > 0, "{sent}");
        assert_eq!((number(&sent, "cnp_received"), number(&sent, "cuts") > 0), (0, cuts), "{sent}");
    }
}

/// A transfer through a switch of 50 Mb/s with these options, whose third port sends to the listener
/// too: the JSON of the sender, of the listener and of the switch. A Unix socket has room for ten
/// frames, so nothing is faster.
fn transfer_through_switch(folder: &Path, options: &[&str]) -> [Value; 3] {
    let names = ["near.port", "near", "far.port", "far", "third.port", "third"];
    let paths = names.map(|name| folder.join(name));
    let [near_port, near, far_port, far, third_port, third] = &paths;
    let port = |local: &Path, remote: &Path| format!("{},{}", text(local), text(remote));
    let ports = [(near_port, near), (far_port, far), (third_port, third)];
    let ports = ports.map(|(local, remote)| port(local, remote));
    let mut arguments = vec!["switch", "--rate", "50M", "--json"];
    ports.iter().for_each(|port| arguments.extend(["--dgram", port]));
    arguments.extend(options);
    let switch = Background::start(&arguments, Vec::new(), "");
    wait_until("the switch", PATIENCE, || third_port.exists());
    let is_over = Arc::new(AtomicBool::new(false));
    let (flood, stop) = (UnixDatagram::bind(third).expect("new"), Arc::clone(&is_over));
    let flood_to = third_port.clone();
    let flooding = std::thread::spawn(move || {
        let mut frame = [0; 1_000];
        frame[..6].copy_from_slice(&[0x02, 0x57, 10, 98, 0, 2]);
        frame[6..14].copy_from_slice(&[0x02, 0, 0, 0, 0, 9, 0x88, 0xB5]);
        while !stop.load(Ordering::Relaxed) {
            drop(flood.send_to(&frame, &flood_to));
            // The rate of the flood: more than the line has beside the transfer.
            std::thread::sleep(Duration::from_micros(300));
        }
    });
    let path = MarkingPath { near: port(near, near_port), far: port(far, far_port) };
    let [sent, received] = path.transfer(folder, &LINE_RATE, &["--no-cnp"]);
    is_over.store(true, Ordering::Relaxed);
    flooding.join().expect("sending does not panic");
    let switch = switch.interrupt();
    [sent, received, serde_json::from_str(switch.text()).expect("it is JSON")]
}

#[test]
fn switch_notifies_for_a_receiver_that_does_not_and_above_a_rate() {
    let folder = folder("roce-proxy");
    let marks = ["--mark", "enqueue", "--kmin", "1", "--kmax", "1"];
    for (name, options) in [
        ("proxy", [&["--proxy-cnp"][..], &marks].concat()),
        ("above", vec!["--cnp-above", "20M", "--mark", "none"]),
        ("neither", marks.to_vec()),
    ] {
        let folder = folder.join(name);
        fs::create_dir(&folder).expect("it is new");
        let [sent, received, switch] = transfer_through_switch(&folder, &options);
        let forged = number(&switch["end"]["ports"][0], "cnp_forged");
        // A socket that is full loses some.
        let came = number(&sent, "cnp_received");
        assert!(came <= forged && (came > 0) == (forged > 0), "{name}: {sent} {switch}");
        assert_eq!((forged > 0, number(&sent, "cuts") > 0), (name != "neither", name != "neither"));
        assert_eq!(number(&received, "requests_marked") > 0, name != "above", "{received}");
        assert_eq!((number(&sent, "frames_invalid"), number(&received, "cnp_sent")), (0, 0));
    }
}
