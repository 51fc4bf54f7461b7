"""Levels and hatched rows, read back from the pixels of the waterfall."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from PIL import Image
from playwright.sync_api import Page

TRIES = 20
"""Pictures that are taken until the layout has not moved meanwhile."""
MINUS = "\u2212"


@dataclass(frozen=True)
class Waterfall:
    """The image, a pixel for each CSS pixel, and what its colours mean."""

    image: Image.Image
    floor_db: float
    ceiling_db: float
    colors: list[tuple[int, int, int]]
    accent: tuple[int, int, int]

    def level_db(self, x: int, y: int) -> float:
        """The level of a pixel in dBFS, by the nearest colour of the map."""
        pixel = self.image.getpixel((x, y))
        if pixel in self.colors:
            return self.db(self.colors.index(pixel))
        distance = [sum((a - b) ** 2 for a, b in zip(pixel, it, strict=True)) for it in self.colors]
        return self.db(distance.index(min(distance)))

    def db(self, shade: int) -> float:
        """The level of a colour of the map."""
        return self.floor_db + (self.ceiling_db - self.floor_db) * shade / 255

    def is_hatched(self, y: int) -> bool:
        """Whether a row has the colour of missing indexes."""
        return any(self.image.getpixel((x, y)) == self.accent for x in range(0, 16))

    def is_plain(self, y: int) -> bool:
        """Whether a row has one colour: no frame covers it."""
        return len({self.image.getpixel((x, y)) for x in range(self.image.width)}) == 1

    def hatched(self) -> list[int]:
        """The hatched rows, from the top."""
        return [y for y in range(self.image.height) if self.is_hatched(y)]

    def highest(self, y: int) -> tuple[float, float]:
        """The middle of the highest pixels of a row, in parts of its width, and their level."""
        levels = [self.level_db(x, y) for x in range(self.image.width)]
        most = max(levels)
        places = [x for x, level in enumerate(levels) if level == most]
        return (places[0] + places[-1] + 1) / 2 / self.image.width, most


def read(page: Page) -> Waterfall:
    """Take a picture of the waterfall as it is on the page."""
    canvas = page.locator("#waterfall .image")
    label = canvas.get_attribute("aria-label") or ""
    found = re.search(rf"from ({MINUS}?[\d.]+) to ({MINUS}?[\d.]+) dBFS", label)
    assert found, label
    floor_db, ceiling_db = (float(it.replace(MINUS, "-")) for it in found.groups())
    name = page.locator("#map").input_value()
    script = "async (name) => [...(await import('/colors.js')).colormap(name)]"
    flat = page.evaluate(script, name)
    colors = [tuple(flat[at : at + 3]) for at in range(0, 768, 3)]
    accent = page.evaluate(
        "() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
    )
    for _ in range(TRIES):
        box = canvas.bounding_box()
        assert box
        # Whole pixels: at the edges the picture is mixed with what lies beside it.
        clip = {
            "x": round(box["x"]),
            "y": round(box["y"]),
            "width": int(box["width"]),
            "height": int(box["height"]),
        }
        shot = page.screenshot(clip=clip)
        # The sentence above it may have got another line meanwhile.
        if canvas.bounding_box() == box:
            break
    else:
        raise AssertionError(f"the waterfall moves all the time: {box}")
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    rgb = tuple(int(accent[at : at + 2], 16) for at in (1, 3, 5))
    return Waterfall(image, floor_db, ceiling_db, colors, rgb)
