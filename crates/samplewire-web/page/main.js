// The page: state, actions, and drawing once for each picture of the screen.

import { AccountView, element, made, say } from "./account.js";
import { Actions } from "./actions.js";
import { drawSpectrum, drawTimes, GUTTER } from "./axes.js";
import { fittedLevels, moved, ZOOM_MAX, zoomed } from "./band.js";
import { colormap } from "./colors.js";
import { Connection, takeToken } from "./connection.js";
import { followRows, stepRow } from "./cursor.js";
import { counted, frequency, grouped, measured, percent, span } from "./format.js";
import { clearGaps, downloadGaps, GapPages } from "./gaps.js";
import { History } from "./history.js";
import { listen, toggleDialog } from "./keys.js";
import { Plots } from "./plots.js";
import { Processes } from "./processes.js";
import { RowMaker } from "./rows.js";
import { fillStreams, streamsOf } from "./streams.js";
import { bytesOf, readTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { painter } from "./waterfall.js";
import { rowWords } from "./words.js";

/** @typedef {import("./frame.js").Frame} Frame */
/** @typedef {import("./account.js").Source} Source */
/** @typedef {import("./colors.js").MapName} MapName */

const BINS = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
const FRAMES_PER_SECOND = 30;

/** How long the page shows that it saw nothing for a while. */
const BLIND_MS = 60_000;
/** After so long without an update of the account, no sample arrives. */
const SILENT_MS = 2000;
const UNREADABLE_REMEDY = "Reload the page. If that does not help, serve the page by the program's own version.";

const spectrumCanvas = canvasIn("spectrum", "canvas");
const imageCanvas = canvasIn("waterfall", ".image");
const axisCanvas = canvasIn("waterfall", ".axis");

const history = new History();
const rowMaker = new RowMaker();
const waterfall = painter(imageCanvas, new URLSearchParams(location.search).has("plain"));

/** What the viewer has chosen. The stream may have fewer bins: see showBins. */
const view = { source: 0, stream: 0, channel: 0, bins: 2048, zoom: 1, centre: 0 };
const look = {
  lowHz: 0,
  spanHz: 1,
  floorDb: -120,
  ceilingDb: 0,
  map: colormap("viridis"),
  accent: /** @type {[number, number, number]} */ ([255, 145, 66]),
  back: /** @type {[number, number, number]} */ ([14, 18, 23]),
};
const state = {
  /** @type {import("./account.js").Terms | null} */
  terms: null,
  /** @type {Source[]} */
  sources: [],
  /** @type {Frame | null} */
  frame: null,
  /** The index after the last frame that has arrived, also while the picture is paused. */
  next: /** @type {{source: number, index: bigint} | null} */ (null),
  /** The source of the rows of the waterfall. @type {number | null} */
  pictured: null,
  /** The last frame that was confirmed to the program. */
  seen: 0,
  trace: "both",
  isPaused: false,
  isFitted: false,
  isDirty: true,
  /** @type {import("./cursor.js").Cursor | null} */
  cursor: null,
  /** When the connection was lost. @type {number | null} */
  lostAt: null,
  reason: "",
  /** CPU time of spectra of all samples, as a share of a core. @type {number | null} */
  cost: null,
  /** Why nothing is shown, in words, and what to do. */
  absent: "",
  absentRemedy: "",
  /** Why the last view was refused, in words. */
  refusal: "",
  /** The last view that the program has granted; it keeps that one when it refuses another. */
  granted: { source: 0, stream: 0, channel: 0, zoom: 1, centre: 0 },
  /** What both pictures show, in words. */
  words: "",
  /** How long nothing was seen, in words, and until when that is shown. */
  blind: "",
  blindUntil: 0,
  /** @type {{at: number, samples: bigint, rate: number} | null} */
  speed: null,
  /** The time of the latest account by the program's clock, and when it came first. */
  updated: { at: NaN, ms: 0 },
};
/** @type {AccountView | null} */
let account = null;
/** @type {Plots | null} */
let plots = null;
/** @type {Timeline | null} */
let timeline = null;

const connection = new Connection(takeToken(), {
  frame: takeFrame,
  message,
  opened: () => {
    if (state.lostAt !== null) {
      state.blind = `Nothing was seen for ${span((performance.now() - state.lostAt) / 1000)}.`;
      state.blindUntil = performance.now() + BLIND_MS;
    }
    state.lostAt = null;
    state.absent = "";
    state.next = null;
    // The program may be another one; its clock and its sums begin again.
    state.speed = null;
    actions.restart();
    request();
  },
  closed: (reason) => {
    state.lostAt ??= performance.now();
    state.reason = reason;
    showState();
  },
  unreadable: (words) => {
    state.absent = `${words}.`;
    state.absentRemedy = UNREADABLE_REMEDY;
    showState();
  },
});

const actions = new Actions(connection, {
  source: () => view.source,
  index: () => (state.next?.source === view.source ? String(state.next.index) : null),
  refuse: (words) => {
    state.refusal = words;
    showState();
  },
});

const processes = new Processes(connection, {
  changed: () => {
    state.sources = [];
    state.lostAt = null;
    state.blind = "";
    clear();
    choose("0/0/0");
  },
  absent: (words) => {
    state.absent = words;
    state.absentRemedy = "";
    showState();
  },
});

/**
 * @param {string} id
 * @param {string} selector
 */
function canvasIn(id, selector) {
  return /** @type {HTMLCanvasElement} */ (element(id).querySelector(selector));
}

/** Requests the view from the program. */
function request() {
  connection.send({ view: { ...view, fps: FRAMES_PER_SECOND } });
}

/** @param {any} message */
function message(message) {
  if (message.type === "terms") {
    state.terms = message;
    account = new AccountView(message);
    plots?.destroy();
    plots = new Plots(element("plots"), message);
    plots.build(theme());
    const canvas = /** @type {HTMLCanvasElement} */ (element("timeline"));
    timeline = new Timeline(canvas, element("timeline-tip"), message, seek, () => timeline?.draw(theme()));
  } else if (message.type === "account") {
    const isNew = message.sources.length > state.sources.length;
    state.sources = message.sources;
    // Through this page, other processes are only read.
    const control = { ...message.control, is_allowed: !processes.shown && message.control.is_allowed };
    actions.update(control, source()?.recordings ?? []);
    state.cost = message.cost ?? null;
    if (isNew && state.refusal) {
      // The stream that was not there may be there.
      request();
    }
    showAccount();
  } else if (message.type === "view") {
    const { source, stream, channel, zoom, centre } = message;
    state.granted = { source, stream, channel, zoom, centre };
    Object.assign(view, state.granted);
    state.refusal = "";
    showBins(message.bins);
    showState();
  } else if (message.type === "refused") {
    state.refusal = `${message.reason}.`;
    Object.assign(view, state.granted);
    actions.update(actions.control, source()?.recordings ?? []);
    showStream();
    showState();
  }
}

/** The source that is viewed. */
function source() {
  return state.sources[view.source];
}

function showAccount() {
  listStreams();
  const it = source();
  if (!it || !account) {
    return;
  }
  account.update(it);
  const stream = it.streams[view.stream];
  const title = `${it.verb} ${it.origin}`.trim();
  say(element("origin"), [title, stream?.name, stream?.format].filter(Boolean).join(" · "));
  document.title = `${it.level === "whole" ? "" : `${it.level}: `}${title} – Samplewire`;
  showRate(it);
  showState();
}

/** @param {Source} it */
function showRate(it) {
  // By the program's clock: messages may be held up.
  const now = it.at_s;
  if (now !== state.updated.at) {
    state.updated = { at: now, ms: performance.now() };
  }
  const samples = BigInt(it.samples);
  if (state.speed === null || samples < state.speed.samples) {
    state.speed = { at: now, samples, rate: NaN };
  } else if (now - state.speed.at >= 1) {
    const rate = Number(samples - state.speed.samples) / (now - state.speed.at);
    state.speed = { at: now, samples, rate };
    plots?.add(now, rate, it.counters, it.repairs, it.role === "sent");
  }
  const nominal = it.streams[view.stream]?.rate_hz ?? 0;
  const isSilent = performance.now() - state.updated.ms >= SILENT_MS;
  const rate = isSilent && !Number.isNaN(state.speed.rate) ? 0 : state.speed.rate;
  say(element("rate"), it.ended ? "ended" : Number.isNaN(rate) ? "–" : measured(rate, "S/s"));
  say(element("nominal"), nominal ? `of ${measured(nominal, "S/s")}` : "rate unknown");
}

function showState() {
  const place = element("state");
  if (state.absent) {
    place.dataset.level = "lost";
    say(element("sentence"), state.absent);
    say(element("remedy"), state.absentRemedy);
    return;
  }
  if (state.lostAt !== null) {
    const seconds = (performance.now() - state.lostAt) / 1000;
    place.dataset.level = "lost";
    say(element("sentence"), `Not connected for ${seconds.toFixed(0)} s. Trying again.`);
    const wrong = "The program has ended, or this page's token is not its own: open the URL that it printed.";
    say(element("remedy"), state.reason || wrong);
    return;
  }
  const it = source();
  if (it) {
    place.dataset.level = it.level;
    say(element("sentence"), it.sentence);
  }
  const remedy = it?.remedy ? `What to do: ${it.remedy}.` : "";
  const blind = performance.now() < state.blindUntil ? state.blind : "";
  say(element("remedy"), [state.refusal, remedy, blind].filter(Boolean).join(" "));
}

/** Lists the streams and their channels. */
function listStreams() {
  if (fillStreams(/** @type {HTMLSelectElement} */ (element("stream")), state.sources)) {
    showStream();
  }
}

function showStream() {
  const place = /** @type {HTMLSelectElement} */ (element("stream"));
  place.value = `${view.source}/${view.stream}/${view.channel}`;
}

/** @param {string} value */
function choose(value) {
  const [from, stream, channel] = value.split("/").map(Number);
  if (from !== view.source) {
    state.frame = null;
    leaveLoss();
  }
  Object.assign(view, { source: from, stream, channel, zoom: 1, centre: 0 });
  state.speed = null;
  plots?.restart();
  state.isFitted = false;
  state.next = null;
  actions.update(actions.control, source()?.recordings ?? []);
  showStream();
  request();
  showAccount();
  readTimeline();
}

/** Forgets what another source has shown. */
function clearPicture() {
  state.frame = null;
  state.pictured = null;
  rowMaker.isFirst = true;
  history.clear();
  state.cursor = state.cursor?.isOfRow ? null : state.cursor;
  state.isDirty = true;
}

/** Forgets what another program has shown. */
function clear() {
  clearPicture();
  clearGaps();
  account?.clear();
  say(element("seen"), "");
  say(element("timeline-note"), "");
  if (timeline) {
    timeline.answer = null;
    leaveLoss();
  }
}

/** Confirms the last frame. A hidden page confirms none, so that the program omits the rest. */
function confirm() {
  if (!document.hidden) {
    connection.send({ seen: state.seen });
  }
}

/** @param {Frame} frame */
function takeFrame(frame) {
  state.seen = frame.number;
  // The program sends a few frames ahead: every third one is enough.
  if (frame.number % 3 === 0) {
    confirm();
  }
  state.next = { source: frame.source, index: frame.index + frame.lenSamples };
  if (state.isPaused) {
    return;
  }
  if (state.pictured !== null && state.pictured !== frame.source) {
    clearPicture();
  }
  state.pictured = frame.source;
  state.frame = { ...frame };
  const rows = rowMaker.rows(frame);
  state.cursor = followRows(state.cursor, rows.length, imageCanvas.clientHeight);
  for (const row of rows) {
    waterfall.painter.update(history, history.push(row, state.trace === "peak"));
  }
  look.lowHz = frame.centreHz - frame.spanHz / 2;
  look.spanHz = frame.spanHz;
  if (!state.isFitted) {
    state.isFitted = true;
    fitLevels();
  }
  state.isDirty = true;
}

/** @param {Frame} frame */
function showSeen(frame) {
  const share = Number(frame.seenSamples) / Math.max(1, Number(frame.deliveredSamples + frame.lenSamples));
  const width = measured(frame.spanHz / frame.mean.length, "Hz");
  const cost = state.cost === null ? "" : `, at ${percent(state.cost)} of a core`;
  const omitted = frame.omitted > 0 ? `, ${counted(frame.omitted, "frame")} omitted` : "";
  say(
    element("seen"),
    `Frames cover ${percent(Math.min(1, share))} of all samples${cost}${omitted}. ` +
      `Each: ${counted(frame.lenSamples, "sample")}, ${counted(frame.transforms, "transform")}, ` +
      `bins of ${width}. Drawn by ${waterfall.name}.`,
  );
}

/** Sets floor and ceiling by the last frame. */
function fitLevels() {
  if (state.frame) {
    Object.assign(look, fittedLevels(state.frame));
    state.isDirty = true;
  }
}

/** @param {"floorDb" | "ceilingDb"} which @param {number} by */
function shift(which, by) {
  const moved = { ...look, [which]: look[which] + by };
  if (moved.ceilingDb - moved.floorDb >= 10 && moved.floorDb >= -150 && moved.ceilingDb <= 20) {
    look[which] = moved[which];
    state.isDirty = true;
  }
}

/**
 * Narrows or widens the band.
 * @param {number} factor
 * @param {number} [around] in parts of the stream's rate
 */
function zoom(factor, around) {
  Object.assign(view, zoomed(view, factor, around));
  request();
}

/** @param {number} by parts of the view */
function move(by) {
  Object.assign(view, moved(view, by));
  request();
}

/**
 * The colours and the font of the page, as the style sheet has them.
 * @type {import("./theme.js").PageTheme | null}
 */
let colors = null;

function theme() {
  colors ??= readTheme();
  return colors;
}

/**
 * Goes on at a position of a recording; a stream has only its present one.
 * @param {number} position
 */
function seek(position) {
  if (source()?.is_recording) {
    connection.send({ seek: Math.max(0, position) });
  }
}

/**
 * Moves in a recording by parts of it.
 * @param {number} by
 */
function skip(by) {
  const it = source();
  if (it && state.frame) {
    seek(Math.floor(Number(state.frame.position) + by * Number(it.positions)));
  }
}

/** @param {string} name */
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("samplewire-theme", name);
  say(element("theme"), name === "dark" ? "Light" : "Dark");
  colors = readTheme();
  look.accent = bytesOf(colors.accent);
  look.back = bytesOf(colors.back);
  plots?.build(colors);
  timeline?.draw(colors);
  state.isDirty = true;
}

function switchTheme() {
  setTheme(document.documentElement.dataset.theme === "light" ? "dark" : "light");
}

/** @param {MapName} name */
function setMap(name) {
  look.map = colormap(name);
  /** @type {HTMLSelectElement} */ (element("map")).value = name;
  localStorage.setItem("samplewire-map", name);
  state.isDirty = true;
}

/** @param {string} trace */
function setTrace(trace) {
  state.trace = trace;
  /** @type {HTMLSelectElement} */ (element("trace")).value = trace;
  state.isDirty = true;
}

function pause() {
  state.isPaused = !state.isPaused;
  element("pause").setAttribute("aria-pressed", String(state.isPaused));
  say(element("pause"), state.isPaused ? "Continue" : "Pause");
}

const gapPages = new GapPages(connection);

async function showGaps() {
  if (toggleDialog("gaps") && state.terms) {
    await gapPages.latest(view.source, state.terms);
  }
}

function download() {
  return downloadGaps(connection, view.source);
}

async function readTimeline() {
  const it = source();
  if (!timeline || !it || state.lostAt !== null || document.hidden) {
    return;
  }
  const columns = Math.min(4096, Math.max(100, Math.round(element("timeline").clientWidth)));
  try {
    const from = view.source;
    const answer = await connection.json(`/api/timeline?source=${from}&columns=${columns}`);
    if (answer === null || from !== view.source) {
      return;
    }
    timeline.set(answer, it.streams[view.stream]?.rate_hz ?? 0);
    timeline.draw(theme());
    const rate = it.streams[view.stream]?.rate_hz ?? 0;
    const time = rate ? `, ${span(Number(it.positions) / rate)}` : "";
    say(element("timeline-note"), `${grouped(it.positions)} indexes${time}`);
  } catch {
    // The connection is being lost, which the page states.
  }
}

/** Puts the image on whole pixels of the screen: a row is not smeared over two. */
function fitImage() {
  const ratio = devicePixelRatio;
  const box = element("waterfall").getBoundingClientRect();
  const [left, top] = [scrollX + box.left + GUTTER, scrollY + box.top];
  const [x, y] = [Math.ceil(left * ratio), Math.ceil(top * ratio)];
  const width = Math.max(1, Math.floor((scrollX + box.right) * ratio) - x);
  const height = Math.max(1, Math.floor((scrollY + box.bottom) * ratio) - y);
  if (imageCanvas.width !== width || imageCanvas.height !== height) {
    imageCanvas.width = width;
    imageCanvas.height = height;
  }
  Object.assign(imageCanvas.style, {
    left: `${GUTTER + x / ratio - left}px`,
    top: `${y / ratio - top}px`,
    width: `${width / ratio}px`,
    height: `${height / ratio}px`,
  });
}

/** Draws, if something has changed. */
function draw() {
  if (state.isDirty) {
    state.isDirty = false;
    if (state.frame) {
      showSeen(state.frame);
    }
    fitImage();
    waterfall.painter.draw(history, look, devicePixelRatio);
    const cursorHz = pointed()?.hz ?? null;
    const levels = `levels from ${look.floorDb} to ${look.ceilingDb} dBFS`;
    const band = `${frequency(look.lowHz, 1)} to ${frequency(look.lowHz + look.spanHz, 1)}`;
    const times = state.frame?.taiNs ? ", times in UTC" : "";
    const words = `${levels}, ${band}${times}`.replaceAll("-", "−");
    if (state.words !== words) {
      state.words = words;
      spectrumCanvas.setAttribute("aria-label", `Spectrum: ${words}`);
      imageCanvas.setAttribute("aria-label", `Waterfall, missing indexes hatched: ${words}`);
    }
    drawSpectrum(spectrumCanvas, state.frame, look, theme(), { trace: state.trace, cursorHz });
    drawTimes(axisCanvas, history, theme(), state.cursor);
    showPointed();
  }
  requestAnimationFrame(draw);
}

/** What is at the cursor. */
function pointed() {
  if (!state.cursor || state.cursor.x < 0) {
    return null;
  }
  const { x, y, isImage } = state.cursor;
  const hz = look.lowHz + (look.spanHz * x) / Math.max(1, imageCanvas.clientWidth);
  return { hz, depth: Math.floor(y), isImage };
}

function showPointed() {
  const found = pointed();
  const [readout, tip] = [element("readout"), element("tip")];
  const frame = state.frame;
  tip.hidden = true;
  if (!found || !frame) {
    say(readout, "\u00a0");
    return;
  }
  const step = frame.spanHz / frame.mean.length;
  const bin = Math.floor((found.hz - (frame.centreHz - frame.spanHz / 2)) / step);
  /** @param {Uint8Array} bytes */
  const level = (bytes) => (frame.offsetDb + frame.stepDb * (bytes[bin] ?? 0)).toFixed(1).replace("-", "−");
  const where = frequency(found.hz, step, look.lowHz + look.spanHz).replace("-", "−");
  say(readout, `${where}   mean ${level(frame.mean)}   peak ${level(frame.peak)} dBFS`);
  const words = found.isImage && state.terms ? rowWords(history, found, state.terms) : "";
  if (!words || !state.cursor) {
    return;
  }
  tip.textContent = words;
  tip.hidden = false;
  const right = imageCanvas.clientWidth - state.cursor.x < 320;
  tip.style.left = right ? "auto" : `${GUTTER + state.cursor.x + 14}px`;
  tip.style.right = right ? `${imageCanvas.clientWidth - state.cursor.x + 14}px` : "auto";
  tip.style.top = `${Math.min(state.cursor.y + 10, imageCanvas.clientHeight - 70)}px`;
}

/**
 * Moves the cursor by rows, in the middle of the band, and reads out what is there.
 * @param {number} by
 */
function readRow(by) {
  const { clientWidth, clientHeight } = imageCanvas;
  state.cursor = stepRow(state.cursor, by, { clientWidth, clientHeight }, (depth) => history.at(depth).row !== null);
  state.isDirty = true;
  showPointed();
  const tip = element("tip");
  say(element("row-words"), tip.hidden ? "No row." : `${tip.textContent}\n${element("readout").textContent}`);
}

/** @param {1 | -1} by */
function readLoss(by) {
  timeline?.step(by);
  timeline?.draw(theme());
}

function leaveLoss() {
  timeline?.leave();
  timeline?.draw(theme());
}

function leaveRow() {
  leaveLoss();
  state.cursor = null;
  state.isDirty = true;
  say(element("row-words"), "");
}

/**
 * Follows the pointer over a canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {number} left where the picture begins
 */
function follow(canvas, left) {
  canvas.onpointermove = ({ offsetX, offsetY }) => {
    state.cursor = { x: offsetX - left, y: offsetY, isImage: canvas === imageCanvas, isOfRow: false };
    state.isDirty = true;
  };
  canvas.onpointerleave = () => {
    state.cursor = null;
    state.isDirty = true;
  };
  canvas.onwheel = (event) => {
    event.preventDefault();
    const width = Math.max(1, imageCanvas.clientWidth);
    const around = view.centre + ((event.offsetX - left) / width - 0.5) / view.zoom;
    if (event.deltaY !== 0) {
      zoom(event.deltaY < 0 ? 2 : 0.5, around);
    }
  };
}

/**
 * Calls back when a choice changes.
 * @param {string} id
 * @param {(value: string) => void} call
 */
function onChoice(id, call) {
  const select = /** @type {HTMLSelectElement} */ (element(id));
  select.onchange = () => call(select.value);
}

/**
 * The choice behind this one.
 * @template T
 * @param {T[]} list
 * @param {T} value
 */
function after(list, value) {
  return list[(list.indexOf(value) + 1) % list.length];
}

/** @param {number} bins */
function setBins(bins) {
  view.bins = bins;
  showBins(bins);
  request();
}

/**
 * Shows the number of bins of the view. A stream of many channels may have fewer than can be chosen;
 * they are shown, and never requested.
 * @param {number} bins
 */
function showBins(bins) {
  const select = /** @type {HTMLSelectElement} */ (element("bins"));
  select.querySelector("[disabled]")?.remove();
  if (!BINS.includes(bins)) {
    const option = /** @type {HTMLOptionElement} */ (made("option", String(bins)));
    option.disabled = true;
    select.prepend(option);
  }
  select.value = String(bins);
}

element("bins").replaceChildren(...BINS.map((bins) => made("option", String(bins))));
/** @type {HTMLSelectElement} */ (element("bins")).value = String(view.bins);
onChoice("stream", choose);
onChoice("bins", (bins) => setBins(Number(bins)));
onChoice("trace", setTrace);
onChoice("map", (name) => setMap(/** @type {MapName} */ (name)));
element("pause").onclick = pause;
element("fit").onclick = fitLevels;
element("theme").onclick = switchTheme;
element("open-gaps").onclick = showGaps;
element("gaps-older").onclick = () => gapPages.older();
element("gaps-latest").onclick = () => gapPages.list("");
element("open-help").onclick = () => toggleDialog("help");
element("download").onclick = download;
follow(spectrumCanvas, GUTTER);
follow(imageCanvas, 0);
listen([
  { keys: [" "], words: "pause and continue the picture; the account goes on", run: pause, isOnce: true },
  { keys: ["ArrowLeft"], words: "move the band down", run: () => move(-0.25) },
  { keys: ["ArrowRight"], words: "move the band up", run: () => move(0.25) },
  { keys: ["+", "="], words: "narrow the band to half", run: () => zoom(2) },
  { keys: ["-"], words: "widen the band to twice", run: () => zoom(0.5) },
  { keys: ["0"], words: "show the whole band", run: () => zoom(1 / ZOOM_MAX) },
  { keys: ["r"], words: "play a recording from its beginning", run: () => seek(0) },
  { keys: [",", "."], words: "go back and on in a recording", run: (key) => skip(key === "," ? -0.1 : 0.1) },
  { keys: ["b"], words: "next number of bins", run: () => setBins(after(BINS, view.bins)) },
  { keys: ["p"], words: "mean and peak, mean, peak", run: () => setTrace(after(["both", "mean", "peak"], state.trace)) },
  {
    keys: ["c"],
    words: "colours: viridis or turbo",
    run: () => setMap(/** @type {HTMLSelectElement} */ (element("map")).value === "turbo" ? "viridis" : "turbo"),
  },
  { keys: ["[", "]"], words: "lower and raise the floor of the levels", run: (key) => shift("floorDb", key === "[" ? -5 : 5) },
  { keys: ["{", "}"], words: "lower and raise the ceiling of the levels", run: (key) => shift("ceilingDb", key === "{" ? -5 : 5) },
  { keys: ["l"], words: "fit the levels to the picture", run: fitLevels },
  { keys: ["j", "k"], words: "read the next older and newer row of the waterfall", run: (key) => readRow(key === "j" ? 1 : -1) },
  { keys: ["<", ">"], words: "read the next earlier and later loss of the whole stream", run: (key) => readLoss(key === "<" ? -1 : 1) },
  { keys: ["Escape"], words: "leave the row and the loss", run: leaveRow },
  {
    keys: ["i"],
    words: "go to the whole stream; there, ← → PgUp PgDn Home End read a place of it, and Enter plays a recording from it",
    run: () => element("timeline").focus(),
  },
  { keys: ["t"], words: "dark or light", run: switchTheme },
  { keys: ["s"], words: "next stream or channel", run: () => choose(nextStream()) },
  { keys: ["n"], words: "next process, on a page of several", run: () => processes.next() },
  { keys: ["g"], words: "list of gaps", run: showGaps, isOnce: true },
  { keys: ["d"], words: "download the gaps as CSV", run: download, isOnce: true },
  ...actions.keys(),
  { keys: ["?"], words: "this list", run: () => toggleDialog("help"), isOnce: true },
]);

function nextStream() {
  const values = streamsOf(state.sources).map(({ value }) => value);
  return after(values, `${view.source}/${view.stream}/${view.channel}`) ?? "0/0/0";
}

const isLight = matchMedia("(prefers-color-scheme: light)").matches;
setTheme(localStorage.getItem("samplewire-theme") ?? (isLight ? "light" : "dark"));
setMap(localStorage.getItem("samplewire-map") === "turbo" ? "turbo" : "viridis");
new ResizeObserver(() => {
  state.isDirty = true;
  plots?.resize();
  timeline?.draw(theme());
}).observe(element("waterfall"));
setInterval(() => {
  readTimeline();
  showState();
}, 1000);
document.addEventListener("visibilitychange", confirm);
// The user has pasted the URL of a program that was started again.
addEventListener("hashchange", () => connection.use(takeToken()));
processes.start();
requestAnimationFrame(draw);
