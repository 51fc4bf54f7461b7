//! Describes a stream in words, and converts a device's stream for sinks and people.

use samplewire::source::StreamInfo;
use samplewire::{Carriage, DeviceInfo};

use crate::figures::{exact, grouped, span};

/// `modes1: uc8, 1 channel, 2 MS/s at 1.09 GHz`.
pub(crate) fn stream_words(info: &StreamInfo) -> String {
    let name = if info.name.is_empty() { String::new() } else { format!("{}: ", info.name) };
    let channels = match info.channels {
        1 => "1 channel".to_owned(),
        count => format!("{count} channels"),
    };
    let rate = match info.rate_numerator {
        0 => "rate unknown".to_owned(),
        _ => exact(info.rate_hz(), "S/s"),
    };
    let centre = info.centre_frequency_hz.map(|hz| format!(" at {}", exact(hz, "Hz")));
    format!("{name}{}, {channels}, {rate}{}", info.format, centre.unwrap_or_default())
}

/// `MTU 9,000 bytes, round trip 52.0 us`.
pub(crate) fn path_words(info: &DeviceInfo) -> String {
    format!(
        "MTU {} bytes, round trip {}{}",
        grouped(info.path_mtu_bytes.into()),
        span(info.rtt.as_secs_f64()),
        if info.carriage == Carriage::Rdma { ", over RDMA" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use samplewire::format::Format;

    use super::*;

    #[test]
    fn stream_reads_as_people_say_it() {
        let mut info = StreamInfo::new(Format::Sc16, 2, 61.44e6).unwrap();
        assert_eq!(stream_words(&info), "sc16, 2 channels, 61.44 MS/s");
        info.centre_frequency_hz = Some(1.09e9);
        info.name = "front".into();
        (info.channels, info.rate_numerator) = (1, 0);
        assert_eq!(stream_words(&info), "front: sc16, 1 channel, rate unknown at 1.09 GHz");
    }
}
