#!/usr/bin/env python3
"""Write everything that lists counters from statistics.toml, or check it with --check.

    python3 tools/statistics.py            writes the files that differ, and names them
    python3 tools/statistics.py --check    names the files that differ; exit 1 if there is one

Python 3.11 alone, no packages.
"""

from __future__ import annotations

import sys
from pathlib import Path

from counter_table import rust, text, web
from counter_table.files import settle
from counter_table.table import Table, TableError, load

ROOT = Path(__file__).resolve().parent.parent
MANUAL = Path("docs/statistics.md")

PROTO_USES = [
    "use crate::gap::Cause;",
    "use crate::latency::Latencies;",
    "use crate::number::{Nanos, SampleIndex};",
]
SAMPLEWIRE_USES = [
    "use samplewire_proto::receiver::ReceiverStats;",
    "use samplewire_proto::sender::SenderStats;",
    "use samplewire_proto::session::ListenStats;",
    "",
    "use crate::published::words;",
    "use crate::receiver::Stalls;",
]


def outputs(table: Table, manual: str) -> dict[Path, str]:
    """The text of each file that is written, by its path from the root."""
    crates = Path("crates")
    return {
        crates / "samplewire-proto/src/counters.rs": rust.structures(
            table, "samplewire-proto", "Counters of the protocol's machines", PROTO_USES
        ),
        crates / "samplewire-io/src/counters.rs": rust.structures(
            table, "samplewire-io", "Counters of links", []
        ),
        crates / "samplewire/src/counters.rs": rust.structures(
            table, "samplewire", "Counters of ports and their streams", SAMPLEWIRE_USES
        ),
        crates / "samplewire-ffi/src/counters.rs": rust.c_structures(table),
        crates / "samplewire-cli/src/metrics/counters.rs": rust.command(table),
        crates / "samplewire-web/src/counters.rs": web.page(table, manual),
        Path("python/src/counters.rs"): rust.python(table),
        Path("python/samplewire/_counters.py"): text.dataclasses(table),
        Path("soapy/src/sensor_tables.hpp"): text.sensors(table),
        MANUAL: text.manual(manual, table),
    }


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write or check all files; 1 when one differs, or the table breaks a rule."""
    is_check = "--check" in arguments
    try:
        table = load(root / "statistics.toml")
        texts = outputs(table, (root / MANUAL).read_text())
    except TableError as error:
        print(f"statistics.toml: {error}", file=sys.stderr)
        return 1
    return settle(root, texts, "tools/statistics.py", is_check=is_check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
