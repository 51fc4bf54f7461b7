// Small line plots of the last two minutes, by uPlot.

import { quantile } from "./repair.js";

/** @typedef {import("./account.js").Terms} Terms */

/** The seconds that a plot shows, and its most points: there is one a second at most. */
const SECONDS = 120;

/**
 * @typedef {object} Kind
 * @property {string} title
 * @property {string[]} counters names; empty for the sample rate
 * @property {number} factor from the counter to the unit of the title
 * @property {number[]} [repairs] quantiles of repair latency, as further lines
 */

/** @type {Kind[]} */
const KINDS = [
  { title: "rate, MS/s", counters: [], factor: 1e-6 },
  { title: "credit and window, packets", counters: ["credit", "window"], factor: 1 },
  {
    title: "round trip; repair: half, 99 % (dashed), ms",
    counters: ["rtt_ns"],
    factor: 1e-6,
    repairs: [0.5, 0.99],
  },
  { title: "repaired and missing packets, 1/s", counters: ["repaired", "skipped"], factor: 1 },
];

/** Counters that grow: their growth is plotted. */
const GROWING = ["repaired", "skipped"];

/** What a sender counts instead. */
const OF_SENDER = new Map([
  ["repaired", "retransmissions"],
  ["skipped", "skipped_by_peer"],
]);

/**
 * Labels of the time axis.
 * @param {unknown} _plot
 * @param {number[]} ticks
 */
function times(_plot, ticks) {
  return ticks.map((tick) => (tick ? `${tick} s`.replace("-", "−") : "now"));
}

export class Plots {
  /**
   * @param {HTMLElement} place
   * @param {Terms} terms
   */
  constructor(place, terms) {
    this.place = place;
    this.names = terms.counters.map(({ name }) => name);
    this.senderNames = (terms.sender_counters ?? []).map(({ name }) => name);
    /** @type {number[]} */
    this.times = [];
    /** @type {(number | null)[][][]} */
    this.data = KINDS.map(({ counters, repairs }) =>
      Array.from({ length: (counters.length || 1) + (repairs?.length ?? 0) }, () => []),
    );
    this.bounds = terms.repair_bounds_ms;
    /** @type {string[] | null} */
    this.repaired = null;
    /** @type {any[]} */
    this.plots = [];
    /** @type {string[] | null} */
    this.before = null;
  }

  /**
   * Draws all plots again, for example in another theme.
   * @param {import("./axes.js").Theme} theme
   */
  build(theme) {
    this.destroy();
    const width = Math.max(200, this.place.clientWidth);
    const axis = {
      stroke: theme.muted,
      font: theme.font,
      grid: { stroke: theme.line, width: 1 },
      ticks: { show: false },
    };
    this.plots = KINDS.map(({ title, counters, repairs }, at) => {
      const strokes = [theme.trace, theme.muted, theme.muted];
      const series = this.data[at].map((_, line) => ({
        label: counters[line] ?? title,
        stroke: strokes[line],
        width: 1.5,
        dash: line > 1 ? [4, 3] : [],
        // In many seconds nothing is repaired: those beside have no line.
        points: { show: repairs !== undefined && line >= counters.length, size: 4 },
      }));
      const options = {
        title,
        width,
        height: 104,
        padding: [4, 12, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: [-SECONDS, 0] },
          y: {
            /** @type {(plot: unknown, low: number, high: number) => [number, number]} */
            range: (_plot, _low, high) => (high > 0 ? [0, high * 1.15] : [0, 1]),
          },
        },
        axes: [
          { ...axis, size: 18, gap: 2, values: times, space: 60 },
          { ...axis, size: 52, gap: 4, space: 26 },
        ],
        series: [{}, ...series],
      };
      const plot = new /** @type {any} */ (window).uPlot(options, this.aligned(at), this.place);
      plot.root.hidden = counters.length > 0 && !this.before;
      return plot;
    });
  }

  /** Removes all plots: each of them listens to the window. */
  destroy() {
    this.plots.forEach((plot) => plot.destroy());
    this.plots = [];
  }

  /** @param {number} at */
  aligned(at) {
    const last = this.times.at(-1) ?? 0;
    return [this.times.map((time) => time - last), ...this.data[at]];
  }

  /**
   * Adds a point, about once a second.
   * @param {number} time seconds, by the program's clock
   * @param {number} rate samples per second
   * @param {string[] | null} counters
   * @param {string[] | null} repairs packets in each bucket of repair latency
   * @param {boolean} isSender whether the counters are those of a sender
   */
  add(time, rate, counters, repairs, isSender = false) {
    const passed = time - (this.times.at(-1) ?? time);
    this.times.push(time);
    KINDS.forEach((kind, at) => {
      const values = kind.counters.map((name) => this.value(name, counters, isSender, passed));
      const scaled = (values.length > 0 ? values : [rate]).map((value) =>
        value === null ? null : value * kind.factor,
      );
      const shares = kind.repairs ?? [];
      scaled.push(...shares.map((it) => quantile(this.bounds, this.repaired, repairs, it)));
      this.data[at].forEach((points, line) => {
        points.push(scaled[line]);
        points.splice(0, points.length - SECONDS);
      });
    });
    this.times.splice(0, this.times.length - SECONDS);
    this.before = counters;
    this.repaired = repairs;
    this.plots.forEach((plot, at) => {
      plot.root.hidden = KINDS[at].counters.length > 0 && !counters;
      plot.setData(this.aligned(at));
    });
  }

  /**
   * @param {string} name
   * @param {string[] | null} counters
   * @param {boolean} isSender
   * @param {number} passed seconds since the last point
   */
  value(name, counters, isSender, passed) {
    const at = isSender
      ? this.senderNames.indexOf(OF_SENDER.get(name) ?? name)
      : this.names.indexOf(name);
    if (at < 0 || !counters) {
      return null;
    }
    if (!GROWING.includes(name)) {
      return Number(counters[at]);
    }
    const growth = this.before ? Math.max(0, Number(counters[at]) - Number(this.before[at])) : null;
    return growth !== null && passed > 0 ? growth / passed : null;
  }

  /** Forgets the last counters: those that follow are of another stream. */
  restart() {
    this.before = null;
    this.repaired = null;
  }

  resize() {
    const width = Math.max(200, this.place.clientWidth);
    this.plots.forEach((plot) => plot.setSize({ width, height: 104 }));
  }
}
