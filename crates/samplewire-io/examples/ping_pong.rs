//! The floor of a round trip on this machine: 64 bytes there and back between two threads, by
//! `send` and `recv` alone. `--link` puts our [`Udp`] link in both places, for the same figure with
//! it.
//!
//! ```text
//! cargo run --release -p samplewire-io --example ping_pong -- \
//!     [--spin] [--link] [--cpus A,B] [--payload BYTES] [--rounds N]
//! ```
//!
//! `--spin` looks without a pause, else each side sleeps until something comes. Prints one JSON
//! object.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire_io::{Batch, Ecn, Link, Outgoing, Udp, UdpOptions, thread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (mut near, mut far) =
        if arguments.has_link { links(&arguments)? } else { bare(&arguments)? };
    let rounds = arguments.warming + arguments.rounds;
    let times = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(arguments.cpus.map(|(_, far)| far));
            for _ in 0..rounds {
                (far.receive)();
                (far.send)();
            }
        });
        pin(arguments.cpus.map(|(near, _)| near));
        let mut times = Vec::with_capacity(arguments.rounds);
        for round in 0..rounds {
            let start = Instant::now();
            (near.send)();
            (near.receive)();
            if round >= arguments.warming {
                times.push(start.elapsed());
            }
        }
        times
    });
    let what = if arguments.has_link { "link" } else { "bare" };
    let how = if arguments.spins { "spinning" } else { "blocking" };
    report(&format!("{what} {how}"), times);
    Ok(())
}

/// What one side does; a failed call ends the process.
struct Side {
    send: Box<dyn FnMut() + Send>,
    receive: Box<dyn FnMut() + Send>,
}

fn bare(arguments: &Arguments) -> std::io::Result<(Side, Side)> {
    let near = UdpSocket::bind("127.0.0.1:0")?;
    let far = UdpSocket::bind("127.0.0.1:0")?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    let side = |socket: UdpSocket| {
        socket.set_nonblocking(arguments.spins)?;
        let bytes = vec![0x5a; arguments.payload_bytes];
        let mut arrived = bytes.clone();
        let receiver = socket.try_clone()?;
        let send = move || assert_eq!(socket.send(&bytes).expect("loopback takes it"), bytes.len());
        let receive = move || {
            loop {
                match receiver.recv(&mut arrived) {
                    Ok(_) => return,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
                }
            }
        };
        Ok::<_, std::io::Error>(Side { send: Box::new(send), receive: Box::new(receive) })
    };
    Ok((side(near)?, side(far)?))
}

fn links(arguments: &Arguments) -> Result<(Side, Side), Box<dyn std::error::Error>> {
    let options = UdpOptions::new();
    let far = Udp::bind("127.0.0.1:0".parse()?, &options)?;
    let near = Udp::client(far.local_addr(), &options)?;
    let (near_at, far_at) = (near.local_addr(), far.local_addr());
    let side = |link: Udp, peer| {
        let bytes = vec![0x5a; arguments.payload_bytes];
        let spins = arguments.spins;
        let mut batch = Batch::new(64, 9_000);
        let link = Arc::new(Mutex::new(link));
        let receiver = Arc::clone(&link);
        let send = move || {
            let packet = Outgoing::whole(peer, Ecn::Ect0, &bytes);
            let mut link = link.lock().expect("no holder of the lock panics");
            assert_eq!(link.send(&[packet]).expect("loopback takes it"), 1);
        };
        let receive = move || {
            let mut link = receiver.lock().expect("no holder of the lock panics");
            loop {
                link.recv(&mut batch).expect("loopback gives packets");
                if !batch.is_empty() {
                    return;
                }
                if !spins {
                    link.wait(Duration::from_secs(1)).expect("it can be waited for");
                }
            }
        };
        Side { send: Box::new(send), receive: Box::new(receive) }
    };
    Ok((side(near, far_at), side(far, near_at)))
}

fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        thread::pin(cpu).expect("the CPU is there");
    }
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_nanos();
    println!(
        "{{\"what\":\"{what}\",\"rounds\":{},\"p50_ns\":{},\"p99_ns\":{},\"p999_ns\":{}}}",
        times.len(),
        at(0.5),
        at(0.99),
        at(0.999)
    );
}

struct Arguments {
    spins: bool,
    has_link: bool,
    /// Of the near side, and of the far one.
    cpus: Option<(usize, usize)>,
    payload_bytes: usize,
    rounds: usize,
    warming: usize,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            spins: false,
            has_link: false,
            cpus: None,
            payload_bytes: 64,
            rounds: 20_000,
            warming: 1_000,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let number = |text: &str| match text.parse() {
                Ok(number @ 1..=10_000_000) => Ok(number),
                _ => Err(format!("{word} {text}: not 1 to 10000000")),
            };
            match word.as_str() {
                "--link" => arguments.has_link = true,
                "--spin" => arguments.spins = true,
                "--cpus" => {
                    let text = value()?;
                    let pair = text.split_once(',').map(|(a, b)| (a.parse(), b.parse()));
                    match pair {
                        Some((Ok(near), Ok(far))) => arguments.cpus = Some((near, far)),
                        _ => return Err(format!("--cpus {text}: not two numbers, as 0,1")),
                    }
                }
                "--payload" => arguments.payload_bytes = number(&value()?)?.min(1_400),
                "--rounds" => arguments.rounds = number(&value()?)?,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }
}
