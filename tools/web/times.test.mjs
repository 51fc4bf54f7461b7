// The time of rows: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { taiOf } from "../../crates/samplewire-web/page/axes.js";
import { moment, utc } from "../../crates/samplewire-web/page/format.js";

test("a time of TAI is shown as UTC, to the microsecond", () => {
  const taiNs = 1_800_000_000_123_456_789n;
  assert.equal(moment(taiNs), "2027-01-15 08:00:00.123456");
  assert.equal(utc(taiNs), "2027-01-15 07:59:23.123456");
});

test("times before 1970 and far ahead are dates too", () => {
  assert.equal(utc(1n), "1969-12-31 23:59:23.000000");
  assert.equal(moment((1n << 64n) - 1n), "2554-07-21 23:34:33.709551");
});

test("a row before or behind a frame has the time of its first index", () => {
  const frame = { index: 5_000_000n, rateHz: 2e6, taiNs: 1_000_000_000n };
  assert.equal(taiOf({ first: 5_000_002n }, frame), 1_000_001_000n);
  assert.equal(taiOf({ first: 4_000_000n }, frame), 500_000_000n);
  assert.equal(taiOf({ first: 0n }, frame), null, "it would be before 1970");
  assert.equal(taiOf({ first: 1n << 62n }, { ...frame, rateHz: 1e-9 }), null);
  assert.equal(taiOf({ first: 5_000_002n }, { ...frame, taiNs: null }), null);
});
