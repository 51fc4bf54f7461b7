// Keys: each action has one, and `?` lists them.

import { element, made } from "./account.js";

/**
 * @typedef {object} Action
 * @property {string[]} keys
 * @property {string} words
 * @property {(key: string) => void} run
 * @property {boolean} [isOnce] whether a key that is held acts once
 */

/** @type {Record<string, string>} */
const NAMES = { " ": "space", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

/**
 * Opens a dialog and closes the others, or closes it; returns whether it is open.
 * @param {string} id
 */
export function toggleDialog(id) {
  const dialog = /** @type {HTMLDialogElement} */ (element(id));
  if (dialog.open) {
    dialog.close();
  } else {
    document.querySelectorAll("dialog").forEach((other) => other.close());
    dialog.showModal();
  }
  return dialog.open;
}

/**
 * Listens to keys, and lists them in the help.
 * @param {Action[]} actions
 */
export function listen(actions) {
  const lines = actions.flatMap(({ keys, words }) => {
    const term = made("dt", "");
    term.append(...keys.map((key) => made("kbd", NAMES[key] ?? key)));
    return [term, made("dd", words)];
  });
  element("keys").replaceChildren(...lines);
  addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    // A field of a dialog that was closed has the focus until the next picture.
    const writes = target.matches("select, input, textarea") && !target.closest("dialog:not([open])");
    const presses = event.key === " " && target.matches("button, summary");
    if (event.ctrlKey || event.altKey || event.metaKey || writes || presses) {
      return;
    }
    const isOpen = document.querySelector("dialog[open]") !== null;
    const action = actions.find(({ keys }) => keys.includes(event.key));
    if (action && (!isOpen || "dg?".includes(event.key))) {
      event.preventDefault();
      if (!(event.repeat && action.isOnce)) {
        action.run(event.key);
      }
    }
  });
}
