//! What several streams of a device have ready leaves together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use samplewire::format::Format;
use samplewire::receiver::ReceiveStream;
use samplewire::source::StreamInfo;
use samplewire::transmitter::SendStream;
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_io::{
    Batch, Capabilities, Ecn, Favoured, Link, LinkError, Outgoing, Udp, UdpOptions, Waker,
};
use samplewire_proto::wire::Flags;
use samplewire_testing::{PATIENCE, wait_until};

/// A link that takes no DATA while its gate is shut.
struct Gated {
    udp: Udp,
    gate: Arc<Gate>,
    /// Packets that are to leave before the order is looked at again.
    unsettled: usize,
}

#[derive(Default)]
struct Gate {
    is_shut: AtomicBool,
    /// The most packets of DATA that one call has offered.
    most: AtomicUsize,
    /// Calls with DATA and several control packets, and those of them in which one stood behind DATA.
    mixed: AtomicUsize,
    split: AtomicUsize,
}

impl Gate {
    /// Looks at the order of what a call took.
    fn look(&self, packets: &[Outgoing<'_>]) {
        let is_data = |packet: &Outgoing<'_>| packet.ecn == Ecn::Ect0;
        let data = packets.iter().filter(|packet| is_data(packet)).count();
        if data > 0 && packets.len() - data > 1 {
            let is_split = packets.windows(2).any(|pair| is_data(&pair[0]) && !is_data(&pair[1]));
            self.mixed.fetch_add(1, Ordering::SeqCst);
            self.split.fetch_add(is_split.into(), Ordering::SeqCst);
        }
    }
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
        let sent = self.udp.send(packets)?;
        // What is left over stands in front of what a stream has ready next, in whichever call.
        if sent < packets.len() {
            self.unsettled = 16 * usize::from(STREAMS);
        } else if self.unsettled == 0 {
            self.gate.look(packets);
        }
        self.unsettled = self.unsettled.saturating_sub(sent);
        Ok(sent)
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

/// Streams of a device over such a link, at both ends.
fn open(gate: &Arc<Gate>) -> (Vec<SendStream>, Vec<ReceiveStream>) {
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let info = StreamInfo::new(Format::Sc16, 1, 1e9).unwrap();
    let infos = vec![info; STREAMS.into()];
    let options = DeviceOptions::new().window(16).payload_bytes(1_024);
    let link = Gated { udp, gate: Arc::clone(gate), unsettled: 0 };
    let mut device =
        infos.into_iter().fold(options, DeviceOptions::sends).listen_over(Box::new(link)).unwrap();
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16);
    let receivers = options.streams(0..STREAMS).open_each(device.address).unwrap();
    let streams = device
        .listeners
        .iter_mut()
        .map(|it| it.accept(PATIENCE).unwrap().expect("its receiver has come"))
        .collect();
    (streams, receivers)
}

#[test]
fn packets_of_many_streams_leave_in_one_call() {
    let gate = Arc::new(Gate::default());
    let (mut streams, mut receivers) = open(&gate);
    gate.is_shut.store(true, Ordering::SeqCst);
    for transmitter in &mut streams {
        let session = *transmitter.session();
        let filling = transmitter.quantum(PATIENCE).unwrap().expect("one is free");
        let len_bytes = session.payload_bytes;
        transmitter
            .submit(filling, len_bytes, session.first_index, Flags::END_OF_BURST)
            .expect("it follows");
    }
    // A link that takes nothing is offered what is ready again and again.
    wait_until("a call with a packet of each", PATIENCE, || {
        gate.most.load(Ordering::SeqCst) >= STREAMS.into()
    });
    gate.is_shut.store(false, Ordering::SeqCst);
    for receiver in &mut receivers {
        let until = Instant::now() + PATIENCE;
        while receiver.next_within(PATIENCE).unwrap().is_none() {
            assert!(Instant::now() < until, "nothing came of {}", receiver.info().stream);
        }
    }
}

#[test]
fn control_packets_of_a_call_leave_before_its_data() {
    let gate = Arc::new(Gate::default());
    let (mut streams, mut receivers) = open(&gate);
    let mut indexes: Vec<_> = streams.iter().map(|it| it.session().first_index).collect();
    let until = Instant::now() + PATIENCE;
    for round in 0.. {
        if gate.mixed.load(Ordering::SeqCst) >= CALLS {
            break;
        }
        assert!(Instant::now() < until, "{:?} in {round} rounds", gate.mixed);
        // While the others mark their silence.
        for place in (round % 2..STREAMS.into()).step_by(2) {
            let transmitter = &mut streams[place];
            let session = *transmitter.session();
            let Some(filling) = transmitter.quantum(Duration::ZERO).unwrap() else {
                continue;
            };
            transmitter
                .submit(filling, session.payload_bytes, indexes[place], Flags::NONE)
                .expect("it follows");
            indexes[place] += u64::from(session.packet_samples);
        }
        for receiver in &mut receivers {
            while receiver.next_within(Duration::ZERO).unwrap().is_some() {}
        }
    }
    assert_eq!(gate.split.load(Ordering::SeqCst), 0);
}

const STREAMS: u16 = 40;

/// With DATA and control packets, after which a test has seen enough.
const CALLS: usize = 20;
