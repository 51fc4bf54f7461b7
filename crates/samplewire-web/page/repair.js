// How long repairs took, from two counts of the same buckets.

/**
 * The bound of the bucket with this share of the packets that were repaired between two counts; null if
 * none were.
 * @param {number[]} bounds the largest latency of each bucket
 * @param {string[] | null} before
 * @param {string[] | null} now
 * @param {number} share 0.5 for half of them
 */
export function quantile(bounds, before, now, share) {
  if (!before || !now) {
    return null;
  }
  const counts = now.map((count, at) => Number(count) - Number(before[at]));
  const total = counts.reduce((sum, count) => sum + count, 0);
  // A stream that was opened again counts from 0.
  if (total <= 0 || counts.some((count) => count < 0)) {
    return null;
  }
  let sum = 0;
  const rank = Math.ceil(total * share);
  return bounds[counts.findIndex((count) => (sum += count) >= rank)];
}
