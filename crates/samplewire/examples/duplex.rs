//! A stream each way at once between two programs of one thread each: its own calls send, receive
//! and repair (`Waits::Inline`), and neither sleeps.
//!
//! ```text
//! cargo run --release -p samplewire --example duplex -- \
//!     --device ADDRESS | --host ADDRESS [--payload BYTES] [--window PACKETS] [--seconds S]
//! ```
//!
//! The host ends both streams, and prints one JSON object: what it took, and what the device has of
//! what it sent, in bytes of samples. A missing index is an error at either end.

use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use samplewire::transmitter::SendError;
use samplewire::{End, Flags, RealTime, ReceiveStream, SendStream, StreamInfo, Waits};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() {
    if let Err(error) = run(pico_args::Arguments::from_env()) {
        eprintln!("duplex: {error}");
        std::process::exit(1);
    }
}

fn run(mut words: pico_args::Arguments) -> Result<()> {
    let device: Option<String> = words.opt_value_from_str("--device")?;
    let host: Option<String> = words.opt_value_from_str("--host")?;
    let payload_bytes = words.opt_value_from_str("--payload")?.unwrap_or(8_000);
    let window = words.opt_value_from_str("--window")?.unwrap_or(4_096);
    let seconds = words.opt_value_from_str("--seconds")?.unwrap_or(1.0);
    let inline = RealTime::new().waits(Waits::Inline);
    match (device, host, words.finish()) {
        (_, _, unknown) if !unknown.is_empty() => Err(format!("unknown: {unknown:?}").into()),
        (Some(address), None, _) => {
            let info = StreamInfo::sc16("", 1e9)?;
            let options = samplewire::device().sends(info.clone()).plays(info).window(window);
            let mut device =
                options.payload_bytes(payload_bytes).real_time(inline).listen(address)?;
            let (sender, receiver) = (device.accept()?, device.accept_sender()?.receiver);
            let mut both = Both { sender, receiver, sent_bytes: 0, taken_bytes: 0 };
            while both.turn()? {}
            Ok(())
        }
        (None, Some(address), _) => {
            let options = samplewire::receive().window(window).owner(1);
            let receiver = options.real_time(inline.clone()).open(&address)?;
            let options = samplewire::send().window(window).owner(1);
            let sender = options.real_time(inline).open(&address)?;
            measure(Both { sender, receiver, sent_bytes: 0, taken_bytes: 0 }, seconds)
        }
        _ => Err("name one end: --device ADDRESS or --host ADDRESS".into()),
    }
}

/// What the host does for so long.
fn measure(mut both: Both, seconds: f64) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds && both.turn()? {}
    let (taken_bytes, taken_s) = (both.taken_bytes, begun.elapsed().as_secs_f64());
    let (end, sent_bytes) = (both.sender.finish(0)?.end, both.sent_bytes);
    let sent_s = begun.elapsed().as_secs_f64();
    if !matches!(end, End::Finished { .. }) {
        return Err(format!("the device took only a part: {end:?}").into());
    }
    both.receiver.close();
    println!(
        "{{\"taken_bytes\":{taken_bytes},\"taken_s\":{taken_s:.6},\
         \"sent_bytes\":{sent_bytes},\"sent_s\":{sent_s:.6}}}"
    );
    Ok(())
}

/// The streams of one program.
struct Both {
    sender: SendStream,
    receiver: ReceiveStream,
    sent_bytes: u64,
    taken_bytes: u64,
}

impl Both {
    /// Sends a quantum and takes a block, where there is one: neither way waits for the other.
    /// `false` when all has come.
    fn turn(&mut self) -> Result<bool> {
        match self.sender.poll_quantum(Waker::noop()) {
            Poll::Ready(Ok(mut quantum)) => {
                let len_bytes = quantum.bytes_mut().len();
                self.sender.submit(quantum, len_bytes, self.sender.next_index(), Flags::NONE)?;
                self.sent_bytes += len_bytes as u64;
            }
            // The other end takes no more, for now or for good.
            Poll::Pending | Poll::Ready(Err(SendError::Ended(_))) => {}
            Poll::Ready(Err(error)) => return Err(error.into()),
        }
        match self.receiver.next_within(Duration::ZERO) {
            Ok(Some(block)) if block.gaps().is_empty() => {
                self.taken_bytes += block.bytes().len() as u64;
            }
            Ok(Some(block)) => return Err(format!("missing: {:?}", block.gaps()).into()),
            Ok(None) => {}
            Err(error) if error.is_closed() => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}
