//! Opening several streams at one index: where is the device, then all from a moment ahead.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_io::{Link, Resilient};
use samplewire_proto::SampleIndex;
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::session::WireText;
use samplewire_proto::wire::RefuseReason;

use super::super::{Port, ReceiveOptions, ReceiveStream};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening;

/// Opens all at one index; tries a later one when some come too late.
pub(super) fn open<E: From<OpenError>>(
    address: SocketAddr,
    streams: &[u16],
    options: &ReceiveOptions,
    mut link: impl FnMut(u16) -> Result<Box<dyn Link>, E>,
) -> Result<Vec<ReceiveStream>, E> {
    assert!(!streams.is_empty(), "no stream is named");
    let is_twice = |(at, stream)| streams[..at].contains(stream);
    assert!(!streams.iter().enumerate().any(is_twice), "a stream is named twice: {streams:?}");
    options.real_time.check_for(streams.len()).map_err(OpenError::from)?;
    // One that was opened in vain is taken over.
    let owner = opening::owner(options.owner)?;
    let options = options.clone().owner(owner);
    let until = Instant::now().checked_add(options.timeout.saturating_mul(2));
    let mut attempt = 0;
    loop {
        let ports = streams.iter().map(|&stream| {
            let link = Resilient::new(link(stream)?);
            Ok((stream, Port::for_one("samplewire-rx", link, &options.real_time)?))
        });
        let ports = ports.collect::<Result<Vec<_>, E>>()?;
        let opened = open_once(address, ports, &options, LEAD_MIN * 2_u32.pow(attempt));
        let may_retry = attempt < RETRIES_MAX && until.is_none_or(|until| Instant::now() < until);
        match opened {
            Err(OpenError::Refused { reason: RefuseReason::StartIndex, .. }) if may_retry => {}
            // The device was started anew in between.
            Err(OpenError::Apart { what: RUN, .. }) if may_retry => {}
            settled => return Ok(settled?),
        }
        attempt += 1;
    }
}

fn open_once(
    address: SocketAddr,
    ports: Vec<(u16, Port)>,
    options: &ReceiveOptions,
    lead_min: Duration,
) -> Result<Vec<ReceiveStream>, OpenError> {
    if let [(stream, port)] = &ports[..] {
        // In line with nothing: it begins with the index of now.
        return Ok(vec![port.open(address, &options.clone().stream(*stream))?]);
    }
    // An opening takes the packets that a description takes.
    let asked = Instant::now();
    let infos = at_once(&ports, |(stream, port)| port.describe(address, *stream, options.limits()));
    let infos = infos.into_iter().collect::<Result<Vec<_>, _>>()?;
    let lead = lead_min.max(asked.elapsed() * 4);
    let starts = infos.iter().map(|info| info.first_index.saturating_add(samples_in(lead, info)));
    let start = starts.max().expect("a stream is named");
    if start > INDEX_MAX {
        return Err(OpenError::Offer { address, what: "index of the first sample", value: start });
    }
    let receivers = at_once(ports, |(stream, port)| {
        port.open(address, &options.clone().stream(stream).start_index(start))
    });
    let (open, errors): (Vec<_>, Vec<_>) = receivers.into_iter().partition(Result::is_ok);
    let receivers: Vec<ReceiveStream> = open.into_iter().flatten().collect();
    let checked = match errors.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => check(address, &receivers, start),
    };
    if checked.is_err() {
        // All at once: each waits for the device when it goes.
        receivers.iter().for_each(|receiver| receiver.shared.stop());
    }
    checked.map(|()| receivers)
}

/// Does `work` with each of `items`, all at once; the results in their order.
fn at_once<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R, OpenError> + Sync,
) -> Vec<Result<R, OpenError>> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(|it| it.join().expect("opening does not panic")).collect()
    })
}

/// Checks that the indexes of all are of one clock, and begin where they should.
fn check(
    address: SocketAddr,
    receivers: &[ReceiveStream],
    start: SampleIndex,
) -> Result<(), OpenError> {
    let first = receivers[0].info();
    let channels: u64 = receivers.iter().map(|it| u64::from(it.info().channels)).sum();
    if channels > u64::from(u16::MAX) {
        return Err(OpenError::Offer { address, what: "channels of all streams", value: channels });
    }
    for info in receivers.iter().map(ReceiveStream::info) {
        for ((what, one), (_, other)) in traits(first).into_iter().zip(traits(info)) {
            if one != other {
                let (streams, values) = ([first.stream, info.stream], [one, other]);
                return Err(OpenError::Apart { address, what, streams, values });
            }
        }
        // 0 is asked for of a device whose rate is not known, and means that of now.
        if info.first_index != start && start != 0 {
            let (stream, first) = (info.stream, info.first_index);
            return Err(OpenError::Start { address, stream, start, first });
        }
    }
    Ok(())
}

/// What streams must have in common.
fn traits(info: &DeviceInfo) -> [(&'static str, String); 3] {
    let rate = format!("{}/{} Hz", info.rate_numerator, info.rate_denominator.max(1));
    [
        (RUN, format!("{:016x}", info.boot_id)),
        ("sample rate", rate),
        ("sample format", info.format.to_string()),
    ]
}

/// Several streams as one that has the channels of all.
pub(super) fn joined(receivers: &[ReceiveStream]) -> DeviceInfo {
    let mut joined = receivers[0].info().clone();
    for info in receivers[1..].iter().map(ReceiveStream::info) {
        let both = [joined.name.as_raw_bytes(), info.name.as_raw_bytes()].join(&b" + "[..]);
        joined.name = WireText::from_raw(&both);
        joined.channels += info.channels;
        joined.centre_frequency_hz = joined
            .centre_frequency_hz
            .filter(|_| joined.centre_frequency_hz == info.centre_frequency_hz);
        joined.window = joined.window.min(info.window);
        joined.path_mtu_bytes = joined.path_mtu_bytes.min(info.path_mtu_bytes);
        joined.rtt = joined.rtt.max(info.rtt);
    }
    joined
}

fn samples_in(span: Duration, info: &DeviceInfo) -> u64 {
    (span.as_secs_f64() * info.rate_hz()).ceil() as u64
}

/// What the indexes of two streams must be of to be comparable.
const RUN: &str = "run of the device";

/// How far ahead the streams begin at least: an OPEN that is lost is repeated after 100 ms.
const LEAD_MIN: Duration = Duration::from_millis(150);

/// How often a later index is tried, each twice as far ahead as the one before.
const RETRIES_MAX: u32 = 4;
