//! Receiving a stream: an I/O thread fills quanta, the program takes blocks.

mod block;
mod engine;
mod guard;
mod options;
mod places;
mod shared;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_circuit::{Pool, PoolConfig, Tags};
use samplewire_io::{Batch, Link, LinkError};
use samplewire_proto::receiver::{self as proto, Delivery, ReceiverConfig, RecvSlot};
use samplewire_proto::session::{AcceptInfo, OpenConfig};
use samplewire_proto::stream::{End, Terms};
use samplewire_proto::wire::{HEADER_LEN, Role, TRAILER_CRC32C};
use samplewire_proto::{Nanos, SampleIndex};

use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening;
use crate::port::{BATCH_PACKETS, Clock, PACKET_BYTES_MAX};
use crate::quantum;
use crate::sync::{Ordering, fence};

pub use block::Block;
use block::Gaps;
use engine::{Engine, Item, items_max};
use guard::Guard;
pub use options::{ReceiverOptions, WINDOW_DEFAULT};
use places::Places;
use shared::Shared;
pub use shared::Snapshot as ReceiverSnapshot;

/// The receiving end of a stream.
///
/// Iterating gives [`Block`]s until the stream ends; [`Receiver::end`] then says how it ended.
/// Dropping a receiver before that closes the stream.
#[derive(Debug)]
pub struct Receiver {
    info: DeviceInfo,
    memory_bytes: usize,
    items: rtrb::Consumer<Item>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    end: Option<Result<End, LinkError>>,
    next_index: SampleIndex,
}

impl Receiver {
    /// Opens the stream of the device at `address` and starts to receive.
    ///
    /// # Errors
    /// Nothing answers, the device refuses, or an option is out of range.
    ///
    /// # Blocking
    /// Until the stream is open, at most for the time that the options set.
    pub fn open(address: SocketAddr, options: &ReceiverOptions) -> Result<Self, OpenError> {
        let link = options.link(address)?;
        Self::open_over(Box::new(link), address, options)
    }

    /// Like [`Receiver::open`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`Receiver::open`].
    ///
    /// # Blocking
    /// See [`Receiver::open`].
    pub fn open_over(
        mut link: Box<dyn Link>,
        address: SocketAddr,
        options: &ReceiverOptions,
    ) -> Result<Self, OpenError> {
        let clock = Clock::start();
        let config = open_config(options)?;
        let mut batch = Batch::new(BATCH_PACKETS, PACKET_BYTES_MAX);
        let accept =
            opening::open(&mut link, address, clock, config, options.limits(), &mut batch)?;
        let info = opening::describe(address, &accept)?;
        check_offer(&info, &accept)?;
        let (terms, config) = terms(&accept, options)?;
        let slots = vec![RecvSlot::default(); (terms.window as usize).next_power_of_two()];
        let slots_bytes = size_of_val(&slots[..]);
        let now = clock.now();
        let receiver = proto::Receiver::new(terms, config, slots.into_boxed_slice(), now)?;
        let payload_bytes = usize::from(info.payload_bytes);
        let packet_samples = info.packet_samples as usize;
        let quantum_packets =
            quantum::packets(payload_bytes, packet_samples, info.rate_hz(), terms.window);
        let quanta = terms.window.div_ceil(quantum_packets) as usize + quantum::SPARE;
        let pool = Pool::new(PoolConfig::new(quanta, quantum_packets as usize * payload_bytes))?;
        let items_len = items_max(terms.window, quantum_packets);
        let memory_bytes = pool.memory_bytes()
            + slots_bytes
            + items_len * size_of::<Item>()
            + batch.memory_bytes();
        let places =
            Places::new(pool, terms.first_seq, terms.window, quantum_packets, payload_bytes);
        let (producer, items) = rtrb::RingBuffer::new(items_len);
        let shared = Arc::new(Shared::new(link.waker()));
        let engine = Engine::new(
            (link, address, clock),
            (receiver, Guard::new(terms.local_tag, terms.peer_tag)),
            places,
            batch,
            producer,
            Arc::clone(&shared),
            info.frame_bytes(),
        );
        let thread = std::thread::Builder::new()
            .name("samplewire-rx".to_owned())
            .spawn(move || engine.run())?;
        Ok(Self {
            next_index: info.first_index,
            info,
            memory_bytes,
            items,
            shared,
            thread: Some(thread),
            end: None,
        })
    }

    /// What the device said of the stream.
    pub const fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// All memory taken for the stream, in bytes: quanta, slots, rings. None is taken later.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Counters as of some milliseconds ago; after the end, the final ones.
    pub fn stats(&self) -> ReceiverSnapshot {
        self.shared.snapshot()
    }

    /// How the stream ended, once iterating has.
    pub const fn end(&self) -> Option<&Result<End, LinkError>> {
        self.end.as_ref()
    }

    /// The next block, or `None` when `timeout` passes first or the stream has ended.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Block> {
        let until = Instant::now().checked_add(timeout);
        let mut block = self.empty_block();
        loop {
            match self.items.pop() {
                Ok(Item::Run { samples, run }) => {
                    block.range = run.offset_bytes..run.offset_bytes + run.len_bytes;
                    (block.index, block.len_samples) = (run.index, run.len_samples);
                    block.samples = Some(samples);
                    self.next_index = run.index + run.len_samples as u64;
                    self.take_trailing_tags(&mut block);
                    self.shared.set_consumed(run.index);
                    return Some(block);
                }
                Ok(Item::Gap(gap)) => {
                    self.next_index = gap.end();
                    block.index = gap.end();
                    block.gaps.push(gap);
                    if block.gaps.is_full() {
                        return Some(block);
                    }
                }
                Ok(Item::Tag(tag)) => {
                    // A block carries the first tags of a crowd; the rest is not worth a stall.
                    let _full = block.tags.push(tag).is_err();
                }
                Ok(Item::End(end)) => {
                    self.end = Some(end);
                    let has_gaps = !block.gaps.as_slice().is_empty();
                    return has_gaps.then_some(block);
                }
                Err(rtrb::PopError::Empty) if self.end.is_some() => return None,
                Err(rtrb::PopError::Empty) => {
                    let is_over = self.wait_for_item(until);
                    if is_over {
                        let has_gaps = !block.gaps.as_slice().is_empty();
                        return has_gaps.then_some(block);
                    }
                }
            }
        }
    }

    /// Ends the stream, waits for the other side to know, and returns the final counters.
    ///
    /// # Blocking
    /// For some round trips, at most about a second.
    pub fn close(mut self) -> ReceiverSnapshot {
        self.stop();
        self.shared.snapshot()
    }

    fn empty_block(&self) -> Block {
        Block {
            samples: None,
            range: 0..0,
            index: self.next_index,
            len_samples: 0,
            gaps: Gaps::new(),
            tags: Tags::default(),
            shared: Arc::clone(&self.shared),
        }
    }

    /// Tags at the end of a run travel with it.
    fn take_trailing_tags(&mut self, block: &mut Block) {
        while let Ok(Item::Tag(tag)) = self.items.peek() {
            if tag.index != self.next_index || block.tags.push(*tag).is_err() {
                break;
            }
            drop(self.items.pop());
        }
    }

    /// Waits for an item; `true` when the time is over.
    fn wait_for_item(&self, until: Option<Instant>) -> bool {
        let left = until.map_or(WAIT_MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return true;
        }
        self.shared.bell.announce();
        if self.items.is_empty() && !self.items.is_abandoned() {
            self.shared.bell.wait(left.min(WAIT_MAX));
        }
        self.is_drained()
    }

    /// Whether the I/O thread is gone and all that it left has been taken.
    fn is_drained(&self) -> bool {
        if !self.items.is_abandoned() {
            return false;
        }
        // Acquire: `is_abandoned` orders nothing, and what was pushed before it, the end among it,
        // must not be missed.
        fence(Ordering::Acquire);
        self.items.is_empty()
    }

    fn stop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the I/O thread does not panic");
        }
    }
}

impl Iterator for Receiver {
    type Item = Block;

    /// The next block; `None` when the stream has ended.
    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.next_within(WAIT_MAX) {
                return Some(block);
            }
            if self.end.is_some() || self.is_drained() {
                return None;
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

fn open_config(options: &ReceiverOptions) -> Result<OpenConfig, OpenError> {
    let owner = match options.owner {
        Some(owner) => owner,
        None => crate::port::draw_owner()?,
    };
    let (delivery, deadline_us) = match options.delivery {
        Delivery::Complete => (0, 0),
        Delivery::Deadline(deadline) => (1, (deadline.0 / 1_000) as u32),
        Delivery::BestEffort => (2, 0),
    };
    let config = OpenConfig::new(Role::Receive, options.stream, owner);
    Ok(config.with_delivery(delivery, deadline_us))
}

/// Checks what only this layer knows of a device's offer.
fn check_offer(info: &DeviceInfo, accept: &AcceptInfo) -> Result<(), OpenError> {
    let offer = |what, value: u64| OpenError::Offer { address: info.address, what, value };
    let frame_bytes = info.frame_bytes() as u64;
    if info.channels == 0 {
        return Err(offer("channels", 0));
    }
    let needed = u64::from(info.packet_samples) * frame_bytes;
    if accept.params.trailer_kind != TRAILER_CRC32C {
        return Err(offer("trailer kind", u64::from(accept.params.trailer_kind)));
    }
    if needed != u64::from(info.payload_bytes) {
        return Err(offer("payload bytes", u64::from(info.payload_bytes)));
    }
    if accept.params.data_len() > PACKET_BYTES_MAX {
        return Err(offer("payload bytes", u64::from(info.payload_bytes)));
    }
    Ok(())
}

fn terms(
    accept: &AcceptInfo,
    options: &ReceiverOptions,
) -> Result<(Terms, ReceiverConfig), OpenError> {
    let params = &accept.params;
    let terms = Terms {
        local_tag: accept.tag,
        peer_tag: accept.peer_tag,
        is_opener: true,
        first_seq: params.first_seq,
        first_index: params.first_index,
        packet_samples: params.packet_samples,
        payload_bytes: params.payload_bytes,
        payload_offset: params.payload_offset.max(HEADER_LEN as u8),
        // A promise beyond what the device holds would never be used, and set REPORTs too far apart.
        window: options.window.min(params.window.max(1)),
        reorder_tolerance: params.reorder_tolerance,
        dead_after: Nanos::from_millis(u64::from(params.dead_ms)),
        idle_after: Nanos::from_millis(u64::from(params.idle_ms)),
        ranges_max: params.ranges_max,
        rtt: accept.rtt,
    };
    let config = ReceiverConfig::new().with_delivery(options.delivery).map_err(|_| {
        let value = match options.delivery {
            Delivery::Deadline(deadline) => deadline.0 / 1_000,
            _ => 0,
        };
        OpenError::OptionRange { option: "deadline in us", value, range: "1..=30000000" }
    })?;
    Ok((terms, config))
}

/// The longest sleep of a waiting program: it looks whether the I/O thread still runs.
const WAIT_MAX: Duration = Duration::from_millis(200);
