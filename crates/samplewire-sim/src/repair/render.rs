//! The figures as a table and as CSV.

use std::io::{self, Write};

use super::RepairRow;

/// Writes a table for people.
///
/// # Errors
/// Those of `out`.
pub fn write_table(rows: &[RepairRow], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>8} {:>8} {:>8} {:>9} {:>6} {:>6} {:>6} {:>6} {:>8} {:>10} {:>9}",
        "rtt us",
        "window",
        "loss",
        "repairs",
        "p50",
        "p98",
        "p99.9",
        "max",
        "goodput",
        "unneeded",
        "go-back-N"
    )?;
    for row in rows {
        let [p50, p98, p999, max] = row.latency_permille.map(thousandths);
        writeln!(
            out,
            "{:>8} {:>7}% {:>8} {:>9} {:>6} {:>6} {:>6} {:>6} {:>8} {:>10} {:>9}",
            row.rtt.0 / 1_000,
            row.window_percent,
            millionths(row.loss_ppm),
            row.repairs,
            p50,
            p98,
            p999,
            max,
            thousandths(row.goodput_permille),
            millionths(row.unneeded_ppm),
            thousandths(row.go_back_n_permille),
        )?;
    }
    Ok(())
}

/// Writes a line of comma-separated values for each row, names first.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(rows: &[RepairRow], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "rtt_us,window_percent,loss,repairs,p50_rtt,p98_rtt,p999_rtt,max_rtt,goodput,unneeded,\
         go_back_n"
    )?;
    for row in rows {
        let [p50, p98, p999, max] = row.latency_permille.map(thousandths);
        writeln!(
            out,
            "{},{},{},{},{p50},{p98},{p999},{max},{},{},{}",
            row.rtt.0 / 1_000,
            row.window_percent,
            millionths(row.loss_ppm),
            row.repairs,
            thousandths(row.goodput_permille),
            millionths(row.unneeded_ppm),
            thousandths(row.go_back_n_permille),
        )?;
    }
    Ok(())
}

fn thousandths(permille: u64) -> String {
    format!("{}.{:03}", permille / 1_000, permille % 1_000)
}

fn millionths(ppm: u64) -> String {
    format!("{}.{:06}", ppm / 1_000_000, ppm % 1_000_000)
}
