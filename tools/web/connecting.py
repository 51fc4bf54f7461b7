"""The page takes a pasted URL, and reports a program whose frames it cannot read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reading import SEEN, SENTENCE, new_page, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLOCK = """
window.skipped = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + window.skipped;
"""
"""A clock of the page that the test puts forward."""
VERSION = """
window.version = null;
window.WebSocket = class extends WebSocket {
  constructor(...parts) {
    super(...parts);
    this.addEventListener("message", ({ data }) => {
      if (window.version !== null && typeof data !== "string") {
        new Uint8Array(data)[1] = window.version;
      }
    });
  }
};
"""
"""Frames of another version than the program's, from the moment on when it is set."""
REMEDY = "document.getElementById('remedy').textContent"
TOKENS = ["0123456789abcdef" * 2, "fedcba9876543210" * 2]


def check(browser: Browser, program: Path) -> None:
    """Start programs at one address, with two tokens, and paste their URLs into one tab."""
    from stream import VirtualStream

    page = new_page(browser)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.add_init_script(CLOCK)
    page.add_init_script(VERSION)
    with VirtualStream(program, "first", token=TOKENS[0]) as stream:
        address = urlsplit(stream.origin).netloc
        page.goto(f"{stream.origin}/#{TOKENS[1]}")
        until(page, f"{SENTENCE}.startsWith('Not connected for')")
        page.evaluate("window.isSame = true")
        page.goto(stream.url)
        until(page, SEEN)
        until(page, f"{SENTENCE}.startsWith('Whole')")
    until(page, f"{SENTENCE}.startsWith('Not connected for')")
    with VirtualStream(program, "second", address, TOKENS[1]) as stream:
        page.goto(stream.url)
        until(page, f"{SENTENCE}.startsWith('Whole')")
        assert page.evaluate("window.isSame"), "the page was loaded again"
        assert page.evaluate("location.hash") == "", "the token stays in the URL"
        until(page, f"{REMEDY}.includes('Nothing was seen for')")
        page.evaluate("skipped = 61_000")
        until(page, f"!{REMEDY}.includes('Nothing was seen for')")
        page.evaluate("version = 9")
        words = "The program sends frames of version 9, and this page reads version 2."
        until(page, f"{SENTENCE} === {words!r}")
        until(page, f"{REMEDY}.startsWith('Reload the page.')")
        page.wait_for_timeout(500)
        assert page.evaluate(SENTENCE) == words, "it tries again"
        page.evaluate("version = null")
    with VirtualStream(program, "third", address, TOKENS[0]) as stream:
        page.goto(stream.url)
        until(page, f"{SENTENCE}.startsWith('Whole')")
    page.close()
    assert not complaints, complaints
