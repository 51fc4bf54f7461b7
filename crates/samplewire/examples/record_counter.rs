//! Records a stream into a file and accounts for every index. The device is in the same program,
//! behind a link that loses a packet in a hundred, so that there is something to account for.
//!
//! ```text
//! cargo run --release -p samplewire --example record_counter
//! ```

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::source::{CounterSource, Source, counter_mismatch};
use samplewire::transmitter::Overflow;
use samplewire::{
    FaultSpec, Faults, Listener, ReceiveOptions, ReceiveStream, TransmitterOptions, Udp, UdpOptions,
};

fn main() -> Result<(), Box<dyn Error>> {
    let (address, device) = start_device()?;
    let path = std::env::temp_dir().join(format!("record_counter-{}.sc16", std::process::id()));
    record(address, &path)?;
    let sent = device.join().expect("the device does not panic")?;

    let len_bytes = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;
    assert_eq!(len_bytes, sent * 4, "every sample that was sent is in the file");
    Ok(())
}

fn record(address: SocketAddr, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(path)?;
    let mut receiver = ReceiveStream::open(address, &ReceiveOptions::new())?;
    let (mut samples, mut missing) = (0, 0);
    for block in &mut receiver {
        let block = block?;
        for gap in block.gaps() {
            println!("missing {}..{}: {}", gap.first, gap.end(), gap.cause);
            missing += gap.count();
        }
        // A counter's samples say their own index.
        assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
        file.write_all(block.bytes())?;
        samples += block.len();
    }
    let repaired = receiver.stats().stream.repaired;
    println!("{samples} samples, {missing} missing, {repaired} packets repaired");
    println!("{:?}", receiver.end());
    Ok(())
}

type Device = JoinHandle<Result<u64, String>>;

/// Starts a device that counts at 10 MS/s for half a second, and says where. Its thread gives the
/// number of samples sent.
fn start_device() -> Result<(SocketAddr, Device), Box<dyn Error>> {
    let mut source = CounterSource::new(10e6, 0)?;
    let udp = Udp::bind("127.0.0.1:0".parse()?, &UdpOptions::new())?;
    let link = Faults::new(udp, &FaultSpec::new().loss(0.01), &FaultSpec::new().loss(0.01))?;
    let options = TransmitterOptions::new();
    let mut device = Listener::listen_over(Box::new(link), source.info(), &options)?;
    let address = device.local_addr();
    let thread = std::thread::spawn(move || {
        let mut stream = device
            .accept(Duration::from_secs(5))
            .map_err(|error| error.to_string())?
            .ok_or("no receiver came")?;
        let start = Instant::now();
        let is_over = || start.elapsed() >= Duration::from_millis(500);
        // A file would wait; a converter cannot, and lists what finds no room as lost.
        let overflow = Overflow::Lose { rate_hz: source.info().rate_hz() };
        let played = stream.play(&mut source, overflow, is_over);
        played.map(|played| played.samples).map_err(|error| error.to_string())
    });
    Ok((address, thread))
}
