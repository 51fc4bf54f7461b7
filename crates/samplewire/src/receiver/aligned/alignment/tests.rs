use samplewire_proto::{Cause, Rng};

use super::*;

/// The true content of a stream: consecutive samples and gaps from index 0.
type Truth = Vec<Stretch>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stretch {
    Samples { first: u64, end: u64 },
    Gap(Gap),
}

/// The lane and the indexes of a piece.
type Body = (usize, Range<u64>);

/// The output of an alignment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Given {
    /// Runs of samples, joined if they are consecutive.
    samples: Vec<Range<u64>>,
    gaps: Vec<(usize, Gap)>,
    end: u64,
}

fn gap(first: u64, count: u64, cause: Cause) -> Gap {
    match cause {
        Cause::SourceOverflow => Gap { first, not_repaired: 0, source_lost: count, cause },
        _ => Gap { first, not_repaired: count, source_lost: 0, cause },
    }
}

/// Stretches up to about `len`; `evenness` makes gaps rare.
fn truth(rng: &mut Rng, len: u64, evenness: u64) -> Truth {
    let (mut truth, mut at) = (Truth::new(), 0);
    while at < len {
        let count = 1 + rng.below(60);
        let is_gap = rng.below(evenness) == 0;
        truth.push(match is_gap {
            true => Stretch::Gap(gap(at, count, Cause::ALL[rng.below(5) as usize])),
            false => Stretch::Samples { first: at, end: at + count },
        });
        at += count;
    }
    truth
}

fn end_of(truth: &Truth) -> u64 {
    truth.last().map_or(0, |last| match last {
        Stretch::Samples { end, .. } => *end,
        Stretch::Gap(gap) => gap.end(),
    })
}

/// The gap that contains an index; `None` if the sample exists.
fn gap_at(truth: &Truth, index: u64) -> Option<Gap> {
    truth.iter().find_map(|stretch| match stretch {
        Stretch::Gap(gap) if (gap.first..gap.end()).contains(&index) => Some(*gap),
        _ => None,
    })
}

/// The expected output, index by index.
fn oracle(truths: &[Truth]) -> Given {
    let mut given = Given::default();
    while truths.iter().all(|truth| given.end < end_of(truth)) {
        let gaps = truths.iter().map(|truth| gap_at(truth, given.end)).enumerate();
        let gaps = gaps.filter_map(|(lane, gap)| Some((lane, gap?)));
        // If several reach as far, the first counts.
        match gaps.rev().max_by_key(|(_, gap)| gap.end()) {
            Some((lane, gap)) => {
                given.gaps.push((lane, rest(&gap, given.end)));
                given.end = gap.end();
            }
            None => {
                join(&mut given.samples, given.end..given.end + 1);
                given.end += 1;
            }
        }
    }
    given
}

fn join(runs: &mut Vec<Range<u64>>, range: Range<u64>) {
    match runs.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => runs.push(range),
    }
}

/// Cuts a stream into pieces as a receiver returns them: some gaps, then samples.
fn cut(rng: &mut Rng, truth: &Truth) -> Vec<(Vec<Gap>, Option<Range<u64>>)> {
    let (mut pieces, mut gaps) = (Vec::new(), Vec::new());
    for stretch in truth {
        match *stretch {
            Stretch::Gap(gap) => {
                gaps.push(gap);
                if gaps.len() == GAPS_MAX || rng.below(3) == 0 {
                    pieces.push((std::mem::take(&mut gaps), None));
                }
            }
            Stretch::Samples { mut first, end } => {
                while first < end {
                    let at = first + 1 + rng.below(end - first);
                    pieces.push((std::mem::take(&mut gaps), Some(first..at)));
                    first = at;
                }
            }
        }
    }
    if !gaps.is_empty() {
        pieces.push((gaps, None));
    }
    pieces
}

/// Runs an alignment whose lanes get their pieces in a random order. Returns the output, and for
/// each lane its counts and whether all of its pieces were put in.
fn run(rng: &mut Rng, truths: &[Truth]) -> (Given, Vec<(LaneCounts, bool)>) {
    let pieces = truths.iter().map(|truth| cut(rng, truth).into_iter());
    let mut pieces: Vec<_> = pieces.collect();
    let mut line = Alignment::<Body>::new(truths.len(), 0);
    let mut given = Given::default();
    loop {
        match line.poll(1 + rng.below(40)) {
            Step::Samples(range) => {
                assert_eq!(range.start, given.end);
                for lane in 0..truths.len() {
                    let (first, body) = line.samples(lane);
                    assert_eq!((lane, first), (body.0, body.1.start));
                    assert!(body.1.start <= range.start && range.end <= body.1.end);
                }
                given.end = range.end;
                join(&mut given.samples, range);
            }
            Step::Gap { lane, gap } => {
                assert_eq!(gap.first, given.end);
                given.end = gap.end();
                given.gaps.push((lane, gap));
            }
            Step::NeedsInput => {
                let missing: Vec<_> =
                    (0..truths.len()).filter(|&it| line.needs_input(it)).collect();
                let lane = missing[rng.below(missing.len() as u64) as usize];
                match pieces[lane].next() {
                    Some((gaps, samples)) => {
                        let samples =
                            samples.map(|it| (it.start, it.end - it.start, (lane, it.clone())));
                        line.put(lane, &gaps, samples);
                    }
                    None => line.end(lane),
                }
            }
            Step::Over => break,
            Step::Apart { .. } => panic!("no lane jumps"),
        }
    }
    assert!((0..truths.len()).any(|lane| line.has_ended(lane)));
    let lanes = 0..truths.len();
    (given, lanes.map(|lane| (line.counts(lane), line.has_ended(lane))).collect())
}

#[test]
fn what_all_have_is_given_however_pieces_are_cut_and_whenever_they_come() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let (lanes, evenness) = (1 + rng.below(5), 1 + rng.below(30));
        let truths: Vec<_> = (0..lanes)
            .map(|_| {
                let len = 500 + rng.below(300);
                truth(&mut rng, len, evenness)
            })
            .collect();
        let expected = oracle(&truths);
        for round in 0..4 {
            let (given, counts) = run(&mut rng, &truths);
            assert_eq!(given, expected, "seed {seed}, round {round}");
            let there: u64 = given.samples.iter().map(|run| run.end - run.start).sum();
            let missing: u64 = given.gaps.iter().map(|(_, gap)| gap.count()).sum();
            assert_eq!(there + missing, given.end, "seed {seed}");
            for (truth, (counts, has_ended)) in truths.iter().zip(counts) {
                let end = given.end.min(end_of(truth));
                let has = (0..end).filter(|&index| gap_at(truth, index).is_none()).count() as u64;
                // The last pieces of a lane that has not ended may be missing.
                assert!(counts.discarded <= has - there, "seed {seed}: {counts:?}");
                assert!(!has_ended || counts.discarded == has - there, "seed {seed}: {counts:?}");
            }
        }
    }
}

#[test]
fn gap_of_one_is_a_gap_for_all_and_named_for_it() {
    let mut line = Alignment::new(2, 100);
    assert_eq!(line.poll(u64::MAX), Step::NeedsInput);
    line.put(0, &[], Some((100, 50, 'a')));
    assert!(!line.needs_input(0) && line.needs_input(1));
    let lost = gap(120, 10, Cause::Deadline);
    line.put(1, &[], Some((100, 20, 'b')));
    assert_eq!(line.poll(u64::MAX), Step::Samples(100..120));
    assert_eq!((line.samples(0), line.samples(1)), ((100, &'a'), (100, &'b')));
    assert_eq!(line.poll(u64::MAX), Step::NeedsInput);
    line.put(1, &[lost], Some((130, 40, 'c')));
    assert_eq!(line.poll(u64::MAX), Step::Gap { lane: 1, gap: lost });
    assert_eq!(line.poll(u64::MAX), Step::Samples(130..150));
    assert_eq!((line.samples(0), line.samples(1)), ((100, &'a'), (130, &'c')));
    assert_eq!(line.counts(0), LaneCounts { discarded: 10, ..LaneCounts::default() });
    assert_eq!(line.counts(1), LaneCounts { gaps: 1, missing: 10, discarded: 0 });
}

#[test]
fn gaps_that_overlap_are_reported_once_each_index() {
    let mut line = Alignment::<()>::new(2, 0);
    let (a, b) = (gap(0, 10, Cause::Deadline), gap(5, 20, Cause::SourceOverflow));
    line.put(0, &[a], Some((10, 90, ())));
    line.put(1, &[], Some((0, 5, ())));
    assert_eq!(line.poll(u64::MAX), Step::Gap { lane: 0, gap: a });
    assert_eq!(line.poll(u64::MAX), Step::NeedsInput);
    line.put(1, &[b], Some((25, 75, ())));
    let rest = gap(10, 15, Cause::SourceOverflow);
    assert_eq!(line.poll(u64::MAX), Step::Gap { lane: 1, gap: rest });
    assert_eq!(line.poll(u64::MAX), Step::Samples(25..100));
    assert_eq!((line.counts(0).discarded, line.counts(1).discarded), (15, 5));
}

#[test]
fn gap_that_covers_another_is_the_one_that_is_reported() {
    let mut line = Alignment::<()>::new(3, 0);
    let (short, long) = (gap(0, 10, Cause::Deadline), gap(0, 30, Cause::SourceOverflow));
    line.put(0, &[short], Some((10, 90, ())));
    line.put(1, &[long], Some((30, 70, ())));
    line.put(2, &[long], Some((30, 70, ())));
    assert_eq!(line.poll(u64::MAX), Step::Gap { lane: 1, gap: long }, "the first of the longest");
    assert_eq!(line.poll(u64::MAX), Step::Samples(30..100));
}

#[test]
fn end_of_one_is_the_end_of_all_whatever_others_still_have() {
    let mut line = Alignment::<()>::new(2, 0);
    line.put(0, &[], Some((0, 100, ())));
    line.put(1, &[], Some((0, 60, ())));
    line.end(1);
    assert_eq!(line.poll(u64::MAX), Step::Samples(0..60));
    assert_eq!(line.poll(u64::MAX), Step::Over);
    assert!(line.has_ended(1) && !line.has_ended(0));
}

#[test]
fn jump_on_purpose_is_followed_when_all_make_it_and_reported_when_one_does() {
    let mut line = Alignment::<()>::new(2, 0);
    line.put(0, &[], Some((1_000, 10, ())));
    line.put(1, &[], Some((1_000, 5, ())));
    assert_eq!(line.poll(u64::MAX), Step::Samples(1_000..1_005));
    assert_eq!(line.poll(u64::MAX), Step::NeedsInput);
    line.put(1, &[], Some((2_000, 5, ())));
    assert_eq!(line.poll(u64::MAX), Step::Apart { lane: 1, next: 1_005, at: 2_000 });
}

#[test]
fn piece_of_one_stream_can_be_taken_whole() {
    let mut line = Alignment::new(1, 7);
    line.put(0, &[], Some((7, 3, String::from("x"))));
    assert_eq!(line.poll(u64::MAX), Step::Samples(7..10));
    assert_eq!(line.take_samples(0), "x");
    assert_eq!(line.poll(u64::MAX), Step::NeedsInput);
}
