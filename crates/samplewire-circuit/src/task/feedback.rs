//! Feedback: what comes round a loop, in quanta of the loop's circuit.

use crate::channel::{Arrival, Take};
use crate::graph::Survey;
use crate::meter::Counting;
use crate::quantum::Quantum;
use crate::sample::SampleSize;
use crate::tag::{Tag, Tags};
use crate::task::input::{Input, Reading};
use crate::task::{Next, Progress};

/// Gives quanta of zeros first, and copies of what comes round behind them.
///
/// A copy leaves when it is full, or when all other quanta of the circuit are home: then a reader
/// waits for it. So at most one short copy is under way. One quantum more than the loop begins with
/// means that one can always be filled.
pub(crate) struct FeedbackHead {
    input: Input,
    take: Take,
    counting: Counting,
    /// Samples that a quantum holds.
    len: usize,
    sample_size: SampleSize,
    /// Quanta of zeros that are still to come.
    initial: usize,
    /// What the indexes are shifted by.
    delay: u64,
    /// What is copied, and how many samples of it were.
    current: Option<(Reading, usize)>,
    /// What is being filled; never empty.
    output: Option<Quantum>,
}

impl FeedbackHead {
    /// The stream begins with `initial` quanta of `len` zeros.
    pub(crate) fn new(
        input: Input,
        take: Take,
        counting: Counting,
        len: usize,
        sample_size: SampleSize,
        initial: usize,
    ) -> Self {
        let delay = (initial * len) as u64;
        let (current, output) = (None, None);
        Self { input, take, counting, len, sample_size, initial, delay, current, output }
    }

    /// The next quantum.
    pub(crate) fn next(&mut self) -> Next {
        if self.initial > 0 {
            return self.next_zeros();
        }
        let mut worked = false;
        loop {
            let (reading, read) = match self.current.take() {
                Some(current) => current,
                None => match self.input.pop() {
                    Arrival::Next(reading) => (reading, 0),
                    Arrival::Ended => return self.output.take().map_or(Next::Ended, Next::Quantum),
                    Arrival::Empty => return self.starved(worked),
                },
            };
            if self.output.as_ref().is_some_and(|output| !self.follows(output, &reading, read)) {
                self.current = Some((reading, read));
                return self.output.take().map_or(Next::Worked, Next::Quantum);
            }
            let Some(output) = self.output.take().or_else(|| self.take.take()) else {
                self.current = Some((reading, read));
                self.counting.blocked();
                return if worked { Next::Worked } else { Next::Blocked };
            };
            worked = true;
            if let Some(full) = self.copy(reading, read, output) {
                return Next::Quantum(full);
            }
        }
    }

    /// Without input: what there is, if it is waited for.
    fn starved(&mut self, worked: bool) -> Next {
        if self.output.is_some() && self.take.home() + 1 == self.take.pool().len() {
            return self.output.take().map_or(Next::Worked, Next::Quantum);
        }
        self.counting.starved();
        if worked { Next::Worked } else { Next::Starved }
    }

    /// Whether what is to be read may stand behind `output`, with its tags.
    fn follows(&self, output: &Quantum, reading: &Reading, read: usize) -> bool {
        let from = reading.quantum();
        let begin = (from.index() + read as u64).wrapping_add(self.delay);
        let end = output.index().wrapping_add(self.sample_size.samples(output.len()) as u64);
        begin == end
            && from.rate_hz() == output.rate_hz()
            && from.tags().len() + output.tags().len() <= Tags::LEN_MAX
    }

    /// Copies what `output` has room for: a full one.
    fn copy(&mut self, reading: Reading, read: usize, mut output: Quantum) -> Option<Quantum> {
        let from = reading.quantum();
        let begin = from.index() + read as u64;
        if output.is_empty() {
            output.set_index(begin.wrapping_add(self.delay));
            output.set_rate_hz(from.rate_hz());
        }
        let (left, filled) = (from.len() - self.sample_size.bytes(read), output.len());
        let len_bytes = left.min(self.sample_size.bytes(self.len) - filled);
        let len = self.sample_size.samples(len_bytes);
        self.counting.call(len as u64, || {
            output.set_len(filled + len_bytes);
            let bytes = &from.data()[self.sample_size.bytes(read)..][..len_bytes];
            output.data_mut()[filled..].copy_from_slice(bytes);
        });
        let tags_end = if len_bytes < left { begin + len as u64 } else { u64::MAX };
        for tag in from.tags().iter().filter(|tag| (begin..tags_end).contains(&tag.index)) {
            let index = tag.index.wrapping_add(self.delay);
            output.push_tag(Tag { index, ..*tag }).expect("as `follows` found, or as many as came");
        }
        if len_bytes < left {
            self.current = Some((reading, read + len));
        } else {
            self.input.release(reading);
        }
        if output.len() == self.sample_size.bytes(self.len) {
            return Some(output);
        }
        self.output = Some(output);
        None
    }

    fn next_zeros(&mut self) -> Next {
        let Some(mut quantum) = self.take.take() else {
            self.counting.blocked();
            return Next::Blocked;
        };
        quantum.set_len(self.sample_size.bytes(self.len));
        quantum.data_mut().fill(0);
        quantum.set_index(self.delay - (self.initial * self.len) as u64);
        self.initial -= 1;
        Next::Quantum(quantum)
    }

    /// See [`Head::clear`](crate::task::Head::clear).
    pub(crate) fn clear(&mut self) -> Progress {
        self.input.clear()
    }

    /// Says that no more will be taken, and sends home what is held.
    pub(crate) fn close(&mut self) {
        self.input.close();
        if let Some((reading, _)) = self.current.take() {
            self.input.release(reading);
        }
        if let Some(output) = self.output.take() {
            self.take.untake(output);
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, node: usize, survey: &mut Survey<'_>) {
        if self.current.is_none() && self.initial == 0 {
            survey.waits_for_input(node, 0);
        } else {
            survey.waits_for_quantum(node, &self.take);
        }
        let reading = self.current.as_ref().map(|current| current.0.quantum());
        reading.into_iter().chain(&self.output).for_each(|quantum| survey.held(node, quantum));
        self.input.survey(node, 0, survey);
        survey.home(&mut self.take);
    }

    pub(crate) fn publish(&self) {
        self.counting.publish();
    }
}
