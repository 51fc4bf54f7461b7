//! The option of verbs whose streams may go over RDMA.

use clap::{Args, ValueEnum};
use samplewire::Carriage;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CarriageOption {
    /// How packets from the device travel: data, or rdma: written into slots of the receiver by RoCEv2,
    /// if both ends have this option. It needs CAP_NET_RAW, a window that is a power of two, complete
    /// delivery, and both ends on one Ethernet
    #[arg(long = "carriage", id = "carriage", value_name = "HOW", default_value = "data")]
    kind: CarriageKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CarriageKind {
    Data,
    Rdma,
}

impl CarriageOption {
    pub(crate) const fn carriage(self) -> Carriage {
        match self.kind {
            CarriageKind::Data => Carriage::Data,
            CarriageKind::Rdma => Carriage::Rdma,
        }
    }
}
