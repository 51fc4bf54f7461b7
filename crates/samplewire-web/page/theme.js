// The colours and the font of the page, as the style sheet has them.

/** @typedef {import("./axes.js").Theme & {back: string, good: string}} PageTheme */

/** @returns {PageTheme} */
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: color("text"),
    muted: color("muted"),
    line: color("line"),
    accent: color("accent"),
    trace: color("trace"),
    fill: color("fill"),
    back: color("back"),
    good: color("good"),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
  };
}

/** @param {string} hex */
export function bytesOf(hex) {
  /** @param {number} at */
  const byte = (at) => parseInt(hex.slice(at, at + 2), 16);
  return /** @type {[number, number, number]} */ ([byte(1), byte(3), byte(5)]);
}
