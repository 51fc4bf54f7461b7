//! Receives a stream over DPDK for some seconds, and prints the rate as JSON. A missing index is an error.
//!
//! ```text
//! cargo run --release -p samplewire-dpdk --features dpdk --example dpdk_receive -- \
//!     DEVICE NETWORK ADDRESS SECONDS [EAL-ARGUMENT...]
//! ```
//!
//! For instance `net_af_packet0,iface=eth1 10.0.0.1/24 10.0.0.2:5000 5 --no-huge --no-pci -m 128`, with
//! `samplewire emulate --rate max --listen 10.0.0.2:5000` at the other end. `udp` in place
//! of a device is a socket of the kernel, to compare with; it needs no network.

use std::time::{Duration, Instant};

use samplewire::receiver::Port;
use samplewire::{RealTime, UdpOptions};
use samplewire_dpdk::{DpdkLink, DpdkOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [device, network, address, seconds, eal @ ..] = &words[..] else {
        return Err("DEVICE NETWORK ADDRESS SECONDS [EAL-ARGUMENT...]".into());
    };
    let port = if device == "udp" {
        Port::connect(address.parse()?, &UdpOptions::new())?
    } else {
        let link = DpdkLink::open(&DpdkOptions::new(device, network.parse()?).eal(eal))?;
        Port::over(Box::new(link), &RealTime::default())?
    };
    let mut stream = port.open(address.parse()?, &samplewire::receive())?;
    let span = Duration::from_secs_f64(seconds.parse()?);
    let (mut next, mut bytes, start) = (0, 0, Instant::now());
    for block in stream.by_ref() {
        let block = block?;
        if block.index() != next || !block.gaps().is_empty() {
            return Err(format!("index {} instead of {next}", block.index()).into());
        }
        next += block.len() as u64;
        bytes += block.bytes().len();
        if start.elapsed() >= span {
            break;
        }
    }
    let rate_bps = 8.0 * bytes as f64 / start.elapsed().as_secs_f64();
    stream.close();
    println!("{{\"bytes\":{bytes},\"rate_bps\":{rate_bps:.0}}}");
    Ok(())
}
