//! Opens several streams at one index: queries the device's position, then opens all a moment
//! ahead.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_proto::SampleIndex;
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::wire::RefuseReason;

use super::super::ReceiveStream;
use super::super::port::Port;
use crate::deadline::Deadline;
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening;
use crate::options::ReceiveOptions;

/// Opens all streams at one index over one port; retries with a later index if some openings are
/// too late.
pub(super) fn open(
    port: &Port,
    address: SocketAddr,
    options: &ReceiveOptions,
) -> Result<Vec<ReceiveStream>, OpenError> {
    options.check_aligned()?;
    let Some(streams) = options.several_streams() else {
        // A single stream has no others to wait for: it begins at the device's current index.
        return Ok(vec![port.open(address, options)?]);
    };
    // One owner for all attempts, so that a later attempt takes over streams of an earlier one.
    let options = options.clone().owner(opening::owner(options.owner)?);
    let deadline = Deadline::after(options.timeout.saturating_mul(2));
    let mut attempt = 0;
    loop {
        let lead_min = (LEAD_MIN + LEAD_OF_A_STREAM * streams.len() as u32) * 2_u32.pow(attempt);
        let opened = open_once(port, address, streams, &options, lead_min);
        let may_retry = attempt < RETRIES_MAX && !deadline.left().is_zero();
        match opened {
            Err(OpenError::Refused { reason: RefuseReason::StartIndex, .. }) if may_retry => {}
            // The device restarted in between.
            Err(OpenError::Apart { what: RUN, .. }) if may_retry => {}
            settled => return settled,
        }
        attempt += 1;
    }
}

fn open_once(
    port: &Port,
    address: SocketAddr,
    streams: &[u16],
    options: &ReceiveOptions,
    lead_min: Duration,
) -> Result<Vec<ReceiveStream>, OpenError> {
    // An opening takes as many packets as a description.
    let asked = Instant::now();
    let infos = port.describe_each(address, streams, options.limits())?;
    let lead = lead_min.max(asked.elapsed() * 4);
    let starts = infos.iter().map(|info| info.first_index.saturating_add(samples_in(lead, info)));
    let start = starts.max().expect("a stream is named");
    if start > INDEX_MAX {
        return Err(OpenError::Offer { address, what: "index of the first sample", value: start });
    }
    let receivers = port.open_each(address, &options.clone().start_index(start))?;
    check(address, &receivers, start)?;
    Ok(receivers)
}

/// Checks that the indexes of all streams have one clock, and begin at the requested one.
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
        // The start 0 means the current index; it is requested if the device's rate is unknown.
        if info.first_index != start && start != 0 {
            let (stream, first) = (info.stream, info.first_index);
            return Err(OpenError::Start { address, stream, start, first });
        }
    }
    Ok(())
}

/// The properties that all streams must share.
fn traits(info: &DeviceInfo) -> [(&'static str, String); 3] {
    let rate = format!("{}/{} Hz", info.rate_numerator, info.rate_denominator.max(1));
    [
        (RUN, format!("{:016x}", info.boot_id)),
        ("sample rate", rate),
        ("sample format", info.format.to_string()),
    ]
}

/// The description of the combined stream, with all channels.
pub(super) fn joined(receivers: &[ReceiveStream]) -> DeviceInfo {
    let mut joined = receivers[0].info().clone();
    for info in receivers[1..].iter().map(ReceiveStream::info) {
        let both = joined.stream_info().joined(&info.stream_info());
        joined.name = both.name;
        joined.channels = both.channels;
        joined.centre_frequency_hz = both.centre_frequency_hz;
        joined.window = joined.window.min(info.window);
        joined.path_mtu_bytes = joined.path_mtu_bytes.min(info.path_mtu_bytes);
        joined.rtt = joined.rtt.max(info.rtt);
    }
    joined
}

fn samples_in(span: Duration, info: &DeviceInfo) -> u64 {
    (span.as_secs_f64() * info.rate_hz()).ceil() as u64
}

/// Indexes are comparable within one run of the device.
const RUN: &str = "run of the device";

/// Minimum lead of the start: a lost OPEN is repeated after 100 ms.
const LEAD_MIN: Duration = Duration::from_millis(150);

/// Time to allocate the memory of a stream, with a margin: the openings are sent in between.
const LEAD_OF_A_STREAM: Duration = Duration::from_millis(5);

/// Maximum number of later indexes to try; each lead is twice the previous one.
const RETRIES_MAX: u32 = 4;
