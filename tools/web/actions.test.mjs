// What the page states of a recording: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { figures, markIndex, sentence } from "../../crates/samplewire-web/page/actions.js";

const RECORDING = {
  name: "a-1",
  state: "recording",
  ended: "",
  reason: "",
  first: "5000",
  next: "9000",
  bytes: "16000",
  gaps: "1",
  behind: "0",
  events: 2,
};
const CONTROL = { is_allowed: true, folder: "recordings", free_bytes: "12345678901" };

test("each state of a recording has its own sentence", () => {
  const ended = { ...RECORDING, ended: "a page stopped it" };
  const cases = [
    [undefined, "No recording."],
    [{ ...RECORDING, state: "waiting" }, "a-1 waits for index 5,000."],
    [RECORDING, "Recording a-1 from index 5,000."],
    [{ ...ended, state: "finishing" }, "Completing a-1: a page stopped it."],
    [{ ...ended, state: "verifying" }, "Verifying a-1."],
    [{ ...ended, state: "removed" }, "a-1 did not begin: a page stopped it."],
    [{ ...ended, state: "proven" }, "a-1: proven; index 5,000 to 9,000, a page stopped it."],
    [
      { ...ended, state: "not proven", reason: "the data differ" },
      "a-1: not proven: the data differ; index 5,000 to 9,000, a page stopped it.",
    ],
  ];
  for (const [recording, words] of cases) {
    assert.equal(sentence(recording), words);
  }
});

test("mark is in the recording, though the latest frame may be older", () => {
  assert.equal(markIndex("4999", RECORDING), "5000");
  assert.equal(markIndex("5001", RECORDING), "5001");
  const far = { ...RECORDING, first: "9007199254740993" };
  assert.equal(markIndex("9007199254740992", far), "9007199254740993", "beyond 2^53");
  assert.equal(markIndex("4999", { ...RECORDING, state: "waiting" }), "5000");
  assert.equal(markIndex("4999", undefined), "4999");
  assert.equal(markIndex(null, RECORDING), null);
});

test("figures name the space, and what a slow disk left out", () => {
  assert.equal(figures(undefined, CONTROL), "12.35 GB free");
  assert.equal(figures(undefined, { ...CONTROL, folder: null, free_bytes: null }), "no folder");
  assert.equal(figures(RECORDING, CONTROL), "16.00 kB, 1 gap, 2 events, 12.35 GB free");
  const behind = figures({ ...RECORDING, behind: "3000" }, CONTROL);
  assert.ok(behind.includes("3,000 samples left out: the disk is too slow"), behind);
});
