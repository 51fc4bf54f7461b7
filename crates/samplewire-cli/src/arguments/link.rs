//! The options of verbs for the way of packets: their interface, and whether they bypass the kernel.

use std::fmt;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use samplewire_io::{Bypass, UdpOptions};

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct InterfaceOption {
    /// The interface that all packets come and leave by, such as eth1, for a host with several in one
    /// network [default: the host's routes decide]
    #[arg(long = "interface", id = "interface", value_name = "IF")]
    name: Option<String>,
}

impl InterfaceOption {
    /// Adds the choice to those of a socket.
    pub(crate) fn apply(&self, options: UdpOptions) -> UdpOptions {
        match &self.name {
            Some(name) => options.interface(name),
            None => options,
        }
    }
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct LinkOption {
    /// How packets pass the kernel: udp, or xdp: past it, by AF_XDP, in the driver if it can, else in the
    /// kernel's generic path (xdp-generic: there alone); auto: xdp where the driver needs no copy. Needs
    /// CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF; without them packets go by UDP, and the reason is printed
    #[arg(long = "link", id = "link", value_name = "HOW", default_value = "udp")]
    #[arg(value_parser = PossibleValuesParser::new(Bypass::NAMES).try_map(|it| it.parse::<Bypass>()))]
    kind: Bypass,

    #[command(flatten)]
    interface: InterfaceOption,
}

impl LinkOption {
    /// Adds the choices to those of a socket.
    pub(crate) fn apply(&self, options: UdpOptions) -> UdpOptions {
        self.interface.apply(options).drop_rights(true).bypass(self.kind)
    }

    /// Whether packets may go past the kernel.
    pub(crate) fn may_bypass(&self) -> bool {
        self.kind != Bypass::Never
    }

    /// Whether the user wants packets past the kernel, whatever that gains.
    pub(crate) fn is_demanded(&self) -> bool {
        matches!(self.kind, Bypass::Always | Bypass::Generic)
    }
}

impl fmt::Display for LinkOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())
    }
}
