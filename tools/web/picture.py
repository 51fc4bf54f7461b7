#!/usr/bin/env python3
"""Draws docs/web.png: the page of a lossy stream, as it looks in Chromium.

    .venv/bin/python tools/web/picture.py target/release/samplewire docs/web.png

Needs what tools/web/check.py needs.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1280, 800
DEVICE = ["--source", "scene", "--rate", "10M", "--listen", "127.0.0.1:0"]
FAULTS = ["--fault", "data:loss=0.02,burst=400,seed=3"]
SECONDS = 22


def main() -> int:
    command, path = sys.argv[1:]
    pipe = subprocess.PIPE
    device = subprocess.Popen(
        [command, "emulate", *DEVICE, *FAULTS], stdout=pipe, stderr=subprocess.DEVNULL, text=True
    )
    assert device.stdout
    address = None
    while not address:
        address = re.search(r"listening on (\S+)", device.stdout.readline())
    words = [command, "web", address[1], "--delivery", "best-effort"]
    shown = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=pipe, text=True)
    assert shown.stderr
    url = ""
    while not url.startswith("page: "):
        url = shown.stderr.readline()
    try:
        draw(url.removeprefix("page: ").strip(), path)
    finally:
        for process in (shown, device):
            process.terminate()
            process.wait()
    return 0


def draw(url: str, path: str) -> None:
    with sync_playwright() as playwright:
        flags = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark")
        page.goto(url)
        page.wait_for_timeout(1_000 * SECONDS)
        page.keyboard.press("l")
        page.wait_for_timeout(500)
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    # Few colours keep the file small; the page has few.
    image.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
