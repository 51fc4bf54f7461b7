//! The description of a stream by its device.

use std::ffi::{CStr, c_char};

use samplewire::format::{self, Format, full_scale};
use samplewire::source::parse_time;
use samplewire::{Carriage, DeviceInfo};

use crate::arguments::{fixed, one_of, put, text};
use crate::options::sw_carriage;
use crate::result::{Failure, guard, sw_result};
use crate::sized::sized;

/// Size of a text in a struct, with its zero byte. Longer texts are cut.
pub const SW_TEXT_BYTES: usize = 64;

/// Sample formats. Integers and floats are little-endian; a complex sample begins with I.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_format {
    /// The format that the device sends.
    AsSent = 0,
    /// Complex, signed 8 bits each.
    Sc8 = 1,
    /// Complex, signed 16 bits each.
    Sc16 = 2,
    /// Complex, 32-bit floats.
    Fc32 = 3,
    /// Real, signed 8 bits.
    R8 = 4,
    /// Real, signed 16 bits.
    R16 = 5,
    /// Real, 32-bit floats.
    Rf32 = 6,
    /// Complex, unsigned 8 bits each with the zero at 127.5.
    Uc8 = 7,
}

/// A stream of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_stream_info {
    /// Set it to `sizeof(sw_stream_info)` before the call.
    pub struct_size: usize,
    /// The device's address, as `sw_receiver_open` takes it.
    pub address: [c_char; SW_TEXT_BYTES],
    /// The stream's name, possibly empty.
    pub name: [c_char; SW_TEXT_BYTES],
    /// The stream's number.
    pub stream: u32,
    /// How many streams the device has.
    pub streams: u32,
    /// Identifies the device's run: indexes are comparable within one run.
    pub boot_id: u64,
    /// A `sw_format`.
    pub format: u32,
    /// Channels, interleaved sample by sample.
    pub channels: u32,
    /// Sample rate in hertz; 0 if the device does not know it.
    pub rate_hz: f64,
    /// The exact rate: this over `rate_denominator`.
    pub rate_numerator: u64,
    /// See `rate_numerator`.
    pub rate_denominator: u32,
    /// Whether the device stated `centre_frequency_hz`: 0 or 1.
    pub has_centre_frequency: u32,
    /// Centre frequency in hertz.
    pub centre_frequency_hz: f64,
    /// The value of a sample component that counts as 1.0.
    pub full_scale: f64,
    /// Bytes of one sample of all channels.
    pub sample_bytes: u32,
    /// Samples (with all channels) in a packet.
    pub packet_samples: u32,
    /// Payload of a packet in bytes.
    pub payload_bytes: u32,
    /// Packets that the device keeps for repair.
    pub window: u32,
    /// The index of the first sample.
    pub first_index: u64,
    /// The largest IP packet that arrived in a test, with headers, in bytes.
    pub path_mtu_bytes: u32,
    /// The version of the protocol.
    pub protocol_version: u32,
    /// Round-trip time of the opening in nanoseconds.
    pub rtt_ns: u64,
    /// Memory that this end allocated for the stream in bytes; 0 if it was not opened.
    pub memory_bytes: u64,
    /// The time of `first_index` in TAI nanoseconds since 1970; 0 if the device does not know it.
    pub first_index_tai_ns: u64,
    /// The largest error of the device's times in nanoseconds; all ones if the device does not state
    /// it.
    pub clock_quality_ns: u64,
    /// How packets of the stream travel: a `sw_carriage`.
    pub carriage: u32,
    /// 0.
    pub reserved: u32,
}

sized!(
    sw_stream_info {
        address: [c_char; SW_TEXT_BYTES],
        name: [c_char; SW_TEXT_BYTES],
        stream: u32,
        streams: u32,
        boot_id: u64,
        format: u32,
        channels: u32,
        rate_hz: f64,
        rate_numerator: u64,
        rate_denominator: u32,
        has_centre_frequency: u32,
        centre_frequency_hz: f64,
        full_scale: f64,
        sample_bytes: u32,
        packet_samples: u32,
        payload_bytes: u32,
        window: u32,
        first_index: u64,
        path_mtu_bytes: u32,
        protocol_version: u32,
        rtt_ns: u64,
        memory_bytes: u64,
        first_index_tai_ns: u64,
        clock_quality_ns: u64,
        carriage: u32,
        reserved: u32,
    },
    // The struct is only written.
    // SAFETY: all its fields are integers, floats and arrays of them, for which zero is valid.
    unsafe { std::mem::zeroed() }
);

/// The name of a format, e.g. `sc16`; "unknown format" for an unknown number. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sw_format_str(format: u32) -> *const c_char {
    let name: &CStr = match format_of(format) {
        Ok(None) => c"as sent",
        Ok(Some(Format::Sc8)) => c"sc8",
        Ok(Some(Format::Sc16)) => c"sc16",
        Ok(Some(Format::Fc32)) => c"fc32",
        Ok(Some(Format::R8)) => c"r8",
        Ok(Some(Format::R16)) => c"r16",
        Ok(Some(Format::Rf32)) => c"rf32",
        Ok(Some(Format::Uc8)) => c"uc8",
        Err(_) => c"unknown format",
    };
    name.as_ptr()
}

/// Writes the format of a name to `format` (a `sw_format`): the library's name, SigMF's or SoapySDR's, in
/// any case, e.g. `sc16`, `ci16_le` or `CS16`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_format_parse(name: *const c_char, format: *mut u32) -> sw_result {
    guard(|| {
        // SAFETY: `name` is NULL or ends with a zero byte (caller's contract, see `# Safety`).
        let name = unsafe { text("name", name)? };
        let parsed = format::parse(name).map_err(|error| Failure::argument(error.to_string()))?;
        // SAFETY: `format` is NULL or may be written (caller's contract, see `# Safety`).
        unsafe { put("format", format, parsed.number().into())? };
        Ok(sw_result::Ok)
    })
}

/// Writes the time in `text` to `time_ns`: a number with ns, us, ms, s or min behind it, e.g. `5ms`; a bare
/// number is in seconds. The time is above 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_time_parse(time: *const c_char, time_ns: *mut u64) -> sw_result {
    guard(|| {
        // SAFETY: `time` is NULL or ends with a zero byte (caller's contract, see `# Safety`).
        let time = unsafe { text("time", time)? };
        let parsed = parse_time(time).map_err(|error| Failure::argument(error.to_string()))?;
        let parsed_ns = u64::try_from(parsed.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: `time_ns` is NULL or may be written (caller's contract, see `# Safety`).
        unsafe { put("time_ns", time_ns, parsed_ns)? };
        Ok(sw_result::Ok)
    })
}

/// The format with this number; `None` for the device's own.
pub(crate) fn format_of(number: u32) -> Result<Option<Format>, Failure> {
    let known = Format::ALL.map(|format| (u32::from(format.number()), Some(format)));
    match number {
        0 => Ok(None),
        _ => one_of("format", number, &known, "see sw_format"),
    }
}

impl sw_stream_info {
    pub(crate) fn new(info: &DeviceInfo, memory_bytes: usize) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            address: fixed(&info.address.to_string()),
            name: fixed(&info.name.to_string()),
            stream: info.stream.into(),
            streams: info.streams.into(),
            boot_id: info.boot_id,
            format: info.format.number().into(),
            channels: info.channels.into(),
            rate_hz: info.rate_hz(),
            rate_numerator: info.rate_numerator,
            rate_denominator: info.rate_denominator,
            has_centre_frequency: info.centre_frequency_hz.is_some().into(),
            centre_frequency_hz: info.centre_frequency_hz.unwrap_or(0.0),
            full_scale: full_scale(info.format).into(),
            sample_bytes: info.frame_bytes() as u32,
            packet_samples: info.packet_samples,
            payload_bytes: info.payload_bytes.into(),
            window: info.window,
            first_index: info.first_index,
            path_mtu_bytes: info.path_mtu_bytes.into(),
            protocol_version: info.version.into(),
            rtt_ns: info.rtt.as_nanos() as u64,
            memory_bytes: memory_bytes as u64,
            first_index_tai_ns: info.first_index_tai_ns.unwrap_or(0),
            clock_quality_ns: info.clock_quality_ns.map_or(u64::MAX, u64::from),
            carriage: match info.carriage {
                Carriage::Data => sw_carriage::Data as u32,
                Carriage::Rdma => sw_carriage::Rdma as u32,
            },
            reserved: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sized::Sized_;

    #[test]
    fn names_and_times_are_read_as_the_command_reads_them() {
        let (mut format, mut time_ns) = (0, 0);
        // SAFETY: each text ends with a zero byte, and the numbers may be written.
        unsafe {
            for name in [c"sc16", c"ci16_le", c"CS16"] {
                assert!(matches!(sw_format_parse(name.as_ptr(), &raw mut format), sw_result::Ok));
                assert_eq!(format, sw_format::Sc16 as u32);
            }
            let unknown = sw_format_parse(c"sc12".as_ptr(), &raw mut format);
            assert!(matches!(unknown, sw_result::Argument));
            let null = sw_format_parse(std::ptr::null(), &raw mut format);
            assert!(matches!(null, sw_result::Null));
            assert!(matches!(sw_time_parse(c"5ms".as_ptr(), &raw mut time_ns), sw_result::Ok));
            assert_eq!(time_ns, 5_000_000);
            let soon = sw_time_parse(c"soon".as_ptr(), &raw mut time_ns);
            assert!(matches!(soon, sw_result::Argument));
        }
    }

    #[test]
    fn formats_have_the_numbers_and_names_of_the_library() {
        for format in Format::ALL {
            let number = u32::from(format.number());
            assert_eq!(format_of(number).unwrap(), Some(format));
            // SAFETY: `sw_format_str` returns a static text that ends with a zero byte.
            let name = unsafe { CStr::from_ptr(sw_format_str(number)) };
            assert_eq!(name.to_str().unwrap(), format.as_str());
        }
        assert_eq!(sw_format::Uc8 as u32, u32::from(Format::Uc8.number()));
        assert_eq!(<sw_stream_info as Sized_>::defaults().format, sw_format::AsSent as u32);
        assert!(format_of(8).is_err());
    }
}
