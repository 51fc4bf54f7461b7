//! The round trip of 64 bytes of samples between two programs, each with a stream to the other: to a
//! device that plays, and back by the stream that it sends.
//!
//! ```text
//! cargo run --release -p samplewire --example round_trip -- \
//!     [--waits asleep|spinning|both-spinning|inline] [--cpus A,B] [--rounds N]
//! ```
//!
//! `--cpus` keeps each side's program on a CPU; its I/O threads stay where the system puts them.
//! Prints one JSON object.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire::device::{Device, DeviceConfig};
use samplewire::format::Format;
use samplewire::real_time;
use samplewire::source::StreamInfo;
use samplewire::{
    Flags, RealTime, ReceiveOptions, ReceiveStream, SendOptions, SendStream, TransmitterOptions,
    Waits,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let info = StreamInfo::new(Format::Sc16, 1, 1e6)?;
    let rounds = arguments.rounds + WARMING;
    let (tell, told) = std::sync::mpsc::channel();
    let times = std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            pin(arguments.cpus.map(|(_, far)| far));
            let mut far = Side::listen(&info, arguments.waits, &tell)?;
            for _ in 0..rounds {
                far.await_samples()?;
                far.send()?;
            }
            // The near side has them all when it closes.
            while far.receiver.next_within(Duration::from_millis(10)).is_some()
                || !far.receiver.is_over()
            {
                far.sender.turn();
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
        pin(arguments.cpus.map(|(near, _)| near));
        let mut near = Side::open(told.recv()?, arguments.waits)?;
        let mut times = Vec::with_capacity(arguments.rounds);
        for round in 0..rounds {
            let start = Instant::now();
            near.send()?;
            near.await_samples()?;
            if round >= WARMING {
                times.push(start.elapsed());
            }
        }
        drop(near);
        echo.join().expect("it does not panic")?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(times)
    })?;
    report(&format!("stream {}", arguments.word), times);
    Ok(())
}

/// One program: what it sends by and receives by.
struct Side {
    sender: SendStream,
    receiver: ReceiveStream,
}

impl Side {
    /// The device.
    fn listen(
        info: &StreamInfo,
        waits: Waits,
        tell: &std::sync::mpsc::Sender<SocketAddr>,
    ) -> Result<Self> {
        let sends = std::slice::from_ref(info);
        let config = DeviceConfig { sends, plays: Some(info), clock: None };
        let options = TransmitterOptions::new()
            .window(WINDOW)
            .payload_bytes(PAYLOAD as u16)
            .real_time(RealTime::new().waits(waits));
        let mut device = Device::listen("127.0.0.1:0".parse()?, config, &options)?;
        tell.send(device.address)?;
        let sender = device.listeners[0].accept(PATIENCE)?.ok_or(SILENT)?;
        let receive_listener = device.receive_listener.as_mut().expect("it plays");
        let receiver = receive_listener.accept(PATIENCE)?.ok_or(SILENT)?.receiver;
        Ok(Self { sender, receiver })
    }

    fn open(address: SocketAddr, waits: Waits) -> Result<Self> {
        let real_time = RealTime::new().waits(waits);
        let receiver = ReceiveOptions::new().window(WINDOW).owner(1).real_time(real_time.clone());
        let mut receiver = ReceiveStream::open(address, &receiver)?;
        let sender = SendOptions::new().window(WINDOW).owner(1).real_time(real_time);
        let sender = SendStream::open(address, &sender)?;
        let until = Instant::now() + PATIENCE;
        while !sender.wait_ready(SHORT)? {
            assert!(receiver.next_within(SHORT).is_none(), "no sample was sent");
            check(until)?;
        }
        Ok(Self { sender, receiver })
    }

    fn send(&mut self) -> Result<()> {
        let sender = &mut self.sender;
        let next = sender.next_index();
        let mut filling = sender.quantum(PATIENCE)?.ok_or(SILENT)?;
        filling.bytes_mut()[..PAYLOAD].fill(next as u8);
        sender.submit(filling, PAYLOAD, next, Flags::NONE)?;
        Ok(())
    }

    fn await_samples(&mut self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(block) = self.receiver.next_within(PATIENCE) {
                assert_eq!(block.len(), PAYLOAD / 4, "one packet after another");
                return Ok(());
            }
            check(until)?;
        }
    }
}

fn check(until: Instant) -> Result<()> {
    if Instant::now() > until { Err(SILENT.into()) } else { Ok(()) }
}

fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        real_time::pin(cpu).expect("the CPU is there");
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
    waits: Waits,
    word: String,
    /// Of the near side, and of the far one.
    cpus: Option<(usize, usize)>,
    rounds: usize,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments =
            Self { waits: Waits::Asleep, word: "asleep".into(), cpus: None, rounds: 20_000 };
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            match word.as_str() {
                "--waits" => {
                    arguments.waits = value.parse()?;
                    arguments.word = value;
                }
                "--cpus" => {
                    let pair = value.split_once(',').map(|(a, b)| (a.parse(), b.parse()));
                    match pair {
                        Some((Ok(near), Ok(far))) => arguments.cpus = Some((near, far)),
                        _ => return Err(format!("--cpus {value}: not two numbers, as 0,1").into()),
                    }
                }
                "--rounds" => match value.parse() {
                    Ok(rounds @ 1..=10_000_000) => arguments.rounds = rounds,
                    _ => return Err(format!("--rounds {value}: not 1 to 10000000").into()),
                },
                _ => return Err(format!("unknown argument {word}").into()),
            }
        }
        Ok(arguments)
    }
}

/// Rounds before those that count.
const WARMING: usize = 1_000;

const PAYLOAD: usize = 64;
const WINDOW: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(5);
const SILENT: &str = "the other side is silent";
const SHORT: Duration = Duration::from_millis(1);
