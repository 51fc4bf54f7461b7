//! The blocks of drawn graphs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use samplewire_circuit::{
    Context, Custom, Done, Failure, Flow, InPlace, Input, Join, Output, Polled, Ports, Quantum,
    Ratio, Sink, Source, Tag, TagKind, Transform, Work,
};

use super::{Draw, Samples, value};

/// Runs cut to quanta, with tags for the gaps between.
pub(super) struct Cut {
    /// What is left.
    pub(super) runs: VecDeque<(u64, u64)>,
    /// The index behind the last sample.
    pub(super) next: u64,
}

impl Source<i32> for Cut {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let Some((index, left)) = self.runs.front_mut() else { return Ok(Flow::End) };
        let lost = *index - self.next;
        // Of several causes, in tags of their own.
        let kinds = [
            TagKind::Gap { lost_samples: lost / 3, cause: "one" },
            TagKind::Overflow { lost_samples: lost / 3 },
            TagKind::Gap { lost_samples: lost - lost / 3 * 2, cause: "two" },
        ];
        for kind in kinds.into_iter().filter(|_| lost > 0) {
            quantum.push_tag(Tag { index: *index, kind })?;
        }
        let len = quantum.fill().len().min(*left as usize);
        quantum.set_len(len);
        quantum.set_index(*index);
        (*index..).zip(quantum.samples_mut()).for_each(|(index, at)| *at = value(index));
        *index += len as u64;
        *left -= len as u64;
        self.next = *index;
        if *left == 0 {
            self.runs.pop_front();
        }
        Ok(if self.runs.is_empty() { Flow::End } else { Flow::Pass })
    }
}

/// Adds the second stream to the first.
pub(super) struct Sum;

impl Join<i32, i32> for Sum {
    fn work(&mut self, first: &mut [i32], second: &[i32]) -> Result<(), Failure> {
        first.iter_mut().zip(second).for_each(|(first, other)| *first = first.wrapping_add(*other));
        Ok(())
    }
}

/// Adds, and waits now and then before.
pub(super) struct Add(pub(super) i32, pub(super) Draw);

impl InPlace<i32> for Add {
    fn work(&mut self, quantum: &mut Quantum<i32>) -> Work {
        if self.1.below(64) == 0 {
            return Ok(Flow::Wait);
        }
        let samples = quantum.samples_mut();
        samples.iter_mut().for_each(|sample| *sample = sample.wrapping_add(self.0));
        Ok(Flow::Pass)
    }
}

/// Each output is the sample at which it stands, or the one before it.
pub(super) struct Hold {
    ratio: Ratio,
    /// The index of the next input.
    input: u64,
    /// The index of the next output.
    output: u64,
}

impl Hold {
    pub(super) fn new(ratio: Ratio) -> Self {
        Self { ratio, input: 0, output: 0 }
    }
}

impl Transform<i32, i32> for Hold {
    fn ratio(&self) -> Ratio {
        self.ratio
    }

    fn restart(&mut self, index: u64) {
        (self.input, self.output) = (index, self.ratio.output_at(index));
    }

    fn work(&mut self, input: &[i32], output: &mut [i32]) -> Result<Done, Failure> {
        let mut done = Done { consumed: 0, produced: 0 };
        for sample in input {
            let end = self.ratio.output_at(self.input + 1);
            let room = &mut output[done.produced..];
            let len = room.len().min((end - self.output) as usize);
            room[..len].fill(*sample);
            done.produced += len;
            self.output += len as u64;
            if self.output < end {
                break;
            }
            done.consumed += 1;
            self.input += 1;
        }
        Ok(done)
    }
}

/// Passes each quantum to one of its outputs; waits now and then before, or sleeps and is woken.
pub(super) struct Deal {
    pub(super) input: Input<i32>,
    pub(super) outputs: Vec<Output<i32>>,
    pub(super) draw: Draw,
    pub(super) waker: Waker,
}

impl Custom for Deal {
    fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
        match self.draw.below(64) {
            0 => return Ok(Polled::Waiting),
            1 => {
                self.waker.wake_by_ref();
                return Ok(Polled::Asleep);
            }
            _ => {}
        }
        let Some(quantum) = ports.pop(&self.input) else {
            return Ok(if ports.is_ended(&self.input) { Polled::Done } else { Polled::Idle });
        };
        let output = self.draw.below(self.outputs.len() as u64) as usize;
        ports.push(&self.outputs[output], quantum)?;
        Ok(Polled::Moved)
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.waker = context.waker.clone();
        Ok(())
    }
}

/// What came: the index and value of each sample. In a stream that has an order, each index must be a
/// sample's or counted in a tag.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) samples: Arc<Mutex<Samples>>,
    pub(super) has_order: bool,
}

impl Sink<i32> for Seen {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        let mut samples = self.samples.lock().unwrap();
        let next = samples.last().map_or(0, |last| last.0 + 1);
        let lost_in = |tag: &Tag| match tag.kind {
            TagKind::Gap { lost_samples, .. } | TagKind::Overflow { lost_samples } => lost_samples,
            _ => 0,
        };
        let (index, tags) = (quantum.index(), quantum.tags());
        if self.has_order && next + tags.iter().map(lost_in).sum::<u64>() != index {
            return Err(format!("{next} was to come, {index} came with {tags:?}").into());
        }
        let indexed = (index..).zip(quantum.samples().iter().copied());
        samples.extend(indexed);
        Ok(Flow::Pass)
    }
}
