"""The main function of programs that record what guests do, as vectors."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from network import ERRORS, missing


def main(doc: str | None, output: Path, record: Callable[[Path], bytes]) -> int:
    """Runs `record` with the program samplewire, and writes what it returns to `output`."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n\n")[0])
    parser.add_argument("samplewire", type=Path, help="the program")
    parser.add_argument("--output", type=Path, default=output, help=f"[{output}]")
    arguments = parser.parse_args()
    try:
        if reason := missing():
            print(f"{parser.prog}: {reason}", file=sys.stderr)
            return 1
        data = record(arguments.samplewire)
    except ERRORS as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    arguments.output.write_bytes(data)
    print(f"{arguments.output}: {len(data)} bytes")
    return 0


def lines_of(rows: Iterable[dict]) -> bytes:
    """A JSON list, a line for each row."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f"[\n{lines}\n]\n".encode()
