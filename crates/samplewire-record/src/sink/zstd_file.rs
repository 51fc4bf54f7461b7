//! A compressed data file that only grows: consecutive whole zstd frames.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;

use super::SinkError;
use super::data_file::DataFile;

/// Gathers up to 4 MiB of samples for a frame, which a separate thread compresses. Up to two frames
/// may be in progress. Each frame has a checksum and whole samples.
#[derive(Debug)]
pub(super) struct ZstdFile {
    file: DataFile,
    frame_bytes: usize,
    gather: Vec<u8>,
    gather_bytes: usize,
    /// The number of samples of each frame in progress.
    under_way: VecDeque<u64>,
    written_samples: u64,
    /// Compressed bytes of the whole frames in the file.
    written_bytes: u64,
    blocks: SyncSender<Vec<u8>>,
    frames: Receiver<io::Result<Frame>>,
}

/// A compressed block, and its memory for reuse.
#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    block: Vec<u8>,
}

impl ZstdFile {
    /// Appends to `file`, which has `written_samples` in whole frames.
    ///
    /// # Errors
    /// [`SinkError::Io`]: the system cannot start a thread, or zstd refuses its settings.
    pub(super) fn start(
        file: DataFile,
        frame_bytes: usize,
        written_samples: u64,
    ) -> Result<Self, SinkError> {
        let (blocks, to_do) = sync_channel(UNDER_WAY_MAX);
        let (done, frames) = sync_channel(UNDER_WAY_MAX);
        let builder = Builder::new().name("samplewire-zstd".to_owned());
        let started = compressor()
            .and_then(|compressor| builder.spawn(move || compress(compressor, &to_do, &done)));
        started.map_err(SinkError::io("start the compression of", file.path()))?;
        let gather_bytes = BLOCK_BYTES - BLOCK_BYTES % frame_bytes;
        Ok(Self {
            written_bytes: file.written_bytes(),
            file,
            frame_bytes,
            gather: Vec::with_capacity(gather_bytes),
            gather_bytes,
            under_way: VecDeque::with_capacity(UNDER_WAY_MAX),
            written_samples,
            blocks,
            frames,
        })
    }

    /// Appends whole samples.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        while !bytes.is_empty() {
            let room_bytes = self.gather_bytes - self.gather.len();
            let (piece, rest) = bytes.split_at(bytes.len().min(room_bytes));
            self.gather.extend_from_slice(piece);
            if self.gather.len() == self.gather_bytes {
                self.submit()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes gathered samples.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        if !self.gather.is_empty() {
            self.submit()?;
        }
        while !self.under_way.is_empty() {
            self.collect()?;
        }
        Ok(())
    }

    /// Returns how many samples were appended, including gathered ones.
    pub(super) fn len_samples(&self) -> u64 {
        let gathered = (self.gather.len() / self.frame_bytes) as u64;
        self.written_samples + self.under_way.iter().sum::<u64>() + gathered
    }

    /// Returns how many samples the whole frames in the file have.
    pub(super) const fn written_samples(&self) -> u64 {
        self.written_samples
    }

    /// Returns the file.
    pub(super) const fn file(&self) -> &DataFile {
        &self.file
    }

    /// Sends the gathered samples to the thread.
    fn submit(&mut self) -> Result<(), SinkError> {
        let memory = match self.under_way.len() {
            UNDER_WAY_MAX => self.collect()?,
            _ => Vec::with_capacity(self.gather_bytes),
        };
        let samples = (self.gather.len() / self.frame_bytes) as u64;
        let block = std::mem::replace(&mut self.gather, memory);
        self.under_way.push_back(samples);
        self.blocks.send(block).expect("the thread lives as long as this does");
        Ok(())
    }

    /// Writes the oldest frame in progress; returns the memory of its block.
    fn collect(&mut self) -> Result<Vec<u8>, SinkError> {
        let compressed = self.frames.recv().expect("the thread lives as long as this does");
        let samples = self.under_way.pop_front().expect("one was under way");
        let written = compressed.map_err(SinkError::io("compress for", self.file.path())).and_then(
            |Frame { bytes, mut block }| {
                self.file.append(&bytes)?;
                self.file.flush()?;
                block.clear();
                Ok(block)
            },
        );
        match written {
            Ok(block) => {
                self.written_samples += samples;
                self.written_bytes = self.file.written_bytes();
                Ok(block)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Cuts off an incomplete frame, and discards unwritten samples.
    fn failed(&mut self, error: SinkError) -> SinkError {
        while self.under_way.pop_front().is_some() {
            drop(self.frames.recv());
        }
        self.gather.clear();
        if let Err(error) = self.file.cut(self.written_bytes) {
            return error;
        }
        match error {
            SinkError::Full { path, source, .. } => {
                SinkError::Full { path, len_samples: self.written_samples, source }
            }
            other => other,
        }
    }
}

fn compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
}

fn compress(
    mut compressor: Compressor<'_>,
    blocks: &Receiver<Vec<u8>>,
    frames: &SyncSender<io::Result<Frame>>,
) {
    for block in blocks {
        let frame = compressor.compress(&block).map(|bytes| Frame { bytes, block });
        if frames.send(frame).is_err() {
            return;
        }
    }
}

/// The whole frames at the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The length of the frames in the file.
    pub(crate) frames_bytes: u64,
    /// The length of their content.
    pub(crate) content_bytes: u64,
}

impl Frames {
    /// Plain data are their own content.
    pub(crate) const fn plain(len_bytes: u64) -> Self {
        Self { frames_bytes: len_bytes, content_bytes: len_bytes }
    }
}

/// Finds the frames in the first `len_bytes` of a compressed file, from its current position. An
/// incomplete frame at the end is left out.
///
/// # Errors
/// A frame is damaged, or the file cannot be read.
pub(crate) fn frames_of(file: impl Read, len_bytes: u64) -> io::Result<Frames> {
    let mut input = BufReader::new(file).take(len_bytes);
    let mut frames = Frames::plain(0);
    while !input.fill_buf()?.is_empty() {
        let decoded = Decoder::with_buffer(&mut input)
            .map(Decoder::single_frame)
            .and_then(|mut frame| io::copy(&mut frame, &mut io::sink()));
        match decoded {
            Ok(content_bytes) => {
                frames.content_bytes += content_bytes;
                frames.frames_bytes = len_bytes - input.limit();
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(frames)
}

/// The length of a frame's samples in bytes, before it is rounded down to whole samples.
const BLOCK_BYTES: usize = 4 << 20;

/// The maximum number of frames that are compressed, or wait for compression or writing.
const UNDER_WAY_MAX: usize = 2;

/// The fastest of zstd's usual levels; higher levels find little more in samples.
const LEVEL: i32 = 1;
