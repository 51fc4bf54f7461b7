//! What became of every index of a stream, in a table of fixed size.
//!
//! The table has [`CELLS`] cells of equal length. When the stream outgrows them, each two neighbours
//! become one, and a cell covers twice as many indexes. The counts are exact at every length.

use samplewire_record::sigmf::RecordedCause;

/// Counts missing and excluded indexes along a stream. Positions begin at 0 with the first agreed index
/// and continue over restarts of the device.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Indexes that a cell covers, a power of two.
    cell_len: u64,
    cells: Box<[Cell]>,
    /// The position after the last index.
    end: u64,
}

/// What one cell counts; all other indexes of it were delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    missing: [u64; CAUSES],
    excluded: u64,
}

/// Counts of a range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The first position.
    pub first: u64,
    /// The number of positions.
    pub len: u64,
    /// Missing indexes, in the order of [`RecordedCause::ALL`].
    pub missing: [u64; CAUSES],
    /// Indexes that the device left out on purpose.
    pub excluded: u64,
}

impl Timeline {
    /// Creates a timeline without indexes. All memory is taken here.
    pub fn new() -> Self {
        Self { cell_len: CELL_LEN_MIN, cells: vec![Cell::default(); CELLS].into(), end: 0 }
    }

    /// The number of positions.
    pub const fn len(&self) -> u64 {
        self.end
    }

    /// Returns whether there is no position.
    pub const fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Extends the timeline to `end`.
    pub fn extend_to(&mut self, end: u64) {
        self.end = self.end.max(end);
        while self.end.div_ceil(self.cell_len) > CELLS as u64 {
            self.halve();
        }
    }

    /// Counts `len` missing indexes from position `first` on.
    pub fn add_missing(&mut self, first: u64, len: u64, cause: RecordedCause) {
        self.add(first, len, |cell, count| cell.missing[cause.position()] += count);
    }

    /// Counts `len` indexes from position `first` on that the device left out on purpose.
    pub fn add_excluded(&mut self, first: u64, len: u64) {
        self.add(first, len, |cell, count| cell.excluded += count);
    }

    /// Returns the counts of the positions from `first` to `end`, in at most `columns` parts of equal
    /// length, in whole cells.
    pub fn columns(&self, first: u64, end: u64, columns: usize) -> Vec<Column> {
        let end = end.min(self.end);
        let from = first.min(end) / self.cell_len;
        let until = end.div_ceil(self.cell_len);
        let cells = until.saturating_sub(from);
        let step = cells.div_ceil(columns.max(1) as u64).max(1);
        let starts = (0..cells.div_ceil(step)).map(|column| from + column * step);
        starts.map(|start| self.column(start, (start + step).min(until))).collect()
    }

    fn column(&self, start: u64, until: u64) -> Column {
        let first = start * self.cell_len;
        let len = until.saturating_mul(self.cell_len).min(self.end) - first;
        let mut column = Column { first, len, missing: [0; CAUSES], excluded: 0 };
        for cell in &self.cells[start as usize..until as usize] {
            for (sum, count) in column.missing.iter_mut().zip(cell.missing) {
                *sum += count;
            }
            column.excluded += cell.excluded;
        }
        column
    }

    fn add(&mut self, first: u64, len: u64, mut count: impl FnMut(&mut Cell, u64)) {
        self.extend_to(first.saturating_add(len));
        let (mut at, end) = (first, first.saturating_add(len));
        // Ends: a step covers at least one cell's rest, and there are CELLS cells.
        while at < end {
            let cell = at / self.cell_len;
            let next = ((cell + 1).saturating_mul(self.cell_len)).min(end);
            count(&mut self.cells[cell as usize], next - at);
            at = next;
        }
    }

    /// Makes each cell cover twice as many indexes.
    fn halve(&mut self) {
        for at in 0..CELLS {
            let pair = [2 * at, 2 * at + 1];
            let mut sum = Cell::default();
            for cell in pair.into_iter().filter_map(|at| self.cells.get(at)) {
                for (sum, count) in sum.missing.iter_mut().zip(cell.missing) {
                    *sum += count;
                }
                sum.excluded += cell.excluded;
            }
            self.cells[at] = sum;
        }
        self.cell_len *= 2;
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

const CAUSES: usize = RecordedCause::ALL.len();

/// Cells of the table: 1.4 MB.
const CELLS: usize = 1 << 14;

/// Indexes of a cell of a short stream.
const CELL_LEN_MIN: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_exact_while_cells_merge() {
        let cause = RecordedCause::DiskBehind;
        let mut timeline = Timeline::new();
        let (mut missing, mut excluded, mut at) = (0, 0, 0_u64);
        for step in 1..20_000_u64 {
            at += step * step % 100_003 + 1;
            let len = step % 37;
            timeline.add_missing(at, len, cause);
            at += len;
            timeline.add_excluded(at, step % 5);
            at += step % 5;
            missing += len;
            excluded += step % 5;
        }
        for columns in [1, 7, 800, 1 << 20] {
            let found = timeline.columns(0, u64::MAX, columns);
            assert!(found.len() <= columns, "{} of {columns}", found.len());
            let sum = |of: &dyn Fn(&Column) -> u64| found.iter().map(of).sum::<u64>();
            assert_eq!(sum(&|it| it.missing[cause.position()]), missing);
            assert_eq!(sum(&|it| it.missing.iter().sum()), missing);
            assert_eq!(sum(&|it| it.excluded), excluded);
            assert_eq!(sum(&|it| it.len), timeline.len());
        }
    }

    #[test]
    fn gap_is_in_its_columns_and_no_other() {
        let cause = RecordedCause::Reconnected;
        let mut timeline = Timeline::new();
        timeline.extend_to(1_000_000);
        timeline.add_missing(500_000, 10_000, cause);
        for column in timeline.columns(0, 1_000_000, 1_000) {
            let overlap =
                (column.first + column.len).min(510_000).saturating_sub(column.first.max(500_000));
            assert_eq!(column.missing[cause.position()], overlap, "{column:?}");
        }
    }

    #[test]
    fn the_longest_stream_ends() {
        let mut timeline = Timeline::new();
        timeline.add_missing(0, u64::MAX, RecordedCause::DeviceRestarted);
        let column = timeline.columns(0, u64::MAX, 1)[0];
        assert_eq!(column.missing.iter().sum::<u64>(), u64::MAX);
    }
}
