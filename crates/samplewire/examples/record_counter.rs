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
use std::time::{Duration, Instant};

use samplewire::source::{CounterSource, ReadSamples, counter_mismatch};
use samplewire::transmitter::{Overflow, PlayError};
use samplewire::{FaultSpec, Faults, Udp, UdpOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = CounterSource::new(10e6, 0)?;
    let udp = Udp::bind("127.0.0.1:0".parse()?, &UdpOptions::new())?;
    let link = Faults::new(udp, &FaultSpec::new().loss(0.01), &FaultSpec::new().loss(0.01))?;
    let options = samplewire::device().sends(source.info().clone());
    let mut device = options.listen_over(Box::new(link))?;
    let address = device.address;
    let sending = std::thread::spawn(move || -> Result<u64, PlayError> {
        let mut stream = device.accept()?;
        let start = Instant::now();
        let is_over = || start.elapsed() >= Duration::from_millis(500);
        // A file would wait; a converter cannot, and lists what finds no room as lost.
        Ok(stream.play(&mut source, Overflow::Lose { rate_hz: 10e6 }, is_over)?.samples)
    });
    let file = tempfile::NamedTempFile::new()?;
    record(address, file.path())?;
    let sent = sending.join().expect("the device does not panic")?;
    let len_bytes = file.as_file().metadata()?.len();
    assert_eq!(len_bytes, sent * 4, "every sample that was sent is in the file");
    Ok(())
}

fn record(address: SocketAddr, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(path)?;
    let mut receiver = samplewire::receive().open(address)?;
    let (mut samples, mut missing) = (0, 0);
    for block in &mut receiver {
        let block = block?;
        for gap in block.gaps() {
            println!("missing {}..{}: {}", gap.first, gap.end(), gap.cause);
            missing += gap.count();
        }
        // Of `samplewire emulate --source counter`: each sample encodes its own index.
        assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
        file.write_all(block.bytes())?;
        samples += block.len();
    }
    let repaired = receiver.stats().stream.repaired;
    println!("{samples} samples, {missing} missing, {repaired} packets repaired");
    println!("{:?}", receiver.end());
    Ok(())
}
