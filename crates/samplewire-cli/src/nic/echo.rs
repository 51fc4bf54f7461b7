//! `nic echo`: the other end of `nic rtt`, `nic rate` and `nic image` between two hosts.

use std::time::Instant;

use samplewire_io::ether::{FRAME_BYTES_MAX, FrameReceive};
use samplewire_proto::Nanos;
use samplewire_proto::block::wire::{ETHER_TYPE, Header, is_group};
use samplewire_proto::block::{
    MacAddress, ReceiveEvent, ReceiverConfig, SendEnd, SenderConfig, TransferId, Types,
};
use samplewire_proto::crc::crc32c;
use serde::Serialize;

use super::block::{Memory, Receiving, Sending, take_all};
use super::link::{Link, Role, Until};
use super::{mac_words, random};
use crate::arguments::EchoArguments;
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{grouped, measured};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON at the end. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Echo {
    link: String,
    address: String,
    memory_bytes: usize,
    /// Sent back: frames, or transfers with --block.
    returned: u64,
    /// Frames for other stations, or of no station.
    foreign: u64,
    /// Frames that the link had no room for, and transfers that failed.
    failed: u64,
    /// Frames that found no room on their way into this process.
    dropped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Echo {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &EchoArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Echo| {
        let interrupt = Interrupt::install()?;
        let mut link = Link::open(&arguments.link, Role::Receiver, FrameReceive::Calls)?;
        report.link = arguments.link.link.to_string();
        report.address = mac_words(link.mac());
        report.memory_bytes = link.memory_bytes();
        console.line(format_args!(
            "{}: {} sends {} back, {} for frames",
            report.link,
            report.address,
            if arguments.block { "transfers" } else { "frames" },
            measured(report.memory_bytes as f64, "B")
        ));
        let started = Instant::now();
        let is_over = || {
            interrupt.signal().is_some()
                || arguments.duration.is_some_and(|duration| started.elapsed() >= duration)
        };
        if arguments.block {
            Transfers::new(&link, arguments.bytes_max)?
                .work(&mut link, report, console, is_over)?;
        } else {
            echo_frames(&mut link, report, is_over)?;
        }
        report.dropped = link.dropped()?;
        console.line(format_args!(
            "{} sent back, {} for others, {} failed, {} dropped",
            grouped(report.returned),
            grouped(report.foreign),
            grouped(report.failed),
            grouped(report.dropped)
        ));
        Ok(match interrupt.stop_signal(console) {
            Some(signal) => Outcome::Interrupted { signal },
            None => Outcome::Whole,
        })
    })
}

/// Sends each frame back, those of a turn together.
fn echo_frames(
    link: &mut Link,
    report: &mut Echo,
    is_over: impl Fn() -> bool,
) -> Result<(), Failure> {
    let mut frame = vec![0; FRAME_BYTES_MAX + 1];
    // The length of a frame that the link has not taken, and until when it is tried again. No other one
    // is received before.
    let mut waiting: Option<(usize, Nanos)> = None;
    while !is_over() {
        let mut has_more = true;
        for _ in 0..TURN_FRAMES_MAX {
            if waiting.is_none() {
                let Some(len) = link.recv(&mut frame)? else {
                    has_more = false;
                    break;
                };
                if !turn(&mut frame[..len], link.mac()) {
                    report.foreign += 1;
                    continue;
                }
                waiting = Some((len, link.now() + PATIENCE));
            }
            let (len, until) = waiting.expect("a frame came");
            if link.send(&frame[..len])? {
                report.returned += 1;
            } else if link.now() < until {
                has_more = false;
                break;
            } else {
                link.give_up();
                report.failed += 1;
            }
            waiting = None;
        }
        link.flush()?;
        if !has_more {
            link.wait(Until::Frame)?;
        }
    }
    Ok(())
}

/// Turns a frame to this station round, `local`; `false` for others.
///
/// Its source becomes an address that no `nic echo` answers: two of them would otherwise send a frame to and
/// fro for ever, as the bytes behind the addresses have to stay.
fn turn(frame: &mut [u8], local: MacAddress) -> bool {
    let is_whole = (ETHERNET_BYTES..=FRAME_BYTES_MAX).contains(&frame.len());
    if !is_whole || frame[..6] != local || frame[12..14] != ETHER_TYPE.to_be_bytes() {
        return false;
    }
    frame[..12].rotate_left(6);
    frame[6] ^= ANSWERED;
    // The addresses have changed places: what was the source must be a station.
    !is_group([frame[0], 0, 0, 0, 0, 0])
}

/// Receives transfers, and sends each back to its sender.
struct Transfers {
    receiving: Receiving<Memory>,
    sending: Option<Sending<Memory>>,
    /// Of the transfer that came last.
    header: Option<Header>,
    bytes_max: usize,
    /// For the next transfer to send.
    spare: Option<Vec<u8>>,
}

impl Transfers {
    fn new(link: &Link, bytes_max: u64) -> Result<Self, Failure> {
        let config =
            ReceiverConfig { types: Types::Either, ..ReceiverConfig::new(link.mac(), bytes_max) };
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let memory = || vec![0; bytes_max];
        let receiving = Receiving::new(config, Memory(memory()))?;
        Ok(Self { receiving, sending: None, header: None, bytes_max, spare: Some(memory()) })
    }

    fn work(
        mut self,
        link: &mut Link,
        report: &mut Echo,
        console: &mut Console,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut into = vec![0; FRAME_BYTES_MAX + 1];
        while !is_over() {
            let Self { receiving, sending, header, .. } = &mut self;
            let mut has_more = take_all(link, &mut into, |now, frame| {
                receiving.take(now, frame)?;
                if let Some(present) = receiving.receiver.transfer() {
                    *header = Some(*present);
                }
                if let Some(sending) = sending {
                    sending.sender.handle(now, frame);
                }
                Ok(())
            })?;
            match self.receiving.poll(link.now())? {
                Some(ReceiveEvent::Done { bytes }) => self.turn_round(link, bytes)?,
                Some(ReceiveEvent::Failed(failure)) => {
                    report.failed += 1;
                    console.note(format_args!("a transfer failed: {failure}"));
                    self.receiving.listen();
                }
                Some(ReceiveEvent::Complete { .. }) | None => {}
            }
            self.receiving.send(link)?;
            if let Some(sending) = &mut self.sending {
                has_more |= sending.send(link)?;
                if let Some(end) = sending.poll_end() {
                    let is_done = end == SendEnd::Done;
                    *(if is_done { &mut report.returned } else { &mut report.failed }) += 1;
                    let sending = self.sending.take().expect("it is there");
                    self.spare = Some(sending.into_source().0);
                }
            }
            link.flush()?;
            if !has_more {
                let until = self.sending.as_ref().map_or(self.receiving.until(), Sending::until);
                link.wait(until)?;
            }
        }
        Ok(())
    }

    /// A transfer has come: it goes back to its sender, and the next one may come. One that is still on
    /// its way back ends.
    fn turn_round(&mut self, link: &Link, bytes: u64) -> Result<(), Failure> {
        let ended = self.sending.take().map(|sending| sending.into_source().0);
        let mut spare = self.spare.take().or(ended).expect("it was spare or in use");
        spare.resize(self.bytes_max, 0);
        let came = std::mem::replace(&mut self.receiving.store.0, spare);
        self.receiving.listen();
        let Some(Header { source, transfer, .. }) = self.header.take() else {
            // Of 0 bytes, without a packet.
            self.spare = Some(came);
            return Ok(());
        };
        let transfer = transfer.map(|_| TransferId(random() as u32));
        let config = SenderConfig::new(link.mac(), source, transfer);
        let crc = crc32c(&came[..bytes as usize]);
        self.sending = Some(Sending::new(config, bytes, crc, Memory(came))?);
        Ok(())
    }
}

const ETHERNET_BYTES: usize = 14;

/// Inverted in the first byte of an answer's source: neither that of groups nor that of local addresses.
const ANSWERED: u8 = 0x04;

/// How long a frame waits for a link that is full.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// Frames of one turn, which leave together.
const TURN_FRAMES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_face_each_other_answer_a_frame_once() {
        let (near, far) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let mut frame = [7; 60];
        frame[..6].copy_from_slice(&near);
        frame[6..12].copy_from_slice(&far);
        frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        let sent = frame;
        assert!(turn(&mut frame, near));
        assert_eq!((&frame[..6], &frame[6..12]), (&far[..], &[6, 0, 0, 0, 0, 1][..]));
        assert_eq!(frame[12..], sent[12..]);
        // The other one answers too, but to an address that is not the first one's.
        assert!(turn(&mut frame, far));
        assert!(!turn(&mut frame, near) && !turn(&mut frame, far));
    }

    #[test]
    fn frames_of_groups_and_for_others_are_not_answered() {
        let near = [2, 0, 0, 0, 0, 1];
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&near);
        frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        assert!(!turn(&mut frame.clone(), [2, 0, 0, 0, 0, 2]));
        assert!(turn(&mut frame.clone(), near));
        frame[6] = 1;
        assert!(!turn(&mut frame, near));
    }
}
