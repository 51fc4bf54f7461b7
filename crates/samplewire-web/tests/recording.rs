//! A recording on the page: its sums are those of `verify`, and its frames those of its samples.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use samplewire::Cause;
use samplewire::source::StreamInfo;
use samplewire_blocks::kernels::Oscillator;
use samplewire_blocks::{Complex, Complex32};
use samplewire_record::account::Hop;
use samplewire_record::sigmf::{HostDrops, RecordedCause, RecordedGap};
use samplewire_record::sink::{SigmfSink, SinkOptions, WriteSamples};
use samplewire_web::frame::Frame;
use samplewire_web::{Page, PageOptions, Recording};
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

/// Where a tone ends and the next begins: the tone of bin `k` has indexes from `k * PART` on.
const PART: u64 = 100_000;
const BINS: usize = 1_024;
/// The time of index 0 of [`write`]'s recording, of 1 MS/s.
const TAI_NS: u64 = 1_800_000_000_000_000_000;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It may be left from a run before.
    let _was_there = std::fs::remove_dir_all(&path).is_ok();
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn tone(first: u64, len: u64) -> Vec<u8> {
    let mut samples = vec![Complex32::ZERO; len as usize];
    let bin = (first / PART) as f64;
    Oscillator::new(bin / BINS as f64).unwrap().tone(first, 0.5, &mut samples);
    let whole = |part: f32| (part * 32_768.0).round() as i16;
    let samples: Vec<_> =
        samples.iter().map(|it| Complex::new(whole(it.re), whole(it.im))).collect();
    bytemuck::cast_slice(&samples).to_vec()
}

fn gap(first: u64, len: u64) -> RecordedGap {
    let cause = RecordedCause::Stream(Cause::Deadline);
    RecordedGap::new(first, len, 0, cause)
}

/// Parts 1 to 20; every fourth loses its middle.
fn write(path: &Path) {
    let info = StreamInfo::sc16("tones", 1e6).unwrap();
    let mut sink = SigmfSink::open(path, &info, &SinkOptions::new().overwrite(true)).unwrap();
    sink.session(7).unwrap();
    sink.time(info.tai_clock(0, TAI_NS)).unwrap();
    for part in 1..=20 {
        let first = part * PART;
        if part % 4 == 0 {
            sink.write(first, &tone(first, 30_000)).unwrap();
            sink.gap(&gap(first + 30_000, 40_000)).unwrap();
            sink.write(first + 70_000, &tone(first + 70_000, 30_000)).unwrap();
        } else {
            sink.write(first, &tone(first, PART)).unwrap();
        }
    }
    sink.finish().unwrap();
}

fn connect(page: &Page) -> WebSocket<TcpStream> {
    let address = page.address();
    let mut request = format!("ws://{address}/api/ws").into_client_request().unwrap();
    let protocols = format!("samplewire, token.{}", page.token().as_str());
    let headers = request.headers_mut();
    headers.insert("Sec-WebSocket-Protocol", HeaderValue::from_str(&protocols).unwrap());
    headers.insert("Origin", HeaderValue::from_str(&format!("http://{address}")).unwrap());
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    tungstenite::client(request, stream).unwrap().0
}

fn next(socket: &mut WebSocket<TcpStream>) -> Frame {
    loop {
        if let Message::Binary(bytes) = socket.read().unwrap() {
            let frame = Frame::decode(&bytes).unwrap();
            socket.send(Message::text(format!(r#"{{"seen": {}}}"#, frame.number))).unwrap();
            return frame;
        }
    }
}

fn check(frame: &Frame) {
    let (bin, _) = frame.mean.iter().enumerate().max_by_key(|&(_, byte)| byte).unwrap();
    let end = frame.index + frame.len_samples;
    // A frame may reach into the next tone; the one that it begins in is in it.
    if end <= (frame.index / PART + 1) * PART {
        assert_eq!(bin as u64, 512 + frame.index / PART, "index {}", frame.index);
    }
    for gap in &frame.gaps {
        assert_eq!((gap.first % PART, gap.len), (30_000, 40_000), "{gap:?}");
        assert!(gap.first + gap.len <= frame.index, "{gap:?} behind {}", frame.index);
    }
    let place = frame.index % PART;
    let is_lost = (frame.index / PART).is_multiple_of(4) && (30_000..70_000).contains(&place);
    assert!(!is_lost, "{}: no sample is there", frame.index);
}

#[test]
fn recording_is_shown_with_its_gaps_and_proof() {
    let path = folder("web-recording").join("tones");
    write(&path);
    let report = samplewire_record::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let _shown = Recording::show(&mut page, &path).unwrap();
    let ledger = page.ledger(0).unwrap();
    assert_eq!(ledger.account().gap_samples(), &report.gap_samples);
    assert_eq!(ledger.account().delivered(), report.samples);
    assert_eq!(ledger.account().range(), report.boots[0].indexes);
    assert_eq!(ledger.account().gaps(), 5);
    assert!(ledger.account().balance(report.samples).is_ok());

    let mut socket = connect(&page);
    socket.send(Message::text(r#"{"view": {"bins": 1024, "fps": 60}}"#)).unwrap();
    let mut gaps = 0;
    let mut last = 0;
    while last < 20 * PART + 70_000 {
        let frame = next(&mut socket);
        check(&frame);
        assert_eq!(frame.tai_ns, Some(TAI_NS + 1_000 * frame.index));
        assert!(last < frame.index, "{last} and then {}", frame.index);
        (last, gaps) = (frame.index, gaps + frame.gaps.len());
    }
    assert_eq!(gaps, 5, "each gap comes once");
    // Behind the end, a page seeks.
    socket.send(Message::text(format!(r#"{{"seek": {}}}"#, 9 * PART))).unwrap();
    let found = (0..20).map(|_| next(&mut socket)).find(|frame| frame.index < 12 * PART);
    let frame = found.expect("it goes on at the position");
    assert!(frame.index >= 10 * PART, "{}", frame.index);
    check(&frame);
}

#[test]
fn recording_lists_more_gaps_than_a_stream() {
    let count = 100_000;
    assert!(count > samplewire_web::Ledger::GAPS_MAX as u64);
    let path = folder("web-gaps").join("tones");
    let info = StreamInfo::sc16("tones", 1e6).unwrap();
    let mut sink = SigmfSink::open(&path, &info, &SinkOptions::new().overwrite(true)).unwrap();
    let samples = [0; 4 * 4];
    for first in (0..count).map(|number| 5 * number) {
        sink.write(first, &samples).unwrap();
        sink.gap(&gap(first + 4, 1)).unwrap();
    }
    sink.finish().unwrap();
    let report = samplewire_record::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let _shown = Recording::show(&mut page, &path).unwrap();
    let ledger = page.ledger(0).unwrap();
    assert_eq!(ledger.account().gap_samples(), &report.gap_samples);
    assert_eq!((ledger.account().delivered(), ledger.account().gaps()), (report.samples, count));
    assert_eq!(ledger.gaps().len() as u64, count);
    let oldest = ledger.gaps_in(0..1).next().expect("the first gap is listed");
    assert_eq!((oldest.gap.first, oldest.gap.count()), (4, 1));
    let csv = csv(&page);
    let rows: Vec<_> = csv.lines().filter(|line| line.ends_with(",deadline,wire,,1")).collect();
    assert_eq!(rows.len() as u64, count);
    let index = |number: u64| format!("{},1,deadline,wire,,1", 5 * number + 4);
    assert_eq!((rows[0], rows[rows.len() - 1]), (&*index(0), &*index(count - 1)));
    assert!(!csv.contains("# "), "no gap is left out");
}

/// The answer with the list of gaps, in chunks.
fn csv(page: &Page) -> String {
    get(page, "/api/gaps.csv")
}

/// The answer to a call.
fn get(page: &Page, call: &str) -> String {
    let (address, token) = (page.address(), page.token().as_str());
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!("GET {call} HTTP/1.1\r\nConnection: close");
    write!(stream, "{head}\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Indexes of two runs of the device; the second begins with a gap.
fn write_restart(path: &Path) -> SigmfSink {
    let info = StreamInfo::sc16("tones", 1e6).unwrap();
    let mut sink = SigmfSink::open(path, &info, &SinkOptions::new().overwrite(true)).unwrap();
    sink.session(7).unwrap();
    sink.write(500, &tone(500, 1_000)).unwrap();
    let host = HostDrops { nic: 5, kernel: 2 };
    sink.gap(&RecordedGap { host, ..gap(1_500, 10) }).unwrap();
    sink.gap(&RecordedGap { cause: RecordedCause::DeviceRestarted, ..gap(1_510, 90) }).unwrap();
    sink.session(8).unwrap();
    sink.gap(&gap(20, 30)).unwrap();
    sink.write(50, &tone(50, 2_000)).unwrap();
    sink
}

fn state_of(page: &Page) -> String {
    let mut socket = connect(page);
    loop {
        let Message::Text(text) = socket.read().unwrap() else { continue };
        if text.contains(r#""type":"account""#) {
            return text.to_string();
        }
    }
}

#[test]
fn restarted_device_adds_up_from_the_first_index_of_its_run() {
    let path = folder("web-restart").join("tones");
    write_restart(&path).finish().unwrap();
    let report = samplewire_record::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let _shown = Recording::show(&mut page, &path).unwrap();
    let ledger = page.ledger(0).unwrap();
    let balance = ledger.account().balance(3_000).unwrap();
    assert_eq!((balance.indexes, balance.missing, balance.before_first), (3_130, 130, 0));
    assert_eq!((ledger.account().range(), ledger.account().boots()), (20..2_050, 2));
    let hops = [Hop::Nic, Hop::Kernel].map(|hop| ledger.account().hops().of(hop));
    assert_eq!(hops, [5, 2], "as the gap names them");
    let list = csv(&page);
    let rows: Vec<_> = list.lines().filter(|line| line.contains(",,")).collect();
    let in_first = ["1500,10,deadline,nic,,1", "1510,90,device_restarted,device,,1"];
    assert_eq!(rows, [&in_first[..], &["20,30,deadline,wire,,2"]].concat());
    let listed = get(&page, "/api/gaps?count=2");
    let (_, listed) = listed.split_once("\r\n\r\n").unwrap();
    let listed: serde_json::Value = serde_json::from_str(listed).unwrap();
    let runs = [0, 1].map(|at| (listed["gaps"][at]["first"].clone(), &listed["gaps"][at]["run"]));
    assert_eq!(runs, [("20".into(), &2.into()), ("1510".into(), &1.into())]);
    assert!(state_of(&page).contains(r#""level":"missing""#));
}

#[test]
fn unfinished_recording_is_refused() {
    let path = folder("web-unfinished").join("tones");
    std::mem::forget(write_restart(&path));
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let error = Recording::show(&mut page, &path).unwrap_err().to_string();
    assert!(error.contains("tones.sigmf-meta is not finished"), "{error}");
}

#[test]
fn damaged_recording_is_not_called_whole() {
    let path = folder("web-damaged").join("tones");
    let info = StreamInfo::sc16("tones", 1e6).unwrap();
    let mut sink = SigmfSink::open(&path, &info, &SinkOptions::new().overwrite(true)).unwrap();
    sink.write(0, &tone(0, 5_000)).unwrap();
    sink.finish().unwrap();
    let data = path.with_extension("sigmf-data");
    let mut bytes = std::fs::read(&data).unwrap();
    bytes[7_777] ^= 1;
    std::fs::write(&data, bytes).unwrap();
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let _shown = Recording::show(&mut page, &path).unwrap();
    let state = state_of(&page);
    assert!(state.contains(r#""level":"unproven""#), "{state}");
    assert!(state.contains("Not proven: ") && state.contains("has the SHA-512"), "{state}");
}

#[test]
fn indexes_whose_sums_may_exceed_64_bits_are_refused() {
    let path = folder("web-hostile").join("tones");
    write_restart(&path).finish().unwrap();
    let meta = path.with_extension("sigmf-meta");
    let text = std::fs::read_to_string(&meta).unwrap();
    let mut metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (list, field, number) in [
        ("captures", "core:global_index", 1_u64 << 63),
        ("annotations", "samplewire:first_index", 1 << 63),
        ("annotations", "samplewire:not_repaired", 1 << 63),
    ] {
        let before = metadata[list][0][field].clone();
        metadata[list][0][field] = number.into();
        std::fs::write(&meta, metadata.to_string()).unwrap();
        let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let error = Recording::show(&mut page, &path).unwrap_err().to_string();
        assert!(error.contains("states the number"), "{field}: {error}");
        metadata[list][0][field] = before;
    }
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let path = folder("web-no-recording").join("raw");
    std::fs::write(&path, [0; 8]).unwrap();
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let error = Recording::show(&mut page, &path).unwrap_err().to_string();
    assert!(error.contains("raw is no SigMF recording"), "{error}");
}
