//! Opens the streams of a recording with the options of the command line.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use samplewire::ReceiveOptions;
use samplewire::receiver::Interleaved;
use samplewire_io::{Capabilities, Xdp};
use samplewire_record::recorder::{Opener, retry_after};

use crate::arguments::RecordArguments;
use crate::failure::Failure;
use crate::faults::FaultPair;
use crate::memory::check_window;
use crate::wiring::{self, Logs, Wiring};

/// The options that open the streams.
pub(super) struct Dialer<'a> {
    arguments: &'a RecordArguments,
    address: SocketAddr,
    pub(super) faults: Option<FaultPair>,
    /// The owner ID with which the recorder can take over its own stream; `None` if it is not
    /// needed.
    pub(super) owner: Option<u64>,
    /// The logs of the last opening's link.
    logs: Mutex<Logs>,
}

impl<'a> Dialer<'a> {
    /// Creates the dialer; `owner` is the owner ID of a recorder that was killed.
    ///
    /// # Errors
    /// The address or the fault options are not valid.
    pub(super) fn new(arguments: &'a RecordArguments, owner: Option<u64>) -> Result<Self, Failure> {
        let address = wiring::address(&arguments.address)?;
        let faults = FaultPair::new(&arguments.faults)?;
        wiring::check_channels(&arguments.channels)?;
        arguments.carriage.check()?;
        let owner = match arguments.owner.or(owner) {
            None if arguments.reconnect || arguments.append => Some(samplewire::draw_owner()?),
            owner => owner,
        };
        Ok(Self { arguments, address, faults, owner, logs: Mutex::default() })
    }

    /// Returns the logs of the last opening's link.
    pub(super) fn into_logs(self) -> Logs {
        self.logs.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the link for all streams.
    fn wire(&self) -> Result<Wiring, Failure> {
        let Self { arguments, address, faults, .. } = self;
        let socket = Xdp::client(*address, &arguments.link.apply(wiring::udp_options()))
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
        // The memory that aligns several streams is as large as that of one stream.
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
            .real_time(arguments.real_time.options().slow(arguments.slow.factor));
        options = arguments.carriage.apply(options);
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

impl Opener for Dialer<'_> {
    type Error = Failure;

    fn open(&self, timeout: Option<Duration>) -> Result<Interleaved, Failure> {
        let Wiring { link, logs } = self.wire()?;
        self.check_memory(&link.capabilities())?;
        let receiver = self.options(timeout).open_interleaved_over(link, self.address);
        let receiver = receiver.map_err(|error| Failure::from(error).counted())?;
        *self.logs.lock().unwrap_or_else(PoisonError::into_inner) = logs;
        Ok(receiver)
    }

    fn retry_after(&self, failure: &Failure) -> Option<Duration> {
        match failure {
            Failure::Open(error) => retry_after(error),
            _ => None,
        }
    }
}
