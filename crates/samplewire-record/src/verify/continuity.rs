//! Follows the captures and gaps of a recording: each index must occur once.

use samplewire_proto::SampleIndex;

use super::files::Files;
use super::{Boot, Fault, Report};
use crate::existing::Existing;
use crate::sigmf::{Mark, MarkKind};

/// The position in the recording. It continues from one part of a series to the next.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The next index; `None` at first, and after the device restarted.
    expected: Option<SampleIndex>,
    /// The index after the last accounted one.
    end: SampleIndex,
    /// The device's run.
    boot_id: Option<u64>,
    /// Whether a gap states the end of that run.
    has_restarted: bool,
    /// The first index of that run.
    boot_first: Option<SampleIndex>,
}

impl Continuity {
    /// Follows a recording, which must continue where the previous one ended.
    pub(super) fn take(&mut self, files: &Files, report: &mut Report) {
        let Some(existing) = &files.existing else { return };
        let mut walk = Walk { at: self, existing, report, first: None };
        walk.run();
    }

    /// Adds the last run of the device to the report.
    pub(super) fn finish(&mut self, report: &mut Report) {
        if let Some(first) = self.boot_first.take() {
            report.boots.push(Boot { boot_id: self.boot_id, indexes: first..self.end });
        }
    }
}

/// The position within one recording.
struct Walk<'a> {
    at: &'a mut Continuity,
    existing: &'a Existing,
    report: &'a mut Report,
    /// The first index of this recording.
    first: Option<SampleIndex>,
}

impl Walk<'_> {
    fn run(&mut self) {
        let existing = self.existing;
        let captures = &existing.metadata.captures;
        let may_lead = !existing.metadata.is_finished();
        let end = existing.samples;
        let mut marks = existing.marks.iter().enumerate().peekable();
        let mut placed = 0;
        for (number, capture) in captures.iter().enumerate() {
            let sample_start = capture.sample_start;
            // A capture without samples is ignored, unless its samples are missing from the data.
            let next = captures.get(number + 1).map_or(end, |next| next.sample_start);
            if sample_start >= end {
                if !may_lead && sample_start > end {
                    self.beyond(format!("captures[{number}]"), sample_start);
                }
                continue;
            }
            while let Some((at, mark)) =
                marks.next_if(|(_, mark)| mark.sample_start <= sample_start)
            {
                self.mark(at, mark, sample_start);
            }
            if number == 0 && sample_start > 0 {
                let path = existing.path.clone();
                self.report.push(Fault::Unplaced { path, capture: 0, count: sample_start });
            }
            self.capture(number, next.min(end) - sample_start);
            placed = next.min(end);
        }
        if placed < end && captures.is_empty() {
            let path = existing.path.clone();
            self.report.push(Fault::Unplaced { path, capture: 0, count: end });
        }
        for (at, mark) in marks {
            match mark.sample_start {
                start if start <= end => self.mark(at, mark, end),
                _ if may_lead => {}
                start => self.beyond(format!("annotations[{at}]"), start),
            }
        }
        self.check_claims();
    }

    fn beyond(&mut self, entry: String, sample_start: u64) {
        let (path, end) = (self.existing.path.clone(), self.existing.samples);
        self.report.push(Fault::Beyond { path, entry, sample_start, end });
    }

    fn capture(&mut self, number: usize, samples: u64) {
        let capture = &self.existing.metadata.captures[number];
        let Some(index) = capture.global_index else {
            let path = self.existing.path.clone();
            self.report.push(Fault::NoIndex { path, capture: number });
            self.at.expected = None;
            return;
        };
        self.enter_boot(number, capture.boot_id);
        self.step(format!("captures[{number}]"), index, index.saturating_add(samples));
    }

    /// Compares the device's run of a capture with the previous one.
    fn enter_boot(&mut self, number: usize, boot_id: Option<u64>) {
        if std::mem::take(&mut self.at.has_restarted) {
            self.at.boot_id = None;
        }
        if let (Some(before), Some(found)) = (self.at.boot_id, boot_id)
            && before != found
        {
            let path = self.existing.path.clone();
            self.report.push(Fault::Restart { path, capture: number, before, found });
            self.at.finish(self.report);
            self.at.expected = None;
        }
        self.at.boot_id = boot_id.or(self.at.boot_id);
    }

    fn mark(&mut self, number: usize, mark: &Mark, boundary: u64) {
        if mark.sample_start != boundary {
            let (path, sample_start) = (self.existing.path.clone(), mark.sample_start);
            self.report.push(Fault::Within { path, annotation: number, sample_start });
        }
        if std::mem::take(&mut self.at.has_restarted) {
            self.at.boot_id = mark.boot_id;
        }
        self.step(format!("annotations[{number}]"), mark.first(), mark.end());
        match &mark.kind {
            MarkKind::Gap(gap) => {
                self.report.gaps += 1;
                for (cause, samples) in gap.by_cause() {
                    let sum = &mut self.report.gap_samples[cause.position()];
                    *sum = sum.saturating_add(samples);
                }
                if gap.is_estimated() {
                    self.report.estimated_gaps += 1;
                    self.restart();
                }
            }
            MarkKind::Jump { count, .. } => {
                self.report.jumped = self.report.jumped.saturating_add(*count);
            }
        }
    }

    /// Ends the device's run: the next index is not comparable with the last.
    fn restart(&mut self) {
        self.at.finish(self.report);
        self.at.expected = None;
        self.at.has_restarted = true;
    }

    /// Accounts for `[first, end)`.
    fn step(&mut self, entry: String, first: SampleIndex, end: SampleIndex) {
        let path = || self.existing.path.clone();
        match self.at.expected {
            Some(expected) if first > expected => {
                self.report.push(Fault::Unnamed { path: path(), entry, expected, found: first });
            }
            Some(expected) if first < expected => {
                self.report.push(Fault::Twice { path: path(), entry, expected, found: first });
            }
            _ => {}
        }
        self.first.get_or_insert(first);
        self.at.boot_first.get_or_insert(first);
        self.at.expected = Some(end);
        self.at.end = end;
    }

    /// Compares the first and the last index with the recorder's metadata.
    fn check_claims(&mut self) {
        let path = || self.existing.path.clone();
        let claims = &self.existing.metadata.claims;
        if let (Some(found), Some(expected)) = (self.first, claims.first_index)
            && found != expected
        {
            self.report.push(Fault::First { path: path(), found, expected });
        }
        if let (Some(_), Some(expected)) = (self.first, claims.end_index)
            && self.at.end != expected
        {
            self.report.push(Fault::End { path: path(), found: self.at.end, expected });
        }
    }
}
