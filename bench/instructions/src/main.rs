//! What `instructions.py` counts the instructions of: one scene, so many times.
//!
//! ```text
//! samplewire-instructions SCENE COUNT
//! ```
//!
//! Prints how many times it was done. Callgrind gives what the functions [`first`], [`second`] and
//! [`third`] cost, with all that they call; what is around them is not of interest.

mod chain;
mod link;
mod machine;
mod stream;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use samplewire_circuit::Sequence;
use samplewire_proto::crc::crc32c;

use chain::InTurn;
use stream::Closed;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [scene, count] = &words[..] else {
        eprintln!("usage: samplewire-instructions SCENE COUNT");
        return ExitCode::from(2);
    };
    match count.parse().map_err(Into::into).and_then(|count| run(scene, count)) {
        Ok(done) => println!("{done}"),
        Err(error) => {
            eprintln!("{scene} {count}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(scene: &str, count: u64) -> Result<u64, Box<dyn Error>> {
    match scene {
        "data-1408" => data(1_408, count),
        "data-8896" => data(8_896, count),
        "lone" => there_and_back([Closed::in_memory(64)?, Closed::in_memory(64)?], count),
        "lone-udp" => there_and_back([Closed::over_udp(64)?, Closed::over_udp(64)?], count),
        "feedback" => feedback(count),
        "opening" => openings(count),
        "chain-4" => visits(4, count),
        "chain-12" => visits(12, count),
        "groups-4" => hand_overs(4, count),
        "groups-12" => hand_overs(12, count),
        "crc-1408" => Ok(crcs(1_408, count)),
        "crc-8896" => Ok(crcs(8_896, count)),
        _ => Err("no such scene".into()),
    }
}

/// `count` packets, quantum by quantum. First: the sender. Second: the receiver.
fn data(payload_bytes: u16, count: u64) -> Result<u64, Box<dyn Error>> {
    let mut stream = Closed::in_memory(payload_bytes)?.open()?.start()?;
    let packet_samples = usize::from(payload_bytes) / 4;
    let mut samples = 0;
    while samples < count as usize * packet_samples {
        first(|| stream.send(None))?;
        let received = second(|| stream.receive());
        machine::advance((received / packet_samples) as u64 * PACKET_NS);
        samples += received;
    }
    stream.close();
    Ok((samples / packet_samples) as u64)
}

/// Packets that are alone on their way, there and back. First: one is sent. Second: it is received.
/// Third: what is left to do for it.
fn there_and_back(links: [Closed; 2], count: u64) -> Result<u64, Box<dyn Error>> {
    let [there, back] = links;
    let mut streams = [there.open()?.start()?, back.open()?.start()?];
    for _ in 0..count {
        for stream in &mut streams {
            first(|| stream.send(Some(LONE_BYTES)))?;
            let block = second(|| stream.next());
            third(|| {
                drop(block);
                assert_eq!(stream.receive(), 0, "nothing else was sent");
                stream.sender.turn();
            });
            machine::advance(LONE_NS);
        }
    }
    streams.into_iter().for_each(stream::Stream::close);
    Ok(count)
}

/// An idle stream. First: a MARK departs. Second: it is taken, and a REPORT departs. Third: that is
/// taken.
fn feedback(count: u64) -> Result<u64, Box<dyn Error>> {
    let mut stream = Closed::in_memory(1_408)?.open()?.start()?;
    stream.send(None)?;
    stream.receive();
    let reports = |stream: &stream::Stream| stream.sender.stats().stream.reports;
    let before = reports(&stream);
    for _ in 0..count {
        machine::advance(MARK_NS);
        first(|| stream.sender.turn());
        let samples = second(|| stream.receive());
        assert_eq!(samples, 0, "it is idle");
        third(|| stream.sender.turn());
    }
    let reports = reports(&stream) - before;
    stream.close();
    Ok(reports)
}

/// First: the opening, at both ends.
fn openings(count: u64) -> Result<u64, Box<dyn Error>> {
    for _ in 0..count {
        let closed = Closed::in_memory(1_408)?;
        first(|| closed.open())?.close();
    }
    Ok(count)
}

/// First: `count` quanta through a chain.
fn visits(blocks: usize, count: u64) -> Result<u64, Box<dyn Error>> {
    let graph = chain::graph(blocks, count)?;
    first(|| graph.run(Sequence::new()))?;
    Ok(count)
}

/// First: `count` quanta through a chain, from group to group.
fn hand_overs(blocks: usize, count: u64) -> Result<u64, Box<dyn Error>> {
    let graph = chain::graph(blocks, count)?;
    first(|| graph.run(InTurn))?;
    Ok(count)
}

/// First: the CRC of a payload.
fn crcs(len_bytes: usize, count: u64) -> u64 {
    let bytes = vec![0x5A; len_bytes];
    for _ in 0..count {
        black_box(first(|| crc32c(black_box(&bytes))));
    }
    count
}

/// Counted by its name. Their texts differ, since the compiler makes one function of two that do the
/// same.
#[inline(never)]
fn first<T>(work: impl FnOnce() -> T) -> T {
    black_box("first");
    work()
}

/// See [`first`].
#[inline(never)]
fn second<T>(work: impl FnOnce() -> T) -> T {
    black_box("second");
    work()
}

/// See [`first`].
#[inline(never)]
fn third<T>(work: impl FnOnce() -> T) -> T {
    black_box("third");
    work()
}

/// From packet to packet, as of 10 Gb/s.
const PACKET_NS: u64 = 1_200;

/// From one single packet to the next.
const LONE_NS: u64 = 100_000;

/// Of samples in them.
const LONE_BYTES: usize = 64;

/// From MARK to MARK on an idle stream.
const MARK_NS: u64 = 100_000_000;
