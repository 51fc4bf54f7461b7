// The processes of a page that shows several: which there are, and which one is shown.

import { element, made } from "./account.js";

/** @typedef {import("./connection.js").Connection} Connection */

/**
 * @typedef {object} Process
 * @property {number} id
 * @property {string} verb
 * @property {string[]} streams
 */

/**
 * @typedef {object} Listener
 * @property {() => void} changed another process is shown
 * @property {(words: string) => void} absent why no process is shown; empty when one is
 */

const PERIOD_MS = 1000;

/** @param {Process} process */
function named({ id, verb, streams }) {
  return [`${verb} ${id}`, ...streams].join(" · ");
}

export class Processes {
  /**
   * @param {Connection} connection
   * @param {Listener} listener
   */
  constructor(connection, listener) {
    this.connection = connection;
    this.listener = listener;
    /** @type {Process[]} */
    this.list = [];
    /** The process that is shown, or was until it ended. @type {Process | null} */
    this.shown = null;
    /** Whether it has ended. */
    this.isEnded = false;
  }

  /** Shows the program's own page, or its first process. */
  async start() {
    try {
      const response = await this.connection.read("/api/processes");
      const { processes } = await response.json();
      if (processes === null) {
        this.connection.open();
        return;
      }
      this.take(processes);
    } catch {
      this.connection.fail();
    }
    setTimeout(() => this.start(), PERIOD_MS);
  }

  /** @param {Process[]} list */
  take(list) {
    this.list = list;
    if (this.shown === null && list.length > 0) {
      this.choose(list[0].id);
    } else if (this.shown === null) {
      this.listener.absent("No process of this user shows a stream.");
    } else {
      this.follow(this.shown);
    }
    this.draw();
  }

  /**
   * Notes whether a process is listed. One that is connected has not ended.
   * @param {Process} shown
   */
  follow(shown) {
    const listed = this.list.find(({ id }) => id === shown.id);
    if (!listed && !this.isEnded && !this.connection.isAdmitted) {
      this.isEnded = true;
      this.connection.stop();
      this.listener.absent(`Ended: ${named(shown)}.`);
    } else if (listed && listed.verb !== shown.verb) {
      // Another process has its number.
      this.choose(listed.id);
    } else if (listed && this.isEnded) {
      this.isEnded = false;
      this.listener.absent("");
      this.connection.show(listed.id);
    }
  }

  /** @param {number} id */
  choose(id) {
    const found = this.list.find((process) => process.id === id);
    if (found) {
      this.shown = found;
      this.isEnded = false;
      this.listener.absent("");
      this.listener.changed();
      this.connection.show(id);
    }
  }

  /** Shows the process behind this one, or the first. */
  next() {
    const at = this.list.findIndex(({ id }) => id === this.shown?.id);
    const next = this.list[(at + 1) % this.list.length];
    if (next && next.id !== this.shown?.id) {
      this.choose(next.id);
      this.draw();
    }
  }

  /** Lists the processes; one that has ended stays until another is chosen. */
  draw() {
    const isListed = this.list.some(({ id }) => id === this.shown?.id);
    const missed = this.shown && !isListed ? [this.shown] : [];
    const mark = this.isEnded ? " (ended)" : "";
    const options = [
      ...missed.map((process) => ({ id: process.id, words: `${named(process)}${mark}` })),
      ...this.list.map((process) => ({ id: process.id, words: named(process) })),
    ];
    const select = /** @type {HTMLSelectElement} */ (element("process"));
    const key = JSON.stringify(options);
    if (select.dataset.key !== key) {
      select.dataset.key = key;
      select.replaceChildren(
        ...options.map(({ id, words }) => {
          const option = /** @type {HTMLOptionElement} */ (made("option", words));
          option.value = String(id);
          return option;
        }),
      );
    }
    select.value = String(this.shown?.id ?? "");
    select.onchange = () => this.choose(Number(select.value));
    element("processes").hidden = false;
  }
}
