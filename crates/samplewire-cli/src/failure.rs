//! Why a command failed, and what to do next.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use samplewire::device::PortError;
use samplewire::source::RateError;
use samplewire::transmitter::PlayError;
use samplewire::{BoxError, DeviceInfo, OpenError, ReceiveError};
use samplewire_io::LinkError;
use samplewire_io::ether::EtherError;
use samplewire_io::faults::SpecError;
use samplewire_io::verbs::VerbsError;
use samplewire_proto::OutOfRange;
use samplewire_proto::wire::RefuseReason;
use samplewire_record::chain::ChainError;
use samplewire_record::sink::SinkError;
use samplewire_record::source::SourceError;
use samplewire_record::verify::VerifyError;
use samplewire_sim::{CongestionError, EtherSwitchConfigError, ExploreFileError};
use samplewire_web::{PageError, RecordingError};

use crate::bridge::BridgeError;
use crate::capture::CaptureError;
use crate::console::{Console, Lines};
use crate::figures::measured;
use crate::metrics::ExportError;
use crate::nic::{self, NicError};
use crate::outcome::Outcome;
use crate::roce::{RoceError, verbs_tip};
use crate::settings::SettingsError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The text is not a valid address.
    #[error("`{text}` is no address that can be used: {source}")]
    Address { text: String, source: io::Error },
    /// Invalid options in a file or a device string.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Two options contradict each other.
    #[error("{0}")]
    Contradiction(String),
    /// Invalid fault options.
    #[error("--fault {0}")]
    Faults(#[from] SpecError),
    /// The capture file cannot be written.
    #[error("{path}: {source}")]
    Capture { path: String, source: LinkError },
    /// The window needs more memory than is available.
    #[error(
        "--window {window}{} takes some {} of memory, {} are free",
        of_streams(*windows),
        measured(*needed_bytes as f64, "B"),
        measured(*available_bytes as f64, "B")
    )]
    Memory { window: u32, windows: u32, needed_bytes: u64, available_bytes: u64 },
    /// The source cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A chain does not suit the stream.
    #[error("--chain: {0}")]
    Chain(#[from] ChainError),
    /// A congestion scenario contradicts itself.
    #[error(transparent)]
    Congestion(#[from] CongestionError),
    /// The settings of a switch contradict each other.
    #[error(transparent)]
    Switch(#[from] EtherSwitchConfigError),
    /// A transfer over RoCE failed.
    #[error(transparent)]
    Roce(#[from] RoceError),
    /// A measurement or a transfer over raw frames failed.
    #[error(transparent)]
    Nic(#[from] NicError),
    /// A link of frames cannot be opened, or broke.
    #[error(transparent)]
    Ether(#[from] EtherError),
    /// The file of a sweep cannot be continued.
    #[error("{path}: {source}")]
    Explore { path: String, source: ExploreFileError },
    /// The device cannot listen.
    #[error("cannot listen: {0}")]
    Listen(OpenError),
    /// The metrics server cannot listen.
    #[error("--metrics {0}")]
    Metrics(#[from] ExportError),
    /// The page cannot be served.
    #[error("the page cannot be served at {0}")]
    Web(#[from] PageError),
    /// The recording cannot be shown.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The token of the page cannot be used.
    #[error("--token-file {path}: {source}")]
    Token { path: String, source: io::Error },
    /// The folder for recordings of the page cannot be used.
    #[error("--folder {path}: {source}")]
    Folder { path: String, source: io::Error },
    /// A ZeroMQ socket cannot bind or connect.
    #[error("{name}: {source}")]
    Zmq { name: String, source: io::Error },
    /// There is nothing to show.
    #[error("no streams{}", if *has_others { " of these devices" } else { "" })]
    NoStreams { has_others: bool },
    /// The stream cannot be opened, or an option is out of range.
    #[error("{}", open_words(.0))]
    Open(#[from] OpenError),
    /// A stream broke off.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// The device does not have the requested stream.
    #[error("{address} has no stream {stream}: {}", streams_words(*.streams))]
    StreamNumber { address: SocketAddr, stream: u16, streams: u16 },
    /// Samples are missing in a measurement with complete delivery.
    #[error("{missing} of {sent} samples did not come")]
    StudyMissing { missing: u64, sent: u64 },
    /// The other program of a comparison failed.
    #[error("iperf3 over {transport}: {words}")]
    Iperf3 { transport: &'static str, words: String },
    /// A measurement of `doctor` cannot be made.
    #[error("--measure: {0}")]
    Measure(String),
    /// No device answered a search.
    #[error("no device answered on port {port}")]
    NoDeviceFound { port: u16 },
    /// The file cannot be created.
    #[error(transparent)]
    Create(SinkError),
    /// Sending a recording broke off.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// A recording cannot be read.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The port of a device that plays failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A capture cannot be read, or not to its end.
    #[error("{path}: {source}")]
    Input { path: String, source: CaptureError },
    /// There is no folder to install into.
    #[error("HOME is not set: name the folder with --folder")]
    NoHome,
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// The system refused a signal handler, a thread or the like.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Failure {
    /// Creates a file that is to be written.
    pub(crate) fn create(path: &Path) -> Result<BufWriter<File>, Self> {
        File::create(path).map(BufWriter::new).map_err(Self::of_file(path))
    }

    /// Converts an I/O error on `path`.
    pub(crate) fn of_file(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::File { path: path.display().to_string(), source }
    }

    /// Why a device cannot listen. An invalid option is not an error of the port.
    pub(crate) fn of_listening(error: OpenError) -> Self {
        if is_usage(&error) { Self::Open(error) } else { Self::Listen(error) }
    }

    /// Why a source ended with an error.
    pub(crate) fn of_source(error: BoxError) -> Self {
        error
            .downcast::<SourceError>()
            .map_or_else(|error| Self::Play(PlayError::Source(error)), |error| Self::Source(*error))
    }

    /// If the device does not have the requested stream, queries how many it has.
    pub(crate) fn counted(self) -> Self {
        let Self::Open(OpenError::Refused {
            address,
            stream,
            reason: RefuseReason::NoSuchStream,
            ..
        }) = self
        else {
            return self;
        };
        match samplewire::probe(address, PROBE_PATIENCE) {
            Ok(DeviceInfo { streams, .. }) => Self::StreamNumber { address, stream, streams },
            // The first error is enough.
            Err(_) => self,
        }
    }

    /// The exit status for this failure.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            // The text is valid, but no name server knows the name.
            Self::Address { source, .. } if source.kind() != io::ErrorKind::InvalidInput => {
                Outcome::Unreachable
            }
            Self::Roce(error) => error.outcome(),
            Self::Nic(error) => error.outcome(),
            Self::Open(error) if is_usage(error) => Outcome::Usage,
            Self::Open(OpenError::Card(VerbsError::Device { .. } | VerbsError::Address { .. })) => {
                Outcome::Usage
            }
            Self::Open(_)
            | Self::StreamNumber { .. }
            | Self::NoDeviceFound { .. }
            | Self::NoStreams { .. } => Outcome::Unreachable,
            Self::Play(_) | Self::Receive(_) | Self::Port(_) | Self::StudyMissing { .. } => {
                Outcome::Missing
            }
            _ => Outcome::Usage,
        }
    }

    /// Prints the error, and what to do next, to standard error.
    pub(crate) fn print(&self) {
        let mut console = Console::new(Lines::Nowhere, false);
        console.error(format_args!("{self}"), self.tip().as_deref());
    }

    /// Advice on what to do next, unless the text itself contains it.
    fn tip(&self) -> Option<String> {
        match self {
            Self::Address { .. } => {
                Some("write HOST, HOST:PORT or [IPV6]:PORT; without a port it is 9100".into())
            }
            Self::Source(error) => source_tip(error),
            Self::Listen(OpenError::Link(LinkError::System { operation, source, .. }))
            | Self::Open(OpenError::Link(LinkError::System { operation, source, .. }))
                if let Some(tip) = station_tip(operation, source) =>
            {
                Some(tip)
            }
            Self::Listen(OpenError::Link(LinkError::System { address, source, .. })) => {
                port_tip(*address, source, "ss -ulnp", "--listen")
            }
            Self::Listen(OpenError::Link(LinkError::Interface { .. }))
            | Self::Open(OpenError::Link(LinkError::Interface { .. })) => {
                Some("`ip link` lists the interfaces of this host".into())
            }
            Self::Metrics(ExportError { address, source }) => {
                port_tip(*address, source, "ss -tlnp", "--metrics")
            }
            Self::Web(PageError::Listen { address, source }) => {
                port_tip(*address, source, "ss -tlnp", "--listen or --web")
            }
            Self::Switch(EtherSwitchConfigError::Ports(_)) => {
                Some("name each port: --tap a --tap b, or --dgram LOCAL,REMOTE".into())
            }
            Self::Roce(error) => error.tip().map(str::to_owned),
            Self::Nic(error) => error.tip().map(str::to_owned),
            Self::Ether(EtherError { operation: "TUNSETIFF", source, .. }) => tap_tip(source),
            Self::Ether(error) => nic::link_tip(error).map(str::to_owned),
            Self::Zmq { source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(
                "`ss -tlnp` names the program that listens there; choose another port, or write \
                 connect:tcp://.. to go to it"
                    .into(),
            ),
            Self::NoStreams { has_others: true } => {
                Some("`samplewire top` alone shows the others".into())
            }
            Self::NoStreams { .. } => Some(
                "start `samplewire record ADDR FILE`, `samplewire emulate` or `samplewire demo`; \
                 another user's are seen by `top --from` and their --metrics"
                    .into(),
            ),
            Self::Open(OpenError::Refused { reason, .. }) => refuse_tip(*reason),
            Self::Open(OpenError::Card(error)) => card_tip(error).map(str::to_owned),
            Self::StreamNumber { .. } => refuse_tip(RefuseReason::NoSuchStream),
            Self::Memory { .. } | Self::Open(OpenError::Pool(_)) => Some(
                "choose a smaller one: 4 x rate x round trip, in packets, repairs 1 % of loss"
                    .into(),
            ),
            Self::Iperf3 { .. } => Some("--no-iperf3 leaves it out".into()),
            Self::NoDeviceFound { .. } => Some(
                "is it on this network, and does a firewall allow UDP on that port? \
                 `samplewire probe ADDR` queries a device by its address"
                    .into(),
            ),
            Self::Input { source: CaptureError::Foreign { .. }, .. } => {
                Some("`tshark -r FILE -w OUT.pcapng` converts what Wireshark reads".into())
            }
            Self::Verify(VerifyError::NotThere { .. }) => Some(
                "name a SigMF recording: NAME, NAME.sigmf-meta or NAME.sigmf-data; raw samples \
                 have no indexes"
                    .into(),
            ),
            Self::Create(SinkError::Exists { .. }) => {
                let tip = "--overwrite replaces it; record --append goes on with a SigMF recording";
                Some(tip.into())
            }
            Self::Create(SinkError::Wrong { .. } | SinkError::Short { .. }) => {
                Some("`samplewire verify` lists what is wrong with it".into())
            }
            Self::Create(SinkError::Other { what: "streams", .. }) => {
                Some("--channels names the streams; else record to another file".into())
            }
            Self::Create(SinkError::Other { what: "format", .. }) => {
                Some("--format converts the format; else record to another file".into())
            }
            Self::Create(SinkError::Other { .. }) => Some("record to another file".into()),
            Self::Create(SinkError::Series { .. }) => {
                Some("--split SIZE goes on with it; or choose another name".into())
            }
            Self::Create(SinkError::Part { .. }) => Some("e.g. --split 4G".into()),
            Self::Create(SinkError::NoDirect { .. }) => {
                Some("leave --direct out, or record to another file system".into())
            }
            Self::Create(SinkError::Convert(_)) => {
                Some("leave --format out to keep the stream's own format".into())
            }
            _ => None,
        }
    }
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::Port(error) => error.into(),
            BridgeError::Send(error) => Self::Play(error.into()),
            BridgeError::System(error) => error.into(),
        }
    }
}

impl From<RateError> for Failure {
    fn from(error: RateError) -> Self {
        Self::Source(error.into())
    }
}

/// Whether the command line is wrong.
const fn is_usage(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::OptionRange { .. }
            | OpenError::Contradiction { .. }
            | OpenError::StreamTwice { .. }
            | OpenError::RealTime(_)
            | OpenError::Pool(_)
            | OpenError::Link(LinkError::Interface { .. })
    )
}

/// Names options as on the command line.
fn open_words(error: &OpenError) -> String {
    match error {
        OpenError::OptionRange { option, value, range } => {
            let option = format!("--{}", option.replace(' ', "-"));
            OutOfRange(option, value, range).to_string()
        }
        OpenError::RealTime(error) => {
            let words = error.to_string().replacen("r slack", "r-slack", 1);
            format!("--{words}")
        }
        _ => error.to_string(),
    }
}

fn streams_words(streams: u16) -> String {
    match streams {
        1 => "its only one is stream 0".into(),
        _ => format!("it has {streams}, numbered from 0"),
    }
}

fn source_tip(error: &SourceError) -> Option<String> {
    match error {
        SourceError::Missing { option: "rate", .. } => Some(
            "give the samples' rate: --rate 2M, or --rate max:2M to play as fast as it goes".into(),
        ),
        SourceError::Missing { option, .. } => Some(format!("give it with --{option}")),
        SourceError::Truncated { .. } => Some(
            "copy the recording again; or is it of another --format, or of more --channels?".into(),
        ),
        SourceError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let of_emulate = "-, counter, tone:FREQ, chirp, noise, scene or null";
            Some(format!("a source is a file; of emulate also {of_emulate}"))
        }
        _ => None,
    }
}

fn port_tip(address: SocketAddr, source: &io::Error, list: &str, option: &str) -> Option<String> {
    match source.kind() {
        io::ErrorKind::AddrInUse => Some(format!(
            "`{list} 'sport = :{port}'` names the program that has it; choose another port with \
             {option}",
            port = address.port()
        )),
        io::ErrorKind::AddrNotAvailable => Some(format!(
            "no interface has the address {}; `ip address` lists those that there are",
            address.ip()
        )),
        _ => None,
    }
}

/// What to do where an interface has no station for RDMA.
fn station_tip(operation: &str, source: &io::Error) -> Option<String> {
    let tip = match (operation, source.kind()) {
        ("AF_PACKET", io::ErrorKind::PermissionDenied) => {
            "--carriage rdma needs cap_net_raw: run it as root, or with sudo"
        }
        ("station for RDMA", _) => {
            "name one address of an interface: emulate --listen IP:PORT; `ip address` lists them"
        }
        ("bind to RoCEv2's port", io::ErrorKind::AddrInUse) => {
            "one program on an address has RDMA at a time: `ss -ulnp 'sport = :4791'` names it"
        }
        _ => return None,
    };
    Some(tip.to_owned())
}

/// What to do where a card cannot write the packets of a stream.
fn card_tip(error: &VerbsError) -> Option<&'static str> {
    match error {
        VerbsError::Address { .. } => Some(
            "packets of the device have to come by the card's interface: `rdma link` names it, and \
             `ip route get` the one to the device",
        ),
        VerbsError::Memory { .. } => {
            Some("registered memory is locked: raise `ulimit -l`, or take a smaller --window")
        }
        error => verbs_tip(error),
    }
}

fn tap_tip(source: &io::Error) -> Option<String> {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            Some("TAP devices need cap_net_admin: run it as root, or with sudo".into())
        }
        io::ErrorKind::NotFound => Some("`modprobe tun` makes /dev/net/tun".into()),
        io::ErrorKind::ResourceBusy => Some("another program has this TAP device open".into()),
        _ => None,
    }
}

fn refuse_tip(reason: RefuseReason) -> Option<String> {
    let tip = match reason {
        RefuseReason::Busy => {
            "another receiver has the stream: wait until it ends, or take over with its --owner"
        }
        RefuseReason::PacketSize => {
            "the device's packets do not fit the path: raise --mtu here, or start the device with a \
             smaller --payload"
        }
        RefuseReason::Version => "use the same version of samplewire at both ends",
        RefuseReason::Role => {
            "the device has no stream in that direction: record receives from a device that sends, \
             replay sends to a device that plays (emulate --play)"
        }
        RefuseReason::StartIndex => {
            "that index has passed, or lies too far ahead: `samplewire probe` shows where the \
             device is. replay starts from there with --at +TIME; if several streams were opened \
             together, the device answered too late: try again"
        }
        RefuseReason::Window => "choose a larger --window",
        RefuseReason::NoSuchStream => {
            "`samplewire probe` lists the device's streams; --channels names streams by their \
             numbers, and the channels of a stream are recorded all"
        }
        _ => return None,
    };
    Some(tip.into())
}

/// How long a second query waits for a device that has just answered.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

fn of_streams(windows: u32) -> String {
    if windows > 1 { format!(" of {windows} streams") } else { String::new() }
}
