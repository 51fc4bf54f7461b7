// The list of streams and their channels, one of which is viewed.

import { made } from "./account.js";

/** @typedef {import("./account.js").Source} Source */

/** Channels of a stream that are listed. */
const CHANNELS_MAX = 64;

/**
 * All streams and their channels: in words, and as `SOURCE/STREAM/CHANNEL`.
 * @param {Source[]} sources
 */
export function streamsOf(sources) {
  return sources.flatMap((it, at) =>
    it.streams.flatMap(({ name, channels }, stream) =>
      Array.from({ length: Math.min(channels, CHANNELS_MAX) }, (_, channel) => {
        const number = it.streams.length > 1 ? ` ${stream}` : "";
        const part = channels > 1 ? `, channel ${channel}` : "";
        return { words: `${name || "stream"}${number}${part}`, value: `${at}/${stream}/${channel}` };
      }),
    ),
  );
}

/**
 * Fills a choice with the streams; returns whether they differ from those that it had.
 * @param {HTMLSelectElement} place
 * @param {Source[]} sources
 */
export function fillStreams(place, sources) {
  const options = streamsOf(sources);
  const key = JSON.stringify(options);
  if (place.dataset.key === key) {
    return false;
  }
  place.dataset.key = key;
  place.replaceChildren(
    ...options.map(({ words, value }) => {
      const option = /** @type {HTMLOptionElement} */ (made("option", words));
      option.value = value;
      return option;
    }),
  );
  return true;
}
