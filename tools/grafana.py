#!/usr/bin/env python3
"""Write grafana/ from statistics.toml: a dashboard, alert rules, and the tests of the rules.

    .venv/bin/python tools/grafana.py            writes the files that differ, and names them
    .venv/bin/python tools/grafana.py --check    names the files that differ; exit 1 if there is one

Needs `grafana-foundation-sdk` (tools/requirements.txt).
"""

from __future__ import annotations

import sys
from pathlib import Path

from counter_table import alerts, panels
from counter_table.files import settle
from counter_table.table import TableError, load

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Write or check all files; 1 when one differs, or the table breaks a rule."""
    try:
        table = load(ROOT / "statistics.toml")
    except TableError as error:
        print(f"statistics.toml: {error}", file=sys.stderr)
        return 1
    folder = Path("grafana")
    texts = {
        folder / "samplewire.json": panels.text(table),
        folder / "alerts.yml": alerts.rules(table),
        folder / "alerts_test.yml": alerts.tests(table),
    }
    return settle(ROOT, texts, "tools/grafana.py", is_check="--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
