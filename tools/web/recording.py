"""The page of a recording of two channels: its proof, its gap, and the keys that move in it."""

from __future__ import annotations

import cmath
import hashlib
import itertools
import json
import math
import struct
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import access
import pixels
from processes import Process
from reading import (
    PATIENCE_S,
    SEEN,
    SENTENCE,
    index_of,
    new_page,
    rows_of,
    runs_of,
    until,
    wait_drawn,
    words_of,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RATE_HZ = 2_048_000
FIRST = 1 << 33
PARTS = 10
ROW = 8_192
"""Indexes of a row: the most that a frame covers."""
PART = 15 * ROW
"""A tenth of the recording, which is how far a key moves in it; it plays for half a second."""
GAP = 4 * ROW
BEFORE_GAP = 10 * ROW
PERIOD = 32
"""Samples after which the signal repeats: its tone is in the middle of a bin."""
HARMONIC = 10
LEVEL_DB = -12.0
SCANNED = 24


def check(browser: Browser, command: Path, out: Path) -> None:
    """Go through a recording by keys, and see its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder))
        with Process(command, folder, "web", "--recording", str(path)) as shown:
            page = new_page(browser, viewport={"width": 1440, "height": 900})
            complaints: list[str] = []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(shown.url)
            until(page, SEEN)
            check_words(page)
            check_keys(page)
            page.screenshot(path=out / "recorded.png")
            access.scan_themes(page, "a recording")
            page.close()
            assert not complaints, complaints


def write(folder: Path) -> Path:
    """A recording: a tone above the centre in channel 0, and below it in channel 1; one gap."""
    amplitude = 32_768 * 10 ** (LEVEL_DB / 20)
    turns = [cmath.rect(amplitude, math.tau * HARMONIC * at / PERIOD) for at in range(PERIOD)]
    frames = [(it.real, it.imag, it.real, -it.imag) for it in turns]
    period = b"".join(struct.pack("<4h", *map(round, frame)) for frame in frames)
    samples = PARTS * PART - GAP
    data = period * (samples // PERIOD)
    gap = FIRST + BEFORE_GAP
    document = {
        "global": {
            "core:datatype": "ci16_le",
            "core:version": "1.2.5",
            "core:num_channels": 2,
            "core:sample_rate": RATE_HZ,
            "core:sha512": hashlib.sha512(data).hexdigest(),
            "core:extensions": [{"name": "samplewire", "version": "1.2.0", "optional": True}],
            "samplewire:finished": True,
            "samplewire:sample_count": samples,
            "samplewire:first_index": FIRST,
            "samplewire:end_index": FIRST + PARTS * PART,
        },
        "captures": [
            {"core:sample_start": 0, "core:global_index": FIRST},
            {"core:sample_start": BEFORE_GAP, "core:global_index": gap + GAP},
        ],
        "annotations": [
            {
                "core:sample_start": BEFORE_GAP,
                "core:sample_count": 0,
                "core:label": "gap",
                "samplewire:first_index": gap,
                "samplewire:not_repaired": GAP,
                "samplewire:source_lost": 0,
                "samplewire:cause": "deadline",
            }
        ],
    }
    path = folder / "tones.sigmf-meta"
    path.write_text(json.dumps(document))
    path.with_suffix(".sigmf-data").write_bytes(data)
    return path


def check_words(page: Page) -> None:
    """The sums, the gap and the proof, without a stream that could be recorded or ended."""
    until(page, f"{SENTENCE}.includes('the recording is proven')")
    sums = page.locator("#sums").inner_text().replace(",", "").split()
    assert int(sums[sums.index("missing") + 1]) == GAP, sums
    assert page.locator("#acting").is_hidden()
    page.keyboard.press("g")
    until(page, "document.querySelectorAll('#gap-rows tr').length === 1")
    row = page.locator("#gap-rows tr").inner_text().split("\t")
    assert row[:4] == [f"{FIRST + BEFORE_GAP:,}", f"{GAP:,}", "deadline", "wire"], row
    page.keyboard.press("g")


def check_keys(page: Page) -> None:
    """Full stop: on by a tenth. Comma: back by a tenth. r: from the beginning. s: next channel."""
    last = FIRST + PARTS * PART - ROW
    # It may have played to its end.
    page.keyboard.press("r")
    until_top(page, FIRST, last - 4 * PART)
    top = top_index(page)
    page.keyboard.press(".")
    until_top(page, min(last, top + PART))
    page.keyboard.press(" ")
    wait_drawn(page)
    # Some frames were under way when the key was pressed, and many may have come since.
    skipped: list[str] = []
    for count in (SCANNED, 4 * SCANNED, 12 * SCANNED):
        if len(skipped) < PART // ROW // 2:
            skipped = [row for row in rows_of(page, count) if "no frame covers it" in row]
    assert len(skipped) >= PART // ROW // 2, f"`.` skips {len(skipped)} rows"
    page.keyboard.press(" ")
    click_timeline(page, 0.97)
    # A busy machine omits frames, also the last one.
    until_top(page, last - PART // 2)
    end = still(page)
    assert_tone(page, HARMONIC)
    page.keyboard.press(",")
    back = begin(page)
    assert_begins(end - PART, back, "`,`")
    still(page)
    click_timeline(page, 0.95)
    clicked = begin(page)
    expected = FIRST + 95 * PARTS * PART // 100
    assert_begins(expected, clicked, "a click")
    page.keyboard.press("s")
    until(page, "document.getElementById('stream').value === '0/0/1'")
    page.keyboard.press("r")
    behind_gap = FIRST + BEFORE_GAP + GAP
    until_top(page, behind_gap + 2 * ROW, last - 4 * PART)
    page.keyboard.press(" ")
    first = begin(page)
    assert_begins(FIRST, first, "`r`")
    assert_tone(page, -HARMONIC)
    # Below it may be those of the first time.
    hatched, *_ = runs_of(pixels.read(page).hatched())
    assert len(hatched) == GAP // ROW, hatched
    words = f"{GAP:,} missing from {FIRST + BEFORE_GAP:,}: deadline, at hop wire"
    assert words_of(page, hatched[0]) == words, words_of(page, hatched[0])


def click_timeline(page: Page, share: float) -> None:
    """Click on the timeline, at a part of its width."""
    timeline = page.locator("#timeline")
    box = timeline.bounding_box()
    assert box
    timeline.click(position={"x": share * box["width"], "y": 5})


def assert_begins(expected: int, found: int, what: str) -> None:
    """The picture went on at an index. A busy machine omits the first frames."""
    assert -4 * ROW <= found - expected < BEFORE_GAP, f"{what} goes to {found}, not to {expected}"


def assert_tone(page: Page, harmonic: int) -> None:
    """The latest frame of the picture has this tone."""
    found = pixels.read(page)
    y = next(y for y in range(SCANNED) if not found.is_plain(y) and not found.is_hatched(y))
    place, db = found.highest(y)
    turns = (place - 0.5) * PERIOD
    assert abs(turns - harmonic) < 0.1, f"the tone is at {turns}, not at {harmonic}"
    assert abs(db - LEVEL_DB) <= 0.5, f"{db} dBFS, not {LEVEL_DB}"


def begin(page: Page) -> int:
    """The index at which the picture went on after its last step back, once it does not move."""
    end = time.monotonic() + PATIENCE_S
    count = SCANNED
    while time.monotonic() < end:
        top = still(page)
        rows = [first_of(words) for words in rows_of(page, count)]
        if top != top_index(page):
            continue
        for above, below in itertools.pairwise(rows):
            if above < below:
                return above
        count = min(2 * count, 8 * SCANNED)
    raise AssertionError("the picture has not gone back")


def still(page: Page) -> int:
    """The first index of the topmost row, once the picture does not move."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        top = top_index(page)
        rows_of(page, 6)
        if top == top_index(page):
            return top
    raise AssertionError("the picture does not stop")


def until_top(page: Page, least: int, most: int = 1 << 63) -> None:
    """Wait until the topmost row is in a range of indexes."""
    end = time.monotonic() + PATIENCE_S
    while not least <= (top := top_index(page)) <= most:
        assert time.monotonic() < end, f"the picture is at {top}, not at {least}"


def top_index(page: Page) -> int:
    """The first index of the topmost row."""
    return first_of(words_of(page, 0))


def first_of(words: str) -> int:
    """The first index of a row, which may be one of a gap."""
    return index_of(words.replace("missing from", "index"))
