//! The option of verbs whose streams may go over RDMA.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use samplewire::{Carriage, DeviceInfo, ReceiveOptions};

use crate::failure::Failure;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CarriageOption {
    /// How packets from the device travel: data, or rdma: written into slots of the receiver by RoCEv2,
    /// if both ends have this option. It needs CAP_NET_RAW, a window that is a power of two, complete
    /// delivery, and both ends on one Ethernet
    #[arg(long = "carriage", id = "carriage", value_name = "HOW", default_value = "data")]
    #[arg(value_parser = carriage_parser())]
    kind: Carriage,
}

/// Parses the name of a carriage, and lists the names in help texts.
pub(crate) fn carriage_parser() -> impl TypedValueParser<Value = Carriage> {
    PossibleValuesParser::new(Carriage::NAMES).try_map(|name| name.parse::<Carriage>())
}

impl CarriageOption {
    pub(crate) const fn carriage(self) -> Carriage {
        self.kind
    }
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReceiveCarriageOption {
    #[command(flatten)]
    how: CarriageOption,

    /// With --carriage rdma: the RDMA network card, such as mlx5_0 or rxe0, that writes the packets into
    /// this program's memory; `rdma link` lists them. Needs libibverbs [default: software receives]
    #[arg(long, value_name = "DEVICE")]
    verbs: Option<String>,
}

impl ReceiveCarriageOption {
    pub(crate) const fn carriage(&self) -> Carriage {
        self.how.carriage()
    }

    /// The card that was chosen.
    pub(crate) fn verbs(&self) -> Option<&str> {
        self.verbs.as_deref()
    }

    /// The card that writes the packets of a stream.
    pub(crate) fn device_of(&self, info: &DeviceInfo) -> Option<&str> {
        self.verbs().filter(|_| info.carriage == Carriage::Rdma)
    }

    /// Checks that both options fit each other.
    ///
    /// # Errors
    /// [`Failure::Contradiction`]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match (&self.verbs, self.carriage()) {
            (Some(device), Carriage::Data) => Err(Failure::Contradiction(format!(
                "--verbs {device} needs --carriage rdma: a card writes streams over RDMA alone"
            ))),
            _ => Ok(()),
        }
    }

    /// Adds the choices to those of a stream.
    pub(crate) fn apply(&self, options: ReceiveOptions) -> ReceiveOptions {
        let options = options.carriage(self.carriage());
        match &self.verbs {
            Some(device) => options.verbs(device),
            None => options,
        }
    }
}
