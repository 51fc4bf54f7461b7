// The band that is viewed: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { fittedLevels, moved, ZOOM_MAX, zoomed } from "../../crates/samplewire-web/page/band.js";

const WHOLE = { zoom: 1, centre: 0 };

/** Without the sign of zero. */
function plain({ zoom, centre }) {
  return { zoom, centre: centre + 0 };
}

test("a band stays within that of the stream", () => {
  assert.deepEqual(plain(moved(WHOLE, 0.25)), WHOLE);
  assert.deepEqual(moved({ zoom: 4, centre: 0.2 }, 9), { zoom: 4, centre: 0.375 });
  assert.deepEqual(zoomed({ zoom: 4, centre: 0.375 }, 0.5), { zoom: 2, centre: 0.25 });
  assert.deepEqual(plain(zoomed({ zoom: 4, centre: -0.375 }, 1 / ZOOM_MAX)), WHOLE);
  assert.equal(zoomed({ zoom: ZOOM_MAX, centre: 0 }, 2).zoom, ZOOM_MAX);
});

test("the place that is zoomed around keeps its place", () => {
  // At three quarters of the width before and after it.
  assert.deepEqual(zoomed(WHOLE, 2, 0.25), { zoom: 2, centre: 0.125 });
});

test("levels fit the noise and the highest bin of a frame", () => {
  const frame = { offsetDb: -140, stepDb: 0.5, mean: new Uint8Array([80, 80, 80, 240]), peak: new Uint8Array([90, 250]) };
  assert.deepEqual(fittedLevels(frame), { floorDb: -110, ceilingDb: -10 });
});
