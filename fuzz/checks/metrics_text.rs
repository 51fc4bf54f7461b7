//! Any text in the place of a page of metrics is parsed or refused, and what is written is read.

use crate::input::Input;
use crate::text::{Quoted, Sample, parse};

/// With an odd first byte, parses the rest as a page, of possibly another process. With an even one, the rest
/// is the value of a label, which the next two bytes put between boundary values.
///
/// # Panics
/// When what was parsed does not read back as itself, an error could steer a terminal, or a written value is
/// read as another.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.byte().is_multiple_of(2) {
        return value(&mut input);
    }
    let page = String::from_utf8_lossy(input.rest());
    match parse(&page) {
        Ok(samples) => {
            assert!(samples.len() <= page.lines().count());
            assert!(samples.iter().all(|sample| is_name(&sample.name.replace(':', "_"))));
            for (label, value) in samples.iter().flat_map(|sample| &sample.labels) {
                assert!(is_name(label), "{label:?} = {value:?}");
            }
            let written: String = samples.iter().map(written).collect();
            assert!(same(&parse(&written).expect("it was written so"), &samples), "{written}");
        }
        Err(error) => {
            let words = error.to_string();
            assert!(!words.chars().any(char::is_control), "{words:?} steers a terminal");
            assert!(words.chars().count() <= WORDS_CHARS_MAX, "{words}");
        }
    }
}

/// Labels that a peer chose, one beside another.
fn value(input: &mut Input<'_>) {
    let number = NUMBERS[usize::from(input.byte()) % NUMBERS.len()];
    let other = VALUES[usize::from(input.byte()) % VALUES.len()];
    let value = String::from_utf8_lossy(input.rest());
    for pair in [[&value, other], [other, &value]] {
        let labels = ["a", "b"].into_iter().zip(pair);
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let sample = Sample { name: "m".to_owned(), labels, value: number };
        let before = Sample { name: "n".to_owned(), labels: Vec::new(), value: 1.0 };
        let page = [&before, &sample, &before].map(written).concat();
        let read = parse(&page).unwrap_or_else(|error| panic!("{error} of {page:?}"));
        assert!(same(&read, &[before.clone(), sample.clone(), before]), "{page:?}");
        assert_eq!([read[1].label("a"), read[1].label("b")], pair);
    }
}

/// A line of a page, as the command writes it.
fn written(sample: &Sample) -> String {
    let labels = sample.labels.iter().map(|(name, value)| format!("{name}={}", Quoted(value)));
    format!("{}{{{}}} {}\n", sample.name, labels.collect::<Vec<_>>().join(","), sample.value)
}

/// Whether both are equal, where NaN equals itself.
fn same(one: &[Sample], other: &[Sample]) -> bool {
    let is_same = |(one, other): (&Sample, &Sample)| {
        let is_equal = one.value == other.value || one.value.is_nan() && other.value.is_nan();
        is_equal && (&one.name, &one.labels) == (&other.name, &other.labels)
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    let is_first = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_';
    letters.next().is_some_and(is_first) && letters.all(|it| is_first(it) || it.is_ascii_digit())
}

/// What a value may be mistaken for.
pub(crate) const VALUES: [&str; 14] =
    ["", "\"", "\\", "\\\\", "\\\"", "\n", "\\n", "\r", "}", "\"} 1", ",", "=\"", " ", "\u{1f600}"];

pub(crate) const NUMBERS: [f64; 11] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::EPSILON,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The longest error about a page.
const WORDS_CHARS_MAX: usize = 150;
