//! One measurement: a device and a receiver in this process, over loopback.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use samplewire::transmitter::{Overflow, PlaySummary};
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_io::{FaultSpec, Udp};
use samplewire_record::source::{SourceOptions, SourceSpec};

use super::results::Point;
use crate::failure::Failure;
use crate::wiring::{self, Wiring};

/// The bits per second of received samples, between the first block and the last.
///
/// # Errors
/// The stream does not open, or samples are missing at its end.
pub(super) fn goodput_bps(point: &Point, span: Duration, seed: u64) -> Result<f64, Failure> {
    let mut source = SourceSpec::Null.open(&SourceOptions::new().rate_hz(RATE_HZ))?;
    let socket = Udp::bind((Ipv4Addr::LOCALHOST, 0).into(), &wiring::udp_options())
        .map_err(|error| Failure::Listen(error.into()))?;
    let damage = FaultSpec::new().corrupt(point.damage).seed(seed);
    let Wiring { link, .. } = match point.damage > 0.0 {
        true => Wiring::new(socket).with_faults(&damage, &FaultSpec::new())?,
        false => Wiring::new(socket),
    };
    let options = DeviceOptions::new().mtu(point.mtu.into()).window(point.window);
    let options = options.sends(source.info().clone());
    let mut device = options.listen_over(link).map_err(Failure::of_listening)?;
    let address = device.address;
    let mut listener = device.listeners.remove(0);
    let play = move || -> Result<Option<PlaySummary>, Failure> {
        let Some(mut stream) = listener.accept(OPEN_TIMEOUT).map_err(lost)? else {
            return Ok(None);
        };
        let started = Instant::now();
        let is_over = || started.elapsed() >= span;
        Ok(Some(stream.play(&mut *source, Overflow::Wait, is_over)?))
    };
    std::thread::scope(|scope| {
        let device = scope.spawn(play);
        let received = receive(address, point);
        let played = device.join().expect("the device does not panic")?;
        let received = received?;
        let sent = played.map_or(0, |played| played.samples);
        if received.samples != sent {
            let missing = sent.saturating_sub(received.samples);
            return Err(Failure::StudyMissing { missing, sent });
        }
        Ok(received.goodput_bps)
    })
}

struct Received {
    samples: u64,
    goodput_bps: f64,
}

fn receive(address: std::net::SocketAddr, point: &Point) -> Result<Received, Failure> {
    let options =
        ReceiveOptions::new().window(point.window).mtu(point.mtu.into()).udp(wiring::udp_options());
    let mut receiver = options.open(address)?;
    let (mut samples, mut bytes) = (0, 0);
    let mut times: Option<(Instant, Instant)> = None;
    for block in &mut receiver {
        let (block, now) = (block?, Instant::now());
        samples += block.len() as u64;
        match &mut times {
            // The samples of the first block came before the time begins.
            None => times = Some((now, now)),
            Some((_, last)) => {
                *last = now;
                bytes += block.bytes().len() as u64;
            }
        }
    }
    let seconds = times.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    let goodput_bps = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    Ok(Received { samples, goodput_bps })
}

fn lost(error: samplewire::transmitter::SendError) -> Failure {
    Failure::Play(error.into())
}

/// The sample rate that the device announces; it sends as fast as the receiver accepts.
const RATE_HZ: f64 = 1e9;

const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
