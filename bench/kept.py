"""Where results are kept, and what each file says of itself."""

import datetime
import json
import shlex
import sys
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parent.parent


def keep(kind: str, about: dict[str, object], out: Path | None, **result: object) -> Path:
    """Writes what a script has measured, with its command line and the machine; says where.

    Parameters
    ----------
    kind
        What is measured, a word of the file's name; empty for `run.py`.
    about
        The machine, of `machine.describe`.
    out
        The file, if not `bench/results/DATE-KIND-MACHINE.json`.
    """
    now = datetime.datetime.now(datetime.UTC)
    words = [now.date().isoformat(), kind, machine.slug(about)]
    path = out or ROOT / "bench" / "results" / f"{'-'.join(filter(None, words))}.json"
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    whole = {
        "command": shlex.join(["python3", str(script), *map(without_folder, sys.argv[1:])]),
        "finished": now.isoformat(timespec="seconds"),
        "machine": about,
        **result,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n")
    return path


def without_folder(word: str) -> str:
    """An argument as the results keep it: an absolute path names folders of one machine only."""
    return Path(word).name if Path(word).is_absolute() else word
