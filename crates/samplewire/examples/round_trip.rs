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

use std::time::{Duration, Instant};

use samplewire::{
    Device, Flags, RealTime, ReceiveStream, SendStream, StreamInfo, Waits, real_time,
};

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
    let unknown = words.finish();
    if !unknown.is_empty() {
        return Err(format!("unknown: {unknown:?}").into());
    }
    if !(1..=10_000_000).contains(&rounds) {
        return Err(format!("--rounds {rounds} is not 1 to 10000000").into());
    }
    let real_time = RealTime::new().waits(word.parse::<Waits>()?);
    let info = StreamInfo::sc16("", 1e6)?;
    let device = samplewire::device().sends(info.clone()).plays(info).window(WINDOW);
    let device = device.payload_bytes(PAYLOAD as u16).real_time(real_time.clone());
    let device = device.listen("127.0.0.1:0")?;
    let address = device.address;
    let echo = std::thread::spawn(move || echo(device, rounds + WARMING, cpus.map(|it| it.1)));

    let options = samplewire::receive().window(WINDOW).owner(1).real_time(real_time.clone());
    let mut receiver = options.open(address)?;
    let options = samplewire::send().window(WINDOW).owner(1).real_time(real_time);
    let mut sender = options.open(address)?;
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
    drop((sender, receiver));
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

fn cpu_pair(text: &str) -> Result<(usize, usize)> {
    let (near, far) = text.split_once(',').ok_or("not two numbers, as 0,1")?;
    Ok((near.parse()?, far.parse()?))
}

/// Rounds before those that count.
const WARMING: usize = 1_000;
const PAYLOAD: usize = 64;
const WINDOW: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(5);
