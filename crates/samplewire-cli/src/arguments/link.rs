//! The option of verbs whose packets may bypass the kernel.

use std::fmt;

use clap::{Args, ValueEnum};
use samplewire_io::{Bypass, UdpOptions};

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LinkOption {
    /// How packets pass the kernel: udp, or xdp: past it, by AF_XDP, in the driver if it can, else in the
    /// kernel's generic path (xdp-generic: there alone); auto: xdp where the driver needs no copy. Needs
    /// CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF; without them packets go by UDP, and the reason is printed
    #[arg(long = "link", id = "link", value_name = "HOW", default_value = "udp")]
    kind: LinkKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LinkKind {
    Auto,
    Udp,
    Xdp,
    XdpGeneric,
}

impl LinkOption {
    /// Adds the choice to those of a socket.
    pub(crate) fn apply(self, options: UdpOptions) -> UdpOptions {
        options.drop_rights(true).bypass(match self.kind {
            LinkKind::Auto => Bypass::ZeroCopy,
            LinkKind::Udp => Bypass::Never,
            LinkKind::Xdp => Bypass::Always,
            LinkKind::XdpGeneric => Bypass::Generic,
        })
    }

    /// Whether the user wants packets past the kernel, whatever that gains.
    pub(crate) fn is_demanded(self) -> bool {
        matches!(self.kind, LinkKind::Xdp | LinkKind::XdpGeneric)
    }
}

impl fmt::Display for LinkOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.to_possible_value().expect("no kind is hidden").get_name())
    }
}
