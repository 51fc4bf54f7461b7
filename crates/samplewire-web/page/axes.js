// The spectrum, and the axes that it shares with the waterfall.

import { frequency, niceStep, span, utc } from "./format.js";

/** @typedef {import("./frame.js").Frame} Frame */
/** @typedef {import("./waterfall.js").Look} Look */

/** The width of the labels on the left, in CSS pixels: also in style.css. */
export const GUTTER = 60;
/** The height of the labels of the frequency axis. */
export const FOOT = 22;
/** The height of the unit of the levels. */
const HEAD = 14;

/**
 * @typedef {object} Theme
 * @property {string} text
 * @property {string} muted
 * @property {string} line
 * @property {string} accent
 * @property {string} trace
 * @property {string} fill
 * @property {string} font
 */

/**
 * Fits a canvas to its size on the page; returns its context in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function fitted(canvas) {
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/**
 * Draws levels over frequency.
 * @param {HTMLCanvasElement} canvas
 * @param {Frame | null} frame
 * @param {Look} look
 * @param {Theme} theme
 * @param {{trace: string, cursorHz: number | null}} options
 */
export function drawSpectrum(canvas, frame, look, theme, options) {
  const { context, width, height } = fitted(canvas);
  const plot = { left: GUTTER, top: HEAD, width: width - GUTTER, height: height - FOOT - HEAD };
  const range = look.ceilingDb - look.floorDb;
  /** @param {number} db */
  const y = (db) => plot.top + (plot.height * (look.ceilingDb - db)) / range;
  context.font = theme.font;
  context.textBaseline = "middle";
  context.lineWidth = 1;
  drawLevels(context, plot, look, theme, y);
  drawFrequencies(context, plot, look, theme);
  if (!frame) {
    return;
  }
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.clip();
  if (options.trace !== "mean") {
    drawTrace(context, plot, frame, frame.peak, look, y);
    context.strokeStyle = theme.muted;
    context.stroke();
  }
  if (options.trace !== "peak") {
    drawTrace(context, plot, frame, frame.mean, look, y);
    context.strokeStyle = theme.trace;
    context.lineWidth = 1.5;
    context.stroke();
    context.lineTo(plot.left + plot.width, plot.top + plot.height);
    context.lineTo(plot.left, plot.top + plot.height);
    context.fillStyle = theme.fill;
    context.fill();
  }
  if (options.cursorHz !== null) {
    const x = plot.left + (plot.width * (options.cursorHz - look.lowHz)) / look.spanHz;
    context.fillStyle = theme.text;
    context.fillRect(Math.round(x), plot.top, 1, plot.height);
  }
  context.restore();
}

/**
 * The level axis: labels, lines, and the colours of the waterfall.
 * @param {CanvasRenderingContext2D} context
 * @param {{left: number, top: number, width: number, height: number}} plot
 * @param {Look} look
 * @param {Theme} theme
 * @param {(db: number) => number} y
 */
function drawLevels(context, plot, look, theme, y) {
  const range = look.ceilingDb - look.floorDb;
  const step = Math.max(1, niceStep(range, plot.height / 34));
  context.textAlign = "right";
  for (let db = Math.ceil(look.floorDb / step) * step; db <= look.ceilingDb; db += step) {
    const at = Math.round(y(db)) + 0.5;
    context.strokeStyle = theme.line;
    context.beginPath();
    context.moveTo(plot.left, at);
    context.lineTo(plot.left + plot.width, at);
    context.stroke();
    context.fillStyle = theme.muted;
    context.fillText(String(Math.round(db)).replace("-", "−"), plot.left - 14, at);
  }
  context.fillText("dBFS", plot.left - 14, 5);
  for (let line = 0; line < plot.height; line += 1) {
    const shade = Math.round(255 * (1 - (line + 0.5) / plot.height));
    context.fillStyle = `rgb(${look.map.subarray(3 * shade, 3 * shade + 3).join(" ")})`;
    context.fillRect(plot.left - 8, plot.top + line, 5, 1);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{left: number, top: number, width: number, height: number}} plot
 * @param {Look} look
 * @param {Theme} theme
 */
function drawFrequencies(context, plot, look, theme) {
  const step = niceStep(look.spanHz, plot.width / 110);
  const highest = look.lowHz + look.spanHz;
  const around = Math.max(Math.abs(look.lowHz), Math.abs(highest));
  const bottom = plot.top + plot.height;
  context.textAlign = "center";
  for (let hz = Math.ceil(look.lowHz / step) * step; hz <= highest; hz += step) {
    const x = plot.left + (plot.width * (hz - look.lowHz)) / look.spanHz;
    context.strokeStyle = theme.line;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, plot.top);
    context.lineTo(Math.round(x) + 0.5, bottom + 4);
    context.stroke();
    const label = frequency(Math.abs(hz) < step / 1e3 ? 0 : hz, step, around);
    const half = context.measureText(label).width / 2;
    context.fillStyle = theme.muted;
    const right = plot.left + plot.width - half;
    context.fillText(label.replace("-", "−"), Math.min(Math.max(x, plot.left + half), right), bottom + 13);
  }
}

/**
 * The path of a trace: of several bins in a pixel the highest.
 * @param {CanvasRenderingContext2D} context
 * @param {{left: number, top: number, width: number, height: number}} plot
 * @param {Frame} frame
 * @param {Uint8Array} bytes
 * @param {Look} look
 * @param {(db: number) => number} y
 */
function drawTrace(context, plot, frame, bytes, look, y) {
  const low = frame.centreHz - frame.spanHz / 2;
  /** @param {number} x */
  const bin = (x) => ((look.lowHz + (look.spanHz * x) / plot.width - low) / frame.spanHz) * bytes.length;
  context.beginPath();
  const bottom = plot.top + plot.height;
  context.moveTo(plot.left, bottom);
  for (let x = 0; x <= plot.width; x += 1) {
    const begin = Math.floor(bin(x));
    const end = Math.max(begin + 1, Math.floor(bin(x + 1)));
    if (begin < 0 || begin >= bytes.length) {
      continue;
    }
    let level = 0;
    for (let at = begin; at < Math.min(end, bytes.length); at += 1) {
      level = Math.max(level, bytes[at]);
    }
    context.lineTo(plot.left + x, Math.min(bottom + 2, y(frame.offsetDb + frame.stepDb * level)));
  }
}

/**
 * The time axis of the waterfall: UTC where the stream has a time, else the time from index 0 on.
 * @param {HTMLCanvasElement} canvas
 * @param {import("./history.js").History} history
 * @param {Theme} theme
 * @param {import("./cursor.js").Cursor | null} cursor
 */
export function drawTimes(canvas, history, theme, cursor) {
  const { context, width, height } = fitted(canvas);
  context.font = theme.font;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (let depth = 20; depth < height - 8; depth += 80) {
    const { row } = history.at(depth);
    const frame = nearestFrame(history, depth);
    if (!row || !frame?.rateHz) {
      continue;
    }
    const taiNs = taiOf(row, frame);
    const words = taiNs === null ? clock(Number(row.first) / frame.rateHz) : utc(taiNs).slice(11, 19);
    context.fillStyle = theme.muted;
    context.fillText(words, GUTTER - 8, depth + 0.5);
    context.fillRect(GUTTER - 5, depth, 5, 1);
  }
  if (nearestFrame(history, 0)?.taiNs) {
    context.fillStyle = theme.muted;
    context.fillText("UTC", GUTTER - 8, 7);
  }
  if (cursor && cursor.x >= 0 && cursor.x < width - GUTTER) {
    context.fillStyle = "rgb(255 255 255 / 55%)";
    context.fillRect(Math.round(GUTTER + cursor.x), 0, 1, height);
    if (cursor.isOfRow) {
      context.fillRect(GUTTER - 5, cursor.y, width, 1);
    }
  }
}

/**
 * The time of a row in TAI nanoseconds, by a frame of the same stream; null if there is none in range.
 * @param {import("./rows.js").Row} row
 * @param {Frame} frame
 */
export function taiOf(row, frame) {
  if (frame.taiNs === null || !frame.rateHz) {
    return null;
  }
  const passedNs = (Number(row.first - frame.index) / frame.rateHz) * 1e9;
  const taiNs = frame.taiNs + BigInt(Math.round(passedNs));
  return taiNs > 0n && taiNs < 1n << 64n ? taiNs : null;
}

/**
 * The frame nearest to a row, of the same run of the device.
 * @param {import("./history.js").History} history
 * @param {number} depth
 */
export function nearestFrame(history, depth) {
  const boot = history.at(depth).row?.boot;
  for (let distance = 0; distance < 1024; distance += 1) {
    for (const at of [depth - distance, depth + distance]) {
      const frame = at >= 0 ? history.at(at).row?.frame : null;
      if (frame?.boot === boot && frame) {
        return frame;
      }
    }
  }
  return null;
}

/** @param {number} seconds */
function clock(seconds) {
  if (seconds < 60) {
    return span(seconds);
  }
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds % 60).toFixed(1).padStart(4, "0");
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours}:${String(minutes % 60).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
