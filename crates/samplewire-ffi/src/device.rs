//! A device inside the process, for tests of programs without a real one.

use std::ffi::c_char;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::BoxError;
use samplewire::device::{Player, ReceiveListener, STREAMS_MAX, SampleClock};
use samplewire::format::Format;
use samplewire::source::{CounterSource, RateError, ReadSamples, StreamInfo};
use samplewire::transmitter::{Canceller, Overflow};
use samplewire::{DeviceOptions, Listener, OpenError, SampleIndex};
use samplewire_io::faults::{self, Side};
use samplewire_io::{FaultSpec, Faults, Udp, UdpOptions};
use samplewire_proto::OutOfRange;
use samplewire_record::sink::{self, SinkOptions, WriteSamples};

use crate::arguments::{check_out, optional, put, put_text, switch};
use crate::find::address_of;
use crate::options::{carriage, control, sw_carriage, sw_control};
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{init, read, sized};

/// A device in software: it sends a counter, or plays into a file. Any thread may use it.
pub struct sw_device {
    _never_made: (),
}

/// Options of a device in software. `sw_device_options_init` sets all of them to their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_device_options {
    /// `sizeof(sw_device_options)`; `sw_device_options_init` sets it.
    pub struct_size: usize,
    /// Where it listens; default NULL: 127.0.0.1 and a free port.
    pub address: *const c_char,
    /// A file for the sc16 samples that it plays, whose name ends with `.raw`; default NULL: it
    /// sends.
    pub plays_into: *const c_char,
    /// Faults as in `samplewire emulate --fault`, separated by blanks; default NULL: no faults.
    pub faults: *const c_char,
    /// Samples per second; default 1e6.
    pub rate_hz: f64,
    /// Number of samples that it sends to each peer; default 0: no limit.
    pub samples: u64,
    /// Channels; default 1. Sample `i` of a channel that it sends is the low 32 bits of `i`, plus
    /// 0x9E3779B9 times the channel's number; as sc16, I is the low half.
    pub channels: u32,
    /// Packets kept for repair, or waiting to be played; default 1024.
    pub window: u32,
    /// Default 1: it has a clock, and loses samples without free memory. 0: it waits, or plays at
    /// once.
    pub has_clock: u32,
    /// Number of streams that it sends, 1 to 1024, each a counter; default 1, and 0 means 1 too.
    pub streams: u32,
    /// Of the streams that it sends, as in `sw_transmitter_options`.
    pub control_rate: u64,
    /// A `sw_control`; default DCQCN.
    pub control: u32,
    /// How packets of the streams that it sends may travel: a `sw_carriage`; default DATA. Over RDMA they do
    /// where their receivers request it. `address` is then one of an interface, which has a station beside
    /// the kernel, and that needs CAP_NET_RAW.
    pub carriage: u32,
}

sized!(
    sw_device_options {
        address: *const c_char,
        plays_into: *const c_char,
        faults: *const c_char,
        rate_hz: f64,
        samples: u64,
        channels: u32,
        window: u32,
        has_clock: u32,
        streams: u32,
        control_rate: u64,
        control: u32,
        carriage: u32,
    },
    sw_device_options {
        struct_size: size_of::<sw_device_options>(),
        address: std::ptr::null(),
        plays_into: std::ptr::null(),
        faults: std::ptr::null(),
        rate_hz: 1e6,
        samples: 0,
        channels: 1,
        window: 1_024,
        has_clock: 1,
        streams: 1,
        control_rate: 0,
        control: sw_control::Dcqcn as u32,
        carriage: sw_carriage::Data as u32,
    }
);

/// The object of a name.
struct Emulated {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// Handles that end the sessions in which it sends.
    cancellers: Vec<Canceller>,
    threads: Vec<JoinHandle<()>>,
}

static DEVICES: Registry<Emulated> = Registry::new("sw_device");

/// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_options_init(
    options: *mut sw_device_options,
    struct_size: usize,
) -> sw_result {
    // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
    guard(|| unsafe { init(options, struct_size) }.map(|()| sw_result::Ok))
}

/// Starts a device in software. `options` may be NULL: the defaults. Free it with `sw_device_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_new(
    options: *const sw_device_options,
    device: *mut *mut sw_device,
) -> sw_result {
    guard(|| {
        check_out("device", device)?;
        let asked = if options.is_null() {
            <sw_device_options as crate::sized::Sized_>::defaults()
        } else {
            // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
            unsafe { read(options)? }
        };
        // SAFETY: its texts are NULL or end with NUL (the caller's contract).
        let emulated = unsafe { start(&asked)? };
        let name = DEVICES.insert(|_| emulated);
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("device", device, std::ptr::without_provenance_mut(name))? };
        Ok(sw_result::Ok)
    })
}

/// The device's address, as the functions that open a stream take it; `SW_TEXT_BYTES` are enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_get_address(
    device: *const sw_device,
    address: *mut c_char,
    size_bytes: usize,
) -> sw_result {
    guard(|| {
        let emulated = DEVICES.get(device)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put_text(address, size_bytes, &emulated.address.to_string())? };
        Ok(sw_result::Ok)
    })
}

/// Stops the device and frees it; the file that it plays into is then complete. Sends the samples
/// that a receiver still misses, for up to 2 s. Waits until the peer knows the end, or has been
/// silent for 15 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_free(device: *mut sw_device) -> sw_result {
    guard(|| {
        if !device.is_null() {
            DEVICES.remove(device)?;
        }
        Ok(sw_result::Ok)
    })
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // Relaxed: joining orders the rest.
        self.stop.store(true, Ordering::Relaxed);
        let patient_until = Instant::now() + PATIENCE;
        while !self.threads.iter().all(JoinHandle::is_finished) {
            if Instant::now() >= patient_until {
                self.cancellers.iter().for_each(Canceller::cancel);
            }
            std::thread::sleep(LOOK);
        }
        for thread in self.threads.drain(..) {
            // Its panic has been printed, and no caller waits for the result.
            drop(thread.join());
        }
    }
}

/// Starts the device's thread.
///
/// # Safety
/// The texts are NULL or end with a zero byte.
unsafe fn start(asked: &sw_device_options) -> Result<Emulated, Failure> {
    let address = match asked.address.is_null() {
        true => SocketAddr::from(([127, 0, 0, 1], 0)),
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        false => unsafe { address_of(asked.address)? },
    };
    // SAFETY: `plays_into` is NULL or ends with a zero byte (the contract of this function).
    let file = unsafe { optional("plays_into", asked.plays_into)? }.map(PathBuf::from);
    // SAFETY: `faults` is NULL or ends with a zero byte (the contract of this function).
    let faults = unsafe { optional("faults", asked.faults)? };
    let (data, feedback) = fault_specs(faults.unwrap_or_default())?;
    let has_clock = switch("has_clock", asked.has_clock)?;
    let control = control(asked.control, asked.control_rate)?;
    let carriage = carriage(asked.carriage)?;
    let channels = u16::try_from(asked.channels).ok().filter(|channels| *channels > 0);
    let channels = channels.ok_or_else(|| {
        Failure::argument(OutOfRange("channels", asked.channels, "1 to 65535").to_string())
    })?;
    let udp = Udp::bind(address, &UdpOptions::new()).map_err(OpenError::from)?;
    // A device that sends a counter sends data; a device that plays sends feedback.
    let (out, back) = if file.is_some() { (&feedback, &data) } else { (&data, &feedback) };
    let link = Faults::new(udp, out, back).map_err(|error| Failure::argument(error.to_string()))?;
    let of_source = |error: RateError| Failure::argument(error.to_string());
    let (rate_hz, total) = (asked.rate_hz, asked.samples);
    let counter = || -> Result<Counted, RateError> {
        let source = CounterSource::new(rate_hz, 0)?.with_channels(channels);
        Ok(Counted { source, left: 0, total })
    };
    let info = counter().map_err(of_source)?.info().clone();
    let streams = asked.streams.max(1) as usize;
    if streams > STREAMS_MAX {
        let range = format_args!("1 to {STREAMS_MAX}");
        let words = OutOfRange("streams", streams, range).to_string();
        return Err(Failure::argument(words));
    }
    let clock = has_clock.then(|| SampleClock::start(&info, Instant::now()));
    // A single stream keeps its rate; several share one clock, so that their indexes agree.
    let port_clock = clock.filter(|_| file.is_some() || streams > 1);
    let mut options = DeviceOptions::new().window(asked.window).control(control).carriage(carriage);
    options = match &file {
        None => std::iter::repeat_n(info.clone(), streams).fold(options, DeviceOptions::sends),
        Some(_) => options.plays(info.clone()),
    };
    if let Some(clock) = port_clock {
        options = options.clock(clock);
    }
    let sink = file.map(|file| sink::open(&file, &info, &SinkOptions::new().overwrite(true)));
    let sink = sink.transpose().map_err(|error| Failure::argument(error.to_string()))?;
    let device = options.listen_over(Box::new(link))?;
    let mut emulated = Emulated {
        address: device.address,
        stop: Arc::new(AtomicBool::new(false)),
        cancellers: device.listeners.iter().map(Listener::canceller).collect(),
        threads: Vec::new(),
    };
    let overflow = match (clock, port_clock) {
        (None, _) => Overflow::Wait,
        (Some(_), None) => Overflow::Lose { rate_hz: info.rate_hz() },
        (Some(_), Some(clock)) => Overflow::Keep(clock),
    };
    for listener in device.listeners {
        let source = counter().map_err(of_source)?;
        let should_stop = Arc::clone(&emulated.stop);
        emulated.spawn(move || send(listener, source, overflow, &should_stop))?;
    }
    if let (Some(receive_listener), Some(sink)) = (device.receive_listener, sink) {
        let should_stop = Arc::clone(&emulated.stop);
        emulated.spawn(move || play(receive_listener, clock, sink, &should_stop))?;
    }
    Ok(emulated)
}

impl Emulated {
    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> Result<(), OpenError> {
        let thread = std::thread::Builder::new().name("samplewire-device".into());
        self.threads.push(thread.spawn(work)?);
        Ok(())
    }
}

/// The faults of data, and of feedback.
fn fault_specs(texts: &str) -> Result<(FaultSpec, FaultSpec), Failure> {
    let (mut data, mut feedback) = (None, None);
    for text in texts.split_ascii_whitespace() {
        let (side, spec) =
            faults::parse(text).map_err(|error| Failure::argument(error.to_string()))?;
        let place = match side {
            Side::Data => &mut data,
            Side::Feedback => &mut feedback,
        };
        if place.replace(spec).is_some() {
            return Err(Failure::argument(format!("{text}: this side has faults already")));
        }
    }
    Ok((data.unwrap_or_else(FaultSpec::new), feedback.unwrap_or_else(FaultSpec::new)))
}

/// Sends to one peer after the other.
fn send(mut listener: Listener, mut source: Counted, overflow: Overflow, stop: &AtomicBool) {
    // Relaxed: joining orders the rest.
    let should_stop = || stop.load(Ordering::Relaxed);
    while !should_stop() {
        match listener.accept(LOOK) {
            Ok(Some(mut stream)) => {
                // The peer knows how its session ended; this loop waits for the next one.
                let _ended = stream.play(&mut source, overflow, should_stop);
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

/// Plays one stream after the other.
fn play(
    mut receive_listener: ReceiveListener,
    clock: Option<SampleClock>,
    mut sink: Box<dyn WriteSamples>,
    stop: &AtomicBool,
) {
    // Relaxed: joining orders the rest.
    while !stop.load(Ordering::Relaxed) {
        let incoming = match receive_listener.accept(LOOK) {
            Ok(Some(incoming)) => incoming,
            Ok(None) => continue,
            Err(_) => break,
        };
        let mut player = Player::new(incoming.receiver, clock, incoming.underflow, &mut sink);
        while !stop.load(Ordering::Relaxed) && matches!(player.run(LOOK, |_| {}), Ok(true)) {}
        player.finish();
    }
    if let Err(error) = sink.finish() {
        eprintln!("sw_device: {error}");
    }
}

/// A counter with an end.
struct Counted {
    source: CounterSource,
    left: u64,
    /// 0: no limit.
    total: u64,
}

impl ReadSamples for Counted {
    fn info(&self) -> &StreamInfo {
        self.source.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        if self.total == 0 {
            return self.source.read(out);
        }
        let frame_bytes = self.info().frame_bytes();
        let samples = self.left.min((out.len() / frame_bytes) as u64);
        if samples == 0 {
            return Ok(0);
        }
        self.left -= samples;
        self.source.read(&mut out[..samples as usize * frame_bytes])
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.left = self.total;
        self.source.start_at(first);
    }
}

// The header documents this format of the counter.
const _: () = assert!(Format::Sc16.sample_bytes() == 4);

/// The interval between checks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// How long a freed device waits for its peer to take the sent samples.
const PATIENCE: Duration = Duration::from_secs(2);
