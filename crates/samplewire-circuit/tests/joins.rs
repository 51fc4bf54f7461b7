//! Joins, merges and loops against lists of samples, under each scheduler.

mod schedulers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use samplewire_circuit::{
    Circuit, Failure, Flow, GraphBuilder, Join, Quantum, Sink, Source, Tag, TagKind, Work,
};
use samplewire_proto::Rng;
use schedulers::under_each_scheduler;

type Samples = Vec<(u64, i32)>;

/// Gives samples and tags from a list, in quanta of drawn lengths.
#[derive(Clone)]
struct Listed {
    samples: Samples,
    tags: Vec<Tag>,
    rate_hz: f64,
    at: usize,
    rng: Rng,
}

impl Listed {
    fn new(samples: Samples, seed: u64) -> Self {
        Self { samples, tags: Vec::new(), rate_hz: 1e6, at: 0, rng: Rng::new(seed) }
    }

    fn with_tags(self, tags: Vec<Tag>) -> Self {
        Self { tags, ..self }
    }
}

impl Source<i32> for Listed {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let left = &self.samples[self.at..];
        let Some(&(index, _)) = left.first() else { return Ok(Flow::End) };
        let room = (1 + self.rng.below(quantum.fill().len() as u64)) as usize;
        let len = (index..).zip(left).take(room).take_while(|(at, it)| *at == it.0).count();
        quantum.set_len(len);
        quantum.set_index(index);
        quantum.set_rate_hz(self.rate_hz);
        quantum.samples_mut().iter_mut().zip(left).for_each(|(at, sample)| *at = sample.1);
        let end = index + len as u64;
        for tag in self.tags.iter().filter(|tag| (index..end).contains(&tag.index)) {
            quantum.push_tag(*tag)?;
        }
        self.at += len;
        Ok(Flow::Pass)
    }
}

/// Ten thousand times the first, plus the second.
struct Both;

impl Join<i32, i32> for Both {
    fn work(&mut self, first: &mut [i32], second: &[i32]) -> Result<(), Failure> {
        assert_eq!(first.len(), second.len());
        first.iter_mut().zip(second).for_each(|(first, second)| *first = *first * 10_000 + second);
        Ok(())
    }
}

/// What came.
#[derive(Clone, Default)]
struct Seen {
    samples: Arc<Mutex<Samples>>,
    tags: Arc<Mutex<Vec<Tag>>>,
}

impl Sink<i32> for Seen {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        let indexed = (quantum.index()..).zip(quantum.samples().iter().copied());
        self.samples.lock().unwrap().extend(indexed);
        self.tags.lock().unwrap().extend(quantum.tags().iter());
        Ok(Flow::Pass)
    }
}

/// Runs of 1 to 100 samples with gaps of 0 to 40 between them, up to index 800.
fn gappy(rng: &mut Rng) -> Samples {
    let mut samples = Samples::new();
    let mut index = rng.below(50);
    while index < 800 {
        let end = index + 1 + rng.below(100);
        samples.extend((index..end).map(|index| (index, (index % 9_973) as i32)));
        index = end + rng.below(2) * rng.below(40);
    }
    samples
}

fn circuit(name: &str, rng: &mut Rng) -> Circuit<i32> {
    Circuit::new(1 + rng.below(4) as usize, 1 + rng.below(200) as usize).named(name)
}

#[test]
fn joined_are_the_samples_of_indexes_that_both_have() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let lists: Vec<Samples> = (0..3).map(|_| gappy(&mut rng)).collect();
        let maps: Vec<BTreeMap<_, _>> =
            lists[1..].iter().map(|list| list.iter().copied().collect()).collect();
        let both = |first: &Samples, second: &BTreeMap<u64, i32>| -> Samples {
            let pair = |&(index, value): &(u64, i32)| {
                Some((index, value.wrapping_mul(10_000).wrapping_add(*second.get(&index)?)))
            };
            first.iter().filter_map(pair).collect()
        };
        let two = both(&lists[0], &maps[0]);
        let expected = both(&two, &maps[1]);
        under_each_scheduler(|run| {
            let mut rng = Rng::new(seed ^ 0xbeef);
            let seen = Seen::default();
            let mut graph = GraphBuilder::new();
            let [first, second, third] = [0, 1, 2].map(|number| {
                let name = format!("source {number}");
                let circuit = circuit(&name, &mut rng);
                graph.source(name, Listed::new(lists[number].clone(), seed), circuit)
            });
            let stream = graph.join("two", Wrapping, first, second);
            // One reader of its own, one of a broadcast.
            let third = graph.broadcast("third", third);
            graph.sink("also", Seen::default(), third.clone());
            let stream = graph.join("three", Wrapping, stream, third);
            graph.sink("sink", seen.clone(), stream);
            let report = run(graph.build().unwrap()).unwrap();

            let samples = seen.samples.lock().unwrap();
            let at = samples.iter().zip(&expected).position(|(seen, expected)| seen != expected);
            assert!(*samples == expected, "seed {seed}: {} at {at:?}", samples.len());
            let counters = report.block("two").unwrap().counters;
            assert!(counters.samples >= samples.len() as u64 && counters.unpaired > 0);
            // A gap tag stands where the index jumps and nowhere else.
            for tag in seen.tags.lock().unwrap().iter() {
                let TagKind::Gap { lost_samples, cause: "join" } = tag.kind else {
                    panic!("{tag:?}")
                };
                let at = samples.partition_point(|sample| sample.0 < tag.index);
                let before = at.checked_sub(1).map_or(0, |at| samples[at].0 + 1);
                assert!(tag.index - before >= lost_samples, "seed {seed}: {tag:?} {before}");
            }
        });
    }
}

/// See [`Both`], for more than two.
struct Wrapping;

impl Join<i32, i32> for Wrapping {
    fn work(&mut self, first: &mut [i32], second: &[i32]) -> Result<(), Failure> {
        for (first, second) in first.iter_mut().zip(second) {
            *first = first.wrapping_mul(10_000).wrapping_add(*second);
        }
        Ok(())
    }
}

#[test]
fn hole_in_the_middle_of_a_quantum_makes_two_of_it_and_tags_are_merged() {
    let tag = |index, hz| Tag { index, kind: TagKind::Frequency { hz } };
    under_each_scheduler(|run| {
        let seen = Seen::default();
        let mut graph = GraphBuilder::new();
        // One quantum holds all of the first.
        let circuit = Circuit::new(1, 100_000).named("first");
        let mut source = Listed::new((0..100).map(|index| (index, 1)).collect(), 0)
            .with_tags(vec![tag(3, 3.0), tag(12, 12.0), tag(70, 70.0)]);
        source.rng = Rng::new(u64::MAX);
        let first = graph.source("first", Whole(source), circuit);
        let circuit = Circuit::new(3, 7).named("second");
        let indexes = (5..10).chain(20..40).chain(60..100);
        let source = Listed::new(indexes.clone().map(|index| (index, 2)).collect(), 7)
            .with_tags(vec![tag(5, 5.0), tag(25, 25.0), tag(70, 70.5)]);
        let second = graph.source("second", source, circuit);
        let stream = graph.join("both", Both, first, second);
        graph.sink("sink", seen.clone(), stream);
        let report = run(graph.build().unwrap()).unwrap();

        let expected: Samples = indexes.clone().map(|index| (index, 10_002)).collect();
        assert_eq!(*seen.samples.lock().unwrap(), expected);
        let gap =
            |index, lost_samples| Tag { index, kind: TagKind::Gap { lost_samples, cause: "join" } };
        let expected = [
            // The tags of what was left out hold from the next sample on.
            gap(5, 5),
            tag(5, 3.0),
            tag(5, 5.0),
            gap(20, 10),
            tag(20, 12.0),
            tag(25, 25.0),
            gap(60, 20),
            tag(70, 70.0),
            tag(70, 70.5),
        ];
        assert_eq!(*seen.tags.lock().unwrap(), expected);
        let counters = report.block("both").unwrap().counters;
        assert_eq!((counters.samples, counters.unpaired, counters.tags_lost), (65, 35, 0));
    });
}

/// A list in one quantum.
struct Whole(Listed);

impl Source<i32> for Whole {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        if self.0.samples.is_empty() {
            return Ok(Flow::End);
        }
        let samples = std::mem::take(&mut self.0.samples);
        quantum.set_len(samples.len());
        quantum.samples_mut().iter_mut().zip(&samples).for_each(|(at, sample)| *at = sample.1);
        quantum.set_index(samples[0].0);
        for tag in &self.0.tags {
            quantum.push_tag(*tag)?;
        }
        Ok(Flow::Pass)
    }
}

#[test]
fn streams_of_different_rates_are_not_joined() {
    under_each_scheduler(|run| {
        let mut graph = GraphBuilder::new();
        let [first, second] = [1e6, 2e6].map(|rate_hz| {
            let name = format!("{rate_hz}");
            let circuit = Circuit::new(2, 10).named(name.clone());
            let samples = (0..1_000).map(|index| (index, 0)).collect();
            graph.source(name, Listed { rate_hz, ..Listed::new(samples, 1) }, circuit)
        });
        let stream = graph.join("both", Both, first, second);
        graph.sink("sink", Seen::default(), stream);
        let error = run(graph.build().unwrap()).unwrap_err();
        let text =
            "'both': joins streams of 1000000 Hz and 2000000 Hz: resample one of them before";
        assert_eq!(error.to_string(), text);
    });
}

#[test]
fn merged_streams_arrive_whole_and_each_in_order() {
    under_each_scheduler(|run| {
        let seen = Seen::default();
        let mut graph = GraphBuilder::new();
        let lists = [0, 1, 2].map(|number: i32| -> Samples {
            let len = 100 * (number as u64 + 1);
            (0..len).map(|index| (index, number)).collect()
        });
        let mut rng = Rng::new(3);
        let streams = [0, 1, 2].map(|number| {
            let name = format!("source {number}");
            let circuit = circuit(&name, &mut rng);
            graph.source(name, Listed::new(lists[number].clone(), 3), circuit)
        });
        let stream = graph.merge("all", streams);
        // Through a broadcast, from which several send the quanta home.
        let stream = graph.broadcast("several", stream);
        graph.sink("also", Seen::default(), stream.clone());
        graph.sink("sink", seen.clone(), stream);
        run(graph.build().unwrap()).unwrap();
        let samples = seen.samples.lock().unwrap();
        for (number, list) in (0..).zip(&lists) {
            let of_it: Samples = samples.iter().copied().filter(|it| it.1 == number).collect();
            assert!(of_it == *list, "{number}");
        }
        assert_eq!(samples.len(), 600);
    });
}

/// y[n] = x[n] + 3 y[n - D].
struct Echo;

impl Join<i32, i32> for Echo {
    fn work(&mut self, x: &mut [i32], y: &[i32]) -> Result<(), Failure> {
        x.iter_mut().zip(y).for_each(|(x, y)| *x = x.wrapping_add(y.wrapping_mul(3)));
        Ok(())
    }
}

#[test]
fn loop_is_the_recursion_sample_by_sample() {
    // The quanta of input are never longer than the delay.
    for (initial, quanta, len, input_len) in
        [(1, 2, 50, 50), (1, 2, 50, 7), (2, 3, 20, 40), (3, 4, 16, 33), (4, 5, 1, 4)]
    {
        let x: Samples = (0..600).map(|index| (index, (index * 31 % 1_009) as i32)).collect();
        let delay = initial * len;
        let mut y = x.clone();
        for n in delay..y.len() {
            y[n].1 = y[n].1.wrapping_add(y[n - delay].1.wrapping_mul(3));
        }
        under_each_scheduler(|run| {
            let seen = Seen::default();
            let mut graph = GraphBuilder::new();
            let (input, round) = (
                Circuit::new(3, input_len).named("input"),
                Circuit::new(quanta, len).named("loop"),
            );
            let input = graph.source("source", Listed::new(x.clone(), 5), input);
            let (feedback, delayed) = graph.feedback("feedback", round, initial);
            let output = graph.join("echo", Echo, input, delayed);
            let output = graph.broadcast("both", output);
            graph.close(feedback, output.clone());
            graph.sink("sink", seen.clone(), output);
            run(graph.build().unwrap()).unwrap();
            assert!(*seen.samples.lock().unwrap() == y, "{initial} of {len}, {input_len}");
        });
    }
}
