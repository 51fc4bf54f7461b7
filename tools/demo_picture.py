"""Draws docs/demo.svg: the screen of `samplewire demo` after some seconds, from a real run.

    .venv/bin/python tools/demo_picture.py COMMAND [--seconds S] [--out FILE]

COMMAND is the built command. It runs in a pseudo-terminal; pyte interprets what it writes, and each
cell of the screen becomes a rectangle or a character of the SVG.
"""

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from html import escape
from itertools import groupby
from pathlib import Path

import pyte

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 104, 30
CELL_WIDTH, CELL_HEIGHT = 8.4, 18
MARGIN = 12
FRAME_PAUSE_S = 0.03
HALF = "▀"
BLOCKS = "▁▂▃▄▅▆▇█" + HALF
BACKGROUND, FOREGROUND = "#101418", "#d8dee9"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", help="the built command")
    parser.add_argument("--seconds", type=float, default=4.0, help="of the run (default 4)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/demo.svg")
    arguments = parser.parse_args()
    screen = screen_after(arguments.command, arguments.seconds)
    arguments.out.write_text(svg_of(screen))
    print(arguments.out)


def screen_after(command: str, seconds: float) -> pyte.Screen:
    """The screen of a demonstration that has run for so long."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    variables = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    words = [command, "demo", "--seconds", f"{seconds + 5}s"]
    program = subprocess.Popen(
        words, stdin=far, stdout=far, stderr=far, env=variables, start_new_session=True
    )
    os.close(far)
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    until = time.monotonic() + seconds
    # Between two frames nothing comes for a while: then the screen shows a whole one.
    while select.select([near], [], [], FRAME_PAUSE_S)[0] or time.monotonic() < until:
        stream.feed(os.read(near, 1 << 16))
    program.kill()
    program.wait()
    os.close(near)
    return screen


def svg_of(screen: pyte.Screen) -> str:
    """Cells side by side that look the same are one rectangle, or one word."""
    rows = [row for row in range(ROWS) if screen.display[row].strip()]
    last = max(rows) + 1
    width = COLUMNS * CELL_WIDTH + 2 * MARGIN
    height = last * CELL_HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
        '<g font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="14"'
        ' xml:space="preserve" shape-rendering="crispEdges">',
    ]
    for row in range(last):
        cells = [(column, screen.buffer[row][column]) for column in range(COLUMNS)]
        for key, run in groupby(cells, key=lambda it: shape_of(it[1])):
            run = list(run)
            x, y = MARGIN + run[0][0] * CELL_WIDTH, MARGIN + row * CELL_HEIGHT
            parts += drawn("".join(cell.data for _, cell in run), *key, x, y)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def shape_of(cell: pyte.screens.Char) -> tuple[str, str, str]:
    """How a cell is drawn: as a block, as a part of a word, or not; and its two colours."""
    shape = cell.data if cell.data in BLOCKS else "" if cell.data == " " else "word"
    return shape, color(cell.fg, FOREGROUND), color(cell.bg, BACKGROUND)


def drawn(text: str, shape: str, fg: str, bg: str, x: float, y: float) -> list[str]:
    """Cells of one shape: a word is a text, a block one rectangle, the upper half block two."""
    width = len(text) * CELL_WIDTH
    if shape == "word":
        return [
            f'<text x="{x:.1f}" y="{y + 14:g}" textLength="{width:.1f}" fill="{fg}">'
            f"{escape(text)}</text>"
        ]
    if not shape:
        return []
    if shape == HALF:
        half = CELL_HEIGHT / 2
        return [rectangle(x, y, width, half, fg), rectangle(x, y + half, width, half, bg)]
    height = CELL_HEIGHT * (BLOCKS.index(shape) + 1) / 8
    return [rectangle(x, y + CELL_HEIGHT - height, width, height, fg)]


def color(name: str, default: str) -> str:
    return default if name == "default" else f"#{name}"


def rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{fill}"/>'


if __name__ == "__main__":
    main()
