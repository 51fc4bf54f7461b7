// Quantiles of repair latency between two counts: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { quantile } from "../../crates/samplewire-web/page/repair.js";

const BOUNDS = [1, 2, 4];

test("only what was repaired in between counts", () => {
  const before = ["100", "5", "0"];
  assert.equal(quantile(BOUNDS, before, ["101", "6", "1"], 0.3), 1);
  assert.equal(quantile(BOUNDS, before, ["101", "6", "1"], 0.5), 2);
  assert.equal(quantile(BOUNDS, before, ["101", "6", "1"], 0.99), 4);
  assert.equal(quantile(BOUNDS, before, ["100", "8", "0"], 0.5), 2);
  assert.equal(quantile(BOUNDS, before, ["200", "5", "1"], 0.99), 1);
});

test("nothing is drawn where nothing was repaired, or the counts began again", () => {
  const before = ["3", "0", "0"];
  assert.equal(quantile(BOUNDS, before, before, 0.5), null);
  assert.equal(quantile(BOUNDS, before, ["0", "9", "0"], 0.5), null);
  assert.equal(quantile(BOUNDS, null, before, 0.5), null);
  assert.equal(quantile(BOUNDS, before, null, 0.5), null);
});
