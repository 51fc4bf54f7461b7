"""A page of another origin that attacks the API of ours."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SCRIPT = """
const [victim, token] = VICTIM;
const results = {};
async function attempt(name, run) {
  try { results[name] = await run(); } catch (error) { results[name] = `error: ${error.name}`; }
}
const paths = ["/", "/api/account", "/api/gaps", "/api/gaps.csv", "/api/timeline?columns=9",
  "/api/processes"];
function submit(path, text, enctype) {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: victim + path, target: "sink", enctype });
  const field = document.createElement("input");
  field.name = text;
  form.append(field);
  document.body.append(form);
  form.submit();
}
async function attack() {
  for (const path of paths) {
    for (const secret of ["0".repeat(32), token]) {
      const headers = { Authorization: `Bearer ${secret}` };
      const name = `${path} ${secret === token ? "right" : "wrong"}`;
      await attempt(`fetch ${name}`, async () => (await fetch(victim + path, { headers })).text());
      await attempt(`post ${name}`, async () =>
        (await fetch(victim + path, { method: "POST", headers, body: "x" })).text());
    }
    await attempt(`simple ${path}`, async () => (await fetch(victim + path)).text());
    await attempt(`opaque ${path}`, async () =>
      (await fetch(victim + path, { mode: "no-cors" })).text());
    await attempt(`image ${path}`, () => new Promise((done) => {
      const image = new Image();
      image.onload = () => done("loaded");
      image.onerror = () => done("");
      image.src = victim + path;
    }));
    await attempt(`script ${path}`, () => new Promise((done) => {
      const script = document.createElement("script");
      script.onload = () => done("loaded");
      script.onerror = () => done("");
      script.src = victim + path;
      document.head.append(script);
    }));
    await attempt(`frame ${path}`, () => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.onload = () => {
        try { done(frame.contentDocument.body.innerText); } catch { done(""); }
      };
      frame.src = victim + path;
      document.body.append(frame);
      setTimeout(() => done(""), 1000);
    }));
    submit(path, "", "application/x-www-form-urlencoded");
  }
  const json = { "Content-Type": "application/json", "X-Samplewire-Action": "1" };
  const full = { ...json, Authorization: `Bearer ${token}` };
  for (const action of ['{"record": {"name": "attack"}}', '{"stop": {}}', '{"end": {}}']) {
    for (const kind of ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]) {
      submit("/api/act", action, kind);
    }
    for (const [name, headers] of Object.entries({ bare: {}, json, full })) {
      for (const mode of ["cors", "no-cors"]) {
        const call = { method: "POST", mode, headers, body: action };
        await attempt(`${action} ${name} ${mode}`, async () =>
          (await fetch(victim + "/api/act", call)).text());
      }
    }
    await attempt(`beacon ${action}`, () => {
      navigator.sendBeacon(victim + "/api/act", new Blob([action], { type: "text/plain" }));
      return "";
    });
  }
  for (const secret of ["0".repeat(32), token]) {
    await attempt(`socket ${secret === token ? "right" : "wrong"}`, () => new Promise((done) => {
      const socket = new WebSocket(victim.replace("http", "ws") + "/api/ws",
        ["samplewire", `token.${secret}`]);
      socket.onmessage = ({ data }) => done(String(data));
      socket.onclose = () => done("");
    }));
  }
  return results;
}
"""


@contextmanager
def site(victim: str, token: str) -> Iterator[str]:
    """Serve the attacker's page; its script has `attack()`, and even knows the token."""
    script = SCRIPT.replace("VICTIM", f'["{victim}", "{token}"]')
    html = f'<!doctype html><body><iframe name="sink"></iframe><script>{script}</script>'

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
