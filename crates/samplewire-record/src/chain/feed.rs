//! Pushes samples from a thread into a graph.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use rtrb::{Consumer, Producer, RingBuffer};
use samplewire::format::FormSample;
use samplewire_circuit::wait::Bell;
use samplewire_circuit::{Context, Failure, Flow, Quantum, Source, Tag, TagKind, Work};
use samplewire_proto::{Cause, SampleIndex};

use crate::sigmf::{RecordedCause, RecordedGap};

/// Creates a feed and the source block that it feeds.
pub(super) fn feed<T: FormSample>(rate_hz: f64) -> (Feed, FeedSource<T>) {
    let (bytes, bytes_out) = RingBuffer::new(BYTES);
    let (items, items_out) = RingBuffer::new(ITEMS);
    let shared = Arc::new(Shared {
        waker: OnceLock::new(),
        room: Bell::new(),
        is_gone: AtomicBool::new(false),
    });
    let feed = Feed { bytes, items, shared: Arc::clone(&shared) };
    let source = FeedSource {
        bytes: bytes_out,
        items: items_out,
        shared,
        rate_hz,
        index: 0,
        left_bytes: 0,
        missing: [0; RecordedCause::ALL.len()],
        samples: PhantomData,
    };
    (feed, source)
}

/// An entry of the queue of a [`Feed`], without the bytes of its samples.
#[derive(Clone, Copy, Debug)]
enum Item {
    Samples { index: SampleIndex, len_bytes: usize },
    Gap(RecordedGap),
    End,
}

/// State that both ends share.
#[derive(Debug)]
struct Shared {
    /// Wakes the graph.
    waker: OnceLock<Waker>,
    /// Rings when there is room in the queue.
    room: Bell,
    /// The graph has ended and takes no more items.
    is_gone: AtomicBool,
}

/// The end that pushes.
#[derive(Debug)]
pub(super) struct Feed {
    bytes: Producer<u8>,
    items: Producer<Item>,
    shared: Arc<Shared>,
}

/// The graph has ended.
#[derive(Debug)]
pub(super) struct Gone;

impl Feed {
    /// Pushes samples of `frame_bytes` each; the first sample has `index`.
    ///
    /// # Blocking
    /// Until there is room.
    pub(super) fn samples(
        &mut self,
        index: SampleIndex,
        bytes: &[u8],
        frame_bytes: usize,
    ) -> Result<(), Gone> {
        let piece_bytes = BYTES / 2 / frame_bytes * frame_bytes;
        let mut index = index;
        for piece in bytes.chunks(piece_bytes) {
            self.wait_for(piece.len())?;
            self.bytes.push_entire_slice(piece).expect("there is room");
            self.push(Item::Samples { index, len_bytes: piece.len() });
            index += (piece.len() / frame_bytes) as u64;
        }
        Ok(())
    }

    /// Pushes a gap.
    ///
    /// # Blocking
    /// Until there is room.
    pub(super) fn gap(&mut self, gap: &RecordedGap) -> Result<(), Gone> {
        self.wait_for(0)?;
        self.push(Item::Gap(*gap));
        Ok(())
    }

    /// Pushes the end: no more items follow.
    ///
    /// # Blocking
    /// Until there is room.
    pub(super) fn end(&mut self) -> Result<(), Gone> {
        self.wait_for(0)?;
        self.push(Item::End);
        Ok(())
    }

    fn push(&mut self, item: Item) {
        self.items.push(item).expect("there is room");
        if let Some(waker) = self.shared.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Waits for room for one item and `len_bytes` bytes.
    fn wait_for(&self, len_bytes: usize) -> Result<(), Gone> {
        let look = || {
            // Acquire: pairs with the Release store when the source ends.
            if self.shared.is_gone.load(Ordering::Acquire) {
                return Some(Err(Gone));
            }
            (self.items.slots() > 0 && self.bytes.slots() >= len_bytes).then_some(Ok(()))
        };
        loop {
            if let Some(found) = look() {
                return found;
            }
            self.shared.room.announce();
            if let Some(found) = look() {
                return found;
            }
            self.shared.room.wait(PAUSE_MAX);
        }
    }
}

/// The block at the other end.
pub(super) struct FeedSource<T> {
    bytes: Consumer<u8>,
    items: Consumer<Item>,
    shared: Arc<Shared>,
    rate_hz: f64,
    /// The index of the next sample of the current item.
    index: SampleIndex,
    left_bytes: usize,
    /// Samples missing before the next sample, by cause.
    missing: [u64; RecordedCause::ALL.len()],
    samples: PhantomData<fn() -> T>,
}

impl<T: FormSample + bytemuck::Pod> FeedSource<T> {
    /// Fills a quantum with samples of the current item.
    fn show(&mut self, quantum: &mut Quantum<T>) -> Result<(), Failure> {
        let size = size_of::<T>();
        let samples = (self.left_bytes / size).min(quantum.capacity());
        quantum.set_index(self.index);
        quantum.set_rate_hz(self.rate_hz);
        for cause in RecordedCause::ALL {
            let lost_samples = std::mem::take(&mut self.missing[cause.position()]);
            if lost_samples > 0 {
                quantum.push_tag(Tag { index: self.index, kind: kind_of(cause, lost_samples) })?;
            }
        }
        quantum.set_len(samples);
        self.bytes.pop_entire_slice(quantum.data_mut()).expect("they were pushed before");
        self.index += samples as u64;
        self.left_bytes -= samples * size;
        Ok(())
    }
}

impl<T: FormSample + bytemuck::Pod> Source<T> for FeedSource<T> {
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.shared.waker.get_or_init(|| context.waker.clone());
        Ok(())
    }

    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work {
        while self.left_bytes == 0 {
            match self.items.pop() {
                Ok(Item::Samples { index, len_bytes }) => {
                    (self.index, self.left_bytes) = (index, len_bytes);
                }
                Ok(Item::Gap(gap)) => {
                    for (cause, samples) in gap.by_cause() {
                        self.missing[cause.position()] += samples;
                    }
                }
                Ok(Item::End) => return Ok(Flow::End),
                Err(_) => return Ok(Flow::Sleep),
            }
        }
        self.show(quantum)?;
        self.shared.room.ring();
        Ok(Flow::Pass)
    }
}

impl<T> Drop for FeedSource<T> {
    fn drop(&mut self) {
        // Release: a thread that reads `true` knows that the source takes no more items.
        self.shared.is_gone.store(true, Ordering::Release);
        self.shared.room.ring();
    }
}

/// Returns the tag of a gap. [`SinkBlock`](crate::graph::SinkBlock) finds the cause by its text.
fn kind_of(cause: RecordedCause, lost_samples: u64) -> TagKind {
    match cause {
        RecordedCause::Stream(Cause::SourceOverflow) => TagKind::Overflow { lost_samples },
        cause => TagKind::Gap { lost_samples, cause: cause.as_str() },
    }
}

// One session can have the causes of a stream and the disk's: there is room for a tag of each.
const _: () = assert!(Cause::ALL.len() < samplewire_circuit::Tags::LEN_MAX);

/// Bytes in the queue: a quarter of a second of a recording of 4 MB/s, 100 us at 100 Gb/s.
const BYTES: usize = 1 << 20;

/// Items in the queue.
const ITEMS: usize = 1_024;

/// The longest sleep of a writer: the graph may end without ringing the bell.
const PAUSE_MAX: Duration = Duration::from_millis(100);
