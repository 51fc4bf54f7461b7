//! Measures the same path with iperf3.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::process::Killed;

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }

    /// Packets as long as the MTU allows.
    fn options(self, mtu: u16) -> Vec<String> {
        match self {
            // IPv4 20, TCP 20.
            Self::Tcp => vec!["--set-mss".to_owned(), (mtu - 40).to_string()],
            // IPv4 20, UDP 8.
            Self::Udp => {
                let len = (mtu - 28).to_string();
                ["--udp", "--bitrate", "0", "--length", &len].map(str::to_owned).into()
            }
        }
    }
}

pub(super) fn is_installed() -> bool {
    Command::new("iperf3").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The received bits per second, over a second or more on loopback.
///
/// # Errors
/// [`Failure::Iperf3`] with the program's message.
pub(super) fn goodput_bps(transport: Transport, mtu: u16, span: Duration) -> Result<f64, Failure> {
    let port = free_port()?;
    let server = ["--server", "--one-off", "--bind", "127.0.0.1", "--port", &port];
    let server = Command::new("iperf3").args(server).stdout(Stdio::null()).spawn()?;
    let mut server = Killed(server);
    let seconds = span.as_secs().max(1).to_string();
    let client = ["--client", "127.0.0.1", "--port", &port, "--time", &seconds, "--json"];
    let started = Instant::now();
    loop {
        let output = Command::new("iperf3").args(client).args(transport.options(mtu)).output()?;
        match received_bps(&output) {
            Ok(bps) => {
                server.0.wait()?;
                return Ok(bps);
            }
            // The server takes a moment before it listens.
            Err(words) if words.contains("refused") && started.elapsed() < START_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(words) => return Err(Failure::Iperf3 { transport: transport.name(), words }),
        }
    }
}

/// The figure in its JSON, or its error.
fn received_bps(output: &Output) -> Result<f64, String> {
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    if let Some(error) = document["error"].as_str() {
        return Err(error.to_owned());
    }
    let end = &document["end"];
    let received = &end["sum_received"];
    let bps = received["bits_per_second"].as_f64().filter(|&bps| bps > 0.0);
    // Versions before 3.14 report UDP at the sender, with the loss.
    let of_sent = || {
        let lost = end["sum"]["lost_percent"].as_f64()?;
        Some(end["sum"]["bits_per_second"].as_f64()? * (1.0 - lost / 100.0))
    };
    bps.or_else(of_sent).ok_or_else(|| "its JSON has no figure of what was received".to_owned())
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port().to_string())
}

const START_TIMEOUT: Duration = Duration::from_secs(3);
