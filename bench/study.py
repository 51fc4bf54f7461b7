"""Runs `samplewire study` and keeps what it measured, with the machine's description.

    python3 bench/study.py window [OPTION ...]

Options are those of `samplewire study window --help`; the figure is drawn beside the results.
"""

import json
import subprocess
import sys
from pathlib import Path

import kept
import machine

PROGRAM = ["cargo", "run", "--quiet", "--release", "-p", "samplewire-cli", "--", "study"]


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        is_asked = words[:1] in (["-h"], ["--help"])
        print(__doc__, file=sys.stdout if is_asked else sys.stderr)
        return 0 if is_asked else 1
    if {"-h", "--help"} & set(words):
        return subprocess.run([*PROGRAM, *words], cwd=kept.ROOT).returncode
    about = machine.describe(kept.ROOT)
    drawn = Path("out") / f"study-{words[0]}.svg"
    (kept.ROOT / drawn).parent.mkdir(exist_ok=True)
    command = [*PROGRAM, *words, "--json", "--svg", str(drawn)]
    done = subprocess.run(command, cwd=kept.ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        return done.returncode
    path = kept.keep(f"study-{words[0]}", about, None, **json.loads(done.stdout))
    (kept.ROOT / drawn).rename(path.with_suffix(".svg"))
    print(f"every measurement: {path.relative_to(kept.ROOT)}, the figure beside it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
