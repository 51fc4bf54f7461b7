//! The floor of a round trip on this machine: 64 bytes there and back between two threads, by
//! `send` and `recv` alone. `--link` puts our link in both places, for the same figure with it; with
//! `xdp`, its packets bypass the kernel.
//!
//! ```text
//! cargo run --release -p samplewire-io --example ping_pong -- \
//!     [--spin] [--link udp|xdp] [--cpus A,B] [--payload BYTES] [--rounds N] [--far NAMESPACE,IP]
//! ```
//!
//! `--far` puts the far side into a network namespace, where it has this address: else both are on
//! loopback.
//! `--spin` looks without a pause, else each side sleeps until something comes. Prints one JSON
//! object.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire_io::xdp::XdpState;
use samplewire_io::{Batch, Bypass, Ecn, KnownTags, Link, Outgoing, UdpOptions, Word, Xdp, thread};
use samplewire_testing::NetworkNamespace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (mut near, mut far) =
        if arguments.link.is_some() { links(&arguments)? } else { bare(&arguments)? };
    let rounds = arguments.warming + arguments.rounds;
    let times = std::thread::scope(|scope| {
        scope.spawn(|| {
            arguments.far.enter();
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
    let what = arguments.link.map_or("bare", |bypass| match bypass {
        Bypass::Never => "link",
        _ => "link by xdp",
    });
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
    let far = arguments.far.run(|| UdpSocket::bind((arguments.far.ip, 0)))?;
    let near = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    near.connect(far.local_addr()?)?;
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
    let bypass = arguments.link.unwrap_or_default();
    let options = UdpOptions::new().bypass(bypass);
    let far = &arguments.far;
    let mut far_link = far.run(|| Xdp::bind((far.ip, 0).into(), &options))?;
    let mut near_link = Xdp::client(far_link.local_addr(), &options)?;
    let (near_at, far_at) = (near_link.local_addr(), far_link.local_addr());
    // By UDP first, so that the kernels find each other. Then the tag is known.
    near_link.send(&[Outgoing::whole(far_at, Ecn::NotEct, &[0x5a; 64])])?;
    far_link.wait(Duration::from_secs(1))?;
    far.run(|| far_link.send(&[Outgoing::whole(near_at, Ecn::NotEct, &[0x5a; 64])]))?;
    near_link.wait(Duration::from_secs(1))?;
    let word = Word { offset_bytes: 2, values: &[0x5a5a_5a5a] };
    near_link.steer(Some(&KnownTags { word, peers: &[far_at] }));
    far.run(|| far_link.steer(Some(&KnownTags { word, peers: &[near_at] })));
    // A program before may hold the queues for some ms more.
    let mut old = Batch::new(64, 9_000);
    let start = Instant::now();
    loop {
        near_link.recv(&mut old)?;
        far.run(|| far_link.recv(&mut old))?;
        let links = [&near_link, &far_link];
        let logs = links.into_iter().filter_map(|link| link.capabilities().bypass);
        match logs.map(|log| log.state()).find(|it| !matches!(it, XdpState::Attached(_))) {
            None => break,
            Some(XdpState::Idle) if start.elapsed() < Duration::from_secs(2) => {}
            Some(state) => return Err(state.to_string().into()),
        }
    }
    let side = |link: Xdp, peer| {
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
    Ok((side(near_link, far_at), side(far_link, near_at)))
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

/// Where the far side is.
struct Far {
    namespaces: Option<[NetworkNamespace; 2]>,
    ip: Ipv4Addr,
}

impl Far {
    /// Moves this thread there for good.
    fn enter(&self) {
        if let Some([_, far]) = &self.namespaces {
            far.enter().expect("it was entered before");
        }
    }

    /// Runs `call` there.
    fn run<T>(&self, call: impl FnOnce() -> T) -> T {
        self.enter();
        let result = call();
        if let Some([near, _]) = &self.namespaces {
            near.enter().expect("it comes from there");
        }
        result
    }
}

struct Arguments {
    spins: bool,
    link: Option<Bypass>,
    far: Far,
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
            link: None,
            far: Far { namespaces: None, ip: Ipv4Addr::LOCALHOST },
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
                "--link" => {
                    arguments.link = Some(match value()?.as_str() {
                        "udp" => Bypass::Never,
                        "xdp" => Bypass::Always,
                        other => return Err(format!("--link {other}: not udp or xdp")),
                    });
                }
                "--far" => {
                    let text = value()?;
                    let parts = text.split_once(',').map(|(name, ip)| (name, ip.parse()));
                    let Some((name, Ok(ip))) = parts else {
                        return Err(format!("--far {text}: not a namespace and an address"));
                    };
                    let namespaces = NetworkNamespace::current()
                        .and_then(|near| Ok([near, NetworkNamespace::named(name)?]))
                        .map_err(|error| format!("--far {text}: {error}"))?;
                    arguments.far = Far { namespaces: Some(namespaces), ip };
                }
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
