"""Executes the notebooks beside it, each in a kernel of its own, and keeps their outputs.

    python python/notebooks/execute.py [NAME...]

Fails at the first cell that raises, at an output that names this machine, and where the notebooks
are too large for a repository. Run it by `make notebooks`.
"""

import platform
import re
import sys
from pathlib import Path
from tempfile import gettempdir

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent

BYTES_MAX = 600 << 10
"""Of all notebooks."""

TIMEOUT_S = 120
"""For one cell."""


def execute(path: Path) -> nbformat.NotebookNode:
    """Execute a notebook; with the outputs, and without what changes at each run."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    client = NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3")
    client.execute(cwd=str(HERE))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def check_outputs(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Exit where an output names this machine."""
    words = [str(Path.home()), str(HERE.parents[1]), platform.node(), sys.prefix, gettempdir()]
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("text", "") for output in outputs]
    texts += [output.get("data", {}).get("text/plain", "") for output in outputs]
    for word in filter(None, words):
        if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for text in texts):
            raise SystemExit(f"{path.name} says {word!r}: print something else")


def main() -> int:
    """Execute what is asked for, or all."""
    paths = [HERE / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        print(path.stem, flush=True)
        notebook = execute(path)
        check_outputs(path, notebook)
        path.write_text(nbformat.writes(notebook) + "\n")
    total = sum(path.stat().st_size for path in HERE.glob("*.ipynb"))
    if total > BYTES_MAX:
        raise SystemExit(f"the notebooks have {total} bytes: more than {BYTES_MAX}")
    print(f"{len(paths)} executed, {total} bytes in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
