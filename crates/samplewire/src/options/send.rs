//! Choices of a program that sends to a device.

use std::net::SocketAddr;

use samplewire_io::Link;
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::session::OpenConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;

use super::{Control, OpenOptions, ToAddress};
use crate::error::OpenError;
use crate::port::{RANGES_MAX, Route};
use crate::receiver::Port;
use crate::transmitter::{SendStream, sender_config};

/// Choices of a program that sends to a device which plays, with the defaults of the command line:
/// complete delivery, a window of 1,024 packets, the device's first stream that plays, 3 s to open, no
/// pacing, congestion control, zeros when samples are not there in time.
///
/// ```
/// let error = samplewire::send().link_bps(1).open("127.0.0.1").unwrap_err();
/// assert_eq!(error.to_string(), "link rate 1: must be 10^4 to 10^13 bit/s");
/// ```
pub type SendOptions = OpenOptions<SendSide>;

/// What [`SendOptions`] have besides [`OpenOptions`].
#[derive(Clone, Copy, Debug)]
pub struct SendSide {
    link_bps: u64,
    control: Control,
    underflow: Underflow,
}

/// The default options of a program that sends to a device.
pub fn send() -> SendOptions {
    SendOptions::new()
}

impl SendOptions {
    /// The defaults; the same as [`send`].
    pub fn new() -> Self {
        let control = Control::default();
        Self::of_side(SendSide { link_bps: 0, control, underflow: Underflow::Zeros })
    }

    /// Paces departures to this many bits a second of wire time, 10^4 to 10^13; 0 (the default)
    /// does not pace.
    #[must_use]
    pub const fn link_bps(mut self, link_bps: u64) -> Self {
        self.side.link_bps = link_bps;
        self
    }

    /// How marks of congestion limit the rate besides [`link_bps`](Self::link_bps): departures keep to
    /// the lower of the two. Default: DCQCN.
    #[must_use]
    pub const fn control(mut self, control: Control) -> Self {
        self.side.control = control;
        self
    }

    /// What the device does when samples are not there in time; default zeros.
    #[must_use]
    pub const fn underflow(mut self, underflow: Underflow) -> Self {
        self.side.underflow = underflow;
        self
    }

    /// Opens the stream of the device at `address` that plays. Samples depart once the device has
    /// reported how much it takes: [`SendStream::wait_ready`].
    ///
    /// # Errors
    /// Nothing answers, the device refuses, or an option is out of range.
    ///
    /// # Blocking
    /// Until the stream is open, at most [`timeout`](OpenOptions::timeout).
    pub fn open(&self, address: impl ToAddress) -> Result<SendStream, OpenError> {
        let address = address.to_address()?;
        self.open_over(Box::new(self.link(address)?), address)
    }

    /// Like [`SendOptions::open`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`SendOptions::open`].
    ///
    /// # Blocking
    /// See [`SendOptions::open`].
    pub fn open_over(
        &self,
        mut link: Box<dyn Link>,
        address: SocketAddr,
    ) -> Result<SendStream, OpenError> {
        self.sender_config(0, 0)?;
        let config = self.send_config()?;
        let route = Route { peer: address, line_bps: link.line_bps(address) };
        let port = Port::start("samplewire-tx", link, None, &self.real_time, 1)?;
        let accepted = port.open_first(address, config, self.limits())?;
        SendStream::begin(&port, route, &accepted, self)
    }

    /// Like [`SendOptions::open`], over a port that other streams share: both ways by one socket and one
    /// I/O thread. The port's own options of thread and waiting hold.
    ///
    /// # Errors
    /// See [`SendOptions::open`] and [`Port::open`].
    ///
    /// # Blocking
    /// See [`SendOptions::open`].
    pub fn open_on(&self, port: &Port, address: SocketAddr) -> Result<SendStream, OpenError> {
        self.sender_config(0, 0)?;
        let accepted = port.open_first(address, self.send_config()?, self.limits())?;
        let route = Route { peer: address, line_bps: self.line_bps(address) };
        SendStream::begin(port, route, &accepted, self)
    }

    /// For a device whose samples have that rate, as a fraction; numerator 0 where it is not known.
    pub(crate) fn sender_config(
        &self,
        rate_numerator: u64,
        rate_denominator: u32,
    ) -> Result<SenderConfig, OpenError> {
        let control = self.side.control.of_source(rate_numerator, rate_denominator)?;
        sender_config(self.side.link_bps, control)
    }

    pub(crate) fn send_config(&self) -> Result<OpenConfig, OpenError> {
        let config = self.open_config(Role::Send)?;
        Ok(config.with_ranges_max(RANGES_MAX).with_underflow(self.side.underflow))
    }
}

impl Default for SendOptions {
    fn default() -> Self {
        Self::new()
    }
}
