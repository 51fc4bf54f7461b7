//! What a run has counted, and how runs add up.

use std::ops::AddAssign;

/// Counts over one run or many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// DATA that departed, repeats included.
    pub data_packets: u64,
    /// DATA that departed again.
    pub repeats: u64,
    /// DATA that came though it was there already, or late.
    pub unneeded: u64,
    /// Packets that senders posted as RDMA WRITEs.
    pub writes: u64,
    /// Streams accepted over RDMA.
    pub openings_over_rdma: u64,
    /// Frames that stations sent: requests, acknowledgements, ARP.
    pub frames: u64,
    /// RDMA requests that left, repeats included.
    pub requests: u64,
    /// RDMA requests that left again.
    pub requests_repeated: u64,
    /// Queue pairs that gave up.
    pub queue_pairs_failed: u64,
    /// Cuts of the rate that congestion control made.
    pub cuts: u64,
    /// Ranges that senders had no room for.
    pub requests_refused: u64,
    /// Packets that the links lost, for whatever reason.
    pub losses: u64,
    /// Packets that sockets had no room for.
    pub socket_drops: u64,
    /// Packets that the links corrupted.
    pub corruptions: u64,
    /// Packets that the links doubled.
    pub duplicates: u64,
    /// Packets that the links delayed past others.
    pub reorderings: u64,
    /// Openings that were begun.
    pub openings_tried: u64,
    /// Streams accepted.
    pub openings: u64,
    /// Ends stated by senders and receivers.
    pub closings: u64,
    /// Processes restarted.
    pub restarts: u64,
    /// Receivers whose account crossed the wrap of seq.
    pub wraps: u64,
    /// Indexes delivered with the right bytes.
    pub indexes_delivered: u64,
    /// Indexes in gaps with a true cause.
    pub indexes_in_gaps: u64,
    /// Gaps.
    pub gaps: u64,
    /// Indexes that sources lost, as they counted them themselves.
    pub lost_at_source: u64,
    /// Indexes that players played at their time.
    pub indexes_played: u64,
    /// Indexes that were delivered after their time to play.
    pub indexes_late: u64,
    /// Indexes that players played as zeros.
    pub zeros_played: u64,
    /// Times that a player ran dry.
    pub underruns: u64,
    /// Packets of an attacker that changed nothing: forged, damaged, of former streams, or from
    /// wrong addresses.
    pub hostile_ignored: u64,
    /// Packets that an attacker sent again.
    pub hostile_replayed: u64,
    /// Packets with a right tag, seq and CRC that the rules of positions refused.
    pub hostile_refused: u64,
    /// Packets with a right tag, seq and CRC and any contents.
    pub hostile_on_path: u64,
    /// Of all these: ACCEPTs that carried the tag of an opening, and OPENs under another's cookie.
    pub hostile_accepts: u64,
    /// See [`Tally::hostile_accepts`].
    pub hostile_opens: u64,
    /// Congestion notifications (CNP) that an attacker forged, right ones among them.
    pub hostile_cnps: u64,
    /// Virtual nanoseconds.
    pub virtual_ns: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        for (sum, (_, count)) in self.fields_mut().into_iter().zip(other.named()) {
            *sum += count;
        }
    }
}

impl Tally {
    /// Every count with its name.
    pub const fn named(&self) -> [(&'static str, u64); FIELDS] {
        [
            ("data packets", self.data_packets),
            ("repeats", self.repeats),
            ("unneeded", self.unneeded),
            ("RDMA writes", self.writes),
            ("openings over RDMA", self.openings_over_rdma),
            ("frames", self.frames),
            ("RDMA requests", self.requests),
            ("RDMA requests repeated", self.requests_repeated),
            ("queue pairs failed", self.queue_pairs_failed),
            ("cuts", self.cuts),
            ("requests refused", self.requests_refused),
            ("losses", self.losses),
            ("socket drops", self.socket_drops),
            ("corruptions", self.corruptions),
            ("duplicates", self.duplicates),
            ("reorderings", self.reorderings),
            ("openings tried", self.openings_tried),
            ("openings", self.openings),
            ("closings", self.closings),
            ("restarts", self.restarts),
            ("seq wraps", self.wraps),
            ("indexes delivered", self.indexes_delivered),
            ("indexes in gaps", self.indexes_in_gaps),
            ("gaps", self.gaps),
            ("indexes lost at the source", self.lost_at_source),
            ("indexes played", self.indexes_played),
            ("indexes late to play", self.indexes_late),
            ("zeros played", self.zeros_played),
            ("underruns", self.underruns),
            ("hostile ignored", self.hostile_ignored),
            ("hostile replayed", self.hostile_replayed),
            ("hostile refused", self.hostile_refused),
            ("hostile on the path", self.hostile_on_path),
            ("hostile accepts", self.hostile_accepts),
            ("hostile opens", self.hostile_opens),
            ("hostile CNPs", self.hostile_cnps),
            ("virtual ns", self.virtual_ns),
        ]
    }

    /// Packets of an attacker, of every kind.
    pub const fn hostile(&self) -> u64 {
        let off_path = self.hostile_ignored + self.hostile_replayed;
        off_path + self.hostile_refused + self.hostile_on_path + self.hostile_cnps
    }

    const fn fields_mut(&mut self) -> [&mut u64; FIELDS] {
        [
            &mut self.data_packets,
            &mut self.repeats,
            &mut self.unneeded,
            &mut self.writes,
            &mut self.openings_over_rdma,
            &mut self.frames,
            &mut self.requests,
            &mut self.requests_repeated,
            &mut self.queue_pairs_failed,
            &mut self.cuts,
            &mut self.requests_refused,
            &mut self.losses,
            &mut self.socket_drops,
            &mut self.corruptions,
            &mut self.duplicates,
            &mut self.reorderings,
            &mut self.openings_tried,
            &mut self.openings,
            &mut self.closings,
            &mut self.restarts,
            &mut self.wraps,
            &mut self.indexes_delivered,
            &mut self.indexes_in_gaps,
            &mut self.gaps,
            &mut self.lost_at_source,
            &mut self.indexes_played,
            &mut self.indexes_late,
            &mut self.zeros_played,
            &mut self.underruns,
            &mut self.hostile_ignored,
            &mut self.hostile_replayed,
            &mut self.hostile_refused,
            &mut self.hostile_on_path,
            &mut self.hostile_accepts,
            &mut self.hostile_opens,
            &mut self.hostile_cnps,
            &mut self.virtual_ns,
        ]
    }
}

const FIELDS: usize = 37;
