//! The recording loop over loopback: lost streams and continued recordings.

#[path = "../../samplewire/tests/bytes/mod.rs"]
mod bytes;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use num_complex::Complex;
use samplewire::format::Format;
use samplewire::receiver::Interleaved;
use samplewire::source::{NullSource, ReadSamples, StreamInfo};
use samplewire::transmitter::Overflow;
use samplewire::{DeviceInfo, DeviceOptions, End, OpenError, ReceiveError, ReceiveOptions};
use samplewire_record::recorder::{
    Observer, Opener, OptionsOpener, Progress, Recorded, Recorder, RecorderOptions, Stop,
    open_first,
};
use samplewire_record::sigmf::{Metadata, RecordedCause};
use samplewire_record::sink::{self, SinkOptions, Writer};
use samplewire_record::verify;
use serde_json::Value;

/// A device that plays each source to one receiver, in order.
fn device(sources: Vec<Box<dyn ReadSamples>>) -> (SocketAddr, JoinHandle<()>) {
    let info = sources[0].info().clone();
    let device = DeviceOptions::new().sends(info).listen("127.0.0.1:0").expect("a free port");
    let address = device.address;
    let thread = std::thread::spawn(move || {
        let mut device = device;
        for mut source in sources {
            let accepted = device.listeners[0].accept(Duration::from_secs(20));
            let mut stream = accepted.expect("the port works").expect("a receiver comes");
            // A source that fails ends its stream; the next receiver gets the next source.
            drop(stream.play(&mut *source, Overflow::Wait, || false));
        }
    });
    (address, thread)
}

/// Creates a source that counts from 0 and fails after the last sample.
fn failing(samples: usize) -> Box<dyn ReadSamples> {
    let info = StreamInfo::new(Format::Sc16, 1, 20e6).expect("a rate in range");
    Box::new(Bytes::repeated(info, vec![1; samples * 4 + 2], 1))
}

/// Counts the calls that it receives.
#[derive(Debug, Default)]
struct Seen {
    opened: u32,
    closed: u32,
    lost: u32,
    reopened: u32,
    /// Whether it stops the recording after the first samples.
    stops: bool,
    has_samples: bool,
}

impl Observer for Seen {
    fn should_stop(&mut self) -> bool {
        self.stops && self.has_samples
    }

    fn turn(&mut self, progress: &Progress<'_>) {
        self.has_samples = progress.account.delivered() > 0;
    }

    fn opened(&mut self, _receiver: &Interleaved) {
        self.opened += 1;
    }

    fn closed(&mut self) {
        self.closed += 1;
    }

    fn lost(&mut self, _stop: Stop) {
        self.lost += 1;
    }

    fn reopened(&mut self, _info: &DeviceInfo, _silence: Duration) {
        self.reopened += 1;
    }
}

/// Records into `path` and finishes the file.
fn record(
    address: SocketAddr,
    path: &Path,
    options: RecorderOptions,
    is_appended: bool,
    seen: &mut Seen,
) -> Recorded {
    let opener = OptionsOpener { options: ReceiveOptions::new().owner(7).window(16), address };
    let found =
        is_appended.then(|| sink::resumable(path, false).expect("it can be read")).flatten();
    let receiver = open_first(&opener, None, false).expect("the device answers");
    let stream = receiver.info().stream_info();
    let sink = SinkOptions::new().append(is_appended);
    let sink = sink::open(path, &stream, &sink).expect("it can be created");
    let mut writer = Writer::start(sink, 64).expect("a thread");
    let recorder = Recorder::new(options.found(found), receiver.info(), &mut writer, seen);
    let recorded = recorder.run(&opener, receiver);
    let (summary, error) = writer.finish();
    assert!(error.is_none(), "{error:?}");
    recorded.account.balance(summary.written_samples()).expect("every index is in one term");
    recorded
}

#[test]
fn stream_that_its_source_breaks_is_opened_again() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.sigmf-meta");
    let (address, device) = device(vec![failing(100_000), Bytes::counter(50_000, 1, 20e6)]);
    let mut seen = Seen::default();
    let options = RecorderOptions::new(Instant::now()).reconnect(true);
    let recorded = record(address, &path, options, false, &mut seen);
    device.join().expect("the device does not panic");
    let Stop::Ended(ReceiveError::Closed(End::Finished { .. })) = recorded.stop else {
        panic!("{:?}", recorded.stop)
    };
    assert_eq!((seen.opened, seen.closed, seen.lost, seen.reopened), (2, 2, 1, 1));
    assert_eq!((recorded.openings, recorded.account.delivered()), (2, 150_000));
    assert_eq!(recorded.counters.stream.samples_delivered, 150_000, "over both openings");
    let report = verify(&path).expect("it can be read");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

/// Opens each device once, in order.
struct InOrder(Mutex<Vec<SocketAddr>>);

impl Opener for InOrder {
    type Error = OpenError;

    fn open(&self, _timeout: Option<Duration>) -> Result<Interleaved, OpenError> {
        let address = self.0.lock().expect("no test panics here").remove(0);
        ReceiveOptions::new().owner(7).open_interleaved(address)
    }

    fn retry_after(&self, _error: &OpenError) -> Option<Duration> {
        None
    }
}

#[test]
fn device_that_comes_back_at_another_frequency_begins_a_capture_with_it() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.sigmf-meta");
    let info = |hz| StreamInfo {
        centre_frequency_hz: Some(hz),
        ..StreamInfo::new(Format::Sc16, 1, 20e6).expect("a rate in range")
    };
    let source = |hz, bytes| device(vec![Box::new(Bytes::repeated(info(hz), bytes, 1))]);
    let (first, first_thread) = source(1e9, vec![1; 100_000 * 4 + 2]);
    let (second, second_thread) = source(2e9, vec![1; 50_000 * 4]);
    let opener = InOrder(Mutex::new(vec![first, second]));
    let receiver = open_first(&opener, None, false).expect("the device answers");
    let sink = sink::open(&path, &receiver.info().stream_info(), &SinkOptions::new());
    let mut writer = Writer::start(sink.expect("it can be created"), 64).expect("a thread");
    let options = RecorderOptions::new(Instant::now()).reconnect(true);
    let mut seen = Seen::default();
    Recorder::new(options, receiver.info(), &mut writer, &mut seen).run(&opener, receiver);
    assert!(writer.finish().1.is_none());
    first_thread.join().expect("the device does not panic");
    second_thread.join().expect("the device does not panic");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let captures = Metadata::parse(&text).expect("it is valid").captures;
    let frequencies = captures.iter().map(|it| (it.sample_start, it.frequency_hz));
    assert_eq!(frequencies.collect::<Vec<_>>(), [(0, Some(1e9)), (100_000, Some(2e9))]);
    let report = verify(&path).expect("it can be read");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

/// Stops the recording once the device has stated this time of index 0.
struct UntilTime(u64);

impl Observer for UntilTime {
    fn should_stop(&mut self) -> bool {
        self.0 == 0
    }

    fn turn(&mut self, progress: &Progress<'_>) {
        let clock = progress.tai_clocks().next().flatten();
        if clock.is_some_and(|clock| clock.tai_ns(0) == self.0) {
            self.0 = 0;
        }
    }
}

#[test]
fn recording_ends_with_the_newest_time_of_a_device_that_corrects_its_clock() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.sigmf-meta");
    let info = StreamInfo::sc16("", 1e6).expect("a rate in range");
    let [first_ns, second_ns] = [1_800_000_000_000_000_000, 1_800_000_000_000_000_777];
    let clock = {
        let info = info.clone();
        move |tai_ns| info.tai_clock(0, tai_ns)
    };
    let device = DeviceOptions::new().sends(info).listen("127.0.0.1:0").expect("a free port");
    let address = device.address;
    let thread = std::thread::spawn(move || {
        let mut device = device;
        let accepted = device.listeners[0].accept(Duration::from_secs(20));
        let mut stream = accepted.expect("the port works").expect("a receiver comes");
        stream.set_tai_clock(clock(first_ns));
        let samples = [Complex::new(1_i16, 1); 1_000];
        let mut sent = 0;
        // Until the receiver closes it.
        while stream.send(&samples).is_ok() {
            sent += 1;
            if sent == 100 {
                stream.set_tai_clock(clock(second_ns));
            }
        }
    });
    let opener = OptionsOpener { options: ReceiveOptions::new().owner(7).window(16), address };
    let receiver = open_first(&opener, None, false).expect("the device answers");
    let stream = receiver.info().stream_info();
    let sink = sink::open(&path, &stream, &SinkOptions::new()).expect("it can be created");
    let mut writer = Writer::start(sink, 64).expect("a thread");
    let mut until = UntilTime(second_ns);
    let options = RecorderOptions::new(Instant::now()).duration(Some(Duration::from_secs(60)));
    let recorder = Recorder::new(options, receiver.info(), &mut writer, &mut until);
    let recorded = recorder.run(&opener, receiver);
    assert!(matches!(recorded.stop, Stop::Requested), "{:?}", recorded.stop);
    assert!(writer.finish().1.is_none());
    thread.join().expect("the device does not panic");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let global = serde_json::from_str::<Value>(&text).expect("JSON")["global"].clone();
    let number = |field: &str| global[field].as_u64().expect("a number");
    let tai_ns = number("samplewire:timed_index_tai_ns");
    assert_eq!(tai_ns, second_ns + 1_000 * number("samplewire:timed_index"));
}

#[test]
fn stream_that_is_lost_ends_a_recording_that_does_not_reconnect() {
    let (address, device) = device(vec![failing(10_000)]);
    let mut seen = Seen::default();
    let options = RecorderOptions::new(Instant::now());
    let recorded = record(address, "null".as_ref(), options, false, &mut seen);
    device.join().expect("the device does not panic");
    assert!(matches!(recorded.stop, Stop::Ended(ReceiveError::Closed(End::ClosedByPeer(_)))));
    assert_eq!((seen.lost, recorded.account.delivered()), (0, 10_000));
}

#[test]
fn recording_is_gone_on_with_and_what_lies_between_is_a_gap() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.sigmf-meta");
    let counters = || (0..2).map(|_| Bytes::counter(1_000_000, 1, 20e6)).collect();
    let (address, device) = device(counters());
    for is_appended in [false, true] {
        let options = RecorderOptions::new(Instant::now()).samples(Some(200_000));
        let recorded = record(address, &path, options, is_appended, &mut Seen::default());
        assert!(matches!(recorded.stop, Stop::Samples), "{:?}", recorded.stop);
        let missing = recorded.account.gap_samples()[RecordedCause::RecorderRestarted.position()];
        assert_eq!(missing > 0, is_appended, "{:?}", recorded.account);
        assert_eq!(recorded.account.delivered() + missing, 200_000);
    }
    device.join().expect("the device does not panic");
    let report = verify(&path).expect("it can be read");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

#[test]
fn observer_and_time_stop_a_recording_of_a_stream_without_an_end() {
    for stops in [true, false] {
        let endless = NullSource::new(Format::Sc16, 1, 20e6).expect("a rate in range");
        let (address, device) = device(vec![Box::new(endless)]);
        let mut seen = Seen { stops, ..Seen::default() };
        let duration = Duration::from_millis(if stops { 60_000 } else { 200 });
        let options = RecorderOptions::new(Instant::now()).duration(Some(duration));
        let recorded = record(address, "null".as_ref(), options, false, &mut seen);
        device.join().expect("the device does not panic");
        match recorded.stop {
            Stop::Requested => assert!(stops),
            Stop::Duration => assert!(!stops),
            other => panic!("{other:?}"),
        }
    }
}
