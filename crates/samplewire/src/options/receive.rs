//! Choices of a program that receives.

use std::net::{IpAddr, SocketAddr};

use samplewire_io::Link;
use samplewire_io::verbs::{Card, CardConfig};
use samplewire_proto::receiver::ReceiverConfig;
use samplewire_proto::session::OpenConfig;
use samplewire_proto::stream::Carriage;
use samplewire_proto::wire::Role;

use super::{OpenOptions, ToAddress};
use crate::endpoint::{RdmaEnd, StationConfig, description_offer, path_mtu_of};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening::{self, Limits, RdmaProbe};
use crate::receiver::{AlignedStreams, Interleaved, Port, ReceiveStream};

/// Choices of a program that receives, with the defaults of the command line: complete delivery, a
/// window of 1,024 packets, the device's first stream that sends, 3 s to open.
///
/// ```
/// use std::time::Duration;
///
/// let options = samplewire::receive().deadline(Duration::from_millis(5)).timeout(Duration::ZERO);
/// let error = options.open("127.0.0.1").unwrap_err();
/// assert_eq!(error.to_string(), "timeout 0: must be 1 to 3600000 ms");
/// ```
pub type ReceiveOptions = OpenOptions<ReceiveSide>;

/// What [`ReceiveOptions`] have besides [`OpenOptions`].
#[derive(Clone, Debug)]
pub struct ReceiveSide {
    carriage: Carriage,
    /// The card that packets over RDMA are written by; `None`: software.
    device: Option<String>,
}

/// The default options of a program that receives.
pub fn receive() -> ReceiveOptions {
    ReceiveOptions::new()
}

impl ReceiveOptions {
    /// The defaults; the same as [`receive`].
    pub fn new() -> Self {
        Self::of_side(ReceiveSide { carriage: Carriage::Data, device: None })
    }

    /// How packets are to travel, default [`Carriage::Data`]. Over RDMA the window is a power of two
    /// and the delivery complete; the host's interface has a station beside the kernel, which needs
    /// CAP_NET_RAW ([`StationConfig::of_host`]). A device that cannot sends DATA instead:
    /// [`DeviceInfo::carriage`](crate::DeviceInfo::carriage) says which it is.
    #[must_use]
    pub const fn carriage(mut self, carriage: Carriage) -> Self {
        self.side.carriage = carriage;
        self
    }

    /// The RDMA network card that is to write packets over RDMA into this process's memory, such as
    /// `mlx5_0`: `rdma link` lists them; default: none, so that software receives them. It needs
    /// libibverbs, memory that may be locked (window times packet), and [`Carriage::Rdma`].
    #[must_use]
    pub fn verbs(mut self, device: impl Into<String>) -> Self {
        self.side.device = Some(device.into());
        self
    }

    /// What has the queue pairs of the streams, where they may go over RDMA.
    pub(crate) fn rdma(&self, local: SocketAddr) -> Result<Option<RdmaEnd>, OpenError> {
        match (self.side.carriage, &self.side.device) {
            (Carriage::Data, None) => Ok(None),
            (Carriage::Data, Some(device)) => Err(OpenError::Contradiction {
                one: format!("verbs of {device}"),
                other: "a carriage of DATA".into(),
                hint: "a card takes part in streams over RDMA alone".into(),
            }),
            (Carriage::Rdma, None) => Ok(Some(RdmaEnd::Station(StationConfig::of_host(local)?))),
            (Carriage::Rdma, Some(device)) => {
                let IpAddr::V4(address) = local.ip() else {
                    return Err(OpenError::Contradiction {
                        one: format!("verbs of {device}"),
                        other: format!("an address of IPv6, {}", local.ip()),
                        hint: "RoCEv2 is over IPv4 here".into(),
                    });
                };
                let config = CardConfig { device: device.clone(), address, gid_index: None };
                Ok(Some(RdmaEnd::Card(Card::open(&config)?)))
            }
        }
    }

    /// The device's streams, in the order of the results; default: its first that sends.
    /// [`ReceiveOptions::open_each`], [`open_aligned`](ReceiveOptions::open_aligned) and
    /// [`open_interleaved`](ReceiveOptions::open_interleaved) take several.
    #[must_use]
    pub fn streams(mut self, streams: impl IntoIterator<Item = u16>) -> Self {
        self.streams = streams.into_iter().collect();
        self
    }

    /// Opens a stream of the device at `address` and starts to receive.
    ///
    /// # Errors
    /// Nothing answers, the device refuses, or an option is out of range or contradicts another.
    ///
    /// # Blocking
    /// Until the stream is open, at most [`timeout`](OpenOptions::timeout).
    pub fn open(&self, address: impl ToAddress) -> Result<ReceiveStream, OpenError> {
        let address = address.to_address()?;
        self.open_over(Box::new(self.link(address)?), address)
    }

    /// Like [`ReceiveOptions::open`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::open`].
    pub fn open_over(
        &self,
        link: Box<dyn Link>,
        address: SocketAddr,
    ) -> Result<ReceiveStream, OpenError> {
        self.check_single()?;
        let rdma = self.rdma(link.local_addr())?;
        Port::start("samplewire-rx", link, rdma, &self.real_time, 1)?.open(address, self)
    }

    /// Queries the stream that these options name, or the device's first, without opening it; by their
    /// socket, MTU and timeout.
    ///
    /// # Errors
    /// Nothing answers, the device refuses, or an option is out of range.
    ///
    /// # Blocking
    /// Until an answer comes, at most [`timeout`](OpenOptions::timeout).
    pub fn probe(&self, address: SocketAddr) -> Result<DeviceInfo, OpenError> {
        let port = Port::connect(address, &self.udp)?;
        let infos = port.describe_each(address, &[self.probed()], self.probe_limits())?;
        Ok(infos.into_iter().next().expect("one was asked for"))
    }

    /// Queries the stream as [`ReceiveOptions::probe`] does, as it would be over RDMA. This end needs no
    /// station and no privilege for that, so it does not prove that RoCEv2 frames pass between both.
    ///
    /// # Errors
    /// See [`ReceiveOptions::probe`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::probe`].
    pub fn probe_rdma(&self, address: SocketAddr) -> Result<RdmaProbe, OpenError> {
        let port = Port::connect(address, &self.udp)?;
        let path_mtu = path_mtu_of(port.capabilities().mtu_bytes);
        let config = OpenConfig::new(Role::Describe, self.probed(), 0);
        let config = config.with_rdma(description_offer(path_mtu));
        let accept = port.describe(address, config, self.probe_limits())?;
        Ok(RdmaProbe {
            info: opening::describe(address, &accept)?,
            path_mtu_bytes: path_mtu.bytes() as u16,
            device_path_mtu_bytes: accept.params.rdma.map(|it| it.queue_pair.path_mtu_bytes),
        })
    }

    /// The stream that a query is about.
    fn probed(&self) -> u16 {
        self.streams.first().copied().unwrap_or(0)
    }

    fn probe_limits(&self) -> Limits {
        Limits { window: 1, is_stream_chosen: true, ..self.limits() }
    }

    /// Makes a port to the device at `address` with the socket, thread and carriage of these options, for
    /// streams that share them: [`Port::open`], [`Port::open_aligned`],
    /// [`SendOptions::open_on`](crate::SendOptions::open_on). Past the kernel, streams of both directions
    /// must share a port, because one link has an interface.
    ///
    /// # Errors
    /// There is no route, an option is out of range, or the system has no memory or no thread.
    pub fn port(&self, address: SocketAddr) -> Result<Port, OpenError> {
        Port::of(Box::new(self.link(address)?), self)
    }

    /// Opens all named streams over one socket and in one I/O thread, each with a window and memory
    /// of its own; see [`Port::open_each`].
    ///
    /// # Errors
    /// See [`Port::open_each`].
    ///
    /// # Blocking
    /// See [`Port::open_each`].
    pub fn open_each(&self, address: impl ToAddress) -> Result<Vec<ReceiveStream>, OpenError> {
        let address = address.to_address()?;
        self.port(address)?.open_each(address, self)
    }

    /// Opens all named streams at one index, over one socket and in one I/O thread, as soon as all
    /// can begin.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open`]; a [`start_index`](OpenOptions::start_index) is a contradiction,
    /// since the opening chooses it. Also: the streams cannot be aligned, because they are of different
    /// runs of the device, rates or sample formats, or one does not begin at the index of the others.
    ///
    /// # Blocking
    /// Until the streams are open. There are several attempts, of which none starts later than twice
    /// the timeout; each takes at most that long.
    pub fn open_aligned(&self, address: impl ToAddress) -> Result<AlignedStreams, OpenError> {
        let address = address.to_address()?;
        self.open_aligned_over(Box::new(self.link(address)?), address)
    }

    /// Like [`ReceiveOptions::open_aligned`], over a link of the caller's.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open_aligned`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::open_aligned`].
    pub fn open_aligned_over(
        &self,
        link: Box<dyn Link>,
        address: SocketAddr,
    ) -> Result<AlignedStreams, OpenError> {
        AlignedStreams::open_over(link, address, self)
    }

    /// Opens all named streams as [`ReceiveOptions::open_aligned`] does, to be read as one stream with
    /// the channels of all.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open_aligned`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::open_aligned`].
    pub fn open_interleaved(&self, address: impl ToAddress) -> Result<Interleaved, OpenError> {
        let address = address.to_address()?;
        self.open_interleaved_over(Box::new(self.link(address)?), address)
    }

    /// Like [`ReceiveOptions::open_interleaved`], over a link of the caller's.
    ///
    /// # Errors
    /// See [`ReceiveOptions::open_aligned`].
    ///
    /// # Blocking
    /// See [`ReceiveOptions::open_aligned`].
    pub fn open_interleaved_over(
        &self,
        link: Box<dyn Link>,
        address: SocketAddr,
    ) -> Result<Interleaved, OpenError> {
        Interleaved::of(self.open_aligned_over(link, address)?, self.window)
    }

    /// Checks that aligned streams can begin where they like.
    pub(crate) fn check_aligned(&self) -> Result<(), OpenError> {
        self.check_distinct()?;
        if self.start_index != 0 && self.streams.len() > 1 {
            return Err(OpenError::Contradiction {
                one: format!("start_index of {}", self.start_index),
                other: "open_aligned (which chooses the first index)".into(),
                hint: "leave start_index out".into(),
            });
        }
        Ok(())
    }

    /// Checks that no stream is named twice.
    pub(crate) fn check_distinct(&self) -> Result<(), OpenError> {
        let is_repeated = |&(at, stream): &(usize, &u16)| self.streams[..at].contains(stream);
        match self.streams.iter().enumerate().find(is_repeated) {
            Some((_, &stream)) => Err(OpenError::StreamTwice { stream }),
            None => Ok(()),
        }
    }

    pub(crate) fn receive_config(&self) -> Result<OpenConfig, OpenError> {
        self.open_config(Role::Receive)
    }

    pub(crate) fn receiver_config(&self) -> Result<ReceiverConfig, OpenError> {
        let delivery = self.delivery.checked()?;
        Ok(ReceiverConfig::new().with_delivery(delivery).expect("its range was checked"))
    }
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use samplewire_io::verbs::VerbsError;

    use super::*;

    #[test]
    fn options_that_contradict_each_other_are_both_named() {
        let address = "127.0.0.1:9";
        let error = receive().streams(0..8).open(address).unwrap_err().to_string();
        assert_eq!(
            error,
            "streams (of 8) contradicts open (of one stream): use open_each or open_aligned"
        );
        let options = receive().streams([1, 2]).start_index(7);
        let error = options.open_aligned(address).unwrap_err().to_string();
        assert!(error.starts_with("start_index of 7 contradicts open_aligned"), "{error}");
    }

    /// Before anything is sent, and before the library is loaded.
    #[test]
    fn card_of_a_stream_that_is_not_over_rdma_contradicts() {
        let options = receive().verbs("rxe0");
        for error in [
            options.open("127.0.0.1:9").map(drop).unwrap_err(),
            options.open_each("127.0.0.1:9").map(drop).unwrap_err(),
            options.carriage(Carriage::Rdma).open("[::1]:9").map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with("verbs of rxe0 contradicts "), "{error}");
        }
    }

    /// Where there is no library, that is the error.
    #[test]
    fn card_that_is_missing_is_named() {
        let options = receive().carriage(Carriage::Rdma).verbs("none0");
        let error = options.open("127.0.0.1:9").map(drop).unwrap_err();
        let OpenError::Card(error) = error else { panic!("{error}") };
        let text = error.to_string();
        assert!(text.contains("none0") || matches!(error, VerbsError::Library { .. }), "{text}");
    }

    #[test]
    fn stream_named_twice_is_an_error() {
        let options = receive().streams([3, 4, 3]);
        for error in [
            options.open_aligned("127.0.0.1:9").map(drop).unwrap_err(),
            options.open_interleaved("127.0.0.1:9").map(drop).unwrap_err(),
            options.open_each("127.0.0.1:9").map(drop).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "stream 3 is named twice");
        }
    }
}
