"""What axe-core finds on the page: nothing serious in contrast or names."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from reading import PATIENCE_S, wait_drawn


def scan(page: Page, what: str) -> None:
    """Scan the page as it is."""
    found = Axe().run(page).response["violations"]
    bad = [it for it in found if it["impact"] in ("serious", "critical")]
    words = [(it["id"], it["nodes"][0]["html"][:200]) for it in bad]
    assert not words, f"{what}: {words}"


def scan_themes(page: Page, what: str, key: str = "") -> None:
    """Scan the page in both themes, with the dialog that a key opens."""
    themes = set()
    dialog = page.locator("dialog[open]")
    for _ in range(2):
        if key:
            page.keyboard.press(key)
            dialog.wait_for(timeout=1_000 * PATIENCE_S)
        wait_drawn(page)
        theme = page.evaluate("document.documentElement.dataset.theme")
        themes.add(theme)
        scan(page, f"{what}, {theme}")
        if key:
            page.keyboard.press("Escape")
            dialog.wait_for(state="detached", timeout=1_000 * PATIENCE_S)
        page.keyboard.press("t")
    assert themes == {"dark", "light"}, themes
