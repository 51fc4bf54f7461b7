// The band that is viewed, and the levels that are drawn.

/** @typedef {import("./frame.js").Frame} Frame */

/** How many times the stream's rate may be narrowed. */
export const ZOOM_MAX = 64;

/**
 * A part of the band of a stream.
 * @typedef {object} Band
 * @property {number} zoom
 * @property {number} centre in parts of the stream's rate
 */

/**
 * The band, narrowed by a factor around a place, within that of the stream.
 * @param {Band} band
 * @param {number} factor
 * @param {number} around in parts of the stream's rate
 * @returns {Band}
 */
export function zoomed(band, factor, around = band.centre) {
  const zoom = Math.min(ZOOM_MAX, Math.max(1, band.zoom * factor));
  const centre = around + (band.centre - around) * (band.zoom / zoom);
  return { zoom, centre: within(centre, zoom) };
}

/**
 * The band, moved by parts of its width, within that of the stream.
 * @param {Band} band
 * @param {number} by
 * @returns {Band}
 */
export function moved({ zoom, centre }, by) {
  return { zoom, centre: within(centre + by / zoom, zoom) };
}

/**
 * @param {number} centre
 * @param {number} zoom
 */
function within(centre, zoom) {
  const half = 0.5 - 0.5 / zoom;
  return Math.min(half, Math.max(-half, centre));
}

/**
 * Floor and ceiling that fit a frame.
 * @param {Frame} frame
 */
export function fittedLevels(frame) {
  const sorted = Uint8Array.from(frame.mean).sort();
  /** @param {number} byte */
  const db = (byte) => frame.offsetDb + frame.stepDb * byte;
  const floor = db(sorted[Math.floor(sorted.length / 10)]);
  const highest = db(frame.peak.reduce((most, byte) => Math.max(most, byte), 0));
  const floorDb = Math.max(-140, 5 * Math.floor((floor - 8) / 5));
  const ceilingDb = Math.min(5, Math.max(floorDb + 30, 5 * Math.ceil((highest + 4) / 5)));
  return { floorDb, ceilingDb };
}
