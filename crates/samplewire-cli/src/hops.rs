//! Where samples were lost, in words.

use samplewire_record::account::{Account, Hop, Hops};

use crate::account::Counts;
use crate::certainty::Doubts;
use crate::console::Console;
use crate::figures::grouped;
use crate::host::HostHints;

/// `socket about 11,072, wire 1,408`, the largest first; empty when nothing is missing.
pub(crate) fn words(hops: &Hops, doubts: &Doubts) -> String {
    let mut hops = Hop::ALL.map(|hop| (hops.of(hop), hop));
    hops.sort_by_key(|&(samples, _)| std::cmp::Reverse(samples));
    let words = hops.into_iter().filter(|hop| hop.0 > 0).map(|(samples, hop)| {
        format!("{} {}{}", hop.as_str(), doubts.of_hop(hop).prefix(), grouped(samples))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Samples missing, by hop, in JSON.
pub(crate) fn counts(hops: &Hops) -> Counts {
    Hop::ALL.into_iter().map(|hop| (hop.as_str(), hops.of(hop))).collect()
}

/// Prints counts of the host that may explain losses on the wire, if there are such losses.
pub(crate) fn print_hints(console: &mut Console, account: &Account, host: &HostHints) {
    if let Some(words) = host.card_words() {
        console.line(format_args!("  card       {words}"));
    }
    if let Some(words) = host.kernel_words() {
        console.line(format_args!("  kernel     {words} dropped before the socket"));
    }
    if account.hops().of(Hop::Wire) == 0 {
        return;
    }
    for words in host.doubts_words() {
        console.line(format_args!("  hint       {words}"));
    }
    if let Some(words) = host.words() {
        console.line(format_args!("  hint       this host, of all programs: {words}"));
    }
}

#[cfg(test)]
mod tests {
    use samplewire::receiver::ReceiverSnapshot;
    use samplewire_proto::Cause;
    use samplewire_record::sigmf::{RecordedCause, RecordedGap};

    use super::*;

    #[test]
    fn what_the_source_lost_is_the_programs_while_that_held_all() {
        let cause = RecordedCause::Stream(Cause::ReceiverBehind);
        let gap = RecordedGap::new(0, 11_072, 8, cause);
        let words = [false, true].map(|is_held_up| {
            let mut account = Account::new(0, None);
            account.take_gap(&gap, is_held_up);
            let doubts = Doubts::of(&account, &ReceiverSnapshot::default(), &HostHints::default());
            [account.hops(), Hops::NONE].map(|hops| super::words(&hops, &doubts))
        });
        let [device, application] = ["device at least", "application at most"]
            .map(|word| format!("socket about 11,072, {word} 8"));
        assert_eq!(words, [[device, String::new()], [application, String::new()]]);
    }
}
