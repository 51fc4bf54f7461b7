// The connection to the program: the token, messages, and reconnecting.

/** @typedef {import("./frame.js").Frame} Frame */
import { decode } from "./frame.js";

const STORED = "samplewire-token";
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5000;

/** Takes the token from the URL's fragment, and removes it there. */
export function takeToken() {
  const token = location.hash.slice(1);
  if (/^[0-9a-f]{32}$/.test(token)) {
    sessionStorage.setItem(STORED, token);
  }
  if (location.hash) {
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(STORED) ?? "";
}

/**
 * @typedef {object} Listener
 * @property {(frame: Frame) => void} frame
 * @property {(message: any) => void} message
 * @property {() => void} opened the program has admitted the page
 * @property {(reason: string) => void} closed
 * @property {(words: string) => void} unreadable this page cannot read the frames: it stays closed
 */

export class Connection {
  /**
   * @param {string} token
   * @param {Listener} listener
   */
  constructor(token, listener) {
    this.token = token;
    this.listener = listener;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.retryMs = RETRY_MS_MIN;
    this.reason = "";
    /** Whether the program has admitted the page, and has not closed since. */
    this.isAdmitted = false;
    /** The process that is shown, on a page of several. @type {number | null} */
    this.process = null;
    /** The pause before the next attempt. @type {ReturnType<typeof setTimeout> | undefined} */
    this.retry = undefined;
    /** Whether it stays closed because this page cannot read the frames. */
    this.isUnreadable = false;
  }

  /**
   * Shows a process.
   * @param {number} process
   */
  show(process) {
    this.stop();
    this.process = process;
    this.retryMs = RETRY_MS_MIN;
    this.open();
  }

  /**
   * Goes on with the token of another start of the program.
   * @param {string} token
   */
  use(token) {
    if (token === this.token) {
      return;
    }
    this.token = token;
    if (this.socket || this.retry !== undefined || this.isUnreadable) {
      this.stop();
      this.retryMs = RETRY_MS_MIN;
      this.open();
    }
  }

  /** Closes the connection, and does not open it again. */
  stop() {
    clearTimeout(this.retry);
    this.retry = undefined;
    this.isAdmitted = false;
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.onmessage = null;
      this.socket.close();
      this.socket = null;
    }
  }

  /** Reports that the program does not answer, unless it is still connected. */
  fail() {
    if (!this.isAdmitted) {
      this.listener.closed(this.reason);
    }
  }

  /**
   * A call of the API, with the process that it is for.
   * @param {string} call
   */
  path(call) {
    if (this.process === null) {
      return call;
    }
    return `${call}${call.includes("?") ? "&" : "?"}process=${this.process}`;
  }

  open() {
    this.isUnreadable = false;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}${this.path("/api/ws")}`, [
      "samplewire",
      `token.${this.token}`,
    ]);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") {
        const message = JSON.parse(data);
        if (message.type === "refused") {
          this.reason = message.reason;
        }
        this.listener.message(message);
        if (message.type === "terms") {
          // The program has admitted the page.
          this.retryMs = RETRY_MS_MIN;
          this.reason = "";
          this.isAdmitted = true;
          this.listener.opened();
        }
      } else {
        this.take(data);
      }
    };
    socket.onclose = ({ reason }) => {
      this.socket = null;
      this.isAdmitted = false;
      this.listener.closed(reason || this.reason);
      this.retry = setTimeout(() => this.open(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, RETRY_MS_MAX);
    };
    this.socket = socket;
  }

  /**
   * Takes a frame. One that this page cannot read ends the connection: the next would be like it.
   * @param {ArrayBuffer} data
   */
  take(data) {
    /** @type {Frame} */
    let frame;
    try {
      frame = decode(data);
    } catch (error) {
      this.stop();
      this.isUnreadable = true;
      this.listener.unreadable(error instanceof Error ? error.message : String(error));
      return;
    }
    this.listener.frame(frame);
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    }
  }

  /**
   * Requests an action of the program; returns its answer.
   * @param {object} action
   */
  async act(action) {
    const response = await fetch("/api/act", {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token}`,
        "Content-Type": "application/json",
        "X-Samplewire-Action": "1",
      },
      body: JSON.stringify(action),
      // Without a referrer, the browser would not send the origin, which the program requires.
      referrerPolicy: "same-origin",
    });
    if (!response.ok) {
      throw new Error((await response.text()).trim());
    }
    return response.json();
  }

  /**
   * Reads a call of the API from what is shown.
   * @param {string} call
   */
  async get(call) {
    return this.read(this.path(call));
  }

  /**
   * Reads JSON from what is shown; null if another process is shown meanwhile.
   * @param {string} call
   */
  async json(call) {
    const process = this.process;
    const answer = await (await this.get(call)).json();
    return this.process === process ? answer : null;
  }

  /**
   * Reads a call of the API.
   * @param {string} path
   */
  async read(path) {
    const headers = { Authorization: `Bearer ${this.token}` };
    const response = await fetch(path, { headers, referrerPolicy: "no-referrer" });
    if (!response.ok) {
      throw new Error(await response.text());
    }
    return response;
  }
}
