//! Opening the stream, once or until it succeeds.

use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use samplewire::receiver::Interleaved;
use samplewire::{OpenError, ReceiveOptions};
use samplewire_io::{Capabilities, Udp};

use super::stop::Stop;
use crate::arguments::RecordArguments;
use crate::failure::Failure;
use crate::faults::FaultPair;
use crate::interrupt::STOP_PAUSE;
use crate::memory::check_window;
use crate::wiring::{self, Logs, Wiring};

/// Knows how the stream is opened.
pub(super) struct Dialer<'a> {
    arguments: &'a RecordArguments,
    address: SocketAddr,
    pub(super) faults: Option<FaultPair>,
    /// Who takes its own stream over; `None` where nobody needs to.
    pub(super) owner: Option<u64>,
}

/// A stream that is open, or several as one.
pub(super) struct Line {
    pub(super) receiver: Interleaved,
    pub(super) logs: Logs,
}

impl<'a> Dialer<'a> {
    /// `owner` is the one that a recorder had which was killed.
    ///
    /// # Errors
    /// The address or the faults cannot be used.
    pub(super) fn new(arguments: &'a RecordArguments, owner: Option<u64>) -> Result<Self, Failure> {
        let address = wiring::address(&arguments.address)?;
        let faults = FaultPair::new(&arguments.faults)?;
        wiring::check_channels(&arguments.channels)?;
        let owner = match arguments.owner.or(owner) {
            None if arguments.reconnect || arguments.append => Some(samplewire::draw_owner()?),
            owner => owner,
        };
        Ok(Self { arguments, address, faults, owner })
    }

    /// Opens the stream for the first time: once, or with `--reconnect` until the device answers.
    pub(super) fn dial(&self) -> Result<Line, Failure> {
        loop {
            match self.try_open(self.arguments.timeout) {
                Err(failure) if self.arguments.reconnect => sleep(patience(failure)?),
                opened => return opened,
            }
        }
    }

    /// Opens the stream again until it succeeds, or until `stop` ends the recording. That is called
    /// every 50 ms; an attempt that is under way then comes to its own end.
    pub(super) fn redial(&self, mut stop: impl FnMut() -> Option<Stop>) -> Result<Line, Stop> {
        thread::scope(|scope| {
            loop {
                let (done, opened) = sync_channel(1);
                scope.spawn(move || drop(done.send(self.try_open(Some(ATTEMPT)))));
                let opened = loop {
                    check(&mut stop)?;
                    match opened.recv_timeout(STOP_PAUSE) {
                        Ok(opened) => break opened,
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => panic!("an attempt panicked"),
                    }
                };
                let pause = match opened {
                    Ok(line) => return Ok(line),
                    Err(failure) => patience(failure),
                };
                let pause = pause.map_err(|failure| Stop::Port(failure.to_string()))?;
                let failed_at = Instant::now();
                while failed_at.elapsed() < pause {
                    check(&mut stop)?;
                    sleep(pause.saturating_sub(failed_at.elapsed()).min(STOP_PAUSE));
                }
            }
        })
    }

    fn try_open(&self, timeout: Option<Duration>) -> Result<Line, Failure> {
        let Wiring { link, logs } = self.wire()?;
        self.check_memory(&link.capabilities())?;
        let receiver = self.options(timeout).open_interleaved_over(link, self.address);
        let receiver = receiver.map_err(|error| Failure::from(error).counted())?;
        Ok(Line { receiver, logs })
    }

    /// The link of all streams.
    fn wire(&self) -> Result<Wiring, Failure> {
        let Self { arguments, address, faults, .. } = self;
        let socket = Udp::client(*address, &wiring::udp_options())
            .map_err(|error| Failure::Open(error.into()))?;
        let mut wiring = Wiring::new(socket);
        if let Some(faults) = faults {
            wiring = wiring.with_faults(&faults.feedback, &faults.data)?;
        }
        if let Some(path) = &arguments.capture {
            wiring = wiring.with_capture(path, arguments.overwrite)?;
        }
        Ok(wiring)
    }

    fn check_memory(&self, capabilities: &Capabilities) -> Result<(), Failure> {
        let arguments = self.arguments;
        let packet_bytes = arguments.mtu.unwrap_or(usize::MAX).min(capabilities.mtu_bytes);
        // What several are made one in takes as much as one of them.
        let windows = match arguments.channels.len() {
            0 | 1 => 1,
            several => several + 1,
        };
        check_window(arguments.window, windows as u32, packet_bytes)
    }

    fn options(&self, timeout: Option<Duration>) -> ReceiveOptions {
        let arguments = self.arguments;
        let mut options = ReceiveOptions::new()
            .delivery(arguments.delivery)
            .window(arguments.window)
            .streams(arguments.channels.iter().copied())
            .real_time(arguments.real_time.options());
        if let Some(timeout) = timeout {
            options = options.timeout(timeout);
        }
        if let Some(mtu_bytes) = arguments.mtu {
            options = options.mtu(mtu_bytes);
        }
        if let Some(owner) = self.owner {
            options = options.owner(owner);
        }
        options
    }
}

/// What stops the recording, as an error.
fn check(stop: &mut impl FnMut() -> Option<Stop>) -> Result<(), Stop> {
    stop().map_or(Ok(()), Err)
}

/// How long to wait before the next attempt.
///
/// # Errors
/// The failure itself, when another attempt meets the same.
fn patience(failure: Failure) -> Result<Duration, Failure> {
    match failure {
        // The attempt itself took its time.
        Failure::Open(OpenError::NoAnswer { .. }) => Ok(Duration::ZERO),
        Failure::Open(OpenError::Link(_)) => Ok(PAUSE),
        Failure::Open(OpenError::Refused { retry_ms: 1.., .. }) => Ok(PAUSE),
        other => Err(other),
    }
}

/// How long one attempt to open anew asks. Its questions are 100 and 200 ms apart, those of a longer
/// one up to 800 ms: a device that comes back is found within 200 ms.
const ATTEMPT: Duration = Duration::from_millis(300);

/// Between attempts that end at once.
const PAUSE: Duration = Duration::from_millis(100);
