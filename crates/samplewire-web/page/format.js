// Numbers in words.

/**
 * `1,234,567`, of a number or of a string of digits.
 * @param {number | bigint | string} number
 */
export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * `1 frame`, `2 frames`.
 * @param {number | bigint | string} number
 * @param {string} noun
 */
export function counted(number, noun) {
  return `${grouped(number)} ${noun}${String(number) === "1" ? "" : "s"}`;
}

const PREFIXES = [
  { factor: 1e9, letter: "G" },
  { factor: 1e6, letter: "M" },
  { factor: 1e3, letter: "k" },
];

/**
 * `2.000 MS/s`, with four digits.
 * @param {number} value
 * @param {string} unit
 */
export function measured(value, unit) {
  const size = Math.abs(value);
  const prefix = PREFIXES.find(({ factor }) => size >= factor) ?? { factor: 1, letter: "" };
  const scaled = value / prefix.factor;
  const digits = Math.abs(scaled) >= 100 ? 1 : Math.abs(scaled) >= 10 ? 2 : 3;
  const text = prefix.factor === 1 && Number.isInteger(value) ? String(value) : scaled.toFixed(digits);
  return `${text} ${prefix.letter}${unit}`;
}

/**
 * A frequency with as many digits as `step` needs: `100.1250 MHz`.
 * @param {number} hz
 * @param {number} step
 * @param {number} around the frequency whose prefix is used
 */
export function frequency(hz, step, around = hz) {
  const size = Math.max(Math.abs(around), Math.abs(step));
  const prefix = PREFIXES.find(({ factor }) => size >= factor) ?? { factor: 1, letter: "" };
  const digits = Math.max(0, Math.ceil(-Math.log10(step / prefix.factor)));
  return `${(hz / prefix.factor).toFixed(Math.min(digits, 9))} ${prefix.letter}Hz`;
}

/**
 * `1 h 02 min`, `3.25 s`, `180 µs`.
 * @param {number} seconds
 */
export function span(seconds) {
  if (seconds >= 3600) {
    const minutes = String(Math.floor((seconds % 3600) / 60)).padStart(2, "0");
    return `${Math.floor(seconds / 3600)} h ${minutes} min`;
  }
  if (seconds >= 60) {
    const rest = String(Math.floor(seconds % 60)).padStart(2, "0");
    return `${Math.floor(seconds / 60)} min ${rest} s`;
  }
  if (seconds >= 1) {
    return `${seconds.toFixed(2)} s`;
  }
  return seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(2)} ms` : `${(seconds * 1e6).toFixed(0)} µs`;
}

/** TAI is so much ahead of UTC, since 2017. */
const LEAP_SECONDS = 37n;

/**
 * `2027-01-15 07:59:23.000000`, of a TAI time.
 * @param {bigint} taiNs since 1970
 */
export function utc(taiNs) {
  return moment(taiNs - LEAP_SECONDS * 1_000_000_000n);
}

/**
 * `2027-01-15 08:00:00.000000`, of nanoseconds since 1970 by any clock.
 * @param {bigint} ns
 */
export function moment(ns) {
  const second = 1_000_000_000n;
  const rest = ((ns % second) + second) % second;
  const date = new Date(Number((ns - rest) / 1_000_000n));
  const seconds = date.toISOString().slice(0, 19).replace("T", " ");
  return `${seconds}.${String(rest / 1000n).padStart(6, "0")}`;
}

/**
 * `0.0012 %`, with three digits that count.
 * @param {number} share
 */
export function percent(share) {
  const value = share * 100;
  if (value === 0 || value >= 100) {
    return `${value} %`;
  }
  if (value < 1e-6) {
    return "under 0.000001 %";
  }
  // A share just below one is not rounded to it.
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(value))));
  const text = value.toFixed(digits);
  return `${Number(text) >= 100 ? (Math.floor(value * 1e6) / 1e6).toFixed(6) : text} %`;
}

/**
 * Round steps that divide `range` into about `count` parts.
 * @param {number} range
 * @param {number} count
 */
export function niceStep(range, count) {
  const rough = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((step) => step * power >= rough) ?? 10) * power;
}
