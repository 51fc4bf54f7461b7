//! The counters while a command runs: by TCP, by `top`, and on a terminal.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{InputModes, LocalModes, OutputModes, tcgetattr};
use samplewire_testing::{PATIENCE, skip, wait_until};
use serde_json::Value;

use crate::harness::{folder, run, signal, terminal, text, wait};
use crate::metered::{Metered, command, top};

#[test]
fn counters_agree_with_the_summary_and_top_sees_both_ends() {
    let sockets = folder("metrics-sockets");
    let source = ["--source", "counter", "--rate", "2M", "--fault", "data:loss=0.02,seed=7"];
    let (device, address) = Metered::device(&sockets, &source);
    let idle = device.numbers();
    assert_eq!(idle["samplewire_listener_accepted_total"], 0.0);
    assert_eq!(idle["samplewire_stream_packet_samples"], 0.0);
    let arguments = ["record", &address, "null", "--json", "--delivery", "deadline:200us"];
    let recorder = Metered::start(&sockets, &arguments, false);
    wait_until("gaps and repairs come", PATIENCE, || {
        let numbers = recorder.numbers();
        let has = |name: &str| numbers.get(name).is_some_and(|number| *number > 0.0);
        has("samplewire_recording_missing_samples_total")
            && has("samplewire_receiver_repaired_total")
    });
    let (status, document) = top(&sockets, &[&address]);
    assert_eq!(status, 0, "{document}");
    let streams = document["streams"].as_array().expect("a list");
    let of = |verb: &str| streams.iter().find(|it| it["verb"] == verb).expect("both are there");
    let (emulated, recorded) = (of("emulate"), of("record"));
    assert_eq!(streams.len(), 2, "{document}");
    for (stream, direction, child) in
        [(emulated, "transmit", &device.child), (recorded, "receive", &recorder.child)]
    {
        assert_eq!(stream["direction"], direction);
        assert_eq!(stream["device"], *address);
        assert_eq!(stream["pid"], child.id());
        assert!(stream["samples_per_s"].as_f64() > Some(0.0), "{stream}");
        assert!(stream["rtt_s"].as_f64() > Some(0.0), "{stream}");
    }
    assert_eq!(recorded["peer"], *address);
    let missing = recorded["samples_missing"].as_f64();
    assert!(missing > Some(0.0) && recorded["gap_samples"]["deadline"].as_f64() == missing);
    let (_, filtered) = top(&sockets, &[&format!("addr={address},once")]);
    assert_eq!(filtered["streams"].as_array().map(Vec::len), Some(2));
    assert_eq!(top(&sockets, &["127.0.0.1:1"]).0, 2);
    let elsewhere = folder("metrics-elsewhere");
    let (_, from) = top(&elsewhere, &[&address, "--from", &recorder.url]);
    assert!(from["streams"].as_array().expect("a list").iter().any(|it| it["verb"] == "record"));
    // Behind a device that is stopped: the recorder's counters do not change.
    device.signal(libc::SIGSTOP);
    wait_until("silence", PATIENCE, || {
        recorder.numbers()["samplewire_receiver_port_silent_seconds"] > 0.3
    });
    let last = recorder.numbers();
    recorder.signal(libc::SIGTERM);
    let (status, json) = recorder.finish();
    assert_eq!(status, 143);
    let end = serde_json::from_str::<Value>(&json).expect("JSON")["end"].clone();
    for (name, key) in [
        ("samplewire_recording_samples_total", "samples_delivered"),
        ("samplewire_recording_missing_samples_total", "samples_missing"),
        ("samplewire_recording_gaps_total", "gaps"),
        ("samplewire_receiver_received_total", "packets_received"),
        ("samplewire_receiver_repaired_total", "packets_repaired"),
        ("samplewire_receiver_repair_latency_seconds_count", "packets_repaired"),
        ("samplewire_receiver_late_total", "packets_late"),
        ("samplewire_receiver_skipped_total", "packets_given_up"),
    ] {
        assert_eq!(Some(last[name]), end[key].as_f64(), "{name}");
    }
    for (cause, samples) in end["gap_samples"].as_object().expect("causes") {
        let name = format!("samplewire_recording_gap_samples_total{cause}");
        assert_eq!(Some(last[&name]), samples.as_f64(), "{name}");
    }
    let buckets = end["repair_latency"]["buckets"].as_array().expect("a list");
    let packets: u64 = buckets.iter().map(|it| it["packets"].as_u64().expect("a count")).sum();
    assert_eq!(Some(packets), end["packets_repaired"].as_u64());
    let [half, most] = ["p50_ms", "p99_ms"].map(|key| end["repair_latency"][key].as_f64());
    assert!(half > Some(0.0) && half <= most, "{end}");
    let sum_s = last["samplewire_receiver_repair_latency_seconds_sum"];
    assert_eq!(Some((sum_s * 1e9).round()), end["repair_latency_ns"].as_f64());
    // The device's last counters match its summary.
    device.signal(libc::SIGCONT);
    wait_until("the session ends", PATIENCE, || {
        device.numbers()["samplewire_stream_packet_samples"] == 0.0
    });
    let numbers = device.numbers();
    for name in ["window", "held", "credit", "rtt_seconds"] {
        assert_eq!(numbers[&format!("samplewire_sender_port_{name}")], 0.0, "{name}");
    }
    device.signal(libc::SIGTERM);
    let (status, words) = device.finish();
    assert_eq!(status, 0);
    let [packets, repeats, stalls] = ["packets", "retransmissions", "credit_stalls"]
        .map(|name| numbers[&format!("samplewire_sender_{name}_total")] as u64);
    let line = format!("  packets    {packets} sent {repeats} retransmissions {stalls} credit");
    assert!(words.replace(',', "").contains(&line), "{line} is not in\n{words}");
    // Both have removed their sockets.
    assert_eq!(fs::read_dir(sockets.join("samplewire")).expect("it was made").count(), 0);
}

#[test]
fn streams_of_one_recording_are_distinguished() {
    let sockets = folder("metrics-channels");
    let source = ["--source", "counter", "--rate", "1M", "--streams", "2"];
    let (_device, address) = Metered::device(&sockets, &source);
    let arguments = ["record", &address, "null", "--channels", "0,1"];
    let recorder = Metered::start(&sockets, &arguments, false);
    wait_until("samples come", PATIENCE, || {
        let recorded = recorder.numbers().get("samplewire_recording_samples_total").copied();
        recorded > Some(0.0)
    });
    let (status, document) = top(&sockets, &[&address]);
    assert_eq!(status, 0, "{document}");
    let streams = document["streams"].as_array().expect("a list");
    for verb in ["emulate", "record"] {
        let of_verb = streams.iter().filter(|stream| stream["verb"] == verb);
        let numbers: Vec<_> = of_verb.map(|stream| stream["stream"].as_u64()).collect();
        assert_eq!(numbers, [Some(0), Some(1)], "{document}");
    }
    for stream in streams.iter().filter(|stream| stream["verb"] == "record") {
        assert!(stream["samples_per_s"].as_f64() > Some(0.0), "{stream}");
        let has_account = stream["numbers"].get("recording_samples_total").is_some();
        assert_eq!(has_account, stream["stream"] == 0, "{stream}");
    }
}

#[test]
fn recording_whose_device_is_gone_has_no_window_and_keeps_its_counters() {
    let sockets = folder("metrics-gone");
    let (mut device, address) = Metered::device(&sockets, &["--source", "counter"]);
    let recorder = Metered::start(&sockets, &["record", &address, "null", "--reconnect"], false);
    let number = |name: &str| *recorder.numbers().get(name).unwrap_or(&0.0);
    wait_until("samples come", PATIENCE, || number("samplewire_receiver_received_total") > 0.0);
    assert!(number("samplewire_receiver_port_window") > 0.0);
    device.child.kill().unwrap();
    wait(&mut device.child);
    wait_until("it is noticed", PATIENCE, || number("samplewire_receiver_port_window") == 0.0);
    assert_eq!(number("samplewire_receiver_port_rtt_seconds"), 0.0);
    assert!(number("samplewire_receiver_received_total") > 0.0);
}

#[test]
fn every_verb_that_sends_uses_the_speed_of_the_line_that_is_given() {
    let sockets = folder("metrics-line-rate");
    let file = sockets.join("samples.sc16");
    fs::write(&file, [0; 4_000]).unwrap();
    // Without a speed there is never a limit. At this one it takes seconds until the rate has risen to
    // it, and of a source of unknown rate the time until then is counted.
    let line = ["--line-rate", "10T", "--control-rate", "1G"];
    let has_limit = |sender: &Metered| {
        wait_until("a limit", PATIENCE, || {
            let numbers = sender.numbers();
            ["samplewire_sender_limit_bps", "samplewire_sender_limited_seconds_total"]
                .iter()
                .any(|name| numbers.get(*name).is_some_and(|it| *it > 0.0))
        });
    };
    let bridged = ["--zmq-sub", "tcp://127.0.0.1:9"];
    let device = ["--source", "null", "--play", "null", "--rate", "1M"];
    let replayed = ["replay", text(&file), "--format", "sc16", "--at", "+20s"];
    for verb in [&["rate", "--way", "transmit"][..], &["latency"], &replayed, &["bridge"]] {
        let (_device, address) = Metered::device(&sockets, &device);
        let more = if verb == ["bridge"] { &bridged[..] } else { &[] };
        let arguments = [verb, &[&address], more, &line].concat();
        has_limit(&Metered::start(&sockets, &arguments, false));
    }
    for verb in [&["emulate", "--source", "null", "--rate", "1M"][..], &["bridge"]] {
        let more = if verb == ["bridge"] { &bridged[..] } else { &[] };
        let (device, address) = Metered::listening(&sockets, &[verb, more, &line].concat());
        let arguments = ["rate", &address, "--duration", "20s"];
        let _receiver = Metered::start(&sockets, &arguments, false);
        has_limit(&device);
    }
}

#[test]
fn bridge_exports_what_the_host_drops_of_what_it_receives() {
    let sockets = folder("metrics-bridge-host");
    let zmq = ["--zmq-pub", "tcp://127.0.0.1:0"];
    let has_host = |bridge: &Metered| {
        wait_until("the host's drops", PATIENCE, || {
            let numbers = bridge.numbers();
            ["samplewire_host_nic_dropped_total", "samplewire_host_kernel_dropped_total"]
                .iter()
                .all(|name| numbers.contains_key(*name))
        });
    };
    let (_device, address) = Metered::device(&sockets, &["--source", "null", "--rate", "1M"]);
    has_host(&Metered::start(&sockets, &[&["bridge", &address][..], &zmq].concat(), false));
    let (bridge, address) = Metered::listening(&sockets, &[&["bridge"], &zmq[..]].concat());
    let send = ["rate", &address, "--way", "transmit", "--duration", "1s"];
    let sender = Metered::start(&sockets, &send, false);
    has_host(&bridge);
    sender.finish();
    wait_until("the end of the session", PATIENCE, || {
        bridge.numbers().get("samplewire_receiver_port_rtt_seconds") == Some(&0.0)
    });
    has_host(&bridge);
}

#[test]
fn switch_is_shown_by_its_ports_and_is_no_stream() {
    let sockets = folder("metrics-switch");
    let ports = ["a", "b"].map(|name| {
        let near = sockets.join(format!("{name}.port"));
        format!("{},{}", text(&near), text(&sockets.join(name)))
    });
    let arguments = ["switch", "--dgram", &ports[0], "--dgram", &ports[1], "--kmin", "7k"];
    let switch = Metered::start(&sockets, &arguments, true);
    let (_, document) = top(&sockets, &[]);
    // Streams of other processes of this user may be there too.
    let list = |key: &str| document[key].as_array().expect("a list").iter();
    assert!(list("streams").all(|it| it["pid"] != switch.child.id()), "{document}");
    let port = list("switch_ports").find(|it| it["pid"] == switch.child.id()).expect("it is shown");
    assert_eq!(port["port"], ports[0].as_str());
    assert_eq!(port["bits_out_per_s"].as_f64(), Some(0.0));
    assert_eq!(port["numbers"]["kmin_bytes"], 7_000);
    assert_eq!(port["numbers"].get("link_dropped_total"), None, "a Unix socket drops none");
    let (status, document) = top(&sockets, &["127.0.0.1:1"]);
    assert_eq!((status, document["switch_ports"].as_array().map(Vec::len)), (2, Some(0)));
}

#[test]
fn address_that_cannot_be_used_is_named_before_anything_begins() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let file = folder("metrics-taken").join("out.raw");
    let record = |metrics: &str| run(&["record", "127.0.0.1:1", text(&file), "--metrics", metrics]);
    record(&address).expect_error(
        1,
        &[&format!("error: --metrics {address}: Address already in use"), "tip: `ss -tlnp"],
    );
    record("9464").expect_error(1, &["'9464'", "--metrics <IP:PORT>", "127.0.0.1:9464"]);
    record("192.0.2.1:0").expect_error(1, &["--metrics 192.0.2.1:0: ", "`ip address` lists"]);
    assert!(!file.exists());
}

#[test]
fn top_sweeps_sockets_of_the_killed_and_names_what_does_not_answer() {
    let sockets = folder("metrics-killed");
    let (mut device, address) = Metered::device(&sockets, &["--source", "counter"]);
    let socket = sockets.join(format!("samplewire/{}.sock", device.child.id()));
    assert!(socket.exists());
    assert_eq!(top(&sockets, &[&address]).0, 0);
    let output = command(&sockets).args(["top", "127.0.0.1:1"]).output().expect("it runs");
    let words = String::from_utf8(output.stderr).expect("words");
    assert!(
        words.contains("no streams of these devices\n  tip: `samplewire top` alone"),
        "{words}"
    );
    device.signal(libc::SIGSTOP);
    let (status, document) = top(&sockets, &[&address]);
    assert_eq!((status, document["streams"].as_array().map(Vec::len)), (2, Some(0)));
    // Other processes of this user may run too, in the folder for processes without a session.
    let errors = document["errors"].as_array().expect("a list");
    let is_it = |error: &Value| {
        let error = error.as_str().expect("words");
        error.contains(text(&socket)) && error.contains("does not answer")
    };
    assert!(errors.iter().any(is_it), "{document}");
    device.child.kill().unwrap();
    wait(&mut device.child);
    assert!(socket.exists());
    let output = command(&sockets).args(["top", &address]).output().expect("it runs");
    let words = String::from_utf8(output.stderr).expect("words");
    assert_eq!(output.status.code(), Some(2));
    // The first, unless other processes of this user run.
    let tips = ["no streams\n  tip: start `samplewire record", "no streams of these devices\n"];
    assert!(tips.iter().any(|tip| words.contains(tip)), "{words}");
    assert!(!socket.exists(), "it was swept");
}

#[test]
fn top_that_can_open_nothing_says_so_and_takes_no_socket_away() {
    let sockets = folder("metrics-descriptors");
    let (device, _) = Metered::device(&sockets, &["--source", "counter"]);
    let socket = sockets.join(format!("samplewire/{}.sock", device.child.id()));
    // From no free descriptor to several.
    for descriptors in 4..8 {
        let line = format!("ulimit -n {descriptors}; exec \"$0\" top --once");
        let output = Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_samplewire")])
            .env("XDG_RUNTIME_DIR", &sockets)
            .output()
            .expect("a shell is there");
        assert!(socket.exists(), "{descriptors}");
        let words = String::from_utf8(output.stderr).expect("words");
        let is_reported = words.contains("Too many open files");
        assert!(is_reported || output.status.code() == Some(0), "{descriptors}: {words}");
    }
}

#[test]
fn folder_that_others_can_enter_is_not_used_and_the_verb_goes_on() {
    use std::os::unix::fs::PermissionsExt;
    let sockets = folder("metrics-open");
    let open = sockets.join("samplewire");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let output = command(&sockets).args(["demo", "--seconds", "300ms"]).output().expect("it runs");
    let words = String::from_utf8(output.stderr).expect("words");
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(words.contains("warning: `samplewire top` does not see this: "), "{words}");
    assert!(words.contains("not a folder of this user alone (mode 0700)"), "{words}");
    let errors = top(&sockets, &["127.0.0.1:1"]).1["errors"].clone();
    assert!(errors.to_string().contains("not a folder of this user alone"), "{errors}");
}

#[test]
fn live_view_draws_on_a_terminal_and_q_gives_it_back() {
    let sockets = folder("metrics-live");
    let (_device, _) = Metered::device(&sockets, &["--source", "scene", "--rate", "1M"]);
    for quit in [b"q".as_slice(), b"\x03"] {
        let mut top = Terminal::start(&sockets, &["top"]);
        top.until("no peer yet");
        assert!(top.words().contains("emulate"));
        assert_ne!(top.settings(), top.settings_before);
        let mut keys = top.master.as_ref().expect("it is open");
        keys.write_all(b"j\x1b[A").unwrap();
        keys.write_all(quit).unwrap();
        top.until("\x1b[?1049l");
        assert_eq!(wait(&mut top.child).code(), Some(0));
        assert!(top.words().contains("\x1b[?1049h"));
        assert_eq!(top.settings(), top.settings_before);
    }
}

#[test]
fn live_view_ends_when_its_terminal_goes() {
    let sockets = folder("metrics-hangup");
    let mut top = Terminal::start(&sockets, &["top"]);
    top.until("\x1b[?1049h");
    top.close();
    assert_eq!(wait(&mut top.child).signal(), Some(libc::SIGHUP));
    if ignores_hang_ups() {
        return skip("the signal; tests that nohup started ignore it, as does all that they start");
    }
    // Like a shell: the processes of the terminal get a signal.
    let mut top = Terminal::start(&sockets, &["top"]);
    top.until("\x1b[?1049h");
    signal(&top.child, libc::SIGHUP);
    assert_eq!(wait(&mut top.child).signal(), Some(libc::SIGHUP));
}

/// Whether this process, and thus its children, ignore SIGHUP.
fn ignores_hang_ups() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("there is procfs");
    let mask =
        status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("the kernel lists it");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask in hex");
    mask & 1 << (libc::SIGHUP - 1) != 0
}

/// The command on a terminal of its own, of 100 columns and 30 lines; killed when it is dropped.
struct Terminal {
    child: Child,
    master: Option<fs::File>,
    /// Held, so that its settings can be looked at when the command has ended.
    slave: Option<fs::File>,
    settings_before: Settings,
    seen: Vec<u8>,
}

impl Terminal {
    fn start(sockets: &Path, arguments: &[&str]) -> Self {
        let (master, slave) = terminal(30, 100);
        let (settings_before, seen) = (settings_of(&slave), Vec::new());
        let handle = || slave.try_clone().expect("a handle");
        let mut command = command(sockets);
        command.args(arguments).env("TERM", "xterm-256color");
        command.stdin(handle()).stdout(handle()).stderr(handle());
        let child = command.spawn().expect("the binary was built for this test");
        Self { child, master: Some(master), slave: Some(slave), settings_before, seen }
    }

    /// Reads on until these words have been drawn.
    fn until(&mut self, words: &str) {
        let mut master = self.master.as_ref().expect("it is open");
        let pause = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        wait_until(words, PATIENCE, || {
            let mut some = [0; 4_096];
            if poll(&mut [PollFd::new(master, PollFlags::IN)], Some(&pause)) == Ok(1) {
                let len = master.read(&mut some).expect("it draws");
                self.seen.extend_from_slice(&some[..len]);
            }
            String::from_utf8_lossy(&self.seen).contains(words)
        });
    }

    /// What has been drawn.
    fn words(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    fn settings(&self) -> Settings {
        settings_of(self.slave.as_ref().expect("it is open"))
    }

    /// Takes the terminal away.
    fn close(&mut self) {
        (self.master, self.slave) = (None, None);
    }
}

/// How a terminal treats what is typed and what is drawn.
type Settings = (InputModes, OutputModes, LocalModes);

fn settings_of(slave: &fs::File) -> Settings {
    let settings = tcgetattr(slave).expect("a terminal");
    (settings.input_modes, settings.output_modes, settings.local_modes)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_over && self.child.kill().is_ok() {
            wait(&mut self.child);
        }
    }
}
