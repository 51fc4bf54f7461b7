//! `nic image`: pictures to a board and back.

use std::fs;
use std::time::Duration;

use samplewire_io::ether::{FRAME_BYTES_MAX, FrameReceive};
use samplewire_proto::block::{
    Bursts, MacAddress, ReceiveEvent, ReceiverConfig, Scheme, SendEnd, SenderConfig, TransferId,
    Types,
};
use samplewire_proto::crc::crc32c;
use serde::Serialize;

use super::block::{Memory, Receiving, Sending, take_all};
use super::counts::judge;
use super::exchange::Exchanger;
use super::link::{Link, Role};
use super::probe::Probes;
use super::scheme::nanos;
use super::{NicError, check_frame, mac_words, print_link, random};
use crate::arguments::{ImageArguments, NicCount, Picture};
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a measurement. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Image {
    link: String,
    peer: String,
    memory_bytes: usize,
    scheme: u8,
    burst: u32,
    pictures: Vec<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Image {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

/// One picture.
#[derive(Debug, Serialize)]
struct Figures {
    picture: String,
    bytes: u64,
    /// Of all rounds: the mean time, and the shortest one.
    send_bits_per_second: Rates,
    receive_bits_per_second: Rates,
    /// 1 / (send time + receive time), of mean times; null if both are none: one frame has no rate.
    pictures_per_second: Option<f64>,
    /// Bytes that came back as they left.
    verified_bytes: u64,
    lost: u64,
    wrong: u64,
    duplicate: u64,
    repeated: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Rates {
    mean: Option<f64>,
    max: Option<f64>,
}

/// One picture, once both ways.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    send_time: Duration,
    receive_time: Duration,
    verified_bytes: u64,
    lost: u64,
    wrong: u64,
    duplicate: u64,
    repeated: u64,
}

pub(super) fn run(arguments: &ImageArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Image| {
        // Read before the link is opened: a wrong name does not cost a run.
        let pictures = arguments.pictures.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let interrupt = Interrupt::install()?;
        let mut link = Link::open(&arguments.link, Role::Sender, FrameReceive::Calls)?;
        check_frame(&link, samplewire_proto::block::FRAME_BYTES_MAX)?;
        report.link = arguments.link.link.to_string();
        (report.peer, report.memory_bytes) = (mac_words(arguments.peer), link.memory_bytes());
        (report.scheme, report.burst) = (arguments.scheme, arguments.burst);
        print_link(console, &report.link, &link, arguments.peer);
        console.line(format_args!(
            "{:>12} {:>11} {:>11} {:>11} {:>11} {:>10} {:>6} {:>6} {:>8}",
            "picture", "send", "max", "receive", "max", "pictures/s", "lost", "wrong", "repeated"
        ));
        for (name, bytes) in pictures {
            let mut rounds = Vec::with_capacity(arguments.rounds.into());
            let mut way = Way::new(arguments, &link, &bytes)?;
            for _ in 0..arguments.rounds {
                rounds.push(way.transfer(&mut link, &interrupt)?);
                if let Some(signal) = interrupt.stop_signal(console) {
                    return Ok(Outcome::Interrupted { signal });
                }
            }
            let figures = Figures::new(name, bytes.len() as u64, &rounds);
            figures.print(console);
            report.pictures.push(figures);
        }
        link.print_faults(console);
        if report.pictures.iter().all(|picture| picture.verified_bytes + picture.wrong == 0) {
            return Err(NicError::NothingBack(arguments.peer).into());
        }
        let sum = |count: fn(&Figures) -> u64| report.pictures.iter().map(count).sum();
        let counts = [
            (NicCount::Lost, sum(|picture| picture.lost)),
            (NicCount::Wrong, sum(|picture| picture.wrong)),
            (NicCount::Duplicate, sum(|picture| picture.duplicate)),
            (NicCount::Repeated, sum(|picture| picture.repeated)),
        ];
        Ok(judge(console, &arguments.fail_on, &counts))
    })
}

/// The name and the bytes of a picture.
fn read(picture: &Picture) -> Result<(String, Vec<u8>), Failure> {
    match picture {
        Picture::Size(name, bytes) => {
            // Bytes that do not repeat: of 32 bits by a multiplicative generator.
            let bytes = (0..*bytes as u32).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 24) as u8);
            Ok((name.clone(), bytes.collect()))
        }
        Picture::File(path) => {
            let name = path.display().to_string();
            let bytes = fs::read(path).map_err(Failure::of_file(path))?;
            if bytes.is_empty() {
                return Err(NicError::File { path: name, words: "is empty" }.into());
            }
            Ok((name, bytes))
        }
    }
}

/// How a picture goes both ways.
enum Way {
    Frames { probes: Probes, exchanger: Exchanger, frames: u32, burst: u32 },
    Block(Box<Blocks>),
}

/// By block transfer.
struct Blocks {
    bytes: Vec<u8>,
    crc: u32,
    peer: MacAddress,
    is_plain: bool,
    bursts: Bursts,
    receiving: Receiving<Memory>,
    into: Vec<u8>,
}

impl Way {
    fn new(arguments: &ImageArguments, link: &Link, bytes: &[u8]) -> Result<Self, Failure> {
        let ImageArguments { peer, burst, delay, plain, .. } = *arguments;
        if arguments.scheme == 3 {
            let frames = Probes::frames_of(bytes.len());
            let probes = Probes::picture(link.mac(), peer, bytes.to_vec());
            return Ok(Self::Frames { probes, exchanger: Exchanger::new(frames), frames, burst });
        }
        let config = ReceiverConfig {
            peer: Some(peer),
            types: if plain { Types::Plain } else { Types::WithId },
            ..ReceiverConfig::new(link.mac(), bytes.len() as u64)
        };
        Ok(Self::Block(Box::new(Blocks {
            bytes: bytes.to_vec(),
            crc: crc32c(bytes),
            peer,
            is_plain: plain,
            bursts: Bursts { frames: burst, gap: nanos(delay) },
            receiving: Receiving::new(config, Memory(vec![0; bytes.len()]))?,
            into: vec![0; FRAME_BYTES_MAX + 1],
        })))
    }

    fn transfer(&mut self, link: &mut Link, interrupt: &Interrupt) -> Result<Round, Failure> {
        match self {
            Self::Frames { probes, exchanger, frames, burst } => {
                let scheme = Scheme::Returns(*burst);
                let exchange = exchanger.run(link, probes, scheme, *frames, interrupt)?;
                Ok(Round {
                    send_time: exchange.send_time,
                    receive_time: exchange.return_time,
                    verified_bytes: exchange.returned_bytes,
                    lost: exchange.lost(),
                    wrong: exchange.wrong,
                    duplicate: exchange.duplicate,
                    repeated: 0,
                })
            }
            Self::Block(blocks) => blocks.transfer(link, interrupt),
        }
    }
}

impl Blocks {
    /// Sends the picture and receives it. The peer may begin before this end has its `OK`.
    fn transfer(&mut self, link: &mut Link, interrupt: &Interrupt) -> Result<Round, Failure> {
        let transfer = (!self.is_plain).then(|| TransferId(random() as u32));
        let config = SenderConfig {
            bursts: Some(self.bursts),
            ..SenderConfig::new(link.mac(), self.peer, transfer)
        };
        let (bytes, crc) = (self.bytes.len() as u64, self.crc);
        let memory = Memory(std::mem::take(&mut self.bytes));
        let mut sending = Sending::new(config, bytes, crc, memory)?;
        self.receiving.listen();
        self.receiving.store.0.fill(0);
        let ended = self.exchange(&mut sending, link, interrupt);
        self.bytes = sending.into_source().0;
        let mut round = ended?;
        let came = &self.receiving.store.0;
        let same = came.iter().zip(&self.bytes).filter(|(one, other)| one == other).count() as u64;
        round.verified_bytes = if round.lost == 0 { same } else { 0 };
        round.wrong = if round.lost == 0 { bytes - same } else { 0 };
        Ok(round)
    }

    fn exchange(
        &mut self,
        sending: &mut Sending<Memory>,
        link: &mut Link,
        interrupt: &Interrupt,
    ) -> Result<Round, Failure> {
        let started = link.now();
        let (mut sent_at, mut received_at) = (None, None);
        while received_at.is_none() || sent_at.is_none() {
            let Self { receiving, into, .. } = self;
            take_all(link, into, |now, frame| {
                sending.sender.handle(now, frame);
                receiving.take(now, frame)
            })?;
            let now = link.now();
            match receiving.poll(now)? {
                Some(ReceiveEvent::Done { .. }) => received_at = Some(now),
                Some(ReceiveEvent::Failed(failure)) => {
                    let frames = receiving.receiver.stats().data;
                    return Err(NicError::Received { failure, frames }.into());
                }
                Some(ReceiveEvent::Complete { .. }) | None => {}
            }
            receiving.send(link)?;
            let has_more = sending.send(link)?;
            link.flush()?;
            match sending.poll_end() {
                Some(SendEnd::Done) => sent_at = Some(link.now()),
                Some(end) => return Err(NicError::Sent { end, peer: self.peer }.into()),
                None => {}
            }
            let is_silent = sent_at.is_some_and(|sent_at| {
                receiving.began_at.is_none()
                    && now >= sent_at + samplewire_proto::block::SILENCE_MAX
            });
            if is_silent {
                return Err(NicError::NothingBack(self.peer).into());
            }
            if interrupt.signal().is_some() {
                return Ok(Round { lost: 1, ..Round::default() });
            }
            if !has_more {
                link.wait(if sent_at.is_some() { receiving.until() } else { sending.until() })?;
            }
        }
        let span = |first: samplewire_proto::Nanos, last: Option<samplewire_proto::Nanos>| {
            Duration::from_nanos(last.map_or(0, |last| last.since(first).0))
        };
        let began_at = self.receiving.began_at.expect("a packet came");
        Ok(Round {
            send_time: span(started, sent_at),
            receive_time: span(began_at, received_at),
            repeated: sending.sender.stats().repeats,
            ..Round::default()
        })
    }
}

impl Figures {
    /// Of one round at least.
    fn new(picture: String, bytes: u64, rounds: &[Round]) -> Self {
        let count = rounds.len() as u32;
        let mean = |time: fn(&Round) -> Duration| rounds.iter().map(time).sum::<Duration>() / count;
        let rates = |time: fn(&Round) -> Duration| {
            let shortest = rounds.iter().map(time).min().unwrap_or_default();
            let rate = |time: Duration| (!time.is_zero()).then(|| bits_per_second(bytes, time));
            Rates { mean: rate(mean(time)), max: rate(shortest) }
        };
        let sum = |count: fn(&Round) -> u64| rounds.iter().map(count).sum();
        let both = mean(|round| round.send_time) + mean(|round| round.receive_time);
        Self {
            picture,
            bytes,
            send_bits_per_second: rates(|round| round.send_time),
            receive_bits_per_second: rates(|round| round.receive_time),
            pictures_per_second: (!both.is_zero()).then(|| 1.0 / both.as_secs_f64()),
            verified_bytes: sum(|round| round.verified_bytes),
            lost: sum(|round| round.lost),
            wrong: sum(|round| round.wrong),
            duplicate: sum(|round| round.duplicate),
            repeated: sum(|round| round.repeated),
        }
    }

    fn print(&self, console: &mut Console) {
        let rate = |bits: Option<f64>| bits.map_or(NO_RATE.into(), |bits| measured(bits, "b/s"));
        let each = self.pictures_per_second;
        let (send, receive) = (self.send_bits_per_second, self.receive_bits_per_second);
        console.line(format_args!(
            "{:>12} {:>11} {:>11} {:>11} {:>11} {:>10} {:>6} {:>6} {:>8}",
            self.picture,
            rate(send.mean),
            rate(send.max),
            rate(receive.mean),
            rate(receive.max),
            each.map_or(NO_RATE.into(), |each| format!("{each:.2}")),
            grouped(self.lost),
            grouped(self.wrong),
            grouped(self.repeated),
        ));
    }
}

/// From the first frame to the last is no time if there is one.
const NO_RATE: &str = "-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_a_second_are_of_both_times() {
        // T 6.7: 347.5 kB at 659.12 and 657.66 Mb/s are 115.6 pictures a second.
        let time = |bps: f64| Duration::from_secs_f64(355_840.0 * 8.0 / bps);
        let round = |factor: f64| Round {
            send_time: time(659.12e6 * factor),
            receive_time: time(657.66e6 * factor),
            ..Round::default()
        };
        let figures = Figures::new(String::new(), 355_840, &[round(1.0); 3]);
        let each = figures.pictures_per_second.expect("it took time");
        assert!((each - 115.6).abs() < 0.1, "{figures:?}");
        let figures = Figures::new(String::new(), 355_840, &[round(0.5), round(1.0)]);
        let Rates { mean, max } = figures.send_bits_per_second;
        let off = |rate: Option<f64>, by: f64| (rate.expect("a rate") - by).abs();
        assert!(off(max, 659.12e6) < 1e4 && off(mean, 659.12e6 / 1.5) < 1e4, "{figures:?}");
    }

    #[test]
    fn picture_of_one_frame_has_no_rate() {
        let figures = Figures::new(String::new(), 1_000, &[Round::default()]);
        let Rates { mean, max } = figures.receive_bits_per_second;
        assert_eq!((mean, max, figures.pictures_per_second), (None, None, None));
    }
}
