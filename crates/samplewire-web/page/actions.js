// Actions on the stream: record it, note an event in the recording, end the stream.

import { element, say } from "./account.js";
import { counted, grouped, measured } from "./format.js";
import { toggleDialog } from "./keys.js";

/** @typedef {import("./connection.js").Connection} Connection */

/**
 * What the program permits.
 * @typedef {object} Control
 * @property {boolean} is_allowed
 * @property {string | null} folder
 * @property {string | null} free_bytes
 */

/**
 * @typedef {object} Recording
 * @property {string} name
 * @property {string} form
 * @property {string} state
 * @property {string} ended
 * @property {string} reason
 * @property {string} first
 * @property {string} next
 * @property {string} samples
 * @property {string} bytes
 * @property {string} gaps
 * @property {string} missing
 * @property {string} behind
 * @property {number} events
 */

/**
 * What the page shows at present.
 * @typedef {object} Shown
 * @property {() => number} source
 * @property {() => string | null} index the index behind the last frame
 * @property {(words: string) => void} refuse
 */

const NOT_ALLOWED = "This page only shows: start the program with --control to act.";

/**
 * The state of a recording as one sentence, without figures that change all the time.
 * @param {Recording | undefined} it
 */
export function sentence(it) {
  if (!it) {
    return "No recording.";
  }
  const reason = it.reason ? `: ${it.reason}` : "";
  const range = `index ${grouped(it.first)} to ${grouped(it.next)}`;
  switch (it.state) {
    case "waiting":
      return `${it.name} waits for index ${grouped(it.first)}.`;
    case "recording":
      return `Recording ${it.name} from index ${grouped(it.first)}.`;
    case "finishing":
      return `Completing ${it.name}: ${it.ended}.`;
    case "verifying":
      return `Verifying ${it.name}.`;
    case "removed":
      return `${it.name} did not begin: ${it.ended}.`;
    default:
      return `${it.name}: ${it.state}${reason}; ${range}, ${it.ended}.`;
  }
}

/**
 * The size of a recording, its gaps and the space on the disk.
 * @param {Recording | undefined} it
 * @param {Control} control
 */
export function figures(it, control) {
  const parts = [];
  if (it) {
    parts.push(measured(Number(it.bytes), "B"), counted(it.gaps, "gap"), counted(it.events, "event"));
    if (it.behind !== "0") {
      parts.push(`${counted(it.behind, "sample")} left out: the disk is too slow`);
    }
  }
  parts.push(control.free_bytes === null ? "no folder" : `${measured(Number(control.free_bytes), "B")} free`);
  return parts.join(", ");
}

export class Actions {
  /**
   * @param {Connection} connection
   * @param {Shown} shown
   */
  constructor(connection, shown) {
    this.connection = connection;
    this.shown = shown;
    /** @type {Control} */
    this.control = { is_allowed: false, folder: null, free_bytes: null };
    /** @type {Recording | undefined} */
    this.recording = undefined;
    /** The index of the event that is being written down. @type {string | null} */
    this.eventIndex = null;
    element("record").onclick = () => this.toggle();
    element("open-record").onclick = () => this.open("record-dialog");
    element("open-event").onclick = () => this.openEvent();
    element("open-end").onclick = () => this.open("end-dialog");
    this.onSubmit("record-form", () => this.record());
    this.onSubmit("event-form", () => this.note());
    this.onSubmit("end-form", () => this.act({ end: { source: shown.source() } }));
  }

  /** The keys of all actions. */
  keys() {
    return [
      { keys: ["w"], words: "record from here on, and stop", run: () => this.toggle() },
      { keys: ["R"], words: "record from an index, to an index", run: () => this.open("record-dialog") },
      { keys: ["m"], words: "mark an event in the recording", run: () => this.openEvent() },
      { keys: ["x"], words: "end the stream", run: () => this.open("end-dialog") },
    ];
  }

  /**
   * Shows what is recorded.
   * @param {Control} control
   * @param {Recording[]} recordings of the source that is shown
   */
  update(control, recordings) {
    this.control = control;
    this.recording = recordings.at(-1);
    element("acting").hidden = !control.is_allowed;
    const isUnderWay = this.isUnderWay();
    element("record").setAttribute("aria-pressed", String(isUnderWay));
    say(element("record"), isUnderWay ? "Stop" : "Record");
    /** @type {HTMLButtonElement} */ (element("record")).disabled = control.folder === null;
    /** @type {HTMLButtonElement} */ (element("open-record")).disabled = control.folder === null || isUnderWay;
    /** @type {HTMLButtonElement} */ (element("open-event")).disabled = !isUnderWay;
    const folder = control.folder === null ? "Recordings need --folder DIR." : sentence(this.recording);
    say(element("recording"), folder);
    element("recording").dataset.state = this.recording?.state ?? "";
    element("recording").title = control.folder ?? "";
    say(element("recording-figures"), figures(this.recording, control));
  }

  isUnderWay() {
    return ["waiting", "recording"].includes(this.recording?.state ?? "");
  }

  /** Starts a recording at the next index, or stops the one that is under way. */
  toggle() {
    const source = this.shown.source();
    this.act(this.isUnderWay() ? { stop: { source } } : { record: { source } });
  }

  /** Starts the recording of the dialog. */
  record() {
    /** @param {string} id */
    const value = (id) => /** @type {HTMLInputElement} */ (element(id)).value.trim();
    const [from, until] = [value("record-from"), value("record-until")].map((it) => it.replaceAll(",", ""));
    this.act({
      record: {
        source: this.shown.source(),
        ...(from ? { from } : {}),
        ...(until ? { until } : {}),
        name: value("record-name"),
        form: value("record-kind"),
      },
    });
  }

  /** Notes the event of the dialog. */
  note() {
    const place = /** @type {HTMLInputElement} */ (element("event-text"));
    const at = this.eventIndex === null ? {} : { at: this.eventIndex };
    this.act({ event: { source: this.shown.source(), text: place.value.trim(), ...at } });
    place.value = "";
  }

  /** Asks for the text of an event. Its index is that of this moment. */
  openEvent() {
    if (this.control.is_allowed && !this.isUnderWay()) {
      this.shown.refuse("An event is noted in a recording, and none is under way.");
      return;
    }
    this.eventIndex = this.shown.index();
    const at = this.eventIndex === null ? "the next index" : `index ${grouped(this.eventIndex)}`;
    say(element("event-place"), `At ${at}.`);
    this.open("event-dialog");
  }

  /** @param {string} id */
  open(id) {
    if (this.control.is_allowed) {
      toggleDialog(id);
    } else {
      this.shown.refuse(NOT_ALLOWED);
    }
  }

  /** @param {object} action */
  async act(action) {
    if (!this.control.is_allowed) {
      this.shown.refuse(NOT_ALLOWED);
      return;
    }
    try {
      await this.connection.act(action);
      this.shown.refuse("");
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.shown.refuse(`Refused: ${words}.`);
    }
  }

  /**
   * Acts when the form of a dialog is submitted, and closes the dialog.
   * @param {string} id
   * @param {() => void} run
   */
  onSubmit(id, run) {
    element(id).onsubmit = (event) => {
      event.preventDefault();
      element(id).closest("dialog")?.close();
      const button = /** @type {SubmitEvent} */ (event).submitter;
      if (!button?.hasAttribute("data-cancel")) {
        run();
      }
    };
  }
}
