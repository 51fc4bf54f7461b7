//! A stream over real sockets whose DATA is marked: it slows down, and recovers without marks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::format::Format;
use samplewire::source::NullSource;
use samplewire::transmitter::{Overflow, StatsHandle, TransmitterSnapshot};
use samplewire::{Control, DeviceOptions, ReceiveOptions};
use samplewire_io::{Batch, Capabilities, Ecn, Link, LinkError, Outgoing, Udp, UdpOptions, Waker};
use samplewire_testing::{PATIENCE, wait_for};

/// A switch that marks all DATA or none, behind an interface of that speed.
struct Switch {
    link: Udp,
    marks: Arc<AtomicBool>,
    line_bps: Option<u64>,
}

impl Link for Switch {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        if !self.marks.load(Ordering::Relaxed) {
            return self.link.send(packets);
        }
        // Control packets are not ECN-capable.
        let ecn = |ecn| if ecn == Ecn::Ect0 { Ecn::Ce } else { ecn };
        let marked: Vec<_> =
            packets.iter().map(|packet| Outgoing { ecn: ecn(packet.ecn), ..*packet }).collect();
        self.link.send(&marked)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn line_bps(&mut self, _peer: SocketAddr) -> Option<u64> {
        self.line_bps
    }
}

/// A device that sends as fast as it may, and a receiver that drops what it gets.
struct Run {
    marks: Arc<AtomicBool>,
    stats: StatsHandle,
    stop: Arc<AtomicBool>,
    threads: [JoinHandle<()>; 2],
}

impl Run {
    fn start(control: Control, line_bps: Option<u64>) -> Self {
        let marks = Arc::<AtomicBool>::default();
        let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
        let link = Switch { link, marks: Arc::clone(&marks), line_bps };
        let mut source = NullSource::new(Format::Sc16, 1, 1e6).unwrap();
        let mut info = samplewire::source::ReadSamples::info(&source).clone();
        // Its rate is unknown: it sends as fast as it may.
        info.rate_numerator = 0;
        let options = DeviceOptions::new().control(control).sends(info);
        let mut device = options.listen_over(Box::new(link)).unwrap();
        let (address, stats) = (device.address, device.listeners[0].stats_handle());
        let stop = Arc::<AtomicBool>::default();
        let (sender_stop, receiver_stop) = (Arc::clone(&stop), Arc::clone(&stop));
        let sender = std::thread::spawn(move || {
            let mut stream = device.accept().unwrap();
            let stopped = || sender_stop.load(Ordering::Relaxed);
            stream.play(&mut source, Overflow::Wait, stopped).unwrap();
        });
        let receiver = std::thread::spawn(move || {
            let stream = ReceiveOptions::new().open(address).unwrap();
            for block in stream {
                assert_eq!(block.unwrap().gaps(), []);
            }
            assert!(receiver_stop.load(Ordering::Relaxed), "the device ended it");
        });
        Self { marks, stats, stop, threads: [sender, receiver] }
    }

    fn mark(&self, on: bool) {
        self.marks.store(on, Ordering::Relaxed);
    }

    fn stats(&self) -> TransmitterSnapshot {
        self.stats.stats()
    }

    /// Waits until the counters fit, and returns them.
    fn until(
        &self,
        what: &str,
        is_so: impl Fn(&TransmitterSnapshot) -> bool,
    ) -> TransmitterSnapshot {
        wait_for(what, PATIENCE, || Some(self.stats()).filter(&is_so))
    }

    /// Bits of UDP payload a second over a span.
    fn rate_bps(&self, span: Duration) -> f64 {
        let (begin, before) = (Instant::now(), self.stats().stream.bytes);
        // The span of the measurement.
        std::thread::sleep(span);
        // The counters are some milliseconds old at both ends.
        (self.stats().stream.bytes - before) as f64 * 8.0 / begin.elapsed().as_secs_f64()
    }

    /// Waits until the rate over a span fits, and returns it: a round trip that lasts longer than the
    /// rate takes to recover, as on a busy machine, cuts too seldom.
    fn until_rate(&self, what: &str, is_so: impl Fn(f64) -> bool) -> f64 {
        let look = || Some(self.rate_bps(Duration::from_millis(100))).filter(|bps| is_so(*bps));
        wait_for(what, PATIENCE, look)
    }

    fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// `docs/protocol.md#8.5`: where each packet is marked, the rate settles at about one packet in five
/// periods of the timer, 260 Mb/s for packets of 9,000 bytes.
#[test]
fn stream_that_is_marked_slows_down_and_recovers() {
    let low_bps = 400_000_000;
    for line_bps in [None, Some(1_000_000_000)] {
        let run = Run::start(Control::default(), line_bps);
        let free = run.until("sending", |it| it.stream.packets > 1_000);
        assert_eq!((free.stream.limit_bps, free.stream.cuts), (0, 0), "no marks, no limit");
        run.mark(true);
        let slow = run.until("slow", |it| (1..low_bps).contains(&it.stream.limit_bps));
        assert!(slow.stream.cuts >= 3, "{:?}", slow.stream);
        let slow_bps = run.until_rate("slow", |bps| bps < 1.5 * low_bps as f64);
        run.mark(false);
        let free = run.until("free again", |it| it.stream.limit_bps == 0);
        assert!(free.stream.allowed_bps().is_some_and(|bps| bps > 10_000_000), "{free:?}");
        run.until_rate("fast again", |bps| bps > 1.5 * slow_bps);
        run.finish();
    }
}

#[test]
fn fixed_control_keeps_its_rate_whatever_is_marked() {
    let run = Run::start(Control::Fixed { bps: 50_000_000 }, None);
    run.mark(true);
    let stats = run.until("marked", |it| it.stream.congestion > 100);
    assert_eq!((stats.stream.cuts, stats.stream.limit_bps), (0, 50_048_828));
    let rate_bps = run.rate_bps(Duration::from_millis(500));
    assert!((25e6..55e6).contains(&rate_bps), "{rate_bps:e} b/s");
    run.finish();
}
