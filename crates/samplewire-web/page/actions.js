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
 * @property {() => string | null} index the index behind the last frame of the source that has arrived
 * @property {(words: string) => void} refuse
 */

const NOT_ALLOWED = "This page only shows: start the program with --control to act.";

/**
 * Where an event is: at the end of the latest frame, or at `first` of the recording if the frame ends
 * earlier.
 * @param {string | null} latest
 * @param {Recording | undefined} recording
 */
export function markIndex(latest, recording) {
  if (latest === null || recording === undefined) {
    return latest;
  }
  return BigInt(latest) < BigInt(recording.first) ? recording.first : latest;
}

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
    /** Where the event is that is being written down. @type {{source: number, at: string | null}} */
    this.event = { source: 0, at: null };
    /** Whether a start or a stop has no answer yet, or one that is not shown. */
    this.pending = { isAsked: false, isAnswered: false };
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
      { keys: ["w"], words: "record from here on, and stop", run: () => this.toggle(), isOnce: true },
      {
        keys: ["R"],
        words: "record from an index, to an index",
        run: () => this.open("record-dialog"),
        isOnce: true,
      },
      { keys: ["m"], words: "mark an event in the recording", run: () => this.openEvent(), isOnce: true },
      { keys: ["x"], words: "end the stream", run: () => this.open("end-dialog"), isOnce: true },
    ];
  }

  /** Forgets the program that was shown: another run has other indexes. */
  restart() {
    this.recording = undefined;
    this.pending = { isAsked: false, isAnswered: false };
    this.placeEvent(null);
  }

  /**
   * Shows what is recorded.
   * @param {Control} control
   * @param {Recording[]} recordings of the source that is shown
   */
  update(control, recordings) {
    this.control = control;
    this.recording = recordings.at(-1);
    if (this.pending.isAnswered) {
      this.pending = { isAsked: false, isAnswered: false };
    }
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
    this.change(this.isUnderWay() ? { stop: { source } } : { record: { source } });
  }

  /**
   * Starts or stops a recording, unless the last start or stop has no answer yet.
   * @param {object} action
   */
  async change(action) {
    if (this.pending.isAsked) {
      return;
    }
    const pending = { isAsked: true, isAnswered: false };
    this.pending = pending;
    const isDone = await this.act(action);
    // Once it is done, the next account shows it.
    pending.isAnswered = true;
    pending.isAsked = isDone;
  }

  /** Starts the recording of the dialog. */
  record() {
    /** @param {string} id */
    const value = (id) => /** @type {HTMLInputElement} */ (element(id)).value.trim();
    const [from, until] = [value("record-from"), value("record-until")].map((it) => it.replaceAll(",", ""));
    this.change({
      record: {
        source: this.shown.source(),
        ...(from ? { from } : {}),
        ...(until ? { until } : {}),
        name: value("record-name"),
        form: value("record-kind"),
      },
    });
  }

  /** Notes the event of the dialog. The text of a refused one stays. */
  async note() {
    const place = /** @type {HTMLInputElement} */ (element("event-text"));
    const [text, { source, at }] = [place.value, this.event];
    const isDone = await this.act({ event: { source, text: text.trim(), ...(at === null ? {} : { at }) } });
    if (isDone && place.value === text) {
      place.value = "";
    }
  }

  /** Asks for the text of an event. Its index is that of this moment. */
  openEvent() {
    if (this.control.is_allowed && !this.isUnderWay()) {
      this.shown.refuse("An event is noted in a recording, and none is under way.");
      return;
    }
    this.placeEvent(markIndex(this.shown.index(), this.recording));
    this.open("event-dialog");
  }

  /**
   * Fixes where the event is.
   * @param {string | null} at
   */
  placeEvent(at) {
    this.event = { source: this.shown.source(), at };
    say(element("event-place"), at === null ? "At the next index." : `At index ${grouped(at)}.`);
  }

  /** @param {string} id */
  open(id) {
    if (this.control.is_allowed) {
      toggleDialog(id);
    } else {
      this.shown.refuse(NOT_ALLOWED);
    }
  }

  /**
   * Requests an action; returns whether it is done.
   * @param {object} action
   */
  async act(action) {
    if (!this.control.is_allowed) {
      this.shown.refuse(NOT_ALLOWED);
      return false;
    }
    try {
      await this.connection.act(action);
      this.shown.refuse("");
      return true;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.shown.refuse(`Refused: ${words}.`);
      return false;
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
