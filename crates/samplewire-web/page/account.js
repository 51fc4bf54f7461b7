// The right column: sums, loss by hop, counters. All texts of the program are text, never markup.

import { grouped, measured, percent, span } from "./format.js";

/**
 * @typedef {object} Term
 * @property {string} name
 * @property {string} meaning
 * @property {string} action
 */

/** @typedef {Term & {unit: string, gauge: boolean}} Counter */

/**
 * @typedef {object} Terms
 * @property {Counter[]} counters of a receiver
 * @property {Counter[]} sender_counters
 * @property {Term[]} hops
 * @property {Term[]} causes
 * @property {number[]} repair_bounds_ms
 */

/**
 * @typedef {object} Source
 * @property {string} verb
 * @property {string} origin
 * @property {{name: string, format: string, channels: number, rate_hz: number, centre_hz: number | null, is_real: boolean}[]} streams
 * @property {string} level
 * @property {string} sentence
 * @property {string} remedy
 * @property {string | null} ended
 * @property {number} at_s
 * @property {string} role received, sent or recording
 * @property {boolean} is_recording
 * @property {string} first_index
 * @property {string} next_index
 * @property {string} positions
 * @property {string | null} indexes
 * @property {string} samples
 * @property {string} missing
 * @property {string | null} left_out
 * @property {string | null} before_first
 * @property {string} gaps
 * @property {string[]} hops
 * @property {string[]} causes
 * @property {string[] | null} counters
 * @property {string[] | null} repairs
 * @property {import("./actions.js").Recording[]} recordings
 */

/** @param {string} id */
export function element(id) {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`the page has no ${id}`);
  }
  return found;
}

/**
 * A new element with a text.
 * @param {string} name
 * @param {string} text
 * @param {string} [className]
 */
export function made(name, text, className = "") {
  const it = document.createElement(name);
  it.textContent = text;
  it.className = className;
  return it;
}

/**
 * Sets a text, if it differs: screen readers then stay quiet.
 * @param {Element} place
 * @param {string} text
 */
export function say(place, text) {
  if (place.textContent !== text) {
    place.textContent = text;
  }
}

export class AccountView {
  /** @param {Terms} terms */
  constructor(terms) {
    this.terms = terms;
    this.table = terms.counters;
    /** @type {HTMLElement[]} */
    this.values = [];
    this.alerts = "";
    this.build();
  }

  build() {
    const hops = this.terms.hops.map((hop) => {
      const item = made("li", "");
      item.append(made("span", hop.name, "name"), made("span", "0", "number"), made("i", ""));
      item.append(made("small", hop.meaning));
      return item;
    });
    element("hops").replaceChildren(...hops);
    this.values = [];
    const counters = this.table.map((counter) => {
      const value = made("span", "–", "number");
      this.values.push(value);
      return entry(counter, value);
    });
    element("counters").replaceChildren(...counters);
  }

  /** Shows no sums: they were another program's. */
  clear() {
    this.build();
    element("bar").replaceChildren();
    element("bar").removeAttribute("aria-label");
    element("sums").replaceChildren();
  }

  /** @param {Source} source */
  update(source) {
    const table = source.role === "sent" ? this.terms.sender_counters : this.terms.counters;
    if (this.table !== table) {
      this.table = table;
      this.build();
    }
    this.sums(source);
    this.hops(source);
    element("counters").parentElement?.toggleAttribute("hidden", !source.counters);
    if (source.counters) {
      this.counters(source.counters);
    } else {
      this.alert([made("li", "This stream has no counters.", "quiet")]);
    }
  }

  /** @param {Source} source */
  sums(source) {
    const [delivered, missing] = [BigInt(source.samples), BigInt(source.missing)];
    const excluded = BigInt(source.left_out ?? 0) + BigInt(source.before_first ?? 0);
    const all = delivered + missing + excluded;
    /** @param {bigint} part */
    const share = (part) => (all > 0n ? Number(part) / Number(all) : 0);
    const rows = [
      { name: source.role === "sent" ? "sent" : "delivered", value: delivered, kind: "delivered" },
      { name: "missing", value: missing, kind: "missing" },
      { name: "excluded", value: excluded, kind: "excluded" },
    ];
    const bar = rows.map(({ value, kind }) => {
      const part = made("i", "", kind);
      part.style.flexGrow = String(share(value));
      // One missing sample of 10^12 is still seen.
      part.hidden = value === 0n;
      return part;
    });
    element("bar").replaceChildren(...bar);
    const words = rows.map(({ name, value }) => `${name} ${grouped(value)}`).join(", ");
    element("bar").setAttribute("aria-label", words);
    const lines = rows.flatMap(({ name, value, kind }) => {
      const term = made("dt", name, kind);
      const number = made("dd", grouped(value), "number");
      return [term, number, made("dd", percent(share(value)), "number share")];
    });
    const total = [made("dt", "indexes"), made("dd", grouped(all), "number"), made("dd", "", "share")];
    const gaps = [made("dt", "gaps"), made("dd", grouped(source.gaps), "number"), made("dd", "", "share")];
    element("sums").replaceChildren(...lines, ...total, ...gaps);
  }

  /** @param {Source} source */
  hops(source) {
    const missing = Number(source.missing);
    [...element("hops").children].forEach((item, at) => {
      const samples = source.hops[at];
      const [, number, bar] = item.children;
      say(number, grouped(samples));
      const share = missing > 0 ? Number(samples) / missing : 0;
      /** @type {HTMLElement} */ (bar).style.width = `${100 * share}%`;
      item.classList.toggle("lost", samples !== "0");
      const term = this.terms.hops[at];
      const action = samples === "0" || !term.action ? "" : ` What to do: ${term.action}.`;
      say(item.children[3], `${term.meaning}.${action}`);
    });
  }

  /** @param {string[]} values */
  counters(values) {
    /** @type {HTMLElement[]} */
    const alerts = [];
    this.table.forEach((counter, at) => {
      const text = shown(counter, values[at]);
      say(this.values[at], text);
      if (!counter.gauge && counter.action && values[at] !== "0") {
        alerts.push(entry(counter, made("span", text, "number")));
      }
    });
    if (alerts.length === 0) {
      alerts.push(made("li", "Every counter that calls for an action is zero.", "quiet"));
    }
    this.alert(alerts);
  }

  /**
   * Shows these entries, unless they are shown.
   * @param {HTMLElement[]} alerts
   */
  alert(alerts) {
    const place = element("alerts");
    const texts = alerts.map((alert) => alert.textContent).join();
    if (this.alerts !== texts) {
      this.alerts = texts;
      place.replaceChildren(...alerts);
    }
  }
}

/**
 * @param {Counter} counter
 * @param {HTMLElement} value
 */
function entry(counter, value) {
  const item = made("li", "");
  item.append(made("span", counter.name.replaceAll("_", " "), "name"), value);
  item.append(made("small", `${counter.meaning}.`));
  if (counter.action) {
    item.append(made("small", `${counter.action}.`, "action"));
  }
  return item;
}

/**
 * @param {Counter} counter
 * @param {string} value
 */
function shown(counter, value) {
  if (counter.unit === "ns") {
    return value === "0" ? "0" : span(Number(value) / 1e9);
  }
  if (counter.unit === "bit/s") {
    return measured(Number(value), "b/s");
  }
  return grouped(value);
}
