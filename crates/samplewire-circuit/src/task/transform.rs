//! Transforms: from the quanta of one circuit into those of another.

use crate::block::{Done, Failure, Ratio};
use crate::channel::{Arrival, Take};
use crate::graph::Survey;
use crate::quantum::Quantum;
use crate::sample::SampleSize;
use crate::tag::{Tag, TagKind, Tags};
use crate::task::input::{Input, Reading};
use crate::task::{Cross, Names, Next, Progress, Station};

/// Fills quanta of one circuit from those of another.
pub(crate) struct TransformHead {
    station: Station<dyn Cross>,
    output_size: SampleSize,
    input: Input,
    take: Take,
    /// What is being read, and how many samples of it have been.
    current: Option<(Reading, usize)>,
    /// Tags of it before this index were passed on.
    tags_from: u64,
    /// What is being filled.
    output: Option<Quantum>,
    /// The index of the next sample of input, once there was one.
    next_in: Option<u64>,
    /// The index of the next sample of output.
    next_out: u64,
    /// Where the input went on that is being read, if it did not follow what was read before.
    jump: Option<Jump>,
    /// Tags for the samples that come next, which found no room.
    waiting_tags: Tags,
    is_at_work: bool,
}

impl TransformHead {
    pub(crate) fn new(
        station: Station<dyn Cross>,
        output_size: SampleSize,
        input: Input,
        take: Take,
    ) -> Self {
        Self {
            station,
            output_size,
            input,
            take,
            current: None,
            tags_from: 0,
            output: None,
            next_in: None,
            next_out: 0,
            jump: None,
            waiting_tags: Tags::default(),
            is_at_work: false,
        }
    }

    /// The next quantum of output: a full one, or what there is before a gap, before tags that find
    /// no room, and at the end.
    pub(crate) fn next(&mut self) -> Result<Next, Failure> {
        self.is_at_work = true;
        let mut worked = false;
        let next = self.fill_next(&mut worked);
        // A failure stays this block's.
        self.is_at_work = next.is_err();
        match next {
            Ok(Next::Starved | Next::Blocked) if worked => Ok(Next::Worked),
            next => next,
        }
    }

    /// See [`TransformHead::next`]; says whether anything was done.
    fn fill_next(&mut self, worked: &mut bool) -> Result<Next, Failure> {
        loop {
            if self.current.is_none() {
                match self.input.pop() {
                    Arrival::Next(quantum) => {
                        self.current = Some((quantum, 0));
                        self.tags_from = 0;
                    }
                    Arrival::Empty => {
                        self.station.counting.starved();
                        return Ok(Next::Starved);
                    }
                    Arrival::Ended => {
                        return Ok(self.filled().map_or_else(|| self.ended(), Next::Quantum));
                    }
                }
            }
            if self.is_after_gap() {
                if let Some(quantum) = self.filled() {
                    return Ok(Next::Quantum(quantum));
                }
                self.restart();
            }
            if self.output.is_none() && !self.begin_output() {
                self.station.counting.blocked();
                return Ok(Next::Blocked);
            }
            *worked = true;
            if let Some(quantum) = self.step()? {
                return Ok(Next::Quantum(quantum));
            }
        }
    }

    /// Whether what is to be read does not follow what was.
    fn is_after_gap(&self) -> bool {
        let (reading, read) = self.current.as_ref().expect("there is input");
        *read == 0 && self.next_in != Some(reading.quantum().index())
    }

    fn restart(&mut self) {
        let (reading, _) = self.current.as_ref().expect("there is input");
        let index = reading.quantum().index();
        self.station.block.restart(index);
        let (next_out, to) = (self.next_out, index);
        self.jump = self.next_in.map(|next_in| Jump { next_in, next_out, to });
        self.next_in = Some(index);
        self.next_out = self.station.block.ratio().output_at(index);
    }

    /// Takes a quantum for output; `false` when none is free.
    fn begin_output(&mut self) -> bool {
        let Some(mut quantum) = self.take.take() else { return false };
        let (reading, _) = self.current.as_ref().expect("there is input");
        let ratio = self.station.block.ratio();
        quantum.set_index(self.next_out);
        let scale = f64::from(ratio.interpolation) / f64::from(ratio.decimation);
        let rate_hz = reading.quantum().rate_hz() * scale;
        quantum.set_rate_hz(rate_hz);
        self.station.counting.rate(rate_hz);
        std::mem::swap(quantum.tags_mut(), &mut self.waiting_tags);
        self.output = Some(quantum);
        true
    }

    /// Has the block work once; the output, when it is full or must leave.
    fn step(&mut self) -> Result<Option<Quantum>, Failure> {
        let (reading, read) = self.current.as_mut().expect("there is input");
        let output = self.output.as_mut().expect("there is room");
        let Station { sample_size, counting, block, .. } = &mut self.station;
        let input = reading.quantum();
        let len = sample_size.samples(input.len());
        // Tags that there is no room for begin another quantum, unless this one has no sample yet.
        let index = input.index() + *read as u64;
        let room = Tags::LEN_MAX - output.tags().len();
        // With the first sample come also the tags before it, with the last those behind it.
        let from = self.tags_from;
        let beyond = input.tags().iter().filter(|tag| tag.index >= from).nth(room);
        let input_max = match beyond {
            Some(tag) if !output.is_empty() => tag.index.saturating_sub(index) as usize,
            _ => usize::MAX,
        };
        let Done { consumed, produced } =
            counting.call(0, || block.cross(input, *read, input_max, output))?;
        counting.made(consumed as u64);
        let end = index + consumed as u64;
        let ratio = block.ratio();
        self.next_in = Some(end);
        self.next_out += produced as u64;
        // A sample of which there is output already has its tags there, also before it is used up.
        let begun = u64::from(self.next_out > ratio.output_at(end));
        let to = if *read + consumed == len { u64::MAX } else { end.saturating_add(begun) };
        for (at, tag) in input.tags().iter().enumerate() {
            if !(from..to).contains(&tag.index) {
                continue;
            }
            let tag = across(&input.tags()[at..], ratio, self.jump);
            // Behind the last sample of this output it is the next's.
            let pushed = if tag.index <= output.index() {
                output.tags_mut().push_before_samples(tag)
            } else {
                output.push_tag(tag)
            };
            if pushed.is_err() {
                counting.lost_tag();
            }
        }
        self.tags_from = to;
        *read += consumed;
        let is_read = *read == len;
        let size = self.output_size;
        let is_full = size.samples(output.len()) == size.samples(output.capacity());
        if is_read && let Some((reading, _)) = self.current.take() {
            self.input.release(reading);
        }
        if is_full {
            return Ok(self.filled());
        }
        if consumed > 0 || produced > 0 || is_read {
            return Ok(None);
        }
        // Neither went on: more room may help, or another quantum for the tags.
        match self.filled() {
            Some(quantum) => Ok(Some(quantum)),
            None => {
                Err(format!("takes none of {len} samples with room for a whole quantum").into())
            }
        }
    }

    /// The output, unless it is empty, with the tags of its samples alone.
    fn filled(&mut self) -> Option<Quantum> {
        let mut quantum = self.output.take()?;
        let end = self.next_out;
        let tags = *quantum.tags();
        quantum.tags_mut().clear();
        self.waiting_tags.clear();
        for tag in tags.iter() {
            // The end of a burst stands one behind its last sample.
            let is_before_end = tag.index < end + u64::from(tag.kind == TagKind::EndOfBurst);
            let is_ours = is_before_end && !quantum.is_empty();
            let room = if is_ours { quantum.tags_mut() } else { &mut self.waiting_tags };
            room.push(*tag).expect("as many as were there");
        }
        if quantum.is_empty() {
            self.take.untake(quantum);
            return None;
        }
        Some(quantum)
    }

    /// Nothing will come for the tags that are left.
    fn ended(&mut self) -> Next {
        self.waiting_tags.iter().for_each(|_| self.station.counting.lost_tag());
        self.waiting_tags.clear();
        Next::Ended
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
        if let Some(quantum) = self.output.take() {
            self.take.untake(quantum);
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        let node = self.station.node;
        if self.current.is_none() {
            survey.waits_for_input(node, 0);
        } else {
            survey.waits_for_quantum(node, &self.take);
        }
        let reading = self.current.as_ref().map(|current| current.0.quantum());
        reading.into_iter().chain(&self.output).for_each(|quantum| survey.held(node, quantum));
        self.input.survey(node, 0, survey);
        survey.home(&mut self.take);
    }

    pub(crate) fn node(&self) -> usize {
        self.station.node
    }

    pub(crate) fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        self.station.start(names)
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        self.station.stop()
    }

    pub(crate) fn publish(&self) {
        self.station.counting.publish();
    }

    /// Its block, for another split; what it holds returns to its pool.
    pub(crate) fn into_station(self) -> Station<dyn Cross> {
        self.station
    }
}

/// Where a stream went on behind a gap.
#[derive(Clone, Copy)]
struct Jump {
    /// The indexes at which its input and the output of that would have gone on ..
    next_in: u64,
    next_out: u64,
    /// .. and the one at which the input did.
    to: u64,
}

/// The first of `tags` as it stands in the output. What it says is missing are the outputs for the
/// missing inputs, so that whatever the ratio each index of the output is a sample or counted once.
/// Tags of one index stand in the order of what they say is missing, the last next to the sample.
fn across(tags: &[Tag], ratio: Ratio, jump: Option<Jump>) -> Tag {
    let (mut tag, behind) = (tags[0], &tags[1..]);
    let index = tag.index;
    if let Some(lost_samples) = tag.kind.lost_samples_mut() {
        let same = behind.iter().filter(|other| other.index == index);
        let lost = same.filter_map(|other| { other.kind }.lost_samples_mut().copied());
        let end = lost.fold(index, u64::saturating_sub);
        let begin = end.saturating_sub(*lost_samples);
        let out_begin = match jump {
            // Outputs that the block owed when the gap came are lost with it.
            Some(jump) if jump.next_in == begin && index <= jump.to => jump.next_out,
            _ => ratio.output_at(begin),
        };
        *lost_samples = ratio.output_at(end).saturating_sub(out_begin);
    }
    Tag { index: ratio.output_at(index), ..tag }
}
