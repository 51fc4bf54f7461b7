//! A device and a receiver over loopback, with faults between them.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use samplewire::receiver::ReceiveStream;
use samplewire::source::ReadSamples;
use samplewire::transmitter::{Overflow, PlaySummary};
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_io::{FaultLog, FaultSpec, Faults, Udp, UdpOptions};
use samplewire_testing::PATIENCE;

/// A device that plays one source to one receiver.
pub(crate) struct Device {
    pub(crate) address: SocketAddr,
    pub(crate) log: FaultLog,
    thread: JoinHandle<PlaySummary>,
}

impl Device {
    /// Starts to listen; `data` are the faults of what the device sends, `feedback` of what it gets.
    pub(crate) fn start(
        local: &str,
        mut source: Box<dyn ReadSamples>,
        options: &DeviceOptions,
        (data, feedback): (&FaultSpec, &FaultSpec),
        overflow: Overflow,
    ) -> Self {
        let udp = Udp::bind(local.parse().expect("an address"), &UdpOptions::new());
        let faults = Faults::new(udp.expect("a free port"), data, feedback).expect("good faults");
        let log = faults.log();
        let device = options.clone().sends(source.info().clone()).listen_over(Box::new(faults));
        let mut listener = device.expect("it listens").listeners.remove(0);
        let address = listener.local_addr();
        let thread = std::thread::spawn(move || {
            let mut stream =
                listener.accept(PATIENCE).expect("the port works").expect("a receiver comes");
            stream.play(&mut *source, overflow, || false).expect("it plays")
        });
        Self { address, log, thread }
    }

    pub(crate) fn receive(&self, options: &ReceiveOptions) -> ReceiveStream {
        options.clone().timeout(PATIENCE).open(self.address).expect("the device answers")
    }

    pub(crate) fn finish(self) -> PlaySummary {
        self.thread.join().expect("the device does not panic")
    }
}
