//! A listener on a link of frames that a test makes.

use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use samplewire_io::ether::{EtherError, EtherLink, EtherStation};
use samplewire_proto::Rng;
use samplewire_roce::qp::State;
use samplewire_roce::responder::Placement;
use signal_hook::consts::SIGUSR1;
use signal_hook::low_level::raise;

use super::super::station::{FindError, Memory, Station};
use super::software::Buffers;
use super::*;

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: ListenArguments,
}

fn arguments() -> ListenArguments {
    let line = "x --dgram 127.0.0.1:1,127.0.0.1:2 --ip 10.0.0.2 --region 1kB --message 1kB";
    CommandLine::try_parse_from(line.split(' ')).expect("it is a listener").arguments
}

/// Junk to the station, a signal with the first frame if there is to be one.
struct Flood {
    readable: UnixStream,
    _other_end: UnixStream,
    taken: Arc<AtomicU64>,
    raises: bool,
}

impl Flood {
    fn new(raises: bool) -> (Self, Arc<AtomicU64>) {
        let (readable, other_end) = UnixStream::pair().expect("two sockets");
        io::Write::write_all(&mut &other_end, b"x").expect("there is room");
        let taken = Arc::default();
        (Self { readable, _other_end: other_end, taken: Arc::clone(&taken), raises }, taken)
    }
}

impl AsFd for Flood {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

impl EtherLink for Flood {
    fn name(&self) -> &str {
        "flood"
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        if self.raises && before == 0 {
            raise(SIGUSR1).expect("it has a handler");
        }
        into[..64].fill(0xEE);
        Ok((before < FRAMES_MAX).then_some(64))
    }

    fn send(&mut self, _: &[u8]) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(None)
    }
}

/// More than come between two looks at the exchange.
const FRAMES_MAX: u64 = 20_000_000;

fn listener(
    arguments: &ListenArguments,
    socket: TcpListener,
    link: Flood,
) -> Listener<'_, Software<'_>> {
    let ether = EtherStation::new(Box::new(link), arguments.station.ip, [2, 0, 0, 0, 0, 2]);
    let station = Station::on(ether, &arguments.station, 1, 16, Vec::new());
    let memory = Buffers::new(arguments).expect("it is small");
    Listener {
        arguments,
        arrivals: Some(Arrivals::new(socket).expect("it is open")),
        interrupt: Interrupt::of(&[SIGUSR1]).expect("it may have a handler"),
        end: Software::on(station, arguments, Rng::new(1), 7, memory),
        kept: Kept::open(None).expect("there is no file"),
    }
}

/// Both ends of an exchange.
fn exchange(socket: &TcpListener) -> (Exchange, Exchange) {
    let near = TcpStream::connect(socket.local_addr().expect("it is bound")).expect("it listens");
    let far = socket.accept().expect("one has come").0;
    (Exchange::new(near).expect("it is open"), Exchange::new(far).expect("it is open"))
}

fn socket() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("there is a free port")
}

#[test]
fn flood_of_frames_does_not_hide_the_last_line() {
    let (arguments, socket) = (arguments(), socket());
    let (mut near, mut far) = exchange(&socket);
    let (link, taken) = Flood::new(false);
    let mut listener = listener(&arguments, socket, link);
    near.say(&LastLine { bytes: Some(0), error: None }).expect("there is room");
    let served = listener.receive(&mut far, &mut Console::new(Lines::Nowhere, false));
    assert_eq!(served.expect("the link is open").result, WHOLE);
    assert!(taken.load(Ordering::Relaxed) < FRAMES_MAX, "it waited for the end of the flood");
}

#[test]
fn error_of_one_accept_does_not_end_the_listener() {
    let arguments = arguments();
    // Of a socket that does not listen: EOPNOTSUPP, which accept also passes on from a network.
    let other = UdpSocket::bind("127.0.0.1:0").expect("there is a free port");
    let socket = TcpListener::from(OwnedFd::from(other));
    let mut listener = listener(&arguments, socket, Flood::new(true).0);
    assert!(listener.accept().expect("it goes on").is_none(), "until a signal comes");
}

#[test]
fn refused_peer_leaves_no_connection() {
    let (arguments, socket) = (arguments(), socket());
    let (_near, far) = exchange(&socket);
    let mut listener = listener(&arguments, socket, Flood::new(false).0);
    let line = Line {
        address: arguments.station.ip,
        qpn: 17,
        psn: 0,
        mtu: 1_024,
        rkey: 0,
        region_address: 0,
        region_bytes: 0,
    };
    let line = serde_json::to_string(&line).expect("numbers and an address");
    let refused = listener.connect(far, Ok(line), &mut Console::new(Lines::Nowhere, false));
    assert!(matches!(refused, Err(RoceError::Find(FindError::Twice(_)))), "{refused:?}");
    assert_eq!(listener.end.station.qp.state(), State::Reset);
}

#[test]
fn bytes_of_a_connection_are_gone_when_it_has_ended() {
    let (arguments, socket) = (arguments(), socket());
    let (near, mut far) = exchange(&socket);
    let mut listener = listener(&arguments, socket, Flood::new(false).0);
    listener.end.memory.place(Placement::Region { region: 0, offset: 10 }, &[7; 90]);
    drop(near);
    let ended = listener.serve(&mut far, &mut Console::new(Lines::Nowhere, false));
    let ended = ended.expect("the link is open");
    assert_eq!((ended.bytes_written, ended.region_end), (90, 100));
    assert!(listener.end.memory.region.iter().all(|byte| *byte == 0), "the next one finds zeros");
    assert_eq!((listener.end.memory.written, listener.end.memory.region_end), (0, 0));
}
