//! The device of the demonstration: sends the scene over a socket that loses packets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::DeviceOptions;
use samplewire::source::ReadSamples;
use samplewire::transmitter::{Overflow, PlayError, PlaySummary};
use samplewire_io::{FaultLog, FaultSpec, Udp};
use samplewire_record::source::{SourceOptions, SourceSpec};

use crate::arguments::DemoArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::metrics::{Entry, Registry};
use crate::wiring::{self, Wiring};

/// A device that plays for a while in a separate thread.
pub(super) struct Device {
    pub(super) address: SocketAddr,
    pub(super) memory_bytes: usize,
    pub(super) faults: FaultLog,
    is_given_up: Arc<AtomicBool>,
    thread: JoinHandle<Result<Option<PlaySummary>, PlayError>>,
    _entry: Entry,
}

impl Device {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start(
        arguments: &DemoArguments,
        interrupt: &Interrupt,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let mut source = scene(arguments)?;
        let socket = Udp::bind((Ipv4Addr::LOCALHOST, 0).into(), &wiring::udp_options())
            .map_err(|error| Failure::Listen(error.into()))?;
        let [data, feedback] = [0, 1].map(|side| fault_spec(arguments.seed.wrapping_add(side)));
        let Wiring { link, logs } = Wiring::new(socket).with_faults(&data, &feedback)?;
        let options = DeviceOptions::new().mtu(MTU_BYTES).window(super::WINDOW);
        let options = options.sends(source.info().clone());
        let mut device = options.listen_over(link).map_err(Failure::of_listening)?;
        let mut listener = device.listeners.remove(0);
        let (address, memory_bytes) = (listener.local_addr(), listener.memory_bytes());
        let entry = registry.add_device(0, &listener);
        let is_given_up = Arc::new(AtomicBool::new(false));
        let (given_up, interrupt) = (Arc::clone(&is_given_up), interrupt.clone());
        let (rate_hz, length) = (arguments.rate, arguments.duration);
        let play = move || loop {
            // Relaxed: the flag is checked again soon, and orders no other data.
            if given_up.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(mut stream) = listener.accept(SESSION_PAUSE)? else { continue };
            let started = Instant::now();
            let is_over = || started.elapsed() >= length || interrupt.signal().is_some();
            let overflow = Overflow::Lose { rate_hz };
            return stream.play(&mut *source, overflow, is_over).map(Some);
        };
        let thread = std::thread::Builder::new().name("demo device".into()).spawn(play)?;
        let faults = logs.faults.expect("faults were put on the link");
        Ok(Self { address, memory_bytes, faults, is_given_up, thread, _entry: entry })
    }

    /// Waits until the session is over; `None` if there was none.
    pub(super) fn finish(self) -> Result<Option<PlaySummary>, Failure> {
        self.is_given_up.store(true, Ordering::Relaxed);
        Ok(self.thread.join().expect("the device does not panic")?)
    }
}

/// Creates the signal that is sent; it is the same each time.
pub(super) fn scene(arguments: &DemoArguments) -> Result<Box<dyn ReadSamples>, Failure> {
    Ok(SourceSpec::Scene.open(&SourceOptions::new().rate_hz(arguments.rate))?)
}

/// The faults in one direction.
fn fault_spec(seed: u64) -> FaultSpec {
    FaultSpec::new().loss(0.01).corrupt(0.001).duplicate(0.001).reorder(0.01).seed(seed)
}

/// The MTU of ordinary Ethernet.
const MTU_BYTES: usize = 1_500;

const SESSION_PAUSE: Duration = Duration::from_millis(50);
