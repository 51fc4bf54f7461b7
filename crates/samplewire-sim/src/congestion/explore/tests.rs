use std::fs;

use samplewire_proto::Rng;
use samplewire_proto::rate::WireRate;

use super::*;

const OPTIONS: ExploreOptions =
    ExploreOptions { points: 5, seed: 1, line_bps: 1_000_000_000, wire_bytes: 4_134, threads: 1 };

fn points_of(path: &std::path::Path, points: usize) -> Vec<Point> {
    let options = ExploreOptions { points, ..OPTIONS };
    let (mut file, done) = open_points(path, &options).expect("it is ours");
    explore(&options, done, &mut file, &mut io::sink()).expect("the file takes lines")
}

#[test]
fn stopped_sweep_goes_on_behind_a_torn_line_and_gives_the_same() {
    let folder = std::env::temp_dir().join(format!("samplewire-explore-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("there is room");
    let (whole, torn) = (folder.join("whole.csv"), folder.join("torn.csv"));
    let all = points_of(&whole, 5);
    assert_eq!(all.iter().map(|point| point.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(all[1].preset(), Some(Preset::Paper));
    let text = fs::read_to_string(&whole).expect("it was written");
    assert_eq!(text.lines().count(), 2 + all.len());
    // Torn within the fourth point, within the head, and within the first line.
    let third_end = text.match_indices('\n').nth(4).expect("seven lines").0 + 1;
    for len in [third_end + 11, 100, 7, 0] {
        fs::write(&torn, &text[..len]).expect("there is room");
        // Rounding to the file's digits apart, nothing depends on the stop.
        points_of(&torn, 5);
        assert_eq!(fs::read_to_string(&torn).expect("it was written"), text, "{len}");
    }
    fs::write(&torn, text.replace("seed 1", "seed 2")).expect("there is room");
    let error = open_points(&torn, &OPTIONS).map(|_| ()).expect_err("another sweep");
    assert!(error.to_string().contains("seed 2"), "{error}");
    fs::write(&torn, text.replacen("0,samplewire", "0,simplewire", 1)).expect("there is room");
    let error = open_points(&torn, &OPTIONS).map(|_| ()).expect_err("no point");
    assert!(error.to_string().starts_with("line 3 is no point"), "{error}");
    let mut svg = vec![];
    write_explore_svg(&all, &mut svg).expect("a vector takes all");
    let svg = String::from_utf8(svg).expect("a drawing is text");
    assert!(Preset::ALL.iter().all(|preset| svg.contains(preset.name())));
    fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn front_has_the_points_that_none_beats() {
    let point = |number, utilisation, queue_kb, dropped| Point {
        number,
        parameters: Parameters::of(number, 1, 1_000_000_000),
        utilisation,
        jain: 1.0,
        queue_kb,
        join_ms: 1.0,
        leave_ms: 1.0,
        dropped,
    };
    let points = [
        point(0, 0.9, 10.0, 0),
        point(1, 0.9, 11.0, 0),
        point(2, 0.95, 20.0, 0),
        point(3, 1.0, 1.0, 7),
    ];
    assert_eq!(pareto_front(&points), [0, 2]);
}

#[test]
fn front_is_that_of_a_comparison_of_every_pair() {
    let mut rng = Rng::new(1);
    let mut few = || rng.below(20) as f64;
    let points: Vec<Point> = (0..400)
        .map(|number| Point {
            number,
            parameters: Parameters::of(number, 1, 1_000_000_000),
            utilisation: few(),
            jain: few(),
            queue_kb: few(),
            join_ms: few(),
            leave_ms: few(),
            dropped: few() as u64 / 15,
        })
        .collect();
    let costs = |it: &Point| [-it.utilisation, -it.jain, it.queue_kb, it.join_ms, it.leave_ms];
    let beats = |a: &Point, b: &Point| {
        let (a, b) = (costs(a), costs(b));
        a != b && a.iter().zip(b).all(|(a, b)| *a <= b)
    };
    let sound: Vec<&Point> = points.iter().filter(|point| point.dropped == 0).collect();
    let is_best = |point: &&&Point| !sound.iter().any(|other| beats(other, point));
    let wanted: Vec<usize> = sound.iter().filter(is_best).map(|point| point.number).collect();
    assert!(wanted.len() > 1 && wanted.len() < sound.len() / 2, "{wanted:?}");
    assert_eq!(pareto_front(&points), wanted);
}

#[test]
fn rate_of_zero_has_its_place_in_a_map() {
    let points: Vec<Point> = (0..40)
        .map(|number| Point {
            number,
            parameters: Parameters::of(number, 1, 100_000_000),
            utilisation: 0.9,
            jain: 1.0,
            queue_kb: number as f64,
            join_ms: 1.0,
            leave_ms: 1.0,
            dropped: 0,
        })
        .collect();
    assert_eq!(points[2].parameters.params.additive, WireRate::from_raw(0), "that of HPCC");
    let mut svg = vec![];
    write_explore_svg(&points, &mut svg).expect("a vector takes all");
    let svg = String::from_utf8(svg).expect("a drawing is text");
    assert!(svg.contains("rai_mbps 0.122 to") && !svg.contains("NaN"), "{svg}");
}

#[test]
fn slowest_line_has_a_sweep() {
    let options = ExploreOptions { points: 4, line_bps: 1_000_000, ..OPTIONS };
    for number in 0..4 {
        let point = run(&options, number).expect("drawn within the ranges");
        assert!(point.utilisation > 0.0, "{point:?}");
    }
}

#[test]
fn drawn_parameters_are_valid_and_differ() {
    for number in 0..2_000 {
        let parameters = Parameters::of(number, 7, 10_000_000_000);
        assert_eq!(parameters.params.check(), Ok(()), "point {number}");
        assert!(parameters.marking.min_bytes <= parameters.marking.max_bytes, "point {number}");
    }
    assert_ne!(Parameters::of(3, 7, 1), Parameters::of(4, 7, 1));
}
