//! The rows of the table: the worst of several seeds.

use std::io::{self, Write};

use samplewire_proto::Nanos;

use super::{CongestionError, CongestionResult, Scenario, congestion};

/// One row: the worst of several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct CongestionRow {
    /// What was run.
    pub name: String,
    /// The lowest share of the servers' links that was in use.
    pub utilisation: f64,
    /// The lowest of Jain's indexes.
    pub jain: f64,
    /// The highest mean of the queue that frames found, in bytes.
    pub queue_mean_bytes: f64,
    /// The highest of the lengths that 99 % of the frames found at most, in bytes.
    pub queue_p99_bytes: u64,
    /// The longest queue, the start of the senders included, in bytes.
    pub queue_max_bytes: u64,
    /// Frames dropped in all runs.
    pub dropped: u64,
    /// The highest share of marked frames, without the start.
    pub marked: f64,
    /// PAUSE frames of all runs.
    pub pauses: u64,
    /// Departures of all runs.
    pub departures: u64,
    /// Repeats of all runs.
    pub repeats: u64,
    /// The lowest rate of the uninvolved flow, in bits a second.
    pub victim_bps: Option<f64>,
    /// The longest time in which a sender that joined had 80 % of its share, in milliseconds.
    pub join_ms: Option<f64>,
    /// The longest time until 95 % of the link was used after a sender had left, in milliseconds.
    pub leave_ms: Option<f64>,
    /// When the last frame of senders with a bounded number of frames came, in milliseconds.
    pub done_ms: Option<f64>,
}

/// Runs a scenario with each seed from 1 on; the row, and the run of the last seed.
///
/// # Errors
///
/// Parameters that contradict each other.
pub fn congestion_row(
    name: String,
    scenario: &mut Scenario,
    seeds: u64,
) -> Result<(CongestionRow, CongestionResult), CongestionError> {
    scenario.seed = 1;
    let mut last = congestion(scenario)?;
    let victim = scenario.flows.iter().position(|flow| flow.is_victim);
    let mut row = CongestionRow::of(name, &last, victim);
    for seed in 2..=seeds {
        scenario.seed = seed;
        last = congestion(scenario)?;
        row.add(&CongestionRow::of(String::new(), &last, victim));
    }
    Ok((row, last))
}

impl CongestionRow {
    fn of(name: String, run: &CongestionResult, victim: Option<usize>) -> Self {
        Self {
            name,
            utilisation: run.utilisation,
            jain: run.jain,
            queue_mean_bytes: run.queue_mean_bytes,
            queue_p99_bytes: run.queue_p99_bytes,
            queue_max_bytes: run.queue_max_bytes,
            dropped: run.dropped,
            marked: run.marked,
            pauses: run.pauses,
            departures: run.departures,
            repeats: run.repeats,
            victim_bps: victim.map(|flow| run.rates_bps[flow]),
            join_ms: run.join.map(|span| span.0 as f64 / 1e6),
            leave_ms: run.leave.map(|span| span.0 as f64 / 1e6),
            done_ms: (run.last_at > Nanos(0)).then_some(run.last_at.0 as f64 / 1e6),
        }
    }

    fn add(&mut self, other: &Self) {
        let longer = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b));
        self.utilisation = self.utilisation.min(other.utilisation);
        self.jain = self.jain.min(other.jain);
        self.queue_mean_bytes = self.queue_mean_bytes.max(other.queue_mean_bytes);
        self.queue_p99_bytes = self.queue_p99_bytes.max(other.queue_p99_bytes);
        self.queue_max_bytes = self.queue_max_bytes.max(other.queue_max_bytes);
        self.marked = self.marked.max(other.marked);
        self.dropped += other.dropped;
        self.pauses += other.pauses;
        self.departures += other.departures;
        self.repeats += other.repeats;
        self.victim_bps = self.victim_bps.zip(other.victim_bps).map(|(a, b)| a.min(b));
        self.join_ms = longer(self.join_ms, other.join_ms);
        self.leave_ms = longer(self.leave_ms, other.leave_ms);
        self.done_ms = longer(self.done_ms, other.done_ms);
    }

    /// Its figures as text, by name of the column.
    fn cells(&self) -> Vec<(&'static str, String)> {
        let kilobytes = |bytes: f64| format!("{:.1}", bytes / 1e3);
        let optional = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.1}"));
        vec![
            ("case", self.name.clone()),
            ("utilisation", format!("{:.4}", self.utilisation)),
            ("Jain", format!("{:.4}", self.jain)),
            ("queue mean KB", kilobytes(self.queue_mean_bytes)),
            ("p99 KB", kilobytes(self.queue_p99_bytes as f64)),
            ("longest KB", kilobytes(self.queue_max_bytes as f64)),
            ("dropped", self.dropped.to_string()),
            ("marked", format!("{:.5}", self.marked)),
            ("pauses", self.pauses.to_string()),
            ("departures", self.departures.to_string()),
            ("repeats", self.repeats.to_string()),
            ("victim Gb/s", optional(self.victim_bps.map(|bps| bps / 1e9))),
            ("join ms", optional(self.join_ms)),
            ("leave ms", optional(self.leave_ms)),
            ("done ms", optional(self.done_ms)),
        ]
    }
}

/// Writes rows as a table; a column that is empty in all rows is left out.
///
/// # Errors
///
/// Those of `out`.
pub fn write_congestion_table(rows: &[CongestionRow], out: &mut dyn Write) -> io::Result<()> {
    let table: Vec<_> = rows.iter().map(CongestionRow::cells).collect();
    let columns = table.first().map_or(0, Vec::len);
    let is_empty = |column: usize| table.iter().all(|row| row[column].1.is_empty());
    let columns: Vec<usize> = (0..columns).filter(|&column| !is_empty(column)).collect();
    let width = |&column: &usize| {
        let cells = table.iter().map(|row| row[column].1.len());
        cells.chain(table.iter().map(|row| row[column].0.len())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let mut line = |cell: &dyn Fn(usize) -> String| {
        let cells = columns.iter().zip(&widths);
        let cells: Vec<_> =
            cells.map(|(&column, &width)| format!("{:>width$}", cell(column))).collect();
        writeln!(out, "{}", cells.join("  "))
    };
    line(&|column| table[0][column].0.to_owned())?;
    table.iter().try_for_each(|row| line(&|column| row[column].1.clone()))
}

/// Writes rows as CSV.
///
/// # Errors
///
/// Those of `out`.
pub fn write_congestion_csv(rows: &[CongestionRow], out: &mut dyn Write) -> io::Result<()> {
    for (number, row) in rows.iter().enumerate() {
        let cells = row.cells();
        if number == 0 {
            let names: Vec<_> = cells.iter().map(|cell| cell.0.replace(' ', "_")).collect();
            writeln!(out, "{}", names.join(","))?;
        }
        let values: Vec<_> = cells.into_iter().map(|cell| cell.1).collect();
        writeln!(out, "{}", values.join(","))?;
    }
    Ok(())
}
