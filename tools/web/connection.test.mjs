// When the page connects again, and what it states meanwhile: node --test tools/web

import assert from "node:assert/strict";
import { test } from "node:test";

import { Connection } from "../../crates/samplewire-web/page/connection.js";

globalThis.location = { protocol: "http:", host: "127.0.0.1:8000" };

/** A connection, its sockets, and what its listener heard. */
function connect() {
  const sockets = [];
  const heard = [];
  globalThis.WebSocket = class {
    constructor() {
      sockets.push(this);
    }
  };
  const connection = new Connection("0".repeat(32), {
    frame: () => {},
    message: () => {},
    opened: () => heard.push("opened"),
    closed: (reason) => heard.push(reason),
    unreadable: (words) => heard.push(words),
  });
  connection.open();
  return { connection, sockets, heard };
}

/** Opens the last socket, sends these messages, and closes it. */
function converse(sockets, ...messages) {
  const socket = sockets.at(-1);
  socket.onopen?.();
  messages.forEach((message) => socket.onmessage({ data: JSON.stringify(message) }));
  socket.onclose({ reason: "" });
}

test("a page that is not admitted keeps the reason, and tries less and less often", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { sockets, heard } = connect();
  for (const pause of [250, 500, 1000, 2000, 4000, 5000, 5000]) {
    converse(sockets, { type: "refused", reason: "full" });
    const count = sockets.length;
    context.mock.timers.tick(pause - 1);
    assert.equal(sockets.length, count, `${pause} ms`);
    context.mock.timers.tick(1);
    assert.equal(sockets.length, count + 1, `${pause} ms`);
  }
  assert.deepEqual(heard, Array(7).fill("full"));
});

test("a page that was admitted connects again at once", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { sockets, heard } = connect();
  converse(sockets, { type: "refused", reason: "full" });
  context.mock.timers.tick(250);
  converse(sockets, { type: "terms" });
  context.mock.timers.tick(250);
  assert.equal(sockets.length, 3);
  assert.deepEqual(heard, ["full", "opened", ""]);
});

test("frames of another version end the connection until another token is used", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { connection, sockets, heard } = connect();
  const socket = sockets.at(-1);
  socket.close = () => socket.onclose?.({ reason: "" });
  socket.onmessage({ data: JSON.stringify({ type: "terms" }) });
  socket.onmessage({ data: new Uint8Array([1, 3, ...Array(134).fill(0)]).buffer });
  assert.deepEqual(heard, ["opened", "The program sends frames of version 3, and this page reads version 2"]);
  context.mock.timers.tick(60_000);
  assert.equal(sockets.length, 1, "each attempt would end in the same way");
  connection.use("1".repeat(32));
  assert.equal(sockets.length, 2);
});

test("another token is used at once, and the same one changes nothing", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { connection, sockets } = connect();
  sockets.at(-1).close = () => {};
  connection.use("0".repeat(32));
  assert.equal(sockets.length, 1);
  connection.use("1".repeat(32));
  assert.equal(sockets.length, 2);
  assert.equal(connection.token, "1".repeat(32));
  // Also while it waits for the next attempt.
  converse(sockets);
  connection.use("2".repeat(32));
  assert.equal(sockets.length, 3);
  context.mock.timers.tick(60_000);
  assert.equal(sockets.length, 3, "the attempt that waited is given up");
});
