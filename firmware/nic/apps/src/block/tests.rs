//! A file to the processor and back, over the model of the NIC; the far end is the same state machines.

extern crate std;

use std::vec;
use std::vec::Vec;

use samplewire_nic_driver::model::Model;
use samplewire_nic_driver::{Buffer, Choice, Config, Nic, Server};
use samplewire_proto::Nanos;
use samplewire_proto::block::wire::{Body, Frame, Header, Summary};
use samplewire_proto::block::{
    FRAME_BYTES_MAX, ReceiveEvent, Receiver, ReceiverConfig, SendEnd, Sender, SenderConfig,
    TransferId, Types,
};
use samplewire_proto::crc::{crc32c, crc32c_extend};

use super::{BUFFERS_TO_RECEIVE, BlockEcho, Crc32c, PACKET_BYTES};

const MAC: [u8; 6] = [2, 0x53, 0x57, 0x49, 0x52, 0];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 9];
const WORDS: usize = 2;
const SLOTS: usize = 32 * WORDS;
const FILE_BYTES_MAX: usize = SLOTS * PACKET_BYTES as usize;

type Echo<'s, 'm> = BlockEcho<'s, &'m Model, Software, WORDS>;

/// In place of a processor's registers.
struct Software;

impl Crc32c for Software {
    fn extend(&mut self, crc: u32, bytes: &[u8]) -> u32 {
        crc32c_extend(crc, bytes)
    }

    fn extend_words(&mut self, crc: u32, words: &[u32]) -> u32 {
        words.iter().fold(crc, |crc, word| crc32c_extend(crc, &word.to_le_bytes()))
    }
}

/// Sends `file` to the processor, `lost_percent` of the frames either way are lost, and returns what comes back.
fn there_and_back(
    echo: &mut Echo<'_, '_>,
    model: &Model,
    file: &[u8],
    id: Option<u32>,
    start_ms: u64,
    lost_percent: u32,
) -> Vec<u8> {
    let config = SenderConfig::new(PEER, MAC, id.map(TransferId));
    let mut sender =
        Sender::new(config, file.len() as u64, crc32c(file), [0; 2]).expect("in range");
    let types = if id.is_some() { Types::WithId } else { Types::Plain };
    let config = ReceiverConfig { types, ..ReceiverConfig::new(PEER, FILE_BYTES_MAX as u64) };
    let mut receiver = Receiver::new(config, [0; 2]).expect("in range");
    let mut back = vec![0; FILE_BYTES_MAX + FRAME_BYTES_MAX];
    let (mut sent, mut len, mut state) = (None, None, id.unwrap_or(1));
    let mut is_lost = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % 100 < lost_percent
    };
    let mut bytes = [0; FRAME_BYTES_MAX];
    for ms in 0..9000 {
        let now = Nanos::from_millis(start_ms + ms);
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        for _ in 0..8 {
            let Some(transmit) = sender.poll_transmit(now) else { break };
            let at = transmit.payload().map_or(0..0, |at| at.start as usize..at.end as usize);
            let frame = transmit.emit(&file[at], &mut bytes);
            if !is_lost() {
                assert!(model.arrive(0, &bytes[..frame]));
            }
        }
        while let Some(frame) = receiver.poll_transmit(&mut bytes) {
            if !is_lost() {
                assert!(model.arrive(0, &bytes[..frame]));
            }
        }
        while echo.poll(now) {}
        while let Some(frame) = model.leave(0) {
            if is_lost() {
                continue;
            }
            sender.handle(now, &frame);
            if let Some(place) = receiver.handle(now, &frame) {
                back[place.offset as usize..][..place.bytes.len()].copy_from_slice(place.bytes);
            }
        }
        if let Some(event) = sender.poll_event() {
            sent = Some(event);
        }
        match receiver.poll_event() {
            Some(ReceiveEvent::Complete { bytes }) => {
                receiver.handle_crc(now, crc32c(&back[..bytes as usize]));
            }
            Some(ReceiveEvent::Done { bytes }) => len = Some(bytes as usize),
            Some(ReceiveEvent::Failed(why)) => panic!("{why}"),
            None => {}
        }
        // The echo has to hear the last OK too.
        if sent == Some(SendEnd::Done) && len.is_some() && !echo.is_sending() {
            break;
        }
    }
    assert_eq!(sent, Some(SendEnd::Done));
    back.truncate(len.expect("it came back"));
    back
}

fn with_echo(f: impl FnOnce(&mut Echo<'_, '_>, &Model)) {
    with_echo_of(SLOTS, f);
}

/// A NIC with so many buffers more than it needs to receive.
fn with_echo_of(packets: usize, f: impl FnOnce(&mut Echo<'_, '_>, &Model)) {
    let model = Model::with_buffers(128);
    let buffers = packets as u32 + BUFFERS_TO_RECEIVE;
    let config = Config { mac: MAC, servers: 1, choice: Choice::Turns, buffers, filter: 3 };
    let mut slots: Vec<Option<Buffer<&Model>>> = Vec::new();
    let keep = |buffer| slots.push(Some(buffer));
    Nic::new(&model).start_keeping(&config, BUFFERS_TO_RECEIVE, keep).expect("after its reset");
    assert_eq!(slots.len(), packets);
    f(&mut BlockEcho::new(Server::new(&model, 0), MAC, &mut slots, Software), &model);
    let kept: Vec<u32> = slots.iter().flatten().map(Buffer::address).collect();
    assert_eq!(kept.len(), packets, "each slot has a buffer");
    assert!(model.has_all_but(&kept));
    // The model has no room for all of them.
    std::mem::forget(slots);
}

#[test]
fn files_of_each_kind_of_length_come_back_one_after_the_other() {
    with_echo(|echo, model| {
        for (n, len) in [0, 1, 36, 37, 1477, 1478, 10_000, FILE_BYTES_MAX].into_iter().enumerate() {
            let file: Vec<u8> = (0..len).map(|at| (at * 31 + n) as u8).collect();
            let n = n as u32;
            for (turn, id) in [Some(77 + n), None].into_iter().enumerate() {
                // Without ID a file begins when the `OK` of the one before is over.
                let start_ms = u64::from(n) * 40_000 + turn as u64 * 20_000;
                let back = there_and_back(echo, model, &file, id, start_ms, 0);
                assert!(back == file, "{len} bytes, {id:?}");
            }
        }
    });
}

#[test]
fn padding_behind_the_last_packet_is_not_stored() {
    with_echo_of(2, |echo, model| {
        let file = [3; 1480];
        assert!(there_and_back(echo, model, &file, Some(5), 0, 0) == file);
    });
}

#[test]
fn lost_frames_are_repeated_in_both_directions() {
    for lost_percent in [1, 10, 30, 50] {
        with_echo(|echo, model| {
            let file: Vec<u8> = (0..50_000).map(|at| (at / 3) as u8).collect();
            assert!(there_and_back(echo, model, &file, Some(5), 0, lost_percent) == file);
            assert!(there_and_back(echo, model, &file, None, 30_000, lost_percent) == file);
        });
    }
}

/// Gives the processor the DATA of a file, without its summary.
fn send_data(echo: &mut Echo<'_, '_>, model: &Model, file: &[u8], id: u32) {
    let config = SenderConfig::new(PEER, MAC, Some(TransferId(id)));
    let mut sender = Sender::new(config, file.len() as u64, 0, [0; 2]).expect("in range");
    let mut frame = [0; FRAME_BYTES_MAX];
    while let Some(at) = sender.poll_transmit(Nanos(0)).filter(|next| next.seq().is_some()) {
        let payload = at.payload().map_or(0..0, |at| at.start as usize..at.end as usize);
        let len = at.emit(&file[payload], &mut frame);
        assert!(model.arrive(0, &frame[..len]));
        while echo.poll(Nanos(0)) {}
    }
}

#[test]
fn next_file_may_follow_the_last_answer_at_once() {
    with_echo(|echo, model| {
        let file = [5; 100];
        let mut out = [0; FRAME_BYTES_MAX];
        let mut give = |transfer, body| {
            let header = Header { destination: MAC, source: PEER, transfer };
            let len = Frame { header, body }.emit(&mut out);
            assert!(model.arrive(0, &out[..len]));
        };
        let data = Body::Data { seq: 0, payload: &file };
        let summary = Summary { packets: 1, bytes: 100, crc: Some(crc32c(&file)) };
        let first = Some(TransferId(5));
        give(first, data);
        give(first, Body::Summary(summary));
        for _ in 0..10 {
            echo.poll(Nanos(0));
        }
        let mut back = None;
        while let Some(frame) = model.leave(0) {
            let frame = Frame::parse(&frame).expect("a frame of the protocol");
            back = matches!(frame.body, Body::Summary(_)).then_some(frame.header.transfer);
        }
        // Both wait when the processor polls next.
        give(back.expect("the summary goes last"), Body::Complete);
        let next = Some(TransferId(6));
        give(next, data);
        give(next, Body::Summary(summary));
        for _ in 0..10 {
            echo.poll(Nanos(0));
        }
        assert!(echo.is_sending(), "the next file is there and on its way back");
        while let Some(frame) = model.leave(0) {
            let frame = Frame::parse(&frame).expect("a frame of the protocol");
            assert!(!matches!(frame.body, Body::Missing(_)), "nothing of it was refused");
            back = matches!(frame.body, Body::Summary(_)).then_some(frame.header.transfer);
        }
        give(back.expect("the summary goes last"), Body::Complete);
        echo.poll(Nanos(0));
        assert!(!echo.is_sending());
    });
}

#[test]
fn crc_is_computed_while_packets_come() {
    with_echo(|echo, model| {
        let file: Vec<u8> = (0..5 * PACKET_BYTES + 100).map(|at| (at / 3) as u8).collect();
        send_data(echo, model, &file, 5);
        for _ in 0..10 {
            echo.poll(Nanos(0));
        }
        // All but the short one, of which only the summary states that it is the last.
        assert_eq!(echo.check.as_ref().expect("it has begun").next(), 5);
        assert!(there_and_back(echo, model, &file, Some(5), 0, 0) == file);
    });
}

#[test]
fn crc_leaves_out_packets_that_contradict_the_summary() {
    with_echo(|echo, model| {
        for (n, len) in [1000, 1477, 2000, 4431].into_iter().enumerate() {
            let file: Vec<u8> = (0..8 * PACKET_BYTES).map(|at| (at / 3) as u8).collect();
            let (id, start_ms) = (5 + n as u32, 20_000 * n as u64);
            send_data(echo, model, &file, id);
            for _ in 0..10 {
                echo.poll(Nanos::from_millis(start_ms));
            }
            let back = there_and_back(echo, model, &file[..len], Some(id), start_ms, 0);
            assert!(back == file[..len], "{len} bytes");
        }
    });
}

#[test]
fn file_that_is_too_long_is_not_taken() {
    with_echo(|echo, model| {
        let config = SenderConfig::new(PEER, MAC, Some(TransferId(9)));
        let bytes = FILE_BYTES_MAX as u64 + 1;
        let mut sender = Sender::new(config, bytes, 0, [0; 3]).expect("in range");
        let mut frame = [0; FRAME_BYTES_MAX];
        while let Some(transmit) = sender.poll_transmit(Nanos(0)) {
            let len = transmit.payload().map_or(0, |at| at.end - at.start) as usize;
            let len = transmit.emit(&vec![1; len], &mut frame);
            assert!(model.arrive(0, &frame[..len]));
            while echo.poll(Nanos(0)) {}
        }
        assert!(model.leave(0).is_none());
        assert!(!echo.is_sending());
    });
}

#[test]
fn changed_frames_neither_panic_nor_lose_a_buffer() {
    with_echo(|echo, model| {
        let mut state = 0x5357_u32;
        let mut drawn = |end: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % end
        };
        let file = [7; 3000];
        let config = SenderConfig::new(PEER, MAC, Some(TransferId(9)));
        let mut frames = Vec::new();
        let mut sender = Sender::new(config, 3000, crc32c(&file), [0; 1]).expect("in range");
        while let Some(transmit) = sender.poll_transmit(Nanos(0)) {
            let at = transmit.payload().map_or(0..0, |at| at.start as usize..at.end as usize);
            let mut frame = vec![0; FRAME_BYTES_MAX];
            let len = transmit.emit(&file[at], &mut frame);
            frame.truncate(len);
            frames.push(frame);
        }
        for n in 0..2_000 {
            let mut frame = frames[drawn(frames.len())].clone();
            for _ in 0..drawn(3) {
                let at = 14 + drawn(40);
                frame[at] = drawn(256) as u8;
            }
            if drawn(8) == 0 {
                frame.truncate(14 + drawn(frame.len() - 14));
            }
            assert!(model.arrive(0, &frame));
            echo.poll(Nanos::from_millis(n));
            while model.leave(0).is_some() {}
        }
    });
}
