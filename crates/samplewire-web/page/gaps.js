// The list of gaps, and the same as a file.

import { element, made, say } from "./account.js";
import { counted, grouped } from "./format.js";

/** @typedef {import("./connection.js").Connection} Connection */

/**
 * Fills the list with the latest gaps of a source.
 * @param {Connection} connection
 * @param {number} source
 * @param {import("./account.js").Terms} terms
 */
export async function listGaps(connection, source, { causes, hops }) {
  const answer = await connection.json(`/api/gaps?source=${source}&count=500`);
  if (answer === null) {
    return;
  }
  const { total, gaps } = answer;
  const some = gaps.length < Number(total) ? `, of which the latest ${gaps.length} are listed` : "";
  say(element("gaps-note"), `${counted(total, "gap")}${some}.`);
  const rows = gaps.map((/** @type {any} */ gap) => {
    const row = document.createElement("tr");
    const cells = [grouped(gap.first), grouped(gap.len), causes[gap.cause].name, hops[gap.hop].name];
    const last = [gap.stream ?? "all", gap.run];
    row.append(...[...cells, ...last].map((cell) => made("td", cell)));
    return row;
  });
  element("gap-rows").replaceChildren(...rows);
}

/** Empties the list. */
export function clearGaps() {
  say(element("gaps-note"), "");
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
  URL.revokeObjectURL(link.href);
}
