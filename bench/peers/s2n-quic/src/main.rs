//! A bulk transfer over QUIC (s2n-quic): two programs, with the options of `quic_bulk`.
//!
//! What made s2n-quic faster, or might, is on: segmentation and receive offload, wide windows,
//! large socket buffers, the path's MTU from the first packet, several chunks a receive; its own send
//! buffer is as it comes. Packets are
//! encrypted by AWS-LC, whichever library does the handshake.

use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bytes::Bytes;
use quic_bulk::{Arguments, Builder, CHUNK_BYTES, IDLE_MS, NAME, Outcome, Taken, WINDOW_BYTES};
use s2n_quic::client::Connect;
use s2n_quic::connection::Error::Application;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::{io, tls::rustls};
use s2n_quic::stream::Error::ConnectionError;
use s2n_quic::{Client, Server};

fn main() -> Outcome<()> {
    // Its tasks wake one another for every batch of packets: with more threads it is slower.
    quic_bulk::run(&mut Builder::new_current_thread(), send, receive)
}

async fn receive(arguments: &Arguments, at: SocketAddr) -> Outcome<()> {
    let (certificate, key) = arguments.make_certificate()?;
    let tls = rustls::Server::builder().with_certificate(certificate, key)?.build()?;
    let mut server = Server::builder()
        .with_tls(tls)?
        .with_io(link(quic_bulk::socket(at)?, arguments.mtu_bytes)?)?
        .with_limits(limits()?)?
        .start()?;
    let mut connection = server.accept().await.ok_or("no sender came")?;
    let mut stream = connection.accept_receive_stream().await?.ok_or("no stream came")?;
    let mut chunks = vec![Bytes::new(); CHUNKS_A_RECEIVE];
    let taken = Taken::count(arguments.duration, async || {
        let (count, is_open) = stream.receive_vectored(&mut chunks).await?;
        if !is_open {
            return Err("the sender has ended the stream".into());
        }
        // Places have to be empty to be filled again.
        Ok(chunks[..count].iter_mut().map(|chunk| mem::take(chunk).len()).sum())
    })
    .await?;
    connection.close(0_u8.into());
    // A server does not say when its connections are over, and with the runtime its packets end.
    tokio::time::sleep(LINGER).await;
    taken.print();
    Ok(())
}

async fn send(arguments: &Arguments, peer: SocketAddr) -> Outcome<()> {
    let tls = rustls::Client::builder().with_certificate(arguments.certificate()?)?.build()?;
    let builder = Client::builder()
        .with_tls(tls)?
        .with_io(link(quic_bulk::socket_towards(peer)?, arguments.mtu_bytes)?)?
        .with_limits(limits()?)?;
    let client = if arguments.is_bbr {
        builder.with_congestion_controller(Bbr::default())?.start()?
    } else {
        builder.with_congestion_controller(Cubic::default())?.start()?
    };
    let mut connection = client.connect(Connect::new(peer).with_server_name(NAME)).await?;
    let mut stream = connection.open_send_stream().await?;
    let chunk = Bytes::from(vec![0x5a; CHUNK_BYTES]);
    loop {
        match stream.send(chunk.clone()).await {
            Ok(()) => {}
            Err(ConnectionError { error: Application { .. }, .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    // The other end has closed the connection and sends no more; `wait_idle` does not always
    // return.
    Ok(())
}

/// Offloads are on by default.
fn link(socket: UdpSocket, mtu_bytes: u16) -> Outcome<io::tokio::Provider> {
    Ok(io::tokio::Provider::builder()
        .with_rx_socket(socket)?
        .with_max_mtu(mtu_bytes)?
        .with_initial_mtu(mtu_bytes)?
        .with_base_mtu(mtu_bytes)?
        .build()?)
}

fn limits() -> Outcome<Limits> {
    Ok(Limits::new()
        .with_data_window(WINDOW_BYTES.into())?
        .with_unidirectional_data_window(WINDOW_BYTES.into())?
        .with_max_send_buffer_size(WINDOW_BYTES)?
        .with_max_idle_timeout(Duration::from_millis(IDLE_MS.into()))?)
}

const CHUNKS_A_RECEIVE: usize = 64;

/// Time to send the end of the connection, and to repeat it after a loss.
const LINGER: Duration = Duration::from_millis(100);
