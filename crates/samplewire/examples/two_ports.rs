//! The host of two devices, each behind a network interface of its own: one port with a link at each, or
//! a port each. For `bench/two_ports.py`; the devices are the example `throughput`.
//!
//! ```text
//! cargo run --release -p samplewire --example two_ports -- \
//!     --threads 1|2 --local IP,IP --device ADDRESS,ADDRESS [--window PACKETS] [--bypass]
//! ```
//!
//! It receives until both devices end, and prints as JSON what came of each, and how fast. A missing
//! index is an error.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use samplewire::UdpOptions;
use samplewire::receiver::{Port, ReceiveStream};
use samplewire_io::Bypass;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (mut threads, mut window, mut udp) = (1, 1_024, UdpOptions::new());
    let (mut locals, mut devices) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value"));
        match word.as_str() {
            "--threads" => threads = value()?.parse::<usize>()?,
            "--window" => window = value()?.parse()?,
            "--local" => locals = addresses(&value()?, |ip| Ok((ip.parse::<IpAddr>()?, 0).into()))?,
            "--device" => devices = addresses(&value()?, str::parse)?,
            "--bypass" => udp = udp.bypass(Bypass::Always),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    if !(1..=2).contains(&threads) || locals.len() != 2 || devices.len() != 2 {
        return Err("1 or 2 threads, 2 local addresses and 2 devices".into());
    }
    let ports = locals
        .chunks(2 / threads)
        .map(|locals| Port::bind_each(locals, &udp))
        .collect::<Result<Vec<_>, _>>()?;
    let options = samplewire::receive().window(window);
    let streams = devices
        .iter()
        .zip(ports.iter().cycle())
        .map(|(device, port)| port.open(*device, &options))
        .collect::<Result<Vec<_>, _>>()?;
    let taken = std::thread::scope(|scope| {
        let takers = streams.into_iter().map(|stream| scope.spawn(|| take(stream)));
        let takers: Vec<_> = takers.collect();
        let taken = takers.into_iter().map(|it| it.join().expect("a program does not panic"));
        taken.collect::<Result<Vec<_>, _>>()
    })?;
    let each: Vec<_> = taken
        .iter()
        .map(|(bytes, rate_bps)| format!("{{\"bytes\":{bytes},\"rate_bps\":{rate_bps:.0}}}"))
        .collect();
    println!("[{}]", each.join(","));
    Ok(())
}

fn addresses(
    text: &str,
    parse: impl Fn(&str) -> Result<SocketAddr, std::net::AddrParseError>,
) -> Result<Vec<SocketAddr>, String> {
    text.split(',').map(|it| parse(it).map_err(|error| format!("{it}: {error}"))).collect()
}

/// Takes all blocks: their bytes, and the bits a second between the first block and the last.
fn take(mut stream: ReceiveStream) -> Result<(u64, f64), String> {
    let (mut next, mut bytes, mut first) = (0, 0_u64, None);
    for block in stream.by_ref() {
        let block = block.map_err(|error| error.to_string())?;
        if block.index() != next || !block.gaps().is_empty() {
            return Err(format!("index {} instead of {next}", block.index()));
        }
        next += block.len() as u64;
        bytes += block.bytes().len() as u64;
        first.get_or_insert((Instant::now(), bytes));
    }
    let (since, first_bytes) = first.ok_or("no samples came")?;
    Ok((bytes, (bytes - first_bytes) as f64 * 8.0 / since.elapsed().as_secs_f64()))
}
