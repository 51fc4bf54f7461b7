//! The option of every verb that runs for long.

use std::net::SocketAddr;

use clap::Args;

use super::values;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MetricsOption {
    /// Serve the counters at http://IP:PORT/metrics for Prometheus, e.g. 127.0.0.1:9464; port 0
    /// takes a free one. There is no password: every host that reaches the port can read the
    /// counters
    #[arg(long = "metrics", id = "metrics", value_name = "IP:PORT", value_parser = values::ip_and_port)]
    pub(crate) address: Option<SocketAddr>,
}
