//! Chains of saxpy kernels without a runtime: what one can be at most.

use std::hint::black_box;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use samplewire_blocks::kernels;

use super::{A, B, Count, Rate, check, pin};

/// Floats that begin at a cache line.
pub(crate) struct Buffer {
    memory: Vec<f32>,
    start: usize,
    len: usize,
}

impl Buffer {
    pub(crate) fn new(len: usize) -> Self {
        let memory = vec![0.0; len + LINE_FLOATS];
        let start = memory.as_ptr().align_offset(LINE_FLOATS * size_of::<f32>());
        Self { memory, start, len }
    }

    pub(crate) fn floats(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// As many kernels on this thread, over two buffers in turn.
pub(crate) fn chain(kernels: usize, floats: usize, duration: Duration) -> Rate {
    let mut buffers = [Buffer::new(floats), Buffer::new(floats)];
    let mut count = Count::new(floats, duration);
    loop {
        for buffer in &mut buffers {
            pass(kernels, buffer.floats());
            if let Some(rate) = count.one() {
                check(buffer.floats());
                return rate;
            }
        }
    }
}

/// Copies from one buffer to another on this thread.
pub(crate) fn copies(floats: usize, duration: Duration) -> Rate {
    let (mut from, mut to) = (Buffer::new(floats), Buffer::new(floats));
    let mut count = Count::new(floats, duration);
    loop {
        to.floats().copy_from_slice(black_box(from.floats()));
        black_box(to.floats());
        if let Some(rate) = count.one() {
            return rate;
        }
    }
}

/// A chain of its own on each of the first `cores` CPUs.
pub(crate) fn chains(cores: usize, kernels: usize, floats: usize, duration: Duration) -> Rate {
    let run = move |cpu| {
        thread::spawn(move || {
            pin(cpu).expect("there are as many CPUs as were requested");
            chain(kernels, floats, duration)
        })
    };
    let threads: Vec<_> = (0..cores).map(run).collect();
    threads.into_iter().map(|thread| thread.join().expect("a chain ends")).sum()
}

/// One chain that `cores` threads work on, each on a CPU of its own: in turn each counts the buffers
/// that it has worked on, `buffers` by `cores` of them, so that all are counted in one order. How many
/// were counted says whose turn it is: that number is all that goes from thread to thread.
pub(crate) fn in_order(
    cores: usize,
    kernels: usize,
    floats: usize,
    buffers: usize,
    duration: Duration,
) -> Rate {
    let run = (buffers / cores).max(1);
    let counted = Arc::new(Alone(AtomicUsize::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let work = |cpu: usize| {
        let (counted, is_over) = (Arc::clone(&counted), Arc::clone(&is_over));
        let mut count = Count::new(cores * run * floats, duration);
        thread::spawn(move || {
            pin(cpu).expect("there are as many CPUs as were requested");
            let mut buffers: Vec<_> = (0..run).map(|_| Buffer::new(floats)).collect();
            for begin in (cpu * run..).step_by(cores * run) {
                buffers.iter_mut().rev().for_each(|buffer| pass(kernels, buffer.floats()));
                // Acquire and Release: what a sink writes goes from thread to thread.
                while counted.0.load(Ordering::Acquire) != begin {
                    if is_over.load(Ordering::Relaxed) {
                        return None;
                    }
                    std::hint::spin_loop();
                }
                if cpu == 0
                    && let Some(rate) = count.one()
                {
                    check(buffers[0].floats());
                    is_over.store(true, Ordering::Relaxed);
                    return Some(Rate {
                        buffers_per_s: rate.samples_per_s / floats as f64,
                        ..rate
                    });
                }
                counted.0.store(begin + run, Ordering::Release);
            }
            None
        })
    };
    let threads: Vec<_> = (0..cores).map(work).collect();
    let rates = threads.into_iter().map(|thread| thread.join().expect("a thread ends"));
    rates.flatten().next().expect("the first counts")
}

/// One chain in as many stages as `cores`, each on a CPU of its own, which `buffers` go round.
pub(crate) fn stages(
    cores: usize,
    kernels: usize,
    floats: usize,
    buffers: usize,
    duration: Duration,
) -> Rate {
    let rings: Vec<_> = (0..cores).map(|_| Arc::new(Ring::new(buffers))).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    // All around once: the last stage goes on where this one began.
    let mut home = Sender::new(&rings[0]);
    (0..buffers).for_each(|_| home.send(Box::new(Buffer::new(floats))));
    let run = |stage: usize| {
        let kernels = kernels * (stage + 1) / cores - kernels * stage / cores;
        let mut receiver = Receiver::new(&rings[stage]);
        let mut sender = Sender::new(&rings[(stage + 1) % cores]);
        let is_over = Arc::clone(&is_over);
        let mut count = (stage + 1 == cores).then(|| Count::new(floats, duration));
        thread::spawn(move || {
            pin(stage).expect("there are as many CPUs as were requested");
            while let Some(mut buffer) = receiver.receive(&is_over) {
                pass(kernels, buffer.floats());
                if let Some(rate) = count.as_mut().and_then(Count::one) {
                    is_over.store(true, Ordering::Relaxed);
                    return Some(rate);
                }
                sender.send(buffer);
            }
            None
        })
    };
    let threads: Vec<_> = (0..cores).map(run).collect();
    let rates = threads.into_iter().map(|thread| thread.join().expect("a stage ends"));
    rates.flatten().next().expect("the last stage counts")
}

/// Each kernel is a call, as it is in a runtime.
#[inline]
pub(crate) fn pass(kernels: usize, floats: &mut [f32]) {
    for _ in 0..kernels {
        kernels::saxpy(floats, A, B);
    }
}

/// A ring of one sender and one receiver, which spins, with room for all buffers that there are. A
/// slot holds a buffer or nothing, so neither looks at where the other is.
struct Ring {
    slots: Vec<Slot>,
}

#[repr(align(128))]
struct Slot(AtomicPtr<Buffer>);

impl Ring {
    fn new(len: usize) -> Self {
        Self { slots: (0..len).map(|_| Slot(AtomicPtr::new(ptr::null_mut()))).collect() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.slots.iter().filter_map(|slot| slot.take()).for_each(drop);
    }
}

impl Slot {
    /// For the one receiver.
    #[inline]
    fn take(&self) -> Option<Box<Buffer>> {
        // Acquire: what the sender has written to the buffer is there.
        let buffer = self.0.load(Ordering::Acquire);
        if buffer.is_null() {
            return None;
        }
        // Relaxed: the sender looks at no slot, and comes by after the buffer has gone round.
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `put` made it by `Box::into_raw`, and the one receiver has just taken it out.
        Some(unsafe { Box::from_raw(buffer) })
    }

    /// For the one sender, in an empty slot.
    #[inline]
    fn put(&self, buffer: Box<Buffer>) {
        // Release: see `take`.
        self.0.store(Box::into_raw(buffer), Ordering::Release);
    }
}

/// A number in cache lines of its own.
#[repr(align(128))]
struct Alone(AtomicUsize);

struct Sender {
    ring: Arc<Ring>,
    at: usize,
}

impl Sender {
    fn new(ring: &Arc<Ring>) -> Self {
        Self { ring: Arc::clone(ring), at: 0 }
    }

    /// There is room for all buffers.
    #[inline]
    fn send(&mut self, buffer: Box<Buffer>) {
        self.ring.slots[self.at].put(buffer);
        self.at = if self.at + 1 == self.ring.slots.len() { 0 } else { self.at + 1 };
    }
}

struct Receiver {
    ring: Arc<Ring>,
    at: usize,
}

impl Receiver {
    fn new(ring: &Arc<Ring>) -> Self {
        Self { ring: Arc::clone(ring), at: 0 }
    }

    /// The next buffer, until it is over.
    #[inline]
    fn receive(&mut self, is_over: &AtomicBool) -> Option<Box<Buffer>> {
        let slot = &self.ring.slots[self.at];
        let buffer = loop {
            if let Some(buffer) = slot.take() {
                break buffer;
            }
            if is_over.load(Ordering::Relaxed) {
                return None;
            }
            std::hint::spin_loop();
        };
        self.at = if self.at + 1 == self.ring.slots.len() { 0 } else { self.at + 1 };
        Some(buffer)
    }
}

const LINE_FLOATS: usize = 32;
