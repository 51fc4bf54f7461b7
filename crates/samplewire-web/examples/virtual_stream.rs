//! A page of a stream without a device: a tone whose indexes, frequency, level and gaps are known.
//!
//! ```text
//! cargo run -p samplewire-web --example virtual_stream -- [NAME [ADDRESS:PORT [TOKEN [FOLDER]]]]
//! ```
//!
//! With a folder, the page may act, and records there. An empty token is a random one. It prints the
//! URL, and reads commands, one a line: `tone BIN` (of 2,048, from -1,024), `level DB`,
//! `gap SAMPLES CAUSE`, `centre HZ`, `time TAI_NS`, `restart INDEX`. Each prints the index from which
//! it holds, and the time in nanoseconds since 1970. The end of the input ends the program.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use samplewire::source::StreamInfo;
use samplewire_blocks::kernels::{Noise, Oscillator};
use samplewire_blocks::{Complex, Complex32};
use samplewire_record::sigmf::{HostDrops, RecordedCause, RecordedGap};
use samplewire_web::{About, Control, Folder, Page, PageOptions, Tap};

const RATE_HZ: f64 = 2_048_000.0;
const BINS: f64 = 2_048.0;
const BLOCK: usize = 2_048;

type BoxError = Box<dyn std::error::Error>;

fn main() -> Result<(), BoxError> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "virtual".to_owned());
    let address = words.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let mut options = PageOptions::new(address.parse()?);
    if let Some(token) = words.next().filter(|token| !token.is_empty()) {
        options = options.token(token.parse()?);
    }
    if let Some(folder) = words.next() {
        options = options.control(Control::new().folder(Folder::open(folder.as_ref())?));
    }
    let mut page = Page::start(options)?;
    let info = StreamInfo::sc16(&name, RATE_HZ)?;
    let tap = page.add(About::new("virtual stream", &[info]), 0);
    println!("{}", page.url());
    let (sender, commands) = channel();
    std::thread::spawn(move || {
        // The end of the input drops the sender.
        for line in std::io::stdin().lock().lines() {
            if line.map_err(BoxError::from).is_ok_and(|line| sender.send(line).is_ok()) {
                continue;
            }
            return;
        }
    });
    Stream::new(tap).run(&commands)
}

/// The signal, and how far it is.
struct Stream {
    tap: Tap,
    tone: Oscillator,
    amplitude: f32,
    next: u64,
    /// When which index was due.
    started: (Instant, u64),
}

impl Stream {
    fn new(tap: Tap) -> Self {
        let tone = Oscillator::new(256.0 / BINS).expect("it is in range");
        Self { tap, tone, amplitude: 0.1, next: 0, started: (Instant::now(), 0) }
    }

    /// Plays in real time until there are no more commands.
    fn run(mut self, commands: &Receiver<String>) -> Result<(), BoxError> {
        loop {
            match commands.try_recv() {
                Ok(line) => self.obey(&line)?,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
            if self.tap.is_ending() {
                self.tap.end("a page ended it");
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let (started, first) = self.started;
            let due = first + (started.elapsed().as_secs_f64() * RATE_HZ) as u64;
            while self.next + BLOCK as u64 <= due {
                self.block();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn obey(&mut self, line: &str) -> Result<(), BoxError> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["tone", bin] => self.tone = Oscillator::new(bin.parse::<f64>()? / BINS)?,
            ["level", db] => self.amplitude = 10_f32.powf(db.parse::<f32>()? / 20.0),
            ["centre", hz] => self.tap.set_centre_hz(0, hz.parse()?),
            ["time", tai_ns] => {
                let info = StreamInfo::sc16("", RATE_HZ)?;
                self.tap.set_tai_clocks([info.tai_clock(self.next, tai_ns.parse()?)]);
            }
            ["restart", first] => {
                self.gap(RATE_HZ as u64 / 10, "device_restarted")?;
                self.next = first.parse()?;
                self.started = (Instant::now(), self.next);
                self.tap.restart_at(self.next);
            }
            ["gap", samples, cause] => self.gap(samples.parse()?, cause)?,
            _ => return Err(format!("no command: {line}").into()),
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
        println!("{line}: index {} at {}", self.next, since_1970.as_nanos());
        Ok(())
    }

    fn gap(&mut self, samples: u64, cause: &str) -> Result<(), BoxError> {
        let known = RecordedCause::ALL.into_iter().find(|known| known.key() == cause);
        let cause = known.ok_or("no such cause")?;
        let (first, stream) = (self.next, None);
        let gap = RecordedGap {
            first,
            not_repaired: samples,
            source_lost: 0,
            host: HostDrops::NONE,
            cause,
            stream,
        };
        self.tap.gap(&gap, false);
        self.next += samples;
        Ok(())
    }

    fn block(&mut self) {
        let mut samples = [Complex32::ZERO; BLOCK];
        self.tone.tone(self.next, self.amplitude, &mut samples);
        let mut noise = [Complex32::ZERO; BLOCK];
        Noise::new(1, 0.001).fill(self.next, &mut noise);
        let scaled = samples.iter().zip(noise).map(|(sample, noise)| (sample + noise) * 32_768.0);
        let block: Vec<Complex<i16>> =
            scaled.map(|it| Complex::new(it.re.round() as i16, it.im.round() as i16)).collect();
        self.tap.samples(self.next, [bytemuck::cast_slice(&block)]);
        self.next += BLOCK as u64;
    }
}
