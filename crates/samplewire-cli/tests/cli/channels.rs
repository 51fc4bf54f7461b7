//! Several channels of one stream, and several streams of one device.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use samplewire::source::counter_sample;
use samplewire::{ReceiveOptions, ReceiveStream, probe_stream};
use serde_json::Value;

use crate::harness::{Device, Running, folder, run, text, until_long};

/// A bad wire each way.
const BAD_WIRE: [&str; 4] = [
    "--fault",
    "data:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=11",
    "--fault",
    "feedback:loss=0.01,corrupt=0.001,dup=0.001,reorder=0.01,seed=12",
];

fn metadata(file: &Path) -> Value {
    let meta = fs::read(file.with_extension("sigmf-meta")).unwrap();
    serde_json::from_slice(&meta).unwrap()
}

/// Checks a recording of these channels of a counter, index by index and channel by channel, and
/// that `verify` proves it. Returns the number of recorded samples.
fn check_counter(file: &Path, channels: &[u16]) -> u64 {
    run(&["verify", text(file)]).expect(0);
    let meta = metadata(file);
    let num_channels = meta["global"]["core:num_channels"].as_u64().unwrap_or(1);
    assert_eq!(num_channels, channels.len() as u64);
    let data = fs::read(file.with_extension("sigmf-data")).unwrap();
    let mut frames = data.chunks_exact(4 * channels.len());
    let captures = meta["captures"].as_array().unwrap();
    let start = |at: usize| captures.get(at)?["core:sample_start"].as_u64();
    let mut samples = 0;
    for (at, capture) in captures.iter().enumerate() {
        let first = capture["core:global_index"].as_u64().unwrap();
        let count = start(at + 1).map_or(usize::MAX, |next| (next - start(at).unwrap()) as usize);
        for (index, frame) in (first..).zip(frames.by_ref().take(count)) {
            for (&channel, sample) in channels.iter().zip(frame.chunks(4)) {
                let expected = counter_sample(index, channel);
                assert_eq!(sample, expected, "channel {channel} at index {index}");
            }
            samples += 1;
        }
    }
    assert!(frames.next().is_none());
    samples
}

#[test]
fn eight_channels_stay_aligned_through_loss() {
    let mut arguments = vec!["--source", "counter", "--channels", "8", "--rate", "max"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let file = folder("eight-channels").join("out");
    let ran = run(&["record", &device.address, text(&file), "--nsamps", "500k"]).expect(0);
    assert!(ran.text().contains("sc16, 8 channels"), "{}", ran.text());
    assert!(!ran.text().contains(" 0 repaired"), "{}", ran.text());
    assert_eq!(check_counter(&file, &[0, 1, 2, 3, 4, 5, 6, 7]), 500_000);
}

#[test]
fn eight_channels_stay_aligned_around_gaps() {
    let mut arguments = vec!["--source", "counter", "--channels", "8", "--rate", "max"];
    arguments.extend(["--payload", "1408"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let file = folder("eight-channels-gaps").join("out");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "500k"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let there = check_counter(&file, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!((450_000..500_000).contains(&there), "{there}");
    assert!(ran.text().contains("never asked"), "{}", ran.text());
}

/// A device that sends this many streams of two channels each, through a bad wire.
fn device(streams: &str, channels: &str) -> Device {
    let mut arguments = vec!["--source", "counter", "--rate", "1M", "--payload", "1408"];
    arguments.extend(["--streams", streams, "--channels", channels]);
    arguments.extend(BAD_WIRE);
    Device::start(&arguments)
}

/// The tag of a line about a DATA packet.
fn data_tag(line: &str) -> Option<String> {
    let (_, after) = line.split_once(" DATA tag ")?;
    after.split_whitespace().next().map(str::to_owned)
}

#[test]
fn two_streams_are_recorded_as_one_whole_through_a_bad_wire() {
    let device = device("2", "4");
    let file = folder("two-streams").join("out");
    let arguments = ["record", &device.address, text(&file), "--channels", "0,1"];
    let more = ["--nsamps", "500k", "--json", "--fault", "data:loss=0.01,seed=1"];
    let capture = file.with_extension("pcapng");
    let capturing = ["--capture", text(&capture)];
    let ran = run(&[&arguments[..], &more, &capturing].concat()).expect(0);
    assert_eq!(check_counter(&file, &[0, 1, 2, 3]), 500_000);
    let decoded = run(&["decode", text(&capture)]).expect(0);
    let tags: BTreeSet<_> = decoded.text().lines().filter_map(data_tag).collect();
    assert_eq!(tags.len(), 2, "the capture has the packets of both streams: {tags:?}");
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let (start, end) = (&document["start"], &document["end"]);
    assert_eq!(start["device"]["channels"], 4);
    assert_eq!(
        (&start["streams"][0]["stream"], &start["streams"][1]["channels"]),
        (&0.into(), &2.into())
    );
    assert_eq!((&end["result"], &end["samples_missing"]), (&"whole".into(), &0.into()));
    for counter in ["packets_received", "packets_repaired", "packets_corrupted"] {
        let of = |value: &Value| value[counter].as_u64().unwrap();
        let (first, second) = (of(&end["streams"][0]), of(&end["streams"][1]));
        assert!(first > 0 && second > 0, "{counter}: {end}");
        // A packet with a damaged tag also belongs to no stream.
        let of_none = of(end) - (first + second);
        assert!(counter == "packets_corrupted" || of_none == 0, "{counter}: {end}");
    }
    let ran = device.interrupt().expect(0);
    for words in ["stream 0, session 1: closed", "stream 1, session 1: closed", "  data  "] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
}

#[test]
fn eight_streams_stay_aligned_through_loss() {
    let mut arguments = vec!["--source", "counter", "--rate", "200k", "--payload", "1408"];
    arguments.extend(["--streams", "8"]);
    arguments.extend(BAD_WIRE);
    let device = Device::start(&arguments);
    let file = folder("eight-streams").join("out");
    let arguments = ["record", &device.address, text(&file), "--channels", "0,1,2,3,4,5,6,7"];
    let ran = run(&[&arguments[..], &["--nsamps", "200k"]].concat()).expect(0);
    assert_eq!(check_counter(&file, &[0, 1, 2, 3, 4, 5, 6, 7]), 200_000);
    assert!(!ran.text().contains("received, 0 repaired"), "{}", ran.text());
}

#[test]
fn gap_of_one_stream_stands_in_the_recording_of_both_with_its_number() {
    let device = device("3", "3");
    let file = folder("two-streams-gaps").join("out");
    let arguments = ["record", &device.address, text(&file), "--channels", "2,0"];
    let more = ["--nsamps", "500k", "--delivery", "best-effort"];
    let ran = run(&[&arguments[..], &more].concat()).expect(3);
    let there = check_counter(&file, &[2, 0]);
    assert!((450_000..500_000).contains(&there), "{there}");
    let meta = metadata(&file);
    let of = |stream: u64| {
        let annotations = meta["annotations"].as_array().unwrap().iter();
        annotations.filter(|it| it["samplewire:stream"].as_u64() == Some(stream)).count()
    };
    assert!(of(2) > 0 && of(0) > 0 && of(1) == 0, "{meta}");
    for words in ["never asked, stream 2", "\n  stream 0   ", "left out for others"] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
}

#[test]
fn one_stream_of_several_is_recorded_by_its_number() {
    let device = device("3", "3");
    let file = folder("stream-1").join("out");
    let arguments = ["record", &device.address, text(&file), "--channels", "1"];
    let ran = run(&[&arguments[..], &["--nsamps", "100k"]].concat()).expect(0);
    assert_eq!(check_counter(&file, &[1]), 100_000);
    assert!(ran.text().contains("stream     counter 1: sc16, 1 channel"), "{}", ran.text());
}

#[test]
fn recording_of_two_streams_is_gone_on_with_and_the_gap_between_is_exact() {
    let device = device("2", "2");
    let file = folder("two-streams-append").join("out");
    for _ in 0..2 {
        let arguments = ["record", &device.address, text(&file), "--channels", "0,1", "--append"];
        run(&[&arguments[..], &["--nsamps", "100k"]].concat());
    }
    // The counter shows which indexes these are, before and after the gap.
    let there = check_counter(&file, &[0, 1]);
    assert!((100_000..=200_000).contains(&there), "{there}");
    let annotations = metadata(&file)["annotations"].as_array().unwrap().clone();
    assert_eq!(annotations.len(), 1);
    assert_eq!(annotations[0]["samplewire:cause"], "recorder restarted");
}

#[test]
fn recording_of_one_stream_is_not_gone_on_with_by_another() {
    let device = device("2", "2");
    let file = folder("other-stream-append").join("out");
    let record = |channels: &str| {
        let arguments = ["record", &device.address, text(&file), "--append", "--nsamps", "20k"];
        run(&[&arguments[..], &["--channels", channels]].concat())
    };
    record("0").expect(0);
    assert_eq!(metadata(&file)["global"]["samplewire:streams"], serde_json::json!([0]));
    let before = fs::read(file.with_extension("sigmf-data")).unwrap();
    record("1").expect_error(1, &["streams 0, and 1 of what is to come", "tip: --channels"]);
    assert_eq!(fs::read(file.with_extension("sigmf-data")).unwrap(), before);
    record("0").expect(3);
    check_counter(&file, &[0]);
}

/// Opens a stream at an index this far ahead; returns when the device waits for it.
fn open_ahead(device: &Device, stream: u16, samples: u64) -> ReceiveStream {
    let address = device.address.parse().unwrap();
    let now = probe_stream(address, stream, Duration::from_secs(3)).unwrap().first_index;
    let options = ReceiveOptions::new().stream(stream).start_index(now + samples);
    let receiver = options.open(address).unwrap();
    device.until(&format!("stream {stream}, session 1: "));
    receiver
}

#[test]
fn session_that_is_called_off_is_not_the_one_of_once() {
    let device =
        Device::start(&["--source", "counter", "--rate", "1M", "--streams", "2", "--once"]);
    open_ahead(&device, 1, 20_000_000).close();
    let file = folder("called-off").join("out");
    let arguments = ["record", &device.address, text(&file), "--channels", "0,1"];
    run(&[&arguments[..], &["--nsamps", "100k"]].concat()).expect(0);
    assert_eq!(check_counter(&file, &[0, 1]), 100_000);
    device.finish();
}

#[test]
fn device_that_waits_for_a_start_ends_at_the_first_interrupt() {
    let device = Device::start(&["--source", "counter", "--rate", "1M", "--streams", "2"]);
    // Its thread answers until the device ends.
    let receiver = open_ahead(&device, 0, 30_000_000);
    let started = Instant::now();
    device.interrupt().expect(0);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    drop(receiver);
}

#[test]
fn streams_are_opened_again_together_when_the_device_restarts() {
    let arguments = ["--source", "counter", "--rate", "1M", "--streams", "2"];
    let mut device = Device::start(&arguments);
    let file = folder("two-streams-reconnect").join("out");
    let record = ["record", &device.address, text(&file), "--channels", "0,1", "--reconnect"];
    let recorder = Running::start(&[&record[..], &["--duration", "3s"]].concat());
    until_long(&file.with_extension("sigmf-data"), 4 << 20);
    device.kill();
    let listen = ["--listen", &device.address];
    let device = Device::start(&[&listen[..], &arguments[..]].concat());
    let ran = recorder.finish().expect(3);
    for words in [
        "lost: stream ",
        ": the device no longer knows the stream",
        "cause: device restarted, estimated",
        "openings   2",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
    assert!(check_counter(&file, &[0, 1]) > 1_000_000);
    device.interrupt().expect(0);
}

#[test]
fn stream_that_ends_is_named_and_ends_the_recording_of_all() {
    let samples: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
    let source = folder("streams-end").join("two.raw");
    fs::write(&source, &samples).unwrap();
    let arguments = ["--source", text(&source), "--format", "sc16", "--channels", "2"];
    let more = ["--streams", "2", "--rate", "max:1M", "--once"];
    let device = Device::start(&[&arguments[..], &more].concat());
    let file = source.with_file_name("out");
    let ran = run(&["record", &device.address, text(&file), "--channels", "0,1"]).expect(0);
    assert!(ran.text().contains("whole: 200,000 samples"), "{}", ran.text());
    assert!(ran.text().contains(": the stream ended"), "{}", ran.text());
    assert_eq!(fs::read(file.with_extension("sigmf-data")).unwrap(), samples);
    device.finish().expect(0);
}

#[test]
fn rate_of_streams_in_line_counts_each() {
    // As many as a device has.
    let device = Device::start(&["--source", "null", "--streams", "16", "--rate", "100k"]);
    let all: Vec<_> = (0..16).map(|stream| stream.to_string()).collect();
    let all = all.join(",");
    let arguments = ["rate", &device.address, "--channels", &all, "--duration", "2s", "--json"];
    let ran = run(&[&arguments[..], &["--fail-on", "gap=0"]].concat()).expect(0);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let received = &document["end"]["receive"];
    let samples = received["samples_delivered"].as_u64().unwrap();
    assert!((50_000..300_000).contains(&samples), "{samples} in 2 s at 100 kS/s");
    assert_eq!(received["bytes"].as_u64().unwrap(), samples * 64);
    assert_eq!(received["streams"].as_array().unwrap().len(), 16);
    assert_eq!(document["start"]["receive"]["channels"], 16);
}

#[test]
fn probe_lists_all_streams() {
    let device = device("3", "6");
    let ran = run(&["probe", &device.address]).expect(0);
    for words in ["stream     0 of 3: counter 0: sc16, 2 channels", "stream     2 of 3: counter 2"]
    {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
    let ran = run(&["probe", &device.address, "--json"]).expect(0);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&document["stream"], &document["others"][1]["stream"]), (&0.into(), &2.into()));
}

#[test]
fn streams_that_cannot_be_are_named() {
    let device = device("2", "2");
    let record =
        |channels: &'static str| ["record", &device.address, "null", "--channels", channels];
    run(&record("0,0")).expect_error(1, &["stream 0 twice"]);
    run(&record("0,x")).expect_error(1, &["`x` is not a stream number"]);
    let words = ["has no stream 5: it has 2, numbered from 0", "samplewire probe", "--channels"];
    run(&record("0,5")).expect_error(2, &words);
    run(&record("2")).expect_error(2, &["has no stream 2: it has 2"]);
    run(&["rate", &device.address, "--way", "transmit", "--channels", "0,1"])
        .expect_error(1, &["--channels", "--way transmit"]);
    let emulate = |more: &[&'static str]| {
        run(&[&["emulate", "--listen", "127.0.0.1:0", "--streams", "2"], more].concat())
    };
    emulate(&["--source", "-", "--format", "sc16", "--rate", "1M"])
        .expect_error(1, &["--streams 2", "standard input"]);
    emulate(&["--source", "null", "--channels", "3"])
        .expect_error(1, &["3 channels, which cannot be dealt"]);
    emulate(&["--play", "null"]).expect_error(1, &["--streams 2", "--source"]);
    run(&["emulate", "--streams", "1025"]).expect_error(1, &["`1025`", "1 to 1024"]);
    let words = ["--window 1000000 of 1000 streams takes some", "are free", "smaller"];
    run(&["emulate", "--streams", "1000", "--window", "1000000"]).expect_error(1, &words);
}

#[test]
fn device_at_two_addresses_is_recorded_at_each() {
    let listen = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0"];
    let source = ["--source", "counter", "--streams", "2", "--rate", "1M"];
    let device = Device::start(&[&listen[..], &source].concat());
    let addresses: Vec<_> = device.address.split(", ").collect();
    assert_eq!(addresses.len(), 2);
    let folder = folder("two-addresses");
    for (number, address) in addresses.iter().enumerate() {
        let file = folder.join(format!("out{number}"));
        run(&["record", address, text(&file), "--nsamps", "100k"]).expect(0);
        assert_eq!(check_counter(&file, &[0]), 100_000);
    }
    let many = [&["emulate"][..], &["--listen", "127.0.0.1:0"].repeat(9)].concat();
    run(&many).expect_error(1, &["--listen: at most 8 addresses"]);
    let rdma = [&["emulate", "--carriage", "rdma"][..], &listen].concat();
    run(&rdma).expect_error(1, &["2 addresses to listen on contradicts a carriage of RDMA"]);
}
