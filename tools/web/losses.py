"""What the page shows of many losses: all pages of the gap list, the timeline by keys, the rate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from reading import PATIENCE_S, SEEN, new_page, until, wait_drawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from stream import VirtualStream

GAPS = 1_100
PAGE_GAPS = 500
BLOBS = """
window.revoked = 0;
const revoke = URL.revokeObjectURL;
URL.revokeObjectURL = (url) => { window.revoked += 1; revoke.call(URL, url); };
"""
LABEL = "document.querySelector('#waterfall .image').ariaLabel"
NOTE = "document.getElementById('gaps-note').textContent"
ROWS = "[...document.querySelectorAll('#gap-rows tr')].map((row) => row.firstChild.textContent)"
TIP = "document.getElementById('timeline-tip').textContent"
RATE = "document.getElementById('rate').textContent"


def check(browser: Browser, program: Path) -> None:
    """Lose samples of a stream, and read about them by keys alone."""
    from stream import VirtualStream

    with VirtualStream(program, "losses") as stream:
        page = new_page(browser, viewport={"width": 1440, "height": 900})
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(BLOBS)
        page.goto(stream.url)
        until(page, SEEN)
        check_rate(page, stream)
        before = stream.command("gap 1 deadline").index
        for at in range(GAPS - 1):
            # Neighbours with one cause would be one gap.
            stream.command(f"gap 1 {['never_asked', 'deadline'][at % 2]}")
        check_gaps(page, before)
        check_timeline(page)
        page.close()
        assert not complaints, complaints


def check_rate(page: Page, stream: VirtualStream) -> None:
    """While every sample is lost, or none arrives, the rate is zero."""
    from stream import RATE_HZ

    until(page, f"{RATE}.endsWith(' MS/s')")
    end = time.monotonic() + PATIENCE_S
    while page.evaluate(RATE) != "0 S/s":
        assert time.monotonic() < end, f"all samples are lost, at {page.evaluate(RATE)}"
        # Longer than the pause between two commands: no block of samples is due between them.
        stream.command("gap 163840 deadline")
        page.wait_for_timeout(50)
    until(page, f"{RATE}.endsWith(' MS/s')")
    # The stream goes on after 4 s, and states nothing until then.
    stream.command(f"gap {4 * RATE_HZ} deadline")
    until(page, f"{RATE} === '0 S/s'")


def check_gaps(page: Page, first: int) -> None:
    """Three pages of the list, and the latest again; one page is in the document at a time."""
    page.keyboard.press("g")
    until(page, f"{ROWS}.length === {PAGE_GAPS}")
    total = int(page.evaluate(NOTE).split(" ")[0].replace(",", ""))
    assert total >= GAPS, total
    pages = []
    last = total
    for key in ("g", "Enter", "Enter"):
        if key == "Enter":
            page.focus("#gaps-older")
            page.keyboard.press(key)
        oldest = max(0, last - PAGE_GAPS) + 1
        until(page, f"{NOTE}.includes('of which {oldest:,} to {last:,} are listed')")
        pages.append([int(it.replace(",", "")) for it in page.evaluate(ROWS)])
        last = oldest - 1
    assert [len(it) for it in pages] == [PAGE_GAPS, PAGE_GAPS, total - 2 * PAGE_GAPS], pages
    indexes = [index for it in pages for index in it]
    assert indexes == sorted(set(indexes), reverse=True), "a gap is listed twice, or left out"
    assert first - 1 in indexes, f"the first gap, at {first - 1}, is not listed"
    assert page.locator("#gaps-older").is_disabled(), "there is no older gap"
    page.focus("#gaps-latest")
    page.keyboard.press("Enter")
    until(page, f"{ROWS}.length === {PAGE_GAPS}")
    assert page.locator("#gaps-latest").is_disabled()
    with page.expect_download() as download:
        page.keyboard.press("d")
    assert Path(download.value.path()).read_text().count("\n") == total + 1
    assert page.evaluate("revoked") == 0, "the file's URL is revoked while the browser reads it"
    page.keyboard.press("g")


def check_timeline(page: Page) -> None:
    """Keys read the columns of the timeline, and leave the band where it is."""
    until(page, "document.getElementById('timeline').ariaLabel.includes('missing indexes')")
    whole = page.evaluate(LABEL)
    page.keyboard.press("+")
    until(page, f"{LABEL} !== {whole!r}")
    band = page.evaluate(LABEL)
    page.keyboard.press("i")
    assert page.evaluate("document.activeElement.id") == "timeline"
    assert page.locator("#timeline-tip").get_attribute("aria-live") == "polite"
    page.keyboard.press("Home")
    words = [page.evaluate(TIP)]
    for key in ("PageDown", "ArrowRight", "End"):
        page.keyboard.press(key)
        words.append(page.evaluate(TIP))
    places = [it.partition(":")[0] for it in words]
    assert len(set(places)) == len(places), words
    page.keyboard.press("Home")
    page.keyboard.press(">")
    assert " missing (" in page.evaluate(TIP), page.evaluate(TIP)
    # A view that was requested would be there.
    page.wait_for_timeout(300)
    wait_drawn(page)
    assert page.evaluate(LABEL) == band, "the keys move the band too"
    page.keyboard.press("Escape")
    assert not page.evaluate(f"{TIP}.trim()"), "the place is not left"
