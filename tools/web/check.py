#!/usr/bin/env python3
"""Opens the web page in Chromium, and checks what it shows and what it refuses.

    .venv/bin/python tools/web/check.py target/debug/examples/virtual_stream

The stream's tone and gaps are known, so pixels, sums and lists are compared with what they must be.
A page of another origin attacks the API. Screenshots stay in out/web. Needs chromium and
tools/web-requirements.txt. Exit: 0 when all holds, 1 when something does not, or when it cannot run
here.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import cost
from reading import (
    LISTENERS,
    PATIENCE_S,
    SEEN,
    SENTENCE,
    index_of,
    new_page,
    runs_of,
    until,
    wait_drawn,
    wait_frame,
    words_of,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
    from stream import VirtualStream

HOSTILE_NAME = "<img src=x onerror=alert(1)>"
FRAMES_PER_SECOND = 30
SIZE = {"width": 1440, "height": 900}
OUT = Path(__file__).resolve().parents[2] / "out/web"
LATENCIES = 12
# A key pressed twice at once, and held. The second is not an action while the first has no answer.
HELD_KEY = (
    "(key) => [false, false, true, true].forEach((repeat) =>"
    " dispatchEvent(new KeyboardEvent('keydown', { key, repeat })))"
)
ACCOUNT = """async (token) => {
  const headers = { Authorization: `Bearer ${token}` };
  const { sources } = await (await fetch("/api/account", { headers })).json();
  return ["gaps", "missing", "left_out"].map((key) => Number(sources[0][key]));
}"""
GAP = 682_667
TONES = [(256, -20.0), (-512, -30.0), (768, -12.0)]
"""Bins of 2,048, and levels in dBFS."""
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"]
"""WebGL in software, and the browser's own compositor as on every machine without a GPU."""
CONTAINER = ["--no-sandbox", "--disable-dev-shm-usage"]
"""The test may run as root, with a small /dev/shm."""
OF_THE_DRIVER = "GPU stall due to ReadPixels"
"""A warning for which the page is not the cause: the compositor reads the canvas of WebGL back."""

FIRST_FRAME = """
new MutationObserver(() => {
  if (!window.firstFrame && document.getElementById("seen")?.textContent.trim()) {
    window.firstFrame = performance.now();
  }
}).observe(document, { subtree: true, childList: true, characterData: true });
"""

TOP_ROW = """
window.changes = [];
const draw = WebGL2RenderingContext.prototype.drawArrays;
WebGL2RenderingContext.prototype.drawArrays = function (...numbers) {
  draw.apply(this, numbers);
  const { width, height } = this.canvas;
  const pixels = new Uint8Array(4 * width);
  this.readPixels(0, height - 1, width, 1, this.RGBA, this.UNSIGNED_BYTE, pixels);
  let [place, most] = [0, -1];
  for (let x = 0; x < width; x += 1) {
    const sum = pixels[4 * x] + pixels[4 * x + 1];
    if (sum > most) { [place, most] = [x, sum]; }
  }
  const last = window.changes.at(-1);
  if (!last || Math.abs(last.place - place / width) > 0.02) {
    window.changes.push({ place: place / width, at: performance.timeOrigin + performance.now() });
  }
};
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", nargs="?", type=Path)
    parser.add_argument("--can-run", action="store_true", help="print why not, if it cannot run")
    parser.add_argument(
        "--alone", action="store_true", help="nothing else runs: hold the limits of latency"
    )
    parser.add_argument(
        "--out", type=Path, help="keep the figures of --alone in this file, as JSON"
    )
    arguments = parser.parse_args()
    reason = missing()
    if reason or arguments.can_run:
        print(reason or "yes")
        return 1 if reason else 0
    if arguments.program is None:
        parser.error("name the program: target/debug/examples/virtual_stream")
    if arguments.out and not arguments.alone:
        parser.error("--out needs --alone: beside other programs, figures are of no use")
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        figures = run(arguments.program.resolve(), arguments.alone)
    except AssertionError as error:
        print(f"web: {error}", file=sys.stderr)
        return 1
    if arguments.out:
        cost.keep(arguments.out, figures)
    return 0


def missing() -> str:
    if not shutil.which("chromium"):
        return "there is no chromium: tools/setup.sh web"
    for module in ("playwright", "PIL", "axe_playwright_python"):
        if importlib.util.find_spec(module) is None:
            return f"the Python package of {module} is missing: tools/setup.sh web"
    return ""


def run(program: Path, is_alone: bool) -> dict[str, float]:
    """Take all steps; return what was measured."""
    import connecting
    import losses
    import processes
    import recording
    from playwright.sync_api import sync_playwright
    from stream import VirtualStream

    samplewire = program.parents[1] / "samplewire"
    folder = OUT / "recordings"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    figures: dict[str, float] = {}
    with (
        sync_playwright() as playwright,
        VirtualStream(program, HOSTILE_NAME, folder=folder) as stream,
    ):
        rebinding = f"--host-resolver-rules=MAP evil.example {urlsplit(stream.origin).hostname}"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=[*FLAGS, *CONTAINER, rebinding],
            timeout=1_000 * PATIENCE_S,
        )
        steps: list[tuple[str, Callable[[], None]]] = [
            ("first picture", lambda: check_first_picture(browser, stream, is_alone, figures)),
            ("tone and gap in pixels", lambda: check_pixels(browser, stream, "", TONES)),
            ("the same on a 2D canvas", lambda: check_pixels(browser, stream, "?plain", TONES[:1])),
            ("time", lambda: check_time(browser, stream)),
            ("keys", lambda: check_keys(browser, stream)),
            ("axe-core and width", lambda: check_access(browser, stream)),
            ("another origin", lambda: check_attack(browser, stream, folder)),
            ("actions", lambda: check_actions(browser, stream, folder, samplewire)),
            ("latency", lambda: check_latency(browser, stream, is_alone, figures)),
            ("cost", lambda: check_cost(browser, stream, is_alone, figures)),
            ("restart", lambda: check_restart(browser, stream)),
            ("reconnecting", lambda: check_reconnecting(browser, program)),
            ("a pasted URL", lambda: connecting.check(browser, program)),
            ("losses", lambda: losses.check(browser, program)),
            ("a graph", lambda: check_graph(browser, program.with_name("graph"))),
            ("processes", lambda: processes.check(browser, samplewire)),
            ("a recording", lambda: recording.check(browser, samplewire, OUT)),
        ]
        for name, step in steps:
            started = time.monotonic()
            step()
            print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
        browser.close()
    return figures


class Opened:
    """The page in a browser of its own, which must not complain or reach another origin."""

    def __init__(
        self, browser: Browser, stream: VirtualStream, query: str = "", script: str = ""
    ) -> None:
        self.context: BrowserContext = browser.new_context(viewport=SIZE, color_scheme="dark")
        self.context.set_default_timeout(1_000 * PATIENCE_S)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda it: self._hear(it.type, it.text))
        self.page.on("pageerror", lambda it: self._hear("error", str(it)))
        self.page.on("dialog", lambda it: self._hear("error", f"a dialog: {it.message}"))
        self.page.on("request", lambda it: self._request(stream.origin, it.url))
        if script:
            self.page.add_init_script(script)
        self.page.goto(stream.url.replace("/#", f"/{query}#"))
        until(self.page, SEEN)

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and OF_THE_DRIVER not in text:
            self.complaints.append(text)

    def _request(self, origin: str, url: str) -> None:
        own = urlsplit(origin).netloc
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own:
            self.complaints.append(f"a request of {url}")

    def close(self) -> None:
        self.context.close()
        assert not self.complaints, self.complaints


def check_first_picture(
    browser: Browser, stream: VirtualStream, is_alone: bool, figures: dict[str, float]
) -> None:
    times = []
    for _ in range(3):
        opened = Opened(browser, stream, script=FIRST_FRAME)
        times.append(opened.page.evaluate("window.firstFrame"))
        page = opened.page
        assert page.evaluate("location.hash") == "", "the token stays in the URL"
        page.reload()
        until(page, SEEN)
        opened.close()
    figures["first picture, ms"] = sorted(times)[1]
    print(f"  first picture after {sorted(times)[1]:.0f} ms (median of 3)")
    if is_alone:
        assert min(times) < 1_000, f"the first picture takes {min(times):.0f} ms"


def check_pixels(
    browser: Browser, stream: VirtualStream, query: str, tones: list[tuple[int, float]]
) -> None:
    """A tone of known bin and level, and gaps of known indexes, in the pixels of the waterfall."""
    opened = Opened(browser, stream, query)
    page = opened.page
    page.select_option("#bins", "256")
    gaps = []
    for bin_, level in tones:
        stream.command(f"level {level}")
        wait_frame(page, stream.command(f"tone {bin_}").index)
        end = stream.command(f"gap {GAP} deadline").index
        gaps.append(end - GAP)
        wait_frame(page, end)
        page.keyboard.press("l")
        page.keyboard.press(" ")
        wait_drawn(page)
        run = check_gap(page, gaps, bin_, level)
        if len(gaps) == len(tones):
            page.screenshot(path=OUT / f"pixels{query.strip('?')}.png")
            check_row_keys(page, run)
        page.keyboard.press(" ")
    check_sums(page, stream, len(gaps))
    opened.close()


def check_gap(page: Page, gaps: list[int], bin_: int, level: float) -> list[int]:
    """The tone above and below the latest gap, and the words there. Returns its rows."""
    import pixels
    from stream import BINS, RATE_HZ

    found = pixels.read(page)
    runs = runs_of(found.hatched())
    whole = [run for run in runs if run[-1] < found.image.height - 1]
    expected = math.ceil(GAP / round(RATE_HZ / FRAMES_PER_SECOND))
    # On a busy machine, those of earlier gaps have left the picture.
    assert 1 <= len(runs) <= len(gaps), f"{runs}: rows of {len(gaps)} gaps"
    assert {len(run) for run in whole} == {expected}, f"{runs}: {expected} rows each"
    run, first = runs[0], gaps[-1]
    for rows in (range(run[0] - 1, -1, -1), range(run[-1] + 1, found.image.height)):
        # A row without a frame has one colour.
        y = next(y for y in rows if not found.is_plain(y))
        place, db = found.highest(y)
        bins = (place - 0.5) * 256
        assert abs(bins - bin_ * 256 / BINS - 0.5) <= 0.5, f"row {y}: bin {bins}, not {bin_ / 8}"
        assert abs(db - level) <= 0.5, f"row {y}: {db} dBFS, not {level}"
    above, inside, below = (words_of(page, y) for y in (run[0] - 1, run[0], run[-1] + 1))
    assert index_of(above) >= first + GAP, f"{above}: after the gap at {first}"
    assert index_of(below) < first, f"{below}: before the gap at {first}"
    assert f"{GAP:,} missing from {first:,}: deadline, at hop wire" in inside, inside
    return run


def check_row_keys(page: Page, gap: list[int]) -> None:
    """By keys from the top to a gap and back: the words that the pointer gets, also read out."""
    words = {y: words_of(page, y).split("\n")[0] for y in (gap[0], gap[0] - 1)}
    page.keyboard.press("Escape")
    wait_drawn(page)
    assert page.locator("#tip").is_hidden(), "the row is not left"
    for key, times, y in (("j", gap[0] + 1, gap[0]), ("k", 1, gap[0] - 1)):
        for _ in range(times):
            page.keyboard.press(key)
        wait_drawn(page)
        for place in ("#tip", "#row-words"):
            found = page.locator(place).text_content() or ""
            assert found.startswith(words[y]), f"{place} at row {y}: {found}, not {words[y]}"
    page.keyboard.press("Escape")


def check_time(browser: Browser, stream: VirtualStream) -> None:
    """The UTC and the TAI of a row, from the moment on when the stream states its time."""
    from stream import RATE_HZ

    opened = Opened(browser, stream)
    page = opened.page
    label = "document.querySelector('#waterfall .image').ariaLabel"
    until(page, f"{label}.includes('dBFS') && !{label}.includes('UTC')")
    tai_ns = 1_800_000_000_000_000_000
    since = stream.command(f"time {tai_ns}").index
    until(page, f"{label}.endsWith(', times in UTC')")
    # A busy machine omits frames: so many rows may take seconds.
    end = time.monotonic() + PATIENCE_S
    while "UTC" not in words_of(page, 10):
        assert time.monotonic() < end, "the eleventh row gets no time"
    page.keyboard.press(" ")
    wait_drawn(page)
    for y in (0, 5, 10):
        index, utc, *_ = words_of(page, y).split("\n")
        tai = tai_ns + (index_of(index) - since) * 1_000_000_000 // RATE_HZ
        ends = [when(tai - 37 * 1_000_000_000), when(tai)[11:]]
        assert utc == f"{ends[0]} UTC, {ends[1]} TAI", f"{utc}, not {ends}"
    page.screenshot(path=OUT / "time.png")
    opened.close()


def when(ns: int) -> str:
    moment = datetime.fromtimestamp(ns // 1_000_000_000, tz=UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ns // 1000 % 1_000_000:06}"


def check_sums(page: Page, stream: VirtualStream, gaps: int) -> None:
    """The page's sums are those of the API, and of what was commanded."""
    script = (
        "async ([path, token]) => {"
        " const headers = { Authorization: `Bearer ${token}` };"
        " const { sources } = await (await fetch(path, { headers })).json();"
        " const shown = document.querySelectorAll('#sums dd')[2].textContent;"
        " return shown.replaceAll(',', '') === sources[0].missing }"
    )
    until(page, script, ["/api/account", stream.token])
    rows = page.locator("#sums").inner_text().replace(",", "").split()
    assert int(rows[rows.index("missing") + 1]) % GAP == 0, rows
    assert int(rows[rows.index("gaps") + 1]) >= gaps, rows
    page.keyboard.press("g")
    until(page, "document.querySelectorAll('#gap-rows tr').length > 0")
    first = page.locator("#gap-rows tr").first.inner_text().split("\t")
    assert first[1:] == [f"{GAP:,}", "deadline", "wire", "all", "1"], first
    page.keyboard.press("g")


def check_keys(browser: Browser, stream: VirtualStream) -> None:
    from stream import RATE_HZ

    opened = Opened(browser, stream)
    page = opened.page
    shown = page.locator("#stream option").first.inner_text()
    assert shown == HOSTILE_NAME, f"the name is markup: {shown}"
    assert page.locator("img").count() == 1
    effects: list[tuple[str, str, Any]] = [
        (" ", "document.getElementById('pause').ariaPressed", "true"),
        (" ", "document.getElementById('pause').ariaPressed", "false"),
        ("t", "document.documentElement.dataset.theme", "light"),
        ("t", "document.documentElement.dataset.theme", "dark"),
        ("c", "document.getElementById('map').value", "turbo"),
        ("c", "document.getElementById('map').value", "viridis"),
        ("p", "document.getElementById('trace').value", "mean"),
        ("p", "document.getElementById('trace').value", "peak"),
        ("p", "document.getElementById('trace').value", "both"),
        ("b", "document.getElementById('bins').value", "4096"),
        ("?", "document.getElementById('help').open", True),
        ("?", "document.getElementById('help').open", False),
        ("g", "document.getElementById('gaps').open", True),
        ("g", "document.getElementById('gaps').open", False),
    ]
    for key, script, value in effects:
        page.keyboard.press(key)
        until(page, f"({script}) === {json.dumps(value)}")
    # The key, and by how much floor and ceiling have risen, and the band in parts of the rate.
    picture: list[tuple[str, int, int, float, float]] = [
        ("+", 0, 0, -0.25, 0.25),
        ("-", 0, 0, -0.5, 0.5),
        ("+", 0, 0, -0.25, 0.25),
        ("ArrowRight", 0, 0, -0.125, 0.375),
        ("ArrowLeft", 0, 0, -0.25, 0.25),
        ("0", 0, 0, -0.5, 0.5),
        ("[", -5, 0, -0.5, 0.5),
        ("{", -5, -5, -0.5, 0.5),
        ("]", 0, -5, -0.5, 0.5),
        ("}", 0, 0, -0.5, 0.5),
    ]
    floor, ceiling, *_ = picture_of(page)
    for key, *levels, low, high in picture:
        page.keyboard.press(key)
        band = [low * RATE_HZ, high * RATE_HZ]
        expected = [floor + levels[0], ceiling + levels[1], *band]
        end = time.monotonic() + PATIENCE_S
        while (found := picture_of(page)) != expected:
            assert time.monotonic() < end, f"`{key}` shows {found}, not {expected}"
    with page.expect_download() as download:
        page.keyboard.press("d")
    text = Path(download.value.path()).read_text()
    assert text.startswith("index,length,cause,hop,stream,run\n"), text
    assert text.count("\n") > len(TONES) + 1, text
    page.screenshot(path=OUT / "dark.png")
    page.keyboard.press("t")
    wait_drawn(page)
    page.screenshot(path=OUT / "light.png")
    opened.close()


def picture_of(page: Page) -> list[float]:
    """The floor and the ceiling of the picture in dBFS, and its band in Hz."""
    label = page.locator("#waterfall .image").get_attribute("aria-label") or ""
    label = label.replace("\u2212", "-")
    levels = re.search(r"from (-?\d+) to (-?\d+) dBFS", label)
    edges = re.findall(r"(-?[\d.]+) (k|M|)Hz", label)
    assert levels, label
    factors = {"": 1, "k": 1e3, "M": 1e6}
    return [*map(float, levels.groups()), *(float(it) * factors[unit] for it, unit in edges)]


def check_access(browser: Browser, stream: VirtualStream) -> None:
    import access

    opened = Opened(browser, stream)
    page = opened.page
    access.scan_themes(page, "the page")
    page.keyboard.press("?")
    access.scan(page, "help")
    page.keyboard.press("?")
    access.scan_themes(page, "gaps", "g")
    access.scan_themes(page, "recording from an index", "R")
    page.keyboard.press("x")
    access.scan(page, "the end of the stream")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 360, "height": 780})
    wait_drawn(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"{width} pixels wide on a screen of 360"
    page.screenshot(path=OUT / "narrow.png", full_page=True)
    opened.close()


REBOUND = """async (token) => {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json",
    "X-Samplewire-Action": "1" };
  const read = await fetch("/api/account", { headers });
  const act = await fetch("/api/act", { method: "POST", headers, body: '{"end": {}}' });
  const socket = await new Promise((done) => {
    const it = new WebSocket(`ws://${location.host}/api/ws`, ["samplewire", `token.${token}`]);
    it.onopen = () => done("open");
    it.onclose = () => done("closed");
  });
  return [read.status, act.status, socket];
}"""


def check_attack(browser: Browser, stream: VirtualStream, folder: Path) -> None:
    import attack

    with attack.site(stream.origin, stream.token) as url:
        page = new_page(browser)
        page.goto(url)
        results = page.evaluate("attack()")
        page.close()
    read = {name: text for name, text in results.items() if text and not text.startswith("error")}
    assert not read, f"another origin reads: {read}"
    assert len(results) > 45, results
    assert not list(folder.iterdir()), "another origin records"
    # The attacker's name points at our address: the browser then takes both for one origin.
    port = urlsplit(stream.origin).port
    page = new_page(browser)
    answer = page.goto(f"http://evil.example:{port}/api/account")
    assert answer, "no answer"
    assert answer.status == 421, answer.status
    reached = page.evaluate(REBOUND, stream.token)
    assert reached == [421, 421, "closed"], f"rebinding reads or acts: {reached}"
    page.close()


def check_actions(browser: Browser, stream: VirtualStream, folder: Path, command: Path) -> None:
    """By keys: a recording with an event and a gap, from its start to its proof."""
    import access

    opened = Opened(browser, stream)
    page = opened.page
    recording = "document.getElementById('recording').textContent"
    figures = "document.getElementById('recording-figures').textContent"
    remedy = "document.getElementById('remedy').textContent"
    until(page, f"!document.getElementById('acting').hidden && {recording} === 'No recording.'")
    page.keyboard.press("m")
    until(page, f"{remedy}.includes('none is under way')")
    gaps, missing, left_out = page.evaluate(ACCOUNT, stream.token)
    page.evaluate(HELD_KEY, "w")
    until(page, f"{recording}.startsWith('Recording 2')")
    access.scan_themes(page, "an event", "m")
    page.keyboard.press("m")
    until(page, "document.activeElement.id === 'event-text'")
    page.keyboard.type(HOSTILE_NAME)
    page.keyboard.press("Enter")
    until(page, f"{figures}.includes('1 event')")
    after = stream.command(f"gap {GAP} deadline").index
    until(page, f"{figures}.includes('1 gap')")
    page.keyboard.press("w")
    until(page, f"{recording}.includes(': proven; index ')")
    sums = page.evaluate(ACCOUNT, stream.token)
    assert sums == [gaps + 1, missing + GAP, left_out], f"the recording adds losses: {sums}"
    page.screenshot(path=OUT / "recording.png")
    words = page.evaluate(recording)
    found = re.fullmatch(r"(\S+): proven; index ([\d,]+) to ([\d,]+), .*", words)
    assert found, words
    document = json.loads((folder / f"{found[1]}.sigmf-meta").read_text())
    ends = [document["global"][f"samplewire:{it}_index"] for it in ("first", "end")]
    assert ends == [int(found[it].replace(",", "")) for it in (2, 3)], words
    event, gap = sorted(document["annotations"], key=lambda it: it["core:label"])
    assert event["core:comment"] == HOSTILE_NAME, event
    assert ends[0] <= event["samplewire:event_index"] < after - GAP, event
    assert gap["samplewire:first_index"] == after - GAP, gap
    if command.exists():
        subprocess.run([command, "verify", folder / found[1]], check=True, capture_output=True)
    else:
        print(f"  `samplewire verify` is not run: {command} is not built")
    # A refusal names both indexes, and leaves no file.
    page.keyboard.press("R")
    page.fill("#record-from", "7")
    page.keyboard.press("Enter")
    until(page, f"/index 7 has passed: the stream is at index \\d{{6,}}/.test({remedy})")
    files = [it.name for it in folder.iterdir()]
    assert len(files) == 2, files
    # The browser reports the status of the refusal, once.
    refusal = "Failed to load resource: the server responded with a status of 409 (Conflict)"
    end = time.monotonic() + PATIENCE_S
    while refusal not in opened.complaints:
        assert time.monotonic() < end, "the browser does not report the refusal"
        page.wait_for_timeout(10)
    opened.complaints.remove(refusal)
    opened.close()


def check_latency(
    browser: Browser, stream: VirtualStream, is_alone: bool, figures: dict[str, float]
) -> None:
    """From the block with a changed tone to its pixels."""
    opened = Opened(browser, stream, script=TOP_ROW)
    page = opened.page
    stream.command("level -12")
    delays = []
    for step in range(LATENCIES):
        count = page.evaluate("changes.length")
        done = stream.command(f"tone {(300 + 20 * step) * (-1) ** step}")
        until(page, f"changes.length > {count}")
        delays.append(page.evaluate(f"changes[{count}].at") - done.unix_ns / 1e6)
    drawn = page.evaluate(cost.PERIOD)
    delays.sort()
    median, p95 = delays[len(delays) // 2], delays[math.ceil(0.95 * len(delays)) - 1]
    period = 1_000 / FRAMES_PER_SECOND
    print(f"  tone to pixel: median {median:.0f} ms, p95 {p95:.0f} ms;")
    print(f"  a picture of the browser takes {drawn:.0f} ms")
    figures["tone to pixel, median, ms"] = median
    figures["tone to pixel, p95, ms"] = p95
    figures["tones"] = LATENCIES
    # Beside other programs the browser may draw fewer pictures than there are frames.
    if is_alone:
        assert p95 <= 5 * period, f"p95 is {p95:.0f} ms, above {5 * period:.0f} ms"
    opened.close()


def check_cost(
    browser: Browser, stream: VirtualStream, is_alone: bool, figures: dict[str, float]
) -> None:
    """The page without what other steps put into it."""
    bare = cost.bare_period_ms(browser)
    opened = Opened(browser, stream)
    # A short window shows that it can be measured; beside other programs its figure is of no use.
    window_s = cost.WINDOW_S if is_alone else 1.0
    browser_share, server_share = cost.shares(opened.page, stream.process.pid, window_s)
    opened.close()
    assert browser_share > 0 < server_share, f"browser {browser_share}, server {server_share}"
    print(f"  a picture of an empty page takes {bare:.1f} ms")
    print(
        f"  the browser takes {browser_share:.2f} of a core, the page's server {server_share:.4f}"
    )
    figures["a picture of an empty page, ms"] = bare
    figures["the browser's processes, parts of a core"] = browser_share
    figures["the page's server, parts of a core"] = server_share
    figures["their window, s"] = window_s


def check_restart(browser: Browser, stream: VirtualStream) -> None:
    """A device restarts at a higher index: its gap is hatched, and no index between the runs."""
    import pixels
    from stream import RATE_HZ

    opened = Opened(browser, stream)
    page = opened.page
    before = stream.command("level -20").index
    wait_frame(page, before)
    first = 1 << 40
    stream.command(f"restart {first}")
    wait_frame(page, first)
    page.keyboard.press(" ")
    wait_drawn(page)
    (rows,) = runs_of(pixels.read(page).hatched())
    assert len(rows) == math.ceil(FRAMES_PER_SECOND / 10), rows
    above, inside, below = (words_of(page, y) for y in (rows[0] - 1, rows[0], rows[-1] + 1))
    assert first <= index_of(above) < first + RATE_HZ, above
    found = re.match(r"([\d,]+) missing from ([\d,]+): device restarted, at hop device", inside)
    assert found, inside
    length, missing = (int(number.replace(",", "")) for number in found.groups())
    assert length == RATE_HZ // 10, inside
    assert before <= missing < first, inside
    assert index_of(below) < missing, below
    gaps, *_ = page.evaluate(ACCOUNT, stream.token)
    stream.command(f"gap {GAP} deadline")
    until(page, f"async (token) => (await ({ACCOUNT})(token))[0] > {gaps}", stream.token)
    page.keyboard.press("g")
    until(page, "document.querySelectorAll('#gap-rows tr').length > 1")
    listed = [row.split("\t") for row in page.locator("#gap-rows tr").all_inner_texts()[:2]]
    assert [(cause, run) for _, _, cause, _, _, run in listed] == [
        ("deadline", "2"),
        ("device restarted", "1"),
    ], listed
    page.keyboard.press("g")
    # The time since index 0 is that of each run.
    assert "(149 h 07 min)" in above, above
    assert " h " not in below, below
    opened.close()


def check_reconnecting(browser: Browser, program: Path) -> None:
    import access
    from stream import VirtualStream

    token = "0123456789abcdef" * 2
    with VirtualStream(program, "first", token=token) as stream:
        page = new_page(browser, viewport=SIZE)
        page.add_init_script(LISTENERS)
        page.goto(stream.url)
        until(page, SEEN)
        listeners = page.evaluate("listeners")
        # Without --control, the page only shows.
        page.keyboard.press("w")
        until(page, "document.getElementById('remedy').textContent.includes('--control')")
        assert page.locator("#acting").is_hidden()
        address = urlsplit(stream.origin).netloc
    until(page, f"{SENTENCE}.startsWith('Not connected for')")
    page.screenshot(path=OUT / "lost.png")
    access.scan_themes(page, "a lost page")
    with VirtualStream(program, "second", address, token, OUT):
        until(page, f"{SENTENCE}.startsWith('Whole')")
        count = page.evaluate("listeners")
        assert count == listeners > 0, f"{listeners} listeners become {count}"
        remedy = page.locator("#remedy").inner_text()
        # Ahead of it may still stand what the key "w" does here.
        assert "Nothing was seen for" in remedy, remedy
        page.keyboard.press("x")
        until(page, "document.getElementById('end-dialog').open")
        page.keyboard.press("Enter")
        until(page, f"{SENTENCE}.includes('Ended: a page ended it.')")
        page.close()


def check_graph(browser: Browser, program: Path) -> None:
    """The example of a graph shows what its sink gets."""
    graph = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    assert graph.stdout
    try:
        page = new_page(browser, viewport=SIZE)
        page.goto(graph.stdout.readline().strip())
        until(page, SEEN)
        until(page, f"{SENTENCE}.startsWith('Whole')")
        until(page, "document.getElementById('nominal').textContent === 'of 250.0 kS/s'")
        page.close()
    finally:
        graph.terminate()
        graph.communicate(timeout=PATIENCE_S)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
