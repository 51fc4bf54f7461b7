// Which rows of the waterfall come of which frames: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { RowMaker } from "../../crates/samplewire-web/page/rows.js";

const ROW_SAMPLES = 1000n;

/** A gap of an index and a length. */
function gap(first, len, boot = 1) {
  return { first, len, cause: 0, hop: 0, stream: null, boot };
}

let gapsBefore = 0n;

/** A frame of 100 samples behind these gaps. */
function frame(index, ...gaps) {
  gapsBefore += BigInt(gaps.length);
  const place = { source: 0, stream: 0, channel: 0, index, boot: 1, gapsBefore };
  return { ...place, lenSamples: 100n, rowSamples: ROW_SAMPLES, gaps };
}

/** Kind, first index and end of the rows of a frame. */
function rowsOf(maker, ...parts) {
  return maker.rows(frame(...parts)).map(({ kind, first, end }) => [kind, first, end]);
}

test("a gap between two frames has a row for each period", () => {
  const maker = new RowMaker();
  assert.deepEqual(rowsOf(maker, 5000n), [["frame", 5000n, 5100n]]);
  assert.deepEqual(rowsOf(maker, 8000n, gap(5500n, 1500n)), [
    ["gap", 5500n, 6500n],
    ["gap", 6500n, 7000n],
    ["frame", 8000n, 8100n],
  ]);
});

test("gaps of one period share a row", () => {
  const maker = new RowMaker();
  maker.rows(frame(0n));
  const rows = maker.rows(frame(1000n, gap(200n, 10n), gap(400n, 10n)));
  assert.deepEqual(rows.map((row) => row.gaps.length), [2, 0]);
});

test("many indexes without a frame are marked", () => {
  const maker = new RowMaker();
  maker.rows(frame(0n));
  const rows = rowsOf(maker, 5100n);
  assert.deepEqual(rows.map(([kind]) => kind), [...Array(5).fill("unseen"), "frame"]);
});

test("gaps for which a frame had no room are counted where they lie", () => {
  const maker = new RowMaker();
  maker.rows(frame(0n));
  gapsBefore += 7n;
  const rows = maker.rows(frame(3100n, gap(2100n, 10n)));
  assert.deepEqual(rows.map(({ kind, unlisted }) => [kind, unlisted ?? 0n]), [
    ["unseen", 7n],
    ["unseen", 7n],
    ["gap", 0n],
    ["frame", 0n],
  ]);
  gapsBefore += 1n;
  const close = maker.rows(frame(3300n));
  assert.deepEqual(close.map(({ kind, unlisted }) => [kind, unlisted ?? 0n]), [
    ["unseen", 1n],
    ["frame", 0n],
  ]);
});

test("gaps of the run before for which a frame had no room mark nothing of the next", () => {
  const maker = new RowMaker();
  maker.rows(frame(9_000n));
  gapsBefore += 7n;
  const rows = maker.rows({ ...frame(500n), boot: 2 });
  assert.deepEqual(rows.map(({ kind, unlisted }) => [kind, unlisted ?? 0n]), [["frame", 0n]]);
});

test("a restart draws the gaps of the run before, and marks nothing of the next", () => {
  const maker = new RowMaker();
  maker.rows(frame(9_000_000n));
  const restart = gap(9_001_000n, 2000n);
  const rows = maker.rows({ ...frame(500n, restart), boot: 2 });
  assert.deepEqual(rows.map(({ kind, first, end, boot }) => [kind, first, end, boot]), [
    ["gap", 9_001_000n, 9_002_000n, 1],
    ["gap", 9_002_000n, 9_003_000n, 1],
    ["frame", 500n, 600n, 2],
  ]);
  assert.equal(maker.rows({ ...frame(1500n), boot: 2 }).length, 1);
});

test("a restart at a higher index marks no index of either run", () => {
  const maker = new RowMaker();
  maker.rows(frame(0n));
  const rows = maker.rows({ ...frame(9_000_000n, gap(100n, 900n), gap(8_999_000n, 50n, 2)), boot: 2 });
  assert.deepEqual(rows.map(({ kind, first, end, boot }) => [kind, first, end, boot]), [
    ["gap", 100n, 1000n, 1],
    ["gap", 8_999_000n, 8_999_050n, 2],
    ["frame", 9_000_000n, 9_000_100n, 2],
  ]);
});

test("gaps of two runs share no row", () => {
  const maker = new RowMaker();
  maker.rows(frame(0n));
  const rows = maker.rows({ ...frame(300n, gap(150n, 10n), gap(200n, 10n, 2)), boot: 2 });
  assert.deepEqual(rows.map((row) => row.gaps.length), [1, 1, 0]);
});

test("a gap at the beginning of the next run has its own row", () => {
  const maker = new RowMaker();
  maker.rows(frame(9_000_000n));
  const rows = maker.rows({ ...frame(60n, gap(9_000_100n, 100n), gap(10n, 40n, 2)), boot: 2 });
  assert.deepEqual(rows.map(({ kind, first, end }) => [kind, first, end]), [
    ["gap", 9_000_100n, 9_000_200n],
    ["gap", 10n, 50n],
    ["frame", 60n, 160n],
  ]);
});
