"""Reads the page: waits for what it shows, and the rows of its waterfall."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

PATIENCE_S = 120
"""How long a busy machine may take for what must happen."""
SEEN = "document.getElementById('seen').textContent.trim()"
SENTENCE = "document.getElementById('sentence').textContent"
LISTENERS = """
window.listeners = 0;
for (const target of [window, document]) {
  const events = ["dppxchange", "keydown", "resize", "scroll", "visibilitychange"];
  for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
    const call = target[name];
    target[name] = function (...rest) {
      window.listeners += events.includes(rest[0]) ? by : 0;
      return call.apply(target, rest);
    };
  }
}
"""
"""Counts what the page and its plots listen to, except elements and what only tests listen to."""
TIPS = """async (count) => {
  const canvas = document.querySelector("#waterfall .image");
  const box = canvas.getBoundingClientRect();
  const rows = [];
  for (let y = 0.5; y < count; y += 1) {
    const place = { clientX: box.left + 300, clientY: box.top + y };
    canvas.dispatchEvent(new PointerEvent("pointermove", place));
    await new Promise(requestAnimationFrame);
    rows.push(document.getElementById("tip").textContent);
  }
  return rows;
}"""


def new_page(browser: Browser, viewport: ViewportSize | None = None) -> Page:
    """Open a tab that is as patient as these checks."""
    page = browser.new_page(viewport=viewport)
    page.set_default_timeout(1_000 * PATIENCE_S)
    return page


def until(page: Page, script: str, argument: object = None) -> None:
    """Wait until an expression is true. The page's policy forbids eval, Playwright's own way."""
    end = time.monotonic() + PATIENCE_S
    while not page.evaluate(script, argument):
        assert time.monotonic() < end, f"it does not become true: {script}"
        page.wait_for_timeout(10)


def wait_drawn(page: Page) -> None:
    """Wait until everything that has arrived is drawn."""
    script = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(script)


def words_of(page: Page, y: int) -> str:
    """The text of a row under the pointer."""
    image = page.locator("#waterfall .image")
    while True:
        box = image.bounding_box()
        assert box
        page.mouse.move(box["x"] + 300, round(box["y"]) + y + 0.5)
        wait_drawn(page)
        words = page.locator("#tip").inner_text()
        # The sentence above it may have got another line meanwhile.
        if image.bounding_box() == box:
            return words


def wait_frame(page: Page, index: int) -> None:
    """Wait until the topmost row is a frame from this index on. A busy machine omits frames."""
    end = time.monotonic() + PATIENCE_S
    while "dBFS" not in (words := words_of(page, 0)) or index_of(words) < index:
        assert time.monotonic() < end, f"no frame from index {index} on is drawn: {words}"


def rows_of(page: Page, count: int) -> list[str]:
    """The texts of so many rows from the top, of a picture that does not move."""
    return page.evaluate(TIPS, count)


def index_of(words: str) -> int:
    """The index that a row's text states."""
    found = re.search(r"index ([\d,]+)", words)
    assert found, words
    return int(found[1].replace(",", ""))


def runs_of(rows: list[int]) -> list[list[int]]:
    """Numbers of rows, in runs of neighbours."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and runs[-1][-1] == row - 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs
