//! The state of a source: JSON for the page, and one sentence for people.

use std::time::Instant;

use samplewire::Latencies;
use samplewire::source::StreamInfo;
use samplewire_record::account::{Account, Hop};
use samplewire_record::sigmf::RecordedCause;
use serde_json::{Value, json};

use crate::account::{GapEntry, GapList};
use crate::counters::{CAUSES, Counter, HOPS, RECEIVER, Remedy, SENDER};
use crate::source::{Counted, Role, Source, lock};
use crate::timeline::Column;

/// The constant part: counters, hops and causes with their meaning and remedy.
pub(crate) fn terms() -> Value {
    let hops = Hop::ALL.into_iter().map(|hop| named(hop.as_str(), remedy(HOPS, hop.as_str())));
    let causes = RecordedCause::ALL.into_iter();
    let causes = causes.map(|cause| named(cause.as_str(), remedy(CAUSES, cause.as_str())));
    let bounds_ms = (0..Latencies::BUCKETS).map(|at| Latencies::bound_ns(at) as f64 / 1e6);
    json!({
        "type": "terms",
        "version": env!("CARGO_PKG_VERSION"),
        "counters": counters(RECEIVER),
        "sender_counters": counters(SENDER),
        "hops": hops.collect::<Vec<_>>(),
        "causes": causes.collect::<Vec<_>>(),
        "repair_bounds_ms": bounds_ms.collect::<Vec<_>>(),
    })
}

fn counters<T>(table: &[Counter<T>]) -> Vec<Value> {
    let named = |it: &Counter<T>| {
        json!({
            "name": it.name, "unit": it.unit, "gauge": it.is_gauge,
            "meaning": it.meaning, "action": it.action,
        })
    };
    table.iter().map(named).collect()
}

fn values<T>(table: &[Counter<T>], snapshot: &T) -> Vec<String> {
    table.iter().map(|it| (it.value)(snapshot).to_string()).collect()
}

fn remedy(table: &'static [Remedy], name: &str) -> Option<&'static Remedy> {
    table.iter().find(|remedy| remedy.name == name)
}

fn named(name: &str, remedy: Option<&Remedy>) -> Value {
    let (meaning, action) = remedy.map_or(("", ""), |it| (it.meaning, it.action));
    json!({ "name": name, "meaning": meaning, "action": action })
}

/// The variable part of all sources. Sums are strings: they may exceed what JavaScript's numbers hold.
///
/// `cost` is the CPU time of spectra of all samples, as a share of a core.
pub(crate) fn account(sources: &[Source], started: Instant, cost: Option<f64>) -> Value {
    let sources = sources.iter().map(|it| source(it, started)).collect::<Vec<_>>();
    json!({ "type": "account", "sources": sources, "cost": cost })
}

fn source(source: &Source, started: Instant) -> Value {
    let ended = lock(&source.shared.ended).clone();
    let counters = lock(&source.shared.counters).clone();
    // A copy: the receiving thread may wait for the ledger.
    let (account, positions, updated) = {
        let ledger = lock(&source.shared.ledger);
        (ledger.account().clone(), ledger.timeline().len(), ledger.updated_at())
    };
    let fault = source.about.fault.as_deref();
    let role = source.about.role;
    let state = fault.map_or_else(|| State::of(&account, role, ended.as_deref()), State::of_fault);
    let streams = source.about.streams.iter().zip(&source.shared.lanes);
    let streams: Vec<_> = streams.map(|(info, lane)| stream(info, lane.centre_hz())).collect();
    let hops = Hop::ALL.map(|hop| account.hops().of(hop).to_string());
    let causes = account.gap_samples().map(|samples| samples.to_string());
    let balance = account.balance(account.delivered());
    let (counters, repairs) = match counters.read() {
        Some(Counted::Receiver(snapshot)) => {
            let counts = snapshot.stream.repair_latency.counts().iter();
            let repairs = counts.map(u64::to_string).collect::<Vec<_>>();
            (Some(values(RECEIVER, &snapshot)), Some(repairs))
        }
        Some(Counted::Sender(snapshot)) => (Some(values(SENDER, &snapshot)), None),
        None => (None, None),
    };
    json!({
        "verb": source.about.verb,
        "role": role.as_str(),
        "is_recording": role == Role::Recording,
        "origin": source.about.origin,
        "streams": streams,
        "level": state.level,
        "sentence": state.sentence,
        "remedy": state.remedy,
        "ended": ended,
        "at_s": updated.saturating_duration_since(started).as_secs_f64(),
        "next_index": account.range().end.to_string(),
        "first_index": account.range().start.to_string(),
        "positions": positions.to_string(),
        "indexes": balance.as_ref().ok().map(|it| it.indexes.to_string()),
        "samples": account.delivered().to_string(),
        "missing": account.missing().to_string(),
        "left_out": balance.as_ref().ok().map(|it| it.left_out.to_string()),
        "before_first": balance.as_ref().ok().map(|it| it.before_first.to_string()),
        "gaps": account.gaps().to_string(),
        "hops": hops,
        "causes": causes,
        "counters": counters,
        "repairs": repairs,
        "recordings": source.shared.recordings().iter().map(|it| it.json()).collect::<Vec<_>>(),
    })
}

fn stream(info: &StreamInfo, centre_hz: f64) -> Value {
    json!({
        "name": info.name.to_string(),
        "format": info.format.as_str(),
        "channels": info.channels,
        "rate_hz": info.rate_hz(),
        "centre_hz": centre_hz.is_finite().then_some(centre_hz),
        "is_real": !info.format.is_complex(),
    })
}

/// Returns the gaps of a list, newest first.
pub(crate) fn gaps(list: &GapList) -> Value {
    let gaps: Vec<_> = list.gaps.iter().rev().map(gap).collect();
    json!({ "total": list.total.to_string(), "gaps": gaps })
}

fn gap(entry: &GapEntry) -> Value {
    let gap = &entry.gap;
    json!({
        "number": entry.number.to_string(),
        "first": gap.first.to_string(),
        "len": gap.count().to_string(),
        "cause": gap.cause.position(),
        "hop": hop_position(entry.hop),
        "stream": gap.stream,
        "run": entry.boot,
    })
}

/// The position in [`Hop::ALL`].
pub(crate) fn hop_position(hop: Hop) -> u8 {
    Hop::ALL.into_iter().zip(0..).find(|&(it, _)| it == hop).map_or(u8::MAX, |(_, at)| at)
}

/// Returns the columns that miss or exclude something, and their common range. `positions`: of the
/// whole timeline.
pub(crate) fn timeline(found: &[Column], positions: u64) -> Value {
    let marked = found.iter().filter(|it| it.excluded > 0 || it.missing.iter().any(|&n| n > 0));
    let marked = marked.map(|column| {
        json!({
            "first": column.first.to_string(), "len": column.len.to_string(),
            "missing": column.missing.map(|samples| samples.to_string()),
            "excluded": column.excluded.to_string(),
        })
    });
    json!({
        "positions": positions.to_string(),
        "first": found.first().map_or(0, |column| column.first).to_string(),
        "end": found.last().map_or(0, |column| column.first + column.len).to_string(),
        "columns": marked.collect::<Vec<_>>(),
    })
}

/// One sentence that states whether samples are missing, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct State {
    level: &'static str,
    sentence: String,
    remedy: String,
}

impl State {
    /// A recording that is not proven: its sums are only what its metadata state.
    fn of_fault(fault: &str) -> Self {
        Self {
            level: "unproven",
            sentence: format!("Not proven: {fault}."),
            remedy: "list all faults with `samplewire verify`".to_owned(),
        }
    }

    fn of(account: &Account, role: Role, ended: Option<&str>) -> Self {
        let words = SentenceWords::of(role);
        let (delivered, missing) = (account.delivered(), account.missing());
        let end = ended.map(|words| format!(" Ended: {words}.")).unwrap_or_default();
        let quiet = |level, sentence| Self { level, sentence, remedy: String::new() };
        if account.balance(delivered).is_err() {
            let defect = "The account does not add up: please report this defect.";
            return quiet("defect", format!("{defect}{end}"));
        }
        if delivered == 0 && missing == 0 {
            return quiet("waiting", format!("No sample {} yet.{end}", words.none));
        }
        if missing == 0 {
            let all = grouped(delivered);
            return quiet("whole", format!("Whole: all {all} samples {}.{end}", words.all));
        }
        let share = missing as f64 / (missing as f64 + delivered as f64);
        let most = account.hops().most();
        let action = action_of(account, most);
        Self {
            level: "missing",
            sentence: format!(
                "{}: {} samples ({}), most at hop {}.{end}",
                words.some,
                grouped(missing),
                percent(share),
                most.as_str(),
            ),
            remedy: action.to_owned(),
        }
    }
}

/// What to do about the samples that are missing, most of them at the hop `most`.
fn action_of(account: &Account, most: Hop) -> &'static str {
    let samples = |cause: &RecordedCause| account.gap_samples()[cause.position()];
    // Of equal ones the first, as `max_by_key` returns the last.
    let causes = RecordedCause::ALL.into_iter().rev().filter(|&cause| Hop::of(cause) == most);
    let found = match causes.max_by_key(samples) {
        // The network lost none of these.
        Some(cause @ RecordedCause::Underrun) => remedy(CAUSES, cause.as_str()),
        _ => remedy(HOPS, most.as_str()),
    };
    found.map_or("", |it| it.action)
}

/// What a sentence says of samples that are not there yet, of all, and of some that are missing.
struct SentenceWords {
    none: &'static str,
    all: &'static str,
    some: &'static str,
}

impl SentenceWords {
    const fn of(role: Role) -> Self {
        match role {
            Role::Received | Role::Recording => {
                Self { none: "has arrived", all: "arrived", some: "Missing" }
            }
            Role::Sent => {
                Self { none: "was sent", all: "was sent", some: "Lost before they were sent" }
            }
        }
    }
}

/// `0.012 %`, with three digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1e-6 {
        return "under 0.000001 %".to_owned();
    }
    let digits = (2.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{percent:.digits$} %")
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use samplewire::Cause;
    use samplewire_record::sigmf::RecordedGap;

    use super::*;

    #[test]
    fn every_hop_and_cause_has_a_remedy_in_the_manual() {
        for hop in Hop::ALL {
            assert!(remedy(HOPS, hop.as_str()).is_some(), "{}", hop.as_str());
        }
        for cause in RecordedCause::ALL {
            assert!(remedy(CAUSES, cause.as_str()).is_some(), "{cause}");
        }
    }

    #[test]
    fn bounds_of_repair_latency_are_in_milliseconds() {
        let terms = terms();
        let bounds = terms["repair_bounds_ms"].as_array().expect("a list");
        assert_eq!(
            (bounds.len(), &bounds[0], &bounds[47]),
            (48, &json!(0.005_792), &json!(68_719.476_736))
        );
    }

    #[test]
    fn sentence_states_what_is_missing_and_where() {
        let mut account = Account::new(0, None);
        assert_eq!(
            State::of(&account, Role::Received, None).sentence,
            "No sample has arrived yet."
        );
        account.take_samples(0, 1_234_567);
        let whole = State::of(&account, Role::Received, Some("done"));
        assert_eq!(whole.sentence, "Whole: all 1,234,567 samples arrived. Ended: done.");
        let cause = RecordedCause::Stream(Cause::Deadline);
        let gap = RecordedGap::new(1_234_567, 123, 0, cause);
        account.take_gap(&gap, false);
        let state = State::of(&account, Role::Received, None);
        let sentence = "Missing: 123 samples (0.00996 %), most at hop wire.";
        assert_eq!((state.level, &*state.sentence), ("missing", sentence));
        assert!(state.remedy.contains("docs/statistics.md#the-network-loses-packets"));
        let sent = State::of(&account, Role::Sent, None).sentence;
        assert!(sent.starts_with("Lost before they were sent: 123 samples"), "{sent}");
        let late = RecordedGap { first: gap.end(), cause: RecordedCause::Underrun, ..gap };
        account.take_gap(&late, false);
        let equal = State::of(&account, Role::Received, None).remedy;
        assert_eq!(equal, state.remedy, "the first of two causes");
        let late = RecordedGap { first: late.end(), not_repaired: 77, ..late };
        account.take_gap(&late, false);
        let state = State::of(&account, Role::Received, None);
        assert_eq!(state.remedy, "see docs/statistics.md#underruns");
        // 323 at the wire, of which 200 are underruns; 323 at the host's file, too.
        let full = RecordedGap { cause: RecordedCause::DiskBehind, not_repaired: 323, ..late };
        account.take_gap(&RecordedGap { first: late.end(), ..full }, false);
        let equal = State::of(&account, Role::Received, None).sentence;
        assert!(equal.contains("most at hop wire"), "{equal}");
        // 340 at the device, half of them by each cause.
        let causes = [RecordedCause::Stream(Cause::SourceOverflow), RecordedCause::DeviceRestarted];
        for (cause, first) in causes.into_iter().zip([late.end() + 323, late.end() + 493]) {
            account.take_gap(&RecordedGap { first, not_repaired: 170, cause, ..late }, false);
        }
        let state = State::of(&account, Role::Received, None);
        assert!(state.sentence.contains("most at hop device"), "{}", state.sentence);
        assert!(state.remedy.contains("#the-device-overflows"), "{}", state.remedy);
        account.take_samples(7, 1);
        assert_eq!(State::of(&account, Role::Received, None).level, "defect");
    }

    #[test]
    fn sums_of_the_timeline_are_strings() {
        let mut missing = [0; RecordedCause::ALL.len()];
        missing[1] = (1 << 60) + 1;
        let column = Column { first: 5, len: 1 << 61, missing, excluded: 7 };
        let quiet =
            Column { first: 0, len: 5, missing: [0; RecordedCause::ALL.len()], excluded: 0 };
        let answer = timeline(&[quiet, column], u64::MAX);
        assert_eq!(answer["positions"], "18446744073709551615");
        assert_eq!(
            (&answer["first"], &answer["end"]),
            (&json!("0"), &json!("2305843009213693957"))
        );
        let columns = answer["columns"].as_array().expect("a list");
        assert_eq!(columns.len(), 1, "only columns that miss something");
        assert_eq!(columns[0]["missing"][1], "1152921504606846977");
        assert_eq!((&columns[0]["first"], &columns[0]["excluded"]), (&json!("5"), &json!("7")));
    }

    #[test]
    fn share_has_digits_that_count() {
        let words = [0.5, 0.012_34, 1e-7, 1e-10].map(percent);
        assert_eq!(words, ["50.0 %", "1.23 %", "0.0000100 %", "under 0.000001 %"]);
    }
}
