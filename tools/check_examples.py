"""Runs the examples of README.md and docs/*.md, and compares their output with the text.

    python3 tools/check_examples.py target/debug/samplewire [PAGE ...] [--write] [--show]

Each page's commands run in order in an empty folder, in a network namespace of its own where
`unshare` and `ip` can make one. `--write` puts the output of this run into the pages where it
differs, with `--all` everywhere; `--show` prints all outputs. CONTRIBUTING.md has the comments that
mark a page's blocks, tools/examples/blocks.py their meaning. Code in Rust and C must stand in a
program that is compiled.

Exit: 0 when all examples are right, 1 when one is not.
"""

import argparse
import json
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "examples"))

from check import ROOT, Page, Result, is_run
from run import namespace, session, set_up_network

ATTEMPTS = 2
"""A busy machine may lose samples that an idle one does not."""
PORT = 9100


def main() -> int:
    arguments = parse_arguments()
    program = arguments.program.resolve()
    pages = [it.resolve() for it in arguments.pages]
    if arguments.inside:
        # This process has a network of its own.
        result = check(program, pages[0], arguments, has_network=True)
        print(json.dumps(asdict(result)))
        return 0
    words = None if arguments.here else namespace()
    results = []
    for page in pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        begin = time.monotonic()
        result = attempt(program, page, arguments, words)
        print_page(result, time.monotonic() - begin)
        results.append(result)
    return summary(results)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="the command samplewire")
    parser.add_argument("pages", type=Path, nargs="*", help="all of README.md and docs by default")
    parser.add_argument("--write", action="store_true", help="put the real output into the pages")
    parser.add_argument("--all", action="store_true", help="with --write: where it is right, too")
    parser.add_argument("--show", action="store_true", help="print the output of each command")
    parser.add_argument("--here", action="store_true", help="in this machine's network")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def attempt(
    program: Path, page: Path, arguments: argparse.Namespace, words: list[str] | None
) -> Result:
    for number in range(1, ATTEMPTS + 1):
        if words is None:
            result = check(program, page, arguments, has_network=False)
        else:
            result = check_inside(program, page, arguments, words)
        if not result.failures or not result.is_read or number == ATTEMPTS:
            break
        for failure in result.failures:
            print(f"{failure}\n  once more, in case that the machine was busy")
    return result


def check_inside(
    program: Path, page: Path, arguments: argparse.Namespace, words: list[str]
) -> Result:
    command = [*words, sys.executable, __file__, "--inside", str(program), str(page)]
    command += [f"--{it}" for it in ("write", "all", "show") if getattr(arguments, it)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Result(**json.loads(done.stdout))


def check(program: Path, path: Path, arguments: argparse.Namespace, *, has_network: bool) -> Result:
    page = Page(path, is_written=arguments.write, is_shown=arguments.show, is_fresh=arguments.all)
    blocks = page.blocks()
    if not any(map(is_run, blocks)):
        page.check(blocks, None)
        return page.result
    addresses = page.addresses(blocks)
    if has_network:
        set_up_network(addresses)
    elif addresses:
        page.check(blocks, None, f"no network namespace for {', '.join(sorted(addresses))}")
        return page.result
    elif not is_free(PORT):
        page.check(blocks, None, f"no network namespace, and port {PORT} is not free")
        return page.result
    with session(program) as opened:
        page.check(blocks, opened)
    return page.result


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def print_page(result: Result, took_s: float) -> None:
    for text in result.shown:
        print(text)
    if result.commands or result.outputs:
        print(f"{result.page}: {result.commands} commands, {took_s:.1f} s")
    if result.rewritten:
        print(f"{result.page}: {result.rewritten} outputs rewritten")
    sys.stdout.flush()


def summary(results: list[Result]) -> int:
    for result in results:
        for line in result.not_run:
            print(f"not run  {line}")
        for line in result.skipped:
            print(f"skipped  {line}")
    elsewhere = Counter(it for result in results for it in result.elsewhere)
    for what, count in elsewhere.items():
        print(f"checked in {what}: {count} blocks")
    failures = [it for result in results for it in result.failures]
    print(
        f"examples: {sum(it.commands for it in results)} commands ran,"
        f" {sum(it.outputs for it in results)} outputs compared,"
        f" {elsewhere.total()} blocks checked elsewhere,"
        f" {sum(len(it.not_run) for it in results)} not run,"
        f" {sum(len(it.skipped) for it in results)} skipped, {len(failures)} failed"
    )
    # Last, since a caller may keep only the end of the output.
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
