//! A view that is computed: from runs to pictures, once for all of its viewers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use samplewire::source::StreamInfo;

use crate::spectra::{Levels, Rows, Spectra, SpectraError, View};
use crate::tap::{Run, SamplePlace};

/// A view that is computed.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) key: Key,
    spectra: Spectra,
    pub(super) latest: Option<Arc<Picture>>,
    /// How many pictures there were.
    pub(super) serial: u64,
}

/// What an engine computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) source: u16,
    pub(super) stream: u16,
    pub(super) view: View,
}

/// A computed frame before it is addressed to a viewer.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) run: RunAbout,
    pub(super) levels: Levels,
    pub(super) len_samples: u64,
}

/// Runs without a gap between them, of which all samples are computed.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    run: RunAbout,
    /// None if the page took no frame when some of its samples came.
    rows: Option<Rows>,
    len_samples: u64,
}

/// A run without its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunAbout {
    pub(super) place: SamplePlace,
    pub(super) centre_hz: f64,
    pub(super) row_samples: u64,
    pub(super) tai_ns: Option<u64>,
}

impl Key {
    /// Whether frames of the view cover all samples. A zoom takes a part: its filter starts with each run.
    pub(super) const fn is_whole(&self, is_every_sample: bool) -> bool {
        is_every_sample && self.view.zoom == 1
    }
}

impl Engine {
    pub(super) const fn new(key: Key, spectra: Spectra) -> Self {
        Self { key, spectra, latest: None, serial: 0 }
    }

    /// Makes a picture of a run.
    pub(super) fn take(
        &mut self,
        run: &Run,
        info: &StreamInfo,
        period: Duration,
    ) -> Result<(), SpectraError> {
        let wanted = self.key.view.run_samples(info, period);
        let len_bytes = wanted.saturating_mul(info.frame_bytes()).min(run.bytes.len());
        let bytes = &run.bytes[..len_bytes];
        let levels = self.spectra.rows(run.place.index, bytes)?.levels();
        if let Some(levels) = levels {
            let len_samples = self.covered(bytes, info);
            self.serial += 1;
            self.latest = Some(Arc::new(Picture { run: RunAbout::of(run), levels, len_samples }));
        }
        Ok(())
    }

    /// Computes all of a run, and has each of `gather` add it to what it has. The flag states that a page
    /// takes no frame.
    pub(super) fn take_whole<'a>(
        &mut self,
        run: &Run,
        info: &StreamInfo,
        gather: impl Iterator<Item = (&'a mut Gathered, bool)>,
    ) -> Result<(), SpectraError> {
        let len_samples = self.covered(&run.bytes, info);
        let rows = self.spectra.rows(run.place.index, &run.bytes)?;
        if !rows.is_empty() {
            for (gathered, is_full) in gather {
                let taken = if is_full { None } else { Some(&*rows) };
                gathered.add(RunAbout::of(run), taken, len_samples);
            }
        }
        Ok(())
    }

    /// A recording's piece may be shorter than the view wants: a frame covers whole transforms.
    fn covered(&self, bytes: &[u8], info: &StreamInfo) -> u64 {
        let bins = self.key.view.bins as usize;
        (bytes.len() / info.frame_bytes() / bins * bins) as u64
    }
}

/// What a viewer has not got of a view of all samples: a piece ends at a gap.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: VecDeque<Piece>,
    /// Pieces that were discarded.
    pub(super) omitted: u32,
}

impl Gathered {
    /// Adds a run; without its rows, they are omitted with those that they continue.
    fn add(&mut self, run: RunAbout, rows: Option<&Rows>, len_samples: u64) {
        if let Some(last) = self.pieces.back_mut()
            && last.run.place.after(last.len_samples).is_at(run.place)
            && last.run.centre_hz.to_bits() == run.centre_hz.to_bits()
        {
            match (&mut last.rows, rows) {
                (Some(last), Some(rows)) => last.merge(rows),
                (last, _) => *last = None,
            }
            last.len_samples += len_samples;
            return;
        }
        let pieces_max = rows
            .map_or(PIECES_MAX, |rows| PIECES_BYTES_MAX / rows.len_bytes())
            .clamp(1, PIECES_MAX);
        while self.pieces.len() >= pieces_max {
            self.pieces.pop_front();
            self.omitted = self.omitted.saturating_add(1);
        }
        self.pieces.push_back(Piece { run, rows: rows.cloned(), len_samples });
    }

    /// Takes the oldest piece that is not omitted.
    pub(super) fn next(&mut self) -> Option<Picture> {
        while let Some(Piece { run, rows, len_samples }) = self.pieces.pop_front() {
            if let Some(levels) = rows.and_then(|rows| rows.levels()) {
                return Some(Picture { run, levels, len_samples });
            }
            self.omitted = self.omitted.saturating_add(1);
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Discards and counts all pieces.
    pub(super) fn omit(&mut self) {
        self.omitted = self.omitted.saturating_add(self.pieces.len() as u32);
        self.pieces.clear();
    }

    /// Discards all pieces of another view.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }
}

impl RunAbout {
    const fn of(run: &Run) -> Self {
        Self {
            place: run.place,
            centre_hz: run.centre_hz,
            row_samples: run.row_samples,
            tai_ns: run.tai_ns,
        }
    }
}

/// Pieces that wait for a viewer.
const PIECES_MAX: usize = 4;
/// The memory of several pieces: with 65,536 bins only one waits.
const PIECES_BYTES_MAX: usize = 512 << 10;
