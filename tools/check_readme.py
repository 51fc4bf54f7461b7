"""Checks that the Rust and C code in README.md stands, as it is, in an example that is compiled."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    examples = [path.read_text() for path in ROOT.glob("crates/*/examples/*.*")]
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```(?:rust|c)\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    foreign = [block for block in blocks if not any(block in example for example in examples)]
    for block in foreign:
        print(f"README.md: in no example:\n{block}", file=sys.stderr)
    if not blocks:
        print("README.md: no code to check", file=sys.stderr)
    return 0 if blocks and not foreign else 1


if __name__ == "__main__":
    sys.exit(main())
