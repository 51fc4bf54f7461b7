//! A bulk transfer over QUIC (quinn) in one direction, as fast as it goes: two programs.
//!
//! ```text
//! cargo run --release -- --receive-at ADDRESS --certificate FILE [--seconds S] [--mtu BYTES]
//! cargo run --release -- --send-to ADDRESS --certificate FILE [--congestion cubic|bbr] [--mtu BYTES]
//! ```
//!
//! Everything that quinn has for speed is on: segmentation and receive offload, wide windows, large
//! socket buffers, the path's MTU from the first packet. The receiver makes a certificate of its own
//! and writes it to FILE, where the sender takes it from. It ends the connection, and prints one JSON
//! object; the rate is of stream bytes that it took in the seconds after the first chunk.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::{ClientConfig, ConnectionError, Endpoint, EndpointConfig, ServerConfig};
use quinn::{TokioRuntime, TransportConfig, VarInt, WriteError};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match arguments.end {
            End::Sender(peer) => send(&arguments, peer).await,
            End::Receiver(at) => receive(&arguments, at).await,
        }
    })
}

async fn receive(arguments: &Arguments, at: SocketAddr) -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    std::fs::write(&arguments.certificate, made.cert.der())?;
    let mut server = ServerConfig::with_single_cert(vec![made.cert.into()], key.into())?;
    server.transport_config(Arc::new(arguments.transport()));
    let endpoint =
        Endpoint::new(arguments.endpoint(), Some(server), socket(at)?, Arc::new(TokioRuntime))?;
    let connection = endpoint.accept().await.ok_or("no sender came")?.await?;
    let mut stream = connection.accept_uni().await?;
    // From the first chunk on, which is not counted itself.
    stream.read_chunk(CHUNK_BYTES, true).await?.ok_or("no bytes came")?;
    let (start, mut bytes) = (Instant::now(), 0_u64);
    let deadline = tokio::time::Instant::from_std(start + arguments.duration);
    while let Ok(chunk) =
        tokio::time::timeout_at(deadline, stream.read_chunk(CHUNK_BYTES, true)).await
    {
        bytes += chunk?.ok_or("the sender has ended the stream")?.bytes.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    let goodput_bps = bytes as f64 * 8.0 / seconds;
    println!("{{\"goodput_bps\":{goodput_bps:.0},\"seconds\":{seconds:.6},\"bytes\":{bytes}}}");
    Ok(())
}

async fn send(arguments: &Arguments, peer: SocketAddr) -> Outcome<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate(&arguments.certificate)?)?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(Arc::new(arguments.transport()));
    let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = socket(any.parse()?)?;
    let endpoint = Endpoint::new(arguments.endpoint(), None, socket, Arc::new(TokioRuntime))?;
    let connection = endpoint.connect_with(client, peer, NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    let chunk = vec![0x5a; CHUNK_BYTES];
    loop {
        match stream.write_all(&chunk).await {
            Ok(()) => {}
            Err(WriteError::ConnectionLost(ConnectionError::ApplicationClosed(_))) => break,
            Err(error) => return Err(error.into()),
        }
    }
    endpoint.wait_idle().await;
    Ok(())
}

fn certificate(path: &Path) -> Outcome<CertificateDer<'static>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(CertificateDer::from(bytes))
}

fn socket(at: SocketAddr) -> Outcome<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    // Beyond the system's limit needs a privilege; without it the limit is what there is.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
    }
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES)?;
    Ok(socket)
}

enum End {
    Sender(SocketAddr),
    Receiver(SocketAddr),
}

struct Arguments {
    end: End,
    certificate: PathBuf,
    duration: Duration,
    is_bbr: bool,
    mtu_bytes: u16,
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
                "--receive-at" => end = Some(End::Receiver(value.parse().map_err(|_| wrong())?)),
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

    /// What a packet holds of QUIC on a path of this MTU.
    fn packet_bytes(&self) -> u16 {
        self.mtu_bytes.saturating_sub(IPV4_UDP_BYTES).max(1200)
    }

    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport
            .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
            .receive_window(VarInt::from_u32(WINDOW_BYTES))
            .send_window(u64::from(WINDOW_BYTES))
            .initial_mtu(self.packet_bytes())
            .mtu_discovery_config(None)
            .max_idle_timeout(Some(VarInt::from_u32(IDLE_MS).into()))
            .enable_segmentation_offload(true);
        if self.is_bbr {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        } else {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
        }
        transport
    }

    fn endpoint(&self) -> EndpointConfig {
        let mut endpoint = EndpointConfig::default();
        endpoint.max_udp_payload_size(self.packet_bytes()).expect("1200 bytes or more");
        endpoint
    }
}

/// Whom the certificate is for.
const NAME: &str = "bench";

/// In flight at most: many times what this path holds.
const WINDOW_BYTES: u32 = 32 << 20;

const BUFFER_BYTES: usize = 8 << 20;

const IDLE_MS: u32 = 5_000;

const CHUNK_BYTES: usize = 1 << 20;

const IPV4_UDP_BYTES: u16 = 28;
