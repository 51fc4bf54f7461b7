// The rows that the waterfall shows, in a ring: levels, and which frequencies they cover.

/** @typedef {import("./rows.js").Row} Row */

/** Levels of a row; of more bins, the highest of neighbours are kept. */
export const COLUMNS_MAX = 4096;
/** Rows of the ring. */
export const ROWS = 1024;

export const KINDS = { empty: 0, frame: 1, gap: 2, unseen: 3 };

export class History {
  constructor() {
    this.levels = new Uint8Array(COLUMNS_MAX * ROWS);
    /** @type {(Row | null)[]} */
    this.rows = new Array(ROWS).fill(null);
    /** Columns of each row. */
    this.columns = new Uint16Array(ROWS);
    /** The place of the newest row. */
    this.newest = 0;
  }

  /** Forgets all rows. */
  clear() {
    this.rows.fill(null);
    this.columns.fill(0);
  }

  /**
   * Adds a row, and returns its place.
   * @param {Row} row
   * @param {boolean} isPeak
   */
  push(row, isPeak) {
    this.newest = (this.newest + 1) % ROWS;
    const at = this.newest;
    this.rows[at] = row;
    this.columns[at] = 0;
    if (row.frame) {
      const bytes = isPeak ? row.frame.peak : row.frame.mean;
      const step = Math.max(1, bytes.length / COLUMNS_MAX);
      const columns = bytes.length / step;
      const place = this.levels.subarray(at * COLUMNS_MAX, at * COLUMNS_MAX + columns);
      if (step === 1) {
        place.set(bytes);
      } else {
        for (let column = 0; column < columns; column += 1) {
          let highest = 0;
          for (let bin = column * step; bin < (column + 1) * step; bin += 1) {
            highest = Math.max(highest, bytes[bin]);
          }
          place[column] = highest;
        }
      }
      this.columns[at] = columns;
      // The levels are in the ring: the frame's own bytes can go.
      row.frame = { ...row.frame, mean: new Uint8Array(0), peak: new Uint8Array(0) };
    }
    return at;
  }

  /**
   * The row so many rows below the top.
   * @param {number} depth
   */
  at(depth) {
    const place = (this.newest - depth + ROWS) % ROWS;
    return { place, row: depth < ROWS ? this.rows[place] : null };
  }
}
