// The place whose words are shown: under the pointer, or in a row that keys have chosen.

/**
 * @typedef {object} Cursor
 * @property {number} x in CSS pixels from the left edge of the picture
 * @property {number} y from its top edge; a row of the waterfall is one pixel high
 * @property {boolean} isImage whether it is on the waterfall
 * @property {boolean} isOfRow whether it moves with its row
 */

/**
 * The cursor so many rows further down. It stays where there is no such row.
 * @param {Cursor | null} cursor
 * @param {number} by
 * @param {{clientWidth: number, clientHeight: number}} image
 * @param {(depth: number) => boolean} hasRow
 * @returns {Cursor | null}
 */
export function stepRow(cursor, by, image, hasRow) {
  const from = cursor?.isOfRow ? cursor.y : cursor?.isImage ? Math.floor(cursor.y) : null;
  const depth = from === null ? 0 : from + by;
  const isThere = depth >= 0 && depth < image.clientHeight && hasRow(depth);
  const y = isThere ? depth : from;
  return y === null ? null : { x: Math.floor(image.clientWidth / 2), y, isImage: true, isOfRow: true };
}

/**
 * The cursor when so many rows have come at the top; null when its row has left the picture.
 * @param {Cursor | null} cursor
 * @param {number} count
 * @param {number} height of the picture
 * @returns {Cursor | null}
 */
export function followRows(cursor, count, height) {
  if (!cursor?.isOfRow) {
    return cursor;
  }
  const y = cursor.y + count;
  return y < height ? { ...cursor, y } : null;
}
