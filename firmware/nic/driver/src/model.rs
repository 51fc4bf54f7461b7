//! The NIC as a model for tests on a host: its queues, their results and packet memory, as
//! `docs/nic.md` states them. It has no engines: the test is the wire.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::bus::{Bus, Pointer, Unit};
use crate::regs::{Access, nic, sender};

/// The NIC, and a sender if [`Model::with_sender`] made it.
#[derive(Debug)]
pub struct Model(RefCell<State>);

#[derive(Debug)]
struct State {
    memory: Vec<u8>,
    words: Vec<u32>,
    free: VecDeque<u32>,
    receive: [VecDeque<u32>; SERVERS],
    transmit: [VecDeque<u32>; SERVERS],
    /// One bit for each buffer: the NIC owns it.
    is_owned: Vec<bool>,
    /// The number of buffers that it is built for.
    buffers_max: u32,
    /// Whether another port has the free queue's lock, and for how many operations more.
    locked_ops: u32,
    push_result: u32,
    sender: Option<Vec<u32>>,
    sender_writes: Vec<(u32, u32)>,
    nic_writes: Vec<(u32, u32)>,
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Model {
    /// A NIC after its reset.
    pub fn new() -> Self {
        Self::with_buffers(128)
    }

    /// The same, built for `buffers_max` buffers, with memory for so many of 2 KiB.
    pub fn with_buffers(buffers_max: u32) -> Self {
        let mut words = vec![0; 256];
        words[nic::SERVERS as usize / 4] = 1;
        words[nic::BUFFER_SIZE as usize / 4] = 4;
        words[nic::BUFFERS as usize / 4] = 64;
        Self(RefCell::new(State {
            memory: vec![0xA5; (buffers_max as usize * BUFFER_BYTES).max(MEMORY_BYTES)],
            words,
            free: VecDeque::new(),
            receive: Default::default(),
            transmit: Default::default(),
            is_owned: vec![false; buffers_max as usize],
            buffers_max,
            locked_ops: 0,
            push_result: 0,
            sender: None,
            sender_writes: Vec::new(),
            nic_writes: Vec::new(),
        }))
    }

    /// The same beside a sender of samples.
    pub fn with_sender() -> Self {
        let model = Self::new();
        let mut words = vec![0; 512];
        words[sender::ID as usize / 4] = sender::ID_VALUE;
        words[sender::GEOMETRY as usize / 4] =
            64 << sender::GEOMETRY_WIDTH_SHIFT | 8192 << sender::GEOMETRY_SLOT_BYTES_SHIFT;
        words[sender::SLOTS as usize / 4] = 256;
        model.0.borrow_mut().sender = Some(words);
        model
    }

    /// A frame comes from the wire for a server. False if no buffer is free.
    pub fn arrive(&self, server: usize, frame: &[u8]) -> bool {
        let state = &mut *self.0.borrow_mut();
        let Some(at) = state.free.pop_front() else { return false };
        let memory = &mut state.memory[at as usize..];
        memory[..4].copy_from_slice(&((frame.len() as u32) << 16).to_le_bytes());
        memory[4..8].copy_from_slice(&0x1234_5678_u32.to_le_bytes());
        memory[8..8 + frame.len()].copy_from_slice(frame);
        state.receive[server].push_back(at);
        true
    }

    /// The next frame that a server sends; the transmit engine then frees its buffer, or returns it.
    pub fn leave(&self, server: usize) -> Option<Vec<u8>> {
        let state = &mut *self.0.borrow_mut();
        let at = state.transmit[server].pop_front()?;
        let memory = &state.memory[at as usize..];
        let len = usize::from(u16::from_le_bytes([memory[2], memory[3]]));
        let is_retained = memory[1] & 0x80 != 0;
        let frame = memory[8..8 + len].to_vec();
        if is_retained {
            state.receive[server].push_back(at);
        } else {
            state.free.push_back(at);
        }
        Some(frame)
    }

    /// Another port takes the lock of the free queue, for `operations` more of this one.
    pub fn lock(&self, operations: u32) {
        self.0.borrow_mut().locked_ops = operations;
    }

    /// Whether each buffer is in exactly one queue.
    pub fn has_all(&self) -> bool {
        self.has_all_but(&[])
    }

    /// Whether each buffer is in exactly one queue or among `kept`, which has addresses.
    pub fn has_all_but(&self, kept: &[u32]) -> bool {
        let state = self.0.borrow();
        let queues = state.receive.iter().chain(&state.transmit).chain([&state.free]);
        assert!(queues.clone().all(|queue| queue.len() <= DEPTH), "a queue overflows");
        let mut all: Vec<u32> = queues.flatten().chain(kept).copied().collect();
        all.sort_unstable();
        let count = state.words[nic::BUFFERS as usize / 4];
        all == (0..count).map(|n| n * state.size()).collect::<Vec<u32>>()
    }

    /// What was written to the NIC's registers, in order.
    pub fn nic_writes(&self) -> Vec<(u32, u32)> {
        self.0.borrow().nic_writes.clone()
    }

    /// What was written to the sender's registers, in order.
    pub fn sender_writes(&self) -> Vec<(u32, u32)> {
        self.0.borrow().sender_writes.clone()
    }
}

impl State {
    fn size(&self) -> u32 {
        128 << self.words[nic::BUFFER_SIZE as usize / 4]
    }

    fn is_steady(&self) -> bool {
        self.words[0] & 1 != 0 || self.is_owned.iter().any(|owned| *owned)
    }

    /// The queue of a register, and whether it is the free queue.
    fn queue(&mut self, offset: u32) -> Option<&mut VecDeque<u32>> {
        match offset {
            nic::FREE => Some(&mut self.free),
            nic::RECEIVE_0..nic::TRANSMIT_0 if offset.is_multiple_of(8) => {
                Some(&mut self.receive[(offset - nic::RECEIVE_0) as usize / 8])
            }
            nic::TRANSMIT_0..nic::FREE if offset.is_multiple_of(8) => {
                Some(&mut self.transmit[(offset - nic::TRANSMIT_0) as usize / 8])
            }
            _ => None,
        }
    }

    fn is_locked(&mut self, offset: u32) -> bool {
        let is_locked = offset == nic::FREE && self.locked_ops > 0;
        self.locked_ops -= u32::from(is_locked);
        is_locked
    }

    fn pop(&mut self, offset: u32) -> u32 {
        if self.is_locked(offset) {
            return 3;
        }
        let Some(at) = self.queue(offset).and_then(VecDeque::pop_front) else { return 1 };
        let index = (at / self.size()) as usize;
        self.is_owned[index] = false;
        at
    }

    fn push(&mut self, offset: u32, at: u32) -> u32 {
        let (size, count) = (self.size(), self.words[nic::BUFFERS as usize / 4]);
        let index = (at / size) as usize;
        if self.is_locked(offset) {
            return 3;
        }
        if !at.is_multiple_of(size) || at / size >= count || self.is_owned[index] {
            return 4;
        }
        let queue = self.queue(offset).expect("a queue");
        if queue.len() == DEPTH {
            return 2;
        }
        queue.push_back(at);
        self.is_owned[index] = true;
        0
    }
}

impl Bus for &Model {
    fn read(self, offset: u32) -> u32 {
        let state = &mut *self.0.borrow_mut();
        if state.queue(offset).is_some() {
            return state.pop(offset);
        }
        match offset {
            nic::PUSH_RESULT => state.push_result,
            nic::FREE_LEVEL => state.free.len() as u32,
            _ => state.words[offset as usize / 4],
        }
    }

    fn write(self, offset: u32, value: u32) {
        let state = &mut *self.0.borrow_mut();
        state.nic_writes.push((offset, value));
        if state.queue(offset).is_some() {
            state.push_result = state.push(offset, value);
            return;
        }
        let register = nic::REGISTERS.iter().find(|r| u32::from(r.offset) == offset);
        let steady = [nic::BASE, nic::BUFFER_SIZE, nic::BUFFERS, nic::ADDRESS_HIGH];
        if register.is_some_and(|r| r.access == Access::ReadWrite)
            && !(steady.contains(&offset) && state.is_steady())
            && !(offset == nic::BUFFERS && value > state.buffers_max)
        {
            state.words[offset as usize / 4] = value;
        }
    }

    fn read_sender(self, offset: u32) -> u32 {
        self.0.borrow().sender.as_ref().map_or(0, |words| words[offset as usize / 4])
    }

    fn write_sender(self, offset: u32, value: u32) {
        let state = &mut *self.0.borrow_mut();
        state.sender_writes.push((offset, value));
        if let Some(words) = &mut state.sender {
            words[offset as usize / 4] = value;
        }
    }

    fn memory<T: Unit, R>(
        self,
        at: &mut Pointer,
        bytes: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> R {
        // Copied, as the program may use other buffers in `f`.
        let (first, unit) = (at.address() as usize, size_of::<T>());
        let mut units: Vec<T> = {
            let state = self.0.borrow();
            assert!(bytes.is_multiple_of(4) && bytes <= state.size() as usize, "inside the buffer");
            state.memory[first..first + bytes].chunks_exact(unit).map(T::read).collect()
        };
        let result = f(&mut units);
        let memory = &mut self.0.borrow_mut().memory[first..first + bytes];
        for (unit, bytes) in units.iter().zip(memory.chunks_exact_mut(unit)) {
            unit.write(bytes);
        }
        result
    }
}

const SERVERS: usize = 4;
const DEPTH: usize = 64;
const MEMORY_BYTES: usize = 128 << 10;
const BUFFER_BYTES: usize = 2048;
