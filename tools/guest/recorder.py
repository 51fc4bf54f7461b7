"""The main function of programs that record what guests do, as vectors."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from guest import Address, GuestError
from network import ERRORS, RawPort, missing, network
from verbs import Verbs

C = TypeVar("C")


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


def record_cases(
    program: Path, cases: Iterable[C], run: Callable[[C, Verbs, RawPort, Address, Address], dict]
) -> bytes:
    """Runs each case between a guest and a port whose frames are written here: a JSON list.

    `run` gets the case, the guest's verbs, the port, and the addresses of the port and the guest.
    """
    with network(program, "--rate", "1G", guests=("one",), has_raw=True) as net:
        guest, own = net.addresses
        if net.raw is None:
            raise GuestError("the network has no raw port")
        verbs = Verbs(net.guests[0])
        rows = [json.dumps(run(case, verbs, net.raw, own, guest)) for case in cases]
    lines = ",\n".join(rows)
    return f"[\n{lines}\n]\n".encode()
