// The words of a place on the waterfall.

import { nearestFrame, taiOf } from "./axes.js";
import { counted, frequency, grouped, moment, span, utc } from "./format.js";
import { COLUMNS_MAX } from "./history.js";

/** @typedef {import("./account.js").Terms} Terms */
/** @typedef {import("./frame.js").Frame} Frame */
/** @typedef {import("./history.js").History} History */

/**
 * What is known of a place of the waterfall.
 * @param {History} history
 * @param {{hz: number, depth: number}} found
 * @param {Terms} terms
 */
export function rowWords(history, found, { causes, hops }) {
  const { row, place } = history.at(found.depth);
  if (!row) {
    return "";
  }
  const nearest = nearestFrame(history, found.depth);
  const time = nearest?.rateHz ? ` (${span(Number(row.first) / nearest.rateHz)})` : "";
  const index = [`index ${grouped(row.first)}${time}`, ...dateWords(row, nearest)].join("\n");
  if (row.kind === "gap") {
    const listed = row.gaps.slice(0, 4).map(
      (gap) =>
        `${grouped(gap.len)} missing from ${grouped(gap.first)}: ` +
        `${causes[gap.cause]?.name}, at hop ${hops[gap.hop]?.name}`,
    );
    const more = row.gaps.length > 4 ? [`and ${row.gaps.length - 4} more gaps`] : [];
    return [...listed, ...more, ...dateWords(row, nearest)].join("\n");
  }
  if (row.kind !== "frame" || !row.frame) {
    const unlisted = row.unlisted ? `\nnot shown in this stretch: ${counted(String(row.unlisted), "gap")}` : "";
    return `${index}\nno frame covers it${unlisted}`;
  }
  const { centreHz, spanHz, offsetDb, stepDb } = row.frame;
  const columns = history.columns[place];
  const column = Math.floor(((found.hz - centreHz + spanHz / 2) / spanHz) * columns);
  const byte = column >= 0 && column < columns ? history.levels[place * COLUMNS_MAX + column] : 0;
  const db = (offsetDb + stepDb * byte).toFixed(1).replace("-", "−");
  return `${index}\n${frequency(found.hz, spanHz / columns)}   ${db} dBFS`;
}

/**
 * The UTC and the TAI of a row, where the stream has a time.
 * @param {import("./rows.js").Row} row
 * @param {Frame | null} nearest
 */
function dateWords(row, nearest) {
  const taiNs = nearest && taiOf(row, nearest);
  return taiNs ? [`${utc(taiNs)} UTC, ${moment(taiNs).slice(11)} TAI`] : [];
}
