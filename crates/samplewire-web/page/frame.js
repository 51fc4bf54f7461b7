// Frames of the server: docs/web.md#frames.

/**
 * @typedef {object} Gap
 * @property {bigint} first
 * @property {bigint} len
 * @property {number} cause position in the list of causes
 * @property {number} hop position in the list of hops
 * @property {number | null} stream
 * @property {number} boot number of the device's run, or of the session
 */

/**
 * @typedef {object} Frame
 * @property {number} source
 * @property {number} stream
 * @property {number} channel
 * @property {number} number
 * @property {number} omitted
 * @property {number} transforms
 * @property {bigint} index
 * @property {bigint} lenSamples
 * @property {bigint} seenSamples
 * @property {bigint} deliveredSamples
 * @property {bigint} gapsBefore
 * @property {number} rateHz
 * @property {number} centreHz
 * @property {number} spanHz
 * @property {number} offsetDb
 * @property {number} stepDb
 * @property {bigint} rowSamples
 * @property {bigint | null} taiNs of the first sample
 * @property {bigint} position indexes before the first sample, over all runs of the device
 * @property {number} boot number of the device's run, or of the session
 * @property {Gap[]} gaps
 * @property {Uint8Array<ArrayBuffer>} mean
 * @property {Uint8Array<ArrayBuffer>} peak
 */

/** The version of the frames that this page reads. */
const VERSION = 2;
const HEADER_BYTES = 136;
const GAP_BYTES = 24;

/**
 * Reads a frame; throws where it is not one.
 * @param {ArrayBuffer} buffer
 * @returns {Frame}
 */
export function decode(buffer) {
  const view = new DataView(buffer);
  if (view.byteLength < 2 || view.getUint8(0) !== 1) {
    throw new Error("The program sends no frames that this page reads");
  }
  const version = view.getUint8(1);
  if (version !== VERSION) {
    throw new Error(`The program sends frames of version ${version}, and this page reads version ${VERSION}`);
  }
  if (view.byteLength < HEADER_BYTES) {
    throw new Error("The program sends a frame that is shorter than its header");
  }
  /** @param {number} at */
  const u16 = (at) => view.getUint16(at, true);
  /** @param {number} at */
  const u32 = (at) => view.getUint32(at, true);
  /** @param {number} at */
  const u64 = (at) => view.getBigUint64(at, true);
  /** @param {number} at */
  const f64 = (at) => view.getFloat64(at, true);
  const bins = u32(20);
  const gapCount = Number(u64(96));
  const levels = HEADER_BYTES + gapCount * GAP_BYTES;
  if (view.byteLength !== levels + 2 * bins) {
    throw new Error("The program sends a frame of another length than it states");
  }
  /** @type {Gap[]} */
  const gaps = [];
  for (let at = HEADER_BYTES; at < levels; at += GAP_BYTES) {
    const stream = u16(at + 18);
    gaps.push({
      first: u64(at),
      len: u64(at + 8),
      cause: view.getUint8(at + 16),
      hop: view.getUint8(at + 17),
      stream: stream === 0xffff ? null : stream,
      boot: u32(at + 20),
    });
  }
  return {
    source: u16(2),
    stream: u16(4),
    channel: u16(6),
    number: u32(8),
    omitted: u32(12),
    transforms: u32(16),
    index: u64(24),
    lenSamples: u64(32),
    seenSamples: u64(40),
    deliveredSamples: u64(48),
    gapsBefore: u64(56),
    rateHz: f64(64),
    centreHz: f64(72),
    spanHz: f64(80),
    offsetDb: view.getFloat32(88, true),
    stepDb: view.getFloat32(92, true),
    rowSamples: u64(104),
    taiNs: u64(112) || null,
    position: u64(120),
    boot: u32(128),
    gaps,
    mean: new Uint8Array(buffer, levels, bins),
    peak: new Uint8Array(buffer, levels + bins, bins),
  };
}
