//! What several streams of a device have ready leaves together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use samplewire::device::{Device, DeviceConfig};
use samplewire::format::Format;
use samplewire::receiver::{Receiver, ReceiverOptions};
use samplewire::source::StreamInfo;
use samplewire::transmitter::TransmitterOptions;
use samplewire_io::{
    Batch, Capabilities, Ecn, Favoured, Link, LinkError, Outgoing, Udp, UdpOptions, Waker,
};
use samplewire_proto::wire::Flags;

/// A link that takes no DATA while its gate is shut.
struct Gated {
    udp: Udp,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    is_shut: AtomicBool,
    /// The most packets of DATA that one call has offered.
    most: AtomicUsize,
}

impl Link for Gated {
    fn capabilities(&self) -> Capabilities {
        self.udp.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.udp.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let data = packets.iter().filter(|packet| packet.ecn == Ecn::Ect0).count();
        self.gate.most.fetch_max(data, Ordering::SeqCst);
        if data > 0 && self.gate.is_shut.load(Ordering::SeqCst) {
            return Ok(0);
        }
        self.udp.send(packets)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.udp.recv(batch)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.udp.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.udp.waker()
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.udp.favour(favoured)
    }
}

#[test]
fn packets_of_many_streams_leave_in_one_call() {
    let gate = Arc::new(Gate::default());
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let info = StreamInfo::new(Format::Sc16, 1, 1e9).unwrap();
    let infos = vec![info; STREAMS.into()];
    let config = DeviceConfig { sends: &infos, plays: None, clock: None };
    let options = TransmitterOptions::new().window(16).payload_bytes(1_024);
    let link = Gated { udp, gate: Arc::clone(&gate) };
    let mut device = Device::listen_over(Box::new(link), config, &options).unwrap();
    let streams: Vec<u16> = (0..STREAMS).collect();
    let options = ReceiverOptions::new().window(16);
    let mut receivers = Receiver::open_many(device.address, &streams, &options).unwrap();
    let patience = Duration::from_secs(20);
    let sessions: Vec<_> = device
        .transmitters
        .iter_mut()
        .map(|it| it.wait_session(patience).unwrap().expect("its receiver has come"))
        .collect();
    gate.is_shut.store(true, Ordering::SeqCst);
    for (transmitter, session) in device.transmitters.iter_mut().zip(&sessions) {
        let filling = transmitter.quantum(session, patience).unwrap().expect("one is free");
        let len_bytes = session.payload_bytes;
        transmitter.submit(filling, len_bytes, session.first_index, Flags::END_OF_BURST);
    }
    // A link that takes nothing is offered what is ready again and again.
    let until = Instant::now() + patience;
    while gate.most.load(Ordering::SeqCst) < STREAMS.into() {
        assert!(Instant::now() < until, "{} packets a call", gate.most.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(1));
    }
    gate.is_shut.store(false, Ordering::SeqCst);
    for receiver in &mut receivers {
        let until = Instant::now() + patience;
        while receiver.next_within(patience).is_none() {
            assert!(Instant::now() < until, "nothing came of {}", receiver.info().stream);
        }
    }
}

const STREAMS: u16 = 40;
