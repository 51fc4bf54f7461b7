//! A device in software: a port that sends streams, plays a stream, or both.

mod clock;
mod offer;
mod player;
mod receive_listener;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samplewire_circuit::{Pool, PoolConfig};
use samplewire_io::{Link, Resilient};
use samplewire_proto::Nanos;
use samplewire_proto::session::{self, ListenConfig, StreamSlot};

use crate::driver::{Launched, Port, Run, Stepped};
use crate::endpoint::{
    Endpoint, Entry, Listening, Playing, PlayingParts, RdmaEnd, Sending, Side, StationConfig,
};
use crate::error::OpenError;
use crate::options::DeviceOptions;
use crate::port::seed;
use crate::quantum::{self, HOLD_MAX};
use crate::source::StreamInfo;
use crate::transmitter::{FlowSizes, Handle, Listener, SendError, SendStream};
use crate::wakeups::{WakeHandle, Wakeups};

pub use samplewire_proto::play::{PlayCounts, Underrun, UnderrunCause};

pub use clock::SampleClock;
pub(crate) use offer::Offer;
pub use player::{Played, Player, PlayerOutput};
use receive_listener::ARRIVALS_MAX;
pub use receive_listener::{AcceptedStream, PortError, ReceiveListener};
pub(crate) use receive_listener::{Arrived, Claim, Shared as ReceiveListenerShared};

/// The handles of a device's port. Each stream is opened separately, with its own window and
/// memory, and loses samples independently. If the port also plays, the streams that it sends come
/// first.
#[derive(Debug)]
pub struct Device {
    /// The local address; of several, the first.
    pub address: SocketAddr,
    /// All local addresses, in the order in which they were named.
    pub addresses: Vec<SocketAddr>,
    /// One for each stream that the port sends, in their order.
    pub listeners: Vec<Listener>,
    /// Accepts the stream to play, if the port plays.
    pub receive_listener: Option<ReceiveListener>,
}

impl Device {
    /// See [`DeviceOptions::listen_over`].
    pub(crate) fn start(
        link: Box<dyn Link>,
        station: Option<StationConfig>,
        options: &DeviceOptions,
    ) -> Result<Self, OpenError> {
        options.real_time.check()?;
        let name = if options.sends.is_empty() { "samplewire-rx" } else { "samplewire-tx" };
        let seeds = [seed()?, seed()?];
        Ok(Self::make(link, station, options, seeds, Run::Thread(name))?.0)
    }

    /// See [`DeviceOptions::listen_stepped`].
    pub(crate) fn stepped(
        link: Box<dyn Link>,
        station: Option<StationConfig>,
        options: &DeviceOptions,
        epoch: Instant,
        seeds: [[u8; 16]; 2],
    ) -> Result<(Self, Stepped), OpenError> {
        let (device, stepped) = Self::make(link, station, options, seeds, Run::Stepped(epoch))?;
        Ok((device, stepped.expect("its owner steps it")))
    }

    /// Accepts the next opening of the first stream that the device sends. The other streams have
    /// their own [`listeners`](Device::listeners).
    ///
    /// # Errors
    /// The device sends no stream, or the I/O thread broke.
    ///
    /// # Blocking
    /// Until a receiver opens the stream.
    pub fn accept(&mut self) -> Result<SendStream, SendError> {
        let listener = self.listeners.first_mut().ok_or(SendError::NoStream)?;
        loop {
            if let Some(stream) = listener.accept(Duration::MAX)? {
                return Ok(stream);
            }
        }
    }

    /// Accepts the next stream that a sender opens at a device that plays.
    ///
    /// # Errors
    /// The device plays no stream, or the I/O thread broke.
    ///
    /// # Blocking
    /// Until a sender opens the stream.
    pub fn accept_sender(&mut self) -> Result<AcceptedStream, PortError> {
        let listener = self.receive_listener.as_mut().ok_or(PortError::NoStream)?;
        loop {
            if let Some(accepted) = listener.accept(Duration::MAX)? {
                return Ok(accepted);
            }
        }
    }

    fn make(
        link: Box<dyn Link>,
        station: Option<StationConfig>,
        options: &DeviceOptions,
        [boot_seed, cookie_seed]: [[u8; 16]; 2],
        run: Run<'_>,
    ) -> Result<(Self, Option<Stepped>), OpenError> {
        let streams = options.sends.len() + usize::from(options.plays.is_some());
        if streams == 0 || options.sends.len() > STREAMS_MAX {
            return Err(OpenError::Streams { streams, max: STREAMS_MAX });
        }
        let (address, addresses) = (link.local_addr(), link.local_addrs());
        let mtu_bytes = link.capabilities().mtu_bytes;
        let clock = run.clock(&options.real_time);
        let hold_max = if options.clock.is_some() { CLOCK_HOLD_MAX } else { HOLD_MAX };
        let inward = options
            .plays
            .as_ref()
            .map(|info| half_in(info, options, mtu_bytes, hold_max))
            .transpose()?;
        let spins = options.real_time.how_it_waits().is_io_spinning();
        let boot_id = u64::from_be_bytes(*boot_seed.first_chunk().expect("16 bytes"));
        let wakeups = Wakeups::new(streams, link.waker(), options.real_time.rests());
        let halves = options.sends.iter().enumerate();
        let halves = halves
            .map(|(place, info)| half_out(info, options, mtu_bytes, wakeups.wake_handle(place)));
        let (mut entries, mut handles): (Vec<_>, Vec<Handle>) =
            halves.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let slots = vec![StreamSlot::default(); streams].into_boxed_slice();
        let config = listen_config(options, mtu_bytes);
        let listener = session::Listener::new(slots, config, cookie_seed, boot_id);
        // The played stream is the last.
        let wake_handle = wakeups.wake_handle(streams - 1);
        let listener_shared = Arc::new(ReceiveListenerShared::new(wake_handle.clone()));
        let (arrived, arrivals) = rtrb::RingBuffer::new(ARRIVALS_MAX);
        let mut pages = handles.first().map(|handle: &Handle| handle.pool.pages());
        let mut pool_bytes = 0;
        if let Some((offer, pool)) = inward {
            (pages, pool_bytes) = (pages.or(Some(pool.pages())), pool.memory_bytes());
            let hold_max = if spins { Nanos(0) } else { Nanos(hold_max.as_nanos() as u64) };
            let playing = Playing::new(PlayingParts {
                clock,
                wake_handle,
                pool,
                boot_id,
                jump_max: samples_in(&offer.info, options.play_jump_max),
                offer,
                hold_max,
                shared: Arc::clone(&listener_shared),
                arrivals: arrived,
            });
            entries.push(Entry::Playing(Box::new(playing)));
        }
        let samples = options.clock.map(|samples| (samples, clock));
        let listening = Listening::new(listener, samples, options.sends.len());
        let link = Resilient::new(link);
        let mut endpoint = Endpoint::listener(link, listening, entries, spins, wakeups);
        if let Some(station) = station {
            endpoint.set_rdma(RdmaEnd::Station(station))?;
            handles.iter_mut().for_each(|handle| handle.may_write(options.window));
        }
        let Launched { port, batch_bytes, stepped } =
            Port::launch(run, endpoint, clock, &options.real_time, pages)?;
        // The batch belongs to the port: the first stream reports it.
        let batches = std::iter::once(batch_bytes).chain(std::iter::repeat(0));
        let listeners = handles.into_iter().zip(&options.sends).zip(batches);
        let listeners = listeners.map(|((handle, info), batch_bytes)| {
            Listener::of_port(handle, info.clone(), address, batch_bytes, port.clone())
        });
        let listeners = listeners.collect();
        let receive_listener = options.plays.as_ref().map(|info| ReceiveListener {
            info: info.clone(),
            memory_bytes: pool_bytes + if options.sends.is_empty() { batch_bytes } else { 0 },
            claim: Claim::new(Arc::clone(&listener_shared)),
            shared: listener_shared,
            arrivals,
            port: port.clone(),
        });
        Ok((Self { address, addresses, listeners, receive_listener }, stepped))
    }
}

/// The number of samples in `span`; an unknown rate counts as 1 MHz.
fn samples_in(info: &StreamInfo, span: Duration) -> u64 {
    let rate = match info.rate_numerator {
        0 => 1_000_000,
        numerator => u128::from(numerator),
    };
    let denominator = u128::from(info.rate_denominator.max(1)) * 1_000_000_000;
    // Nanoseconds that 64 bits hold, times a rate of 64 bits, fit 128.
    let span_ns = span.as_nanos().min(u64::MAX.into());
    u64::try_from(span_ns * rate / denominator).unwrap_or(u64::MAX)
}

fn half_out(
    info: &StreamInfo,
    options: &DeviceOptions,
    mtu_bytes: usize,
    wake_handle: WakeHandle,
) -> Result<(Entry, Handle), OpenError> {
    let spins = options.real_time.how_it_waits().is_io_spinning();
    let is_answered = options.clock.is_some() && options.plays.is_some();
    let hold_max = if spins && is_answered { CLOCK_HOLD_MAX } else { HOLD_MAX };
    let offer = Offer::new(info, options, mtu_bytes, hold_max)?;
    let control = options.control.of_source(info.rate_numerator, info.rate_denominator)?;
    let config = crate::transmitter::sender_config(options.link_bps, control)?;
    let sizes = FlowSizes {
        window: offer.window,
        quantum_packets: offer.quantum_packets,
        quantum_bytes: offer.quantum_bytes(),
    };
    let huge_pages = options.real_time.wants_huge_pages();
    let (flow, handle) = crate::transmitter::flow(config, sizes, huge_pages, wake_handle)?;
    let sending = Sending::new(flow, Side::Listener(offer));
    Ok((Entry::Sending(Box::new(sending)), handle))
}

fn half_in(
    info: &StreamInfo,
    options: &DeviceOptions,
    mtu_bytes: usize,
    hold_max: Duration,
) -> Result<(Offer, Pool), OpenError> {
    let offer = Offer::new(info, options, mtu_bytes, hold_max)?;
    let quanta = quantum::of_window(offer.window, offer.quantum_packets);
    let pool = PoolConfig::new(quanta, offer.quantum_bytes());
    let pool = Pool::new(pool.huge_pages(options.real_time.wants_huge_pages()))?;
    Ok((offer, pool))
}

/// For streams whose offers were made with these options.
fn listen_config(options: &DeviceOptions, mtu_bytes: usize) -> ListenConfig {
    let mtu_bytes = options.packet_bytes_max.min(mtu_bytes).max(576) as u16;
    ListenConfig::new().with_packet_bytes_max(mtu_bytes).expect("an offer has checked the range")
}

/// Maximum number of streams that a device sends.
pub const STREAMS_MAX: usize = 1_024;

// The tags of these and of a played stream must each select a slot.
const _: () = assert!(STREAMS_MAX < session::Listener::<Box<[StreamSlot]>>::STREAMS_MAX);

/// The initial value, before any measurement.
pub(crate) const RTT_INITIAL: Nanos = Nanos::from_millis(1);

/// How long samples for playing by a clock may wait for their quantum to fill: a sample must reach
/// the player in time. Where such a device spins, its own samples wait no longer to leave: a program
/// that answers them reckons from their index.
const CLOCK_HOLD_MAX: Duration = Duration::from_micros(50);
