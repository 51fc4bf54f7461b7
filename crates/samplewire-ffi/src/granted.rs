//! What was granted of the options, as a text for people.

use samplewire::Granted;
use samplewire_io::Capabilities;
use samplewire_io::xdp::XdpLog;

/// The granted options of a stream.
pub(crate) struct GrantedOptions {
    real_time: String,
    /// Where packets are to bypass the kernel.
    bypass: Option<XdpLog>,
}

impl GrantedOptions {
    pub(crate) fn new(granted: &Granted, capabilities: &Capabilities) -> Self {
        let refused = granted.refused.iter().map(|it| format!("\n{it}"));
        let real_time = format!("{granted}{}", refused.collect::<String>());
        Self { real_time, bypass: capabilities.bypass.clone() }
    }

    /// The granted options, a line for each refused one, and how packets pass the kernel now.
    pub(crate) fn words(&self) -> String {
        let link = self.bypass.as_ref().map(|log| format!("\nlink: {}", log.state()));
        format!("{}{}", self.real_time, link.unwrap_or_default())
    }
}
