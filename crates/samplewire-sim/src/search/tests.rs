use super::*;

/// Runs a search and returns what does not hold.
fn run(options: &SearchOptions) -> (SearchResult, String) {
    let mut text = vec![];
    let result = search(options, &mut text).expect("a vector takes all");
    (result, String::from_utf8(text).expect("it is text"))
}

const OPTIONS: SearchOptions =
    SearchOptions { states: 50_000, seed: 0, heals_one_in: 2, mutant: None };

/// `docs/protocol.md#3.7` and `#3.10` are what they are since this failed; 50,000 states are enough
/// to see it.
#[test]
fn everything_holds_in_the_first_states() {
    let (result, text) = run(&OPTIONS);
    assert!(result.failure.is_none(), "{text}");
    assert_eq!(result.states(), OPTIONS.states, "{text}");
}

#[test]
fn each_broken_rule_is_found() {
    for mutant in Mutant::ALL {
        let options =
            SearchOptions { states: 400_000, heals_one_in: 16, mutant: Some(mutant), ..OPTIONS };
        let (result, text) = run(&options);
        let failure = result.failure.unwrap_or_else(|| panic!("{mutant:?} is not found: {text}"));
        assert_eq!(failure.broken.property, mutant.breaks(), "{mutant:?}: {text}");
        assert!(text.contains(&failure.broken.what), "{text}");
    }
}

#[test]
fn one_seed_decides_everything() {
    let counts = |seed| {
        let (result, _) = run(&SearchOptions { states: 4_000, seed, ..OPTIONS });
        let counts = |explored: &Explored| (explored.events, explored.depth, explored.healed);
        result.scenarios.iter().map(counts).collect::<Vec<_>>()
    };
    assert_eq!(counts(3), counts(3));
    assert_ne!(counts(3), counts(4));
}
