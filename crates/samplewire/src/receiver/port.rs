//! A port of a host: one I/O thread and one link for many streams, to one device or several.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Instant;

use samplewire_circuit::{Pool, PoolConfig};
use samplewire_io::udp::route_mtu_bytes;
use samplewire_io::verbs::{Card, CardSlots, SlotShape};
use samplewire_io::{Capabilities, Clock, Link, Resilient, UdpOptions, Xdp};
use samplewire_proto::Nanos;
use samplewire_proto::session::{AcceptInfo, OpenConfig};
use samplewire_proto::wire::Role;

use super::flow::{FlowParts, WAIT_MAX};
use super::slots::Slots;
use super::{AlignedStreams, ReceiveStream};
use crate::counters::PortStats;
use crate::driver::{self, Run, Stepped};
use crate::endpoint::{
    Accepted, Command, Counts, Endpoint, Entry, Opened, Opening, RdmaEnd, Receiving, StationConfig,
};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening::{self, Limits, first_free};
use crate::options::ReceiveOptions;
use crate::port::{PACKET_OVERHEAD_BYTES, bind_each, seed};
use crate::quantum::{self, HOLD_MAX};
use crate::real_time::RealTime;
use crate::wakeups::{WakeHandle, Wakeups};

/// A port for several streams that share its socket and its I/O thread.
///
/// Each stream is a [`ReceiveStream`] with its own window, quanta and ring. If the program of one
/// stream is slow, that stream runs out of credit, and the others continue. The port may be dropped
/// before its streams; the thread ends with the last of them.
///
/// ```
/// use samplewire::receiver::Port;
/// use samplewire::source::{CounterSource, ReadSamples};
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
    clock: Clock,
    local: SocketAddr,
    memory_bytes: usize,
    counts: Arc<Counts>,
    drive: driver::Port,
    /// Maximum number of its streams.
    places: usize,
    /// Streams go over RDMA where the device can.
    has_rdma: bool,
    /// What then writes the packets, if not software.
    card: Option<Card>,
}

/// The state that a port's streams share; it outlives the port's handle.
#[derive(Clone, Debug, Default)]
pub(super) struct PortShare {
    pub(super) memory_bytes: usize,
    counts: Arc<Counts>,
}

impl PortShare {
    pub(super) fn stats(&self) -> PortStats {
        // Relaxed: only for display.
        PortStats {
            corrupted: self.counts.corrupted.load(Ordering::Relaxed),
            foreign: self.counts.foreign.load(Ordering::Relaxed),
        }
    }
}

/// A pending opening on a stepped endpoint.
#[derive(Debug)]
pub struct PendingReceiver {
    address: SocketAddr,
    options: ReceiveOptions,
    answer: Answer,
}

/// The pending answer to an opening.
pub(crate) type Answer = mpsc::Receiver<Result<Accepted, OpenError>>;

impl Port {
    /// Creates a port for any number of devices, at `local`; port 0 lets the system choose.
    ///
    /// # Errors
    /// The address cannot be bound, or the system has no memory or no thread.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        Self::over(Box::new(Xdp::bind(local, options)?), &RealTime::default())
    }

    /// Creates a port with a socket at each of these local addresses, 1 to 8, that one I/O thread serves:
    /// for devices behind several network cards. A stream goes by the socket at which its device's
    /// packets come; an opening by the one whose address the kernel would send from. The largest packet
    /// is that of the interface with the least MTU. A socket that fails ends only its own streams,
    /// by the silence of their devices.
    ///
    /// For other options of the thread, pass [`Links`](crate::Links) to [`Port::over`].
    ///
    /// ```
    /// use samplewire::receiver::Port;
    /// use samplewire::source::{CounterSource, ReadSamples};
    /// use samplewire::transmitter::Overflow;
    /// use samplewire::UdpOptions;
    ///
    /// // Two devices at two addresses of this host.
    /// let devices = ["127.0.0.1:0", "127.0.0.2:0"].map(|local| {
    ///     let mut source = CounterSource::new(1e6, 0).expect("a rate in range");
    ///     let device = samplewire::device().sends(source.info().clone()).listen(local);
    ///     let mut device = device.expect("the address is free");
    ///     let address = device.address;
    ///     std::thread::spawn(move || {
    ///         device.accept().unwrap().play(&mut source, Overflow::Wait, || false)
    ///     });
    ///     address
    /// });
    ///
    /// let locals = ["127.0.0.1:0".parse()?, "127.0.0.2:0".parse()?];
    /// let port = Port::bind_each(&locals, &UdpOptions::new())?;
    /// for address in devices {
    ///     let mut stream = port.open(address, &samplewire::receive())?;
    ///     let block = stream.by_ref().next().expect("samples come")?;
    ///     assert!(block.len() > 0);
    ///     stream.close();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no address or more than 8, one cannot be bound, or the system has no memory or no
    /// thread.
    pub fn bind_each(locals: &[SocketAddr], options: &UdpOptions) -> Result<Self, OpenError> {
        Self::over(bind_each(locals, options)?, &RealTime::default())
    }

    /// Creates a port for the device at `address` alone: packets of others do not reach it.
    ///
    /// # Errors
    /// There is no route, or the system has no memory or no thread.
    pub fn connect(address: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        Self::over(Box::new(Xdp::client(address, options)?), &RealTime::default())
    }

    /// Creates a port over a given link: with faults, a capture, or in memory. `real_time` applies
    /// to its I/O thread; huge pages and locked memory are options of each stream.
    ///
    /// # Errors
    /// An option is out of range, or the system has no memory or no thread.
    pub fn over(link: Box<dyn Link>, real_time: &RealTime) -> Result<Self, OpenError> {
        Self::start("samplewire-rx", link, None, real_time, Self::STREAMS_MAX)
    }

    /// Like [`Port::over`], with a station or an RDMA network card, which writes the packets into memory
    /// of this process: streams go over RDMA where the device can, and as DATA where it cannot
    /// (`docs/protocol.md#13`). Their windows are powers of two, and their delivery is complete.
    ///
    /// # Errors
    /// See [`Port::over`].
    pub fn over_rdma(
        link: Box<dyn Link>,
        end: impl Into<RdmaEnd>,
        real_time: &RealTime,
    ) -> Result<Self, OpenError> {
        Self::start("samplewire-rx", link, Some(end.into()), real_time, Self::STREAMS_MAX)
    }

    /// Creates a port for streams with these options.
    pub(crate) fn of(link: Box<dyn Link>, options: &ReceiveOptions) -> Result<Self, OpenError> {
        let rdma = options.rdma(link.local_addr())?;
        Self::start("samplewire-rx", link, rdma, &options.real_time, Self::STREAMS_MAX)
    }

    /// Creates a port for so many streams at a time, with a thread of that name.
    pub(crate) fn start(
        name: &str,
        link: Box<dyn Link>,
        rdma: Option<RdmaEnd>,
        real_time: &RealTime,
        places: usize,
    ) -> Result<Self, OpenError> {
        real_time.check()?;
        Ok(Self::make(link, rdma, real_time, places, Run::Thread(name))?.0)
    }

    /// Creates a port with a stepped endpoint, which takes one packet per turn. It has `places` for
    /// streams, a power of two. Times count from `epoch`.
    ///
    /// # Errors
    /// Currently none.
    #[doc(hidden)]
    pub fn stepped(
        link: Box<dyn Link>,
        station: Option<StationConfig>,
        places: usize,
        epoch: Instant,
    ) -> Result<(Self, Stepped), OpenError> {
        let rdma = station.map(RdmaEnd::from);
        let run = Run::Stepped(epoch);
        let (port, stepped) = Self::make(link, rdma, &RealTime::default(), places, run)?;
        Ok((port, stepped.expect("its owner steps it")))
    }

    fn make(
        link: Box<dyn Link>,
        rdma: Option<RdmaEnd>,
        real_time: &RealTime,
        places: usize,
        run: Run<'_>,
    ) -> Result<(Self, Option<Stepped>), OpenError> {
        let (local, link) = (link.local_addr(), Resilient::new(link));
        // The last place wakes for commands.
        let wakeups = Wakeups::new(places + 1, link.waker(), real_time.rests());
        let wake_handle = wakeups.wake_handle(places);
        let counts = Arc::new(Counts::default());
        let (commands, taken) = mpsc::channel();
        let spins = real_time.how_it_waits().is_io_spinning();
        let shown = Arc::clone(&counts);
        let mut endpoint =
            Endpoint::opener(link, places, spins, Arc::clone(&wakeups), taken, shown);
        let has_rdma = rdma.is_some();
        let mut card = None;
        if let Some(end) = rdma {
            if let RdmaEnd::Card(it) = &end {
                card = Some(it.clone());
            }
            endpoint.set_rdma(end)?;
        }
        let clock = run.clock(real_time);
        let launched = driver::Port::launch(run, endpoint, clock, real_time, None)?;
        let commands = Some(commands);
        let port = Self {
            commands,
            wake_handle,
            wakeups,
            clock,
            local,
            memory_bytes: launched.batch_bytes,
            counts,
            drive: launched.port,
            places,
            has_rdma,
            card,
        };
        Ok((port, launched.stepped))
    }

    /// Maximum number of streams of a port at the same time.
    pub const STREAMS_MAX: usize = 1_024;

    /// Opens a stream of the device at `address`: the one that the options name, or the first free
    /// one that sends.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open`]; also if the port has [`Port::STREAMS_MAX`] streams, or has
    /// failed.
    ///
    /// # Blocking
    /// Until the stream is open, at most for the timeout in the options.
    pub fn open(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<ReceiveStream, OpenError> {
        // An option out of range fails before any packet is sent.
        options.check_single()?;
        options.receiver_config()?;
        let accepted = self.open_first(address, options.receive_config()?, options.limits())?;
        self.begin(address, accepted, options)
    }

    /// Starts to open a stream on a stepped endpoint; `seed` is the randomness of the opening.
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

    /// Starts to query a device for the stream that the options name, without opening it; see
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

    /// The device's description of a stream, or the error, once it is known.
    #[doc(hidden)]
    pub fn poll_describing(
        &self,
        asked: &PendingReceiver,
    ) -> Option<Result<DeviceInfo, OpenError>> {
        let described = self.poll_answer(&asked.answer)?;
        Some(described.and_then(|it| opening::describe(asked.address, &it.accept)))
    }

    /// The stream of an opening, or its error, once it is known.
    #[doc(hidden)]
    pub fn poll_opening(
        &self,
        opening: &PendingReceiver,
    ) -> Option<Result<ReceiveStream, OpenError>> {
        let accepted = self.poll_answer(&opening.answer)?;
        Some(accepted.and_then(|it| self.begin(opening.address, it, &opening.options)))
    }

    /// The answer to an opening, once it has come.
    pub(crate) fn poll_answer(&self, answer: &Answer) -> Option<Result<Accepted, OpenError>> {
        match answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(self.gone())),
        }
    }

    /// Opens the streams of the device at `address` that the options name, or its first that sends.
    /// The receivers are in the same order. If one cannot be opened, the others are closed again.
    ///
    /// # Errors
    /// See [`Port::open`]; also if a stream is named twice.
    ///
    /// # Blocking
    /// Until all are open: without loss, two round trips for every [`Port::OPENINGS_MAX`] streams.
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
            receivers.push(self.begin(address, accepted, options)?);
            Ok(())
        })?;
        Ok(receivers)
    }

    /// Opens the streams of the device at `address` that the options name at one index, as
    /// [`ReceiveOptions::open_aligned`] does. Other streams may share the port.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open_aligned`] and [`Port::open`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::open_aligned`].
    pub fn open_aligned(
        &self,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<AlignedStreams, OpenError> {
        AlignedStreams::open_on(self, address, options)
    }

    /// Queries the device for a description of each stream, without opening it.
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

    /// Queries the device for what an opening of this configuration describes.
    pub(crate) fn describe(
        &self,
        address: SocketAddr,
        config: OpenConfig,
        limits: Limits,
    ) -> Result<AcceptInfo, OpenError> {
        Ok(self.wait(&self.ask(address, config, limits, seed()?)?)?.accept)
    }

    /// Sends these openings, [`Port::OPENINGS_MAX`] at a time, and collects their answers in order.
    /// After an error it sends no more, but still collects accepted streams, so that the caller can
    /// close them.
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

    /// The capabilities that the link got.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.drive.capabilities
    }

    /// The port's own memory in bytes, without that of its streams.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The counts that belong to no stream.
    pub fn stats(&self) -> PortStats {
        self.share().stats()
    }

    pub(super) fn share(&self) -> PortShare {
        PortShare { memory_bytes: self.memory_bytes, counts: Arc::clone(&self.counts) }
    }

    /// Opens the stream in the configuration. If it names none, opens the first free stream after
    /// it that has the direction of its role.
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

    /// Lets the endpoint serve a stream at the place where it was accepted; returns the part of the
    /// port that the stream's handle needs.
    pub(crate) fn serve(&self, place: usize, entry: Entry) -> Result<driver::Port, OpenError> {
        self.send(Command::Begin(place, entry))?;
        Ok(self.drive.clone())
    }

    /// How the program wakes the endpoint for the stream at a place.
    pub(crate) fn wake_handle(&self, place: usize) -> WakeHandle {
        self.wakeups.wake_handle(place)
    }

    /// Sends a request to open a stream to the endpoint.
    pub(crate) fn ask(
        &self,
        address: SocketAddr,
        config: OpenConfig,
        limits: Limits,
        seed: [u8; 16],
    ) -> Result<Answer, OpenError> {
        let &Capabilities { kind, mtu_bytes, ref interface, .. } = &self.drive.capabilities;
        // A socket bound to any address reports the largest MTU of its interfaces, unless one is named.
        // Other links have no route.
        let has_route = kind == "udp" && interface.is_none();
        let route = if has_route { route_mtu_bytes(address).ok() } else { None };
        let mtu_bytes = route.map_or(mtu_bytes, |route| route.min(mtu_bytes));
        let config = limits.apply(config, mtu_bytes, address)?;
        let (answers, answer) = mpsc::channel();
        let mut opening = Opening::new(address, limits.timeout, config, seed, answers);
        if self.has_rdma && config.role() == Role::Receive {
            check_for_rdma(&config)?;
            // Memory is registered here, where it does not delay other streams.
            if let Some(card) = self.card.as_ref().filter(|_| address.is_ipv4()) {
                let shape = SlotShape { slots: config.window(), slot_bytes: config.slot_bytes() };
                opening.set_card(CardSlots::new(card, shape, CARD_SLOTS_ADDRESS)?);
            }
        }
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

    /// Lets the endpoint serve an accepted stream. Memory is allocated here, where it does not
    /// delay other streams.
    fn begin(
        &self,
        address: SocketAddr,
        accepted: Accepted,
        options: &ReceiveOptions,
    ) -> Result<ReceiveStream, OpenError> {
        // The place is kept until the endpoint serves it.
        let Accepted { place, accept, rdma, at, claim: _claim } = accepted;
        let info = opening::describe(address, &accept)?;
        opening::check_offer(&info, &accept)?;
        // Credit beyond the device's window would never be used, and would make REPORTs too rare.
        let window = options.window.min(accept.params.window.max(1));
        let terms = opening::terms(&accept, window);
        let payload_bytes = usize::from(info.payload_bytes);
        let packet_samples = info.packet_samples as usize;
        let quantum_packets =
            quantum::packets(payload_bytes, packet_samples, HOLD_MAX, info.rate_hz(), window);
        let quanta = quantum::of_window(window, quantum_packets);
        let pool = PoolConfig::new(quanta, quantum_packets as usize * payload_bytes);
        let pool = Pool::new(pool.huge_pages(options.real_time.wants_huge_pages()))?;
        let (pool_bytes, pages) = (pool.memory_bytes(), pool.pages());
        // The port decides how its streams wait.
        let spins = self.drive.granted.waits.is_io_spinning();
        let parts = FlowParts {
            peer: address,
            clock: self.clock,
            terms,
            config: options.receiver_config()?,
            pool,
            quantum_packets,
            frame_bytes: info.frame_bytes(),
            hold_max: if spins { Nanos(0) } else { WAIT_MAX },
            wake_handle: self.wakeups.wake_handle(place),
        };
        let (mut flow, mut block_queue) = parts.build(at)?;
        flow.set_reach(info.window.max(window));
        if let Some(rdma) = rdma {
            let slots = Slots::new(rdma, info.payload_bytes, terms.first_seq)?;
            block_queue.memory_bytes += slots.memory_bytes();
            flow.set_slots(slots);
        }
        block_queue.memory_bytes += pool_bytes;
        if self.places == 1 {
            block_queue.memory_bytes += self.memory_bytes;
        }
        let (opened, room) =
            (Opened::new(address, &accept), (window, payload_bytes + PACKET_OVERHEAD_BYTES));
        let entry = Entry::Receiving(Box::new(Receiving { flow, opened, room }));
        let mut drive = self.serve(place, entry)?;
        drive.granted.ask_memory(&options.real_time, pages);
        Ok(ReceiveStream::of_flow(info, block_queue, drive, None))
    }

    fn send(&self, command: Command) -> Result<(), OpenError> {
        let commands = self.commands.as_ref().expect("it is there until the port is dropped");
        commands.send(command).map_err(|_| self.gone())?;
        self.wake_handle.wake();
        Ok(())
    }

    /// Why the port accepts no more commands.
    fn gone(&self) -> OpenError {
        match self.counts.failure.get() {
            Some(error) => OpenError::Link(error.duplicate()),
            None => OpenError::PortGone { local: self.local },
        }
    }
}

/// Where a peer sees the slots of a card: an address of its own, of a page of any size.
const CARD_SLOTS_ADDRESS: u64 = 1 << 32;

/// Checks what a stream over RDMA needs of an opening.
fn check_for_rdma(config: &OpenConfig) -> Result<(), OpenError> {
    let window = u64::from(config.window());
    if !window.is_power_of_two() {
        let range = "a power of two, for a stream over RDMA";
        return Err(OpenError::OptionRange { option: "window", value: window, range });
    }
    if !config.is_complete() {
        let (one, other) = ("a stream over RDMA".into(), "another delivery than complete".into());
        let hint = "a queue pair repeats until all has come".into();
        return Err(OpenError::Contradiction { one, other, hint });
    }
    Ok(())
}

impl Drop for Port {
    fn drop(&mut self) {
        // The closed channel ends the thread.
        self.commands = None;
        self.wake_handle.wake();
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("local", &self.local).finish_non_exhaustive()
    }
}
