//! Which counts of missing samples are exact, and which are bounds: [`RULES`], and the same table
//! in `docs/statistics.md#how-exact-that-is`.

use std::collections::BTreeMap;

use samplewire::receiver::ReceiverSnapshot;
use samplewire_proto::Cause;
use samplewire_record::account::Account;
use samplewire_record::account::Hop;
use samplewire_record::sigmf::RecordedCause;

use crate::host::HostHints;

/// How a count relates to the true number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// It is the true number.
    Exact,
    /// The true number is the count or more.
    AtLeast,
    /// The true number is the count or less.
    AtMost,
    /// The true number may be more or less.
    About,
}

impl Bound {
    /// The word for it in JSON.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::About => "about",
        }
    }

    /// What to print before a count; nothing where it is exact.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => "at least ",
            Self::AtMost => "at most ",
            Self::About => "about ",
        }
    }

    /// The bound of a count with two doubts.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, bound) | (bound, Self::Exact) => bound,
            (Self::AtLeast, Self::AtLeast) => Self::AtLeast,
            (Self::AtMost, Self::AtMost) => Self::AtMost,
            _ => Self::About,
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Cause(RecordedCause),
    Hop(Hop),
}

/// Why a count may not be exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The count is always a bound.
    Always,
    /// The kernel counts the drops of a socket, but not which packets they were.
    SocketDropped,
    /// Missing packets count as full ones, and the rest of the gap counts as lost by the source.
    MixedGap,
    /// A stall explains a loss only by its place and its length.
    DiskBehind,
    /// The same for a stall of the program or of the file.
    Stalled,
    /// The count is a time multiplied by the sample rate.
    DeviceRestarted,
    /// It is unknown which stream held the others up.
    SeveralStreams,
    /// The card drops frames, whose length is not counted.
    NicDropped,
    /// The card's queue was shared, or its counters are not known.
    NicShared,
    /// The same, and drops of the kernel without a reason may be the card's.
    NicOrKernel,
    /// The kernel's drops are not counted.
    KernelUncounted,
    /// A dropped packet may be one that a retransmission replaced.
    HostDropRepaired,
}

/// The doubts about the counts of a run.
#[derive(Clone, Debug)]
pub(crate) struct Doubts(Vec<Doubt>);

impl Doubts {
    /// The doubts of a finished run.
    pub(crate) fn of(account: &Account, snapshot: &ReceiverSnapshot, host: &HostHints) -> Self {
        let by_cause = |cause: RecordedCause| account.gap_samples()[cause.position()];
        let by_hop = |hop| account.hops().of(hop);
        let foreign = snapshot.foreign + snapshot.stream.foreign;
        let holding = [
            (Doubt::Always, true),
            (
                Doubt::SocketDropped,
                snapshot.socket_dropped > 0 || foreign > 0 || host.may_hide_drops(),
            ),
            (Doubt::MixedGap, account.has_mixed_gap()),
            (Doubt::DiskBehind, by_cause(RecordedCause::DiskBehind) > 0),
            (Doubt::Stalled, by_hop(Hop::Application) + by_hop(Hop::Disk) > 0),
            (Doubt::DeviceRestarted, by_cause(RecordedCause::DeviceRestarted) > 0),
            (Doubt::NicDropped, by_hop(Hop::Nic) > 0),
            (Doubt::NicShared, by_hop(Hop::Wire) > 0 && host.may_hide_nic_drops()),
            (
                Doubt::NicOrKernel,
                by_hop(Hop::Kernel) > 0
                    && host.has_unspecified_drops()
                    && host.may_hide_nic_drops(),
            ),
            (Doubt::KernelUncounted, by_hop(Hop::Wire) > 0 && host.may_hide_kernel_drops()),
            (
                Doubt::HostDropRepaired,
                by_hop(Hop::Nic) + by_hop(Hop::Kernel) > 0 && snapshot.stream.ranges > 0,
            ),
        ];
        Self(holding.into_iter().filter(|doubt| doubt.1).map(|doubt| doubt.0).collect())
    }

    /// The same for several streams, where it is unknown which one held the others up.
    pub(crate) fn of_several_streams(mut self) -> Self {
        self.0.push(Doubt::SeveralStreams);
        self
    }

    /// The bound on samples missing by this cause.
    pub(crate) fn of_cause(&self, cause: RecordedCause) -> Bound {
        self.bound(Subject::Cause(cause))
    }

    /// The bound on samples lost at this hop.
    pub(crate) fn of_hop(&self, hop: Hop) -> Bound {
        self.bound(Subject::Hop(hop))
    }

    /// All causes in JSON, by the keys of `gap_samples`.
    pub(crate) fn causes(&self) -> Words {
        let entry = |cause: RecordedCause| (cause.key(), self.of_cause(cause).as_str());
        RecordedCause::ALL.into_iter().map(entry).collect()
    }

    /// All hops in JSON, by the keys of `lost_at`.
    pub(crate) fn hops(&self) -> Words {
        let entry = |hop: Hop| (hop.as_str(), self.of_hop(hop).as_str());
        Hop::ALL.into_iter().map(entry).collect()
    }

    fn bound(&self, subject: Subject) -> Bound {
        let rules = RULES.into_iter().filter(|rule| rule.0 == subject && self.0.contains(&rule.2));
        rules.fold(Bound::Exact, |bound, rule| bound.and(rule.1))
    }
}

/// Words of JSON by their keys.
pub(crate) type Words = BTreeMap<&'static str, &'static str>;

/// A row for each doubt of each count. A count is exact where none of its doubts holds.
const RULES: [(Subject, Bound, Doubt); 30] = [
    (Subject::Cause(SOURCE_OVERFLOW), Bound::AtLeast, Doubt::MixedGap),
    (Subject::Cause(SOURCE_OVERFLOW), Bound::AtLeast, Doubt::DiskBehind),
    (Subject::Cause(DEADLINE), Bound::About, Doubt::SocketDropped),
    (Subject::Cause(DEADLINE), Bound::AtMost, Doubt::MixedGap),
    (Subject::Cause(GONE_AT_SENDER), Bound::AtMost, Doubt::MixedGap),
    (Subject::Cause(NEVER_ASKED), Bound::About, Doubt::SocketDropped),
    (Subject::Cause(NEVER_ASKED), Bound::AtMost, Doubt::MixedGap),
    (Subject::Cause(RECEIVER_BEHIND), Bound::About, Doubt::Always),
    (Subject::Cause(RecordedCause::DiskBehind), Bound::AtMost, Doubt::Always),
    (Subject::Cause(RecordedCause::DeviceRestarted), Bound::About, Doubt::Always),
    (Subject::Hop(Hop::Device), Bound::AtLeast, Doubt::MixedGap),
    (Subject::Hop(Hop::Device), Bound::AtLeast, Doubt::Stalled),
    (Subject::Hop(Hop::Device), Bound::About, Doubt::DeviceRestarted),
    (Subject::Hop(Hop::Device), Bound::AtMost, Doubt::SeveralStreams),
    (Subject::Hop(Hop::Wire), Bound::About, Doubt::SocketDropped),
    (Subject::Hop(Hop::Wire), Bound::AtMost, Doubt::MixedGap),
    (Subject::Hop(Hop::Wire), Bound::About, Doubt::NicDropped),
    (Subject::Hop(Hop::Wire), Bound::AtMost, Doubt::NicShared),
    (Subject::Hop(Hop::Wire), Bound::AtMost, Doubt::KernelUncounted),
    (Subject::Hop(Hop::Wire), Bound::AtLeast, Doubt::HostDropRepaired),
    (Subject::Hop(Hop::Nic), Bound::About, Doubt::NicDropped),
    (Subject::Hop(Hop::Nic), Bound::AtLeast, Doubt::NicShared),
    (Subject::Hop(Hop::Nic), Bound::AtMost, Doubt::HostDropRepaired),
    (Subject::Hop(Hop::Kernel), Bound::AtLeast, Doubt::KernelUncounted),
    (Subject::Hop(Hop::Nic), Bound::AtLeast, Doubt::NicOrKernel),
    (Subject::Hop(Hop::Kernel), Bound::AtMost, Doubt::NicOrKernel),
    (Subject::Hop(Hop::Kernel), Bound::AtMost, Doubt::HostDropRepaired),
    (Subject::Hop(Hop::Socket), Bound::About, Doubt::Always),
    (Subject::Hop(Hop::Application), Bound::AtMost, Doubt::Always),
    (Subject::Hop(Hop::Disk), Bound::AtMost, Doubt::Always),
];

const SOURCE_OVERFLOW: RecordedCause = RecordedCause::Stream(Cause::SourceOverflow);
const DEADLINE: RecordedCause = RecordedCause::Stream(Cause::Deadline);
const GONE_AT_SENDER: RecordedCause = RecordedCause::Stream(Cause::GoneAtSender);
const NEVER_ASKED: RecordedCause = RecordedCause::Stream(Cause::NeverAsked);
const RECEIVER_BEHIND: RecordedCause = RecordedCause::Stream(Cause::ReceiverBehind);

#[cfg(test)]
mod tests {
    use crate::host::{KernelCount, NicCount};
    use samplewire_record::sigmf::{HostDrops, RecordedGap};

    use super::*;

    impl Doubt {
        /// The words of the manual.
        const fn words(self) -> &'static str {
            match self {
                Self::Always => "always",
                Self::SocketDropped => "the socket dropped packets, or may have dropped some",
                Self::MixedGap => "a gap has losses of the source and of the path",
                Self::DiskBehind => "some are counted as disk behind",
                Self::Stalled => "some are counted at `application` or `disk`",
                Self::DeviceRestarted => "the device was restarted",
                Self::SeveralStreams => "`rate` receives several streams",
                Self::NicDropped => "some are counted at `nic`",
                Self::NicShared => "other flows used the card's queue, and it dropped frames",
                Self::NicOrKernel => "the same, and the kernel dropped packets without a reason",
                Self::KernelUncounted => "drops of the kernel are not counted",
                Self::HostDropRepaired => "this host dropped packets, and some were repaired",
            }
        }
    }

    #[test]
    fn manual_and_code_have_the_same_bounds() {
        let manual = include_str!("../../../docs/statistics.md");
        let (_, section) = manual.split_once("\n### How exact that is\n").expect("a section");
        let section = section.split("\n#").next().expect("its text");
        let is_row = |line: &&str| line.starts_with('|') && !line.starts_with("| bound");
        let mut rows: Vec<_> = section.lines().filter(is_row).skip(1).collect();
        let mut counts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (subject, bound, doubt) in RULES {
            let key = match subject {
                Subject::Cause(cause) => cause.key(),
                Subject::Hop(hop) => hop.as_str(),
            };
            counts.entry((bound.as_str(), doubt.words())).or_default().push(format!("`{key}`"));
        }
        let expected: Vec<_> = counts
            .iter()
            .map(|((bound, doubt), keys)| format!("| {bound} | {doubt} | {} |", keys.join(", ")))
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, expected);
    }

    fn account(gaps: &[(RecordedCause, u64, u64)]) -> Account {
        let mut account = Account::new(0, None);
        let mut first = 0;
        for &(cause, not_repaired, source_lost) in gaps {
            let gap = RecordedGap::new(first, not_repaired, source_lost, cause);
            account.take_gap(&gap, false);
            first = gap.end();
        }
        account
    }

    /// The bounds that are not exact, by their keys.
    fn inexact(account: &Account, snapshot: &ReceiverSnapshot) -> String {
        let doubts = Doubts::of(account, snapshot, &HostHints::default());
        let always = ["receiver_behind", "disk_behind", "device_restarted"];
        let words = doubts.causes().into_iter().filter(|(key, _)| !always.contains(key));
        let words = words.filter(|(_, bound)| *bound != "exact");
        words.map(|(key, bound)| format!("{key} {bound}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn losses_of_the_wire_alone_are_exact() {
        let account = account(&[(NEVER_ASKED, 352, 0), (SOURCE_OVERFLOW, 0, 100)]);
        assert_eq!(inexact(&account, &ReceiverSnapshot::default()), "");
    }

    #[test]
    fn losses_of_the_wire_beside_drops_of_the_socket_are_about_right() {
        let account = account(&[(NEVER_ASKED, 352, 0), (RECEIVER_BEHIND, 352, 0)]);
        let full = ReceiverSnapshot { socket_dropped: 1, ..ReceiverSnapshot::default() };
        let strangers = ReceiverSnapshot { foreign: 1, ..ReceiverSnapshot::default() };
        for snapshot in [full, strangers] {
            assert_eq!(inexact(&account, &snapshot), "deadline about, never_asked about");
        }
    }

    #[test]
    fn mixed_gap_bounds_both_of_its_causes() {
        let mixed = account(&[(GONE_AT_SENDER, 352, 7)]);
        let bounds = "deadline at most, gone_at_sender at most, never_asked at most, \
                      source_overflow at least";
        assert_eq!(inexact(&mixed, &ReceiverSnapshot::default()), bounds);
        let hops = Doubts::of(&mixed, &ReceiverSnapshot::default(), &HostHints::default()).hops();
        assert_eq!((hops["device"], hops["wire"]), ("at least", "at most"));
    }

    #[test]
    fn drops_of_the_host_bound_the_wire_and_their_own_hop() {
        let mut account = account(&[(NEVER_ASKED, 352, 0)]);
        let of = |account: &Account, repaired: bool, host: &HostHints| {
            let mut snapshot = ReceiverSnapshot::default();
            snapshot.stream.ranges = repaired.into();
            let doubts = Doubts::of(account, &snapshot, host);
            [Hop::Wire, Hop::Nic, Hop::Kernel].map(|hop| doubts.of_hop(hop).as_str())
        };
        let known = HostHints::default();
        assert_eq!(of(&account, false, &known), ["exact"; 3]);
        assert_eq!(of(&account, true, &known), ["exact"; 3], "the host dropped nothing");
        let why = Some("no".to_owned());
        let blind = KernelCount { kernel_uncounted: why, ..KernelCount::default() };
        let blind = HostHints::default().with_counts(NicCount::default(), blind);
        assert_eq!(of(&account, false, &blind), ["at most", "exact", "at least"]);
        for (dropped, wire) in [(Some(0), "exact"), (Some(1), "at most"), (None, "at most")] {
            let nic = NicCount { nic_dropped: dropped, nic_shared: true };
            let shared = HostHints::default().with_counts(nic, KernelCount::default());
            let nic = if wire == "exact" { "exact" } else { "at least" };
            assert_eq!(of(&account, false, &shared), [wire, nic, "exact"]);
        }
        account.note_host_drops(HostDrops { nic: 0, kernel: 100 });
        assert_eq!(of(&account, false, &known), ["exact"; 3]);
        assert_eq!(of(&account, true, &known), ["at least", "at most", "at most"]);
        account.note_host_drops(HostDrops { nic: 0, kernel: 352 });
        assert_eq!(of(&account, false, &blind), ["exact"; 3], "nothing is left on the wire");
        let unspecified = [("NOT_SPECIFIED".to_owned(), 1)].into_iter().collect();
        let unspecified =
            KernelCount { kernel_dropped: Some(unspecified), ..KernelCount::default() };
        let nic = NicCount { nic_dropped: Some(1), nic_shared: true };
        let either = HostHints::default().with_counts(nic, unspecified);
        assert_eq!(of(&account, false, &either), ["exact", "at least", "at most"]);
        account.note_host_drops(HostDrops { nic: 52, kernel: 0 });
        assert_eq!(of(&account, false, &known), ["about", "about", "exact"]);
    }

    #[test]
    fn what_the_disk_may_have_cost_is_a_bound_for_the_source_too() {
        let account = account(&[(RecordedCause::DiskBehind, 0, 9), (SOURCE_OVERFLOW, 0, 9)]);
        assert_eq!(inexact(&account, &ReceiverSnapshot::default()), "source_overflow at least");
        let doubts = Doubts::of(&account, &ReceiverSnapshot::default(), &HostHints::default());
        assert_eq!(doubts.of_hop(Hop::Device), Bound::AtLeast);
        assert_eq!(doubts.of_several_streams().of_hop(Hop::Device), Bound::About);
    }
}
