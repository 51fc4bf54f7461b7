//! `web --control`: a page records a device's stream, and ends it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use samplewire_record::sigmf::Metadata;
use samplewire_testing::{PATIENCE, wait_for};
use serde_json::Value;

use crate::harness::{Device, Running, folder, run, text};

/// Makes a request of the page; returns its status and body.
fn request(url: &str, line: &str, headers: &str, body: &str) -> (u16, String) {
    let (address, token) = url.split_once("/#").expect("a fragment");
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut wire = TcpStream::connect(address).expect("it listens");
    wire.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    wire.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    (status.expect("a status"), body.to_owned())
}

fn act(url: &str, action: &str) -> (u16, String) {
    let (address, _) = url.split_once("/#").expect("a fragment");
    let headers = format!(
        "Origin: http://{address}\r\nContent-Type: application/json\r\nX-Samplewire-Action: 1\r\n"
    );
    request(url, "POST /api/act", &headers, action)
}

fn source(url: &str) -> Value {
    let (status, body) = request(url, "GET /api/account", "", "");
    assert_eq!(status, 200, "{body}");
    let account: Value = serde_json::from_str(&body).expect("JSON");
    account["sources"][0].clone()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_str().and_then(|text| text.parse().ok()).expect("digits")
}

fn page_of(running: &Running) -> String {
    wait_for("the page", PATIENCE, || running.line("page: http://"))
}

/// The last recording, once it is judged.
fn judged(url: &str) -> Value {
    wait_for("the verification", PATIENCE, || {
        let source = source(url);
        let last = source["recordings"].as_array()?.last()?.clone();
        last["state"].as_str().is_some_and(|state| state.ends_with("proven")).then_some(last)
    })
}

/// The device's samples are their indexes: those of the file are where its metadata place them.
fn check_counter(path: &Path) {
    let data = fs::read(path.with_extension("sigmf-data")).expect("data");
    let meta = fs::read_to_string(path.with_extension("sigmf-meta")).expect("metadata");
    let captures = Metadata::parse(&meta).expect("it is valid").captures;
    let ends = captures.iter().skip(1).map(|it| 4 * it.sample_start as usize);
    for (capture, end) in captures.iter().zip(ends.chain([data.len()])) {
        let bytes = &data[4 * capture.sample_start as usize..end];
        let index = capture.global_index.expect("an index");
        assert_eq!(samplewire::source::counter_mismatch(index, bytes), None, "{capture:?}");
    }
}

#[test]
fn page_records_from_an_index_over_gaps_and_ends_the_stream() {
    let losses = ["--rate", "2M", "--fault", "data:loss=0.02,seed=5"];
    let device = Device::start(&[&["--source", "counter"], &losses[..]].concat());
    let folder = folder("web-control");
    let shown = Running::start(&[
        "web",
        &device.address,
        "--delivery",
        "best-effort",
        "--control",
        "--folder",
        text(&folder),
    ]);
    let url = page_of(&shown);
    let next = wait_for("samples", PATIENCE, || {
        let source = source(&url);
        (number(&source, "samples") > 0).then(|| number(&source, "next_index"))
    });
    // A second ahead, and half a second long.
    let (from, until) = (next + 2_000_001, next + 3_000_002);
    let action =
        format!(r#"{{"record": {{"from": "{from}", "until": "{until}", "name": "cli"}}}}"#);
    let (status, body) = act(&url, &action);
    assert_eq!(status, 200, "{body}");
    let done = judged(&url);
    assert_eq!(done["state"], "proven", "{done}");
    assert_eq!((number(&done, "first"), number(&done, "next")), (from, until));
    let path = folder.join(done["name"].as_str().expect("a name"));
    let verified = run(&["verify", text(&path), "--json"]).expect(0);
    let report: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
    let boot = &report["boots"][0];
    assert_eq!(
        (boot["first_index"].as_u64(), boot["end_index"].as_u64()),
        (Some(from), Some(until))
    );
    assert!(boot["boot_id"].is_string(), "{report}");
    assert!(report["gaps"].as_u64() > Some(0), "{report}");
    check_counter(&path);
    assert_eq!(act(&url, r#"{"end": {}}"#).0, 200);
    shown.until("the stream has ended");
    // The account may be a quarter of a second old.
    let ended = wait_for("the end", PATIENCE, || {
        Some(source(&url)).filter(|source| !source["ended"].is_null())
    });
    assert_eq!(ended["ended"], "a page ended it");
    shown.signal(libc::SIGINT);
    let ran = shown.finish().expect(130);
    let line = format!("from index {from} to {until} (it reached index {until}): proven");
    assert!(ran.text().contains(&line), "{}", ran.text());
}

#[test]
fn interrupted_command_completes_a_recording() {
    let device = Device::start(&["--source", "counter", "--rate", "2M"]);
    let folder = folder("web-interrupted");
    let shown = Running::start(&["web", &device.address, "--control", "--folder", text(&folder)]);
    let url = page_of(&shown);
    wait_for("samples", PATIENCE, || (number(&source(&url), "samples") > 0).then_some(()));
    let (status, body) = act(&url, r#"{"record": {}}"#);
    assert_eq!(status, 200, "{body}");
    wait_for("a recording", PATIENCE, || {
        let source = source(&url);
        let last = source["recordings"].as_array()?.last()?;
        (number(last, "samples") > 1_000).then_some(())
    });
    shown.signal(libc::SIGINT);
    shown.finish().expect(130);
    let name = serde_json::from_str::<Value>(&body).expect("JSON")["name"].clone();
    let path = folder.join(name.as_str().expect("a name"));
    run(&["verify", text(&path)]).expect(0);
}

#[test]
fn options_of_actions_are_checked_before_the_device_is_opened() {
    let web = ["web", "127.0.0.1:1"];
    let absent = folder("web-options").join("absent");
    let absent = text(&absent);
    run(&[&web[..], &["--control", "--folder", absent]].concat())
        .expect_error(1, &["--folder", "absent", "No such file"]);
    run(&[&web[..], &["--folder", absent]].concat()).expect_error(1, &["--control"]);
    let file = Path::new(env!("CARGO_BIN_EXE_samplewire"));
    run(&[&web[..], &["--control", "--folder", text(file)]].concat())
        .expect_error(1, &["--folder", "Not a directory"]);
    run(&["web", "--recording", "x", "--control"]).expect_error(1, &["--control"]);
}
