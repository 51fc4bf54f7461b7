//! A recording in the same view, without a device: its account from the metadata, and a waterfall of
//! samples that are read where the page wants them.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use samplewire::source::{RateError, StreamInfo};
use samplewire::{SampleIndex, TaiClock};
use samplewire_record::sigmf::{
    HostDrops, Metadata, MetadataError, Paths, PlacedGap, RecordedGap, gaps,
};
use samplewire_record::verify::{Boot, VerifyError};

use crate::page::Page;
use crate::source::{About, Role};
use crate::tap::{RUN_BYTES_MAX, SamplePlace, Shown, Tap};

/// A recording that a page shows until it is dropped.
#[derive(Debug)]
pub struct Recording {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A recording that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is not a SigMF recording.
    #[error("{path} is no SigMF recording: raw samples have no indexes", path = .0.display())]
    NotSigmf(PathBuf),
    /// A file cannot be read.
    #[error("read {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The metadata are not valid.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The recording cannot be verified.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Its rate is missing or out of range.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Its samples are compressed.
    #[error("{path} is compressed: decompress it with zstd first", path = .0.display())]
    Compressed(PathBuf),
    /// An index or a place is too large.
    #[error("{path} states the number {number}: at most {POSITION_MAX} is read", path = path.display())]
    Position {
        /// The metadata.
        path: PathBuf,
        /// The number.
        number: u64,
    },
    /// It has no end so far.
    #[error(
        "{path} is not finished: it is under way, or its recorder was killed and \
         `samplewire record --append` continues it",
        path = .0.display()
    )]
    Unfinished(PathBuf),
}

/// Consecutive samples of the file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where the first stands in the stream.
    place: SamplePlace,
    /// The first in the file.
    start: u64,
    len: u64,
    centre_hz: f64,
    /// The time of its indexes, if it is known.
    tai_clock: Option<TaiClock>,
}

impl Piece {
    /// The position behind the last.
    const fn end(&self) -> u64 {
        self.place.position.saturating_add(self.len)
    }
}

/// Reads samples for the page.
struct Player {
    tap: Tap,
    file: File,
    frame_bytes: usize,
    pieces: Vec<Piece>,
    /// The number of positions.
    end: u64,
    position: u64,
    bytes: Vec<u8>,
}

impl Recording {
    /// Verifies a recording and shows it. The state on the page names the first fault, if it has one.
    ///
    /// # Errors
    /// [`RecordingError`].
    ///
    /// # Blocking
    /// Until the recording is verified: see [`samplewire_record::verify()`].
    pub fn show(page: &mut Page, path: &Path) -> Result<Self, RecordingError> {
        let paths =
            Paths::existing(path).ok_or_else(|| RecordingError::NotSigmf(path.to_owned()))?;
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| RecordingError::Io { path, source }
        };
        let text = fs::read_to_string(&paths.meta).map_err(io(&paths.meta))?;
        let metadata = Metadata::parse(&text)?;
        let data = paths.data_of(&metadata);
        if metadata.claims.is_finished == Some(false) {
            // Its captures and gaps are in a journal, which a recorder may be writing.
            return Err(RecordingError::Unfinished(paths.meta));
        }
        if metadata.is_compressed {
            return Err(RecordingError::Compressed(data));
        }
        let gaps = gaps(&text)?;
        let report = samplewire_record::verify(path)?;
        check_positions(&paths.meta, &metadata, &gaps, report.samples)?;
        let file = File::open(&data).map_err(io(&data))?;
        let rate_hz = metadata.rate_hz.unwrap_or(0.0);
        let mut info = StreamInfo::new(metadata.format, metadata.channels, rate_hz)?;
        info.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned().into();
        info.centre_frequency_hz = metadata.captures.first().and_then(|it| it.frequency_hz);
        let first = report.boots.first().map_or(0, |boot| boot.indexes.start);
        let about = About {
            origin: path.display().to_string(),
            role: Role::Recording,
            // All are in memory already.
            gaps_max: gaps.len().max(1),
            fault: report.faults.first().map(ToString::to_string),
            ..About::new("recording", &[info.clone()])
        };
        let mut tap = page.add(about, first);
        let mut walk = Walk::new(&mut tap, &report.boots);
        let pieces = walk.count(&metadata, &info, &gaps, report.samples);
        let is_proven = report.is_proven();
        tap.end(if is_proven { "the recording is proven" } else { "the recording is not proven" });
        let end = pieces.iter().map(Piece::end).max().unwrap_or(0);
        let frame_bytes = info.frame_bytes();
        let player = Player { tap, file, frame_bytes, pieces, end, position: 0, bytes: Vec::new() };
        let is_over = Arc::new(AtomicBool::new(false));
        let run = {
            let is_over = Arc::clone(&is_over);
            move || player.run(&is_over)
        };
        let builder = std::thread::Builder::new().name("samplewire-recording".into());
        let thread = Some(builder.spawn(run).map_err(io(path))?);
        Ok(Self { is_over, thread })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _is_whole = thread.join().is_ok();
        }
    }
}

/// Refuses numbers that no recorder writes: sums with them would not fit into 64 bits.
fn check_positions(
    path: &Path,
    metadata: &Metadata,
    gaps: &[PlacedGap],
    samples: u64,
) -> Result<(), RecordingError> {
    let of_captures = metadata.captures.iter().map(|capture| {
        let index = capture.global_index.unwrap_or(capture.sample_start);
        index.saturating_add(samples)
    });
    let of_gaps = gaps.iter().map(|it| it.gap.end());
    let highest = [metadata.offset.saturating_add(samples)].into_iter();
    let highest = highest.chain(of_captures).chain(of_gaps).max();
    match highest.filter(|&number| number > POSITION_MAX) {
        Some(number) => Err(RecordingError::Position { path: path.to_owned(), number }),
        None => Ok(()),
    }
}

/// Counts every index of a recording in its order, as [`samplewire_record::verify()`] does.
struct Walk<'a> {
    tap: &'a mut Tap,
    /// The device's runs behind the present one.
    boots: std::slice::Iter<'a, Boot>,
    /// A gap has ended the present run.
    has_ended: bool,
    /// What the host dropped in all gaps so far.
    drops: HostDrops,
}

impl<'a> Walk<'a> {
    fn new(tap: &'a mut Tap, boots: &'a [Boot]) -> Self {
        let boots = boots.get(1..).unwrap_or_default().iter();
        Self { tap, boots, has_ended: false, drops: HostDrops::NONE }
    }

    /// Counts the whole recording, and returns where its samples are.
    fn count(
        &mut self,
        metadata: &Metadata,
        info: &StreamInfo,
        gaps: &[PlacedGap],
        samples: u64,
    ) -> Vec<Piece> {
        let mut gaps = gaps.iter().peekable();
        let mut pieces = Vec::with_capacity(metadata.captures.len());
        let end = metadata.offset.saturating_add(samples);
        let mut boot_id = None;
        for (number, capture) in metadata.captures.iter().enumerate() {
            let next = metadata.captures.get(number + 1).map_or(end, |next| next.sample_start);
            let len = next.min(end).saturating_sub(capture.sample_start);
            if len == 0 {
                continue;
            }
            while let Some(it) = gaps.next_if(|it| it.sample_start <= capture.sample_start) {
                self.gap(&it.gap);
                boot_id = boot_id.filter(|_| !self.has_ended);
            }
            let is_same = boot_id.is_none() || capture.boot_id.is_none_or(|it| Some(it) == boot_id);
            self.has_ended |= !is_same;
            boot_id = capture.boot_id.or(boot_id);
            let index = capture.global_index.unwrap_or(capture.sample_start);
            self.enter(index);
            pieces.push(Piece {
                place: self.tap.place(index),
                start: capture.sample_start - metadata.offset,
                len,
                centre_hz: capture.frequency_hz.unwrap_or(f64::NAN),
                tai_clock: capture.tai_ns.and_then(|tai_ns| info.tai_clock(index, tai_ns)),
            });
            self.tap.count_samples(index, len);
        }
        gaps.for_each(|it| self.gap(&it.gap));
        pieces
    }

    fn gap(&mut self, gap: &RecordedGap) {
        self.enter(gap.first);
        self.drops = self.drops.and(gap.host);
        self.tap.host_drops(self.drops);
        self.tap.gap(gap, false);
        self.has_ended = gap.is_estimated();
    }

    /// Begins the next run of the device, if one has ended, for the index `first` of it.
    fn enter(&mut self, first: SampleIndex) {
        if std::mem::take(&mut self.has_ended) {
            self.tap.restart_at(self.boots.next().map_or(first, |boot| boot.indexes.start));
        }
    }
}

impl Player {
    /// Shows one row after another to the end, then waits for a page that seeks.
    fn run(mut self, is_over: &AtomicBool) {
        // Relaxed: the flag is read again soon, and orders nothing.
        while !is_over.load(Ordering::Relaxed) {
            if let Some(position) = self.tap.sought() {
                self.position = position.min(self.end);
            }
            let wanted = if self.position < self.end { self.tap.wanted() } else { None };
            // A file that cannot be read any more ends the picture; the account stays.
            match wanted {
                Some(samples) if self.show(samples).is_ok() => {}
                _ => std::thread::park_timeout(PAUSE),
            }
        }
    }

    /// Shows the row at the position, and goes on to the next.
    fn show(&mut self, samples: usize) -> io::Result<()> {
        let wanted = (samples.min(RUN_BYTES_MAX / self.frame_bytes) as u64).max(1);
        let row_samples = (self.end / ROWS).max(wanted);
        let at = self.pieces.partition_point(|it| it.end() <= self.position);
        let Some(&piece) = self.pieces.get(at) else {
            self.position = self.end;
            return Ok(());
        };
        let skipped = self.position.saturating_sub(piece.place.position);
        // Pieces of a damaged recording may be out of order.
        let len = wanted.min(piece.len.saturating_sub(skipped));
        let row = piece.place.position.saturating_add(skipped) / row_samples;
        self.position = row.saturating_mul(row_samples).saturating_add(row_samples);
        if len < wanted && skipped > 0 {
            // Too few are left in this piece: the next row has more.
            return Ok(());
        }
        self.bytes.resize(len as usize * self.frame_bytes, 0);
        self.file.seek(SeekFrom::Start((piece.start + skipped) * self.frame_bytes as u64))?;
        self.file.read_exact(&mut self.bytes)?;
        let place = piece.place.after(skipped);
        self.tap.show(Shown {
            place,
            bytes: &self.bytes,
            row_samples,
            centre_hz: piece.centre_hz,
            tai_ns: piece.tai_clock.map(|clock| clock.tai_ns(place.index)),
        });
        Ok(())
    }
}

/// The highest index and place that are read.
const POSITION_MAX: u64 = 1 << 62;

/// Rows of a whole recording: 20 s at 30 frames/s.
const ROWS: u64 = 600;

/// The pause while no page wants a row.
const PAUSE: Duration = Duration::from_millis(5);
