// The list of gaps, and the same as a file.

import { element, made, say } from "./account.js";
import { counted, grouped } from "./format.js";

/** @typedef {import("./account.js").Terms} Terms */
/** @typedef {import("./connection.js").Connection} Connection */

/** Gaps of a page of the list. */
const PAGE_GAPS = 500;

export class GapPages {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.source = 0;
    /** @type {Terms | null} */
    this.terms = null;
    /** The number of the oldest gap that is listed. */
    this.oldest = "";
  }

  /**
   * Lists the latest gaps of a source.
   * @param {number} source
   * @param {Terms} terms
   */
  async latest(source, terms) {
    Object.assign(this, { source, terms });
    await this.list("");
  }

  /** Lists the gaps before those that are listed. */
  async older() {
    await this.list(`&before=${this.oldest}`);
  }

  /** @param {string} before */
  async list(before) {
    const answer = await this.connection.json(`/api/gaps?source=${this.source}&count=${PAGE_GAPS}${before}`);
    if (answer === null || !this.terms) {
      return;
    }
    const { causes, hops } = this.terms;
    const { total, gaps } = answer;
    this.oldest = gaps.at(-1)?.number ?? "0";
    const [last, first] = [Number(gaps[0]?.number ?? -1) + 1, Number(this.oldest) + 1];
    const some = gaps.length < Number(total) ? `, of which ${grouped(first)} to ${grouped(last)} are listed` : "";
    const words = gaps.length === 0 && total !== "0" ? ", and no earlier one is listed" : some;
    say(element("gaps-note"), `${counted(total, "gap")}${words}.`);
    const rows = gaps.map((/** @type {any} */ gap) => {
      const row = document.createElement("tr");
      const cells = [grouped(gap.first), grouped(gap.len), causes[gap.cause].name, hops[gap.hop].name];
      const others = [gap.stream ?? "all", gap.run];
      row.append(...[...cells, ...others].map((cell) => made("td", cell)));
      return row;
    });
    element("gap-rows").replaceChildren(...rows);
    const older = /** @type {HTMLButtonElement} */ (element("gaps-older"));
    older.disabled = gaps.length < PAGE_GAPS || this.oldest === "0";
    /** @type {HTMLButtonElement} */ (element("gaps-latest")).disabled = before === "";
  }
}

/** Empties the list. */
export function clearGaps() {
  say(element("gaps-note"), "");
  for (const id of ["gaps-older", "gaps-latest"]) {
    /** @type {HTMLButtonElement} */ (element(id)).disabled = true;
  }
  element("gap-rows").replaceChildren();
}

/**
 * Downloads all listed gaps of a source as CSV.
 * @param {Connection} connection
 * @param {number} source
 */
export async function downloadGaps(connection, source) {
  const response = await connection.get(`/api/gaps.csv?source=${source}`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = "gaps.csv";
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
