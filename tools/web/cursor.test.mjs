// The row that keys choose: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { followRows, stepRow } from "../../crates/samplewire-web/page/cursor.js";

const IMAGE = { clientWidth: 801, clientHeight: 6 };

/** Steps where the waterfall has four rows. */
function step(cursor, by) {
  return stepRow(cursor, by, IMAGE, (depth) => depth < 4);
}

test("keys go through the rows that there are", () => {
  const first = step(null, 1);
  assert.deepEqual(first, { x: 400, y: 0, isImage: true, isOfRow: true });
  assert.equal(step(first, -1).y, 0);
  let cursor = first;
  const places = [1, 1, 1, 1, -1].map((by) => (cursor = step(cursor, by)).y);
  assert.deepEqual(places, [1, 2, 3, 3, 2]);
  assert.equal(stepRow({ ...first, y: 5 }, 1, IMAGE, () => true).y, 5, "the last in the picture");
  assert.equal(stepRow(null, 1, IMAGE, () => false), null, "there is no row");
});

test("keys go on from the row under the pointer", () => {
  assert.equal(step({ x: 7, y: 1.5, isImage: true, isOfRow: false }, 1).y, 2);
  assert.equal(step({ x: 7, y: 3.5, isImage: false, isOfRow: false }, 1).y, 0, "it was on the spectrum");
});

test("the cursor stays on its row until the row leaves the picture", () => {
  const cursor = step(null, 1);
  const moved = followRows(cursor, 5, IMAGE.clientHeight);
  assert.equal(moved.y, 5);
  assert.equal(followRows(moved, 1, IMAGE.clientHeight), null);
  const pointer = { x: 7, y: 1.5, isImage: true, isOfRow: false };
  assert.equal(followRows(pointer, 100, IMAGE.clientHeight), pointer);
});
