//! Opens both sides of a bridge.

use std::net::SocketAddr;

use samplewire::device::Device;
use samplewire::format::{ConvertError, Format};
use samplewire::source::StreamInfo;
use samplewire::{DeviceOptions, ReceiveOptions, ReceiveStream, SendOptions, SendStream};
use samplewire_io::xdp::XdpLog;
use samplewire_io::{FaultLog, Xdp};

use crate::arguments::BridgeArguments;
use crate::bridge::Shape;
use crate::failure::Failure;
use crate::faults::FaultPair;
use crate::memory::check_window;
use crate::wiring::{Logs, Wiring};
use samplewire_zmtp::{Config, Endpoint, Kind, Socket};

/// The opened streams of a device.
pub(super) struct Opened {
    pub(super) receiver: Option<ReceiveStream>,
    pub(super) sender: Option<SendStream>,
    /// Counts of the faults injected into each stream.
    pub(super) faults: Vec<FaultLog>,
    /// How the packets of each link travel, if they may bypass the kernel.
    pub(super) bypasses: Vec<XdpLog>,
}

impl Opened {
    /// Opens the streams that the sockets need.
    pub(super) fn open(
        arguments: &BridgeArguments,
        address: SocketAddr,
        faults: Option<&FaultPair>,
    ) -> Result<Self, Failure> {
        let control = arguments.control.control_if(arguments.inward().is_some())?;
        // One owner for both: a device without a second stream then says so, instead of being busy.
        let owner = match arguments.owner {
            Some(owner) => owner,
            None => samplewire::draw_owner()?,
        };
        let receive = arguments.outward().map(|_| {
            let options = ReceiveOptions::new()
                .delivery(arguments.delivery)
                .window(arguments.window)
                .timeout(arguments.timeout)
                .owner(owner)
                .real_time(arguments.real_time.options());
            arguments.carriage.apply(match arguments.mtu {
                Some(mtu_bytes) => options.mtu(mtu_bytes),
                None => options,
            })
        });
        let send = arguments.inward().map(|_| {
            let options = SendOptions::new()
                .control(control)
                .delivery(arguments.delivery)
                .window(arguments.window)
                .timeout(arguments.timeout)
                .owner(owner)
                .real_time(arguments.real_time.options());
            match arguments.mtu {
                Some(mtu_bytes) => options.mtu(mtu_bytes),
                None => options,
            }
        });
        let udp = arguments.link.apply(arguments.control.udp_options());
        if let (Some(receive), Some(send), None) = (&receive, &send, faults)
            && arguments.link.may_bypass()
        {
            // One link has an interface.
            let receive = receive.clone().udp(udp);
            let port = receive.port(address)?;
            check_memory(arguments, 2, port.capabilities().mtu_bytes)?;
            let (receiver, sender) = (port.open(address, &receive)?, send.open_on(&port, address)?);
            return Ok(Self {
                receiver: Some(receiver),
                sender: Some(sender),
                faults: Vec::new(),
                bypasses: port.capabilities().bypass.clone().into_iter().collect(),
            });
        }
        let (mut logs, mut bypasses) = (Vec::new(), Vec::new());
        let mut wire = |number: u16, is_sent: bool| -> Result<Wiring, Failure> {
            let socket = Xdp::client(address, &udp).map_err(|error| Failure::Open(error.into()))?;
            let wiring = Wiring::new(socket);
            check_memory(arguments, 1, wiring.link.capabilities().mtu_bytes)?;
            bypasses.extend(wiring.logs.bypass.clone());
            let Some(faults) = faults.map(|faults| faults.of_stream(number)) else {
                return Ok(wiring);
            };
            let wiring = match is_sent {
                true => wiring.with_faults(&faults.data, &faults.feedback)?,
                false => wiring.with_faults(&faults.feedback, &faults.data)?,
            };
            logs.extend(wiring.logs.faults.clone());
            Ok(wiring)
        };
        let receiver = match &receive {
            Some(receive) => Some(receive.open_over(wire(0, false)?.link, address)?),
            None => None,
        };
        let sender = match &send {
            Some(send) => Some(send.open_over(wire(1, true)?.link, address)?),
            None => None,
        };
        Ok(Self { receiver, sender, faults: logs, bypasses })
    }
}

/// Listens as the device that others open.
pub(super) fn listen(
    arguments: &BridgeArguments,
    address: SocketAddr,
    faults: Option<&FaultPair>,
) -> Result<(Device, Logs), Failure> {
    let outward = arguments.outward();
    let inward = arguments.inward();
    let described = |sockets: &Option<(Kind, Vec<Endpoint>)>| {
        let sockets = sockets.as_ref().map(|(_, endpoints)| endpoints.len());
        sockets.map(|sockets| info(arguments, sockets)).transpose()
    };
    let (plays, sends) = (described(&outward)?, described(&inward)?);
    let socket = Xdp::bind(address, &arguments.link.apply(arguments.control.udp_options()))
        .map_err(|error| Failure::Listen(error.into()))?;
    let mut wiring = Wiring::new(socket);
    if let Some(faults) = faults {
        wiring = match sends {
            Some(_) => wiring.with_faults(&faults.data, &faults.feedback)?,
            None => wiring.with_faults(&faults.feedback, &faults.data)?,
        };
    }
    check_memory(arguments, 1, wiring.link.capabilities().mtu_bytes)?;
    let mut options = DeviceOptions::new()
        .window(arguments.window)
        .carriage(arguments.carriage.carriage())
        .control(arguments.control.control_if(sends.is_some())?)
        .real_time(arguments.real_time.options());
    if let Some(mtu_bytes) = arguments.mtu {
        options = options.mtu(mtu_bytes);
    }
    // Without a clock: the sockets set the pace.
    let options = sends.into_iter().fold(options, DeviceOptions::sends);
    let options = plays.into_iter().fold(options, DeviceOptions::plays);
    let device = options.listen_over(wiring.link).map_err(Failure::of_listening)?;
    Ok((device, wiring.logs))
}

/// Checks that the windows of so many streams fit into memory, on a link that carries IP packets of
/// `mtu_bytes`.
fn check_memory(
    arguments: &BridgeArguments,
    streams: u32,
    mtu_bytes: usize,
) -> Result<(), Failure> {
    let packet_bytes = arguments.mtu.unwrap_or(usize::MAX).min(mtu_bytes);
    check_window(arguments.window, streams, packet_bytes)
}

/// The stream of a device, for this number of sockets in a direction.
fn info(arguments: &BridgeArguments, sockets: usize) -> Result<StreamInfo, Failure> {
    let format = arguments.stream_format.or(arguments.format).unwrap_or(Format::Fc32);
    let channels = arguments.channels.unwrap_or(sockets as u16);
    if channels == 0 {
        return Err(Failure::Contradiction("--channels 0: a stream has at least one".into()));
    }
    let mut info = StreamInfo::new(format, channels, arguments.rate)?;
    info.name = "bridge".into();
    Ok(info)
}

/// How samples of a stream map to samples of the sockets in one direction.
pub(super) fn shape(
    arguments: &BridgeArguments,
    kind: Kind,
    sockets: usize,
    info: &StreamInfo,
) -> Result<Shape, Failure> {
    let (stream, channels) = (info.format, info.channels);
    let default = if matches!(kind, Kind::Req | Kind::Rep) { Format::Fc32 } else { stream };
    let zmq = arguments.format.unwrap_or(default);
    if zmq.is_complex() != stream.is_complex() {
        let error = ConvertError::Parts { from: stream, to: zmq };
        return Err(Failure::Contradiction(format!("--format: {error}")));
    }
    if sockets > 1 && sockets != usize::from(channels) {
        let option = format!("--zmq-{}", kind.as_str().to_lowercase());
        let has = if channels == 1 { "1 channel".into() } else { format!("{channels} channels") };
        return Err(Failure::Contradiction(format!(
            "{option} names {sockets} sockets, and the stream has {has}: name one for each, or one \
             for all"
        )));
    }
    Ok(Shape { stream, channels, zmq, sockets })
}

/// The sockets of one direction.
pub(super) fn sockets(
    arguments: &BridgeArguments,
    kind: Kind,
    endpoints: Vec<Endpoint>,
    shape: &Shape,
) -> Result<Vec<Socket>, Failure> {
    let item_bytes = shape.item_bytes();
    let message_bytes = arguments.items.saturating_mul(item_bytes as u64);
    let hwm = arguments.hwm;
    if !(message_bytes..=HWM_BYTES_MAX).contains(&hwm) {
        return Err(Failure::Contradiction(format!(
            "--hwm {hwm}: must be {message_bytes} to {HWM_BYTES_MAX}: a message of --items {} takes \
             {message_bytes} bytes",
            arguments.items
        )));
    }
    let opened = endpoints.into_iter().map(|endpoint| {
        let name = format!("--zmq-{} {endpoint}", kind.as_str().to_lowercase());
        let zero = shape.zero();
        // Received samples wait only in the stream's window.
        let queue_bytes = if kind.is_inward() { 0 } else { hwm as usize };
        Socket::new(Config { kind, endpoint, item_bytes, queue_bytes, zero })
            .map_err(|source| Failure::Zmq { name, source })
    });
    opened.collect()
}

/// Maximum for the queue of one peer.
const HWM_BYTES_MAX: u64 = 1 << 30;
