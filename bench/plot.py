"""Draws the runs of a results file: a panel for a group, a row for a case, a dot for a run.

    python3 bench/plot.py bench/results/FILE.json

Writes FILE.svg beside it.
"""

import json
import math
import sys
from html import escape
from pathlib import Path
from statistics import median

WIDTH, NAMES_WIDTH, VALUES_WIDTH = 760, 170, 120
ROW_HEIGHT, TITLE_HEIGHT, AXIS_HEIGHT = 20, 30, 34

RATE = {"scale": 1e9, "name": "Gb/s"}

OURS = ("stream", "samplewire")

STYLE = """
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold }
.value { text-anchor: end }
.tick { text-anchor: middle; fill: #666 }
.grid { stroke: #ddd }
.run { fill: #4878a8; fill-opacity: 0.45 }
.ours { fill: #c0392b; fill-opacity: 0.45 }
.median { stroke: #222; stroke-width: 2 }
"""


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(draw(Path(sys.argv[1])))
    except (OSError, ValueError, KeyError) as error:
        print(f"bench: {sys.argv[1]}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


def draw(results: Path) -> Path:
    """Draws all runs in the file; where the drawing is.

    A run is drawn by its `value` in the unit of its group, and by its rate where it has none; what
    was done by hand in the same runs has a row below.
    """
    whole = json.loads(results.read_text())
    parts, top = [], 0
    for group in whole["groups"]:
        unit = group.get("unit", RATE)
        runs = [run for run in whole["runs"] if run["group"] == group["name"]]
        rows = []
        for case in group["cases"]:
            name = case["name"]
            own = [run for run in runs if run["case"] == name]
            values = [run.get("value", run.get("rate_bps")) / unit["scale"] for run in own]
            rows.append((name, values))
            if by_hand := [run["by_hand"] / unit["scale"] for run in own if run.get("by_hand")]:
                rows.append(("by hand", by_hand))
        parts.append(f'<g transform="translate(0 {top})">{panel(group, rows, unit["name"])}</g>')
        top += TITLE_HEIGHT + ROW_HEIGHT * len(rows) + AXIS_HEIGHT
    size = f'width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}"'
    body = f'<rect width="{WIDTH}" height="{top}" fill="white"/>' + "\n".join(parts)
    path = results.with_suffix(".svg")
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )
    return path


def panel(group: dict, rows: list[tuple[str, list[float]]], unit: str) -> str:
    """Values of a group's cases in their unit, from 0."""
    most = max(max(numbers) for _, numbers in rows)
    step = tick_step(most)
    ticks = math.ceil(most / step) or 1
    left, right = NAMES_WIDTH, WIDTH - VALUES_WIDTH
    bottom = TITLE_HEIGHT + ROW_HEIGHT * len(rows)

    def x(value: float) -> float:
        return round(left + (right - left) * value / (step * ticks), 1)

    title = escape(f"{group['name']}: {group['why']}")
    parts = [f'<text class="title" x="8" y="20">{title}</text>']
    for tick in range(ticks + 1):
        at = x(step * tick)
        last = f" {unit}" if tick == ticks else ""
        parts.append(f'<path class="grid" d="M{at} {TITLE_HEIGHT}V{bottom}"/>')
        label = f"{step * tick:g}{last}"
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 14}">{label}</text>')
    for place, (name, numbers) in enumerate(rows):
        y = TITLE_HEIGHT + ROW_HEIGHT * place + ROW_HEIGHT // 2
        kind = "ours" if name.startswith(OURS) else "run"
        middle = median(numbers)
        parts.append(f'<text x="8" y="{y + 4}">{escape(name)}</text>')
        parts += [f'<circle class="{kind}" cx="{x(value)}" cy="{y}" r="4"/>' for value in numbers]
        parts.append(f'<path class="median" d="M{x(middle)} {y - 7}v14"/>')
        parts.append(f'<text class="value" x="{WIDTH - 8}" y="{y + 4}">{middle:.2f} {unit}</text>')
    return "\n".join(parts)


def tick_step(most: float) -> float:
    """A round number of which about five make up the axis."""
    if most <= 0:
        return 1.0
    magnitude = 10 ** math.floor(math.log10(most / 5))
    return next(magnitude * n for n in (1, 2, 5, 10) if magnitude * n * 5.01 >= most)


if __name__ == "__main__":
    sys.exit(main())
