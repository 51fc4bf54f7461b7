//! A bulk transfer over QUIC in one direction, as fast as it goes: what its programs have in common.
//!
//! ```text
//! PROGRAM --receive-at ADDRESS --certificate FILE [--seconds S] [--mtu BYTES]
//! PROGRAM --send-to ADDRESS --certificate FILE [--congestion cubic|bbr] [--mtu BYTES]
//! ```
//!
//! The receiver makes a certificate of its own and writes it to FILE, where the sender takes it
//! from. It ends the connection, and prints one JSON object; the rate is of stream bytes that it
//! took in the seconds after the first that came.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use tokio::runtime::Builder;

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Runs the end that the command line selects, in this runtime.
pub fn run(
    runtime: &mut Builder,
    send: impl AsyncFnOnce(&Arguments, SocketAddr) -> Outcome<()>,
    receive: impl AsyncFnOnce(&Arguments, SocketAddr) -> Outcome<()>,
) -> Outcome<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    runtime.enable_all().build()?.block_on(async {
        match arguments.end {
            End::Sender(peer) => send(&arguments, peer).await,
            End::ReceiveStream(at) => receive(&arguments, at).await,
        }
    })
}

/// What a receiver has taken.
pub struct Taken {
    seconds: f64,
    bytes: u64,
}

impl Taken {
    /// Takes for this long; `next` waits for bytes and says how many they are.
    pub async fn count(
        duration: Duration,
        mut next: impl AsyncFnMut() -> Outcome<usize>,
    ) -> Outcome<Self> {
        // From the first chunk on, which is not counted itself.
        next().await?;
        let (start, mut bytes) = (Instant::now(), 0_u64);
        let deadline = tokio::time::Instant::from_std(start + duration);
        while let Ok(chunk) = tokio::time::timeout_at(deadline, next()).await {
            bytes += chunk? as u64;
        }
        Ok(Self { seconds: start.elapsed().as_secs_f64(), bytes })
    }

    pub fn print(&self) {
        let Self { seconds, bytes } = self;
        let goodput_bps = *bytes as f64 * 8.0 / seconds;
        println!("{{\"goodput_bps\":{goodput_bps:.0},\"seconds\":{seconds:.6},\"bytes\":{bytes}}}");
    }
}

enum End {
    Sender(SocketAddr),
    ReceiveStream(SocketAddr),
}

pub struct Arguments {
    end: End,
    certificate: PathBuf,
    pub duration: Duration,
    pub is_bbr: bool,
    pub mtu_bytes: u16,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut end, mut certificate) = (None, None);
        let (mut seconds, mut is_bbr, mut mtu_bytes) = (1.0, false, 1500);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            let wrong = || format!("{word} {value}: not understood");
            match word.as_str() {
                "--send-to" => end = Some(End::Sender(value.parse().map_err(|_| wrong())?)),
                "--receive-at" => end = Some(End::ReceiveStream(value.parse().map_err(|_| wrong())?)),
                "--certificate" => certificate = Some(PathBuf::from(&value)),
                "--seconds" => seconds = value.parse().map_err(|_| wrong())?,
                "--mtu" => mtu_bytes = value.parse().map_err(|_| wrong())?,
                "--congestion" if value == "bbr" => is_bbr = true,
                "--congestion" if value == "cubic" => is_bbr = false,
                _ => return Err(wrong()),
            }
        }
        Ok(Self {
            end: end.ok_or("one of --send-to and --receive-at is needed")?,
            certificate: certificate.ok_or("--certificate is needed")?,
            duration: Duration::try_from_secs_f64(seconds)
                .map_err(|error| format!("--seconds {seconds}: {error}"))?,
            is_bbr,
            mtu_bytes,
        })
    }

    /// The receiver's certificate in DER, as it wrote it.
    pub fn certificate(&self) -> Outcome<Vec<u8>> {
        let path = &self.certificate;
        Ok(std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// Makes a certificate and writes it; it and its key (PKCS #8), both in DER.
    pub fn make_certificate(&self) -> Outcome<(Vec<u8>, Vec<u8>)> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        std::fs::write(&self.certificate, made.cert.der())?;
        Ok((made.cert.der().to_vec(), made.signing_key.serialize_der()))
    }
}

/// A socket at this address, with large buffers.
pub fn socket(at: SocketAddr) -> Outcome<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    // Beyond the system's limit needs a privilege; without it the limit is what there is.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
    }
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES)?;
    Ok(socket)
}

/// A socket from which this peer can be reached.
pub fn socket_towards(peer: SocketAddr) -> Outcome<UdpSocket> {
    let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    socket(any.parse()?)
}

/// The name in the certificate.
pub const NAME: &str = "bench";

/// In flight at most: many times what this path holds.
pub const WINDOW_BYTES: u32 = 32 << 20;

pub const IDLE_MS: u32 = 5_000;

pub const CHUNK_BYTES: usize = 1 << 20;

const BUFFER_BYTES: usize = 8 << 20;
