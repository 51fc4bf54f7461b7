//! Actions of a page on virtual streams: recordings, events, ends, and attacks on them.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::{Carriage, Cause, DeviceInfo};
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_record::verify::Report;
use samplewire_testing::{PATIENCE, wait_for};
use samplewire_web::{About, Control, Folder, Page, PageOptions, Tap};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A page that may act, and a stream that the test feeds.
struct Rig {
    page: Page,
    folder: TempDir,
    tap: Tap,
    next: u64,
}

const BLOCK: u64 = 1_000;

/// What a device states whose run is `boot_id`.
fn device(boot_id: u64, centre_frequency_hz: Option<f64>) -> DeviceInfo {
    DeviceInfo {
        address: "127.0.0.1:9100".parse().unwrap(),
        name: Default::default(),
        stream: 0,
        streams: 1,
        boot_id,
        format: Format::Sc16,
        channels: 1,
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        centre_frequency_hz,
        first_index: 0,
        first_index_tai_ns: None,
        clock_quality_ns: None,
        packet_samples: 352,
        payload_bytes: 1_408,
        window: 1_024,
        path_mtu_bytes: 1_500,
        rtt: Duration::ZERO,
        version: 1,
        carriage: Carriage::Data,
    }
}

impl Rig {
    fn new() -> Self {
        Self::of(&[StreamInfo::sc16("test", 1e6).unwrap()])
    }

    fn of(streams: &[StreamInfo]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::new().folder(Folder::open(folder.path()).unwrap());
        let options = PageOptions::new("127.0.0.1:0".parse().unwrap()).control(control);
        let mut page = Page::start(options).unwrap();
        let tap = page.add(About::new("test", streams), 0);
        Self { page, folder, tap, next: 0 }
    }

    /// Passes blocks until the next index is `end`: the samples count their indexes.
    fn feed(&mut self, end: u64) {
        while self.next < end {
            let len = (end - self.next).min(BLOCK);
            let bytes = samples(self.next, len);
            self.tap.samples(self.next, [&bytes[..]]);
            self.next += len;
        }
    }

    fn gap(&mut self, len: u64) {
        let gap = RecordedGap::new(self.next, len, 0, RecordedCause::Stream(Cause::Deadline));
        self.tap.gap(&gap, false);
        self.next += len;
    }

    fn client(&self) -> Client {
        Client { address: self.page.address(), token: self.page.token().as_str().to_owned() }
    }

    /// Requests an action, and feeds blocks until it is answered.
    fn act(&mut self, action: &Value) -> Answer {
        let (client, text) = (self.client(), action.to_string());
        let asking = std::thread::spawn(move || client.act(&text));
        while !asking.is_finished() {
            self.feed(self.next + BLOCK);
            std::thread::yield_now();
        }
        asking.join().unwrap()
    }

    /// Requests an action while the stream stands still, at its next index.
    fn act_here(&mut self, action: &Value) -> Answer {
        let (client, text) = (self.client(), action.to_string());
        let asking = std::thread::spawn(move || client.act(&text));
        while !asking.is_finished() {
            // A block without samples carries orders out.
            self.tap.samples(self.next, [&[][..]]);
            std::thread::yield_now();
        }
        asking.join().unwrap()
    }

    /// The last recording, once it has one of these states.
    fn recording(&self, states: &[&str]) -> Value {
        let client = self.client();
        wait_for("the recording", PATIENCE, || {
            let account = client.account();
            let recordings = account["sources"][0]["recordings"].as_array().expect("a list");
            let last = recordings.last()?.clone();
            states.contains(&last["state"].as_str()?).then_some(last)
        })
    }

    /// The result of a recording.
    fn result(&self, name: &Value) -> Value {
        wait_for("the result", PATIENCE, || {
            let done = self.recording(&["proven", "not proven"]);
            (done["name"] == *name).then_some(done)
        })
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn path(&self, recording: &Value) -> PathBuf {
        self.folder.path().join(recording["name"].as_str().unwrap())
    }

    /// Verifies a recording, and compares its samples with their indexes.
    fn check(&self, recording: &Value) -> Report {
        let path = self.path(recording);
        let report = samplewire_record::verify(&path).unwrap();
        assert!(report.is_proven() && report.is_finished, "{:?}", report.faults);
        let data = fs::read(path.with_extension("sigmf-data")).unwrap();
        let meta: Value = read_json(&path);
        let captures = meta["captures"].as_array().unwrap();
        let starts = captures.iter().map(|it| number(it, "core:sample_start"));
        let ends = starts.clone().skip(1).chain([data.len() as u64 / 4]);
        for ((capture, start), end) in captures.iter().zip(starts).zip(ends) {
            let expected = samples(number(capture, "core:global_index"), end - start);
            assert!(data[4 * start as usize..4 * end as usize] == expected, "{capture}");
        }
        report
    }
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path.with_extension("sigmf-meta")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| value[key].as_str().unwrap().parse().unwrap())
}

/// Samples of sc16 that are their indexes.
fn samples(first: u64, len: u64) -> Vec<u8> {
    (first..first + len).flat_map(|index| (index as u32).to_le_bytes()).collect()
}

#[derive(Clone)]
struct Client {
    address: SocketAddr,
    token: String,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    fn index(&self) -> u64 {
        number(&self.json(), "index")
    }

    fn refused(&self, status: u16, words: &str) {
        assert!(self.status == status && self.text.contains(words), "{self:?}, not {words}");
    }
}

impl Client {
    /// Sends a request as the page's own script does.
    fn act(&self, body: &str) -> Answer {
        let token = format!("Authorization: Bearer {}", self.token);
        let origin = format!("Origin: http://{}", self.address);
        self.post(&[&token, &origin, JSON, ACTION], body.as_bytes())
    }

    fn post(&self, headers: &[&str], body: &[u8]) -> Answer {
        let head = format!(
            "POST /api/act HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n\r\n",
            self.address,
            body.len(),
            headers.join("\r\n"),
        );
        self.send(head.as_bytes(), body)
    }

    fn send(&self, head: &[u8], body: &[u8]) -> Answer {
        let mut wire = TcpStream::connect(self.address).unwrap();
        wire.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        wire.write_all(head).unwrap();
        // A refused request may be cut off before its body.
        let _is_sent = wire.write_all(body).is_ok();
        let mut bytes = Vec::new();
        let _is_whole = wire.read_to_end(&mut bytes).is_ok();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        let text = text.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned());
        Answer { status, text }
    }

    fn account(&self) -> Value {
        let head = format!(
            "GET /api/account HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\n\r\n",
            self.address, self.token
        );
        self.send(head.as_bytes(), &[]).json()
    }
}

const JSON: &str = "Content-Type: application/json";
const ACTION: &str = "X-Samplewire-Action: 1";

#[test]
fn recording_begins_and_ends_at_the_requested_indexes() {
    let mut rig = Rig::new();
    rig.feed(10_000);
    let action = json!({ "record": { "from": "20500", "until": "31250", "name": "run-1" } });
    assert_eq!(rig.act_here(&action).index(), 20_500);
    let waiting = rig.recording(&["waiting"]);
    assert_eq!(number(&waiting, "first"), 20_500);
    rig.feed(40_000);
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(done["state"], "proven", "{done}");
    assert!(done["name"].as_str().unwrap().starts_with("run-1-2"), "{done}");
    assert_eq!((number(&done, "first"), number(&done, "next")), (20_500, 31_250));
    assert_eq!((number(&done, "samples"), number(&done, "bytes")), (10_750, 43_000));
    assert_eq!(done["ended"], "it reached index 31250");
    let report = rig.check(&done);
    assert_eq!((report.boots[0].indexes.clone(), report.samples), (20_500..31_250, 10_750));
    assert_eq!(rig.files().len(), 2, "{:?}", rig.files());
    let line = rig.page.take_report().expect("a line for the program");
    assert!(line.contains("from index 20500 to 31250") && line.contains(": proven"), "{line}");
    assert_eq!(rig.tap.account().delivered(), 40_000, "the account has all samples");
}

#[test]
fn recording_from_now_on_until_it_is_stopped() {
    let mut rig = Rig::new();
    rig.feed(3_000);
    let first = rig.act_here(&json!({ "record": {} })).index();
    assert_eq!(first, 3_000);
    rig.feed(700_000);
    let again = rig.act_here(&json!({ "record": {} }));
    again.refused(409, "is under way: stop it first");
    assert_eq!(rig.act_here(&json!({ "stop": {} })).index(), 700_000);
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(rig.check(&done).boots[0].indexes, 3_000..700_000);
    assert_eq!(done["ended"], "a page stopped it");
    rig.act_here(&json!({ "stop": {} })).refused(409, "no recording is under way");
    // The next one has another name, also within one second.
    let second = rig.act(&json!({ "record": {} })).json();
    assert_ne!(second["name"], done["name"]);
    assert!(rig.files().len() > 4, "{:?}", rig.files());
}

#[test]
fn recording_may_begin_and_end_within_gaps() {
    for (from, until, samples, missing) in [
        (4_500, 12_500, 5_000, 3_000),
        (4_000, 12_000, 5_000, 3_000),
        (6_000, 11_000, 5_000, 0),
        (4_200, 4_800, 0, 600),
        (2_000, 20_000, 14_000, 4_000),
    ] {
        let case = format!("{from} to {until}");
        let mut rig = Rig::new();
        let indexes = json!({ "from": from.to_string(), "until": until.to_string() });
        assert_eq!(rig.act_here(&json!({ "record": indexes })).index(), from, "{case}");
        rig.feed(4_000);
        rig.gap(2_000);
        rig.feed(11_000);
        rig.gap(2_000);
        rig.feed(20_000);
        let done = rig.recording(&["proven", "not proven"]);
        let report = rig.check(&done);
        assert_eq!(report.boots[0].indexes, from..until, "{case}");
        assert_eq!((report.samples, report.missing()), (samples, missing), "{case}");
        assert_eq!((number(&done, "first"), number(&done, "next")), (from, until), "{case}");
    }
}

#[test]
fn index_that_has_passed_is_refused_with_both_indexes_and_leaves_no_file() {
    let mut rig = Rig::new();
    rig.feed(50_000);
    let record = |from: &str, until: &str| json!({ "record": { "from": from, "until": until } });
    let refused = rig.act_here(&record("49999", "60000"));
    refused.refused(409, "index 49999 has passed: the stream is at index 50000");
    let until = rig.act_here(&json!({ "record": { "until": "50000" } }));
    until.refused(409, "index 50000 has passed: the stream is at index 50000");
    rig.act_here(&record("60000", "60000")).refused(400, "from index 60000 cannot end at index");
    wait_for("the folder to be empty", PATIENCE, || rig.files().is_empty().then_some(()));
    assert_eq!(rig.act_here(&record("50000", "60000")).index(), 50_000);
    rig.feed(55_500);
    let refused = rig.act_here(&json!({ "stop": { "at": "55499" } }));
    refused.refused(409, "index 55499 has passed: the stream is at index 55500");
    assert_eq!(rig.act_here(&json!({ "stop": { "at": "56001" } })).index(), 56_001);
    rig.feed(57_000);
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(rig.check(&done).boots[0].indexes, 50_000..56_001);
}

#[test]
fn recording_that_does_not_begin_leaves_no_file() {
    let mut rig = Rig::new();
    rig.act_here(&json!({ "record": { "from": "1000000" } })).json();
    assert!(!rig.files().is_empty());
    let refused = rig.act_here(&json!({ "stop": { "at": "999999" } }));
    refused.refused(409, "index 999999 is before the recording, which begins at index 1000000");
    rig.act_here(&json!({ "stop": {} })).json();
    rig.recording(&["removed"]);
    assert!(rig.files().is_empty(), "{:?}", rig.files());
}

#[test]
fn end_of_the_stream_ends_a_recording_well() {
    let mut rig = Rig::new();
    rig.feed(1_000);
    rig.act_here(&json!({ "record": {} })).json();
    rig.feed(9_000);
    assert!(!rig.tap.is_ending());
    assert_eq!(rig.act_here(&json!({ "end": {} })).index(), 9_000);
    assert!(rig.tap.is_ending());
    rig.tap.end("a page ended it");
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(done["ended"], "a page ended the stream");
    assert_eq!(rig.check(&done).boots[0].indexes, 1_000..9_000);
    rig.client().act(r#"{"record": {}}"#).refused(409, "the stream has ended");
    rig.client().act(r#"{"stop": {}}"#).refused(409, "the stream has ended");
}

#[test]
fn recording_after_a_restart_has_the_new_run() {
    let mut rig = Rig::new();
    rig.feed(2_000);
    rig.tap.end("the device restarted");
    rig.client().act(r#"{"record": {}}"#).refused(409, "the stream has ended");
    for (boot_id, stated) in [(Some(7), Some(7)), (None, None)] {
        rig.tap.restart_at(100);
        if let Some(boot_id) = boot_id {
            rig.tap.set_device([&device(boot_id, None)]);
        }
        rig.next = 100;
        let name = rig.act_here(&json!({ "record": { "until": "1600" } })).json()["name"].clone();
        rig.feed(2_000);
        let report = rig.check(&rig.result(&name));
        assert_eq!(report.boots[0].boot_id, stated);
        assert_eq!(report.boots[0].indexes, 100..1_600);
    }
}

#[test]
fn recording_whose_files_were_opened_before_a_restart_is_refused() {
    let mut rig = Rig::new();
    rig.feed(2_000);
    let client = rig.client();
    let asking = std::thread::spawn(move || client.act(r#"{"record": {}}"#));
    wait_for("the files", PATIENCE, || (!rig.files().is_empty()).then_some(()));
    // Neither run is known.
    rig.tap.restart_at(5_000);
    rig.next = 5_000;
    while !asking.is_finished() {
        rig.tap.samples(rig.next, [&[][..]]);
        std::thread::yield_now();
    }
    asking.join().unwrap().refused(409, "the device restarted");
    wait_for("the files' end", PATIENCE, || rig.files().is_empty().then_some(()));
}

#[test]
fn change_of_the_centre_frequency_begins_a_capture_segment() {
    let mut rig = Rig::new();
    rig.tap.set_centre_hz(0, 1e9);
    rig.act_here(&json!({ "record": { "from": "500" } })).json();
    // Before the recording begins, within a block's buffer, and beside a gap.
    rig.tap.set_centre_hz(0, 2e9);
    rig.feed(3_000);
    rig.tap.set_centre_hz(0, 2e9);
    rig.feed(3_500);
    rig.tap.set_centre_hz(0, 3e9);
    rig.feed(6_000);
    rig.gap(10);
    rig.tap.set_centre_hz(0, f64::NAN);
    rig.feed(9_000);
    rig.act_here(&json!({ "stop": {} })).json();
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(rig.check(&done).boots[0].indexes, 500..9_000);
    let meta = read_json(&rig.path(&done));
    let captures = meta["captures"].as_array().unwrap();
    let found: Vec<_> = captures
        .iter()
        .map(|it| (number(it, "core:global_index"), it["core:frequency"].as_f64()))
        .collect();
    assert_eq!(found, [(500, Some(2e9)), (3_500, Some(3e9)), (6_010, None)]);
}

#[test]
fn captures_have_the_newest_time_that_the_device_had_stated() {
    let mut rig = Rig::new();
    let clock = |tai_ns| StreamInfo::sc16("test", 1e6).unwrap().tai_clock(0, tai_ns);
    let known = DeviceInfo { first_index_tai_ns: Some(5_000_000_000), ..device(7, None) };
    rig.tap.set_device([&known]);
    rig.feed(1_000);
    rig.act_here(&json!({ "record": {} })).json();
    rig.feed(2_000);
    rig.tap.set_tai_clocks([clock(5_000_000_700)]);
    rig.feed(3_000);
    rig.gap(10);
    rig.feed(4_000);
    rig.tap.set_tai_clocks([None]);
    rig.gap(10);
    rig.feed(5_000);
    rig.tap.set_tai_clocks([clock(5_000_000_900)]);
    rig.tap.set_centre_hz(0, 1e9);
    rig.feed(6_000);
    rig.tap.set_tai_clocks([clock(5_000_001_000)]);
    rig.act_here(&json!({ "stop": {} })).json();
    let done = rig.recording(&["proven", "not proven"]);
    rig.check(&done);
    let meta = read_json(&rig.path(&done));
    let captures = meta["captures"].as_array().unwrap();
    let times = captures.iter().map(|it| it["samplewire:tai_ns"].as_u64());
    let expected = [Some(5_001_000_000), Some(5_003_010_700), None, Some(5_005_000_900)];
    assert_eq!(times.collect::<Vec<_>>(), expected);
    assert_eq!(meta["global"]["samplewire:timed_index_tai_ns"], 5_000_001_000_u64);
}

#[test]
fn unchanged_centre_frequency_takes_no_place_in_the_queue() {
    let mut rig = Rig::new();
    let known = device(7, Some(1e9));
    rig.tap.set_device([&known]);
    let started = rig.act_here(&json!({ "record": {} })).json();
    // More than the file's thread has slots for.
    for _ in 0..100_000 {
        rig.tap.set_centre_hz(0, 1e9);
        rig.tap.set_device([&known]);
    }
    rig.feed(3_000);
    rig.act_here(&json!({ "stop": {} })).json();
    let done = rig.result(&started["name"]);
    assert_eq!(rig.check(&done).boots[0].indexes, 0..3_000);
    assert_eq!(read_json(&rig.path(&done))["captures"].as_array().unwrap().len(), 1);
}

#[test]
fn streams_whose_centres_change_together_begin_one_capture() {
    let info = StreamInfo::sc16("test", 1e6).unwrap();
    let mut rig = Rig::of(&[info.clone(), info]);
    let before = [device(7, Some(1e9)), device(7, Some(1e9))];
    let after = [device(7, Some(2e9)), device(7, Some(2e9))];
    rig.tap.set_device(&before);
    let started = rig.act_here(&json!({ "record": {} })).json();
    let bytes = samples(0, 1_000);
    rig.tap.samples(0, [&bytes[..], &bytes[..]]);
    rig.tap.set_device(&after);
    rig.tap.samples(1_000, [&bytes[..], &bytes[..]]);
    rig.next = 2_000;
    rig.act_here(&json!({ "stop": {} })).json();
    let done = rig.result(&started["name"]);
    let meta = read_json(&rig.path(&done));
    let found: Vec<_> = meta["captures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["core:frequency"].as_f64())
        .collect();
    assert_eq!(found, [Some(1e9), Some(2e9)]);
}

#[test]
fn first_session_with_samples_is_number_1_unless_a_run_was_known_before() {
    let numbers = |rig: &mut Rig| {
        rig.next = 500;
        rig.gap(1);
        [100, 900].map(|first| {
            rig.tap.restart_at(first);
            rig.next = first;
            rig.gap(1);
            rig.tap.account().boots()
        })
    };
    let mut rig = Rig::new();
    for first in [300, 400, 500] {
        rig.tap.restart_at(first);
        assert_eq!(rig.tap.account().boots(), 1);
        assert_eq!(rig.tap.account().range(), first..first);
    }
    assert_eq!(numbers(&mut rig), [2, 3]);
    let mut rig = Rig::new();
    rig.tap.set_device([&device(7, None)]);
    rig.tap.restart_at(500);
    assert_eq!(rig.tap.account().boots(), 2);
    assert_eq!(numbers(&mut rig), [3, 4]);
}

#[test]
fn dropped_page_leaves_complete_files() {
    let mut rig = Rig::new();
    rig.act_here(&json!({ "record": {} })).json();
    rig.feed(200_000);
    let Rig { page, folder, tap, .. } = rig;
    drop(tap);
    drop(page);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    let report = samplewire_record::verify(&names[1]).unwrap();
    assert!(report.is_finished && report.is_proven(), "{report:?}");
    assert_eq!(report.boots[0].indexes, 0..200_000);
}

#[test]
fn events_are_annotations_at_their_indexes() {
    let mut rig = Rig::new();
    let event = |text: &str| json!({ "event": { "text": text } });
    rig.act_here(&event("early")).refused(409, "no recording is under way");
    rig.act_here(&json!({ "record": { "from": "2000" } })).json();
    rig.act_here(&event("early")).refused(409, "index 0 is before the recording");
    rig.feed(5_000);
    assert_eq!(rig.act_here(&event("now")).index(), 5_000);
    let seen = json!({ "event": { "at": "3210", "text": "<b>seen</b>" } });
    assert_eq!(rig.act_here(&seen).index(), 3_210);
    let future = json!({ "event": { "at": "5001", "text": "later" } });
    let refused = rig.act_here(&future);
    refused.refused(409, "index 5001 has not come: the stream is at index 5000");
    let past = json!({ "event": { "at": "1999", "text": "past" } });
    let refused = rig.act_here(&past);
    refused.refused(409, "index 1999 is before the recording, which begins at index 2000");
    rig.feed(6_000);
    rig.act_here(&json!({ "stop": {} })).json();
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!((number(&done, "events"), done["state"].as_str()), (2, Some("proven")));
    rig.check(&done);
    let meta = read_json(&rig.path(&done));
    let events: Vec<_> = meta["annotations"].as_array().unwrap().iter().collect();
    let places = events.iter().map(|it| number(it, "core:sample_start"));
    assert_eq!(places.collect::<Vec<_>>(), [1_210, 3_000]);
    assert_eq!(events[0]["core:comment"], "<b>seen</b>");
}

#[test]
fn event_before_the_first_sample_of_a_recording_is_at_its_first_index() {
    for gap in [0, 100] {
        let mut rig = Rig::new();
        rig.feed(1_000);
        assert_eq!(rig.act_here(&json!({ "record": {} })).index(), 1_000);
        assert_eq!(rig.act_here(&json!({ "event": { "text": "start" } })).index(), 1_000);
        rig.gap(gap);
        rig.feed(3_000);
        assert_eq!(rig.act_here(&json!({ "stop": {} })).index(), 3_000);
        let done = rig.recording(&["proven", "not proven"]);
        assert_eq!((number(&done, "events"), done["state"].as_str()), (1, Some("proven")));
        rig.check(&done);
        let meta = read_json(&rig.path(&done));
        let annotations = meta["annotations"].as_array().unwrap();
        let event = annotations.iter().find(|it| it["core:comment"] == "start").unwrap();
        let places = ["core:sample_start", "samplewire:event_index"].map(|key| number(event, key));
        assert_eq!(places, [0, 1_000]);
    }
}

#[test]
fn raw_samples_are_recorded_and_not_proven() {
    let mut rig = Rig::new();
    rig.act_here(&json!({ "record": { "form": "raw", "until": "70000" } })).json();
    rig.act_here(&json!({ "event": { "text": "x" } })).refused(409, "raw samples have no metadata");
    rig.feed(90_000);
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(done["state"], "not proven");
    assert!(done["reason"].as_str().unwrap().contains("no metadata"), "{done}");
    assert_eq!(fs::read(rig.path(&done).with_extension("raw")).unwrap(), samples(0, 70_000));
}

#[test]
fn streams_are_interleaved_as_record_does() {
    let info = StreamInfo::sc16("a", 1e6).unwrap();
    let info = StreamInfo { centre_frequency_hz: Some(1e9), ..info };
    let two = StreamInfo { channels: 2, ..StreamInfo::sc16("b", 1e6).unwrap() };
    let streams = [info.clone(), two];
    let mut rig = Rig::of(&streams);
    rig.act_here(&json!({ "record": { "from": "3", "until": "1500" } })).json();
    let block = |stream: u32, channels: u32| -> Vec<u8> {
        let values = (0..1_000 * channels).map(|at| 10_000_000 * stream + at);
        values.flat_map(u32::to_le_bytes).collect()
    };
    let (one, other) = (block(1, 1), block(2, 2));
    rig.tap.samples(0, [&one[..], &other[..]]);
    rig.tap.samples(1_000, [&one[..], &other[..]]);
    let done = rig.recording(&["proven", "not proven"]);
    assert_eq!(done["state"], "proven", "{done}");
    let data = fs::read(rig.path(&done).with_extension("sigmf-data")).unwrap();
    let expected = (3..1_000_u32).chain(0..500).flat_map(|at| {
        [10_000_000 + at, 20_000_000 + 2 * at, 20_000_001 + 2 * at].map(u32::to_le_bytes)
    });
    assert_eq!(data, expected.flatten().collect::<Vec<u8>>());
    let meta = read_json(&rig.path(&done));
    assert_eq!(meta["global"]["core:num_channels"], 3);
    assert_eq!(meta["captures"][0]["core:frequency"], Value::Null, "they differ");
    // `record` opens its sink for the description of all streams.
    let record = tempfile::tempdir().unwrap();
    let mut sink = samplewire_record::sink::open(
        &record.path().join("a"),
        &streams[0].joined(&streams[1]),
        &samplewire_record::sink::SinkOptions::new(),
    )
    .unwrap();
    sink.write(3, &data).unwrap();
    sink.finish().unwrap();
    let mut recorded = read_json(&record.path().join("a"));
    let mut meta = meta;
    for either in [&mut recorded, &mut meta] {
        // The time of the start.
        either["captures"][0]["core:datetime"].take();
    }
    assert_eq!(meta, recorded);
    rig.tap.set_centre_hz(1, 1e9);
    rig.next = 2_000;
    let name = rig.act_here(&json!({ "record": { "until": "3000" } })).json()["name"].clone();
    rig.tap.samples(2_000, [&one[..], &other[..]]);
    let done = rig.result(&name);
    assert_eq!(read_json(&rig.path(&done))["captures"][0]["core:frequency"], 1e9, "both have it");
    let slow = StreamInfo::sc16("slow", 5e5).unwrap();
    let mut rig = Rig::of(&[info, slow]);
    rig.act_here(&json!({ "record": {} })).refused(409, "different formats or rates");
}

#[test]
fn only_the_page_itself_acts() {
    let mut rig = Rig::new();
    rig.feed(1_000);
    let client = rig.client();
    let token = format!("Authorization: Bearer {}", client.token);
    let wrong = format!("Authorization: Bearer {}", "0".repeat(32));
    let own = format!("Origin: http://{}", client.address);
    let foreign = "Origin: http://evil.example";
    let form = "Content-Type: application/x-www-form-urlencoded";
    let plain = "Content-Type: text/plain";
    let body = br#"{"record": {}}"#;
    for (headers, status, words) in [
        (vec![&*token, &own, JSON], 403, "needs the header x-samplewire-action: 1"),
        (vec![&token, &own, JSON, "X-Samplewire-Action: 2"], 403, "needs the header"),
        (vec![&token, &own, form, ACTION], 415, "application/json"),
        (vec![&token, &own, plain, ACTION], 415, "application/json"),
        (vec![&token, &own, ACTION], 415, "application/json"),
        (vec![&token, JSON, ACTION], 403, "other origins are refused"),
        (vec![&token, foreign, JSON, ACTION], 403, "other origins are refused"),
        (vec![&token, "Origin: null", JSON, ACTION], 403, "other origins are refused"),
        (vec![&token, &own, foreign, JSON, ACTION], 403, "other origins are refused"),
        (vec![&own, JSON, ACTION], 401, "the token is missing or wrong"),
        (vec![&wrong, &own, JSON, ACTION], 401, "the token is missing or wrong"),
        (vec![&own, form], 401, "the token is missing or wrong"),
        (vec![form], 403, "other origins are refused"),
    ] {
        let answer = client.post(&headers, body);
        assert!(answer.status == status && answer.text.contains(words), "{headers:?}: {answer:?}");
    }
    let lines = format!(
        "GET /api/act HTTP/1.1\r\nHost: {}\r\n{token}\r\nConnection: close\r\n\r\n",
        client.address
    );
    assert_eq!(client.send(lines.as_bytes(), &[]).status, 405);
    assert!(rig.files().is_empty() && !rig.tap.is_ending());
    rig.act_here(&json!({ "record": {} })).json();
}

#[test]
fn page_without_control_refuses_every_action_and_gives_the_reason() {
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let mut tap = page.add(About::new("test", &[StreamInfo::sc16("test", 1e6).unwrap()]), 0);
    let client = Client { address: page.address(), token: page.token().as_str().to_owned() };
    for action in
        [r#"{"record": {}}"#, r#"{"stop": {}}"#, r#"{"event": {"text": "x"}}"#, r#"{"end": {}}"#]
    {
        client.act(action).refused(403, "start the program with --control");
    }
    tap.samples(0, [&[0; 4][..]]);
    assert!(!tap.is_ending());
    let control = &client.account()["control"];
    assert_eq!((&control["is_allowed"], &control["free_bytes"]), (&json!(false), &Value::Null));
    // Without a folder, a page may end a stream and not record.
    let options = PageOptions::new("127.0.0.1:0".parse().unwrap()).control(Control::new());
    let mut page = Page::start(options).unwrap();
    let _tap = page.add(About::new("test", &[StreamInfo::sc16("test", 1e6).unwrap()]), 0);
    let client = Client { address: page.address(), token: page.token().as_str().to_owned() };
    client.act(r#"{"record": {}}"#).refused(403, "start the program with --folder DIR");
}

#[test]
fn malformed_actions_are_refused_and_the_error_names_them() {
    let rig = Rig::new();
    let client = rig.client();
    client.act("").refused(400, "not an action");
    client.act(r#"{"record": {"path": "/etc/passwd"}}"#).refused(400, "unknown field `path`");
    client.act(r#"{"record": {"source": 1}}"#).refused(404, "there is no source 1");
    for name in ["../x", "/tmp/x", "a/b", "..", ".", "a\\\\b", "-", "a.sigmf-meta", "a\\u0000"] {
        let action = format!(r#"{{"record": {{"name": "{name}"}}}}"#);
        client.act(&action).refused(400, "the name \"");
    }
    let long = format!(r#"{{"event": {{"text": "{}"}}}}"#, "x".repeat(9 << 10));
    client.act(&long).refused(413, "at most 8192 bytes");
    // The same in chunks, without a stated length.
    let head = format!(
        "POST /api/act HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nAuthorization: Bearer {1}\r\n\
         {JSON}\r\n{ACTION}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        client.address, client.token
    );
    let chunks = format!("1000\r\n{}\r\n", "x".repeat(4_096)).repeat(3);
    client.send(head.as_bytes(), chunks.as_bytes()).refused(413, "at most 8192 bytes");
    assert!(rig.files().is_empty());
    assert!(!rig.folder.path().parent().unwrap().join("x.sigmf-meta").exists());
}

#[test]
fn no_link_leads_out_of_the_folder_and_nothing_is_overwritten() {
    let mut rig = Rig::new();
    let outer = tempfile::tempdir().unwrap();
    let secret = outer.path().join("secret");
    fs::write(&secret, "").unwrap();
    // Links with the names of the next seconds. An empty data file without metadata would be used.
    let planted: Vec<_> = (0..20)
        .flat_map(|seconds| {
            let at = std::time::SystemTime::now() + Duration::from_secs(seconds);
            let text = samplewire_record::sigmf::rfc3339(at);
            let stem = format!("{}Z-1", text[..19].replace(['-', ':'], ""));
            [".sigmf-data", ".sigmf-meta.spare", ".sigmf-journal.new"].map(|it| stem.clone() + it)
        })
        .collect();
    for name in &planted {
        symlink(&secret, rig.folder.path().join(name)).unwrap();
    }
    let done = rig.act_here(&json!({ "record": { "until": "5000" } })).json();
    let name = done["name"].as_str().unwrap();
    assert!(name.ends_with("-2"), "{name}");
    rig.feed(10_000);
    let done = rig.recording(&["proven", "not proven"]);
    rig.check(&done);
    assert_eq!(fs::read(&secret).unwrap(), b"", "nothing is written through a link");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    let links = rig.files().iter().filter(|name| planted.contains(name)).count();
    assert_eq!(links, planted.len(), "the links are untouched");
}

#[test]
fn stream_that_does_not_answer_is_reported_and_nothing_is_done_later() {
    let mut rig = Rig::new();
    std::thread::scope(|scope| {
        for action in [r#"{"end": {}}"#, r#"{"record": {}}"#] {
            let client = rig.client();
            scope.spawn(move || client.act(action).refused(503, "did not answer in time"));
        }
    });
    rig.feed(1_000);
    assert!(!rig.tap.is_ending());
    wait_for("the folder to be empty", PATIENCE, || rig.files().is_empty().then_some(()));
    rig.act_here(&json!({ "record": {} })).json();
}
