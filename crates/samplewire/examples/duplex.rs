//! A stream each way at once between two programs of one thread each: its own calls send, receive
//! and repair (`Waits::Inline`), and nobody sleeps.
//!
//! ```text
//! cargo run --release -p samplewire --example duplex -- \
//!     --device ADDRESS | --host ADDRESS [--payload BYTES] [--window PACKETS] [--seconds S]
//! ```
//!
//! The host ends both streams, and prints one JSON object: what it took, and what the device has of
//! what it sent, in bytes of samples. A missing index is an error at either end.

use std::net::SocketAddr;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use samplewire::device::{Device, DeviceConfig};
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::transmitter::SendError;
use samplewire::{
    Flags, RealTime, ReceiveOptions, ReceiveStream, SendOptions, SendStream, TransmitterOptions,
    Waits,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    match arguments.end {
        End::Device(address) => {
            let mut side = Side::listen(address, &arguments)?;
            while !side.receiver.is_over() {
                side.turn()?;
            }
            Ok(())
        }
        End::Host(address) => {
            let mut side = Side::open(address, &arguments)?;
            let begun = Instant::now();
            while begun.elapsed() < arguments.duration {
                side.turn()?;
            }
            let (taken_bytes, taken_s) = (side.taken_bytes, begun.elapsed().as_secs_f64());
            side.sender.finish(0)?;
            let sent_s = begun.elapsed().as_secs_f64();
            side.receiver.close();
            println!(
                "{{\"taken_bytes\":{taken_bytes},\"taken_s\":{taken_s:.6},\
                 \"sent_bytes\":{},\"sent_s\":{sent_s:.6}}}",
                side.sent_bytes
            );
            Ok(())
        }
    }
}

/// One program: what it sends by and receives by.
struct Side {
    sender: SendStream,
    receiver: ReceiveStream,
    /// The other side takes samples.
    is_sending: bool,
    sent_bytes: u64,
    taken_bytes: u64,
}

impl Side {
    /// The device; ready when both streams are open.
    fn listen(address: SocketAddr, arguments: &Arguments) -> Result<Self> {
        let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ)?;
        let sends = std::slice::from_ref(&info);
        let config = DeviceConfig { sends, plays: Some(&info), clock: None };
        let options = TransmitterOptions::new()
            .window(arguments.window)
            .payload_bytes(arguments.payload_bytes)
            .real_time(RealTime::new().waits(Waits::Inline));
        let mut device = Device::listen(address, config, &options)?;
        let sender = device.listeners[0].accept(Duration::MAX)?.ok_or("no receiver came")?;
        let receive_listener = device.receive_listener.as_mut().expect("it plays");
        let incoming = receive_listener.accept(Duration::MAX)?.ok_or("no sender came")?;
        Ok(Self::new(sender, incoming.receiver))
    }

    fn open(address: SocketAddr, arguments: &Arguments) -> Result<Self> {
        let (window, real_time) = (arguments.window, RealTime::new().waits(Waits::Inline));
        let options = ReceiveOptions::new().window(window).owner(1).real_time(real_time.clone());
        let receiver = ReceiveStream::open(address, &options)?;
        let options = SendOptions::new().window(window).owner(1).real_time(real_time);
        Ok(Self::new(SendStream::open(address, &options)?, receiver))
    }

    fn new(sender: SendStream, receiver: ReceiveStream) -> Self {
        Self { sender, receiver, is_sending: true, sent_bytes: 0, taken_bytes: 0 }
    }

    /// Sends a quantum and takes a block, where there is one: neither way waits for the other.
    fn turn(&mut self) -> Result<()> {
        if self.is_sending {
            self.send()?;
        }
        if let Some(block) = self.receiver.next_within(Duration::ZERO) {
            if !block.gaps().is_empty() {
                return Err(format!("gaps {:?} before {}", block.gaps(), block.index()).into());
            }
            self.taken_bytes += block.bytes().len() as u64;
        }
        Ok(())
    }

    /// Submits a quantum, if there may be one more.
    fn send(&mut self) -> Result<()> {
        let mut filling = match self.sender.poll_quantum(Waker::noop()) {
            Poll::Ready(Ok(filling)) => filling,
            Poll::Ready(Err(SendError::Ended(_))) => {
                self.is_sending = false;
                return Ok(());
            }
            Poll::Ready(Err(error)) => return Err(error.into()),
            Poll::Pending => return Ok(()),
        };
        let len_bytes = filling.bytes_mut().len();
        self.sender.submit(filling, len_bytes, self.sender.next_index(), Flags::NONE)?;
        self.sent_bytes += len_bytes as u64;
        Ok(())
    }
}

/// Which end this program is.
enum End {
    Device(SocketAddr),
    Host(SocketAddr),
}

struct Arguments {
    end: End,
    payload_bytes: u16,
    window: u32,
    duration: Duration,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut end, mut payload_bytes, mut window) = (None, 8_000, 4_096);
        let mut duration = Duration::from_secs(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            match word.as_str() {
                "--device" => end = Some(End::Device(value.parse()?)),
                "--host" => end = Some(End::Host(value.parse()?)),
                "--payload" => payload_bytes = value.parse()?,
                "--window" => window = value.parse()?,
                "--seconds" => duration = Duration::try_from_secs_f64(value.parse()?)?,
                _ => return Err(format!("unknown argument {word}").into()),
            }
        }
        let end = end.ok_or("--device or --host says which end this is")?;
        Ok(Self { end, payload_bytes, window, duration })
    }
}

const RATE_HZ: f64 = 1e9;
