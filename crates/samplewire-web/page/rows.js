// The rows of the waterfall, in the order of the index: frames, missing indexes, and indexes without a
// frame. A row period is the time between two frames, in indexes.

/** @typedef {import("./frame.js").Frame} Frame */
/** @typedef {import("./frame.js").Gap} Gap */

/**
 * @typedef {object} Row
 * @property {"frame" | "gap" | "unseen"} kind
 * @property {bigint} first the first index
 * @property {bigint} end the index behind the last
 * @property {number} boot number of the device's run, or of the session
 * @property {Frame | null} frame
 * @property {Gap[]} gaps
 * @property {bigint} [unlisted] of an unseen row: gaps in its stretch that no frame had room for
 */

/** More missing rows than a picture has are not drawn. */
export const ROWS_MAX = 2048;

/** Rows between two frames that need no mark: the sender's clock is not the stream's. */
const JITTER_ROWS = 3n;

export class RowMaker {
  constructor() {
    /** The index behind the last row. */
    this.next = 0n;
    this.isFirst = true;
    this.source = "";
    /** The run of the last row: indexes of one run are comparable. */
    this.boot = 0;
    /** The gaps before the last frame. */
    this.gapsBefore = 0n;
    /** Gaps before the next row that no frame had room for. */
    this.unlisted = 0n;
  }

  /**
   * Returns the rows of a frame, oldest first: of the gaps before it, of indexes without a frame, and
   * its own.
   * @param {Frame} frame
   * @returns {Row[]}
   */
  rows(frame) {
    const source = `${frame.source}/${frame.stream}/${frame.channel}`;
    if (this.isFirst || this.source !== source) {
      // The first frame, or another stream.
      this.isFirst = false;
      this.source = source;
      this.gapsBefore = frame.gapsBefore - BigInt(frame.gaps.length);
      this.enter(frame.boot, frame.index);
    }
    const unlisted = frame.gapsBefore - this.gapsBefore - BigInt(frame.gaps.length);
    this.unlisted = unlisted > 0n ? unlisted : 0n;
    this.gapsBefore = frame.gapsBefore;
    const period = frame.rowSamples > 0n ? frame.rowSamples : 1n;
    /** @type {Row[]} */
    const rows = [];
    for (const gap of frame.gaps) {
      if (gap.boot !== this.boot) {
        this.enter(gap.boot, gap.first);
      }
      if (gap.first + gap.len <= this.next && gap.len > 0n) {
        continue;
      }
      const first = gap.first > this.next ? gap.first : this.next;
      this.pass(rows, first, period);
      this.missing(rows, gap, first, period);
    }
    if (frame.boot !== this.boot || frame.index < this.next) {
      // The device has restarted, or a recording goes back.
      this.enter(frame.boot, frame.index);
    }
    this.pass(rows, frame.index, period);
    this.unlisted = 0n;
    const end = frame.index + frame.lenSamples;
    rows.push({ kind: "frame", first: frame.index, end, boot: frame.boot, frame, gaps: [] });
    this.next = end;
    return rows.slice(-ROWS_MAX);
  }

  /**
   * Goes on at an index of any run.
   * @param {number} boot
   * @param {bigint} index
   */
  enter(boot, index) {
    this.boot = boot;
    this.next = index;
    this.unlisted = 0n;
  }

  /**
   * Adds rows for indexes that no frame covers, if they are many.
   * @param {Row[]} rows
   * @param {bigint} until
   * @param {bigint} period
   */
  pass(rows, until, period) {
    const skipped = (until - this.next) / period;
    if (until > this.next && (skipped > JITTER_ROWS || this.unlisted > 0n)) {
      this.add(rows, "unseen", this.next, until, period, null);
    }
    this.next = until > this.next ? until : this.next;
  }

  /**
   * Adds the rows of a gap. Gaps within one row period share a row.
   * @param {Row[]} rows
   * @param {Gap} gap
   * @param {bigint} first
   * @param {bigint} period
   */
  missing(rows, gap, first, period) {
    const end = gap.first + gap.len;
    const last = rows.at(-1);
    const isSameRun = last?.kind === "gap" && last.boot === this.boot;
    if (isSameRun && first >= last.end && end - last.first <= period) {
      last.gaps.push(gap);
      last.end = end;
    } else {
      this.add(rows, "gap", first, end, period, gap);
    }
    this.next = end;
  }

  /**
   * Adds one row for each row period from `first` to `end`, at least one.
   * @param {Row[]} rows
   * @param {"gap" | "unseen"} kind
   * @param {bigint} first
   * @param {bigint} end
   * @param {bigint} period
   * @param {Gap | null} gap
   */
  add(rows, kind, first, end, period, gap) {
    const whole = (end - first + period - 1n) / period;
    const count = whole > BigInt(ROWS_MAX) ? ROWS_MAX : Math.max(1, Number(whole));
    // Of more rows than a picture has, the last are drawn.
    let at = end - BigInt(count) * period;
    at = at > first ? at : first;
    for (let row = 0; row < count; row += 1) {
      const next = row === count - 1 ? end : at + period;
      const gaps = gap ? [gap] : [];
      const unlisted = this.unlisted;
      rows.push({ kind, first: at, end: next, boot: this.boot, frame: null, gaps, unlisted });
      at = next;
    }
    // They lie in the first stretch: a frame has the latest gaps.
    this.unlisted = 0n;
  }
}
