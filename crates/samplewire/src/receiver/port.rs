//! A port of a host: one I/O thread and one link for many streams, of one device or of several.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Instant;

use samplewire_io::udp::route_mtu_bytes;
use samplewire_io::{Capabilities, Link, Resilient, Udp, UdpOptions};
use samplewire_proto::session::OpenConfig;
use samplewire_proto::wire::Role;

use super::{Begun, ReceiveStream, begin};
use crate::counters::PortStats;
use crate::driver::{self, Clock, Running, Stepped};
use crate::endpoint::{Accepted, Command, Counts, Endpoint, Entry, Opened, Opening, Receiving};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening::{self, Limits, first_free};
use crate::options::ReceiveOptions;
use crate::port::{BATCH_PACKETS, Epoch, PACKET_OVERHEAD_BYTES, seed};
use crate::real_time::RealTime;
use crate::wakeups::{WakeHandle, Wakeups};

/// A port on which streams are opened that share its socket and its I/O thread.
///
/// Each stream is a [`ReceiveStream`] with a window, quanta and a ring of its own: one whose
/// program is slow runs out of credit, and the others go on. The port may be dropped before its
/// streams; the thread ends with the last of them.
///
/// ```
/// use samplewire::receiver::Port;
/// use samplewire::source::{CounterSource, Source};
/// use samplewire::transmitter::Overflow;
/// use samplewire::{DeviceOptions, UdpOptions};
/// use std::time::Duration;
///
/// // A device that counts on each of three streams.
/// let counter = || CounterSource::new(1e6, 0).expect("a rate in range");
/// let infos = [0; 3].map(|_| counter().info().clone());
/// let device = infos.into_iter().fold(samplewire::device(), DeviceOptions::sends);
/// let device = device.listen("127.0.0.1:0")?;
/// for mut listener in device.listeners {
///     std::thread::spawn(move || {
///         let mut stream = listener.accept(Duration::from_secs(5)).unwrap().unwrap();
///         stream.play(&mut counter(), Overflow::Wait, || false)
///     });
/// }
///
/// let port = Port::connect(device.address, &UdpOptions::new())?;
/// let options = samplewire::receive().streams(0..3).window(64);
/// let receivers = port.open_each(device.address, &options)?;
/// for mut receiver in receivers {
///     let mut samples = 0;
///     for block in receiver.by_ref() {
///         samples += block?.len();
///         if samples >= 1_000_000 {
///             break;
///         }
///     }
///     assert!(samples >= 1_000_000);
///     receiver.close();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Port {
    commands: Option<mpsc::Sender<Command>>,
    wake_handle: WakeHandle,
    wakeups: Arc<Wakeups>,
    epoch: Epoch,
    local: SocketAddr,
    memory_bytes: usize,
    counts: Arc<Counts>,
    drive: driver::Port,
    /// How many streams it may have.
    places: usize,
}

/// What the streams of a port share, for the time after the port's handle is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct PortShare {
    pub(super) memory_bytes: usize,
    counts: Arc<Counts>,
}

impl PortShare {
    pub(super) fn stats(&self) -> PortStats {
        // Relaxed: counts for people.
        PortStats {
            corrupted: self.counts.corrupted.load(Ordering::Relaxed),
            foreign: self.counts.foreign.load(Ordering::Relaxed),
        }
    }
}

/// A stream that is being opened over an endpoint that is stepped.
#[derive(Debug)]
pub struct PendingReceiver {
    address: SocketAddr,
    options: ReceiveOptions,
    answer: Answer,
}

/// The answer to an opening.
pub(crate) type Answer = mpsc::Receiver<Result<Accepted, OpenError>>;

impl Port {
    /// A port for any number of devices, at `local`; port 0 lets the system choose.
    ///
    /// # Errors
    /// The address cannot be bound, or the system refuses memory or a thread.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        Self::over(Box::new(Udp::bind(local, options)?), &RealTime::default())
    }

    /// A port for the streams of the device at `address` alone: packets of others do not reach it.
    ///
    /// # Errors
    /// No route leads there, or the system refuses memory or a thread.
    pub fn connect(address: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        Self::over(Box::new(Udp::client(address, options)?), &RealTime::default())
    }

    /// A port over a link of the caller's: with faults, a capture, in memory. `real_time` holds for
    /// its I/O thread; huge pages and locked memory are a matter of each stream's options.
    ///
    /// # Errors
    /// An option is out of range, or the system refuses memory or a thread.
    pub fn over(link: Box<dyn Link>, real_time: &RealTime) -> Result<Self, OpenError> {
        real_time.check()?;
        Self::start("samplewire-rx", Resilient::new(link), real_time, Self::STREAMS_MAX)
    }

    /// A port for one stream at a time, which has the link and its thread, of that name, for
    /// itself.
    pub(crate) fn for_one(
        name: &str,
        link: Resilient,
        real_time: &RealTime,
    ) -> Result<Self, OpenError> {
        real_time.check()?;
        Self::start(name, link, real_time, 1)
    }

    fn start(
        name: &str,
        link: Resilient,
        real_time: &RealTime,
        places: usize,
    ) -> Result<Self, OpenError> {
        let clock = Clock::start();
        let drive = |capabilities, stepped, wakeups| {
            let running = Running { stepped, clock, wakeups };
            driver::Port::start(name, capabilities, real_time, None, running)
        };
        Self::make(link, real_time, places, clock.epoch(), BATCH_PACKETS, drive)
    }

    /// A port whose endpoint is stepped, takes a packet in a turn, and has `places` for streams, a
    /// power of two. Times count from `epoch`.
    ///
    /// # Errors
    /// None at present.
    #[doc(hidden)]
    pub fn stepped(
        link: Box<dyn Link>,
        places: usize,
        epoch: Instant,
    ) -> Result<(Self, Stepped), OpenError> {
        let (link, real_time) = (Resilient::new(link), RealTime::default());
        let mut made = None;
        let port =
            Self::make(link, &real_time, places, Epoch(epoch), 1, |capabilities, stepped, _| {
                made = Some(stepped);
                Ok(driver::Port::stepped(capabilities))
            })?;
        Ok((port, made.expect("it was made")))
    }

    fn make(
        link: Resilient,
        real_time: &RealTime,
        places: usize,
        epoch: Epoch,
        batch_packets: usize,
        drive: impl FnOnce(Capabilities, Stepped, Arc<Wakeups>) -> io::Result<driver::Port>,
    ) -> Result<Self, OpenError> {
        let (local, capabilities) = (link.local_addr(), link.capabilities());
        // The last calls for the commands.
        let wakeups = Wakeups::new(places + 1, link.waker(), real_time.rests());
        let wake_handle = wakeups.wake_handle(places);
        let counts = Arc::new(Counts::default());
        let (commands, taken) = mpsc::channel();
        let spins = real_time.how_it_waits().is_io_spinning();
        let shown = Arc::clone(&counts);
        let endpoint = Endpoint::opener(link, places, spins, Arc::clone(&wakeups), taken, shown);
        let stepped = Stepped::new(endpoint, batch_packets);
        let memory_bytes = stepped.batch_bytes();
        let drive = drive(capabilities, stepped, Arc::clone(&wakeups))?;
        let commands = Some(commands);
        Ok(Self {
            commands,
            wake_handle,
            wakeups,
            epoch,
            local,
            memory_bytes,
            counts,
            drive,
            places,
        })
    }

    /// The most streams of a port at a time.
    pub const STREAMS_MAX: usize = 1_024;

    /// Opens a stream of the device at `address`: the one that the options name, or the first that
    /// sends and is free.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open`]; also when the port has [`Port::STREAMS_MAX`] streams, or has
    /// failed.
    ///
    /// # Blocking
    /// Until the stream is open, at most for the time that the options set.
    pub fn open(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<ReceiveStream, OpenError> {
        // An option out of range is an error before a packet is sent.
        options.check_single()?;
        options.receiver_config()?;
        let accepted = self.open_first(address, options.receive_config()?, options.limits())?;
        self.begin(address, &accepted, options)
    }

    /// Starts to open a stream over an endpoint that is stepped; `seed` is what the opening may
    /// draw from.
    ///
    /// # Errors
    /// An option is out of range, or the port has failed.
    #[doc(hidden)]
    pub fn start_opening(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
        seed: [u8; 16],
    ) -> Result<PendingReceiver, OpenError> {
        options.receiver_config()?;
        let answer = self.ask(address, options.receive_config()?, options.limits(), seed)?;
        Ok(PendingReceiver { address, options: options.clone(), answer })
    }

    /// Starts to ask a device of the stream that the options name, without opening it; see
    /// [`Port::start_opening`].
    ///
    /// # Errors
    /// See [`Port::start_opening`].
    #[doc(hidden)]
    pub fn start_describing(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
        seed: [u8; 16],
    ) -> Result<PendingReceiver, OpenError> {
        let stream = options.named_streams().first().copied().unwrap_or(0);
        let config = OpenConfig::new(Role::Describe, stream, 0);
        let answer = self.ask(address, config, options.limits(), seed)?;
        Ok(PendingReceiver { address, options: options.clone(), answer })
    }

    /// What the device says of a stream, or the error, once that is settled.
    #[doc(hidden)]
    pub fn poll_describing(
        &self,
        asked: &PendingReceiver,
    ) -> Option<Result<DeviceInfo, OpenError>> {
        let described = self.poll_answer(&asked.answer)?;
        Some(described.and_then(|it| opening::describe(asked.address, &it.accept)))
    }

    /// The stream of an opening, or its error, once that is settled.
    #[doc(hidden)]
    pub fn poll_opening(
        &self,
        opening: &PendingReceiver,
    ) -> Option<Result<ReceiveStream, OpenError>> {
        let accepted = self.poll_answer(&opening.answer)?;
        Some(accepted.and_then(|it| self.begin(opening.address, &it, &opening.options)))
    }

    /// The answer to an opening, once there is one.
    pub(crate) fn poll_answer(&self, answer: &Answer) -> Option<Result<Accepted, OpenError>> {
        match answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(self.gone())),
        }
    }

    /// Opens the streams of the device at `address` that the options name, or its first that sends;
    /// their receivers are in this order. Where one cannot be opened the others are closed again.
    ///
    /// # Errors
    /// See [`Port::open`]; also when a stream is named twice.
    ///
    /// # Blocking
    /// Until all are open: two round trips for every [`Port::OPENINGS_MAX`] of them, while nothing
    /// is lost.
    pub fn open_each(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<Vec<ReceiveStream>, OpenError> {
        options.check_distinct()?;
        options.receiver_config()?;
        let config = options.receive_config()?;
        let Some(streams) = options.several_streams() else {
            return Ok(vec![self.open(address, options)?]);
        };
        let mut receivers = Vec::with_capacity(streams.len());
        let configs = streams.iter().map(|&stream| config.with_stream(stream));
        self.ask_each(address, configs, options.limits(), |accepted| {
            receivers.push(self.begin(address, &accepted, options)?);
            Ok(())
        })?;
        Ok(receivers)
    }

    /// Asks the device for a description of each stream, without opening it.
    pub(crate) fn describe_each(
        &self,
        address: SocketAddr,
        streams: &[u16],
        limits: Limits,
    ) -> Result<Vec<DeviceInfo>, OpenError> {
        let mut infos = Vec::with_capacity(streams.len());
        let configs = streams.iter().map(|&stream| OpenConfig::new(Role::Describe, stream, 0));
        self.ask_each(address, configs, limits, |accepted| {
            infos.push(opening::describe(address, &accepted.accept)?);
            Ok(())
        })?;
        Ok(infos)
    }

    /// Sends these openings, [`Port::OPENINGS_MAX`] at a time, and takes their answers in order.
    /// After an error it sends no more, and still takes what is accepted, so that the caller can
    /// close it.
    fn ask_each(
        &self,
        address: SocketAddr,
        mut configs: impl Iterator<Item = OpenConfig>,
        limits: Limits,
        mut take: impl FnMut(Accepted) -> Result<(), OpenError>,
    ) -> Result<(), OpenError> {
        let mut asked = VecDeque::with_capacity(Self::OPENINGS_MAX);
        let mut failed = None;
        loop {
            while failed.is_none() && asked.len() < Self::OPENINGS_MAX {
                let Some(config) = configs.next() else { break };
                match seed()
                    .map_err(OpenError::from)
                    .and_then(|seed| self.ask(address, config, limits, seed))
                {
                    Ok(answer) => asked.push_back(answer),
                    Err(error) => failed = Some(error),
                }
            }
            let Some(answer) = asked.pop_front() else { return failed.map_or(Ok(()), Err) };
            if let Err(error) = self.wait(&answer).and_then(&mut take) {
                failed.get_or_insert(error);
            }
        }
    }

    /// How many streams [`Port::open_each`] opens at a time.
    pub const OPENINGS_MAX: usize = 32;

    /// The local address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.drive.capabilities
    }

    /// The port's own memory in bytes; each stream says its own.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// What was counted besides the streams.
    pub fn stats(&self) -> PortStats {
        self.share().stats()
    }

    pub(super) fn share(&self) -> PortShare {
        PortShare { memory_bytes: self.memory_bytes, counts: Arc::clone(&self.counts) }
    }

    /// Opens the stream that the configuration names, or where none was chosen the first after it
    /// that is free and goes the way of its role.
    pub(crate) fn open_first(
        &self,
        address: SocketAddr,
        config: OpenConfig,
        limits: Limits,
    ) -> Result<Accepted, OpenError> {
        first_free(config, limits.is_stream_chosen, |config| {
            self.wait(&self.ask(address, config, limits, seed()?)?)
        })
    }

    /// Lets the endpoint serve a stream at the place where it was accepted, and returns what its
    /// handle has of the port.
    pub(crate) fn serve(&self, place: usize, entry: Entry) -> Result<driver::Port, OpenError> {
        self.send(Command::Begin(place, entry))?;
        Ok(self.drive.clone())
    }

    /// How the program calls for the stream at a place.
    pub(crate) fn wake_handle(&self, place: usize) -> WakeHandle {
        self.wakeups.wake_handle(place)
    }

    /// Asks the endpoint to open a stream.
    pub(crate) fn ask(
        &self,
        address: SocketAddr,
        config: OpenConfig,
        limits: Limits,
        seed: [u8; 16],
    ) -> Result<Answer, OpenError> {
        let Capabilities { kind, mtu_bytes, .. } = self.drive.capabilities;
        // A socket of any address knows the largest of its interfaces. Other links have no route.
        let route = if kind == "udp" { route_mtu_bytes(address).ok() } else { None };
        let mtu_bytes = route.map_or(mtu_bytes, |route| route.min(mtu_bytes));
        let config = limits.apply(config, mtu_bytes, address)?;
        let (told, answer) = mpsc::channel();
        let opening = Opening::new(address, limits.timeout, config, seed, told);
        self.send(Command::Open(Box::new(opening)))?;
        Ok(answer)
    }

    fn wait(&self, answer: &Answer) -> Result<Accepted, OpenError> {
        if !self.drive.drive.is_inline() {
            return answer.recv().unwrap_or_else(|_| Err(self.gone()));
        }
        loop {
            let goes_on = self.drive.drive.turn();
            match answer.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Empty) if goes_on => {}
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Err(self.gone()),
            }
        }
    }

    /// Lets the endpoint serve a stream that was accepted. Memory is taken here, where it keeps no
    /// other stream waiting.
    fn begin(
        &self,
        address: SocketAddr,
        accepted: &Accepted,
        options: &ReceiveOptions,
    ) -> Result<ReceiveStream, OpenError> {
        let &Accepted { place, ref accept, at } = accepted;
        let wake_handle = self.wakeups.wake_handle(place);
        // The port decides how its streams wait.
        let waits = self.drive.granted.waits;
        let options = options.clone().real_time(options.real_time.clone().waits(waits));
        let Begun { flow, mut block_queue, info, pages } =
            begin(at, (address, self.epoch), accept, &options, wake_handle)?;
        let packet_bytes = usize::from(info.payload_bytes) + PACKET_OVERHEAD_BYTES;
        let room = (block_queue.window, packet_bytes);
        let opened = Opened::new(address, accept);
        let entry = Entry::Receiving(Box::new(Receiving { flow, opened, room }));
        let mut drive = self.serve(place, entry)?;
        if self.places == 1 {
            block_queue.memory_bytes += self.memory_bytes;
        }
        drive.granted.ask_memory(&options.real_time, pages);
        Ok(ReceiveStream::of_flow(info, block_queue, drive, None))
    }

    fn send(&self, command: Command) -> Result<(), OpenError> {
        let commands = self.commands.as_ref().expect("it is there until the port is dropped");
        commands.send(command).map_err(|_| self.gone())?;
        self.wake_handle.wake();
        Ok(())
    }

    /// Why no command is taken any more.
    fn gone(&self) -> OpenError {
        match self.counts.failure.get() {
            Some(error) => OpenError::Link(error.duplicate()),
            None => OpenError::PortGone { local: self.local },
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // The thread sees that no more is asked.
        self.commands = None;
        self.wake_handle.wake();
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("local", &self.local).finish_non_exhaustive()
    }
}
