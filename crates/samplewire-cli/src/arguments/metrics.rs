//! The option of every verb that runs for long.

use std::net::SocketAddr;

use clap::Args;

use super::values;

// No doc comment: clap would take it for that of the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MetricsOption {
    /// Serve what is counted at http://IP:PORT/metrics, as Prometheus reads it, e.g.
    /// 127.0.0.1:9464; port 0 takes one that is free. Who can reach it can read it
    #[arg(long = "metrics", id = "metrics", value_name = "IP:PORT", value_parser = values::ip_and_port)]
    pub(crate) address: Option<SocketAddr>,
}
