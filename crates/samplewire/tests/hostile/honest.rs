//! The stream that must not suffer: a device and a receiver over loopback, every byte looked at.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::receiver::ReceiverSnapshot;
use samplewire::source::{CounterSource, ReadSamples, counter_mismatch};
use samplewire::transmitter::TransmitterSnapshot;
use samplewire::{DeviceOptions, ReceiveOptions, ReceiveStream, SendStream};
use samplewire_io::{Udp, UdpOptions};
use samplewire_proto::wire::Flags;

use crate::cpu::Thread;
use crate::tally::{Counts, Tally};

/// A device that plays a counter to each receiver, one after the other.
pub(crate) struct Device {
    pub(crate) address: SocketAddr,
    /// The thread that does the I/O.
    pub(crate) io: Thread,
    pub(crate) counts: Arc<Counts>,
    stats: Arc<Mutex<TransmitterSnapshot>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, String>>,
}

impl Device {
    /// Starts to listen on 127.0.0.1. The source gives samples of `source_bps`; what departs,
    /// repeats included, is paced to `link_bps`, 0 for not at all.
    pub(crate) fn start(
        payload_bytes: u16,
        source_bps: u64,
        link_bps: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let rate_hz = source_bps as f64 / SAMPLE_BITS;
        let mut source = CounterSource::new(rate_hz, 0)?;
        let options = DeviceOptions::new().payload_bytes(payload_bytes).link_bps(link_bps);
        let (link, counts) = Tally::new(Udp::bind("127.0.0.1:0".parse()?, &UdpOptions::new())?);
        let before = Thread::named("samplewire-tx");
        let mut listener =
            options.sends(source.info().clone()).listen_over(Box::new(link))?.listeners.remove(0);
        let (address, io) = (listener.local_addr(), Thread::newest("samplewire-tx", &before));
        let stop = Arc::<AtomicBool>::default();
        let stats = Arc::<Mutex<TransmitterSnapshot>>::default();
        let (stopped, shown) = (Arc::clone(&stop), Arc::clone(&stats));
        let thread = std::thread::spawn(move || {
            let mut final_index = 0;
            while !stopped.load(Ordering::Relaxed) {
                *shown.lock().expect("no panic") = listener.stats();
                let stream = listener.accept(Duration::from_millis(20));
                if let Some(mut stream) = stream.map_err(|error| error.to_string())? {
                    let show = || stopped.load(Ordering::Relaxed);
                    final_index = play(&mut stream, &mut source, &shown, show)?;
                }
            }
            Ok(final_index)
        });
        Ok(Self { address, io, counts, stats, stop, thread })
    }

    pub(crate) fn stats(&self) -> TransmitterSnapshot {
        *self.stats.lock().expect("no panic")
    }

    /// Ends the stream that is open, and says which index is its last.
    fn finish(self) -> Result<u64, Box<dyn Error>> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.thread.join().expect("the device does not panic")?)
    }

    /// Ends whatever there is.
    pub(crate) fn stop(self) -> Result<(), Box<dyn Error>> {
        self.finish().map(|_| ())
    }
}

/// Plays until it is stopped or the session ends, and gives the final index.
fn play(
    stream: &mut SendStream,
    source: &mut CounterSource,
    shown: &Mutex<TransmitterSnapshot>,
    is_stopped: impl Fn() -> bool,
) -> Result<u64, String> {
    // The next samples are those that the last session did not take.
    let rate_hz = stream.info().rate_hz();
    *source =
        CounterSource::new(rate_hz, stream.session().first_index).map_err(|e| e.to_string())?;
    let mut due = Instant::now();
    let frame_bytes = stream.info().frame_bytes();
    let mut index = stream.session().first_index;
    while !is_stopped() {
        *shown.lock().expect("no panic") = stream.stats();
        match stream.quantum(Duration::from_millis(20)) {
            Ok(Some(mut filling)) => {
                let room = filling.bytes_mut();
                let len_bytes = source.read(room).map_err(|error| error.to_string())?;
                stream.submit(filling, len_bytes, index, Flags::NONE).expect("it follows");
                let samples = (len_bytes / frame_bytes) as u64;
                index += samples;
                // A source that was held up for longer does not catch up: what the stream did not
                // take in one window must not flatter the next.
                due = due.max(Instant::now() - CATCHING_UP_MAX);
                due += Duration::from_secs_f64(samples as f64 / rate_hz);
                // A converter's pace, in real time.
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            Ok(None) => {}
            Err(_ended) => return Ok(index),
        }
    }
    let end = stream.finish(0).map_err(|error| error.to_string())?;
    Ok(end.final_index)
}

/// The stream.
pub(crate) struct Honest {
    pub(crate) device: Device,
    /// Where the receiver takes its packets.
    pub(crate) client: SocketAddr,
    /// The receiver's thread that does the I/O.
    pub(crate) io: Thread,
    pub(crate) counts: Arc<Counts>,
    taken: Arc<Taken>,
    thread: JoinHandle<Result<u64, String>>,
}

/// What the program that receives has.
#[derive(Default)]
struct Taken {
    bytes: AtomicU64,
    stats: Mutex<ReceiverSnapshot>,
}

/// Everything at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Bytes of samples that the program took.
    pub(crate) taken_bytes: u64,
    pub(crate) receiver: ReceiverSnapshot,
    pub(crate) transmitter: TransmitterSnapshot,
    pub(crate) receiver_cpu_ns: u64,
    pub(crate) device_cpu_ns: u64,
    /// Bytes of REPORTs.
    pub(crate) feedback_bytes: u64,
}

impl Honest {
    /// Opens `device` with complete delivery.
    pub(crate) fn open(device: Device) -> Result<Self, Box<dyn Error>> {
        let (link, counts) = Tally::new(Udp::client(device.address, &UdpOptions::new())?);
        let client = samplewire_io::Link::local_addr(&link);
        let before = Thread::named("samplewire-rx");
        let options = ReceiveOptions::new().owner(OWNER);
        let receiver = options.open_over(Box::new(link), device.address)?;
        let io = Thread::newest("samplewire-rx", &before);
        let taken = Arc::<Taken>::default();
        let shared = Arc::clone(&taken);
        let thread = std::thread::spawn(move || receive(receiver, &shared));
        Ok(Self { device, client, io, counts, taken, thread })
    }

    pub(crate) fn now(&self) -> Moment {
        Moment {
            taken_bytes: self.taken.bytes.load(Ordering::Relaxed),
            receiver: *self.taken.stats.lock().expect("no panic"),
            transmitter: self.device.stats(),
            receiver_cpu_ns: self.io.cpu_ns(),
            device_cpu_ns: self.device.io.cpu_ns(),
            feedback_bytes: self.counts.sent_bytes.load(Ordering::Relaxed),
        }
    }

    /// Whether it is still whole: a stream that has ended or lost a sample is not.
    pub(crate) fn is_alive(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends the stream at the device and checks that every index came, once.
    pub(crate) fn finish(self) -> Result<u64, Box<dyn Error>> {
        let is_alive = self.is_alive();
        let sent_end = self.device.finish()?;
        let taken_end = self.thread.join().expect("the receiver does not panic")?;
        if !is_alive || taken_end != sent_end {
            return Err(format!("the stream ended at {taken_end} of {sent_end}").into());
        }
        Ok(taken_end)
    }
}

/// Takes all samples and gives the index after the last; anything missing is an error.
fn receive(mut receiver: ReceiveStream, taken: &Taken) -> Result<u64, String> {
    let mut expected = receiver.info().first_index;
    while receiver.end().is_none() {
        if let Ok(mut stats) = taken.stats.lock() {
            *stats = receiver.stats();
        }
        let Ok(Some(block)) = receiver.next_within(Duration::from_millis(20)) else { continue };
        if block.index() != expected || !block.gaps().is_empty() {
            let (index, gaps) = (block.index(), block.gaps());
            return Err(format!("index {index} instead of {expected}, gaps {gaps:?}"));
        }
        if let Some(index) = counter_mismatch(block.index(), block.bytes()) {
            return Err(format!("index {index} is not what was sent"));
        }
        expected += block.len() as u64;
        taken.bytes.fetch_add(block.bytes().len() as u64, Ordering::Relaxed);
    }
    match receiver.end() {
        Some(Ok(samplewire_proto::stream::End::Finished { .. })) => Ok(expected),
        end => Err(format!("the stream ended at {expected}: {end:?}")),
    }
}

/// Of sc16.
const SAMPLE_BITS: f64 = 32.0;

/// How long a source's samples wait for the stream.
const CATCHING_UP_MAX: Duration = Duration::from_millis(10);

/// The program that opens the device, each time the same.
pub(crate) const OWNER: u64 = 0x000F_F1CE;
