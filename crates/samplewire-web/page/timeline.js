// The timeline of the whole stream: what became of each index, from the first to the last.

import { fitted } from "./axes.js";
import { grouped, percent, span } from "./format.js";

/** @typedef {import("./account.js").Terms} Terms */

/**
 * The answer of the API. Sums are strings of digits.
 * @typedef {object} Answer
 * @property {string} positions
 * @property {string} first
 * @property {string} end
 * @property {{first: string, len: string, missing: string[], excluded: string}[]} columns
 */

/**
 * What is drawn: for pixels and shares, the nearest numbers are enough.
 * @typedef {object} Drawn
 * @property {number} end
 * @property {{first: number, len: number, missing: number[], excluded: number}[]} columns
 */

/** Keys of the focused timeline, and by how many columns of one pixel they move. */
const KEYS = new Map([
  ["ArrowLeft", -1],
  ["ArrowRight", 1],
  ["PageUp", -50],
  ["PageDown", 50],
  ["Home", -Infinity],
  ["End", Infinity],
]);

export class Timeline {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} tip
   * @param {Terms} terms
   * @param {(position: number) => void} seek
   * @param {() => void} redraw
   */
  constructor(canvas, tip, terms, seek, redraw) {
    this.canvas = canvas;
    this.tip = tip;
    this.terms = terms;
    /** @type {Drawn | null} */
    this.answer = null;
    this.rateHz = 0;
    /** The position that is read by keys. @type {number | null} */
    this.read = null;
    canvas.onpointermove = ({ offsetX }) => this.show(offsetX / canvas.clientWidth);
    canvas.onpointerleave = () => this.show(this.share());
    canvas.onkeydown = (event) => {
      const { answer, read } = this;
      const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
      if (!isPlain || !answer || answer.end === 0) {
        return;
      }
      if (KEYS.has(event.key)) {
        this.moveTo(event.key, answer.end);
        redraw();
      } else if (event.key === "Enter" && read !== null) {
        seek(Math.floor(read));
      } else {
        return;
      }
      // Else the same keys would move the band.
      event.preventDefault();
      event.stopPropagation();
    };
    canvas.onclick = ({ offsetX }) => {
      if (this.answer) {
        seek(Math.floor((this.answer.end * offsetX) / canvas.clientWidth));
      }
    };
  }

  /**
   * @param {Answer} answer
   * @param {number} rateHz
   */
  set(answer, rateHz) {
    const columns = answer.columns.map(({ first, len, missing, excluded }) => ({
      first: Number(first),
      len: Number(len),
      missing: missing.map(Number),
      excluded: Number(excluded),
    }));
    this.answer = { end: Number(answer.end), columns };
    this.rateHz = rateHz;
    const missing = columns.filter((column) => sum(column.missing) > 0).length;
    const words = missing === 0 ? "no index is missing" : `${missing} parts with missing indexes`;
    this.canvas.setAttribute("aria-label", `Timeline of the whole stream: ${words}`);
  }

  /** @param {import("./axes.js").Theme & {back: string, good: string}} theme */
  draw(theme) {
    const { context, width, height } = fitted(this.canvas);
    const bar = height - 18;
    context.fillStyle = theme.line;
    context.fillRect(0, 0, width, bar);
    const answer = this.answer;
    if (!answer || answer.end === 0) {
      return;
    }
    context.fillStyle = theme.good;
    context.fillRect(0, 0, width, bar);
    for (const column of answer.columns) {
      // Whole pixels: neighbours must neither overlap nor leave a slit.
      const x = Math.floor((width * column.first) / answer.end);
      const end = Math.floor((width * (column.first + column.len)) / answer.end);
      const wide = Math.max(1, end - x);
      const missing = sum(column.missing);
      if (column.excluded > 0) {
        context.fillStyle = theme.muted;
        context.fillRect(x, 0, wide, bar * Math.min(1, column.excluded / column.len));
      }
      if (missing > 0) {
        // A single missing sample is seen: at least an eighth of the height.
        const high = bar * Math.max(0.125, missing / column.len);
        context.fillStyle = theme.accent;
        context.fillRect(x, bar - high, wide, high);
      }
    }
    if (this.read !== null) {
      context.fillStyle = theme.text;
      context.fillRect(Math.floor((width * this.read) / answer.end), 0, 2, bar);
    }
    this.labels(context, theme, width, height);
  }

  /**
   * Moves the place that is read by columns.
   * @param {string} key
   * @param {number} end
   */
  moveTo(key, end) {
    const count = Math.max(1, Math.round(this.canvas.clientWidth));
    const column = this.read === null ? count : Math.floor((this.read * count) / end);
    const at = Math.min(count - 1, Math.max(0, column + (KEYS.get(key) ?? 0)));
    // The middle of the column: the edge may round to the one before.
    this.read = (end * (at + 0.5)) / count;
    this.show(this.share());
  }

  /** The place that is read, in parts of the stream. */
  share() {
    return this.read === null || !this.answer ? null : (this.read + 0.5) / this.answer.end;
  }

  /**
   * Reads the next column with losses: the last first.
   * @param {1 | -1} by
   */
  step(by) {
    const { answer, read } = this;
    if (!answer || answer.columns.length === 0) {
      this.tip.textContent = "No index is missing.";
      return;
    }
    const { columns } = answer;
    const found =
      read === null
        ? columns.at(-1)
        : by > 0
          ? columns.find(({ first }) => first > read)
          : columns.findLast(({ first, len }) => first + len <= read);
    if (!found) {
      this.tip.textContent = by > 0 ? "No later loss." : "No earlier loss.";
      return;
    }
    this.read = found.first;
    this.show(this.share());
  }

  /** Ends the reading by keys. */
  leave() {
    this.read = null;
    this.show(null);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./axes.js").Theme} theme
   * @param {number} width
   * @param {number} height
   */
  labels(context, theme, width, height) {
    if (!this.answer || !this.rateHz) {
      return;
    }
    const total = this.answer.end / this.rateHz;
    context.font = theme.font;
    context.fillStyle = theme.muted;
    context.textBaseline = "bottom";
    const count = Math.max(2, Math.floor(width / 180));
    for (let at = 0; at <= count; at += 1) {
      context.textAlign = at === 0 ? "left" : at === count ? "right" : "center";
      context.fillText(at === 0 ? "start" : span((total * at) / count), (width * at) / count, height);
    }
  }

  /** @param {number | null} share */
  show(share) {
    const answer = this.answer;
    if (share === null || !answer || answer.end === 0) {
      this.tip.textContent = "\u00a0";
      return;
    }
    const position = share * answer.end;
    const column = answer.columns.find(({ first, len }) => first <= position && position < first + len);
    const time = this.rateHz ? `${span(position / this.rateHz)}: ` : "";
    if (!column) {
      this.tip.textContent = `${time}whole`;
      return;
    }
    const causes = column.missing.map((count, at) => ({ count, name: this.terms.causes[at].name }));
    const words = causes
      .filter(({ count }) => count > 0)
      .map(({ count, name }) => `${grouped(count)} missing (${percent(count / column.len)}), ${name}`);
    if (column.excluded > 0) {
      words.push(`${grouped(column.excluded)} excluded by START`);
    }
    this.tip.textContent = time + words.join("; ");
  }
}

/** @param {number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}
