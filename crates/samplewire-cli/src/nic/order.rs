//! A board sends the frames of a run, and this end sends them back.

use samplewire_io::ether::FRAME_BYTES_MAX;
use samplewire_proto::Nanos;
use samplewire_proto::block::trial::{Order, Probe, Report};
use samplewire_proto::block::{MacAddress, SILENCE_MAX};

use super::NicError;
use super::exchange::Exchange;
use super::link::{Link, Until};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Memory of a run, taken once.
pub(super) struct Orders {
    into: Box<[u8]>,
    order: Box<[u8]>,
}

impl Orders {
    pub(super) fn new() -> Self {
        let bytes = || vec![0; FRAME_BYTES_MAX + 1].into();
        Self { into: bytes(), order: bytes() }
    }

    /// Orders frames and sends back what comes, until the board reports. Ends early at a signal.
    ///
    /// # Errors
    /// The link broke, or the board was silent for 10 s.
    pub(super) fn run(
        &mut self,
        link: &mut Link,
        peer: MacAddress,
        order: Order,
        interrupt: &Interrupt,
    ) -> Result<Exchange, Failure> {
        let len = order.emit(peer, link.mac(), &mut self.order);
        let (mut order_at, mut heard_at) = (Nanos(0), link.now());
        loop {
            let now = link.now();
            if interrupt.signal().is_some() {
                return Ok(Exchange::default());
            }
            if now >= heard_at + SILENCE_MAX {
                return Err(NicError::NoReport(peer).into());
            }
            // The order or the report is lost: a copy changes nothing while the board sends.
            if now >= order_at {
                link.send(&self.order[..len])?;
                order_at = now + REPEAT;
            }
            let mut has_more = true;
            for _ in 0..TURN_FRAMES_MAX {
                let Some(len) = link.recv(&mut self.into)? else {
                    has_more = false;
                    break;
                };
                let frame = &mut self.into[..len];
                if frame.len() < ADDRESSES_LEN
                    || frame[..6] != link.mac()
                    || frame[6..ADDRESSES_LEN] != peer
                {
                    continue;
                }
                if let Some(report) = Report::parse(frame).filter(|report| report.run == order.run)
                {
                    return Ok(exchange(&report, order.size));
                }
                if Probe::parse(frame).is_some_and(|probe| probe.run == order.run) {
                    heard_at = link.now();
                    order_at = heard_at + REPEAT;
                    frame[..ADDRESSES_LEN].rotate_left(6);
                    // One that the link does not take in time is lost, and the board counts it.
                    while !link.send(frame)? {
                        if link.now() >= heard_at + PATIENCE {
                            link.give_up();
                            break;
                        }
                        link.wait(Until::Frame)?;
                    }
                }
            }
            link.flush()?;
            if !has_more {
                link.wait(Until::Asleep(order_at))?;
            }
        }
    }
}

/// What the board has counted.
fn exchange(report: &Report, size: u16) -> Exchange {
    let bytes = |frames: u32| u64::from(frames) * u64::from(size);
    Exchange {
        sent: report.sent.into(),
        returned: report.returned.into(),
        sent_bytes: bytes(report.sent),
        returned_bytes: bytes(report.returned),
        time: std::time::Duration::from_nanos(report.time.0),
        ..Exchange::default()
    }
}

const ADDRESSES_LEN: usize = 12;

/// An order is repeated when nothing came for so long: more than the board waits for frames that are lost.
const REPEAT: Nanos = Nanos::from_millis(400);

/// How long a frame waits for a link that is full.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// Frames between two looks at the time.
const TURN_FRAMES_MAX: usize = 64;
