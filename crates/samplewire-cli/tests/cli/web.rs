//! The web page of `web`, and of the verbs that have `--web`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use samplewire_record::sigmf::RecordedCause;
use samplewire_testing::{PATIENCE, wait_for};
use samplewire_web::frame::Frame;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;

use crate::harness::{Device, Running, folder, run, text};

/// Losses, so that there are gaps where repair does not come.
const LOSS: [&str; 4] = ["--rate", "2M", "--fault", "data:loss=0.02,seed=5"];

/// Reads the account of the page that a command serves; `None` when it has ended.
fn account(url: &str) -> Option<Value> {
    Some(read(url, "/api/account")?["sources"][0].clone())
}

/// Makes a call of the API that answers JSON.
fn read(url: &str, call: &str) -> Option<Value> {
    Some(serde_json::from_str(&read_text(url, call)?).expect("JSON"))
}

/// Makes a call of the API. HTTP/1.0: the text comes whole, without the lengths of its parts.
fn read_text(url: &str, call: &str) -> Option<String> {
    let (address, token) = url.split_once("/#").expect("a fragment");
    let head = format!(
        "GET {call} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n"
    );
    let mut wire = TcpStream::connect(address).ok()?;
    let mut answer = String::new();
    wire.write_all(head.as_bytes()).ok()?;
    wire.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.0 200"), "{answer}");
    Some(body.to_owned())
}

/// Has the page carry an action out; returns its answer.
fn act(url: &str, action: &Value) -> Value {
    let (address, token) = url.split_once("/#").expect("a fragment");
    let body = action.to_string();
    let head = format!(
        "POST /api/act HTTP/1.0\r\nHost: {address}\r\nOrigin: http://{address}\r\nAuthorization: Bearer {token}\r\n\
         X-Samplewire-Action: 1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut wire = TcpStream::connect(address).expect("the page is there");
    wire.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    wire.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.0 200"), "{answer}");
    serde_json::from_str(body).expect("JSON")
}

fn number(account: &Value, key: &str) -> u64 {
    account[key].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn url_of(running: &Running) -> String {
    wait_for("the page", PATIENCE, || running.line("page: http://"))
}

#[test]
fn page_counts_what_the_recorder_counts_in_every_mode() {
    // Many packets, of which some are lost and not repaired within the microsecond.
    let lossy = ["--rate", "2M", "--payload", "1408", "--fault", "data:loss=0.05,seed=5"];
    let device = Device::start(&[&["--source", "counter", "--streams", "2"], &lossy[..]].concat());
    let modes = ["complete", "deadline:1us", "best-effort"];
    for (delivery, channels) in modes.iter().flat_map(|mode| [(*mode, "0"), (*mode, "0,1")]) {
        let file = folder("web-modes").join("out");
        let mut arguments = vec!["record", &device.address, text(&file), "--json", "--web"];
        arguments.extend(["--delivery", delivery, "--channels", channels, "--duration", "1s"]);
        let mut recorder = Running::start(&arguments);
        let url = url_of(&recorder);
        let mut last = Value::Null;
        while !recorder.is_over() {
            last = account(&url).unwrap_or(last);
        }
        let ran = recorder.finish();
        assert!(!ran.stderr.contains("the page"), "{}", ran.stderr);
        let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let end = &document["end"];
        let total = end["samples_missing"].as_u64().expect("a number");
        let of = |cause: &str| end["gap_samples"][cause].as_u64().expect("a number");
        // A machine that is held up may overflow the source.
        let is_lossy = total > of("source_overflow") + of("receiver_behind");
        assert_eq!(is_lossy, delivery != "complete", "{delivery}, channels {channels}: {end}");
        // The recorder itself compares the final sums: here they only have to be on their way.
        let (samples, missing) = (number(&last, "samples"), number(&last, "missing"));
        assert!(samples > 0 && samples <= end["samples_delivered"].as_u64().unwrap(), "{last}");
        assert!(missing <= total, "{missing} of {total}");
        let proof: Value =
            serde_json::from_slice(&run(&["verify", text(&file), "--json"]).expect(0).stdout)
                .expect("JSON");
        for sum in ["samples_missing", "gaps", "gap_samples"] {
            assert_eq!(proof[sum], end[sum], "{sum}, {delivery}, channels {channels}");
        }
        assert_eq!(proof["samples"], end["samples_delivered"]);
        // The page of the recording has the final sums.
        let shown = Running::start(&["web", "--recording", text(&file)]);
        let opened = account(&url_of(&shown)).expect("it serves until it is interrupted");
        assert_eq!(number(&opened, "missing"), total, "{opened}");
        assert_eq!(Some(number(&opened, "samples")), end["samples_delivered"].as_u64());
        assert_eq!(Some(number(&opened, "gaps")), end["gaps"].as_u64());
        for cause in RecordedCause::ALL {
            let of_page: u64 =
                opened["causes"][cause.position()].as_str().unwrap().parse().unwrap();
            let of_recorder = &end["gap_samples"][cause.as_str().replace(' ', "_")];
            assert_eq!(of_recorder.as_u64(), Some(of_page), "{cause:?}: {opened}");
        }
        assert_eq!(opened["ended"], "the recording is proven");
        shown.signal(libc::SIGINT);
        shown.finish().expect(130);
    }
}

#[test]
fn page_stays_with_the_sums_after_the_end_of_the_stream() {
    let device = Device::start(&[&["--source", "counter"], &LOSS[..]].concat());
    let file = folder("web-end").join("source");
    run(&["record", &device.address, text(&file), "--nsamps", "1M"]).expect(0);
    drop(device);
    let device = Device::start(&[&["--source", text(&file)], &LOSS[2..]].concat());
    let arguments = ["web", &device.address, "--delivery", "best-effort"];
    let shown = Running::start(&arguments);
    let url = url_of(&shown);
    let ended = wait_for("the end", PATIENCE, || {
        account(&url).filter(|account| !account["ended"].is_null())
    });
    let (samples, missing) = (number(&ended, "samples"), number(&ended, "missing"));
    assert_eq!((samples + missing, ended["level"].as_str()), (1_000_000, Some("missing")));
    assert_eq!(number(&ended, "indexes"), 1_000_000);
    shown.signal(libc::SIGINT);
    let ran = shown.finish().expect(130);
    let words = ran.text().replace(',', "");
    assert!(words.contains(&format!("{samples} delivered {missing} missing")), "{words}");
}

#[test]
fn page_that_cannot_be_served_is_an_error_before_the_device_is_opened() {
    let dir = folder("web-errors");
    let token = dir.join("token");
    let web = ["web", "127.0.0.1:1", "--token-file", text(&token)];
    run(&web).expect_error(1, &["--token-file", "token"]);
    fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    run(&web).expect_error(1, &["--token-file", "other users can read it: chmod 600"]);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    run(&["web", "127.0.0.1:1", "--listen", &taken]).expect_error(1, &[&taken, "tip: `ss -tlnp"]);
    let options = [
        &["--every-sample"][..],
        &["--delivery", "best-effort"],
        &["--window", "9"],
        &["--mtu", "1500"],
        &["--timeout", "1s"],
        &["--metrics", "127.0.0.1:0"],
        &["--cpu", "0"],
        &["--spin"],
    ];
    for options in options {
        run(&[&["web"], options].concat()).expect_error(1, &["<ADDR>"]);
    }
    let every = ["record", "127.0.0.1:1", "null", "--every-sample"];
    run(&every).expect_error(1, &["--web"]);
    let started = Instant::now();
    let web = ["web", "127.0.0.1:1", "--token-file", text(&token), "--timeout", "1"];
    run(&web).expect_error(2, &["127.0.0.1:1"]);
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn rate_serves_the_page_too_and_warns_of_an_open_address() {
    let device = Device::start(&[&["--source", "tone:100k"], &LOSS[..2]].concat());
    let arguments = ["rate", &device.address, "--web=0.0.0.0:0", "--every-sample"];
    let arguments = [&arguments[..], &["--duration", "30"]].concat();
    let measured = Running::start(&arguments);
    measured.until("warning: the page is reachable from other hosts");
    let url = url_of(&measured).replace("0.0.0.0", "127.0.0.1");
    // The counters come some milliseconds after the first samples.
    let found = wait_for("samples and counters", PATIENCE, || {
        account(&url).filter(|it| number(it, "samples") > 0 && !it["counters"].is_null())
    });
    assert_eq!((found["verb"].as_str(), found["level"].as_str()), (Some("rate"), Some("whole")));
    assert!(found["counters"].as_array().is_some_and(|it| !it.is_empty()), "{found}");
    assert_eq!(found["repairs"].as_array().map(Vec::len), Some(48), "{found}");
    let cost = wait_for("the cost", PATIENCE, || read(&url, "/api/account")?["cost"].as_f64());
    assert!((0.0..=1.5).contains(&cost), "{cost}");
    measured.signal(libc::SIGINT);
    measured.finish().expect(130);
}

#[test]
fn recording_of_the_page_is_whole_and_changes_nothing_of_the_stream() {
    let dir = folder("web-recorded");
    // It holds nine seconds: also a busy machine loses nothing.
    let device = Device::start(&["--source", "counter", "--rate", "1M", "--window", "4096"]);
    let arguments = ["web", &device.address, "--window", "4096", "--control", "--folder"];
    let shown = Running::start(&[&arguments[..], &[text(&dir)]].concat());
    let url = url_of(&shown);
    let begun =
        wait_for("samples", PATIENCE, || account(&url).filter(|it| number(it, "samples") > 0));
    let from = number(&begun, "next_index") + 2_000_000;
    let until = from + 1_500_000;
    let ends = json!({ "from": from.to_string(), "until": until.to_string() });
    let answer = act(&url, &json!({ "record": ends }));
    assert_eq!(answer["index"], from.to_string());
    let after = wait_for("the proof", PATIENCE, || {
        account(&url).filter(|it| it["recordings"][0]["state"] == "proven")
    });
    let recorded = &after["recordings"][0];
    let sums = ["first", "next", "samples", "gaps", "missing", "behind"];
    assert_eq!(sums.map(|key| number(recorded, key)), [from, until, until - from, 0, 0, 0]);
    assert_eq!(["gaps", "missing", "left_out"].map(|key| number(&after, key)), [0; 3], "{after}");
    assert_eq!(
        number(&after, "indexes"),
        number(&after, "samples") + number(&begun, "before_first")
    );
    let name = answer["name"].as_str().expect("a name");
    run(&["verify", text(&dir.join(name))]).expect(0);
    shown.signal(libc::SIGINT);
    shown.finish().expect(130);
}

/// Starts a device with a page; returns its address too.
fn shown_device(arguments: &[&str]) -> (Running, String) {
    let device =
        Running::start(&[&["emulate", "--listen", "127.0.0.1:0", "--web"], arguments].concat());
    let begun = concat!("samplewire ", env!("CARGO_PKG_VERSION"), ": a device, listening on ");
    let address = wait_for("the device", PATIENCE, || device.line(begun));
    (device, address)
}

#[test]
fn device_shows_what_it_has_sent_session_after_session() {
    let file = folder("web-sent").join("source");
    let source = Device::start(&["--source", "counter", "--rate", "max:1M"]);
    run(&["record", &source.address, text(&file), "--nsamps", "500k"]).expect(0);
    let (device, address) = shown_device(&["--source", text(&file), "--rate", "1M"]);
    let url = url_of(&device);
    let mut sums = [0, 0];
    for _ in 0..2 {
        let ran = run(&["record", &address, "null", "--json", "--nsamps", "500k"]);
        let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        // A busy machine may be late: what found no room is the recorder's gap, and the page's.
        for (sum, key) in sums.iter_mut().zip(["samples_delivered", "samples_missing"]) {
            *sum += document["end"][key].as_u64().expect("a number");
        }
        let sent = wait_for("the end of the session", PATIENCE, || {
            account(&url).filter(|it| ["samples", "missing"].map(|key| number(it, key)) == sums)
        });
        assert_eq!((sent["verb"].as_str(), sent["role"].as_str()), (Some("emulate"), Some("sent")));
        let sentence = sent["sentence"].as_str().expect("words");
        assert!(sentence.contains("sent"), "{sentence}");
        assert_eq!(sent["origin"], *address);
        assert!(sent["counters"].as_array().is_some_and(|it| !it.is_empty()), "{sent}");
    }
    assert_eq!(sums.iter().sum::<u64>(), 1_000_000);
    device.signal(libc::SIGINT);
    device.finish().expect(0);
}

#[test]
fn both_ends_of_a_sent_stream_show_it() {
    let (device, address) = shown_device(&["--play", "null", "--rate", "1M"]);
    let url = url_of(&device);
    let rate = ["rate", &address, "--way", "transmit", "--duration", "1s", "--json", "--web"];
    let mut rate = Running::start(&rate);
    let sender_url = url_of(&rate);
    let mut sent = Value::Null;
    while !rate.is_over() {
        sent = account(&sender_url).unwrap_or(sent);
    }
    let ran = rate.finish();
    let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let total = document["end"]["transmit"]["samples_sent"].as_u64().expect("a number");
    assert_eq!((sent["verb"].as_str(), sent["role"].as_str()), (Some("rate"), Some("sent")));
    assert_eq!(sent["origin"], *address);
    assert!(number(&sent, "samples") > 0 && number(&sent, "samples") <= total, "{sent}");
    let played = wait_for("the end of the session", PATIENCE, || {
        account(&url).filter(|it| it["ended"].as_str() == Some("finished"))
    });
    assert_eq!(
        (played["verb"].as_str(), played["role"].as_str()),
        (Some("emulate"), Some("received"))
    );
    // A busy machine sends late: the device plays zeros, which are a gap.
    let underflow = document["end"]["transmit"]["samples_underflow"].as_u64().expect("a number");
    assert_eq!(number(&played, "missing"), underflow, "{played}");
    assert!(number(&played, "samples") + underflow >= total, "{played}");
    assert!(number(&played, "samples") <= total, "{played}");
    assert!(played["counters"].is_array() && played["repairs"].is_array(), "{played}");
    device.signal(libc::SIGINT);
    device.finish().expect(0);
}

#[test]
fn samples_of_a_sender_that_was_stopped_are_underruns_on_the_page_of_the_device() {
    let file = folder("web-underrun").join("source");
    let source = Device::start(&["--source", "counter", "--rate", "max:1M"]);
    run(&["record", &source.address, text(&file), "--nsamps", "100k"]).expect(0);
    let (device, address) = shown_device(&["--play", "null", "--rate", "1M"]);
    let url = url_of(&device);
    let replay = Running::start(&["replay", text(&file), &address, "--loop", "forever"]);
    let before =
        wait_for("samples", PATIENCE, || account(&url).filter(|it| number(it, "samples") > 50_000));
    replay.signal(libc::SIGSTOP);
    let underruns = |account: &Value| {
        let of_cause = &account["causes"][RecordedCause::Underrun.position()];
        of_cause.as_str().and_then(|text| text.parse::<u64>().ok()).expect("a number")
    };
    let added = |account: &Value| underruns(account) - underruns(&before);
    let played =
        wait_for("an underrun", PATIENCE, || account(&url).filter(|it| added(it) > 100_000));
    let gaps = read(&url, "/api/gaps").expect("the page is there");
    let timeline = read(&url, "/api/timeline?columns=1").expect("the page is there");
    let list = read_text(&url, "/api/gaps.csv").expect("the page is there");
    replay.signal(libc::SIGCONT);
    let missing = number(&played, "missing") - number(&before, "missing");
    assert_eq!(added(&played), missing, "nothing was lost: {played}");
    let remedy = played["remedy"].as_str().expect("words");
    assert_eq!(remedy, "see docs/statistics.md#underruns");
    assert_eq!(gaps["gaps"][0]["cause"], RecordedCause::Underrun.position(), "{gaps}");
    assert!(underruns(&json!({ "causes": timeline["columns"][0]["missing"] })) > 100_000);
    assert!(list.lines().last().is_some_and(|row| row.contains(",underrun,wire,")), "{list}");
    replay.signal(libc::SIGINT);
    replay.finish().expect(130);
    device.signal(libc::SIGINT);
    device.finish().expect(0);
}

/// Reads the first frame of a page with samples.
fn first_frame(url: &str) -> Frame {
    let (origin, token) = url.split_once("/#").expect("a fragment");
    let address = origin.strip_prefix("http://").unwrap_or(origin);
    let mut request = format!("ws://{address}/api/ws").into_client_request().expect("a URL");
    let headers = request.headers_mut();
    let protocols = format!("samplewire, token.{token}").parse().expect("a header");
    headers.insert("Sec-WebSocket-Protocol", protocols);
    headers.insert("Origin", format!("http://{address}").parse().expect("a header"));
    let stream = TcpStream::connect(address).expect("the page is there");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let (mut socket, _) = tungstenite::client(request, stream).expect("the page answers");
    let view = r#"{"view": {"bins": 256, "fps": 60}}"#;
    socket.send(tungstenite::Message::text(view)).expect("the page reads");
    loop {
        if let tungstenite::Message::Binary(bytes) = socket.read().expect("a message") {
            return Frame::decode(&bytes).expect("a frame");
        }
    }
}

#[test]
fn system_time_of_a_device_is_on_the_pages_of_both_ends() {
    let source = ["--source", "counter", "--play", "null", "--rate", "1M"];
    let (device, address) = shown_device(&[&source[..], &["--time-source", "system"]].concat());
    let words = wait_for("the time", PATIENCE, || device.line("  time       "));
    let offset_s = match words.strip_prefix("TAI of the system: UTC + ") {
        Some(offset) => offset.strip_suffix(" s"),
        None => words
            .strip_prefix("UTC of the system + ")
            .and_then(|it| it.strip_suffix(" s: the kernel's TAI offset is not set")),
    };
    let offset_s: u64 = offset_s.and_then(|it| it.parse().ok()).expect("one of the two lines");
    let web = Running::start(&["web", &address]);
    let first_index_tai_ns = |url: &str| {
        let frame = first_frame(url);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_nanos();
        let tai_ns = frame.tai_ns.expect("the device states its time");
        let apart = (now as u64 + offset_s * 1_000_000_000).abs_diff(tai_ns);
        assert!(apart < 15_000_000_000, "{apart} ns apart: a sample was taken a moment ago");
        tai_ns - 1_000 * frame.index
    };
    let times = [&web, &device].map(|it| first_index_tai_ns(&url_of(it)));
    assert_eq!(times[0], times[1], "both ends know the time of index 0");
    web.signal(libc::SIGINT);
    web.finish().expect(130);
    device.signal(libc::SIGINT);
    device.finish().expect(0);
}

/// A SigMF recording of a second at a centre frequency.
fn recorded_at(folder: &Path, name: &str, centre_hz: f64) -> String {
    let base = folder.join(name);
    let meta = json!({
        "global": { "core:datatype": "ci16_le", "core:version": "1.2.5", "core:sample_rate": 1e6 },
        "captures": [{ "core:sample_start": 0, "core:frequency": centre_hz }],
        "annotations": [],
    });
    fs::write(base.with_extension("sigmf-meta"), meta.to_string()).expect("it is written");
    fs::write(base.with_extension("sigmf-data"), vec![0; 4_000_000]).expect("it is written");
    text(&base).to_owned()
}

#[test]
fn page_follows_a_device_that_restarts_at_another_frequency() {
    let dir = folder("web-restart");
    let [first, second] =
        [("first", 1e9), ("second", 2e9)].map(|(name, hz)| recorded_at(&dir, name, hz));
    let mut device = Device::start(&["--source", &first, "--loop", "forever", "--rate", "1M"]);
    let file = dir.join("out");
    let record = ["record", &device.address, text(&file), "--reconnect", "--web"];
    let recorder = Running::start(&record);
    let url = url_of(&recorder);
    let shown = |centre_hz: f64, gaps: u64| {
        wait_for("the device", PATIENCE, || {
            account(&url).filter(|it| {
                it["streams"][0]["centre_hz"] == centre_hz
                    && number(it, "samples") > 0
                    && number(it, "gaps") == gaps
            })
        })
    };
    shown(1e9, 0);
    device.kill();
    let listen = ["--listen", &device.address, "--source", &second, "--loop", "forever"];
    let device = Device::start(&[&listen[..], &["--rate", "1M"]].concat());
    shown(2e9, 1);
    recorder.signal(libc::SIGINT);
    recorder.finish().expect(130);
    let meta = fs::read(file.with_extension("sigmf-meta")).expect("it is there");
    let meta: Value = serde_json::from_slice(&meta).expect("JSON");
    let captures = meta["captures"].as_array().expect("a list");
    let frequencies: Vec<_> = captures.iter().map(|it| it["core:frequency"].as_f64()).collect();
    assert_eq!(frequencies, [Some(1e9), Some(2e9)]);
    device.interrupt().expect(0);
}

#[test]
fn replay_and_bridge_show_what_they_pass_on() {
    let file = folder("web-passed").join("source");
    let source = Device::start(&["--source", "counter", "--rate", "max:1M"]);
    run(&["record", &source.address, text(&file), "--nsamps", "100k"]).expect(0);
    let player = Device::start(&["--play", "null", "--rate", "1M"]);
    let arguments = ["replay", text(&file), &player.address, "--loop", "forever", "--web"];
    let replay = Running::start(&arguments);
    let url = url_of(&replay);
    let sent = wait_for("more than one turn", PATIENCE, || {
        account(&url).filter(|it| number(it, "samples") > 150_000)
    });
    let words = |account: &Value, key: &str| account[key].as_str().unwrap_or_default().to_owned();
    assert_eq!((words(&sent, "verb"), words(&sent, "role")), ("replay".into(), "sent".into()));
    assert_eq!((words(&sent, "level"), number(&sent, "missing")), ("whole".into(), 0));
    assert!(sent["counters"].is_array() && sent["repairs"].is_null(), "{sent}");
    replay.signal(libc::SIGINT);
    replay.finish().expect(130);

    let device = Device::start(&[&["--source", "counter"], &LOSS[..]].concat());
    let arguments = ["bridge", &device.address, "--zmq-pub", "tcp://127.0.0.1:0", "--web"];
    let arguments = [&arguments[..], &["--delivery", "best-effort", "--json"]].concat();
    let bridge = Running::start(&arguments);
    let url = url_of(&bridge);
    let passed = wait_for("a gap", PATIENCE, || {
        account(&url).filter(|it| number(it, "missing") > 0 && number(it, "samples") > 0)
    });
    assert_eq!(
        (words(&passed, "verb"), words(&passed, "role")),
        ("bridge".into(), "received".into())
    );
    assert_eq!(words(&passed, "level"), "missing");
    assert!(passed["repairs"].is_array(), "{passed}");
    bridge.signal(libc::SIGINT);
    let ran = bridge.finish().expect(130);
    let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let received = &document["end"]["sessions"][0]["receive"];
    let total = |key: &str| received[key].as_u64().expect("a number");
    assert!(number(&passed, "missing") <= total("samples_missing"), "{document}");
    assert!(number(&passed, "samples") <= total("samples_delivered"), "{document}");
}

#[test]
fn page_of_every_process_lists_and_shows_those_of_this_user() {
    let sockets = format!("XDG_RUNTIME_DIR={}", text(&folder("web-processes")));
    let start = |arguments: &[&str]| Running::start_by(&["env", &sockets], arguments);
    let shown = start(&["web"]);
    let url = url_of(&shown);
    // Processes of other folders may be there too.
    let until_listed = |expected: &[(&Running, Option<&str>)]| {
        wait_for("the processes", PATIENCE, || {
            let answer = read(&url, "/api/processes")?;
            let listed = answer["processes"].as_array()?;
            let verb = |id: u32| listed.iter().find(|it| it["id"] == id)?["verb"].as_str();
            expected.iter().all(|(running, verb_is)| verb(running.id()) == *verb_is).then_some(())
        })
    };
    until_listed(&[(&shown, None)]);
    let device =
        start(&["emulate", "--listen", "127.0.0.1:0", "--source", "counter", "--rate", "1M"]);
    let begun = concat!("samplewire ", env!("CARGO_PKG_VERSION"), ": a device, listening on ");
    let address = wait_for("the device", PATIENCE, || device.line(begun));
    // It has streams, and no page.
    let demo = start(&["demo", "--duration", "10min"]);
    wait_for("the demo in the list of top", PATIENCE, || {
        let top = start(&["top", "--json", "--interval", "100ms"]).finish();
        top.text().contains("\"demo\"").then_some(())
    });
    let recorder = start(&["record", &address, "null", "--json"]);
    until_listed(&[(&device, Some("emulate")), (&recorder, Some("record")), (&demo, None)]);
    demo.signal(libc::SIGINT);
    demo.finish();
    for (running, role) in [(&device, "sent"), (&recorder, "received")] {
        let call = format!("/api/account?process={}", running.id());
        let account = wait_for("samples", PATIENCE, || {
            read(&url, &call).filter(|it| number(&it["sources"][0], "samples") > 0)
        });
        assert_eq!(account["sources"][0]["role"], role);
    }
    let gaps = format!("/api/gaps?process={}", recorder.id());
    assert_eq!(read(&url, &gaps).expect("an answer")["total"], "0");
    // It has ended, and is our child until its status is taken.
    recorder.signal(libc::SIGINT);
    until_listed(&[(&device, Some("emulate")), (&recorder, None)]);
    recorder.finish().expect(130);
    device.signal(libc::SIGINT);
    until_listed(&[(&device, None)]);
    device.finish().expect(0);
    shown.signal(libc::SIGINT);
    shown.finish().expect(130);
}
