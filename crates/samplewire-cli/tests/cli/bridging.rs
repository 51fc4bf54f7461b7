//! `bridge` between streams and the sockets of GNU Radio.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use samplewire::format::Format;
use samplewire::source::{StreamInfo, counter_mismatch};
use samplewire::{DeviceOptions, Flags};

use samplewire_testing::PATIENCE;

use crate::bridge::Bridge;
use crate::harness::{Device, Running, folder, run, text, until_long};
use crate::zmtp::{Peer, hello};

pub(crate) const ANY: &str = "tcp://127.0.0.1:0";

/// A SUB that has subscribed to everything.
pub(crate) fn subscriber(bridge: &Bridge) -> Peer {
    let mut peer = Peer::connect(&bridge.socket("PUB"), "SUB");
    peer.send(&[b"\x01"]);
    peer
}

/// Takes messages until there are so many bytes.
pub(crate) fn gather(peer: &mut Peer, len_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < len_bytes {
        let message = peer.receive().expect("a message comes");
        assert_eq!(message.len(), 1);
        bytes.extend_from_slice(&message[0]);
    }
    bytes
}

#[test]
fn stream_is_published_as_it_is_to_all_who_subscribe() {
    // A low rate: even on a busy machine no source overflows.
    let device = Device::start(&["--source", "counter", "--rate", "500k"]);
    let bridge = Bridge::start(&[device.address.as_str(), "--zmq-pub", ANY]);
    let mut peers = [subscriber(&bridge), subscriber(&bridge)];
    for peer in &mut peers {
        let bytes = gather(peer, 400_000);
        let first = u32::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(counter_mismatch(first.into(), &bytes), None);
    }
    let ran = bridge.interrupt().expect(130);
    assert!(ran.text().contains("missing    0 samples in 0 gaps"), "{}", ran.text());
    assert!(ran.text().contains("is connected"), "{}", ran.text());
}

#[test]
fn samples_are_converted_and_channels_have_sockets_of_their_own() {
    let device =
        Device::start(&["--source", "counter", "--channels", "2", "--rate", "max:1M", "--once"]);
    let sockets = ["--zmq-rep", ANY, "--zmq-rep", ANY, "--type", "fc32"];
    let bridge = Bridge::start(&[&[device.address.as_str()][..], &sockets].concat());
    let mut peers: Vec<_> =
        bridge.sockets("REP").iter().map(|at| Peer::connect(at, "REQ")).collect();
    let mut channels = [Vec::new(), Vec::new()];
    while channels.iter().any(|channel| channel.len() < 800_000) {
        for (peer, channel) in peers.iter_mut().zip(&mut channels) {
            peer.send(&[b"", b"\0"]);
            channel.extend(peer.receive().expect("a reply comes").remove(1));
        }
    }
    // A sample of sc16 is a count; channel 1 is this far ahead.
    let ahead: u32 = 2_654_435_769;
    let values = |channel: &[u8]| -> Vec<u32> {
        let value =
            |bytes: &[u8]| (f32::from_le_bytes(bytes.try_into().unwrap()) * 32_768.0) as i16 as u16;
        let pairs = channel.as_chunks::<8>().0.iter().take(100_000);
        pairs.map(|it| u32::from(value(&it[..4])) | u32::from(value(&it[4..])) << 16).collect()
    };
    for (channel, offset) in channels.iter().zip([0, ahead]) {
        let mut counted = values(channel).into_iter().zip(0..);
        let wrong = counted.find(|(value, index)| *value != offset.wrapping_add(*index));
        assert_eq!(wrong, None);
    }
    bridge.interrupt().expect(130);
}

#[test]
fn push_waits_and_loses_nothing_until_the_stream_ends() {
    let file = folder("bridge-push").join("counter.sc16");
    fs::write(&file, (0..500_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()).unwrap();
    let source = ["--source", text(&file), "--format", "sc16", "--rate", "max:1M", "--once"];
    let device = Device::start(&source);
    let bridge = Bridge::start(&[device.address.as_str(), "--zmq-push", ANY]);
    let mut peer = Peer::connect(&bridge.socket("PUSH"), "PULL");
    let bytes = gather(&mut peer, 2_000_000);
    assert_eq!((bytes.len(), counter_mismatch(0, &bytes)), (2_000_000, None));
    let ran = bridge.finish().expect(0);
    assert!(ran.text().contains("finished"), "{}", ran.text());
    assert!(ran.text().contains("500,000 samples and 0 zeros"), "{}", ran.text());
}

#[test]
fn zeros_stand_for_what_is_missing_unless_it_is_skipped() {
    let source = ["--source", "counter", "--rate", "4M", "--payload", "1408"];
    let faults = ["--fault", "data:loss=0.05,seed=9"];
    let delivery = ["--delivery", "best-effort", "--zmq-push", ANY];
    for fill in ["zeros", "skip"] {
        let device = Device::start(&[&source[..], &faults].concat());
        let arguments = [&[device.address.as_str(), "--gaps", fill][..], &delivery].concat();
        let bridge = Bridge::start(&arguments);
        let bytes = gather(&mut Peer::connect(&bridge.socket("PUSH"), "PULL"), 4_000_000);
        let ran = bridge.interrupt().expect(130);
        assert!(ran.text().contains("gap  index "), "{}", ran.text());
        let values = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let values: Vec<_> = values.collect();
        let offset = values.iter().zip(0..).find(|(value, _)| **value != 0).unwrap();
        let offset = offset.0.wrapping_sub(offset.1);
        let in_place = |(value, at): (&u32, u32)| *value == at.wrapping_add(offset) || *value == 0;
        let zeros = values.iter().skip(1).filter(|value| **value == 0).count();
        if fill == "zeros" {
            assert!(values.iter().zip(0..).all(in_place));
            assert!(zeros > 1_000, "{zeros}");
        } else {
            assert!(zeros == 0 && values.is_sorted(), "{zeros}");
        }
    }
}

/// A minute of 1 kS/s are 60,000 samples.
#[test]
fn gap_of_more_than_a_minute_is_not_filled() {
    let info = StreamInfo::new(Format::Sc16, 1, 1e3).unwrap();
    for (lost, bytes, words) in [
        (60_000, 4 * (100 + 60_000 + 100), "200 samples and 60,000 zeros"),
        (60_001, 4 * (100 + 100), "60,001 missing samples are more than a minute"),
    ] {
        let mut device = DeviceOptions::new().sends(info.clone()).listen("127.0.0.1:0").unwrap();
        let address = device.address.to_string();
        let sending = std::thread::spawn(move || {
            let mut stream = device.accept().unwrap();
            for (index, flags) in [(0, Flags::NONE), (100 + lost, Flags::OVERFLOW)] {
                let mut filling = stream.quantum(PATIENCE).unwrap().expect("there is credit");
                filling.bytes_mut()[..400].fill(1);
                stream.submit(filling, 400, index, flags | Flags::END_OF_BURST).unwrap();
            }
            stream.finish(0).unwrap();
        });
        let bridge = Bridge::start(&[&address, "--zmq-push", ANY]);
        let carried = gather(&mut Peer::connect(&bridge.socket("PUSH"), "PULL"), bytes);
        assert_eq!(carried.len(), bytes);
        let ran = bridge.finish().expect(3);
        let said = [ran.text(), &ran.stderr].concat();
        assert!(said.contains(words), "{said}");
        sending.join().unwrap();
    }
}

#[test]
fn what_is_published_is_played_by_a_device() {
    let file = folder("bridge-sub").join("played.sc16");
    let played = ["--play", text(&file), "--format", "sc16", "--rate", "max:1M", "--once"];
    let device = Device::start(&played);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    let bridge = Bridge::start(&[device.address.as_str(), "--zmq-sub", &place, "--type", "sc16"]);
    let mut peer = Peer::accept(&listener, "PUB");
    assert_eq!(peer.receive(), Some(vec![vec![1]]), "it subscribes to everything");
    let bytes: Vec<u8> = (0..900_000u32).flat_map(u32::to_le_bytes).collect();
    // The last part of a message has the samples: GNU Radio sends a key before it.
    for (at, message) in bytes.chunks(36_000).enumerate() {
        let parts = [&b"key"[..], message];
        peer.send(&parts[at % 2..]);
    }
    until_long(&file, 2 << 20);
    let ran = bridge.interrupt().expect(130);
    assert!(ran.text().contains("to 127.0.0.1"), "{}", ran.text());
    device.finish().expect(0);
    let played = fs::read(&file).unwrap();
    assert!(played.len() >= 2 << 20 && bytes.starts_with(&played), "{}", played.len());
}

/// If a peer dies within a message, zeros replace the rest, so that later samples keep their index.
#[test]
fn peer_that_dies_in_a_message_moves_no_sample() {
    let file = folder("bridge-torn").join("played.sc16");
    let played = ["--play", text(&file), "--format", "sc16", "--rate", "max:1M", "--once"];
    let device = Device::start(&played);
    let arguments = [device.address.as_str(), "--zmq-pull", "bind:tcp://127.0.0.1:0"];
    let bridge = Bridge::start(&arguments);
    let place = bridge.socket("PULL");
    let bytes: Vec<u8> = (1..900_001u32).flat_map(u32::to_le_bytes).collect();
    let (torn, rest) = bytes.split_at(8_000);
    let mut first = TcpStream::connect(&place).unwrap();
    first.write_all(&hello("PUSH")).unwrap();
    first.write_all(&[&[2, 0, 0, 0, 0, 0, 0, 0x1F, 0x40], &torn[..3_002]].concat()).unwrap();
    // Unread bytes would be discarded on the other side too.
    first.read_exact(&mut [0; 92]).unwrap();
    drop(first);
    let mut second = Peer::connect(&place, "PUSH");
    for message in rest.chunks(36_000) {
        second.send(&[message]);
    }
    until_long(&file, 2 << 20);
    let ran = bridge.interrupt().expect(130);
    assert!(ran.stderr.contains("is gone, and 4998 bytes of samples"), "{}", ran.stderr);
    device.finish().expect(0);
    let played = fs::read(&file).unwrap();
    let expected = [&torn[..3_002], &[0; 4_998], rest].concat();
    assert!(played.len() >= 2 << 20 && expected.starts_with(&played), "{}", played.len());
}

/// A stream begins with samples that are published after its opening, not with earlier ones.
#[test]
fn what_is_published_is_a_device_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    let arguments = ["--listen", "127.0.0.1:0", "--zmq-sub", &place, "--type", "sc16"];
    let bridge = Bridge::start(&arguments);
    let publisher = std::thread::spawn(move || {
        let mut sessions = 0;
        while sessions < 2 {
            let mut peer = Peer::accept(&listener, "PUB");
            assert_eq!(peer.receive(), Some(vec![vec![1]]));
            let bytes: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
            peer.send(&[&bytes]);
            assert_eq!(peer.receive(), None, "it leaves with the stream");
            sessions += 1;
        }
    });
    for name in ["first.raw", "second.raw"] {
        let file = folder(&format!("bridge-device-{name}")).join(name);
        run(&["record", bridge.address(), text(&file), "--nsamps", "400k"]).expect(0);
        let bytes = fs::read(&file).unwrap();
        assert_eq!((bytes.len(), counter_mismatch(0, &bytes)), (1_600_000, None));
    }
    publisher.join().expect("it does not panic");
    bridge.interrupt().expect(0);
}

#[test]
fn message_that_no_sample_fits_and_a_stranger_are_sent_away_by_name() {
    let device = Device::start(&["--play", "null", "--rate", "max:1M"]);
    let arguments = [device.address.as_str(), "--zmq-pull", "bind:tcp://127.0.0.1:0"];
    let bridge = Bridge::start(&[&arguments[..], &["--type", "fc32"]].concat());
    let place = bridge.socket("PULL");
    let mut peer = Peer::connect(&place, "PUSH");
    peer.send(&[&[0; 19]]);
    assert_eq!(peer.receive(), None);
    for said in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), hello("PUB")] {
        let mut stranger = TcpStream::connect(&place).unwrap();
        stranger.write_all(&said).unwrap();
        // The connection ends, whatever the answer is.
        let _ended = stranger.read_to_end(&mut Vec::new());
    }
    let ran = bridge.interrupt().expect(130);
    for words in ["sent 19 bytes", "8 bytes", "pass_tags", "speaks no ZeroMQ", "is a PUB"] {
        assert!(ran.stderr.contains(words), "no `{words}` in {}", ran.stderr);
    }
}

#[test]
fn json_has_sockets_seconds_and_sessions() {
    let device = Device::start(&["--source", "counter", "--rate", "500k"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("connect:tcp://{}", listener.local_addr().unwrap());
    let running = Running::start(&["bridge", &device.address, "--zmq-pub", &place, "--json"]);
    let mut peer = Peer::accept(&listener, "SUB");
    peer.send(&[b"\x01"]);
    gather(&mut peer, 400_000);
    running.signal(libc::SIGINT);
    let ran = running.finish().expect(130);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["start"]["sockets"][0]["kind"], "PUB");
    assert_eq!(document["start"]["receive"]["rate_hz"], 5e5);
    let end = &document["end"];
    assert_eq!((&end["result"], &end["exit_status"]), (&"interrupted".into(), &130.into()));
    let carried = end["to_zmq"]["samples"].as_u64().unwrap();
    let intervals = document["intervals"].as_array().unwrap();
    let sum = intervals.iter().map(|it| it["to_zmq"]["samples"].as_u64().unwrap()).sum::<u64>();
    assert!(carried > 0 && sum == carried, "{document}");
    assert_eq!(end["sessions"][0]["receive"]["samples_missing"], 0);
}

#[test]
fn what_cannot_be_bridged_is_reported() {
    let device = Device::start(&["--source", "counter", "--rate", "1M"]);
    let refused = |arguments: &[&str], status: i32, words: &[&str]| {
        run(&[&["bridge"], arguments].concat()).expect_error(status, words);
    };
    let address = device.address.as_str();
    refused(&[address], 1, &["--zmq-pub", "required"]);
    refused(&["--zmq-pub", ANY], 1, &["--listen", "required"]);
    refused(
        &["127.0.0.1:9", "--zmq-sub", ANY, "--type", "sc16", "--carriage", "rdma"],
        1,
        &["--carriage rdma", "devices do not play over RDMA"],
    );
    refused(&[address, "--zmq-pub", "host:1"], 1, &["`host:1`", "tcp://HOST:PORT"]);
    refused(&[address, "--zmq-pub", ANY, "--zmq-rep", ANY], 1, &["cannot be used with"]);
    refused(&[address, "--zmq-pub", ANY, "--type", "rf32"], 1, &["sc16 cannot become rf32"]);
    refused(&[address, "--zmq-rep", ANY, "--zmq-rep", ANY], 1, &["2 sockets", "1 channel"]);
    refused(&[address, "--zmq-pub", ANY, "--hwm", "1k"], 1, &["--hwm 1000", "64000"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", taken.local_addr().unwrap());
    refused(&[address, "--zmq-pub", &place], 1, &["--zmq-pub", &place, "in use", "connect:"]);
    let nowhere = "tcp://no-such-host.invalid:1";
    refused(&[address, "--zmq-sub", nowhere], 2, &["receives"]);
    refused(&["127.0.0.1:9", "--zmq-pub", ANY, "--timeout", "0.2s"], 2, &["127.0.0.1:9"]);
}
