//! A bulk transfer over QUIC (quinn): two programs, with the options of `quic_bulk`.
//!
//! Everything that quinn has for speed is on: segmentation and receive offload, wide windows, large
//! socket buffers, the path's MTU from the first packet.

use std::net::SocketAddr;
use std::sync::Arc;

use quic_bulk::{Arguments, Builder, CHUNK_BYTES, IDLE_MS, NAME, Outcome, Taken, WINDOW_BYTES};
use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::{ClientConfig, ConnectionError, Endpoint, EndpointConfig, ServerConfig};
use quinn::{TokioRuntime, TransportConfig, VarInt, WriteError};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

fn main() -> Outcome<()> {
    quic_bulk::run(&mut Builder::new_multi_thread(), send, receive)
}

async fn receive(arguments: &Arguments, at: SocketAddr) -> Outcome<()> {
    let (certificate, key) = arguments.make_certificate()?;
    let key = PrivatePkcs8KeyDer::from(key);
    let mut server = ServerConfig::with_single_cert(vec![certificate.into()], key.into())?;
    server.transport_config(Arc::new(transport(arguments)));
    let socket = quic_bulk::socket(at)?;
    let endpoint =
        Endpoint::new(endpoint_config(arguments), Some(server), socket, Arc::new(TokioRuntime))?;
    let connection = endpoint.accept().await.ok_or("no sender came")?.await?;
    let mut stream = connection.accept_uni().await?;
    let taken = Taken::count(arguments.duration, async || {
        let chunk = stream.read_chunk(CHUNK_BYTES, true).await?;
        Ok(chunk.ok_or("the sender has ended the stream")?.bytes.len())
    })
    .await?;
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    taken.print();
    Ok(())
}

async fn send(arguments: &Arguments, peer: SocketAddr) -> Outcome<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(arguments.certificate()?))?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(Arc::new(transport(arguments)));
    let socket = quic_bulk::socket_towards(peer)?;
    let endpoint = Endpoint::new(endpoint_config(arguments), None, socket, Arc::new(TokioRuntime))?;
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

/// What a packet holds of QUIC on a path of this MTU.
fn packet_bytes(arguments: &Arguments) -> u16 {
    arguments.mtu_bytes.saturating_sub(IPV4_UDP_BYTES).max(1200)
}

fn transport(arguments: &Arguments) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES))
        .initial_mtu(packet_bytes(arguments))
        .mtu_discovery_config(None)
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_MS).into()))
        .enable_segmentation_offload(true);
    if arguments.is_bbr {
        transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
    } else {
        transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
    }
    transport
}

fn endpoint_config(arguments: &Arguments) -> EndpointConfig {
    let mut endpoint = EndpointConfig::default();
    endpoint.max_udp_payload_size(packet_bytes(arguments)).expect("1200 bytes or more");
    endpoint
}

const IPV4_UDP_BYTES: u16 = 28;
