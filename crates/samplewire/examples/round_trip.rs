//! The round trip of 64 bytes of samples between two programs, each with a stream to the other: to a
//! device that plays, and back by the stream that it sends.
//!
//! ```text
//! cargo run --release -p samplewire --example round_trip -- \
//!     [--waits asleep|spinning|both-spinning|inline] [--cpus A,B] [--rounds N] \
//!     [--link udp|xdp] [--far NAMESPACE,IP]
//! ```
//!
//! `--cpus` keeps each side's program on a CPU; its I/O threads stay where the system puts them. `--far`
//! puts the device into a network namespace, where it has this address: else both are on loopback.
//! Prints one JSON object.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use samplewire::receiver::Port;
use samplewire::{
    Device, Flags, RealTime, ReceiveStream, SendStream, StreamInfo, UdpOptions, Waits, real_time,
};
use samplewire_io::xdp::XdpState;
use samplewire_io::{Bypass, Xdp};
use samplewire_testing::NetworkNamespace;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() {
    if let Err(error) = run(pico_args::Arguments::from_env()) {
        eprintln!("round_trip: {error}");
        std::process::exit(1);
    }
}

fn run(mut words: pico_args::Arguments) -> Result<()> {
    let word = words.opt_value_from_str("--waits")?.unwrap_or("asleep".to_owned());
    let cpus = words.opt_value_from_fn("--cpus", cpu_pair)?;
    let rounds = words.opt_value_from_str("--rounds")?.unwrap_or(20_000_usize);
    let bypass = words.opt_value_from_fn("--link", bypass)?.unwrap_or_default();
    let udp = UdpOptions::new().bypass(bypass);
    let far = words.opt_value_from_fn("--far", far)?;
    let (namespace, far_ip) = match far {
        Some((namespace, ip)) => (Some(namespace), ip),
        None => (None, Ipv4Addr::LOCALHOST),
    };
    let unknown = words.finish();
    if !unknown.is_empty() {
        return Err(format!("unknown: {unknown:?}").into());
    }
    if !(1..=10_000_000).contains(&rounds) {
        return Err(format!("--rounds {rounds} is not 1 to 10000000").into());
    }
    let real_time = RealTime::new().waits(word.parse::<Waits>()?);
    let info = StreamInfo::sc16("", 1e6)?;
    let options =
        samplewire::device().sends(info.clone()).plays(info).window(WINDOW).udp(udp.clone());
    let options = options.payload_bytes(PAYLOAD as u16).real_time(real_time.clone());
    let (listens, address) = mpsc::channel();
    let echo = std::thread::spawn(move || {
        if let Some(namespace) = namespace {
            namespace.enter()?;
        }
        let device = options.listen(SocketAddr::from((far_ip, 0)))?;
        listens.send(device.address)?;
        echo(device, rounds + WARMING, cpus.map(|it| it.1))
    });

    let Ok(address) = address.recv() else { return echo.join().expect("it does not panic") };
    let port = Port::over(Box::new(Xdp::client(address, &udp)?), &real_time)?;
    let mut receiver = port.open(
        address,
        &samplewire::receive().window(WINDOW).owner(1).real_time(real_time.clone()),
    )?;
    let mut sender =
        samplewire::send().window(WINDOW).owner(1).real_time(real_time).open_on(&port, address)?;
    let bypass = receiver.capabilities().bypass.clone();
    // Inline, both need their turns.
    while !sender.wait_ready(Duration::from_millis(1))? {
        receiver.next_within(Duration::from_millis(1))?;
    }
    cpus.map_or(Ok(()), |it| real_time::pin(it.0))?;
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + WARMING {
        let start = Instant::now();
        send(&mut sender)?;
        take(&mut receiver)?;
        if round >= WARMING {
            times.push(start.elapsed().as_nanos());
        }
    }
    if let Some(state) = bypass.map(|log| log.state())
        && !matches!(state, XdpState::Attached(_))
    {
        return Err(state.to_string().into());
    }
    // Inline, the last handle of the port closes the streams.
    drop((sender, receiver, port));
    echo.join().expect("it does not panic")?;
    times.sort_unstable();
    let [p50, p99, p999] =
        [0.5, 0.99, 0.999].map(|share| times[((rounds - 1) as f64 * share).round() as usize]);
    println!(
        "{{\"what\":\"stream {word}\",\"rounds\":{rounds},\
         \"p50_ns\":{p50},\"p99_ns\":{p99},\"p999_ns\":{p999}}}"
    );
    Ok(())
}

/// The device: sends back as much as comes, as soon as it comes.
fn echo(mut device: Device, rounds: usize, cpu: Option<usize>) -> Result<()> {
    let (mut sender, mut receiver) = (device.accept()?, device.accept_sender()?.receiver);
    cpu.map_or(Ok(()), real_time::pin)?;
    for _ in 0..rounds {
        take(&mut receiver)?;
        send(&mut sender)?;
    }
    // The near side has them all when it closes.
    receiver.next().transpose()?;
    Ok(())
}

fn send(sender: &mut SendStream) -> Result<()> {
    let next = sender.next_index();
    let mut quantum = sender.quantum(PATIENCE)?.ok_or("the other side takes nothing")?;
    quantum.bytes_mut()[..PAYLOAD].fill(next as u8);
    Ok(sender.submit(quantum, PAYLOAD, next, Flags::NONE)?)
}

fn take(receiver: &mut ReceiveStream) -> Result<()> {
    let block = receiver.next_within(PATIENCE)?.ok_or("the other side is silent")?;
    assert_eq!(block.len(), PAYLOAD / 4, "one packet after another");
    Ok(())
}

fn bypass(text: &str) -> Result<Bypass> {
    match text {
        "udp" => Ok(Bypass::Never),
        "xdp" => Ok(Bypass::Always),
        _ => Err("not udp or xdp".into()),
    }
}

fn far(text: &str) -> Result<(NetworkNamespace, Ipv4Addr)> {
    let (name, ip) = text.split_once(',').ok_or("not a namespace and an address")?;
    Ok((NetworkNamespace::named(name)?, ip.parse()?))
}

fn cpu_pair(text: &str) -> Result<(usize, usize)> {
    let (near, far) = text.split_once(',').ok_or("not two numbers, as 0,1")?;
    Ok((near.parse()?, far.parse()?))
}

/// Rounds before those that count: links go past the kernel some 10 ms after their stream has begun.
const WARMING: usize = 20_000;
const PAYLOAD: usize = 64;
const WINDOW: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(5);
