//! A device in this process, for tests and notebooks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use samplewire::DeviceOptions;
use samplewire::device::{PlayCounts, Player, ReceiveListener, STREAMS_MAX, SampleClock};
use samplewire::format::Format;
use samplewire::source::{ReadSamples, StreamInfo};
use samplewire::transmitter::{Canceller, Listener, Overflow};
use samplewire_io::FaultLog;
use samplewire_io::faults::Direction;
use samplewire_proto::OutOfRange;
use samplewire_record::sink::{self, SinkOptions, WriteSamples};

use crate::own::{Home, Own};
use crate::source::Supply;
use crate::wait::without_gil;
use crate::{errors, options, tables};

/// A device whose threads serve one session after another until it is closed.
#[pyclass(frozen, module = "samplewire")]
pub(crate) struct Device {
    home: Home,
    #[pyo3(get)]
    address: String,
    shared: Arc<Shared>,
    faults: Option<FaultLog>,
    /// The direction of the samples on the link.
    data: Direction,
    crew: Mutex<Own<Crew>>,
}

/// The threads of a device, and the handles that end their sessions.
#[derive(Default)]
struct Crew {
    threads: Vec<JoinHandle<()>>,
    cancellers: Vec<Canceller>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    played: Mutex<Vec<PlayCounts>>,
    /// Errors that ended a thread early.
    failures: Mutex<Vec<String>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.is_over.load(Ordering::Relaxed)
    }

    fn note(&self, ended: Result<(), String>) {
        if let Err(failure) = ended {
            self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
    }
}

impl Device {
    fn crew(&self) -> MutexGuard<'_, Own<Crew>> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the threads end after the sent samples.
    fn stop(&self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether all threads have ended; with `is_cancelled`, drops samples that have not departed.
    fn has_ended(&self, is_cancelled: bool) -> bool {
        let crew = self.crew();
        let has_ended = crew.threads.iter().all(JoinHandle::is_finished);
        if is_cancelled && !has_ended {
            crew.cancellers.iter().for_each(Canceller::cancel);
        }
        has_ended
    }

    fn join(&self) {
        for thread in self.crew().threads.drain(..) {
            if thread.join().is_err() {
                self.shared.note(Err("a thread of the device broke".into()));
            }
        }
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (address, supply, *, streams, plays, paced, faults, window, payload_bytes,
        control, carriage))]
    #[expect(clippy::too_many_arguments, reason = "Python's half names each")]
    fn start(
        py: Python<'_>,
        address: &str,
        supply: Supply,
        streams: usize,
        plays: Option<String>,
        paced: bool,
        faults: Vec<String>,
        window: u32,
        payload_bytes: Option<u16>,
        control: (String, Option<u64>),
        carriage: &str,
    ) -> PyResult<Self> {
        if streams > STREAMS_MAX || (streams == 0 && plays.is_none()) {
            let range = format_args!("1 to {STREAMS_MAX}");
            let message = OutOfRange("streams", streams, range).to_string();
            return Err(PyValueError::new_err(message));
        }
        let carriage = options::carriage(carriage)?;
        let address = options::resolve(py, address)?;
        supply.check(py)?;
        let format = supply.format()?;
        let of_source = |error| errors::source_error(py, &error);
        let sends = (0..streams).map(|_| supply.open(format).map(|it| it.info().clone()));
        let sends: Vec<StreamInfo> = sends.collect::<Result<_, _>>().map_err(of_source)?;
        let inward = match &plays {
            Some(_) => Some(supply.info(format).map_err(of_source)?),
            None => None,
        };
        let sink = match (&plays, &inward) {
            (Some(path), Some(info)) => {
                let opened = sink::open(path.as_ref(), info, &SinkOptions::new());
                Some(opened.map_err(|error| errors::sink_error(py, &error))?)
            }
            _ => None,
        };
        // What a device that only plays sends is feedback.
        let data = if sends.is_empty() { Direction::Receive } else { Direction::Transmit };
        let (link, log) = options::device_link(py, (address, data), &faults)?;
        let control = options::control(&control.0, control.1)?;
        let mut port_options =
            DeviceOptions::new().window(window).control(control).carriage(carriage);
        if let Some(payload_bytes) = payload_bytes {
            port_options = port_options.payload_bytes(payload_bytes);
        }
        let clocked = inward.as_ref().or(sends.first().filter(|_| sends.len() > 1));
        let clock = clocked.filter(|_| paced).map(|it| SampleClock::start(it, Instant::now()));
        port_options = sends.iter().cloned().fold(port_options, DeviceOptions::sends);
        if let Some(info) = &inward {
            port_options = port_options.plays(info.clone());
        }
        if let Some(clock) = clock {
            port_options = port_options.clock(clock);
        }
        let port = port_options.listen_over(link);
        let port = port.map_err(|error| errors::open_error(py, &error))?;
        let shared = Arc::new(Shared::default());
        let mut crew = Crew::default();
        for (transmitter, info) in port.listeners.into_iter().zip(&sends) {
            let overflow = match clock {
                _ if !paced => Overflow::Wait,
                Some(clock) => Overflow::Keep(clock),
                None => Overflow::Lose { rate_hz: info.rate_hz() },
            };
            let (shared, supply) = (Arc::clone(&shared), supply.clone());
            crew.cancellers.push(transmitter.canceller());
            crew.threads.push(spawn(move || {
                shared.note(send(transmitter, (&supply, format), overflow, &shared));
            })?);
        }
        if let (Some(receive_listener), Some(sink)) = (port.receive_listener, sink) {
            let shared = Arc::clone(&shared);
            let work = move || shared.note(play(receive_listener, sink, clock, &shared));
            crew.threads.push(spawn(work)?);
        }
        Ok(Self {
            home: Home::here(),
            address: port.address.to_string(),
            shared,
            faults: log,
            data,
            crew: Mutex::new(Own::new(crew)),
        })
    }

    /// The result of each finished session that was played.
    fn played<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.home.check(py)?;
        let played = self.shared.played.lock().unwrap_or_else(PoisonError::into_inner).clone();
        played.iter().map(|counts| tables::play_counts(py, counts)).collect()
    }

    /// Counts of the faults injected into data packets.
    fn faults<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.home.check(py)?;
        let counts = self.faults.as_ref().map(|log| log.counts(self.data));
        counts.map(|counts| tables::fault_counts(py, &counts)).transpose()
    }

    fn failures(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.home.check(py)?;
        Ok(self.shared.failures.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Ends the device after the sent samples. Samples that peers do not take within [`PATIENCE`],
    /// or before a signal comes, are dropped.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.home.is_here() {
            return Ok(());
        }
        self.stop();
        let patient_until = Instant::now() + PATIENCE;
        let mut signal = Ok(());
        while !self.has_ended(signal.is_err() || Instant::now() >= patient_until) {
            py.detach(|| sleep(PAUSE));
            signal = signal.and_then(|()| py.check_signals());
        }
        py.detach(|| self.join());
        signal
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.home.is_here() {
            self.stop();
            without_gil(|| {
                while !self.has_ended(true) {
                    sleep(PAUSE);
                }
                self.join();
            });
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    Builder::new().name("samplewire-device".to_owned()).spawn(work)
}

fn send(
    mut listener: Listener,
    (supply, format): (&Supply, Option<Format>),
    overflow: Overflow,
    shared: &Shared,
) -> Result<(), String> {
    while !shared.is_over() {
        let stream = listener.accept(PAUSE).map_err(|error| error.to_string())?;
        let Some(mut stream) = stream else { continue };
        let mut source = supply.open(format).map_err(|error| error.to_string())?;
        let played = stream.play(&mut source, overflow, || shared.is_over());
        played.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn play(
    mut receive_listener: ReceiveListener,
    mut sink: Box<dyn WriteSamples>,
    clock: Option<SampleClock>,
    shared: &Shared,
) -> Result<(), String> {
    let mut is_over = false;
    while !is_over {
        // A session that came before the end is played, however short it was.
        is_over = shared.is_over();
        let incoming = receive_listener.accept(PAUSE).map_err(|error| error.to_string())?;
        let Some(incoming) = incoming else { continue };
        let mut player = Player::new(incoming.receiver, clock, incoming.underflow, &mut sink);
        let (mut played, mut over_at) = (0, None);
        while player.run(PAUSE, |_| {}).map_err(|error| error.to_string())? {
            let before = std::mem::replace(&mut played, player.counts().played);
            if !shared.is_over() {
                continue;
            }
            // What has come is played first, where no clock says when.
            let over_at = *over_at.get_or_insert_with(Instant::now);
            if clock.is_some() || played == before || over_at.elapsed() > PATIENCE {
                break;
            }
        }
        let counts = player.finish().counts;
        shared.played.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
    }
    sink.finish().map(drop).map_err(|error| error.to_string())
}

/// The interval between checks whether the device is closed, and has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a closed device waits for peers to take the sent samples.
const PATIENCE: Duration = Duration::from_secs(2);
