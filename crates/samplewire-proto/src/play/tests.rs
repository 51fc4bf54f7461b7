//! Small orders of play, step by step.

use super::*;

/// What was done, as words.
fn run(line: &mut Line<[Entry; 8]>, due_end: SampleIndex) -> Vec<String> {
    let mut done = vec![];
    while let Some(step) = line.poll(due_end, UnderrunCause::SenderBehind) {
        done.push(match step {
            Step::Play(due) => format!("play {due:?}"),
            Step::Release => continue,
            Step::Zeros(due) => format!("zeros {due:?}"),
            Step::Report(underrun) => {
                format!("underrun {}+{} {}", underrun.first, underrun.samples, underrun.cause)
            }
        });
    }
    done
}

/// Packets of ten samples.
fn line() -> Line<[Entry; 8]> {
    Line::new([Entry::default(); 8], 10)
}

fn piece(first: SampleIndex, end: SampleIndex, in_time: SampleIndex) -> Piece {
    Piece { first, end, in_time, is_start: false }
}

fn start(first: SampleIndex, end: SampleIndex, in_time: SampleIndex) -> Piece {
    Piece { is_start: true, ..piece(first, end, in_time) }
}

#[test]
fn samples_are_played_at_their_time_and_not_before() {
    let mut line = line();
    line.push(start(100, 120, 50)).unwrap();
    assert_eq!(run(&mut line, 100), Vec::<String>::new());
    assert_eq!(run(&mut line, 105), ["play 100..105"]);
    line.push(piece(120, 130, 105)).unwrap();
    line.end_burst(130);
    assert_eq!(run(&mut line, 125), ["play 105..120", "play 120..125"]);
    assert_eq!(run(&mut line, 1_000), ["play 125..130"]);
    assert_eq!(run(&mut line, 2_000), Vec::<String>::new(), "the burst is over");
    let counts = PlayCounts { played: 30, bursts: 1, ..PlayCounts::default() };
    assert_eq!(*line.counts(), counts);
}

#[test]
fn underrun_is_zeros_from_the_first_that_is_missing_to_the_first_in_time() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    assert_eq!(run(&mut line, 15), ["play 0..10", "zeros 10..15"]);
    assert_eq!(run(&mut line, 20), ["zeros 15..20"]);
    // Came when 23 samples were due.
    line.push(piece(10, 40, 23)).unwrap();
    let done = run(&mut line, 25);
    assert_eq!(done, ["zeros 20..23", "underrun 10+13 sender behind", "play 23..25"]);
    let counts = line.counts();
    assert_eq!((counts.underruns, counts.underrun_samples), (1, 13));
    assert_eq!((counts.late_samples, counts.late_packets, counts.played), (13, 2, 12));
}

#[test]
fn samples_that_are_late_as_a_whole_are_dropped_and_the_grid_stays() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    line.push(piece(10, 20, 35)).unwrap();
    line.push(piece(20, 30, 35)).unwrap();
    line.push(piece(30, 50, 35)).unwrap();
    let done = run(&mut line, 40);
    let expected = ["play 0..10", "zeros 10..20", "zeros 20..30", "zeros 30..35"];
    assert_eq!(done[..4], expected);
    assert_eq!(done[4..], ["underrun 10+25 sender behind", "play 35..40"]);
    assert_eq!(line.counts().late_packets, 3);
}

#[test]
fn burst_that_comes_late_misses_its_first_samples() {
    let mut line = line();
    line.push(start(100, 130, 112)).unwrap();
    let done = run(&mut line, 120);
    assert_eq!(done, ["zeros 100..112", "underrun 100+12 burst late", "play 112..120"]);
}

#[test]
fn nothing_is_lacking_between_bursts() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    line.end_burst(10);
    assert_eq!(run(&mut line, 500), ["play 0..10"]);
    line.push(start(1_000, 1_005, 500)).unwrap();
    line.end_burst(1_005);
    assert_eq!(run(&mut line, 2_000), ["play 1000..1005"]);
    assert_eq!(line.counts().bursts, 2);
    assert!(line.is_empty());
}

#[test]
fn gap_is_an_underrun_of_its_cause_when_its_time_has_come() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    line.push_gap(10, 20, Cause::Deadline).unwrap();
    line.push(piece(20, 30, 5)).unwrap();
    assert_eq!(run(&mut line, 12), ["play 0..10", "zeros 10..12"]);
    let done = run(&mut line, 25);
    assert_eq!(done, ["zeros 12..20", "underrun 10+10 deadline", "play 20..25"]);
}

#[test]
fn end_of_the_stream_ends_an_underrun() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    assert_eq!(run(&mut line, 12), ["play 0..10", "zeros 10..12"]);
    line.end_stream();
    assert_eq!(run(&mut line, 50), ["underrun 10+2 sender behind"]);
    assert!(line.is_empty());
}

#[test]
fn stream_that_ends_misses_nothing_behind_its_last_sample() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    line.end_stream();
    assert_eq!(run(&mut line, 50), ["play 0..10"]);
    assert_eq!(line.counts().underruns, 0);
}

#[test]
fn without_a_clock_all_is_due_and_nothing_runs_out() {
    let mut line = line();
    line.push(start(7, 10, 0)).unwrap();
    assert_eq!(run(&mut line, 10), ["play 7..10"]);
}

#[test]
fn burst_whose_last_samples_were_given_up_misses_nothing_behind_them() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    line.push_gap(10, 20, Cause::Deadline).unwrap();
    line.end_burst(20);
    assert_eq!(run(&mut line, 50), ["play 0..10", "zeros 10..20", "underrun 10+10 deadline"]);
    assert_eq!(run(&mut line, 90), Vec::<String>::new());
}

#[test]
fn gap_before_the_first_sample_is_part_of_what_was_to_be_played() {
    let mut line = line();
    line.push_gap(5, 10, Cause::GoneAtSender).unwrap();
    line.push(piece(10, 20, 0)).unwrap();
    let done = run(&mut line, 20);
    assert_eq!(done, ["zeros 5..10", "underrun 5+5 gone at sender", "play 10..20"]);
    assert_eq!(line.indexes(), Some(5..20));
}

#[test]
fn samples_that_come_between_two_looks_are_not_dealt_with_before_their_time() {
    let mut line = line();
    line.push(start(0, 10, 0)).unwrap();
    assert_eq!(run(&mut line, 10), ["play 0..10"]);
    // Came when 25 samples were due, and is looked at for what was due before.
    line.push(piece(10, 40, 25)).unwrap();
    assert_eq!(run(&mut line, 18), ["zeros 10..18"]);
    let done = run(&mut line, 30);
    assert_eq!(done, ["zeros 18..25", "underrun 10+15 sender behind", "play 25..30"]);
    assert_eq!((line.counts().late_packets, line.counts().late_samples), (2, 15));
}

#[test]
fn full_line_takes_nothing_more_but_a_gap_that_goes_on() {
    let mut line = line();
    for place in 0..4 {
        line.push(piece(place * 10, place * 10 + 5, 0)).unwrap();
        line.push_gap(place * 10 + 5, place * 10 + 8, Cause::Deadline).unwrap();
        line.push_gap(place * 10 + 8, place * 10 + 10, Cause::GoneAtSender).unwrap();
    }
    assert_eq!((line.room(), line.push(piece(40, 50, 0))), (0, Err(LineFull)));
    line.push_gap(40, 50, Cause::Deadline).unwrap();
    assert_eq!(line.end(), Some(50));
    let mut released = 0;
    while let Some(step) = line.poll(1_000, UnderrunCause::SenderBehind) {
        released += u32::from(step == Step::Release);
        if line.is_empty() {
            line.end_stream();
        }
    }
    assert_eq!((released, line.counts().played), (4, 20));
}
