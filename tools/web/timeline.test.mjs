// Reading the timeline by keys: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { Timeline } from "../../crates/samplewire-web/page/timeline.js";

const TERMS = { causes: [{ name: "deadline" }, { name: "source lost" }] };

/** A timeline of 100 columns of 10 samples, at 10 samples/s: columns 20 and 21 have losses. */
function made() {
  const seen = { seeks: [], drawn: 0, stopped: 0 };
  const canvas = { clientWidth: 100, setAttribute: () => {} };
  const tip = { textContent: "" };
  const redraw = () => (seen.drawn += 1);
  const timeline = new Timeline(canvas, tip, TERMS, (position) => seen.seeks.push(position), redraw);
  const stop = () => (seen.stopped += 1);
  const press = (key, more = {}) => {
    canvas.onkeydown({ key, ...more, preventDefault: () => {}, stopPropagation: stop });
    return tip.textContent;
  };
  return { timeline, canvas, tip, seen, press };
}

const ANSWER = {
  positions: "1000",
  first: "0",
  end: "1000",
  columns: [
    { first: "200", len: "10", missing: ["5", "0"], excluded: "0" },
    { first: "210", len: "10", missing: ["0", "1"], excluded: "2" },
  ],
};

test("keys of the focused timeline read each column, and do not move the band", () => {
  const { timeline, tip, seen, press } = made();
  press("ArrowRight");
  assert.equal(seen.stopped, 0, "there is nothing to read");
  timeline.set(ANSWER, 10);
  assert.match(press("Home"), /^550.00 ms: whole$/);
  press("ArrowLeft");
  assert.equal(timeline.read, 5, "the first column");
  for (let column = 1; column < 20; column += 1) {
    assert.match(press("ArrowRight"), /whole$/, `column ${column}`);
  }
  assert.match(press("ArrowRight"), /5 missing \(50.0 %\), deadline$/);
  assert.match(press("ArrowRight"), /1 missing \(10.0 %\), source lost; 2 excluded by START$/);
  assert.match(press("PageDown"), /whole$/);
  assert.equal(timeline.read, 715);
  press("PageDown");
  assert.equal(timeline.read, 995, "the last column");
  assert.equal(press("x") && timeline.read, 995);
  press("Home", { ctrlKey: true });
  assert.equal(timeline.read, 995, "a key of the browser");
  press("Enter");
  assert.deepEqual(seen.seeks, [995]);
  assert.equal(seen.drawn, 25);
  assert.equal(seen.stopped, 26);
  timeline.leave();
  assert.equal(tip.textContent.trim(), "");
});

test("the pointer leaves, and the place that keys read is shown again", () => {
  const { timeline, canvas, tip, press } = made();
  timeline.set(ANSWER, 10);
  press("Home");
  timeline.step(1);
  const words = tip.textContent;
  assert.match(words, /deadline$/);
  canvas.onpointermove({ offsetX: 90 });
  assert.match(tip.textContent, /whole$/);
  canvas.onpointerleave();
  assert.equal(tip.textContent, words);
});

test("losses are read one after the other", () => {
  const { timeline, tip } = made();
  timeline.set({ ...ANSWER, columns: [] }, 10);
  timeline.step(-1);
  assert.equal(tip.textContent, "No index is missing.");
  timeline.set(ANSWER, 10);
  const read = (by, words) => {
    timeline.step(by);
    assert.match(tip.textContent, words);
  };
  read(-1, /source lost/);
  read(-1, /deadline$/);
  read(-1, /^No earlier loss\.$/);
  read(1, /source lost/);
  read(1, /^No later loss\.$/);
  // From within a column of losses, and from places before and behind all.
  timeline.read = 215;
  read(-1, /deadline$/);
  timeline.read = 5;
  read(-1, /^No earlier loss\.$/);
  read(1, /deadline$/);
  timeline.read = 995;
  read(1, /^No later loss\.$/);
  read(-1, /source lost/);
});
