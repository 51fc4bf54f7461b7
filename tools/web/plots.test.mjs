// What the plots get of counters that grow: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { Plots } from "../../crates/samplewire-web/page/plots.js";

const TERMS = { counters: [{ name: "repaired" }, { name: "rtt_ns" }], repair_bounds_ms: [1, 2, 4] };

/** The last points of all lines: rate; credit, window; round trip, half, 99 %; repaired, missing. */
const last = (/** @type {Plots} */ plots) => plots.data.map((lines) => lines.map((points) => points.at(-1)));

test("growth is that of one second, however long it took", () => {
  // Before they are drawn, plots need no document.
  const plots = new Plots(/** @type {any} */ (null), /** @type {any} */ (TERMS));
  plots.add(10, 1e6, ["5", "3000000"], ["5", "0", "0"]);
  assert.deepEqual(last(plots), [[1], [null, null], [3, null, null], [null, null]]);
  plots.add(11, 1e6, ["7", "3000000"], ["5", "2", "0"]);
  assert.deepEqual(last(plots), [[1], [null, null], [3, 2, 2], [2, null]]);
  plots.add(12.25, 1e6, ["12", "3000000"], ["5", "2", "0"]);
  assert.deepEqual(last(plots).at(-1), [4, null]);
  assert.deepEqual(plots.aligned(0)[0], [-2.25, -1.25, 0]);
});

test("another stream is not compared with the one before", () => {
  const plots = new Plots(/** @type {any} */ (null), /** @type {any} */ (TERMS));
  plots.add(1, 1e6, ["5", "3000000"], ["5", "0", "0"]);
  plots.restart();
  plots.add(2, 2e6, ["9000", "1000000"], ["8000", "1000", "0"]);
  assert.deepEqual(last(plots), [[2], [null, null], [1, null, null], [null, null]]);
  plots.add(3, 2e6, ["9001", "1000000"], ["8000", "1000", "1"]);
  assert.deepEqual(last(plots), [[2], [null, null], [1, 4, 4], [1, null]]);
});
