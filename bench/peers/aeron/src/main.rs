//! A bulk transfer over Aeron in one direction, as fast as it goes: two programs, each with the C
//! media driver in it.
//!
//! ```text
//! cargo run --release -- --receive-at ADDRESS --folder FOLDER
//! cargo run --release -- --send-to ADDRESS --folder FOLDER [--seconds S] [--mtu BYTES]
//! ```
//!
//! FOLDER is for the driver's own files, and is emptied before. The receiver prints one JSON object
//! after a silence; the rate is of message bytes that it took, from the first to the last.

use std::error::Error;
use std::time::{Duration, Instant};

use rusteron_client::{Aeron, AeronOfferError, Handlers, IntoCString};
use rusteron_media_driver::{AeronDriver, AeronDriverContext};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let driver = AeronDriverContext::new()?;
    driver.set_dir(&arguments.folder.as_str().into_c_string())?;
    driver.set_dir_delete_on_start(true)?;
    driver.set_dir_delete_on_shutdown(true)?;
    driver.set_sender_io_vector_capacity(MESSAGES_PER_CALL)?;
    driver.set_receiver_io_vector_capacity(MESSAGES_PER_CALL)?;
    driver.set_network_publication_max_messages_per_send(MESSAGES_PER_CALL)?;
    let (stop, thread) = AeronDriver::launch_embedded(driver, false);
    let aeron = Aeron::connect_dir(&arguments.folder)?;
    if arguments.is_sender {
        send(&aeron, &arguments)?
    } else {
        receive(&aeron, &arguments)?
    }
    drop(aeron);
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    thread.join().expect("the driver does not panic")?;
    Ok(())
}

fn send(aeron: &Aeron, arguments: &Arguments) -> Outcome<()> {
    let publication = aeron
        .async_add_publication(&arguments.channel().into_c_string(), STREAM)?
        .poll_blocking(OPEN_TIMEOUT)?;
    let message = vec![0x5a; arguments.packet_bytes() - HEADER_BYTES];
    let mut start = None;
    let opened = Instant::now();
    loop {
        match publication.offer(&message) {
            Ok(_) => {
                let start = *start.get_or_insert_with(Instant::now);
                if start.elapsed() >= arguments.duration {
                    return Ok(());
                }
            }
            Err(AeronOfferError::NotConnected) if opened.elapsed() > OPEN_TIMEOUT => {
                return Err("no receiver came".into());
            }
            Err(error) if error.is_retryable() => std::thread::yield_now(),
            Err(error) => return Err(error.to_string().into()),
        }
    }
}

fn receive(aeron: &Aeron, arguments: &Arguments) -> Outcome<()> {
    let subscription = aeron
        .async_add_subscription(
            &arguments.channel().into_c_string(),
            STREAM,
            Handlers::NONE,
            Handlers::NONE,
        )?
        .poll_blocking(OPEN_TIMEOUT)?;
    let opened = Instant::now();
    let (mut bytes, mut times) = (0_u64, None::<(Instant, Instant)>);
    loop {
        let mut taken = 0;
        let count = subscription.poll_fn(|message, _| taken += message.len(), FRAGMENTS)?;
        let now = Instant::now();
        match &mut times {
            Some((_, last)) if count > 0 => {
                bytes += taken as u64;
                *last = now;
            }
            None if count > 0 => times = Some((now, now)),
            Some((_, last)) if now - *last >= SILENCE => break,
            None if now - opened >= OPEN_TIMEOUT => return Err("no message came".into()),
            _ => std::thread::yield_now(),
        }
    }
    let (first, last) = times.expect("the loop ends after a message");
    let seconds = (last - first).as_secs_f64();
    let goodput_bps = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    println!("{{\"goodput_bps\":{goodput_bps:.0},\"seconds\":{seconds:.6},\"bytes\":{bytes}}}");
    Ok(())
}

struct Arguments {
    is_sender: bool,
    address: String,
    folder: String,
    duration: Duration,
    mtu_bytes: usize,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut end, mut folder, mut seconds, mut mtu_bytes) = (None, None, 1.0, 1500);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} takes a value"))?;
            let wrong = || format!("{word} {value}: not understood");
            match word.as_str() {
                "--send-to" => end = Some((true, value)),
                "--receive-at" => end = Some((false, value)),
                "--folder" => folder = Some(value),
                "--seconds" => seconds = value.parse().map_err(|_| wrong())?,
                "--mtu" => mtu_bytes = value.parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        let (is_sender, address) = end.ok_or("one of --send-to and --receive-at is needed")?;
        Ok(Self {
            is_sender,
            address,
            folder: folder.ok_or("--folder is needed")?,
            duration: Duration::try_from_secs_f64(seconds)
                .map_err(|error| format!("--seconds {seconds}: {error}"))?,
            mtu_bytes,
        })
    }

    /// A datagram of Aeron, a multiple of 32 bytes, in a packet of IPv4 of this MTU.
    fn packet_bytes(&self) -> usize {
        self.mtu_bytes.saturating_sub(28).max(64) / 32 * 32
    }

    fn channel(&self) -> String {
        let (address, mtu) = (&self.address, self.packet_bytes());
        format!(
            "aeron:udp?endpoint={address}|mtu={mtu}|term-length={TERM}|so-sndbuf={BUFFER}\
             |so-rcvbuf={BUFFER}|rcv-wnd={BUFFER}"
        )
    }
}

const STREAM: i32 = 1;

const HEADER_BYTES: usize = 32;

const TERM: usize = 16 << 20;

/// What an unprivileged socket may have on most systems.
const BUFFER: usize = 4 << 20;

/// The most that the driver allows.
const MESSAGES_PER_CALL: u32 = 16;

const FRAGMENTS: usize = 256;

/// What a receiver takes for the sender's end.
const SILENCE: Duration = Duration::from_millis(200);

const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
